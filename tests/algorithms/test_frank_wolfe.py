"""Frank-Wolfe over shared columns: a transcription, and its limit."""

import numpy as np
import pytest
from scipy import optimize

from tests.algorithms.literal_hu2019 import (
    BLOCKS,
    STRENGTH,
    Literal,
    N,
    T,
    awkward,
    learnable,
    mean_objective,
    scikit_learn,
    slope,
    trace_of,
)


@pytest.mark.parametrize("kind", ["logistic", "sigmoid"])
def test_rounds_are_the_literal_ones(kind):
    """Party by party and feature by feature, as `frankwolfe_lasso.cpp` has it, with this loss and a penalty."""
    dataset, radius = awkward(), 3.0
    trace = trace_of(
        dataset,
        "frank_wolfe",
        {"radius": radius},
        BLOCKS,
        problem={"strength": STRENGTH, "loss": kind},
        rounds=T,
        evaluate_every=1,
        seeds=2,
    )
    run = Literal(dataset, BLOCKS, kind)

    def gradients():
        predictions = sum(D @ x for D, x in zip(run.D, run.x, strict=True))
        pulls = [slope(kind, z, b) / N for z, b in zip(predictions, run.b, strict=True)]
        return [
            [
                sum(p * a for p, a in zip(pulls, D[:, j], strict=True)) + 2 * STRENGTH * x[j]
                for j in range(len(x))
            ]
            for D, x in zip(run.D, run.x, strict=True)
        ]

    chosen = set()
    for iteration in range(T):
        found = gradients()
        best = [int(np.argmax(np.abs(g))) for g in found]
        m = int(np.argmax([abs(g[j]) for g, j in zip(found, best, strict=True)]))
        sign = 1 if found[m][best[m]] >= 0 else -1
        gamma = 2 / (iteration + 2)
        run.x = [(1 - gamma) * x for x in run.x]
        run.x[m][best[m]] += gamma * -radius * sign
        chosen.add(m)
        after = trace.isel(seed=1).sel(round=iteration + 1)
        assert float(after.train_loss) == pytest.approx(run.train_loss(), rel=1e-9)
        assert float(after.test_loss) == pytest.approx(run.test_loss(), rel=1e-9)
        found = gradients()
        full_sum = sum(np.dot(g, x) for g, x in zip(found, run.x, strict=True))
        largest = max(abs(entry) for g in found for entry in g)
        assert float(after.duality_gap) == pytest.approx(full_sum + radius * largest, rel=1e-9)
        # Two numbers of each party, and to each two of another and a column.
        assert float(after.floats_sent) == (iteration + 1) * 3 * (2 + 2 + N)
    assert len(chosen) > 1


@pytest.mark.parametrize(("radius", "close"), [(1.0, 1e-6), (30.0, 5e-4)])
def test_it_approaches_the_optimum_over_the_ball(radius, close):
    """Within what the curvature allows after so many rounds, and within the duality gap."""
    dataset, strength = learnable(), 1e-2
    X, b = dataset.X_train.astype(np.float64), 2.0 * dataset.y_train - 1
    found = optimize.minimize(
        lambda uv: mean_objective(X, b, uv[:6] - uv[6:], strength),
        np.full(12, 0.01),
        method="SLSQP",
        bounds=[(0, None)] * 12,
        constraints={"type": "ineq", "fun": lambda uv: radius - uv.sum()},
        options={"ftol": 1e-14, "maxiter": 500},
    )
    free, w = scikit_learn(dataset, strength)
    assert (np.abs(w).sum() < radius) == (radius == 30)
    if radius == 30:
        assert found.fun == pytest.approx(free, abs=1e-7)
    trace = trace_of(
        dataset,
        "frank_wolfe",
        {"radius": radius},
        problem={"strength": strength},
        rounds=1000,
        evaluate_every=50,
    )
    distance = trace.train_loss.values[0, 1:] - found.fun
    rounds = trace["round"].values[1:]
    assert (distance > -1e-9).all()
    assert (distance <= trace.duality_gap.values[0, 1:] + 1e-9).all()
    # The diameter of the ball in the norm l1 is 2 r, and the Hessian's largest entry bounds the curvature in it.
    smoothness = (X**2).mean(axis=0).max() / 4 + 2 * strength
    assert (distance <= 2 * smoothness * (2 * radius) ** 2 / (rounds + 2)).all()
    assert distance[-1] < close
