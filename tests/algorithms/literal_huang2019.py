"""What literal transcriptions for the logistic problem share: agent by agent, seed by seed, record by record.

The methods of huang2019 and the baselines solve its problem, on records in the unit ball. Transcriptions draw from the
same streams, in float64, and leave exact subproblems to scipy; whole trajectories must agree.
"""

import math
from dataclasses import replace
from unittest.mock import patch

import numpy as np
from scipy import optimize

from admmbench.contracts.made_up_data import make_dataset
from admmbench.contracts.runs import run_without_engine
from admmbench.datasets import Attribute
from admmbench.privacy import Noise
from admmbench.spec.run import RunSpec
from tests.algorithms.runs import assert_trajectories, states
from tests.noise import noisy

P, J, N = 3, 6, 62
SIZES = [21, 21, 20]
STRENGTH, EPS, DELTA, RHO, T, SEEDS = 0.003, 0.9, 1e-4, 0.2, 6, [4, 1]
LOG = math.log(1.25 / DELTA)
LOGISTIC = {"loss": "logistic", "penalty": "l2", "strength": STRENGTH, "per": "agent"}
UNEQUAL = {"scheme": "by_writer"}


def in_unit_ball(n_classes=2):
    """Records of norm at most 1, as huang2019 prepares its data."""
    made = make_dataset(N, 30, J, n_classes)
    longest = 1.001 * np.linalg.norm(np.concatenate([made.X_train, made.X_test]), axis=1).max()
    return replace(made, X_train=made.X_train / longest, X_test=made.X_test / longest)


def unequal(sizes=(40, 15, 7)):
    """Agents of so many records, 62 together."""
    data = in_unit_ball()
    of = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    writer = Attribute(tuple("abcdefg"[: len(sizes)]), of, np.zeros(data.n_test, np.int32))
    return replace(data, attributes={"writer": writer})


class Literal:
    """State and equations of a transcription, for one seed."""

    def __init__(self, seed=0, penalty="l2", eps=EPS, worst_case=False):
        data, cuts = in_unit_ball(), np.cumsum(SIZES)[:-1]
        self.A = np.split(data.X_train.astype(np.float64), cuts)
        self.b = np.split(2.0 * data.y_train - 1, cuts)
        self.m = SIZES
        self.c1 = [1.0 if worst_case else np.linalg.norm(A, axis=1).max() for A in self.A]
        self.l1, self.eps, self.seed = penalty == "l1", eps, seed
        self.w = np.zeros(J)
        self.z = [np.zeros(J) for _ in range(P)]
        self.gamma = [np.zeros(J) for _ in range(P)]

    def loss(self, i, w):
        return sum(
            math.log1p(math.exp(-b * (a @ w))) for a, b in zip(self.A[i], self.b[i], strict=True)
        )

    def f(self, i, w):
        penalty = np.abs(w).sum() if self.l1 else (w @ w) / 2
        return self.loss(i, w) / self.m[i] + STRENGTH * penalty

    def loss_gradient(self, i, w):
        terms = (
            -b * a / (1 + math.exp(b * (a @ w))) for a, b in zip(self.A[i], self.b[i], strict=True)
        )
        return sum(terms) / self.m[i]

    def penalty(self, w):
        return STRENGTH * (np.sign(w) if self.l1 else w)

    def gradient(self, i, w):
        return self.loss_gradient(i, w) + self.penalty(w)

    def solve(self, i, linear, ridge=0.0, rho=RHO):
        """The minimiser of f_i(v) - <linear, v> + rho/2 ||v - w||^2 + ridge/2 ||v||^2."""

        def smooth(v):
            return self.loss_gradient(i, v) - linear + rho * (v - self.w) + ridge * v

        if not self.l1:
            return optimize.root(lambda v: smooth(v) + STRENGTH * v, self.w, tol=1e-13).x

        # v = up - down with up, down >= 0 makes the l1 norm linear.
        def split(u):
            v = u[:J] - u[J:]
            value = self.loss(i, v) / self.m[i] - linear @ v + rho / 2 * ((v - self.w) ** 2).sum()
            gradient = np.concatenate([smooth(v), -smooth(v)]) + STRENGTH
            return value + ridge / 2 * v @ v + STRENGTH * u.sum(), gradient

        u = optimize.minimize(
            split,
            np.concatenate([np.maximum(self.w, 0), np.maximum(-self.w, 0)]),
            jac=True,
            method="L-BFGS-B",
            bounds=[(0, None)] * (2 * J),
            options={"gtol": 1e-12, "ftol": 1e-16, "maxiter": 5000},
        ).x
        return u[:J] - u[J:]

    def noisy(self, value, i, bound, k, release=0):
        """With noise for a replaced record, which moves the value by twice the bound."""
        if math.isinf(self.eps):
            return value
        where = (self.seed, i, k, release)
        return noisy(value, "gaussian", bound, 2 * math.sqrt(2 * LOG) / self.eps, where)

    def finish(self):
        """Lines 8 to 11 of algorithm 3: the server, then the dual variables."""
        self.w = np.sum(self.z, axis=0) / P - np.sum(self.gamma, axis=0) / P / RHO
        for i in range(P):
            self.gamma[i] = self.gamma[i] - RHO * (self.z[i] - self.w)


def run_of(name, params, rounds, data=None, problem=LOGISTIC, **given):
    """A run in double precision."""
    usual = {"agents": P, "seeds": SEEDS, "dtype": "float64"}
    usual |= {"sensitivity": "global", "delta": DELTA}
    return RunSpec(
        dataset=data or in_unit_ball(),
        algorithm=name,
        params=params,
        problem=problem,
        rounds=rounds,
        **{**usual, **given},
    )


def played(*run, **given):
    """States after each round of a run."""
    return states(run_of(*run, **given))


def check_trajectory(name, params, literal, eps=EPS, penalty="l2", sensitivity="global"):
    """Compare models with those that ``literal(run)`` yields: the global one, and the local ones or None."""
    problem = {**LOGISTIC, "penalty": penalty}
    found = played(name, params, T, problem=problem, epsilon=eps, sensitivity=sensitivity)
    worst_case = sensitivity == "global"
    runs = [literal(Literal(seed, penalty, eps, worst_case)) for seed in SEEDS]
    # A search with bounds, for exact subproblems with l1, goes less far.
    assert_trajectories(found, runs, rtol=1e-5 if penalty == "l1" else 1e-7)


def check_rounds(name, params, literal, penalty="l2", eps=EPS):
    """Compare a method of huang2019 with what ``literal(run, k)`` does in rounds k = 1, ..., T."""

    def trajectory(run):
        for k in range(1, T + 1):
            literal(run, k)
            yield run.w, run.z

    check_trajectory(name, params, trajectory, eps, penalty, "local")


def released(name, params, data, loss, records, w):
    """What the only agent releases first, without noise, from a model that is known; and the stated sensitivity."""
    problem = {"loss": loss, "strength": 0.02, "per": "agent", "records": records}
    spec = run_of(name, params, 1, data, problem, agents=1, seeds=[0])
    begun, drawn = run_without_engine(spec, data, 0), []
    state = begun.state
    state.w[:], state.z[:] = w, w

    def none(noise, sensitivity, sampling=1.0):
        drawn.append(sensitivity.l2.item())
        return 0.0

    with patch.object(Noise, "gaussian", none):
        spec.method.round(1, state, begun.federation)
    return state.z[0, 0], drawn[0]
