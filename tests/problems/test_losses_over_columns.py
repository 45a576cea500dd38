"""Problems over columns, made of each loss: sample by sample, by differences, and by bisection."""

from __future__ import annotations

import itertools
import math
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy import optimize

from admmbench.contracts import ensure
from admmbench.contracts.losses import Array, LossCase, close
from admmbench.datasets import Dataset
from admmbench.problems.columns import BoundColumns
from admmbench.problems.loss import ScalarLoss
from admmbench.problems.penalties import PENALTIES
from tests.problems.helpers import bind_columns
from tests.problems.losses import ALL, STRENGTH, differences, each_scalar, literal_penalty

_PARTIES = [2, 1]


@each_scalar
def test_gradients_are_differences_of_the_objective(case: LossCase) -> None:
    """Products of slopes with the parties' columns are the gradient of what evaluation reports."""
    assert case.scalar
    rng = np.random.default_rng(9)
    for data, penalty in itertools.product(case.suited, ("l1", "l2")):
        whole = bind_columns(data, case.spec, _PARTIES, 2, penalty=penalty, strength=STRENGTH)
        parties = [whole.block(slice(m, m + 1)) for m in range(2)]
        w = rng.uniform(0.2, 1, (2, 1, 3)) * rng.choice([-1, 1], (1, 3))

        def objective(w: Array, whole: BoundColumns = whole, parties: Any = parties) -> Array:
            return whole.evaluate(SimpleNamespace(w=w), parties, ALL)["train_loss"]

        what = f"{data.name}, {penalty}"
        wanted = differences(objective, w, 1)
        u = w[:, 0] @ whole.X.T
        found = whole.evaluate(SimpleNamespace(w=w), parties, ALL)
        for s in range(2):
            literal = case.values(u[s][:, None], whole.y).mean()
            literal += STRENGTH * literal_penalty(penalty, w[s])
            close(objective(w)[s], literal, 1e-10 * (1 + abs(literal)), f"{what}: train_loss")
            _held_out(case, data, whole, w[s, 0], {name: each[s] for name, each in found.items()})
        z = np.sum([party.predict(w[:, 0, party.columns]) for party in parties], axis=0)
        close(z, u, 1e-12 * (1 + np.abs(u)), f"{what}: sum of the parties' predictions")
        slopes = case.scalar.derivative(z, whole.y)
        back = np.concatenate([party.back(slopes) for party in parties], axis=1)
        gradient = back / whole.n_samples + STRENGTH * PENALTIES[
            whole.problem.penalty_name
        ].gradient(w[:, 0])
        close(gradient, wanted[:, 0], 1e-5 * (1 + np.abs(gradient)), f"{what}: gradient")
        ensure(
            math.isclose(whole.weight, whole.n_samples * STRENGTH),
            f"{what}: beside the sum of losses the penalty weighs {whole.weight}",
        )


def _held_out(
    case: LossCase, data: Dataset, whole: BoundColumns, w: Array, found: dict[str, Array]
) -> None:
    """Test loss and metric, on the records that test."""
    assert set(found) == set(whole.problem.variables(data.info))
    u = (data.X_test.astype(np.float64) @ w)[:, None]
    y = case.loss.targets(data.y_test, np.dtype(np.float64))
    close(found["test_loss"], case.values(u, y).mean(), 1e-9, "test_loss")
    score = case.loss.score(case.loss.mistakes(u, y).mean(dtype=np.float64))
    close(found[case.loss.metric], score * data.target_scale, 1e-9, "metric")


@each_scalar
def test_the_update_of_z_is_the_root(case: LossCase) -> None:
    """Each sample's root by bisection; with rho above the curvature of a loss that is not convex it is the only one."""
    assert case.scalar
    rng = np.random.default_rng(10)
    bound = case.loss.curvature_bound
    if case.loss.convex:
        rhos = [1e-8, 1e-3, 0.05, 0.7, 1e4, 1e9]
    else:
        rhos = [1.01 * bound, 1.2 * bound, 1.0, 1e4, 1e9]
    for data, rho in itertools.product(case.suited, rhos):
        whole = bind_columns(data, case.spec, _PARTIES)
        n = whole.n_samples
        targets = whole.y
        s = (targets if not data.n_classes else 0) + np.concatenate(
            [rng.normal(scale=3, size=n - 3), [0.0, 60.0, -1e4]]
        )
        dual = np.concatenate([rng.normal(size=n - 2), [0.0, 5.0]])
        roots = np.array(
            [_root(case.scalar, *each, rho) for each in zip(s, dual, targets, strict=True)]
        )
        centre = np.abs(s + dual / rho)
        for start in (s, np.zeros(n), np.full(n, 1e8), np.full(n, -1e8)):
            z = whole.minimize_loss(s[None], dual[None], rho, start[None])
            allowed = 1e-9 * (1 + np.abs(roots)) + 1e-12 * centre
            close(z[0], roots, allowed, f"{data.name}, rho {rho:g}, start {start[0]:g}: z")
    for data in case.suited:
        whole = bind_columns(data, case.spec, _PARTIES, 3)
        s, dual, start = rng.normal(size=(3, 3, whole.n_samples))
        healthy = whole.minimize_loss(s, dual, 0.7, start)
        s[1, 2] = np.nan
        z = whole.minimize_loss(s, dual, 0.7, start)
        wanted = healthy.copy()
        wanted[1, 2] = np.nan
        ensure(
            np.array_equal(z, wanted, equal_nan=True),
            f"{data.name}: a seed that diverged changes the others, or does not stay so",
        )


def _root(loss: ScalarLoss, s: float, dual: float, y: float, rho: float) -> float:
    """The root of slope(z) - dual + rho (z - s), in a bracket that is searched for around its centre."""
    target, centre = np.array([y]), s + dual / rho

    def derivative(way: float) -> float:
        return float(loss.derivative(np.array([centre + way]), target)[0] + rho * way)

    width = 1e-3
    while derivative(-width) > 0 or derivative(width) < 0:
        width *= 2
    return centre + float(optimize.brentq(derivative, -width, width, xtol=1e-14, maxiter=1000))
