"""Noise on tape: every noisy release of a run is noted, and may be played again in another run.

An additive release is recorded where it is made, ``value + draw``: value, scale and noisy value. In a run that plays a
tape again, the noisy values of the tape replace its own. So everything that follows from releases alone is the same in
both runs, and the values before noise differ only because the data of the two runs differ.

Spherical noise is part of a subproblem, whose solution is what is released, and so is one of AMP's two noises: see
`admmbench.audit.solutions`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from admmbench.frames.base import Array, factors
from admmbench.privacy import Cost, Draw, Gaussian, Ledger, Noise, Spending, samplers

LAWS = {samplers.LAPLACE: "laplace", samplers.GAUSSIAN: "gaussian"}
SPHERICAL = "spherical"


class Entry(NamedTuple):
    """What a ledger was told of a release."""

    cost: Cost
    times: float
    """Below 0 where it was taken back."""

    def __str__(self) -> str:
        """Say it in words."""
        return f"{self.times} {self.cost.name}"


def entries(then: Spending, now: Spending) -> list[Entry]:
    """What a ledger was told in between; of Gaussian releases of all records it does not keep the number."""
    before, after = dict(then), dict(now)
    found = []
    for cost in before | after:
        count = after.get(cost, 0) - before.get(cost, 0)
        if cost.gaussian == 1 and count:
            multiplier = 1 / math.sqrt(abs(count)) if math.isfinite(count) else math.nan
            found.append(Entry(Gaussian(multiplier), -1 if count < 0 else 1))
        elif count:
            found.append(Entry(cost, count))
    return found


@dataclass(frozen=True)
class Curved:
    """How a subproblem turns its noise into a solution.

    Attributes
    ----------
    convexity
        Of all but the loss, shape (B, S).
    log_det
        Logarithm of the Hessian's determinant, shape (S,), for an agent and the convexity.
    """

    convexity: Array
    log_det: Callable[[int, Array], Array]


@dataclass(frozen=True)
class Taped:
    """A noisy release of a block of B agents, for S seeds.

    Attributes
    ----------
    t
        The round.
    law
        That was declared when the noise was drawn.
    value
        What noise is added to, on the grid, shape (B, S, ...).
    total
        Its sum with the noise, likewise: as far as it is a function of what is released, or the same in both worlds.
    released
        What the method went on with, likewise: the sum, or the solution of a subproblem that the noise is in.
    scale
        That was declared when the noise was drawn, shape (B, S).
    entered
        What the ledger of each agent was told of it.
    curved
        Of a solution; None where the sum is released, or the loss has several predictions.
    grid
        Spacing of the noise, shape (B, S); of spherical noise in scales.
    inside
        Of a noisy solution whose problem has noise too: that part of the release. It is due to the noise ``total -
        value`` at what is released.
    exact
        Of a part inside: the solution before its noise, and the sum of gradient and noise at it.
    drawn
        Of a part inside: its noise, which what is released shows together with that on the solution.
    """

    t: int
    law: str
    value: Array
    total: Array
    released: Array
    scale: Array
    entered: list[list[Entry]]
    curved: Curved | None = None
    grid: Array | None = None
    inside: Taped | None = None
    exact: tuple[Array, Array] | None = None
    drawn: Array | None = None

    @property
    def parts(self) -> list[Taped]:
        """The release, and the part inside."""
        return [self, self.inside] if self.inside else [self]


Tape = list[Taped]
"""Releases of a block of agents, in their order."""


class Inner(NamedTuple):
    """Noise that a subproblem was given."""

    noise: Array
    scale: Array
    grid: Array
    entered: list[list[Entry]]


class TapedNoise(Noise):
    """Noise source that notes releases, and plays those of a tape instead of its own if there is one.

    Parameters
    ----------
    noise
        Source whose keys, budget and release it has.
    agents
        Where its agents are among all.
    dtype
        Precision of the run.
    louder
        Factors of what is drawn, for each seed: values before noise, and what ledgers are told, must not depend on
        where the noise happens to lead.

    Attributes
    ----------
    tape
        Releases of the round so far.
    again
        Tape to play; None where the noise is the source's own.
    inner
        Spherical noise that was drawn, while it is not known what it is for.
    inside
        Makes, of what is released next, the part of the release that is inside its problem.
    missed
        Releases that are not on tape.
    unsolved
        Whether some of them are solutions that leave too much of their problem to show their noise.
    faults
        What no method may do with its source, in sentences.
    """

    def __init__(
        self, noise: Noise, agents: slice, dtype: DTypeLike, louder: Array | None = None
    ) -> None:
        super().__init__(noise.keys, noise.shape, noise.privacy, dtype, noise.release)
        self.agents, self.louder = agents, louder
        self.tape: Tape = []
        self.again: Sequence[Taped] | None = None
        self.inner: Inner | None = None
        self.inside: Callable[[Array], Taped] | None = None
        self.missed, self.unsolved = 0, False
        self.faults: list[str] = []
        self._accounted = [ledger.spending() for ledger in self.ledgers]
        self._places = set[tuple[int, int]]()
        # While what is drawn is an ingredient of spherical noise, and the grid of that.
        self._unseen, self._grid = False, np.zeros(0)

    @property
    def round(self) -> int:
        """The one that releases are counted for."""
        return self._t

    def begin(self, t: int, again: Sequence[Taped] | None) -> None:
        """Begin a round with an empty tape."""
        self.tape, self.again, self.faults = [], again, []
        self.begin_round(t)

    def start_ledgers(self) -> None:
        """Let ledgers begin with nothing."""
        self.ledgers = [Ledger() for _ in self.ledgers]
        self._accounted = [ledger.spending() for ledger in self.ledgers]

    def end(self, t: int) -> None:
        """Note what ledgers were told beside what was drawn."""
        for agent, told in enumerate(self._entered(), start=self.agents.start):
            for each in told:
                self.faults.append(
                    f"The ledger of agent {agent} was told {each} in round {t} beside what was drawn."
                )

    @property
    def next(self) -> Taped | None:
        """The release of the tape that is played next, if there is one."""
        place = len(self.tape)
        return None if self.again is None or place >= len(self.again) else self.again[place]

    def played(self, own: Array) -> Array:
        """What is released next: the source's own, or that of the tape."""
        return own if self.next is None else self.next.released

    def spherical(self, scale: Array) -> Array | float:
        """See `Noise`; whoever solves the subproblem says what it is for."""
        self._unseen = True
        noise = super().spherical(scale)
        self._unseen = False
        self.missed += 1
        self.inner = Inner(np.asarray(noise), np.array(scale), self._grid, self._entered())
        return noise

    def _entered(self) -> list[list[Entry]]:
        """What the ledgers were told since this was asked last."""
        then, self._accounted = self._accounted, [each.spending() for each in self.ledgers]
        return [entries(*both) for both in zip(then, self._accounted, strict=True)]

    def _draw(self, law: int, scale: Array, grid: Array) -> Draw:
        # What is drawn is noted beside what was asked for: the two may differ, which is what an audit looks for.
        place = self._t, self._releases
        if place in self._places:
            self.faults.append(
                f"The noise of release {place[1]} of round {place[0]} is drawn again."
            )
        self._places.add(place)
        drawn = super()._draw(law, scale if self.louder is None else scale * self.louder, grid)
        if self._unseen:
            self._grid = grid
            return drawn
        return TapedDraw(**vars(drawn), source=self, asked=(law, scale), entered=self._entered())


