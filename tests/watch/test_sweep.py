"""Sweeps from Python: one labelled data set, of runs that a study of the same folder finds."""

import os
import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from sklearn.datasets import load_iris

from admmbench import plot, simulate, sweep
from admmbench.cli import main
from admmbench.contracts.made_up_data import make_dataset
from admmbench.datasets import open_as
from admmbench.engine.context import Context
from admmbench.jobs import job
from admmbench.study.config import read
from admmbench.watch import study as loop
from tests.plugins import write_method

GRID = {"epsilons": [0.5, 1], "rounds": 2, "seeds": 2, "agents": 3}
INTERRUPTED = """
def round(self, t, state, federation):
    import os, pathlib, signal

    if t == 2 and not pathlib.Path("once").exists():
        pathlib.Path("once").touch()
        os.kill(os.getpid(), signal.SIGINT)
    return super().round(t, state, federation)
"""
FAULTY = """
def round(self, t, state, federation):
    raise KeyError("gamma")
"""


@pytest.fixture
def made(monkeypatch):
    """Jobs of Snakemake, in this process, by the configuration that it would read; which files were asked for."""
    asked = []

    def snakemake(words, folder, config):
        assert folder == Path()
        assert words[-2:] == ["--cores", "1"]
        overlay, *targets = words[: words.index("--snakefile")]
        study = read([Path(overlay)], base=config / "config.yaml")
        asked.append(len(targets))
        runs = {
            str(study.runs_folder(name) / run.path): (run, experiment.dataset_folder)
            for name, experiment in study.experiments.items()
            for run in experiment.runs
        }
        for target in targets:
            run, data = runs[target]
            prepared = open_as(run.spec.dataset, Path(study.config.data.cache, "datasets", data))
            job.execute(run.spec, prepared, Path(target), Context(study.config.threads))
        return 0

    monkeypatch.setattr(loop, "turn", snakemake)
    return asked


def test_a_grid_is_one_labelled_data_set_and_made_once(tmp_path, made):
    found = sweep("digits", ["objp", "dp_gd"], folder=tmp_path, workers=1, **GRID)
    sizes = {"algorithm": 2, "epsilon": 2, "seed": 2, "round": 2}
    assert sizes.items() <= found.sizes.items()
    assert list(found["algorithm"].values) == ["objp", "dp_gd"]
    assert found.test_error.notnull().all()
    assert made == [4]
    again = sweep("digits", ["objp", "dp_gd"], folder=tmp_path, workers=1, **GRID)
    xr.testing.assert_identical(again, found)
    sweep("digits", ["objp"], folder=tmp_path, workers=1, **{**GRID, "epsilons": [0.5, 1, 2]})
    assert made == [4]  # a single run needs no Snakemake
    assert len(plot(found, "tradeoff").axes) == 1


def test_values_of_a_parameter_are_a_dimension(tmp_path, made):
    grid = {**GRID, "epsilons": 1, "seeds": 1, "workers": 1, "folder": tmp_path}
    found = sweep(
        "digits", ["objp"], params={"a": [1, 2], "local_updates": [1, 3, 2], "rho": 0.5}, **grid
    )
    assert found["a"].values.tolist() == [1, 2]
    assert found["local_updates"].values.tolist() == [1, 3, 2]
    for values in ({"a": 1, "local_updates": 3}, {"a": 2, "local_updates": 2}):
        alone = sweep("digits", ["objp"], params={**values, "rho": 0.5}, **grid)
        chosen = found.sel(values)
        np.testing.assert_array_equal(chosen.test_loss, alone.test_loss)
    assert len(np.unique(found.test_loss.isel(round=-1))) == 6
    frame = found.to_dataframe()
    assert len(frame) == 6 * found.sizes["round"]
    with pytest.raises(ValueError, match=r"one value of a and of local_updates; select it"):
        plot(found)
    assert len(plot(found.sel(a=1, local_updates=3)).axes) == 1
    with pytest.raises(ValueError, match=r"^params\.a: the list is empty"):
        sweep("digits", ["objp"], params={"a": []}, **grid)
    with pytest.raises(ValueError, match=r"params\.b"):
        sweep("digits", ["objp"], params={"b": [1, 2]}, **grid)


