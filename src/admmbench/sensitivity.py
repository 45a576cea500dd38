"""How much one record can change a value: the bound that noise is scaled by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True)
class Sensitivity:
    """Bounds in l1, for Laplace noise, and in l2, for Gaussian noise; None where one is not known.

    Parameters
    ----------
    l1, l2
        Shape (B, S), for B agents and S seeds.
    l2_over_l1, linf_over_l1
        How far a change reaches in l2 and in its largest entry, over the bound in l1, for the worst record; 1 where
        all may fall on one entry. What Laplace noise costs over many releases depends on them.
    """

    l1: Array | None = None
    l2: Array | None = None
    l2_over_l1: float = 1.0
    linf_over_l1: float = 1.0
