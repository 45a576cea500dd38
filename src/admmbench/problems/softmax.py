"""Multiclass logistic regression (softmax), as ryu2021 (appendix A.8) and ryu2022 (appendix G) state it.

Agent p holds I_p of the I records; with one-hot labels y_i and probabilities h_i = softmax(W x_i),

    f_p(W) = -(1/I) sum_i sum_k y_ik ln h_ik + (beta/P) ||W||_F^2,
    grad f_p(W) = (1/I) sum_i (h_i - y_i) x_i^T + (2 beta/P) W.

Models have shape (K, J), a row per class as in scikit-learn, and carry the seeds in front: (S, K, J). All seeds that
share an agent's rows go through one matrix product; agents are served in blocks of a few, so that what is small is done
for several of them at once: (B, S, K, J). One record contributes (h - y) x^T, whose l1 norm is exactly
||x||_1 ||h - y||_1, and ||h - y||_1 = 2 (1 - h_y): the sensitivity needs no J x K terms.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

import numba
import numpy as np
from numpy.typing import DTypeLike, NDArray
from pydantic import Field

from admmbench.elementwise import elementwise
from admmbench.partition import Rows, Split, n_rows
from admmbench.problems.rows import Gradient, RowProblem

Array = NDArray[Any]

# Rows that go through forward, softmax and backward together: their part of X is still in cache for the second product.
ROWS = 512


class Softmax(RowProblem):
    """Parameters of the problem.

    Parameters
    ----------
    regularization
        beta, weight of the squared Frobenius norm.
    max_l1_norm
        Records with a larger l1 norm are scaled down to it, which bounds the global sensitivity; ``None`` leaves
        them as they are, bounded only by the data set's domain.
    """

    single_output: ClassVar[bool] = False
    smooth: ClassVar[bool] = True

    regularization: Annotated[float, Field(ge=0)] = 1e-6
    max_l1_norm: Annotated[float, Field(gt=0)] | None = None

    def bind(
        self,
        split: Split,
        n_seeds: int,
        sensitivity: Literal["local", "global"] = "local",
        dtype: DTypeLike = np.float32,
    ) -> BoundSoftmax:
        """Join parameters and data; see `BoundSoftmax`."""
        return BoundSoftmax(self, split, n_seeds, sensitivity, np.dtype(dtype))


class BoundSoftmax:
    """The problem on a data set that is shared out over agents.

    Parameters
    ----------
    params
        Weights and bounds.
    split
        Data, and who gets which rows.
    n_seeds
        S, the number of seeds in the batch.
    sensitivity
        Which bound gradients come with.
    dtype
        Precision of the arithmetic.
    """

    def __init__(
        self,
        params: Softmax,
        split: Split,
        n_seeds: int,
        sensitivity: Literal["local", "global"],
        dtype: np.dtype[Any],
    ) -> None:
        self.params = params
        self.dataset = dataset = split.dataset
        self.shares = split.shares
        self.held_out = split.held_out
        self.n_seeds = n_seeds
        self.dtype = dtype
        self.sensitivity = sensitivity
        self.model_shape = (dataset.n_classes, dataset.n_features)
        self.n_agents = len(self.shares)
        self.n_samples = sum(n_rows(own[0][1]) for own in self.shares)

    @property
    def regularizer_weight(self) -> float:
        """2 beta / P, the factor of W in an agent's gradient."""
        return 2 * self.params.regularization / self.n_agents

    @property
    def work_per_agent(self) -> float:
        """Multiplications and additions of one gradient, for an average agent and all seeds."""
        return 4 * self.n_samples / self.n_agents * self.n_seeds * float(np.prod(self.model_shape))

    @cached_property
    def bound_l1(self) -> float:
        """Largest ||x||_1 of an admissible record."""
        largest = max(abs(bound) for bound in self.dataset.domain) * self.dataset.n_features
        return min(largest, self.params.max_l1_norm or largest)

    @cached_property
    def bound_l2(self) -> float:
        """Largest ||x||_2 of an admissible record."""
        largest = max(abs(bound) for bound in self.dataset.domain)
        # With |x_j| <= b and ||x||_1 <= B, ||x||_2^2 <= b B.
        return float((largest * self.bound_l1) ** 0.5)

    @property
    def gradient_bound(self) -> float:
        """Largest Frobenius norm of an admissible record's gradient."""
        return float(2**0.5 * self.bound_l2)

    @property
    def regularizer_bound(self) -> float:
        """Bound on the regulariser's subgradient: there is none."""
        return np.inf

    def prox(self, v: Array, step: Array) -> Array:
        """Proximal map of the part of the regulariser that has no gradient: there is none."""
        return v

    def regularizer(self, models: Array) -> Array:
        """(beta / P) ||W||_F^2 of an agent, for models of shape (..., K, J)."""
        total = np.square(models, dtype=np.float64).sum(axis=(-2, -1))
        return 0.5 * self.regularizer_weight * total

    def add_regularizer(self, gradient: Array, at: Array, whole: bool = False) -> Array:
        """Add the regulariser's gradient (2 beta / P) ``at`` in place, or 2 beta ``at``."""
        weight = 2 * self.params.regularization if whole else self.regularizer_weight
        return _plus_multiple(gradient, weight, at, out=gradient)

    def optimum(self) -> Array:
        """Minimiser of sum_p f_p for each seed, by scikit-learn's L-BFGS, shape (S, K, J)."""
        from sklearn.linear_model import LogisticRegression  # slow to import

        w = np.empty((self.n_seeds, *self.model_shape))
        blocks = [_Share(self, 0, *own) for shares in self.shares for own in shares]
        for seed in range(self.n_seeds):
            shares = [each for each in blocks if each.seeds.start <= seed < each.seeds.stop]
            X = np.concatenate([each.records(slice(0, each.n_samples)) for each in shares])
            y = np.concatenate([each.labels for each in shares])
            # Two classes have one row in scikit-learn, the difference of those here.
            factor = 1 if len(w[seed]) == 2 else 2
            model = LogisticRegression(
                C=1 / max(factor * self.n_samples * self.params.regularization, 1e-12),
                fit_intercept=False,
                tol=1e-8,
                max_iter=10_000,
            )
            found = model.fit(X.astype(np.float64), y).coef_
            w[seed] = found if len(found) > 1 else np.concatenate([-found, found]) / 2
        return w.astype(self.dtype)

    def block(self, agents: slice) -> SoftmaxBlock:
        """The parts of some agents."""
        return SoftmaxBlock(self, self.shares[agents])

    def evaluate(
        self, state: Any, blocks: Sequence[SoftmaxBlock], run: Callable[..., list[Any]]
    ) -> dict[str, Array]:
        """Test error, test loss and training objective of a model.

        Parameters
        ----------
        state
            With the global model ``w``, shape (S, K, J).
        blocks
            All agents.
        run
            Maps a function over a list, in parallel.

        Returns
        -------
        Arrays of shape (S,): ``test_error`` (fraction), ``test_loss`` and ``train_loss`` (nats; the latter is the
        objective sum_p f_p(w), regulariser included).
        """
        w = state.w
        test_loss, errors = np.zeros((2, self.n_seeds))
        for seeds, *sums in run(lambda part: self._test(w, *part), self._test_parts()):
            test_loss[seeds] += sums[0]
            errors[seeds] += sums[1]
        train_loss = np.sum(run(lambda block: block.loss(w), blocks), axis=0)
        n = self.dataset.n_test if self.held_out is None else n_rows(self.held_out[0][1])
        penalty = self.params.regularization * np.square(w, dtype=np.float64).sum(axis=(1, 2))
        return {
            "test_error": errors / n,
            "test_loss": test_loss / n,
            "train_loss": train_loss / self.n_samples + penalty,
        }

    def _test_parts(self) -> list[tuple[slice, Rows]]:
        """Some seeds, and some of their test rows."""
        if self.held_out is None:
            return [(slice(0, self.n_seeds), rows) for rows in _spans(self.dataset.n_test)]
        return [
            (
                seeds,
                np.arange(rows.start, rows.stop)[part] if isinstance(rows, slice) else rows[part],
            )
            for seeds, rows in self.held_out
            for part in _spans(n_rows(rows))
        ]

    def _test(self, w: Array, seeds: slice, rows: Rows) -> tuple[slice, Array, Array]:
        """Sum of the cross-entropies and number of errors on some test rows."""
        data = self.dataset
        X, y = (data.X_test, data.y_test) if self.held_out is None else (data.X_train, data.y_train)
        labels = y[rows]
        logits = _logits(np.asarray(X[rows], self.dtype), w[seeds])
        wrong = logits.argmax(axis=2) != labels[:, None]
        return seeds, _losses(logits, labels), wrong.sum(axis=0, dtype=np.float64)


