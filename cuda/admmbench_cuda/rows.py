"""A problem over rows on a GPU: gradients of all agents in a few products, and what is measured of models."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from admmbench.datasets import RowSelection
from admmbench.problems.base import Gradient, Map, State, on_host
from admmbench.problems.batches import Share
from admmbench.problems.loss import Norms
from admmbench.problems.rows import BoundRows, RowParts, Sample
from admmbench_cuda import softmax
from admmbench_cuda.arrays import Array, Products, cupy, zeros_here
from admmbench_cuda.used_columns import gather

# Matrices of records in one product are as large as the largest; none is shorter or narrower than this part of it.
_ALIKE = 0.85
# To copy a model to the columns that its agent uses, and its gradient back, takes as long as products of all columns
# with so many records.
COPY = 40
# Products are fast where lengths and widths are multiples of this.
_MULTIPLE = 8


class DeviceRows(BoundRows):
    """`BoundRows` of a softmax model whose records and models are on a GPU."""

    def zeros(self, *leading: int) -> Array:
        """Return models of zeros, shape (..., K, J)."""
        return cupy().zeros((*leading, *self.model_shape), self.dtype)

    def block(self, agents: slice) -> DeviceParts:
        """Return the parts of some agents."""
        return DeviceParts(self, self.split.shares[agents])

    @cached_property
    def _test_parts(self) -> list[tuple[slice, Products, Array]]:  # type: ignore[override]
        """Seeds, with products of their test records, and targets."""
        (X, y), (K, J) = self.test_data, self.model_shape
        asarray, found = cupy().asarray, []
        for seeds, rows in self.held_out:
            n_predictions = (seeds.stop - seeds.start) * K
            records = asarray(np.ascontiguousarray(X[rows]))
            products = Products([records[None]], np.zeros(1, int), J, n_predictions)
            found.append((seeds, products, asarray(y[rows])))
        return found

    def _test(self, w: Array, records: Products, y: Array) -> tuple[Array, Array]:  # type: ignore[override]
        sums = [
            [on_host(values.sum(axis=0)) for values in self._evaluated(models, records, y)]
            for models in w.reshape(-1, *w.shape[-3:])
        ]
        losses, mistakes = np.moveaxis(np.array(sums), 1, 0).reshape(2, *w.shape[:-2])
        return losses, mistakes

    def _evaluated(self, w: Array, records: Products, y: Array) -> tuple[Array, Array]:
        """Return losses and mistakes of models for test records, both of shape (n, S)."""
        xp, K = cupy(), self.model_shape[0]
        u = xp.empty(len(y) * len(w) * K, w.dtype)
        records.predict(w, u)
        losses, mistakes = xp.empty((2, len(y), len(w)))
        softmax.evaluate(u, records.places, y, losses, mistakes, K)
        return losses, mistakes

    def mistakes(self, state: State, run: Map) -> Array | None:
        """Tell which test records each seed's model gets wrong, shape (S, R); None where seeds have their own."""
        if self.split.held_out is not None:
            return None
        ((_, records, y),) = self._test_parts
        return on_host(self._evaluated(state.w, records, y)[1]).T.astype(bool)


@dataclass(frozen=True, eq=False)
class _Matrix:
    """Records of an agent, for all seeds, or for one, which have zeros alone behind the first ``width`` columns."""

    share: Share
    seed: int
    X: Array
    width: int

    @property
    def length(self) -> int:
        """Return the number of records."""
        return len(self.X)


