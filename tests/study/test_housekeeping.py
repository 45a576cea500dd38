"""What is taken for a leftover, and what is never touched."""

import os
import time

import pytest

from admmbench.cli import main
from admmbench.files import installed
from admmbench.study import config, housekeeping
from admmbench.study.experiment import Experiment
from admmbench.study.housekeeping import BusyError, leftovers, remove
from tests.studies import SMALL, write_study

POINT = "epsilon=1+seeds=0-1"
OTHER = "epsilon=2+seeds=0-1"
FOLDER = Experiment.model_validate(SMALL).runs[0].folder


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A project with one experiment; `make` adds files to it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ADMMBENCH_CACHE", "cache")
    write_study(tmp_path, small=SMALL)
    return tmp_path


def make(folder, *names, hours=0.0):
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
        os.utime(path, (time.time() - 3600 * hours,) * 2)


def run_files(point, folder=FOLDER, root="results/runs"):
    names = [f"{point}.nc", f"logs/{point}.log", f"benchmarks/{point}.tsv", f"checkpoints/{point}"]
    return [f"{root}/{folder}/{name}" for name in names]


def found(overlays=()):
    return [str(path) for path in leftovers([config.read(overlays)])]


def test_all_files_of_a_run_that_none_asks_for(folder):
    make(folder, *run_files(POINT), *run_files(OTHER), "results/small/results.nc")
    assert found() == sorted(run_files(OTHER))


def test_audits_that_none_asks_for(folder):
    experiment = {**SMALL, "audit": {}}
    write_study(folder, small=experiment)
    (name,) = (each.removesuffix(".json") for each in Experiment.model_validate(experiment).audits)
    files = [
        f"results/small/{pattern}"
        for audit in (name, "objp-0123+epsilon=2")
        for pattern in (f"audits/{audit}.json", f"logs/audits/{audit}.log")
    ]
    make(folder, "results/small/manifest.json", *files)
    assert found() == sorted(files[2:])


def test_partitions_that_no_run_reads(folder):
    (asked,) = config.read().partitions
    others = ["digits/iid-0123abcd.nc", "digits/by_writer-0123abcd+seeds=10-19.nc"]
    make(folder, *(f"resources/partitions/{path}" for path in (asked, *others, "digits/own.nc")))
    assert found() == sorted(f"resources/partitions/{path}" for path in others)


def test_runs_for_totals_are_known_too(folder):
    make(folder, *run_files("total=2+seeds=0-1"))
    assert found() == sorted(run_files("total=2+seeds=0-1"))


def test_an_overlay_keeps_what_it_asks_for(folder):
    make(folder, *run_files(POINT), *run_files(OTHER))
    overlay = folder / "config/more.yaml"
    overlay.write_text("overrides: {small: {epsilon: 2}}\n")
    assert leftovers([config.read(), config.read([overlay])]) == []
    assert found([overlay]) == sorted(run_files(POINT))


def test_a_study_that_runs_is_cleared_up_whatever_its_overlays_are_called(
    folder, monkeypatch, capsys
):
    monkeypatch.setattr(installed, "CONFIG", folder / "none")  # reading the papers' takes seconds
    make(folder, *run_files(POINT), *run_files(OTHER))
    (folder / "config/config.yml").write_text("overrides: {small: {epsilon: 2}}\n")
    assert main(["gc"]) == 0
    assert capsys.readouterr().out.startswith("0 that no configuration asks for")


def test_an_experiment_and_data_that_none_asks_for(folder):
    drawn = (f"figures/error.{suffix}" for suffix in ("svg", "pdf", "png", "csv"))
    names = ("manifest.json", "figures.json", "results.nc", *drawn)
    files = [f"results/other/{name}" for name in names]
    files += run_files(POINT, root="results/other/runs")  # as of one that is timed
    make(folder, *files)
    make(folder, "resources/datasets/digits/dataset.json", "resources/datasets/mnist/dataset.json")
    assert set(found()) == {*files, "resources/datasets/mnist"}


def test_what_is_timed_is_not_taken_for_what_is_shared(folder):
    write_study(folder, small={**SMALL, "timed": True})
    make(folder, *run_files(POINT), *run_files(POINT, root="results/small/runs"))
    assert found() == sorted(run_files(POINT))


def test_unknown_files_are_never_touched(folder):
    make(
        folder,
        "results/README.md",
        "results/notes/idea.txt",
        f"results/runs/{FOLDER}/my copy.nc",
        "results/runs/digits/notes.txt",
        "results/small/analysis.ipynb",
        "results/mine/results.nc",  # no runs beside it
        "resources/datasets/own/table.csv",
        "resources/files/mnist/train.gz",
    )
    assert found() == []


def test_what_a_killed_process_left_goes_after_an_hour(folder):
    old, young = (f"results/runs/{FOLDER}/.{POINT}.nc.{word}.tmp" for word in ("a", "b"))
    make(folder, old, hours=2)
    make(folder, young)
    others = [
        "cache/files/mnist/.train.gz.0a.part",
        "cache/prepared/.digits-0a.0b.old",
        "resources/datasets/.mnist.0a.part/dataset.json",
        "resources/files/mnist/.train.gz.0a.part",
        "results/report/config/.index.html.0a.tmp",
    ]
    make(folder, *others, hours=2)
    before = time.time() - 7200
    os.utime(folder / "resources/datasets/.mnist.0a.part", (before, before))
    assert found() == sorted([*(each.removesuffix("/dataset.json") for each in others), old])


def test_removing_takes_emptied_folders_along(folder):
    make(folder, *run_files(POINT), *run_files(OTHER, folder="digits/objt-000000111111"))
    make(folder, "resources/datasets/mnist/dataset.json")
    remove(leftovers([config.read()]))
    assert found() == []
    assert not (folder / "results/runs/digits/objt-000000111111").exists()
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
