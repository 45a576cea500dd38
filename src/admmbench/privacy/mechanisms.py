"""Mechanisms: noise that an agent adds before anything leaves it.

Noise is drawn where it is added, in double precision and on a grid, see `admmbench.privacy.samplers`. So runs in single
and in double precision see the same realisation, and the last bits of a message do not reveal the value without noise.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from admmbench.privacy import samplers
from admmbench.privacy.costs import (
    KINDS,
    Approximate,
    Cost,
    Gaussian,
    Laplace,
    Terms,
    gaussian_multiplier,
    of_sample,
)
from admmbench.privacy.ledger import Ledger
from admmbench.sensitivity import Sensitivity
from admmbench.validation import one_of

Array = NDArray[Any]
Value = Literal["gradient", "solution", "dual variable", "predictions", "objective"]
Relation = Literal["zero_out", "replace"]
Unit = Literal["record", "agent"]

# Contributions of a record by which values of neighbours differ.
_CONTRIBUTIONS: dict[Relation, int] = {"zero_out": 1, "replace": 2}

# Rounding to the grid moves neighbours apart by at most this part of the sensitivity, which is raised by as much.
_ROUNDING = 2.0**-10


class Neighbours(NamedTuple):
    """How two neighbouring data sets differ, in keys that results store.

    Attributes
    ----------
    relation
        As of `Privacy`; ``none`` where nothing noisy is released.
    unit
        ``record``, ``agent``, or a method's own, see `Release`; ``none`` where nothing noisy is released.
    """

    relation: str = "none"
    unit: str = "none"


@dataclass(frozen=True)
class Privacy:
    """It says what one release may cost, and how its sensitivity is bounded.

    Parameters
    ----------
    epsilon
        Budget of one release; infinity means no noise.
    delta
        Failure probability of one Gaussian release, at which totals are stated too.
    sensitivity
        ``local``: from the agent's own records, as the papers compute it; the noise scale then depends on the data, so
        that no guarantee follows. ``global``: the worst case over admissible records.
    relation
        Neighbouring data sets that the ledger accounts for: one record contributes nothing (``zero_out``), or is
        another record (``replace``).
    unit
        What neighbouring data sets differ in: one record, or all records of one agent.
    participation
        Probability that an agent takes part in a round, by a coin that nobody else sees; only sums are seen then. Of a
        cohort, the share of all agents.
    summed
        Agents that add noise to messages of which nobody sees more than the sum, see `Noise.part`. 0: the server sees
        every message.
    cohort
        Agents of the cohort that takes part in a round, drawn without replacement; 0 where agents have coins.
    """

    epsilon: float = math.inf
    delta: float = 1e-6
    sensitivity: Literal["local", "global"] = "local"
    relation: Relation = "zero_out"
    unit: Unit = "record"
    participation: float = 1.0
    summed: int = 0
    cohort: int = 0

    @property
    def private(self) -> bool:
        """Tell whether noise is added at all."""
        return math.isfinite(self.epsilon)

    @property
    def radius(self) -> float | None:
        """Say how far samples of both neighbours are from those without what they differ in, see `Replaced`."""
        if self.relation != "replace":
            return None
        return 1.0 if self.cohort else 0.5


@dataclass(frozen=True)
class Release:
    """A release is a noisy value that leaves an agent, as a method declares it.

    Attributes
    ----------
    law
        Distribution of the noise.
    value
        What the noise is added to.
    scaled_for
        Relation of neighbours for which one release has the stated budget: the one of the method's paper.
    own_neighbours
        A word for what is another one in neighbouring data sets if that is no record, such as ``column``; then a run
        chooses no relation.
    or_law
        Another law that may take the place of the first.
    """

    law: str
    value: Value
    scaled_for: Relation = "zero_out"
    own_neighbours: str = ""
    or_law: str | None = None

    def __post_init__(self) -> None:
        """Refuse words that nothing would act on."""
        laws = [law for kind in KINDS.values() for law in kind.laws]
        one_of("Release.law", self.law, laws)
        one_of("Release.value", self.value, Value)
        one_of("Release.scaled_for", self.scaled_for, Relation)
        if self.own_neighbours and not self.own_neighbours.isidentifier():
            raise ValueError(
                f"Release.own_neighbours: results store one word, got {self.own_neighbours!r}; write what is another "
                "one in neighbouring data sets, such as column"
            )
        if self.or_law is not None:
            one_of("Release.or_law", self.or_law, laws)

    @property
    def kind(self) -> type[Cost]:
        """Return the class of what the ledger is told: noise inside a problem whose solution leaves has no shift."""
        kind = self._by_budget
        shifts = issubclass(kind, Laplace | Gaussian)
        return Approximate if self.value == "objective" and shifts else kind

    @property
    def _by_budget(self) -> type[Cost]:
        """Class of what a release with the stated budget costs."""
        return next(kind for kind in KINDS.values() if self.law in kind.laws)

    def under(self, noise: str) -> Release:
        """Return the release with the noise that a run asks for: that of the paper (``published``), or a law.

        Raises
        ------
        ValueError
            If the method does not have that law.
        """
        if noise in ("published", self.law):
            return self
        if noise != self.or_law:
            laws = " or ".join(law for law in (self.law, self.or_law) if law)
            raise ValueError(
                f"has {laws} noise, not {noise}: what it releases has no bound for that"
            )
        return replace(self, law=self.or_law, or_law=self.law)

    def cost(
        self,
        privacy: Privacy,
        l2_over_l1: float = 1.0,
        linf_over_l1: float = 1.0,
        sampling: float = 1.0,
    ) -> Cost:
        """Return what one release with the stated budget costs under the relation of the run.

        Parameters
        ----------
        privacy
            Budget and relation.
        l2_over_l1, linf_over_l1
            As in `Sensitivity`.
        sampling
            Probability that a record takes part, independently and in secret; only Gaussian noise takes credit for it.
        """
        times = self.contributions(privacy.relation) / self.contributions(self.scaled_for)
        sample = sampling * privacy.participation, privacy.radius
        terms = privacy.epsilon, privacy.delta, times, l2_over_l1, linf_over_l1, *sample
        return self._by_budget.of_budget(Terms(*terms))

    def neighbours(self, relation: Relation, unit: Unit = "record") -> Neighbours:
        """Return how neighbouring data sets differ."""
        own = self.own_neighbours
        return Neighbours("replace", own) if own else Neighbours(relation, unit)

    def contributions(self, relation: Relation) -> int:
        """Count the contributions of a record by which values of neighbours differ."""
        return 1 if self.own_neighbours else _CONTRIBUTIONS[relation]


def delta_warning(delta: float, n: int, unit: Unit = "record") -> str:
    """Warn of a failure probability above 1 / n, for n training records or agents; empty if there is nothing to say."""
    if not delta * n > 1:
        return ""
    those = "training records" if unit == "record" else "agents"
    what = "a record" if unit == "record" else "all records of an agent"
    return (
        f"delta = {delta:g} is above 1/n = {1 / n:.2g} of the n = {n:,} {those}: totals at this "
        f"delta hold even for a method that publishes {what} chosen at random"
    )


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


@dataclass(frozen=True, eq=False)
class Draw:
    """Noise of B agents and S seeds is drawn where it is added: ``value + draw``.

    Attributes
    ----------
    law
        Of `admmbench.privacy.samplers`.
    keys
        Of agents and seeds, shape (B, S, 2).
    place
        Round, and number of the release in it.
    shape
        Of the value, (B, S, ...).
    scale
        Shape (B, S).
    grid
        Spacing that value and noise are rounded to, shape (B, S).
    measure
        Whether its magnitude is recorded.
    magnitude
        Mean absolute entry, shape (B, S), once it is added.
    dtype
        Precision of the sum; that of the value if None.
    note
        Adds it to a value in double precision in place of `added_to`: audits look at both.
    """

    law: int
    keys: Array
    place: Array
    shape: tuple[int, ...]
    scale: Array
    grid: Array
    measure: bool
    magnitude: Array
    dtype: DTypeLike | None
    note: Callable[[Draw, Array], Array] | None = None

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **given: Any) -> Array:
        """Do ``value + draw`` and ``value += draw``; there is nothing else that noise is for."""
        if ufunc is not np.add or method != "__call__":
            raise TypeError(
                f"noise is drawn where it is added: value + noise, not {ufunc.__name__}"
            )
        (value,) = (each for each in inputs if each is not self)
        noisy = self + value
        for target in given.get("out", ()):
            target[...] = noisy
            noisy = target
        return noisy

    def __add__(self, value: Array) -> Array:
        """Add the noise to a value: both are rounded to the grid, and their sum to the precision of the run."""
        value, note = np.asarray(value), self.note
        noisy = note(self, value.astype(np.float64)) if note else self.added_to(value)
        return noisy.astype(self.dtype or value.dtype, copy=False)

    def added_to(self, value: Array) -> Array:
        """Return a value with noise, in its precision."""
        if np.shape(value) != self.shape:
            raise ValueError(f"noise of shape {self.shape} is added to {np.shape(value)}")
        noisy: Array = np.array(value, order="C")
        flat = noisy.reshape(*self.scale.shape, -1)
        measured = self.measure, self.magnitude
        samplers.perturb_all(
            flat, self.law, self.keys, self.place, self.scale, self.grid, *measured
        )
        return noisy


class Noise:
    """The source of B agents' noise serves a batch of S seeds.

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

    Attributes
    ----------
    ledgers
        Releases of each agent so far.
    entered
        How many of these are of this round.
    louder
        Factors of what is drawn, for each seed, for audits and checks: ledgers are not told of them; None in every run.
    """

    louder: Array | None = None

    def __init__(
        self,
        keys: Array,
        shape: tuple[int, ...],
        privacy: Privacy,
        dtype: DTypeLike | None = None,
        release: Release | None = None,
    ) -> None:
        self.keys = keys
        self.shape = shape
        self.privacy = privacy
        self.release = release or Release("laplace", "gradient")
        self._scaled_for = self.release.contributions(self.release.scaled_for)
        self.ledgers = [Ledger() for _ in keys]
        self._dtype = dtype
        self.begin_round(0)

    def begin_round(self, t: int, measure: bool = False) -> None:
        """Count releases of round t from now on, and measure their magnitude if asked for."""
        self._t, self._releases, self._measure = t, 0, measure
        self.entered = 0
        self._measured: list[tuple[Array, Array | float]] = []

    @property
    def t(self) -> int:
        """Return the round."""
        return self._t

    @property
    def place(self) -> tuple[int, int]:
        """Return the round, and how many releases of it were drawn."""
        return self._t, self._releases

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
        return self.next_draw(
            samplers.LAPLACE, self._scaled_for * bound / self.privacy.epsilon, grid
        )

    def gaussian(
        self, sensitivity: Sensitivity, std: Array | None = None, sampling: float = 1.0
    ) -> Draw | float:
        """Draw ``xi ~ N(0, std^2)``: by default the classical (epsilon, delta)-DP release of each agent.

        Parameters
        ----------
        sensitivity
            How far one contribution moves what the noise is added to; the bound in l2 is used.
        std
            Standard deviation, shape (B, S), where a method sets its own; the ledgers record the ratio of the two.
        sampling
            Probability that a record takes part in the value, see `Sampler`.

        Returns
        -------
        Noise for a value of shape ``(B, S, *shape)``, or 0.0 when epsilon is infinite and the method sets no standard
        deviation.

        Raises
        ------
        TypeError
            If there is no bound in l2.
        ValueError
            If messages are summed securely: agents then share the noise, see `part`.
        """
        if self.privacy.summed:
            raise ValueError(
                "privacy.trust: secure_sum shares the noise of a sum among agents: use self.noisy_mean(...), not "
                "noise.gaussian(...)"
            )
        return self._gaussian(sensitivity, sampling, std=std)

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
        drawn = self._gaussian(sensitivity, sampling, self.privacy.summed, weights)
        return replace(drawn, dtype=None) if isinstance(drawn, Draw) else drawn

    def _gaussian(
        self,
        sensitivity: Sensitivity,
        sampling: float,
        parts: int = 1,
        weights: Array | float = 1.0,
        std: Array | None = None,
    ) -> Draw | float:
        """Draw noise of one of so many parts, whose sum is a release with the stated budget, or one with its own."""
        bound = self._bound(sensitivity, "l2")
        if std is None and not self.privacy.private:
            return 0.0
        # One step of the grid in every entry has this norm in l2. A part should be many steps of the grid, so that a
        # sum of rounded numbers is as smooth as one of them.
        grid, bound = on_grid(bound, math.sqrt(math.prod(self.shape)) * math.sqrt(parts))
        if std is None:
            self._enter("gaussian", sampling=sampling)
            multiplier = gaussian_multiplier(self.privacy.epsilon, self.privacy.delta)
            std = multiplier * self._scaled_for * bound / math.sqrt(parts)
        else:
            times = self.release.contributions(self.privacy.relation)
            multipliers = (std / (times * bound)).min(axis=1).tolist()
            self._add(of_sample(each, sampling, self.privacy.radius) for each in multipliers)
        return self.next_draw(samplers.GAUSSIAN, std, grid, weights)

    def unentered(self, std: Array, grid: Array, counted: bool = True) -> Draw:
        """Draw ``xi ~ N(0, std^2)`` without an entry in the ledgers.

        This is for noise that is one part of a release; the method enters the cost of the release, see `enter`.

        Parameters
        ----------
        std
            Standard deviation, shape (B, S).
        grid
            Spacing that value and noise are rounded to, a power of two, shape (B, S).
        counted
            Whether it counts in the magnitude of the round's noise.

        Returns
        -------
        Noise for a value of shape ``(B, S, *shape)``, whose precision it keeps.
        """
        self._beside("unentered")
        drawn = self.next_draw(samplers.GAUSSIAN, std, grid, 1.0 if counted else None)
        return replace(drawn, dtype=None)

    def enter(self, cost: Cost) -> None:
        """Enter in all ledgers what a release costs, for which the method has a proof."""
        self._beside("enter")
        self._add(itertools.repeat(cost))

    def _beside(self, what: str) -> None:
        """Refuse what nothing follows from, unless the method declares it."""
        if self.release.value != "objective":
            raise ValueError(
                f"noise.{what} is for noise inside a problem, of which the ledger knows what the method states: "
                "declare a Release with the value objective"
            )

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
        xi = self.next_draw(samplers.GAUSSIAN, one, finest(one), None).added_to(nothing)
        sizes = self.next_draw(samplers.LAPLACE, one, finest(one), None).added_to(nothing)
        axes = tuple(range(2, xi.ndim))
        factor = scale * np.abs(sizes).sum(axis=axes) / np.sqrt((xi**2).sum(axis=axes))
        xi *= factor.reshape(*scale.shape, *[1] * len(axes))
        if self._measure:
            self._measured.append((np.abs(xi).mean(axis=axes), 1.0))
        return xi

    def variables(self) -> dict[str, Any]:
        """Return the ledgers, as they are now."""
        return {"ledgers": [ledger.variables() for ledger in self.ledgers]}

    def restore(self, variables: dict[str, Any]) -> None:
        """Set ledgers to what `variables` returned."""
        for ledger, kept in zip(self.ledgers, variables["ledgers"], strict=True):
            ledger.restore(kept)

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
        # Later than in the first release of all, a seed that diverges has NaN.
        first = self._t <= 1 and not self._releases
        if np.less(bound, 0).any() or (first and np.isnan(bound).any()):
            raise ValueError(
                f"the {norm} sensitivity is {np.min(bound):g}; expected a number, 0 or above"
            )
        return bound

    def _enter(self, law: str, l2: float = 1.0, linf: float = 1.0, sampling: float = 1.0) -> None:
        """Enter a release with the stated budget in the ledgers."""
        cost = replace(self.release, law=law).cost(self.privacy, l2, linf, sampling)
        self._add(itertools.repeat(cost))

    def next_draw(
        self, law: int, scale: Array, grid: Array, weights: Array | float | None = 1.0
    ) -> Draw:
        """Draw the noise of the next release: all noise comes from here.

        Parameters
        ----------
        law
            Number of the law, such as `admmbench.privacy.samplers.LAPLACE`.
        scale, grid
            Of the noise, shape (B, S).
        weights
            By which its magnitude is divided; None if it does not count.
        """
        place = np.array(self.place)
        self._releases += 1
        if self.louder is not None:
            scale = scale * self.louder
        magnitude, shape = np.zeros(scale.shape), (*scale.shape, *self.shape)
        measure = self._measure and weights is not None
        if weights is not None and measure:
            self._measured.append((magnitude, weights))
        return Draw(law, self.keys, place, shape, scale, grid, measure, magnitude, self._dtype)


@dataclass(frozen=True, eq=False)
class Sampler:
    """Poisson samples of B agents come from here, for S seeds: they say which records take part in a round.

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
