"""What a study costs: which runs are measured, how their costs add up, and what is read back."""

import io
import math
from pathlib import Path

import pytest
import yaml
from rich.console import Console

from admmbench import config
from admmbench.engine.spec import RunSpec
from admmbench.forecast import calibration, plan
from admmbench.forecast.calibration import Speed, kind, measure
from admmbench.forecast.cost import estimate
from admmbench.forecast.plan import Cost, Machine

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
    base = {"dataset": "digits", "algorithm": "objp", "epsilon": 1, "agents": 3}
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
    assert kind(spec(**same)) == kind(spec())


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
    assert kind(spec(**other)) != kind(spec())


@pytest.mark.parametrize("agents", [1, 3, {"scheme": "iid", "agents": 7, "shuffle": True}])
def test_measuring_takes_some_rounds(agents, monkeypatch):
    monkeypatch.setattr(calibration, "_SECONDS", 0.0)
    speed = measure(spec(agents=agents), threads=1)
    assert min(speed.assembly, speed.round, speed.evaluation) > 0


def test_a_sample_of_the_agents_stands_for_all(monkeypatch):
    """With one agent sampled of ten on one thread, all that was measured is multiplied by ten."""
    ticks = iter(range(10**6))
    monkeypatch.setattr(calibration.time, "perf_counter", lambda: next(ticks))
    monkeypatch.setattr(calibration, "_SAMPLE_BYTES", 1)
    monkeypatch.setattr(calibration, "_WORK_PER_THREAD", 1)
    assert measure(spec(agents=10), threads=1) == Speed(10, 10, 10)


def test_writers_are_measured_without_their_files():
    femnist = spec(dataset={"name": "femnist", "shards": [0]}, agents={"scheme": "by_writer"})
    assert measure(femnist, threads=1).round > 0


def test_seconds_of_a_run():
    speed = Speed(assembly=1, round=2, evaluation=3)
    assert speed.seconds(spec(rounds=10, evaluate_every=4)) == 1 + 10 * 2 + 3 * 3
    assert speed.seconds(spec(rounds=10**6, time_limit=5)) == 1 + 300


def test_costs_add_up(study):
    runs = study.experiments["small"].runs
    speeds = {
        kind(run.spec): Speed(1, run.spec.method.updates * len(run.spec.seeds), 0) for run in runs
    }
    costs = plan.plan(study, Machine(start=1, file=1000, speeds=speeds))
    assert set(costs) == {"small", "data", "all"}
    seconds = sum(2 + 10 * u * s for u in (1, 10) for s in (1, 2)) * 2
    assert costs["all"].seconds == seconds
    # Eight runs, aggregation, figures; a data set; the report and the target.
    assert [costs[name].jobs for name in costs] == [10, 1, 13]
    assert costs["all"].mem_mb == max(estimate(run.spec, 1).mem_mb for run in runs)
    assert costs["small"].disk > 8 * 1000
    assert costs["all"].done == 0


def test_finished_runs_are_compared(study):
    run = study.experiments["small"].runs[0]
    speeds = {kind(each.spec): Speed(0, 1, 0) for each in study.experiments["small"].runs}
    for name in (run.path, f"benchmarks/{run.method.slug}/{run.point}.tsv"):
        path = Path("results/small", name)
        path.parent.mkdir(parents=True)
        path.write_text("s\th:m:s\n12.5\t0:00:12\n")
    costs = plan.plan(study, Machine(0, 0, speeds))
    assert (costs["all"].done, costs["all"].forecast, costs["all"].actual) == (1, 10, 12.5)
    assert "1.25" in shown(costs)
    Path("results/small", run.path).unlink()  # as after another seed was killed
    assert plan.plan(study, Machine(0, 0, speeds))["all"].done == 0


def shown(costs):
    console = Console(file=io.StringIO(), width=120)
    console.print(plan.table(costs))
    return console.file.getvalue()


def test_the_summary_says_what_is_left_out():
    costs = {"small": Cost(3, 7200), "data": Cost(), "all": Cost(3, 7200)}
    assert "2.00" in shown(costs)
    assert "ratio" not in shown(costs)
    text = plan.summary(costs["all"], cores=2)
    assert "60.0 min on 2 cores, besides fetching data, figures and report" in text


def test_the_smallest_job_is_measured():
    seconds, size = plan._smallest_job()
    assert seconds > 0
    assert size > 1000
