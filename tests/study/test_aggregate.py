"""Aggregation: labelled, complete, and only from files that belong to the present code."""

import json
import shutil

import numpy as np
import pytest
import xarray as xr

from admmbench.datasets import load_dataset
from admmbench.engine.context import Context
from admmbench.files import netcdf
from admmbench.files.netcdf import StaleResultError
from admmbench.jobs import fingerprint, job
from admmbench.report import rendering
from admmbench.spec.run import RunSpec
from admmbench.study.aggregate import aggregate, join_runs, read
from admmbench.study.experiment import Experiment
from admmbench.study.runs import Run

DEFINITION = {
    "title": "Small",
    "dataset": "digits",
    "agents": 3,
    "rounds": 4,
    "evaluate_every": 2,
    "seed_blocks": [2, 1],
    "epsilon": [0.1, 1],
    "algorithms": [
        {"name": "outp", "label": "OutP", "variant": "reference"},
        {"name": "objp", "label": "ObjP", "params": {"a": 2}},
        {"name": "iadmm", "label": "Non-private", "epsilon": ".inf"},
    ],
}


EXPERIMENT = Experiment.model_validate(DEFINITION)


def execute(experiment, folder):
    """Make the runs of an experiment, and return the folder."""
    for run in experiment.runs:
        job.execute(run.spec, load_dataset(experiment.dataset), folder / run.path, Context(1))
    return folder


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return execute(EXPERIMENT, tmp_path_factory.mktemp("results"))


# Files take long to read; no test changes what is read here.


@pytest.fixture(scope="module")
def traces(runs):
    return [(run, read(runs / run.path, run)) for run in EXPERIMENT.runs]


@pytest.fixture(scope="module")
def joined(runs):
    return aggregate("small", EXPERIMENT, runs)


def test_results_are_labelled_and_open_alone(joined, tmp_path):
    netcdf.write(joined, tmp_path / "results.nc")
    xr.testing.assert_equal(netcdf.read(tmp_path / "results.nc"), joined)
    with xr.open_dataset(tmp_path / "results.nc") as results:
        assert list(results.algorithm.values) == ["OutP", "ObjP", "Non-private"]
        assert list(results.epsilon.values) == [0.1, 1, np.inf]
        assert list(results.seed.values) == [0, 1, 2]
        assert list(results["round"].values) == [0, 2, 4]
        assert results.test_error.dims == ("algorithm", "epsilon", "seed", "round")
        assert results.epsilon_total.dims == ("algorithm", "epsilon", "round")
        assert list(results.variant.values) == ["reference", "paper", "paper"]
        assert results.test_error.attrs["units"] == "1"
        assert results.attrs["experiment"] == "small"
        assert len(set(results.fingerprint.values)) == 3
        assert all(each.attrs["long_name"] for each in results.coords.values())
        units = {name for name, each in results.coords.items() if "units" in each.attrs}
        assert units == {"agents", "delta", "epsilon", "false_alarms", "features", "rounds"}


def test_every_number_is_in_its_place(joined, traces):
    for run, trace in traces:
        place = joined.sel(algorithm=run.label, epsilon=run.spec.epsilon, seed=list(run.spec.seeds))
        for name in ("test_error", "train_loss", "noise_magnitude"):
            np.testing.assert_array_equal(place[name], trace[name])
        assert (place.status == 0).all()
    missing = joined.sel(algorithm="Non-private", epsilon=1)
    assert np.isnan(missing.test_error).all()
    assert (missing.status == -1).all()


def test_runs_that_are_missing_leave_the_others_in_their_places(joined, traces):
    """Of one block of seeds, of one budget, and of both."""
    for there in (traces[1:], traces[::2], traces[2:7]):
        results = join_runs("small", EXPERIMENT, there)
        assert results.indexes["seed"].is_unique
        assert (results.status >= 0).sum() == sum(len(run.spec.seeds) for run, _ in there)
        for run, _ in there:
            point = {"algorithm": run.label, "epsilon": run.spec.epsilon}
            here, expected = (
                each.sel(point)[["test_error", "status"]].sel(seed=list(run.spec.seeds))
                for each in (results, joined)
            )
            xr.testing.assert_equal(here.reset_coords(drop=True), expected.reset_coords(drop=True))


