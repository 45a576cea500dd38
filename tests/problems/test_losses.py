"""Losses: what `admmbench.contracts` promises of each, and the formulas as printed."""

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from admmbench.contracts.losses import loss_checks
from admmbench.problems.loss import RegressionLoss, ScalarLoss
from admmbench.problems.losses import as_loss
from admmbench.validation import parameters
from tests.problems.losses import LOSSES, label


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(check, id=f"{label(spec)}: {check.name}")
        for spec in LOSSES
        for check in loss_checks(spec)
    ],
)
def test_promises_of_every_loss(check):
    check.run()


scalar = pytest.mark.parametrize(
    "spec", [spec for spec in LOSSES if isinstance(as_loss(spec), ScalarLoss)], ids=label
)
reals = st.floats(-1e6, 1e6)


def targets_of(loss):
    """Targets that the formulas take."""
    two_classes = SimpleNamespace(n_classes=2, name="two", target_unit="1")
    try:
        loss.check(two_classes)
    except ValueError:
        return reals
    return st.sampled_from([-1.0, 1.0])


def of_one(function, u, y):
    """A method of a loss for one record."""
    return function(np.array(u, np.float64)[None, None], np.array([[y]]))[0, 0]


# The formulas, one record at a time


def literal(spec, u, y):
    """Mathematics as printed, where it does not overflow."""
    if spec == "logistic":
        return math.log1p(math.exp(-y * u)) if -y * u < 700 else -y * u
    if spec == "sigmoid":
        return 1 / (1 + math.exp(y * u)) if y * u < 700 else 0.0
    if spec == "squared":
        return (u - y) ** 2 / 2
    if spec == "squared_hinge":
        return max(0, 1 - y * u) ** 2
    d, error = as_loss(spec).derivative_bound, abs(u - y)
    return error**2 / 2 if error <= d else d * error - d**2 / 2


@scalar
@given(data=st.data())
def test_values_are_the_formulas(spec, data):
    loss = as_loss(spec)
    u, y = data.draw(st.floats(-600, 600)), data.draw(targets_of(loss))
    wanted = literal(spec, u, y)
    assert of_one(loss.losses, [u], y) == pytest.approx(wanted, rel=1e-9, abs=1e-300)
    assert loss.value(np.array([u]), np.array([y]))[0] == pytest.approx(
        wanted, rel=1e-9, abs=1e-300
    )


@given(u=st.lists(st.floats(-300, 300), min_size=2, max_size=6), data=st.data())
def test_softmax_is_the_formula(u, data):
    y = data.draw(st.integers(0, len(u) - 1))
    loss = as_loss("softmax")
    logp = special.log_softmax(u)
    assert of_one(loss.losses, u, y) == pytest.approx(-logp[y], rel=1e-12, abs=1e-12)
    slope = np.exp(logp) - np.eye(len(u))[y]
    np.testing.assert_allclose(of_one(loss.derivatives, u, y), slope, atol=1e-14)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["logistic", "sigmoid"])
def test_huge_margins_neither_overflow_nor_lose_the_loss(name, dtype):
    loss = as_loss(name)
    right, y = np.array([1e4, -1e4, 500, -500], dtype), np.array([1, -1, 1, -1], dtype)
    with np.errstate(all="raise", under="ignore"):
        np.testing.assert_allclose(loss.losses(right[:, None], y), 0, atol=1e-200)
        np.testing.assert_allclose(loss.derivative(right, y), 0, atol=1e-30)
        wrong = [1e4, 1e4, 500, 500] if name == "logistic" else np.ones(4)
        np.testing.assert_allclose(loss.losses(-right[:, None], y), wrong)
        slope = -y if name == "logistic" else np.zeros(4)
        np.testing.assert_allclose(loss.derivative(-right, y), slope, atol=1e-30)


@pytest.mark.parametrize("name", ["logistic", "sigmoid", "squared_hinge"])
def test_two_classes_are_minus_and_plus_one_and_a_tie_goes_to_the_first(name):
    loss = as_loss(name)
    y = loss.targets(np.array([0, 1, 0, 1]), np.dtype(np.float32))
    np.testing.assert_array_equal(y, np.array([-1, 1, -1, 1], np.float32), strict=True)
    u = np.array([0.0, 0.0, 2.0, 2.0])[:, None]
    np.testing.assert_array_equal(loss.mistakes(u, y), [0, 1, 1, 0])


def test_a_tie_of_several_classes_goes_to_the_first():
    u = np.array([[1.0, 1.0, 0.0], [0.0, 3.0, 3.0]])
    found = as_loss("softmax").mistakes(u[None].repeat(3, 0), np.arange(3)[:, None])
    np.testing.assert_array_equal(found, [[0, 1], [1, 0], [1, 1]])


@pytest.mark.parametrize("name", ["squared", "huber"])
def test_the_metric_of_a_regression_is_the_root_of_the_mean_square(name):
    loss = as_loss(name)
    u, y = np.array([1.0, 2.0, 7.0])[:, None], np.array([1.0, 4.0, 3.0])
    score = loss.score(loss.mistakes(u, y).mean(axis=0))
    assert score == pytest.approx((20 / 3) ** 0.5)


@pytest.mark.parametrize("floor", [1e-9, 0.01, 0.3])
def test_clipped_probabilities_are_those_of_the_authors_code(floor):
    u = np.array(list(itertools.product((-8.0, 0.0, 5.0), repeat=3)))
    for y in range(3):
        h = np.clip(special.softmax(u, axis=1), floor, 1) - np.eye(3)[y]
        found = as_loss("softmax").clipped(floor).derivatives(u[:, None], np.full((27, 1), y))[:, 0]
        np.testing.assert_allclose(found, h, atol=1e-14)
    for sign in (-1.0, 1.0):
        p = np.clip(special.expit(sign * u[:, 0]), floor, 1)
        found = as_loss("logistic").clipped(floor).derivative(u[:, 0], np.full(27, sign))
        np.testing.assert_allclose(found, -sign * (1 - p), atol=1e-14)
    for name in ("squared", "huber", "sigmoid", "squared_hinge"):
        loss = as_loss(name)
        assert loss.clipped(floor) is loss
        assert loss.floor == 0


def test_a_plug_in_may_have_the_names_of_earlier_versions():
    with pytest.warns(FutureWarning, match="is now called `derivative") as warned:

        @parameters
        class Old(RegressionLoss):
            slope_bound = 2.0
            curvature_bound = 1.0

            def value(self, u, y):
                return u - y

            def slope(self, u, y):
                return np.ones_like(u)

            def curvature(self, u, y):
                return np.zeros_like(u)

    assert len(warned) == 2
    loss = Old()  # type: ignore[abstract]
    assert (loss.derivative_bound, loss.derivative_l1) == (2.0, 2.0)
    assert loss.derivative(np.zeros(2), np.zeros(2)).tolist() == [1.0, 1.0]
    with pytest.warns(FutureWarning, match=r"Softmax\.slope_l2 is now called `derivative_l2`"):
        assert as_loss("softmax").slope_l2 == as_loss("softmax").derivative_l2
