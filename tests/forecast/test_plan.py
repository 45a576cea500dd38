"""What a study costs: which runs are measured, how their costs add up, and what is read back."""

import io
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from rich.console import Console

from admmbench.engine.devices import Machine
from admmbench.forecast import plan, timing
from admmbench.forecast.cost import (
    LIMITS,
    estimate,
    model_entries,
    rounds_seconds,
    state_bytes,
    work,
)
from admmbench.forecast.timing import Speeds
from admmbench.jobs import fingerprint, provenance
from admmbench.jobs.progress import duration
from admmbench.spec.run import RunSpec
from admmbench.study import config
from admmbench.study.address import BENCHMARK, rule_name
from tests.plugins import write_method
from tests.studies import SMALL, Stated, write_study

EXPERIMENT = {
    **SMALL,
    "evaluate_every": 5,
    "seeds": None,
    "seed_blocks": [2, 1],
    "epsilon": [0.5, 1],
    "algorithms": [
        {"name": "objp", "label": "ObjP"},
        {"name": "objp", "label": "ObjPM", "params": {"local_updates": 10}},
    ],
}


def spec(**changes):
    base = {"dataset": "digits", "algorithm": "objp", "epsilon": 1, "agents": 3, "seeds": 1}
    return RunSpec(**{**base, **changes})


@pytest.fixture
def study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_study(tmp_path, "threads: 1\n", small=EXPERIMENT)
    return config.read()


COLUMNS = {
    "dataset": "a9a",
    "algorithm": "admm_sharing",
    "agents": {"scheme": "columns", "blocks": [66, 57]},
}


NUMBERS = {"dataset": "diabetes", "algorithm": "objp"}


def test_models_have_a_row_for_each_output():
    assert model_entries(spec(**NUMBERS)) == 11
    two = {"dataset": "adult", "algorithm": "dp_admm"}
    assert model_entries(spec(**two, problem="softmax")) == 2 * 104
    some = {**COLUMNS, "agents": {"scheme": "columns", "blocks": 2, "features": 50}}
    assert model_entries(spec(**some)) == 50


def variant(tmp_path, name, **facts):
    """A method that differs from ObjP in what it declares."""
    lines = "".join(f"{key} = {value}\n" for key, value in facts.items())
    return write_method(tmp_path / f"{name}.py", lines)


def test_the_state_grows_with_the_copies_of_a_method(tmp_path):
    """And so do memory and checkpoints; no method is known by name."""
    plenty = {"seeds": tuple(range(10)), "agents": 1000}
    few, many = (
        spec(
            algorithm=variant(
                tmp_path, f"copies{copies}", resources=f"Resources(state_copies={copies})"
            ),
            **plenty,
        )
        for copies in (1, 9)
    )
    model = 10 * 10 * 64
    assert state_bytes(few) == 4 * 1001 * model
    assert state_bytes(many) == 4 * 9001 * model
    assert estimate(many, 1).mem_mb - estimate(few, 1).mem_mb == pytest.approx(
        4 * 8000 * model / 2**20, abs=1
    )
    assert state_bytes(spec(algorithm="objp", **plenty)) == 4 * 3001 * model
    assert state_bytes(spec(algorithm="iadmm", dtype="float64")) == 8 * 10 * 640


def test_seeds_that_agree_count_as_one():
    ten, one = ({"seeds": seeds, "rounds": 10_000} for seeds in (tuple(range(10)), (0,)))
    quiet, noisy = (
        [spec(algorithm=name, **seeds) for seeds in (ten, one)] for name in ("iadmm", "objp")
    )
    assert estimate(quiet[0], 1) == estimate(quiet[1], 1)
    assert estimate(noisy[0], 1).runtime > estimate(noisy[1], 1).runtime
    assert work(quiet[0]) == work(quiet[1])


def test_the_state_of_shared_columns_is_in_predictions():
    n = 32_561
    assert state_bytes(spec(**COLUMNS)) == 4 * (123 + 4 * n)
    two = {**COLUMNS, "algorithm": "vertical_sgd", "seeds": (0, 1)}
    assert state_bytes(spec(**two)) == 4 * 2 * (123 + 2 * n)


