"""What was measured on a machine, kept until it is measured again or the code changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TypedDict

from admmbench.files import cache_folder, replacing
from admmbench.jobs import provenance

FILE = "speeds.json"


class _Entry(TypedDict):
    fingerprint: str
    numbers: list[float]


class Measurements:
    """Numbers by name, each with the fingerprint of the code that it is about; a file of the cache folder.

    The file has the numbers of every machine that uses the folder. One that cannot be read counts as empty.
    """

    def __init__(self) -> None:
        self._path = cache_folder() / FILE
        self._machine = provenance.machine()

    def find(self, name: str, fingerprint: str) -> list[float] | None:
        """Numbers that were kept for this code; None if there are none."""
        kept = self._read().get(self._machine, {}).get(name)
        return kept["numbers"] if kept and kept["fingerprint"] == fingerprint else None

    def keep(self, name: str, fingerprint: str, numbers: list[float]) -> None:
        """Keep numbers; those of other code under this name go."""
        content = self._read()
        entry: _Entry = {"fingerprint": fingerprint, "numbers": numbers}
        content.setdefault(self._machine, {})[name] = entry
        with replacing(self._path) as temporary:
            temporary.write_text(json.dumps(content, indent=1))

    def _read(self) -> dict[str, dict[str, _Entry]]:
        try:
            return dict(json.loads(Path(self._path).read_text()))
        except (OSError, ValueError, TypeError):
            return {}
