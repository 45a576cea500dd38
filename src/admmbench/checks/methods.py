"""What every method owes, with each of its variants: reproducibility, honest declarations, and manners."""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import math
import pickle
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from pydantic import ValidationError

from admmbench.algorithms import list_algorithms, resolve
from admmbench.algorithms.base import Algorithm, Guarantee
from admmbench.checks import Check, ensure
from admmbench.checks.made import make_dataset, make_regression
from admmbench.datasets import Dataset
from admmbench.engine import rounds as engine
from admmbench.engine.federation import Federation, Workers, workers
from admmbench.engine.rounds import Snapshot, assemble, evaluated_rounds
from admmbench.engine.spec import RunSpec
from admmbench.engine.trace import Trace
from admmbench.engine.variables import measured
from admmbench.jobs import fingerprint
from admmbench.jobs.simulate import run
from admmbench.privacy import Ledger, Noise, Release
from admmbench.problems import as_problem, list_losses
from admmbench.problems.needs import Need, has
from admmbench.problems.penalties import PENALTIES
from admmbench.validation import configured, messages

Array = NDArray[Any]

_AGENTS, _ROUNDS, _EVERY = 4, 9, 4
_RECORDS = 61  # no multiple of the agents
_LEARNING_ROUNDS = 60
_PARTIES = [3, 4]
# Small errors of single precision, and how they grow over some rounds.
_ROUNDING, _PRECISION, _SMALL = 1e-4, 2e-3, 1e-5
_COMPARED = ("test_loss", "train_loss", "noise_magnitude", "consensus_violation")
# Global models that a state may have besides the copies of all local ones.
_GLOBAL_MODELS = 4
# What makes a method know of files, threads, seeds or labels.
_FOREIGN = (
    "open(",
    "threading",
    "concurrent",
    "xarray",
    "default_rng",
    "stream(",
    "np.random.seed",
)
_MISSPELT = "varaint"


class _Setting(NamedTuple):
    """A problem with data that suit it, made anew for each seed."""

    make: Callable[[int], Dataset]
    problem: dict[str, str]


def _settings(sharing: str) -> Iterator[_Setting]:
    """Every loss with every penalty, those of the papers first."""
    data: list[Callable[[int], Dataset]] = [
        lambda seed: make_dataset(_RECORDS, n_classes=3, seed=seed),
        lambda seed: make_dataset(_RECORDS, n_classes=2, seed=seed),
        lambda seed: make_regression(_RECORDS, seed=seed),
    ]
    papers = ("softmax", "logistic")
    losses = [*papers, *(name for name in list_losses() if name not in papers)]
    for loss, penalty in itertools.product(losses, sorted(PENALTIES, reverse=True)):
        problem = {"loss": loss, "penalty": penalty}
        for make in data:
            try:
                as_problem(problem, sharing).check(make(0).info)  # type: ignore[arg-type]
            except ValueError:
                continue
            yield _Setting(make, problem)
            break


@dataclass(frozen=True, eq=False)
class _Case:
    """A method with one of its variants and one of its examples."""

    name: str
    variant: str
    sharing: str
    params: Mapping[str, Any]

    @property
    def cls(self) -> type[Algorithm[Any, Any]]:
        return resolve(self.name)

    @property
    def method(self) -> Algorithm[Any, Any]:
        return configured(self.cls, {**self.params, "variant": self.variant}, "params", self.name)

    @cached_property
    def setting(self) -> _Setting:
        """The first problem that the method does not refuse."""
        for setting in _settings(self.sharing):
            if self.refusal(setting) is None:
                return setting
        raise AssertionError(f"it refuses every problem over {self.sharing}; look at its needs")

    @cached_property
    def data(self) -> Dataset:
        return self.setting.make(0)

    def spec(self, setting: _Setting | None = None, **changes: Any) -> RunSpec:
        """What a run with changed arguments is."""
        setting = setting or self.setting
        columns = {"scheme": "columns", "blocks": _PARTIES}
        given: dict[str, Any] = {
            "dataset": setting.make(0),
            "algorithm": self.name,
            "variant": self.variant,
            "params": dict(self.params),
            "problem": setting.problem,
            "agents": _AGENTS if self.sharing == "rows" else columns,
            "epsilon": 0.5,
            "rounds": _ROUNDS,
            "evaluate_every": _EVERY,
            "seeds": [0, 1, 2],
        }
        return RunSpec(**{**given, **changes})

    def refusal(self, setting: _Setting) -> str | None:
        """Message with which a problem is refused."""
        try:
            self.spec(setting)
        except ValidationError as error:
            return "; ".join(messages(error))
        return None

    def trace(self, **changes: Any) -> xr.Dataset:
        """Trace of a run, without its times."""
        spec = self.spec(**changes)
        assert isinstance(spec.dataset, Dataset)
        return run(spec, spec.dataset).drop_vars("seconds")

    @cached_property
    def usual(self) -> xr.Dataset:
        """Trace without changes."""
        return self.trace()


