"""Data of the interactive view of the report: curves of all experiments.

An experiment is one text: base64 of gzip of JSON. The browser unpacks an experiment when a reader chooses it, see
``data.js``. All metrics come with every seed, so that the browser computes the statistics.
"""

from __future__ import annotations

import base64
import gzip
import json
import math
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import numpy as np
import xarray as xr
from markupsafe import Markup

from admmbench.base.outcomes import SUCCESSFUL
from admmbench.figures import Figure
from admmbench.figures.look import Look
from admmbench.figures.tidy import COURSES
from admmbench.figures.wording import given, proper
from admmbench.inference import intervals
from admmbench.inference.intervals import LEVEL
from admmbench.results import reference, statistics

PRECISE, FINE = 6, 3
"""Significant digits of the metric of the problem, and of the others."""

SUBOPTIMALITY = "suboptimality"
"""Name of F - F*, which is derived here."""

SCRIPTS = (
    "page",
    "tables",
    "board",
    "claims",
    "data",
    "chart",
    "finals",
    "explore",
    "files",
    "main",
)
"""Files of the page's script, in the order in which they are joined; the last starts what the others define."""

# Beginnings of the names of metrics of noise and budgets.
_NOISE_PREFIXES = ("noise", "epsilon")

# Horizontal axes besides `COURSES`: metrics that grow during a run, with labels; only finite values have a place.
_COSTS = {
    "epsilon_total": "Total ε, guaranteed",
    "epsilon_composed": "Total ε, composed",
    "seconds": "Seconds",
}


def content(
    experiments: Sequence[xr.Dataset], looks: Mapping[str, Mapping[str, Look]]
) -> dict[str, Any]:
    """Return the content that the template shows, given the looks of each experiment by name and label.

    These are ``experiments`` with their ``name`` and packed ``data``; ``facts`` for the script, as JSON; texts of
    ``library``, ``script`` and ``style``.
    """
    most_seeds = max((results.sizes["seed"] for results in experiments), default=1)
    n_seeds = np.arange(2, most_seeds + 2)
    facts = {
        "experiments": [
            {
                "name": results.attrs["experiment"],
                "title": results.attrs["title"]
                + reference.MARK * bool(reference.outdated_labels(results)),
            }
            for results in experiments
        ],
        "few": statistics.FEW_SEEDS,
        "level": LEVEL,
        "percentiles": statistics.PERCENTILES,
        # Quantiles of Student's t that an interval needs, for 1, 2, ... degrees of freedom.
        "t": intervals.ends(0, np.sqrt(n_seeds), n_seeds, LEVEL)[1].tolist(),
    }
    return {
        "experiments": [
            {"name": name, "data": Markup(pack(results, looks[name]))}
            for results in experiments
            for name in [str(results.attrs["experiment"])]
        ],
        # A label may hold what would end a script.
        "facts": Markup(json.dumps(facts).replace("<", "\\u003c")),
        "library": _text("vendor/plot.min.js"),
        "script": _script(),
        "style": _text("templates/explore.css"),
    }


