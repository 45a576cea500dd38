"""Arrays on a GPU, which CuPy has, products of them by cuBLAS, and views of them that numba's kernels take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = Any
"""Of NumPy or of CuPy."""


@cache
def cupy() -> Any:
    """Import CuPy.

    Raises
    ------
    ValueError
        If it is not installed, or there is no GPU.
    """
    try:
        import cupy as found
        import numba_cuda  # noqa: F401  numba itself knows old versions of CUDA alone
    except ImportError as error:
        raise ValueError(
            f"device: cuda needs {error.name}, a dependency of admmbench-cuda; install it with pip (docs/gpu.md)"
        ) from None
    try:
        found.cuda.Device().compute_capability  # noqa: B018  asks the driver
    except Exception as error:
        raise ValueError(f"device: cuda finds no GPU: {error}") from None
    return found


def name() -> str:
    """Name the GPU, and what computes on it."""
    xp, gpu = cupy(), cupy().cuda.Device().id
    import numba_cuda

    found = xp.cuda.runtime.getDeviceProperties(gpu)["name"].decode()
    return f"{found}, cupy {xp.__version__}, numba-cuda {numba_cuda.__version__}"


def zeros_here(shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Make an array of NumPy that a GPU can write to while others go on."""
    cupy()
    from cupyx import zeros_pinned

    return np.asarray(zeros_pinned(shape))


def view(array: Array) -> Any:
    """View an array, in C order, as the kernels of numba take it."""
    return _view_as(array, array.shape)


def flat(array: Array) -> Any:
    """View an array, in C order, as one row of numbers."""
    return _view_as(array, (array.size,))


def _view_as(array: Array, shape: tuple[int, ...]) -> Any:
    if not array.flags.c_contiguous:
        raise ValueError("expected an array in C order")
    return _view(array.data.ptr, shape, array.dtype.str)


class _Memory:
    """Memory that others own, as `cuda.as_cuda_array` finds it."""

    def __init__(self, address: int, shape: tuple[int, ...], kind: str) -> None:
        self.__cuda_array_interface__ = {
            "data": (address, False),
            "shape": shape,
            "typestr": kind,
            "version": 3,
        }


# To make a view takes as long as to launch a kernel; CuPy gives the same memory to the arrays of each round.
@lru_cache(4096)
def _view(address: int, shape: tuple[int, ...], kind: str) -> Any:
    from numba import cuda

    return cuda.as_cuda_array(_Memory(address, shape, kind), sync=False)


class Products:
    """Products of matrices of records with models, for many agents at once, by cuBLAS.

    The R records of a matrix have N predictions each, which lie in memory as an array of shape (N, R).

    Parameters
    ----------
    records
        Matrices of records by their sizes, each of shape (B, R, J), where J is at most W.
    models
        Which models each of all these matrices goes with, shape (matrices,): the first of N rows.
    n_columns
        W, the length of these rows, of which the first J numbers are used.
    n_predictions
        N.

    Attributes
    ----------
    n_rows
        Records of all matrices.
    places
        Where the first prediction of each record is, and how far the next one is from it, shape (2, n_rows).
    """

    def __init__(
        self,
        records: Sequence[Array],
        models: NDArray[Any],
        n_columns: int,
        n_predictions: int,
    ) -> None:
        self._records, self._W, self._N = records, n_columns, n_predictions
        dtype = records[0].dtype
        lengths = np.concatenate([np.full(len(batch), batch.shape[1]) for batch in records])
        rows = np.cumsum([0, *lengths])
        self.n_rows = int(rows[-1])
        first = [
            n_predictions * start + np.arange(R) for start, R in zip(rows, lengths, strict=False)
        ]
        apart = np.repeat(lengths, lengths)
        self.places = cupy().asarray(np.stack([np.concatenate(first), apart]))
        every = [batch.data.ptr + batch.strides[0] * np.arange(len(batch)) for batch in records]
        self._at_records = cupy().asarray(np.concatenate(every).astype(np.uint64))
        self._at_models = _Addresses(dtype.itemsize * n_columns * models)
        self._at_predictions = _Addresses(dtype.itemsize * n_predictions * rows[:-1])
        self._one, self._zero = np.ones(1, dtype), np.zeros(1, dtype)
        cublas = cupy().cuda.cublas
        self._products = cublas.sgemmBatched if dtype == np.float32 else cublas.dgemmBatched
        self._as_is, self._turned = cublas.CUBLAS_OP_N, cublas.CUBLAS_OP_T

    def predict(self, models: Array, predictions: Array) -> None:
        """Set predictions, an array of ``N n_rows`` numbers, to those of models, shape (..., W)."""
        at = (
            self._at_records.data.ptr,
            self._at_models.of(models),
            self._at_predictions.of(predictions),
        )
        for start, (B, R, J) in self._parts():
            columns = J, self._W, R
            self._multiply(self._turned, (R, self._N, J), at, columns, start, B)

    def back(self, derivatives: Array, gradients: Array) -> None:
        """Set gradients, shape (..., W), to sums of records times their derivatives, which are where predictions are.

        Only their first J numbers are set.
        """
        at = (
            self._at_records.data.ptr,
            self._at_predictions.of(derivatives),
            self._at_models.of(gradients),
        )
        for start, (B, R, J) in self._parts():
            columns = J, R, self._W
            self._multiply(self._as_is, (J, self._N, R), at, columns, start, B)

    def _parts(self) -> Iterator[tuple[int, tuple[int, int, int]]]:
        start = 0
        for matrices in self._records:
            yield start, matrices.shape
            start += len(matrices)

    def _multiply(
        self,
        records: int,
        shape: tuple[int, int, int],
        at: tuple[int, int, int],
        columns: tuple[int, int, int],
        start: int,
        count: int,
    ) -> None:
        """Multiply matrices that go column by column, from their addresses and the lengths of their columns."""
        a, b, out = (each + 8 * start for each in at)
        one, zero = self._one.ctypes.data, self._zero.ctypes.data
        given = one, a, columns[0], b, columns[1], zero, out, columns[2]
        handle = cupy().cuda.device.get_cublas_handle()
        self._products(handle, records, self._as_is, *shape, *given, count)


class _Addresses:
    """Addresses of matrices in an array, which cuBLAS reads on the GPU."""

    def __init__(self, offsets: NDArray[Any]) -> None:
        here = cupy().asarray(offsets.astype(np.uint64))
        # CuPy gives the same memory to the arrays of each round.
        self._found = lru_cache(16)(lambda address: here + address)

    def of(self, array: Array) -> int:
        """Return where the addresses are."""
        address: int = self._found(array.data.ptr).data.ptr
        return address
