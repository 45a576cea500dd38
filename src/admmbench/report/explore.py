"""Data of the interactive view of the report: curves of all experiments, packed small.

An experiment is one text: base64 of gzip of JSON. The browser unpacks an experiment when it is chosen, see ``data.js``.
The metric of the problem comes with every seed, so that the browser computes the statistics; other metrics come as
statistics.
"""

from __future__ import annotations

import base64
import gzip
import json
import math
from collections.abc import Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from markupsafe import Markup
from scipy.special import stdtrit

from admmbench.figures import Figure, style
from admmbench.figures.tidy import COURSES
from admmbench.frames.outcomes import SUCCESSFUL
from admmbench.results import statistics

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_POINTS = 24
"""Points that a curve keeps if it is not of the metric of the problem."""

PRECISE, FINE, ROUGH = 7, 5, 3
"""Significant digits of single seeds, of what has no seeds, and of statistics over seeds."""

SUBOPTIMALITY = "suboptimality"
"""Name of F - F*, which is derived here."""

SCRIPTS = ("page", "tables", "claims", "data", "chart", "finals", "explore", "files", "main")
"""Files of the page's script, in the order in which they are joined; the last starts what the others define."""

_MARKERS = {
    "o": "circle",
    "s": "square",
    "D": "diamond",
    "^": "triangle",
    "v": "triangle2",
    "P": "cross",
    "<": "left",
    ">": "right",
    "X": "times",
    "*": "star",
    "": "",
}
"""Markers of the static figures, as the browser calls them."""

# Metrics of noise and budgets begin so.
_OF_NOISE = ("noise", "epsilon")

# What else advances during a run than `COURSES`, with what an axis calls it; NaN and infinity have no place.
_SPENT = {
    "epsilon_total": "Total ε, guaranteed",
    "epsilon_composed": "Total ε, composed",
    "seconds": "Seconds",
}


def content(experiments: Sequence[xr.Dataset]) -> dict[str, Any]:
    """Everything the template shows.

    Parameters
    ----------
    experiments
        Results, in the order of the page.

    Returns
    -------
    dict
        ``experiments`` with their ``name`` and packed ``data``; ``facts``, what the script needs to know, as JSON;
        texts of ``library``, ``script`` and ``style``.
    """
    facts = {
        "experiments": [
            {"name": each.attrs["experiment"], "title": each.attrs["title"]} for each in experiments
        ],
        "few": statistics.FEW_SEEDS,
        "level": statistics.LEVEL,
        "percentiles": statistics.PERCENTILES,
        "t": _quantiles(max((each.sizes["seed"] for each in experiments), default=1)),
    }
    return {
        "experiments": [
            {"name": str(each.attrs["experiment"]), "data": Markup(pack(each))}
            for each in experiments
        ],
        # A label may hold what would end a script.
        "facts": Markup(json.dumps(facts).replace("<", "\\u003c")),
        "library": _text("vendor/plot.min.js"),
        "script": _script(),
        "style": _text("templates/explore.css"),
    }


