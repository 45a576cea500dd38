"""Two worlds that differ in one record, a canary whose presence is easy to see, and runs of both on tape."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from admmbench.audit import reach
from admmbench.audit.settings import Name
from admmbench.audit.solutions import OnTape
from admmbench.audit.tapes import Tape, Taped, TapedNoise, sent_by_one, sums
from admmbench.base.types import Array, Block, Federation, Messages
from admmbench.datasets import Dataset
from admmbench.engine.context import Context
from admmbench.engine.rounds import assemble, do_round, start
from admmbench.engine.threads import Workers
from admmbench.partition import Split
from admmbench.privacy import Sampler
from admmbench.problems.rows import BoundRows
from admmbench.spec.run import RunSpec


class World(NamedTuple):
    """Data set, perhaps without one agent."""

    data: Dataset
    absent: int | None = None
    """The agent that is not there: it sends noise alone."""


class Run:
    """Rounds of a method on tape, in one world.

    Some rounds may be left out. How far a release moves must be what the ledger is told, wherever earlier releases have
    led, so that a round may follow any other.

    Parameters
    ----------
    spec
        What to run.
    world
        The world.
    forced
        Training row or rows that take part in every round, or in none, whatever is sampled.
    louder
        See `TapedNoise`.
    taken
        Whether they take part.

    Attributes
    ----------
    method, federation, state
        The method, its agents with their noise and ledgers, and where they are after the last round.
    tapes
        One for each block of agents; under a secure sum the first has the sums, and the others have nothing.
    public
        For the number of each round, by name, what must follow from what was released: messages, all that the method
        keeps, and what it measures.
    faults
        What no method may do with its noise and its ledger, in sentences.
    """

    def __init__(
        self,
        spec: RunSpec,
        world: World,
        forced: int | Array | None = None,
        louder: Array | None = None,
        taken: bool = True,
    ) -> None:
        # Each world has a method of its own, so that nothing is kept in it for the other.
        self.method = copy.deepcopy(spec.method)
        federation = assemble(
            spec, world.data, Workers(1), Context(strategy=OnTape()), absent=world.absent
        )
        blocks = federation.blocks
        if forced is not None:
            blocks = _forced(federation, forced, taken, world.absent)
        self._noise = [TapedNoise(each.noise, each.agents, spec.dtype, louder) for each in blocks]
        pairs = zip(blocks, self._noise, strict=True)
        blocks = [replace(block, noise=own) for block, own in pairs]
        self.federation: Federation[Any, Any] = replace(federation, blocks=blocks)
        self.state = start(self.method, self.federation)
        self.forget()

    def forget(self) -> None:
        """Begin with empty tapes and ledgers."""
        self.tapes: list[Tape] = [[] for _ in self._noise]
        self.public: dict[int, dict[str, Array]] = {}
        self.faults: list[str] = []
        for source in self._noise:
            source.start_ledgers()

    def round(self, t: int, again: Run | None = None) -> None:
        """Do a round; noisy values of round t of another run take the place of this run's own, if there is one."""
        secure, tapes = self.federation.privacy.summed, again.tapes if again else None
        if tapes and secure:
            tapes = sent_by_one(tapes, self.federation.blocks)
        for k, source in enumerate(self._noise):
            source.begin(t, None if tapes is None else [each for each in tapes[k] if each.t == t])
        sent = do_round(self.method, t, self.state, self.federation)
        for source in self._noise:
            source.end(t)
            self.faults += source.faults
        noted = [source.tape for source in self._noise]
        for tape, new in zip(self.tapes, sums(noted) if secure else noted, strict=True):
            tape += new
        self.public[t] = self._known(t, sent)

    def _known(self, t: int, sent: Messages) -> dict[str, Array]:
        """What must follow from what was released, each array once."""
        method, state, federation = self.method, self.state, self.federation
        known: dict[str, Any] = {"number of messages": (len(sent.up), len(sent.down))}
        known |= {f"message {k}": each for k, each in enumerate(sent.up)}
        known |= {f"broadcast {k}": each for k, each in enumerate(sent.down)}
        kept = reach.variables(state).items()
        known |= {
            k: v for k, v in kept if k.split(".")[0] not in method.privacy_facts.private_state
        }
        known |= {f"self.{name}": each for name, each in reach.variables(vars(method)).items()}
        measured = method.measure(t, state, federation)
        measured["consensus_violation"] = method.violation(state, federation)
        measured["status"] = method.outcome(state, federation.problem.n_seeds)
        known |= {
            f"measured {k}": v
            for k, v in measured.items()
            if k not in method.privacy_facts.evaluated
        }
        once: dict[int, str] = {}
        for name, each in known.items():
            once.setdefault(id(each), name)
        return {name: np.array(known[name]) for name in once.values()}

    @property
    def model(self) -> Array:
        """Return the final global model, shape (S, K, J)."""
        return self.state.w

    @property
    def uncovered(self) -> str:
        """Say why releases are not on tape; empty if they are."""
        if not any(source.missed for source in self._noise):
            return ""
        return (
            "Subproblems are solved too loosely to show their noise (lower the tolerance), or noise is used in a way "
            "that an audit cannot follow"
        )


