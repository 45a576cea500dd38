"""What every algorithm owes: the same checks on each, with every variant.

A new method is covered as soon as it is registered.
"""

import dataclasses
import inspect
import math

import numpy as np
import pytest
import xarray as xr

from admmbench import list_algorithms, simulate
from admmbench.algorithms import base, resolve
from admmbench.algorithms.linearized import Linearized
from admmbench.engine.spec import RunSpec
from admmbench.jobs.checkpoint import Checkpoint
from admmbench.jobs.simulate import run
from tests.conftest import make_dataset

METHODS = [(name, variant) for name in list_algorithms() for variant in resolve(name).variants]
every_method = pytest.mark.parametrize(("name", "variant"), METHODS)
# Options that change the course of a method deserve the same checks.
OPTIONS = {
    "objp": {"local_updates": 3},
    "iadmm": {"subproblem": "trust_region"},
    "vertical_sgd": {"batch_size": 20},
}


DRAW_BESIDES_NOISE = {"vertical_sgd"}


# What the softmax problem does not suit.
PROBLEMS = {"dvp": "logistic"}


def on_rows(name):
    return "rows" in resolve(name).shares


row_method = pytest.mark.parametrize(
    ("name", "variant"), [method for method in METHODS if on_rows(method[0])]
)


def settings(name, variant):
    shared_out = {"agents": 4, "problem": PROBLEMS.get(name, "softmax")}
    if not on_rows(name):
        shared_out = {"agents": {"scheme": "columns", "blocks": [3, 4]}, "problem": "vertical"}
    n_classes = 3 if shared_out["problem"] == "softmax" else 2
    return {
        "dataset": make_dataset(n_train=61, n_classes=n_classes),  # not a multiple of the agents
        "algorithm": name,
        "variant": variant,
        "params": OPTIONS.get(name, {}),
        **shared_out,
        "epsilon": 0.5,
        "rounds": 9,
        "evaluate_every": 4,
        "seeds": [0, 1, 2],
    }


def trace(name, variant, **changes):
    return simulate(**{**settings(name, variant), **changes}).drop_vars("seconds")


@every_method
def test_trace_has_its_dims_units_and_provenance(name, variant):
    result = trace(name, variant)
    assert dict(result.sizes) == {"seed": 3, "round": 3}
    assert list(result["round"].values) == [4, 8, 9]
    for variable in result.data_vars.values():
        assert variable.attrs["long_name"]
        assert "units" in variable.attrs or "flag_values" in variable.attrs
    for key in ("fingerprint", "versions", "params", "data_checksums", "machine"):
        assert key in result.attrs
    assert np.isfinite(result.test_error).all()
    assert ((result.test_error >= 0) & (result.test_error <= 1)).all()


@every_method
def test_going_on_from_a_checkpoint_does_not_change_a_bit(name, variant, tmp_path):
    spec = RunSpec(**settings(name, variant))
    keeper = Checkpoint(tmp_path / "state", {}, interval=0)

    def stop(done, total):
        if done == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(spec, spec.dataset, threads=2, progress=stop, checkpoint=keeper)
    rounds = []
    resumed = run(spec, spec.dataset, progress=lambda t, _: rounds.append(t), checkpoint=keeper)
    assert rounds[0] == 6  # what was not saved is done again
    xr.testing.assert_identical(resumed.drop_vars("seconds"), trace(name, variant))


@every_method
@pytest.mark.parametrize("threads", [2, 3])
def test_threads_do_not_change_a_bit(name, variant, threads):
    xr.testing.assert_identical(trace(name, variant), trace(name, variant, threads=threads))


@every_method
def test_repetition_does_not_change_a_bit(name, variant):
    xr.testing.assert_identical(trace(name, variant), trace(name, variant))


@every_method
def test_more_rounds_go_on_where_fewer_ended(name, variant):
    short, long = trace(name, variant, rounds=8), trace(name, variant, rounds=12)
    for key in short.data_vars:
        if key != "status":
            np.testing.assert_array_equal(short[key], long[key].sel(round=[4, 8]))


@every_method
def test_another_block_of_seeds_agrees_within_rounding(name, variant):
    block, single = trace(name, variant), trace(name, variant, seeds=[1])
    for key in ("test_loss", "train_loss", "noise_magnitude", "consensus_violation"):
        np.testing.assert_allclose(block[key].sel(seed=1), single[key].sel(seed=1), rtol=1e-4)


@every_method
def test_double_precision_agrees_within_rounding(name, variant):
    single, double = trace(name, variant), trace(name, variant, dtype="float64")
    for key in ("test_loss", "train_loss", "noise_magnitude", "consensus_violation"):
        np.testing.assert_allclose(single[key], double[key], rtol=2e-3, atol=1e-5)