def test_a_loss_of_a_sweep_fits_all_its_methods(tmp_path, made):
    grid = {**GRID, "seeds": 1, "epsilons": 1, "workers": 1, "folder": tmp_path}
    found = sweep("diabetes", ["objp", "dp_gd"], **grid)
    assert "huber" in found.attrs["problem"]


def test_a_run_is_drawn_as_results_are():
    trace = simulate("digits", "dp_gd", agents=3, epsilon=1, rounds=4, evaluate_every=2, seeds=2)
    (panel,) = plot(trace).axes
    heights = 100 * trace.test_error.mean("seed").sel(round=[2, 4])
    drawn = [line.get_ydata() for line in panel.lines]
    assert any(len(y) == 2 and np.allclose(y, heights) for y in drawn)
    assert len(plot(trace, "tradeoff").axes) == 1
    total = simulate(
        "digits",
        "objp",
        agents=3,
        privacy={"total": 2},
        sensitivity="global",
        rounds=2,
        seeds=2,
        keep_model=True,
    )
    assert "whole run" in plot(total, "tradeoff").axes[0].get_xlabel()


def test_a_figure_is_drawn_into_given_axes():
    trace = simulate("digits", "dp_gd", agents=3, epsilon=1, rounds=4, seeds=2)
    _, (first, second) = plt.subplots(1, 2)
    assert plot(trace, ax=second) is second
    assert second.get_ylabel() == "Test error (%)"
    assert [text.get_text() for text in second.get_legend().get_texts()] == ["dpsgd"]
    assert not first.has_data()
    plt.close()


def test_a_figure_needs_all_dimensions_of_results(tmp_path, made):
    found = sweep("digits", ["objp"], folder=tmp_path, workers=1, **GRID)
    for results, absent in (
        (found.sel(epsilon=1), "epsilon"),
        (found.mean("seed"), "seed"),
        ("results", "algorithm, epsilon, seed, round"),
    ):
        with pytest.raises(ValueError, match=f"^results: .* there is no {absent}\\. Select by"):
            plot(results, "curves")
    with pytest.raises(ValueError, match=r"^ax: the figure has 2 panels \(ε = 0.5, ε = 1\)"):
        plot(found, "curves", ax=plt.figure().add_subplot())
    plt.close()


@pytest.mark.skipif("ADMMBENCH_MIRROR" not in os.environ, reason="needs a mirror of the data")
def test_several_data_sets_are_a_dimension(tmp_path, made):
    grid = {**GRID, "epsilons": 1, "seeds": 1}
    names = ["digits", "breast_cancer_wisconsin"]
    found = sweep(names, [{"name": "objp", "label": "ObjP"}], folder=tmp_path, workers=1, **grid)
    assert list(found["dataset"].values) == names
    assert found.test_error.sel(dataset="digits", algorithm="ObjP").notnull().all()


def test_arrays_are_a_data_set_as_they_are_of_simulate(tmp_path, made):
    data = load_iris(as_frame=True)
    groups = np.arange(150) % 3
    given = {"rounds": 2, "seeds": 2}
    found = sweep(
        (data.data, data.target), ["objp"], epsilons=1, folder=tmp_path, groups=groups, **given
    )
    wanted = simulate((data.data, data.target), "objp", epsilon=1, groups=groups, **given)
    assert found.sizes["seed"] == 2
    for name in ("test_error", "train_loss"):
        own = found[name].sel(algorithm="objp", epsilon=1).values
        np.testing.assert_array_equal(own, wanted[name].sel(round=found["round"]).values)
    (path,) = (tmp_path / "resources/tables").iterdir()
    sweep(data, ["objp"], epsilons=1, folder=tmp_path, **given, agents=3)
    assert len(list(path.parent.iterdir())) == 2  # with the names of its classes
    with pytest.raises(ValueError, match="groups: are for arrays"):
        sweep("digits", ["objp"], epsilons=1, folder=tmp_path, groups=groups)


