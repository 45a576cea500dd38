"""What `performance/fill.py` makes: missing runs alone, over several calls, in files of a stated size."""

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import xarray as xr

from admmbench.cli import main
from admmbench.results import reference
from tests.studies import SMALL, write_study

SCRIPT = Path(__file__).parents[2] / "performance/fill.py"
LONG = SMALL | {"rounds": 6000, "evaluate_every": 3000}
METHODS = [{"name": name, "label": name} for name in ("objp", "outp")]
WIDE = SMALL | {"epsilon": [1, 3], "algorithms": METHODS}
Call = Callable[..., int]


@pytest.fixture(scope="module")
def fill() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fill", SCRIPT)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def call(fill: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Call the script, in a folder with two experiments."""
    write_study(tmp_path, long=LONG, wide=WIDE)
    monkeypatch.chdir(tmp_path)

    def called(*words: str) -> int:
        monkeypatch.setattr(sys, "argv", [str(SCRIPT), *words])
        return int(fill.main())

    return called


def trace_of(folder: str) -> bytes:
    (file,) = Path(folder, "runs").rglob("*.nc")
    return file.read_bytes()


def keep(*paths: Path) -> None:
    for path in paths:
        assert main(["keep", str(path), "--add", "--made-by", "fill.py"]) == 0


def test_a_run_that_is_cut_or_killed_ends_with_the_same_bytes(
    call: Call, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    start = time.monotonic()
    assert call("long", "--output", "whole") == 0
    seconds = 0.6 * (time.monotonic() - start)
    calls = 0
    while not list(Path("cut").rglob("pieces/*/*.nc")):
        calls += 1
        assert calls < 40
        start = time.monotonic()
        assert call("long", "--output", "cut", "--minutes", str(seconds / 60)) == 0
        assert time.monotonic() - start < 1.2 * seconds + 1
    assert calls > 1
    assert "goes on from a checkpoint of" in capfd.readouterr().out
    assert trace_of("cut") == trace_of("whole")
    assert not list(Path("cut").rglob("checkpoints/*"))

    monkeypatch.setenv("ADMMBENCH_CHECKPOINT_MINUTES", "0.01")
    command = [sys.executable, str(SCRIPT), "long", "--output", "killed"]
    process = subprocess.Popen(command, start_new_session=True)
    while not [*Path("killed").rglob("checkpoints/epsilon*")]:
        assert process.poll() is None
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not list(Path("killed").rglob("*.nc"))
    assert call("long", "--output", "killed") == 0
    assert "going on after round" in next(Path("killed").rglob("*.log")).read_text()
    assert trace_of("killed") == trace_of("whole")


def test_only_what_is_missing_is_run_compared_and_added(
    call: Call, capfd: pytest.CaptureFixture[str]
) -> None:
    part = "overrides={wide: {seeds: 1, epsilon: [1], only: [objp]}}"
    assert call("wide", "--output", "part", "--config", part) == 0
    keep(Path("part/pieces/wide/1.nc"))
    former = reference.load(["wide"])["wide"]
    capfd.readouterr()

    assert call("wide", "--output", "filled", "--together", "2") == 0
    out = capfd.readouterr().out
    assert "identical, by 0: wide: objp, ε = 1, seeds 0-0, to compare" in out
    assert out.count("finished after") == 5
    assert out.rstrip().endswith("0 runs are missing")
    (whole,) = Path("filled/pieces/wide").iterdir()
    most = 0.95e-6 * whole.stat().st_size
    assert call("wide", "--output", "filled", "--most-mb", str(most)) == 0
    pieces = sorted(Path("filled/pieces/wide").iterdir())
    assert len(pieces) > 1
    assert all(piece.stat().st_size <= 1e6 * most for piece in pieces)
    keep(*pieces)

    kept = reference.load(["wide"])["wide"]
    assert dict(kept.sizes) | {"algorithm": 2, "epsilon": 2, "seed": 2} == dict(kept.sizes)
    assert (kept["status"] == 0).all()
    place = {"algorithm": ["objp"], "epsilon": [1], "seed": [0]}
    xr.testing.assert_equal(kept.test_error.sel(place), former.test_error)
    assert call("wide", "--dry-run") == 0
    assert capfd.readouterr().out.endswith("0 runs are missing\n")


def test_kept_seeds_that_differ_and_other_scales_are_named(
    call: Call, capfd: pytest.CaptureFixture[str]
) -> None:
    small = "overrides={wide: {only: [objp], epsilon: [1]}}"
    one = "overrides={wide: {only: [objp], seeds: 1, epsilon: [1]}}"
    assert call("wide", "--output", "one", "--config", one) == 0
    kept = xr.load_dataset("one/pieces/wide/1.nc")
    kept["test_error"] += 0.1
    reference.keep(kept, "by hand")
    assert call("wide", "--output", "filled", "--config", small) == 1
    assert "unknown, by 0.1: wide: objp, ε = 1, seeds 0-0" in capfd.readouterr().out

    shutil.rmtree("reference")
    kept["rounds"] = kept["rounds"] + 1
    reference.keep(kept, "by hand")
    assert call("wide", "--output", "filled", "--config", small) == 0
    out = capfd.readouterr().out
    assert "to compare" not in out
    assert "# replaces another scale" in out


def test_what_cannot_be_cut_begins_only_where_it_fits(
    call: Call, fill: ModuleType, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fill, "core_seconds", lambda *_: 3600.0)
    assert call("long", "--most-mb", "0.001") == 0
    out = capfd.readouterr().out
    assert "1.0000 h  long: ObjP, ε = 1, seeds 0-1 (too long beside others, and its" in out
    assert not Path("filled").exists()
    monkeypatch.setattr(sys, "executable", "/bin/false")
    assert call("long") == 1
    assert "failed after" in capfd.readouterr().out


def test_runs_of_the_papers_are_split_where_some_seeds_are_kept(fill: ModuleType) -> None:
    from admmbench.study.config import load

    experiment = load({"experiments": ["ryu2022_updates"]}).experiments["ryu2022_updates"]
    every = {(r.label, r.spec.stated_budget, s) for r in experiment.runs for s in r.spec.seeds}
    generator = np.random.default_rng(0)
    for share in (0, 0.5, 1):
        kept = {place for place in sorted(every) if generator.random() < share}
        runs = [run for run, is_check in fill.missing_runs(experiment, kept) if not is_check]
        made = [(run.label, run.spec.stated_budget, s) for run in runs for s in run.spec.seeds]
        assert sorted([*made, *kept]) == sorted(every)