@every_method
def test_seeds_differ_where_there_is_noise(name, variant):
    result = trace(name, variant)
    if result.noise_magnitude.any() or name in DRAW_BESIDES_NOISE:
        assert len(np.unique(result.train_loss.isel(round=-1))) == 3
    else:
        assert len(np.unique(result.train_loss.isel(round=-1))) == 1


@every_method
def test_what_is_noisy_is_accounted_for(name, variant):
    result = trace(name, variant)
    noisy = bool(result.noise_magnitude.any())
    # What is sent without noise has no finite budget, whatever the one that was asked for.
    assert noisy == bool(np.isfinite(result.epsilon_total).all())
    if noisy:
        assert (result.epsilon_total.diff("round") > 0).all()
        assert result.epsilon_total.attrs["delta"] == 1e-6


@every_method
def test_without_a_budget_nothing_is_noisy(name, variant):
    result = trace(name, variant, epsilon=math.inf)
    assert not result.noise_magnitude.any()
    assert np.isinf(result.epsilon_total).all()


@every_method
@pytest.mark.parametrize("sensitivity", ["local", "global"])
def test_both_sensitivities_run(name, variant, sensitivity):
    result = trace(name, variant, sensitivity=sensitivity)
    assert np.isfinite(result.train_loss).all()


@every_method
def test_global_sensitivity_adds_at_least_as_much_noise(name, variant):
    # A step size of theirs shrinks as the bound grows, and the noise with it.
    params = {"a": 1e9} if issubclass(resolve(name), Linearized) else OPTIONS.get(name, {})
    local, worst = (
        trace(name, variant, sensitivity=kind, rounds=1, evaluate_every=1, params=params)
        for kind in ("local", "global")
    )
    assert (worst.noise_magnitude >= local.noise_magnitude * (1 - 1e-6)).all()


@every_method
def test_learns_without_noise(name, variant):
    params = {"rho": 0.1} if issubclass(resolve(name), base.ADMM) else {}
    result = trace(name, variant, epsilon=math.inf, rounds=400, evaluate_every=10, params=params)
    loss = result.train_loss.isel(seed=0)
    given = settings(name, variant)
    # The logistic objective is a sum over agents, the others are means.
    parts = given["agents"] if given["problem"] == "logistic" else 1
    assert loss[-1] <= loss[0] < parts * np.log(given["dataset"].n_classes)


@row_method
def test_seeded_shares_are_a_partition_of_their_own(name, variant):
    shuffled = {"scheme": "iid", "agents": 4, "shuffle": True}
    block = trace(name, variant, agents=shuffled)
    single = trace(name, variant, agents=shuffled, seeds=[2])
    np.testing.assert_allclose(
        block.train_loss.sel(seed=2), single.train_loss.sel(seed=2), rtol=1e-4
    )


@row_method
def test_writers_as_agents(name, variant):
    result = trace(
        name,
        variant,
        dataset=make_dataset(60, n_classes=2, groups=5),
        agents={"scheme": "by_writer"},
    )
    assert result.attrs["agents"] == 5


@every_method
def test_divergence_is_recorded(name, variant, monkeypatch):
    """One seed is lost, the others go on as if nothing had happened."""
    from admmbench.privacy import Noise

    healthy = trace(name, variant)
    if not healthy.noise_magnitude.any():
        pytest.skip("adds no noise to break")
    draw = Noise._draw

    def broken(self, fill, scale):
        xi = draw(self, fill, scale)
        xi[:, 1] = np.nan
        return xi

    monkeypatch.setattr(Noise, "_draw", broken)
    result = trace(name, variant)
    assert list(result.status.values) == [0, 1, 0]
    assert np.isnan(result.test_error.sel(seed=1)).all()
    xr.testing.assert_equal(result.sel(seed=[0, 2]), healthy.sel(seed=[0, 2]))


@every_method
def test_is_a_frozen_dataclass_that_refuses_unknown_parameters(name, variant):
    cls = resolve(name)
    assert issubclass(cls, base.Algorithm)
    assert dataclasses.is_dataclass(cls)
    method = cls(variant=variant)
    with pytest.raises(dataclasses.FrozenInstanceError):
        method.variant = "reference"
    with pytest.raises(ValueError, match="unknown parameter 'roh'"):
        trace(name, variant, params={"roh": 1})
    if issubclass(cls, base.ADMM):
        with pytest.raises(ValueError, match=r"params\.rho"):
            trace(name, variant, params={"rho": -1})


@every_method
def test_knows_nothing_of_files_seeds_threads_or_other_algorithms(name, variant):
    source = inspect.getsource(inspect.getmodule(resolve(name)))
    for word in (
        "open(",
        "threading",
        "concurrent",
        "admmbench.engine",
        "xarray",
        "default_rng",
        "stream(",
    ):
        assert word not in source
    others = set(list_algorithms()) - {name}
    assert not any(f"algorithms.{other} " in source for other in others)
