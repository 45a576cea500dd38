"""Mirrored runs: all noise negated, everything else as in the ordinary run of the seed."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from admmbench import simulate
from admmbench.audit.auditor import audit
from admmbench.contracts.made_up_data import make_dataset
from admmbench.engine.rounds import assemble, do_round, start
from admmbench.engine.streams import noise_key
from admmbench.engine.threads import one_by_one
from admmbench.jobs.job import _identity
from admmbench.privacy import Noise, Privacy, Release
from admmbench.sensitivity import Sensitivity
from admmbench.spec.run import RunSpec
from admmbench.study.runs import Run

DATA = make_dataset(90, n_classes=2)
RUN = {
    "dataset": DATA,
    "algorithm": "dpsgd",
    "problem": "logistic",
    "agents": 3,
    "sensitivity": "global",
    "epsilon": 1.0,
    "rounds": 4,
    "evaluate_every": 1,
    "seeds": 2,
    "dtype": "float64",
}


def noise(law, mirror, entries=200_000):
    keys = np.array([[noise_key(seed, 0) for seed in range(2)]])
    return Noise(
        keys, (entries,), Privacy(1.0, 1e-5), release=Release(law, "gradient"), mirror=mirror
    )


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
@pytest.mark.parametrize("bound", [3.0, 1e-3])
def test_a_mirror_negates_every_draw_on_its_grid_and_has_the_same_law_and_cost(law, bound):
    drawn, ledgers, magnitudes = [], [], []
    for mirror in (False, True):
        source = noise(law, mirror)
        source.begin_round(1, measure=True)
        size = np.full((1, 2), bound)
        drawn.append(np.zeros((1, 2, 200_000)) + source.draw(Sensitivity(l1=size, l2=size)))
        ledgers.append(source.ledgers[0].composition())
        magnitudes.append(source.magnitude())
    np.testing.assert_array_equal(drawn[1], -drawn[0])
    np.testing.assert_array_equal(*magnitudes)
    assert ledgers[0] == ledgers[1]
    distribution = {"laplace": stats.laplace, "gaussian": stats.norm}[law]
    for sample in drawn[1][0]:
        scale = sample.std() / distribution.std()
        assert stats.kstest(sample / scale, distribution.cdf).pvalue > 0.01
    value = np.random.default_rng(0).normal(size=(1, 2, 200_000))
    noisy = []
    for mirror in (False, True):
        source = noise(law, mirror)
        source.begin_round(1)
        noisy.append(value + source.draw(Sensitivity(l1=size, l2=size)))
    # Values are rounded to the grid alike, so that their noise cancels up to this rounding.
    largest = bound / 1024
    assert abs((noisy[0] + noisy[1]) / 2 - value).max() <= largest


def test_a_fine_grid_gives_a_mirror_the_further_bits_of_its_draw():
    """On a fine grid each entry has more bits than elsewhere, whatever the sign of its noise."""
    from admmbench.privacy.noise import finest

    one = np.ones((1, 2))
    found = [
        noise("gaussian", mirror)._draw(1, one, finest(one)).added_to(np.zeros((1, 2, 200_000)))
        for mirror in (False, True)
    ]
    np.testing.assert_array_equal(found[1], -found[0])


def test_compiled_local_updates_negate_their_noise():
    """Local models of ObjP after its first update are affine in their noise."""
    drawn = {}
    for name, loudness in {"no": 0.0, "run": 1.0, "mirror": 1.0}.items():
        spec = RunSpec(**{**RUN, "algorithm": "objp", "mirror": name == "mirror"})
        federation = assemble(spec, DATA, one_by_one)
        state = start(spec.method, federation)
        for block in federation.blocks:
            block.noise.louder = np.full(2, loudness)
            block.noise.begin_round(1)
        do_round(spec.method, 1, state, federation)
        drawn[name] = np.array(state.z)
    assert abs(drawn["run"] - drawn["mirror"]).max() > 0.01
    np.testing.assert_allclose((drawn["run"] + drawn["mirror"]) / 2, drawn["no"], atol=1e-3)


def test_a_mirrored_run_costs_what_the_run_costs_and_starts_as_it_does():
    run, mirror = (simulate(**RUN, mirror=mirror) for mirror in (False, True))
    assert "mirror" not in run.attrs
    assert mirror.attrs["mirror"] == 1
    for name in ("epsilon_total", "epsilon_composed"):
        xr.testing.assert_equal(run[name], mirror[name])
    xr.testing.assert_equal(run["train_loss"].sel(round=0), mirror["train_loss"].sel(round=0))
    xr.testing.assert_equal(
        run["noise_magnitude"].sel(round=1), mirror["noise_magnitude"].sel(round=1)
    )
    assert (run["train_loss"].sel(round=4) != mirror["train_loss"].sel(round=4)).all()


def test_a_mirror_has_an_address_and_checkpoints_of_its_own():
    runs = [Run("", RunSpec(**RUN, mirror=mirror)) for mirror in (False, True)]
    assert runs[0].folder != runs[1].folder
    assert runs[0].partitions == runs[1].partitions
    assert "mirror" not in runs[0].spec.complete()
    assert not any(
        text.startswith("mirror")
        for text in RunSpec(**{**RUN, "dataset": "digits", "problem": None}).arguments()
    )
    identities = [_identity(run.spec, DATA, "cpu") for run in runs]
    assert {key for key in identities[1] if identities[0].get(key) != identities[1][key]} == {
        "mirror"
    }


def test_an_audit_refuses_a_mirror():
    with pytest.raises(
        ValueError, match="mirror: an audit compares runs whose noise is independent"
    ):
        audit(RunSpec(**RUN, mirror=True), DATA)