def test_blocks_of_seeds_with_noise_for_other_budgets_are_refused(joined, traces):
    def with_more(factor):
        """Claim more for the second block of ObjP at 1, and have a larger total."""
        found = []
        for run, trace in traces:
            more = (run.label, run.spec.epsilon, min(run.spec.seeds)) == ("ObjP", 1, 2)
            names = ["epsilon_claimed", "epsilon_composed"]
            changed = {name: trace[name] * (factor if more else 1) for name in names}
            found.append((run, trace.assign(changed)))
        return found

    with pytest.raises(
        StaleResultError,
        match=r"^ObjP at ε = 1: a release has the budget 1 at some seeds and 1.03 at others",
    ):
        join_runs("small", EXPERIMENT, with_more(1.03))
    # What another processor rounds otherwise is the same, and the largest total counts.
    other = join_runs("small", EXPERIMENT, with_more(1 + 1e-9))
    at = {"algorithm": "ObjP", "epsilon": 1, "round": 4}
    assert other.epsilon_composed.sel(at) > joined.epsilon_composed.sel(at)
    xr.testing.assert_allclose(other, joined)


def test_agents_and_delta_of_each_method_are_coordinates(tmp_path):
    methods = [
        {"name": "dp_admm", "label": "DP-ADMM"},
        {"name": "dp_admm", "label": "two", "agents": 2, "delta": 0.01},
        {"name": "objp", "label": "ObjP", "sensitivity": "global"},
    ]
    given = {**DEFINITION, "epsilon": [1], "seed_blocks": [2], "algorithms": methods}
    experiment = Experiment.model_validate(given)
    results = aggregate("small", experiment, execute(experiment, tmp_path))
    assert list(results.agents.values) == [3, 2, 3]
    assert list(results.delta.values) == [1e-6, 0.01, 1e-6]
    assert results.attrs["sensitivity"] == "local; global"
    # What only one method measures has its labels, and is missing elsewhere.
    results = results.isel(round=slice(1, None))
    own = results.augmented_objective
    assert own.attrs["units"] == "nat"
    assert own.sel(algorithm=["DP-ADMM", "two"]).notnull().all()
    assert own.sel(algorithm="ObjP").isnull().all()
    assert results.epsilon_moments.sel(algorithm="ObjP").isnull().all()
    paid = results.epsilon_composed < results.epsilon_moments
    assert paid.sel(algorithm=["DP-ADMM", "two"]).all()


def test_methods_meet_at_totals(tmp_path):
    """From the experiment to its report: noise of each law is solved for the same totals."""
    methods = [
        {"name": "outp", "label": "OutP"},
        {"name": "objp", "label": "Laplace"},
        {"name": "objp", "label": "Gauss", "noise": "gaussian"},
        {"name": "iadmm", "label": "Non-private", "epsilon": ".inf"},
    ]
    given = {
        "epsilon": None,
        "seed_blocks": [2],
        "sensitivity": "global",
        "privacy": {"total": [0.5, 4], "delta": 1e-5},
    }
    experiment = Experiment.model_validate({**DEFINITION, **given, "algorithms": methods})
    results = aggregate("totals", experiment, execute(experiment, tmp_path))
    assert list(results.epsilon.values) == [0.5, 4, np.inf]
    assert results.epsilon.attrs["budget_of"] == "run"
    assert results.attrs["relation"] == "zero_out"
    assert list(results.noise.values) == ["gaussian", "laplace", "gaussian", "none"]
    spent = results.epsilon_total.isel(round=-1)
    for total in (0.5, 4):
        private = spent.sel(epsilon=total, algorithm=["OutP", "Laplace", "Gauss"])
        assert (private <= total).all()
        assert (private >= 0.99 * total).all()
    page = rendering.render([rendering.Section(results, experiment)], [])
    assert page.count('<th scope="col" class="number">ε of the whole run</th>') == 1
    assert "<td>gaussian</td>" in page


