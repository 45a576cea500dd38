"""Noise from counters on a GPU: the words and the grid of `admmbench.privacy.samplers`, and its equations.

A block of threads serves a tile of a release. Four words of a block of the counter belong to entries that are a quarter
of a tile apart: so each thread has four entries, and the threads beside it their neighbours.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import cuda
from numba.cuda import libdevice

from admmbench.privacy import samplers
from admmbench.privacy.samplers import LAPLACE, TILE, Array, Room

EACH = 4
"""Entries of a thread."""
THREADS = TILE // EACH
"""Threads of a block."""
_HALF, _QUARTER, _FINE = TILE // 2, TILE // 4, samplers.FINE
_FEW, _EACH_ENTRY = samplers.FEW, samplers.EACH

_inlined = cuda.jit(device=True)
_philox, _unit, _log, _direction = (
    _inlined(equation.py_func)
    for equation in (samplers.philox, samplers.unit, samplers.log, samplers.direction)
)
_log_of_tail = _inlined(samplers.log_of_tail.py_func)


class Release(NamedTuple):
    """Properties that all entries of a release share, as in `admmbench.privacy.samplers.Drawn`."""

    law: int
    t: int
    """The round."""
    number: int
    """Of the release in it."""
    measure: bool


class Thread(NamedTuple):
    """Place of a thread's entries in a release."""

    tile: int
    """Number of the tile."""
    lane: int
    """Number of the thread in its block."""
    left: int
    """Entries of the release from the thread's first one on."""


@_inlined
def perturb(
    values: Array,
    release: Release,
    key: Array,
    thread: Thread,
    scale: float,
    grid: float,
    room: Room,
) -> float:
    """Add noise to a thread's entries of a tile in place: what `admmbench.privacy.samplers.perturb` adds to them.

    Parameters
    ----------
    values
        EACH entries, a quarter of a tile apart.
    release
        Which noise.
    key
        Of seed and agent, two words.
    thread
        Which entries.
    scale, grid
        Of the noise, see `Drawn`.
    room
        Room for the random words and the noise of the entries.

    Returns
    -------
    Sum of the sizes of what was added to entries of the release.
    """
    if scale == 0:
        return 0.0
    inverse = 1 / grid  # both are powers of two
    steps = scale * inverse
    few = _EACH_ENTRY if abs(steps) > _FINE else _FEW
    words, noise, place = room.words, room.noise, (release.t, release.number)
    round_, release_ = np.uint64(release.t), np.uint64(release.number)
    k0, k1 = np.uint64(key[0]), np.uint64(key[1])
    first = np.uint64(thread.tile * _HALF + thread.lane)
    last = np.uint64(first + np.uint64(_QUARTER))
    a, b, c, d = _philox(first, release_, round_, np.uint64(0), k0, k1)
    words[0], words[1], words[2], words[3] = a, b, c, d
    a, b, c, d = _philox(last, release_, round_, np.uint64(0), k0, k1)
    shift = np.uint64(32)
    words[0] = (words[0] << shift) | a
    words[1] = (words[1] << shift) | b
    words[2] = (words[2] << shift) | c
    words[3] = (words[3] << shift) | d
    entry = thread.tile * TILE + thread.lane
    # Loops without branches, or almost: the entries of a thread are worked on together then.
    if release.law == LAPLACE:
        least = words[0]
        for q in range(EACH):
            least = min(least, words[q])
            size = _log(_unit(words[q]))
            noise[q] = size if words[q] & np.uint64(1) else -size
        if (least >> shift) < few:
            for q in range(EACH):
                if (words[q] >> shift) < few:
                    size = _log_of_tail(words[q], key, place, entry + q * THREADS)
                    noise[q] = size if words[q] & np.uint64(1) else -size
    else:
        for q in range(EACH // 2):
            size = _log(_unit(words[q]))
            if (words[q] >> shift) < few:
                size = _log_of_tail(words[q], key, place, entry + q * THREADS)
            radius = math.sqrt(-2 * size)
            x, y = _direction(words[q + EACH // 2])
            noise[q], noise[q + EACH // 2] = radius * x, radius * y
    total = 0.0
    for q in range(EACH):
        added = libdevice.rint(noise[q] * steps)
        if q * THREADS < thread.left:
            values[q] = (libdevice.rint(values[q] * inverse) + added) * grid
            values[q] += 0.0
            total += abs(added)
    return total * grid
