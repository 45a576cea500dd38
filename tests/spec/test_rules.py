"""Rules: each refuses a run, and each lets one pass."""

import re

import pytest

from admmbench.algorithms.objp import ObjP
from admmbench.base.algorithm import PrivacyFacts, Resources
from admmbench.contracts.made_up_data import make_dataset
from admmbench.spec.facts import RunFacts
from admmbench.spec.rules import PRIVACY_RULES, SETTING_RULES, SHARING_RULES
from admmbench.spec.run import RunSpec

DATA = make_dataset(90, n_classes=2)
COLUMNS = {"scheme": "columns", "blocks": [3, 4]}
AGENT = {"relation": "replace", "unit": "agent", "trust": "secure_sum"}
FEDAVG = {"algorithm": "dp_fedavg", "sensitivity": "global", "epsilon": 1.0, "agents": 3}
SUMS = {"algorithm": "dpsgd", "sensitivity": "global", "epsilon": 1.0}
TOTAL = {"sensitivity": "global", "privacy": {"total": 1}}
# By the name of a rule: what it refuses, and what it does not.
RUNS = {
    "evaluations within the rounds": (
        {"rounds": 5, "evaluate_every": 6},
        {"rounds": 5, "evaluate_every": 5},
    ),
    "a variant that the method has": (
        {"algorithm": "pvp", "variant": "reference"},
        {"variant": "reference"},
    ),
    "variant beside params": ({"params": {"variant": "paper"}}, {"variant": "paper"}),
    "trials where a search is in scope": (
        {"privacy": {"total": 1, "covers": "every_trial"}},
        {"privacy": {"total": 1, "covers": "every_trial", "trials": 3}, "sensitivity": "global"},
    ),
    "composition scope with a total": (
        {"privacy": {"covers": "every_trial", "trials": 3}},
        {"privacy": {"total": 1, "covers": "every_trial", "trials": 3}, "sensitivity": "global"},
    ),
    "a mirror outside a search": (
        {
            "privacy": {"total": 1, "covers": "every_trial", "trials": 3},
            "sensitivity": "global",
            "mirror": True,
        },
        {"epsilon": 1.0, "mirror": True},
    ),
    "one kind of budget": ({"privacy": {"total": 1}, "epsilon": 1.0}, {"epsilon": 1.0}),
    "a mu alone": (
        {"privacy": {"total": 1, "mu": 1}, "sensitivity": "global"},
        {"privacy": {"mu": 1}, "sensitivity": "global"},
    ),
    "a set that the method keeps to": (
        {"algorithm": "dpsgd", "problem": {"loss": "logistic", "feasible": {"ball": 1}}},
        {"algorithm": "objp", "problem": {"loss": "logistic", "feasible": {"ball": 1}}},
    ),
    "data that the method takes": ({}, {}),
    "constraints that the method takes": (
        {"dataset": "synthetic_qp", "agents": None, "problem": None},
        {"dataset": "synthetic_qp", "agents": None, "problem": None, "algorithm": "prox_al"},
    ),
    "constraints that the method needs": (
        {"algorithm": "prox_al"},
        {"dataset": "synthetic_qp", "agents": None, "problem": None, "algorithm": "prox_al"},
    ),
    "shared rows or columns that the method takes": (
        {"agents": COLUMNS},
        {"agents": COLUMNS, "algorithm": "admm_sharing"},
    ),
    "packages of the method": ({}, {}),
    "clients that have test records": (
        {"problem": {"loss": "logistic", "metric": "worst_clients"}},
        {
            "problem": {"loss": "softmax", "metric": "worst_clients"},
            "dataset": make_dataset(writers=3),
            "agents": {"scheme": "by", "column": "writer"},
        },
    ),
    "one round of methods that need no more": (
        {"algorithm": "amp", "rounds": 2},
        {"algorithm": "amp", "rounds": 1},
    ),
    "samples that are ever drawn": (
        SUMS | {"params": {"sampling": 1e-12}},
        SUMS | {"params": {"sampling": 0.5}},
    ),
    "agents that ever take part": (
        FEDAVG | {"privacy": AGENT | {"participation": 1e-12}},
        FEDAVG | {"privacy": AGENT | {"participation": 0.5}},
    ),
    "agents by chance in a secure sum": (
        FEDAVG | {"privacy": AGENT | {"trust": "agents", "participation": 0.5}},
        FEDAVG | {"privacy": AGENT | {"participation": 0.5}},
    ),
    "agents by chance as the unit of privacy": (
        FEDAVG | {"privacy": AGENT | {"unit": "record", "participation": 0.5}},
        FEDAVG | {"privacy": AGENT | {"cohort": 2}},
    ),
    "a cohort or coins": (
        FEDAVG | {"privacy": AGENT | {"cohort": 2, "participation": 0.5}},
        FEDAVG | {"privacy": AGENT | {"cohort": 2}},
    ),
    "a cohort of the agents there are": (
        FEDAVG | {"privacy": AGENT | {"cohort": 4}},
        FEDAVG | {"privacy": AGENT | {"cohort": 3}},
    ),
    "a cohort in which agents are replaced": (
        FEDAVG | {"privacy": AGENT | {"cohort": 2, "relation": "zero_out"}},
        FEDAVG | {"privacy": AGENT | {"cohort": 2}},
    ),
    "a cohort whose agents keep nothing": (
        FEDAVG | {"algorithm": "dp_fedadmm", "privacy": AGENT | {"cohort": 2}},
        FEDAVG | {"algorithm": "dp_fedadmm", "privacy": AGENT | {"participation": 0.5}},
    ),
    "whole agents behind bounded messages": (
        {"epsilon": 1.0, "privacy": {"unit": "agent"}},
        FEDAVG | {"privacy": {"unit": "agent"}},
    ),
    "whole agents of equal weight": (
        FEDAVG | {"privacy": AGENT, "problem": {"loss": "logistic", "average": "records"}},
        FEDAVG | {"privacy": AGENT, "problem": {"loss": "logistic", "average": "agents"}},
    ),
    "whole agents without samples": (
        SUMS | {"params": {"sampling": 0.5}, "privacy": {"unit": "agent"}},
        SUMS | {"params": {"sampling": 0.5}},
    ),
    "a secure sum of what all agents know": (
        SUMS | {"algorithm": "dp_admm", "privacy": {"trust": "secure_sum"}},
        SUMS | {"privacy": {"trust": "secure_sum"}},
    ),
    "a secure sum of normal noise": (
        SUMS | {"algorithm": "objp", "privacy": {"trust": "secure_sum"}},
        SUMS | {"privacy": {"trust": "secure_sum"}},
    ),
    "a secure sum with one scale of noise": (
        SUMS | {"sensitivity": "local", "privacy": {"trust": "secure_sum"}},
        SUMS | {"privacy": {"trust": "secure_sum"}},
    ),
    "a mirror of noise that is drawn where it is added": (
        {"algorithm": "dvp", "epsilon": 1.0, "mirror": True},
        {"algorithm": "outp", "epsilon": 1.0, "mirror": True},
    ),
    "changing noise at a total": (
        SUMS | {"noise_ratio": 0.5},
        TOTAL | {"algorithm": "dpsgd", "noise_ratio": 0.5},
    ),
    "changing noise of Gaussian releases": (
        TOTAL | {"noise_ratio": 0.5},
        TOTAL | {"noise_ratio": 0.5, "privacy": {"total": 1, "noise": "gaussian"}},
    ),
    "changing noise beside a theorem": (
        TOTAL | {"algorithm": "dp_admm", "noise_ratio": 0.5, "params": {"average": "theorem4"}},
        TOTAL | {"algorithm": "dp_admm", "noise_ratio": 0.5, "params": {"average": "after"}},
    ),
    "a total of what has noise": (
        {"algorithm": "admm", "privacy": {"total": 1.0}, "sensitivity": "global"},
        {"algorithm": "admm", "privacy": {"total": float("inf")}, "sensitivity": "global"},
    ),
    "a total of the worst case": (
        {"privacy": {"total": 1.0}},
        {"privacy": {"total": 1.0}, "sensitivity": "global"},
    ),
    "a total with a guarantee": (
        {
            "algorithm": "dp_admm_sharing",
            "agents": COLUMNS,
            "privacy": {"total": 1.0},
            "sensitivity": "global",
        },
        {"privacy": {"total": 1.0}, "sensitivity": "global"},
    ),
}
# No method of ours has these.
OF_PLUGINS = {
    "data that the method takes": ("sharing", ()),
    "packages of the method": ("resources", Resources(packages=("no_such_package",))),
    "a secure sum of normal noise": ("privacy_facts", PrivacyFacts(sums_only=True)),
}
RULES = [*SETTING_RULES, *SHARING_RULES, *PRIVACY_RULES]


def facts(changes):
    given = {"dataset": DATA, "algorithm": "objp", "problem": "logistic", "agents": 2}
    return given | changes


def test_each_rule_has_an_example():
    assert [rule.name for rule in RULES] == list(RUNS)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_refuses_and_lets_pass(rule, monkeypatch):
    refused, passing = map(facts, RUNS[rule.name])
    assert not rule.when(RunFacts(**passing))
    RunSpec(**passing)
    if fact := OF_PLUGINS.get(rule.name):
        monkeypatch.setattr(ObjP, *fact)
    run = RunFacts(**refused)
    wrong = rule.when(run)
    assert wrong
    with pytest.raises(ValueError, match=re.escape(rule.fix)) as raised:
        RunSpec(**refused)
    text = f"{rule.message.format(run, wrong)}; {rule.fix}"
    assert text in str(raised.value)
    assert "{" not in rule.message.format(run, wrong)
