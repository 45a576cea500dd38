"""Noise: distribution, scale, independence."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from admmbench.engine.streams import noise_key
from admmbench.privacy import Gaussian, Noise, Privacy, Pure, Release, gaussian_multiplier
from admmbench.privacy import on_grid as chosen_grid
from admmbench.sensitivity import Sensitivity
from tests.noise import on_grid, standard

ONES = np.ones((1, 2))
BOTH = Sensitivity(ONES, ONES)


def source(privacy, seeds=2, shape=(40, 50), dtype=np.float32):
    return Noise(np.array([[noise_key(seed, 0) for seed in range(seeds)]]), shape, privacy, dtype)


def drawn(noise, dtype=np.float64):
    """What is added to zeros."""
    return np.zeros(noise.shape, dtype) + noise


@settings(max_examples=20)
@given(epsilon=st.floats(0.01, 10), sensitivity=st.floats(1e-6, 1e3))
def test_laplace_scale_is_sensitivity_over_epsilon(epsilon, sensitivity):
    bound = np.array([[sensitivity, 2 * sensitivity]])
    # The bound in l2 is another number, and plays no part.
    xi = drawn(source(Privacy(epsilon)).laplace(Sensitivity(l1=bound, l2=7 * bound)))
    scale = np.abs(xi[0]).mean(axis=(1, 2)) * epsilon / sensitivity
    np.testing.assert_allclose(scale, [1, 2], rtol=0.1)


def test_gaussian_is_the_classical_calibration():
    privacy = Privacy(0.5, 1e-5)
    noise = source(privacy, shape=(200, 300))
    xi = drawn(noise.gaussian(Sensitivity(l1=7 * ONES, l2=3 * ONES)))
    expected = 3 * math.sqrt(2 * math.log(1.25 / 1e-5)) / 0.5
    assert xi.std() == pytest.approx(expected, rel=0.01)
    assert gaussian_multiplier(0.5, 1e-5) == pytest.approx(expected / 3)
    # the classical calibration is an upper bound of what dp-accounting finds
    assert noise.ledgers[0].epsilon(1e-5) <= 0.5


def test_parts_of_a_secure_sum_add_up_to_one_release_on_one_grid():
    """No order of the agents changes a bit of the sum, so that its bits do not tell the terms."""
    held = np.array([1.0, 0, 1, 1, 0])[:, None]
    keys = np.array([[noise_key(seed, p) for seed in range(2)] for p in range(5)])
    noise = Noise(keys, (100, 200), Privacy(0.5, 1e-5, summed=3))
    noise.begin_round(1, measure=True)
    weights = np.array([[0.1], [0], [0.3], [0.6], [0]])
    draw = noise.part(Sensitivity(l2=3 * held * np.ones((5, 2))), weights)
    values = np.random.default_rng(0).random((5, 2, 100, 200)) * held[..., None, None]
    messages = values + draw
    np.testing.assert_array_equal(messages.sum(0), messages[::-1].sum(0))
    np.testing.assert_array_equal(messages[:2].sum(0) + messages[2:].sum(0), messages.sum(0))
    steps = (draw.drawn.scale / draw.drawn.grid)[held[:, 0] > 0]
    assert len(np.unique(steps)) == 1
    assert steps.min() > 1000
    multiplier = gaussian_multiplier(0.5, 1e-5)
    assert (messages - values).sum(0).std() == pytest.approx(3 * multiplier, rel=0.01)
    assert noise.ledgers[0].composition().gaussian == pytest.approx(multiplier**-2)
    expected = 3 * multiplier / math.sqrt(3) * math.sqrt(2 / math.pi) / np.array([0.1, 0.3, 0.6])
    found = noise.magnitude()
    np.testing.assert_allclose(found[held[:, 0] > 0].mean(axis=1), expected, rtol=0.02)
    assert (found[held[:, 0] == 0] == 0).all()
    with pytest.raises(ValueError, match=r"use self\.noisy_mean.* not noise\.gaussian"):
        noise.gaussian(BOTH)
    with pytest.raises(ValueError, match=r"use self\.noisy_mean.* not noise\.shared"):
        noise.shared(3)


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


ROWS = np.array([[0, 2], [1, 0]])
"""Two records of three, for each seed."""
WAYS = {
    "draw": lambda noise: noise.draw(BOTH),
    "laplace": lambda noise: noise.laplace(BOTH),
    "gaussian": lambda noise: noise.gaussian(BOTH),
    "part": lambda noise: noise.part(BOTH, ONES),
    "spherical": lambda noise: noise.spherical(ONES),
    "enter": lambda noise: noise.enter(Pure(0.1)).draw(ONES, ONES),
    "shared": lambda noise: noise.shared(3).share(BOTH, 0.4, ROWS, (2,)),
    "unentered": lambda noise: noise.unentered(ONES, ONES),
}


def test_nothing_is_drawn_outside_the_ledger():
    """Whatever a source offers enters a release, or refuses."""
    names = {"begin_round", "magnitude"}  # of a run, and no noise
    offered = {name for name in vars(Noise) if not name.startswith("_") and name not in names}
    assert {name for name in offered if callable(getattr(Noise, name))} - {"louder"} == set(WAYS)
    for name, draw in WAYS.items():
        summed = 1 if name == "part" else 0
        release = Release("laplace", "objective")
        noise = Noise(
            np.zeros((1, 2, 2), np.uint32), (3,), Privacy(1.0, summed=summed), None, release
        )
        noise.begin_round(1)
        if name == "unentered":
            noise.gaussian(BOTH)  # pays for its own draw alone
            noise.begin_round(1)
            with pytest.raises(
                ValueError, match=r"now .* enter returns: noise.enter\(cost\).draw\("
            ):
                draw(noise)
            noise.enter(Pure(0.1))
            with pytest.warns(FutureWarning, match=r"is now a draw of what enter returns"):
                draw(noise)
        else:
            draw(noise)
        assert noise.entered == 1
        assert noise.ledgers[0]


def test_an_entry_pays_for_its_round_and_once_for_each_record():
    noise = source(Privacy(1.0))
    release, others = noise.shared(3), np.array([[1], [2]])
    for rows, share in ((ROWS, 0.3), (others, 1.0), (ROWS, 0.7)):
        release.share(BOTH, share, rows, (2,))
    with pytest.raises(ValueError, match=r"shares of a record add up to 1\.1, and its entry"):
        release.share(BOTH, 0.1, others, (2,))
    assert noise.entered == 1
    first, second = noise.shared(3), noise.shared(3)
    draws = first.share(BOTH, 0.25, ROWS, (9, 2)), second.share(BOTH, 1.0, ROWS, (9, 2))
    assert np.allclose(draws[0].drawn.scale, 2 * draws[1].drawn.scale)
    assert noise.ledgers[0].composition().gaussian == pytest.approx(
        3 * gaussian_multiplier(1.0, 1e-6) ** -2
    )
    noise.shared(3).share(BOTH, 1.0, np.zeros((2, 0), int), (2,))  # of no records
    with pytest.raises(ValueError, match=r"privacy\.unit: agent: noise\.shared counts shares"):
        source(Privacy(1.0, unit="agent")).shared(3)
    noise.begin_round(1)
    with pytest.raises(
        ValueError, match="of a release of round 0 is drawn in round 1, in which no"
    ):
        second.share(BOTH, 0.1, ROWS, (2,))


def test_a_draw_is_added_to_a_value_alone():
    value = np.ones((1, 2, 40, 50))
    first, second = (source(Privacy(1.0)).laplace(BOTH) for _ in range(2))
    expected = value + first
    second += value
    np.testing.assert_array_equal(second, expected)
    assert first != 0
    assert {first}
    with pytest.raises(TypeError, match=r"drawn where it is added: value \+ noise"):
        first + first


def test_the_smallest_multiplier_of_the_seeds_is_recorded():
    """A ledger is that of an agent, for all seeds: none may have had less noise than it says."""
    noise = source(Privacy(1.0))
    xi = drawn(noise.gaussian(Sensitivity(l2=2 * ONES), std=np.array([[0.5, 3.0]])))
    np.testing.assert_allclose(xi[0].std(axis=(1, 2)), [0.5, 3.0], rtol=0.05)
    _, bound = on_grid(2.0, math.sqrt(2000))
    assert noise.ledgers[0].composition() == ((Gaussian(1.0), pytest.approx((bound / 0.5) ** 2)),)


def test_what_no_record_moves_has_no_sensitivity_on_any_grid():
    """Some seeds may have nothing to protect; their grid is a number all the same."""
    grid, bound = chosen_grid(np.array([0.0, 2.0]), apart=3.0)
    assert bound[0] == 0
    assert (grid > 0).all()
    assert (grid[1], bound[1]) == on_grid(2.0, 3.0)


@pytest.mark.parametrize("bound", [1e-300, 1e-306, 1e-310, 5e-324])
def test_a_small_sensitivity_has_a_grid_of_normal_numbers(bound):
    """The inverse of a subnormal number is infinite, and no noise would be a number."""
    grid, raised = chosen_grid(bound * ONES, apart=3.0)
    assert np.isfinite(1 / grid).all()
    assert (raised >= bound + 3 * grid).all()
    noise = source(Privacy(1.0)).gaussian(Sensitivity(l2=bound * ONES))
    assert np.isfinite(drawn(noise)).all()


def test_no_noise_at_infinite_epsilon():
    noise = source(Privacy())
    assert noise.laplace(BOTH) == 0
    assert noise.gaussian(BOTH) == 0
    assert noise.ledgers[0].epsilon(1e-6) == 0


def test_precisions_see_the_same_noise():
    single, double = (
        drawn(source(Privacy(1.0)).laplace(BOTH), dtype) for dtype in ("float32", "float64")
    )
    np.testing.assert_array_equal(single, double.astype(np.float32))


@settings(max_examples=50)
@given(
    bound=st.floats(1e-9, 1e9),
    law=st.sampled_from(["laplace", "gaussian"]),
    shape=st.sampled_from([(1,), (3, 7), (62, 784)]),
    values=st.integers(0, 10**6),
)
def test_rounding_moves_neighbours_apart_by_what_the_sensitivity_is_raised_by(
    bound, law, shape, values
):
    noise = getattr(source(Privacy(1.0), 2, shape), law)
    draw = noise(Sensitivity(bound * ONES, bound * ONES)).drawn
    (grid,), order = set(draw.grid.ravel()), {"laplace": 1, "gaussian": 2}[law]
    assert math.log2(grid) == round(math.log2(grid))
    scale = draw.scale[0, 0] / (1 if law == "laplace" else gaussian_multiplier(1.0, 1e-6))
    assert bound < scale <= bound * (1 + 2**-10)
    rng = np.random.default_rng(values)
    one = rng.normal(scale=bound, size=shape)
    other = one + rng.normal(size=shape)
    other = one + (other - one) * bound / np.linalg.norm((other - one).ravel(), order)
    rounded = grid * np.round(one / grid) - grid * np.round(other / grid)
    assert np.linalg.norm(rounded.ravel(), order) <= scale
    # As far apart as two values can be that are rounded away from each other.
    edge = np.full(shape, grid * (1 - 1e-9))
    assert bound + np.linalg.norm(edge.ravel(), order) <= scale * (1 + 1e-12)


def test_each_release_is_drawn_anew_and_a_round_can_be_drawn_again():
    noise = source(Privacy(1.0))
    seen = []
    for t in (0, 1, 2):
        noise.begin_round(t)
        seen += [drawn(noise.laplace(BOTH)), drawn(noise.laplace(BOTH))]
    assert len({each.tobytes() for each in seen}) == 6
    noise.begin_round(1)
    np.testing.assert_array_equal(drawn(noise.laplace(BOTH)), seen[2])
    np.testing.assert_array_equal(
        np.sign(seen[2][0, 1].ravel()), np.sign(standard("laplace", 2000, noise_key(1, 0), t=1))
    )


def test_magnitude_is_the_mean_over_draws_of_a_round():
    noise = source(Privacy(1.0))
    noise.begin_round(1, measure=True)
    first, second = drawn(noise.laplace(BOTH)), drawn(noise.laplace(BOTH))
    expected = (np.abs(first) + np.abs(second)).mean(axis=(2, 3)) / 2
    np.testing.assert_allclose(noise.magnitude(), expected, rtol=1e-6)
    noise.begin_round(2)
    drawn(noise.laplace(BOTH))
    assert not noise.magnitude().any()


def test_noise_is_added_in_place_too():
    value = np.arange(4000.0).reshape(1, 2, 40, 50)
    wanted, kept = value + source(Privacy(1.0)).laplace(BOTH), value
    value += source(Privacy(1.0)).laplace(BOTH)
    assert value is kept
    np.testing.assert_array_equal(value, wanted)


@pytest.mark.parametrize(
    "misuse",
    [
        lambda d: 0.5 * d,
        lambda d: d * 0.5,
        lambda d: 1 - d,
        lambda d: d - 1,
        lambda d: -d,
        lambda d: d / 2,
        lambda d: np.ones(d.shape) * d,
        lambda d: np.ones(d.shape) - d,
    ],
)
def test_noise_that_is_not_added_is_refused(misuse):
    with pytest.raises(TypeError, match="noise is drawn where it is added"):
        misuse(source(Privacy(1.0)).laplace(BOTH))


def test_a_sensitivity_without_agents_and_seeds_is_refused():
    noise = Noise(np.zeros((4, 1, 2), np.uint32), (3,), Privacy(1.0))
    with pytest.raises(TypeError, match=r"shape \(B, S\); got shape \(\)"):
        noise.gaussian(Sensitivity(l2=0.02))


def test_noise_of_another_shape_is_refused():
    with pytest.raises(
        ValueError, match=r"noise of shape \(1, 2, 40, 50\) is added to \(2, 40, 50\)"
    ):
        np.zeros((2, 40, 50)) + source(Privacy(1.0)).laplace(BOTH)


def test_spherical_noise_has_a_gamma_norm_and_any_direction():
    d, n = 5, 20_000
    noise = source(Privacy(1.0), n, (d,))
    xi = noise.spherical(np.full((1, n), 0.7))[0].astype(np.float64)
    norms = np.linalg.norm(xi, axis=1)
    # density proportional to exp(-||xi|| / scale): the norm is Gamma(d, scale)
    assert stats.kstest(norms, "gamma", args=(d, 0, 0.7)).pvalue > 0.01
    directions = xi / norms[:, None]
    # A coordinate of a uniform direction: (1 + u) / 2 ~ Beta((d - 1) / 2, (d - 1) / 2).
    for coordinate in directions.T:
        law = stats.kstest((1 + coordinate) / 2, "beta", args=((d - 1) / 2, (d - 1) / 2))
        assert law.pvalue > 0.01
    assert abs(np.corrcoef(norms, directions[:, 0])[0, 1]) < 4 / math.sqrt(n)


def test_spherical_noise_has_no_lattice():
    """Its norm is a sum of sizes; on a coarse grid it is a multiple of a step, for whoever knows the scale."""
    xi = source(Privacy(1.0), 400, (6,), np.float64).spherical(np.ones((1, 400)))[0]
    for step in (2.0**-20, 2.0**-30, 2.0**-36):
        assert abs(np.cos(2 * np.pi * np.linalg.norm(xi, axis=1) / step).mean()) < 0.25


def test_spherical_noise_is_measured_and_recorded_as_pure():
    noise = source(Privacy(0.5))
    noise.begin_round(3, measure=True)
    xi = noise.spherical(3 * ONES)
    assert np.linalg.norm(xi[0, 0]) == pytest.approx(3 * 2000, rel=0.2)
    np.testing.assert_allclose(noise.magnitude(), np.abs(xi).mean(axis=(2, 3)), rtol=1e-6)
    assert noise.ledgers[0].composition() == ((Pure(0.5), 1),)
    assert source(Privacy()).spherical(ONES) == 0
