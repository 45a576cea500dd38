"""A checksum inside a result, by which an altered file is recognised."""

from __future__ import annotations

import hashlib
import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from admmbench.files import MADE_AGAIN

_log = logging.getLogger(__name__)
_KEY = "sha256"


class StaleResultError(RuntimeError):
    """A result file is damaged, or does not belong to the present code or configuration."""


def read(path: Path, *, strict: bool = True) -> xr.Dataset:
    """Read a result, without its checksum.

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
    fix = MADE_AGAIN.format(path)
    try:
        found = xr.load_dataset(path, engine="h5netcdf")
    except Exception as error:  # damage may end in any
        if path.suffix != ".nc":  # a file of the user, who is not to delete it
            fix = "results are in files such as results/quick/results.nc"
        raise StaleResultError(f"{path}: cannot be read as results ({error}); {fix}") from None
    if _KEY not in found.attrs and not strict:
        _log.warning("%s has no checksum: it may have been altered", path)
    elif not intact(found):
        raise StaleResultError(f"{path}: was altered after it was computed; {fix}")
    return found.drop_attrs(deep=False).assign_attrs(
        {name: value for name, value in found.attrs.items() if name != _KEY}
    )


def sealed(dataset: xr.Dataset) -> xr.Dataset:
    """Return the data set with the checksum of its values, names and attributes among its attributes."""
    return dataset.assign_attrs({_KEY: _digest(dataset)})


def packing(dataset: xr.Dataset) -> dict[str, dict[str, Any]]:
    """Say how large variables are compressed; the index of a compressed one takes more than a small variable."""
    packed = {"zlib": True, "complevel": 9, "shuffle": True}
    return {str(name): packed for name, each in dataset.data_vars.items() if each.nbytes > 8192}


def intact(dataset: xr.Dataset) -> bool:
    """Tell whether the content still has the checksum that it was sealed with."""
    return bool(dataset.attrs.get(_KEY) == _digest(dataset))


def _digest(dataset: xr.Dataset) -> str:
    digest = hashlib.sha256(_text({k: v for k, v in dataset.attrs.items() if k != _KEY}))
    for name in sorted(map(str, dataset.variables)):
        variable = dataset.variables[name]
        values = np.ascontiguousarray(variable.values)
        text = values.dtype.kind in "OSU"  # a file gives objects, whatever was written
        kind = "text" if text else values.dtype.str
        digest.update(_text([name, variable.dims, variable.shape, kind]))
        digest.update(_text(dict(variable.attrs)))
        digest.update(_text(values.tolist()) if text else values.tobytes())
    return digest.hexdigest()


def _text(value: object) -> bytes:
    """JSON; numbers of a file come back as NumPy's."""
    return json.dumps(value, sort_keys=True, default=_plain).encode()


def _plain(value: object) -> object:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)
