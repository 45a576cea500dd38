"""Rules that refuse an experiment, see `admmbench.spec.rules`."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict
from itertools import chain
from typing import Any, NamedTuple

from admmbench.engine.variables import measured
from admmbench.figures import Figure
from admmbench.figures.base import PARAMETER
from admmbench.figures.tidy import COURSES
from admmbench.spec.fields import MOST_SEEDS
from admmbench.spec.guarantees import guarantee_with_noise
from admmbench.spec.rules import Rule
from admmbench.spec.run import RunSpec
from admmbench.study.grid import Grid
from admmbench.study.methods import Method
from admmbench.study.runs import Run
from admmbench.validation import unknown


def find_duplicate(names: Iterable[str]) -> str:
    """Return the first of two names that are equal or look alike; empty if all names differ."""
    first: dict[str, str] = {}
    for name in names:
        normalized = unicodedata.normalize("NFC", " ".join(name.split()))
        if normalized in first:
            return first[normalized]
        first[normalized] = name
    return ""


def _labels(grid: Grid) -> list[str]:
    return [method.label for method in grid.algorithms]


def _unknown_label(labels: Collection[str], names: Iterable[str]) -> str:
    """Return a message about the first name that is no label; empty if all names are labels."""
    return next((unknown("label", name, labels) for name in names if name not in labels), "")


def _gap(grid: Grid) -> tuple[int, list[int]] | None:
    """Return the first stated block whose seeds do not follow one another, with its number."""
    blocks = enumerate(grid.blocks if grid.seed_blocks else [])
    return next(((n, [*block]) for n, block in blocks if block[-1] - block[0] >= len(block)), None)


def _misplaced_order(grid: Grid, orders: Mapping[str, Mapping[float, int]]) -> str:
    """Return the first ordered number of seeds or pairs that is no interim analysis, with its label and budget."""
    for label, seeds_at_budget in orders.items():
        for budget, n in seeds_at_budget.items():
            if n not in (grid.interim_analyses or []):
                return f"{label}.{budget:g}: {n}"
    return ""


def _lone_mirror(grid: Grid) -> tuple[str, int] | None:
    """Return the label and budget of the first method with more mirrors than seeds, and its number of seeds."""
    for label, pairs_at_budget in grid.mirrored.items():
        for budget, n in pairs_at_budget.items():
            seeds = sum(map(len, grid.blocks_of(label, budget)))
            if n > seeds:
                return f"{label}.{budget:g}: {n}", seeds
    return None


def _mirrored_without_noise(grid: Grid) -> str:
    """Return the label of the first method whose mirrors are ordered although its noise cannot be negated."""
    return next(
        (
            m.label
            for m, spec in grid.computed
            if grid.mirrored.get(m.label) and not spec.draws_noise
        ),
        "",
    )


def _first_redrawing(grid: Grid) -> str:
    """Return the number of the first method of which each seed draws test records of its own, as text."""
    for number, (_, spec) in enumerate(grid.computed):
        if isinstance(getattr(spec.scheme, "train", None), int):
            return str(number)
    return ""


def _unknown_budget(grid: Grid) -> str:
    """Return the first budget at which methods should be attacked but are not run, with its number."""
    offered = {budget for _, budget in grid.grid}
    budgets = enumerate((grid.audit and grid.audit.budgets) or [])
    return next((f"{n}: {budget:g}" for n, budget in budgets if budget not in offered), "")


def _first_method(grid: Grid, refuses: Callable[[Method], object]) -> str:
    """Return the number of the first method that a condition refuses, as text."""
    return next((str(n) for n, method in enumerate(grid.algorithms) if refuses(method)), "")


def _orphaned_settings(grid: Grid) -> str:
    """Return a message about the first tuned settings whose label no method has; empty if there are none.

    Settings that a search recorded are left out: a label may have changed since the search.
    """
    searched = (
        label
        for label, choices in grid.tuned.items()
        if any(choice.space for choice in choices.values())
    )
    return _unknown_label(_labels(grid), grid.tuned.keys() - {*searched, *_labels(grid)})


def _searches_in_scope(grid: Grid) -> list[str]:
    """Return the composition scopes of the methods' totals, other than the run alone."""
    return sorted({grid.composition_scope(method) for method in grid.algorithms} - {"run"})


