"""Facts that follow from the settings of a run, without any record."""

from __future__ import annotations

import contextlib
import functools
import json
import math
import operator
import sys
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Annotated, Any, Self

import numpy as np
from pydantic import ConfigDict, Field, ValidationError

from admmbench import algorithms, datasets, partition, plugins, problems
from admmbench.base.algorithm import Algorithm
from admmbench.privacy import ACCOUNTANTS, Accountant, Neighbours, Release, delta_warning
from admmbench.spec.fields import SEEDS, PrivacySettings, Seeds, Settings
from admmbench.validation import Epsilon, Number, configured, messages


class MethodError(ValueError):
    """Fault of the method, or of a parameter of the method."""


@contextlib.contextmanager
def method_errors(key: str = "") -> Iterator[None]:
    """Turn errors into errors of the method, with a key before their text."""
    try:
        yield
    except MethodError:
        raise
    except ValueError as error:
        raise MethodError(f"{key}{error}") from None


def _python_value(value: Any) -> Any:
    """Return a NumPy value in Python's types; any other value as text, which no partition accepts."""
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else str(value)


@functools.cache
def _partition(agents: str) -> partition.Partition:
    """Return the partition that is stated as JSON; cached, as plans ask for the same ones thousands of times."""
    return partition.as_partition(json.loads(agents))


class PrivacyOfRun(PrivacySettings):
    """Settings of privacy of a run, and the total or the mu, where noise is solved for."""

    total: Epsilon | None = None
    """Total privacy loss ε of the whole run, instead of epsilon."""
    mu: Annotated[Number, Field(gt=0)] | None = Field(None, exclude_if=operator.not_)
    """Mu of Gaussian differential privacy of the whole run, instead of epsilon."""


