"""DP-ADMM sharing: ADMM sharing with Gaussian noise on what parties send (hu2019, section 4)."""

from __future__ import annotations

import math
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from admmbench.base.algorithm import parameters
from admmbench.base.sharing import Sharing, SharingState
from admmbench.base.types import Array, ColumnBlock, ColumnFederation, Guarantee
from admmbench.privacy import Cost, Gaussian, Privacy, Release, on_grid
from admmbench.problems.columns import BoundColumns
from admmbench.sensitivity import Sensitivity


@parameters
class DPADMMSharing(Sharing):
    """ADMM sharing whose parties add noise to what they share: algorithm (16).

    The noise ``D_m xi``, with ``xi ~ N(0, sigma^2 (D_m^T D_m)^-1)``, is normal in the range of D_m: sigma times normal
    coordinates in an orthonormal basis, which needs no full rank. Models are evaluated as the parties keep them,
    without noise.

    A neighbour differs in one feature column of one party (definition 2).

    Parameters
    ----------
    noise
        Standard deviation sigma, as the paper's figures set it; by default that of theorem 3 for the budget.
    b1
        Bound on the norms of x, z and y (assumption 2.1). It is assumed, not enforced.
    """

    release = Release("gaussian", "predictions", own_neighbours="column")
    variables = {
        **Sharing.variables,
        "epsilon_corollary": ("1", "composed privacy loss epsilon, corollary 1"),
    }

    coupling: Literal["parallel", "averaged"] = "parallel"
    noise: Annotated[float, Field(gt=0)] | None = None
    b1: Annotated[float, Field(gt=0)] = 1.0

    def guarantee(self, sensitivity: Literal["local", "global"]) -> Guarantee:
        """There is no guarantee, whatever the settings."""
        return Guarantee(
            "none",
            "lemma 1 does not bound what one column changes, and the noise lies in the range of a party's columns, "
            "which tells neighbours apart; the total is what the paper claims",
            ("lemma_1",),
        )

    # What its totals are worth.
    caveats = ("lemma_1",)

    def sensitivity(self, n_features: int, problem: BoundColumns) -> float:
        """Bound the l2 sensitivity of ``D_m x_m`` by lemma 1; c1 of assumption 2.2 is the penalty's curvature."""
        bracket = problem.weight * problem.penalty.curvature
        bracket += (1 + problem.n_agents * self.rho) * self.b1
        return 3 / (n_features * self.rho) * bracket

    def cost(
        self, t: int, problem: BoundColumns, privacy: Privacy, release: Release
    ) -> Cost | None:
        """If the method sets its own sigma, lemma 1 gives its cost."""
        if self.noise is None:
            return super().cost(t, problem, privacy, release)
        features = {own.stop - own.start for own in problem.columns}
        bounds = [
            on_grid(np.array(self.sensitivity(n, problem)), math.sqrt(min(n, problem.n_samples)))[1]
            for n in features
        ]
        return Gaussian(self.noise / float(max(bounds)))

    def message(self, block: ColumnBlock, predictions: Array, problem: BoundColumns) -> Array:
        """Return predictions with noise; theorem 3 gives sigma."""
        bound = np.full((1, problem.n_seeds), self.sensitivity(block.parts.n_features, problem))
        std = None if self.noise is None else np.full_like(bound, self.noise)
        xi = block.noise.gaussian(Sensitivity(l2=bound), std)
        if isinstance(xi, float):  # infinite budget
            return predictions
        basis = block.parts.basis
        coordinates = np.zeros(xi.shape, predictions.dtype) + xi
        noisy: Array = predictions + coordinates[0, :, : basis.shape[1]] @ basis.T
        return noisy

    def measure(
        self, t: int, state: SharingState, federation: ColumnFederation
    ) -> dict[str, Array]:
        """Return ``epsilon'`` of (17), ``(epsilon', t delta + delta')``-DP after t rounds, with ``delta' = delta``."""
        privacy = federation.privacy
        epsilon = privacy.epsilon
        if self.noise is not None:
            calibration = math.sqrt(2 * math.log(1.25 / privacy.delta))
            problem = federation.problem
            bounds = federation.each(lambda b: self.sensitivity(b.parts.n_features, problem))
            epsilon = calibration * max(bounds) / self.noise
        with np.errstate(over="ignore"):
            total = math.sqrt(2 * t * math.log(1 / privacy.delta)) * epsilon
            total += t * epsilon * np.expm1(epsilon)
        corollary = {"epsilon_corollary": np.full(federation.problem.n_seeds, total)}
        return {**Sharing.measure(self, t, state, federation), **corollary}