def of_method(name: str) -> Iterator[Check]:
    """Find all checks of a method.

    Parameters
    ----------
    name
        Name in `list_algorithms`, or path of a plug-in.
    """
    cls = resolve(name)
    cases = list(itertools.product(cls.sharing, cls.variants, cls.examples))
    for sharing, variant, params in cases:
        case = _Case(name, variant, sharing, params)
        differs = [
            *([variant] if len(cls.variants) > 1 else []),
            *([sharing] if len(cls.sharing) > 1 else []),
            *(f"{key}={value}" for key, value in params.items()),
        ]
        label = f" ({', '.join(differs)})" if differs else ""
        checks = [*_ALWAYS]
        checks += _NOISY if cls.release else []
        checks += _OVER_ROWS if sharing == "rows" else []
        for check in checks:
            yield Check(check.__name__.replace("_", " ") + label, partial(check, case))


# Its declarations


def is_a_frozen_dataclass_of_checked_parameters(case: _Case) -> None:
    """Otherwise a slip in a configuration would go unseen."""
    cls = case.cls
    ensure(
        "__dataclass_fields__" in vars(cls),
        f"{cls.__name__} is no dataclass of its own: decorate it with @parameters",
    )
    try:
        case.method.variant = "reference"  # type: ignore[misc]
    except dataclasses.FrozenInstanceError:
        pass
    else:
        raise AssertionError("its parameters can be changed: decorate it with @parameters")
    try:
        configured(cls, {_MISSPELT: "paper"}, "params", case.name)
    except ValueError as error:
        ensure("'variant'" in str(error), f"the nearest parameter is not named: {error}")
    else:
        raise AssertionError(f"an unknown parameter {_MISSPELT!r} is accepted")
    for wrong in ({"variant": "no such variant"}, {_MISSPELT: "paper"}):
        try:
            cls(**wrong)  # type: ignore[arg-type]
        except (ValidationError, TypeError):
            continue
        raise AssertionError(f"{wrong} is accepted: decorate the class with @parameters")


def facts_are_complete(case: _Case) -> None:
    """What the report, the ledger and the forecast read."""
    method = case.method
    ensure(bool(inspect.getdoc(case.cls)), "it has no docstring that says what it is")
    ensure(
        isinstance(method.caveats, tuple)
        and all(text[:1].isupper() and text.rstrip().endswith(".") for text in method.caveats),
        f"caveats are sentences, from a capital letter to a full stop: {method.caveats!r}",
    )
    for name, facts in method.variables.items():
        ensure(
            len(facts) == 2 and all(isinstance(each, str) and each for each in facts),
            f"variables: {name} needs units and a long name, has {facts!r}",
        )
    ensure(
        method.release is None or isinstance(method.release, Release),
        f"release is a Release or None, not {method.release!r}",
    )
    for sensitivity in ("local", "global"):
        found = method.guarantee(sensitivity)
        ensure(
            isinstance(found, Guarantee) and bool(found.conditions),
            f"guarantee({sensitivity!r}) says neither what holds nor why not: {found!r}",
        )
        ensure(
            method.release is not None or found.kind == "none",
            "it releases nothing noisy and states a guarantee",
        )


def needs_are_refused_before_anything_runs(case: _Case) -> None:
    """One message, with what is needed."""
    for need in case.method.needs:
        ensure(need in get_args(Need), f"needs: {need!r} is none of {', '.join(get_args(Need))}")
        for setting in _settings(case.sharing):
            problem = as_problem(setting.problem, case.sharing)  # type: ignore[arg-type]
            if not has(problem, need):
                ensure(
                    "needs" in (case.refusal(setting) or ""),
                    f"it needs a {need} and does not refuse {setting.problem}",
                )


