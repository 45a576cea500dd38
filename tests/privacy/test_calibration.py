"""Noise solved for a total, against dp-accounting's own calibration and closed forms."""

import math

import dp_accounting as dp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from admmbench.privacy import (
    Gaussian,
    Laplace,
    Ledger,
    Privacy,
    Pure,
    Release,
    Replaced,
    calibrate,
    gaussian_multiplier,
)
from tests.privacy.ledgers import ledger_of

DELTA = 1e-5


def spending(release, count, relation="zero_out", *terms):
    """What so many releases enter in a ledger, for a budget."""

    def spend(epsilon):
        return ledger_of((release.cost(Privacy(epsilon, DELTA, relation=relation), *terms), count))

    return spend


RELEASES = {
    "laplace": Release("laplace", "gradient"),
    "gaussian": Release("gaussian", "solution", scaled_for="replace"),
    "spherical": Release("spherical", "dual variable", scaled_for="replace"),
}


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(list(RELEASES)),
    st.integers(1, 200_000),
    st.floats(1e-3, 60),
    st.sampled_from(["zero_out", "replace"]),
    st.integers(1, 2000),
)
def test_the_total_is_met_from_below(law, count, total, relation, entries):
    spend = spending(RELEASES[law], count, relation, entries**-0.5, 1 / entries)
    found = spend(calibrate(spend, total, DELTA)).epsilon(DELTA)
    assert 0.99 * total <= found <= total


@pytest.mark.slow
@settings(max_examples=12, deadline=None)
@given(
    st.floats(0.005, 0.95),
    st.integers(1, 20_000),
    st.floats(0.05, 20),
    st.sampled_from(["zero_out", "replace"]),
)
def test_the_total_of_samples_is_met_from_below(sampling, count, total, relation):
    spend = spending(RELEASES["gaussian"], count, relation, 1.0, 1.0, sampling)
    found = spend(calibrate(spend, total, DELTA)).epsilon(DELTA)
    assert 0.99 * total <= found <= total


@pytest.mark.parametrize("scaled_for", ["zero_out", "replace"])
def test_normal_noise_alone_takes_credit_for_samples(scaled_for):
    multiplier = gaussian_multiplier(0.3, DELTA)
    costs = {
        relation: [
            Release(law, "gradient", scaled_for).cost(
                Privacy(0.3, DELTA, relation=relation), sampling=0.05
            )
            for law in ("gaussian", "laplace")
        ]
        for relation in ("zero_out", "replace")
    }
    times = 2 if scaled_for == "replace" else 1
    assert costs["zero_out"][0] == Gaussian(times * multiplier, 0.05)
    assert costs["replace"][0] == Replaced(times * multiplier / 2, 0.05)
    assert costs[scaled_for][1] == Laplace(0.3, 0.3, 0.3)


@pytest.mark.parametrize("count", [1, 100, 20_000])
@pytest.mark.parametrize("total", [0.5, 8.0])
def test_gaussian_noise_is_the_exact_one(count, total):
    """So many releases are one with a multiplier that is smaller by the root of their number."""
    multiplier = math.sqrt(count) * dp.get_sigma_gaussian(total, DELTA)
    epsilon = calibrate(spending(RELEASES["gaussian"], count, "replace"), total, DELTA)
    assert gaussian_multiplier(epsilon, DELTA) == pytest.approx(multiplier, rel=0.01)


def test_a_single_pure_release_has_the_total_for_its_budget():
    epsilon = calibrate(spending(RELEASES["laplace"], 1), 1e-3, DELTA)
    assert epsilon == pytest.approx(1e-3, rel=0.02)


def test_an_infinite_total_is_an_infinite_budget():
    assert calibrate(spending(RELEASES["laplace"], 1), math.inf, DELTA) == math.inf


def test_what_costs_nothing_has_no_budget():
    with pytest.raises(ValueError, match=r"privacy\.total: no noise gives a total of 1"):
        calibrate(lambda epsilon: Ledger(), 1.0, DELTA)


@pytest.mark.parametrize("law", list(RELEASES))
def test_a_replaced_record_counts_twice(law):
    """One contribution leaves and another comes: a release that is scaled for one of them has twice its budget."""
    release = RELEASES[law]
    costs = [
        release.cost(Privacy(0.3, DELTA, relation=r), 0.5, 0.25) for r in ("zero_out", "replace")
    ]
    one, two = (np.array(cost.shift) for cost in costs)
    np.testing.assert_allclose(two, 2 * one)
    # With the relation that it is scaled for, a release has the stated budget.
    stated = release.cost(Privacy(0.3, DELTA, relation=release.scaled_for))
    assert (
        stated
        == {
            "laplace": Laplace(0.3, 0.3, 0.3),
            "gaussian": Gaussian(gaussian_multiplier(0.3, DELTA)),
            "spherical": Pure(0.3),
        }[law]
    )


def test_neighbours_of_its_own_know_no_relation():
    release = Release("gaussian", "predictions", own_neighbours="column")
    both = [release.cost(Privacy(0.3, relation=r)) for r in ("zero_out", "replace")]
    assert both[0] == both[1]
    assert release.neighbours("zero_out", "agent") == ("replace", "column")


def test_neighbours_of_its_own_have_one_word():
    with pytest.raises(ValueError, match=r"own_neighbours: .* got 'one column is another'; write"):
        Release("gaussian", "predictions", own_neighbours="one column is another")


def test_a_law_that_a_release_has_not_is_refused():
    release = Release("laplace", "gradient", or_law="gaussian")
    assert release.under("published") is release.under("laplace") is release
    assert release.under("gaussian").law == "gaussian"
    with pytest.raises(ValueError, match="has gaussian noise, not laplace"):
        RELEASES["gaussian"].under("laplace")
    with pytest.raises(ValueError, match="has laplace or gaussian noise, not spherical"):
        release.under("spherical")


def test_gaussian_noise_alone_is_not_pure():
    assert {law: release.kind.pure for law, release in RELEASES.items()} == {
        "laplace": True,
        "gaussian": False,
        "spherical": True,
    }


def test_noise_for_samples_is_that_of_a_search_by_dp_accounting():
    spend = spending(RELEASES["gaussian"], 500, "zero_out", 1.0, 1.0, 0.05)
    multiplier = dp.calibrate_dp_mechanism(
        lambda: dp.pld.PLDAccountant(value_discretization_interval=1e-3),
        lambda m: dp.SelfComposedDpEvent(
            dp.PoissonSampledDpEvent(0.05, dp.GaussianDpEvent(m)), 500
        ),
        target_epsilon=2.0,
        target_delta=DELTA,
        bracket_interval=dp.LowerEndpointAndGuess(0.5, 2),
    )
    # The release is scaled for a replaced record, which moves it twice as far.
    found = 2 * gaussian_multiplier(calibrate(spend, 2.0, DELTA), DELTA)
    assert found == pytest.approx(multiplier, rel=0.01)
