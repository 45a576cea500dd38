"""Accountants: one entry each, chosen by name, from traces to the report."""

import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from admmbench import simulate
from admmbench.datasets import load_dataset
from admmbench.engine.context import Context
from admmbench.jobs import job
from admmbench.privacy import (
    ACCOUNTANTS,
    Composition,
    Gaussian,
    Laplace,
    Pure,
    composition,
    dearest,
    epsilon_total,
)
from admmbench.privacy.composition import total
from admmbench.report import rendering
from admmbench.spec.run import RunSpec
from admmbench.study.aggregate import aggregate
from admmbench.study.config import ConfigError, check_experiment
from admmbench.study.experiment import Experiment
from tests.pages import ROOT, blocks
from tests.privacy.ledgers import ledger_of, theirs

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


@pytest.fixture
def zcdp():
    """The accountant that a page shows: all that a new one takes is its entry."""
    before = dict(ACCOUNTANTS)
    page = blocks(ROOT / "docs/privacy/totals.md")
    (shown,) = (block.text for block in page if "@accountant(" in block.text)
    exec(compile(shown.partition("ledger = ")[0], "accountant", "exec"), {})
    yield ACCOUNTANTS["zcdp"]
    ACCOUNTANTS.clear()
    ACCOUNTANTS.update(before)


def results_of(definition, folder):
    experiment = Experiment.model_validate(definition)
    data = load_dataset("digits")
    for run in experiment.runs:
        job.execute(run.spec, data, folder / run.path, Context(1))
    return experiment, aggregate("small", experiment, folder)


def heads(experiment, results):
    page = rendering.render([rendering.Section(results, experiment)], [])
    (head,) = re.findall(r"<thead>(?:(?!</thead>).)*ε times rounds.*?</thead>", page)
    return re.findall(r">([^<>]+)</th>", head)[4:]


def test_what_is_composed_by_a_new_accountant_reaches_trace_results_and_report(zcdp, tmp_path):
    trace = simulate("digits", "objp", rounds=2, evaluate_every=1, epsilon=0.5)
    assert trace.epsilon_zcdp.attrs["accountant"] == "zcdp"
    assert (trace.epsilon_zcdp >= trace.epsilon_composed).all()
    experiment, results = results_of(EXPERIMENT, tmp_path)
    assert results.epsilon_zcdp.notnull().all()
    assert results.epsilon_zcdp.attrs["long_name"] == zcdp.long_name
    assert heads(experiment, results) == [
        *(each.column for each in ACCOUNTANTS.values() if each.usual),
        "ε guaranteed",
        "μ",
        "Regret of μ",
        "Guarantee",
    ]


def test_only_the_chosen_accountants_compose(monkeypatch, tmp_path):
    def fail(composition, delta):
        raise AssertionError("was not asked for")

    other = replace(ACCOUNTANTS["huang2019"], compose=fail)
    monkeypatch.setitem(ACCOUNTANTS, "huang2019", other)
    experiment, results = results_of({**EXPERIMENT, "accountants": []}, tmp_path)
    assert "epsilon_composed" in results
    assert "epsilon_moments" not in results
    assert heads(experiment, results) == [
        "ε composed",
        "ε guaranteed",
        "μ",
        "Regret of μ",
        "Guarantee",
    ]


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


# The least total


def spread_out(l1, entries):
    """As many entries, with an equal part of the shift each."""
    return Laplace(l1, l1 / math.sqrt(entries), l1 / entries)


@pytest.mark.parametrize(
    ("cost", "count", "delta", "by"),
    [
        # An entry may shift by four times the mean: distributions take all for such entries, and know no l2 norm.
        (Laplace(0.05, 0.0025, 0.0005), 80, 1e-5, {"rdp": 0.0742, "pld": 0.1417}),
        (spread_out(0.05, 1568), 20_000, 1e-6, {"rdp": 0.7973, "pld": 0.7391}),
        (spread_out(0.05, 1568), 20_000, 1e-12, {"rdp": 1.227, "pld": math.inf}),
    ],
)
def test_neither_accountant_has_always_the_smaller_total(cost, count, delta, by):
    composition = Composition([(cost, count)])
    for name, printed in by.items():
        assert ACCOUNTANTS[name].epsilon(composition, delta) == pytest.approx(printed, rel=1e-3)
    assert total(composition, delta) == min(
        ACCOUNTANTS[name].epsilon(composition, delta) for name in by
    )


