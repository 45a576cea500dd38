"""Rankings: the study that answers a question, and `rank`, which asks it of a frame."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from admmbench import scaffold
from admmbench.datasets import describe, find_module
from admmbench.files import netcdf
from admmbench.files.core_yaml import dump_yaml
from admmbench.jobs import interrupts, warm
from admmbench.report import closing
from admmbench.results.who_wins import compare
from admmbench.study.methods import merged
from admmbench.study.ranking import (
    HEAD,
    NAME,
    Question,
    as_typed,
    experiment,
    half_tuned,
    metric_of,
)
from admmbench.validation import checked, expanded
from admmbench.watch.study import run_turns

# Columns of the table: a value and a difference, each with its interval.
_VALUES = "value", "lower", "upper"
_DIFFERENCES = "difference", "difference_lower", "difference_upper"

# Keys of the command, or of its question, that have other names here.
_NO_OPTIONS = {
    "dataset": "data, and its settings as settings",
    "total": "total_epsilon",
    "group": "groups",
    "test": 'settings={"test": ...}',
}


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
    until_decided: bool = False,
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
    until_decided
        Whether methods that are not behind get more seeds, up to eight times as many.
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
    if not isinstance(data, pd.DataFrame):
        raise TypeError(f"data: expected a DataFrame, got {type(data).__name__}")
    if isinstance(methods, str):
        raise ValueError(f"methods: expected a list of names, got {methods!r}")
    for key, instead in _NO_OPTIONS.items():
        if key in options:
            raise ValueError(f"{key}: state {instead}")
    place = Path(expanded(folder or f"rank-{target}"))
    stated = {"target": target, "groups": groups}
    for key, name in stated.items():
        if name and name not in data:
            raise ValueError(
                f"{key}: there is no column {name!r}; there are {', '.join(map(str, data))}"
            )
    others = data.drop(columns=[name for name in (target, groups) if name])
    owners = data[groups] if groups else None
    table = find_module("table").write_arrays(
        (others, data[target]), owners, place / "resources/tables"
    )
    table = merged(table, settings or {})
    question = {**options, "dataset": table, "methods": [*methods], "total": total_epsilon}
    try:
        lines = write_study(checked(Question, question, ""), place)
    except ValueError as error:
        message = as_typed(str(error)).replace("--total: ", "--total_epsilon: ")
        raise ValueError(re.sub(r"--(\w+): ", r"\1: ", message)) from None
    for line in lines:
        print(line)
    if status := run_study(place, cores, until_decided=until_decided):
        if status == interrupts.STATUS:
            raise interrupts.Interrupted("stopped; the same call goes on from there")
        raise RuntimeError(f"the study in {place} failed, see above")
    ends = read_ends(place)
    if not ends:
        raise RuntimeError(f"no two methods can be compared; the report in {place} says why")
    ranking = Ranking(pd.concat(map(_rows, ends)))
    ranking.study, ranking.attrs["metric"] = place, ends[0].measure
    return ranking


def write_study(question: Question, folder: Path) -> list[str]:
    """Write the study that answers a question; return lines on its metric, and methods left out or tuned in part."""
    content, left_out = experiment(question, folder)
    text = dump_yaml(content, default_flow_style=None, sort_keys=False, width=120)
    scaffold.write_experiments({NAME: HEAD + text}, folder)
    return [
        *metric_of(question, describe(question.dataset)),
        *(f"not ranked: {line}" for line in left_out),
        *half_tuned(question.methods),
    ]


def run_study(
    folder: Path, cores: int | None = None, *, dry_run: bool = False, until_decided: bool = False
) -> int:
    """Tune the methods of a study and run them, or list the searches alone; return the exit status."""
    # The report is written once, after the last analysis.
    race = [[f"results/{NAME}/results.nc", "--until-decided"]] if until_decided else []
    turns = [["tune", "-n"]] if dry_run else [["tune"], *race, ["all"]]
    words = ["--cores", str(cores)] if cores else []
    with warm.shared_workers():
        return run_turns([[*turn, *words] for turn in turns], folder)


def read_ends(folder: Path) -> list[closing.Closing]:
    """Read the end of a study at each total; empty if no two methods can be compared at any."""
    results = netcdf.read(folder / "results" / NAME / "results.nc")
    comparison = compare([results])
    return [] if comparison is None else list(closing.closings(comparison, results))


def _rows(end: closing.Closing) -> pd.DataFrame:
    """Return the rows of a setting: methods and baselines by their values."""
    rows = [
        {
            "epsilon": end.epsilon,
            "method": row.method,
            **dict(zip(_VALUES, row.error, strict=False)),
            **dict(zip(_DIFFERENCES, row.difference or (math.nan,) * 3, strict=False)),
            "verdict": row.verdict,
            "seeds": row.seeds,
            "stopped": row.stopped,
            "no_better": row.no_better,
        }
        for row in end.rows
    ]
    return pd.DataFrame(rows).set_index(["epsilon", "method"])
