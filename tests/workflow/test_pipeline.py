"""The pipeline through Snakemake, on a small study in a copy of the project: what a user would type and see."""

import pytest
import xarray as xr

from tests.workflow.project import POINT, Project, kill, wait_for


def test_everything_is_made(finished):
    files = finished.files()
    assert {"report/index.html", "tiny/results.nc", "tiny/figures/error.svg"} <= set(files)
    with xr.open_dataset(finished.folder / "results/tiny/results.nc") as results:
        assert results.test_error.notnull().all()
        assert list(results.algorithm.values) == ["ObjP", "ObjT", "OutP"]
    for kind in ("logs", "benchmarks"):
        assert list((finished.folder / "results/tiny" / kind).rglob(f"{POINT}.*"))
    log = (finished.folder / f"results/tiny/logs/objp/{POINT}.log").read_text()
    assert "round 20 of 20" in log


def test_nothing_is_made_twice(finished):
    assert "Nothing to be done" in finished.run()


def test_killed_at_any_moment_it_ends_in_the_same_files(finished, tmp_path):
    project = Project(tmp_path / "killed")
    started = project.start()
    wait_for(lambda: list(project.folder.glob("results/tiny/runs/*/*.nc")))
    assert started.poll() is None
    kill(started)
    assert project.files().keys() < finished.files().keys()
    project.snakemake("--unlock")
    project.run()
    assert project.files() == finished.files()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"algorithms": [{"name": "objq", "label": "x"}]}, "did you mean 'obj"),
        ({"epsilon": [-1]}, "epsilon.0"),
        ({"round": 3}, "did you mean 'rounds'"),
    ],
)
def test_a_wrong_configuration_stops_before_any_job(project, changes, message):
    project.configure(**changes)
    shown = project.fails()
    assert message in shown
    assert "tiny.yaml" in shown
    assert "Traceback" not in shown


def test_snakemakes_own_report_holds_the_figures(project):
    project.run("--report", "report.zip")
    assert (project.folder / "report.zip").stat().st_size > 10_000


def test_what_is_timed_is_made_by_one_job(project):
    figure = {"name": "seconds", "kind": "tradeoff", "metric": "seconds"}
    project.configure(timed=True, seed_blocks=[1, 1], figures=[figure])
    shown = project.run()
    assert "time_tiny" in shown
    assert "rule run_" not in shown
    with xr.open_dataset(project.folder / "results/tiny/results.nc") as results:
        assert (results.seconds > 0).all()
    report = (project.folder / "results/report/index.html").read_text()
    assert "Computing time" in report
    assert "Nothing to be done" in project.run()
