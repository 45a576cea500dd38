"""Noise that is drawn where it is added."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import DTypeLike

from admmbench.privacy import samplers
from admmbench.privacy.samplers import Array


@dataclass(frozen=True, eq=False)
class Draw(NDArrayOperatorsMixin):
    """Noise of B agents and S seeds, drawn where it is added: ``value + draw``.

    Attributes
    ----------
    drawn
        Law, scale and grid, on which the value is rounded too; its magnitude is there once it is added.
    shape
        Of the value, (B, S, ...).
    dtype
        Precision of the sum; that of the value if None.
    note
        Adds it to a value in double precision in place of `added_to`: audits look at both.
    """

    drawn: samplers.Drawn
    shape: tuple[int, ...]
    dtype: DTypeLike | None
    note: Callable[[Draw, Array], Array] | None = None

    # A draw is compared as an object, and a sum in place is one with the value.
    __eq__, __ne__, __hash__ = object.__eq__, object.__ne__, object.__hash__
    __iadd__ = NDArrayOperatorsMixin.__add__

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **given: Any) -> Array:
        """Add the noise, or refuse another operation.

        Value and noise are rounded to the grid, and their sum to the precision of the run.
        """
        if ufunc is not np.add or method != "__call__" or all(isinstance(x, Draw) for x in inputs):
            raise TypeError(
                f"noise is drawn where it is added: value + noise, not {ufunc.__name__}"
            )
        (value,) = (each for each in inputs if each is not self)
        value, note = np.asarray(value), self.note
        noisy = note(self, value.astype(np.float64)) if note else self.added_to(value)
        noisy = noisy.astype(self.dtype or value.dtype, copy=False)
        for target in given.get("out", ()):
            target[...] = noisy
            noisy = target
        return noisy

    def added_to(self, value: Array) -> Array:
        """Return a value with noise, in its precision."""
        if np.shape(value) != self.shape:
            raise ValueError(f"noise of shape {self.shape} is added to {np.shape(value)}")
        noisy: Array = np.array(value, order="C")
        samplers.perturb_all(noisy.reshape(*self.shape[:2], -1), self.drawn)
        return noisy
