"""Transcripts of noise: every noisy release of a run is recorded, and may be replayed in another run.

An additive release is recorded where it is made, ``value + draw``: value, scale and noisy value. In a run that replays
a transcript, the noisy values of the transcript replace its own. So everything that follows from releases alone is the
same in both runs, and the values before noise differ only because the data of the two runs differ.

Spherical noise is part of a subproblem, whose solution is released, and so is one of AMP's two noises: see
`admmbench.audit.solutions`. Of a secure sum the adversary sees the sum alone, and so do all levels of an audit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from admmbench.audit.findings import Fact, Kind, fact
from admmbench.base.types import Array, Block, factors
from admmbench.privacy import Composition, Cost, Draw, Gaussian, Ledger, Noise, Shared, samplers

LAWS = {samplers.LAPLACE: "laplace", samplers.GAUSSIAN: "gaussian"}
SPHERICAL = "spherical"


class Entry(NamedTuple):
    """Entry of a release in a ledger."""

    cost: Cost
    times: float
    """Number of times that the cost was added; below 0 where it was taken back."""

    def __str__(self) -> str:
        """Return the entry in words."""
        return f"{self.times} {self.cost.name}"


def entries(then: Composition, now: Composition) -> list[Entry]:
    """Return the entries that a ledger got between two states.

    A ledger does not keep the number of Gaussian releases of all records, so that these are one entry.
    """
    before, after = dict(then), dict(now)
    between = []
    for cost in before | after:
        count = after.get(cost, 0) - before.get(cost, 0)
        if cost == Gaussian(1.0) and count:
            multiplier = 1 / math.sqrt(abs(count)) if math.isfinite(count) else math.nan
            between.append(Entry(Gaussian(multiplier), -1 if count < 0 else 1))
        elif count:
            between.append(Entry(cost, count))
    return between


class Transformation(NamedTuple):
    """Change of variables by which a subproblem turns its noise into a solution."""

    convexity: Array
    """Strong convexity of all terms but the loss, shape (B, S)."""
    log_det: Callable[[int, Array], Array]
    """Logarithm of the Hessian's determinant, shape (S,), for an agent and the convexity."""


@dataclass(frozen=True)
class NoisyValue:
    """Noisy release of a block of B agents, for S seeds."""

    t: int
    """Number of the round."""
    law: str
    """Law that was declared when the noise was drawn."""
    value: Array
    """Value before noise, on the grid, shape (B, S, ...)."""
    total: Array
    """Sum of value and noise, in the shape of the value, as far as this sum is a function of the releases, or the same
    for both neighbouring data sets."""
    released: Array
    """Array that the method went on with, in the shape of the value: the sum, or the solution of a subproblem that the
    noise is in."""
    scale: Array
    """Scale that was declared when the noise was drawn, shape (B, S)."""
    grid: Array
    """Spacing of the noise, shape (B, S); of spherical noise in scales."""
    entered: list[list[Entry]]
    """Entries of the release in the ledger of each agent."""
    transformation: Transformation | None = None
    """Change of variables of a solution; None where the sum is released, or the loss has several predictions."""
    inside: NoisyValue | None = None
    """Part of a noisy solution whose problem has noise too. This part is due to the noise ``total - value`` at the
    released array."""
    exact: tuple[Array, Array] | None = None
    """Solution before its noise, and the sum of gradient and noise there; only of a part inside."""
    drawn: Array | None = None
    """Noise in the problem, which the release shows together with the noise on the solution; only of a part inside."""

    @property
    def parts(self) -> list[NoisyValue]:
        """Return the release, and the part inside."""
        return [self, self.inside] if self.inside else [self]

    @property
    def solution(self) -> bool:
        """Return whether the noise is inside a problem, whose solution is released."""
        return self.law == SPHERICAL or self.drawn is not None

    def noise(self, counterpart: NoisyValue) -> Array:
        """Return the noise by which the release is due to the value of its counterpart, shape (B, S, entries)."""
        return np.asarray((self.total - counterpart.value).reshape(*self.scale.shape, -1))

    @property
    def added(self) -> Array:
        """Return the noise that was added, shape (B, S, entries)."""
        return self.noise(self) if self.drawn is None else self.drawn.reshape(*self.scale.shape, -1)


Transcript = list[NoisyValue]
"""Releases of a block of agents, in their order."""


