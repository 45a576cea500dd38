"""A problem over rows on a GPU: gradients of all agents in a few products, and what is measured of models."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from admmbench.device import softmax
from admmbench.device.arrays import Array, Products, cupy, zeros_here
from admmbench.partition import RowSelection
from admmbench.problems.base import Gradient, Map, State, on_host
from admmbench.problems.batches import Share, record_norms
from admmbench.problems.loss import Norms
from admmbench.problems.rows import BoundRows, RowParts, Sample

# Matrices of records in one product are as long as the longest; none is shorter than this part of it.
_ALIKE = 0.85


class DeviceRows(BoundRows):
    """`BoundRows` of a softmax model whose records and models are on a GPU."""

    def zeros(self, *leading: int) -> Array:
        """Return models of zeros, shape (..., K, J)."""
        return cupy().zeros((*leading, *self.model_shape), self.dtype)

    def block(self, agents: slice) -> DeviceParts:
        """Return the parts of some agents."""
        return DeviceParts(self, self.split.shares[agents])

    @cached_property
    def _on_device(self) -> list[tuple[slice, Products, Array]]:
        """Seeds, with products of their test records, and targets."""
        X, y = self._test_data
        asarray, found = cupy().asarray, []
        for seeds, rows in self._held_out:
            n_predictions = (seeds.stop - seeds.start) * self.model_shape[0]
            records = asarray(np.ascontiguousarray(X[rows]))
            products = Products([records[None]], np.zeros(1, int), n_predictions)
            found.append((seeds, products, asarray(y[rows])))
        return found

    @property
    def _test_parts(self) -> Sequence[Any]:  # type: ignore[override]
        return self._on_device

    def _test(  # type: ignore[override]
        self, w: Array, seeds: slice, records: Products, y: Array
    ) -> tuple[slice, Array, Array]:
        losses, mistakes = self._evaluated(w[seeds], records, y)
        return seeds, on_host(losses.sum(axis=0)), on_host(mistakes.sum(axis=0))

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
        ((_, records, y),) = self._on_device
        return on_host(self._evaluated(state.w, records, y)[1]).T.astype(bool)


class _Matrix(NamedTuple):
    """Records of an agent, for all seeds, or for one."""

    agent: int
    seed: int
    X: Array
    y: Array


class DeviceParts(RowParts):
    """`RowParts` whose records are on a GPU: matrices of about equal length go through products together."""

    def __init__(
        self, whole: BoundRows, shares: Sequence[Sequence[tuple[slice, RowSelection]]]
    ) -> None:
        super().__init__(whole, shares)
        xp, (P, S), (K, _) = cupy(), self._shape, whole.model_shape
        self._dtype = np.promote_types(whole.dtype, whole.released)
        # All seeds share their agents' records, or each has records of its own.
        together = len(self._shares) == P
        self._seeds = S if together else 1
        batches = _batches(self._shares, together)
        matrices = list(itertools.chain(*batches))
        self._places = np.array([(each.agent, each.seed) for each in matrices])
        agents, seeds = self._places.T
        records = [_padded([each.X for each in batch], self._dtype) for batch in batches]
        n_predictions = self._seeds * K
        self._local = Products(records, (agents * S + seeds) * K, n_predictions)
        self._global = Products(records, seeds * K, n_predictions)
        self._counts = [(len(batch), len(batch[0].y)) for batch in batches]
        """Number of matrices, and their length, of each batch."""
        rows_of_each = np.repeat([R for _, R in self._counts], [B for B, _ in self._counts])
        owners = np.repeat(self._places, rows_of_each, axis=0).T
        self._owners = xp.asarray(np.ascontiguousarray(owners))

        def rows(values: Callable[[_Matrix], Array], dtype: Any = np.float64) -> Array:
            return xp.concatenate(
                [_padded(list(map(values, own)), dtype).ravel() for own in batches]
            )

        self._targets = rows(lambda matrix: matrix.y, np.int64)
        norms = (rows(partial(_norms, order=order)) for order in (1, 2))
        self._norms = xp.stack(list(norms))
        self._real = rows(lambda matrix: np.ones(len(matrix.y)))[:, None]
        self._u = xp.empty(self._local.n_rows * n_predictions, self._dtype)
        self._scales: tuple[Array, Array] | None = None

    def gradient(
        self, z: Array, mean_over: Array | int, floor: float = 0.0, sample: Sample | None = None
    ) -> Gradient:
        """Sum gradients of the loss over the agents' records, see `RowParts.gradient`."""
        if sample is not None:
            raise TypeError("a GPU takes all records of an agent")
        loss = self.whole.loss.clipped(floor) if floor else self.whole.loss
        scale = self._scale(mean_over)
        self._local.predict(z.astype(self._dtype, copy=False), self._u)
        scales = self._of_records(scale)
        xp, bounds = cupy(), (2, *self._shape)
        largest_there, largest_here = xp.zeros(bounds), zeros_here(bounds)
        known = self._owners, self._norms, largest_there
        places, (K, J) = self._local.places, self.whole.model_shape
        softmax.to_slopes(loss, self._u, places, self._targets, scales, *known, K)
        # On its way while the second product is computed.
        largest_there.get(out=largest_here, blocking=False)
        arrived = xp.cuda.Event()
        arrived.record()
        entries = xp.empty((*self._shape, K, J), self._dtype)
        entries[self.n_samples == 0] = 0
        self._local.back(self._u, entries)

        def raise_to(largest: Norms) -> None:
            arrived.synchronize()
            largest.l1[:], largest.l2[:] = largest_here

        return Gradient(entries, lambda: self._sensitivity(loss, scale, raise_to))

    def _of_records(self, scale: Array) -> Array:
        """Factors of agents, for each of their records; they are the same in all rounds."""
        if self._scales is None or not np.array_equal(self._scales[0], scale):
            of_agents = cupy().asarray(scale.astype(self._dtype))
            self._scales = scale, of_agents[self._owners[0]]
        return self._scales[1]

    def losses(self, z: Array) -> Array:
        """Sum the losses of each agent's records, see `RowParts.losses`."""
        products = self._local if len(z) == len(self.n_samples) else self._global
        products.predict(z.astype(self._dtype, order="C", copy=False), self._u)
        losses, mistakes = cupy().empty((2, products.n_rows, self._seeds))
        K = self.whole.model_shape[0]
        softmax.evaluate(self._u, products.places, self._targets, losses, mistakes, K)
        losses *= self._real
        ends = itertools.accumulate((B * R for B, R in self._counts), initial=0)
        sums = [
            losses[start:stop].reshape(B, R, -1).sum(axis=1)
            for (B, R), (start, stop) in zip(self._counts, itertools.pairwise(ends), strict=True)
        ]
        total = np.zeros(self._shape)
        found = on_host(cupy().concatenate(sums))
        for (agent, seed), values in zip(self._places, found, strict=True):
            total[agent, seed : seed + self._seeds] = values
        return total


def _batches(shares: Sequence[Share], together: bool) -> list[list[_Matrix]]:
    """Put matrices of records, for all seeds or each, in batches of about equal length, the longest first in each."""
    matrices = [
        _Matrix(share.agent, seed, share.X, share.y)
        for share in shares
        for seed in ([0] if together else range(share.seeds.start, share.seeds.stop))
        if len(share.y)
    ]
    batches: list[list[_Matrix]] = []
    for matrix in sorted(matrices, key=lambda each: -len(each.y)):
        if not batches or len(matrix.y) < _ALIKE * len(batches[-1][0].y):
            batches.append([])
        batches[-1].append(matrix)
    return batches


def _norms(matrix: _Matrix, order: int) -> Array:
    return record_norms(matrix.X, order)


def _padded(arrays: Sequence[Array], dtype: Any) -> Array:
    """Stack arrays on the GPU, filled up with zeros to the length of the first, which is the longest."""
    padded = np.zeros((len(arrays), *arrays[0].shape), dtype)
    for row, array in zip(padded, arrays, strict=True):
        row[: len(array)] = array
    return cupy().asarray(padded)
