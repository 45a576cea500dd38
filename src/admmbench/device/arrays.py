"""Arrays on a GPU, which CuPy has, products of them by cuBLAS, and views of them that numba's kernels take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = Any
"""Of NumPy or of CuPy."""
_INSTALL = "pip install 'admmbench[cuda]'"


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
        raise ValueError(f"device: cuda needs {error.name}: {_INSTALL}") from None
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
    if not array.flags.c_contiguous:
        raise ValueError("expected an array in C order")
    return _view(array.data.ptr, array.shape, array.dtype.str)


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
        Matrices of records by their sizes, each of shape (B, R, J).
    models
        Which models each of all these matrices goes with, shape (matrices,): the first of N rows of length J.
    n_predictions
        N.

    Attributes
    ----------
    n_rows
        Records of all matrices.
    places
        Where the first prediction of each record is, and how far the next one is from it, shape (2, n_rows).
    """

    def __init__(self, records: Sequence[Array], models: NDArray[Any], n_predictions: int) -> None:
        self._records, self._N = records, n_predictions
        size, J = records[0].dtype.itemsize, records[0].shape[2]
        lengths = np.concatenate([np.full(len(each), each.shape[1]) for each in records])
        rows = np.cumsum([0, *lengths])
        self.n_rows = int(rows[-1])
        first = [
            n_predictions * start + np.arange(R) for start, R in zip(rows, lengths, strict=False)
        ]
        apart = np.repeat(lengths, lengths)
        self.places = cupy().asarray(np.stack([np.concatenate(first), apart]))
        every = [each.data.ptr + each.strides[0] * np.arange(len(each)) for each in records]
        self._at_records = _addresses(np.concatenate(every))
        self._at_models = _addresses(size * J * models)
        self._at_predictions = _addresses(size * n_predictions * rows[:-1])

    def predict(self, models: Array, predictions: Array) -> None:
        """Set predictions, an array of ``N n_rows`` numbers, to those of models, shape (..., J)."""
        models_at = self._at_models + models.data.ptr
        at = self._at_records, models_at, self._at_predictions + predictions.data.ptr
        for which, R, J in self._parts():
            self._multiply("TN", (R, self._N, J), at, which, (J, J, R))

    def back(self, slopes: Array, gradients: Array) -> None:
        """Set gradients, shape (..., J), to sums of records times their slopes, which are where predictions are."""
        slopes_at = self._at_predictions + slopes.data.ptr
        at = self._at_records, slopes_at, self._at_models + gradients.data.ptr
        for which, R, J in self._parts():
            self._multiply("NN", (J, self._N, R), at, which, (J, R, J))

    def _parts(self) -> Iterator[tuple[slice, int, int]]:
        start = 0
        for matrices in self._records:
            B, R, J = matrices.shape
            yield slice(start, start + B), R, J
            start += B

    def _multiply(
        self,
        turned: str,
        shape: tuple[int, int, int],
        at: tuple[Array, Array, Array],
        which: slice,
        columns: tuple[int, int, int],
    ) -> None:
        """Multiply matrices that go column by column, from their addresses and the lengths of their columns."""
        xp, dtype = cupy(), self._records[0].dtype
        cublas = xp.cuda.cublas
        multiply = cublas.sgemmBatched if dtype == np.float32 else cublas.dgemmBatched
        how = (getattr(cublas, f"CUBLAS_OP_{each}") for each in turned)
        one, zero = np.ones(1, dtype), np.zeros(1, dtype)
        a, b, out = (each[which].data.ptr for each in at)
        given = one.ctypes.data, a, columns[0], b, columns[1], zero.ctypes.data, out, columns[2]
        handle = xp.cuda.device.get_cublas_handle()
        multiply(handle, *how, *shape, *given, which.stop - which.start)


def _addresses(offsets: NDArray[Any]) -> Array:
    return cupy().asarray(offsets.astype(np.uint64))
