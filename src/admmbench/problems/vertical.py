"""Binary classification over distributed features: hu2019, problem (1).

Party m holds the columns D_m of the data and a model x_m; all know the labels b = +-1. With N samples,

    minimise  l(sum_m D_m x_m) + N lambda sum_m ||x_m||^2,    l(z) = sum_i loss(b_i z_i),

which is N times the mean objective that is reported. Models have shape (1, J), all parties' one after another, and
carry the seeds in front; what parties send are predictions, of shape (S, N).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Annotated, Any, ClassVar, Literal

import numba
import numpy as np
from numpy.typing import DTypeLike, NDArray
from pydantic import BaseModel, ConfigDict, Field
from scipy import linalg, special

from admmbench.partition import ColumnSplit

Array = NDArray[Any]

# Directions that are shorter than this, relative to the longest, are rounding: one-hot blocks lack full rank.
_RANK_TOLERANCE = 1e-11
_GRAM_ROWS = 500


class Vertical(BaseModel):
    """Parameters of the problem.

    Parameters
    ----------
    strength
        lambda, weight of the squared norm in the mean objective.
    loss
        ``logistic``: ln(1 + exp(-b z)); ``sigmoid``: 1 / (1 + exp(b z)), which is smooth and not convex.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    shares: ClassVar[Literal["rows", "columns"]] = "columns"
    single_output: ClassVar[bool] = True
    neighbours: ClassVar[str] = "neighbours differ by one feature column of one party"
    smooth: ClassVar[bool] = True
    variables: ClassVar[Mapping[str, tuple[str, str]]] = {}

    strength: Annotated[float, Field(gt=0)] = 1e-4
    loss: Literal["logistic", "sigmoid"] = "logistic"

    @property
    def convex(self) -> bool:
        """Whether the loss is convex."""
        return self.loss == "logistic"

    @property
    def smoothness(self) -> float:
        """L of hu2019's assumption 1: bound on the second derivative of the loss."""
        return 1 / 4 if self.loss == "logistic" else 3**0.5 / 18

    def bind(
        self,
        split: ColumnSplit,
        n_seeds: int,
        sensitivity: Literal["local", "global"] = "local",
        dtype: DTypeLike = np.float32,
    ) -> BoundVertical:
        """Join parameters and data; see `BoundVertical`. Sensitivities are the method's own here."""
        return BoundVertical(self, split, n_seeds, np.dtype(dtype))


class BoundVertical:
    """The problem on a data set whose columns are shared out over parties.

    Parameters
    ----------
    params
        Loss and regulariser.
    split
        Data, and who gets which columns.
    n_seeds
        S, the number of seeds in the batch.
    dtype
        Precision of models and predictions; subproblems are solved in float64.

    Raises
    ------
    ValueError
        If the data set has not two classes.
    """

    def __init__(
        self, params: Vertical, split: ColumnSplit, n_seeds: int, dtype: np.dtype[Any]
    ) -> None:
        data = split.dataset
        if data.n_classes != 2:
            raise ValueError(
                f"problem: vertical needs two classes, {data.name} has {data.n_classes}"
            )
        self.params = params
        self.columns = split.columns
        self.n_seeds = n_seeds
        self.dtype = dtype
        self.n_agents = len(split.columns)
        self.n_samples = data.n_train
        used = self.columns[-1].stop
        self.model_shape = (1, used)
        self.X = np.asarray(data.X_train[:, :used], dtype)
        self.b = (2 * data.y_train - 1).astype(dtype)
        self._test = np.asarray(data.X_test[:, :used], dtype), (2 * data.y_test - 1).astype(dtype)

    @property
    def weight(self) -> float:
        """N lambda, weight of the regulariser beside the sum of losses."""
        return self.n_samples * self.params.strength

    @property
    def work_per_agent(self) -> float:
        """Parties are large: each is served alone."""
        return np.inf

    def losses(self, z: Array, b: Array) -> Array:
        """Loss of every prediction, float64."""
        margins = b * z.astype(np.float64)
        if self.params.loss == "logistic":
            return np.logaddexp(0, -margins)
        return np.asarray(special.expit(-margins))

    def slope(self, z: Array, b: Array) -> Array:
        """Derivative of the loss of every prediction, in their precision."""
        miss = special.expit(-b * z)
        slope: Array = -b * miss if self.params.loss == "logistic" else -b * miss * (1 - miss)
        return slope

    def minimize_loss(self, s: Array, dual: Array, rho: float, start: Array) -> Array:
        """Solve (7), the update of z: N independent problems in one variable, for every seed.

        Newton's method; a step that leaves the interval in which the solution must lie, or is not half as long as the
        last, gives way to a bisection.

        Parameters
        ----------
        s
            Sum of the parties' predictions, shape (S, N).
        dual
            y, shape (S, N).
        rho
            Penalty.
        start
            z of the last round, shape (S, N).
        """
        z = np.empty_like(s)
        _newton(s, dual, self.b, rho, start, self.params.loss == "sigmoid", z)
        return z

    def optimum(self, parties: int | None = None) -> Array:
        """Minimiser over the columns of the first so many parties (default: all) by scikit-learn, shape (S, 1, J)."""
        from sklearn.linear_model import LogisticRegression  # slow to import

        stop = self.columns[(parties or self.n_agents) - 1].stop
        X = self.X[:, :stop].astype(np.float64)
        model = LogisticRegression(
            C=1 / (2 * self.weight), fit_intercept=False, tol=1e-6, max_iter=10_000
        ).fit(X, self.b > 0)
        w = np.zeros(self.model_shape)
        w[:, :stop] = model.coef_
        return np.tile(w, (self.n_seeds, 1, 1)).astype(self.dtype)

    def block(self, agents: slice) -> Party:
        """The part of one party."""
        (columns,) = self.columns[agents]
        return Party(self, columns)

    def evaluate(
        self, state: Any, blocks: Sequence[Party], run: Callable[..., list[Any]]
    ) -> dict[str, Array]:
        """Test error, test loss and training objective of a model.

        Parameters
        ----------
        state
            With the models ``w`` of all parties, shape (S, 1, J).
        blocks
            All parties.
        run
            Maps a function over a list, in parallel.

        Returns
        -------
        Arrays of shape (S,): ``test_error`` (fraction), ``test_loss`` (mean) and ``train_loss``, the mean objective.
        """
        X, b = self._test
        models = state.w[:, 0]
        test = models @ X.T
        # A tie goes to the first class.
        wrong = np.where(b > 0, test <= 0, test > 0)
        squares = np.square(models.astype(np.float64)).sum(axis=1)
        return {
            "test_error": wrong.mean(axis=1),
            "test_loss": self.losses(test, b).mean(axis=1),
            "train_loss": self.losses(models @ self.X.T, self.b).mean(axis=1)
            + self.params.strength * squares,
        }


