"""Rankings by ``admmbench rank`` as experiments: methods that are tuned alike, at equal totals, on one data set."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from admmbench import algorithms, datasets
from admmbench.datasets import DatasetInfo
from admmbench.figures.wording import listed, together
from admmbench.problems.losses import as_loss
from admmbench.problems.metrics import BY_CLIENT, FACTS, Metric
from admmbench.problems.metrics import check as check_metric
from admmbench.spec.fields import MOST_SEEDS, Delta, Law
from admmbench.study.config import ConfigError, check_experiment
from admmbench.study.grid import Margin
from admmbench.tuning import declared
from admmbench.tuning.settings import TuningSettings
from admmbench.validation import Count, Epsilons, Strict, expanded

# Name of the experiment, and the comment at the head of its file.
NAME = "ranking"
HEAD = """\
# By `admmbench rank`, and yours to change. `admmbench study tune` looks for settings that are not in config/tuned/,
# `admmbench study` runs what is missing, and `admmbench study --until-decided` orders seeds where the answer is open.
"""
# Numbers of seeds at interim analyses, as multiples of the first.
_ANALYSES = (1, 2, 4, 8)
# Part of the records of a class, in those of equally large classes, below which errors are balanced by default.
_RARE = 0.4
# Differences that do not matter, by metric: one point, in the units of an experiment; none where there is no scale.
_MARGINS = {"error": 1.0, "balanced_error": 1.0, "auc": 0.01, "r2": 0.01}
FLOOR, ALONE = "without privacy", "one agent alone"
"""Labels of the baselines that have no budget."""
# Methods that a line names at most, with the reason for which they do not suit.
_MOST_NAMED = 3
# Key at the beginning of a message, if an option of the command states the key.
_OPTION = r"^(?:privacy\.|problem\.|tuning\.)?(total|delta|agents|loss|noise|seeds|trials|margin|metric)(?:\.\d+)?: "
# How an audit that is asked for attacks.
_AUDIT = {"rounds": 2, "repeats": 100, "canaries": ["worst"]}


class Question(Strict):
    """Question which method predicts best on a data set, at given totals."""

    dataset: dict[str, Any]
    """Data set with its settings; paths are relative to the folder in which the command runs."""
    methods: list[str] = []
    """Names of methods, or paths of plug-ins; all that compete and suit the data, if there are none."""
    total: Epsilons
    """Totals of whole runs."""
    delta: Delta = 1e-5
    agents: Count | None = None
    """Agents with equal shares; if absent, an agent for each group, or ten."""
    loss: str = ""
    """Loss; if absent that of the data set."""
    noise: Law = "gaussian"
    """Law of the noise of methods that have it; the others keep that of their papers."""
    seeds: Annotated[Count, Field(le=MOST_SEEDS // _ANALYSES[-1])] = 10
    """Seeds of the first interim analysis."""
    trials: Count = 24
    """Settings that are tried for each method at each total."""
    margin: Margin | None = None
    """Largest difference of two methods that does not matter, as in an experiment. If absent, one point of an error, as
    Benavoli, Corani, Demsar and Zaffalon (2017) take for classifiers, and none for numbers."""
    metric: Metric | None = None
    """What methods are compared by. If absent, the error, or the balanced error if the rarest of K classes has less
    than 0.4 / K of the records, or the root of the mean squared error of numbers."""
    audit: bool = False
    """Whether to attack every method at every total."""

    def compared_by(self, info: DatasetInfo) -> Metric:
        """Return the metric that is stated, or the usual one of the data."""
        if not info.n_classes:
            return self.metric or "rmse"
        rare = min(info.class_sizes) * len(info.class_sizes) < _RARE * sum(info.class_sizes)
        return self.metric or ("balanced_error" if rare else "error")


def experiment(question: Question, folder: Path) -> tuple[dict[str, Any], list[str]]:
    """Return the experiment that answers a question; its paths are relative to the folder of the study.

    Returns
    -------
    dict, list of str
        Content of the experiment's file; and lines that name the methods that do not take part, with the reason.

    Raises
    ------
    ConfigError
        If a method that is named does not suit, or something else is wrong.
    ValueError
        If fewer than two methods suit, two names of one method among them.
    """
    info = datasets.describe(question.dataset)
    _check_metric(question, info)
    content, suitable, same_as = _base_content(question, info), {}, {}
    left_out: dict[str, list[str]] = {}
    name_of_search: dict[str, str] = {}
    for name in question.methods or _candidates():
        method = method_entry(name, question.noise, info)
        try:
            candidate = check_experiment({**content, "algorithms": [method]}, name)
        except ConfigError as error:
            reason = as_typed(str(error).removeprefix(f"{name}:"))
            if question.methods:
                raise ConfigError(f"--methods: {name}: {reason}") from None
            left_out.setdefault(reason, []).append(name)
            continue
        suitable[name] = method
        file, search = next(iter(candidate.searches.items()))
        same_method = search.spec.method.same_as(search.spec.as_problem)
        same_as[name] = same_method or name_of_search.setdefault(file, name)
    methods = _merge_equal(suitable, same_as)
    lines = [f"{listed(names, _MOST_NAMED)}: {reason}" for reason, names in left_out.items()]
    if len(methods) < 2:
        note = f" ({methods[0]['label']} is one)" if len(suitable) > 1 else ""
        reasons = "".join(f"; {line}" for line in lines)
        raise ValueError(f"there is nothing to rank with fewer than two methods{note}{reasons}")
    content["algorithms"] = [*methods, *_baselines(content["problem"]["loss"], info)]
    check_experiment(content)
    for method in methods:
        if method["name"].endswith(".py"):
            method["name"] = os.path.relpath(expanded(method["name"]), folder)
    content["dataset"] = _relative(question.dataset, folder)
    return content, lines


def _relative(dataset: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return a data set whose files, those of a public one among them, are named from a folder."""
    return {
        key: os.path.relpath(expanded(value), folder)
        if key in ("path", "test") and isinstance(value, str)
        else _relative(value, folder)
        if key in ("features", "public") and isinstance(value, Mapping)
        else value
        for key, value in dataset.items()
    }


