"""Noise-free traces in double precision are those that were kept: redesigns must not change what is computed.

``traces.npz`` has every method, variant and kind of problem on small made-up data: the settings of each run as JSON,
and its numbers. It was made by the code of commit df06845. Later are `dpsgd` with softmax, as it weighs agents by their
records since, and `objp` with the penalty of the authors' code and a smooth proximity, whose step takes this penalty
since. Another value means that an equation, an order or a stream of random numbers changed; if that is meant, say so
in the changelog and keep the new numbers.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from admmbench import simulate
from admmbench.contracts.made_up_data import make_dataset

AGENTS = 4
ROUNDS = {"rounds": 12, "evaluate_every": 3, "seeds": [0, 1, 2], "dtype": "float64"}
OPTIMA = {"centralized", "local_only"}
DIVIDED_BY_OWN = {"outp", "admm", "pvp", "dp_admm"}
DIVIDED_BY_ALL = {"iadmm", "objp", "objt"}


def kept():
    """Variables of each run, by its settings."""
    with np.load(Path(__file__).with_name("traces.npz")) as file:
        names = json.loads(str(file["variables"][0]))
        return {
            key: dict(zip(names[key], file[str(i)], strict=True))
            for i, key in enumerate(map(str, file["cases"]))
        }


def solved(case):
    """State the problem that a method solved when traces were made: most divided alike, whatever the problem said."""
    name, problem = case["algorithm"], case["problem"]
    if case.get("variant") == "reference":  # the penalty of all agents, for each
        agents = AGENTS if problem["per"] == "agent" else 1
        problem = {**problem, "strength": problem["strength"] * agents, "per": "agent"}
    if problem["loss"] == "softmax":
        if name in DIVIDED_BY_OWN:
            return {**problem, "average": "agents"}
        if name == "dpsgd":  # an agent's part of the penalty
            return {**problem, "strength": problem["strength"] / AGENTS}
    elif name in DIVIDED_BY_ALL:
        return {**problem, "average": "records"}
    return problem


@pytest.mark.parametrize(("key", "wanted"), kept().items(), ids=kept())
def test_rounds_are_those_of_before(key, wanted):
    """Optima are within their solvers' tolerance."""
    case = json.loads(key)
    n_classes = 3 if case["problem"]["loss"] == "softmax" else 2
    writers = 5 if case["agents"]["scheme"] == "by_writer" else 0
    data = make_dataset(n_train=61, n_classes=n_classes, writers=writers)
    found = simulate(**{**ROUNDS, "dataset": data, **case, "problem": solved(case)})
    found = found.sel(round=found["round"] > 0)  # the start was not evaluated then
    # Test records are scaled as training records are; they were not for softmax.
    scaled = "max_l1_norm" in case["problem"].get("records", {})
    skipped = {"test_loss"} if scaled else set()
    if solved(case) != case["problem"]:
        skipped |= {"train_loss", "empirical_loss"}  # of the problem as the case states it
    tolerance = 1e-9
    if case["algorithm"] in OPTIMA:
        tolerance = 1e-3 if case["problem"]["penalty"] == "l1" else 1e-5
    for name in wanted.keys() - skipped:
        largest = np.abs(wanted[name]).max()
        np.testing.assert_allclose(
            found[name], wanted[name], rtol=0, atol=tolerance * largest, err_msg=name
        )
