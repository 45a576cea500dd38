"""Whole agents as the unit of privacy: neighbours by brute force, totals in closed form, faults and refusals."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from admmbench.audit.runs import Run, RunData
from admmbench.contracts.made_up_data import make_dataset, written_by
from admmbench.engine.rounds import assemble
from admmbench.engine.threads import workers
from admmbench.results import reference
from admmbench.spec.guarantees import guarantee
from tests.audit.runs import TWO, WEIGHED_BY_AGENT, make_spec

PARAMS = {
    "dpsgd": {"learning_rate": 4.0},
    "accelerated_dpsgd": {"learning_rate": 4.0, "convexity": 0.1},
    "localized_dpsgd": {"learning_rate": 4.0, "phase_rounds": 2},
    "dp_scaffold": {"learning_rate": 2.0, "local_updates": 2},
    "fed_plt": {"learning_rate": 2.0, "local_updates": 2},
    "dp_fedavg": {"learning_rate": 4.0, "local_updates": 3, "clip": 0.3},
    "dp_fedadmm": {"rho": 0.1, "learning_rate": 2.0, "local_updates": 3, "clip": 0.3},
}
WRITERS = {"scheme": "by_writer"}
AGENT = 4
SHARED = [name for name in PARAMS if name not in ("dp_scaffold", "fed_plt")]


def make(name, data, trust="agents"):
    privacy = {"unit": "agent", "trust": trust}
    given = {"params": PARAMS[name], "problem": WEIGHED_BY_AGENT, "agents": WRITERS, "seeds": 6}
    return make_spec(name, data, privacy=privacy, dtype="float64", **given)


def with_agent(rng):
    """Data in which all records of the last agent are drawn, their number too; those of the others are the same."""
    n = int(rng.integers(1, 30))
    data, others = make_dataset(24 + n, n_classes=2), make_dataset(24, n_classes=2)
    X, y = data.X_train.copy(), data.y_train.copy()
    X[:24], y[:24] = others.X_train, others.y_train
    X[24:] = rng.choice([0, 1], X[24:].shape) if rng.random() < 0.5 else rng.random(X[24:].shape)
    y[24:] = rng.integers(2, size=n) if rng.random() < 0.5 else rng.integers(2)
    writers = np.array([*np.repeat(range(4), 6), *n * [AGENT]])
    return written_by(replace(data, X_train=X, y_train=y), writers, list("abcde"))


@pytest.mark.parametrize("name", PARAMS)
def test_an_absent_agent_sends_noise_alone(name):
    data = with_agent(np.random.default_rng(2))
    run = Run(make(name, data), RunData(data, absent=AGENT))
    for t in range(1, 4):
        run.round(t)
    values = np.concatenate([tape[-1].value for tape in run.transcripts])
    assert not values[AGENT].any()
    assert values[:4].any(axis=(1, 2, 3)).all()


@pytest.mark.parametrize("name", SHARED)
def test_weights_and_shares_of_noise_tell_no_number_of_records(name):
    data, weights = with_agent(np.random.default_rng(3)), []
    for absent in (None, AGENT):
        with workers(1) as pool:
            spec = make(name, data, trust="secure_sum")
            federation = assemble(spec, data, pool, absent=absent)
        assert federation.privacy.summed == 5
        weights.append(np.concatenate([block.parts.weights for block in federation.blocks]))
    np.testing.assert_array_equal(*weights)


def test_the_errors_of_the_page_are_those_of_the_kept_results():
    page = (Path(__file__).parents[2] / "docs/privacy/units.md").read_text("utf-8")
    results = reference.load(["agents_femnist"])["agents_femnist"]
    errors = 100 * results["test_error"].isel(round=-1).mean("seed")
    for label in results["algorithm"].values:
        cells = " | ".join(f"{error:.1f}" for error in errors.sel(algorithm=label).values)
        assert f"| {label} | {cells} |" in page
    assert set(results["guarantee"].values) == {"proved"}
    assert set(results.coords["relation"].values) == {"zero_out"}
    assert set(results["unit"].values) == {"agent"}


def test_methods_without_noise_go_beside_those_with_totals_for_agents():
    spec = make_spec(
        "centralized", TWO, rounds=1, problem=WEIGHED_BY_AGENT, privacy={"unit": "agent"}
    )
    assert guarantee(spec).kind == "none"


def test_a_delta_above_one_over_the_number_of_agents_is_warned_of():
    spec = make_spec(
        "dp_fedavg", TWO, delta=0.3, problem=WEIGHED_BY_AGENT, privacy={"unit": "agent"}
    )
    assert "of the n = 4 agents" in spec.delta_warning
    assert not make_spec(
        "dp_fedavg", TWO, problem=WEIGHED_BY_AGENT, privacy={"unit": "agent"}
    ).delta_warning