def test_the_time_grows_with_the_gradients_of_a_method(tmp_path):
    long = {"rounds": 1_000_000, "evaluate_every": 1000, "seeds": tuple(range(10))}
    one, ten = (
        estimate(spec(algorithm=variant(tmp_path, f"gradients{g}", gradients=g), **long), 1).runtime
        for g in (1, 10)
    )
    assert ten / one == pytest.approx(10, rel=0.15)
    # Exact subproblems take several steps in a round.
    shared = {**long, "dataset": "digits", "rounds": 10_000_000}
    exact, inexact = (
        estimate(spec(algorithm=name, **shared), 1).runtime for name in ("admm", "iadmm")
    )
    assert exact > 3 * inexact


PRODUCTS, VECTORS, ENTRIES, STEPS = (Machine(1, *each) for each in np.eye(4))


def test_work_is_counted_as_a_machine_does_it():
    """Products with records, entries of models with noise, and rounds; and searches that come before them."""
    ten = spec(agents=3, seeds=2, params={"local_updates": 10})
    n, entries = 1437, 2 * 10 * 64
    assert spec().info.n_train == n
    assert rounds_seconds(ten, 5, PRODUCTS) == 50 * 4 * n * entries
    assert rounds_seconds(ten, 5, ENTRIES) == 150 * entries
    assert rounds_seconds(ten, 5, STEPS) == 50
    adult = spec(dataset="adult", algorithm="dp_admm")
    assert rounds_seconds(adult, 1, VECTORS) == 4 * adult.info.n_train * 104
    assert rounds_seconds(spec(algorithm="centralized"), 100, PRODUCTS) == 300 * 4 * n * 640
    # Two parties' Gram matrices, and equations for each record.
    columns = spec(**COLUMNS)
    assert rounds_seconds(columns, 1, PRODUCTS) == 32_561 * 123**2 / 2
    assert rounds_seconds(columns, 1, VECTORS) == 4 * 32_561 * 123
    assert rounds_seconds(columns, 1, ENTRIES) == 10 * 32_561


def test_a_time_limit_bounds_the_work():
    assert work(spec(rounds=10**7, time_limit=5)) == 300
    assert work(spec(rounds=10**7)) > 300


def planned(study, machine=STEPS):
    return plan.plan(study, Stated(study, machine))


def test_costs_add_up(study):
    costs = planned(study)
    small, data, total = (row for _, row in costs.iterrows())
    # Eight runs, two definitions, aggregation, figures; a data set, its partition; report, overview, target.
    assert (small.jobs, data.jobs, total.jobs) == (12, 2, 17)
    assert total.seconds == 4 * (1 + 10) + 4 * (1 + 10 * 10)
    runs = study.experiments["small"].runs
    assert total.mem_mb == max(estimate(run.spec, 1).mem_mb for run in runs)
    assert total.checkpoint == max(state_bytes(run.spec) for run in runs)
    assert small.disk > 8 * plan._FILE
    assert total.done == 0
    assert "ratio" not in shown(costs)


def test_finished_runs_are_compared(study):
    run = study.experiments["small"].runs[0]
    finish(study, 22)
    costs = planned(study)
    total = costs.iloc[-1]
    assert (total.done, total.forecast, total.took) == (1, 11, 22)
    assert total.left == total.seconds - 11
    assert "are left" in plan.summary(costs, 1)
    assert "2.00" in shown(costs)
    for damage in (b"", bytes(22), b"s\n", b"s\n\xff2\n", b"2\n22\n"):
        Path("results/runs", run.file(BENCHMARK)).write_bytes(damage)
        assert planned(study).iloc[-1].done == 0
    finish(study, 22)
    Path("results/runs", run.path).unlink()  # as after another seed was killed
    assert planned(study).iloc[-1].done == 0


