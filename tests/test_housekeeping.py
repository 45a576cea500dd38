"""What is taken for a leftover, and what is never touched."""

import os
import time

import pytest
import yaml

from admmbench import config, housekeeping
from admmbench.housekeeping import BusyError, leftovers, remove

SMALL = {
    "title": "Small",
    "dataset": "digits",
    "agents": 3,
    "rounds": 10,
    "seeds": 2,
    "epsilon": [1],
    "algorithms": [{"name": "objp", "label": "ObjP"}],
}
POINT = "epsilon=1+rounds=10+seeds=0-1"
OTHER = "epsilon=2+rounds=10+seeds=0-1"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A project with one experiment; `make` adds files to it."""
    monkeypatch.chdir(tmp_path)
    experiments = tmp_path / "config/experiments"
    experiments.mkdir(parents=True)
    (experiments / "small.yaml").write_text(yaml.safe_dump(SMALL))
    (tmp_path / "config/config.yaml").write_text("experiments: [small]\n")
    return tmp_path


def make(folder, *names, hours=0.0):
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
        os.utime(path, (time.time() - 3600 * hours,) * 2)


def run_files(point, method="objp", experiment="small"):
    kinds = {"runs": ".nc", "logs": ".log", "benchmarks": ".tsv", "checkpoints": ""}
    return [f"results/{experiment}/{kind}/{method}/{point}{end}" for kind, end in kinds.items()]


def found(overlays=()):
    return [str(path) for path in leftovers([config.read(overlays)])]


def test_all_files_of_a_run_that_none_asks_for(folder):
    make(folder, *run_files(POINT), *run_files(OTHER), "results/small/results.nc")
    assert found() == sorted(run_files(OTHER))


def test_runs_of_seeds_with_gaps_are_known_too(folder):
    point = POINT.replace("0-1", "0-1_7-7")
    make(folder, *run_files(point))
    assert found() == sorted(run_files(point))


def test_an_overlay_keeps_what_it_asks_for(folder):
    make(folder, *run_files(POINT), *run_files(OTHER))
    overlay = folder / "config/more.yaml"
    overlay.write_text("overrides: {small: {epsilon: 2}}\n")
    assert leftovers([config.read(), config.read([overlay])]) == []
    assert found([overlay]) == sorted(run_files(POINT))


def test_an_experiment_and_data_that_none_asks_for(folder):
    experiment = ["results/old/results.nc", "results/old/figures/error.svg"]
    make(folder, *experiment, *run_files(POINT, experiment="old"))
    make(folder, "resources/datasets/digits/dataset.json", "resources/datasets/mnist/dataset.json")
    runs = run_files(POINT, experiment="old")
    assert found() == sorted([*experiment, *runs, "resources/datasets/mnist"])


def test_unknown_files_are_never_touched(folder):
    make(
        folder,
        "results/README.md",
        "results/notes/idea.txt",
        "results/small/runs/objp/my copy.nc",
        "results/small/analysis.ipynb",
        "results/mine/results.nc",  # no runs beside it
        "resources/datasets/own/table.csv",
        "resources/files/mnist/train.gz",
    )
    assert found() == []


def test_what_a_killed_process_left_goes_after_an_hour(folder):
    old, young = (f"results/small/runs/objp/.{POINT}.nc.{word}.tmp" for word in ("a", "b"))
    make(folder, old, hours=2)
    make(folder, young)
    make(folder, "resources/datasets/.mnist.0a.part", hours=2)
    assert found() == ["resources/datasets/.mnist.0a.part", old]


def test_compiled_code_goes_after_a_month(folder):
    kernels = "resources/kernels"
    old = [f"{kernels}/__pycache__/kernel_0a.update-1.py311.nbi", f"{kernels}/kernel_0a.py"]
    make(folder, *old, hours=24 * 31)
    make(folder, f"{kernels}/kernel_0b.py", hours=24 * 29)
    assert found() == old


def test_removing_takes_emptied_folders_along(folder):
    make(folder, *run_files(POINT), *run_files(OTHER, method="objt"))
    make(folder, "resources/datasets/mnist/dataset.json")
    remove(leftovers([config.read()]))
    assert found() == []
    assert not (folder / "results/small/runs/objt").exists()
    assert (folder / run_files(POINT)[0]).exists()
    assert not (folder / "resources/datasets/mnist").exists()


def test_nothing_is_removed_while_snakemake_runs(folder):
    make(folder, *run_files(OTHER), ".snakemake/locks/0.output.lock")
    with pytest.raises(BusyError, match="running in this folder"):
        remove(leftovers([config.read()]))
    assert len(found()) == 4


def test_sizes_count_the_files_of_a_folder(folder):
    make(folder, "resources/datasets/mnist/dataset.json", "resources/datasets/mnist/X.npy")
    assert housekeeping.size(folder / "resources/datasets/mnist") == len(
        "resources/datasets/mnist/dataset.json" + "resources/datasets/mnist/X.npy"
    )