def _check_metric(question: Question, info: DatasetInfo) -> None:
    """Refuse a metric of all methods at once, which else is the reason for which none suits."""
    loss, metric = question.loss or info.default_problem, question.compared_by(info)
    if metric in BY_CLIENT and (question.agents or not question.dataset.get("group")):
        raise ValueError(
            f"--metric: {metric} needs records whose client is known; name its column by --group, without --agents"
        )
    try:
        check_metric(metric, as_loss(loss), str(loss), info)
    except ValueError as error:
        raise ValueError(as_typed(str(error))) from None


def metric_of(question: Question, info: DatasetInfo) -> list[str]:
    """Return a line on the metric, if it is the balanced error because a class is rare."""
    metric = question.compared_by(info)
    if question.metric or metric != "balanced_error":
        return []
    part = 100 * min(info.class_sizes) / sum(info.class_sizes)
    return [
        f"metric: balanced_error, the mean over classes, as the rarest class has {part:.1f} % of the records; "
        "--metric error counts all records alike"
    ]


def as_typed(message: str) -> str:
    """Return a message on an experiment in the terms of `admmbench rank`: with options in place of a file's keys."""
    lines = (
        re.sub(r"^algorithms\.\d+ \(.*?\): ", "", line.strip()) for line in message.splitlines()
    )
    lines = (
        re.sub(r"^(algorithm|algorithms|dataset|problem)(: |\.)", "", line)
        for line in lines
        if line
    )
    text = "; ".join(re.sub(_OPTION, r"--\1: ", line) for line in lines)
    return re.sub(r"^test: ", "--test: ", text)


