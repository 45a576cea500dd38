"""An experiment, as its file states it, and the runs, searches and attacks that it asks for."""

from __future__ import annotations

import itertools
import math
import unicodedata
from collections.abc import Mapping
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import (
    Field,
    SerializeAsAny,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from admmbench import algorithms, datasets, partition
from admmbench.audit.settings import AuditSettings
from admmbench.engine.spec import (
    MOST_SEEDS,
    SEEDS,
    Agents,
    Covered,
    EvaluateEvery,
    MethodError,
    RunSpec,
    Seeds,
    evaluate_every,
    with_delta,
)
from admmbench.engine.variables import measured
from admmbench.figures import Figure
from admmbench.figures.base import PARAMETER
from admmbench.figures.tidy import COURSES
from admmbench.files import digest
from admmbench.privacy.selection import Covers
from admmbench.study.address import dataset_folder
from admmbench.study.runs import Run, blocks
from admmbench.tuning.settings import Axes, Chosen, Settings, Tuned, TuningSettings, apply
from admmbench.validation import (
    ByBudget,
    Count,
    Epsilons,
    Number,
    PerhapsInfinite,
    Strict,
    Text,
    file_name,
    messages,
    unknown,
)

# Why there are settings under a label, and no use for them.
_OTHERS = (
    " (settings under this label are of another method, data set or loss, or along other axes)"
)
# Of an experiment that states no size of blocks.
SEED_BLOCK = 10


class Method(Strict):
    """A curve of an experiment is an algorithm with its parameters."""

    name: str
    """Algorithm, or the path of a plug-in ending in .py."""
    label: Annotated[Text, Field(min_length=1, max_length=200)]
    """How plots and tables call it."""
    variant: Literal["paper", "reference"] = "paper"
    params: dict[str, Any] = {}
    epsilon: Epsilons | None = None
    """Budgets of this method, of the same kind as the experiment's; the experiment's if absent."""
    noise: Literal["published", "laplace", "gaussian"] | None = None
    """The experiment's privacy.noise if absent."""
    covers: Covers | None = None
    """What its total is of; the experiment's privacy.covers if absent."""
    delta: Annotated[Number | None, Field(gt=0, lt=1)] = None
    """The experiment's if absent."""
    agents: Count | dict[str, Any] | None = None
    """Number of agents, or changes to the experiment's partition; the experiment's if absent."""
    rounds: Count | None = None
    """The experiment's if absent."""
    problem: dict[str, Any] = {}
    """Changes to the experiment's problem."""
    added: bool = False
    """Whether it was added after the study was stated with the others, whose verdicts it leaves as they are: it is
    compared with each of them, at a level of its own, see docs/sure.md."""
    tune: Axes = {}
    """Settings that are tuned at each budget, by the path of their key, such as params.rho; a value is a number to
    start from, or an axis; see docs/experiments.md."""

    @model_validator(mode="before")
    @classmethod
    def _own_name(cls, values: Any) -> Any:
        """Take another name of a method for what it stands for."""
        return algorithms.unalias(values, "name")

    @property
    def starts(self) -> Settings:
        """Say where the search for its settings begins."""
        return {path: axis.at(0) for path, axis in self.tune.items()}


class Budgets(Covered):
    """Totals of whole runs determine the noise, with their neighbours and the kind of noise."""

    total: Epsilons | None = None
    """Budgets of whole runs, instead of epsilon."""


class Search(NamedTuple):
    """A method is tuned at a budget: from these settings, and along these axes."""

    label: str
    budget: float
    spec: RunSpec
    axes: Axes

    def space(self, settings: TuningSettings) -> str:
        """Hash what is tried, and how it is compared: a search under another label is the same search."""
        unmeasured = {"evaluate_every": 1, "time_limit": math.inf}
        run = Run("", self.spec.model_copy(update=unmeasured)).first
        axes = {path: [*map(float, axis.model_dump().values())] for path, axis in self.axes.items()}
        return digest([run.path, axes, settings.model_dump()])[:8]


def usual_agents(given: Mapping[str, Any]) -> Agents:
    """Return the partition if an experiment states none: the data set knows whose records are."""
    scheme = partition.usual(datasets.describe(given["dataset"]))
    return {"scheme": scheme.scheme, **scheme.model_dump(exclude_defaults=True)}


class Experiment(Strict):
    """An artefact of a paper, or a study, is a data set, and a grid of methods, budgets and seeds."""

    title: Text
    paper: Text = ""
    """Key of the paper, or empty."""
    description: Text = ""
    artefacts: list[str] = []
    """Figures and tables of the paper."""
    dataset: str | dict[str, Any]
    """Name, or name and settings."""
    agents: Agents = Field(default_factory=usual_agents)
    """Agents with equal shares, or a partition; 10 if absent, or an agent for each group of data that have groups."""
    problem: str | dict[str, Any] | None = None
    """The data set's default if absent."""
    rounds: Count
    evaluate_every: EvaluateEvery = Field(default_factory=evaluate_every)
    seeds: Seeds | None = None
    """Number n of seeds, for 0 to n - 1, or a list of seeds, or text such as 0-9; 10 seeds if absent, or as many as
    seed_blocks has."""
    seed_block: Count | None = None
    """Seeds that one job computes together at most, 10 if absent."""
    seed_blocks: Annotated[list[Count] | None, Field(min_length=1)] = None
    """Size of each block of seeds, instead of seed_block."""
    looks: Annotated[list[Count] | None, Field(min_length=1)] = None
    """Numbers of seeds at which the study is judged, instead of seeds: the first is run at once, each further one where
    `admmbench study --until-decided` finds a row undecided, see docs/sure.md."""
    ordered: dict[str, ByBudget[Count]] = {}
    """Seeds beyond the first look, by label and budget: from config/seeds/, which `admmbench study --until-decided`
    writes."""
    margin: Annotated[Number, Field(ge=0)] = 0.0
    """Largest difference of two methods that does not matter: in percentage points where the metric is an error, else
    in its unit."""
    control: str | None = None
    """Label of the method that the report compares all others with; the best of each row if absent."""
    epsilon: Epsilons | None = None
    """Budgets of one iteration, unless privacy.total is given; .inf adds no noise."""
    delta: Annotated[Number, Field(gt=0, lt=1)] = 1e-6
    sensitivity: Literal["local", "global"] = "local"
    privacy: Budgets = Budgets()
    dtype: Literal["float32", "float64"] = "float32"
    time_limit: Annotated[PerhapsInfinite, Field(gt=0)] = math.inf
    """Minutes after which a run is recorded as timed out; none if absent."""
    timed: bool = False
    """One job makes all runs, one after another with one thread each, and results.nc has their computing times; blocks
    of one seed give a time for every seed."""
    accountants: list[str] | None = None
    """Accountants whose totals are computed, besides rdp, which always is; the usual ones if absent."""
    audit: AuditSettings | None = None
    """Attack every noisy method at every finite budget, see docs/privacy/audit.md; {} takes the defaults."""
    params: dict[str, Any] = {}
    """Parameters that all methods share."""
    tuning: TuningSettings | None = None
    """How methods with tune are tuned, on training rows that are held out."""
    tuned: Tuned = {}
    """Settings that tuning chose, by label and budget: from config/tuned/, which `snakemake tune` writes."""
    algorithms: Annotated[list[Method], Field(min_length=1)]
    only: Annotated[list[str] | None, Field(min_length=1)] = None
    """Labels of the methods that are tuned, run, attacked and drawn, all if absent: a part of the study, see
    docs/reproducing.md."""
    figures: list[SerializeAsAny[Figure]] = []

    _with_delta = model_validator(mode="before")(with_delta)

    @field_validator("figures")
    @classmethod
    def _of_the_part(cls, figures: list[Figure], others: ValidationInfo) -> list[Figure]:
        """Leave out figures of methods that are not run."""
        only = others.data.get("only")
        return [each for each in figures if not only or {*only}.issuperset(each.algorithms or [])]

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Refuse whatever would make a job fail."""
        if (self.epsilon is None) == (self.privacy.total is None):
            raise ValueError(
                "epsilon: give either budgets of one iteration here, or totals in privacy.total"
            )
        self._check_blocks()
        self._check_looks()
        self._check_tuning()
        self._check_covers()
        self._check_audit()
        labels = [method.label for method in self.algorithms]
        _once("algorithms: the label", labels)
        if self.control is not None and self.control not in labels:
            raise ValueError(f"control: {unknown('label', self.control, labels)}")
        for label in self.only or []:
            if label not in labels:
                raise ValueError(f"only: {unknown('label', label, labels)}")
        _once("figures: the name", [figure.name for figure in self.figures])
        self._check_methods()
        for number, figure in enumerate(self.figures):
            self._check_figure(f"figures.{number}", figure)
        return self

    def _check_figure(self, where: str, figure: Figure) -> None:
        """Refuse a figure of methods, variables or totals that are not there."""
        specs = dict(zip((method.label for method in self.algorithms), self._methods, strict=True))
        for label in figure.algorithms or []:
            if label not in specs:
                raise ValueError(f"{where}.algorithms: {unknown('label', label, list(specs))}")
        for metric in figure.metrics:
            if metric not in self.metrics:
                key = "metric" if metric == figure.metric else "beside"
                raise ValueError(f"{where}.{key}: {unknown('metric', metric, self.metrics)}")
        shown = {label: specs[label] for label in figure.algorithms or specs}
        against = str(getattr(figure, "against", ""))
        self._check_axis(f"{where}.against", against, shown)
        guaranteed = any(spec.guarantee_with_noise.kind != "none" for spec in shown.values())
        if "epsilon_total" in (figure.metric, against) and not guaranteed:
            raise ValueError(
                f"{where}: no method here has a guarantee, so epsilon_total is infinite; set sensitivity: global, or "
                "show epsilon_composed"
            )

    def _check_axis(self, where: str, against: str, shown: Mapping[str, RunSpec]) -> None:
        """Refuse a horizontal axis that no method has, or that has no numbers."""
        advances = against in COURSES and against != "round"
        if advances and not any(against in measured(spec) for spec in shown.values()):
            raise ValueError(f"{where}: no method here has {COURSES[against].lower()}")
        if not against.startswith(PARAMETER):
            return
        name = against.removeprefix(PARAMETER)
        known = {label: asdict(spec.method) for label, spec in shown.items()}
        found = {label: given[name] for label, given in known.items() if name in given}
        if not found:
            fault = unknown("parameter", name, sorted(set().union(*known.values())))
            raise ValueError(f"{where}: {fault}")
        for label, value in found.items():
            if isinstance(value, bool) or not isinstance(value, int | float | None):
                raise ValueError(f"{where}: {name} of {label!r} is {value!r}, which is no number")

    def _check_methods(self) -> None:
        """Refuse names that no file can have, a method under two labels, and tuning where held-out rows would train."""
        labels: dict[tuple[str, str], str] = {}
        for number, (method, spec) in enumerate(zip(self.algorithms, self._methods, strict=True)):
            address = Run(method.label, spec).address
            for name in (*address.folder.split("/"), address.stem):
                file_name(name, f"algorithms.{number}: its folder of runs")
            # Tuning may make one method of two, such as DP-GD of DP-SGD with all records; along other axes it may not.
            same = Run("", spec.at(1.0)).path, repr(method.tune)
            first = labels.setdefault(same, method.label)
            if first != method.label:
                raise ValueError(f"algorithms: {first!r} and {method.label!r} are the same method")
            if method.tune and getattr(spec.scheme, "train", None):
                raise ValueError(
                    f"algorithms.{number}.tune: agents.train shares out rows of both parts, also those that tuning "
                    "holds out; leave train out"
                )

    def _check_blocks(self) -> None:
        if self.seed_blocks is None:
            return
        if self.seed_block is not None:
            raise ValueError("seed_blocks: give either seed_block or seed_blocks, not both")
        if sum(self.seed_blocks) > MOST_SEEDS:
            raise ValueError(f"seed_blocks: expected at most {MOST_SEEDS:,} seeds together")
        if self.seeds is not None and sum(self.seed_blocks) != len(self.seeds):
            raise ValueError(
                f"seed_blocks: the blocks have {sum(self.seed_blocks)} seeds together, seeds has {len(self.seeds)}"
            )
        for number, block in enumerate(self.blocks):
            if block[-1] - block[0] >= len(block):
                raise ValueError(
                    f"seed_blocks.{number}: its seeds {list(block)} have gaps; leave seed_blocks out"
                )

    def _check_looks(self) -> None:
        looks = self.looks or []
        if looks and (self.seeds or self.seed_blocks):
            raise ValueError("looks: they say which seeds are run; leave seeds and seed_blocks out")
        if looks != sorted(set(looks)):
            raise ValueError(f"looks: expected numbers of seeds that increase, got {looks}")
        if looks and looks[-1] > MOST_SEEDS:
            raise ValueError(f"looks: expected at most {MOST_SEEDS:,} seeds, got {looks[-1]:,}")
        labels = [method.label for method in self.algorithms]
        for label, own in self.ordered.items():
            if label not in labels:
                raise ValueError(f"ordered: {unknown('label', label, labels)}")
            for budget, n in own.items():
                if n not in looks:
                    raise ValueError(
                        f"ordered.{label}.{budget:g}: {n} seeds are none of looks; add the look, or remove this entry "
                        "(`ordered: {}` removes all)"
                    )

    def _check_audit(self) -> None:
        offered = {budget for _, budget in self._grid}
        for number, budget in enumerate((self.audit and self.audit.budgets) or []):
            if budget not in offered:
                raise ValueError(
                    f"audit.budgets.{number}: {budget:g} is no budget of the experiment"
                )

    def _covers(self, method: Method) -> Covers:
        """Say what the total of a method is of."""
        return method.covers or self.privacy.covers

    def _check_covers(self) -> None:
        """Refuse totals that cover fewer runs than a search makes."""
        trials, tuning = self.privacy.trials, self.tuning
        searching = {self._covers(method) for method in self.algorithms} - {"run"}
        if not searching:
            return
        if tuning is None:
            if trials is None:
                raise ValueError(
                    f"privacy.covers: {min(searching)} counts trials; state tuning, or privacy.trials"
                )
            return
        if tuning.beside:
            raise ValueError(
                "tuning.beside: privacy.covers does not count what is tried beside the best; leave it out"
            )
        if "best_trial" in searching and len(tuning.seeds) > 1:
            raise ValueError(
                "tuning.seeds: a trial is one run where privacy.covers is best_trial; state one seed"
            )
        if trials is not None and trials < tuning.most:
            raise ValueError(
                f"privacy.trials: {trials:g} are fewer than the {tuning.most} runs that a search may make, with each "
                "seed, and beyond an edge of what it tried; state as many, or leave it out"
            )

    def _check_tuning(self) -> None:
        tuned = [number for number, method in enumerate(self.algorithms) if method.tune]
        if tuned and self.tuning is None:
            raise ValueError(
                f"algorithms.{tuned[0]}.tune: the experiment has no tuning; tuning: {{}} takes the defaults"
            )
        labels = [method.label for method in self.algorithms]
        for label, own in self.tuned.items():
            # A label may have changed since.
            if label not in labels and not any(each.space for each in own.values()):
                raise ValueError(f"tuned: {unknown('label', label, labels)}")
        if self.tuning and (
            common := {seed for block in self.blocks for seed in block} & set(self.tuning.seeds)
        ):
            raise ValueError(
                f"tuning.seeds: {min(common)} is a seed of the runs; tuning needs others"
            )

    @cached_property
    def blocks(self) -> list[tuple[int, ...]]:
        """Return the seeds that are computed together, block by block; of the last look if there are looks."""
        if self.looks:
            return self._blocks_until(self.looks[-1])
        sizes = self.seed_blocks
        seeds = sorted(self.seeds or range(sum(sizes) if sizes else SEEDS))
        if sizes is None:
            return blocks(seeds, self.seed_block or SEED_BLOCK)
        ends = itertools.accumulate(sizes)
        return [tuple(seeds[end - size : end]) for end, size in zip(ends, sizes, strict=True)]

    def _blocks_until(self, look: int) -> list[tuple[int, ...]]:
        """Blocks of so many seeds; those of a look do not depend on looks that follow."""
        looks, size = self.looks or [], self.seed_block or SEED_BLOCK
        return [
            tuple(range(first, min(first + size, end)))
            for start, end in itertools.pairwise([0, *looks])
            for first in range(start, end, size)
            if end <= look
        ]

    def blocks_of(self, label: str, budget: float) -> list[tuple[int, ...]]:
        """Return the blocks of seeds that a method is run with at a budget, as far as they were ordered."""
        if not self.looks:
            return self.blocks
        return self._blocks_until(self.ordered.get(label, {}).get(budget, self.looks[0]))

    def _budgets(self, method: Method) -> list[float]:
        """Those of a method: of one iteration, or totals."""
        return method.epsilon or self.epsilon or self.privacy.total or []

    @property
    def budget_of(self) -> Literal["iteration", "run"]:
        """Return what the budgets are for: one iteration, or the whole run."""
        return "iteration" if self.privacy.total is None else "run"

    @cached_property
    def metrics(self) -> list[str]:
        """Name what its methods measure, as variables of the results."""
        found = (measured(spec) for spec in self._methods)
        return [name for names in found for name in names if self.timed or name != "seconds"]

    @cached_property
    def runs(self) -> list[Run]:
        """List every job, method x epsilon x block of seeds, without methods that are still untuned."""
        return [
            Run(method.label, spec.model_copy(update={"seeds": seeds}))
            for method, budget in self._grid
            if (settings := self.settings(method, budget)) is not None
            for spec in [self._complete(method, budget, settings)]
            for seeds in self.blocks_of(method.label, budget)
        ]

    @cached_property
    def searches(self) -> dict[str, Search]:
        """Say what is tuned, by file name: every method with ``tune`` at every budget."""
        return {
            f"{Run(each.label, each.spec).address.stem}.json": each
            for each in self._searches
            if self._asked(each.label)
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
        """Name the methods that must be tuned before they run, each with its budgets."""
        missing: dict[str, list[float]] = {}
        for method, budget in self._grid:
            if self.settings(method, budget) is None:
                missing.setdefault(method.label, []).append(budget)
        return [
            f"{label} at {', '.join(f'{budget:g}' for budget in budgets)}"
            + (_OTHERS if set(budgets) & set(self.tuned.get(label, ())) else "")
            for label, budgets in missing.items()
        ]

    @property
    def _grid(self) -> list[tuple[Method, float]]:
        return [each for each in self._whole_grid if self._asked(each[0].label)]

    @property
    def _whole_grid(self) -> list[tuple[Method, float]]:
        return [(method, budget) for method in self.algorithms for budget in self._budgets(method)]

    def _asked(self, label: str) -> bool:
        """Whether a method belongs to the part of the study that is asked for."""
        return self.only is None or label in self.only

    def settings(self, method: Method, budget: float) -> Settings | None:
        """Return the settings that tuning chose; empty for a method without axes, None if it must still be tuned."""
        if not method.tune:
            return {}
        chosen = self.chosen[method.label].get(budget)
        return chosen.settings if chosen else None

    @cached_property
    def chosen(self) -> dict[str, dict[float, Chosen]]:
        """Return what tuning came to, by label and budget: along the axes that there are, and of the same method."""
        found: dict[str, dict[float, Chosen]] = {}
        for search in self._searches:
            own = found.setdefault(search.label, {})
            if chosen := self._chosen(search):
                own[search.budget] = chosen
        return found

    def _chosen(self, search: Search) -> Chosen | None:
        """What a search came to: under its label, or as the same search under another one."""
        assert self.tuning is not None
        at_budget = {label: own.get(search.budget) for label, own in self.tuned.items()}
        own, of = at_budget.pop(search.label, None), search.spec.definitions
        if own and own.settings.keys() == search.axes.keys() and own.of in ("", of):
            return own
        space = search.space(self.tuning)
        same = (each for each in at_budget.values() if each and each.space == space)
        return next((each for each in same if each.of == of), None)

    @cached_property
    def audits(self) -> dict[str, Run]:
        """Choose the runs to attack, by file name: every noisy method at each finite budget, or at those asked for."""
        if self.audit is None:
            return {}
        chosen = self.audit.budgets
        first: dict[tuple[str, float], Run] = {}  # of the blocks of seeds
        for run in self.runs:
            budget = run.spec.stated_budget
            if run.spec.release and run.spec.private and (chosen is None or budget in chosen):
                first.setdefault((run.label, budget), run)
        return {f"{run.first.address.stem}.json": run for run in first.values()}

    @cached_property
    def _methods(self) -> list[RunSpec]:
        """What each method computes, every setting spelt out, at one of its budgets and for one seed."""
        found = []
        for method in self.algorithms:
            budget = self._budgets(method)[0]
            settings = self.settings(method, budget)
            settings = method.starts if settings is None else settings
            found.append(self._complete(method, budget, settings))
        return found

    def _complete(self, method: Method, budget: float, settings: Settings) -> RunSpec:
        """What a method computes at a budget, every setting spelt out, for one seed."""
        given: Mapping[str, Any] = {}
        try:
            given = self._spec(method, budget, settings)
            given = RunSpec(**given).complete()
            return RunSpec.model_validate(given)
        except (ValueError, ArithmeticError) as error:
            number = self.algorithms.index(method)
            where = f"algorithms.{number} ({method.label}): " if _of_the_method(error) else ""
            lines = [str(error)]
            if isinstance(error, ValidationError):
                lines = messages(error, given)
            raise ValueError(where + "; ".join(lines)) from None

    def runs_folder(self, folder: Path) -> Path:
        """Say where its runs are, beside or in the folder of its results: timed runs are never shared."""
        return (folder if self.timed else folder.parent) / "runs"

    @cached_property
    def dataset_folder(self) -> str:
        """Name the prepared data set's folder: equal settings share one."""
        return dataset_folder(self.dataset)

    def _spec(self, method: Method, budget: float, settings: Settings) -> dict[str, Any]:
        """Arguments of a method's run at a budget, for one seed."""
        privacy: dict[str, Any] = {
            "relation": self.privacy.relation,
            "unit": self.privacy.unit,
            "participation": self.privacy.participation,
            "noise": method.noise or self.privacy.noise,
            "trust": self.privacy.trust,
        }
        if self.privacy.cohort:
            privacy["cohort"] = self.privacy.cohort
        if self.privacy.total is not None:
            privacy["total"] = budget
        if (covers := self._covers(method)) != "run":
            trials = self.privacy.trials or (self.tuning and self.tuning.most)
            privacy |= {"covers": covers, "trials": trials}
        arguments: dict[str, Any] = {
            "dataset": self.dataset,
            "algorithm": method.name,
            "params": {**self.params, **method.params},
            "variant": method.variant,
            "problem": self._problem(method),
            "agents": self._partition(method),
            "epsilon": math.inf if self.epsilon is None else budget,
            "privacy": privacy,
            "delta": method.delta or self.delta,
            "sensitivity": self.sensitivity,
            "rounds": method.rounds or self.rounds,
            "seeds": (0,),
            "dtype": self.dtype,
            "time_limit": self.time_limit,
            "accountants": None if self.accountants is None else tuple(self.accountants),
        }
        arguments = apply(settings, arguments)
        every = self.evaluate_every
        if arguments["rounds"] != self.rounds:  # of a method that has its own
            every = min(every, arguments["rounds"])
        return {**arguments, "evaluate_every": every}

    def _problem(self, method: Method) -> str | dict[str, Any] | None:
        """The experiment's problem with the method's changes, as a mapping where these or tuning may change it."""
        if not method.problem and not any(path.startswith("problem.") for path in method.tune):
            return self.problem
        base = self.problem or datasets.describe(self.dataset).default_problem
        return merged({"loss": base} if isinstance(base, str) else base, method.problem)

    def _partition(self, method: Method) -> int | dict[str, Any]:
        changes, base = method.agents, self.agents
        if changes is None:
            return base
        if isinstance(base, int):
            base = {"scheme": "iid", "agents": base}
        if isinstance(changes, int):
            changes = {"blocks" if base.get("scheme") == "columns" else "agents": changes}
        return {**base, **changes}


def _of_the_method(error: Exception) -> bool:
    """Whether a run is refused for what the method alone says."""
    if not isinstance(error, ValidationError):
        return isinstance(error, MethodError)
    causes = [fault.get("ctx", {}).get("error") for fault in error.errors()]
    return any(isinstance(cause, MethodError) for cause in causes)


def _once(what: str, names: list[str]) -> None:
    """Refuse a name that is there twice, or that looks as another one."""
    seen = [unicodedata.normalize("NFC", " ".join(name.split())) for name in names]
    for name, shown in zip(names, seen, strict=True):
        if seen.count(shown) > 1:
            raise ValueError(f"{what} {name!r} appears twice")


def merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Let changes win, key by key, in mappings within mappings as well."""
    found = dict(base)
    for key, value in changes.items():
        old = found.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            found[key] = merged(old, value)
        else:
            found[key] = value
    return found
