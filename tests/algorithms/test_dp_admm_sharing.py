"""DP-ADMM sharing: a transcription, its noise, and what its total is worth."""

import math

import numpy as np
import pytest
from dp_accounting import get_epsilon_gaussian
from scipy import linalg

from admmbench.contracts.runs import run_without_engine as assembled
from admmbench.spec.run import RunSpec
from tests.algorithms.literal_hu2019 import (
    B1,
    BLOCKS,
    DELTA,
    EPS,
    RHO,
    STRENGTH,
    Literal,
    awkward,
    bound,
    check_trajectory,
    corollary,
    learnable,
    specification,
    trace_of,
    with_columns,
)
from tests.noise import on_grid


@pytest.mark.parametrize(
    ("params", "kind", "literal_round", "private"),
    [
        ({"b1": B1}, "logistic", Literal.round, True),
        ({"b1": B1}, "sigmoid", Literal.round, True),
        ({"b1": B1, "noise": 0.6}, "logistic", Literal.round, True),
        ({"b1": B1, "coupling": "averaged"}, "logistic", Literal.averaged_round, True),
        ({"coupling": "averaged"}, "logistic", Literal.averaged_round, False),
    ],
)
def test_trajectory_is_the_literal_one(params, kind, literal_round, private):
    check_trajectory("dp_admm_sharing", {"rho": RHO, **params}, kind, literal_round, private)


@pytest.mark.parametrize("D", ["full rank", "dependent", "wide"])
def test_the_noise_has_the_covariance_of_the_paper(D):
    """sigma^2 D_m (D_m^T D_m)^-1 D_m^T; the pseudoinverse where there is no inverse."""
    rng = np.random.default_rng(1)
    X = {
        "full rank": rng.normal(size=(8, 3)),
        "dependent": np.hstack([np.eye(2)[rng.integers(0, 2, 8)], np.ones((8, 1))]),
        "wide": rng.normal(size=(4, 9)),
    }[D]
    n, d = X.shape
    dataset = with_columns(np.vstack([X, X[:2]]), np.arange(n + 2) % 2, 2)
    params, draws = {"noise": 0.7}, 200
    spec = RunSpec(
        **specification(dataset, "dp_admm_sharing", params, [d], epsilon=EPS, seeds=range(100))
    )
    federation, zero = assembled(spec, dataset, 0).federation, np.zeros((100, n))
    (block,) = federation.blocks
    sent = np.concatenate(
        [spec.method.message(block, zero, federation.problem) for _ in range(draws)]
    )
    X = dataset.X_train.astype(np.float64)
    literal = 0.7**2 * X @ np.linalg.pinv(X.T @ X, hermitian=True) @ X.T
    np.testing.assert_allclose(sent.T @ sent / len(sent), literal, atol=0.025)
    np.testing.assert_allclose(sent.mean(axis=0), 0, atol=0.025)


@pytest.mark.parametrize("noise", [None, 5.0])
@pytest.mark.parametrize("rounds", [1, 10, 100])
def test_the_ledger_composes_all_rounds_of_the_party_that_pays_most(rounds, noise):
    """The constant of lemma 1 is largest where there are the fewest columns."""
    params = {"b1": B1, "rho": RHO} | ({} if noise is None else {"noise": noise})
    trace = trace_of(
        awkward(),
        "dp_admm_sharing",
        params,
        BLOCKS,
        problem={"strength": STRENGTH},
        epsilon=EPS,
        delta=DELTA,
        rounds=rounds,
    )
    multiplier = math.sqrt(2 * math.log(1.25 / DELTA)) / EPS
    if noise is not None:
        multiplier = noise / on_grid(bound(min(BLOCKS)), math.sqrt(min(BLOCKS)))[1]
    expected = get_epsilon_gaussian(multiplier / math.sqrt(rounds), DELTA)
    assert float(trace.epsilon_composed[-1]) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("rounds", [1, 20, 200])
