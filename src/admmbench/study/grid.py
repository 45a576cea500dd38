"""A grid of runs: methods, budgets and seeds, with the settings of a run, each stated for all or for one method."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import (
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    field_validator,
    model_serializer,
    model_validator,
)

from admmbench import algorithms, datasets, partition
from admmbench.audit.settings import AuditSettings
from admmbench.engine.variables import measured
from admmbench.files import digest
from admmbench.files.core_yaml import inline_yaml
from admmbench.privacy.selection import Covers
from admmbench.spec.facts import MethodError
from admmbench.spec.fields import (
    SEEDS,
    Law,
    PrivacySettings,
    Seeds,
    Settings,
    default_evaluate_every,
    delta_of_privacy,
)
from admmbench.spec.run import RunSpec
from admmbench.study.address import dataset_folder
from admmbench.study.runs import Run, blocks
from admmbench.tuning.settings import Axes, Chosen, Tuned, TuningSettings, apply
from admmbench.tuning.settings import Settings as Values
from admmbench.validation import ByBudget, Count, Epsilons, Number, Text, checked, messages

# Why there are settings under a label, and no use for them.
_OTHERS = (
    " (settings under this label are of another method, data set or loss, or along other axes)"
)
# Of an experiment that states no size of blocks.
SEED_BLOCK = 10
# Settings that may be lists: a method is run with each value. A list of accountants is one value.
_SEVERAL = Settings.model_fields.keys() - {"params", "accountants"}


def _also(own: dict[str, Any], *, several: bool = False) -> None:
    """Let null, or a list of values, stand for a setting in a JSON schema, too."""
    about = ("default", "description", "title")
    one = {name: own.pop(name) for name in [*own] if name not in about}
    listed = {"title": "Several", "type": "array", "minItems": 1, "items": one}
    own["anyOf"] = [*one.get("anyOf", [one]), listed if several else {"type": "null"}]


def _or_lists(schema: dict[str, Any]) -> None:
    """Let lists stand for settings in a JSON schema, too."""
    for key in sorted(_SEVERAL & schema["properties"].keys()):
        _also(schema["properties"][key], several=True)


def _of_a_method(schema: dict[str, Any]) -> None:
    """Write no defaults of settings that are the experiment's where a method states none, or null."""
    _or_lists(schema)
    for key in Settings.model_fields:
        schema["properties"][key].pop("default", None)
        _also(schema["properties"][key])


