"""Files of results with checksums: a file is read only if it is as it was written."""

from __future__ import annotations

import logging
from pathlib import Path

import xarray as xr

from admmbench import files
from admmbench.files import (
    BINARY,
    CHECKSUM_KEY,
    DAMAGED,
    MADE_AGAIN,
    former,
    is_whole,
    with_checksum,
)

_log = logging.getLogger(__name__)
# Attribute of each result that says where its checksum is: programs that change a file leave its last line out.
_PLACE_OF_CHECKSUM = "of all other bytes: the last line of the file"


class StaleResultError(RuntimeError):
    """Refusal of a result file that is damaged, or does not belong to the present code or configuration."""


def read(path: Path, *, strict: bool = True) -> xr.Dataset:
    """Read a result.

    Parameters
    ----------
    path
        The file.
    strict
        Whether to refuse a file without a checksum, rather than to warn of it.

    Raises
    ------
    StaleResultError
        If the file cannot be read, or was altered.
    """
    fix = MADE_AGAIN
    if path.suffix != ".nc":  # a file of the user, which nothing makes again
        fix = "results are in files such as results/quick/results.nc"
    try:
        is_intact = is_whole(path.read_bytes())
        dataset = None if is_intact is False else xr.load_dataset(path, engine="h5netcdf")
    except Exception as error:  # damage may end in any
        raise StaleResultError(f"{path}: cannot be read as results ({error}); {fix}") from None
    if dataset is None or not (
        is_intact or (dataset.attrs.get(CHECKSUM_KEY) != _PLACE_OF_CHECKSUM and not strict)
    ):
        raise StaleResultError(f"{path}: {DAMAGED}; {fix}")
    if not is_intact:
        _log.warning("%s has no checksum: it may have been altered", path)
    dataset.attrs.pop(CHECKSUM_KEY, None)
    return former.in_keys(dataset, path)


def write(dataset: xr.Dataset, path: Path) -> None:
    """Write a result with its checksum: a reader sees the whole file or none."""
    marked = dataset.assign_attrs({CHECKSUM_KEY: _PLACE_OF_CHECKSUM})
    files.write(path, with_checksum(content(marked), BINARY))


def content(dataset: xr.Dataset) -> bytes:
    """Return the content of a netCDF file, without a checksum.

    The content is made in memory, because HDF5 crashes the process if it cannot write, for example on a full disk.
    Large variables are compressed; in small ones the index would take more space.
    """
    compression = {"zlib": True, "complevel": 9, "shuffle": True}
    large = (name for name, variable in dataset.data_vars.items() if variable.nbytes > 8192)
    encoding = dict.fromkeys(large, compression)
    return bytes(dataset.to_netcdf(engine="h5netcdf", encoding=encoding))