def play(
    spec: RunSpec,
    world: World,
    rounds: Sequence[int],
    again: Run | None = None,
    forced: int | Array | None = None,
    taken: bool = True,
) -> Run:
    """Let a method do some rounds on tape; see `Run` for the arguments."""
    run = Run(spec, world, forced, taken=taken)
    for t in rounds:
        run.round(t, again)
    return run


def side_by_side(*runs: Run) -> Iterator[tuple[Taped, ...]]:
    """Give the same release of several runs, block by block, as far as each run has made it."""
    for tapes in zip(*(run.tapes for run in runs), strict=True):
        yield from zip(*tapes, strict=False)


def innermost(*runs: Run) -> Iterator[tuple[Taped, ...]]:
    """Give the same release of several runs, or where noise is inside a problem too, that part of it."""
    for releases in side_by_side(*runs):
        yield tuple(each.parts[-1] for each in releases)


class Played(NamedTuple):
    """A run of one world, and both worlds again with its noisy values.

    The attacker does not see what a round has sampled, but knows what the canary would add if it were sampled.
    """

    run: Run
    """With noise and samples of its own."""
    first: Run
    """The first world, where the canary takes part in each round."""
    second: Run
    """The second world, where what is in its place takes part in each round."""
    without: Run
    """Where neither takes part in any round."""


@dataclass(frozen=True)
class Pair:
    """Runs of both worlds, for a batch of seeds, and with each of them both worlds again."""

    first: Played
    second: Played

    @property
    def diverged(self) -> bool:
        """Tell whether a run has no finite models."""
        return not all(np.isfinite(of.run.model).all() for of in (self.first, self.second))


def play_both(
    spec: RunSpec,
    worlds: tuple[World, World],
    row: int,
    rounds: Sequence[int],
    seeds: tuple[Sequence[int], ...],
) -> Pair:
    """Play two worlds that differ in a row, or in all of its owner's, with own seeds, and again as in `Played`."""
    sampled = spec.sampling < 1
    # Otherwise nothing is in its place, so that nobody sees whether it takes part.
    replaced = sampled and spec.privacy.relation == "replace"

    def played(one: RunSpec, world: World) -> Played:
        run = play(one, world, rounds)

        def again(each: World, forced: bool) -> Run:
            if each is world and not forced:
                return run
            return play(one, each, rounds, run, row if forced else None)

        first, second = again(worlds[0], sampled), again(worlds[1], replaced)
        without = play(one, world, rounds, run, row, taken=False) if replaced else second
        return Played(run, first, second, without)

    specs = (spec.model_copy(update={"seeds": tuple(own)}) for own in seeds)
    return Pair(*(played(*each) for each in zip(specs, worlds, strict=True)))


@dataclass(frozen=True, eq=False)
class Forced(Sampler):
    """Source of samples that takes some records into all of them, or into none."""

    records: Sequence[Array]
    """Their numbers among their owner's, for each of the agents that are served together."""
    taken: bool
    """Whether into all."""

    def draw(self, t: int, n_records: Array, sampling: float) -> list[list[Array]]:
        """Draw as `Sampler.draw` does, and add or take away the records."""
        found = super().draw(t, n_records, sampling)
        force = np.union1d if self.taken else np.setdiff1d
        pairs = zip(found, self.records, strict=True)
        return [
            [force(own, records) if len(records) else own for own in each]
            for each, records in pairs
        ]

    def numbers(self, t: int) -> Array:
        """Draw as `Sampler.numbers` does; a cohort has agents with such records, or never does."""
        found, end = super().numbers(t), -1.0 if self.taken else 2.0
        found[[len(records) > 0 for records in self.records]] = end
        return found


def _forced(
    federation: Federation[Any, Any], rows: int | Array, taken: bool, absent: int | None
) -> list[Block[Any]]:
    """Blocks of agents whose samples have these rows, as far as they are theirs, or never have them."""
    problem = federation.problem
    assert isinstance(problem, BoundRows)
    is_forced = np.isin(np.arange(len(problem.y)), rows)
    forced = [np.flatnonzero(is_forced[own]) for ((_, own),) in problem.split.shares]
    if absent is not None:
        forced[absent] = np.zeros(1, int)  # it takes part as if it had its records
    return [
        replace(block, sampler=Forced(block.sampler.keys, forced[block.agents], taken))
        for block in federation.blocks
    ]


@dataclass(frozen=True)
class Worlds:
    """Neighbouring worlds. Where totals are about whole agents, all records of one are canaries."""

    canary: Name
    """Name of the canary."""
    row: int
    """Training row in which they differ, or the first one of the agent."""
    first: World
    """Where the canary is."""
    second: World
    """Where another record is in its place: one that contributes nothing, or one with the opposite target."""
    without: World
    """Where one is that contributes nothing, or the agent is absent, whatever the relation."""


