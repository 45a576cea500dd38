"""Noise: distribution, scale, independence."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from admmbench.checks.made import make_dataset
from admmbench.engine.streams import stream
from admmbench.partition import Split
from admmbench.privacy import Noise, Privacy, gaussian_multiplier
from admmbench.privacy.mechanisms import (
    _signed_logarithms,
    fill_gaussian,
    fill_laplace,
    fill_spherical,
)
from admmbench.problems import as_problem
from admmbench.sensitivity import Sensitivity

# Fixed seeds: a distribution test either holds for the code or does not.
N = 400_000


def drawn(fill, n=N, seed=0):
    out = np.empty((1, n), np.float32)
    fill([np.random.Generator(np.random.SFC64(seed))], np.ones(1, np.float32), out)
    return out[0]


@pytest.mark.parametrize(("fill", "law"), [(fill_laplace, "laplace"), (fill_gaussian, "norm")])
def test_samplers_follow_their_law(fill, law):
    sample = drawn(fill)
    assert stats.kstest(sample.astype(np.float64), law).pvalue > 0.01
    variance = {"laplace": 2, "norm": 1}[law]
    assert sample.mean() == pytest.approx(0, abs=4 * math.sqrt(variance / N))
    assert sample.var() == pytest.approx(variance, rel=0.02)


def test_laplace_tails_and_signs():
    sample = drawn(fill_laplace)
    for level in (3.0, 6.0, 9.0):
        expected = math.exp(-level)
        assert (np.abs(sample) > level).mean() == pytest.approx(
            expected, abs=4 * math.sqrt(expected / N)
        )
    positive = sample > 0
    assert positive.mean() == pytest.approx(0.5, abs=4 / math.sqrt(4 * N))
    # sign and magnitude come from different bits of one word
    assert np.corrcoef(positive, np.abs(sample))[0, 1] == pytest.approx(0, abs=4 / math.sqrt(N))
    assert np.corrcoef(sample[:-1], sample[1:])[0, 1] == pytest.approx(0, abs=4 / math.sqrt(N))


@settings(max_examples=25)
@given(n=st.integers(1, 200), seed=st.integers(0, 10**6))
def test_samplers_fill_every_entry_with_finite_numbers(n, seed):
    for fill in (fill_laplace, fill_gaussian):
        out = np.full((2, n), np.nan, np.float32)
        streams = [np.random.Generator(np.random.SFC64(seed + k)) for k in range(2)]
        fill(streams, np.ones(2, np.float32), out)
        assert np.isfinite(out).all()


@settings(max_examples=50)
@given(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=50))
def test_signed_logarithms_are_the_logarithms(words):
    bits = np.array([words], np.uint32)
    out = np.empty(bits.shape, np.float32)
    _signed_logarithms(bits.view(np.int32), np.ones(1, np.float32), out)
    u = ((bits >> 1) + 1.0) * 2.0**-31
    expected = np.log(u) * np.where(bits & 1, 1, -1)
    np.testing.assert_allclose(out, expected, rtol=3e-7, atol=1e-7)


ONES = np.ones((1, 2))
BOTH = Sensitivity(ONES, ONES)


def source(privacy, seeds=2, shape=(40, 50), dtype=np.float32):
    return Noise([[stream(seed, 0, "noise") for seed in range(seeds)]], shape, privacy, dtype)


@settings(max_examples=20)
@given(epsilon=st.floats(0.01, 10), sensitivity=st.floats(1e-6, 1e3))
def test_laplace_scale_is_sensitivity_over_epsilon(epsilon, sensitivity):
    bound = np.array([[sensitivity, 2 * sensitivity]])
    # The bound in l2 is another number, and plays no part.
    xi = source(Privacy(epsilon)).laplace(Sensitivity(l1=bound, l2=7 * bound))
    scale = np.abs(xi[0]).mean(axis=(1, 2)) * epsilon / sensitivity
    np.testing.assert_allclose(scale, [1, 2], rtol=0.1)


def test_gaussian_is_the_classical_calibration():
    privacy = Privacy(0.5, 1e-5)
    noise = source(privacy, shape=(200, 300))
    xi = noise.gaussian(Sensitivity(l1=7 * ONES, l2=3 * ONES))
    expected = 3 * math.sqrt(2 * math.log(1.25 / 1e-5)) / 0.5
    assert xi.std() == pytest.approx(expected, rel=0.01)
    assert gaussian_multiplier(0.5, 1e-5) == pytest.approx(expected / 3)
    # the classical calibration is an upper bound of what dp-accounting finds
    assert noise.ledgers[0].epsilon(1e-5) <= 0.5


@pytest.mark.parametrize("privacy", [Privacy(0.7, 1e-5), Privacy()], ids=["private", "no noise"])
@pytest.mark.parametrize(
    ("law", "norm", "wrong"),
    [
        ("laplace", "l1", Sensitivity(l2=ONES)),
        ("laplace", "l1", Sensitivity()),
        ("laplace", "l1", ONES),
        ("laplace", "l1", 1.0),
        ("gaussian", "l2", Sensitivity(l1=ONES)),
        ("gaussian", "l2", Sensitivity()),
        ("gaussian", "l2", ONES),
        ("gaussian", "l2", None),
    ],
)
def test_a_bound_in_the_wrong_norm_or_in_none_is_refused(privacy, law, norm, wrong):
    """Whatever the budget, so that a method cannot work until it is private."""
    noise = source(privacy)
    with pytest.raises(
        TypeError, match=rf"from the {norm} sensitivity.*Sensitivity\({norm}="
    ) as at:
        getattr(noise, law)(wrong)
    assert type(wrong).__name__ in str(at.value)
    assert law in str(at.value).lower()
    assert not noise.ledgers[0]


def gradient(dataset):
    """What a method gets from the parts of one agent."""
    split = Split(dataset, [[(slice(0, 2), slice(0, dataset.n_train))]])
    whole = as_problem("softmax", "rows").bind(split, 2)
    zero = np.zeros((1, 2, *whole.model_shape), np.float32)
    return whole.block(slice(0, 1)).gradient(zero, mean_over=dataset.n_train)


def test_one_norm_taken_for_the_other_is_refused():
    """``gaussian(gradient.sensitivity.l1)``: an array says not what it bounds."""
    found, noise = gradient(make_dataset()), source(Privacy(1.0))
    for bare in (found.sensitivity.l1, found.sensitivity.l2):
        with pytest.raises(TypeError, match="from the l2 sensitivity: pass what gradient"):
            noise.gaussian(bare)
        with pytest.raises(TypeError, match="from the l1 sensitivity: pass what gradient"):
            noise.laplace(bare)


@pytest.mark.parametrize("law", ["laplace", "norm"])
def test_noise_for_a_gradient_has_the_scale_of_its_own_norm(law):
    """At z = 0 one record contributes (h - y) x^T with h = 1 / K."""
    dataset = make_dataset()
    found, noise = gradient(dataset), source(Privacy(0.7, 1e-5), shape=(100, 100))
    X, K, n = dataset.X_train.astype(np.float64), dataset.n_classes, dataset.n_train
    if law == "laplace":
        xi = noise.laplace(found.sensitivity)
        scale = np.abs(X).sum(axis=1).max() * 2 * (1 - 1 / K) / n / 0.7
    else:
        xi = noise.gaussian(found.sensitivity)
        scale = np.linalg.norm(X, axis=1).max() * math.sqrt(1 - 1 / K) / n
        scale *= math.sqrt(2 * math.log(1.25 / 1e-5)) / 0.7
    assert stats.kstest(xi.ravel().astype(np.float64), law, (0, scale)).pvalue > 0.01
    other = {"laplace": "norm", "norm": "laplace"}[law]
    assert stats.kstest(xi.ravel().astype(np.float64), other, (0, scale)).pvalue < 1e-6


def test_own_standard_deviation_is_recorded_as_it_is():
    noise = source(Privacy(1.0))
    xi = noise.gaussian(Sensitivity(l2=2 * ONES), std=0.5 * ONES)
    assert xi.std() == pytest.approx(0.5, rel=0.05)
    assert noise.ledgers[0].releases() == ((), pytest.approx(16.0), ())


def test_no_noise_at_infinite_epsilon():
    noise = source(Privacy())
    assert noise.laplace(BOTH) == 0
    assert noise.gaussian(BOTH) == 0
    assert noise.ledgers[0].epsilon(1e-6) == 0


def test_precisions_see_the_same_noise():
    single, double = (
        source(Privacy(1.0), dtype=dtype).laplace(BOTH) for dtype in ("float32", "float64")
    )
    assert double.dtype == np.float64
    np.testing.assert_array_equal(single, double)


def test_magnitude_is_the_mean_over_draws():
    noise = source(Privacy(1.0))
    noise.laplace(BOTH)
    noise.record_magnitude()
    first, second = noise.laplace(BOTH), noise.laplace(BOTH)
    expected = (np.abs(first) + np.abs(second)).mean(axis=(2, 3)) / 2
    np.testing.assert_allclose(noise.magnitude(), expected, rtol=1e-6)
    assert not noise.magnitude().any()


def test_spherical_noise_has_a_gamma_norm_and_any_direction():
    d, n = 5, 20_000
    streams = [np.random.Generator(np.random.SFC64(seed)) for seed in range(n)]
    out = np.empty((n, d), np.float32)
    fill_spherical(streams, np.full(n, 0.7, np.float32), out)
    norms = np.linalg.norm(out.astype(np.float64), axis=1)
    # density proportional to exp(-||xi|| / scale): the norm is Gamma(d, scale)
    assert stats.kstest(norms, "gamma", args=(d, 0, 0.7)).pvalue > 0.01
    directions = out / norms[:, None]
    # A coordinate of a uniform direction: (1 + u) / 2 ~ Beta((d - 1) / 2, (d - 1) / 2).
    for coordinate in directions.T:
        law = stats.kstest((1 + coordinate) / 2, "beta", args=((d - 1) / 2, (d - 1) / 2))
        assert law.pvalue > 0.01
    assert abs(np.corrcoef(norms, directions[:, 0])[0, 1]) < 4 / math.sqrt(n)


def test_spherical_noise_is_recorded_as_pure():
    noise = source(Privacy(0.5))
    xi = noise.spherical(3 * ONES)
    assert np.linalg.norm(xi[0, 0]) == pytest.approx(3 * 2000, rel=0.2)
    assert noise.ledgers[0].releases().pure == ((0.5, 1),)
    assert source(Privacy()).spherical(ONES) == 0
