"""Values that are kept between processes because they take long to compute, and can be computed again at any time."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from typing import Any

from admmbench.files import digest, private_folder, write


class Kept:
    """Values by name in a JSON file of the user's private folder, each with a checksum of where and what it is.

    A file that cannot be read counts as empty, and so does a value that is not as it was kept. Nothing is kept where
    none can be written. Of processes that write at the same time one may lose what it added.

    Parameters
    ----------
    name
        Of the file, below the folder.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def read(self) -> dict[str, Any]:
        """Return all that is kept."""
        try:
            found = dict(json.loads((private_folder() / self._name).read_text("utf-8")))
        except (OSError, ValueError, TypeError, RecursionError):
            return {}
        return {
            name: entry[0]
            for name, entry in found.items()
            if isinstance(entry, list) and entry and entry == self._entry(name, entry[0])
        }

    def add(self, new: Mapping[str, Any]) -> None:
        """Keep more; a name that is there gets the new value."""
        kept = {name: self._entry(name, value) for name, value in {**self.read(), **new}.items()}
        with contextlib.suppress(OSError):
            write(private_folder() / self._name, json.dumps(kept, indent=1))

    def _entry(self, name: str, value: Any) -> list[Any]:
        """Value with its checksum."""
        return [value, digest([self._name, name, value])]