def test_a_timed_run_is_not_finished_by_one_of_another_experiment(study):
    run = study.experiments["small"].runs[0]
    finish(study, 22)
    timed = {**EXPERIMENT, "timed": True}
    Path("config/experiments/timed.yaml").write_text(yaml.safe_dump(timed))
    both = config.load({"experiments": ["small", "timed"], "threads": 1})
    assert run.path in {each.path for each in both.experiments["timed"].runs}
    assert list(planned(both).done) == [1, 0, 0, 1]


def test_runs_that_experiments_share_are_counted_once(study):
    folder = Path("config/experiments")
    (folder / "again.yaml").write_text(yaml.safe_dump({**EXPERIMENT, "epsilon": [1, 2]}))
    both = planned(config.load({"experiments": ["small", "again"], "threads": 1}))
    assert list(both.seconds) == [448, 224, 0, 672]


@pytest.mark.parametrize("name", ["data", "all"])
def test_an_experiment_may_have_any_name(study, name):
    Path("config/experiments", f"{name}.yaml").write_text(yaml.safe_dump(EXPERIMENT))
    named = config.load({"experiments": [name], "threads": 1})
    ours, theirs = (planned(each) for each in (named, study))
    assert (ours.to_numpy() == theirs.to_numpy()).all()
    rows = [line.split()[1] for line in shown(ours).splitlines() if len(line.split()) > 4]
    assert rows[-3:] == [name, "data", "all"]


