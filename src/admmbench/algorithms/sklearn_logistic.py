"""Scikit-learn's logistic regression: the baseline that hu2019 plots, on all features or on those of the first parties.

Estimator and arithmetic are scikit-learn's own. `local_only` and `centralized` are the optima that it approaches.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from admmbench.base.algorithm import Resources, parameters
from admmbench.base.optimum import AnyFederation, Optimum, Shared, Whole
from admmbench.base.types import Array
from admmbench.problems.base import Problem
from admmbench.problems.columns import BoundColumns


@parameters
class SklearnLogistic(Optimum):
    """Single fit of ``sklearn.linear_model.LogisticRegression`` to the records of all agents.

    Parameters
    ----------
    objective
        ``default``: that of the estimator's defaults, sum_i loss_i + ||w||^2 / 2, which is ``C = 1``, with an intercept
        that no penalty counts. ``problem``: that of the problem, with its penalty, strength and weights of records, and
        without intercept.
    parties
        If columns are partitioned, how many of the first parties join their features; all if absent.
    tol
        Gradient at which the solver stops.
    max_iter
        Iterations after which it stops anyway, with a warning.
    """

    sharing = ("rows", "columns")
    resources = Resources(state_copies=0, gradients_once=20.0, packages=("scikit-learn",))
    examples = ({"objective": "problem"},)
    needs = ("logistic loss", "unclipped derivative")

    objective: Literal["default", "problem"] = "default"
    parties: Annotated[int, Field(ge=1)] | None = None
    tol: Annotated[float, Field(gt=0)] = 1e-4
    max_iter: Annotated[int, Field(ge=1)] = 100

    @property
    def fixed_point(self) -> str:
        """The estimator has a problem of its own."""
        return "" if self.objective == "problem" else "at the optimum of scikit-learn's defaults"

    def check(self, problem: Problem, agents: int) -> None:
        """Raise a ValueError if there are no such parties: they join features only if columns are partitioned."""
        if self.parties is None:
            return
        if problem.sharing != "columns":
            raise ValueError(
                "parties: rows are partitioned, all agents have all features; leave it out"
            )
        if self.parties > agents:
            raise ValueError(f"parties: {self.parties}, but there are {agents} parties")

    def init(self, federation: AnyFederation) -> Shared:
        """Return the model before it is found, with a column for the intercept if there is one."""
        state = super().init(federation)
        if self.objective == "default":
            state.w = np.pad(state.w, ((0, 0), (0, 0), (0, 1)))
        return state

    def find(self, problem: Whole) -> Array:
        """Find coefficients, and intercepts after them."""
        fit = partial(self._fit, problem)
        if isinstance(problem, BoundColumns):
            return problem.fitted(fit, self.parties)
        return problem.fitted(fit)

    def _fit(self, problem: Whole, X: Array, y: Array, weights: Array, strength: float) -> Array:
        """Model of some records, shape (K, J), or (K, J + 1) with an intercept; see `Fit`."""
        from sklearn.linear_model import LogisticRegression  # slow to import

        K = problem.model_shape[0]
        settings: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter}
        if self.objective == "problem":
            settings |= self._settings(problem, strength)
        model = LogisticRegression(**settings)
        model.fit(X, y, weights if self.objective == "problem" else None)
        if len(model.classes_) != max(K, 2):
            raise ValueError(
                f"the training records have {len(model.classes_)} of {max(K, 2)} classes, to the others scikit-learn's "
                "model gives no probability"
            )
        coefficients: Array = model.coef_
        if model.fit_intercept:
            coefficients = np.column_stack([coefficients, model.intercept_])
        # Of two classes it has one row: the difference of their scores.
        return np.concatenate([-coefficients, coefficients]) / 2 if K == 2 else coefficients

    def _settings(self, problem: Whole, strength: float) -> dict[str, Any]:
        """Settings of the estimator with which it minimises C sum_i weights_i loss_i + R(w), C = 1 / strength."""
        lasso = problem.problem.penalty_name == "l1"
        # R of two halves of w, with opposite signs, is ||w||_1, or half of ||w||^2 / 2.
        halves = 2 if problem.model_shape[0] == 2 and not lasso else 1
        settings: dict[str, Any] = {
            "C": halves / strength if strength else math.inf,
            "fit_intercept": False,
        }
        # The default solver has no l1 penalty.
        return settings | ({"l1_ratio": 1, "solver": "saga", "random_state": 0} if lasso else {})
