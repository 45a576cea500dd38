"""From the runs of an experiment to one labelled data set."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from admmbench.engine.spec import RunSpec
from admmbench.engine.trace import status_attrs
from admmbench.engine.variables import COMMENTS
from admmbench.files import MADE_AGAIN
from admmbench.frames.outcomes import Outcome
from admmbench.jobs import fingerprint, provenance, seal
from admmbench.jobs.seal import StaleResultError
from admmbench.results.declared import kinship
from admmbench.results.joining import each_once

if TYPE_CHECKING:
    # A type alone: another look of a figure, which the configuration reaches, makes no other results.
    from admmbench.study.experiment import Experiment, Method
    from admmbench.study.runs import Run

# Facts that all runs of an experiment share, copied from them.
_SHARED = (
    "dataset",
    "dataset_note",
    "dataset_settings",
    "data_checksums",
    "citation",
    "metric",
    "sensitivity",
    "dtype",
    "n_train",
    "n_test",
    "n_features",
    "n_classes",
    "versions",
    "machine",
    "arithmetic",
)


def aggregate(name: str, experiment: Experiment, folder: Path) -> xr.Dataset:
    """Join all runs of an experiment, see `join_runs`.

    Parameters
    ----------
    name, experiment
        See `join_runs`.
    folder
        Folder that holds the runs, see `admmbench.study.runs.Run.path`.

    Raises
    ------
    StaleResultError
        If a run is missing, damaged or altered, or was made by other code or with other parameters.
    """
    return join_runs(
        name, experiment, [(run, read(folder / run.path, run)) for run in experiment.runs]
    )


def join_runs(
    name: str, experiment: Experiment, found: Sequence[tuple[Run, xr.Dataset]]
) -> xr.Dataset:
    """Join runs of an experiment, all or some.

    Parameters
    ----------
    name
        Name of the experiment.
    experiment
        Its definition.
    found
        At least one run, each with what `read` gave.

    Returns
    -------
    xarray.Dataset
        Dims ``algorithm`` (labels with a run, in the order of the configuration), ``epsilon``, ``seed``, ``round``.
        Points of the grid without a run are NaN, with ``status`` -1.
    """
    traces: dict[tuple[str, float], list[xr.Dataset]] = {}
    for run, trace in found:
        key = run.label, run.spec.stated_budget
        traces.setdefault(key, []).append(_for_each_seed(trace, run))
    runs = [run for run, _ in found]
    firsts = [blocks[0] for blocks in traces.values()]
    points = [
        xr.concat(
            blocks, "seed", data_vars="minimal", coords="minimal", compat="override", join="exact"
        )
        .expand_dims(algorithm=[label], epsilon=[epsilon])
        .drop_attrs(deep=False)
        for (label, epsilon), blocks in traces.items()
    ]
    joined = xr.combine_by_coords(
        _with_same_rounds(_with_same_variables(points)),
        join="outer",
        fill_value={"status": np.int8(Outcome.NOT_RUN)},
        combine_attrs="drop_conflicts",
    )
    assert isinstance(joined, xr.Dataset)
    labels = {run.label for run in runs}
    methods = [method for method in experiment.algorithms if method.label in labels]
    joined = joined.sel(algorithm=[method.label for method in methods])
    joined = joined.assign_coords(_methods(experiment, methods, runs))
    joined = joined.transpose("algorithm", "epsilon", "seed", "round")
    return _described(joined, name, experiment, firsts)


def _with_same_variables(points: list[xr.Dataset]) -> list[xr.Dataset]:
    """Add what other methods measure, as missing: only equal sets of variables are joined along the grid."""
    dims = {name: variable.dims for point in points for name, variable in point.items()}
    return [
        point.assign(
            {
                name: (own, np.full([point.sizes[dim] for dim in own], np.nan))
                for name, own in dims.items()
                if name not in point
            }
        )
        for point in points
    ]


def _with_same_rounds(points: list[xr.Dataset]) -> list[xr.Dataset]:
    """Add the rounds that others evaluate, as missing: methods that are tuned have their own."""
    rounds = sorted({t for point in points for t in point["round"].values.tolist()})
    return [
        point if point.sizes["round"] == len(rounds) else point.reindex(round=rounds)
        for point in points
    ]


def _described(
    joined: xr.Dataset, name: str, experiment: Experiment, firsts: list[xr.Dataset]
) -> xr.Dataset:
    first = firsts[0]
    for trace in reversed(firsts):  # a method may measure what others do not
        for variable in set(trace.variables) & set(joined.variables):
            joined[variable].attrs = dict(trace[variable].attrs)
    for own in joined.data_vars.values():
        for fact in ("delta", "guarantee"):  # coordinates here: methods have their own
            own.attrs.pop(fact, None)
        for fact in ("unit_of_privacy", "warning"):
            if text := each_once(
                str(trace[own.name].attrs.get(fact, "")) for trace in firsts if own.name in trace
            ):
                own.attrs[fact] = text
    joined["epsilon_total"].attrs["comment"] = COMMENTS["epsilon_total"]  # each method has its own
    status = status_attrs()
    status["flag_values"] = np.array([Outcome.NOT_RUN, *status["flag_values"]], np.int8)
    status["flag_meanings"] = f"not_run {status['flag_meanings']}"
    joined["status"].attrs = status
    joined["epsilon"].attrs = {
        "long_name": f"privacy budget of {experiment.budget_of}",
        "budget_of": experiment.budget_of,
        "units": "1",
    }
    joined["algorithm"].attrs = {"long_name": "method"}
    joined["agents"].attrs = {"long_name": "agents", "units": "1"}
    joined["features"].attrs = {"long_name": "features", "units": "1"}
    joined["notion"].attrs = {"long_name": "notion of differential privacy of a release"}
    joined["noise"].attrs = {"long_name": "law of the noise, none where nothing noisy is released"}
    joined["neighbours"].attrs = {"long_name": "in what neighbouring data sets differ"}
    joined["guarantee"].attrs = {"long_name": "what the composed privacy loss is worth"}
    joined["family"].attrs = {"long_name": "mechanism that methods share"}
    joined["role"].attrs = {"long_name": "contender, reference, or optimum for reference"}
    joined["rounds"].attrs = {"long_name": "rounds of a run", "units": "1"}
    joined["tuned"].attrs = {"long_name": "settings that tuning chose, as JSON"}
    joined["caveats"].attrs = {"long_name": "what readers should know, a JSON list"}
    joined["delta"].attrs = {"long_name": "failure probability", "units": "1"}
    joined.attrs = {
        "Conventions": "CF-1.11",
        "experiment": name,
        "title": experiment.title,
        "paper": experiment.paper,
        **{key: first.attrs[key] for key in _SHARED},
        "shares": each_once(str(trace.attrs.get("shares", "")) for trace in firsts),
        "problem": _in_common([trace.attrs["problem"] for trace in firsts]),
        "rounds": max(trace.attrs["rounds"] for trace in firsts),
        "evaluate_every": experiment.evaluate_every,
        "partition": json.dumps(experiment.agents),
        "relation": experiment.privacy.relation,
    }
    return joined


def _in_common(problems: list[str]) -> str:
    """Settings that are the same in all problems; those that are tuned are not."""
    found = [json.loads(each) for each in dict.fromkeys(problems)]
    return json.dumps(_shared(found), sort_keys=True) if len(found) > 1 else problems[0]


def _shared(mappings: list[dict[str, Any]]) -> dict[str, Any]:
    first = mappings[0]
    common = {}
    for key in first:
        values = [each.get(key) for each in mappings]
        settings = [value for value in values if isinstance(value, dict)]
        if len(settings) == len(values):
            common[key] = _shared(settings)
        elif all(value == first[key] for value in values):
            common[key] = first[key]
    return common


def _methods(
    experiment: Experiment, methods: Sequence[Method], runs: Sequence[Run]
) -> dict[str, Any]:
    """Coordinates that say what is behind a label."""
    specs = {run.label: run.spec for run in runs}
    facts = [_facts(specs[method.label]) for method in methods]
    return {
        **{name: ("algorithm", [each[name] for each in facts]) for name in facts[0]},
        "method": ("algorithm", [method.name for method in methods]),
        "variant": ("algorithm", [method.variant for method in methods]),
        "params": ("algorithm", [_params(experiment, method) for method in methods]),
        "agents": ("algorithm", [specs[method.label].n_agents for method in methods]),
        "features": ("algorithm", [specs[method.label].n_features for method in methods]),
        "delta": ("algorithm", [specs[method.label].delta for method in methods]),
        **_at_budgets(experiment, methods, runs),
        "fingerprint": (
            "algorithm",
            [fingerprint.of_run(specs[method.label]) for method in methods],
        ),
    }


def _facts(spec: RunSpec) -> dict[str, str]:
    """What a method declares about itself, for readers of its results.

    Returns
    -------
    ``noise``, the law of a release, and its ``notion`` of differential privacy (``pure``, ``approximate``), both
    ``none`` where nothing noisy is sent; ``neighbours`` that it is about; ``guarantee`` of the composed loss
    (``proved``, ``conditional`` or ``none``); ``family`` and ``role``, see `Algorithm`; and ``caveats``, a JSON list.
    """
    method, release = spec.method, spec.release
    notion = "none" if release is None else "pure" if release.kind.pure else "approximate"
    return {
        "noise": release.law if release else "none",
        "notion": notion,
        "neighbours": release.neighbours(spec.privacy.relation) if release else "",
        "guarantee": spec.worth.kind,
        **kinship(method),
        "caveats": json.dumps(method.caveats, ensure_ascii=False),
    }


def _at_budgets(
    experiment: Experiment, methods: Sequence[Method], runs: Sequence[Run]
) -> dict[str, Any]:
    """What may differ from budget to budget: rounds, 0 where nothing was run, and what tuning chose, as JSON."""
    rounds = {(run.label, run.spec.stated_budget): run.spec.rounds for run in runs}
    budgets = sorted({budget for _, budget in rounds})
    grid = [[(method, budget) for budget in budgets] for method in methods]
    chosen = [[experiment.settings(*point) for point in own] for own in grid]
    dims = "algorithm", "epsilon"
    return {
        "rounds": (dims, [[rounds.get((m.label, budget), 0) for m, budget in own] for own in grid]),
        "tuned": (dims, [[json.dumps(each) if each else "" for each in own] for own in chosen]),
    }


def _params(experiment: Experiment, method: Method) -> str:
    return json.dumps({**experiment.params, **method.params}, sort_keys=True)


def _for_each_seed(trace: xr.Dataset, run: Run) -> xr.Dataset:
    """Share the computing time of a block among the seeds that were computed, where it was kept."""
    if "seconds" not in trace:
        return trace
    attrs = {**trace["seconds"].attrs, "long_name": "computing time"}
    share = (trace["seconds"] / len(run.spec.computed.seeds)).expand_dims(seed=trace["seed"])
    return trace.assign(seconds=share.assign_attrs(attrs))


def read(path: Path, run: Run) -> xr.Dataset:
    """Open a result, and refuse one that is not what the configuration asks for.

    Raises
    ------
    StaleResultError
        If it is missing, damaged or altered, or was made by other code or with other parameters.
    """
    trace, fix = seal.read(path), MADE_AGAIN.format(path)
    for key, wanted in provenance.requested(run.spec).items():
        found = trace.attrs.get(key)
        found = found.item() if isinstance(found, np.generic) else found
        if found != wanted:
            raise StaleResultError(
                f"{path}: was made with {key} = {found!r}, the configuration and code now ask for "
                f"{wanted!r}; {fix}"
            )
    if (seeds := trace["seed"].values.tolist()) != list(run.spec.seeds):
        raise StaleResultError(
            f"{path}: has the seeds {seeds}, its name says {list(run.spec.seeds)}; {fix}"
        )
    return trace
