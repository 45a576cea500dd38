"""Binary logistic regression with an l1 or l2 regulariser, as huang2019 states it (sections II and VI).

Agent i holds m_i of the records; with labels b = +-1,

    f_i(w) = (1/m_i) sum_j ln(1 + exp(-b_j a_j^T w)) + (lambda/n) R(w),    R(w) = ||w||_1 or ||w||_2^2 / 2.

Models have shape (1, J), the single row of scikit-learn's ``coef_``, and carry the seeds in front. Each seed may give
an agent other records, so that no matrix product serves several seeds: a compiled loop reads every record once for each
seed, forward and backward in one pass. Where seeds draw their own records, each seed has a copy of them in the order of
its agents, as fetching them from all over the data set takes three times as long. A record's gradient is
-b s(-b a^T w) a with the sigmoid s: its norm is below ||a||.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

import numba
import numpy as np
from numpy.typing import DTypeLike, NDArray
from pydantic import Field

from admmbench.partition import Rows, Split, n_rows
from admmbench.problems.rows import Gradient, RowProblem

Array = NDArray[Any]


class Logistic(RowProblem):
    """Parameters of the problem.

    Parameters
    ----------
    regularizer
        ``l1`` or ``l2``.
    strength
        lambda / n, weight of an agent's regulariser.
    max_l2_norm
        Records with a larger l2 norm are scaled down to it, which bounds the global sensitivity; ``None`` leaves them
        as they are, bounded only by the data set's domain.
    """

    single_output: ClassVar[bool] = True
    variables: ClassVar[Mapping[str, tuple[str, str]]] = {
        "empirical_loss": ("nat", "mean training loss of the local models"),
    }

    regularizer: Literal["l1", "l2"] = "l2"
    strength: Annotated[float, Field(ge=0)] = 1e-6
    max_l2_norm: Annotated[float, Field(gt=0)] | None = 1.0

    @property
    def smooth(self) -> bool:
        """Whether the regulariser has a gradient."""
        return self.regularizer == "l2"

    def bind(
        self,
        split: Split,
        n_seeds: int,
        sensitivity: Literal["local", "global"] = "local",
        dtype: DTypeLike = np.float32,
    ) -> BoundLogistic:
        """Join parameters and data; see `BoundLogistic`."""
        return BoundLogistic(self, split, n_seeds, sensitivity, np.dtype(dtype))


class BoundLogistic:
    """The problem on a data set that is shared out over agents.

    Parameters
    ----------
    params
        Regulariser and bounds.
    split
        Data, and who gets which rows.
    n_seeds
        S, the number of seeds in the batch.
    sensitivity
        Which bounds gradients come with.
    dtype
        Precision of the arithmetic.

    Raises
    ------
    ValueError
        If the data set has not two classes.
    """

    def __init__(
        self,
        params: Logistic,
        split: Split,
        n_seeds: int,
        sensitivity: Literal["local", "global"],
        dtype: np.dtype[Any],
    ) -> None:
        data = split.dataset
        if data.n_classes != 2:
            raise ValueError(
                f"problem: logistic needs two classes, {data.name} has {data.n_classes}; use softmax"
            )
        self.params = params
        self.dataset = data
        self.shares = split.shares
        self.n_seeds = n_seeds
        self.dtype = dtype
        self.sensitivity = sensitivity
        self.model_shape = (1, data.n_features)
        self.n_agents = len(self.shares)
        self.n_samples = sum(n_rows(own[0][1]) for own in self.shares)
        self.X = self._bounded(data.X_train)
        self.b = _signs(data.y_train, dtype)
        self._test = (self.X, self.b, split.held_out or [])
        if split.held_out is None:
            everything: list[tuple[slice, Rows]] = [(slice(0, n_seeds), slice(0, data.n_test))]
            self._test = self._bounded(data.X_test), _signs(data.y_test, dtype), everything

    def _bounded(self, X: Array) -> Array:
        """Scale down records that are too long; no copy where none is."""
        X, bound = np.asarray(X, self.dtype), self.params.max_l2_norm
        if bound is None:
            return X
        norms = np.linalg.norm(X.astype(np.float64), axis=1)
        if norms.max(initial=0) <= bound:
            return X
        # A little below the bound, so that rounding to float32 stays below it too.
        factors = np.where(norms > bound, bound * (1 - 1e-6) / np.maximum(norms, bound), 1)
        return X * factors[:, None].astype(self.dtype)

    @property
    def work_per_agent(self) -> float:
        """Multiplications and additions of one gradient, for an average agent and all seeds, as of a matrix product.

        The compiled loop takes about eight times as long for each.
        """
        return 8 * 4 * self.n_samples / self.n_agents * self.n_seeds * self.model_shape[1]

    @property
    def bound_l2(self) -> float:
        """Largest ||a||_2 of an admissible record."""
        largest = max(abs(bound) for bound in self.dataset.domain) * self.dataset.n_features**0.5
        return min(largest, self.params.max_l2_norm or largest)

    @property
    def bound_l1(self) -> float:
        """Largest ||a||_1 of an admissible record."""
        n, largest = self.dataset.n_features, max(abs(bound) for bound in self.dataset.domain)
        return float(min(n * largest, n**0.5 * self.bound_l2))

    @property
    def gradient_bound(self) -> float:
        """Largest l2 norm of an admissible record's gradient."""
        return float(self.bound_l2)

    @property
    def regularizer_weight(self) -> float:
        """Bound on the curvature of an agent's regulariser: (lambda / n) c4 of huang2019, theorem 4."""
        return self.params.strength if self.params.smooth else np.inf

    @property
    def regularizer_bound(self) -> float:
        """Bound on an agent's regulariser's subgradient, in l2: (lambda / n) c2 of theorem 3."""
        return np.inf if self.params.smooth else self.params.strength * self.model_shape[1] ** 0.5

    def regularizer(self, models: Array) -> Array:
        """(lambda / n) R of models of shape (..., 1, J)."""
        models = models.astype(np.float64)
        if self.params.smooth:
            return self.params.strength / 2 * np.square(models).sum(axis=(-2, -1))
        return self.params.strength * np.abs(models).sum(axis=(-2, -1))

    def add_regularizer(self, gradient: Array, at: Array, whole: bool = False) -> Array:
        """Add (lambda / n) R'(at), a subgradient, in place; or lambda R'(at)."""
        weight = self.params.strength * (self.n_agents if whole else 1)
        gradient += self.dtype.type(weight) * (at if self.params.smooth else np.sign(at))
        return gradient

    def prox(self, v: Array, step: Array) -> Array:
        """Proximal map of the part of the regulariser that has no gradient: soft thresholding for l1."""
        if self.params.smooth:
            return v
        threshold = (self.params.strength * step).astype(self.dtype)
        return np.sign(v) * np.maximum(np.abs(v) - threshold, 0)

    def optimum(self) -> Array:
        """Minimiser of sum_i f_i for each seed, by scikit-learn, shape (S, 1, J).

        Newton steps for l2; coordinate descent (liblinear) for l1, which comes within 1e-4 of the smallest objective:
        more would take minutes a seed on Adult.
        """
        from sklearn.linear_model import LogisticRegression  # slow to import

        w = np.empty((self.n_seeds, *self.model_shape))
        for seed in range(self.n_seeds):
            rows = [_of_seed(own, seed) for own in self.shares]
            weights = np.concatenate([np.full(n_rows(r), 1 / max(n_rows(r), 1)) for r in rows])
            every = np.concatenate([np.arange(self.X.shape[0])[r] for r in rows])
            model = LogisticRegression(
                C=1 / max(self.n_agents * self.params.strength, 1e-12),
                l1_ratio=0.0 if self.params.smooth else 1.0,
                fit_intercept=False,
                solver="newton-cholesky" if self.params.smooth else "liblinear",
                tol=1e-8 if self.params.smooth else 1e-4,
                max_iter=10_000,
                random_state=0,
            )
            X = self.X[every].astype(np.float64)
            w[seed] = model.fit(X, self.b[every] > 0, weights).coef_
        return w.astype(self.dtype)

    def block(self, agents: slice) -> LogisticBlock:
        """The parts of some agents."""
        return LogisticBlock(self, self.shares[agents])

    def evaluate(
        self, state: Any, blocks: Sequence[LogisticBlock], run: Callable[..., list[Any]]
    ) -> dict[str, Array]:
        """Test error, test loss and training objective of a model, and the loss of the local ones.

        Parameters
        ----------
        state
            With the global model ``w``, shape (S, 1, J), and the local models ``z``, shape (P, S, 1, J).
        blocks
            All agents.
        run
            Maps a function over a list, in parallel.

        Returns
        -------
        Arrays of shape (S,): ``test_error`` (fraction), ``test_loss``, ``train_loss`` (nats; the objective
        sum_i f_i(w)) and ``empirical_loss``, (1/n) sum_i (1/m_i) sum_j of the loss at z_i (huang2019, section VI).
        """
        w, z = state.w, state.z
        X, b, parts = self._test
        test_loss, errors = np.zeros((2, self.n_seeds))
        for seeds, rows in parts:
            margins = b[rows][:, None] * (X[rows] @ w[seeds, 0].T)
            test_loss[seeds] = np.logaddexp(0, -margins.astype(np.float64)).mean(axis=0)
            # A margin of zero is a tie, which goes to the first class.
            errors[seeds] = np.where(b[rows][:, None] > 0, margins <= 0, margins < 0).mean(axis=0)
        ends = itertools.accumulate((len(block.n_samples) for block in blocks), initial=0)
        spans = itertools.starmap(slice, itertools.pairwise(ends))
        pairs = list(zip(blocks, spans, strict=True))
        shared = np.concatenate(run(lambda pair: pair[0].mean_loss(w[None]), pairs))
        own = np.concatenate(run(lambda pair: pair[0].mean_loss(z[pair[1]]), pairs))
        return {
            "test_error": errors,
            "test_loss": test_loss,
            "train_loss": shared.sum(axis=0) + self.n_agents * self.regularizer(w),
            "empirical_loss": own.mean(axis=0),
        }


