"""A checksum inside a result, by which an altered file is recognised."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import xarray as xr

_KEY = "sha256"


def sealed(dataset: xr.Dataset) -> xr.Dataset:
    """Return the data set with the checksum of its values, names and attributes among its attributes."""
    return dataset.assign_attrs({_KEY: _digest(dataset)})


def intact(dataset: xr.Dataset) -> bool:
    """Whether the content still has the checksum that it was sealed with."""
    return bool(dataset.attrs.get(_KEY) == _digest(dataset))


def _digest(dataset: xr.Dataset) -> str:
    digest = hashlib.sha256(_text({k: v for k, v in dataset.attrs.items() if k != _KEY}))
    for name in sorted(map(str, dataset.variables)):
        variable = dataset.variables[name]
        digest.update(_text([name, variable.dims, variable.shape, variable.dtype.str]))
        digest.update(_text(dict(variable.attrs)))
        digest.update(np.ascontiguousarray(variable.values).tobytes())
    return digest.hexdigest()


def _text(value: object) -> bytes:
    """JSON; numbers of a file come back as NumPy's."""
    return json.dumps(value, sort_keys=True, default=_plain).encode()


def _plain(value: object) -> object:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)
