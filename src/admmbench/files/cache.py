"""Values that are cached between processes, as they take long to compute; they can be computed again at any time."""

from __future__ import annotations

import atexit
import contextlib
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Generic, TypeVar

from admmbench.files import checksummed_json, private_folder, read_checksummed, write

T = TypeVar("T")


class Cache(Generic[T]):
    """Values by name, stored with a checksum in a JSON file of the user's private folder.

    A file that cannot be read, or was altered, counts as empty. Nothing is cached where no file can be written. Of
    processes that write at the same time one may lose its additions.
    """

    def __init__(self, name: str) -> None:
        self._name, self._new = name, dict[str, T]()

    def read(self) -> dict[str, Any]:
        """Return all values of the file."""
        try:
            return read_checksummed(private_folder() / self._name)
        except (OSError, ValueError):
            return {}

    def add(self, new: Mapping[str, T]) -> None:
        """Write more values to the file; a value replaces a former one of its name."""
        with contextlib.suppress(OSError):
            write(private_folder() / self._name, checksummed_json({**self.read(), **new}, indent=1))

    def find(self, name: str, make: Callable[[], T]) -> T:
        """Return the value of a name; an absent value is made, and written when the process ends."""
        if name not in self._known:
            if not self._new:
                atexit.register(self.close)
            self._known[name] = self._new[name] = make()
        return self._known[name]

    def close(self) -> None:
        """Write the values that were made since the file was read."""
        if self._new:
            self.add(self._new)
            self._new.clear()

    @cached_property
    def _known(self) -> dict[str, T]:
        """Values of the file, read once, and those that were made since."""
        return self.read()