def pack(results: xr.Dataset) -> str:
    """Pack the curves of one experiment; the same results give the same text.

    Parameters
    ----------
    results
        Of the experiment.

    Returns
    -------
    str
        Base64 of gzip of JSON. Numbers are nested lists over curves (each a method and a budget that ran), seeds if
        they are kept, and rounds; null stands for what is missing.
    """
    results = _with_suboptimality(results)
    ran = (results["status"] >= 0).any("seed")
    curves = np.argwhere(ran.transpose("algorithm", "epsilon").values)
    # One row for each method and budget that ran.
    points = results.isel(
        algorithm=xr.DataArray(curves[:, 0], dims="curve"),
        epsilon=xr.DataArray(curves[:, 1], dims="curve"),
    )
    counts = statistics.counts(points)
    content = {
        **_facts(results),
        "curves": curves.tolist(),
        "lost": [_lost(counts.isel(curve=number)) for number in range(len(curves))],
        # Places of the seeds whose runs were lost: they have no final value, whatever they had before.
        "unfinished": [np.flatnonzero(own).tolist() for own in _unfinished(points)],
        "metrics": [_metric(results, points, name) for name in _metrics(results)],
        "axes": [
            {"name": "round", "label": COURSES["round"]},
            *(_axis(points, name, label) for name, label in _axes(results).items()),
        ],
    }
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def _facts(results: xr.Dataset) -> dict[str, Any]:
    """What the view says of the experiment, whatever it shows."""
    attrs = results.attrs
    noisy = results["algorithm"].values[statistics.noisy(results).any("epsilon").values]
    return {
        "name": attrs["experiment"],
        "dataset": attrs["dataset"],
        "note": attrs.get("dataset_note", ""),
        "budget": "ε of the whole run"
        if statistics.of_whole_runs(results)
        else "ε of one iteration",
        "budgets": [_short(float(each)) for each in results["epsilon"].values],
        "finite": np.isfinite(results["epsilon"].values).tolist(),
        "rounds": results["round"].values.tolist(),
        "seeds": results["seed"].values.tolist(),
        "redrawn": statistics.redrawn(results),
        "methods": [
            {"label": label, "noisy": label in noisy, "proof": proof != "none", **_look(look)}
            for (label, look), proof in zip(
                style.looks(results).items(), results["guarantee"].values, strict=True
            )
        ],
    }


def _look(look: style.Look) -> dict[str, Any]:
    """Colour, dashes in widths of the line, and marker."""
    dashes = [] if isinstance(look.linestyle, str) else look.linestyle[1]
    return {"color": look.color, "dashes": dashes, "marker": _MARKERS[look.marker]}


def _lost(counts: xr.Dataset) -> str:
    """Say which runs of one method and budget were lost; empty if none."""
    lost, started = statistics.lost(counts)
    return f"{' and '.join(lost)} of {started}" if lost else ""


def _unfinished(points: xr.Dataset) -> NDArray[np.bool_]:
    """Whether a run did not complete, for each curve and seed."""
    lost: NDArray[np.bool_] = ~points["status"].isin(SUCCESSFUL).transpose("curve", "seed").values
    return lost


def _metrics(results: xr.Dataset) -> list[str]:
    """Variables that have curves: the metric of the problem, then the others in their order.

    Noise and budgets are left out where there are none.
    """
    names = [
        str(name)
        for name, values in results.items()
        if "round" in values.dims
        and not (str(name).startswith(_OF_NOISE) and not (values > 0).any())
    ]
    return sorted(names, key=lambda name: name != results.attrs["metric"])


def _axes(results: xr.Dataset) -> dict[str, str]:
    """What else a horizontal axis may be than the round, with its label."""
    return {
        name: label
        for name, label in {**COURSES, **_SPENT}.items()
        if name in results.data_vars and np.isfinite(results[name]).any()
    }


def _axis(points: xr.Dataset, name: str, label: str) -> dict[str, Any]:
    values = points[name]
    mean = values.mean("seed") if "seed" in values.dims else values
    return {"name": name, "label": label, "values": _numbers(mean, FINE)}


def _metric(results: xr.Dataset, points: xr.Dataset, name: str) -> dict[str, Any]:
    """How a metric is called and shown, and its numbers."""
    values = points[name]
    scale = Figure.model_validate({"name": "explore", "kind": "curves", "metric": name}).scale(
        results
    )
    note = {
        "name": name,
        "label": scale.label,
        "percent": scale.factor == 100,
        # Noise and budgets are trivial where there are none: such methods are no reference there.
        "references": not name.startswith(_OF_NOISE),
        "log": name == SUBOPTIMALITY,
    }
    if "seed" not in values.dims:
        return {**note, "values": _numbers(values, FINE)}
    if name == results.attrs["metric"] or values.sizes["seed"] <= statistics.FEW_SEEDS:
        return {**note, **_seeds(values, int(results.attrs["n_test"]))}
    kept = _rounds_to_draw(values.notnull().any("seed").transpose("curve", "round").values)
    rounds = xr.DataArray(kept, dims=("curve", "round"))
    band = statistics.band(
        values.isel(round=rounds, curve=xr.DataArray(range(len(kept)), dims="curve"))
    )
    return {
        **note,
        "kept": kept.tolist(),
        **{name: _numbers(band[name], ROUGH) for name in ("mean", "lower", "upper")},
        "n": band["n"].transpose("curve", "round").values.tolist(),
    }


