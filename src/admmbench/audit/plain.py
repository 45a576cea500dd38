"""A local update in plain arrays, where noise is on tape: the compiled pass adds noise where nobody can see it."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numba
import numpy as np

from admmbench.audit.tapes import TapedDraw
from admmbench.frames.base import Array, factors
from admmbench.frames.consensus import Subproblem, dual_ascent, message
from admmbench.frames.passes import Pass
from admmbench.privacy import Draw
from admmbench.problems.base import Gradient
from admmbench.problems.penalties import PENALTIES


@contextlib.contextmanager
def open_passes() -> Iterator[None]:
    """Within this context, passes whose noise is on tape run in plain arrays; other passes run as usual."""
    compiled = Pass.__call__

    def either(
        fused: Pass, sub: Subproblem, gradient: Gradient, draw: Draw | None, *rest: Any
    ) -> None:
        if isinstance(draw, TapedDraw):
            update(fused, sub, gradient, draw, *rest)
        else:
            compiled(fused, sub, gradient, draw, *rest)

    setattr(Pass, "__call__", either)  # noqa: B010
    try:
        yield
    finally:
        setattr(Pass, "__call__", compiled)  # noqa: B010


def update(
    fused: Pass,
    sub: Subproblem,
    gradient: Gradient,
    draw: Draw,
    strength: float,
    share: float,
    total: Array | None,
    numbers: list[Array],
) -> None:
    """Do what a pass does, one equation after another; the parameters are those of the pass."""
    first, last = fused.updates in ("only", "first"), fused.updates in ("only", "last")
    slope = np.array(gradient.value)
    if fused.noise == "gradient":
        slope = slope + draw
    if fused.order == "agents" and first:
        sub.dual[:] = dual_ascent(sub.dual, sub.rho_dual, sub.w, sub.sent)
    slope += strength * PENALTIES[fused.penalty].gradient(sub.z if fused.at == "local" else sub.w)
    given = dict(zip(fused.names, (factors(each, sub.z) for each in numbers), strict=True))
    taken = list(inspect.signature(inspect.unwrap(fused.step)).parameters)[5:]
    step = _elementwise(fused.step)
    new = step(slope, sub.z, sub.w, sub.dual, sub.rho, *(given[name] for name in taken))
    if fused.noise == "solution":
        new = new + draw
    sub.z[:] = new
    if total is not None:
        total[:] = new if first else total + new
        new = total * share
    if last:
        sub.sent[:] = new
        if fused.order == "server":
            sub.dual[:] = dual_ascent(sub.dual, sub.rho_dual, sub.w, new)
        sub.partial[:] += message(new, sub.dual, sub.rho_message).sum(axis=0)


@cache
def _elementwise(step: Callable[..., float]) -> Callable[..., Array]:
    """An equation between numbers, for arrays."""
    found: Callable[..., Array] = numba.vectorize(step)  # type: ignore[no-untyped-call]
    return found