@pytest.fixture
def _measured(monkeypatch, tmp_path):
    """Runs that are measured, on a machine ten times as fast as the bounds."""
    monkeypatch.setenv("ADMMBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(timing, "_time_rounds", lambda spec: 0.1)


def measure(study, **options):
    calls = []
    Speeds(study).measure(lambda *given: calls.append(given), **options)
    return calls


@pytest.mark.usefixtures("_measured")
def test_what_was_measured_is_kept(study, monkeypatch):
    """Until another machine or other code is there."""
    (run, *_) = study.experiments["small"].runs
    assert Speeds(study).machine(run.spec) == LIMITS
    # Two methods that differ in parameters are one kind.
    assert measure(study) == [(1, 1)]
    known = Speeds(study).machine(run.spec)
    assert known == pytest.approx(Machine(2, *(each / 10 for each in LIMITS[1:])))
    assert measure(study) == []
    assert measure(study, renew=True) == [(1, 1)]
    for module, name in (provenance, "machine"), (fingerprint, "of_run"):
        with monkeypatch.context() as other:
            other.setattr(module, name, lambda *_: "another")
            assert measure(study) == [(1, 1)]


def finish(study, *seconds):
    """Let the first runs of the study have taken so long."""
    for run, took in zip(study.experiments["small"].runs, seconds, strict=False):
        for name in (run.path, run.file(BENCHMARK)):
            path = Path("results/runs", name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"s\n{took}\n")


@pytest.mark.usefixtures("_measured")
def test_what_finished_runs_took_stands_for_their_kind(study):
    """Scaled by rounds, seeds and local updates; a run's own time is no forecast of it."""
    first, second, *_, other = study.experiments["small"].runs
    bounds = [LIMITS.start + work(run.spec) for run in (first, second, other)]
    finish(study, bounds[0] / 2)
    speeds = Speeds(study)
    assert plan.core_seconds(other.spec, 1, speeds.machine(other.spec)) == bounds[2] / 2
    path = Path("results/runs", first.path)
    assert speeds.machine(first.spec, path) == LIMITS
    assert measure(study) == []
    finish(study, bounds[0] / 2, bounds[1] / 4)
    assert Speeds(study).machine(first.spec, path) == pytest.approx([x / 4 for x in LIMITS])


RANDOM = [
    {"dataset": "mnist", "problem": "softmax", "agents": 3},
    {"dataset": "adult", "algorithm": "dp_admm", "problem": "logistic"},
    {"dataset": "femnist", "agents": {"scheme": "by_writer"}},
    COLUMNS,
    NUMBERS,
    {"dataset": "synthetic_qp", "algorithm": "prox_al"},
]


@pytest.mark.parametrize("changes", RANDOM, ids=lambda changes: changes["dataset"])
def test_rounds_are_timed_without_files(changes, monkeypatch):
    """On random records, unless problems are drawn."""
    monkeypatch.setattr(timing, "_NUMBERS", 2000)
    monkeypatch.setattr("admmbench.datasets._fetch.fetch", None)
    assert 0 < timing._time_rounds(spec(**changes)) != 1


@pytest.mark.parametrize("seconds", [[0, 1, 1, 1, 1], [0, 1, np.nan, np.nan, np.nan]])
def test_a_method_that_ends_before_counts_with_its_bound(seconds, monkeypatch):
    trace = SimpleNamespace(dataset=lambda spec, attrs: {"seconds": np.array(seconds)})
    monkeypatch.setattr(timing, "run_rounds", lambda spec, data: trace)
    assert timing._time_rounds(spec()) == 1


@pytest.mark.parametrize("name", ["amp", "centralized"])
def test_a_method_that_does_its_work_once_counts_with_its_bound(name):
    assert timing._time_rounds(spec(algorithm=name, dataset="adult", rounds=1)) == 1


def shown(costs):
    console = Console(file=io.StringIO(), width=120)
    console.print(plan.table(costs))
    return console.file.getvalue()


def test_the_summary_says_what_is_left_out(study):
    costs = planned(study, STEPS._replace(step=10))
    assert "1.22" in shown(costs)
    text = plan.summary(costs, cores=2)
    assert "36.7 min on 2 cores, besides fetching data, tuning, figures and report" in text


def test_hours_of_a_gpu_are_no_core_hours(study):
    assert "GPU" not in shown(planned(study))
    costs = planned(config.read(changes={"device": "cuda"}))
    total = costs.iloc[-1]
    assert (total.seconds, total.left) == (0, 0)
    assert total.on_gpu == total.gpu_left == pytest.approx(sum(costs.on_gpu[:-1]))
    assert "GPU-hours" in shown(costs)
    text = plan.summary(costs, cores=2)
    assert f"0 s on 2 cores, and {duration(total.on_gpu)} of a GPU, besides" in text


def test_audits_cost_their_rounds_in_two_worlds(study):
    """Three canaries, 10 repeats in each world: 60 runs of 2 rounds, in batches of the runs' seeds; a job for each.

    And the runs in which all 10 rounds of both worlds are compared, without and with loud noise.
    """
    path = Path("config/experiments/small.yaml")
    settings = {"rounds": 2, "repeats": 10, "budgets": [1]}
    given = {**EXPERIMENT, "seed_blocks": [2], "sensitivity": "global"}
    without, with_ = (
        path.write_text(yaml.safe_dump({**given, **audit})) and planned(config.read())
        for audit in ({}, {"audit": settings})
    )
    added = with_.iloc[0] - without.iloc[0]
    assert added.jobs == 2
    compared = plan._COMPARED + plan._LOUD
    rounds = sum(30 * 2 * u + 3 * compared * 10 * u for u in (1, 10))
    assert added.seconds == pytest.approx(2 * 1 + plan._AUDITED_ROUND * rounds)


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


def test_every_job_that_computes_is_expected_by_its_rule(tmp_path, study):
    timed = {**ATTACKED, "timed": True, "audit": None}
    write_study(tmp_path, "threads: 1\n", small=ATTACKED, timed=timed, tuned=TUNED)
    study = config.read()
    found = plan.expected(study, Stated(study, STEPS._replace(step=3)))
    run = rule_name("run", study.experiments["small"].runs[0].folder)
    # Two worlds, in batches of 2 seeds: 40 repeats of 2 rounds, and comparisons of all 10; 10 trials of 20 rounds.
    compared = plan._COMPARED + plan._LOUD
    attacked = 1 + plan._AUDITED_ROUND * (40 * 2 + compared * 10) * 3
    assert found == {
        run: ("ObjP", 1 + 10 * 3),
        "audit_small": ("attacks on small", attacked),
        "time_timed": ("timed, run by run", 2 * 31),
        "tune_tuned": ("tuning of tuned", 1 + 10 * 20 * 3),
    }
