"""Accelerated stochastic approximation (AC-SA) of a server, on noisy gradients of agents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np

from admmbench.base.algorithm import parameters
from admmbench.base.descent import NoisyDescent
from admmbench.base.types import Array, Messages, Models, RowFederation


@dataclass
class Accelerated(Models):
    """Models, of which the global one is the weighted mean ``x_ag`` of all proximal points."""

    x: Array
    """Last proximal point, shape (S, K, J)."""


@parameters
class AcceleratedDescent(NoisyDescent):
    """Base of methods whose server follows AC-SA.

    S. Ghadimi and G. Lan, "Optimal stochastic approximation algorithms for strongly convex stochastic composite
    optimization I" (SIAM J. Optimization 22, 2012). With ``alpha = 2 / (k + 1)`` and ``gamma = 4 / (a k (k + 1))`` in
    step k = 1, 2, ..., for an objective of strong convexity mu, 0 included, and a noisy gradient g at x_md,

        x_md = ((1 - alpha) (mu + gamma) x_ag + alpha ((1 - alpha) mu + gamma) x) / (gamma + (1 - alpha^2) mu),
        x <- argmin_v alpha (<g, v> + mu / 2 ||v - x_md||^2) + ((1 - alpha) mu + gamma) / 2 ||v - x||^2,
        x_ag <- (1 - alpha) x_ag + alpha x.

    Without noise the objective at x_ag is at most ``2 ||x_1 - x*||^2 / (a k (k + 1))`` above its least value if 1 / a
    bounds its curvature.
    """

    state: ClassVar[type[Models]] = Accelerated

    def init(self, federation: RowFederation) -> Accelerated:
        """All variables start at zero."""
        start = super().init(federation)
        assert isinstance(start, Accelerated)
        for each in fields(self.state)[2:]:
            setattr(start, each.name, np.zeros_like(start.w))
        return start

    def accelerate(
        self,
        k: int,
        state: Accelerated,
        gradient: Callable[[Array], tuple[Array, Array]],
        rate: float,
        convexity: float,
        project: Callable[[Array], Array] = lambda x: x,
    ) -> Messages:
        """Make step k, and return what was sent.

        Parameters
        ----------
        k
            Number of the step, from 1 on.
        state
            Models, updated in place.
        gradient
            Function that returns the noisy gradient at a model, and what the server saw of the agents.
        rate, convexity
            a and mu.
        project
            Projection of the proximal point on the set of allowed models.
        """
        alpha, gamma = 2 / (k + 1), 4 / (rate * k * (k + 1))
        part = alpha * ((1 - alpha) * convexity + gamma) / (gamma + (1 - alpha**2) * convexity)
        middle = state.w + part * (state.x - state.w)
        g, seen = gradient(middle)
        change = (alpha / (convexity + gamma)) * (convexity * (middle - state.x) - g)
        state.x = project(state.x + change)
        state.w = state.w + alpha * (state.x - state.w)
        state.z[:] = state.w
        return Messages(down=(middle,), up=(seen,))
