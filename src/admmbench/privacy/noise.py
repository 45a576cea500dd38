"""Noise that an agent adds before anything leaves it, and samples of records.

Noise is drawn where it is added, in double precision and on a grid, see `admmbench.privacy.samplers`. So runs in single
and in double precision see the same realisation, and the last bits of a message do not reveal the value without noise.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import DTypeLike

from admmbench.privacy import samplers
from admmbench.privacy.draw import Draw
from admmbench.privacy.events import Cost
from admmbench.privacy.gaussian import gaussian_multiplier, of_sample
from admmbench.privacy.ledger import Ledger
from admmbench.privacy.mechanisms import Privacy, Release
from admmbench.privacy.samplers import Array
from admmbench.sensitivity import Sensitivity

# Rounding to the grid moves neighbours apart by at most this part of the sensitivity, which is raised by as much.
_ROUNDING = 2.0**-10
# What methods declare that declare nothing.
_USUAL = Release("laplace", "gradient")


def on_grid(bound: Array, apart: float) -> tuple[Array, Array]:
    """Choose the spacing of a grid, and return it with the sensitivity of a value rounded to it, for one contribution.

    Rounding adds the same whether values differ by one contribution or by two.

    Parameters
    ----------
    bound
        Sensitivity of the value.
    apart
        Norm of a step of the grid in every entry, in steps: rounding moves neighbours that far apart at most.
    """
    # A sensitivity of 0 has no scale; any grid does, as neighbours are equal.
    _, exponent = np.frexp(np.where(bound > 0, bound, 1.0) * _ROUNDING / apart)
    # The inverse of a subnormal number is infinite.
    grid = np.ldexp(0.5, np.maximum(exponent, np.finfo(float).minexp + 1))
    return grid, np.where(bound > 0, bound + apart * grid, bound)


def finest(std: Array) -> Array:
    """Return the spacing of the finest grid of which double precision has all multiples that normal noise can be."""
    return np.asarray(np.ldexp(2.0**-49, np.frexp(std)[1]))


class _Entry:
    """Entry of a release in the ledgers, from which its noise is drawn, in its round alone."""

    def __init__(self, noise: Noise) -> None:
        self._noise, self._t = noise, noise.t

    def _noise_now(self) -> Noise:
        if self._t != self._noise.t:
            raise ValueError(
                f"noise of a release of round {self._t} is drawn in round {self._noise.t}, in which no ledger has an "
                "entry for it; enter a release in each round"
            )
        return self._noise


class Entered(_Entry):
    """Entry that a method has stated and proved, see `Noise.enter`."""

    def draw(self, std: Array, grid: Array, counted: bool = True) -> Draw:
        """Draw ``xi ~ N(0, std^2)`` for a value of shape ``(B, S, *shape)``, whose precision the sum keeps.

        The stated cost is that of all draws of the entry; a ValueError tells of one in a later round.

        Parameters
        ----------
        std
            Standard deviation, shape (B, S).
        grid
            Spacing that value and noise are rounded to, a power of two, shape (B, S).
        counted
            Whether it counts in the magnitude of the round's noise.
        """
        drawn = self._noise_now()._draw(samplers.GAUSSIAN, std, grid, 1.0 if counted else None)
        return replace(drawn, dtype=None)


class Shared(_Entry):
    """Entry of a normal release with the stated budget, of which a draw takes a share for the records that it is about.

    Inverse squared multipliers of normal releases add up. So the entry pays for all draws if the shares of each record
    add up to 1 at most, which is checked.
    """

    def __init__(self, noise: Noise, n_records: int) -> None:
        super().__init__(noise)
        self._shares = np.zeros((noise.keys.shape[1], n_records))

    def share(
        self, sensitivity: Sensitivity, share: float, records: Array, shape: tuple[int, ...]
    ) -> Draw | float:
        """Draw noise on a value, as `Noise.gaussian` does, with a variance that is divided by the share.

        Parameters
        ----------
        sensitivity
            How far one contribution moves the value; the bound in l2 is used.
        share
            Part of the budget that the noise takes.
        records
            Numbers of the records on which the value depends, each once, shape (S, n).
        shape
            Of the value, without the axes of agents and seeds.

        Raises
        ------
        ValueError
            If shares of a record add up to more than 1, or in a later round.
        """
        noise = self._noise_now()
        spent = np.take_along_axis(self._shares, records, axis=1) + share
        if not spent.max(initial=0) <= 1 + 1e-9:  # but for rounding
            raise ValueError(
                f"shares of a record add up to {spent.max():g}, and its entry in the ledgers pays for 1"
            )
        np.put_along_axis(self._shares, records, spent, axis=1)
        return noise._classical(noise._bound(sensitivity, "l2"), shape, share=share)


@dataclass(eq=False)
class Noise:
    """Source of the noise of B agents, for a batch of S seeds.

    Parameters
    ----------
    keys
        One for each agent and seed, two words each, shape (B, S, 2).
    shape
        Shape of one release, without the axes of agents and seeds.
    privacy
        Budget of one release.
    dtype
        Precision of the run, which releases have; if absent, that of the values.
    release
        What the method declares about its releases; by default noise is scaled for one contribution.
    louder
        Factors of what is drawn, for each seed, for audits and checks: ledgers are not told of them; None in every run.
    mirror
        Whether all noise is negated. Its laws are symmetric, so that it has the law and the cost of other noise.

    Attributes
    ----------
    ledgers
        Releases of each agent so far.
    t
        The round.
    entered, releases
        How many releases of the round are in the ledgers, and how many were drawn.
    """

    keys: Array
    shape: tuple[int, ...]
    privacy: Privacy
    dtype: DTypeLike | None = None
    release: Release = _USUAL
    louder: Array | None = None
    mirror: bool = False

    def __post_init__(self) -> None:
        self._scaled_for = self.release.contributions(self.release.scaled_for)
        self.ledgers = [Ledger() for _ in self.keys]
        self.begin_round(0)

    def begin_round(self, t: int, measure: bool = False) -> None:
        """Count releases of round t from now on, and measure their magnitude if asked for."""
        self.t, self.releases, self._measure = t, 0, measure
        self._factor = self.privacy.schedule.factor(t)
        self.entered = 0
        self._last: Entered | None = None
        self._measured: list[tuple[Array, Array | float]] = []

    def draw(self, sensitivity: Sensitivity) -> Draw | float:
        """Draw from the law of the release, for a method that may have either: see `laplace` and `gaussian`."""
        law = self.laplace if self.release.law == "laplace" else self.gaussian
        return law(sensitivity)

    def laplace(self, sensitivity: Sensitivity) -> Draw | float:
        """Draw ``xi ~ Laplace(0, sensitivity / epsilon)``: an epsilon-DP release of each agent.

        Parameters
        ----------
        sensitivity
            How far one contribution moves what the noise is added to; its scale follows from the bound in l1, times
            the contributions that the release is scaled for.

        Returns
        -------
        Noise for a value of shape ``(B, S, *shape)``, or 0.0 when epsilon is infinite.

        Raises
        ------
        TypeError
            If there is no bound in l1.
        """
        bound = self._bound(sensitivity, "l1")
        if not self.privacy.private:
            return 0.0
        # What rounding to the grid adds is the same in every entry, so that it does not raise these ratios.
        self._enter("laplace", sensitivity.l2_over_l1, sensitivity.linf_over_l1)
        grid, bound = on_grid(bound, math.prod(self.shape))
        return self._draw(samplers.LAPLACE, self._scaled_for * bound / self.privacy.epsilon, grid)

    def gaussian(
        self, sensitivity: Sensitivity, std: Array | None = None, sampling: float = 1.0
    ) -> Draw | float:
        """Draw ``xi ~ N(0, std^2)``: by default the classical (epsilon, delta)-DP release of each agent.

        Parameters
        ----------
        sensitivity
            How far one contribution moves what the noise is added to; the bound in l2 is used.
        std
            Standard deviation, shape (B, S), where a method sets its own, but for the factor of a schedule; the ledgers
            record the ratio of the two.
        sampling
            Probability that a record takes part in the value, see `Sampler`.

        Returns
        -------
        Noise for a value of shape ``(B, S, *shape)``, or 0.0 when epsilon is infinite and there is no ``std``.

        Raises
        ------
        TypeError
            If there is no bound in l2.
        ValueError
            If messages are summed securely: agents then share the noise, see `part`.
        """
        self._refuse_sum("gaussian")
        bound = self._bound(sensitivity, "l2")
        if std is None:
            self._enter("gaussian", sampling=sampling)
            return self._classical(bound, self.shape)
        std = std * self._factor
        grid, bound = on_grid(bound, math.sqrt(math.prod(self.shape)))
        times = self.release.contributions(self.privacy.relation)
        ratios = (std / (times * bound)).min(axis=1).tolist()
        self._add(of_sample(ratio, sampling, self.privacy.radius) for ratio in ratios)
        return self._draw(samplers.GAUSSIAN, std, grid)

    def part(self, sensitivity: Sensitivity, weights: Array, sampling: float = 1.0) -> Draw | float:
        """Draw each agent's part of the noise of a secure sum: all parts together are what `gaussian` draws.

        Variances of parts add up. All parts are on one grid, so that their sum is exact in double precision, and its
        last bits tell nothing about its terms.

        Parameters
        ----------
        sensitivity
            How far one contribution moves the sum, the same for all agents that add noise; 0 for the others.
        weights
            What the agents have multiplied their values by, shape (B, 1): magnitudes are of noise on the values.
        sampling
            See `gaussian`.

        Returns
        -------
        Noise for a value of shape ``(B, S, *shape)``, or 0.0 when epsilon is infinite.
        """
        bound = self._bound(sensitivity, "l2")
        self._enter("gaussian", sampling=sampling)
        drawn = self._classical(bound, self.shape, self.privacy.summed, weights)
        return replace(drawn, dtype=None) if isinstance(drawn, Draw) else drawn

    def shared(self, n_records: int) -> Shared:
        """Enter a normal release that draws about so many records share; ValueError for agents and secure sums."""
        self._refuse_sum("shared")
        if self.privacy.unit == "agent":
            raise ValueError(
                "privacy.unit: agent: noise.shared counts shares of a record, and an agent has them all"
            )
        self._enter("gaussian")
        return Shared(self, n_records)

    def _refuse_sum(self, call: str) -> None:
        if self.privacy.summed:
            raise ValueError(
                "privacy.trust: secure_sum shares the noise of a sum among agents: use self.noisy_mean(...), not "
                f"noise.{call}(...)"
            )

    def _classical(
        self,
        bound: Array,
        shape: tuple[int, ...],
        parts: int = 1,
        weights: Array | float = 1.0,
        share: float = 1.0,
    ) -> Draw | float:
        """Draw noise of one of so many parts, whose sum takes a share of a release with the stated budget."""
        if not self.privacy.private:
            return 0.0
        # One step of the grid in every entry has this norm. A part should be many steps, to sum up as smoothly as one.
        grid, bound = on_grid(bound, math.sqrt(math.prod(shape)) * math.sqrt(parts))
        multiplier = gaussian_multiplier(self.privacy.epsilon, self.privacy.delta)
        std = multiplier * self._scaled_for * bound / math.sqrt(parts * share) * self._factor
        drawn = self._draw(samplers.GAUSSIAN, std, grid, weights)
        return replace(drawn, shape=(*std.shape, *shape))

    def enter(self, cost: Cost) -> Entered:
        """Enter in all ledgers what a release costs, by the method's proof, and return it to draw from.

        Raises
        ------
        ValueError
            If the declared value of the release is not ``objective``.
        """
        if self.release.value != "objective":
            raise ValueError(
                "noise.enter is for noise inside a problem, of which the ledger knows what the method states: "
                "declare a Release with the value objective"
            )
        self._add([cost] * len(self.ledgers))
        self._last = Entered(self)
        return self._last

    def unentered(self, std: Array, grid: Array, counted: bool = True) -> Draw:
        """Draw from what `enter` returned, as plug-ins did before it returned anything."""
        text = "noise.unentered(std, grid) is now a draw of what enter returns: noise.enter(cost).draw(std, grid)"
        if self._last is None:
            raise ValueError(text)
        warnings.warn(text, FutureWarning, stacklevel=2)
        return self._last.draw(std, grid, counted)

    def _add(self, costs: Iterable[Cost]) -> None:
        self.entered += 1
        for ledger, cost in zip(self.ledgers, costs, strict=False):
            ledger.add(cost)

    def spherical(self, scale: Array) -> Array | float:
        """Draw xi with a density proportional to ``exp(-||xi||_2 / scale)``: the mechanism of Chaudhuri et al. (2011).

        With ``scale`` = l2 sensitivity / epsilon it is epsilon-DP for the relation that the release is scaled for, and
        is recorded so; a method with another scale says why its release is epsilon-DP. The direction is that of normal
        numbers. The norm is Gamma distributed: it is the sum of as many exponential numbers, the sizes of Laplace
        numbers.

        Parameters
        ----------
        scale
            Shape (B, S).

        Returns
        -------
        Noise of shape ``(B, S, *shape)``, in double precision; or 0.0 when epsilon is infinite.
        """
        if not self.privacy.private:
            return 0.0
        self._enter("spherical")
        one = np.ones(scale.shape)
        nothing = np.zeros((*scale.shape, *self.shape))
        xi = self._draw(samplers.GAUSSIAN, one, finest(one), None).added_to(nothing)
        sizes = self._draw(samplers.LAPLACE, one, finest(one), None).added_to(nothing)
        axes = tuple(range(2, xi.ndim))
        factor = scale * np.abs(sizes).sum(axis=axes) / np.sqrt((xi**2).sum(axis=axes))
        xi *= factor.reshape(*scale.shape, *[1] * len(axes))
        if self._measure:
            self._measured.append((np.abs(xi).mean(axis=axes), 1.0))
        return xi

    def magnitude(self) -> Array:
        """Return the mean absolute entry of what was added in this round, shape (B, S)."""
        found = [size / np.where(weight == 0, 1, weight) for size, weight in self._measured]
        return np.mean(found or [np.zeros(self.keys.shape[:2])], axis=0)

    def _bound(self, sensitivity: Sensitivity, norm: Literal["l1", "l2"]) -> Array:
        """Bound in the norm that a law's scale is stated in; a bare number does not say its norm."""
        bound: Array | None = getattr(sensitivity, norm, None)
        if bound is None:
            law = {"l1": "Laplace", "l2": "Gaussian"}[norm]
            raise TypeError(
                f"{law} noise takes its scale from the {norm} sensitivity: pass what gradient() returns, or "
                f"Sensitivity({norm}=...); this {type(sensitivity).__name__} has none"
            )
        if np.ndim(bound) != 2:
            raise TypeError(
                f"Sensitivity({norm}=...) has one number for each agent and seed of a block, shape (B, S); got shape "
                f"{np.shape(bound)}"
            )
        # Later than in the first release of all, a seed that diverges has NaN.
        first = self.t <= 1 and not self.releases
        if np.less(bound, 0).any() or (first and np.isnan(bound).any()):
            raise ValueError(
                f"the {norm} sensitivity is {np.min(bound):g}; expected a number, 0 or above"
            )
        return bound

    def _enter(self, law: str, l2: float = 1.0, linf: float = 1.0, sampling: float = 1.0) -> None:
        """Enter a release with the stated budget in the ledgers, if there is one."""
        if self.privacy.private:
            cost = replace(self.release, law=law).cost(self.privacy, l2, linf, sampling)
            self._add([cost.louder(self._factor)] * len(self.ledgers))

    def _draw(
        self, law: int, scale: Array, grid: Array, weights: Array | float | None = 1.0
    ) -> Draw:
        """Draw the noise of the next release, which is in the ledgers: all noise comes from here.

        Its magnitude is divided by the weights; it does not count where there are none.
        """
        place = np.array([self.t, self.releases])
        self.releases += 1
        if self.louder is not None:
            scale = scale * self.louder
        # Everything else is drawn from the keys, so that the sign of the scale is that of the noise.
        scale = -scale if self.mirror else scale
        magnitude, shape = np.zeros(scale.shape), (*scale.shape, *self.shape)
        measure = self._measure and weights is not None
        if weights is not None and measure:
            self._measured.append((magnitude, weights))
        drawn = samplers.Drawn(law, self.keys, place, scale, grid, measure, magnitude)
        return Draw(drawn, shape, self.dtype)


