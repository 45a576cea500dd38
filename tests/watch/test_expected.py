"""What is known of jobs before they run."""

from pathlib import Path

import pytest

from admmbench.forecast import plan
from admmbench.forecast.cost import LIMITS, Machine, work
from admmbench.study import config
from admmbench.study.address import rule_name
from admmbench.watch.expected import expected
from tests.studies import SMALL, write_study

ATTACKED = {
    **SMALL,
    "epsilon": [0.5, 1],
    "sensitivity": "global",
    "audit": {"rounds": 2, "repeats": 40, "canaries": ["worst"], "budgets": [1]},
}
TUNED = {
    **SMALL,
    "epsilon": None,
    "sensitivity": "global",
    "privacy": {"total": [1]},
    "tuning": {"trials": 5, "seeds": [100, 101]},
    "algorithms": [{"name": "objp", "label": "ObjP", "tune": {"rounds": 20}}],
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    timed = {**ATTACKED, "timed": True, "audit": None}
    write_study(tmp_path, "threads: 1\n", small=ATTACKED, timed=timed, tuned=TUNED)
    return Path("config")


def test_every_job_that_computes_is_known_by_its_rule(folder):
    study = config.read()
    found = expected(study, LIMITS)
    (half, _) = study.experiments["small"].runs
    (rule,) = [rule for rule in found if rule.startswith("run_")]
    assert rule == rule_name("run", half.address.folder)
    assert found[rule] == ("ObjP", LIMITS.start + work(half.spec))
    assert found["audit_small"].title == "attacks on small"
    assert found["audit_small"].seconds > LIMITS.start
    assert found["time_timed"].title == "timed, run by run"
    assert found["tune_tuned"].title == "tuning of tuned"
    spec = next(iter(study.experiments["tuned"].searches.values())).spec
    assert found["tune_tuned"].seconds == pytest.approx(LIMITS.start + 10 * work(spec))
    assert len(found) == 4


def test_what_was_measured_is_taken(folder):
    found = expected(config.read(), Machine(start=1, product=0, vector=0, entry=0, step=3))
    (run,) = [each.seconds for rule, each in found.items() if rule.startswith("run_")]
    assert run == 1 + 10 * 3
    assert found["time_timed"].seconds == 2 * 31
    # Two worlds, in batches of 2 seeds: 40 repeats of 2 rounds, and comparisons of all 10.
    rounds = 40 * 2 + plan._COMPARED * 10
    assert found["audit_small"].seconds == 1 + plan._LOOKED_AT * rounds * 3
