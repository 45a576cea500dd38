"""DP-ADMM: a transcription, and its printed step sizes."""

import math

import numpy as np
import pytest

from admmbench.algorithms.dp_admm import DPADMM
from admmbench.base.types import Subproblem
from admmbench.privacy import Privacy
from admmbench.problems import as_problem
from admmbench.problems.rows import Objective
from tests.algorithms.literal_huang2019 import (
    EPS,
    LOG,
    LOGISTIC,
    RHO,
    SEEDS,
    STRENGTH,
    J,
    Literal,
    P,
    T,
    check_rounds,
    run_of,
)
from tests.algorithms.runs import rounds


def dp_admm(smooth, c_w):
    def round(run, k):
        """Algorithm 3 with (38) or (39)."""
        for i in range(P):
            m, c1 = run.m[i], run.c1[i]
            if smooth:
                eta = 1 / (
                    c1**2 / 4 + STRENGTH + 4 * c1 * math.sqrt(J * k * LOG) / (m * run.eps * c_w)
                )
            else:
                c2 = math.sqrt(J)
                first = 2 * k * (c1 + STRENGTH * c2) ** 2
                second = 16 * k * J * c1**2 * LOG / (m * run.eps) ** 2
                eta = c_w / math.sqrt(first + second)
            g = run.gradient(i, run.z[i])
            v = (-g + run.gamma[i] + RHO * run.w + run.z[i] / eta) / (RHO + 1 / eta)
            run.z[i] = run.noisy(v, i, c1 / (m * (RHO + 1 / eta)), k)
        run.finish()

    return round


KINDS = pytest.mark.parametrize(("penalty", "c_w"), [("l1", 3), ("l2", 5)])


@KINDS
def test_trajectory_is_the_literal_one(penalty, c_w):
    check_rounds("dp_admm", {"rho": RHO, "c_w": c_w}, dp_admm(penalty == "l2", c_w), penalty)


@KINDS
def test_what_is_plotted_are_the_means_of_section_6(penalty, c_w):
    """Theorem 3 averages w~^0 to w~^(t-1), theorem 4 w~^1 to w~^t; w^1 to w^t in both."""
    problem, params = {**LOGISTIC, "penalty": penalty}, {"rho": RHO, "c_w": c_w}
    run = rounds(run_of("dp_admm", params, T, problem=problem, epsilon=EPS))
    models, server, literal = [np.zeros((P, len(SEEDS), J))], [], Literal(penalty=penalty)
    next(run)
    for t, (federation, state, _) in enumerate(run, start=1):
        models.append(state.z[:, :, 0].copy())
        server.append(state.w[:, 0].copy())
        means = np.mean(models[1:] if penalty == "l2" else models[:-1], axis=0)
        gaps = np.linalg.norm(means - np.mean(server, axis=0), axis=2)
        found = federation.observers[0].measure(t, state, federation)["augmented_objective"]
        for s in range(len(SEEDS)):
            wanted = sum(literal.f(i, means[i, s]) + RHO * gaps[i, s] for i in range(P))
            assert found[s] == pytest.approx(wanted, rel=1e-6)


def test_the_paper_prints_these_step_sizes():
    """Section VI: with the constants of Adult, m = 400 records, k = 7."""

    class Whole:
        size = 104
        penalty_curvature = 1e-6
        penalty_gradient_bound = 1e-6 * math.sqrt(104)

    class Parts:
        n_samples = np.array([400])
        gradient_bound = np.array([[1.0]])
        curvature_bound = np.array([[0.25]])

    eps, delta, k = 0.05, 1e-4, 7
    log = math.log(1.25 / delta)
    l1 = 23 / math.sqrt(
        2 * k * (1 + 1e-6 * math.sqrt(104)) ** 2 + 1664 * k * log / (400 * eps) ** 2
    )
    l2 = 1 / (0.25 + 1e-6 + 2 * math.sqrt(416 * k * log) / (89 * 400 * eps))
    for kind, c_w, eta in (("nonsmooth", 23, l1), ("smooth", 89, l2)):
        penalty = "l1" if kind == "nonsmooth" else "l2"
        whole, parts = Whole(), Parts()
        whole.problem = as_problem({"loss": "logistic", "penalty": penalty}, "rows")
        whole.penalty = whole.problem.penalty
        parts.whole = whole
        parts.objective = parts.mean_objective = Objective(parts, np.array([[400]]), 1e-6)
        zero = np.zeros((1, 1, 1, 104))
        rhos = 0.1, 0.1, 0.1
        models = zero, zero, zero[0], zero, zero[0]
        sub = Subproblem(k, *models, *rhos, parts, None, Privacy(eps, delta), None)
        for step_size in (kind, "auto"):
            found = DPADMM(step_size=step_size, c_w=c_w).schedule(sub)["inverse_eta"]
            assert found[0, 0] == pytest.approx(1 / eta)
