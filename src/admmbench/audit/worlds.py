"""Two worlds that differ in one record, played on tape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np

from admmbench.algorithms.base import Array
from admmbench.audit import sums
from admmbench.audit.plain import open_passes
from admmbench.audit.solutions import watched
from admmbench.audit.tapes import Taped, TapedNoise
from admmbench.datasets import Dataset
from admmbench.engine.federation import Block, Federation, workers
from admmbench.engine.rounds import assemble, do_round
from admmbench.engine.spec import RunSpec
from admmbench.privacy import Sampler
from admmbench.problems.base import State
from admmbench.problems.rows import BoundRows

Tape = list[Taped]
# Parts of a state that whoever sees all messages knows.
_KNOWN = ("w", "dual", "average")


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
        By name, for each round, what whoever sees all messages, or their secure sum, knows.
    missed
        Releases that are not on tape.
    unsolved
        Whether some of them are solutions that leave too much of their problem to show their noise.
    """

    federation: Federation[Any]
    state: State
    tapes: list[Tape]
    public: list[dict[str, Array]]
    missed: int
    unsolved: bool

    @property
    def model(self) -> Array:
        """Final global model, shape (S, K, J)."""
        return self.state.w


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


def play(
    spec: RunSpec,
    data: Dataset,
    rounds: int,
    again: Sequence[Tape] | None = None,
    taken: int | None = None,
) -> Run:
    """Let a method do some rounds on tape.

    Parameters
    ----------
    spec
        What to run.
    data
        The world.
    rounds
        How many.
    again
        Tapes of the blocks of another run, whose noisy values take the place of this run's own.
    taken
        Training row that takes part in every round, whatever is sampled.
    """
    method = watched(spec.method)
    with workers(1) as pool, np.errstate(over="ignore", invalid="ignore"), open_passes():
        federation = assemble(spec, data, pool)
        blocks, secure = federation.blocks, federation.privacy.summed
        if again is not None and secure:
            again = sums.sent_by_one(again, blocks)
        noise = [
            TapedNoise.like(
                block.noise, block.agents, spec.dtype, None if again is None else again[k]
            )
            for k, block in enumerate(blocks)
        ]
        pairs = zip(blocks, noise, strict=True)
        federation = replace(federation, blocks=[replace(b, noise=own) for b, own in pairs])
        if taken is not None:
            federation = replace(federation, blocks=_with_taken(federation, taken))
        state = method.init(federation)
        public = []
        for t in range(1, rounds + 1):
            for source in noise:
                source.begin_round(t)
            sent = do_round(method, t, state, federation)
            known = {f"message {k}": each for k, each in enumerate(sent.up)}
            known |= {f"broadcast {k}": each for k, each in enumerate(sent.down)}
            known |= _known(state)
            public.append({name: np.array(each) for name, each in known.items()})
    tapes = [source.tape for source in noise]
    if secure:
        tapes = sums.seen(tapes)
    missed, unsolved = sum(each.missed for each in noise), any(each.unsolved for each in noise)
    return Run(federation, state, tapes, public, missed, unsolved)


def _with_taken(federation: Federation[Any], row: int) -> list[Block[Any]]:
    """Blocks of agents whose samples have a row, if it is theirs."""
    blocks = list(federation.blocks)
    assert isinstance(federation.problem, BoundRows)
    for k, block in enumerate(blocks):
        for b, ((_, rows),) in enumerate(federation.problem.split.shares[block.agents]):
            (record,) = np.nonzero(np.arange(len(federation.problem.y))[rows] == row)
            if record.size:
                sampler = Taking(block.sampler.keys, b, int(record[0]))
                blocks[k] = replace(block, sampler=sampler)
    return blocks


def _known(state: State) -> dict[str, Array]:
    names = [field.name for field in fields(state)] if is_dataclass(state) else ["w"]
    return {name: getattr(state, name) for name in _KNOWN if name in names}


def play_both(
    spec: RunSpec,
    worlds: tuple[Dataset, Dataset],
    row: int,
    rounds: int,
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