releases = st.tuples(
    st.sampled_from(["laplace", "entries", "pure", "gaussian", "sampled"]),
    st.floats(0.01, 3),
    st.integers(1, 60),
)


KINDS = {
    "laplace": lambda shift: Laplace(shift, shift, shift),
    "entries": lambda shift: spread_out(shift, 4),
    "pure": Pure,
    "gaussian": lambda shift: Gaussian(2 / shift),
    "sampled": lambda shift: Gaussian(2 / shift, 0.2),
}


def costs_of(releases, noise=1.0):
    """Costs of releases, with so many times the noise."""
    return [(KINDS[kind](size / noise), count) for kind, size, count in releases]


def least_epsilon(releases, delta):
    """What dp-accounting says of them on its optimistic grid, which stays below the truth."""
    # Laplace noise is a pure release as well.
    releases = [("laplace" if kind == "pure" else kind, *rest) for kind, *rest in releases]
    optimistic = {"pessimistic_estimate": False, "use_connect_dots": False}
    return theirs(*costs_of(releases), grid=5e-3, **optimistic).get_epsilon_for_delta(delta)


@settings(max_examples=15, deadline=None)
@given(st.lists(releases, min_size=1, max_size=3), st.floats(-8, -3).map(lambda x: 10**x))
def test_the_total_is_between_the_truth_and_all_that_accountants_prove(spent, delta):
    composition = Composition(costs_of(spent))
    found = total(composition, delta)
    assert least_epsilon(spent, delta) <= found * (1 + 1e-6) + 1e-9
    for name in ("rdp", "pld"):
        assert found <= ACCOUNTANTS[name].epsilon(composition, delta) * (1 + 1e-3)


@settings(max_examples=25, deadline=None)
@given(st.lists(releases, min_size=1, max_size=3), st.sampled_from([1e-8, 1e-5, 1e-3]))
def test_the_total_falls_as_noise_grows(spent, delta):
    """So that there is one noise for a total, and a search finds it."""
    noise = [1, 1.002, 1.005, 1.02, 1.1, 1.5, 4, 20]
    found = [total(Composition(costs_of(spent, each)), delta) for each in noise]
    assert found == sorted(found, reverse=True)
    assert found[0] > found[-1]


def test_the_agent_who_pays_most_is_the_one_with_the_largest_total():
    """By Renyi divergences alone it would be another."""
    laplace = ledger_of((spread_out(0.05, 1568), 20_000))
    normal = ledger_of(Gaussian(5.4))
    assert normal.epsilon(1e-6, "rdp") < laplace.epsilon(1e-6, "rdp")
    assert normal.epsilon(1e-6) > laplace.epsilon(1e-6)
    assert dearest([laplace, normal, laplace], 1e-6) is normal
    assert epsilon_total([laplace, normal], 1e-6) == normal.epsilon(1e-6)


def test_a_trace_has_the_least_total_where_there_is_a_guarantee(monkeypatch):
    """Without one, nothing is computed for it: every round costs something else there, and takes its time."""
    given = {"dataset": "digits", "algorithm": "objp", "rounds": 3, "evaluate_every": 1}
    trace = simulate(**given, epsilon=0.5, sensitivity="global", accountants=["pld"])
    least = np.minimum(trace.epsilon_composed, trace.epsilon_pld)
    assert (trace.epsilon_total == least).all()
    assert (trace.epsilon_total[1:] < 0.95 * trace.epsilon_composed[1:]).all()

    def fail(composition, delta):
        raise AssertionError("computed")

    monkeypatch.setattr(composition, "total_epsilon", fail)
    trace = simulate(**given, epsilon=0.5, sensitivity="local")
    assert np.isfinite(trace.epsilon_composed).all()
    assert np.isinf(trace.epsilon_total[1:]).all()


def test_a_run_for_a_total_meets_it():
    given = {"dataset": "digits", "algorithm": "objp", "rounds": 5, "sensitivity": "global"}
    trace = simulate(**given, privacy={"total": 2, "delta": 1e-5})
    assert 1.98 <= float(trace.epsilon_total[-1]) <= 2 < float(trace.epsilon_composed[-1])