def test_what_methods_declare_are_coordinates(joined):
    assert list(joined.notion.values) == ["approximate", "pure", "none"]
    # The code of OutP uses nothing of the records for its noise.
    assert list(joined.guarantee.values) == ["proved", "none", "none"]
    assert list(joined.coords["relation"].values) == ["zero_out", "zero_out", "none"]
    assert list(joined.unit.values) == ["record", "record", "none"]
    assert list(joined.caveats.values) == ['{"sigma_squared": {}}', "{}", "{}"]
    assert joined.attrs["metric"] == "test_error"
    # Of one method only; the coordinates say it of each.
    of_methods = {"delta", "guarantee", "conditions", "relation", "threat_model"}
    assert not (of_methods | {"unit_of_privacy"}) & set(joined.epsilon_total.attrs)
    assert joined.epsilon_total.attrs["comment"] == "infinite where nothing is guaranteed"
    (shares,) = json.loads(joined.attrs["shares"])
    assert shares["order"] == "file"
    finite = np.isfinite(joined.epsilon_total[..., 1:]).any(["epsilon", "round"])
    assert list(finite.values) == [True, False, False]


PLUG_IN = """
from admmbench.base.algorithm import parameters
from admmbench.base.types import Guarantee
from admmbench.algorithms.objp import ObjP
from admmbench.privacy import Release


@parameters
class Mine(ObjP):
    release = Release("laplace", "gradient", own_neighbours="pixel")

    def guarantee(self, sensitivity):
        return Guarantee("conditional", "because I say so")

    @property
    def caveats(self):
        return ("Mine is for tests <only>.",)
"""
NUMBERS = {
    "title": "Numbers",
    "dataset": "diabetes",
    "problem": {"loss": "huber", "penalty": "l1"},
    "agents": 3,
    "rounds": 4,
    "evaluate_every": 2,
    "seeds": 2,
    "epsilon": [1],
    "figures": [{"name": "errors", "kind": "curves", "metric": "test_rmse"}],
}


def test_a_plug_in_on_numbers_comes_to_the_report(tmp_path):
    """Experiment, runs, results and page; the page says what the method's file does."""
    (tmp_path / "mine.py").write_text(PLUG_IN)
    methods = [
        {"name": str(tmp_path / "mine.py"), "label": "Mine"},
        {"name": "objp", "label": "ObjP"},
    ]
    experiment = Experiment.model_validate({**NUMBERS, "algorithms": methods})
    results = aggregate("numbers", experiment, execute(experiment, tmp_path))
    assert results.attrs["metric"] == "test_rmse"
    assert "valid_range" not in results.test_rmse.attrs
    assert list(results.guarantee.values) == ["conditional", "none"]
    netcdf.write(results, tmp_path / "results.nc")
    with xr.open_dataset(tmp_path / "results.nc") as stored:
        section = rendering.Section(stored.load(), experiment)
    page = rendering.render([section], [])
    for words in (
        "Mine is for tests &lt;only&gt;.",
        "Neighbouring data sets of Mine: one pixel is another.",
        "Final root mean squared test error in points",
        "not a valid guarantee",
        "<td>conditional</td>",
    ):
        assert words in page
    error = results.test_rmse.sel(algorithm="Mine", epsilon=1).isel(round=-1).mean("seed")
    assert f"{float(error):.4g} (" in page


