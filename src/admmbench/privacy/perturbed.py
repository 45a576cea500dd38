"""Privacy loss of a perturbed objective whose solution is released, by Renyi divergences and by its profile."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr, ndtr

from admmbench.privacy.events import ORDERS, Approximate, Array


@dataclass(frozen=True)
class Perturbed(Approximate):
    """Solution of an objective with normal noise b inside, with normal noise on top.

    The loss of the solution is at most ``Z = curvature + u^2 / 2 + u |b|``, in either order of the neighbours, where
    ``|b|`` is the norm of so many standard normal numbers: docs/privacy/bounds.md has the proof, after Redberg, Koskela
    and Wang, "Improving the privacy and practicality of objective perturbation for differentially private linear
    learners" (NeurIPS 2023). Losses of several releases are at most sums of independent Z.

    Attributes
    ----------
    epsilon, delta
        What is proved of the release without the profile.
    curvature
        Bound on the logarithm of the ratio of determinants of neighbours.
    linear
        u, how far a neighbour moves b, in its standard deviations.
    dimensions
        Of the space in which it moves b: 1 or 2.
    output, output_delta
        How far it moves the value that the noise on top is added to, likewise; and the probability that the loss of
        this noise is larger than `divergence` counts.
    """

    name = "perturbed"

    curvature: float
    linear: float
    dimensions: int
    output: float
    output_delta: float

    @property
    def stated(self) -> tuple[float, float]:
        """Return no epsilon: the divergences say more."""
        return math.inf, self.output_delta

    @property
    def shift(self) -> tuple[float, float, float]:
        """Return the epsilon at delta, in l2."""
        return math.inf, self.epsilon, math.inf

    def renyi(self) -> Array:
        """Return the logarithm of the mean of ``exp((a - 1) Z)`` over a - 1, and the divergence of the noise on top."""
        u = (ORDERS - 1) * self.linear
        if self.dimensions == 1:
            moment = u**2 / 2 + math.log(2) + log_ndtr(u)
        else:
            with np.errstate(divide="ignore"):
                tail = np.log(u * math.sqrt(2 * math.pi)) + u**2 / 2 + log_ndtr(u)
            moment = np.logaddexp(0, tail)
        inside = self.curvature + self.linear**2 / 2 + moment / (ORDERS - 1)
        return np.asarray(inside + ORDERS * self.output**2 / 2)

    @property
    def _least(self) -> float:
        """Smallest value of Z and of the loss of the noise on top that counts."""
        quantile = math.sqrt(-2 * math.log(self.output_delta)) if self.output else 0.0
        above = self.output * quantile + self.output**2 / 2
        return self.curvature + self.linear**2 / 2 + above

    def ends(self, absent: bool, tail: float) -> tuple[float, float]:
        """Return losses between which Z is but for a probability of e^-tail."""
        return self._least, self._least + self.linear * math.sqrt(2 * tail)

    def hockey_stick(self, losses: Array, absent: bool) -> Array:
        """Return the mean of ``1 - exp(epsilon - Z)`` where that is above 0."""
        u, above = self.linear, losses - self._least
        below = np.minimum(above, 0)
        start = np.maximum(above, 0) / u  # of the norms with a loss above epsilon
        tail = np.exp(above + u**2 / 2 + log_ndtr(-start - u))
        if self.dimensions == 1:
            inside = 2 * (ndtr(-start) - tail)
        else:
            inside = u * math.sqrt(2 * math.pi) * tail - np.expm1(below)
        found: Array = self.output_delta + (1 - self.output_delta) * np.maximum(inside, 0)
        return found