class DeviceParts(RowParts):
    """`RowParts` whose records are on a GPU: matrices of about equal size go through products together."""

    def __init__(
        self, whole: BoundRows, shares: Sequence[Sequence[tuple[slice, RowSelection]]]
    ) -> None:
        super().__init__(whole, shares)
        xp, (P, S), K = cupy(), self._shape, whole.model_shape[0]
        self._dtype = np.promote_types(whole.dtype, whole.released)
        # All seeds share their agents' records, or each has records of its own.
        together = len(self._shares) == P
        self._seeds = S if together else 1
        X, used = self._take_columns()
        batches = _batches(
            [
                _Matrix(share, seed, X[start : start + len(share.y)], int(used[share.agent]))
                for start, share in zip(self._starts, self._shares, strict=True)
                for seed in ([0] if together else range(share.seeds.start, share.seeds.stop))
                if len(share.y)
            ]
        )
        matrices = list(itertools.chain(*batches))
        self._places = np.array([(matrix.share.agent, matrix.seed) for matrix in matrices])
        agents, seeds = self._places.T
        records = [_records(batch, self._width, self._dtype) for batch in batches]
        n_predictions = self._seeds * K
        self._products = Products(records, (agents * S + seeds) * K, self._width, n_predictions)
        self._counts = [array.shape[:2] for array in records]
        """Number of matrices, and their length, of each batch."""
        rows_of_each = np.repeat([R for _, R in self._counts], [B for B, _ in self._counts])
        owners = np.repeat(self._places, rows_of_each, axis=0).T
        self._owners = xp.asarray(np.ascontiguousarray(owners))

        def rows(values: Callable[[Share], Array], otherwise: float = 0) -> Array:
            padded = [
                _padded(values(matrix.share), R, otherwise)
                for batch, (_, R) in zip(batches, self._counts, strict=True)
                for matrix in batch
            ]
            return xp.asarray(np.concatenate(padded))

        self._targets = rows(lambda share: share.y.astype(np.int64), otherwise=-1)
        norms = rows(lambda share: share.norms.l1), rows(lambda share: share.norms.l2)
        self._norms = xp.stack(list(norms))
        self._u = xp.empty(self._products.n_rows * n_predictions, self._dtype)
        # What products do not set, columns of narrower records and agents without any, stays zero.
        shape = P, S, K, self._width
        self._narrow_gradients = None if self._index is None else xp.zeros(shape, self._dtype)
        self._make_gradients = xp.empty if self.n_samples.all() else xp.zeros
        self._scales: tuple[Array, Array] | None = None
        self._arriving: deque[tuple[Any, Array]] = deque()
        """Bounds that the GPU writes to the memory of the processor, and when they are there."""

    def _take_columns(self) -> tuple[Array, Array]:
        """Choose the columns of models that go through products: those that agents use, or all.

        Returns
        -------
        The records in these columns, and the number of columns of each agent.
        """
        xp, narrow, (P, J) = cupy(), self._narrow, (len(self.n_samples), self.whole.model_shape[1])
        if narrow is None or ((1 - narrow.used / J) * self.n_samples).sum() < COPY * P:
            self._width, self._index, self._position = J, None, None
            return self._X, np.full(P, J)
        # And a last one of zeros, where all columns are that an agent does not use.
        used = 1 + narrow.used
        self._width = _rounded(int(used.max()))
        index = np.zeros((P, self._width), np.uint32)
        index[:, : narrow.X.shape[1]] = narrow.index
        self._index = xp.asarray(index)
        last = narrow.used[:, None].astype(np.uint32)
        self._position = xp.asarray(np.minimum(narrow.position, last))
        return narrow.X, used

    def gradient(
        self, z: Array, mean_over: Array | int, floor: float = 0.0, sample: Sample | None = None
    ) -> Gradient:
        """Sum gradients of the loss over the agents' records, see `RowParts.gradient`."""
        if sample is not None:
            raise TypeError("a GPU takes all records of an agent")
        loss = self.whole.loss.clipped(floor) if floor else self.whole.loss
        scale = self._scale(mean_over)
        self._products.predict(self._models(z), self._u)
        scales = self._of_records(scale)
        xp, bounds = cupy(), (2, *self._shape)
        largest_there, largest_here = xp.zeros(bounds), zeros_here(bounds)
        known = self._owners, self._norms, largest_there
        places, K = self._products.places, self.whole.model_shape[0]
        softmax.to_derivatives(loss, self._u, places, self._targets, scales, *known, K)
        # On its way while the second product is computed.
        largest_there.get(out=largest_here, blocking=False)
        arrived = xp.cuda.Event()
        arrived.record()
        # Nobody may ask for bounds; until they are here, others must not get the memory.
        while self._arriving and self._arriving[0][0].done:
            self._arriving.popleft()
        self._arriving.append((arrived, largest_here))
        entries = self._back()

        def raise_to(largest: Norms) -> None:
            arrived.synchronize()
            largest.l1[:], largest.l2[:] = largest_here

        return Gradient(entries, lambda: self._sensitivity(loss, scale, raise_to))

    def _models(self, z: Array) -> Array:
        """Models of all agents in the columns that they use, shape (B, S, K, W); they may share one."""
        xp = cupy()
        if self._index is not None:
            return gather(z, self._index, self._dtype)
        z = xp.broadcast_to(z, (len(self.n_samples), *z.shape[1:]))
        return xp.ascontiguousarray(z.astype(self._dtype, copy=False))

    def _back(self) -> Array:
        """Sums of records times their derivatives, shape (B, S, K, J)."""
        if self._narrow_gradients is not None:
            self._products.back(self._u, self._narrow_gradients)
            return gather(self._narrow_gradients, self._position, self._dtype)
        entries = self._make_gradients((*self._shape, *self.whole.model_shape), self._dtype)
        self._products.back(self._u, entries)
        return entries

    def _of_records(self, scale: Array) -> Array:
        """Factors of agents, for each of their records; they are the same in all rounds."""
        if self._scales is None or not np.array_equal(self._scales[0], scale):
            of_agents = cupy().asarray(scale.astype(self._dtype))
            self._scales = scale, of_agents[self._owners[0]]
        return self._scales[1]

    def losses(self, z: Array) -> Array:
        """Sum the losses of each agent's records, see `RowParts.losses`."""
        products = self._products
        products.predict(self._models(z), self._u)
        losses, mistakes = cupy().empty((2, products.n_rows, self._seeds))
        K = self.whole.model_shape[0]
        softmax.evaluate(self._u, products.places, self._targets, losses, mistakes, K)
        ends = itertools.accumulate((B * R for B, R in self._counts), initial=0)
        sums = [
            losses[start:stop].reshape(B, R, -1).sum(axis=1)
            for (B, R), (start, stop) in zip(self._counts, itertools.pairwise(ends), strict=True)
        ]
        total = np.zeros(self._shape)
        losses_of_matrices = on_host(cupy().concatenate(sums))
        for (agent, seed), values in zip(self._places, losses_of_matrices, strict=True):
            total[agent, seed : seed + self._seeds] = values
        return total