def _equal_methods(grid: Grid) -> tuple[str, str] | None:
    """Return the labels of the first two methods that are equal, axes of tuning included."""
    label_of_method: dict[tuple[str, str], str] = {}
    for method, spec in grid.computed:
        identity = Run("", spec.at(1.0)).path, repr(method.tune)
        first = label_of_method.setdefault(identity, method.label)
        if first != method.label:
            return first, method.label
    return None


def _first_training_on_all(grid: Grid) -> str:
    """Return the number of the first tuned method that would train on held-out rows, as text."""
    for number, (method, spec) in enumerate(grid.computed):
        if method.tune and getattr(spec.scheme, "train", None):
            return str(number)
    return ""


EXPERIMENT_RULES: list[Rule[Grid]] = [
    Rule(
        "one kind of budget",
        lambda grid: (grid.epsilon is None) == (grid.privacy.total is None),
        "epsilon: give either budgets of one iteration here, or totals in privacy.total",
        "one of them is needed",
    ),
    Rule(
        "one way to state blocks",
        lambda grid: grid.seed_blocks and grid.seed_block,
        "seed_blocks: seed_block is given too",
        "give either seed_block or seed_blocks, not both",
    ),
    Rule(
        "blocks of seeds that can be spelt out",
        lambda grid: sum(grid.seed_blocks or []) > MOST_SEEDS,
        f"seed_blocks: expected at most {MOST_SEEDS:,} seeds together",
        "state fewer",
    ),
    Rule(
        "blocks of the seeds",
        lambda grid: (
            grid.seed_blocks
            and grid.seeds
            and sum(grid.seed_blocks) != len(grid.seeds)
            and [sum(grid.seed_blocks), len(grid.seeds)]
        ),
        "seed_blocks: the blocks have {1[0]} seeds together, seeds has {1[1]}",
        "state as many, or leave one of them out",
    ),
    Rule(
        "blocks without gaps",
        _gap,
        "seed_blocks.{1[0]}: its seeds {1[1]} have gaps",
        "leave seed_blocks out",
    ),
    Rule(
        "seeds by interim analyses or by number",
        lambda grid: grid.interim_analyses and (grid.seeds or grid.seed_blocks),
        "interim_analyses: they say which seeds are run",
        "leave seeds and seed_blocks out",
    ),
    Rule(
        "interim analyses that follow one another",
        lambda grid: (grid.interim_analyses or []) != sorted(set(grid.interim_analyses or [])),
        "interim_analyses: expected numbers of seeds that increase, got {0.interim_analyses}",
        "sort them, each once",
    ),
    Rule(
        "interim analyses that can be spelt out",
        lambda grid: [n for n in grid.interim_analyses or [] if n > MOST_SEEDS],
        f"interim_analyses: expected at most {MOST_SEEDS:,} seeds, got {{1[0]:,}}",
        "state fewer",
    ),
    Rule(
        "seeds ordered for methods there are",
        lambda grid: _unknown_label(_labels(grid), grid.ordered),
        "ordered: {1}",
        "rename or remove this entry",
    ),
    Rule(
        "seeds ordered by interim analyses",
        lambda grid: _misplaced_order(grid, grid.ordered),
        "ordered.{1} seeds are none of interim_analyses",
        "add the interim analysis, or remove this entry (`ordered: {}` removes all)",
    ),
    Rule(
        "tuning that says how",
        lambda grid: grid.tuning is None and _first_method(grid, lambda method: method.tune),
        "algorithms.{1}.tune: the experiment has no tuning",
        "tuning: {} takes the defaults",
    ),
    Rule(
        "settings of methods there are",
        _orphaned_settings,
        "tuned: {1}",
        "rename or remove this entry",
    ),
    Rule(
        "tuning with seeds of its own",
        lambda grid: grid.tuning and sorted({*grid.tuning.seeds}.intersection(chain(*grid.blocks))),
        "tuning.seeds: {1[0]} is a seed of the runs",
        "tuning needs others",
    ),
    Rule(
        "trials in scope of all methods",
        lambda grid: _first_method(
            grid, lambda method: "trials" in method.privacy.model_fields_set
        ),
        "algorithms.{1}.privacy.trials: methods count the trials of their experiment",
        "state privacy.trials beside algorithms",
    ),
    Rule(
        "trials in scope that are known",
        lambda grid: (
            grid.tuning is None and grid.privacy.trials is None and _searches_in_scope(grid)
        ),
        "privacy.covers: {1[0]} counts trials",
        "state tuning, or privacy.trials",
    ),
    Rule(
        "trials in scope that are all",
        lambda grid: grid.tuning and grid.tuning.sensitivity and _searches_in_scope(grid),
        "tuning.sensitivity: privacy.covers does not count the trials at half and twice the best values",
        "leave it out",
    ),
    Rule(
        "a best trial of one run each",
        lambda grid: (
            grid.tuning and len(grid.tuning.seeds) > 1 and "best_trial" in _searches_in_scope(grid)
        ),
        "tuning.seeds: a trial is one run where privacy.covers is best_trial",
        "state one seed",
    ),
    Rule(
        "as many trials in scope as are made",
        lambda grid: (
            grid.tuning
            and grid.privacy.trials is not None
            and grid.privacy.trials < grid.tuning.most
            and _searches_in_scope(grid)
        ),
        "privacy.trials: {0.privacy.trials:g} are fewer than the {0.tuning.most} runs that a search may make, with "
        "each seed, and beyond an edge of what it tried",
        "state as many, or leave it out",
    ),
    Rule(
        "audits at budgets there are",
        _unknown_budget,
        "audit.budgets.{1} is no budget of the experiment",
        "take it out, or add it to the budgets",
    ),
    Rule(
        "labels that differ",
        lambda grid: find_duplicate(_labels(grid)),
        "algorithms: the label {1!r} appears twice",
        "give each method a label of its own",
    ),
    Rule(
        "a control there is",
        lambda grid: _unknown_label(
            _labels(grid), [grid.control] if grid.control is not None else []
        ),
        "control: {1}",
        "name a method, or leave control out",
    ),
    Rule(
        "a part of the methods there are",
        lambda grid: _unknown_label(_labels(grid), grid.only or []),
        "only: {1}",
        "name methods, or leave only out",
    ),
    Rule(
        "methods that differ",
        _equal_methods,
        "algorithms: {1[0]!r} and {1[1]!r} are the same method",
        "leave one out",
    ),
    Rule(
        "held-out rows that nobody trains on",
        _first_training_on_all,
        "algorithms.{1}.tune: agents.train partitions rows of both parts, also those that tuning holds out",
        "leave train out",
    ),
    Rule(
        "pairs where seeds leave a setting open",
        lambda grid: grid.pairs and not grid.interim_analyses,
        "pairs: are judged at interim_analyses, which are not stated",
        "state interim_analyses",
    ),
    Rule(
        "pairs at equal totals",
        lambda grid: grid.pairs and grid.privacy.total is None,
        "pairs: are of settings with a total, which is not stated",
        "state privacy.total",
    ),
    Rule(
        "pairs of errors, not of times",
        lambda grid: grid.pairs and grid.timed,
        "pairs: timed: true compares computing times, which noise does not change",
        "leave pairs out",
    ),
    Rule(
        "pairs outside a search",
        lambda grid: grid.pairs and _searches_in_scope(grid),
        "pairs: privacy.covers: {1[0]} needs trials whose noise is independent",
        "leave pairs out, or set covers: run",
    ),
    Rule(
        "pairs of one test set",
        lambda grid: grid.pairs and _first_redrawing(grid),
        "pairs: agents.train of algorithms.{1} draws other test records with each seed, which pairs have in common",
        "leave pairs out",
    ),
    Rule(
        "pairs after methods there are",
        lambda grid: (
            grid.pairs
            and (added := sum(method.added for method in grid.algorithms)) < grid.pairs.after
            and [added]
        ),
        "pairs.after: expected at most the number of added methods, {1[0]}, got {0.pairs.after}",
        "state fewer",
    ),
    Rule(
        "mirrors where pairs are stated",
        lambda grid: grid.mirrored and not grid.pairs,
        "mirrored: are halves of pairs, which are not stated",
        "state pairs: {}, or remove mirrored",
    ),
    Rule(
        "mirrors of methods there are",
        lambda grid: _unknown_label(_labels(grid), grid.mirrored),
        "mirrored: {1}",
        "rename or remove this entry",
    ),
    Rule(
        "pairs by interim analyses",
        lambda grid: _misplaced_order(grid, grid.mirrored),
        "mirrored.{1} pairs are none of interim_analyses",
        "add the interim analysis, or remove this entry",
    ),
    Rule(
        "mirrors of seeds that are run",
        _lone_mirror,
        "mirrored.{1[0]} pairs need as many seeds, and {1[1]} are ordered",
        "order more seeds, or remove this entry",
    ),
    Rule(
        "mirrors of noise that is drawn where it is added",
        _mirrored_without_noise,
        "mirrored: {1} has no Laplace or normal noise of its own to negate",
        "remove this entry",
    ),
]
"""Rules on methods, budgets, seeds, tuning, audits and pairs."""


