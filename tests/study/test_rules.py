"""Rules of experiments: each refuses one, and all let the same one pass."""

import pytest

from admmbench.study.config import ConfigError, check_experiment
from admmbench.study.rules import EXPERIMENT_RULES

OBJP = {"name": "objp", "label": "ObjP"}
TUNED = {**OBJP, "tune": {"rounds": 4}}
COVERED = {"total": 1, "covers": "every_trial", "trials": 100}
BEST = {"tuning": {}, "privacy": {**COVERED, "covers": "best_trial"}}
PASSES = {
    "title": "t",
    "dataset": "digits",
    "rounds": 4,
    "sensitivity": "global",
    "privacy": {"total": 1},
    "algorithms": [
        OBJP,
        {"name": "pvp", "label": "PVP", "problem": {"records": {"max_l2_norm": 1}}},
    ],
}
REFUSED = {
    "one kind of budget": {"epsilon": 1},
    "one way to state blocks": {"seed_block": 2, "seed_blocks": [2]},
    "blocks of seeds that can be spelt out": {"seed_blocks": [10**4, 1]},
    "blocks of the seeds": {"seeds": 3, "seed_blocks": [2]},
    "blocks without gaps": {"seeds": [0, 2], "seed_blocks": [2]},
    "seeds by interim analyses or by number": {"interim_analyses": [2], "seeds": 2},
    "interim analyses that follow one another": {"interim_analyses": [4, 2]},
    "interim analyses that can be spelt out": {"interim_analyses": [2, 10**5]},
    "seeds ordered for methods there are": {"interim_analyses": [2], "ordered": {"ObjQ": {1: 2}}},
    "seeds ordered by interim analyses": {"interim_analyses": [2, 4], "ordered": {"ObjP": {1: 3}}},
    "tuning that says how": {"algorithms": [TUNED]},
    "settings of methods there are": {"tuned": {"ObjQ": {1: {"settings": {}, "error": 0}}}},
    "tuning with seeds of its own": {"tuning": {"seeds": [9]}},
    "trials in scope of all methods": {"algorithms": [{**OBJP, "privacy": {"trials": 50}}]},
    "trials in scope that are known": {"privacy": {"total": 1, "covers": "every_trial"}},
    "trials in scope that are all": {"tuning": {"sensitivity": True}, "privacy": COVERED},
    "a best trial of one run each": {**BEST, "tuning": {"seeds": [50, 51]}},
    "as many trials in scope as are made": {**BEST, "privacy": {**COVERED, "trials": 20}},
    "audits at budgets there are": {"audit": {"budgets": [2]}},
    "labels that differ": {"algorithms": [OBJP, {"name": "pvp", "label": "ObjP"}]},
    "a control there is": {"control": "ObjQ"},
    "a part of the methods there are": {"only": ["ObjQ"]},
    "methods that differ": {"algorithms": [OBJP, {**OBJP, "label": "the same"}]},
    "held-out rows that nobody trains on": {
        "agents": {"scheme": "iid", "agents": 2, "train": 100, "shuffle": True},
        "tuning": {},
        "algorithms": [TUNED],
    },
}


def test_each_rule_has_an_example():
    assert [rule.name for rule in EXPERIMENT_RULES] == list(REFUSED)
    passes = check_experiment(PASSES)
    assert not any(rule.when(passes) for rule in EXPERIMENT_RULES)


@pytest.mark.parametrize("rule", EXPERIMENT_RULES, ids=lambda rule: rule.name)
def test_a_rule_refuses(rule):
    with pytest.raises(ConfigError) as raised:
        check_experiment({**PASSES, **REFUSED[rule.name]})
    (_, text) = str(raised.value).splitlines()
    start, fix = rule.message.partition("{")[0], rule.fix
    assert text.strip().startswith(start)
    assert text.endswith(f"; {fix}")