def _base_content(question: Question, info: DatasetInfo) -> dict[str, Any]:
    """Return the experiment without methods. All records have the same weight, as in the test error."""
    loss = question.loss or info.default_problem
    metric, margin = question.compared_by(info), question.margin
    if margin is None:
        usual = as_loss(loss).metric == FACTS["error"].variable and metric in BY_CLIENT
        margin = _MARGINS["error"] if usual else _MARGINS.get(metric, 0)
    variable = FACTS[metric].variable
    of_metric = {} if variable == as_loss(loss).metric else {"metric": metric}
    source = Path(str(question.dataset.get("path", info.name))).name
    analyses = [times * question.seeds for times in _ANALYSES]
    tuning: dict[str, Any] = {"trials": question.trials}
    if min(TuningSettings().seeds) < analyses[-1]:  # tuning needs other seeds than the runs
        tuning["seeds"] = [analyses[-1]]
    content: dict[str, Any] = {
        "title": f"{source}: who wins at equal totals",
        "dataset": question.dataset,
        "problem": {"loss": loss, "strength": 1e-6, "per": "total", "average": "records"}
        | of_metric,
        "rounds": 20,
        "evaluate_every": 1,
        "interim_analyses": analyses,
        "margin": margin,
        "sensitivity": "global",
        "privacy": {"total": question.total, "delta": question.delta},
        "tuning": tuning,
        "figures": [{"name": "rounds", "kind": "curves", "metric": variable}],
    }
    if question.agents:
        content["agents"] = question.agents
    if question.audit:
        content["audit"] = _AUDIT
    if len(question.total) > 1:
        content["figures"].append({"name": "totals", "kind": "tradeoff", "metric": variable})
    return content


def _merge_equal(methods: Mapping[str, Any], same_as: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return one of each group of equal methods, with the labels of all: one search and one run suffice for them."""
    groups: dict[str, list[str]] = {}
    for name in methods:
        chain = [name]
        while (same_name := same_as.get(chain[-1], chain[-1])) not in chain:
            chain.append(same_name)
        last = min(chain[chain.index(same_name) :])  # several, where methods name each other
        groups.setdefault(last, []).append(name)
    merged_methods = []
    for last, names in groups.items():
        names.sort(key=lambda name: name != last)
        label = " = ".join(methods[name]["label"] for name in names)
        merged_methods.append({**methods[names[0]], "label": label})
    return merged_methods


def half_tuned(names: Iterable[str]) -> list[str]:
    """Return a line for each named method with parameters that nobody declared to be tuned."""
    lines = []
    for name in names:
        cls = algorithms.resolve(algorithms.ALIASES.get(name, (name, {}))[0])
        if left := declared.untuned(cls):
            lines.append(
                f"{Path(name).stem}: {_tuned_alone(cls)}, not {together(left)}; declare `tune` in its class, such as "
                'tune = "auto"'
            )
    return lines


def _tuned_alone(cls: type[Any]) -> str:
    """Return in words what is tuned of a method that does not declare it."""
    names = [path.removeprefix("params.") for path in declared.axes(cls)]
    if names == ["rounds"]:
        return "only rounds are tuned"
    return f"only {together(names) or 'bounds on records'} tuned"


def _candidates() -> list[str]:
    """Return the names of methods that compete, share rows, and add noise to their messages."""
    contenders = {name: algorithms.resolve(name) for name in _methods_with_role("contender")}
    return [name for name, cls in contenders.items() if cls.release and "rows" in cls.sharing]


def _baselines(loss: str, info: DatasetInfo) -> list[dict[str, Any]]:
    """Return the optimum over all records, and over those of one agent; of the data's usual loss if not convex."""
    references = _methods_with_role("reference")
    alone = (n for n in references if algorithms.resolve(n)().family.mechanism == "one agent")
    names = {FLOOR: _methods_with_role("optimum")[0], ALONE: next(alone)}
    shared: dict[str, Any] = {"epsilon": math.inf, "rounds": 1}
    note = ""
    if not as_loss(loss).convex:
        shared["problem"] = {"loss": info.default_problem}
        note = f" ({info.default_problem})"
    return [{"name": name, "label": label + note, **shared} for label, name in names.items()]


def _methods_with_role(role: str) -> list[str]:
    return [n for n in algorithms.list_algorithms() if algorithms.resolve(n)().family.role == role]


def method_entry(name: str, noise: str, info: DatasetInfo) -> dict[str, Any]:
    """Return a method with the axes along which it is tuned: its own, and the bound on records."""
    registered_name, params = algorithms.ALIASES.get(name, (name, {}))
    cls = algorithms.resolve(registered_name)
    method: dict[str, Any] = {"name": registered_name, "label": Path(name).stem}
    if params:
        method["params"] = dict(params)
    if declared.untuned(cls):
        method["label"] += f" ({_tuned_alone(cls)})"
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
            key: axis
            for key, axis in declared.axes(cls).items()
            if key.removeprefix("params.") not in params
        },
        **{f"problem.records.{norm}": float(f"{size:.2g}") for norm, size in bound.items()},
    }
    return method
