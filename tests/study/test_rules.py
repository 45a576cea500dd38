"""Rules of experiments, their methods and their figures: each refuses one, and all let the same one pass."""

import pytest

from admmbench.study.config import ConfigError, check_experiment
from admmbench.study.methods import METHOD_RULES
from admmbench.study.rules import EXPERIMENT_RULES, FIGURE_RULES

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
    "figures": [
        {"name": "a", "kind": "curves", "metric": "epsilon_total", "against": "floats_sent"},
        {
            "name": "b",
            "kind": "tradeoff",
            "against": "params.local_updates",
            "algorithms": ["ObjP"],
        },
    ],
}


def figure(**keys):
    return {"figures": [{"name": "a", "kind": "tradeoff", **keys}]}


ANALYSES = {"interim_analyses": [2, 4]}
PAIRED = {"pairs": {}, **ANALYSES, "mirrored": {"ObjP": {1: 2}}}
REFUSED = {
    "budgets of a method beside privacy": {"algorithms": [{**OBJP, "privacy": {"total": 1}}]},
    "one value of a setting of privacy": {
        "algorithms": [{**OBJP, "noise": "gaussian", "privacy": {"noise": "laplace"}}]
    },
    "tuning of what has one value": {"rounds": [4, 5], "algorithms": [TUNED]},
    "one kind of budget": {"epsilon": 1},
    "one way to state blocks": {"seed_block": 2, "seed_blocks": [2]},
    "blocks of seeds that can be spelt out": {"seed_blocks": [10**4, 1]},
    "blocks of the seeds": {"seeds": 4, "seed_blocks": [2, 1]},
    "blocks without gaps": {"seeds": [7, 3, 5], "seed_blocks": [1, 2]},
    "seeds by interim analyses or by number": {"interim_analyses": [2], "seeds": 2},
    "interim analyses that follow one another": {"interim_analyses": [4, 2]},
    "interim analyses that can be spelt out": {"interim_analyses": [2, 10**9]},
    "seeds ordered for methods there are": {"interim_analyses": [2], "ordered": {"ObjQ": {1: 2}}},
    "seeds ordered by interim analyses": {"interim_analyses": [2, 4], "ordered": {"ObjP": {1: 3}}},
    "tuning that says how": {"algorithms": [TUNED]},
    "settings of methods there are": {"tuned": {"ObjQ": {1: {"settings": {}, "error": 0}}}},
    "tuning with seeds of its own": {"tuning": {"seeds": [12, 9]}},
    "trials in scope of all methods": {"algorithms": [{**OBJP, "privacy": {"trials": 50}}]},
    "trials in scope that are known": {"privacy": {"total": 1, "covers": "every_trial"}},
    "trials in scope that are all": {"tuning": {"sensitivity": True}, "privacy": COVERED},
    "a best trial of one run each": {**BEST, "tuning": {"seeds": [50, 51]}},
    "as many trials in scope as are made": {**BEST, "privacy": {**COVERED, "trials": 24}},
    "audits at budgets there are": {"audit": {"budgets": [1, 2]}},
    "labels that differ": {
        "algorithms": [{**OBJP, "label": f"{e} 1"} for e in ("\u00e9", "e\u0301 ")]
    },
    "a control there is": {"control": "ObjQ"},
    "a part of the methods there are": {"only": ["ObjQ"]},
    "methods that differ": {"algorithms": [OBJP, {**OBJP, "label": "b", "params": {"a": 1}}]},
    "held-out rows that nobody trains on": {
        "agents": {"scheme": "iid", "agents": 2, "train": 100, "shuffle": True},
        "tuning": {},
        "algorithms": [TUNED],
    },
    "pairs where seeds leave a setting open": {"pairs": {}},
    "pairs at equal totals": {"pairs": {}, **ANALYSES, "privacy": {}, "epsilon": 1, "figures": []},
    "pairs of errors, not of times": {"pairs": {}, **ANALYSES, "timed": True},
    "pairs outside a search": {"pairs": {}, **ANALYSES, "privacy": COVERED},
    "pairs of one test set": {
        "pairs": {},
        **ANALYSES,
        "agents": {"scheme": "iid", "agents": 2, "train": 900, "shuffle": True},
    },
    "pairs after methods there are": {"pairs": {"after": 1}, **ANALYSES},
    "mirrors where pairs are stated": {**PAIRED, "pairs": None},
    "mirrors of methods there are": {**PAIRED, "mirrored": {"ObjQ": {1: 2}}},
    "pairs by interim analyses": {**PAIRED, "mirrored": {"ObjP": {1: 1}}},
    "mirrors of seeds that are run": {**PAIRED, "mirrored": {"ObjP": {1: 4}}},
    "mirrors of noise that is drawn where it is added": {
        **PAIRED,
        "algorithms": [
            OBJP,
            {"name": "dvp", "label": "DVP", "epsilon": 1},
        ],
        "dataset": "breast_cancer_wisconsin",
        "problem": {"loss": "logistic", "records": {"max_l2_norm": 1}},
        "mirrored": {"DVP": {1: 2}},
        "figures": [],
    },
    "figures whose names differ": {"figures": 2 * figure()["figures"]},
    "figures of methods there are": figure(algorithms=["ObjQ"]),
    "figures of what is measured": figure(metric="test_eror"),
    "an axis along which methods advance": figure(kind="curves", against="outer_iterations"),
    "an axis of a parameter there is": figure(against="params.local_update"),
    "an axis of numbers": figure(against="params.variant"),
    "figures of totals that are finite": figure(metric="epsilon_total")
    | {"privacy": {}, "epsilon": 1, "sensitivity": "local"},
}
RULES = [*METHOD_RULES, *EXPERIMENT_RULES, *FIGURE_RULES]
# How the messages with values begin.
MESSAGES = {
    "budgets of a method beside privacy": "algorithms.0.privacy.total: a method has no total",
    "one value of a setting of privacy": "algorithms.0.noise: gaussian is not privacy.noise: laplace",
    "tuning of what has one value": "algorithms.0.tune.rounds: rounds has the values [4, 5], and",
    "blocks of the seeds": "seed_blocks: the blocks have 3 seeds together, seeds has 4",
    "blocks without gaps": "seed_blocks.1: its seeds [5, 7] have gaps",
    "interim analyses that follow one another": "interim_analyses: expected numbers of seeds that increase, got [4, 2]",
    "interim analyses that can be spelt out": "interim_analyses: expected at most 10,000 seeds, got 1,000,000,000",
    "seeds ordered for methods there are": "ordered: unknown label 'ObjQ'; did you mean 'ObjP'?",
    "seeds ordered by interim analyses": "ordered.ObjP.1: 3 seeds are none of interim_analyses",
    "tuning that says how": "algorithms.0.tune: the experiment has no tuning",
    "settings of methods there are": "tuned: unknown label 'ObjQ'; did you mean 'ObjP'?",
    "tuning with seeds of its own": "tuning.seeds: 9 is a seed of the runs",
    "trials in scope of all methods": "algorithms.0.privacy.trials: methods count the trials",
    "pairs outside a search": "pairs: privacy.covers: every_trial needs trials whose noise",
    "pairs of one test set": "pairs: agents.train of algorithms.0 draws other test records",
    "pairs after methods there are": "pairs.after: expected at most the number of added methods, 0",
    "mirrors of methods there are": "mirrored: unknown label 'ObjQ'; did you mean 'ObjP'?",
    "pairs by interim analyses": "mirrored.ObjP.1: 1 pairs are none of interim_analyses",
    "mirrors of seeds that are run": "mirrored.ObjP.1: 4 pairs need as many seeds, and 2 are ordered",
    "mirrors of noise that is drawn where it is added": "mirrored: DVP has no Laplace or normal",
    "trials in scope that are known": "privacy.covers: every_trial counts trials",
    "as many trials in scope as are made": "privacy.trials: 24 are fewer than the 30 runs",
    "audits at budgets there are": "audit.budgets.1: 2 is no budget of the experiment",
    "labels that differ": "algorithms: the label '\u00e9 1' appears twice",
    "a control there is": "control: unknown label 'ObjQ'; did you mean 'ObjP'?",
    "a part of the methods there are": "only: unknown label 'ObjQ'; did you mean 'ObjP'?",
    "methods that differ": "algorithms: 'ObjP' and 'b' are the same method",
    "held-out rows that nobody trains on": "algorithms.0.tune: agents.train partitions rows of both",
    "figures whose names differ": "figures: the name 'a' appears twice",
    "figures of methods there are": "figures.0.algorithms: unknown label 'ObjQ'; did you mean",
    "figures of what is measured": "figures.0.metric: unknown metric 'test_eror'; did you mean",
    "an axis along which methods advance": "figures.0.against: no method here has outer iterations",
    "an axis of a parameter there is": "figures.0.against: unknown parameter 'local_update'; did",
    "an axis of numbers": "figures.0.against: params.variant of 'ObjP' is 'paper', which is no number",
    "figures of totals that are finite": "figures.0: no method here has a guarantee, so epsilon_tot",
}


def test_each_rule_has_an_example():
    assert [rule.name for rule in RULES] == list(REFUSED)
    assert len(check_experiment(PASSES).figures) == 2


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_refuses(rule):
    with pytest.raises(ConfigError) as raised:
        check_experiment({**PASSES, **REFUSED[rule.name]})
    (_, text) = str(raised.value).splitlines()
    assert text.strip().startswith(MESSAGES.get(rule.name, rule.message))
    assert text.endswith(f"; {rule.fix}")
