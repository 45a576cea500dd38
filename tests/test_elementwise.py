"""Equations between numbers: one pass over arrays, in the precision of the first, arguments by place or by name."""

import numpy as np
import pytest

from admmbench.algorithms.linearized import proximal_step
from admmbench.elementwise import elementwise


@elementwise
def combined(first: float, second: float, third: float) -> float:
    """A line that no two arguments can be exchanged in."""
    return first + second * third - third


A, B = np.random.default_rng(0).normal(size=(2, 3, 4))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_it_broadcasts_in_the_precision_of_the_first(dtype):
    found = combined(A.astype(dtype), B[:1], 2)
    assert found.dtype == dtype
    expected = A.astype(dtype) + B[:1].astype(dtype) * 2 - 2
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize(
    "given",
    [
        lambda: combined(A, B, 2.0),
        lambda: combined(A, B, third=2.0),
        lambda: combined(A, second=B, third=2.0),
        lambda: combined(A, third=2.0, second=B),
    ],
)
def test_arguments_have_names(given):
    np.testing.assert_array_equal(given(), A + B * 2.0 - 2.0)


def test_the_result_may_be_put_into_an_array_that_is_an_argument():
    out = A.copy()
    assert combined(out, B, third=2.0, out=out) is out
    np.testing.assert_array_equal(out, A + B * 2.0 - 2.0)


def test_numbers_of_agents_and_seeds_broadcast():
    """Shape (B, S, 1, 1) beside models of shape (B, S, K, J)."""
    models = np.random.default_rng(1).normal(size=(2, 3, 4, 5))
    factor = np.arange(1.0, 7.0).reshape(2, 3, 1, 1)
    found = proximal_step(models, models, models[0], models, 2.0, inverse_eta=factor)
    expected = (-models + 2 * models[0] + models + factor * models) / (2 + factor)
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({"second": B}, "missing a required argument: 'third'"),
        ({"second": B, "third": 2.0, "fourth": 1.0}, "unexpected keyword argument 'fourth'"),
        ({"third": 2.0, "secnd": B}, "missing a required argument: 'second'"),
    ],
)
def test_arguments_that_are_missing_or_too_many_are_refused(named, message):
    with pytest.raises(TypeError, match=message):
        combined(A, **named)


def test_it_keeps_name_and_text():
    assert combined.__name__ == "combined"
    assert combined.__doc__.startswith("A line")
