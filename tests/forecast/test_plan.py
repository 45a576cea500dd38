"""What a study costs: which runs are measured, how their costs add up, and what is read back."""

import io
import math
from pathlib import Path

import numpy as np
import pytest
import yaml
from rich.console import Console
from scipy import optimize

from admmbench.engine.spec import RunSpec
from admmbench.forecast import plan, timing
from admmbench.forecast.cost import estimate, model_entries, state_bytes
from admmbench.forecast.plan import Cost, Machine
from admmbench.forecast.timing import Speed, kind, time_rounds
from admmbench.jobs import fingerprint, provenance
from admmbench.study import config
from admmbench.study.address import BENCHMARK

SMALL = {
    "title": "Small",
    "dataset": "digits",
    "agents": 3,
    "rounds": 10,
    "evaluate_every": 5,
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
    experiments = tmp_path / "config/experiments"
    experiments.mkdir(parents=True)
    (experiments / "small.yaml").write_text(yaml.safe_dump(SMALL))
    (tmp_path / "config/config.yaml").write_text("experiments: [small]\nthreads: 1\n")
    return config.read()


@pytest.mark.parametrize(
    "same",
    [
        {"epsilon": 0.1},
        {"seeds": (7,)},
        {"rounds": 7, "evaluate_every": 2},
        {"params": {"a": 2.5}},
        {"params": {"rho": {"c1": 0.5, "c2": 0.1}}},
        {"time_limit": 1},
    ],
)
def test_runs_that_differ_in_numbers_alone_are_measured_once(same):
    assert kind(spec(**same), 1) == kind(spec(), 1)


@pytest.mark.parametrize(
    "other",
    [
        {"epsilon": math.inf},
        {"seeds": (0, 1)},
        {"params": {"local_updates": 2}},
        {"variant": "reference"},
        {"agents": 4},
        {"dataset": "mnist"},
        {"dtype": "float64"},
    ],
)
def test_other_work_is_measured_by_itself(other):
    assert kind(spec(**other), 1) != kind(spec(), 1)
    assert kind(spec(), 2) != kind(spec(), 1)


def test_smaller_samples_are_measured_by_themselves():
    """A probability is no number like others: it changes what a round costs."""
    some, others, all_ = (
        kind(spec(algorithm="dpsgd", params=params), 1)
        for params in ({"sampling": 0.1}, {"sampling": 0.2}, {"learning_rate": 0.5})
    )
    assert len({some, others, all_}) == 3
    assert all_ == kind(spec(algorithm="dpsgd"), 1)


COLUMNS = {
    "dataset": "a9a",
    "algorithm": "admm_sharing",
    "agents": {"scheme": "columns", "blocks": [66, 57]},
}


@pytest.mark.parametrize(
    "given",
    [
        {"agents": 1},
        {"agents": 3},
        {"agents": {"scheme": "iid", "agents": 7, "shuffle": True}},
        COLUMNS,  # without their files
    ],
)
def test_measuring_takes_some_rounds(given, monkeypatch):
    monkeypatch.setattr(timing, "_SECONDS", 0.0)
    speed = time_rounds(spec(**given), threads=1)
    assert min(speed.once, speed.round, speed.evaluation) > 0


def test_a_sample_of_the_agents_stands_for_all(monkeypatch):
    """With one agent sampled of ten on one thread, all that was measured is multiplied by ten."""
    ticks = iter(range(10**6))
    monkeypatch.setattr(timing.time, "perf_counter", lambda: next(ticks))
    monkeypatch.setattr(timing, "_SAMPLE_BYTES", 1)
    assert time_rounds(spec(agents=10), threads=1) == Speed(10, 10, 10)
    # Four of ten on four threads: the busiest thread has three of ten, and one of the sample.
    assert time_rounds(spec(agents=10), threads=4) == Speed(2.5, 3, 2.5)


def test_writers_are_measured_without_their_files():
    femnist = spec(dataset={"name": "femnist", "shards": [0]}, agents={"scheme": "by_writer"})
    assert time_rounds(femnist, threads=1).round > 0


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
    path = tmp_path / f"{name}.py"
    lines = "".join(f"    {key} = {value}\n" for key, value in facts.items())
    path.write_text(
        "from admmbench.frames.base import parameters\n"
        "from admmbench.algorithms.objp import ObjP\n\n\n"
        f"@parameters\nclass Mine(ObjP):\n    '''Mine.'''\n\n{lines}"
    )
    return str(path)


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
    assert kind(quiet[0], 1) == kind(quiet[1], 1)
    assert kind(noisy[0], 1) != kind(noisy[1], 1)


def test_the_state_of_shared_columns_is_in_predictions():
    n = 32_561
    assert state_bytes(spec(**COLUMNS)) == 4 * (123 + 4 * n)
    two = {**COLUMNS, "algorithm": "vertical_sgd", "seeds": (0, 1)}
    assert state_bytes(spec(**two)) == 4 * 2 * (123 + 2 * n)


def test_the_time_grows_with_the_gradients_of_a_method(tmp_path):
    long = {"rounds": 1_000_000, "seeds": tuple(range(10))}
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
    assert exact > 5 * inexact


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_numbers_as_targets_are_measured(loss, monkeypatch):
    monkeypatch.setattr(timing, "_SECONDS", 0.0)
    run = spec(**NUMBERS, problem=loss)
    assert time_rounds(run, threads=1).round > 0
    assert estimate(run, 1).mem_mb > 0
    made = timing._random(run, 30, 9)
    assert made.y_train.dtype == np.float32
    assert len(np.unique(made.y_train)) > 20
    assert made.y_test.shape == (9,)
    assert (made.n_classes, made.info.default_problem) == (0, "squared")


def test_seconds_of_a_run():
    speed = Speed(once=1, round=2, evaluation=3)
    assert speed.seconds(spec(rounds=10, evaluate_every=4)) == 1 + 10 * 2 + 3 * 3
    assert speed.seconds(spec(rounds=10**6, time_limit=5)) == 1 + 300


def test_costs_add_up(study):
    runs = study.experiments["small"].runs
    speeds = {
        kind(run.spec, 1): Speed(1, run.spec.method.updates * len(run.spec.seeds), 0)
        for run in runs
    }
    costs = plan.plan(study, Machine(start=1, file=1000, speeds=speeds))
    seconds = sum(2 + 10 * u * s for u in (1, 10) for s in (1, 2)) * 2
    assert costs.total.seconds == seconds
    # Eight runs, two definitions, aggregation, figures; a data set; the report, what leads to it, and the target.
    small = costs.experiments["small"]
    assert (small.jobs, costs.data.jobs, costs.total.jobs) == (12, 1, 16)
    assert costs.total.mem_mb == max(estimate(run.spec, 1).mem_mb for run in runs)
    assert small.disk > 8 * 1000
    assert costs.total.done == 0


def test_finished_runs_are_compared(study):
    run = study.experiments["small"].runs[0]
    speeds = {kind(each.spec, 1): Speed(0, 1, 0) for each in study.experiments["small"].runs}
    for name in (run.path, run.address.file(BENCHMARK)):
        path = Path("results/runs", name)
        path.parent.mkdir(parents=True)
        path.write_text("s\th:m:s\n12.5\t0:00:12\n")
    costs = plan.plan(study, Machine(0, 0, speeds))
    total = costs.total
    assert (total.done, total.forecast, total.actual) == (1, 10, 12.5)
    assert "1.25" in shown(costs)
    Path("results/runs", run.path).unlink()  # as after another seed was killed
    assert plan.plan(study, Machine(0, 0, speeds)).total.done == 0


def test_runs_that_experiments_share_are_counted_once(study):
    folder = Path("config/experiments")
    (folder / "again.yaml").write_text(yaml.safe_dump({**SMALL, "epsilon": [1, 2]}))
    both = config.load({"experiments": ["small", "again"], "threads": 1})
    speeds = {kind(run.spec, 1): Speed(0, 1, 0) for run in study.experiments["small"].runs}
    costs = plan.plan(both, Machine(0, 0, speeds))
    found = costs.experiments
    assert [(name, found[name].seconds, found[name].shared) for name in found] == [
        ("small", 80, 0),
        ("again", 40, 4),
    ]
    assert costs.total.seconds == 120
    assert "4 runs are shared" in plan.summary(costs.total, 1)
    assert "shared" not in plan.summary(plan.plan(study, Machine(0, 0, speeds)).total, 1)


@pytest.mark.parametrize("name", ["data", "all"])
def test_an_experiment_may_have_any_name(study, name):
    Path("config/experiments", f"{name}.yaml").write_text(yaml.safe_dump(SMALL))
    named = config.load({"experiments": [name], "threads": 1})
    speeds = {kind(run.spec, 1): Speed(0, 1, 0) for run in study.experiments["small"].runs}
    ours, theirs = (plan.plan(each, Machine(0, 0, speeds)) for each in (named, study))
    assert ours.experiments[name] == theirs.experiments["small"]
    assert ours.total == theirs.total
    rows = [line.split()[1] for line in shown(ours).splitlines() if len(line.split()) > 4]
    assert rows[-3:] == [name, "data", "all"]


@pytest.fixture
def measured(monkeypatch, tmp_path):
    """Names of what is measured, with numbers instead of times."""
    monkeypatch.setenv("ADMMBENCH_CACHE", str(tmp_path / "cache"))
    made = []

    def run(spec, threads):
        made.append(spec.algorithm)
        return Speed(1, 2, 3)

    def job(spec):
        made.append("job")
        return [4.0, 5]

    monkeypatch.setattr(plan, "time_rounds", run)
    monkeypatch.setattr(plan, "_time_job", job)
    return made


def measure(study, **options):
    machine = plan.measure(study, lambda done, of: None, **options)
    assert plan.known(study) == machine
    assert (machine.start, machine.file) == (4, 5)
    assert set(machine.speeds.values()) == {Speed(1, 2, 3)}


def test_what_was_measured_is_kept(study, measured, monkeypatch):
    assert plan.known(study) is None
    assert "admmbench plan" in plan.outlook(study, 2)
    measure(study)
    kinds = len(measured)
    assert kinds == 4 + 1  # two methods and two sizes of blocks; the smallest job
    assert measured[-1] == "job"
    measure(study)
    assert len(measured) == kinds
    assert "on 2 cores" in plan.outlook(study, 2)
    measure(study, renew=True)
    assert len(measured) == 2 * kinds
    monkeypatch.setattr(provenance, "machine", lambda: "another")
    measure(study)
    assert len(measured) == 3 * kinds
    monkeypatch.undo()


def test_other_code_is_measured_again(study, measured, monkeypatch):
    measure(study)
    before = len(measured)
    monkeypatch.setattr(fingerprint, "of_run", lambda spec: f"other {spec.algorithm}")
    assert plan.known(study) is None
    measure(study)
    assert len(measured) == 2 * before


def test_measurements_that_cannot_be_read_are_made_again(study, measured, tmp_path):
    measure(study)
    (tmp_path / "cache/speeds.json").write_text('{"half')
    assert plan.known(study) is None
    measure(study)


def test_measuring_that_was_stopped_goes_on(study, measured, monkeypatch):
    def stopped(done, of):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        plan.measure(study, stopped)
    assert len(measured) == 1
    measure(study)
    assert len(measured) == 5


def test_what_is_done_once_is_not_taken_for_a_round(monkeypatch):
    """A first round that takes longer than the others: factorisations, an optimum."""
    slow = spec(algorithm="centralized", problem="softmax")
    monkeypatch.setattr(timing, "_SECONDS", 0.0)
    speed = time_rounds(slow, threads=1)
    assert speed.once > 10 * speed.round


@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_some_steps_stand_for_a_search(penalty, monkeypatch):
    """On random labels a search would take far longer than on real ones."""
    steps = []
    search = optimize.minimize

    def counted(*args, **given):
        found = search(*args, **given)
        steps.append(found.nit)
        return found

    monkeypatch.setattr(optimize, "minimize", counted)
    problem = {"loss": "softmax", "penalty": penalty, "strength": 1e-6}
    given = spec(algorithm="centralized", epsilon=math.inf, problem=problem)
    found = time_rounds(given, 1)
    assert max(steps) == timing._TIMED_STEPS
    monkeypatch.setattr(timing, "_USUAL_STEPS", 100 * timing._USUAL_STEPS)
    assert time_rounds(given, 1).once > 10 * found.once


def shown(costs):
    console = Console(file=io.StringIO(), width=120)
    console.print(plan.table(costs))
    return console.file.getvalue()


def test_the_summary_says_what_is_left_out():
    costs = plan.Plan({"small": Cost(3, 7200)}, Cost())
    assert "2.00" in shown(costs)
    assert "ratio" not in shown(costs)
    text = plan.summary(costs.total, cores=2)
    assert "60.0 min on 2 cores, besides fetching data, tuning, figures and report" in text


def test_the_smallest_job_is_measured():
    seconds, size = plan._time_job(spec(rounds=1))
    assert seconds > 0
    assert size > 1000


def test_audits_cost_their_rounds_in_two_worlds(study):
    """Three canaries, 10 repeats in each world: 60 runs of 2 rounds, in batches of the runs' seeds; a job for each.

    And the runs in which all 10 rounds of both worlds are compared.
    """
    path = Path("config/experiments/small.yaml")
    settings = {"rounds": 2, "repeats": 10, "budgets": [1]}
    given = {**SMALL, "seed_blocks": [2], "sensitivity": "global"}
    speeds = {kind(run.spec, 1): Speed(3, 1, 0) for run in config.check_experiment(given).runs}
    found = {}
    for name, audit in {"without": None, "with": settings}.items():
        path.write_text(yaml.safe_dump({**given, **({"audit": audit} if audit else {})}))
        found[name] = plan.plan(config.read(), Machine(7, 0, speeds)).experiments["small"]
    assert found["with"].jobs - found["without"].jobs == 2
    added = found["with"].seconds - found["without"].seconds
    rounds = 30 * (3 + 2 * 1) + 3 * plan._COMPARED * (3 + 10 * 1)
    assert added == pytest.approx(2 * (7 + plan._LOOKED_AT * rounds))