def test_corollary_1_is_no_tighter_than_the_ledger(epsilon, rounds):
    """Its delta is (T + 1) delta: larger than that of the ledger, which finds less all the same."""
    shared = {"rounds": rounds, "epsilon": epsilon, "delta": 1e-5}
    trace = trace_of(learnable(), "dp_admm_sharing", **shared)
    claimed, total = float(trace.epsilon_corollary[0, -1]), float(trace.epsilon_composed[-1])
    assert claimed == pytest.approx(corollary(epsilon, rounds, 1e-5))
    assert claimed >= total
    multiplier = math.sqrt(2 * math.log(1.25e5)) / epsilon
    looser = get_epsilon_gaussian(multiplier / math.sqrt(rounds), (rounds + 1) * 1e-5)
    assert looser <= total <= claimed


def test_a_noise_that_is_given_needs_no_budget():
    free, bought = (
        trace_of(learnable(), "dp_admm_sharing", {"noise": 0.5}, epsilon=epsilon, rounds=6)
        for epsilon in (math.inf, 0.5)
    )
    for key in ("train_loss", "epsilon_composed", "epsilon_corollary", "noise_magnitude"):
        np.testing.assert_array_equal(free[key], bought[key])
    assert math.isfinite(free.epsilon_composed[-1])


def test_a_huge_budget_has_an_infinite_corollary_and_no_error():
    trace = trace_of(learnable(), "dp_admm_sharing", epsilon=1000, rounds=3)
    assert float(trace.epsilon_corollary[0, -1]) == math.inf


def neighbours():
    """Two blocks of columns that differ in signs of one: rows have norm 1, and ||D - D'|| = 1."""
    n, d = 64, 32
    D = linalg.hadamard(n)[:, :d] / math.sqrt(d)
    other = D.copy()
    other[: d // 4, 0] *= -1
    np.testing.assert_allclose(np.linalg.norm(other, axis=1), 1)
    np.testing.assert_allclose(np.linalg.norm(D - other, 2), 1)
    assert np.linalg.matrix_rank(other) == d
    return D, other


def one_party(D, **params):
    """The first of two parties with these columns; the other has few."""
    n, d = D.shape
    X = np.hstack([D, np.ones((n, 1))])
    dataset = with_columns(np.vstack([X, X[:2]]), np.arange(n + 2) % 2, 2)
    spec = RunSpec(
        **specification(
            dataset, "dp_admm_sharing", params, [d, 1], epsilon=1, problem={"strength": 1e-6}
        )
    )
    federation = assembled(spec, dataset, 0).federation
    return spec.method, federation.blocks[0], federation.problem


def test_lemma_1_does_not_bound_what_one_column_changes():
    """Documented: all assumptions hold for both, and the predictions of (6) differ by more than twice the bound.

    The proof takes 1 / d_m for the norm of the inverse of D_m^T D_m, which is d_m / N for the first of the two.
    """
    blocks = neighbours()
    eigenvalues = [np.linalg.eigvalsh(D.T @ D) for D in blocks]
    rho = max(2 * values[-1] / values[0] for values in eigenvalues)  # assumption 1.2
    parties = []
    for D in blocks:
        method, block, problem = one_party(D, rho=rho, b1=1.0)
        parties.append(block.parts)
    # rho z - y with y and z of norm 1, in the direction that makes the largest difference.
    sent = [party.predict(party.solver(rho)(np.eye(64))) for party in parties]
    direction = np.linalg.svd((sent[0] - sent[1]).T)[2][:1]
    x = [party.solver(rho)((1 + rho) * direction) for party in parties]
    assert max(np.linalg.norm(each) for each in x) <= 1
    difference = parties[0].predict(x[0]) - parties[1].predict(x[1])
    assert np.linalg.norm(difference) > 2 * method.sensitivity(block.parts.n_features, problem)


def test_a_message_tells_neighbours_apart():
    """Documented: it lies in the range of its columns, which a neighbour's does not; so no delta < 1 is met."""
    D, other = neighbours()
    method, block, problem = one_party(D)
    state = np.zeros((1, 64))
    with np.errstate(all="raise"):
        message = method.message(block, state, problem)[0]
    assert np.linalg.norm(message) > 1

    def outside(columns):
        return np.linalg.norm(message - columns @ np.linalg.lstsq(columns, message)[0])

    assert outside(D) < 1e-5 * np.linalg.norm(message)
    assert outside(other) > 0.01 * np.linalg.norm(message)