class Method(Settings):
    """A method of an experiment, with the settings that it does not share with the others."""

    model_config = ConfigDict(json_schema_extra=_of_a_method)

    name: str
    """Algorithm, or the path of a plug-in ending in .py."""
    label: Annotated[Text, Field(min_length=1, max_length=200)]
    """How plots and tables call it."""
    epsilon: Epsilons | None = None
    """Budgets of this method, of the same kind as the experiment's; the experiment's if absent."""
    privacy: PrivacySettings = PrivacySettings()
    """Changes to the experiment's privacy."""
    noise: Law | None = None
    """The experiment's privacy.noise if absent."""
    covers: Covers | None = None
    """What its total is of; the experiment's privacy.covers if absent."""
    added: bool = False
    """Whether it was added after the study was stated with the others, whose verdicts it leaves as they are: it is
    compared with each of them, at a level of its own, see docs/sure.md."""
    tune: Axes = {}
    """Settings that are tuned at each budget, by the path of their key, such as params.rho; a value is a number to
    start from, or an axis; see docs/experiments.md."""

    @model_validator(mode="before")
    @classmethod
    def _stated(cls, values: Any) -> Any:
        """Leave out settings that are null, and take another name of a method for what it stands for."""
        if isinstance(values, Mapping):
            shared = Settings.model_fields
            values = {k: v for k, v in values.items() if v is not None or k not in shared}
        return algorithms.unalias(values, "name")

    @field_validator("privacy", mode="before")
    @classmethod
    def _no_budget(cls, privacy: Any) -> Any:
        if isinstance(privacy, Mapping) and "total" in privacy:
            raise ValueError("total: state the budgets of a method as epsilon, beside privacy")
        return privacy

    @model_validator(mode="after")
    def _stated_once(self) -> Self:
        """Refuse two values of a setting that may stand in privacy, or beside it."""
        privacy = self.privacy.model_dump(exclude_unset=True)
        for key in ("noise", "covers"):
            own = getattr(self, key)
            if own is not None and privacy.get(key, own) != own:
                raise ValueError(
                    f"{key}: {own} is not privacy.{key}: {privacy[key]}; state one of them"
                )
        return self

    @model_serializer(mode="wrap")
    def _as_stated(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Write what is stated alone: the rest is the experiment's."""
        stated = {
            key: value for key, value in handler(self).items() if key in self.model_fields_set
        }
        if "privacy" in stated:
            stated["privacy"] = self.privacy.model_dump(mode="json", exclude_unset=True)
        return stated

    @cached_property
    def changes(self) -> dict[str, Any]:
        """Return the settings that it states, by name; those of privacy as changes."""
        stated = self.model_fields_set & Settings.model_fields.keys()
        laws = {"noise": self.noise, "covers": self.covers}
        own = {key: value for key, value in laws.items() if value is not None}
        privacy = self.privacy.model_dump(exclude_unset=True)
        return {name: getattr(self, name) for name in stated} | {"privacy": privacy | own}

    @property
    def starts(self) -> Values:
        """Return where the search for its settings begins."""
        return {path: axis.at(0) for path, axis in self.tune.items()}


class Totals(PrivacySettings):
    """What totals are about, and the totals, which determine the noise."""

    total: Epsilons | None = None
    """Budgets of whole runs, instead of epsilon."""


class Search(NamedTuple):
    """The tuning of a method at a budget: from these settings, and along these axes."""

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


class Grid(Settings):
    """The runs of an experiment: a data set, methods, budgets and seeds.

    A setting may be a list: each method that does not state it then has a run with each value.
    """

    model_config = ConfigDict(json_schema_extra=_or_lists)

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
    def _each_value(cls, values: Any) -> Any:
        """Make a method of each value where a setting has several."""
        return each_value(values)

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

    def budgets(self, method: Method) -> list[float]:
        """Return the budgets of a method: of one iteration, or totals."""
        return method.epsilon or self.epsilon or self.privacy.total or []

    @property
    def budget_of(self) -> Literal["iteration", "run"]:
        """Return what the budgets are for: one iteration, or the whole run."""
        return "iteration" if self.privacy.total is None else "run"

    @property
    def partition(self) -> int | dict[str, Any]:
        """Return the partition that is stated, or that of the data set, which knows whose records are."""
        if self.agents is not None:
            return self.agents
        scheme = partition.usual(datasets.describe(self.dataset))
        return {"scheme": scheme.scheme, **scheme.model_dump(exclude_defaults=True)}

    @cached_property
    def metrics(self) -> list[str]:
        """Name what its methods measure, as variables of the results."""
        found = (measured(spec) for spec in self.specs)
        return [name for names in found for name in names if self.timed or name != "seconds"]

    @cached_property
    def runs(self) -> list[Run]:
        """List every job, method x epsilon x block of seeds, without methods that are still untuned."""
        return [
            Run(method.label, spec.model_copy(update={"seeds": seeds}))
            for method, budget in self.grid
            if (settings := self.settings(method, budget)) is not None
            for spec in [self._complete(method, budget, settings)]
            for seeds in self.blocks_of(method.label, budget)
        ]

    @cached_property
    def searches(self) -> dict[str, Search]:
        """Return what is tuned, by file name: every method with ``tune`` at every budget."""
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
        for method, budget in self.grid:
            if self.settings(method, budget) is None:
                missing.setdefault(method.label, []).append(budget)
        return [
            f"{label} at {', '.join(f'{budget:g}' for budget in budgets)}"
            + (_OTHERS if set(budgets) & set(self.tuned.get(label, ())) else "")
            for label, budgets in missing.items()
        ]

    @property
    def grid(self) -> list[tuple[Method, float]]:
        """Return the methods that are asked for, with each of their budgets."""
        return [each for each in self._whole_grid if self._asked(each[0].label)]

    @property
    def _whole_grid(self) -> list[tuple[Method, float]]:
        return [(method, budget) for method in self.algorithms for budget in self.budgets(method)]

    def _asked(self, label: str) -> bool:
        """Whether a method belongs to the part of the study that is asked for."""
        return self.only is None or label in self.only

    def settings(self, method: Method, budget: float) -> Values | None:
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
    def specs(self) -> list[RunSpec]:
        """Return what each method computes, every setting spelt out, at one of its budgets and for one seed."""
        found = []
        for method in self.algorithms:
            budget = self.budgets(method)[0]
            settings = self.settings(method, budget)
            settings = method.starts if settings is None else settings
            found.append(self._complete(method, budget, settings))
        return found

    @property
    def computed(self) -> list[tuple[Method, RunSpec]]:
        """Return each method with what it computes, see `specs`."""
        return list(zip(self.algorithms, self.specs, strict=True))

    def _complete(self, method: Method, budget: float, settings: Values) -> RunSpec:
        """What a method computes at a budget, every setting spelt out, for one seed."""
        given: Mapping[str, Any] = {}
        try:
            given = self._arguments(method, budget, settings)
            given = RunSpec(**given).complete()
            return RunSpec.model_validate(given)
        except (ValueError, ArithmeticError) as error:
            number = self.algorithms.index(method)
            lines = [str(error)]
            if isinstance(error, ValidationError):
                lines = messages(error, given)
            said = "; ".join(lines)
            own = _of_the_method(error) or any(f"{key}: " in said for key in _keys(method.changes))
            where = f"algorithms.{number} ({method.label}): " if own else ""
            raise ValueError(where + said) from None

    def runs_folder(self, folder: Path) -> Path:
        """Return the folder of its runs, beside or in that of its results: timed runs are never shared."""
        return (folder if self.timed else folder.parent) / "runs"

    @cached_property
    def dataset_folder(self) -> str:
        """Name the prepared data set's folder: equal settings share one."""
        return dataset_folder(self.dataset)

    def covers(self, method: Method) -> Covers:
        """Return what the total of a method is of."""
        covers: Covers = method.changes["privacy"].get("covers", self.privacy.covers)
        return covers

    def _arguments(self, method: Method, budget: float, settings: Values) -> dict[str, Any]:
        """Arguments of a method's run at a budget, for one seed."""
        own = method.changes
        privacy = self.privacy.model_dump(exclude={"total", "trials"}) | own["privacy"]
        if privacy["covers"] != "run":
            privacy["trials"] = self.privacy.trials or (self.tuning and self.tuning.most)
        total = self.privacy.total is not None
        stated = {
            **{name: getattr(self, name) for name in Settings.model_fields},
            **own,
            "dataset": self.dataset,
            "algorithm": method.name,
            "params": {**self.params, **method.params},
            "problem": self._problem(method),
            "agents": self._partition(method),
            "privacy": privacy | ({"total": budget} if total else {}),
            "epsilon": math.inf if total else budget,
            "seeds": (0,),
        }
        arguments = apply(settings, stated)
        other_rounds = "rounds" in own or arguments["rounds"] != self.rounds
        if "evaluate_every" not in own and other_rounds:
            arguments["evaluate_every"] = min(self.evaluate_every, arguments["rounds"])
        return arguments

    def _problem(self, method: Method) -> str | dict[str, Any] | None:
        """The experiment's problem with the method's changes, as a mapping where these or tuning may change it."""
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


def _keys(stated: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Yield the paths of all keys of a mapping, and of mappings in it."""
    for key, value in stated.items():
        yield f"{path}{key}"
        if isinstance(value, Mapping):
            yield from _keys(value, f"{path}{key}.")


def _of_the_method(error: Exception) -> bool:
    """Whether a run is refused for what the method alone says."""
    if not isinstance(error, ValidationError):
        return isinstance(error, MethodError)
    causes = [fault.get("ctx", {}).get("error") for fault in error.errors()]
    return any(isinstance(cause, MethodError) for cause in causes)


def each_value(values: Any) -> Any:
    """Return what an experiment states, with a method of each value where a setting has several."""
    methods = values.get("algorithms") if isinstance(values, Mapping) else None
    if not isinstance(methods, list) or not all(isinstance(each, Mapping) for each in methods):
        return values
    values = delta_of_privacy(values)
    several = _lists(values)
    # Methods with fewer rounds are evaluated as often as they can be, whichever value comes first.
    every = {"evaluate_every": default_evaluate_every({})} if "rounds" in several else {}
    first = {key: value[0] for key, value in several.items()}
    made = [
        each
        for number, method in enumerate(methods)
        for each in _product(method, several, f"algorithms.{number}.")
    ]
    return {**every, **values, **first, "algorithms": made}


def _lists(stated: Mapping[str, Any], where: str = "") -> dict[str, list[Any]]:
    """Settings that are stated as lists, whose values are checked here; a list of nothing is refused as a value."""
    own = {key: stated.get(key) for key in Settings.model_fields if key in _SEVERAL}
    found = {key: value for key, value in own.items() if isinstance(value, list) and value}
    for key, value in found.items():
        field = Settings.model_fields[key]
        kind = list[Annotated[field.annotation, key, *field.metadata]]  # type: ignore[name-defined]
        checked(kind, value, f"{where}{key}")
    return found


def _product(
    stated: Mapping[str, Any], several: Mapping[str, list[Any]], where: str
) -> Iterator[dict[str, Any]]:
    """Make a method of each combination of values, also of those of the experiment, with these in its label."""
    method = dict(delta_of_privacy(stated))
    found = {key: value for key, value in several.items() if method.get(key) is None}
    found |= _lists(method, where)
    tuned = method.get("tune")
    for key in tuned if isinstance(tuned, Mapping) else ():
        if key in found:
            raise ValueError(
                f"{where}tune.{key}: {key} has the values {inline_yaml(found[key])}, and tuning would choose one; "
                f"state one value of {key} for this method, or take it out of tune"
            )
    lists = {key: found[key] for key in Settings.model_fields if key in found}
    for values in itertools.product(*lists.values()):
        chosen = dict(zip(lists, values, strict=True))
        words = (f", {key} {inline_yaml(value)}" for key, value in chosen.items())
        label = method.get("label")
        labelled = {"label": "".join([label, *words])} if isinstance(label, str) else {}
        yield {**method, **chosen, **labelled}


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
