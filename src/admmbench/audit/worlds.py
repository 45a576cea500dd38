"""Two worlds that differ in one record, played on tape."""

from __future__ import annotations

import contextlib
import copy
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from admmbench.audit import reach, sums
from admmbench.audit.solutions import OnTape
from admmbench.audit.tapes import Tape, Taped, TapedNoise
from admmbench.datasets import Dataset
from admmbench.engine.rounds import assemble, do_round
from admmbench.engine.spec import RunSpec
from admmbench.engine.threads import Workers, workers
from admmbench.frames.base import Array, Block, Federation, Messages
from admmbench.privacy import Sampler
from admmbench.problems.base import State
from admmbench.problems.rows import BoundRows


@dataclass(frozen=True)
class Run:
    """Some rounds of a method on tape.

    Attributes
    ----------
    federation
        Agents with their noise and ledgers.
    state
        After the last round.
    tapes
        One for each block of agents; under a secure sum the first has the sums, and the others have nothing.
    public
        For the number of each round, by name, what must follow from what was released: messages, all that the method
        keeps, and what it measures.
    faults
        What no method may do with its noise and its ledger, in sentences.
    missed
        Releases that are not on tape.
    unsolved
        Whether some of them are solutions that leave too much of their problem to show their noise.
    """

    federation: Federation[Any, Any]
    state: State
    tapes: list[Tape]
    public: dict[int, dict[str, Array]]
    faults: list[str]
    missed: int
    unsolved: bool

    @property
    def model(self) -> Array:
        """Final global model, shape (S, K, J)."""
        return self.state.w

    @property
    def releases(self) -> Iterator[Taped]:
        """All releases, block by block."""
        return itertools.chain.from_iterable(self.tapes)


def side_by_side(*runs: Run) -> Iterator[tuple[Taped, ...]]:
    """The same release of several runs, block by block, as far as each run has made it."""
    for tapes in zip(*(run.tapes for run in runs), strict=True):
        yield from zip(*tapes, strict=False)


@dataclass(frozen=True)
class Pair:
    """Runs of both worlds, for a batch of seeds, and each world again with the noisy values of the other.

    The attacker does not see which records a round has sampled, but knows what they would add if they were sampled.

    Attributes
    ----------
    first, second
        Each with noise of its own.
    first_taken
        The first world with its own noisy values, where the canary takes part in each round.
    second_as_first
        The second world with the noisy values of the first.
    first_as_second
        The first world with those of the second, where the canary takes part in each round.
    """

    first: Run
    first_taken: Run
    second_as_first: Run
    second: Run
    first_as_second: Run

    @property
    def diverged(self) -> bool:
        """Whether a run has no finite models."""
        return not all(np.isfinite(run.model).all() for run in (self.first, self.second))


@dataclass(frozen=True, eq=False)
class Taking(Sampler):
    """Source of samples with one record in all of them.

    Attributes
    ----------
    agent
        Its owner, among those that are served together.
    record
        Its number among the owner's.
    """

    agent: int
    record: int

    def draw(self, t: int, n_records: Array, sampling: float) -> list[list[Array]]:
        """See `Sampler`."""
        found = super().draw(t, n_records, sampling)
        found[self.agent] = [np.union1d(own, [self.record]) for own in found[self.agent]]
        return found


@contextlib.contextmanager
def stage() -> Iterator[Workers]:
    """Within this context, methods can be played."""
    with workers(1) as pool, np.errstate(over="ignore", invalid="ignore"):
        yield pool


