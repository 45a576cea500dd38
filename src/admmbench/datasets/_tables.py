"""Text files with a record in each line."""

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from admmbench.datasets._fetch import DatasetError

__all__ = ["naming", "read_table"]


@contextmanager
def naming(source: str) -> Iterator[None]:
    """Turn what a library says of wrong content, a `ValueError`, into a `DatasetError` that names the file."""
    try:
        yield
    except ValueError as error:
        raise DatasetError(f"{source}: {error}") from error


def read_table(
    content: bytes, source: str, n_columns: int, dtype: DTypeLike = str, **options: Any
) -> NDArray[Any]:
    """Read a table whose records are lines; empty lines do not count.

    Parameters
    ----------
    content
        Of the file, ASCII text.
    source
        File that an error names.
    n_columns
        Fields of each line.
    dtype
        Type of the fields.
    **options
        How lines are cut, see `numpy.loadtxt`: at white space by default.

    Returns
    -------
    ndarray, shape (n, n_columns)

    Raises
    ------
    DatasetError
        If a line has another number of fields, or one of another type.
    """
    options = {"comments": None, "ndmin": 2, "encoding": "ascii", **options}
    with naming(source), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of empty lines, or a file without records
        table = np.loadtxt(io.BytesIO(content), dtype, **options)
        if table.size and table.shape[1] != n_columns:
            raise ValueError(f"{table.shape[1]:,} fields in a line, expected {n_columns:,}")
    return table.reshape(-1, n_columns)
