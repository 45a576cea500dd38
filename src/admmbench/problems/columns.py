"""Problems whose features are partitioned over parties: hu2019, problem (1).

Party m holds the columns D_m of the data and a model x_m; all know the targets y. With N samples,

    minimise  l(sum_m D_m x_m) + N s sum_m R(x_m),    l(z) = sum_i loss(z_i, y_i),

which is N times the mean objective that is reported. Models have shape (1, J), all parties' one after another, and
carry the seeds in front; what parties send are predictions, of shape (S, N). The penalty of the whole is the sum of the
parties', so that its strength is that of each and of all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike
from scipy import linalg

from admmbench.datasets import ColumnSplit, DatasetInfo
from admmbench.problems.base import (
    Array,
    BoundLoss,
    Fit,
    LossProblem,
    Map,
    RecordBounds,
    Setting,
    Sharing,
    State,
    weights_and_intercepts,
)
from admmbench.problems.batches import scale_down
from admmbench.problems.loss import ScalarLoss

# Directions that are shorter than this, relative to the longest, are rounding: one-hot blocks lack full rank.
_RANK_TOLERANCE = 1e-11
_GRAM_ROWS = 500
_MOST_STEPS = 200
_STEP_TOLERANCE = 1e-14


@dataclass(frozen=True)
class Columns(LossProblem):
    """Parameters of a problem over columns."""

    records: RecordBounds
    """Norms that the rows of each party's columns are scaled down to; assumption 2.3 of hu2019 asks for 1. Without them
    rows stay as they are."""

    sharing: ClassVar[Sharing] = "columns"

    def check(self, data: DatasetInfo) -> None:
        """Raise a ValueError if the loss has several outputs: parties share one prediction for each sample."""
        super().check(data)
        if not isinstance(self.loss, ScalarLoss):
            raise ValueError(
                f"problem: loss {self.loss_name} has several outputs, shared columns need one; use logistic"
            )

    def describe(self) -> dict[str, Any]:
        """Return the settings as a user would write them; bounds where there are any."""
        bounds = self.records.model_dump(exclude_none=True)
        return {**super().describe(), **({"records": bounds} if bounds else {})}

    def bound(self, split: ColumnSplit, setting: Setting) -> BoundColumns:
        """Return the problem on columns that are partitioned over parties; sensitivities are the method's own here."""
        return BoundColumns(self, split, setting)