class StatedFigure(NamedTuple):
    """Figure of an experiment, with what the experiment has to show."""

    number: int
    figure: Figure
    earlier: Collection[str]
    """Names of the figures before it."""
    specs: Mapping[str, RunSpec]
    """A run of each method, by label."""
    metrics: Collection[str]
    """Variables that the methods measure."""

    @property
    def drawn_specs(self) -> dict[str, RunSpec]:
        """Return a run of each method that the figure shows, by label."""
        return {label: self.specs[label] for label in self.figure.algorithms or self.specs}

    @property
    def against(self) -> str:
        """Return the horizontal axis; empty if the kind of figure has no choice of it."""
        return str(getattr(self.figure, "against", ""))

    @property
    def parameters(self) -> dict[str, Any]:
        """Return the values of the parameter on the horizontal axis, by label of the methods that have it."""
        if not self.against.startswith(PARAMETER):
            return {}
        name = self.against.removeprefix(PARAMETER)
        params_of_label = {label: asdict(spec.method) for label, spec in self.drawn_specs.items()}
        return {label: params[name] for label, params in params_of_label.items() if name in params}


def _unknown_metric(stated: StatedFigure) -> tuple[str, str] | None:
    """Return the key and a message about the first metric that no method measures."""
    for metric in stated.figure.metrics:
        if metric not in stated.metrics:
            key = "metric" if metric == stated.figure.metric else "beside"
            return key, unknown("metric", metric, stated.metrics)
    return None