def _rounds_to_draw(evaluated: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Places of the rounds that are kept of each curve: some of those with values, among them the first and the last.

    Parameters
    ----------
    evaluated
        Whether there are values, for each curve and round.

    Returns
    -------
    numpy.ndarray
        A row for each curve; where a curve has fewer rounds than others, its last is repeated.
    """
    most = min(evaluated.shape[1], MOST_POINTS)
    rows = []
    for own in evaluated:
        at = np.flatnonzero(own) if own.any() else np.zeros(1, int)
        rows.append(at[np.linspace(0, len(at) - 1, most).round().astype(int)])
    return np.array(rows).reshape(-1, most)


def _numbers(values: xr.DataArray, digits: int) -> list[Any]:
    """Nested lists over curves, seeds if there are any, and rounds; None for what is not finite, as JSON has it."""
    array = values.transpose("curve", ..., "round").values.astype(float)
    flat = [json.loads(f"{x:.{digits}g}") if math.isfinite(x) else None for x in array.flat]
    listed: list[Any] = np.array(flat, object).reshape(array.shape).tolist()
    return listed


def _seeds(values: xr.DataArray, tests: int) -> dict[str, Any]:
    """All seeds, as exact counts ``of`` so many test samples if the metric is a part of them."""
    counts = (values * tests).round()
    exact = np.isclose(counts, values * tests, rtol=0, atol=1e-3) | values.isnull()
    if "valid_range" in values.attrs and tests > 0 and exact.all():
        return {"seeds": _numbers(counts, PRECISE), "of": tests}
    return {"seeds": _numbers(values, PRECISE), "of": 1}


def _with_suboptimality(results: xr.Dataset) -> xr.Dataset:
    """Add F - F*, seed by seed, where an optimum is among the results.

    F* is the lowest training objective of an optimum at the same seed. It is that of as many agents, as an
    objective may add up over them. Problems that were tuned have objectives of their own, and no common optimum.
    """
    found = statistics.is_optimum(results)
    tuned = "tuned" in results and any(
        "problem." in str(each) for each in results["tuned"].values.flat
    )
    if (
        "train_loss" not in results
        or not found.any()
        or tuned
        or statistics.is_constrained(results)
    ):
        return results
    objective = results["train_loss"]
    optima = objective.isel(algorithm=found.values).min(["epsilon", "round"])
    agents = results["agents"].values
    own = [optima.where(optima["agents"] == each).min("algorithm") for each in agents]
    # Methods of another number of agents than all optima have NaN, which is the minimum of nothing.
    excess = objective - xr.concat(own, results["algorithm"])
    facts = {"long_name": "F − F*, training objective above its minimum", "units": "1"}
    return results.assign({SUBOPTIMALITY: excess.transpose(*objective.dims).assign_attrs(facts)})


def _short(epsilon: float) -> str:
    return "none" if math.isinf(epsilon) else f"{epsilon:g}"


def _quantiles(n_seeds: int) -> list[float]:
    """Quantiles of Student's t that an interval needs, for 1, 2, ... degrees of freedom."""
    level = (1 + statistics.LEVEL) / 2
    return [float(stdtrit(freedom, level)) for freedom in range(1, max(n_seeds, 2))]


def _script() -> Markup:
    """All scripts of the page as one, with names of its own."""
    texts = [_text(f"templates/{name}.js") for name in SCRIPTS]
    return Markup('(() => {\n"use strict";\n') + Markup("\n").join(texts) + Markup("})();\n")


def _text(path: str) -> Markup:
    """Text of a file of this package, to be part of the page as it is."""
    return Markup(files("admmbench.report").joinpath(path).read_text(encoding="utf-8"))
