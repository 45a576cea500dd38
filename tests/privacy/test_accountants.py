"""Accountants: one entry each, chosen by name, from traces to the report."""

import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from pydantic import ValidationError

from admmbench import simulate
from admmbench.datasets import load_dataset
from admmbench.engine.spec import RunSpec
from admmbench.jobs import job
from admmbench.privacy import ACCOUNTANTS, Gaussian, Laplace, Ledger, Pure
from admmbench.privacy.accountants import accountant
from admmbench.report import rendering
from admmbench.results.aggregate import aggregate
from admmbench.study.config import ConfigError, check_experiment
from admmbench.study.experiment import Experiment

EXPERIMENT = {
    "title": "Small",
    "dataset": "digits",
    "agents": 3,
    "rounds": 4,
    "evaluate_every": 2,
    "seeds": 1,
    "epsilon": [0.5],
    "algorithms": [{"name": "outp", "label": "OutP"}, {"name": "objp", "label": "ObjP"}],
}


def zcdp_of(cost):
    """Zero-concentrated differential privacy of one release."""
    match cost:
        case Gaussian(multiplier):
            return multiplier**-2 / 2
        case Laplace(l1, _, linf):
            return l1 * linf / 2
        case Pure(epsilon):
            return epsilon**2 / 2


@pytest.fixture
def zcdp():
    """An accountant from outside: all that a new one takes is this entry."""
    before = dict(ACCOUNTANTS)

    @accountant(
        "zcdp",
        "epsilon_zcdp",
        "composed privacy loss epsilon, zCDP",
        "ε by zCDP",
        comment="zero-concentrated differential privacy",
    )
    def compose(spending, delta):
        rho = sum(count * zcdp_of(cost) for cost, count in spending)
        return rho + 2 * math.sqrt(rho * math.log(1 / delta))

    yield ACCOUNTANTS["zcdp"]
    ACCOUNTANTS.clear()
    ACCOUNTANTS.update(before)


def results_of(definition, folder):
    experiment = Experiment.model_validate(definition)
    data = load_dataset("digits")
    for run in experiment.runs:
        job.execute(run.spec, data, folder / run.path, 1)
    return experiment, aggregate("small", experiment, folder)


def heads(experiment, results):
    page = rendering.render([rendering.Section(results, experiment)], [])
    (head,) = re.findall(r"<thead>(?:(?!</thead>).)*ε times rounds.*?</thead>", page)
    return re.findall(r">([^<>]+)</th>", head)[4:]


def test_what_is_composed_by_a_new_accountant_reaches_trace_results_and_report(zcdp, tmp_path):
    trace = simulate("digits", "objp", rounds=2, evaluate_every=1, epsilon=0.5)
    assert trace.epsilon_zcdp.attrs["accountant"] == "zcdp"
    assert trace.epsilon_zcdp.attrs["comment"].startswith("zero-concentrated")
    assert (trace.epsilon_zcdp >= trace.epsilon_composed).all()
    experiment, results = results_of(EXPERIMENT, tmp_path)
    assert results.epsilon_zcdp.notnull().all()
    assert results.epsilon_zcdp.attrs["long_name"] == zcdp.long_name
    assert heads(experiment, results) == [
        *(each.column for each in ACCOUNTANTS.values() if each.usual),
        "ε guaranteed",
        "Guarantee",
    ]


@pytest.mark.parametrize("cost", [Laplace(0.05, 0.05, 0.05), Gaussian(20), Pure(0.05)], ids=str)
def test_a_new_accountant_is_an_upper_bound_as_well(zcdp, cost):
    ledger = Ledger()
    ledger.add(cost, 100)
    assert ledger.epsilon(1e-6) <= ledger.epsilon(1e-6, "zcdp") <= 2 * ledger.epsilon(1e-6)


def test_only_the_chosen_accountants_compose(monkeypatch, tmp_path):
    def fail(spending, delta):
        raise AssertionError("was not asked for")

    other = replace(ACCOUNTANTS["huang2019"], compose=fail)
    monkeypatch.setitem(ACCOUNTANTS, "huang2019", other)
    experiment, results = results_of({**EXPERIMENT, "accountants": []}, tmp_path)
    assert "epsilon_composed" in results
    assert "epsilon_moments" not in results
    assert heads(experiment, results) == ["ε composed", "ε guaranteed", "Guarantee"]


def test_totals_do_not_depend_on_the_choice():
    arguments = {"rounds": 4, "evaluate_every": 2, "epsilon": 0.5}
    everything = simulate("digits", "outp", **arguments)
    assert {"epsilon_composed", "epsilon_moments"} <= set(everything)
    alone = simulate("digits", "outp", accountants=["rdp"], **arguments)
    np.testing.assert_array_equal(everything.epsilon_composed, alone.epsilon_composed)


def test_equal_choices_are_equal_runs():
    specs = [
        RunSpec(dataset="digits", algorithm="objp", accountants=names)
        for names in (["huang2019"], ["huang2019", "rdp"], ["rdp", "huang2019", "huang2019"])
    ]
    assert len({json.dumps(spec.arguments()) for spec in specs}) == 1
    assert specs[0].accountants == ("rdp", "huang2019")


def test_an_unknown_accountant_gets_the_nearest():
    with pytest.raises(ValidationError, match="unknown accountant 'huang219'; did you mean 'hua"):
        RunSpec(dataset="digits", algorithm="objp", accountants=["huang219"])
    with pytest.raises(ConfigError, match="accountants: unknown accountant 'pdl'; did you mean 'p"):
        check_experiment({**EXPERIMENT, "accountants": ["pdl"]})


def test_a_figure_of_a_total_that_is_not_computed_is_refused():
    figure = {"name": "a", "kind": "curves", "metric": "epsilon_moments"}
    assert Experiment.model_validate({**EXPERIMENT, "figures": [figure]})
    with pytest.raises(ValidationError, match=r"figures\.0\.metric: unknown metric"):
        Experiment.model_validate({**EXPERIMENT, "figures": [figure], "accountants": ["rdp"]})


def test_distributions_of_losses_are_composed_for_who_asks():
    trace = simulate("digits", "objp", rounds=2, evaluate_every=2, epsilon=0.5, accountants=["pld"])
    assert 0.9 < float(trace.epsilon_pld[-1] / trace.epsilon_composed[-1]) < 1
    assert "epsilon_pld" not in simulate("digits", "objp", rounds=1, epsilon=0.5)


@pytest.mark.parametrize(
    "figure",
    [
        {"name": "a", "kind": "curves", "metric": "epsilon_total"},
        {"name": "a", "kind": "tradeoff", "against": "epsilon_total"},
    ],
)
def test_a_figure_of_guaranteed_totals_needs_a_guarantee(figure):
    with pytest.raises(ValidationError, match=r"figures\.0: no method here has a guarantee"):
        Experiment.model_validate({**EXPERIMENT, "figures": [figure]})
    assert Experiment.model_validate({**EXPERIMENT, "sensitivity": "global", "figures": [figure]})
    # Of the methods that it shows.
    code = {"name": "outp", "label": "code", "variant": "reference"}
    methods = [{"name": "outp", "label": "OutP"}, {"name": "objp", "label": "ObjP"}, code]
    assert Experiment.model_validate({**EXPERIMENT, "algorithms": methods, "figures": [figure]})
    own = {**figure, "algorithms": ["OutP"]}
    with pytest.raises(ValidationError, match="no method here has a guarantee"):
        Experiment.model_validate({**EXPERIMENT, "algorithms": methods, "figures": [own]})
