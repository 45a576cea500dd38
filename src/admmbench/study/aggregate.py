"""From the runs of an experiment to one labelled data set."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from admmbench.base.outcomes import Outcome
from admmbench.engine.trace import status_attrs
from admmbench.jobs import fingerprint, provenance, seal
from admmbench.jobs.seal import StaleResultError
from admmbench.results.joining import (
    OF_DECISIONS,
    each_once,
    in_common,
    release_budget,
    same_budget,
)
from admmbench.spec import guarantees

if TYPE_CHECKING:
    # A type alone: another look of a figure, which the configuration reaches, makes no other results.
    from admmbench.study.experiment import Experiment
    from admmbench.study.grid import Method
    from admmbench.study.runs import Run

# Facts that all runs of an experiment share, copied from them.
_SHARED = (
    "dataset",
    "dataset_note",
    "dataset_settings",
    "data_checksums",
    "citation",
    "metric",
    "n_train",
    "n_test",
    "n_features",
    "n_classes",
    "versions",
    "machine",
    "arithmetic",
)
# Facts of runs that methods may have for themselves, each value once.
_SEVERAL = ("sensitivity", "dtype")
# Facts of a run's variables that each method has for itself: coordinates here, or what follows from these.
OF_METHODS = (
    "delta",
    "guarantee",
    "conditions",
    "relation",
    "threat_model",
    "unit_of_privacy",
    "warning",
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
    name: str, experiment: Experiment, traces: Sequence[tuple[Run, xr.Dataset]]
) -> xr.Dataset:
    """Join runs of an experiment, all or some.

    Parameters
    ----------
    name
        Name of the experiment.
    experiment
        Its definition.
    traces
        At least one run, each with what `read` gave.

    Returns
    -------
    xarray.Dataset
        Dims ``algorithm`` (labels with a run, in the order of the configuration), ``epsilon``, ``seed``, ``round``.
        Points of the grid without a run are NaN, with ``status`` -1.
    """
    blocks: dict[str, dict[float, list[xr.Dataset]]] = {}
    for run, trace in traces:
        of_method = blocks.setdefault(run.label, {})
        of_method.setdefault(run.spec.stated_budget, []).append(_for_each_seed(trace, run))
    methods = [method for method in experiment.algorithms if method.label in blocks]
    uneven = traces[0][0].spec.scheme.uneven
    joined = _along(
        "algorithm",
        {
            method.label: _along(
                "epsilon",
                {
                    budget: _along_seeds(of_seeds, f"{method.label} at ε = {budget:g}", uneven)
                    for budget, of_seeds in sorted(blocks[method.label].items())
                },
            )
            for method in methods
        },
    ).sortby("epsilon")
    joined = joined.assign_coords(_coordinates(experiment, methods, [run for run, _ in traces]))
    firsts = [of_seeds[0] for of_method in blocks.values() for of_seeds in of_method.values()]
    return _described(joined, name, experiment, firsts)


def _along_seeds(blocks: Sequence[xr.Dataset], which: str, uneven: bool) -> xr.Dataset:
    """Join the blocks of seeds of a run, whose mistakes add up; the largest total counts.

    All have noise for one budget of a release, unless seeds give agents other numbers of rows.
    """
    budgets = [float(release_budget(each)) for each in blocks]
    least, most = np.fmin.reduce(budgets), np.fmax.reduce(budgets)
    if not (uneven or same_budget(least, most)):
        raise StaleResultError(
            f"{which}: a release has the budget {least:.4g} at some seeds and {most:.4g} at others, so its noise "
            "differs; run all seeds again with one code"
        )
    alike = [each.drop_vars("mistakes", errors="ignore") for each in blocks]
    joined = xr.concat(
        alike, "seed", data_vars="minimal", coords="minimal", join="exact", compat="override"
    )
    shared = [name for name, each in alike[0].items() if "seed" not in each.dims]
    largest = xr.concat([each[shared] for each in alike], "block", data_vars="all", join="exact")
    joined = joined.assign(largest.max("block", keep_attrs=True).data_vars)
    counted = [each["mistakes"] for each in blocks if "mistakes" in each]
    return joined.assign(mistakes=sum(counted)) if counted else joined


def _along(dim: str, parts: Mapping[Any, xr.Dataset]) -> xr.Dataset:
    """Join along a new dimension. Variables, rounds and points that a part lacks are missing there."""
    return xr.concat(
        parts.values(),
        xr.Variable(dim, list(parts)),
        data_vars="all",
        join="outer",
        fill_value={"status": np.int8(Outcome.NOT_RUN)},
        combine_attrs="drop",
    )


def _described(
    joined: xr.Dataset, name: str, experiment: Experiment, firsts: list[xr.Dataset]
) -> xr.Dataset:
    first = firsts[0]
    for trace in reversed(firsts):  # a method may measure what others do not
        for variable in set(trace.variables) & set(joined.variables):
            joined[variable].attrs = dict(trace[variable].attrs)
    for measured in joined.data_vars.values():
        for fact in OF_METHODS:
            measured.attrs.pop(fact, None)
    status = status_attrs()
    status["flag_values"] = np.array([Outcome.NOT_RUN, *status["flag_values"]], np.int8)
    status["flag_meanings"] = " ".join(("not_run", status["flag_meanings"]))
    joined["status"].attrs = status
    joined["epsilon"].attrs = {
        "long_name": _BUDGETS[experiment.budget_of],
        "budget_of": experiment.budget_of,
        "units": "1",
    }
    joined["algorithm"].attrs = {"long_name": "method"}
    joined.attrs = {
        "Conventions": "CF-1.11",
        "experiment": name,
        "title": experiment.title,
        "paper": experiment.paper,
        **{key: first.attrs[key] for key in _SHARED},
        **{key: each_once(str(trace.attrs[key]) for trace in firsts) for key in _SEVERAL},
        "shares": each_once(str(trace.attrs.get("shares", "")) for trace in firsts),
        "problem": in_common([trace.attrs["problem"] for trace in firsts]),
        "rounds": max(trace.attrs["rounds"] for trace in firsts),
        "evaluate_every": experiment.evaluate_every,
        "partition": json.dumps(experiment.partition),
        "relation": experiment.privacy.relation,
    }
    if missing := experiment.missing_data:
        joined.attrs["missing_data"] = missing.model_dump_json()
    return with_decision(joined, experiment)


_BUDGETS = {
    "iteration": "privacy budget of one iteration",
    "run": "privacy budget of the whole run",
}


def with_decision(results: xr.Dataset, experiment: Experiment) -> xr.Dataset:
    """State what an experiment says of decisions with its results, and nothing else; the margin is in their unit."""
    stated: dict[str, object] = {}
    if added := [method.label for method in experiment.algorithms if method.added]:
        stated["added"] = json.dumps(added)
    if experiment.looks:
        stated["looks"] = json.dumps(experiment.looks)
    if experiment.control:
        stated["control"] = experiment.control
    if experiment.margin:
        in_points = "valid_range" in results[results.attrs["metric"]].attrs
        stated["margin"] = experiment.margin / (100 if in_points else 1)
    of_results = {name: each for name, each in results.attrs.items() if name not in OF_DECISIONS}
    return results.drop_attrs(deep=False).assign_attrs({**of_results, **stated})


def _coordinates(
    experiment: Experiment, methods: Sequence[Method], runs: Sequence[Run]
) -> dict[str, Any]:
    """Return what is behind a label, and behind a label at a budget: names, what they mean, and values."""
    of = {run.label: run.spec for run in runs}
    at = {(run.label, run.spec.stated_budget): run.spec for run in runs}
    specs = [of[method.label] for method in methods]
    stated = [{**experiment.params, **method.params} for method in methods]
    releases = [spec.release for spec in specs]
    budgets = sorted({budget for _, budget in at})
    ran = [[at.get((method.label, budget)) for budget in budgets] for method in methods]
    tuned = [[experiment.settings(method, budget) for budget in budgets] for method in methods]
    return {
        "method": _coordinate("name of the method", [spec.algorithm for spec in specs]),
        "variant": _coordinate("equations or code that are followed", [s.variant for s in specs]),
        "params": _coordinate("parameters that the experiment states, as JSON", map(_json, stated)),
        "agents": _coordinate("agents", [spec.n_agents for spec in specs]),
        "features": _coordinate("features", [spec.n_features for spec in specs]),
        "delta": _coordinate("failure probability", [spec.delta for spec in specs]),
        "noise": _coordinate(
            "law of the noise, none where nothing noisy is released",
            [release.law if release else "none" for release in releases],
        ),
        "notion": _coordinate(
            "notion of differential privacy of a release",
            ["none" if r is None else "pure" if r.kind.pure else "approximate" for r in releases],
        ),
        "relation": _coordinate(
            "relation of neighbouring data sets, none where nothing noisy is released",
            [spec.neighbours.relation for spec in specs],
        ),
        "unit": _coordinate(
            "what neighbouring data sets differ in, none where nothing noisy is released",
            [spec.neighbours.unit for spec in specs],
        ),
        "guarantee": _coordinate(
            "what the composed privacy loss is worth",
            [guarantees.guarantee_with_noise(spec).kind for spec in specs],
        ),
        "family": _coordinate(
            "mechanism that methods share", [spec.method.family.mechanism for spec in specs]
        ),
        "role": _coordinate(
            "contender, reference, or optimum for reference",
            [spec.method.family.role for spec in specs],
        ),
        "stops": _coordinate(
            "whether the method has a test of its own that ends a run",
            [spec.method.family.stops for spec in specs],
        ),
        "caveats": _coordinate(
            "what readers should know, keys with their values, as JSON",
            [_json(guarantees.caveats(spec)) for spec in specs],
        ),
        "fingerprint": _coordinate("code of the runs", map(fingerprint.of_run, specs)),
        "rounds": _coordinate(
            "rounds of a run, 0 where nothing was run",
            [[spec.rounds if spec else 0 for spec in specs_of] for specs_of in ran],
        ),
        **_lost_beside(experiment, methods, budgets),
        "tuned": _coordinate(
            "settings that tuning chose, as JSON",
            [[json.dumps(chosen) if chosen else "" for chosen in chosen_of] for chosen_of in tuned],
        ),
    }


def _lost_beside(
    experiment: Experiment, methods: Sequence[Method], budgets: Sequence[float]
) -> dict[str, Any]:
    """How much the error on held-out rows grows at half or twice a tuned value, at most; nothing if not tried."""
    chosen = [experiment.chosen.get(method.label, {}) for method in methods]
    lost = [
        [own[budget].lost_beside if budget in own else math.nan for budget in budgets]
        for own in chosen
    ]
    text = "largest growth of the error on held-out rows at half or twice a tuned value"
    return {} if np.isnan(lost).all() else {"lost_beside": _coordinate(text, lost)}


def _coordinate(
    long_name: str, values: Iterable[Any]
) -> tuple[tuple[str, ...], Any, dict[str, str]]:
    """Make a coordinate of values of each method, or of each at each budget; numbers have the unit 1."""
    array = np.array(list(values))
    units = {} if array.dtype.kind in "Ub" else {"units": "1"}
    return ("algorithm", "epsilon")[: array.ndim], array, {"long_name": long_name, **units}


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


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
    trace = seal.read(path)
    check(trace, path, run)
    return trace


def check(trace: xr.Dataset, path: Path, run: Run) -> None:
    """Refuse a trace that is not what the configuration asks for, see `read`."""
    fix = f"`admmbench study --forcerun {path}` makes it again"
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
