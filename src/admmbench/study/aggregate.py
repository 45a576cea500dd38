"""Aggregation: the runs of an experiment, joined to one labelled data set."""

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
from admmbench.files import netcdf
from admmbench.jobs import fingerprint, provenance
from admmbench.results.joining import (
    MIRROR,
    OF_DECISIONS,
    each_once,
    in_common,
    release_budget,
    same_budget,
)
from admmbench.results.statistics import final
from admmbench.spec import guarantees

if TYPE_CHECKING:
    # The aggregation must not depend on figures, which the configuration imports: only types come from there.
    from admmbench.study.experiment import Experiment
    from admmbench.study.methods import Method
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
# Facts of runs in which methods may differ: the results list each value once.
_SEVERAL = ("sensitivity", "dtype")
# Attributes of a run's variables in which methods may differ. Results have coordinates instead, or what follows from
# coordinates.
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
    """Join all or some runs of an experiment.

    Parameters
    ----------
    name, experiment
        Name and definition of the experiment.
    traces
        Runs, each with its trace as `read` returns it; at least one of them is no mirror.

    Returns
    -------
    xarray.Dataset
        Dims ``algorithm`` (labels with a run, in the order of the configuration), ``epsilon``, ``seed``, ``round``.
        Points of the grid without a run are NaN, with ``status`` -1. Of mirrors there are the final metric and the
        status alone, see `admmbench.results.joining.MIRROR`.
    """
    mirrors = [(run, trace) for run, trace in traces if run.spec.mirror]
    traces = [(run, trace) for run, trace in traces if not run.spec.mirror]
    blocks: dict[str, dict[float, list[xr.Dataset]]] = {}
    for run, trace in traces:
        method_blocks = blocks.setdefault(run.label, {})
        method_blocks.setdefault(run.spec.stated_budget, []).append(_divide_seconds(trace, run))
    methods = [method for method in experiment.algorithms if method.label in blocks]
    uneven = traces[0][0].spec.scheme.uneven
    joined = _concatenate(
        "algorithm",
        {
            method.label: _concatenate(
                "epsilon",
                {
                    budget: _join_seeds(seed_blocks, f"{method.label} at ε = {budget:g}", uneven)
                    for budget, seed_blocks in sorted(blocks[method.label].items())
                },
            )
            for method in methods
        },
    ).sortby("epsilon")
    joined = joined.assign_coords(_coordinates(experiment, methods, [run for run, _ in traces]))
    firsts = [
        seed_blocks[0]
        for method_blocks in blocks.values()
        for seed_blocks in method_blocks.values()
    ]
    joined = _with_attributes(joined, name, experiment, firsts)
    return _with_mirrors(joined, mirrors) if mirrors else joined


def _with_mirrors(joined: xr.Dataset, traces: Sequence[tuple[Run, xr.Dataset]]) -> xr.Dataset:
    """Return results with the final metric and the status of the mirrors of seeds."""
    metric, ordinary = joined[joined.attrs["metric"]], joined["status"].reset_coords(drop=True)
    finals = xr.full_like(ordinary, np.nan, float).assign_attrs(
        {**metric.attrs, "long_name": f"{metric.attrs['long_name']}, all noise negated"}
    )
    status = xr.full_like(ordinary, Outcome.NOT_RUN).assign_attrs(status_attrs())
    for run, trace in traces:
        # Ordinary runs may be missing as long as a study is at work.
        if run.label in joined["algorithm"] and run.spec.stated_budget in joined["epsilon"]:
            trace = trace.sel(seed=trace["seed"].isin(joined["seed"]))
            place = {"algorithm": run.label, "epsilon": run.spec.stated_budget}
            place["seed"] = trace["seed"].values
            finals.loc[place] = final(trace, str(metric.name)).values
            status.loc[place] = trace["status"].values
    return joined.assign(dict(zip(MIRROR, (finals, status), strict=True)))


