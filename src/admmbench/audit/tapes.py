"""Noise on tape: every noisy release of a run is noted, and may be played again in another run.

An additive release is recorded where it is made, ``value + draw``: value, scale and noisy value. In a run that plays a
tape again, the noisy values of the tape replace its own. So everything that follows from releases alone is the same in
both runs, and the values before noise differ only because the data of the two runs differ.

Spherical noise is part of a subproblem, whose solution is what is released, and so is one of AMP's two noises: see
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

from admmbench.base.types import Array, Block, factors
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
    """Return what a ledger was told in between; it does not keep the number of Gaussian releases of all records."""
    before, after = dict(then), dict(now)
    found = []
    for cost in before | after:
        count = after.get(cost, 0) - before.get(cost, 0)
        if cost == Gaussian(1.0) and count:
            multiplier = 1 / math.sqrt(abs(count)) if math.isfinite(count) else math.nan
            found.append(Entry(Gaussian(multiplier), -1 if count < 0 else 1))
        elif count:
            found.append(Entry(cost, count))
    return found


class Curved(NamedTuple):
    """How a subproblem turns its noise into a solution."""

    convexity: Array
    """Of all but the loss, shape (B, S)."""
    log_det: Callable[[int, Array], Array]
    """Logarithm of the Hessian's determinant, shape (S,), for an agent and the convexity."""


@dataclass(frozen=True)
class Taped:
    """Noisy release of a block of B agents, for S seeds."""

    t: int
    """The round."""
    law: str
    """That was declared when the noise was drawn."""
    value: Array
    """What noise is added to, on the grid, shape (B, S, ...)."""
    total: Array
    """Its sum with the noise, likewise: as far as it is a function of what is released, or the same in both worlds."""
    released: Array
    """What the method went on with, likewise: the sum, or the solution of a subproblem that the noise is in."""
    scale: Array
    """That was declared when the noise was drawn, shape (B, S)."""
    grid: Array
    """Spacing of the noise, shape (B, S); of spherical noise in scales."""
    entered: list[list[Entry]]
    """What the ledger of each agent was told of it."""
    curved: Curved | None = None
    """Of a solution; None where the sum is released, or the loss has several predictions."""
    inside: Taped | None = None
    """Of a noisy solution whose problem has noise too: that part of the release. It is due to the noise ``total -
    value`` at what is released."""
    exact: tuple[Array, Array] | None = None
    """Of a part inside: the solution before its noise, and the sum of gradient and noise at it."""
    drawn: Array | None = None
    """Of a part inside: its noise, which what is released shows together with that on the solution."""

    @property
    def parts(self) -> list[Taped]:
        """Return the release, and the part inside."""
        return [self, self.inside] if self.inside else [self]

    @property
    def solution(self) -> bool:
        """Tell whether its noise is inside a problem, whose solution is released."""
        return self.law == SPHERICAL or self.drawn is not None

    def noise(self, world: Taped) -> Array:
        """Return the noise that it is due to in a world, shape (B, S, entries)."""
        return np.asarray((self.total - world.value).reshape(*self.scale.shape, -1))

    @property
    def added(self) -> Array:
        """Return the noise that was added, shape (B, S, entries)."""
        return self.noise(self) if self.drawn is None else self.drawn.reshape(*self.scale.shape, -1)


Tape = list[Taped]
"""Releases of a block of agents, in their order."""