class Player:
    """Lets a method do rounds on tape.

    Some rounds may be left out. How far a release moves must be what the ledger is told, wherever earlier releases have
    led, so that a round may follow any other.

    Parameters
    ----------
    spec
        What to run.
    data
        The world.
    pool
        See `stage`.
    taken
        Training row that takes part in every round, whatever is sampled.
    louder
        See `TapedNoise`.
    """

    def __init__(
        self,
        spec: RunSpec,
        data: Dataset,
        pool: Workers,
        taken: int | None = None,
        louder: Array | None = None,
    ) -> None:
        # Each world has a method of its own, so that nothing is kept in it for the other.
        self.method = copy.deepcopy(spec.method)
        federation = assemble(spec, data, pool, strategy=OnTape())
        blocks = federation.blocks if taken is None else _with_taken(federation, taken)
        self.noise = [TapedNoise(each.noise, each.agents, spec.dtype, louder) for each in blocks]
        pairs = zip(blocks, self.noise, strict=True)
        blocks = [replace(block, noise=own) for block, own in pairs]
        self.federation = replace(federation, blocks=blocks)
        self.state = self.method.init(self.federation)

    def round(self, t: int, again: Sequence[Tape] | None = None) -> Run:
        """Do a round; noisy values of round t on the tapes of another run take the place of this run's own."""
        secure = self.federation.privacy.summed
        if again is not None and secure:
            again = sums.sent_by_one(again, self.federation.blocks)
        for k, source in enumerate(self.noise):
            source.begin(t, None if again is None else [each for each in again[k] if each.t == t])
        sent = do_round(self.method, t, self.state, self.federation)
        for source in self.noise:
            source.end(t)
        tapes = [source.tape for source in self.noise]
        return Run(
            self.federation,
            self.state,
            sums.seen(tapes) if secure else tapes,
            {t: self._known(t, sent)},
            [fault for source in self.noise for fault in source.faults],
            sum(source.missed for source in self.noise),
            any(source.unsolved for source in self.noise),
        )

    def _known(self, t: int, sent: Messages) -> dict[str, Array]:
        """What must follow from what was released, each array once."""
        method, state, federation = self.method, self.state, self.federation
        known: dict[str, Any] = {f"message {k}": each for k, each in enumerate(sent.up)}
        known |= {f"broadcast {k}": each for k, each in enumerate(sent.down)}
        known |= reach.variables(state)
        known |= {f"self.{name}": each for name, each in reach.variables(vars(method)).items()}
        measured = method.measure(t, state, federation)
        measured["consensus_violation"] = method.violation(state, federation)
        measured["status"] = method.outcome(state, federation.problem.n_seeds)
        known |= {f"measured {k}": v for k, v in measured.items() if k not in method.evaluated}
        once: dict[int, str] = {}
        for name, each in known.items():
            once.setdefault(id(each), name)
        return {name: np.array(known[name]) for name in once.values()}


def play(
    spec: RunSpec,
    data: Dataset,
    rounds: Sequence[int],
    again: Sequence[Tape] | None = None,
    taken: int | None = None,
) -> Run:
    """Let a method do some rounds on tape.

    Parameters
    ----------
    spec, data
        What to run, and the world.
    rounds
        Their numbers.
    again
        Tapes of the blocks of another run, whose noisy values take the place of this run's own.
    taken
        Training row that takes part in every round, whatever is sampled.
    """
    with stage() as pool:
        player = Player(spec, data, pool, taken)
        found = [player.round(t, again) for t in rounds]
    return replace(
        found[-1],
        tapes=[
            [each for tape in tapes for each in tape]
            for tapes in zip(*(run.tapes for run in found), strict=True)
        ],
        public={t: known for run in found for t, known in run.public.items()},
        faults=[fault for run in found for fault in run.faults],
    )


def _with_taken(federation: Federation[Any, Any], row: int) -> list[Block[Any]]:
    """Blocks of agents whose samples have a row, if it is theirs."""
    blocks, problem = list(federation.blocks), federation.problem
    assert isinstance(problem, BoundRows)
    for k, block in enumerate(blocks):
        for b, ((_, rows),) in enumerate(problem.split.shares[block.agents]):
            for record in np.flatnonzero(np.arange(len(problem.y))[rows] == row).tolist():
                blocks[k] = replace(block, sampler=Taking(block.sampler.keys, b, record))
    return blocks


def play_both(
    spec: RunSpec,
    worlds: tuple[Dataset, Dataset],
    row: int,
    rounds: Sequence[int],
    seeds: tuple[Sequence[int], ...],
) -> Pair:
    """Play two worlds that differ in a row, each with seeds of its own, and each again as `Pair` says."""
    one, other = (spec.model_copy(update={"seeds": tuple(own)}) for own in seeds)
    first, second = play(one, worlds[0], rounds), play(other, worlds[1], rounds)
    taken = row if spec.method.sampling < 1 else None
    return Pair(
        first,
        first if taken is None else play(one, worlds[0], rounds, first.tapes, taken),
        play(one, worlds[1], rounds, first.tapes),
        second,
        play(other, worlds[0], rounds, second.tapes, taken),
    )