def unshuffled(spec: RunSpec) -> RunSpec:
    """Return the specification with the training rows shared out alike in all seeds, so that a row has one owner."""
    return spec.model_copy(update={"agents": spec.scheme.fixed.model_dump()})


def make_worlds(
    spec: RunSpec, data: Dataset, rounds: Sequence[int], names: Sequence[Name]
) -> Iterator[Worlds]:
    """Make the worlds of canaries of these names.

    Parameters
    ----------
    spec, data
        What is audited, unshuffled. Its seeds are those of a pilot run, whose models a canary's target is chosen by.
    rounds
        Those of the pilot run.
    """
    pilot = play(spec, World(data), rounds)
    problem = pilot.federation.problem
    assert isinstance(problem, BoundRows)
    agent, rows = _smallest(spec, data)
    whole = spec.privacy.unit == "agent"
    X, model = data.X_train, np.nan_to_num(pilot.model.mean(axis=0))
    for name in names:
        row, x, wrong = rows[0], np.full_like(X[0], _largest_entry(problem)), True
        if name == "extreme":
            row = rows[np.linalg.norm(X[rows].astype(float), axis=1).argmax()]
            x = X[row]
        elif name == "natural":
            row = rows[_contributions(problem, rows).argmax()]
            x, wrong = X[row], False
        right_y, wrong_y = _targets(problem, data, x, model)
        y = wrong_y if wrong else data.y_train[row]
        changed = rows if whole else row
        first = World(data if whole and name == "natural" else _with(data, changed, x, y))
        absent = agent if whole else None
        second = without = World(_with(data, changed, np.zeros_like(x), y), absent)
        if spec.privacy.relation == "replace":
            second = World(_with(data, changed, x, right_y if y != right_y else wrong_y))
        yield Worlds(name, int(row), first, second, without)


def _with(data: Dataset, rows: Any, x: Array, y: Any) -> Dataset:
    """Return the data with other records in the place of one, or of some."""
    X_train, y_train = data.X_train.copy(), data.y_train.copy()
    X_train[rows], y_train[rows] = x, y
    return replace(data, X_train=X_train, y_train=y_train)


def other_records(data: Dataset) -> Iterator[Dataset]:
    """Make data sets of the same sizes with other records: what depends on records in coarse steps differs in one."""
    X, y = data.X_train, data.y_train
    lowest, highest = np.full_like(y, y.min()), np.full_like(y, y.max())
    few = X * (np.arange(len(X)) % 8 == 0)[:, None]  # the others are blank
    others = (X / 2, lowest + highest - y), (few / 4, lowest), (X / 4**6, highest)
    for records, targets in (*others, (np.full_like(X, X.max()), y[::-1])):
        yield replace(data, X_train=records.astype(X.dtype), y_train=targets)


def possible_targets(data: Dataset) -> Array:
    """Return the targets that a canary may have: classes, or the ends of numbers."""
    ends = np.array([data.y_train.min(), data.y_train.max()])
    return np.arange(data.n_classes) if data.n_classes else ends


def rows_of_agents(spec: RunSpec, data: Dataset) -> list[Array]:
    """Return the training rows of each agent."""
    found = spec.scheme.split(data, [])
    assert isinstance(found, Split)
    return [np.arange(data.n_train)[share[0][1]] for share in found.shares]


def _smallest(spec: RunSpec, data: Dataset) -> tuple[int, Array]:
    """Return the agent that has the fewest rows, but at least one, and these rows."""
    of = rows_of_agents(spec, data)
    agent = min((p for p, rows in enumerate(of) if len(rows)), key=lambda p: len(of[p]))
    return agent, of[agent]


def _largest_entry(problem: BoundRows) -> float:
    """Of the admissible record with equal entries that is largest; that of the data where nothing bounds records.

    It may be longer than the problem allows, which then scales it down.
    """
    low, high = problem.split.dataset.domain
    if not np.isfinite(problem.bound_linf):
        return float(np.abs(problem.X).max())
    return float(np.clip(max(low, high, key=abs), -problem.bound_linf, problem.bound_linf))


def _contributions(problem: BoundRows, rows: Array) -> Array:
    """Norms of what records contribute to the gradient of the first model, which is zero."""
    slopes = problem.loss.slopes(
        np.zeros((len(rows), problem.model_shape[0]), problem.dtype), problem.y[rows]
    )
    return np.linalg.norm(slopes, axis=1) * np.linalg.norm(problem.X[rows], axis=1)


def _targets(problem: BoundRows, data: Dataset, x: Array, model: Array) -> tuple[Any, Any]:
    """Targets for which a model is least and most wrong about a record."""
    candidates = possible_targets(data)
    u = np.broadcast_to(model @ x, (len(candidates), len(model)))
    wrong = problem.loss.losses(u.copy(), problem.loss.targets(candidates, problem.dtype))
    return candidates[wrong.argmin()], candidates[wrong.argmax()]
