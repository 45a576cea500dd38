"""The runs of before can still be had: models, errors, noise and totals are those that were kept."""

from functools import cache

import numpy as np
import pytest

from admmbench.contracts.made_up_data import make_dataset
from admmbench.spec.run import RunSpec
from tests.regression.problems import AGENTS, EXACTLY, KEPT, PRIVATE, SOFTMAX, cases, measure


@cache
def kept():
    with np.load(KEPT) as file:
        return {str(name): file[str(number)] for number, name in enumerate(file["names"])}


@pytest.mark.parametrize("name", kept())
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


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("outp", {}),
        ("outp", {"variant": "reference"}),
        ("pvp", {}),
        ("private_admm", {}),
        ("objp", {}),
        ("objp", {"variant": "reference"}),
        ("objt", {}),
        ("iceadmm", {}),
    ],
)
def test_equal_agents_do_the_same_in_the_units_of_records_and_of_agents(name, settings):
    """Penalty parameter, strength and one over the proximity are beside a sum that is P times as large for agents."""
    of_solution = name in {"outp", "pvp", "private_admm"}
    found = []
    for average, unit in (("agents", AGENTS), ("records", 1)):
        params = {"rho": 0.05 * unit}
        if name in {"pvp", "private_admm"}:
            params |= EXACTLY
        if name in {"objp", "iceadmm"}:
            params["a"] = 20 / unit
        problem = {**SOFTMAX, "per": "agent", "strength": 5e-3 * unit, "average": average}
        given = {"dataset": make_dataset(n_train=60), "agents": AGENTS, "rounds": 6, **PRIVATE}
        given |= {"algorithm": name, "params": params, "problem": problem, "seeds": (0, 1)}
        found.append(measure(RunSpec(**given, **settings, dtype="float64")))
        if not of_solution:  # noise on a gradient has its units
            found[-1]["noise_magnitude"] /= unit
    for variable, values in found[0].items():
        np.testing.assert_allclose(values, found[1][variable], rtol=1e-8, err_msg=variable)
