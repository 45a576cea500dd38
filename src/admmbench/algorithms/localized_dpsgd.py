"""Localized accelerated DP-SGD: phases that pull ever harder to where the last one ended (Gao et al. 2024)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from admmbench.base.accelerated import Accelerated, AcceleratedDescent
from admmbench.base.algorithm import parameters
from admmbench.base.types import Array, Messages, RowFederation

# Pulls grow no further: models no longer move then.
_STRONGEST = 1e12


@dataclass
class Localized(Accelerated):
    """Models of one phase."""

    center: Array
    """Model that the last phase ended with, shape (S, K, J)."""


@parameters
class LocalizedDPSGD(AcceleratedDescent):
    """Phases of accelerated DP-SGD, each around the end of the last one.

    C. Gao, A. Lowy, X. Zhou and S. J. Wright, "Private heterogeneous federated learning without a trusted server
    revisited" (ICML 2024), after the iterative localization of Feldman, Koren and Talwar (2020). Phase i = 1, 2, ...
    minimises the objective with ``lambda_i / 2 ||w - c||^2`` in the ball of the radius ``2 c1 / lambda_i`` around c,
    the model that the last phase ended with; lambda_i = lambda growth^(i - 1). It has ``phase_rounds`` steps of AC-SA,
    see `AcceleratedDescent`, with mu = lambda_i and a = learning_rate / (1 + learning_rate lambda_i). All
    phases have all records, and all their releases add up.

    Parameters
    ----------
    convexity
        lambda, the pull of the first phase.
    growth
        Factor by which the pull grows from phase to phase; 1: proximal point steps.
    phase_rounds
        Rounds of a phase.
    """

    state = Localized
    examples = ({"sampling": 0.3, "phase_rounds": 2, "step": "sqrt"},)
    tune = {
        "rounds": 40,
        "params.learning_rate": 4,
        "params.convexity": 0.01,
        "params.phase_rounds": {"start": 10, "whole": True},
    }

    convexity: Annotated[float, Field(gt=0)] = 0.01
    growth: Annotated[float, Field(ge=1, le=1000)] = 8.0
    phase_rounds: Annotated[int, Field(ge=1)] = 10

    @property
    def fixed_point(self) -> str:
        """A pull that grows stops models on their way."""
        return "" if self.growth == 1 else "where the growing pull stops it"

    def round(self, t: int, state: Localized, federation: RowFederation) -> Messages:  # type: ignore[override]
        """Make one step of a phase, the first of them from where the last phase ended."""
        phase, done = divmod(t - 1, self.phase_rounds)
        if not done:
            state.center = state.x = state.w
        pull = min(self.convexity * self.growth ** min(phase, 100), _STRONGEST)
        bound = np.max(
            federation.each(lambda block: block.parts.gradient_bound.max(axis=0)), axis=0
        )

        def gradient(at: Array) -> tuple[Array, Array]:
            noisy, seen = self.noisy_gradient(t, at, federation)
            return noisy + pull * (at - state.center), seen

        def project(x: Array) -> Array:
            way = x - state.center
            length = np.sqrt(np.square(way, dtype=np.float64).sum(axis=(1, 2)))
            part = np.minimum(1, 2 * bound / pull / np.maximum(length, np.finfo(float).tiny))
            return state.center + part[:, None, None].astype(x.dtype) * way

        rate = 1 / (1 / self.rate(done + 1) + pull)
        return self.accelerate(done + 1, state, gradient, rate, pull, project)
