"""Gradient steps of one length, or of a length that falls over rounds."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import Field

from admmbench.base.algorithm import parameters
from admmbench.base.consensus import OverRows


@parameters
class Descent(OverRows):
    """Base of methods over rows that make gradient steps.

    Parameters
    ----------
    learning_rate
        Length of a step, a; with ``step: sqrt`` that of the first round.
    step
        ``constant``: a in every round; ``sqrt``: a / sqrt(t) in round t, as the steps of ObjP fall.
    """

    learning_rate: Annotated[float, Field(gt=0)] = 0.1
    # Left out where it is the default, so that runs of before keep their names.
    step: Annotated[
        Literal["constant", "sqrt"], Field(exclude_if=lambda step: step == "constant")
    ] = "constant"

    def rate(self, t: int) -> float:
        """Return the length of a step in round t = 1, 2, ..."""
        return self.learning_rate / (math.sqrt(t) if self.step == "sqrt" else 1)