@dataclass(frozen=True, eq=False)
class TapedDraw(Draw):
    """Noise that is noted when it is added.

    Attributes
    ----------
    source
        Who notes it.
    asked
        Law and scale that the source was asked for.
    entered
        What the ledger of each agent was told of it; nothing is left of that once it is noted.
    """

    source: TapedNoise
    asked: tuple[int, Array]
    entered: list[list[Entry]]

    def __add__(self, value: Array) -> Array:
        """See `Draw`."""
        law, scale = self.asked
        # In double precision, which changes no sum but leaves it exact; single precision knows the sum alone.
        precision, value = self.dtype or np.asarray(value).dtype, np.asarray(value, np.float64)
        noisy = self.source.played(self.added_to(value))
        # Without noise nothing is rounded.
        grid = factors(self.grid, value)
        rounded = np.where(factors(self.scale, value) > 0, np.rint(value / grid) * grid, value)
        told = list(self.entered)
        self.entered[:] = [[] for _ in told]
        source, scale = self.source, np.array(scale)
        inside = source.inside and source.inside(noisy)
        source.inside = None
        source.tape.append(
            Taped(
                source.round,
                LAWS[law],
                rounded,
                noisy,
                noisy,
                scale,
                inside.entered if inside else told,
                grid=self.grid,
                inside=inside,
            )
        )
        return noisy.astype(precision)
