"""Values that are cached between processes: they take long to compute, and can be computed again at any time."""

from __future__ import annotations

import atexit
import contextlib
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Generic, TypeVar

from admmbench.files import private_folder, read_sealed, sealed_json, write

T = TypeVar("T")


class Cache(Generic[T]):
    """Values by name, kept in a sealed JSON file of the user's private folder.

    A file that cannot be read, or was altered, counts as empty. Nothing is cached where no file can be written. Of
    processes that write at the same time one may lose what it added.

    Parameters
    ----------
    name
        Of the file, below the folder.
    """

    def __init__(self, name: str) -> None:
        self._name, self._new = name, dict[str, T]()

    def read(self) -> dict[str, Any]:
        """Return all values of the file."""
        try:
            return read_sealed(private_folder() / self._name)
        except (OSError, ValueError):
            return {}

    def add(self, new: Mapping[str, T]) -> None:
        """Write more values to the file; a name that is there gets the new one."""
        with contextlib.suppress(OSError):
            write(private_folder() / self._name, sealed_json({**self.read(), **new}, indent=1))

    def find(self, name: str, make: Callable[[], T]) -> T:
        """Return the value of a name; one that is absent is made, and written when the process ends."""
        if name not in self._known:
            if not self._new:
                atexit.register(self.close)
            self._known[name] = self._new[name] = make()
        return self._known[name]

    def close(self) -> None:
        """Write what was made since the file was read."""
        if self._new:
            self.add(self._new)
            self._new.clear()

    @cached_property
    def _known(self) -> dict[str, T]:
        """Values of the file, read once, and those that were made since."""
        return self.read()