class RunFacts(Settings):
    """Settings of a run, and the facts that follow from them."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    dataset: str | dict[str, Any] | datasets.Dataset
    """Name, name and settings, or what `load_dataset` returns."""
    algorithm: str
    """Name of the method, or the path of a plug-in ending in .py."""
    epsilon: Epsilon = math.inf
    """Budget of one iteration; .inf adds no noise."""
    privacy: PrivacyOfRun = PrivacyOfRun()
    seeds: Seeds = tuple(range(SEEDS))
    """Number n of seeds, for 0 to n - 1, or a list of seeds, or text such as 0-9."""
    mirror: bool = Field(False, exclude_if=operator.not_)
    """Whether all noise is negated: the second half of an antithetic pair, see docs/sure.md. The models of both halves
    must never be published together."""

    @property
    def names(self) -> list[str]:
        """Return the names or paths of the method, and of a loss that is asked for."""
        loss_settings = (
            self.problem.get("loss") if isinstance(self.problem, Mapping) else self.problem
        )
        loss = loss_settings.get("name") if isinstance(loss_settings, Mapping) else loss_settings
        return [self.algorithm, *([loss] if isinstance(loss, str) else [])]

    @property
    def definitions(self) -> str:
        """Return the identity of method, data set and loss, by their content."""
        data = datasets.find_module(str(datasets.normalize(self.dataset)["name"]))
        modules = algorithms.find_module(self.algorithm), data, sys.modules[self.as_problem.module]
        method, records, loss = map(plugins.identity, modules)
        if datasets.identity(self.dataset) != datasets.normalize(self.dataset):
            records += f"-{datasets.key(self.dataset)[:8]}"
        return f"{method} on {records}, {loss}"

    @cached_property
    def info(self) -> datasets.DatasetInfo:
        """Return the static facts of the data set."""
        return datasets.describe(self.dataset)

    @cached_property
    def definition(self) -> type[Algorithm[Any, Any]]:
        """Return the class of the method."""
        with method_errors():
            return algorithms.resolve(self.algorithm)

    @cached_property
    def method(self) -> Algorithm[Any, Any]:
        """Return the method with its parameters."""
        params, title = {**self.params, "variant": self.variant}, f"algorithm {self.algorithm}"
        with method_errors():
            return configured(self.definition, params, "params", title)

    @property
    def scheme(self) -> partition.Partition:
        """Return the partition that ``agents`` states, or that of the data set."""
        if self.agents is None:
            return partition.usual(self.info)
        try:
            return _partition(json.dumps(self.agents, default=_python_value))
        except ValidationError as error:
            raise ValueError("; ".join(messages(error, self.agents, "agents"))) from None

    @cached_property
    def n_agents(self) -> int:
        """Return the number of agents; ValueError if the data set cannot serve them."""
        return self.scheme.n_agents(self.info)

    @property
    def n_features(self) -> int:
        """Return the number of features that the partition uses."""
        return self.scheme.n_features(self.info)

    @cached_property
    def as_problem(self) -> problems.AnyProblem:
        """Return the problem with its parameters; the partition decides whether rows or columns are shared."""
        problem = self.problem or self.info.default_problem
        return problems.as_problem(problem, self.scheme.sharing).completed(self.info)

    @property
    def release(self) -> Release | None:
        """Return the release of the method with the stated law of the noise; None if nothing noisy is released."""
        release = self.method.release
        return release and release.under(self.privacy.noise)

    @property
    def draws_noise(self) -> bool:
        """Return whether all noise is Laplace or normal and drawn where it is added, so that a mirror negates it."""
        return self.release is not None and self.release.law != "spherical"

    @property
    def participation(self) -> float:
        """Return the probability that an agent takes part in a round."""
        cohort = self.privacy.cohort
        return cohort / self.n_agents if cohort else self.privacy.participation

    @property
    def sampling(self) -> float:
        """Return the probability that the unit of privacy takes part in a round."""
        return self.method.sampling * self.participation

    @property
    def stated_budget(self) -> float:
        """Return the budget that a user stated: of the whole run, or of one release."""
        return self.privacy.total or self.privacy.mu or self.epsilon

    @property
    def budget_key(self) -> str:
        """Return the setting that states the budget."""
        key = "total" if self.privacy.total else "mu" if self.privacy.mu else ""
        return f"privacy.{key}" if key else "epsilon"

    @property
    def private(self) -> bool:
        """Return whether the budget is finite, so that noise is added."""
        return math.isfinite(self.stated_budget)

    @property
    def neighbours(self) -> Neighbours:
        """Return the relation and the unit in which neighbouring data sets differ."""
        if self.release is None:
            return Neighbours()
        return self.release.neighbours(self.privacy.relation, self.privacy.unit)

    @property
    def delta_warning(self) -> str:
        """Return why totals at this delta say little; empty if delta is small, or totals protect no record or agent."""
        if not self.private:
            return ""
        match self.neighbours.unit:
            case "record":
                return delta_warning(self.delta, self.scheme.n_train(self.info))
            case "agent":
                return delta_warning(self.delta, self.n_agents, "agent")
        return ""

    @property
    def composed_by(self) -> list[Accountant]:
        """Return the accountants whose totals the trace holds."""
        usual = [accountant.name for accountant in ACCOUNTANTS.values() if accountant.usual]
        return [ACCOUNTANTS[name] for name in self.accountants or usual]

    def at(self, budget: float) -> Self:
        """Return the run with another budget, of the same kind."""
        place, _, key = self.budget_key.rpartition(".")
        if not place:
            return self.model_copy(update={"epsilon": budget})
        privacy = self.privacy.model_copy(update={key: budget})
        return self.model_copy(update={"privacy": privacy})

    @property
    def computed(self) -> Self:
        """Return the run that is computed: of the first seed alone if nothing is drawn, so that all seeds agree.

        A run of a method with a release keeps all seeds, as the method may add noise even at an infinite budget.
        """
        method = self.method
        drawn = self.scheme.shuffled or self.info.drawn or method.draws or self.sampling < 1
        if drawn or method.release is not None or len(self.seeds) == 1:
            return self
        return self.model_copy(update={"seeds": self.seeds[:1]})

    @property
    def parts(self) -> list[Self]:
        """Return the runs that are computed one by one: all seeds together, or a run for each seed.

        Seeds are apart if they give agents different numbers of records.
        """
        if not self.scheme.uneven:
            return [self]
        return [self.model_copy(update={"seeds": (seed,)}) for seed in self.seeds]
