"""Noise for transcriptions of methods: the suite's random numbers, and its grid in plain arithmetic."""

import math

import numpy as np

from admmbench.engine.streams import noise_key
from admmbench.privacy import samplers

FILL = {"laplace": samplers.fill_laplace, "gaussian": samplers.fill_gaussian}


def standard(law, n, key, t=0, release=0):
    """Draw n standard numbers."""
    words, out = np.empty(2 * samplers.TILE, np.uint32), np.empty(samplers.TILE)
    drawn = []
    for tile in range(-(-n // samplers.TILE)):
        FILL[law](key, np.array([t, release]), tile, samplers.TILE, words, out)
        drawn.append(out.copy())
    return np.concatenate(drawn)[:n]


def on_grid(bound, apart):
    """Spacing of the grid, and the sensitivity of a value that is rounded to it."""
    grid = 2.0 ** math.floor(math.log2(bound / 1024 / apart))
    return grid, bound + apart * grid


def noisy(value, law, bound, multiplier, where, std=None):
    """Add noise of scale multiplier * bound, or std, to a value.

    Parameters
    ----------
    value
        Of one agent and seed.
    bound
        How far one contribution moves it, in l1 for Laplace noise and in l2 for Gaussian.
    where
        Seed, agent, round and number of the release.
    """
    value = np.asarray(value, float)
    apart = value.size if law == "laplace" else math.sqrt(value.size)
    grid, bound = on_grid(bound, apart)
    scale = std or multiplier * bound
    seed, agent, t, release = where
    xi = scale * standard(law, value.size, noise_key(seed, agent), t, release).reshape(value.shape)
    return grid * np.round(value / grid) + grid * np.round(xi / grid)


def spherical(n, scale, where):
    """Draw a random direction with a Gamma distributed norm."""
    seed, agent, t, release = where
    direction = standard("gaussian", n, noise_key(seed, agent), t, release)
    sizes = np.abs(standard("laplace", n, noise_key(seed, agent), t, release + 1))
    return scale * sizes.sum() * direction / np.linalg.norm(direction)
