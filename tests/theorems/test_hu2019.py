"""Lemmas 3 and 4 of hu2019, with the sign that makes theorem 1 fail, and what repairs them."""

import itertools
from typing import Any

import numpy as np
import pytest

from admmbench import simulate
from admmbench.spec.run import RunSpec
from tests.algorithms.runs import rounds


def lemma3(old, new, z):
    """Both sides of (21)."""
    M, total = len(old), old.sum(axis=0)
    left = np.sum((new.sum(axis=0) - z) ** 2) - np.sum((total - z) ** 2)
    for m in range(M):
        left -= np.sum((total - old[m] + new[m] - z) ** 2) - np.sum((total - z) ** 2)
    return left, np.sum((new - old) ** 2)


def test_lemma_3_is_violated_by_three_equal_steps():
    """The left side is ||sum of steps||^2 less their squares, not the reverse: at most M - 2 times the right one."""
    for M, holds in ((2, True), (3, False)):
        left, right = lemma3(np.zeros((M, 1)), np.ones((M, 1)), np.zeros(1))
        assert (left <= right + 1e-12) == (M == 2) == holds
        assert left == pytest.approx((M - 1) * right)
    rng = np.random.default_rng(0)
    for M in (2, 3, 5):
        left, right = lemma3(rng.normal(size=(M, 4)), rng.normal(size=(M, 4)), rng.normal(size=4))
        assert left <= (M - 1) * right + 1e-9


def course(D, rho, weight, rounds):
    """(6), (7), (8) for l(z) = ||z - 1||^2 / 2 and R_m = ||x||^2 / 2: (5) and the steps in each round."""
    M, (N, d) = len(D), D[0].shape
    x, z, y = np.zeros((M, d)), np.zeros(N), np.zeros(N)

    def lagrangian(x, z, y):
        gap = sum(D[m] @ x[m] for m in range(M)) - z
        value = np.sum((z - 1) ** 2) / 2 + weight / 2 * np.sum(x**2)
        return value + y @ gap + rho / 2 * gap @ gap

    for _ in range(rounds):
        before, old = lagrangian(x, z, y), (x, z)
        total = sum(D[m] @ x[m] for m in range(M))
        hessians = [weight * np.eye(d) + rho * D[m].T @ D[m] for m in range(M)]
        x = np.array(
            [
                np.linalg.solve(H, -D[m].T @ (y + rho * (total - D[m] @ x[m] - z)))
                for m, H in enumerate(hessians)
            ]
        )
        total = sum(D[m] @ x[m] for m in range(M))
        z = (1 + y + rho * total) / (1 + rho)
        y = y + rho * (total - z)
        yield lagrangian(x, z, y) - before, x - old[0], z - old[1], np.linalg.norm(total - z)


def test_theorem_1_is_violated_by_three_parties():
    """One record, which each party has alike: rho = 2 meets assumption 1, and the residual does not vanish."""
    rho, weight, L = 2.0, 0.1, 1.0
    sigma_max = 1.0  # of D_m = 1
    assert weight + rho >= 2 * sigma_max
    assert rho * (L + rho) > 2 * L**2
    assert rho >= L
    residuals = {
        M: [each[-1] for each in course([np.ones((1, 1))] * M, rho, weight, 200)] for M in (2, 3)
    }
    assert residuals[2][-1] < 1e-3
    assert residuals[3][-1] > 1e6


@pytest.mark.parametrize("M", [2, 3, 5])
def test_lemma_4_holds_with_a_modulus_that_grows_with_the_parties(M):
    """gamma_m(rho) >= (M - 1) rho sigma_max, in place of 2 sigma_max."""
    rng, rho = np.random.default_rng(M), 2.0
    D = rng.normal(size=(M, 6, 2))
    tops = np.array([np.linalg.eigvalsh(each.T @ each)[-1] for each in D])
    bottoms = np.array([np.linalg.eigvalsh(each.T @ each)[0] for each in D])
    weight = ((M - 1) * rho * tops - rho * bottoms).max()
    spare = (weight + rho * bottoms - (M - 1) * rho * tops) / 2
    # Lemma 2, y = grad l(z), holds from the first round on.
    for change, dx, dz, _ in itertools.islice(course(list(D), rho, weight, 50), 1, None):
        bound = -spare @ np.sum(dx**2, axis=1) - ((1 + rho) / 2 - 1 / rho) * np.sum(dz**2)
        assert change <= bound + 1e-9


def sharing(rho=3.0, **changes):
    """Run of the squared loss whose penalty meets assumption 1."""
    given = {
        "dataset": "diabetes",
        "algorithm": "admm_sharing",
        "params": {"rho": rho, "theorems": True},
        "problem": {"loss": "squared", "strength": 4.0},
        "agents": {"scheme": "columns", "blocks": [5, 4, 2]},
        "rounds": 6,
        "dtype": "float64",
    }
    return {**given, **changes}


def test_both_sides_of_lemma_4_are_those_of_the_variables():
    rho = 3.0
    before: tuple[Any, ...] = ()
    for t, (federation, state, _) in enumerate(rounds(RunSpec(**sharing(), seeds=(0,)))):
        problem = federation.problem
        D = [np.asarray(block.parts.D) for block in federation.blocks]
        weight, y = 4.0 * problem.n_samples, problem.y
        x, z, dual = [each[0].copy() for each in state.x], state.z[0].copy(), state.dual[0]
        gap = sum(A @ each for A, each in zip(D, x, strict=True)) - z
        now = np.sum((z - y) ** 2) / 2 + weight / 2 * sum(each @ each for each in x)
        now += dual @ gap + rho / 2 * gap @ gap
        if before:
            old_x, old_z, old = before
            printed = repaired = (rho / 2 - 1 / rho) * np.sum((z - old_z) ** 2)
            for A, was, new in zip(D, old_x, x, strict=True):
                eigenvalues, step = np.linalg.eigvalsh(A.T @ A), np.sum((new - was) ** 2)
                modulus, top = weight + rho * eigenvalues[0], eigenvalues[-1]
                printed += (modulus / 2 - top) * step
                repaired += (modulus - 2 * rho * top) / 2 * step
            found = federation.observers[0].measure(t, state, federation)
            sides = [float(found[f"lemma4_{name}"][0]) for name in ("left", "repaired", "right")]
            assert sides == pytest.approx([printed, repaired, old - now], rel=1e-6, abs=1e-6)
        before = x, z, now


def test_what_assumption_1_asks_for():
    for changes, words in (
        ({"problem": {"loss": "squared", "strength": 1e-3}}, "assumption 1 is not met: gamma_m"),
        ({"params": {"rho": 0.5, "theorems": True}}, "L = 1"),
        ({"dtype": "float32"}, "dtype: float64"),
    ):
        with pytest.raises(ValueError, match=words):
            simulate(seeds=1, **sharing(**changes))
