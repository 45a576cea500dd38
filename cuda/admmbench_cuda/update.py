"""An agent's local update on a GPU: the equations of `admmbench.base.kernel`, compiled for it.

A block of threads serves a tile of the models of some agents, one after another, for a seed.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
from numba import cuda, float64, uint64

from admmbench import compiled
from admmbench.base.kernel import Drawn, dual_ascent, source, step_numbers
from admmbench.base.types import Pass, Step, Strategy, Subproblem
from admmbench.privacy import Draw
from admmbench.problems.base import Gradient, on_host
from admmbench_cuda.arrays import Array, cupy, flat, view
from admmbench_cuda.noise import EACH, THREADS, TILE

# Small models do not fill a GPU, and need none.
warnings.filterwarnings("ignore", ".*Grid size .* low occupancy")
# Groups of agents whose messages are summed one after another; the sums of groups are added then.
_GROUPS = 16
_MODULE = '''\
"""Local update with {name}, on a GPU."""

from __future__ import annotations

import math

import numpy as np
from numba import cuda, float64, uint64
from admmbench_cuda.noise import EACH, THREADS, TILE, perturb

number = np.{dtype}
equation = cuda.jit(device=True)

{equations}


@equation
{step}


@equation
def numbers_of(numbers, p, s):
    return ({numbers})


{functions}

solve = equation(make_solve(step, penalty_gradient, {at_global}))
finish = equation(make_finish(solve, number, {finish}))
update = cuda.jit(make_update(solve, finish, numbers_of, perturb, number, {update}), max_registers=80)
'''


def make_update(
    solve: Step,
    finish: Callable[..., None],
    numbers_of: Callable[[Any, int, int], Any],
    perturb: Callable[..., float],
    number: Callable[[Any], Any],
    first: bool,
    last: bool,
    agents_begin: bool,
    noise_on_gradient: bool,
    noise_on_solution: bool,
) -> Callable[..., None]:
    """Make the update of a thread's entries; see `admmbench.base.kernel.make_update`.

    What it reads of an agent is read before anything is written: so a thread waits once, and not for each entry.
    """
    dual_changes = (agents_begin and first) or (last and not agents_begin)
    several = not (first and last)

    def update(
        gradient: Array,
        z: Array,
        w: Array,
        dual: Array,
        sent: Array,
        partial: Array,
        size: int,
        rho: float,
        rho_dual: float,
        rho_message: float,
        strength: float,
        share: float,
        given: Array,
        law: int,
        keys: Array,
        t: int,
        release: int,
        measure: bool,
        magnitude: Array,
    ) -> None:
        tile, s, group, lane = cuda.blockIdx.x, cuda.blockIdx.y, cuda.blockIdx.z, cuda.threadIdx.x
        agents, seeds, groups = keys.shape[0], cuda.gridDim.y, cuda.gridDim.z
        start = tile * TILE + lane
        values = cuda.local.array(EACH, gradient.dtype)
        words, noise = cuda.local.array(EACH, uint64), cuda.local.array(EACH, float64)
        z_, w_ = cuda.local.array(EACH, number), cuda.local.array(EACH, number)
        dual_, sent_ = cuda.local.array(EACH, number), cuda.local.array(EACH, number)
        partial_ = cuda.local.array(EACH, number)
        for q in range(EACH):
            partial_[q] = number(0)
            if start + q * THREADS < size:
                w_[q] = w[uint64(s * size + start + q * THREADS)]
        for p in range(group * agents // groups, (group + 1) * agents // groups):
            numbers = numbers_of(given[2:], p, s)
            first_of_all = (p * seeds + s) * size
            for q in range(EACH):
                if start + q * THREADS < size:
                    j = uint64(first_of_all + start + q * THREADS)
                    values[q], z_[q], dual_[q] = gradient[j], z[j], dual[j]
                    if several or (agents_begin and first):
                        sent_[q] = sent[j]
            for q in range(EACH):
                if agents_begin and first:
                    dual_[q] = dual_ascent(dual_[q], rho_dual, w_[q], sent_[q])
                if noise_on_solution:
                    values[q] = solve(values[q], z_[q], w_[q], dual_[q], rho, strength, numbers)
            if noise_on_gradient or noise_on_solution:
                scale, grid, left = given[0, p, s], given[1, p, s], size - start
                added = perturb(
                    values, law, keys[p, s], t, release, tile, lane, scale, grid, words, noise, left
                )
                if measure:
                    magnitude[p, s, tile * THREADS + lane] = added
            for q in range(EACH):
                finish(
                    values[q],
                    z_,
                    w_,
                    dual_,
                    sent_,
                    partial_,
                    q,
                    rho,
                    rho_dual,
                    rho_message,
                    strength,
                    share,
                    numbers,
                )
            for q in range(EACH):
                if start + q * THREADS < size:
                    j = uint64(first_of_all + start + q * THREADS)
                    z[j] = z_[q]
                    if dual_changes:
                        dual[j] = dual_[q]
                    if several:
                        sent[j] = sent_[q]
        for q in range(EACH):
            if start + q * THREADS < size:
                partial[uint64((group * seeds + s) * size + start + q * THREADS)] = partial_[q]

    return update


class OnDevice(Strategy):
    """Local updates on a GPU."""

    def __init__(self) -> None:
        self._keys: tuple[Array, Array] | None = None

    def update(
        self,
        fused: Pass,
        sub: Subproblem,
        gradient: Gradient,
        draw: Draw | None,
        schedule: Mapping[str, Array | float],
        strength: float,
        share: float,
    ) -> None:
        """Update the models of all agents in place, see `Strategy.update`."""
        xp, z = cupy(), sub.z
        (P, S), size, like = z.shape[:2], math.prod(z.shape[2:]), z.dtype.type
        tiles, groups = -(-size // TILE), min(P, _GROUPS)
        noise = draw or Drawn.nothing((P, S))
        numbers = [np.broadcast_to(each, (P, S)) for each in step_numbers(fused, schedule)]
        given = xp.asarray(np.stack([noise.scale, noise.grid, *numbers]))
        magnitude = xp.zeros((P, S, tiles * THREADS if noise.measure else 1))
        partial = xp.empty((groups, S, size), z.dtype)
        entries, w = map(xp.ascontiguousarray, (gradient.entries, sub.w))
        _compiled(fused, z.dtype.name)[(tiles, S, groups), THREADS](
            *map(flat, (entries, z, w, sub.dual, sub.sent, partial)),
            size,
            *map(like, (sub.rho, sub.rho_dual, sub.rho_message, strength, share)),
            view(given),
            noise.law,
            view(self._on_device(noise.keys)),
            *noise.place.tolist(),
            noise.measure,
            view(magnitude),
        )
        if fused.updates in ("only", "last"):
            sub.partial[:] += partial.sum(axis=0).reshape(sub.partial.shape)
        if noise.measure:
            noise.magnitude[:] = on_host(magnitude.sum(axis=2)) / size

    def _on_device(self, keys: Array) -> Array:
        """Keys of the noise, which are the same in all rounds."""
        if self._keys is None or self._keys[0] is not keys:
            self._keys = keys, cupy().asarray(keys)
        return self._keys[1]


@cache
def _compiled(fused: Pass, dtype: str) -> Any:
    what = f"the update with {getattr(fused.step, '__name__', 'a step')}, for a GPU"
    update: Callable[..., Any] = compiled.load(
        source(fused, dtype, _MODULE, make_update), what
    ).update
    return update
