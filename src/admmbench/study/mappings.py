"""Mappings within mappings, as YAML files have them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return a mapping in which changes win, key by key, also in mappings within it."""
    result = dict(base)
    for key, value in changes.items():
        old = result.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            result[key] = merged(old, value)
        else:
            result[key] = value
    return result


def key_paths(settings: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Yield the paths of all keys of a mapping, and of the mappings within it."""
    for key, value in settings.items():
        yield f"{path}{key}"
        if isinstance(value, Mapping):
            yield from key_paths(value, f"{path}{key}.")
