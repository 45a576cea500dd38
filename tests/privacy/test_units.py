"""Whole agents as the unit of privacy: neighbours by brute force, totals in closed form, faults and refusals."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from dp_accounting import get_epsilon_gaussian

from admmbench import simulate
from admmbench.audit.runs import Run, RunData, aligned_values
from admmbench.audit.settings import AuditSettings
from admmbench.contracts.made_up_data import make_dataset, written_by
from admmbench.engine.rounds import assemble
from admmbench.engine.threads import workers
from admmbench.privacy import gaussian_multiplier
from admmbench.results import reference
from admmbench.spec.guarantees import guarantee
from admmbench.spec.run import RunSpec
from tests.audit.runs import TWO, failed, make_spec, short_audit

PARAMS = {
    "dpsgd": {"learning_rate": 4.0},
    "dp_scaffold": {"learning_rate": 2.0, "local_updates": 2},
    "dp_fedavg": {"learning_rate": 4.0, "local_updates": 3, "clip": 0.3},
    "dp_fedadmm": {"rho": 0.1, "learning_rate": 2.0, "local_updates": 3, "clip": 0.3},
}
# The gradient of a mean of logistic losses, of records in the unit ball, is at most 1; messages are clipped.
MOST = {"dpsgd": 1.0, "dp_scaffold": 1.0, "dp_fedavg": 0.3, "dp_fedadmm": 0.3}
PROBLEM = {
    "loss": "logistic",
    "average": "agents",
    "per": "agent",
    "penalty": "l2",
    "strength": 0.3,
    "records": {"max_l2_norm": 1},
}
WRITERS = {"scheme": "by_writer"}
AGENT = 4
SHARED = [name for name in MOST if name != "dp_scaffold"]


def make(name, relation="zero_out", trust="agents", **changes):
    given = {
        "dataset": TWO,
        "algorithm": name,
        "params": PARAMS[name],
        "problem": PROBLEM,
        "agents": WRITERS,
        "privacy": {"unit": "agent", "relation": relation, "trust": trust},
        "epsilon": 1.0,
        "delta": 1e-3,
        "sensitivity": "global",
        "rounds": 4,
        "seeds": 6,
        "dtype": "float64",
    }
    return RunSpec(**{**given, **changes})


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


@pytest.mark.parametrize("trust", ["agents", "secure_sum"])
@pytest.mark.parametrize("relation", ["zero_out", "replace"])
@pytest.mark.parametrize("name", MOST)
def test_no_agent_moves_a_message_further_than_stated(name, relation, trust):
    """Drawn neighbours, from wherever loud noise has led; ledgers are told this bound, over the noise."""
    if trust == "secure_sum" and name not in SHARED:
        pytest.skip("its server needs single messages")
    rng, farthest = np.random.default_rng(1), 0.0
    bound = MOST[name] * (1 if relation == "zero_out" else 2) / (5 if trust == "secure_sum" else 1)
    for _ in range(4):
        first, second = RunData(with_agent(rng)), RunData(with_agent(rng))
        if relation == "zero_out":
            second = first._replace(absent=AGENT)
        runs = [
            Run(
                make(name, relation, trust, dataset=world.data),
                world,
                noise_factors=4.0 ** np.arange(6),
            )
            for world in (first, second)
        ]
        for t in range(1, 5):
            runs[0].round(t)
            runs[1].round(t, runs[0])
        for ours, theirs in aligned_values(*runs):
            apart = np.linalg.norm(ours.value - theirs.value, axis=(2, 3))
            farthest = max(farthest, apart.max() / bound)
            for (told,), scale, moved in zip(ours.entered, ours.scale, apart, strict=True):
                shift = told.cost.shift[1] * scale  # with what rounding to the grid adds
                assert (bound <= shift).all()
                assert (shift <= 1.002 * bound).all()
                assert (moved <= shift).all()
    assert farthest > 0.3


@pytest.mark.parametrize("name", MOST)
def test_an_absent_agent_sends_noise_alone(name):
    data = with_agent(np.random.default_rng(2))
    run = Run(make(name, dataset=data), RunData(data, absent=AGENT))
    for t in range(1, 4):
        run.round(t)
    values = np.concatenate([tape[-1].value for tape in run.transcripts])
    assert not values[AGENT].any()
    assert values[:4].any(axis=(1, 2, 3)).all()


@pytest.mark.parametrize("relation", ["zero_out", "replace"])
@pytest.mark.parametrize("name", MOST)
def test_totals_have_a_closed_form(name, relation):
    """One Gaussian release for each update, whose noise is for twice the bound."""
    spec = make(name, relation, agents=3, rounds=6)
    trace = simulate(
        TWO,
        name,
        PARAMS[name],
        problem=PROBLEM,
        privacy=spec.privacy.model_dump(),
        agents=3,
        epsilon=1.0,
        delta=1e-3,
        sensitivity="global",
        rounds=6,
        seeds=1,
    )
    multiplier = gaussian_multiplier(1.0, 1e-3) * (2 if relation == "zero_out" else 1)
    releases = 6 * (2 if name == "dp_scaffold" else 1)
    expected = get_epsilon_gaussian(multiplier / math.sqrt(releases), 1e-3)
    assert float(trace.epsilon_total[-1]) == pytest.approx(expected, rel=1e-9)
    assert trace.epsilon_total.attrs["unit_of_privacy"] == "agent"


@pytest.mark.parametrize("name", SHARED)
def test_weights_and_shares_of_noise_tell_no_number_of_records(name):
    data, weights = with_agent(np.random.default_rng(3)), []
    for absent in (None, AGENT):
        with workers(1) as pool:
            spec = make(name, trust="secure_sum", dataset=data)
            federation = assemble(spec, data, pool, absent=absent)
        assert federation.privacy.summed == 5
        weights.append(np.concatenate([block.parts.weights for block in federation.blocks]))
    np.testing.assert_array_equal(*weights)


@pytest.mark.parametrize("relation", ["zero_out", "replace"])
@pytest.mark.parametrize("name", MOST)
def test_audits_find_nothing(name, relation):
    settings = AuditSettings(rounds=2, repeats=24, canaries=["worst", "natural"])
    privacy = {"unit": "agent", "relation": relation}
    assert short_audit(name, TWO, settings, problem=PROBLEM, privacy=privacy).complete


BROKEN = """
import numpy as np
from admmbench.api import *
from admmbench.algorithms.{module} import {base}
from admmbench.sensitivity import Sensitivity