def _join_seeds(blocks: Sequence[xr.Dataset], title: str, uneven: bool) -> xr.Dataset:
    """Join the blocks of seeds of a method at a budget: mistakes are added up, the largest total is taken.

    All blocks have noise for one budget of a release, unless seeds give agents other numbers of rows.

    Raises
    ------
    StaleResultError
        If the noise of two blocks differs.
    """
    budgets = [float(release_budget(trace)) for trace in blocks]
    least, most = np.fmin.reduce(budgets), np.fmax.reduce(budgets)
    if not (uneven or same_budget(least, most)):
        raise netcdf.StaleResultError(
            f"{title}: a release has the budget {least:.4g} at some seeds and {most:.4g} at others, so its noise "
            "differs; run all seeds again with one code"
        )
    # Blocks of earlier versions lack variables that others have.
    of_all = set.intersection(*({*trace.variables} for trace in blocks)) - {"mistakes"}
    traces = [trace.drop_vars({*trace.variables} - of_all) for trace in blocks]
    joined = xr.concat(
        traces, "seed", data_vars="minimal", coords="minimal", join="exact", compat="override"
    )
    shared = [name for name, trace in traces[0].items() if "seed" not in trace.dims]
    largest = xr.concat([trace[shared] for trace in traces], "block", data_vars="all", join="exact")
    joined = joined.assign(largest.max("block", keep_attrs=True).data_vars)
    mistakes = [trace["mistakes"] for trace in blocks if "mistakes" in trace]
    return joined.assign(mistakes=sum(mistakes)) if mistakes else joined


def _concatenate(dim: str, parts: Mapping[Any, xr.Dataset]) -> xr.Dataset:
    """Join parts along a new dimension. Variables, rounds and points that a part lacks are missing there."""
    return xr.concat(
        parts.values(),
        xr.Variable(dim, list(parts)),
        data_vars="all",
        join="outer",
        fill_value={"status": np.int8(Outcome.NOT_RUN)},
        combine_attrs="drop",
    )


def _with_attributes(
    joined: xr.Dataset, name: str, experiment: Experiment, firsts: list[xr.Dataset]
) -> xr.Dataset:
    first = firsts[0]
    # Methods may measure different variables; where several measure one, the first trace describes it.
    for trace in reversed(firsts):
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
        "shares": _shares(trace.attrs.get("shares", "") for trace in firsts),
        "problem": in_common([trace.attrs["problem"] for trace in firsts]),
        "rounds": max(trace.attrs["rounds"] for trace in firsts),
        "evaluate_every": experiment.evaluate_every,
        "partition": json.dumps(experiment.partition),
        "relation": experiment.privacy.relation,
    }
    if missing := experiment.missing_data:
        joined.attrs["missing_data"] = missing.model_dump_json()
    return with_decision(joined, experiment)


def _shares(texts: Iterable[str]) -> str:
    """Return the list of what agents hold in some runs, as JSON; runs of earlier versions say it by a sentence."""
    shares = [json.loads(text) if text.startswith("{") else text for text in dict.fromkeys(texts)]
    return json.dumps([share for share in shares if share])


_BUDGETS = {
    "iteration": "privacy budget of one iteration",
    "run": "privacy budget of the whole run",
}


def with_decision(results: xr.Dataset, experiment: Experiment) -> xr.Dataset:
    """Return results with attributes on how they are judged: added methods, interim analyses, control and margin.

    Former ones are dropped. The margin is in the unit of the results.
    """
    decision_attrs: dict[str, object] = {}
    if added := [method.label for method in experiment.algorithms if method.added]:
        decision_attrs["added"] = json.dumps(added)
    if experiment.interim_analyses:
        decision_attrs["interim_analyses"] = json.dumps(experiment.interim_analyses)
    if experiment.pairs:
        decision_attrs["pairs"] = experiment.pairs.model_dump_json()
    if experiment.control:
        decision_attrs["control"] = experiment.control
    if experiment.margin:
        in_points = "valid_range" in results[results.attrs["metric"]].attrs
        decision_attrs["margin"] = experiment.margin / (100 if in_points else 1)
    kept_attrs = {name: value for name, value in results.attrs.items() if name not in OF_DECISIONS}
    return results.drop_attrs(deep=False).assign_attrs({**kept_attrs, **decision_attrs})