def works_for_every_problem_that_it_does_not_refuse(case: _Case) -> None:
    """Results are finite, or recorded as diverged."""
    for setting in _settings(case.sharing):
        if case.refusal(setting) is not None:
            continue
        spec = case.spec(setting, rounds=3, evaluate_every=3, seeds=[0])
        try:
            trace = engine.run(spec, setting.make(0)).dataset(spec, {})
        except engine.AlgorithmError as error:
            raise AssertionError(f"with {setting.problem}: {error}") from error
        lost = trace.status.values != 0
        ensure(
            bool((np.isfinite(trace.train_loss.values[:, -1]) | lost).all()),
            f"with {setting.problem} its loss is not finite, and not recorded as diverged",
        )


def state_copies_bounds_the_state(case: _Case) -> None:
    """The forecast of a job's memory rests on it."""
    agents, seeds = 8, 3
    train, test = (np.tile(X, (1, 10)) for X in (case.data.X_train, case.data.X_test))
    data = replace(case.data, X_train=train, X_test=test)
    spec = case.spec(dataset=data, agents=agents)
    played = _play(spec, data, rounds=2)
    own = seeds * math.prod(played.federation.problem.model_shape) * 4
    most = (case.cls.state_copies * agents + _GLOBAL_MODELS) * own
    # Pickled, as in a checkpoint: the arrays, each once.
    size = len(played.content)
    ensure(
        size <= most,
        f"its state has {size / agents / own:.1f} copies of all local models, state_copies says "
        f"{case.cls.state_copies}",
    )


def knows_nothing_of_files_seeds_threads_or_other_methods(case: _Case) -> None:
    """A plug-in may import what it likes, but not the engine that runs it."""
    module = inspect.getmodule(case.cls)
    assert module is not None
    inside = module.__name__.startswith("admmbench.")
    path = Path(str(module.__file__))
    roots = [module.__name__] if inside else fingerprint.imports(path)
    reached = fingerprint.closure(roots)
    engines = sorted(name for name in reached if name.startswith("admmbench.engine"))
    ensure(not engines, f"it imports {', '.join(engines)}: a method knows nothing of the engine")
    if inside:
        others = {f"admmbench.algorithms.{other}" for other in list_algorithms()}
        others -= {module.__name__}
        ensure(not reached & others, f"it imports other methods: {sorted(reached & others)}")
        source = inspect.getsource(module)
        found = [word for word in _FOREIGN if word in source]
        ensure(not found, f"its source has {found}: files, threads and seeds are not its business")


# Its results


def trace_has_its_dims_units_and_provenance(case: _Case) -> None:
    """Whatever the method."""
    trace = case.usual
    ensure(dict(trace.sizes) == {"seed": 3, "round": 3}, f"the trace has {dict(trace.sizes)}")
    for name, variable in trace.data_vars.items():
        known = "units" in variable.attrs or "flag_values" in variable.attrs
        ensure(known and bool(variable.attrs["long_name"]), f"{name} has no units or long name")
    for name in case.cls.variables:
        ensure(bool(np.isfinite(trace[name]).all()), f"{name} is not measured in every round")
    for key in ("fingerprint", "versions", "params", "data_checksums", "machine"):
        ensure(key in trace.attrs, f"the trace has no {key}")
    ensure(bool((trace.status == 0).all()), "a run diverges in the first rounds")
    ensure(bool(np.isfinite(trace.train_loss).all()), "train_loss is not finite")


def repetition_changes_no_bit(case: _Case) -> None:
    """Random numbers come from the streams alone."""
    _same(case.usual, case.trace(), "a repetition")


def going_on_from_a_checkpoint_changes_no_bit(case: _Case) -> None:
    """All that the rounds to come depend on is in the state."""
    half = _Stopping(6)
    try:
        engine.run(case.spec(), case.data, keeper=half)
    except KeyboardInterrupt:
        _play(case.spec(), case.data, rounds=1)  # whatever else the process does meanwhile
    trace = engine.run(case.spec(), case.data, keeper=_From(half.kept))
    resumed = trace.dataset(case.spec(), {}).drop_vars("seconds")
    _same(case.usual, resumed, "a restart from a checkpoint")


def threads_change_no_bit(case: _Case) -> None:
    """An agent's work is done by one thread, and sums are in the order of agents."""
    alone = _play(case.spec(), case.data, _ROUNDS, size=1).content
    with workers(3) as pool:
        together = _play(case.spec(), case.data, _ROUNDS, size=1, pool=pool).content
    ensure(alone == together, "threads change the state: a step writes to its block's slice only")


