"""Equations between numbers, compiled into one pass over arrays."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def elementwise(equation: Callable[..., float]) -> Callable[..., Array]:
    """Compile an equation between numbers into one that broadcasts over arrays.

    It makes a single pass over memory where numpy makes one for each operation, and models do not fit into a cache.
    The first array decides the precision; all other arguments are taken in it. Write no number into the equation, as
    that would turn single into double precision.
    """
    parameters = inspect.signature(equation)
    lock = threading.Lock()  # compiled when first used, perhaps by several threads at once
    compiled: dict[str, Callable[..., Array]] = {}

    @functools.wraps(equation)
    def apply(first: Array, *others: Any, out: Array | None = None, **named: Any) -> Array:
        kind = first.dtype.name
        _, *rest = parameters.bind(first, *others, **named).arguments.values()
        with lock:
            if kind not in compiled:
                signature = f"{kind}({', '.join([kind] * (1 + len(rest)))})"
                compiled[kind] = numba.vectorize([signature], cache=True)(equation)  # type: ignore[no-untyped-call]
        return compiled[kind](first, *(np.asarray(value, first.dtype) for value in rest), out)

    return apply
