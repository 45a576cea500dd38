"""Values that are kept between processes because they take long to compute, and can be computed again at any time."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from admmbench.files import cache_folder, write


class Kept:
    """Values by name in a JSON file of the cache folder.

    A file that cannot be read counts as empty, and nothing is kept where none can be written. Of processes that write
    at the same time one may lose what it added.

    Parameters
    ----------
    name
        Of the file, below the cache folder.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def path(self) -> Path:
        """The file."""
        return cache_folder() / self._name

    def read(self) -> dict[str, Any]:
        """Return all that is kept."""
        try:
            return dict(json.loads(self.path.read_text("utf-8")))
        except (OSError, ValueError, TypeError):
            return {}

    def add(self, new: Mapping[str, Any]) -> None:
        """Keep more; a name that is there gets the new value."""
        content = json.dumps({**self.read(), **new}, indent=1)
        with contextlib.suppress(OSError):
            write(self.path, content)
