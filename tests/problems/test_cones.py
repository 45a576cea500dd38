"""Cones: projections against Moreau's decomposition and their own definitions, derivatives against differences."""

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from admmbench.problems.cones import Cone

NUMBERS = st.floats(-10, 10).map(lambda x: round(x, 3))
VECTORS = arrays(np.float64, 4, elements=NUMBERS)
# Members of K for each cone, and whether a vector is one.
CONES = {
    "zero": (Cone([("zero", 4)]), lambda v: np.allclose(v, 0)),
    "nonnegative": (Cone([("nonnegative", 4)]), lambda v: (v >= -1e-12).all()),
    "second order": (Cone([("second_order", 4)]), lambda v: np.linalg.norm(v[1:]) <= v[0] + 1e-9),
    "product": (
        Cone([("nonnegative", 1), ("second_order", 3)]),
        lambda v: v[0] >= -1e-12 and np.linalg.norm(v[2:]) <= v[1] + 1e-9,
    ),
}


each_cone = pytest.mark.parametrize("cone", CONES.values(), ids=CONES)


@each_cone
@given(v=VECTORS)
def test_the_rest_of_a_projection_is_in_minus_k_and_orthogonal(cone, v):
    """Moreau: this is what makes p the projection on K*, and v - p that on -K."""
    K, inside = cone
    p = K.project_dual(v)
    assert inside(p - v)
    assert abs(p @ (v - p)) < 1e-6
    np.testing.assert_allclose(K.project_dual(p), p, atol=1e-9)


@each_cone
# Many vectors have a kink at 0.
@settings(suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(v=VECTORS)
def test_derivatives_agree_with_differences(cone, v):
    K, _ = cone
    # Away from kinks, where both sides agree.
    h, D = 1e-6, K.derivative(v)
    columns = []
    for e in np.eye(4):
        right = (K.project_dual(v + h * e) - K.project_dual(v)) / h
        left = (K.project_dual(v) - K.project_dual(v - h * e)) / h
        assume(np.allclose(right, left, atol=1e-3))
        columns.append((right + left) / 2)
    np.testing.assert_allclose(D, np.array(columns).T, atol=1e-3)
    np.testing.assert_allclose(D, D.T)


@each_cone
def test_a_stack_is_taken_vector_by_vector(cone):
    K, _ = cone
    v, mu = np.random.default_rng(0).normal(size=(2, 15, 4))
    mu[:5] = K.project_dual(mu[:5])
    stack = v.reshape(3, 5, 4), mu.reshape(3, 5, 4)
    for function, arguments in (
        (K.project_dual, (v,)),
        (K.derivative, (v,)),
        (K.normal_distance, (v, mu)),
    ):
        single = np.array([function(*each) for each in zip(*arguments, strict=True)])
        together = function(*stack[: len(arguments)])
        np.testing.assert_allclose(together.reshape(single.shape), single)


@each_cone
@given(v=VECTORS)
def test_complementary_pairs_have_no_normal_distance(cone, v):
    """P_{-K}(v) and P_{K*}(v) are complementary for any v: the first is in the normal cone at the second."""
    K, _ = cone
    mu = K.project_dual(v)
    assert K.normal_distance(v - mu, mu) < 1e-6


@pytest.mark.parametrize(
    ("name", "c", "mu", "distance"),
    [
        ("zero", [0.5, -2, 0, 0], [1, 1, 1, 1], 2),
        ("nonnegative", [-3, 0.2, -0.5, 0], [0, 0, 1, 0], 0.5),
        # Inside the cone the normal cone is {0}; at 0 it is -K; on the border a ray.
        ("second order", [1, 9, 3, 4], [2, 1, 0, 0], 9),
        ("second order", [1, 9, 3, 4], [0.5, 0.1, 0, 0], 9),
        ("second order", [-5, 1, 1, 1], [0, 0, 0, 0], 0),
        ("second order", [-1, 1, 0, 0], [1, 1, 0, 0], 0),
        ("second order", [-1, 1, 0, 0], [0.1, 0.1, 0, 0], 0),
        ("second order", [1, -1, 0, 0], [1, 1, 0, 0], 1),
    ],
)
def test_normal_distance_by_hand(name, c, mu, distance):
    K, _ = CONES[name]
    found = K.normal_distance(np.array(c, float), np.array(mu, float))
    assert found == pytest.approx(distance)


def test_violation_is_the_largest_entry_beyond_the_cone():
    K = Cone([("zero", 1), ("nonnegative", 2)])
    assert K.violation(np.array([-0.3, -9.0, 0.2])) == pytest.approx(0.3)
    assert K.violation(np.array([0.0, -9.0, 0.2])) == pytest.approx(0.2)
    assert Cone([]).violation(np.zeros((2, 0))).tolist() == [0, 0]


def test_without_constraints_nothing_is_apart():
    nothing = np.zeros((2, 3, 0))
    np.testing.assert_array_equal(Cone([]).normal_distance(nothing, nothing), np.zeros((2, 3)))
