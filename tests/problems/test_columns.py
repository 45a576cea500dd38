"""Problems over columns, against the subproblems of hu2019, and least squares."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from admmbench import partition
from admmbench.problems import as_problem
from tests.problems.helpers import bind_columns, one_by_one, rngs, with_records

# Shapes of one party's columns: more samples than features, fewer, and as many.
SHAPES = {"tall": (30, 6), "wide": (7, 20), "square": (8, 8)}


def alone(D, dtype="float64", **params):
    """One party that holds all of these columns."""
    return bind_columns(with_records(D), dtype=dtype, **params).block(slice(0, 1))


def one_hot(rng, n, levels):
    return np.eye(levels)[rng.integers(0, levels, n)]


def deficient(rng, n=30):
    """Two attributes as indicators and a constant column: five columns but one of rank 4, then a copy of one."""
    columns = np.hstack([one_hot(rng, n, 2), one_hot(rng, n, 3), np.ones((n, 1))])
    return np.hstack([columns, columns[:, :1]]), 4


# One party


@settings(max_examples=40)
@given(
    rng=rngs,
    shape=st.sampled_from(sorted(SHAPES)),
    rank_deficient=st.booleans(),
    rho=st.floats(0.01, 100),
    S=st.integers(1, 3),
)
def test_the_solver_solves_the_stacked_least_squares_problem(rng, shape, rank_deficient, rho, S):
    """min rho/2 ||D x - r / rho||^2 + N lambda ||x||^2, which is (6) for r = rho * target - y."""
    D = rng.normal(size=SHAPES[shape])
    if rank_deficient:
        D[:, 1:] = D[:, :1] * 2.0 ** (np.arange(1, D.shape[1]) % 5)
    D = D.astype(np.float32).astype(np.float64)
    n, d = D.shape
    party = alone(D, strength=0.02)
    r = rng.normal(scale=3, size=(S, n))
    stacked = np.vstack([np.sqrt(rho) * D, np.sqrt(2 * n * 0.01) * np.eye(d)])
    found = party.solver(rho)(r)
    assert found.shape == (S, d)
    for s in range(S):
        target = np.concatenate([r[s] / np.sqrt(rho), np.zeros(d)])
        best = np.linalg.lstsq(stacked, target, rcond=None)[0]
        np.testing.assert_allclose(found[s], best, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_solver_knows_its_penalty(shape):
    rng = np.random.default_rng(4)
    party = alone(rng.normal(size=SHAPES[shape]), strength=0.2)
    r = rng.normal(size=(2, SHAPES[shape][0]))
    first, second = party.solver(0.5)(r), party.solver(2.0)(r)
    assert not np.allclose(first, second, rtol=1e-2)
    np.testing.assert_array_equal(party.solver(0.5)(r), first)


@pytest.mark.parametrize("shape", SHAPES)
def test_single_precision_solves_what_double_does(shape):
    rng = np.random.default_rng(5)
    D, r = rng.normal(size=SHAPES[shape]), rng.normal(size=(2, SHAPES[shape][0]))
    single = alone(D, "float32", strength=0.02).solver(0.5)(r.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, alone(D, strength=0.02).solver(0.5)(r), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_seed_that_diverged_leaves_the_others_alone(shape):
    rng = np.random.default_rng(6)
    party = alone(rng.normal(size=SHAPES[shape]), strength=0.02)
    r = rng.normal(size=(3, SHAPES[shape][0]))
    whole = party.solver(0.5)(r)
    r[1] = np.nan
    found = party.solver(0.5)(r)
    np.testing.assert_allclose(found[[0, 2]], whole[[0, 2]], rtol=1e-10)
    assert np.isnan(found[1]).all()


def assert_orthonormal_basis(party, D, rank):
    basis = party.basis.astype(np.float64)
    assert basis.shape == (len(D), rank)
    assert rank <= party.release_shape[0] == min(D.shape)
    np.testing.assert_allclose(basis.T @ basis, np.eye(rank), atol=1e-9)
    # It has the rank of D, so it spans the range of D if it contains it.
    np.testing.assert_allclose(basis @ (basis.T @ D), D, atol=1e-9)


@settings(max_examples=25)
@given(rng=rngs, shape=st.sampled_from(sorted(SHAPES)))
def test_the_basis_is_orthonormal_and_spans_the_columns(rng, shape):
    D = rng.normal(size=SHAPES[shape]).astype(np.float32)
    assert_orthonormal_basis(alone(D), D, min(D.shape))


def test_the_basis_leaves_out_directions_that_no_column_has():
    rng = np.random.default_rng(8)
    D, rank = deficient(rng)
    assert_orthonormal_basis(alone(D), D, rank)
    # More columns than samples, and still not all directions.
    wide = np.repeat(D[:9], 3, axis=1)
    assert wide.shape == (9, 21)
    assert_orthonormal_basis(alone(wide), wide, np.linalg.matrix_rank(wide))
    with_zeros = np.hstack([D, np.zeros((30, 2))])
    assert_orthonormal_basis(alone(with_zeros), with_zeros, rank)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_basis_keeps_short_directions(shape):
    D = np.random.default_rng(10).normal(size=SHAPES[shape]).astype(np.float32)
    short = D[0] if shape == "wide" else D[:, 0]
    short *= np.float32(1e-4)
    basis = alone(D).basis
    assert basis.shape[1] == min(D.shape)
    np.testing.assert_allclose(basis.T @ basis, np.eye(min(D.shape)), atol=1e-6)
    np.testing.assert_allclose(basis @ (basis.T @ D), D, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
def test_columns_of_zeros_span_nothing(shape):
    assert alone(np.zeros(SHAPES[shape])).basis.shape == (SHAPES[shape][0], 0)


# The whole


def test_columns_that_are_left_out_have_no_part(two):
    scheme = partition.as_partition({"scheme": "columns", "blocks": [2, 3], "features": 5})
    split = scheme.split(two, [None])
    problem = as_problem("logistic", "columns").bind(split, 1, "local", "float64")
    less = bind_columns(
        replace(two, X_train=two.X_train[:, :5], X_test=two.X_test[:, :5]), blocks=[2, 3]
    )
    assert problem.model_shape == (1, 5)
    np.testing.assert_array_equal(problem.block(slice(1, 2)).D, two.X_train[:, 2:5])
    np.testing.assert_array_equal(problem.optimum(), less.optimum())
    state = SimpleNamespace(w=problem.optimum())
    assert problem.evaluate(state, [], one_by_one) == less.evaluate(state, [], one_by_one)


def test_rows_of_each_partys_columns_are_scaled_down():
    """Assumption 2.3 of hu2019; shorter rows stay, and so do those of test samples that are short."""
    D = np.array([[3.0, 4.0, 0.5], [0.3, 0.4, 2.0], [0.0, 0.0, 0.0]])
    bounded = bind_columns(with_records(D), blocks=[2, 1], records={"max_l2_norm": 1})
    expected = [[0.6, 0.8, 0.5], [0.3, 0.4, 1.0], [0.0, 0.0, 0.0]]
    np.testing.assert_allclose(bounded.X, expected, rtol=2e-6)
    assert bounded.problem.describe()["records"] == {"max_l2_norm": 1}
    plain = bind_columns(with_records(D), blocks=[2, 1])
    np.testing.assert_allclose(plain.X, D, rtol=1e-7)
    assert "records" not in plain.problem.describe()
