"""What is known of jobs before they run."""

from pathlib import Path

import pytest
import yaml

from admmbench.forecast import plan
from admmbench.forecast.cost import LIMITS, Machine, work
from admmbench.study import config
from admmbench.watch.expected import expected

SMALL = {
    "title": "Small",
    "dataset": "digits",
    "agents": 3,
    "rounds": 10,
    "seed_blocks": [2],
    "epsilon": [0.5, 1],
    "sensitivity": "global",
    "audit": {"rounds": 2, "repeats": 40, "canaries": ["worst"], "budgets": [1]},
    "algorithms": [{"name": "objp", "label": "ObjP"}],
}
TUNED = {
    **SMALL,
    "epsilon": None,
    "privacy": {"total": [1]},
    "tuning": {"trials": 5, "seeds": [100, 101]},
    "audit": None,
    "algorithms": [{"name": "objp", "label": "ObjP", "tune": {"rounds": 20}}],
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("config/experiments").mkdir(parents=True)
    for name, content in {
        "small": SMALL,
        "timed": {**SMALL, "timed": True, "audit": None},
        "tuned": TUNED,
    }.items():
        kept = {key: value for key, value in content.items() if value is not None}
        Path(f"config/experiments/{name}.yaml").write_text(yaml.safe_dump(kept))
    Path("config/config.yaml").write_text("experiments: [small, timed, tuned]\nthreads: 1\n")
    return Path("config")


def test_every_job_that_computes_is_known_by_its_log(folder):
    study = config.read()
    found = expected(study, LIMITS)
    (half, one) = study.experiments["small"].runs
    job = found[f"results/runs/{half.address.file('logs/{point}.log')}"]
    assert job.title == "ObjP, epsilon 0.5, seeds 0-1"
    assert job.seconds == LIMITS.start + work(half.spec)
    (attack,) = [log for log in found if "/audits/" in log]
    assert attack == f"results/small/logs/audits/{one.first.address.stem}.log"
    assert found[attack].title == "attacks on ObjP, epsilon 1"
    assert found[attack].seconds > LIMITS.start
    assert found["results/timed/logs/time.log"].title == "timed, run by run"
    (search,) = [log for log in found if "/tuning/" in log]
    assert found[search].title == "tuning of ObjP, total 1"
    spec = next(iter(study.experiments["tuned"].searches.values())).spec
    assert found[search].seconds == pytest.approx(LIMITS.start + 10 * work(spec))
    assert len(found) == 2 + 1 + 1 + 1


def test_a_large_budget_has_a_title_too(folder):
    changes = {"overrides": {"small": {"epsilon": [1e6], "audit": None}}}
    (run,) = config.read(changes=changes).experiments["small"].runs
    found = expected(config.read(changes=changes), LIMITS)
    title = found[f"results/runs/{run.address.file('logs/{point}.log')}"].title
    assert title == "ObjP, epsilon 1e+06, seeds 0-1"


def test_what_was_measured_is_taken(folder):
    study = config.read()
    runs = study.experiments["small"].runs
    found = expected(study, Machine(start=1, product=0, vector=0, entry=0, step=3))
    log = f"results/runs/{runs[0].address.file('logs/{point}.log')}"
    assert found[log].seconds == 1 + 10 * 3
    assert found["results/timed/logs/time.log"].seconds == 2 * 31
    (attack,) = [log for log in found if "/audits/" in log]
    # Two worlds, in batches of 2 seeds: 40 repeats of 2 rounds, and comparisons of all 10.
    rounds = 40 * 2 + plan._COMPARED * 10
    assert found[attack].seconds == 1 + plan._LOOKED_AT * rounds * 3
