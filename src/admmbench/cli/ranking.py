"""Rankings: the study that answers a question, and `rank`, which asks it of a frame."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from admmbench import scaffold
from admmbench.datasets import find_module
from admmbench.files import netcdf
from admmbench.files.core_yaml import dump_yaml
from admmbench.jobs import interrupts
from admmbench.results.who_wins import compare, compared_settings
from admmbench.study.methods import merged
from admmbench.study.ranking import HEAD, NAME, Question, as_typed, experiment
from admmbench.validation import checked, expanded
from admmbench.watch.study import run_turns

if TYPE_CHECKING:
    import xarray as xr

# Columns of the table, by the variables of a comparison.
_VALUES = {"value": "mean", "lower": "lower", "upper": "upper"}
_FLOOR = {"value": "floor", "lower": "floor_lower", "upper": "floor_upper"}
_DIFFERENCES = ("difference", "difference_lower", "difference_upper")

_CONSTANT = "constant answer"


class Ranking(pd.DataFrame):
    """Table of methods at each total epsilon, with the folder of the study that it is of, ``study``."""

    study: Path


def rank(
    data: pd.DataFrame,
    *,
    target: str,
    groups: str = "",
    total_epsilon: float | Sequence[float] = 1,
    methods: Sequence[str] = (),
    folder: str | Path | None = None,
    cores: int | None = None,
    settings: Mapping[str, Any] | None = None,
    **options: Any,
) -> Ranking:
    """Rank private methods on a frame, each tuned, by their error at equal total privacy losses.

    Does what ``admmbench rank`` does. The frame is written to the folder of the study, in ``resources/tables``. A call
    that was stopped goes on when it is made again.

    Parameters
    ----------
    data
        A record in each row.
    target
        Column to predict.
    groups
        Column that says whose a record is: each group has an agent.
    total_epsilon
        Total privacy loss epsilon of the whole run, or several.
    methods
        Names, or paths of methods of one's own; all that compete and suit the data, if absent.
    folder
        Folder of the study, ``rank-TARGET`` if absent.
    cores
        Cores that jobs use together; all if absent.
    settings
        Further settings of the data set ``table``, such as ``{"missing": "impute"}``.
    **options
        Further options of ``admmbench rank``, such as ``seeds``, ``trials`` and ``margin``.

    Returns
    -------
    pandas.DataFrame
        A row for each total ``epsilon`` and ``method``, the lowest ``value`` of the metric first: with its interval
        ``lower`` to ``upper``; the ``difference`` from the lowest with its interval, paired by seed; the ``verdict``
        and the number of ``seeds``. Baselines are rows too: the constant answer, and the best without privacy. The
        attribute ``study`` is the folder.

    Raises
    ------
    ValueError
        If an argument is wrong; the message names it.
    FileExistsError
        If the folder has the study of another question.
    RuntimeError
        If the study failed, or no two methods can be compared.
    KeyboardInterrupt
        If a signal stopped the study.
    """
    place = Path(expanded(folder or f"rank-{target}"))
    if lacking := [name for name in (target, groups) if name and name not in data]:
        raise ValueError(
            f"there is no column {lacking[0]!r}; there are {', '.join(map(str, data))}"
        )
    others = data.drop(columns=[name for name in (target, groups) if name])
    owners = data[groups] if groups else None
    table = find_module("table").write_arrays(
        (others, data[target]), owners, place / "resources/tables"
    )
    table = merged(table, settings or {})
    question = {**options, "dataset": table, "methods": [*methods], "total": total_epsilon}
    try:
        write_study(checked(Question, question, ""), place)
    except ValueError as error:
        message = as_typed(str(error)).replace("--total: ", "--total_epsilon: ")
        raise ValueError(re.sub(r"--(\w+): ", r"\1: ", message)) from None
    words = ["--cores", str(cores)] if cores else []
    if status := run_turns([["tune", *words], ["all", *words]], place):
        if status == interrupts.STATUS:
            raise interrupts.Interrupted("stopped; the same call goes on from there")
        raise RuntimeError(f"the study in {place} failed, see above")
    comparison = compare([netcdf.read(place / "results" / NAME / "results.nc")])
    if comparison is None:
        raise RuntimeError(f"no two methods can be compared; the report in {place} says why")
    ranking = Ranking(pd.concat(map(_rows, compared_settings(comparison))))
    ranking.study = place
    return ranking


def write_study(question: Question, folder: Path) -> list[str]:
    """Write the folder of the study that answers a question; return lines on methods that do not take part."""
    content, left_out = experiment(question, folder)
    text = dump_yaml(content, default_flow_style=None, sort_keys=False, width=120)
    scaffold.write_experiment(NAME, HEAD + text, folder)
    return left_out


def _rows(setting: xr.Dataset) -> pd.DataFrame:
    """Return the rows of a setting: methods and baselines by their values."""
    methods, lowest = setting.isel(algorithm=setting["compared"].values), setting["lowest"].item()
    columns = {name: methods[variable].values for name, variable in _VALUES.items()}
    if lowest:
        columns |= {name: methods[name].sel(rival=lowest).values for name in _DIFFERENCES}
    rows = pd.DataFrame(columns, index=methods["algorithm"].values)
    rows = rows.assign(verdict=methods["verdict"].values, seeds=methods["runs"].values)
    baselines = {_CONSTANT: {"value": float(setting["constant"])}}
    if floor := setting["floor_method"].item():
        baselines[floor] = {name: float(setting[variable]) for name, variable in _FLOOR.items()}
    others = pd.DataFrame.from_dict(baselines, orient="index").assign(verdict="baseline")
    rows = pd.concat([rows, others]).sort_values("value")
    return pd.concat({float(setting["epsilon"]): rows}, names=["epsilon", "method"])