@dataclass(frozen=True, eq=False)
class Sampler:
    """Source of the Poisson samples of B agents, for S seeds: which records take part in a round.

    Attributes
    ----------
    keys
        One for each agent and seed, two words each, shape (B, S, 2); others than those of their noise.
    """

    keys: Array

    def draw(self, t: int, n_records: Array, sampling: float) -> list[list[Array]]:
        """Draw the samples of round t.

        Each record takes part with the given probability, independently of other records and other rounds. The server
        must not see which records take part.

        Parameters
        ----------
        t
            The round.
        n_records
            Records of each agent, shape (B,).
        sampling
            The probability; what is not a multiple of 2^-32 is rounded down.

        Returns
        -------
        Numbers of the records that take part, for each agent and seed, in their order.
        """
        return [
            [samplers.poisson_sample(key, t, n, sampling) for key in keys]
            for keys, n in zip(self.keys, n_records.tolist(), strict=True)
        ]

    def numbers(self, t: int) -> Array:
        """Draw a number for each agent in round t, shape (B, S): a cohort has the agents with the smallest."""
        return np.array([[samplers.uniform(key, t) for key in keys] for keys in self.keys])

    def coins(self, t: int, probability: float) -> Array:
        """Draw which agents take part in round t, shape (B, S, 1, 1): each alone, as if it were a record."""
        drawn = self.draw(t, np.ones(len(self.keys), int), probability)
        return np.array([[len(each) > 0 for each in own] for own in drawn])[..., None, None]
