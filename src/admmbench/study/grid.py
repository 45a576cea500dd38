"""Grids of runs: methods, budgets and seeds, with settings that are stated for all methods or for one."""

from __future__ import annotations

import itertools
import math
import operator
from collections import defaultdict
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import (
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from admmbench import datasets, partition
from admmbench.audit.settings import AuditSettings
from admmbench.engine.variables import measured
from admmbench.files import digest
from admmbench.privacy.selection import CompositionScope
from admmbench.spec.facts import MethodError
from admmbench.spec.fields import (
    SEEDS,
    PrivacySettings,
    Seeds,
    Settings,
)
from admmbench.spec.run import RunSpec
from admmbench.study.address import dataset_folder
from admmbench.study.methods import Method, allow_lists, expand_lists, key_paths, merged
from admmbench.study.runs import Run, blocks
from admmbench.tuning.settings import Axes, Chosen, Tuned, TuningSettings, apply
from admmbench.tuning.settings import Settings as Values
from admmbench.validation import ByBudget, Count, Epsilons, Number, Strict, messages

# Explains why a method is untuned although there are tuned settings under its label.
_UNUSABLE_SETTINGS = (
    " (settings under this label are of another method, data set or loss, or along other axes)"
)
Margin = Annotated[Number, Field(ge=0)]
# Seeds of a block where an experiment does not state the size.
SEED_BLOCK = 10


class Totals(PrivacySettings):
    """Settings of privacy, and the total privacy losses, which determine the noise."""

    total: Epsilons | None = None
    """Total privacy losses ε of the whole run, instead of epsilon; the noise is solved for."""


class Pairs(Strict):
    """Antithetic pairs of the settings that seeds leave open, see docs/sure.md."""

    after: Annotated[int, Field(ge=0)] = 0
    """Number of added methods that were judged before pairs were stated: these keep the levels of their intervals."""


class Search(NamedTuple):
    """Tuning of a method at a budget, with the settings that it starts from and the axes that it searches."""

    label: str
    budget: float
    spec: RunSpec
    axes: Axes

    def space(self, settings: TuningSettings) -> str:
        """Return a hash of the trials and of how they are compared; searches under two labels may have the same."""
        unmeasured = {"evaluate_every": 1, "time_limit": math.inf}
        run = Run("", self.spec.model_copy(update=unmeasured)).first
        axes = {path: [*map(float, axis.model_dump().values())] for path, axis in self.axes.items()}
        return digest([run.path, axes, settings.identity])[:8]


class Grid(Settings):
    """Runs of an experiment: a data set, methods, budgets and seeds.

    A setting may be a list: each method that does not state the setting then has a run with each value.
    """

    model_config = ConfigDict(json_schema_extra=allow_lists)
    former_keys: ClassVar[Mapping[str, str]] = {"looks": "interim_analyses"}

    dataset: str | dict[str, Any]
    """Name, or name and settings."""
    rounds: Count
    """Number of rounds."""
    seeds: Seeds | None = None
    """Number n of seeds, for 0 to n - 1, or a list of seeds, or text such as 0-9; 10 seeds if absent, or as many as
    seed_blocks has."""
    seed_block: Count | None = None
    """Seeds that one job computes together at most, 10 if absent."""
    seed_blocks: Annotated[list[Count] | None, Field(min_length=1)] = None
    """Size of each block of seeds, instead of seed_block."""
    interim_analyses: Annotated[list[Count] | None, Field(min_length=1)] = None
    """Numbers of seeds at which the study is judged, instead of seeds: the first is run at once, each further one where
    `admmbench study --until-decided` finds a setting undecided, see docs/sure.md."""
    ordered: dict[str, ByBudget[Count]] = {}
    """Seeds beyond the first interim analysis, by label and budget: from config/seeds/, which
    `admmbench study --until-decided` writes."""
    pairs: Pairs | None = Field(None, exclude_if=operator.not_)
    """Antithetic pairs: a setting that seeds leave open may also run its seeds with all noise negated, and is then
    judged at the interim analyses by pairs, see docs/sure.md; {} takes the defaults."""
    mirrored: dict[str, ByBudget[Count]] = Field({}, exclude_if=operator.not_)
    """Numbers of pairs, by label and budget: from config/pairs/, which `admmbench study --until-decided` writes."""
    margin: Margin = 0.0
    """Largest difference of two methods that does not matter: in percentage points where the metric is an error, else
    in its unit."""
    control: str | None = None
    """Label of the method that the report compares all others with; the best of each setting if absent."""
    epsilon: Epsilons | None = None
    """Budgets of one iteration, unless privacy.total is given; .inf adds no noise."""
    privacy: Totals = Totals()
    timed: bool = False
    """One job makes all runs, one after another with one thread each, and results.nc has their computing times; blocks
    of one seed give a time for every seed."""
    audit: AuditSettings | None = None
    """Attack every noisy method at every finite budget, see docs/privacy/audit.md; {} takes the defaults."""
    tuning: TuningSettings | None = None
    """How methods with tune are tuned, on training rows that are held out."""
    tuned: Tuned = {}
    """Settings that tuning chose, by label and budget: from config/tuned/, which `snakemake tune` writes."""
    algorithms: Annotated[list[Method], Field(min_length=1)]
    only: Annotated[list[str] | None, Field(min_length=1)] = None
    """Labels of the methods that are tuned, run, attacked and drawn, all if absent: a part of the study, see
    docs/reproducing.md."""

    @model_validator(mode="before")
    @classmethod
    def _expand_lists(cls, values: Any) -> Any:
        """Replace a method by one method for each value where a setting has several."""
        return expand_lists(values)

    @cached_property
    def blocks(self) -> list[tuple[int, ...]]:
        """Return the blocks of seeds that are computed together; up to the last interim analysis if there are any."""
        if self.interim_analyses:
            return self._blocks_up_to(self.interim_analyses[-1])
        sizes = self.seed_blocks
        seeds = sorted(self.seeds or range(sum(sizes) if sizes else SEEDS))
        if sizes is None:
            return blocks(seeds, self.seed_block or SEED_BLOCK)
        ends = itertools.accumulate(sizes)
        return [tuple(seeds[end - size : end]) for end, size in zip(ends, sizes, strict=True)]

    def _blocks_up_to(self, n: int) -> list[tuple[int, ...]]:
        """Return the blocks of seeds up to an interim analysis of n seeds; they do not depend on later analyses."""
        analyses, size = self.interim_analyses or [], self.seed_block or SEED_BLOCK
        return [
            tuple(range(first, min(first + size, end)))
            for start, end in itertools.pairwise([0, *analyses])
            for first in range(start, end, size)
            if end <= n
        ]

    def blocks_of(self, label: str, budget: float) -> list[tuple[int, ...]]:
        """Return the blocks of seeds of a method at a budget; with interim analyses, as many as were ordered."""
        if not self.interim_analyses:
            return self.blocks
        return self._blocks_up_to(self.ordered.get(label, {}).get(budget, self.interim_analyses[0]))

    def mirrored_blocks_of(self, label: str, budget: float) -> list[tuple[int, ...]]:
        """Return the blocks of seeds of a method at a budget of which the mirrors are run as well."""
        return self._blocks_up_to(self.mirrored.get(label, {}).get(budget, 0))

    def budgets(self, method: Method) -> list[float]:
        """Return the budgets of a method: of one iteration, or totals."""
        return method.epsilon or self.epsilon or self.privacy.total or []

    @property
    def budget_of(self) -> Literal["iteration", "run"]:
        """Return what the budgets are for: one iteration, or the whole run."""
        return "iteration" if self.privacy.total is None else "run"

    @property
    def partition(self) -> int | dict[str, Any]:
        """Return the stated partition, or the usual one of the data set, which knows whose records are."""
        if self.agents is not None:
            return self.agents
        scheme = partition.usual(datasets.describe(self.dataset))
        return {"scheme": scheme.scheme, **scheme.model_dump(exclude_defaults=True)}

    @cached_property
    def metrics(self) -> list[str]:
        """Return the names of the variables that the methods measure."""
        metrics_of_method = (measured(spec) for _, spec in self.computed)
        return [
            name for names in metrics_of_method for name in names if self.timed or name != "seconds"
        ]

    @cached_property
    def runs(self) -> list[Run]:
        """Return all runs, method x epsilon x block of seeds, without methods that are still untuned.

        Mirrors follow the ordinary runs of their method and budget.
        """
        # A method whose settings are not tuned at each budget has them at all.
        folders = defaultdict[tuple[str, float | None, bool], dict[int, str]](dict)
        return [
            Run(method.label, spec.model_copy(update={"seeds": seeds, "mirror": mirror}), known)
            for method, budget in self.grid
            if (settings := self.settings(method, budget)) is not None
            for spec in [self._complete(method, budget, settings)]
            for mirror, blocks_of in ((False, self.blocks_of), (True, self.mirrored_blocks_of))
            for known in [folders[method.label, budget if method.tune else None, mirror]]
            for seeds in blocks_of(method.label, budget)
        ]

    @cached_property
    def searches(self) -> dict[str, Search]:
        """Return the searches by file name: every method with ``tune`` at every budget."""
        return {
            f"{Run(search.label, search.spec).stem}.json": search
            for search in self._searches
            if self._is_selected(search.label)
        }

    @cached_property
    def _searches(self) -> list[Search]:
        return [
            Search(method.label, budget, self._complete(method, budget, method.starts), method.tune)
            for method, budget in self._whole_grid
            if method.tune
        ]

    @property
    def untuned(self) -> list[str]:
        """Return the labels of the methods that must be tuned before they run, each with its budgets."""
        missing: dict[str, list[float]] = {}
        for method, budget in self.grid:
            if self.settings(method, budget) is None:
                missing.setdefault(method.label, []).append(budget)
        return [
            f"{label} at {', '.join(f'{budget:g}' for budget in budgets)}"
            + (_UNUSABLE_SETTINGS if set(budgets) & set(self.tuned.get(label, ())) else "")
            for label, budgets in missing.items()
        ]

    @property
    def grid(self) -> list[tuple[Method, float]]:
        """Return the methods that are asked for, with each of their budgets."""
        return [pair for pair in self._whole_grid if self._is_selected(pair[0].label)]

    @property
    def _whole_grid(self) -> list[tuple[Method, float]]:
        return [(method, budget) for method in self.algorithms for budget in self.budgets(method)]

    def _is_selected(self, label: str) -> bool:
        """Return whether a method belongs to the part of the study that is asked for."""
        return self.only is None or label in self.only

    def settings(self, method: Method, budget: float) -> Values | None:
        """Return the settings that tuning chose; empty for a method without axes, None for a method still untuned."""
        if not method.tune:
            return {}
        chosen = self.chosen[method.label].get(budget)
        return chosen.settings if chosen else None

    @cached_property
    def chosen(self) -> dict[str, dict[float, Chosen]]:
        """Return the outcomes of tuning, by label and budget: of the same method, along the axes that it has now."""
        choices: dict[str, dict[float, Chosen]] = {}
        for search in self._searches:
            of_label = choices.setdefault(search.label, {})
            if chosen := self._chosen(search):
                of_label[search.budget] = chosen
        return choices

    def _chosen(self, search: Search) -> Chosen | None:
        """Return the outcome of a search: under its own label, or under the label of an equal search."""
        assert self.tuning is not None
        at_budget = {label: choices.get(search.budget) for label, choices in self.tuned.items()}
        choice, definitions = at_budget.pop(search.label, None), search.spec.definitions
        if (
            choice
            and choice.settings.keys() == search.axes.keys()
            and choice.of in ("", definitions)
        ):
            return choice
        space = search.space(self.tuning)
        candidates = (
            candidate for candidate in at_budget.values() if candidate and candidate.space == space
        )
        return next((candidate for candidate in candidates if candidate.of == definitions), None)

    @cached_property
    def audits(self) -> dict[str, Run]:
        """Return the runs to attack, by file name: every noisy method at each finite, or each stated budget."""
        if self.audit is None:
            return {}
        chosen = self.audit.budgets
        # The first block of seeds stands for all blocks.
        first: dict[tuple[str, float], Run] = {}
        for run in self.runs:
            budget = run.spec.stated_budget
            if run.spec.release and run.spec.private and (chosen is None or budget in chosen):
                first.setdefault((run.label, budget), run)
        return {f"{run.first.stem}.json": run for run in first.values()}

    @cached_property
    def computed(self) -> list[tuple[Method, RunSpec]]:
        """Return each method with a run, every setting spelt out, at one of its budgets and for one seed."""
        computed = []
        for method in self.algorithms:
            budget = self.budgets(method)[0]
            settings = self.settings(method, budget)
            settings = method.starts if settings is None else settings
            computed.append((method, self._complete(method, budget, settings)))
        return computed

    def _complete(self, method: Method, budget: float, settings: Values) -> RunSpec:
        """Return the run of a method at a budget, every setting spelt out, for one seed.

        Raises
        ------
        ValueError
            If the run is refused; the message names the method if the method's own settings are to blame.
        """
        arguments: Mapping[str, Any] = {}
        try:
            arguments = self._arguments(method, budget, settings)
            arguments = RunSpec(**arguments).complete()
            return RunSpec.model_validate(arguments)
        except (ValueError, ArithmeticError) as error:
            number = self.algorithms.index(method)
            lines = [str(error)]
            if isinstance(error, ValidationError):
                lines = messages(error, arguments, kind=RunSpec)
            message = "; ".join(lines)
            blames_method = _is_method_error(error) or any(
                f"{key}: " in message for key in key_paths(method.changes)
            )
            path = f"algorithms.{number} ({method.label}): " if blames_method else ""
            raise ValueError(path + message) from None

    def runs_folder(self, folder: Path) -> Path:
        """Return the folder of the runs: beside that of the results, or in it where timed runs are not shared."""
        return (folder if self.timed else folder.parent) / "runs"

    @cached_property
    def dataset_folder(self) -> str:
        """Return the name of the prepared data set's folder; equal settings share a folder."""
        return dataset_folder(self.dataset)

    def composition_scope(self, method: Method) -> CompositionScope:
        """Return the composition scope of a method's total ε."""
        scope: CompositionScope = method.changes["privacy"].get("covers", self.privacy.covers)
        return scope

    def _arguments(self, method: Method, budget: float, settings: Values) -> dict[str, Any]:
        """Return the arguments of a method's run at a budget, for one seed."""
        changes = method.changes
        privacy = self.privacy.model_dump(exclude={"total", "trials"}) | changes["privacy"]
        if privacy["covers"] != "run":
            privacy["trials"] = self.privacy.trials or (self.tuning and self.tuning.most)
        is_total = self.privacy.total is not None
        settings_of_run = {
            **{name: getattr(self, name) for name in Settings.model_fields},
            **changes,
            "dataset": self.dataset,
            "algorithm": method.name,
            "params": {**self.params, **method.params},
            "problem": self._problem(method),
            "agents": self._partition(method),
            "privacy": privacy | ({"total": budget} if is_total else {}),
            "epsilon": math.inf if is_total else budget,
            "seeds": (0,),
        }
        arguments = apply(settings, settings_of_run)
        other_rounds = "rounds" in changes or arguments["rounds"] != self.rounds
        if "evaluate_every" not in changes and other_rounds:
            arguments["evaluate_every"] = min(self.evaluate_every, arguments["rounds"])
        return arguments

    def _problem(self, method: Method) -> str | dict[str, Any] | None:
        """Return the experiment's problem with the method's changes: a mapping if the method or tuning changes it."""
        changes, base = method.changes.get("problem", {}), self.problem
        if isinstance(changes, str):
            changes = {"loss": changes}
        if not changes and not any(path.startswith("problem.") for path in method.tune):
            return base
        base = base or datasets.describe(self.dataset).default_problem
        return merged({"loss": base} if isinstance(base, str) else base, changes)

    def _partition(self, method: Method) -> int | dict[str, Any]:
        changes, base = method.agents, self.partition
        if changes is None:
            return base
        if isinstance(base, int):
            base = {"scheme": "iid", "agents": base}
        if isinstance(changes, int):
            changes = {"blocks" if base.get("scheme") == "columns" else "agents": changes}
        return {**base, **changes}


def _is_method_error(error: Exception) -> bool:
    """Return whether an error blames the method alone."""
    if not isinstance(error, ValidationError):
        return isinstance(error, MethodError)
    causes = [fault.get("ctx", {}).get("error") for fault in error.errors()]
    return any(isinstance(cause, MethodError) for cause in causes)
