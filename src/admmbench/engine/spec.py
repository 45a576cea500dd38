"""What one run is: the arguments of `simulate`, checked and complete."""

from __future__ import annotations

import contextlib
import importlib.metadata
import itertools
import math
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_serializer,
    model_validator,
)

from admmbench import algorithms, datasets, partition, plugins, problems
from admmbench.files.core_yaml import inline_yaml
from admmbench.frames.base import Algorithm, Guarantee
from admmbench.frames.consensus import Consensus
from admmbench.privacy import (
    ACCOUNTANTS,
    Accountant,
    Ledger,
    Neighbours,
    Privacy,
    Relation,
    Release,
    Unit,
    calibrate,
    delta_warning,
)
from admmbench.privacy.samplers import LEAST
from admmbench.privacy.selection import Covers, covering
from admmbench.problems.base import BoundProblem
from admmbench.problems.needs import require
from admmbench.problems.rows import BoundRows, Rows
from admmbench.validation import (
    Count,
    Epsilon,
    Number,
    PerhapsInfinite,
    Strict,
    adapter,
    configured,
    messages,
    unknown,
)

SEEDS = 10
"""How many seeds there are if nobody says: as many as in the papers."""
MOST_SEEDS = 10_000
"""How many seeds there may be."""


def _seeds(value: Any) -> tuple[Any, ...]:
    """Read seeds from their number, a list or a range, or text such as ``0-9``."""
    if isinstance(value, str):
        found = re.fullmatch(r"([0-9]{1,19})-([0-9]{1,19})", value)
        if not found:
            raise ValueError(f"expected text such as 0-9, got {value!r}")
        first, last = map(int, found.groups())
        if first > last:
            raise ValueError(f"expected first <= last, got {value!r}")
        value = range(first, last + 1)
    elif isinstance(value, int | np.integer) and not isinstance(value, bool):
        if value < 1:
            raise ValueError(
                f"the number of seeds should be greater than or equal to 1, got {value}"
            )
        value = range(int(value))
    elif not isinstance(value, Iterable) or isinstance(value, Mapping | bytes):
        raise ValueError(
            f"expected a number of seeds, a list of them, or text such as 0-9, got {value!r}"
        )
    # No more are spelt out than a computer can.
    seeds = tuple(itertools.islice(value, MOST_SEEDS + 1))
    if len(seeds) > MOST_SEEDS:
        raise ValueError(f"expected at most {MOST_SEEDS:,} seeds")
    return tuple(int(seed) if isinstance(seed, np.integer) else seed for seed in seeds)


def _distinct(seeds: tuple[int, ...]) -> tuple[int, ...]:
    if not seeds:
        raise ValueError("expected at least one seed")
    if len(set(seeds)) < len(seeds):
        raise ValueError(f"each seed may appear once, got {list(seeds)}")
    return seeds


