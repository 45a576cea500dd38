"""Literal transcription for the methods of ryu2021 and ryu2022, agent by agent and seed by seed, in float64.

The transcription has the same noise, so that whole trajectories must agree: a wrong sign, order, schedule or
constant anywhere shows.
"""

import math

import numpy as np
import pytest
from scipy import special

from admmbench import simulate
from admmbench.contracts.made_up_data import make_dataset
from tests.noise import noisy

P, K, J, N, BETA, EPS, DELTA, T = 3, 3, 7, 60, 0.02, 0.7, 1e-5, 8
RHO = {"c1": 0.3, "c2": 0.2, "period": 3, "growth": 1.5}


def rho(t, eps=EPS):
    return min(1e9, 0.3 * 1.5 ** math.floor(t / 3) + 0.2 / eps)


class Literal:
    """State and helpers of the transcription, for one seed."""

    def __init__(self, dataset, seed, reference, eps=EPS):
        self.X = np.split(dataset.X_train.astype(np.float64), P)
        self.y = np.split(dataset.y_train, P)
        self.seed, self.reference, self.eps = seed, reference, eps
        self.w = np.zeros((K, J))
        self.z = [np.zeros((K, J)) for _ in range(P)]
        self.dual = [np.zeros((K, J)) for _ in range(P)]

    def residual(self, p, z):
        h = special.softmax(self.X[p] @ z.T, axis=1)
        if self.reference:
            h = np.clip(h, 1e-9, 1)
        return h - np.eye(K)[self.y[p]]

    def gradient(self, p, z, n):
        return self.residual(p, z).T @ self.X[p] / n

    def penalty(self, z):
        return 2 * BETA * self.w if self.reference else 2 * BETA / P * z

    def sensitivity(self, p, z):
        """Equation (20) of ryu2021, over the records one by one."""
        residual = self.residual(p, z)
        return max(np.abs(np.outer(r, x)).sum() for r, x in zip(residual, self.X[p], strict=True))

    def server(self, r):
        return sum(self.z[p] - self.dual[p] / r for p in range(P)) / P


def objective_perturbation(run, step, rounds, E=1, private=True):
    """Algorithm 1 of ryu2022."""
    chain = [z.copy() for z in run.z]
    trajectory = []
    for t in range(1, rounds + 1):
        r = rho(t, run.eps)
        run.w = run.server(r)
        for p in range(P):
            iterates = []
            for e in range(E):
                g = run.gradient(p, chain[p], N)
                if private:
                    bound = run.sensitivity(p, chain[p]) / N
                    g = noisy(g, "laplace", bound, 1 / run.eps, (run.seed, p, t, e))
                g += run.penalty(chain[p])
                chain[p] = step(t, r, g, run.w, run.dual[p], chain[p])
                iterates.append(chain[p])
            run.z[p] = sum(iterates) / E
            run.dual[p] = run.dual[p] + r * (run.w - run.z[p])
        trajectory.append((run.w.copy(), [z.copy() for z in run.z]))
    return trajectory


def proximal(a):
    def step(t, r, g, w, dual, z):
        eta = a / math.sqrt(t)
        return (-g + r * w + dual + z / eta) / (r + 1 / eta)

    return step


def trust_region(radius):
    def step(t, r, g, w, dual, z):
        return np.minimum(np.maximum((-g + r * w + dual) / r, z - radius(t)), z + radius(t))

    return step


def loss(dataset, w, problem):
    """Objective of the stated problem; the agents have equally many records."""
    logp = special.log_softmax(dataset.X_train.astype(np.float64) @ w.T, axis=1)
    means = P if problem["average"] == "agents" else 1
    penalties = P if problem["per"] == "agent" else 1
    return -means * logp[np.arange(N), dataset.y_train].mean() + penalties * BETA * (w**2).sum()


def check_trajectory(name, literal, params, variant):
    """Compare a run of a method with what ``literal(run, rounds)`` returns of each round."""
    dataset = make_dataset(N, 30, J, K)
    seeds = [4, 1]
    # The papers' OutP divides by an agent's own records, and the code gives each agent the whole penalty.
    problem = {
        "loss": "softmax",
        "strength": 2 * BETA,
        "per": "agent" if variant == "reference" else "total",
        "average": "agents" if name == "outp" else "records",
    }
    trace = simulate(
        dataset,
        name,
        {**params, "rho": RHO},
        variant,
        problem=problem,
        agents=P,
        epsilon=EPS,
        delta=DELTA,
        rounds=T,
        evaluate_every=1,
        seeds=seeds,
        dtype="float64",
    )
    # The authors' code counts rounds from 0: its round t comes after t + 1 updates.
    extra = int(variant == "reference")
    for seed in seeds:
        start = (np.zeros((K, J)), np.zeros((P, K, J)))
        trajectory = [start, *literal(Literal(dataset, seed, variant == "reference"), T + extra)]
        assert list(trace["round"].values) == [*range(T + 1)]
        for t in trace["round"].values:
            w, z = trajectory[t + extra]
            found = trace.sel(seed=seed, round=t)
            assert float(found.train_loss) == pytest.approx(loss(dataset, w, problem), rel=1e-7)
            violation = sum(np.abs(w - z_p).sum() for z_p in z)
            assert float(found.consensus_violation) == pytest.approx(violation, rel=1e-5)
            wrong = (dataset.X_test @ w.T).argmax(axis=1) != dataset.y_test
            assert float(found.test_error) == wrong.mean()
