"""Files of results: they are read only if they are as they were written."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import xarray as xr

from admmbench.files import BINARY, DAMAGED, MADE_AGAIN, SEAL, is_whole, with_checksum
from admmbench.jobs import former

_log = logging.getLogger(__name__)
# Attribute of each result: programs that change a file leave its last line out.
_MARK = "of all other bytes: the last line of the file"


class StaleResultError(RuntimeError):
    """A result file is damaged, or does not belong to the present code or configuration."""


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
        If it cannot be read, or was altered.
    """
    fix = MADE_AGAIN
    if path.suffix != ".nc":  # a file of the user, which nothing makes again
        fix = "results are in files such as results/quick/results.nc"
    try:
        whole = is_whole(path.read_bytes())
        found = None if whole is False else xr.load_dataset(path, engine="h5netcdf")
    except Exception as error:  # damage may end in any
        raise StaleResultError(f"{path}: cannot be read as results ({error}); {fix}") from None
    if found is None or not (whole or (found.attrs.get(SEAL) != _MARK and not strict)):
        raise StaleResultError(f"{path}: {DAMAGED}; {fix}")
    if not whole:
        _log.warning("%s has no checksum: it may have been altered", path)
    found.attrs.pop(SEAL, None)
    return former.in_keys(found, path)


def content(dataset: xr.Dataset) -> bytes:
    """Return the content of a file of results, with its checksum.

    It is made in memory, because HDF5 crashes the process if it cannot write, for example on a full disk.
    """
    marked = dataset.assign_attrs({SEAL: _MARK})
    file = marked.to_netcdf(engine="h5netcdf", encoding=packing(dataset))
    return with_checksum(bytes(file), BINARY)


def packing(dataset: xr.Dataset) -> dict[str, dict[str, Any]]:
    """Say how large variables are compressed; the index of a compressed one takes more than a small variable."""
    packed = {"zlib": True, "complevel": 9, "shuffle": True}
    return {str(name): packed for name, each in dataset.data_vars.items() if each.nbytes > 8192}
