"""Literal transcription for the methods of ryu2021 and ryu2022, agent by agent and seed by seed, in float64.

The transcription has the same noise, so that whole trajectories must agree: a wrong sign, order, schedule or
constant anywhere shows.
"""

import math

import numpy as np
from scipy import special

from admmbench.contracts.made_up_data import make_dataset
from admmbench.spec.run import RunSpec
from tests.algorithms.runs import assert_trajectories, states
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
        yield run.w, run.z


def proximal(a):
    def step(t, r, g, w, dual, z):
        eta = a / math.sqrt(t)
        return (-g + r * w + dual + z / eta) / (r + 1 / eta)

    return step


def trust_region(radius):
    def step(t, r, g, w, dual, z):
        return np.minimum(np.maximum((-g + r * w + dual) / r, z - radius(t)), z + radius(t))

    return step


def check_trajectory(name, literal, params, variant):
    """Compare models with those that ``literal(run, rounds)`` yields."""
    dataset, reference, seeds = make_dataset(N, 30, J, K), variant == "reference", [4, 1]
    # The papers' OutP divides by an agent's own records, and the code gives each agent the whole penalty.
    problem = {
        "loss": "softmax",
        "strength": 2 * BETA,
        "per": "agent" if reference else "total",
        "average": "agents" if name == "outp" else "records",
    }
    spec = RunSpec(
        dataset=dataset,
        algorithm=name,
        params={**params, "rho": RHO},
        variant=variant,
        problem=problem,
        agents=P,
        epsilon=EPS,
        delta=DELTA,
        rounds=T,
        seeds=seeds,
        dtype="float64",
    )
    # The authors' code counts rounds from 0, and does one more.
    runs = [literal(Literal(dataset, seed, reference), T + reference) for seed in seeds]
    assert_trajectories(states(spec), runs)