def test_times_are_shared_among_the_seeds_of_a_block(tmp_path):
    """Of a method without noise, one seed is computed for all."""
    experiment = Experiment.model_validate({**DEFINITION, "epsilon": [1], "timed": True})
    runs = experiment.runs
    computed = [(run.label, len(run.spec.seeds), len(run.spec.computed.seeds)) for run in runs]
    assert {("Non-private", 2, 1), ("ObjP", 2, 2)} <= set(computed)
    for run in runs:
        job.time_alone(run.spec, load_dataset("digits"), tmp_path / run.path)
    results = aggregate("small", experiment, tmp_path)
    assert results.seconds.dims == ("algorithm", "epsilon", "seed", "round")
    for run in runs:
        with xr.open_dataset(tmp_path / run.path) as trace:
            place = results.seconds.sel(algorithm=run.label, epsilon=run.spec.epsilon)
            for seed in run.spec.seeds:
                np.testing.assert_allclose(
                    place.sel(seed=seed), trace.seconds / len(run.spec.computed.seeds)
                )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rounds": 5}, "was made with rounds = 4"),
        ({"evaluate_every": 4}, "was made with evaluate_every = 2"),
        ({"sensitivity": "global"}, "was made with sensitivity = 'local'"),
        ({"params": {"rho": 1}}, "was made with params"),
        ({"agents": 4}, "was made with partition"),
        ({"delta": 1e-5}, "was made with delta"),
        ({"problem": {"loss": "softmax", "strength": 0.2}}, "was made with problem"),
        ({"dtype": "float64"}, "was made with dtype"),
    ],
)
def test_results_of_another_configuration_are_refused(runs, tmp_path, change, message):
    """Even under the address of what is asked for."""
    wanted = Experiment.model_validate({**DEFINITION, **change})
    for made, run in zip(EXPERIMENT.runs, wanted.runs, strict=True):
        assert made.path != run.path
        (tmp_path / run.path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(runs / made.path, tmp_path / run.path)
    with pytest.raises(StaleResultError, match=message):
        aggregate("small", wanted, tmp_path)


def test_a_missing_run_is_named(runs):
    with pytest.raises(StaleResultError, match=r"epsilon=0\.1\+seeds=0-1\.nc: cannot be read"):
        aggregate("small", Experiment.model_validate({**DEFINITION, "rounds": 5}), runs)


def test_results_of_other_code_are_refused(runs, monkeypatch):
    monkeypatch.setattr(fingerprint, "of_run", lambda spec: "other")
    with pytest.raises(StaleResultError, match="was made with fingerprint"):
        aggregate("small", EXPERIMENT, runs)


def test_other_seeds_than_asked_for_are_refused(runs, tmp_path):
    """Sealed as they are: a file under the name of another."""
    folder = shutil.copytree(runs, tmp_path / "copy")
    run = EXPERIMENT.runs[0]
    trace = netcdf.read(folder / run.path)
    netcdf.write(trace.assign_coords(seed=trace.seed + 2), folder / run.path)
    with pytest.raises(StaleResultError, match=r"has the seeds \[2, 3\], its name says \[0, 1\]"):
        aggregate("small", EXPERIMENT, folder)


def test_a_trace_of_noise_that_changes_is_not_that_of_noise_that_does_not(tmp_path):
    one = {"dataset": "digits", "algorithm": "dpsgd", "agents": 2, "rounds": 2, "seeds": 1}
    one |= {"sensitivity": "global", "privacy": {"total": 1.0}}
    steady, falling = (Run("DP-GD", RunSpec(**one, noise_ratio=ratio)) for ratio in (1, 0.5))
    job.execute(falling.spec, load_dataset("digits"), tmp_path / falling.path, Context(1))
    read(tmp_path / falling.path, falling)
    with pytest.raises(StaleResultError, match=r"made with noise_ratio = 0\.5, .* ask for None"):
        read(tmp_path / falling.path, steady)


def test_mirrors_are_beside_the_seeds_that_they_belong_to(tmp_path):
    paired = {
        **{
            key: value for key, value in DEFINITION.items() if key not in ("seed_blocks", "epsilon")
        },
        "sensitivity": "global",
        "problem": {"loss": "softmax", "records": {"max_l2_norm": 1}},
        "privacy": {"total": [1]},
        "interim_analyses": [2, 3],
        "pairs": {},
        "ordered": {"ObjP": {1: 3}},
        "mirrored": {"ObjP": {1: 2}},
        "algorithms": [DEFINITION["algorithms"][1], {"name": "dpsgd", "label": "DP-GD"}],
    }
    experiment = Experiment.model_validate(paired)
    found = aggregate("small", experiment, execute(experiment, tmp_path))
    ordinary = Experiment.model_validate({**paired, "pairs": None, "mirrored": {}})
    alone = aggregate("small", ordinary, tmp_path)
    xr.testing.assert_identical(
        found.drop_vars(["mirror", "mirror_status"]).drop_attrs(), alone.drop_attrs()
    )
    assert json.loads(found.attrs.pop("pairs")) == {"after": 0}
    assert found.attrs == alone.attrs
    of_objp = found.sel(algorithm="ObjP", epsilon=1)
    assert of_objp["mirror_status"].values.tolist() == [0, 0, -1]
    (run,) = (run for run in experiment.runs if run.spec.mirror)
    trace = read(tmp_path / run.path, run)
    last = trace["test_error"].isel(round=-1).values
    np.testing.assert_array_equal(of_objp["mirror"][:2], last)
    assert (last != found["test_error"].sel(algorithm="ObjP", epsilon=1).isel(round=-1)[:2]).any()
    assert found["mirror"].sel(algorithm="DP-GD").isnull().all()
    shutil.copy(tmp_path / run.path, tmp_path / experiment.runs[0].path)
    with pytest.raises(StaleResultError, match="was made with mirror = 1"):
        read(tmp_path / experiment.runs[0].path, experiment.runs[0])