class SoftmaxBlock:
    """The parts of B agents, served together.

    Parameters
    ----------
    problem
        The whole.
    shares
        Rows of these agents.
    """

    def __init__(
        self, problem: BoundSoftmax, shares: Sequence[Sequence[tuple[slice, Rows]]]
    ) -> None:
        self.problem = problem
        self._shares = [
            _Share(problem, b, seeds, rows) for b, own in enumerate(shares) for seeds, rows in own
        ]
        self._shape = (len(shares), problem.n_seeds)
        self.n_samples = np.zeros(len(shares), np.int64)
        """I_p, the number of each agent's records, shape (B,); the same for every seed."""
        for share in self._shares:
            self.n_samples[share.agent] = share.n_samples

    @property
    def release_shape(self) -> tuple[int, ...]:
        """Shape of what an agent releases."""
        return self.problem.model_shape

    @cached_property
    def gradient_bound(self) -> Array:
        """Bound on the Frobenius norm of one record's gradient (h - y) x^T, shape (B, S).

        sqrt(2) ||x||_2, as ||h - y||_2 <= sqrt(2); the largest of the agent's own records (``local``) or of the
        admissible ones (``global``).
        """
        if self.problem.sensitivity == "global":
            return np.full(self._shape, self.problem.gradient_bound)
        return 2**0.5 * self._measured(lambda share: share.norms(2).max(initial=0.0))

    @cached_property
    def curvature_bound(self) -> Array:
        """Bound on the spectral norm of one record's Hessian, ||x||_2^2 / 2 (Boehning 1992), shape (B, S)."""
        return self.gradient_bound**2 / 4

    @cached_property
    def smoothness(self) -> Array:
        """L of f_p, shape (B, S): sigma_max(X_p)^2 / (2 I) + 2 beta / P.

        With ``global`` sensitivity sigma_max^2 is bounded by I_p ||x||_2^2 of admissible records, so that a step size
        made of it tells nothing about the agent's own.
        """
        problem = self.problem
        if problem.sensitivity == "global":
            squared = np.broadcast_to(self.n_samples[:, None], self._shape) * problem.bound_l2**2
        else:
            squared = self._measured(lambda share: share.largest_singular_value()) ** 2
        return squared / (2 * problem.n_samples) + problem.regularizer_weight

    def _measured(self, measure: Callable[[_Share], float]) -> Array:
        values = np.empty(self._shape)
        for share in self._shares:
            values[share.agent, share.seeds] = measure(share)
        return values

    def gradient(self, z: Array, mean_over: Array | int, floor: float = 0.0) -> Gradient:
        """Gradients of the loss over the agents' records.

        Parameters
        ----------
        z
            Local models, shape (B, S, K, J).
        mean_over
            What the sums are divided by, one number or one per agent: I in ryu2021 and ryu2022, I_p in huang2019.
        floor
            Probabilities are clipped to [floor, 1], as the authors' code of ryu2022 does with 1e-9.
        """
        # An agent without records has a sum of nothing, whatever it is divided by.
        scale = 1 / np.maximum(np.broadcast_to(mean_over, len(z)), 1)
        value = np.empty(z.shape, z.dtype)  # in C order, whatever the order of z
        value[self.n_samples == 0] = 0
        largest = np.zeros(self._shape)
        for batch in self._batches:
            batch.gradient(z, value, largest, scale, floor)
        if self.problem.sensitivity == "global":
            largest[:] = 2 * self.problem.bound_l1
        return Gradient(value, largest * scale[:, None])

    def loss(self, w: Array) -> Array:
        """Sum of the cross-entropies of all records of the block, shape (S,)."""
        total = np.zeros(len(w))
        for share in self._shares:
            for rows in _spans(share.n_samples):
                logits = _logits(share.records(rows), w[share.seeds])
                total[share.seeds] += _losses(logits, share.labels[rows])
        return total

    def mean_loss(self, z: Array) -> Array:
        """Mean cross-entropy of each agent's records under its own model; models (B, S, K, J), means (B, S)."""
        total = np.zeros(self._shape)
        for share in self._shares:
            for rows in _spans(share.n_samples):
                logits = _logits(share.records(rows), z[share.agent, share.seeds])
                total[share.agent, share.seeds] += _losses(logits, share.labels[rows])
        return total / self.n_samples[:, None].clip(1)

    @cached_property
    def _batches(self) -> list[_Batch]:
        """Pieces of the agents' records in batches of at most ROWS rows and equally many seeds."""
        pieces = [(share, rows) for share in self._shares for rows in _spans(share.n_samples)]
        batches: list[list[tuple[_Share, slice]]] = []
        used = 0
        for share, rows in pieces:
            size = rows.stop - rows.start
            fits = batches and batches[-1][0][0].n_seeds == share.n_seeds and used + size <= ROWS
            if not fits:
                batches.append([])
                used = 0
            batches[-1].append((share, rows))
            used += size
        return [_Batch(batch) for batch in batches]


