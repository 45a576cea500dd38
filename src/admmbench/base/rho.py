"""The penalty parameter of ADMM, which may change over rounds."""

from __future__ import annotations

import math
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from admmbench.validation import parameters


@parameters
class RhoSchedule:
    """Penalty parameter ``rho_t = scale * min(cap, c1 * growth^floor(t / period) + c2 / epsilon)``.

    Equation (24) of ryu2022 and (21) of ryu2021; the defaults are theirs for MNIST. FEMNIST: c1 = 0.005, c2 = 0.05,
    period = 2000. ``scale`` is for OutP+ and figure 4 (rho_t / 100).
    """

    c1: Annotated[float, Field(ge=0)] = 2.0
    c2: Annotated[float, Field(ge=0)] = 5.0
    period: Annotated[int, Field(ge=1)] = 10_000
    growth: Annotated[float, Field(ge=1)] = 1.2
    cap: Annotated[float, Field(gt=0)] = 1e9
    scale: Annotated[float, Field(gt=0)] = 1.0

    def __post_init__(self) -> None:
        if self.c1 + self.c2 <= 0:
            raise ValueError("rho: c1 and c2 are both 0, so the penalty parameter would be 0")

    def __call__(self, t: int, epsilon: float) -> float:
        """Return the value in round t = 1, 2, ..."""
        # In log space, so that a million rounds do not overflow before the cap applies.
        steps = t // self.period
        if self.c1 and steps * math.log(self.growth) + math.log(self.c1) > math.log(self.cap):
            return self.scale * self.cap
        return self.scale * min(self.cap, self.c1 * self.growth**steps + self.c2 / epsilon)


def _constant(value: Any) -> Any:
    """Take a number for a constant."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return {"c1": value, "c2": 0, "growth": 1}
    return value


Rho = Annotated[RhoSchedule, BeforeValidator(_constant)]

HUANG2019_RHO = RhoSchedule(c1=0.1, c2=0, growth=1)
"""The penalty parameter of huang2019, 0.1."""
