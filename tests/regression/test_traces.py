"""Noise-free traces in double precision are those that were kept: redesigns must not change what is computed.

``traces.npz`` was made from the cases here by the code of commit df06845. Later are `dpsgd` with softmax, as it weighs
agents by their records since, and `objp` with the penalty of the authors' code and a smooth proximity, whose step takes
this penalty since. Another value means that an equation, an order or a stream of random numbers changed; if
that is meant, say so in the changelog and keep the new numbers.
"""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from admmbench import simulate
from tests.regression.cases import EXACT, SOLVED, settings, solved


@cache
def kept():
    with np.load(Path(__file__).with_name("traces.npz")) as file:
        names = json.loads(str(file["variables"][0]))
        return {
            key: dict(zip(names[key], file[str(i)], strict=True))
            for i, key in enumerate(map(str, file["cases"]))
        }


def key(case):
    return json.dumps(case, sort_keys=True)


def compare(case, tolerance):
    found, wanted = simulate(**settings(case)), kept()[key(case)]
    found = found.sel(round=found["round"] > 0)  # the start was not evaluated then
    # Test records are scaled as training records are; they were not for softmax.
    scaled = "max_l1_norm" in case["problem"].get("records", {})
    skipped = {"test_loss"} if scaled else set()
    if solved(case) != case["problem"]:
        skipped |= {"train_loss", "empirical_loss"}  # of the problem as the case states it
    for name, values in wanted.items():
        if name in skipped:
            continue
        largest = np.abs(values).max()
        np.testing.assert_allclose(
            found[name], values, rtol=0, atol=tolerance * largest, err_msg=name
        )


@pytest.mark.parametrize("case", EXACT, ids=key)
def test_rounds_are_those_of_before(case):
    compare(case, 1e-9)


@pytest.mark.parametrize("case", SOLVED, ids=key)
def test_optima_are_those_of_before_within_the_solvers_tolerance(case):
    compare(case, 1e-3 if case["problem"]["penalty"] == "l1" else 1e-5)


def test_no_case_is_lost():
    assert set(kept()) == {key(case) for case in (*EXACT, *SOLVED)}