def test_a_former_key_is_accepted_with_a_warning(tmp_path, made):
    grid = {**GRID, "seeds": None, "looks": [2]}
    with pytest.warns(FutureWarning, match="^sweep: looks is now called interim_analyses"):
        assert sweep("digits", ["objp"], folder=tmp_path, workers=1, **grid).sizes["seed"] == 2


def test_totals_are_those_of_whole_runs(tmp_path, made):
    grid = {"totals": 1, "rounds": 2, "seeds": 1, "sensitivity": "global", "workers": 1}
    found = sweep("digits", ["objp"], folder=tmp_path, **grid)
    assert found["epsilon"].attrs["budget_of"] == "run"
    assert found.epsilon_total.isel(round=-1).item() == pytest.approx(1, rel=0.01)


def test_runs_that_fail_are_named_with_what_their_logs_say(tmp_path, monkeypatch):
    def fail(words, folder, config):
        for target in words[1:3]:
            log = Path(target).parent / "logs" / Path(target).with_suffix(".log").name
            log.parent.mkdir(parents=True, exist_ok=True)
            log.write_text("admmbench: it is broken\n")
        return 1

    monkeypatch.setattr(loop, "turn", fail)
    with pytest.raises(
        RuntimeError, match=r"2 of 2 runs failed: objp at 0.5: .*it is broken; objp"
    ):
        sweep("digits", ["objp"], folder=tmp_path, **GRID)
    write_method(tmp_path / "mine.py", FAULTY)
    with pytest.raises(RuntimeError, match=r"1 of 1 runs failed: mine at 1: .*KeyError: 'gamma'"):
        sweep("digits", [str(tmp_path / "mine.py")], folder=tmp_path, **{**GRID, "epsilons": 1})


@pytest.mark.usefixtures("signals_heard")
def test_a_single_run_that_is_interrupted_goes_on_from_its_checkpoint(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_method(Path("mine.py"), INTERRUPTED)
    given = {"rounds": 4, "evaluate_every": 1, "seeds": 2, "agents": 3}
    with pytest.raises(KeyboardInterrupt, match=r"after round 2; .* goes on from there"):
        sweep("digits", ["mine.py"], epsilons=1, **given)
    (checkpoint,) = Path().glob("results/runs/digits/mine-*/checkpoints/*")
    found = sweep("digits", ["mine.py"], epsilons=1, **given)
    assert not checkpoint.exists()
    wanted = simulate(
        "digits",
        "objp",
        epsilon=1,
        **{k: given[k] for k in ("rounds", "seeds", "agents", "evaluate_every")},
    )
    np.testing.assert_array_equal(found.test_loss.squeeze(), wanted.test_loss)


@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        ([], "the list is empty"),
        (make_dataset(), "give its name, or its features and targets"),
        ((np.ones((9, 2)) + 1j, [0, 1, 0] * 3), "complex numbers in x0, x1"),
    ],
)
def test_what_is_no_data_set_of_a_study_is_refused(dataset, message, tmp_path):
    with pytest.raises(ValueError, match=f"{message}"):
        sweep(dataset, ["objp"], folder=tmp_path, **GRID)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_study_finds_what_a_sweep_ran(tmp_path, monkeypatch):
    """And the other way round: Snakemake has no run to make, and joins those that are there."""
    folder = tmp_path / "own"
    assert main(["init", str(folder)]) == 0
    (folder / "config/experiments/my_study.yaml").write_text(
        "{title: own, dataset: digits, agents: 3, rounds: 2, seeds: 2, epsilon: [0.5, 1],"
        " algorithms: [{name: objp, label: ObjP}]}\n"
    )
    monkeypatch.chdir(folder)
    found = sweep("digits", ["objp"], workers=2, **GRID)
    done = subprocess.run(
        [sys.executable, "-m", "admmbench", "study", "results", "--cores", "1"],
        capture_output=True,
        text=True,
        env=os.environ,
    )
    assert done.returncode == 0, done.stderr
    assert "3 of 3 jobs" in done.stdout + done.stderr  # manifest, join, target
    theirs = xr.load_dataset(folder / "results/my_study/results.nc")
    assert (theirs.test_error.values == found.test_error.values).all()
