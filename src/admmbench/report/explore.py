"""Data of the interactive view of the report: curves of all experiments.

An experiment is one text: base64 of gzip of JSON. The browser unpacks an experiment when it is chosen, see ``data.js``.
All metrics come with every seed, so that the browser computes the statistics.
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
from scipy.special import stdtrit

from admmbench.base.outcomes import SUCCESSFUL
from admmbench.figures import Figure
from admmbench.figures.look import Look
from admmbench.figures.tidy import COURSES
from admmbench.figures.wording import given, proper
from admmbench.inference.intervals import LEVEL
from admmbench.results import reference, statistics

PRECISE, FINE = 6, 3
"""Significant digits of the metric of the problem, and of the others."""

SUBOPTIMALITY = "suboptimality"
"""Name of F - F*, which is derived here."""

SCRIPTS = ("page", "tables", "claims", "data", "chart", "finals", "explore", "files", "main")
"""Files of the page's script, in the order in which they are joined; the last starts what the others define."""

# Metrics of noise and budgets begin so.
_OF_NOISE = ("noise", "epsilon")

# What else advances during a run than `COURSES`, with what an axis calls it; NaN and infinity have no place.
_SPENT = {
    "epsilon_total": "Total ε, guaranteed",
    "epsilon_composed": "Total ε, composed",
    "seconds": "Seconds",
}


def content(
    experiments: Sequence[xr.Dataset], looks: Mapping[str, Mapping[str, Look]]
) -> dict[str, Any]:
    """Gather everything that the template shows.

    Parameters
    ----------
    experiments
        Results, in the order of the page.
    looks
        Of the methods of each experiment, by name and label.

    Returns
    -------
    dict
        ``experiments`` with their ``name`` and packed ``data``; ``facts``, what the script needs to know, as JSON;
        texts of ``library``, ``script`` and ``style``.
    """
    most = max((each.sizes["seed"] for each in experiments), default=1)
    facts = {
        "experiments": [
            {
                "name": each.attrs["experiment"],
                "title": each.attrs["title"]
                + reference.MARK * bool(reference.outdated_labels(each)),
            }
            for each in experiments
        ],
        "few": statistics.FEW_SEEDS,
        "level": LEVEL,
        "percentiles": statistics.PERCENTILES,
        # Quantiles of Student's t that an interval needs, for 1, 2, ... degrees of freedom.
        "t": stdtrit(range(1, most + 1), (1 + LEVEL) / 2).tolist(),
    }
    return {
        "experiments": [
            {"name": name, "data": Markup(pack(each, looks[name]))}
            for each in experiments
            for name in [str(each.attrs["experiment"])]
        ],
        # A label may hold what would end a script.
        "facts": Markup(json.dumps(facts).replace("<", "\\u003c")),
        "library": _text("vendor/plot.min.js"),
        "script": _script(),
        "style": _text("templates/explore.css"),
    }


def pack(results: xr.Dataset, looks: Mapping[str, Look]) -> str:
    """Pack the curves of one experiment; the same results give the same text.

    Parameters
    ----------
    results
        Of the experiment.
    looks
        Of its methods, by label.

    Returns
    -------
    str
        Base64 of gzip of JSON. Numbers are nested lists over curves (each a method and a budget that ran), seeds if
        values depend on them, and rounds; null stands for what is missing.
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
    lost = [statistics.lost(counts.isel(curve=number)) for number in range(len(curves))]
    unfinished = ~points["status"].isin(SUCCESSFUL).transpose("curve", "seed").values
    metrics = _metrics(results)
    content = {
        **_facts(results, looks),
        "curves": curves.tolist(),
        "lost": [f"{' and '.join(words)} of {started}" if words else "" for words, started in lost],
        # Places of the seeds whose runs were lost: they have no final value, whatever they had before.
        "unfinished": [np.flatnonzero(own).tolist() for own in unfinished],
        "metrics": [_metric(results, points[name]) for name in metrics],
        # Metrics that may be horizontal axes.
        "axes": [
            {"name": name, "label": label}
            for name, label in {**COURSES, **_SPENT}.items()
            if name == "round" or (name in metrics and np.isfinite(results[name]).any())
        ],
    }
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def _facts(results: xr.Dataset, looks: Mapping[str, Look]) -> dict[str, Any]:
    """What the view says of the experiment, whatever it shows."""
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
            "none" if math.isinf(each) else given(each) for each in results["epsilon"].values
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


def _metric(results: xr.Dataset, values: xr.DataArray) -> dict[str, Any]:
    """How a metric is called and shown, and its numbers: with ``seeds``, or ``values`` that do not depend on them."""
    figure = {"name": "explore", "kind": "curves", "metric": values.name}
    scale = Figure.model_validate(figure).scale(results)
    digits = PRECISE if values.name == results.attrs["metric"] else FINE
    return {
        "name": values.name,
        "label": scale.label,
        "percent": scale.factor == 100,
        # Noise and budgets are trivial where there are none: such methods are no reference there.
        "references": not str(values.name).startswith(_OF_NOISE),
        "log": values.name == SUBOPTIMALITY,
        "seeds" if "seed" in values.dims else "values": _numbers(values, digits),
    }


def _numbers(values: xr.DataArray, digits: int) -> list[Any]:
    """Nested lists over curves, seeds if there are any, and rounds; None for what is not finite, as JSON has it."""
    array = values.transpose("curve", ..., "round").values.astype(float)
    flat = [json.loads(f"{x:.{digits}g}") if math.isfinite(x) else None for x in array.flat]
    listed: list[Any] = np.array(flat, object).reshape(array.shape).tolist()
    return listed


def _with_suboptimality(results: xr.Dataset) -> xr.Dataset:
    """Add F - F*, seed by seed, where an optimum is among the results.

    F* is the lowest training objective of an optimum at the same seed. It is that of as many agents, as an
    objective may add up over them. Problems that were tuned have objectives of their own, and no common optimum.
    """
    found = statistics.is_optimum(results)
    tuned = "tuned" in results and results["tuned"].astype(str).str.contains("problem\\.").any()
    if tuned or not found.any() or "train_loss" not in results or "feasibility" in results:
        return results
    objective = results["train_loss"]
    optima = objective.isel(algorithm=found.values).min(["epsilon", "round"])
    agents = results["agents"].values
    own = [optima.where(optima["agents"] == each).min("algorithm") for each in agents]
    # Methods of another number of agents than all optima have NaN, which is the minimum of nothing.
    excess = objective - xr.concat(own, results["algorithm"])
    facts = {"long_name": "F − F*, training objective above its minimum", "units": "1"}
    return results.assign({SUBOPTIMALITY: excess.transpose(*objective.dims).assign_attrs(facts)})


def _script() -> Markup:
    """All scripts of the page as one, with names of its own."""
    texts = [_text(f"templates/{name}.js") for name in SCRIPTS]
    return Markup('(() => {\n"use strict";\n') + Markup("\n").join(texts) + Markup("})();\n")


def _text(path: str) -> Markup:
    """Text of a file of this package, to be part of the page as it is."""
    return Markup(files("admmbench.report").joinpath(path).read_text(encoding="utf-8"))
