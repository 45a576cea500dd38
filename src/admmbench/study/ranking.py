"""What ``admmbench rank`` asks, as an experiment: methods that are tuned alike, at equal totals, on one data set."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from admmbench import algorithms, datasets
from admmbench.datasets import DatasetInfo
from admmbench.figures.wording import listed
from admmbench.problems.losses import as_loss
from admmbench.spec.fields import MOST_SEEDS
from admmbench.study.config import ConfigError, check_experiment
from admmbench.tuning.settings import TuningSettings
from admmbench.validation import Count, Epsilons, Number, Strict, expanded

# The experiment, and what the file says of itself.
NAME = "ranking"
HEAD = """\
# By `admmbench rank`, and yours to change. `admmbench study tune` looks for settings that are not in config/tuned/,
# `admmbench study` runs what is missing, and `admmbench study --until-decided` orders seeds where the answer is open.
"""
# Looks, as multiples of the first, and how an audit that is asked for attacks.
_LOOKS = (1, 2, 4, 8)
# Methods that are named with one reason for which they do not suit.
_MOST_NAMED = 3
# Key at the beginning of a message, if an option states it.
_OPTION = r"^(?:privacy\.|problem\.|tuning\.)?(total|delta|agents|loss|noise|seeds|trials|margin)(?:\.\d+)?: "
_AUDIT = {"rounds": 2, "repeats": 100, "canaries": ["worst"]}


class Question(Strict):
    """Which method predicts best on a data set, at these totals."""

    dataset: dict[str, Any]
    """Data set with its settings; paths are relative to the folder in which the command runs."""
    methods: list[str] = []
    """Names of methods, or paths of plug-ins; all that compete and suit the data, if there are none."""
    total: Epsilons
    """Totals of whole runs."""
    delta: Annotated[Number, Field(gt=0, lt=1)] = 1e-5
    agents: Count | None = None
    """Agents with equal shares; if absent, an agent for each group, or ten."""
    loss: str = ""
    """Loss; if absent that of the data set."""
    noise: Literal["published", "laplace", "gaussian"] = "gaussian"
    """Law of the noise of methods that have it; the others keep that of their papers."""
    seeds: Annotated[Count, Field(le=MOST_SEEDS // _LOOKS[-1])] = 10
    """Seeds of the first look."""
    trials: Count = 24
    """Settings that are tried for each method at each total."""
    margin: Annotated[Number, Field(ge=0)] | None = None
    """Largest difference of two methods that does not matter, as in an experiment. If absent, one point of an error, as
    Benavoli, Corani, Demsar and Zaffalon (2017) take for classifiers, and none for numbers."""
    audit: bool = False
    """Whether to attack every method at every total."""


def experiment(question: Question, folder: Path) -> tuple[dict[str, Any], list[str]]:
    """Write the experiment that answers a question.

    Parameters
    ----------
    question
        What is asked.
    folder
        Folder of the study: paths in the experiment are relative to it.

    Returns
    -------
    dict, list of str
        Content of the experiment's file, and which methods do not take part, with the reason.

    Raises
    ------
    ConfigError
        If a method that is named does not suit, or something else is wrong.
    ValueError
        If fewer than two methods suit, two names of one method among them.
    """
    info = datasets.describe(question.dataset)
    content, suitable, same_as = _frame(question, info), {}, {}
    left_out: dict[str, list[str]] = {}
    searched: dict[str, str] = {}
    for name in question.methods or _candidates():
        method = _method(name, question.noise, info)
        try:
            alone = check_experiment({**content, "algorithms": [method]}, name)
        except ConfigError as error:
            reason = as_typed(str(error).removeprefix(f"{name}:"))
            if question.methods:
                raise ConfigError(f"--methods: {name}: {reason}") from None
            left_out.setdefault(reason, []).append(name)
            continue
        suitable[name] = method
        file, search = next(iter(alone.searches.items()))
        other = search.spec.method.same_as(search.spec.as_problem)
        same_as[name] = other or searched.setdefault(file, name)
    methods = _each_once(suitable, same_as)
    lines = [f"{listed(names, _MOST_NAMED)}: {reason}" for reason, names in left_out.items()]
    if len(methods) < 2:
        one = f" ({methods[0]['label']} is one)" if len(suitable) > 1 else ""
        why = "".join(f"; {line}" for line in lines)
        raise ValueError(f"there is nothing to rank with fewer than two methods{one}{why}")
    optimum = {"label": "without privacy", "epsilon": math.inf, "rounds": 1}
    content["algorithms"] = [*methods, {"name": _of_role("optimum")[0], **optimum}]
    check_experiment(content)
    for method in methods:
        if method["name"].endswith(".py"):
            method["name"] = _from(folder, method["name"])
    content["dataset"] = {
        key: _from(folder, value) if key in ("path", "test") and isinstance(value, str) else value
        for key, value in question.dataset.items()
    }
    return content, lines


def as_typed(message: str) -> str:
    """Word a message on an experiment for who typed `admmbench rank`: with its options, and without keys of a file."""
    lines = (
        re.sub(r"^algorithms\.\d+ \(.*?\): ", "", line.strip()) for line in message.splitlines()
    )
    lines = (
        re.sub(r"^(algorithm|algorithms|dataset|problem)(: |\.)", "", line)
        for line in lines
        if line
    )
    return "; ".join(re.sub(_OPTION, r"--\1: ", line) for line in lines)


def _frame(question: Question, info: DatasetInfo) -> dict[str, Any]:
    """Everything but the methods. All records count alike, as they do in the error."""
    loss = question.loss or info.default_problem
    metric = as_loss(loss).metric
    margin = question.margin
    if margin is None:
        margin = 1 if info.n_classes else 0
    source = Path(str(question.dataset.get("path", info.name))).name
    looks = [times * question.seeds for times in _LOOKS]
    tuning: dict[str, Any] = {"trials": question.trials}
    if min(TuningSettings().seeds) < looks[-1]:  # tuning needs other seeds than the runs
        tuning["seeds"] = [looks[-1]]
    content: dict[str, Any] = {
        "title": f"{source}: who wins at equal totals",
        "dataset": question.dataset,
        "problem": {"loss": loss, "strength": 1e-6, "per": "total", "average": "records"},
        "rounds": 20,
        "evaluate_every": 1,
        "looks": looks,
        "margin": margin,
        "sensitivity": "global",
        "privacy": {"total": question.total, "delta": question.delta},
        "tuning": tuning,
        "figures": [{"name": "rounds", "kind": "curves", "metric": metric}],
    }
    if question.agents:
        content["agents"] = question.agents
    if question.audit:
        content["audit"] = _AUDIT
    if len(question.total) > 1:
        content["figures"].append({"name": "totals", "kind": "tradeoff", "metric": metric})
    return content


def _each_once(methods: Mapping[str, Any], same_as: Mapping[str, str]) -> list[dict[str, Any]]:
    """Keep one of methods that coincide, with the labels of all: one search and one run do for them."""
    groups: dict[str, list[str]] = {}
    for name in methods:
        chain = [name]
        while (other := same_as.get(chain[-1], chain[-1])) not in chain:
            chain.append(other)
        last = min(chain[chain.index(other) :])  # several, where methods name each other
        groups.setdefault(last, []).append(name)
    found = []
    for last, names in groups.items():
        names.sort(key=lambda name: name != last)
        label = " = ".join(methods[name]["label"] for name in names)
        found.append({**methods[names[0]], "label": label})
    return found


def _candidates() -> list[str]:
    """Methods that compete, with noise in what they send."""
    found = (name for name in _of_role("contender") if algorithms.resolve(name).release)
    return [name for name in found if "rows" in algorithms.resolve(name).sharing]


def _of_role(role: str) -> list[str]:
    return [n for n in algorithms.list_algorithms() if algorithms.resolve(n)().family.role == role]


def _method(name: str, noise: str, info: DatasetInfo) -> dict[str, Any]:
    """Return a method with the axes along which it is tuned: its own, and the bound on records."""
    own, params = algorithms.ALIASES.get(name, (name, {}))
    cls = algorithms.resolve(own)
    method: dict[str, Any] = {"name": own, "label": Path(name).stem}
    if params:
        method["params"] = dict(params)
    law = cls.release.law if cls.release else ""
    if cls.release and cls.release.or_law == noise:
        law, method["noise"] = noise, noise
        method["label"] += f", {noise.capitalize()}"
    if cls.one_shot:
        method["rounds"] = 1
    # Features are in [0, 1] or so: half of them at their ends make a usual record.
    half = info.n_features / 2
    bound = {"max_l1_norm": half} if law == "laplace" else {"max_l2_norm": math.sqrt(half)}
    method["tune"] = {
        **{
            key: axis for key, axis in cls.tune.items() if key.removeprefix("params.") not in params
        },
        **{f"problem.records.{norm}": float(f"{size:.2g}") for norm, size in bound.items()},
    }
    return method


def _from(folder: Path, path: str) -> str:
    """Write a path as it is from a folder."""
    return os.path.relpath(expanded(path), folder)
