"""A copy of the project with a small study, driven through Snakemake as a user would."""

import difflib
import io
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

import xarray as xr
import yaml

from admmbench.study.experiment import Experiment
from tests.workflow import forked

ROOT = Path(__file__).parents[2]
COPIED, LINKED = ["config", "workflow"], ["Snakefile", "profiles", "reference", "src"]
STUDY: dict[str, Any] = {
    "title": "Tiny",
    "dataset": "digits",
    "agents": 3,
    "rounds": 20,
    "evaluate_every": 10,
    "seed_blocks": [2],
    "epsilon": [0.5],
    "algorithms": [
        {"name": "objp", "label": "ObjP"},
        {"name": "objt", "label": "ObjT", "variant": "reference"},
        {"name": "outp", "label": "OutP"},
    ],
    "figures": [{"name": "error", "kind": "curves"}],
}
POINT = "epsilon=0.5+seeds=0-1"


def runs(**changes: object) -> set[str]:
    """Runs of the study, perhaps changed, by folder and file name."""
    experiment = Experiment.model_validate({**STUDY, **changes})
    return {run.file("{point}") for run in experiment.runs}


RUNS = runs()


def assert_same(found: dict[str, bytes], expected: dict[str, bytes]) -> None:
    """Say which files are not the same, and for results which variables, rather than show their bytes."""
    names = sorted(found.keys() | expected.keys())
    differ = {
        name: _difference(found.get(name), expected.get(name))
        for name in names
        if found.get(name) != expected.get(name)
    }
    assert not differ, "\n".join(f"{name}: {how}" for name, how in differ.items())


def _difference(found: bytes | None, expected: bytes | None) -> str:
    if found is None or expected is None:
        return "is not there" if found is None else "should not be there"
    if found.startswith(b"<") or expected.startswith(b"<"):
        return "\n".join(
            line
            for line in difflib.unified_diff(
                expected.decode().splitlines(), found.decode().splitlines(), n=0, lineterm=""
            )
        )[:2000]
    try:
        a, b = (xr.load_dataset(io.BytesIO(each), engine="h5netcdf") for each in (found, expected))
        xr.testing.assert_identical(a, b)
    except (AssertionError, KeyError, OSError, ValueError) as error:
        return str(error)
    at = next(i for i, (x, y) in enumerate(zip(found, expected, strict=False)) if x != y)
    return f"same values, {len(found)} and {len(expected)} bytes, differ from byte {at}"


def call(
    words: Sequence[str] | str, folder: Path, environment: dict[str, str], **options: Any
) -> subprocess.CompletedProcess[str]:
    """Call a program in a folder; what it prints is one text."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return subprocess.run(words, cwd=folder, env=environment, text=True, **pipes, **options)


class Project:
    """A copy of the project."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        for part in COPIED:
            shutil.copytree(ROOT / part, folder / part, symlinks=True)
        for part in LINKED:
            (folder / part).symlink_to(ROOT / part)
        self.configure()
        (folder / "config/tiny.yaml").write_text("experiments: [tiny]\n")

    @classmethod
    def found(cls, folder: Path) -> Self:
        """One that is there."""
        project = object.__new__(cls)
        project.folder = folder
        return project

    def copy(self, folder: Path) -> Self:
        """The project with its results, times and Snakemake's records."""
        shutil.copytree(self.folder, folder, symlinks=True)
        return self.found(folder)

    def configure(self, **changes: object) -> None:
        path = self.folder / "config/experiments/tiny.yaml"
        path.write_text(yaml.safe_dump({**STUDY, **changes}))

    def command(self, *options: str) -> list[str]:
        base = [sys.executable, "-m", "snakemake", "--cores", "2"]
        return [*base, "--configfile", "config/tiny.yaml", *options]

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "PYTHONPATH": str(self.folder / "src")}

    def start(self, *options: str, **environment: str) -> subprocess.Popen[str]:
        """Start Snakemake in a process group of its own."""
        return subprocess.Popen(
            self.command(*options),
            cwd=self.folder,
            env={**self.environment, **environment},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def call(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Call a program in the folder; what it prints is one text."""
        return call(words, self.folder, {**self.environment, **environment})

    def admmbench(self, *words: str) -> str:
        """What `admmbench` prints, in a process that has its imports; it must end well."""
        done = self.call(forked.python_of_jobs(), "-m", "admmbench", *words)
        assert done.returncode == 0, done.stdout
        return done.stdout

    def snakemake(self, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
        _, _, module, *words = self.command(*options)
        given = {**self.environment, **environment}
        status, output = forked.snakemake(self.folder, words, given, module)
        return subprocess.CompletedProcess(words, status, output)

    def run(self, *options: str, **environment: str) -> str:
        done = self.snakemake(*options, **environment)
        assert done.returncode == 0, done.stdout
        return done.stdout

    def fails(self, *options: str, **environment: str) -> str:
        """What a user sees of a study that cannot be finished."""
        done = self.snakemake(*options, **environment)
        assert done.returncode != 0, done.stdout
        print(done.stdout)  # pytest shows it, whole, with a test that misses a line in it
        return done.stdout

    def planned(self, *options: str) -> set[str]:
        """Runs that a dry run would make, by folder and file name."""
        return {job for job in self.planned_jobs(*options) if "/" in job}

    def planned_jobs(self, *options: str) -> set[str]:
        """Jobs that a dry run would do: runs, by folder and file name, and names of other rules."""
        shown = self.run("--dry-run", "--printshellcmds", *options)
        rules = re.findall(r"^(?:local)?rule (\w+):$", shown, re.MULTILINE)
        named = {re.sub("^figures_.*", "figures", rule) for rule in rules}
        others = {
            rule
            for rule in named
            if rule not in ("all", "everything") and not rule.startswith("run_")
        }
        return others | set(re.findall(r"output: results/runs/(.+)\.nc", shown))

    def files(self) -> dict[str, bytes]:
        """Every result: runs, data sets, figures and report."""
        results = self.folder / "results"
        return {
            str(path.relative_to(results)): path.read_bytes()
            for path in results.rglob("*")
            if path.suffix in (".nc", ".svg", ".pdf", ".png", ".csv", ".html")
        }

    @property
    def log(self) -> str:
        """Snakemake's own messages in its last call."""
        return max(self.folder.glob(".snakemake/log/*.log")).read_text()

    @property
    def report_page(self) -> str:
        """The report."""
        return (self.folder / "results/report/tiny/index.html").read_text()

    def own_source(self) -> Path:
        """Give the project a source of its own to change."""
        source = self.folder / "src"
        if source.is_symlink():
            source.unlink()
            # With compiled code, whose files go by the times of their sources: compiling takes longer than the study.
            shutil.copytree(ROOT / "src", source, symlinks=True)
        return source

    def edit(self, module: str, old: str, new: str) -> None:
        path = self.own_source() / "admmbench" / module
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    def results(self, method: str) -> list[Path]:
        """Files of a method's runs."""
        return list(self.folder.glob(f"results/runs/digits/{method}-*/*.nc"))


def kill(started: subprocess.Popen[str], number: signal.Signals = signal.SIGKILL) -> None:
    """End Snakemake and its jobs."""
    os.killpg(started.pid, number)
    started.communicate(timeout=120)


def wait_for(condition: Callable[[], object], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)