def the_order_of_agents_changes_no_bit(case: _Case) -> None:
    """A block of agents reads and writes its own."""
    forward = _play(case.spec(), case.data, _ROUNDS, size=1).content
    backward = _play(case.spec(), case.data, _ROUNDS, size=1, pool=_Backwards(1)).content
    ensure(
        forward == backward,
        "the order in which agents are served changes the state: a step reads and writes its block's slice only",
    )


def another_block_of_agents_agrees_within_rounding(case: _Case) -> None:
    """Agents that are served together know nothing of each other."""
    sizes = (1,) if case.sharing == "columns" else (1, 3)
    models = [_play(case.spec(), case.data, _ROUNDS, size=size).state.w for size in sizes]
    usual = _play(case.spec(), case.data, _ROUNDS).state.w
    for size, model in zip(sizes, models, strict=True):
        ensure(
            bool(np.allclose(model, usual, rtol=_ROUNDING, atol=_SMALL)),
            f"the model is another one if {size} agents are served together",
        )


def another_block_of_seeds_agrees_within_rounding(case: _Case) -> None:
    """Seeds are a batch."""
    single = case.trace(seeds=[1])
    _close(case.usual.sel(seed=1), single.sel(seed=1), "another block of seeds", _ROUNDING)


def double_precision_agrees_within_rounding(case: _Case) -> None:
    """No number is rounded on its way."""
    _close(case.usual, case.trace(dtype="float64"), "double precision", _PRECISION, _SMALL)


def more_rounds_go_on_where_fewer_ended(case: _Case) -> None:
    """No round knows the last one."""
    both = [_EVERY, 2 * _EVERY]
    longer = case.trace(rounds=3 * _EVERY)
    drop = "status"
    _same(
        case.usual.drop_vars(drop).sel(round=both),
        longer.drop_vars(drop).sel(round=both),
        "more rounds to come",
    )


def seeds_differ_where_something_is_drawn(case: _Case) -> None:
    """And agree where nothing is."""
    different = len(np.unique(case.usual.train_loss.isel(round=-1)))
    drawn = case.cls.release is not None or case.cls.draws
    ensure(
        different == (3 if drawn else 1),
        f"three seeds give {different} results; it "
        + ("declares noise or draws" if drawn else "declares neither noise (release) nor draws"),
    )


def the_total_is_finite_where_noise_is_declared(case: _Case) -> None:
    """What is sent without noise has no finite budget, whatever the one that was asked for."""
    trace, declared = case.usual, case.cls.release is not None
    noisy = bool(trace.noise_magnitude.any())
    ensure(
        noisy == declared,
        f"its release is {case.cls.release!r}, and its noise is {'not ' if noisy else ''}zero",
    )
    total = trace.epsilon_total
    ensure(bool(np.isfinite(total).all()) == declared, "epsilon_total does not fit its release")
    ensure(
        not declared or bool((total.diff("round") > 0).all()),
        "epsilon_total does not grow by rounds",
    )


def without_a_budget_nothing_is_noisy(case: _Case) -> None:
    """An infinite epsilon is for the method without noise."""
    trace = case.trace(epsilon=math.inf)
    ensure(not trace.noise_magnitude.any(), "it adds noise though epsilon is infinite")
    ensure(bool(np.isinf(trace.epsilon_total).all()), "its total is finite without noise")


def worst_case_sensitivity_runs(case: _Case) -> None:
    """With ``sensitivity: global``."""
    trace = case.trace(sensitivity="global")
    ensure(bool(np.isfinite(trace.train_loss).all()), "its loss is not finite")


def learns_without_noise(case: _Case) -> None:
    """The training objective falls from where it starts."""
    spec = case.spec(
        epsilon=math.inf, rounds=_LEARNING_ROUNDS, evaluate_every=_LEARNING_ROUNDS, seeds=[0]
    )
    start, end = (_play(spec, case.data, rounds=n).objective for n in (0, _LEARNING_ROUNDS))
    ensure(
        bool((end < start).all()),
        f"after {_LEARNING_ROUNDS} rounds without noise the objective is {end[0]:.4g}, it was {start[0]:.4g}",
    )


# Its noise