class LogisticBlock:
    """The parts of B agents, served together.

    Parameters
    ----------
    problem
        The whole.
    shares
        Rows of these agents.
    """

    def __init__(
        self, problem: BoundLogistic, shares: Sequence[Sequence[tuple[slice, Rows]]]
    ) -> None:
        self.problem = problem
        self._shape = (len(shares), problem.n_seeds)
        self.n_samples = np.array([n_rows(own[0][1]) for own in shares], np.int64)
        """m_i, the number of each agent's records, shape (B,); the same for every seed."""
        every = [rows for own in shares for _, rows in own]
        bounds = [0, *itertools.accumulate(map(n_rows, every))]
        # Records of all agents and seeds, one after another, and where those of an agent and seed are.
        joined = _joined(every)
        self._records = problem.X[joined], problem.b[joined]
        self._spans = np.zeros((*self._shape, 2), np.int64)
        places = ((agent, seeds) for agent, own in enumerate(shares) for seeds, _ in own)
        for place, span in zip(places, itertools.pairwise(bounds), strict=True):
            self._spans[place] = span

    @property
    def release_shape(self) -> tuple[int, ...]:
        """Shape of what an agent releases."""
        return self.problem.model_shape

    @cached_property
    def gradient_bound(self) -> Array:
        """Bound on the l2 norm of one record's gradient, shape (B, S): c1 of huang2019.

        The largest norm of the agent's own records (``local``) or of the admissible ones (``global``).
        """
        if self.problem.sensitivity == "global":
            return np.full(self._shape, self.problem.gradient_bound)
        norms = np.linalg.norm(self._records[0].astype(np.float64), axis=1)
        return np.array([[norms[a:b].max(initial=0.0) for a, b in own] for own in self._spans])

    @cached_property
    def _l1_norms(self) -> Array:
        return np.abs(self._records[0]).sum(axis=1, dtype=np.float64)

    @cached_property
    def curvature_bound(self) -> Array:
        """Bound on the spectral norm of one record's Hessian, ||a||^2 / 4, shape (B, S): c3 of huang2019."""
        return self.gradient_bound**2 / 4

    @cached_property
    def smoothness(self) -> Array:
        """L of the agent's part of the mean over all records, shape (B, S); a bound by the records' norms."""
        share = self.n_samples[:, None] / self.problem.n_samples
        return self.curvature_bound * share + self.problem.regularizer_weight

    def gradient(self, z: Array, mean_over: Array | int, floor: float = 0.0) -> Gradient:
        """Gradients of the loss over the agents' records.

        Parameters
        ----------
        z
            Local models, shape (B, S, 1, J).
        mean_over
            What the sums are divided by, one number or one per agent: m_i in huang2019.
        floor
            Probabilities are clipped to [floor, 1].
        """
        problem = self.problem
        # An agent without records has a sum of nothing, whatever it is divided by.
        scale = 1 / np.maximum(np.broadcast_to(mean_over, len(z)), 1)
        value = np.empty(z.shape, z.dtype)
        largest = np.empty(self._shape)
        models, out = np.ascontiguousarray(z[:, :, 0]), value[:, :, 0]
        _gradients(*self._records, self._spans, models, self._l1_norms, floor, out, largest)
        value *= scale[:, None, None, None].astype(z.dtype)
        if problem.sensitivity == "global":
            largest[:] = problem.bound_l1
        return Gradient(value, largest * scale[:, None])

    def mean_loss(self, z: Array) -> Array:
        """Mean loss of each agent's records under its own model.

        Parameters
        ----------
        z
            Models, shape (B, S, 1, J), or (1, S, 1, J) for one that all share.

        Returns
        -------
        float64, shape (B, S).
        """
        models = np.ascontiguousarray(np.broadcast_to(z[:, :, 0], (*self._shape, z.shape[3])))
        total = np.empty(self._shape)
        _losses(*self._records, self._spans, models, total)
        return total / self.n_samples[:, None].clip(1)


