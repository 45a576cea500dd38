"""An agent's local update on a GPU: the equations of `admmbench.base.kernel`, compiled for it.

A block of threads serves a tile of the models of some agents, one after another, for a seed.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import cuda, float64, uint64

from admmbench import compiled
from admmbench.base.kernel import Iterates, Weights, dual_ascent, source, step_numbers, weights
from admmbench.base.types import LocalUpdate, Pass, Step, Strategy
from admmbench.privacy.samplers import Drawn
from admmbench.problems.base import on_host
from admmbench_cuda.arrays import Array, cupy, flat, view
from admmbench_cuda.noise import EACH, THREADS, TILE, Release, Room, Thread

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
from admmbench.base.kernel import Iterates
from admmbench_cuda.noise import EACH, THREADS, TILE, Room, Thread, perturb

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
        models: Iterates,
        size: int,
        weights: Weights,
        inputs: Array,
        keys: Array,
        release: Release,
        magnitude: Array,
    ) -> None:
        tile, s, group, lane = cuda.blockIdx.x, cuda.blockIdx.y, cuda.blockIdx.z, cuda.threadIdx.x
        agents, seeds, groups = keys.shape[0], cuda.gridDim.y, cuda.gridDim.z
        start = tile * TILE + lane
        thread = Thread(tile, lane, size - start)
        values = cuda.local.array(EACH, gradient.dtype)
        room = Room(cuda.local.array(EACH, uint64), cuda.local.array(EACH, float64))
        z_, w_ = cuda.local.array(EACH, number), cuda.local.array(EACH, number)
        dual_, sent_ = cuda.local.array(EACH, number), cuda.local.array(EACH, number)
        partial_ = cuda.local.array(EACH, number)
        for q in range(EACH):
            partial_[q] = number(0)
            if start + q * THREADS < size:
                w_[q] = models.w[uint64(s * size + start + q * THREADS)]
        for p in range(group * agents // groups, (group + 1) * agents // groups):
            numbers = numbers_of(inputs[2:], p, s)
            first_of_all = (p * seeds + s) * size
            for q in range(EACH):
                if start + q * THREADS < size:
                    j = uint64(first_of_all + start + q * THREADS)
                    values[q], z_[q], dual_[q] = gradient[j], models.z[j], models.dual[j]
                    if several or (agents_begin and first):
                        sent_[q] = models.sent[j]
            for q in range(EACH):
                if agents_begin and first:
                    dual_[q] = dual_ascent(dual_[q], weights.rho_dual, w_[q], sent_[q])
                if noise_on_solution:
                    values[q] = solve(values[q], z_[q], w_[q], dual_[q], weights, numbers)
            if noise_on_gradient or noise_on_solution:
                added = perturb(
                    values, release, keys[p, s], thread, inputs[0, p, s], inputs[1, p, s], room
                )
                if release.measure:
                    magnitude[p, s, tile * THREADS + lane] = added
            for q in range(EACH):
                finish(values[q], Iterates(z_, w_, dual_, sent_, partial_), q, weights, numbers)
            for q in range(EACH):
                if start + q * THREADS < size:
                    j = uint64(first_of_all + start + q * THREADS)
                    models.z[j] = z_[q]
                    if dual_changes:
                        models.dual[j] = dual_[q]
                    if several:
                        models.sent[j] = sent_[q]
        for q in range(EACH):
            if start + q * THREADS < size:
                j = uint64((group * seeds + s) * size + start + q * THREADS)
                models.partial[j] = partial_[q]

    return update


class OnDevice(Strategy):
    """Local updates on a GPU."""

    def __init__(self) -> None:
        self._keys: tuple[Array, Array] | None = None

    def update(self, update: LocalUpdate) -> None:
        """Update the models of all agents in place, see `Strategy.update`."""
        xp, fused, sub, gradient = cupy(), update.fused, update.sub, update.gradient
        assert gradient is not None
        z = sub.z
        (P, S), size = z.shape[:2], math.prod(z.shape[2:])
        tiles, groups = -(-size // TILE), min(P, _GROUPS)
        noise = update.draw.drawn if update.draw else Drawn.nothing((P, S))
        t, number = noise.place.tolist()
        numbers = [np.broadcast_to(argument, (P, S)) for argument in step_numbers(update)]
        inputs = xp.asarray(np.stack([noise.scale, noise.grid, *numbers]))
        magnitude = xp.zeros((P, S, tiles * THREADS if noise.measure else 1))
        partial = xp.empty((groups, S, size), z.dtype)
        entries, w = map(xp.ascontiguousarray, (gradient.entries, sub.w))
        _compiled(fused, z.dtype.name)[(tiles, S, groups), THREADS](
            flat(entries),
            Iterates(*map(flat, (z, w, sub.dual, sub.sent, partial))),
            size,
            weights(update),
            view(inputs),
            view(self._on_device(noise.keys)),
            Release(noise.law, t, number, noise.measure),
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