@dataclass(frozen=True, eq=False)
class _Share:
    """Rows that some seeds of the batch give to an agent."""

    problem: BoundSoftmax
    agent: int
    seeds: slice
    rows: Rows

    @cached_property
    def labels(self) -> Array:
        return np.ascontiguousarray(self.problem.dataset.y_train[self.rows])

    @property
    def n_samples(self) -> int:
        return len(self.labels)

    @property
    def n_seeds(self) -> int:
        return int(self.seeds.stop - self.seeds.start)

    @cached_property
    def scale(self) -> Array | None:
        """Factor that brings each record to the admissible l1 norm; None where all are."""
        bound = self.problem.params.max_l1_norm
        if bound is None:
            return None
        norms = np.abs(self.problem.dataset.X_train[self.rows]).sum(axis=1, dtype=np.float64)
        # A little below the bound, so that rounding to float32 stays below it too.
        factors = np.where(norms > bound, bound * (1 - 1e-6) / np.maximum(norms, bound), 1)
        return factors.astype(self.problem.dtype)

    def records(self, span: slice) -> Array:
        """Some of the rows of X; no copy where they are contiguous and as stored."""
        X = self.problem.dataset.X_train
        if isinstance(self.rows, slice):
            part = X[self.rows.start + span.start : self.rows.start + span.stop]
        else:
            part = X[self.rows[span]]
        part = np.asarray(part, self.problem.dtype)
        return part if self.scale is None else part * self.scale[span, None]

    def norms(self, order: int) -> Array:
        """Norm of every record, float64."""
        parts = [
            np.linalg.norm(self.records(span).astype(np.float64), order, axis=1)
            for span in _spans(self.n_samples)
        ]
        return np.concatenate(parts) if parts else np.zeros(0)

    @cached_property
    def l1_norms(self) -> Array:
        return self.norms(1)

    def largest_singular_value(self) -> float:
        parts = [self.records(span) for span in _spans(self.n_samples)]
        gram = sum((X.T @ X for X in parts), np.zeros((1, 1)))
        return float(np.linalg.eigvalsh(gram.astype(np.float64))[-1].clip(0) ** 0.5)