class BoundColumns(BoundLoss["Party"]):
    """Problem on a data set whose columns are partitioned over parties; subproblems are solved in float64.

    Raises
    ------
    ValueError
        If the data set lacks the targets of the loss, or the loss has several outputs.
    """

    loss: ScalarLoss
    work_per_agent = np.inf  # parties are large, so that each is served alone

    def __init__(self, problem: Columns, split: ColumnSplit, setting: Setting) -> None:
        data, dtype = split.dataset, setting.dtype
        problem.check(data.info)
        assert isinstance(problem.loss, ScalarLoss)
        self.problem, self.loss, self.penalty = problem, problem.loss, problem.penalty
        self.columns, self._target_scale = split.columns, data.target_scale
        self.n_seeds, self.dtype = setting.n_seeds, dtype
        self.n_agents = len(split.columns)
        self.n_samples = data.n_train
        used = self.columns[-1].stop
        self.model_shape = (1, used)
        self.X = self._scaled(data.X_train[:, :used])
        self.y = self.loss.targets(data.y_train, dtype)
        self._test = self._scaled(data.X_test[:, :used]), self.loss.targets(data.y_test, dtype)

    def _scaled(self, X: Array) -> Array:
        """Scale down the rows of each party's columns."""
        bounds = self.problem.records
        if bounds == RecordBounds():
            return np.asarray(X, self.dtype)
        return np.hstack([scale_down(X[:, block], bounds, self.dtype) for block in self.columns])

    @property
    def weight(self) -> float:
        """Return N s, the weight of the penalty beside the sum of losses."""
        return self.n_samples * self.problem.strength

    def minimize_loss(self, s: Array, dual: Array, rho: float, start: Array) -> Array:
        """Solve (7), the update of z: N independent problems in one variable, for every seed.

        Newton's method for the root of l'(z) - y + rho (z - s), in float64; a step that leaves the interval in which
        the root must lie, or is not half as long as the last, gives way to a bisection.

        Parameters
        ----------
        s
            Sum of the parties' predictions, shape (S, N).
        dual
            Dual variable of (7), shape (S, N).
        rho
            Penalty parameter.
        start
            z of the last round, shape (S, N).
        """
        targets = np.broadcast_to(self.y.astype(np.float64), s.shape)
        centre = s.astype(np.float64) + dual.astype(np.float64) / rho
        low, high = self._bracket(centre, targets, rho)
        z = np.clip(start.astype(np.float64), low, high)
        # Only entries whose root is not yet found are computed on; nothing waits for a seed that diverged.
        todo: Array = np.flatnonzero(np.isfinite(centre) & np.isfinite(z))
        z.flat[np.flatnonzero(~np.isfinite(centre))] = np.nan
        y, c, a, b, x = (array.ravel()[todo] for array in (targets, centre, low, high, z))
        last = b - a
        for _ in range(_MOST_STEPS):
            g = self.loss.derivative(x, y) + rho * (x - c)
            above = g > 0
            a, b = np.where(above, a, x), np.where(above, x, b)
            new = x - g / (self.loss.curvature(x, y) + rho)
            # A step that leaves the interval, or shrinks too slowly, is replaced by a bisection.
            bad = ~((a <= new) & (new <= b)) | (np.abs(new - x) > np.abs(last) / 2)
            new = np.where(bad, (a + b) / 2, new)
            last, x = new - x, new
            solved = np.abs(last) <= _STEP_TOLERANCE * (1 + np.abs(x))
            z.flat[todo[solved]] = x[solved]
            todo, y, c, a, b, x, last = (array[~solved] for array in (todo, y, c, a, b, x, last))
            if not len(todo):
                break
        z.flat[todo] = x
        return z.astype(s.dtype)

    def _bracket(self, centre: Array, targets: Array, rho: float) -> tuple[Array, Array]:
        """Return the ends of an interval that holds the root: the bound on derivatives limits its way from ``centre``.

        A convex loss pulls towards the root at most as strongly as it does at ``centre``.
        """
        if not self.loss.convex:
            reach = self.loss.derivative_bound / rho
            return centre - reach, centre + reach
        pulled = centre - self.loss.derivative(centre, targets) / rho
        return np.minimum(centre, pulled), np.maximum(centre, pulled)

    def optimum(self, parties: int | None = None) -> Array:
        """Find the minimiser over the columns of the first so many parties (default: all), shape (S, 1, J)."""
        return self.fitted(self.minimize, parties)

    def fitted(self, fit: Fit, parties: int | None = None) -> Array:
        """Fit a model, perhaps with an intercept, to the columns of the first so many parties (default: all).

        The model is the same for every seed, shape (S, 1, J) or (S, 1, J + 1), with 0 for the other parties.
        """
        stop = self.columns[(parties or self.n_agents) - 1].stop
        X, y = self.X[:, :stop].astype(np.float64), self.y.astype(np.float64)
        model = fit(X, y, np.ones(self.n_samples), self.weight)
        weights, intercept = model[:, :stop], model[:, stop:]
        others = np.zeros((1, self.model_shape[1] - stop))
        w = np.hstack([weights, others, intercept])
        return np.tile(w, (self.n_seeds, 1, 1)).astype(self.dtype)

    def block(self, agents: slice) -> Party:
        """Return the part of one party."""
        (columns,) = self.columns[agents]
        return Party(self, columns)

    def evaluate(self, state: State, blocks: Sequence[Party], run: Map) -> dict[str, Array]:
        """Measure the models of all parties as one.

        Returns
        -------
        Arrays of shape (S,): the metric of the loss, ``test_loss`` (mean) and ``train_loss``, the mean objective.
        """
        models, _ = weights_and_intercepts(state.w, self.model_shape[1])
        test, train = (self._predictions(state, X) for X in (self._test[0], self.X))
        y = self._test[1]
        score = self.loss.score(self.loss.mistakes(test, y).mean(axis=1))
        penalty = self.problem.strength * self.penalty.value(models)
        return {
            self.loss.metric: score * self._target_scale,
            "test_loss": self.loss.losses(test, y).mean(axis=1),
            "train_loss": self.loss.losses(train, self.y).mean(axis=1) + penalty,
        }

    def mistakes(self, state: State, run: Map) -> Array | None:
        """Tell which test records each seed's model gets wrong, shape (S, R); None where nothing is classified."""
        X, y = self._test
        return self.loss.mistakes(self._predictions(state, X), y) if self.loss.fraction else None

    def _predictions(self, state: State, X: Array) -> Array:
        """Return predictions of the models of all parties, shape (S, n, 1)."""
        models, intercepts = weights_and_intercepts(state.w, self.model_shape[1])
        return np.asarray((models[:, 0] @ X.T + intercepts)[..., None])