def _of_seed(own: Sequence[tuple[slice, Rows]], seed: int) -> Rows:
    """Rows that a seed gives to an agent."""
    return next(rows for seeds, rows in own if seeds.start <= seed < seeds.stop)


def _signs(y: Array, dtype: np.dtype[Any]) -> Array:
    """Labels -1 and +1."""
    return (2 * y - 1).astype(dtype)


def _joined(every: Sequence[Rows]) -> Rows:
    """Rows one after another; a slice, which costs no copy, where they follow each other in the data."""
    slices = [rows for rows in every if isinstance(rows, slice)]
    if len(slices) == len(every):
        return slice(slices[0].start, slices[-1].stop)
    return np.concatenate([rows for rows in every if not isinstance(rows, slice)])


# Records that are read at a time: forward from memory, then backward from the cache.
_CHUNK = 32


# Sums may be reordered, which lets the compiler use vector instructions.
@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _margin(w: Array, a: Array) -> float:
    total = w[0] * a[0]
    for j in range(1, len(w)):
        total += w[j] * a[j]
    return total


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _add_combination(factors: Array, A: Array, total: Array) -> None:
    """Add sum_i factors_i A_i to ``total``, four rows at a time so that it is loaded and stored less often."""
    n, features = A.shape
    whole = n - n % 4
    for i in range(0, whole, 4):
        for j in range(features):
            total[j] += (
                factors[i] * A[i, j]
                + factors[i + 1] * A[i + 1, j]
                + factors[i + 2] * A[i + 2, j]
                + factors[i + 3] * A[i + 3, j]
            )
    for i in range(whole, n):
        for j in range(features):
            total[j] += factors[i] * A[i, j]


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _gradients(
    X: Array,
    b: Array,
    spans: Array,
    models: Array,
    l1_norms: Array,
    floor: float,
    out: Array,
    largest: Array,
) -> None:
    """Sum each agent's gradients over its records, and find its largest l1 contribution."""
    agents, seeds, _ = models.shape
    one, most_wrong = X.dtype.type(1), X.dtype.type(1 - floor)
    factors = np.empty(_CHUNK, X.dtype)
    for p in range(agents):
        for s in range(seeds):
            w, total, most = models[p, s], out[p, s], 0.0
            total[:] = 0
            for start in range(spans[p, s, 0], spans[p, s, 1], _CHUNK):
                n = min(_CHUNK, spans[p, s, 1] - start)
                for i in range(n):
                    factors[i] = b[start + i] * _margin(w, X[start + i])
                for i in range(n):
                    # 1 - s(margin), by the exponential that does not overflow.
                    decay = np.exp(-abs(factors[i]))
                    miss = (decay if factors[i] >= 0 else one) / (one + decay)
                    factors[i] = -b[start + i] * min(miss, most_wrong)
                for i in range(n):
                    most = max(most, abs(factors[i]) * l1_norms[start + i])
                _add_combination(factors[:n], X[start : start + n], total)
            largest[p, s] = most


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _losses(X: Array, b: Array, spans: Array, models: Array, total: Array) -> None:
    """Sum the losses of each agent's records."""
    agents, seeds, _ = models.shape
    for p in range(agents):
        for s in range(seeds):
            loss = 0.0
            for i in range(spans[p, s, 0], spans[p, s, 1]):
                margin = b[i] * _margin(models[p, s], X[i])
                loss += np.log1p(np.exp(-abs(margin))) + max(-margin, 0)
            total[p, s] = loss
