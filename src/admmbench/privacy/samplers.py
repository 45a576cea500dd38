"""Noise from counters, on a grid.

**Counters.** Philox 4x32-10 (Salmon et al. 2011) turns a key and a counter into random words. The key is of a seed and
an agent; the counter counts rounds, releases in a round, and blocks of entries. So there is no state to keep, and any
entry of any release can be drawn alone, in any order and on any device.

**Grid.** Floating-point numbers tell neighbours apart (Mironov 2012): not every sum of a value and a noise can occur,
and which ones can depends on the value. So both are rounded to multiples of a power of two and added there, as in
Google's notes on secure noise. The result is a function of round(value) + noise for noise of real numbers, and the
scale of the noise includes half a step for each neighbour in the sensitivity (`admmbench.privacy.noise`).

Entries are drawn in tiles, so that a pass over a model finds them in the cache. This file imports nothing of the
package: the local updates of `admmbench.base.kernel` are made anew when its text changes.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numba
import numpy as np
from numpy.typing import NDArray

from admmbench.compiled import njit

Array = NDArray[Any]
Word = np.uint64
"""Of 32 or of 64 bits."""

LAPLACE, GAUSSIAN = 0, 1
# On a fine grid, size of the largest standard normal number, and how far one is at most from the real number that it
# stands for (with a probability below 2^-90 it is farther).
REACH, CELL = 13.0, 2.0**-44
# Entries that are drawn together.
TILE = 1024
LEAST = 2.0**-32
"""Smallest probability of a sample; others are rounded down to multiples of it."""
_HALF, _QUARTER = TILE // 2, TILE // 4

# With numpy's rule for divisions by zero, loops become vector instructions.
_compiled = njit(nogil=True, error_model="numpy", fastmath={"contract"})
_inlined = numba.njit(nogil=True, error_model="numpy", inline="always")

# A number: compilers for GPUs do not know the value of log(2), and made each entry compute it again.
_LN_2 = math.log(2)
_LOW, _HIGH = np.uint64(0xFFFFFFFF), np.uint64(32)
_FACTOR_0, _FACTOR_2 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_STEP_0, _STEP_1 = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)


@_inlined
def philox(
    c0: Word, c1: Word, c2: Word, c3: Word, k0: Word, k1: Word
) -> tuple[Word, Word, Word, Word]:
    """Return four random words for a counter of four and a key of two: 32 bits each, in numbers of 64."""
    for _ in range(10):
        odd, even = c2 * _FACTOR_2, c0 * _FACTOR_0
        c0 = (odd >> _HIGH) ^ c1 ^ k0
        c1 = odd & _LOW
        c2 = (even >> _HIGH) ^ c3 ^ k1
        c3 = even & _LOW
        k0 = (k0 + _STEP_0) & _LOW
        k1 = (k1 + _STEP_1) & _LOW
    return c0, c1, c2, c3


@_compiled
def fill_words(key: Array, place: Array, first: int, n: int, words: Array) -> None:
    """Fill TILE words, or the first n of them at least, from the blocks of the counter that begin at ``first``.

    Parameters
    ----------
    key
        Of seed and agent, two words.
    place
        Round, and number of the release in it.
    first
        Number of a block.
    n
        Words that are needed.
    words
        Room for TILE words of 32 bits.
    """
    k0, k1 = np.uint64(key[0]), np.uint64(key[1])
    t, release = np.uint64(place[0]), np.uint64(place[1])
    for i in range(min(n, _QUARTER)):
        a, b, c, d = philox(np.uint64(first + i), release, t, np.uint64(0), k0, k1)
        words[i] = np.uint32(a)
        words[i + _QUARTER] = np.uint32(b)
        words[i + 2 * _QUARTER] = np.uint32(c)
        words[i + 3 * _QUARTER] = np.uint32(d)


# Of the 64 bits of an entry the first 52 are a number u in (0, 1), the last ones a sign or a quadrant. The smallest u
# make the tails; where the first of two words is below this, more bits follow: on a fine grid, for each entry.
FEW, EACH = np.uint64(1 << 12), np.uint64(1 << 32)
# Steps of a grid in the scale of the noise, from which on it is a fine one.
FINE = 2.0**40


@_inlined
def _word(words: Array, j: int) -> Word:
    """The 64 bits of an entry."""
    return (np.uint64(words[j]) << _HIGH) | np.uint64(words[j + TILE])


@_inlined
def unit(word: Word) -> float:
    """The number u, an odd multiple of 2^-53."""
    bits = np.uint64((word >> np.uint64(12)) | np.uint64(0x3FF0_0000_0000_0000))
    return bits.view(np.float64) - (1 - 2.0**-53)


@_inlined
def log(x: float) -> float:
    """Logarithm of a normal number: 2 atanh((m - 1) / (m + 1)) of its mantissa m in [sqrt(1/2), sqrt(2))."""
    bits = np.float64(x).view(np.uint64)
    # 1024 + exponent: vector instructions have no signed shift of 64 bits, and no conversion to float64.
    shifted = (bits + np.uint64(0x0019_5F61_9980_C433)) >> np.uint64(52)
    mantissa = np.uint64(bits - ((shifted - np.uint64(1024)) << np.uint64(52))).view(np.float64)
    exponent = np.uint64(shifted | np.uint64(0x4330_0000_0000_0000)).view(np.float64)
    s = (mantissa - 1) / (mantissa + 1)
    q = s * s
    p = 2 / 21
    p = p * q + 2 / 19
    p = p * q + 2 / 17
    p = p * q + 2 / 15
    p = p * q + 2 / 13
    p = p * q + 2 / 11
    p = p * q + 2 / 9
    p = p * q + 2 / 7
    p = p * q + 2 / 5
    p = p * q + 2 / 3
    p = p * q + 2
    return p * s + (exponent - (2.0**52 + 1024)) * _LN_2


@_compiled
def log_of_tail(word: Word, key: Array, place: Array, entry: int) -> float:
    """Logarithm of a u that another two words make finer: it ends at 2^-117, and as near to 1."""
    k0, k1 = np.uint64(key[0]), np.uint64(key[1])
    t, release = np.uint64(place[0]), np.uint64(place[1])
    a, b, _, _ = philox(np.uint64(entry), release, t, np.uint64(1), k0, k1)
    rest = (np.float64(a) + (np.float64(b) + 0.5) * 2.0**-32) * 2.0**-32
    bits = word >> np.uint64(12)
    if bits >> np.uint64(51):
        return math.log1p(-(np.float64(np.uint64(2**52 - 1) - bits) + (1 - rest)) * 2.0**-52)
    return math.log(np.float64(bits) + rest) - 52 * _LN_2


@_inlined
def direction(word: Word) -> tuple[float, float]:
    """Point of the unit circle: Taylor polynomials in a quadrant, of the first 52 bits, that the last two turn."""
    x = (unit(word) - 0.5) * (math.pi / 2)
    q = x * x
    s = -1 / 1307674368000
    s = s * q + 1 / 6227020800
    s = s * q - 1 / 39916800
    s = s * q + 1 / 362880
    s = s * q - 1 / 5040
    s = s * q + 1 / 120
    s = s * q - 1 / 6
    s = x + x * q * s
    c = 1 / 20922789888000
    c = c * q - 1 / 87178291200
    c = c * q + 1 / 479001600
    c = c * q - 1 / 3628800
    c = c * q + 1 / 40320
    c = c * q - 1 / 720
    c = c * q + 1 / 24
    c = c * q - 1 / 2
    c = 1 + q * c
    if word & np.uint64(1):
        c, s = -s, c
    if word & np.uint64(2):
        c, s = -c, -s
    return c, s


@_compiled
def fill_laplace(
    key: Array,
    place: Array,
    tile: int,
    n: int,
    words: Array,
    out: Array,
    few: Word = FEW,
) -> None:
    """Fill n entries of a tile with standard Laplace numbers, by inversion: a random sign, and the size -ln u.

    Key and place are those of `Drawn`; where the first word of an entry is below ``few``, it gets more bits.
    """
    fill_words(key, place, tile * _HALF, n, words[:TILE])
    fill_words(key, place, tile * _HALF + _QUARTER, n, words[TILE:])
    least = np.uint32(_LOW)
    for j in range(n):
        least = min(least, words[j])
        word = _word(words, j)
        size = log(unit(word))
        out[j] = size if word & np.uint64(1) else -size
    if least < few:
        for j in range(n):
            if words[j] < few:
                word = _word(words, j)
                size = log_of_tail(word, key, place, tile * TILE + j)
                out[j] = size if word & np.uint64(1) else -size


@_compiled
def fill_gaussian(
    key: Array,
    place: Array,
    tile: int,
    n: int,
    words: Array,
    out: Array,
    few: Word = FEW,
) -> None:
    """Fill n entries of a tile with standard normal numbers, two at a time (Box and Muller 1958): a radius, an angle.

    Key and place are those of `Drawn`; where the first word of an entry is below ``few``, it gets more bits.
    """
    pairs = min(n, _HALF)
    fill_words(key, place, tile * _HALF, pairs, words[:TILE])
    fill_words(key, place, tile * _HALF + _QUARTER, pairs, words[TILE:])
    least = np.uint32(_LOW)
    for j in range(pairs):
        least = min(least, words[j])
        radius = np.sqrt(-2 * log(unit(_word(words, j))))
        c, s = direction(_word(words, j + _HALF))
        out[j], out[j + _HALF] = radius * c, radius * s
    if least < few:
        for j in range(pairs):
            if words[j] < few:
                radius = math.sqrt(-2 * log_of_tail(_word(words, j), key, place, tile * TILE + j))
                c, s = direction(_word(words, j + _HALF))
                out[j], out[j + _HALF] = radius * c, radius * s


class Drawn(NamedTuple):
    """Noise of the releases of B agents and S seeds.

    Attributes
    ----------
    law
        LAPLACE or GAUSSIAN.
    keys
        Of agents and seeds, two words each, shape (B, S, 2).
    place
        Round, and number of the release in it.
    scale
        Of the noise, shape (B, S); 0: there is none; below 0: the noise of the same size is negated, exactly.
    grid
        Its spacing, a power of two, shape (B, S).
    measure
        Whether its magnitude is recorded.
    magnitude
        Receives the mean size of an entry's noise, shape (B, S), if it is to be measured.
    """

    law: int
    keys: Array
    place: Array
    scale: Array
    grid: Array
    measure: bool
    magnitude: Array

    @classmethod
    def nothing(cls, shape: tuple[int, ...]) -> Self:
        """Return what stands for no noise, for agents and seeds, shape (B, S)."""
        none = np.zeros(shape)
        keys, place = np.zeros((*shape, 2), np.uint32), np.zeros(2, int)
        return cls(0, keys, place, none, none, measure=False, magnitude=none)


class Room(NamedTuple):
    """Room for the noise of a tile."""

    words: Array
    """2 TILE words of 32 bits."""
    noise: Array
    """TILE numbers in double precision."""


@_compiled
def perturb(values: Array, drawn: Drawn, p: int, s: int, tile: int, room: Room) -> float:
    """Add noise to a tile of a release in place, on a grid.

    A sum of more than 2^53 steps is rounded again, as is one in single precision: that knows the sum alone.

    Parameters
    ----------
    values
        At most TILE numbers.
    drawn
        The noise.
    p, s
        The agent and the seed.
    tile
        Number of the tile in the release.
    room
        What the noise is made in.

    Returns
    -------
    Sum of the sizes of what was added; 0 if it is not to be measured.
    """
    scale, grid, noise = drawn.scale[p, s], drawn.grid[p, s], room.noise
    if scale == 0:
        return 0.0
    steps, inverse = scale / grid, 1 / grid
    few = EACH if abs(steps) > FINE else FEW
    if drawn.law == LAPLACE:
        fill_laplace(drawn.keys[p, s], drawn.place, tile, len(values), room.words, noise, few)
    else:
        fill_gaussian(drawn.keys[p, s], drawn.place, tile, len(values), room.words, noise, few)
    for j in range(len(values)):
        noise[j] = np.rint(noise[j] * steps)
        values[j] = (np.rint(values[j] * inverse) + noise[j]) * grid
        # A value below 0 that rounds to 0 would leave its sign: two zeros below 0 make a third.
        values[j] += 0.0
    if not drawn.measure:
        return 0.0
    left = len(values)
    for j in range(left):
        noise[j] = abs(noise[j])
    # By halves, which are vector instructions: in a single sum, each addition waits for the one before.
    while left > 1:
        half = (left + 1) // 2
        for j in range(left - half):
            noise[j] += noise[j + half]
        left = half
    return noise[0] * grid


@njit(nogil=True)
def perturb_all(values: Array, drawn: Drawn) -> None:
    """Add noise to the releases of B agents and S seeds in place, shape (B, S, entries)."""
    agents, seeds, size = values.shape
    room = Room(np.empty(2 * TILE, np.uint32), np.empty(TILE))
    for p in range(agents):
        for s in range(seeds):
            total = 0.0
            for tile in range(-(-size // TILE)):
                part = values[p, s, tile * TILE : min((tile + 1) * TILE, size)]
                total += perturb(part, drawn, p, s, tile, room)
            if drawn.measure:
                drawn.magnitude[p, s] = total / size


@njit(nogil=True)
def poisson_sample(key: Array, t: int, n: int, probability: float) -> Array:
    """Draw a sample of n records: each is in it with a probability, a multiple of 2^-32.

    Parameters
    ----------
    key
        Of seed and agent, two words.
    t
        The round.
    n
        Number of records.
    probability
        At most 1.

    Returns
    -------
    Numbers of those in the sample, in their order.
    """
    below = np.uint64(probability / LEAST)
    place, words = np.array([t, 0]), np.empty(TILE, np.uint32)
    sample, count = np.empty(n, np.int64), 0
    for tile in range(-(-n // TILE)):
        some = min(TILE, n - tile * TILE)
        fill_words(key, place, tile * _QUARTER, some, words)
        for j in range(some):
            if words[j] < below:
                sample[count] = tile * TILE + j
                count += 1
    return sample[:count].copy()


@njit(nogil=True)
def uniform(key: Array, t: int) -> float:
    """Draw a number between 0 and 1 for a round; the key, of seed and agent, has two words."""
    words = np.empty(TILE, np.uint32)
    fill_words(key, np.array([t, 0]), 0, 2, words)
    return (words[0] + words[1] / 2.0**32) / 2.0**32