class Party:
    """Party with its own columns of a bound problem."""

    def __init__(self, whole: BoundColumns, columns: slice) -> None:
        self.whole = whole
        self.columns = columns
        self.D = whole.X[:, columns]
        """Shape (N, d_m)."""
        self.n_features = self.D.shape[1]
        self.release_shape = (min(self.D.shape),)
        """Shape of the noise of one message: its coordinates in a basis of range(D_m)."""
        self._tall = self.D.shape[0] >= self.D.shape[1]
        self.solver = lru_cache(maxsize=1)(self._factor)

    def predict(self, x: Array) -> Array:
        """Return ``D_m x`` of models x of shape (S, d_m), shape (S, N)."""
        return np.asarray(x @ self.D.T)

    def back(self, r: Array) -> Array:
        """Return ``D_m^T r`` of residuals r of shape (S, N), shape (S, d_m)."""
        return np.asarray(r.astype(self.D.dtype, copy=False) @ self.D)

    def _gram(self, dtype: DTypeLike) -> Array:
        """Return ``D_m^T D_m``, or ``D_m D_m^T`` where there are more features than samples.

        Products have the precision ``dtype``. They are summed in float64 over blocks of rows, so that float32, which is
        twice as fast, rounds little.
        """
        D = self.D if self._tall else self.D.T
        total = np.zeros((D.shape[1], D.shape[1]))
        for start in range(0, len(D), _GRAM_ROWS):
            rows = D[start : start + _GRAM_ROWS].astype(dtype, copy=False)
            total += rows.T @ rows
        return total

    def _factor(self, rho: float) -> Callable[[Array], Array]:
        """Factor the quadratic of (6) once, for the l2 penalty; every round then solves with it."""
        ridge = self.whole.weight / rho
        gram = self._gram(self.D.dtype)
        np.fill_diagonal(gram, gram.diagonal() + ridge)
        factor = linalg.cho_factor(gram, lower=True, overwrite_a=True)

        def solve(r: Array) -> Array:
            # (D^T D + r I)^-1 D^T = D^T (D D^T + r I)^-1: whichever matrix is smaller is factored.
            # Not checked for finite numbers: a seed that diverged must not end the others.
            right = self.back(r) if self._tall else r
            x = linalg.cho_solve(factor, right.T.astype(np.float64), check_finite=False).T
            if not self._tall:
                x = self.back(x)
            return np.asarray(x / rho, self.D.dtype)

        return solve

    @cached_property
    def basis(self) -> Array:
        """Return an orthonormal basis of range(D_m), shape (N, rank)."""
        values, vectors = linalg.eigh(self._gram(np.float64))
        positive = values > _RANK_TOLERANCE * values[-1]
        # With D = U S V^T, the eigenvectors are V, and U = D V / S, or they are U already.
        if not self._tall:
            return vectors[:, positive].astype(self.D.dtype)
        return ((self.D @ vectors[:, positive]) / np.sqrt(values[positive])).astype(self.D.dtype)