class Party:
    """One party's columns.

    Parameters
    ----------
    problem
        The whole.
    columns
        Its columns.
    """

    def __init__(self, problem: BoundVertical, columns: slice) -> None:
        self.problem = problem
        self.columns = columns
        self.D = problem.X[:, columns]
        """Shape (N, d_m)."""
        self.n_features = self.D.shape[1]
        self._tall = self.D.shape[0] >= self.D.shape[1]
        self.solver = lru_cache(maxsize=1)(self._factor)

    @property
    def release_shape(self) -> tuple[int]:
        """Shape of the noise of one message: its coordinates in a basis of range(D_m)."""
        return (min(self.D.shape),)

    def predict(self, x: Array) -> Array:
        """D_m x of models of shape (S, d_m), shape (S, N)."""
        predictions: Array = x @ self.D.T
        return predictions

    def back(self, r: Array) -> Array:
        """D_m^T r of residuals of shape (S, N), shape (S, d_m)."""
        product: Array = r.astype(self.D.dtype, copy=False) @ self.D
        return product

    def _gram(self, dtype: DTypeLike) -> Array:
        """D_m^T D_m, or D_m D_m^T where there are more features than samples; from products in a precision.

        It is summed in float64 over blocks of rows, so that float32, which is twice as fast, rounds little.
        """
        D = self.D if self._tall else self.D.T
        total = np.zeros((D.shape[1], D.shape[1]))
        for start in range(0, len(D), _GRAM_ROWS):
            rows = D[start : start + _GRAM_ROWS].astype(dtype, copy=False)
            total += rows.T @ rows
        return total

    def _factor(self, rho: float) -> Callable[[Array], Array]:
        """Factor the quadratic of (6) once; every round then solves with it."""
        ridge = 2 * self.problem.weight / rho
        gram = self._gram(self.D.dtype)
        np.fill_diagonal(gram, gram.diagonal() + ridge)
        factor = linalg.cho_factor(gram, lower=True, overwrite_a=True)

        def solve(r: Array) -> Array:
            # A seed that diverged is no fault of the others.
            right = self.back(r) if self._tall else r
            x = linalg.cho_solve(factor, right.T.astype(np.float64), check_finite=False).T
            if not self._tall:
                x = self.back(x)
            return np.asarray(x / rho, self.D.dtype)

        return solve

    @cached_property
    def basis(self) -> Array:
        """Orthonormal basis of range(D_m), shape (N, rank)."""
        values, vectors = linalg.eigh(self._gram(np.float64))
        kept = values > _RANK_TOLERANCE * values[-1]
        if not self._tall:
            return vectors[:, kept].astype(self.D.dtype)
        return ((self.D @ vectors[:, kept]) / np.sqrt(values[kept])).astype(self.D.dtype)


@numba.njit(cache=True, nogil=True)
def _newton(
    s: Array, dual: Array, b: Array, rho: float, start: Array, sigmoid: bool, out: Array
) -> None:
    """Root of l'(z) - y + rho (z - s) for every seed and sample, in float64."""
    steepest = 0.25 if sigmoid else 1.0
    for k in range(s.shape[0]):
        for i in range(s.shape[1]):
            centre = s[k, i] + dual[k, i] / rho
            low, high = centre - steepest / rho, centre + steepest / rho
            z = min(max(np.float64(start[k, i]), low), high)
            last = high - low
            for _ in range(200):
                margin = b[i] * z
                decay = np.exp(-abs(margin))
                miss = (decay if margin >= 0 else 1.0) / (1.0 + decay)
                slope, curvature = -b[i] * miss, miss * (1.0 - miss)
                if sigmoid:
                    slope, curvature = -b[i] * curvature, curvature * (1.0 - 2.0 * miss)
                g = slope + rho * (z - centre)
                if g > 0:
                    high = z
                else:
                    low = z
                new = z - g / (curvature + rho)
                if not low <= new <= high or abs(new - z) > abs(last) / 2:
                    new = (low + high) / 2
                last = new - z
                done = abs(last) <= 1e-14 * (1.0 + abs(z))
                z = new
                if done:
                    break
            out[k, i] = z
