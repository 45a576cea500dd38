"""Aggregation: labelled, complete, and only from files that belong to the present code."""

import numpy as np
import pytest
import xarray as xr

from admmbench.analysis.aggregate import StaleResultError, aggregate
from admmbench.config import Experiment
from admmbench.datasets import load_dataset
from admmbench.jobs import fingerprint, job

DEFINITION = {
    "title": "Small",
    "dataset": "digits",
    "agents": 3,
    "rounds": 4,
    "evaluate_every": 2,
    "seeds": [2, 1],
    "epsilon": [0.1, 1],
    "algorithms": [
        {"name": "outp", "label": "OutP", "variant": "reference"},
        {"name": "objp", "label": "ObjP", "params": {"a": 2}},
        {"name": "iadmm", "label": "Non-private", "epsilon": ".inf"},
    ],
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    data = load_dataset("digits")
    for run in Experiment.model_validate(DEFINITION).runs:
        job.execute(run.spec, data, folder / run.path, 1)
    return folder


def test_results_are_labelled_and_open_alone(runs, tmp_path):
    experiment = Experiment.model_validate(DEFINITION)
    job.write(aggregate("small", experiment, runs), tmp_path / "results.nc")
    with xr.open_dataset(tmp_path / "results.nc") as results:
        assert list(results.algorithm.values) == ["OutP", "ObjP", "Non-private"]
        assert list(results.epsilon.values) == [0.1, 1, np.inf]
        assert list(results.seed.values) == [0, 1, 2]
        assert list(results["round"].values) == [2, 4]
        assert results.test_error.dims == ("algorithm", "epsilon", "seed", "round")
        assert results.epsilon_total.dims == ("algorithm", "epsilon", "round")
        assert list(results.variant.values) == ["reference", "paper", "paper"]
        assert results.test_error.attrs["units"] == "1"
        assert results.attrs["experiment"] == "small"
        assert len(set(results.fingerprint.values)) == 3


def test_every_number_is_in_its_place(runs):
    experiment = Experiment.model_validate(DEFINITION)
    results = aggregate("small", experiment, runs)
    for run in experiment.runs:
        with xr.open_dataset(runs / run.path) as trace:
            place = results.sel(algorithm=run.method.label, epsilon=run.spec.epsilon)
            for name in ("test_error", "train_loss", "noise_magnitude"):
                np.testing.assert_array_equal(
                    place[name].sel(seed=list(run.spec.seeds)), trace[name]
                )
            assert (place.status.sel(seed=list(run.spec.seeds)) == 0).all()
    missing = results.sel(algorithm="Non-private", epsilon=1)
    assert np.isnan(missing.test_error).all()
    assert (missing.status == -1).all()


def test_agents_and_delta_of_each_method_are_coordinates(tmp_path):
    definition = {
        **DEFINITION,
        "algorithms": [
            {"name": "dp_admm", "label": "DP-ADMM"},
            {"name": "dp_admm", "label": "two", "agents": 2, "delta": 0.01},
            {"name": "objp", "label": "ObjP"},
        ],
    }
    experiment = Experiment.model_validate(definition)
    data = load_dataset("digits")
    for run in experiment.runs:
        job.execute(run.spec, data, tmp_path / run.path, 1)
    results = aggregate("small", experiment, tmp_path)
    assert list(results.agents.values) == [3, 2, 3]
    assert list(results.delta.values) == [1e-6, 0.01, 1e-6]
    # What only one method measures has its labels, and is missing elsewhere.
    own = results.augmented_objective
    assert own.attrs["units"] == "nat"
    assert own.sel(algorithm=["DP-ADMM", "two"]).notnull().all()
    assert own.sel(algorithm="ObjP").isnull().all()
    assert results.epsilon_moments.sel(algorithm="ObjP").isnull().all()
    paid = results.epsilon_total < results.epsilon_moments
    assert paid.sel(algorithm=["DP-ADMM", "two"]).all()


def test_times_are_shared_among_the_seeds_of_a_block(tmp_path):
    experiment = Experiment.model_validate({**DEFINITION, "timed": True})
    runs = experiment.runs
    job.time_one_by_one(
        [run.spec for run in runs],
        load_dataset("digits"),
        [tmp_path / run.path for run in runs],
        [fingerprint.of_run(run.spec) for run in runs],
    )
    results = aggregate("small", experiment, tmp_path)
    assert results.seconds.dims == ("algorithm", "epsilon", "seed", "round")
    for run in runs:
        with xr.open_dataset(tmp_path / run.path) as trace:
            place = results.seconds.sel(algorithm=run.method.label, epsilon=run.spec.epsilon)
            for seed in run.spec.seeds:
                np.testing.assert_allclose(
                    place.sel(seed=seed), trace.seconds / len(run.spec.seeds)
                )
    with pytest.raises(job.StaleCodeError, match="nothing was run"):
        job.time_one_by_one([runs[0].spec], load_dataset("digits"), [tmp_path / "x"], ["other"])
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rounds": 5}, "cannot be read"),
        ({"evaluate_every": 4}, "was made with evaluate_every = 2"),
        ({"sensitivity": "global"}, "was made with sensitivity = 'local'"),
        ({"params": {"rho": 1}}, "was made with params"),
        ({"agents": 4}, "was made with partition"),
        ({"delta": 1e-5}, "was made with delta"),
        ({"problem": {"loss": "softmax", "strength": 0.2}}, "was made with problem"),
        ({"dtype": "float64"}, "was made with dtype"),
    ],
)
def test_results_of_another_configuration_are_refused(runs, change, message):
    experiment = Experiment.model_validate({**DEFINITION, **change})
    with pytest.raises(StaleResultError, match=message):
        aggregate("small", experiment, runs)


def test_results_of_other_code_are_refused(runs, monkeypatch):
    from admmbench.jobs import fingerprint

    monkeypatch.setattr(fingerprint, "of_run", lambda spec: "other")
    with pytest.raises(StaleResultError, match="was made with fingerprint"):
        aggregate("small", Experiment.model_validate(DEFINITION), runs)


@pytest.mark.parametrize("damage", ["truncated", "overwritten", "empty"])
def test_damaged_files_are_named(runs, tmp_path, damage):
    import shutil

    folder = tmp_path / "copy"
    shutil.copytree(runs, folder)
    experiment = Experiment.model_validate(DEFINITION)
    victim = folder / experiment.runs[0].path
    content = victim.read_bytes()
    victim.write_bytes(
        {"truncated": content[: len(content) // 2], "overwritten": b"text" * 99, "empty": b""}[
            damage
        ]
    )
    with pytest.raises(StaleResultError, match=r"epsilon=0\.1.*cannot be read.*delete"):
        aggregate("small", experiment, folder)


def test_altered_files_are_refused(runs, tmp_path):
    import shutil

    folder = tmp_path / "copy"
    shutil.copytree(runs, folder)
    experiment = Experiment.model_validate(DEFINITION)
    victim = folder / experiment.runs[0].path
    trace = xr.load_dataset(victim, engine="h5netcdf")
    trace.test_error.values[0, 0] /= 2
    trace.to_netcdf(victim, engine="h5netcdf")
    with pytest.raises(StaleResultError, match=r"was altered after it was computed.*delete"):
        aggregate("small", experiment, folder)
