"""Diabetes: numbers as targets."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

from admmbench import load_dataset


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
    assert (X.min(), X.max()) == (0, 1)
    assert (diabetes.target_unit, diabetes.target_range) == ("points", None)
    assert (diabetes.default_problem, diabetes.class_names) == ("squared", ())
    assert "numbers as targets" in repr(diabetes)
