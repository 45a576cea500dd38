"""An agent's update as one pass over its model: gradient of the penalty, noise, step, mean, and dual ascent.

Each of these reads and writes models that do not fit into a cache; done one after another they take most of a round
where agents have few records. The pass is made from the equation of the method's step, see `admmbench.compiled`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np

from admmbench import compiled
from admmbench.algorithms.base import Array
from admmbench.algorithms.consensus import dual_ascent
from admmbench.problems.penalties import PENALTIES, PenaltyName

_MODULE = '''"""{title}"""

import math

import numba
import numpy as np

number = np.{dtype}


@numba.njit(nogil=True, inline="always")
{equation}


@numba.njit(nogil=True, inline="always")
{slope}


@numba.njit(nogil=True, inline="always")
{ascent}


@numba.njit(cache=True, nogil=True, error_model="numpy")
def update(gradient, xi, chain, w, dual, rho, strength, share, total, z, numbers):
    agents, seeds, size = chain.shape
    for p in range(agents):
        for s in range(seeds):
{locals}
            for i in range(size):
                g = gradient[p, s, i] + strength * penalty_gradient({at}[s, i])
{body}
'''


@dataclass(frozen=True)
class Pass:
    """What is done for each entry of a model.

    Attributes
    ----------
    step
        Equation of the step, ``step(gradient, z, w, dual, rho, ...)``.
    names
        What it takes besides, numbers of each agent and seed.
    penalty
        Of the problem.
    at
        Model that the penalty's gradient is taken at: the ``local`` one, or the ``global`` one.
    noise
        What noise is added to; None: there is none.
    updates
        ``only``: the one update of a round; or of several the ``first``, a ``middle`` one, or the ``last``.
    ascend
        Whether the dual variables follow, after the last update.
    """

    step: Callable[..., Any]
    names: tuple[str, ...]
    penalty: PenaltyName
    at: Literal["local", "global"]
    noise: Literal["gradient", "solution"] | None
    updates: Literal["only", "first", "middle", "last"]
    ascend: bool

    def source(self, dtype: str) -> str:
        """Module with the pass, for models of a precision."""
        self._check_names()
        arguments = ["g", "chain[p, s, i]", "w[s, i]", "dual[p, s, i]", "rho"]
        arguments += [f"{name}=number_{k}" for k, name in enumerate(self.names)]
        body = ["g += xi[p, s, i]"] * (self.noise == "gradient")
        body.append(f"new = step({', '.join(arguments)})")
        body += ["new += xi[p, s, i]"] * (self.noise == "solution")
        body.append("chain[p, s, i] = new")
        if self.updates == "first":
            body.append("total[p, s, i] = new")
        elif self.updates == "middle":
            body.append("total[p, s, i] += new")
        elif self.updates == "last":
            body += ["new = (total[p, s, i] + new) * share", "z[p, s, i] = new"]
        if self.ascend and self.updates in ("only", "last"):
            body.append("dual[p, s, i] = dual_ascent(dual[p, s, i], rho, w[s, i], new)")
        numbers = [f"number_{k} = numbers[{k}, p, s]" for k in range(len(self.names))]
        return _MODULE.format(
            title=f"Pass of {getattr(self.step, '__name__', 'a step')}.",
            dtype=dtype,
            equation=compiled.equation_source(self.step, "step"),
            locals="\n".join(" " * 12 + line for line in numbers) or " " * 12 + "pass",
            slope=compiled.equation_source(PENALTIES[self.penalty].gradient, "penalty_gradient"),
            ascent=compiled.equation_source(dual_ascent, "dual_ascent"),
            at="chain[p]" if self.at == "local" else "w",
            body="\n".join(" " * 16 + line for line in body),
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
        gradient: Array,
        xi: Array | None,
        chain: Array,
        w: Array,
        dual: Array,
        rho: float,
        strength: float,
        share: float,
        total: Array | None,
        z: Array,
        numbers: list[Array],
    ) -> None:
        """Update models of shape (B, S, K, J), and (S, K, J) for ``w``, in place.

        Parameters
        ----------
        gradient
            Of the loss.
        xi
            Noise, if there is any.
        chain
            Local iterates.
        w
            Global model.
        dual
            Dual variables.
        rho, strength
            Penalty parameter, and weight of the penalty's gradient.
        share
            Part of each local update in the mean.
        total
            Sum of the local updates so far, where there are several.
        z
            What is sent; ``chain`` where there is one update.
        numbers
            Values of `names`, each of shape (B, S).
        """
        like = chain.dtype.type
        given = gradient, chain if xi is None else xi
        flat = [
            _flat(np.ascontiguousarray(np.broadcast_to(each, chain.shape)), 2) for each in given
        ]
        values = np.array(numbers, chain.dtype).reshape(len(numbers), *chain.shape[:2])
        _kernel(self, chain.dtype.name)(
            *flat,
            _flat(chain, 2),
            _flat(np.ascontiguousarray(w), 1),
            _flat(dual, 2),
            like(rho),
            like(strength),
            like(share),
            _flat(chain if total is None else total, 2),
            _flat(z, 2),
            values,
        )


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