def _missing_course(stated: StatedFigure) -> str:
    """Return the name of a horizontal axis along which no method advances; empty if one does."""
    name = "" if stated.against == "round" else COURSES.get(stated.against, "").lower()
    is_measured = any(stated.against in measured(spec) for spec in stated.drawn_specs.values())
    return "" if is_measured else name


def _unknown_parameter(stated: StatedFigure) -> str:
    """Return a message about a parameter on the horizontal axis that no method has; empty if one has it."""
    if not stated.against.startswith(PARAMETER) or stated.parameters:
        return ""
    names = {name for spec in stated.drawn_specs.values() for name in asdict(spec.method)}
    return unknown("parameter", stated.against.removeprefix(PARAMETER), names)


def _no_number(stated: StatedFigure) -> tuple[str, Any] | None:
    """Return label and value of the first method whose parameter on the horizontal axis is no number."""
    for label, value in stated.parameters.items():
        if isinstance(value, bool) or not isinstance(value, int | float | None):
            return label, value
    return None


def _only_infinite(stated: StatedFigure) -> bool:
    """Return whether a figure shows totals, which are infinite without a guarantee, of methods without any."""
    if "epsilon_total" not in (stated.figure.metric, stated.against):
        return False
    specs = stated.drawn_specs.values()
    return all(guarantee_with_noise(spec).kind == "none" for spec in specs)


FIGURE_RULES: list[Rule[StatedFigure]] = [
    Rule(
        "figures whose names differ",
        lambda stated: stated.figure.name in stated.earlier,
        "figures: the name {0.figure.name!r} appears twice",
        "give each figure a name of its own",
    ),
    Rule(
        "figures of methods there are",
        lambda stated: _unknown_label(stated.specs, stated.figure.algorithms or []),
        "figures.{0.number}.algorithms: {1}",
        "name methods, or leave algorithms out",
    ),
    Rule(
        "figures of what is measured",
        _unknown_metric,
        "figures.{0.number}.{1[0]}: {1[1]}",
        "name what the methods measure",
    ),
    Rule(
        "an axis along which methods advance",
        _missing_course,
        "figures.{0.number}.against: no method here has {1}",
        "name another axis",
    ),
    Rule(
        "an axis of a parameter there is",
        _unknown_parameter,
        "figures.{0.number}.against: {1}",
        "name a parameter of a method that is drawn",
    ),
    Rule(
        "an axis of numbers",
        _no_number,
        "figures.{0.number}.against: {0.against} of {1[0]!r} is {1[1]!r}, which is no number",
        "name another parameter, or draw other methods",
    ),
    Rule(
        "figures of totals that are finite",
        _only_infinite,
        "figures.{0.number}: no method here has a guarantee, so epsilon_total is infinite",
        "set sensitivity: global, or show epsilon_composed",
    ),
]
"""Rules on figures of an experiment."""
