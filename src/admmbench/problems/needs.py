"""Properties of a problem that a method may need, and the one place that words the refusal."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Literal

from admmbench.problems.base import LossProblem, Problem
from admmbench.problems.loss import ScalarLoss
from admmbench.validation import warn_renamed

Need = Literal[
    "convex loss",
    "bounded derivative",
    "unclipped derivative",
    "one output",
    "logistic loss",
    "smooth penalty",
    "bounded subgradient",
    "quadratic penalty",
]

_NEEDS: dict[Need, tuple[Callable[[LossProblem], bool], str]] = {
    "convex loss": (lambda p: p.loss.convex, "a convex loss"),
    "bounded derivative": (
        lambda p: math.isfinite(p.loss.derivative_l2),
        "a loss whose derivative is bounded, such as logistic, softmax or huber",
    ),
    "unclipped derivative": (lambda p: not p.loss.floor, "a loss without a floor on probabilities"),
    "one output": (
        lambda p: isinstance(p.loss, ScalarLoss),
        "a loss with one output, such as logistic",
    ),
    "logistic loss": (
        lambda p: p.loss_name in ("logistic", "softmax"),
        "the loss logistic or softmax",
    ),
    "smooth penalty": (lambda p: p.penalty.smooth, "a penalty with a gradient, such as l2"),
    "bounded subgradient": (
        lambda p: math.isfinite(p.penalty.gradient_bound(1)),
        "a penalty with bounded subgradients, such as l1",
    ),
    "quadratic penalty": (lambda p: p.penalty_name == "l2", "the penalty l2"),
}

# Present words, by those of earlier versions.
_FORMER: dict[str, Need] = {
    "bounded slope": "bounded derivative",
    "unclipped slope": "unclipped derivative",
}


def require(who: str, needs: Iterable[Need], problem: Problem) -> None:
    """Raise a ValueError if a problem lacks a need of ``who``: a method, or whatever else; a quadratic has all.

    A former word of a plug-in gives a warning.
    """
    if not isinstance(problem, LossProblem):
        return
    for need in needs:
        if need in _FORMER:
            warn_renamed(f"needs: {need!r}", repr(_FORMER[need]))
        satisfied, words = _NEEDS[_FORMER.get(need, need)]
        if not satisfied(problem):
            raise ValueError(
                f"{who} needs {words}; the problem has loss {problem.loss_name} and penalty {problem.penalty_name}"
            )
