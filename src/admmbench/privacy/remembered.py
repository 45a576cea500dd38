"""Totals that were composed before on this machine: composing takes seconds, and importing what it needs one more."""

from __future__ import annotations

import atexit
import hashlib
import json
from collections.abc import Callable
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from admmbench.files.kept import Kept

if TYPE_CHECKING:
    from admmbench.privacy.accountants import Releases

FOLDER = "totals"
_PACKAGES = ("dp-accounting", "numpy", "scipy")

Compose = Callable[["Releases", float], float]


def remembered(compose: Compose) -> Compose:
    """Keep what a function composes in the cache folder, until a module beside it or a package that it needs changes.

    Files have the totals of releases that differ in their number alone, as those of one run after its rounds.
    """

    @lru_cache(maxsize=4096)
    def total(releases: Releases, delta: float) -> float:
        file = _file(compose, _kinds(releases), delta)
        name = json.dumps(releases)
        if name not in file.totals:
            file.add(name, compose(releases, delta))
        return file.totals[name]

    return total


class _File:
    """Totals in a file, which gets new ones when the process ends."""

    def __init__(self, name: str) -> None:
        self._kept, self._new = Kept(name), dict[str, float]()
        self.totals: dict[str, float] = {
            name: total
            for name, total in self._kept.read().items()
            if isinstance(total, float) and total >= 0
        }

    def add(self, name: str, total: float) -> None:
        if not self._new:
            atexit.register(self._write)
        self.totals[name] = self._new[name] = total

    def _write(self) -> None:
        self._kept.add(self._new)


@lru_cache
def _file(compose: Compose, kinds: str, delta: float) -> _File:
    modules = sorted(Path(compose.__code__.co_filename).parent.glob("*.py"))
    source = b"".join(module.read_bytes() for module in modules)
    code = [hashlib.sha256(source).hexdigest(), compose.__name__, *map(version, _PACKAGES)]
    text = json.dumps([code, kinds, delta])
    return _File(f"{FOLDER}/{hashlib.sha256(text.encode()).hexdigest()[:16]}.json")


def _kinds(releases: Releases) -> str:
    """Releases without their numbers, and Gaussian ones without their multipliers."""
    known = releases.laplace, releases.pure, releases.approximate
    laplace, pure, approximate = ([size for size, _ in each] for each in known)
    sampling = sorted({each.sampling for each, _ in releases.sampled})
    return json.dumps([laplace, bool(releases.gaussian), pure, sampling, approximate])