def _batches(matrices: Sequence[_Matrix]) -> list[list[_Matrix]]:
    """Put matrices of records in batches of about equal length and width, the longest and the widest first."""
    batches: list[list[_Matrix]] = []
    for long in _alike(matrices, lambda matrix: matrix.length):
        batches += _alike(long, lambda matrix: matrix.width)
    return batches


def _alike(matrices: Sequence[_Matrix], size: Callable[[_Matrix], int]) -> list[list[_Matrix]]:
    groups: list[list[_Matrix]] = []
    for matrix in sorted(matrices, key=size, reverse=True):
        if not groups or size(matrix) < _ALIKE * size(groups[-1][0]):
            groups.append([])
        groups[-1].append(matrix)
    return groups


def _records(batch: Sequence[_Matrix], most: int, dtype: Any) -> Array:
    """Records of a batch on the GPU, filled up with zeros, shape (matrices, length, width)."""
    length = _rounded(max(matrix.length for matrix in batch))
    width = min(most, _rounded(max(matrix.width for matrix in batch)))
    records = np.zeros((len(batch), length, width), dtype)
    for own, matrix in zip(records, batch, strict=True):
        own[: matrix.length, : matrix.width] = matrix.X[:, : matrix.width]
    return cupy().asarray(records)


def _padded(values: Array, length: int, otherwise: float) -> Array:
    padded = np.full(length, otherwise, values.dtype)
    padded[: len(values)] = values
    return padded


def _rounded(n: int) -> int:
    """Round up to a multiple."""
    return -(-n // _MULTIPLE) * _MULTIPLE
