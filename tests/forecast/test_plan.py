"""What a study costs: which runs are measured, how their costs add up, and what is read back."""

import io
from pathlib import Path

import pytest
import yaml
from rich.console import Console

from admmbench.engine.spec import RunSpec
from admmbench.forecast import plan, timing
from admmbench.forecast.cost import (
    LIMITS,
    Machine,
    estimate,
    model_entries,
    rounds_counts,
    state_bytes,
    work,
)
from admmbench.jobs import fingerprint, provenance
from admmbench.jobs.progress import duration
from admmbench.study import config
from admmbench.study.address import BENCHMARK
from tests.plugins import write_method
from tests.studies import SMALL, write_study

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
    assert model_entries(spec(seeds=(0, 1))) == 2 * 10 * 64
    assert model_entries(spec(**NUMBERS)) == 11
    two = {"dataset": "adult", "algorithm": "dp_admm"}
    assert model_entries(spec(**two)) == 104
    assert model_entries(spec(**two, problem="softmax")) == 2 * 104
    assert model_entries(spec(**COLUMNS)) == 123
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
        spec(algorithm=variant(tmp_path, f"copies{copies}", state_copies=copies), **plenty)
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


def test_work_is_counted_as_a_machine_does_it():
    """Products with records, entries of models with noise, and rounds; and searches that come before them."""
    ten = {"agents": 3, "seeds": 2, "params": {"local_updates": 10}}
    n, entries = 1437, 2 * 10 * 64
    assert spec().info.n_train == n
    assert list(rounds_counts(spec(**ten), 5)) == [0, 50 * 4 * n * entries, 0, 150 * entries, 50]
    adult = spec(dataset="adult", algorithm="dp_admm")
    assert list(rounds_counts(adult, 1))[1:3] == [0, 4 * adult.info.n_train * 104]
    optimum = rounds_counts(spec(algorithm="centralized"), 100)
    assert optimum[1] == 300 * 4 * n * 640
    # Two parties' Gram matrices, and equations for each record.
    columns = rounds_counts(spec(**COLUMNS), 1)
    assert list(columns[1:4]) == [32_561 * 123**2 / 2, 4 * 32_561 * 123, 10 * 32_561]


def test_a_time_limit_bounds_the_work():
    assert work(spec(rounds=10**7, time_limit=5)) == 300
    assert work(spec(rounds=10**7)) > 300


# A job takes a second to start, and each local update one.
STEPS = Machine(start=1, product=0, vector=0, entry=0, step=1)


def test_costs_add_up(study):
    costs = plan.plan(study, STEPS)
    small, data, total = (row for _, row in costs.iterrows())
    # Eight runs, two definitions, aggregation, figures; a data set; the report, what leads to it, and the target.
    assert (small.jobs, data.jobs, total.jobs) == (12, 1, 16)
    assert total.seconds == 4 * (1 + 10) + 4 * (1 + 10 * 10)
    runs = study.experiments["small"].runs
    assert total.mem_mb == max(estimate(run.spec, 1).mem_mb for run in runs)
    assert total.checkpoint == max(state_bytes(run.spec) for run in runs)
    assert small.disk > 8 * plan._FILE
    assert total.done == 0
    assert "ratio" not in shown(costs)


def test_finished_runs_are_compared(study):
    run = study.experiments["small"].runs[0]
    for name in (run.path, run.address.file(BENCHMARK)):
        path = Path("results/runs", name)
        path.parent.mkdir(parents=True)
        path.write_text("s\th:m:s\n22\t0:00:22\n")
    costs = plan.plan(study, STEPS)
    total = costs.iloc[-1]
    assert (total.done, total.forecast, total.took) == (1, 11, 22)
    assert total.left == total.seconds - 11
    assert "are left" in plan.summary(costs, 1)
    assert "2.00" in shown(costs)
    for damage in (b"", bytes(22), b"s\n", b"s\n\xff2\n", b"2\n22\n"):
        Path("results/runs", run.address.file(BENCHMARK)).write_bytes(damage)
        assert plan.plan(study, STEPS).iloc[-1].done == 0
    Path("results/runs", run.path).unlink()  # as after another seed was killed
    assert plan.plan(study, STEPS).iloc[-1].done == 0


def test_runs_that_experiments_share_are_counted_once(study):
    folder = Path("config/experiments")
    (folder / "again.yaml").write_text(yaml.safe_dump({**EXPERIMENT, "epsilon": [1, 2]}))
    both = plan.plan(config.load({"experiments": ["small", "again"], "threads": 1}), STEPS)
    assert list(both.shared) == [0, 4, 0, 4]
    assert list(both.seconds) == [448, 224, 0, 672]
    assert "4 runs are shared" in plan.summary(both, 1)
    assert "shared" not in plan.summary(plan.plan(study, STEPS), 1)