class TapedNoise(Noise):
    """Source of noise that notes releases, and plays those of a tape instead of its own if there is one.

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
        Spherical noise that was drawn, while it is not known what it is added to.
    inside
        Makes, of what is released next, the part of the release that is inside its problem.
    missed
        Releases that are not on tape.
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
        self.inner: Taped | None = None
        self.inside: Callable[[Array], Taped] | None = None
        self.missed = 0
        self.faults: list[str] = []
        self._drawn: dict[tuple[int, int], tuple[Array, list[list[Entry]]]] = {}
        self.start_ledgers()

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
        """Return the release of the tape that is played next, None if there is none."""
        place = len(self.tape)
        return None if self.again is None or place >= len(self.again) else self.again[place]

    def played(self, own: Array) -> Array:
        """Return what is released next: the source's own, or that of the tape."""
        return own if self.next is None else self.next.released

    def spherical(self, scale: Array) -> Array | float:
        """Draw as `Noise.spherical` does; whoever solves the subproblem says what it is added to."""
        place = self.place
        noise, scale = np.asarray(super().spherical(scale)), np.array(scale)
        self.inner = Taped(
            self.t, SPHERICAL, np.zeros_like(noise), noise, noise, scale, *self._drawn[place]
        )
        self.missed += 1
        return noise

    def _note(
        self, law: int, scale: Array, told: list[list[Entry]], drawn: Draw, value: Array
    ) -> Array:
        """Note what noise is added to; returns what is released.

        What is drawn is noted beside what was asked for: the two may differ, which is what an audit looks for.
        """
        # Double precision changes no sum but leaves it exact; single precision knows the sum alone.
        noisy = self.played(drawn.added_to(value))
        # Without noise nothing is rounded.
        grid = factors(drawn.grid, value)
        rounded = np.where(factors(drawn.scale, value) > 0, np.rint(value / grid) * grid, value)
        # Nothing is left of what was told once it is noted.
        entered, told[:] = list(told), [[] for _ in told]
        inside, self.inside = self.inside and self.inside(noisy), None
        given = rounded, noisy, noisy, np.array(scale), drawn.grid
        entered = inside.entered if inside else entered
        self.tape.append(Taped(self.t, LAWS[law], *given, entered, inside=inside))
        return noisy.copy()  # the method may go on with it in place

    def _entered(self) -> list[list[Entry]]:
        """What the ledgers were told since this was asked last."""
        then, self._accounted = self._accounted, [each.spending() for each in self.ledgers]
        return [entries(*both) for both in zip(then, self._accounted, strict=True)]

    def next_draw(
        self, law: int, scale: Array, grid: Array, weights: Array | float | None = 1.0
    ) -> Draw:
        """Draw as `Noise.next_draw` does, and let what is released be noted."""
        place = self.place
        if place in self._drawn:
            self.faults.append(
                f"The noise of release {place[1]} of round {place[0]} is drawn again."
            )
        told = self._entered()
        drawn = super().next_draw(law, scale, grid, weights)
        self._drawn[place] = grid, told
        return replace(drawn, note=partial(self._note, law, scale, told))


def sums(tapes: Sequence[Tape]) -> list[Tape]:
    """Make tapes of what the adversary sees of secure sums: the first has a release for each sum, the others have none.

    Any agent may own the record in which the worlds differ, so a sum costs what the agent was told that was told least.
    """

    def summed(of: tuple[Taped, ...], name: str) -> Array:
        return np.asarray(
            np.concatenate([getattr(each, name) for each in of]).sum(0, keepdims=True)
        )

    found = [
        replace(
            of[0],
            **{name: summed(of, name) for name in ("value", "total", "released")},
            scale=np.sqrt(np.square(np.concatenate([each.scale for each in of])).sum(0))[None],
            entered=[min((told for each in of for told in each.entered), key=_shift)],
        )
        for of in zip(*tapes, strict=True)
    ]
    return [found, *([] for _ in tapes[1:])]


def sent_by_one(tapes: Sequence[Tape], blocks: Sequence[Block[Any]]) -> list[Tape]:
    """Make tapes to play: the first agent sends all of each sum, and the others send 0.

    Who sees the sum cannot tell. A method whose server looks at single messages, or whose agents compute at models that
    depend on their own, goes on in another way.
    """

    def sent(message: Array, block: Block[Any]) -> Array:
        found = np.zeros((block.agents.stop - block.agents.start, *message.shape[1:]))
        if block.agents.start == 0:
            found[0] = message[0]
        return found

    return [
        [replace(each, released=sent(each.released, block)) for each in tapes[0]]
        for block in blocks
    ]


def _shift(told: Sequence[Entry]) -> float:
    """How far ledgers were told that a release moves in l2."""
    return sum(each.times * each.cost.shift[1] for each in told)
