"""AMP: approximate minima perturbation (Iyengar et al. 2019), one model of each agent in a single round."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import Field
from scipy.special import gammainccinv

from admmbench.base.algorithm import Resources, parameters
from admmbench.base.consensus import OverRows
from admmbench.base.exact import gradient_rounding, solve
from admmbench.base.types import Array, Messages, Models, RowBlock, RowFederation, Strategy, factors
from admmbench.privacy import (
    Approximate,
    Cost,
    Noise,
    Perturbed,
    Privacy,
    Release,
    finest,
    on_grid,
    samplers,
)
from admmbench.problems.needs import Need
from admmbench.problems.rows import BoundRows, Objective, RowParts


@parameters
class AMP(OverRows):
    """One round of objective perturbation, with a minimiser that need not be exact.

    R. Iyengar, J. P. Near, D. Song, O. Thakkar, A. Thakurta and L. Wang, "Towards practical differentially private
    convex optimization" (IEEE S&P 2019), algorithm 1; budgets are split as in the authors' code. The paper's algorithm
    is for one holder of all records. Here each agent finds a model of its own records, and the server averages the
    models with the weights that agents have in the objective. With m records, agent i finds v with a gradient of norm
    at most gamma of

        f_i(v) + <b, v> + (ridge / 2) ||v||^2,    b normal,

    where f_i's penalty and the ridge have the weight Lambda / m together. It sends v with normal noise.
    docs/privacy/bounds.md has the cost: less than the budget, and half of the part for b where a record contributes
    nothing. Of losses with one prediction more is proved (Redberg, Koskela and Wang 2023), so that a stated total leads
    to less noise.

    Parameters
    ----------
    noise_share
        Part of the budget for the objective that pays for b; the rest pays for curvature. ``eps_frac`` of the code.
    output_share
        Part of epsilon and of delta that pays for the error of the solver. ``eps_out_frac`` of the code.
    tolerance
        gamma: largest norm of the gradient that counts as solved, in double precision whatever the precision of the
        run, beside what rounding may leave. The noise on v is proportional to both; at the default it hardly matters.
    bound
        What the ledger knows of the release: ``quantile``, an epsilon at its delta; ``profile``, one at every delta and
        Renyi divergences, for losses with one prediction.
    """

    release = Release("gaussian", "objective", scaled_for="replace")
    one_shot = True
    resources = Resources(state_copies=1)
    examples = (
        {"noise_share": 0.5, "output_share": 0.2, "tolerance": 1e-6},
        {"bound": "profile"},
    )
    tune = {"params.noise_share": {"start": 0.9, "most": 0.99}}
    gradients = 200  # about so many steps
    fixed_point = "at the mean of the agents' own optima"

    noise_share: Annotated[float, Field(gt=0, lt=1)] = 0.9
    output_share: Annotated[float, Field(gt=0, lt=1)] = 0.01
    tolerance: Annotated[float, Field(gt=0)] = 1e-10
    # Left out where it is the default, so that runs of before keep their names.
    bound: Annotated[
        Literal["quantile", "profile"], Field(exclude_if=lambda bound: bound == "quantile")
    ] = "quantile"

    @property
    def needs(self) -> tuple[Need, ...]:
        """What the proof covers."""
        needs: tuple[Need, ...] = (
            "convex loss",
            "bounded derivative",
            "unclipped derivative",
            "smooth penalty",
        )
        return (*needs, "one output") if self.bound == "profile" else needs

    def cost(self, t: int, problem: BoundRows, privacy: Privacy, release: Release) -> Cost | None:
        """There is one release, which costs each agent the same."""
        if not privacy.private:
            return None
        return self.proved(problem, privacy, release)

    def proved(self, problem: BoundRows, privacy: Privacy, release: Release) -> Cost:
        """Return what is proved of the release."""
        budget = self.budget(problem, privacy)
        known = budget.profile if self.bound == "profile" else budget.cost
        return known(release.contributions(privacy.relation))

    def budget(self, problem: BoundRows, privacy: Privacy) -> Budget:
        """Split the budget."""
        rank = problem.loss.rank(problem.model_shape[0])
        out = self.output_share * privacy.epsilon, self.output_share * privacy.delta
        inside = privacy.epsilon - out[0]
        noise = self.noise_share * inside
        return Budget(
            noise, inside - noise, privacy.delta - out[1], *out, rank, problem.size, privacy.delta
        )

    def round(self, t: int, state: Models, federation: RowFederation) -> Messages:
        """Find models of the agents, and their mean."""

        def find(block: RowBlock) -> None:
            parts, noise = block.parts, block.noise
            state.z[block.agents] = (
                self.perturbed(parts, noise, federation.strategy)
                if noise.privacy.private
                else parts.optimum()
            )

        federation.each(find)
        state.w = self.mean(state.z, federation)
        return Messages(down=(), up=(state.z,))

    def perturbed(self, parts: RowParts, noise: Noise, strategy: Strategy) -> Array:
        """Return what the agents of a block send, shape (B, S, K, J), float64."""
        budget = self.budget(parts.whole, noise.privacy)
        release = noise.enter(self.proved(parts.whole, noise.privacy, noise.release))
        f = parts.mean_objective
        nothing = np.zeros((*parts.curvature_bound.shape, *noise.shape))
        std = budget.noise_std(parts.gradient_bound, f.divisor)
        b = nothing + release.draw(std, finest(std))
        convexity = budget.convexity(parts.curvature_bound) / f.divisor
        ridge = np.maximum(convexity - f.penalty_curvature, 0)
        convexity = np.maximum(convexity, f.penalty_curvature)
        length = std * math.sqrt(parts.whole.size)
        condition = 1 + parts.curvature_bound / convexity
        rounding = gradient_rounding(f, samplers.REACH * length, condition)
        tolerance = self.tolerance + rounding
        v = strategy.minimize(
            f, noise, ridge, b, lambda b: self.minimize(f, b, ridge, convexity, tolerance)
        )
        # The solutions of both neighbours are off by at most this, in any direction.
        off = (self.tolerance + 2 * rounding + samplers.CELL * length) / convexity
        grid, apart = on_grid(2 * off, math.sqrt(parts.whole.size))
        noisy: Array = v + release.draw(budget.output_std(apart), grid, counted=False)
        return noisy

    def minimize(
        self, f: Objective, b: Array, ridge: Array, convexity: Array, tolerance: Array
    ) -> Array:
        """Minimise ``f_i(v) + <b, v> + (ridge / 2) ||v||^2``, see `solve`."""
        weight = factors(ridge, like=b)

        def quadratic(v: Array) -> Array:
            pull: Array = weight * v + b
            return pull

        return solve(f, np.zeros_like(b), quadratic, convexity, tolerance)


@dataclass(frozen=True)
class Budget:
    """Split of one privacy budget, with the convexity that it requires and the privacy loss that it costs.

    Attributes
    ----------
    noise
        epsilon_3 of the paper, for b.
    curvature
        epsilon_1 - epsilon_3, for the Hessian.
    delta_objective
        delta_1, for b.
    output, delta_output
        epsilon_2 and delta_2, for the error of the solver.
    rank
        Bound on the rank of a record's Hessian.
    size
        Entries of a model.
    delta
        Of the release.
    """

    noise: float
    curvature: float
    delta_objective: float
    output: float
    delta_output: float
    rank: int
    size: int
    delta: float

    def dimensions(self, contributions: int) -> int:
        """Return the dimension in which a gradient differs by so many contributions; r of the paper for two."""
        return min(contributions * self.rank, self.size)

    def convexity(self, curvature_bound: Array) -> Array:
        """Return ``Lambda = r beta / (epsilon_1 - epsilon_3)``; any value works for records without curvature."""
        beta = np.where(curvature_bound > 0, curvature_bound, 1.0)
        found: Array = self.dimensions(2) * beta / self.curvature
        return found

    def noise_std(self, gradient_bound: Array, m: Array) -> Array:
        """Return sigma_1, for a replaced record of m; for r = 2 the quantile is ``sqrt(2 ln(1 / delta_1))``."""
        quantile = norm_quantile(self.dimensions(2), self.delta_objective)
        return 2 * gradient_bound / m * (1 + quantile) / self.noise

    def output_std(self, apart: Array) -> Array:
        """Return sigma_2, for solutions at the distance ``apart``."""
        return apart * (1 + norm_quantile(2, self.delta_output)) / self.output

    def cost(self, contributions: int) -> Approximate:
        """Return the cost of a release if neighbours differ by so many contributions; see docs/privacy/bounds.md."""
        dimensions = self.dimensions(contributions)
        epsilon = _loss(self.shift(contributions), norm_quantile(dimensions, self.delta_objective))
        epsilon += self.determinant + _loss(self.output_shift, norm_quantile(2, self.delta_output))
        return Approximate(epsilon, self.delta)

    def profile(self, contributions: int) -> Perturbed:
        """Return the same with all that is proved of a loss with one prediction."""
        known = self.cost(contributions)
        return Perturbed(
            known.epsilon,
            known.delta,
            curvature=self.determinant,
            linear=self.shift(contributions),
            dimensions=self.dimensions(contributions),
            output=self.output_shift,
            output_delta=self.delta_output,
        )

    def shift(self, contributions: int) -> float:
        """Return how far so many contributions move b, in its standard deviations."""
        quantile = norm_quantile(self.dimensions(2), self.delta_objective)
        return contributions / 2 * self.noise / (1 + quantile)

    @property
    def output_shift(self) -> float:
        """Return how far the solver's errors move the solution, in standard deviations of the noise on it."""
        return self.output / (1 + norm_quantile(2, self.delta_output))

    @property
    def determinant(self) -> float:
        """Return a bound on the logarithm of the ratio of determinants."""
        return self.dimensions(1) * math.log1p(self.curvature / self.dimensions(2))


def norm_quantile(dimensions: int, delta: float) -> float:
    """Return the value that the norm of so many standard normal numbers exceeds with probability delta."""
    return math.sqrt(2 * float(gammainccinv(dimensions / 2, delta)))


def _loss(shift: float, quantile: float) -> float:
    """Largest privacy loss of normal noise along a shift, where its part along it is below a quantile."""
    return shift * quantile + shift**2 / 2