def _accountants(names: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Name each once and in one order, so that equal selections are equal runs; rdp is always among them."""
    if names is None:
        return None
    for name in names:
        if name not in ACCOUNTANTS:
            raise ValueError(unknown("accountant", name, ACCOUNTANTS))
    return tuple(name for name in ACCOUNTANTS if name in ("rdp", *names))


Agents = int | dict[str, Any]
# Files of results keep seeds in 64 bits.
Seed = Annotated[int, Field(ge=0, lt=2**63)]
Seeds = Annotated[
    tuple[Seed, ...],
    BeforeValidator(
        _seeds, json_schema_input_type=Count | Annotated[list[Seed], Field(min_length=1)] | str
    ),
    AfterValidator(_distinct),
]
"""A number n of seeds stands for 0 to n - 1."""
Accountants = Annotated[tuple[str, ...] | None, AfterValidator(_accountants)]


EvaluateEvery = Annotated[
    Count,
    Field(description="rounds between two evaluations; 10 if absent, or all if these are fewer"),
]


def evaluate_every(given: Mapping[str, Any]) -> int:
    """Return the rounds between two evaluations if nobody says how many."""
    return min(10, int(given["rounds"])) if "rounds" in given else 10


class MethodError(ValueError):
    """The method is at fault, or a parameter of it."""


@contextlib.contextmanager
def _about_the_method(where: str = "") -> Iterator[None]:
    try:
        yield
    except MethodError:
        raise
    except ValueError as error:
        raise MethodError(f"{where}{error}") from None


class NoiseSettings(Strict):
    """These settings say between which neighbours a total is, and by what noise."""

    relation: Annotated[
        Relation,
        Field(
            description="neighbours that totals are about: one record is blank, or is another one"
        ),
    ] = "zero_out"
    unit: Annotated[
        Unit,
        Field(description="what neighbours differ in: one record, or all records of an agent"),
    ] = "record"
    participation: Annotated[
        Number,
        Field(
            gt=0,
            le=1,
            description="probability that an agent takes part in a round, by a coin of its own",
        ),
    ] = 1.0
    cohort: Annotated[
        Count | None,
        Field(
            description="agents that take part in a round, drawn without replacement; all, or by coins, if absent"
        ),
    ] = None
    noise: Annotated[
        Literal["published", "laplace", "gaussian"],
        Field(description="that of the paper, or a law in its place"),
    ] = "published"
    trust: Annotated[
        Literal["agents", "secure_sum"],
        Field(
            description="who sees a message: the server, or nobody, as messages are summed securely"
        ),
    ] = "agents"


class Covered(NoiseSettings):
    """A total may cover the search for the run's settings."""

    covers: Annotated[
        Covers,
        Field(
            description="what totals are of: the run alone; or a search of trials and the run, whether every trial is "
            "seen or the best alone"
        ),
    ] = "run"
    trials: Annotated[
        Annotated[Number, Field(gt=1)] | None,
        Field(
            description="runs of the search that totals cover; all that tuning may make if absent"
        ),
    ] = None


class PrivacySettings(Covered):
    """The noise is set with the total, where noise is solved for."""

    total: Epsilon | None = None


def with_delta(values: Any) -> Any:
    """Take ``privacy.delta`` for ``delta``: it may be written beside the total, where it belongs as well."""
    privacy = values.get("privacy") if isinstance(values, Mapping) else None
    if not isinstance(privacy, Mapping) or "delta" not in privacy:
        return values
    if values.get("delta") is not None:
        raise ValueError("privacy.delta: delta is given too; give one of them")
    rest = {key: value for key, value in privacy.items() if key != "delta"}
    return {**values, "privacy": rest, "delta": privacy["delta"]}


class RunSpec(Strict):
    """A run is specified by the arguments of `admmbench.simulate` that decide the numbers; see there."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    dataset: str | dict[str, Any] | datasets.Dataset
    algorithm: str
    params: dict[str, Any] = {}
    variant: Literal["paper", "reference"] = "paper"
    problem: str | dict[str, Any] | None = None
    agents: Agents | None = None
    epsilon: Epsilon = math.inf
    delta: Annotated[Number, Field(gt=0, lt=1)] = 1e-6
    sensitivity: Literal["local", "global"] = "local"
    privacy: PrivacySettings = PrivacySettings()
    rounds: Count = 100
    evaluate_every: EvaluateEvery = Field(default_factory=evaluate_every)
    seeds: Seeds = tuple(range(SEEDS))
    dtype: Literal["float32", "float64"] = "float32"
    time_limit: Annotated[PerhapsInfinite, Field(gt=0)] = math.inf
    accountants: Accountants = None

    _with_delta = model_validator(mode="before")(with_delta)

    @model_validator(mode="before")
    @classmethod
    def _own_name(cls, values: Any) -> Any:
        """Take another name of a method for what it stands for, so that its runs are shared."""
        return algorithms.unalias(values, "algorithm")

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Resolve every name and refuse what cannot run, without touching data but a user's own."""
        with plugins.answerable(*self.names):
            self._check_all()
        return self

    def _check_all(self) -> None:
        if isinstance(self.dataset, datasets.Dataset):
            datasets.check_dataset(self.dataset)
        if self.evaluate_every > self.rounds:
            raise ValueError(
                f"evaluate_every: expected at most the number of rounds, {self.rounds}, got {self.evaluate_every}"
            )
        _ = self.n_agents
        problem = self.as_problem
        problem.check(self.info)
        self._check_sharing()
        if isinstance(problem, Rows):
            if self.sensitivity == "global":
                problem.check_worst_case(self.info)
            elif self.private and self.method.guarantee("local").kind != "none":
                # Its noise is for the worst case, whatever is asked for.
                problem.check_worst_case(self.info, f"variant: {self.variant} of {self.algorithm}")
        with _about_the_method("algorithm: "):
            self._check_packages()
            require(self.algorithm, self.method.needs, problem)
        with _about_the_method("params."):
            self.method.check(problem, self.n_agents)
        if self.method.one_shot and self.rounds > 1:
            raise ValueError(
                f"rounds: {self.algorithm} does all in one round, got {self.rounds}; set rounds: 1"
            )
        with _about_the_method("privacy.noise: "):
            _ = self.release
        self._check_samples()
        if self.privacy.cohort or self.privacy.participation < 1:
            self._check_participation()
        if self.privacy.unit == "agent" and self.release is not None:
            self._check_whole_agents()
        if self.privacy.trust == "secure_sum" and self.release is not None:
            self._check_secure_sum()
        self._check_total()

    def _check_packages(self) -> None:
        """Refuse packages whose versions are not known: a run is as old as the packages that compute it."""
        for name in self.method.packages:
            try:
                importlib.metadata.version(name)
            except importlib.metadata.PackageNotFoundError:
                raise ValueError(
                    f"{self.algorithm} needs the package {name!r}: pip install {name}"
                ) from None

    def _check_whole_agents(self) -> None:
        """Refuse totals for whole agents where something but a bounded message follows from their records."""
        if reason := self.method.record_alone:
            raise MethodError(
                f"privacy.unit: agent does not suit {self.algorithm}: {reason}; use unit: record, or a method whose "
                "messages are bounded, such as dp_fedavg"
            )
        problem = self.as_problem
        if isinstance(problem, Rows) and problem.average == "records":
            raise ValueError(
                "privacy.unit: agent does not go with problem.average: records, as the weights of agents would tell "
                "how many records each has; set problem.average: agents"
            )
        if self.method.sampling < 1:
            raise MethodError(
                f"privacy.unit: agent does not go with params.sampling {self.method.sampling:g}: a sample of its "
                "records hides no agent; set sampling: 1"
            )

    def _check_samples(self) -> None:
        """Refuse probabilities that would be rounded down to 0."""
        for key, probability in (
            ("params.sampling", self.method.sampling),
            ("privacy.participation", self.privacy.participation),
        ):
            if probability < LEAST:
                raise ValueError(
                    f"{key}: {probability:g} is below 2^-32, the smallest probability that samples are drawn with: "
                    f"nobody would ever take part; use {LEAST:.2g} or more"
                )

    def _check_participation(self) -> None:
        """Refuse agents that take part by chance where that is seen, or hides nothing."""
        cohort = self.privacy.cohort
        key, instead = f"privacy.participation: {self.privacy.participation:g}", "participation: 1"
        if cohort:
            key, instead = f"privacy.cohort: {cohort}", "no cohort"
        if self.privacy.trust != "secure_sum":
            raise ValueError(
                f"{key} needs trust: secure_sum, as a server that sees messages sees who takes part; set it, or "
                f"{instead}"
            )
        if self.privacy.unit != "agent":
            raise ValueError(
                f"{key} needs unit: agent, as all records of an agent take part together, so that whether they do "
                f"tells more than one record; set it, or {instead}"
            )
        if not cohort:
            return
        if self.privacy.participation < 1:
            raise ValueError(f"{key} does not go with privacy.participation: state one of them")
        if cohort > self.n_agents:
            raise ValueError(f"{key} is more than the {self.n_agents} agents there are")
        if self.privacy.relation != "replace":
            raise ValueError(
                f"{key} needs relation: replace: an agent takes the place of another in the cohort, so that its "
                "message is not compared with nothing; set it, or use participation"
            )
        if self.method.private_state:
            raise MethodError(
                f"{key} does not suit {self.algorithm}: what its agents keep depends on who took part before, and "
                "all of them depend on one agent then, so that nothing is proved; use participation, or dp_fedavg"
            )

    def _check_secure_sum(self) -> None:
        """Refuse a secure sum where values are computed at what one agent knows: noise of others hides none."""
        if not self.method.sums_only:
            raise MethodError(
                f"privacy.trust: secure_sum does not suit {self.algorithm}: its agents compute at models of their own, "
                "which depend on their own noise, so that the noise of others adds nothing that is proved; use trust: "
                "agents, or dpsgd"
            )
        release = self.release
        assert release is not None
        if self.as_problem.sharing != "rows" or release.law != "gaussian":
            raise MethodError(
                f"privacy.trust: secure_sum does not suit {self.algorithm}: only normal noise on shared rows adds up; "
                "use trust: agents"
            )
        if self.sensitivity != "global":
            raise ValueError(
                "privacy.trust: secure_sum needs sensitivity: global, as agents scale their noise alike"
            )

    def _check_total(self) -> None:
        """Refuse a total without a guarantee."""
        total = self.privacy.total
        if (self.privacy.covers == "run") != (self.privacy.trials is None):
            raise ValueError(
                "privacy.trials: how many there are is stated where privacy.covers is every_trial or best_trial, and "
                "only there"
            )
        if total is None:
            if self.privacy.covers != "run":
                raise ValueError(
                    "privacy.covers: says what privacy.total is of, which is not given"
                )
            return
        if math.isfinite(self.epsilon):
            raise ValueError(
                "epsilon: privacy.total is given too, from which it follows; give one of them"
            )
        found = self.guarantee_with_noise
        if math.isinf(total) or found.kind != "none":
            return
        if self.method.release is None:
            raise MethodError(
                f"privacy.total: {self.algorithm} sends everything without noise, so only .inf is possible"
            )
        if self.sensitivity == "local" and self.method.guarantee("global").kind != "none":
            raise ValueError(
                "privacy.total: needs sensitivity: global, as nothing is guaranteed with local sensitivity"
            )
        raise MethodError(f"privacy.total: {self.algorithm} guarantees nothing: {found.conditions}")

    def _check_sharing(self) -> None:
        """Refuse what does not agree on rows or columns, constraints or none: partition, problem and method."""
        given, taken = self.as_problem.sharing, self.method.sharing
        if getattr(self.as_problem, "feasible", None) and not self.method.keeps_feasible:
            raise MethodError(
                f"problem.feasible: {self.algorithm} does not keep its models in a set; leave feasible out, or use a "
                "method of consensus ADMM, such as objp"
            )
        if given in taken:
            return
        if given == "constrained":
            raise MethodError(
                f"algorithm: {self.algorithm} minimises without constraints, the problem has some; prox_al takes them"
            )
        if taken == ("constrained",):
            raise MethodError(
                f"algorithm: {self.algorithm} takes problems that state an objective or constraints, or a data set "
                "such as synthetic_qp"
            )
        raise MethodError(
            f"algorithm: {self.algorithm} works on shared {' or '.join(taken)}, the partition gives agents {given}"
        )

    @field_serializer("seeds")
    def _seeds_as_text(self, seeds: tuple[int, ...]) -> str | list[int]:
        if all(seed == seeds[0] + place for place, seed in enumerate(seeds)):
            return f"{seeds[0]}-{seeds[-1]}"
        return list(seeds)

    @property
    def names(self) -> list[str]:
        """Return the names or paths of the method, and of a loss that is asked for."""
        stated = self.problem.get("loss") if isinstance(self.problem, Mapping) else self.problem
        loss = stated.get("name") if isinstance(stated, Mapping) else stated
        return [self.algorithm, *([loss] if isinstance(loss, str) else [])]

    @property
    def definitions(self) -> str:
        """Say which method, data set and loss these are, by their content."""
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
    def method(self) -> Algorithm[Any, Any]:
        """Return the algorithm with its parameters."""
        with _about_the_method():
            cls = algorithms.resolve(self.algorithm)
        if self.variant not in cls.variants:
            raise MethodError(
                f"variant: {self.algorithm} has no authors' code to follow, only {' or '.join(cls.variants)}"
            )
        if "variant" in self.params:
            raise MethodError("params.variant: variant is no parameter; write it beside params")
        given, own = {**self.params, "variant": self.variant}, f"algorithm {self.algorithm}"
        with _about_the_method():
            return configured(cls, given, "params", own)

    @cached_property
    def scheme(self) -> partition.Partition:
        """Return the partition that ``agents`` states, or that of the data set."""
        if self.agents is None:
            return partition.usual(self.info)
        try:
            return partition.as_partition(self.agents)
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
        """Return the problem with its parameters; the partition says what is shared out."""
        stated = self.problem or self.info.default_problem
        return problems.as_problem(stated, self.scheme.sharing).completed(self.info)

    @property
    def release(self) -> Release | None:
        """Say what the method releases, with the law that is asked for."""
        release = self.method.release
        return release and release.under(self.privacy.noise)

    def budget(self, problem: BoundProblem[Any]) -> Privacy:
        """Return the budget of one release, solved for where a total is given.

        Parameters
        ----------
        problem
            The bound problem, for numbers of records and bounds on them.
        """
        summed = 0
        if self.privacy.trust == "secure_sum":
            assert isinstance(problem, BoundRows)
            summed = problem.holders
        neighbours = self.privacy.relation, self.privacy.unit, self.participation
        known = self.delta, self.sensitivity, *neighbours, summed, self.privacy.cohort or 0
        if self.privacy.total is None:
            return Privacy(self.epsilon, *known)

        def spend(epsilon: float) -> Ledger:
            return self.ledger(problem, Privacy(epsilon, *known))

        return Privacy(calibrate(spend, self.privacy.total, self.delta, self.covered), *known)

    def covered(self, ledger: Ledger, delta: float) -> float:
        """Return what ``privacy.total`` is of: the total of these releases, perhaps with a search of runs like it."""
        return covering(ledger, delta, self.privacy.covers, self.privacy.trials or 0)

    def ledger(self, problem: BoundProblem[Any], budget: Privacy) -> Ledger:
        """List all that the agent who pays most is going to release, without a look at any record."""
        ledger, method, release = Ledger(), self.method, self.release
        if release is None:
            return ledger
        rounds = range(1, self.rounds + method.extra_rounds + 1)
        for t in rounds[:1] if method.steady else rounds:
            times = len(rounds) if method.steady else 1
            if cost := method.cost(t, problem, budget, release):
                ledger.add(cost, times * method.updates)
        return ledger

    @property
    def sampling(self) -> float:
        """Return the probability that what a total protects takes part in a round."""
        return self.method.sampling * self.participation

    @property
    def participation(self) -> float:
        """Return the probability that an agent takes part in a round."""
        cohort = self.privacy.cohort
        return cohort / self.n_agents if cohort else self.privacy.participation

    @property
    def stated_budget(self) -> float:
        """Return the budget that a user stated: of the whole run, or of one release."""
        return self.epsilon if self.privacy.total is None else self.privacy.total

    def at(self, budget: float) -> RunSpec:
        """Return the specification with another budget, of the same kind."""
        if self.privacy.total is None:
            return self.model_copy(update={"epsilon": budget})
        privacy = self.privacy.model_copy(update={"total": budget})
        return self.model_copy(update={"privacy": privacy})

    @property
    def private(self) -> bool:
        """Tell whether noise is added at all."""
        return math.isfinite(self.stated_budget)

    @property
    def computed(self) -> RunSpec:
        """Return the run that is computed: of the first seed, if nothing is drawn and so all seeds have its values.

        A method with noise may add some whatever the budget is.
        """
        method = self.method
        drawn = self.scheme.shuffled or self.info.drawn or method.draws or self.sampling < 1
        if drawn or method.release is not None or len(self.seeds) == 1:
            return self
        return self.model_copy(update={"seeds": self.seeds[:1]})

    @property
    def parts(self) -> list[RunSpec]:
        """Say what is computed together: all seeds, or each alone if they give an agent other numbers of records."""
        if not self.scheme.uneven:
            return [self]
        return [self.model_copy(update={"seeds": (seed,)}) for seed in self.seeds]

    @property
    def guarantee_with_noise(self) -> Guarantee:
        """Say what totals are worth at a finite budget; what comes from outside has no proof here."""
        found = self.method.guarantee(self.sensitivity)
        foreign = not type(self.method).__module__.startswith("admmbench.")
        if found.kind != "none" and foreign and self._beside_ledger:
            return Guarantee(
                "none",
                f"the method is a plug-in that {self._beside_ledger}, and no attack can follow it; the total is what "
                "the plug-in states",
                ("noise_of_plugin",),
            )
        stated = {}
        if foreign or not self.as_problem.module.startswith("admmbench."):
            stated["sensitivities_of_plugin"] = "what a plug-in states of its sensitivities is true"
        if all(map(math.isfinite, self.info.domain)) and not datasets.is_built_in(self.dataset):
            stated["stated_domain"] = (
                "every admissible record is in the domain that the author of the data set states"
            )
        if self.info.presumed:
            stated["public_preparation"] = self.info.presumed
        if self.participation < 1 and self.release is not None:
            many = "" if self.privacy.cohort else ", nor how many do"
            stated["secret_participation"] = (
                f"nobody but an agent learns in which rounds it takes part{many}"
            )
        if found.kind == "proved" and stated:
            conditions = f"if {' and '.join(stated.values())}; {found.conditions}"
            return Guarantee("conditional", conditions, tuple(stated))
        return found

    @property
    def _beside_ledger(self) -> str:
        """How the method adds noise that the ledger knows only as the method states it; empty if it does not."""
        release = self.method.release
        if release is None:
            return ""
        if release.value == "objective":
            return "enters the cost of its noise itself"
        if release.law == "spherical" and not isinstance(self.method, Consensus):
            return "sets the scale of its spherical noise itself"
        return ""

    @property
    def guarantee(self) -> Guarantee:
        """Say what the total of the run is worth."""
        found = self.guarantee_with_noise
        if found.kind != "none" and not self.private:
            return Guarantee("none", "an infinite budget adds no noise", ("no_noise",))
        return found

    @property
    def neighbours(self) -> Neighbours:
        """Return how neighbouring data sets differ."""
        if self.release is None:
            return Neighbours()
        return self.release.neighbours(self.privacy.relation, self.privacy.unit)

    @property
    def delta_warning(self) -> str:
        """Say why totals at this delta say little; empty if it is small enough, or totals are not of records."""
        if not self.private:
            return ""
        match self.neighbours.unit:
            case "record":
                return delta_warning(self.delta, self.scheme.n_train(self.info))
            case "agent":
                return delta_warning(self.delta, self.n_agents, "agent")
        return ""

    @property
    def caveats(self) -> dict[str, dict[str, Any]]:
        """Return what readers of results should know: what the method says, and what a total covers, with values."""
        keys: dict[str, dict[str, Any]] = {each: {} for each in self.method.caveats}
        if self.privacy.covers != "run":
            covered = {"covers": self.privacy.covers, "trials": self.privacy.trials}
            keys["covered_search"] = covered
        return keys

    @property
    def composed_by(self) -> list[Accountant]:
        """Return the accountants whose totals the trace holds."""
        usual = [each.name for each in ACCOUNTANTS.values() if each.usual]
        return [ACCOUNTANTS[name] for name in self.accountants or usual]

    def complete(self) -> dict[str, Any]:
        """Return every setting, with defaults filled in and spelt in one way: equal for runs that are equal."""
        params = adapter(type(self.method)).dump_python(self.method, exclude={"variant"})
        return {
            **{name: getattr(self, name) for name in type(self).model_fields},
            "dataset": datasets.normalize(self.dataset),
            "params": params,
            "problem": self.as_problem.describe(),
            "agents": self.scheme.model_dump(),
            "privacy": self.privacy.model_dump(),
            "seeds": list(self.seeds),
            "accountants": [each.name for each in self.composed_by],
        }

    def arguments(self) -> list[str]:
        """Return the ``KEY=VALUE`` words that make this run again: ``admmbench run KEY=VALUE ...``."""
        values = self.model_dump(mode="json", exclude_defaults=True)
        return [f"{key}={inline_yaml(value)}" for key, value in values.items()]
