"""Noise from counters: the generator, the laws, their tails, and the grid."""

import decimal
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from admmbench.engine.streams import noise_key, sample_key
from admmbench.privacy import Sampler, samplers
from tests.noise import FILL, standard

KEY = np.array([11, 12], np.uint32)
# Fixed keys: a test of distribution either holds for the code or does not.
N = 400_000
WORD = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [
        ([0] * 4, [0] * 2, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ([2**32 - 1] * 4, [2**32 - 1] * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        (
            [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
            [0xA4093822, 0x299F31D0],
            "d16cfe09 94fdcceb 5001e420 24126ea1",
        ),
    ],
)
def test_published_answers_of_philox(counter, key, words):
    """Of Random123 (Salmon et al. 2011), for philox4x32 with 10 rounds."""
    found = samplers.philox(*map(np.uint64, [*counter, *key]))
    assert " ".join(f"{int(word):08x}" for word in found) == words


@settings(max_examples=30)
@given(key=st.tuples(WORD, WORD), t=WORD, release=WORD, first=st.integers(0, 2**31))
def test_a_word_comes_from_its_counter_alone(key, t, release, first):
    words = np.empty(samplers.TILE, np.uint32)
    samplers.fill_words(
        np.array(key, np.uint32), np.array([t, release]), first, samplers.TILE, words
    )
    blocks = words.reshape(4, -1)
    for i in (0, 7, len(blocks[0]) - 1):
        counter = map(np.uint64, [first + i, release, t, 0, *key])
        assert [int(word) for word in samplers.philox(*counter)] == blocks[:, i].tolist()


@pytest.mark.parametrize(
    ("law", "distribution"), [("laplace", stats.laplace), ("gaussian", stats.norm)]
)
def test_samplers_follow_their_law(law, distribution):
    sample = standard(law, N, KEY)
    assert stats.kstest(sample, distribution.cdf).pvalue > 0.01
    assert sample.mean() == pytest.approx(0, abs=4 * math.sqrt(distribution.var() / N))
    assert sample.var() == pytest.approx(distribution.var(), rel=0.02)
    # Entries, sizes and signs know nothing of each other, nor do the halves that are drawn in pairs.
    for lag in (1, samplers.TILE // 4, samplers.TILE // 2):
        for of in (np.asarray, np.abs):
            assert abs(np.corrcoef(of(sample[:-lag]), of(sample[lag:]))[0, 1]) < 4 / math.sqrt(N)
    assert abs(np.corrcoef(sample > 0, np.abs(sample))[0, 1]) < 4 / math.sqrt(N)


@settings(max_examples=200)
@given(word=WORD, rest=WORD, key=st.tuples(WORD, WORD), entry=st.integers(0, 2**20))
def test_sizes_are_logarithms_even_of_the_smallest_numbers(word, rest, key, entry):
    """A tail goes on below 2^-53: an entry whose first word is 0 has another 64 bits."""
    bits = word << 32 | rest
    assert float(samplers.log(samplers.unit(np.uint64(bits)))) == pytest.approx(
        math.log(((bits >> 12) + 0.5) / 2**52), rel=1e-14, abs=1e-16
    )
    tail = samplers.log_of_tail(np.uint64(bits >> 52 << 20), np.array(key), np.zeros(2, int), entry)
    u = bits >> 52 << 8
    assert math.log(max(u, 2**-65) / 2**52) <= tail <= math.log((u + 1) / 2**52)


@pytest.mark.parametrize("side", [-1, 1])
def test_logarithms_are_exact_where_their_series_is_longest(side):
    """To a few roundings at mantissas beside sqrt(1/2): each term of the series is needed there."""
    for x in math.sqrt(0.5) * (1 + side * np.linspace(1e-12, 1e-3, 50)):
        assert float(samplers.log(x)) == pytest.approx(math.log(x), rel=1e-15, abs=0)


@settings(max_examples=30)
@given(first=st.integers(0, 2**32), key=st.tuples(WORD, WORD), t=WORD, release=WORD, entry=WORD)
def test_further_bits_of_a_tail_come_from_a_counter_of_the_entry(first, key, t, release, entry):
    """Its last number is 1, where that of other blocks is 0."""
    a, b, *_ = map(int, samplers.philox(*map(np.uint64, [entry, release, t, 1, *key])))
    found = samplers.log_of_tail(
        np.uint64(first << 12), np.array(key), np.array([t, release]), entry
    )
    wanted = math.log(first << 65 | a << 33 | b << 1 | 1) - 117 * math.log(2)
    assert found == pytest.approx(wanted, rel=1e-14)


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_a_tile_whose_words_are_zero_has_tails_beyond_double_precision(law):
    """Where u would be 2^-53, sizes go on; found by search for a rare entry in many releases."""
    shown, n, tile = 0, samplers.TILE, 2
    drawn = n if law == "laplace" else n // 2  # a radius and an angle make two
    for t in range(10_000):
        words, out = np.empty(2 * n, np.uint32), np.empty(n)
        place = np.array([t, 0])
        FILL[law](KEY, place, tile, n, words, out)
        for j in np.flatnonzero(words[:drawn] < 2**12):
            bits = int(words[j]) << 32 | int(words[j + n])
            coarse = -math.log(((bits >> 12) + 0.5) / 2**52)
            size = math.hypot(out[j], out[j + drawn]) ** 2 / 2 if drawn < n else abs(out[j])
            assert size == pytest.approx(coarse, rel=1e-6)
            assert size != pytest.approx(coarse, rel=1e-14, abs=0)
            # Entries of all tiles are counted on, so that no two share their further bits.
            further = samplers.log_of_tail(np.uint64(bits), KEY, place, tile * n + j)
            assert size == pytest.approx(-further, rel=1e-13, abs=0)
            if law == "laplace":
                assert (out[j] > 0) == (bits & 1 == 0)
            shown += 1
    assert shown


BITS = st.one_of(
    st.integers(1, 2**52 - 1), st.integers(1, 2**20), st.integers(2**52 - 2**20, 2**52 - 1)
)


@settings(max_examples=200)
@given(bits=BITS, key=st.tuples(WORD, WORD), entry=st.integers(0, 2**20))
def test_normal_numbers_on_a_fine_grid_are_as_near_to_real_ones_as_is_said(bits, key, entry):
    """The radii of all real numbers with the same bits are near, where u is small and where it is next to 1."""
    a, b, *_ = map(int, samplers.philox(*map(np.uint64, [entry, 0, 0, 1, *key])))
    tail = samplers.log_of_tail(np.uint64(bits << 12), np.array(key), np.zeros(2, int), entry)
    cell = bits << 64 | a << 32 | b
    with decimal.localcontext(prec=60):
        for u in (cell, cell + 1):
            radius = (-2 * (decimal.Decimal(u) / 2**116).ln()).sqrt()
            assert abs(float(radius - decimal.Decimal(-2 * tail).sqrt())) < samplers.CELL / 4
    assert float(radius) < samplers.REACH


def test_numbers_on_a_fine_grid_have_more_bits_each():
    """They are those of a coarse grid, and more."""
    n = samplers.TILE + 5
    coarse = standard("gaussian", n, KEY)
    fine, _ = perturbed(np.zeros(n), 1.0, 2.0**-48, samplers.GAUSSIAN)
    np.testing.assert_allclose(fine, coarse, rtol=0, atol=2.0**-26)
    assert (np.abs(fine - coarse) > samplers.CELL).mean() < 0.05  # most have bits enough
    words = np.empty(2 * samplers.TILE, np.uint32)
    for half, first in enumerate((0, samplers.TILE // 4)):
        samplers.fill_words(KEY, np.zeros(2, int), first, n, words[half * samplers.TILE :])
    for j in range(samplers.TILE // 2):
        word = int(words[j]) << 32 | int(words[j + samplers.TILE])
        tail = samplers.log_of_tail(np.uint64(word), KEY, np.zeros(2, int), j)
        radius = math.hypot(fine[j], fine[j + samplers.TILE // 2])
        assert radius == pytest.approx(math.sqrt(-2 * tail), abs=samplers.CELL)


@settings(max_examples=100)
@given(word=st.integers(0, 2**64 - 1))
def test_directions_are_of_length_one_in_every_quadrant(word):
    c, s = samplers.direction(np.uint64(word))
    assert math.hypot(c, s) == pytest.approx(1, abs=1e-15)
    angle = (((word >> 12) + 0.5) / 2**52 - 0.5) * math.pi / 2
    angle += {0: 0, 1: 0.5, 2: 1, 3: 1.5}[word & 3] * math.pi
    assert (c, s) == pytest.approx((math.cos(angle), math.sin(angle)), abs=1e-15)


def perturbed(values, scale, grid, law=samplers.LAPLACE, dtype=np.float64, t=0, measure=False):
    """Values of one agent and seed with noise, and the magnitude of it."""
    values = np.array(values, dtype).reshape(1, 1, -1)
    one, magnitude = np.ones((1, 1)), np.zeros((1, 1))
    noise = KEY.reshape(1, 1, 2), np.array([t, 0]), scale * one, grid * one
    samplers.perturb_all(values, samplers.Drawn(law, *noise, measure, magnitude))
    return values[0, 0], magnitude[0, 0]


@settings(max_examples=100)
@given(
    value=st.floats(-500, 500),
    scale=st.floats(1e-3, 1e3),
    fine=st.integers(4, 30),
    law=st.sampled_from([samplers.LAPLACE, samplers.GAUSSIAN]),
    t=st.integers(0, 2**31),
)
def test_what_comes_out_is_on_the_grid(value, scale, fine, law, t):
    """And the noise does not depend on the value."""
    grid = 2.0 ** (math.floor(math.log2(scale)) - fine)
    (found,), _ = perturbed([value], scale, grid, law, t=t)
    (alone,), _ = perturbed([0.0], scale, grid, law, t=t)
    assert found / grid == round(found / grid)
    assert found - alone == grid * np.round(value / grid)


@pytest.mark.parametrize("law", [samplers.LAPLACE, samplers.GAUSSIAN])
@pytest.mark.parametrize(
    ("dtype", "exponents"),
    [(np.float32, (-170, -149, -30, 0, 100)), (np.float64, (-1000, -170, -30, 0, 900))],
)
@pytest.mark.parametrize("steps", [0.3, 5.0])
def test_no_zero_has_the_sign_of_the_value(law, dtype, exponents, steps):
    """Zeros below 0 would tell values a little below 0 from those above it, and from none."""
    for exponent in exponents:
        grid = np.ldexp(1.0, exponent)
        part = np.tile(np.array([-0.0, -0.4, -1e-9, 0.0, 1e-9, 0.4, -2.0]) * grid, 100)
        found, _ = perturbed(part, steps * grid, grid, law, dtype)
        zero = found == 0
        assert zero[part < 0].any()
        assert not np.signbit(found[zero]).any()


def test_noise_of_many_tiles_and_its_magnitude():
    n = 3 * samplers.TILE + 5
    found, magnitude = perturbed(np.zeros(n), 0.3, 2.0**-20, measure=True)
    assert stats.kstest(found, "laplace", (0, 0.3)).pvalue > 0.01
    assert magnitude == pytest.approx(np.abs(found).mean(), rel=1e-12)
    np.testing.assert_array_equal(
        found, np.round(0.3 * standard("laplace", n, KEY) * 2**20) / 2**20
    )


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
@pytest.mark.parametrize("n", [1, 255, 256, 257, 511, 512, 513, 1023])
def test_the_first_entries_of_a_tile_do_not_depend_on_their_number(law, n):
    words, out = np.empty(2 * samplers.TILE, np.uint32), np.empty(samplers.TILE)
    FILL[law](KEY, np.zeros(2, int), 0, n, words, out)
    np.testing.assert_array_equal(out[:n], standard(law, n, KEY))


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_tiles_take_one_block_of_the_counter_after_another(law):
    """Each of them once, so that no two entries share a word."""
    words, out = np.empty((3, 2 * samplers.TILE), np.uint32), np.empty(samplers.TILE)
    for tile in range(3):
        FILL[law](KEY, np.array([5, 1]), tile, samplers.TILE, words[tile], out)
    counters = ([block, 1, 5, 0] for block in range(words.size // 4))
    wanted = [samplers.philox(*map(np.uint64, [*counter, *KEY])) for counter in counters]
    np.testing.assert_array_equal(np.sort(words.ravel()), np.sort(np.ravel(wanted)))


def test_no_scale_no_noise_and_no_grid():
    values = np.array([0.1, -3.7])
    found, magnitude = perturbed(values, 0.0, 0.5, measure=True)
    np.testing.assert_array_equal(found, values)
    assert magnitude == 0


def test_a_value_that_is_no_number_stays_one():
    found, _ = perturbed([np.nan, 1.0], 1.0, 2.0**-10)
    assert np.isnan(found[0])
    assert np.isfinite(found[1])


# Samples

PROBABILITY = st.one_of(st.floats(1e-4, 1), st.sampled_from([2.0**-32, 0.5, 1.0]))


@settings(max_examples=60)
@given(st.tuples(WORD, WORD), st.integers(1, 10**6), st.integers(0, 2500), PROBABILITY)
def test_a_record_is_sampled_by_a_word_of_its_own(key, t, n, probability):
    found = samplers.poisson_sample(np.array(key, np.uint32), t, n, probability)
    assert (np.diff(found) > 0).all()
    words = {}
    for i in {0, 1, n // 2, n - 1} & set(range(n)):
        tile, j = divmod(i, samplers.TILE)
        block, which = j % (samplers.TILE // 4), j // (samplers.TILE // 4)
        counter = (tile * (samplers.TILE // 4) + block, 0, t, 0)
        words[i] = int(samplers.philox(*map(np.uint64, [*counter, *key]))[which])
        assert (i in found) == (words[i] < math.floor(probability * 2**32))
    longer = samplers.poisson_sample(np.array(key, np.uint32), t, n + 7, probability)
    assert found.tolist() == longer[longer < n].tolist()


def participation(q, n, rounds, seeds, agents=2):
    """Whether records take part: shape (agents, seeds, rounds, n)."""
    keys = np.array([[sample_key(seed, agent) for seed in range(seeds)] for agent in range(agents)])
    found = np.zeros((agents, seeds, rounds, n), bool)
    for t in range(rounds):
        for p, own in enumerate(Sampler(keys).draw(t + 1, np.full(agents, n), q)):
            for s, drawn in enumerate(own):
                found[p, s, t, drawn] = True
    return found


@pytest.mark.parametrize("q", [0.05, 0.5])
def test_samples_know_nothing_of_each_other(q):
    """Of other agents, seeds, rounds and records; and of the words that noise is made of."""
    found = participation(q, n=2100, rounds=12, seeds=6)
    for axis in range(found.ndim):
        for lag in (1, 2, samplers.TILE // 4, samplers.TILE):
            if lag < found.shape[axis]:
                one = np.take(found, range(found.shape[axis] - lag), axis)
                other = np.take(found, range(lag, found.shape[axis]), axis)
                p = stats.binomtest(int((one & other).sum()), one.size, q**2).pvalue
                assert p > 0.001, (axis, lag)
    # One word each: what a stream that noise shares would show at once.
    noise = np.array(
        [standard("laplace", 2100, noise_key(s, 0), t=t + 1) for s in range(6) for t in range(12)]
    )
    taken = found[0].reshape(noise.shape)
    for values in (np.abs(noise), np.sign(noise)):
        assert abs(np.corrcoef(values.ravel(), taken.ravel())[0, 1]) < 4 / math.sqrt(noise.size)
    assert stats.ks_2samp(noise[taken], noise[~taken]).pvalue > 0.001


@pytest.mark.parametrize("steps", [4, 64])
def test_a_coarse_generator_nears_its_law_as_the_page_on_privacy_says(steps):
    """Every output of Box and Muller's method with b bits, on a grid: total variation of about 2^(-1.3 b) steps."""
    bits, found = np.arange(6, 12), []
    for b in bits:
        u = (np.arange(2**b) + 0.5) / 2**b
        sizes = np.outer(np.sqrt(-2 * np.log(u)), np.cos(u * math.pi / 2))
        counts = np.bincount(np.rint(sizes * steps).astype(int).ravel(), minlength=8 * steps)
        edges = (np.arange(len(counts)) + 0.5) / steps
        chances = np.diff(2 * stats.norm.cdf(np.append(0, edges)) - 1)
        found.append(np.abs(counts / 4.0**b - chances).sum() / 2)
    assert (np.array(found) <= 2 * steps * 2.0 ** (-1.25 * bits)).all()
    assert np.polyfit(bits, np.log2(found), 1)[0] < -1.25
