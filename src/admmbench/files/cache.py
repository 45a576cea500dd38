"""Values that are cached between processes: they take long to compute, and can be computed again at any time."""

from __future__ import annotations

import atexit
import contextlib
import json
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Generic, TypeVar

from admmbench.files import digest, private_folder, write

T = TypeVar("T")


class Cache(Generic[T]):
    """Values by name in a JSON file of the user's private folder, each with a checksum of where and what it is.

    A file that cannot be read counts as empty, and a value that was altered as absent. Nothing is cached where no file
    can be written. Of processes that write at the same time one may lose what it added.

    Parameters
    ----------
    name
        Of the file, below the folder.
    valid
        Says whether a value is one that may have been cached; others count as absent.
    """

    def __init__(self, name: str, valid: Callable[[Any], bool] = lambda value: True) -> None:
        self._name, self._valid, self._new = name, valid, dict[str, T]()

    def read(self) -> dict[str, T]:
        """Return all values of the file."""
        try:
            entries = dict(json.loads((private_folder() / self._name).read_text("utf-8")))
        except (OSError, ValueError, TypeError, RecursionError):
            return {}
        return {
            name: entry[0]
            for name, entry in entries.items()
            if isinstance(entry, list) and entry and entry == self._entry(name, entry[0])
            if self._valid(entry[0])
        }

    def add(self, new: Mapping[str, T]) -> None:
        """Write more values to the file; a name that is there gets the new one."""
        values = {**self.read(), **new}
        entries = {name: self._entry(name, value) for name, value in values.items()}
        with contextlib.suppress(OSError):
            write(private_folder() / self._name, json.dumps(entries, indent=1))

    def find(self, name: str, make: Callable[[], T]) -> T:
        """Return the value of a name; one that is absent is made, and written when the process ends."""
        if name not in self._known:
            if not self._new:
                atexit.register(self.close)
            self._known[name] = self._new[name] = make()
        return self._known[name]

    def close(self) -> None:
        """Write what was made since."""
        if self._new:
            self.add(self._new)
            self._new.clear()

    @cached_property
    def _known(self) -> dict[str, T]:
        """Values of the file, read once, and those that were made since."""
        return self.read()

    def _entry(self, name: str, value: T) -> list[Any]:
        """Value with its checksum."""
        return [value, digest([self._name, name, value])]