def what_is_declared_is_what_is_drawn(case: _Case) -> None:
    """``release`` and ``updates`` against the ledgers, round by round."""
    release, method = case.cls.release, case.method
    assert release is not None
    n = 3
    played = _play(case.spec(), case.data, rounds=n)
    law = "pure" if release.law == "spherical" else release.law
    expected = Counter({law: n * method.updates})
    for noise in played.noise:
        for ledger in noise.ledgers:
            assert isinstance(ledger, _Counting)
            ensure(
                ledger.counts == expected,
                f"in {n} rounds an agent released {dict(ledger.counts)}; declared: {dict(expected)} "
                f"(law {release.law}, {method.updates} updates a round)",
            )


def worst_case_noise_knows_nothing_of_the_records(case: _Case) -> None:
    """With ``sensitivity: global`` its scale depends on no record, or there is no guarantee."""
    if case.method.guarantee("global").kind == "none":
        return
    scales = []
    for seed in (0, 1):
        data = case.setting.make(seed)
        spec = case.spec(dataset=data, sensitivity="global")
        scales.append([s for noise in _play(spec, data, 3).noise for s in noise.scales])
    ensure(
        all(np.allclose(a, b, rtol=1e-6) for a, b in zip(*scales, strict=True)),
        "with sensitivity: global other records change the scale of its noise, which its guarantee excludes",
    )


def divergence_is_recorded(case: _Case) -> None:
    """One seed is lost, the others go on as if nothing had happened."""
    spec = case.spec()
    with workers(1) as pool:
        federation = assemble(spec, case.data, pool)
        noise: list[Noise] = [_breaking(block.noise, spec) for block in federation.blocks]
        state = spec.method.init(federation.with_noise(noise))
        rounds = evaluated_rounds(spec.rounds, spec.evaluate_every)
        start = Snapshot(0, state, noise, Trace(spec.seeds, rounds, measured(spec)))
    trace = engine.run(spec, case.data, keeper=_From(pickle.dumps(start))).dataset(spec, {})
    status = list(trace.status.values)
    ensure(status == [0, 1, 0], f"with noise that is not a number in one seed, status is {status}")
    kept = [0, 2]
    _same(
        case.usual.sel(seed=kept),
        trace.drop_vars("seconds").sel(seed=kept),
        "another seed's divergence",
    )


# Rows


def seeded_shares_are_a_partition_of_their_own(case: _Case) -> None:
    """Seeds may share out the records in their own way."""
    shuffled = {"scheme": "iid", "agents": _AGENTS, "shuffle": True}
    block, single = case.trace(agents=shuffled), case.trace(agents=shuffled, seeds=[2])
    _close(block.sel(seed=2), single.sel(seed=2), "another block of shuffled seeds", _ROUNDING)


def writers_serve_as_agents(case: _Case) -> None:
    """Agents differ in size, and one may have no record."""
    groups = np.sort(np.arange(_RECORDS) % 5).astype(np.int32)
    groups[groups == 3] = 2
    names = tuple(f"writer {number}" for number in range(5))
    data = replace(case.data, groups=groups, group_names=names)
    trace = case.trace(dataset=data, agents={"scheme": "by_writer"})
    ensure(bool(np.isfinite(trace.train_loss).all()), "its loss is not finite")


_ALWAYS: Sequence[Callable[[_Case], None]] = (
    is_a_frozen_dataclass_of_checked_parameters,
    facts_are_complete,
    needs_are_refused_before_anything_runs,
    works_for_every_problem_that_it_does_not_refuse,
    knows_nothing_of_files_seeds_threads_or_other_methods,
    trace_has_its_dims_units_and_provenance,
    repetition_changes_no_bit,
    going_on_from_a_checkpoint_changes_no_bit,
    threads_change_no_bit,
    the_order_of_agents_changes_no_bit,
    another_block_of_agents_agrees_within_rounding,
    another_block_of_seeds_agrees_within_rounding,
    double_precision_agrees_within_rounding,
    more_rounds_go_on_where_fewer_ended,
    seeds_differ_where_something_is_drawn,
    the_total_is_finite_where_noise_is_declared,
    without_a_budget_nothing_is_noisy,
    worst_case_sensitivity_runs,
    learns_without_noise,
)
_NOISY = (
    what_is_declared_is_what_is_drawn,
    worst_case_noise_knows_nothing_of_the_records,
    divergence_is_recorded,
)
_OVER_ROWS = (
    state_copies_bounds_the_state,
    seeded_shares_are_a_partition_of_their_own,
    writers_serve_as_agents,
)


