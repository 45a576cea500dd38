"""Literal transcription for the methods of huang2019: agent by agent, seed by seed, record by record.

The transcription draws from the same streams, in float64, and leaves exact subproblems to scipy; whole trajectories
must agree, with l1 and with l2. What a method alone does is in its own tests.
"""

import math

import numpy as np
import pytest
from scipy import optimize

from admmbench import simulate
from tests.algorithms.records import SIZES, J, P, in_unit_ball
from tests.noise import noisy

STRENGTH, EPS, DELTA, RHO, T, SEEDS = 0.003, 0.9, 1e-4, 0.2, 7, [4, 1]
LOG = math.log(1.25 / DELTA)


class Literal:
    """State and helpers of the transcription, for one seed."""

    def __init__(self, dataset, seed, penalty, eps=EPS):
        X = dataset.X_train.astype(np.float64)
        b = 2.0 * dataset.y_train - 1
        cuts = np.cumsum(SIZES)[:-1]
        self.A, self.b = np.split(X, cuts), np.split(b, cuts)
        self.m = SIZES
        self.c1 = [np.linalg.norm(A, axis=1).max() for A in self.A]
        self.l1, self.eps = penalty == "l1", eps
        self.seed = seed
        self.sizes = []  # of the round's noise, for each agent
        self.w = np.zeros(J)
        self.z = [np.zeros(J) for _ in range(P)]
        self.gamma = [np.zeros(J) for _ in range(P)]
        self.models, self.server = [], []  # of former rounds, if the method keeps them
        self.measured = {}  # by the names of variables, what the method measures besides the usual

    def loss(self, i, w):
        return sum(
            math.log1p(math.exp(-b * (a @ w))) for a, b in zip(self.A[i], self.b[i], strict=True)
        )

    def f(self, i, w):
        penalty = np.abs(w).sum() if self.l1 else (w @ w) / 2
        return self.loss(i, w) / self.m[i] + STRENGTH * penalty

    def loss_gradient(self, i, w):
        return (
            sum(
                -b * a / (1 + math.exp(b * (a @ w)))
                for a, b in zip(self.A[i], self.b[i], strict=True)
            )
            / self.m[i]
        )

    def penalty(self, w):
        return STRENGTH * (np.sign(w) if self.l1 else w)

    def gradient(self, i, w):
        return self.loss_gradient(i, w) + self.penalty(w)

    def solve(self, i, linear, ridge=0.0):
        """The minimiser of f_i(v) - <linear, v> + rho/2 ||v - w||^2 + ridge/2 ||v||^2, by L-BFGS-B."""
        if not self.l1:
            return optimize.minimize(
                lambda v: (
                    self.f(i, v)
                    - linear @ v
                    + RHO / 2 * ((v - self.w) ** 2).sum()
                    + ridge / 2 * v @ v
                ),
                self.w,
                jac=lambda v: self.gradient(i, v) - linear + RHO * (v - self.w) + ridge * v,
                method="L-BFGS-B",
                options={"gtol": 1e-12, "ftol": 1e-16, "maxiter": 5000},
            ).x

        # v = up - down with up, down >= 0 makes the l1 norm linear.
        def value(u):
            v = u[:J] - u[J:]
            loss = self.loss(i, v) / self.m[i] + STRENGTH * u.sum()
            return loss - linear @ v + RHO / 2 * ((v - self.w) ** 2).sum()

        def slope(u):
            v = u[:J] - u[J:]
            g = self.loss_gradient(i, v) - linear + RHO * (v - self.w)
            return np.concatenate([g + STRENGTH, -g + STRENGTH])

        start = np.concatenate([np.maximum(self.w, 0), np.maximum(-self.w, 0)])
        u = optimize.minimize(
            value,
            start,
            jac=slope,
            method="L-BFGS-B",
            bounds=[(0, None)] * (2 * J),
            options={"gtol": 1e-12, "ftol": 1e-16, "maxiter": 5000},
        ).x
        return u[:J] - u[J:]

    def noisy(self, value, i, stiffness, k, tolerance=0.0):
        """With noise for the sensitivity 2 c1 / (m stiffness) of a replaced record."""
        bound = (self.c1[i] / self.m[i] + 2 * tolerance) / stiffness
        where = (self.seed, i, k, 0)
        found = noisy(value, "gaussian", bound, 2 * math.sqrt(2 * LOG) / self.eps, where)
        self.sizes.append(np.abs(found - value).mean())
        return found

    def finish(self):
        """Lines 8 to 11 of algorithm 3: the server, then the dual variables."""
        self.w = np.sum(self.z, axis=0) / P - np.sum(self.gamma, axis=0) / P / RHO
        for i in range(P):
            self.gamma[i] = self.gamma[i] - RHO * (self.z[i] - self.w)


def check_trajectory(name, literal, penalty, params=None, eps=EPS):
    """Compare a run of a method with what ``literal(run, k)`` does in rounds k = 1, ..., T."""
    dataset = in_unit_ball()
    trace = simulate(
        dataset,
        name,
        params,
        problem={"loss": "logistic", "penalty": penalty, "strength": STRENGTH, "per": "agent"},
        agents=P,
        epsilon=eps,
        delta=DELTA,
        rounds=T,
        evaluate_every=1,
        seeds=SEEDS,
        dtype="float64",
    )
    for seed in SEEDS:
        run = Literal(dataset, seed, penalty, eps)
        for k in range(1, T + 1):
            run.sizes = []
            literal(run, k)
            found = trace.sel(seed=seed, round=k)
            objective = sum(run.f(i, run.w) for i in range(P))
            assert float(found.train_loss) == pytest.approx(objective, rel=1e-7)
            violation = sum(np.abs(run.w - z).sum() for z in run.z)
            assert float(found.consensus_violation) == pytest.approx(violation, rel=1e-5, abs=1e-6)
            empirical = sum(run.loss(i, run.z[i]) / run.m[i] for i in range(P)) / P
            assert float(found.empirical_loss) == pytest.approx(empirical, rel=1e-7)
            # Rounding to the grid is not counted.
            noise = np.mean(run.sizes) if run.sizes else 0
            assert float(found.noise_magnitude) == pytest.approx(noise, rel=1e-2)
            for variable, value in run.measured.items():
                assert float(found[variable]) == pytest.approx(value, rel=1e-6)
