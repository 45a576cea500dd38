"""Diabetes: numbers as targets, from the file to the trace."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

from admmbench import load_dataset, simulate
from admmbench.datasets import describe


@pytest.fixture(scope="module")
def diabetes(tmp_path_factory):
    return load_dataset("diabetes", cache=tmp_path_factory.mktemp("cache"))


def test_the_first_four_fifths_train_in_the_order_of_the_file(diabetes):
    raw, target = load_diabetes(return_X_y=True, scaled=False)
    assert (diabetes.n_train, diabetes.n_test, diabetes.n_features) == (354, 88, 11)
    y = np.concatenate([diabetes.y_train, diabetes.y_test])
    np.testing.assert_array_equal(y, target.astype(np.float32))
    X = np.concatenate([diabetes.X_train, diabetes.X_test]).astype(np.float64)
    low, high = raw.min(axis=0), raw.max(axis=0)
    np.testing.assert_allclose(X[:, :10] * (high - low) + low, raw, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(X[:, 10], 1)
    assert X.min() == 0
    assert X.max() == 1


def test_targets_are_numbers_with_a_unit(diabetes):
    assert diabetes.y_train.dtype == np.float32
    assert (diabetes.n_classes, diabetes.class_names) == (0, ())
    assert diabetes.target_unit == describe("diabetes").target_unit == "points"
    assert diabetes.default_problem == "squared"
    # Known to users of scikit-learn: the first patients, the range and the mean.
    assert diabetes.y_train[:3].tolist() == [151, 75, 141]
    y = np.concatenate([diabetes.y_train, diabetes.y_test])
    assert (y.min(), y.max()) == (25, 346)
    assert y.mean(dtype=float) == pytest.approx(152.13, abs=0.01)
    assert "numbers as targets" in repr(diabetes)


def run(data, **arguments):
    settings = {"agents": 5, "rounds": 60, "evaluate_every": 30, "dtype": "float64"}
    return simulate(data, **{**settings, **arguments})


def test_a_regression_has_a_root_mean_square_with_the_unit_of_its_targets(diabetes):
    trace = run(diabetes, algorithm="objp", params={"a": 1.0})
    assert "test_error" not in trace
    assert trace.test_rmse.attrs["units"] == "points"
    assert trace.test_rmse.attrs["long_name"] == "root mean squared test error"
    for name in ("test_loss", "train_loss"):
        assert trace[name].attrs["units"] == "(points)2"
    # The squared loss is half the squared error.
    np.testing.assert_allclose(trace.test_rmse**2 / 2, trace.test_loss, rtol=1e-9)
    assert (trace.status == 0).all()


def test_the_threshold_of_huber_is_the_worst_case(diabetes):
    """Mean |xi| of Laplace noise is its scale: threshold times ||x||_1 = 11 over n, by epsilon."""
    huber = {"loss": {"name": "huber", "threshold": 20}}
    trace = run(
        diabetes,
        algorithm="objp",
        problem=huber,
        sensitivity="global",
        epsilon=0.5,
        seeds=range(30),
        rounds=10,
        evaluate_every=10,
    )
    assert trace.test_rmse.attrs["units"] == "points"
    found = float(trace.noise_magnitude.mean())
    assert found == pytest.approx(20 * 11 / 354 / 0.5, rel=0.05)
