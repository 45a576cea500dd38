"""An agent's update as one pass over its model.

An update consists of the gradient of the penalty, noise, the step, the mean of the local updates, the dual ascent and
the sum for the server. Each of these reads and writes models that do not fit into a cache. One after another, they
would take most of a round if agents have few records. The pass is made from the equation of the method's step, see
`admmbench.compiled`.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from textwrap import indent
from typing import Any, Literal

import numpy as np

from admmbench import compiled
from admmbench.frames.base import Array
from admmbench.frames.consensus import Subproblem, dual_ascent, message
from admmbench.privacy import Draw, samplers
from admmbench.problems import narrow
from admmbench.problems.base import Gradient
from admmbench.problems.penalties import PENALTIES, PenaltyName

# The module changes with the text of what it imports: numba does not see that.
_IMPORTED = hashlib.sha256(
    b"".join(Path(str(module.__file__)).read_bytes() for module in (narrow, samplers))
).hexdigest()

_MODULE = '''"""{title}"""

import math

import numba
import numpy as np
from admmbench.compiled import njit
from admmbench.privacy.samplers import TILE, perturb
from admmbench.problems.narrow import take_tile
# {imported}

number = np.{dtype}


@numba.njit(nogil=True, inline="always")
{equation}


@numba.njit(nogil=True, inline="always")
{slope}


@numba.njit(nogil=True, inline="always")
{ascent}


@numba.njit(nogil=True, inline="always")
{message}


@njit(nogil=True, error_model="numpy")
def update(
    gradient, position, z, w, dual, rho, rho_dual, rho_message, strength, share, total, sent, partial, numbers,
    law, keys, place, scale, grid, measure, magnitude,
):
    agents, seeds, size = z.shape
    words, noise, room = np.empty(2 * TILE, np.uint32), np.empty(TILE), np.empty(TILE, gradient.dtype)
    for p in range(agents):
        for s in range(seeds):
            sizes = 0.0
{locals}
            for start in range(0, size, TILE):
                stop = min(start + TILE, size)
                tile = room[: stop - start]
                take_tile(gradient[p, s], position[p], start, tile)
{tiles}
{body}
            if measure:
                magnitude[p, s] = sizes / size
'''
_PERTURB = """\
sizes += perturb(
    tile, law, keys[p, s], place, start // TILE, scale[p, s], grid[p, s], words, noise, measure
)"""
# Each array is cut to the tile: the compiler makes vector instructions of plain indices.
_TILES = """\
z_, dual_, sent_, total_ = (
    z[p, s, start:stop], dual[p, s, start:stop], sent[p, s, start:stop], total[p, s, start:stop]
)
w_, partial_ = w[s, start:stop], partial[s, start:stop]"""
_LOOP = """\
for j in range(len(tile)):
{inside}"""


@dataclass(frozen=True)
class Pass:
    """What is done for each entry of a model.

    Attributes
    ----------
    step
        Equation of the step, ``step(gradient, z, w, dual, rho, ...)``.
    names
        Its further arguments, numbers of each agent and seed.
    penalty
        Of the problem.
    at
        Model that the penalty's gradient is taken at: the ``local`` one, or the ``global`` one.
    noise
        What noise is added to; None: there is none.
    updates
        ``only``: the one update of a round; or of several the ``first``, a ``middle`` one, or the ``last``.
    order
        Who begins a round, see `admmbench.frames.consensus.Consensus`: the dual variables follow after the last
        update, or before the first one.
    """

    step: Callable[..., Any]
    names: tuple[str, ...]
    penalty: PenaltyName
    at: Literal["local", "global"]
    noise: Literal["gradient", "solution"] | None
    updates: Literal["only", "first", "middle", "last"]
    order: Literal["server", "agents"]

    def source(self, dtype: str) -> str:
        """Module with the pass, for models of a precision."""
        self._check_names()
        first, last = self.updates in ("only", "first"), self.updates in ("only", "last")
        arguments = ["slope", "z_[j]", "w_[j]", "dual_[j]", "rho"]
        arguments += [f"{name}=number_{k}" for k, name in enumerate(self.names)]
        ascent = "dual_[j] = dual_ascent(dual_[j], rho_dual, w_[j], {})"
        at = "z_[j]" if self.at == "local" else "w_[j]"
        step = [ascent.format("sent_[j]")] * (self.order == "agents" and first)
        # What noise is added to may be in double precision; all else has the precision of the models.
        known = "tile[j]" if self.noise == "solution" else "number(tile[j])"
        step += [
            f"slope = {known} + strength * penalty_gradient({at})",
            f"{'tile[j]' if self.noise == 'solution' else 'new'} = step({', '.join(arguments)})",
        ]
        new = "new"
        store = [f"z_[j] = {new}"]
        if self.updates == "first":
            store.append(f"total_[j] = {new}")
        elif self.updates == "middle":
            store.append(f"total_[j] += {new}")
        elif self.updates == "last":
            new = "mean"
            store += ["mean = (total_[j] + new) * share", "sent_[j] = mean"]
        if last:
            store += [ascent.format(new)] * (self.order == "server")
            store.append(f"partial_[j] += message({new}, dual_[j], rho_message)")
        if self.noise == "gradient":
            body = [_PERTURB, _loop(step + store)]
        elif self.noise == "solution":
            body = [_loop(step), _PERTURB, _loop(["new = number(tile[j])", *store])]
        else:
            body = [_loop(step + store)]
        numbers = [f"number_{k} = numbers[{k}, p, s]" for k in range(len(self.names))]
        return _MODULE.format(
            title=f"Pass of {getattr(self.step, '__name__', 'a step')}.",
            imported=_IMPORTED,
            dtype=dtype,
            equation=compiled.equation_source(self.step, "step"),
            slope=compiled.equation_source(PENALTIES[self.penalty].gradient, "penalty_gradient"),
            ascent=compiled.equation_source(dual_ascent, "dual_ascent"),
            message=compiled.equation_source(message, "message"),
            locals=indent("\n".join(numbers), " " * 12),
            tiles=indent(_TILES, " " * 16),
            body=indent("\n".join(body), " " * 16),
        )

    def _check_names(self) -> None:
        taken = list(inspect.signature(inspect.unwrap(self.step)).parameters)[5:]
        if sorted(self.names) != sorted(taken):
            raise ValueError(
                f"schedule gives {', '.join(self.names) or 'nothing'}, the step {self.step.__name__} takes "
                f"{', '.join(taken) or 'nothing'} besides gradient, z, w, dual and rho"
            )

    def __call__(
        self,
        sub: Subproblem,
        gradient: Gradient,
        draw: Draw | None,
        strength: float,
        share: float,
        total: Array | None,
        numbers: list[Array],
    ) -> None:
        """Update the models of a block in place.

        Parameters
        ----------
        sub
            The subproblem.
        gradient
            Of the loss.
        draw
            Noise, if there is any.
        strength
            Weight of the penalty's gradient.
        share
            Part of each local update in the mean.
        total
            Sum of the local updates so far, where there are several.
        numbers
            Values of `names`, each of shape (B, S).
        """
        z = sub.z
        like, leading = z.dtype.type, z.shape[:2]
        nowhere = np.zeros((len(z), 0), np.uint32)
        values = np.array(numbers, z.dtype).reshape(len(numbers), *leading)
        if draw is None:
            nothing = np.zeros(leading)
            noise = (0, np.zeros((*leading, 2), np.uint32), np.zeros(2, int), nothing, nothing)
            measured = False, nothing
        else:
            noise = draw.law, draw.keys, draw.place, draw.scale, draw.grid
            measured = draw.measure, draw.magnitude
        _kernel(self, z.dtype.name)(
            np.ascontiguousarray(gradient.entries),
            nowhere if gradient.position is None else gradient.position,
            _flat(z, 2),
            _flat(np.ascontiguousarray(sub.w), 1),
            _flat(sub.dual, 2),
            *(like(rho) for rho in (sub.rho, sub.rho_dual, sub.rho_message)),
            like(strength),
            like(share),
            _flat(z if total is None else total, 2),
            _flat(sub.sent, 2),
            _flat(sub.partial, 1),
            values,
            *noise,
            *measured,
        )


def _loop(inside: list[str]) -> str:
    """Lines for each entry of a tile."""
    return _LOOP.format(inside=indent("\n".join(inside), " " * 4))


@cache
def _kernel(fused: Pass, dtype: str) -> Callable[..., None]:
    what = f"the update with {fused.step.__name__}"
    kernel: Callable[..., None] = compiled.load(fused.source(dtype), what).update
    return kernel


def _flat(models: Array, leading: int) -> Array:
    """Models as vectors, without a copy."""
    view = models.view()
    view.shape = (*models.shape[:leading], -1)
    return view
