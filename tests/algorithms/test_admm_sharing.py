"""ADMM sharing: a transcription, its limits, and what the theorems do not cover."""

import numpy as np
import pytest

from tests.algorithms.literal_hu2019 import (
    BLOCKS,
    RHO,
    STRENGTH,
    Literal,
    awkward,
    check_trajectory,
    final,
    learnable,
    scikit_learn,
    slope,
    trace_of,
    with_columns,
)


@pytest.mark.parametrize(
    ("coupling", "kind", "literal_round"),
    [
        ("parallel", "logistic", Literal.round),
        ("parallel", "sigmoid", Literal.round),
        ("averaged", "logistic", Literal.averaged_round),
        ("averaged", "sigmoid", Literal.averaged_round),
        ("sequential", "logistic", Literal.sequential_round),
        ("sequential", "sigmoid", Literal.sequential_round),
    ],
)
def test_trajectory_is_the_literal_one(coupling, kind, literal_round):
    check_trajectory("admm_sharing", {"rho": RHO, "coupling": coupling}, kind, literal_round)


def test_sharing_reaches_the_optimum_with_dependent_or_more_columns_than_samples():
    dataset = awkward()
    best, _ = scikit_learn(dataset, STRENGTH)
    for coupling in ("parallel", "averaged", "sequential"):
        trace = trace_of(
            dataset,
            "admm_sharing",
            {"rho": 0.25, "coupling": coupling},
            BLOCKS,
            problem={"strength": STRENGTH},
            rounds=500,
        )
        assert float(trace.train_loss[0, -1]) == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("coupling", ["parallel", "averaged"])
@pytest.mark.parametrize("kind", ["logistic", "sigmoid"])
def test_the_lyapunov_function_falls_faster_than_one_over_t(kind, coupling):
    """Theorem 2: V < epsilon within O(1 / epsilon) rounds."""
    trace = trace_of(
        learnable(),
        "admm_sharing",
        {"rho": 0.5, "coupling": coupling},
        problem={"loss": kind, "strength": 3e-3},
        rounds=800,
        evaluate_every=1,
    )
    V = trace.lyapunov.values[0, 1:]
    product = np.minimum.accumulate(V) * np.arange(1, 801)
    assert product.max() <= 2 * V[:10].max()
    assert product[-1] < 1e-3 * product.max()
    assert V[-1] < 1e-6 * V[0]


@pytest.mark.parametrize("coupling", ["parallel", "averaged"])
def test_the_limit_with_the_sigmoid_loss_is_a_stationary_point(coupling):
    dataset = learnable()
    state, federation = final(
        dataset,
        "admm_sharing",
        {"rho": 0.2, "coupling": coupling},
        problem={"loss": "sigmoid"},
        rounds=1500,
    )
    X, b, w = dataset.X_train.astype(np.float64), federation.problem.y, state.w[0, -1]
    slopes = np.array([slope("sigmoid", z, label) for z, label in zip(X @ w, b, strict=True)])
    assert np.linalg.norm(X.T @ slopes / 80 + 2e-3 * w) < 1e-6
    assert np.linalg.norm(w) > 0.1
    np.testing.assert_allclose(state.dual[0], slopes, atol=1e-5)


def test_with_a_small_penalty_only_the_averaged_coupling_converges():
    """Documented: three parties whose columns span nearly the same, and rho = 0.02."""
    dataset = learnable(kind="overlapping", parties=3)
    best, _ = scikit_learn(dataset, 1e-3)
    loss, V = {}, {}
    for coupling in ("parallel", "averaged"):
        trace = trace_of(
            dataset, "admm_sharing", {"rho": 0.02, "coupling": coupling}, [3, 3, 3], rounds=1000
        )
        loss[coupling], V[coupling] = float(trace.train_loss[0, -1]), float(trace.lyapunov[0, -1])
    assert loss["averaged"] == pytest.approx(best, abs=1e-8)
    assert V["averaged"] < 1e-12
    assert loss["parallel"] > best + 0.3
    assert V["parallel"] > 1


def test_the_assumptions_of_theorem_1_do_not_make_the_parallel_coupling_converge():
    """Documented: with M parties of the same orthonormal columns it takes rho > (3 M - 4) / 8.

    All eigenvalues of every D_m^T D_m are 1, so rho = 2 meets assumption 1: gamma_m = rho + 2 N lambda >= 2,
    rho gamma = rho^2 > 2 L^2 and rho >= L = 1/4. The proof fails in lemma 3: its left side is ||sum_m d_m||^2 - sum_m
    ||d_m||^2 for the steps d_m, not the negative of this.
    """
    rng = np.random.default_rng(0)
    columns, parties = np.linalg.qr(rng.normal(size=(40, 2)))[0], 12
    X = np.vstack([np.hstack([columns] * parties), np.zeros((20, 24))])
    dataset = with_columns(X, rng.integers(0, 2, 60))
    best, _ = scikit_learn(dataset, 1e-4)

    def gap_to_optimum(coupling, rho):
        trace = trace_of(
            dataset,
            "admm_sharing",
            {"rho": rho, "coupling": coupling},
            parties,
            problem={"strength": 1e-4},
            rounds=300,
        )
        return float(trace.train_loss[0, -1]) - best

    assert gap_to_optimum("parallel", 2) > 0.5
    assert gap_to_optimum("parallel", 3.5) > 0.01
    assert abs(gap_to_optimum("parallel", 5)) < 1e-6
    assert abs(gap_to_optimum("averaged", 2)) < 1e-6
    # Hong, Luo and Razaviyayn (2016), whom the proof follows, let parties take turns.
    assert abs(gap_to_optimum("sequential", 2)) < 1e-3
    assert abs(gap_to_optimum("sequential", 0.05)) < 1e-6


def test_the_sequential_coupling_has_a_name_of_its_own():
    dataset = learnable()
    named, own = (
        trace_of(dataset, name, params, rounds=3)
        for name, params in (
            ("gauss_seidel_sharing", {"rho": 0.5}),
            ("admm_sharing", {"rho": 0.5, "coupling": "sequential"}),
        )
    )
    np.testing.assert_array_equal(named.train_loss, own.train_loss)
    with pytest.raises(ValueError, match="gauss_seidel_sharing is admm_sharing with coupling: seq"):
        trace_of(dataset, "gauss_seidel_sharing", {"coupling": "averaged"})
    with pytest.raises(ValueError, match="coupling"):
        trace_of(dataset, "dp_admm_sharing", {"coupling": "sequential"})