@pytest.mark.parametrize("name", ["data", "all"])
def test_an_experiment_may_have_any_name(study, name):
    Path("config/experiments", f"{name}.yaml").write_text(yaml.safe_dump(EXPERIMENT))
    named = config.load({"experiments": [name], "threads": 1})
    ours, theirs = (plan.plan(each, STEPS) for each in (named, study))
    assert (ours.to_numpy() == theirs.to_numpy()).all()
    rows = [line.split()[1] for line in shown(ours).splitlines() if len(line.split()) > 4]
    assert rows[-3:] == [name, "data", "all"]


@pytest.fixture
def measured(monkeypatch, tmp_path):
    """What is measured, with times that a known machine would need."""
    monkeypatch.setenv("ADMMBENCH_CACHE", str(tmp_path / "cache"))
    made = []

    def round_(spec):
        made.append(spec)
        return float(rounds_counts(spec, 1) @ LIMITS)

    monkeypatch.setattr(timing, "_time_round", round_)
    return made


def measure(**options):
    machine = timing.measure(lambda done, of: None, **options)
    assert timing.known() == machine
    assert machine == pytest.approx(LIMITS)


def test_what_was_measured_is_kept(study, measured, monkeypatch):
    """Until another machine or other code is there, or the file cannot be read."""
    assert timing.known() is None
    assert "admmbench plan" in plan.outlook(study, 2, 0.0)
    measure()
    kinds = len(measured)
    measure()
    assert len(measured) == kinds
    assert "on 2 cores" in plan.outlook(study, 2, 0.0)
    measure(renew=True)
    assert len(measured) == 2 * kinds
    with monkeypatch.context() as other:
        other.setattr(provenance, "machine", lambda: "another")
        measure()
    with monkeypatch.context() as other:
        other.setattr(fingerprint, "of_run", lambda spec: "other code")
        measure()
    assert len(measured) == 4 * kinds


@pytest.mark.slow
def test_this_machine_is_measured(monkeypatch, tmp_path):
    """In a few seconds; every kind of work takes some time, and a job takes the most."""
    monkeypatch.setenv("ADMMBENCH_CACHE", str(tmp_path))
    kinds = [(100, 20, 10, 1, 2), (400, 20, 2, 1, 2), (40, 20, 10, 20, 2), (20, 5, 2, 1, 1)]
    monkeypatch.setattr(timing, "_KINDS", kinds)
    calls = []
    machine = timing.measure(lambda *given: calls.append(given))
    assert calls == [(number, 4) for number in range(1, 5)]
    assert min(machine) >= 0
    assert machine.start > max(machine[1:])


def shown(costs):
    console = Console(file=io.StringIO(), width=120)
    console.print(plan.table(costs))
    return console.file.getvalue()


def test_the_summary_says_what_is_left_out(study):
    costs = plan.plan(study, STEPS._replace(step=10))
    assert "1.22" in shown(costs)
    text = plan.summary(costs, cores=2)
    assert "36.7 min on 2 cores, besides fetching data, tuning, figures and report" in text


def test_hours_of_a_gpu_are_no_core_hours(study):
    assert "GPU" not in shown(plan.plan(study, STEPS))
    costs = plan.plan(config.read(changes={"device": "cuda"}), STEPS)
    total = costs.iloc[-1]
    assert (total.seconds, total.left) == (0, 0)
    assert total.on_gpu == total.gpu_left == pytest.approx(sum(costs.on_gpu[:-1]))
    assert "GPU-hours" in shown(costs)
    text = plan.summary(costs, cores=2)
    assert f"0 s on 2 cores, and {duration(total.on_gpu)} of a GPU, besides" in text


def test_audits_cost_their_rounds_in_two_worlds(study):
    """Three canaries, 10 repeats in each world: 60 runs of 2 rounds, in batches of the runs' seeds; a job for each.

    And the runs in which all 10 rounds of both worlds are compared.
    """
    path = Path("config/experiments/small.yaml")
    settings = {"rounds": 2, "repeats": 10, "budgets": [1]}
    given = {**EXPERIMENT, "seed_blocks": [2], "sensitivity": "global"}
    without, with_ = (
        path.write_text(yaml.safe_dump({**given, **audit})) and plan.plan(config.read(), STEPS)
        for audit in ({}, {"audit": settings})
    )
    added = with_.iloc[0] - without.iloc[0]
    assert added.jobs == 2
    rounds = sum(30 * 2 * u + 3 * plan._COMPARED * 10 * u for u in (1, 10))
    assert added.seconds == pytest.approx(2 * 1 + plan._LOOKED_AT * rounds)
