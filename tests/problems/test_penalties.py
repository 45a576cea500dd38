"""Penalties, against finite differences and a minimiser without derivatives."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from admmbench.problems.penalties import PENALTIES
from tests.problems.helpers import rngs
from tests.problems.losses import literal_penalty

both = pytest.mark.parametrize("name", sorted(PENALTIES))


@both
@given(rng=rngs, lead=st.sampled_from([(), (2,), (3, 2)]))
def test_values_are_the_formulas_for_each_model(name, rng, lead):
    w = rng.normal(size=(*lead, 2, 4)).astype(np.float32)
    found = PENALTIES[name].value(w)
    assert found.shape == lead
    assert found.dtype == np.float64
    for place in np.ndindex(*lead):
        wanted = literal_penalty(name, w[place].astype(np.float64))
        assert found[place] == pytest.approx(wanted, rel=1e-6)


def test_the_l1_subgradient_at_zero_is_zero_and_its_bound_is_attained():
    at = np.array([0, 1, -1, 2, 0, -3, 1e-9])
    np.testing.assert_array_equal(PENALTIES["l1"].gradient(at), [0, 1, -1, 1, 0, -1, 1])
    for w in np.random.default_rng(8).normal(size=(20, 7)):  # no entry is zero
        norm = np.linalg.norm(PENALTIES["l1"].gradient(w))
        assert norm == pytest.approx(PENALTIES["l1"].gradient_bound(7)) == pytest.approx(7**0.5)
    assert not PENALTIES["l1"].smooth
    assert PENALTIES["l1"].curvature == math.inf


def test_the_l2_penalty_is_curved_but_has_no_bounded_gradient():
    assert PENALTIES["l2"].smooth
    assert PENALTIES["l2"].curvature == 1
    assert PENALTIES["l2"].gradient_bound(7) == math.inf


@both
@settings(max_examples=15)
@given(rng=rngs, scale=st.sampled_from([0.1, 1, 3]), dtype=st.sampled_from(["float32", "float64"]))
def test_prox_minimises_coordinate_by_coordinate(name, rng, scale, dtype):
    v = (scale * rng.normal(size=(2, 1, 1, 3))).astype(dtype)
    step = rng.uniform(0.1, 2, size=(2, 1, 1, 1))
    found = PENALTIES[name].prox(v, step)
    assert found.dtype == dtype
    for i, j in itertools.product(range(2), range(3)):
        target, gamma = float(v[i, 0, 0, j]), step[i, 0, 0, 0]

        def objective(x, target=target, gamma=gamma):
            return gamma * literal_penalty(name, np.array(x)) + (x - target) ** 2 / 2

        best = optimize.minimize_scalar(
            objective, bounds=(-9 * scale, 9 * scale), method="bounded", options={"xatol": 1e-9}
        )
        assert found[i, 0, 0, j] == pytest.approx(best.x, abs=1e-5)