class _Batch:
    """Records of one or several agents whose probabilities are computed together."""

    def __init__(self, pieces: Sequence[tuple[_Share, slice]]) -> None:
        self._pieces = pieces
        self._labels = np.concatenate([share.labels[rows] for share, rows in pieces])
        self._norms = np.concatenate([share.l1_norms[rows] for share, rows in pieces])
        sizes = [rows.stop - rows.start for _, rows in pieces]
        self._owner = np.repeat([share.agent for share, _ in pieces], sizes)
        ends = [0, *itertools.accumulate(sizes)]
        self._spans = [slice(*bounds) for bounds in itertools.pairwise(ends)]

    def gradient(self, z: Array, value: Array, largest: Array, scale: Array, floor: float) -> None:
        """Add to the agents' scaled gradients, and raise ``largest`` to their l1 contributions (unscaled)."""
        K, J = z.shape[2:]
        S = self._pieces[0][0].n_seeds
        buffer = np.empty((len(self._labels), S, K), z.dtype)
        records = [share.records(rows) for share, rows in self._pieces]
        places = [(share.agent, share.seeds) for share, _ in self._pieces]
        for X, place, span in zip(records, places, self._spans, strict=True):
            flat = z[place].reshape(S * K, J)
            np.matmul(X, flat.T, out=buffer[span].reshape(len(X), S * K))
        _exponentials(buffer)
        contributions = _to_residual(buffer, self._labels, self._norms, scale[self._owner], floor)
        for X, (_, rows), place, span in zip(
            records, self._pieces, places, self._spans, strict=True
        ):
            back = buffer[span].reshape(len(X), S * K).T
            flat = value[place].reshape(S * K, J)
            if rows.start == 0:  # the agent's first piece
                np.matmul(back, X, out=flat)
            else:
                flat += back @ X
            np.maximum(largest[place], contributions[span].max(axis=0), out=largest[place])


