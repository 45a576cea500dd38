"""The pipeline through Snakemake, on a small study in a copy of the project: what a user would type and see."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import xarray as xr
import yaml

ROOT = Path(__file__).parents[2]
PARTS = ["Snakefile", "config", "workflow", "envs", "src"]
STUDY = {
    "title": "Tiny",
    "dataset": "digits",
    "agents": 3,
    "rounds": 20,
    "evaluate_every": 10,
    "seeds": [2],
    "epsilon": [0.5],
    "algorithms": [
        {"name": "objp", "label": "ObjP"},
        {"name": "objt", "label": "ObjT", "variant": "reference"},
        {"name": "outp", "label": "OutP"},
    ],
    "figures": [{"name": "error", "kind": "curves"}],
}


class Project:
    """A copy of the project that runs its own source."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        ignore = shutil.ignore_patterns("__pycache__", "*.nbi", "*.nbc")
        for part in PARTS:
            source = ROOT / part
            copy = shutil.copytree if source.is_dir() else shutil.copy
            copy(source, folder / part, **({"ignore": ignore} if source.is_dir() else {}))
        (folder / "profiles").symlink_to("workflow/profiles")
        self.configure()
        (folder / "config/tiny.yaml").write_text("experiments: [tiny]\n")

    def configure(self, **changes: object) -> None:
        path = self.folder / "config/experiments/tiny.yaml"
        path.write_text(yaml.safe_dump({**STUDY, **changes}))

    def command(self, *options: str) -> list[str]:
        base = [sys.executable, "-m", "snakemake", "--cores", "2"]
        return [*base, "--configfile", "config/tiny.yaml", *options]

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "PYTHONPATH": str(self.folder / "src")}

    def snakemake(self, *options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*options),
            cwd=self.folder,
            env=self.environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def run(self) -> str:
        done = self.snakemake()
        logs = "".join(path.read_text() for path in self.folder.glob("results/**/*.log"))
        assert done.returncode == 0, done.stdout + logs
        return done.stdout

    def planned(self) -> set[str]:
        """Runs that a dry run would make, as method and point."""
        done = self.snakemake("--dry-run")
        assert done.returncode == 0, done.stdout
        return set(re.findall(r"output: results/tiny/runs/(.+)\.nc", done.stdout))

    def files(self) -> dict[str, bytes]:
        """Every result: runs, data sets, figures and report."""
        results = self.folder / "results"
        return {
            str(path.relative_to(results)): path.read_bytes()
            for path in results.rglob("*")
            if path.suffix in (".nc", ".svg", ".pdf", ".html")
        }

    def edit(self, module: str, old: str, new: str) -> None:
        path = self.folder / "src/admmbench" / module
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))


POINT = "epsilon=0.5+rounds=20+seeds=0-1"


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A project whose study has been run; its path has a space."""
    project = Project(tmp_path_factory.mktemp("pipeline") / "a project")
    project.run()
    return project


@pytest.fixture
def project(finished, tmp_path):
    """A copy of it to change, with times and Snakemake's records."""
    copy = object.__new__(Project)
    copy.folder = tmp_path / "copy of it"
    shutil.copytree(finished.folder, copy.folder, symlinks=True)
    return copy


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
    started = subprocess.Popen(
        project.command(),
        cwd=project.folder,
        env=project.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = time.monotonic() + 120
    while not list(project.folder.glob("results/tiny/runs/*/*.nc")):
        assert started.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.killpg(started.pid, signal.SIGKILL)
    started.wait()
    assert project.files().keys() < finished.files().keys()
    project.snakemake("--unlock")
    project.run()
    assert project.files() == finished.files()


def test_docstrings_and_comments_renew_nothing(project):
    project.edit("algorithms/objp.py", "Closed form of (8).", "The closed form of (8).")
    project.edit("engine/simulate.py", "run.t += 1", "run.t += 1  # the next")
    assert project.planned() == set()


def test_an_update_line_renews_its_own_runs(project):
    before = project.files()
    project.edit("algorithms/objp.py", "-gradient - xi", "-gradient - xi - xi")
    assert project.planned() == {f"objp/{POINT}"}
    project.run()
    after = project.files()
    changed = {name for name in before if before[name] != after[name]}
    assert f"tiny/runs/objp/{POINT}.nc" in changed
    assert not any("objt" in name or "outp" in name for name in changed)


def test_the_engine_renews_all_runs(project):
    project.edit("engine/streams.py", "SFC64", "PCG64DXSM")
    methods = ("objp", "objt+variant=reference", "outp")
    assert project.planned() == {f"{method}/{POINT}" for method in methods}


def test_more_seeds_budgets_and_methods_add_runs(project):
    project.configure(seeds=[2, 1])
    added = {
        f"{method}/epsilon=0.5+rounds=20+seeds=2-2"
        for method in ("objp", "objt+variant=reference", "outp")
    }
    assert project.planned() == added
    project.configure(epsilon=[0.5, 1])
    assert len(project.planned()) == 3
    methods = [*STUDY["algorithms"], {"name": "iadmm", "label": "None", "epsilon": ".inf"}]
    project.configure(algorithms=methods)
    assert project.planned() == {"iadmm/epsilon=inf+rounds=20+seeds=0-1"}


def test_a_parameter_renews_the_runs_of_its_method(project):
    methods = [{**STUDY["algorithms"][0], "params": {"a": 2}}, *STUDY["algorithms"][1:]]
    project.configure(algorithms=methods)
    assert project.planned() == {f"objp+a=2/{POINT}"}
    project.configure(sensitivity="global")
    assert len(project.planned()) == 3


def test_captions_and_claims_renew_no_run(project):
    project.configure(figures=[{"name": "error", "kind": "curves", "caption": "Another."}])
    claims = project.folder / "config/claims/ryu2021.yaml"
    claims.write_text(claims.read_text() + "\n")
    assert project.planned() == set()


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
    done = project.snakemake()
    assert done.returncode != 0
    assert message in done.stdout
    assert "tiny.yaml" in done.stdout
    assert "Traceback" not in done.stdout


def test_snakemakes_own_report_holds_the_figures(project):
    done = project.snakemake("--report", "report.zip")
    assert done.returncode == 0, done.stdout
    assert (project.folder / "report.zip").stat().st_size > 10_000