# What they are made with


class _Counting(Ledger):
    """Ledger that counts releases by law."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()

    def laplace(self, multiplier: float, count: int = 1) -> None:
        self.counts["laplace"] += count
        super().laplace(multiplier, count)

    def gaussian(self, multiplier: float, count: int = 1) -> None:
        self.counts["gaussian"] += count
        super().gaussian(multiplier, count)

    def pure(self, epsilon: float, count: int = 1) -> None:
        self.counts["pure"] += count
        super().pure(epsilon, count)


class _Watched(Noise):
    """Noise source that keeps the scales of what was drawn."""

    def __init__(self, noise: Noise, spec: RunSpec) -> None:
        super().__init__(noise.generators, noise.shape, noise.privacy, spec.dtype)
        self.ledgers = [_Counting() for _ in noise.ledgers]
        self.scales: list[Array] = []

    def _draw(self, fill: Callable[..., None], scale: Array) -> Array:
        self.scales.append(np.array(scale))
        return super()._draw(fill, scale)


class _Breaking(Noise):
    """Noise source whose second seed gives no numbers."""

    def _draw(self, fill: Callable[..., None], scale: Array) -> Array:
        xi = super()._draw(fill, scale)
        xi[:, 1] = np.nan
        return xi


def _breaking(noise: Noise, spec: RunSpec) -> Noise:
    return _Breaking(noise.generators, noise.shape, noise.privacy, spec.dtype)


class _Backwards(Workers):
    """Serves the last agents first."""

    def map(self, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        return [function(item) for item in reversed(items)][::-1]


class _From:
    """Keeper with which a run starts from a pickled snapshot."""

    def __init__(self, kept: bytes | None = None) -> None:
        self.kept = kept

    def load(self) -> Snapshot | None:
        return pickle.loads(self.kept) if self.kept else None

    def after_round(self, snapshot: Snapshot) -> None:
        """Keep nothing."""

    def save(self, snapshot: Snapshot) -> None:
        """Keep nothing."""


class _Stopping(_From):
    """Keeper that keeps one round and ends the run there."""

    def __init__(self, t: int) -> None:
        super().__init__()
        self._t = t

    def after_round(self, snapshot: Snapshot) -> None:
        if snapshot.t == self._t:
            self.kept = pickle.dumps(snapshot, protocol=5)
            raise KeyboardInterrupt


@dataclass(frozen=True)
class _Played:
    """Some rounds of a method, without the engine around them."""

    federation: Federation
    state: Any
    noise: list[_Watched]

    @property
    def content(self) -> bytes:
        """All of the state."""
        return pickle.dumps(self.state, protocol=5)

    @property
    def objective(self) -> Array:
        """Training objective, shape (S,)."""
        blocks, pool = self.federation.blocks, self.federation.pool
        found = self.federation.problem.evaluate(self.state, [b.parts for b in blocks], pool.map)
        return found["train_loss"]


def _play(
    spec: RunSpec,
    data: Dataset,
    rounds: int,
    size: int | None = None,
    pool: Workers | None = None,
) -> _Played:
    """Let a method do some rounds, with so many agents in a block."""
    with workers(1) as alone, np.errstate(over="ignore", invalid="ignore"):
        federation = assemble(spec, data, pool or alone, size)
        noise = [_Watched(block.noise, spec) for block in federation.blocks]
        federation = federation.with_noise(noise)
        method = spec.method
        state = method.init(federation)
        for t in range(1, rounds + 1):
            method.round(t, state, federation)
    return _Played(federation, state, noise)


def _same(one: xr.Dataset, other: xr.Dataset, what: str) -> None:
    changed = [
        str(name)
        for name in one.data_vars
        if not np.array_equal(one[name].values, other[name].values, equal_nan=True)
    ]
    ensure(not changed, f"{what} changes {', '.join(changed)}")


def _close(one: xr.Dataset, other: xr.Dataset, what: str, rtol: float, atol: float = 0.0) -> None:
    for name in _COMPARED:
        a, b = one[name].values, other[name].values
        ensure(
            bool(np.allclose(a, b, rtol=rtol, atol=atol)),
            f"{what} changes {name} beyond rounding, by up to {np.nanmax(np.abs(a - b)):.2g}",
        )