def _spans(n: int) -> Iterator[slice]:
    return (slice(start, min(start + ROWS, n)) for start in range(0, n, ROWS))


def _logits(X: Array, w: Array) -> Array:
    """Products of the records with all models, shape (rows, S, K)."""
    S, K, J = w.shape
    return (X @ w.reshape(S * K, J).T).reshape(len(X), S, K)


def _losses(logits: Array, labels: Array) -> Array:
    """Sum of the cross-entropies, shape (S,), float64; overwrites the logits."""
    _subtract_largest(logits)
    own = logits[np.arange(len(labels)), :, labels].astype(np.float64)
    losses: Array = np.log(np.exp(logits).sum(axis=2, dtype=np.float64)) - own
    return losses.sum(axis=0)


def _exponentials(logits: Array) -> None:
    """Softmax up to its denominator, in place: exp(logit - largest logit).

    numpy's vectorised exponential is several times as fast as the scalar one that compiled loops call.
    """
    _subtract_largest(logits)
    np.exp(logits, out=logits)


@elementwise
def _plus_multiple(gradient: float, weight: float, model: float) -> float:
    return gradient + weight * model


@numba.njit(cache=True, nogil=True)
def _subtract_largest(logits: Array) -> None:
    n, S, K = logits.shape
    for i in range(n):
        for s in range(S):
            largest = logits[i, s, 0]
            for k in range(1, K):
                largest = max(largest, logits[i, s, k])
            for k in range(K):
                logits[i, s, k] -= largest


@numba.njit(cache=True, nogil=True)
def _to_residual(
    exponentials: Array, labels: Array, norms: Array, scale: Array, floor: float
) -> Array:
    """Turn exponentials into scale * (h - y); return ||x||_1 ||h - y||_1 of every record, shape (rows, S)."""
    n, S, K = exponentials.shape
    contributions = np.empty((n, S))
    for i in range(n):
        y = labels[i]
        for s in range(S):
            row = exponentials[i, s]
            total = row[0]
            for k in range(1, K):
                total += row[k]
            absolute = 0.0
            for k in range(K):
                h = max(row[k] / total, floor)
                if k == y:
                    h -= 1
                absolute += abs(h)
                row[k] = scale[i] * h
            contributions[i, s] = norms[i] * absolute
    return contributions