def _coordinates(
    experiment: Experiment, methods: Sequence[Method], runs: Sequence[Run]
) -> dict[str, Any]:
    """Return the coordinates of methods, and of methods at budgets: dimensions, values and attributes, by name."""
    spec_of_label = {run.label: run.spec for run in runs}
    spec_at_budget = {(run.label, run.spec.stated_budget): run.spec for run in runs}
    specs = [spec_of_label[method.label] for method in methods]
    # No parameter, but a reader looks there for what tells two methods apart.
    changing = [{"noise_ratio": s.noise_ratio} if s.noise_ratio != 1 else {} for s in specs]
    params = [
        {**experiment.params, **method.params, **ratio}
        for method, ratio in zip(methods, changing, strict=True)
    ]
    releases = [spec.release for spec in specs]
    budgets = sorted({budget for _, budget in spec_at_budget})
    specs_by_budget = [
        [spec_at_budget.get((method.label, budget)) for budget in budgets] for method in methods
    ]
    tuned = [[experiment.settings(method, budget) for budget in budgets] for method in methods]
    return {
        "method": _coordinate("name of the method", [spec.algorithm for spec in specs]),
        "variant": _coordinate("equations or code that are followed", [s.variant for s in specs]),
        "params": _coordinate("parameters that the experiment states, as JSON", map(_json, params)),
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
            [[spec.rounds if spec else 0 for spec in row] for row in specs_by_budget],
        ),
        **_sensitivities_to_tuning(experiment, methods, budgets),
        "tuned": _coordinate(
            "settings that tuning chose, as JSON",
            [[json.dumps(settings) if settings else "" for settings in row] for row in tuned],
        ),
    }


def _sensitivities_to_tuning(
    experiment: Experiment, methods: Sequence[Method], budgets: Sequence[float]
) -> dict[str, Any]:
    """Return the coordinate of the sensitivity to tuning; nothing if no tuned value was tried at half and twice."""
    chosen = [experiment.chosen.get(method.label, {}) for method in methods]
    growths = [
        [choices[budget].error_growth if budget in choices else math.nan for budget in budgets]
        for choices in chosen
    ]
    long_name = "largest growth of the error on held-out rows at half or twice a tuned value"
    return {} if np.isnan(growths).all() else {"error_growth": _coordinate(long_name, growths)}


def _coordinate(
    long_name: str, values: Iterable[Any]
) -> tuple[tuple[str, ...], Any, dict[str, str]]:
    """Make a coordinate from values of each method, or of each method at each budget; numbers have the unit 1."""
    array = np.array(list(values))
    units = {} if array.dtype.kind in "Ub" else {"units": "1"}
    return ("algorithm", "epsilon")[: array.ndim], array, {"long_name": long_name, **units}


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _divide_seconds(trace: xr.Dataset, run: Run) -> xr.Dataset:
    """Divide the computing time of a block among the seeds that were computed, where the trace has it."""
    if "seconds" not in trace:
        return trace
    attrs = {**trace["seconds"].attrs, "long_name": "computing time"}
    share = (trace["seconds"] / len(run.spec.computed.seeds)).expand_dims(seed=trace["seed"])
    return trace.assign(seconds=share.assign_attrs(attrs))


def read(path: Path, run: Run) -> xr.Dataset:
    """Read the result of a run, and refuse a file that is not what the configuration asks for.

    Raises
    ------
    StaleResultError
        If the file is missing, damaged or altered, or was made by other code or with other parameters.
    """
    trace = netcdf.read(path)
    check(trace, path, run)
    return trace


def check(trace: xr.Dataset, path: Path, run: Run) -> None:
    """Refuse a trace that is not what the configuration asks for, see `read`."""
    fix = f"`admmbench study --forcerun {path}` makes it again"
    # What only other runs state must not be in the trace: one of a mirror, or of noise that changes, is not this run's.
    wanted = {"mirror": None, "noise_ratio": None, **provenance.requested(run.spec)}
    for key, expected in wanted.items():
        actual = trace.attrs.get(key)
        actual = actual.item() if isinstance(actual, np.generic) else actual
        if actual != expected:
            raise netcdf.StaleResultError(
                f"{path}: was made with {key} = {actual!r}, the configuration and code now ask for "
                f"{expected!r}; {fix}"
            )
    if (seeds := trace["seed"].values.tolist()) != list(run.spec.seeds):
        raise netcdf.StaleResultError(
            f"{path}: has the seeds {seeds}, its name says {list(run.spec.seeds)}; {fix}"
        )
