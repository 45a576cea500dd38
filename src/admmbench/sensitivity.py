"""How much one record can change a value: the bound that noise is scaled by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True)
class Sensitivity:
    """Bounds in l1, for Laplace noise, and in l2, for Gaussian noise; None where one is not known.

    Shape (B, S), for B agents and S seeds.
    """

    l1: Array | None = None
    l2: Array | None = None