class RecordingNoise(Noise):
    """Source of noise that records releases, and replays those of a transcript instead of its own if there is one.

    Parameters
    ----------
    noise
        Source that gives keys, budget and release.
    agents
        Places of the block's agents among all agents.
    dtype
        Precision of the run.
    noise_factors
        Factors of the drawn noise, for each seed: values before noise, and entries of ledgers, must not depend on
        where the noise happens to lead.

    Attributes
    ----------
    transcript
        Releases of the round so far.
    replayed
        Releases to replay; None where the noise is the source's own.
    inner
        Spherical noise that was drawn, as long as its subproblem is not solved.
    make_inside
        Function that takes the next released array and makes the part of the release that is inside its problem.
    missed
        Number of releases that are not in the transcript.
    faults
        Forbidden uses of the source by the method.
    """

    def __init__(
        self, noise: Noise, agents: slice, dtype: DTypeLike, noise_factors: Array | None = None
    ) -> None:
        super().__init__(noise.keys, noise.shape, noise.privacy, dtype, noise.release)
        self.agents, self.louder = agents, noise_factors
        self.transcript: Transcript = []
        self.replayed: Sequence[NoisyValue] | None = None
        self.inner: NoisyValue | None = None
        self.make_inside: Callable[[Array], NoisyValue] | None = None
        self.missed = 0
        self.faults: list[Fact] = []
        self._drawn: dict[tuple[int, int], tuple[Array, list[list[Entry]]]] = {}
        self.start_ledgers()

    def begin(self, t: int, replayed: Sequence[NoisyValue] | None) -> None:
        """Begin a round with an empty transcript."""
        self.transcript, self.replayed, self.faults = [], replayed, []
        self.begin_round(t)

    def start_ledgers(self) -> None:
        """Let ledgers begin with nothing."""
        self.ledgers = [Ledger() for _ in self.ledgers]
        self._accounted = [ledger.composition() for ledger in self.ledgers]

    def end(self, t: int) -> None:
        """Record as faults the ledger entries of the round that belong to no draw."""
        for agent, agent_entries in enumerate(self._entered(), start=self.agents.start):
            for entry in agent_entries:
                self.faults.append(fact(Kind.LEDGER_BESIDE, agent=agent, entry=str(entry), round=t))

    @property
    def next(self) -> NoisyValue | None:
        """Return the release that is replayed next, None if there is none."""
        place = len(self.transcript)
        return (
            None if self.replayed is None or place >= len(self.replayed) else self.replayed[place]
        )

    def replay(self, value: Array) -> Array:
        """Return the next released array: that of the transcript, or the given one where nothing is replayed."""
        return value if self.next is None else self.next.released

    def spherical(self, scale: Array) -> Array | float:
        """Draw as `Noise.spherical` does; the solver of the subproblem completes the release."""
        place = self.t, self.releases
        noise, scale = np.asarray(super().spherical(scale)), np.array(scale)
        self.inner = NoisyValue(
            self.t, SPHERICAL, np.zeros_like(noise), noise, noise, scale, *self._drawn[place]
        )
        self.missed += 1
        return noise

    def shared(self, n_records: int) -> Shared:
        """Enter as `Noise.shared` does; an audit looks for an entry of each draw, and cannot follow several of one."""
        self.missed += 1
        return super().shared(n_records)

    def _record(
        self, law: int, scale: Array, agent_entries: list[list[Entry]], drawn: Draw, value: Array
    ) -> Array:
        """Record a release and return the released array.

        The drawn noise is recorded beside the declared scale: the two may differ, which an audit looks for.
        """
        # Double precision changes no sum but leaves it exact; single precision knows the sum alone.
        noisy = self.replay(drawn.added_to(value))
        # Without noise nothing is rounded.
        grid = factors(drawn.drawn.grid, value)
        rounded = np.where(
            factors(drawn.drawn.scale, value) > 0, np.rint(value / grid) * grid, value
        )
        # Entries belong to the first release after the draw, so that none are left for a second one.
        entered, agent_entries[:] = list(agent_entries), [[] for _ in agent_entries]
        inside, self.make_inside = self.make_inside and self.make_inside(noisy), None
        values = rounded, noisy, noisy, np.array(scale), drawn.drawn.grid
        entered = inside.entered if inside else entered
        self.transcript.append(NoisyValue(self.t, LAWS[law], *values, entered, inside=inside))
        return noisy.copy()  # the method may go on with it in place

    def _entered(self) -> list[list[Entry]]:
        """Return the entries that the ledgers got since the last call."""
        then, self._accounted = self._accounted, [ledger.composition() for ledger in self.ledgers]
        return [entries(*compositions) for compositions in zip(then, self._accounted, strict=True)]

    def _draw(
        self, law: int, scale: Array, grid: Array, weights: Array | float | None = 1.0
    ) -> Draw:
        """Draw as `Noise._draw` does, and let the release be recorded."""
        place = self.t, self.releases
        if place in self._drawn:
            self.faults.append(fact(Kind.DRAWN_AGAIN, release=place[1], round=place[0]))
        agent_entries = self._entered()
        drawn = super()._draw(law, scale, grid, weights)
        self._drawn[place] = grid, agent_entries
        return replace(drawn, note=partial(self._record, law, scale, agent_entries))


def sums(transcripts: Sequence[Transcript]) -> list[Transcript]:
    """Make the transcripts that the adversary sees under secure sums.

    The first transcript has a release for each sum, the others have none. Any agent may own the record in which
    neighbouring data sets differ, so a sum has the entries of the agent whose ledger was told of the least shift in l2.
    """

    def stacked(terms: tuple[NoisyValue, ...], name: str) -> Array:
        return np.concatenate([getattr(term, name) for term in terms])

    def summed(terms: tuple[NoisyValue, ...]) -> NoisyValue:
        value, total, released = (
            np.asarray(stacked(terms, name).sum(0, keepdims=True))
            for name in ("value", "total", "released")
        )
        scale = np.sqrt(np.square(stacked(terms, "scale")).sum(0))[None]
        agent_entries = (entered for term in terms for entered in term.entered)
        return replace(
            terms[0],
            value=value,
            total=total,
            released=released,
            scale=scale,
            entered=[
                min(
                    agent_entries,
                    key=lambda told: sum(one.times * one.cost.shift[1] for one in told),
                )
            ],
        )

    return [
        [summed(terms) for terms in zip(*transcripts, strict=True)],
        *([] for _ in transcripts[1:]),
    ]


def sent_by_one(
    transcripts: Sequence[Transcript], blocks: Sequence[Block[Any]]
) -> list[Transcript]:
    """Make transcripts to replay: the first agent sends all of each sum, and the others send 0.

    An adversary who sees the sum cannot tell. A method whose server looks at single messages, or whose agents compute
    at models that depend on their own, goes on in another way.
    """

    def sent(message: Array, block: Block[Any]) -> Array:
        messages = np.zeros((block.agents.stop - block.agents.start, *message.shape[1:]))
        if block.agents.start == 0:
            messages[0] = message[0]
        return messages

    return [
        [replace(total, released=sent(total.released, block)) for total in transcripts[0]]
        for block in blocks
    ]