def pack(results: xr.Dataset, looks: Mapping[str, Look]) -> str:
    """Pack the curves of one experiment as base64 of gzip of JSON; the same results give the same text.

    Numbers are nested lists over curves (each a method and a budget that ran), seeds if values depend on seeds, and
    rounds; null stands for a missing value.
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
    failed = [statistics.failed_runs(counts.isel(curve=number)) for number in range(len(curves))]
    unfinished = ~points["status"].isin(SUCCESSFUL).transpose("curve", "seed").values
    metrics = _metrics(results)
    content = {
        **_facts(results, looks),
        "curves": curves.tolist(),
        "failed": [
            f"{' and '.join(words)} of {started}" if words else "" for words, started in failed
        ],
        # Places of the seeds whose runs failed: these runs have no final value, even if they have earlier ones.
        "unfinished": [np.flatnonzero(is_unfinished).tolist() for is_unfinished in unfinished],
        "metrics": [_metric(results, points[name]) for name in metrics],
        # Metrics that may be horizontal axes.
        "axes": [
            {"name": name, "label": label}
            for name, label in {**COURSES, **_COSTS}.items()
            if name == "round" or (name in metrics and np.isfinite(results[name]).any())
        ],
    }
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def _facts(results: xr.Dataset, looks: Mapping[str, Look]) -> dict[str, Any]:
    """Return the facts on an experiment that the view needs for any metric."""
    attrs = results.attrs
    noisy = results["algorithm"].values[statistics.noisy(results).any("epsilon").values]
    return {
        "name": attrs["experiment"],
        "dataset": proper(statistics.data_of(attrs)),
        "note": attrs.get("dataset_note", ""),
        "budget": "ε of the whole run"
        if statistics.of_whole_runs(results)
        else "ε of one iteration",
        "budgets": [
            "none" if math.isinf(budget) else given(budget) for budget in results["epsilon"].values
        ],
        "finite": np.isfinite(results["epsilon"].values).tolist(),
        "rounds": results["round"].values.tolist(),
        "seeds": results["seed"].values.tolist(),
        "redrawn": statistics.redrawn(results),
        "methods": [
            {
                "label": label,
                "noisy": label in noisy,
                "proof": proof != "none",
                **looks[label]._asdict(),
            }
            for label, proof in zip(
                results["algorithm"].values.tolist(), results["guarantee"].values, strict=True
            )
        ],
    }


def _metrics(results: xr.Dataset) -> list[str]:
    """Return the names of variables that have curves: the metric of the problem, then the others in their order.

    Noise and budgets are left out if they are nowhere above 0.
    """
    names = [
        str(name)
        for name, values in results.items()
        if "round" in values.dims
        and not (str(name).startswith(_NOISE_PREFIXES) and not (values > 0).any())
    ]
    return sorted(names, key=lambda name: name != results.attrs["metric"])


def _metric(results: xr.Dataset, values: xr.DataArray) -> dict[str, Any]:
    """Return the name, label and scale of a metric, and its numbers: ``seeds``, or ``values`` that all seeds share."""
    figure = {"name": "explore", "kind": "curves", "metric": values.name}
    scale = Figure.model_validate(figure).scale(results)
    digits = PRECISE if values.name == results.attrs["metric"] else FINE
    return {
        "name": values.name,
        "label": scale.label,
        "percent": scale.factor == 100,
        # Methods without noise are no reference for metrics of noise and budgets, which are trivial for them.
        "references": not str(values.name).startswith(_NOISE_PREFIXES),
        "log": values.name == SUBOPTIMALITY,
        "seeds" if "seed" in values.dims else "values": _numbers(values, digits),
    }


def _numbers(values: xr.DataArray, digits: int) -> list[Any]:
    """Return nested lists over curves, seeds if there are any, and rounds; None for values that are not finite."""
    array = values.transpose("curve", ..., "round").values.astype(float)
    flat = [json.loads(f"{x:.{digits}g}") if math.isfinite(x) else None for x in array.flat]
    listed: list[Any] = np.array(flat, object).reshape(array.shape).tolist()
    return listed


def _with_suboptimality(results: xr.Dataset) -> xr.Dataset:
    """Return results with F - F*, seed by seed, if an optimum is among the methods.

    F* is the lowest training objective of an optimum at the same seed and with as many agents, as an objective may add
    up over agents. Problems that were tuned have objectives of their own, and no common optimum.
    """
    is_optimum = statistics.is_optimum(results)
    tuned = "tuned" in results and results["tuned"].astype(str).str.contains("problem\\.").any()
    if tuned or not is_optimum.any() or "train_loss" not in results or "feasibility" in results:
        return results
    objective = results["train_loss"]
    optima = objective.isel(algorithm=is_optimum.values).min(["epsilon", "round"])
    agents = results["agents"].values
    minima = [optima.where(optima["agents"] == n_agents).min("algorithm") for n_agents in agents]
    # The minimum of nothing is NaN: a method whose number of agents no optimum has gets no F - F*.
    excess = objective - xr.concat(minima, results["algorithm"])
    facts = {"long_name": "F − F*, training objective above its minimum", "units": "1"}
    return results.assign({SUBOPTIMALITY: excess.transpose(*objective.dims).assign_attrs(facts)})


def _script() -> Markup:
    """Return all scripts of the page as one script with a scope of its own."""
    texts = [_text(f"templates/{name}.js") for name in SCRIPTS]
    return Markup('(() => {\n"use strict";\n') + Markup("\n").join(texts) + Markup("})();\n")


def _text(path: str) -> Markup:
    """Return the text of a file of this package, as a part of the page that is not escaped."""
    return Markup(files("admmbench.report").joinpath(path).read_text(encoding="utf-8"))
