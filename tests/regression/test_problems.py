"""The runs of before can still be had: models, errors, noise and totals are those that were kept."""

from functools import cache

import numpy as np
import pytest

from tests.regression.problems import KEPT, cases, measure


@cache
def kept():
    with np.load(KEPT) as file:
        return {str(name): file[str(number)] for number, name in enumerate(file["names"])}


@pytest.mark.parametrize("name", cases())
def test_a_run_on_its_problem_is_that_of_before(name):
    found, wanted = measure(cases()[name]), kept()[name]
    for variable, values in found.items():
        own, wanted = wanted[: values.size], wanted[values.size :]
        largest = np.abs(own[np.isfinite(own)]).max(initial=0)
        np.testing.assert_allclose(
            values.ravel(), own, rtol=0, atol=1e-9 * largest, err_msg=variable
        )
    assert not wanted.size


def test_no_run_is_lost():
    assert set(kept()) == set(cases())