@parameters
class Broken({base}):
    '''A lie about privacy.'''
{body}
"""
LIES = {
    "a clip that is missing": (
        "dp_fedavg",
        "DPFedAvg",
        """
    def noisy_mean(self, value, *rest):
        from unittest.mock import patch
        with patch("admmbench.algorithms.dp_fedavg.clip_norms", lambda models, most: models):
            return super().noisy_mean(value, *rest)
""",
        "likelihood",
        "of what the ledger was told",
    ),
    "a bound that is half the clip": (
        "dp_fedadmm",
        "DPFedADMM",
        """
    def sensitivity(self, parts):
        return Sensitivity(l2=np.full_like(parts.gradient_bound, self.clip / 2))
""",
        "likelihood",
        "of what the ledger was told",
    ),
    "a dual variable that leaves": (
        "dp_fedadmm",
        "DPFedADMM",
        """
    def round(self, t, state, federation):
        sent = super().round(t, state, federation)
        state.w = state.w - state.dual.mean(axis=0)
        return sent
""",
        "coupling",
        "Data leave without noise",
    ),
    "noise for a record": (
        "dpsgd",
        "DPSGD",
        """
    def noisy_mean(self, value, sensitivity, *rest, **more):
        def own(parts):
            return Sensitivity(l2=parts.gradient_bound / parts.n_samples[:, None].clip(1))
        return super().noisy_mean(value, own, *rest, **more)
""",
        "likelihood",
        "of what the ledger was told",
    ),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_about_agents_is_caught(lie, tmp_path):
    module, base, body, level, sentence = LIES[lie]
    file = tmp_path / "broken.py"
    file.write_text(BROKEN.format(module=module, base=base, body=body))
    settings = AuditSettings(rounds=2, repeats=16, canaries=["worst"])
    given = {"problem": PROBLEM, "params": {**PARAMS[module], "learning_rate": 6.0}}
    found = short_audit(str(file), TWO, settings, privacy={"unit": "agent"}, **given)
    assert sentence in failed(found)[level]


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("objp", {}, "privacy.unit: agent does not suit objp: its noise hides one record"),
        ("pvp", {}, "privacy.unit: agent does not suit pvp: its noise hides one record"),
        ("amp", {"rounds": 1}, "privacy.unit: agent does not suit amp: its noise hides one record"),
        (
            "dp_fedavg",
            {"problem": {"loss": "logistic", "average": "records"}},
            "privacy.unit: agent does not go with problem.average: records, as the weights",
        ),
        (
            "dpsgd",
            {"params": {"sampling": 0.5}},
            "privacy.unit: agent does not go with params.sampling 0.5",
        ),
    ],
)
def test_what_has_no_total_for_agents_is_refused(name, changes, message):
    given = {"problem": PROBLEM, "privacy": {"unit": "agent"}}
    with pytest.raises(ValueError, match="unit: agent") as error:
        make_spec(name, TWO, **{**given, **changes})
    assert message in str(error.value)


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
    spec = make_spec("centralized", TWO, rounds=1, problem=PROBLEM, privacy={"unit": "agent"})
    assert guarantee(spec).kind == "none"


def test_a_delta_above_one_over_the_number_of_agents_is_warned_of():
    spec = make_spec("dp_fedavg", TWO, delta=0.3, problem=PROBLEM, privacy={"unit": "agent"})
    assert "of the n = 4 agents" in spec.delta_warning
    assert not make_spec("dp_fedavg", TWO, problem=PROBLEM, privacy={"unit": "agent"}).delta_warning
