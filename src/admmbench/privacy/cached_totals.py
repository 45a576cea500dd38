"""Totals that were composed before on this machine: composing takes seconds, and importing what it needs one more."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path

from admmbench.files.cache import Cache
from admmbench.privacy.costs import Spending

FOLDER = "totals"
_PACKAGES = ("dp-accounting", "numpy", "scipy")

Compose = Callable[[Spending, float], float]


def remembered(compose: Compose) -> Compose:
    """Keep what a function composes in the cache folder, until a module beside it or a package that it needs changes.

    Files have the totals of releases that differ in their number alone, as those of one run after its rounds.
    """

    @lru_cache(maxsize=4096)
    def total(spending: Spending, delta: float) -> float:
        costs = json.dumps([cost.packed() for cost, _ in spending])
        counts = json.dumps([count for _, count in spending])
        return _file(compose, costs, delta).find(counts, lambda: compose(spending, delta))

    return total


@lru_cache
def _file(compose: Compose, costs: str, delta: float) -> Cache[float]:
    modules = sorted(Path(compose.__code__.co_filename).parent.glob("*.py"))
    source = b"".join(module.read_bytes() for module in modules)
    code = [hashlib.sha256(source).hexdigest(), compose.__name__, *map(version, _PACKAGES)]
    text = json.dumps([code, costs, delta])
    name = f"{FOLDER}/{hashlib.sha256(text.encode()).hexdigest()[:16]}.json"
    return Cache(name, lambda total: isinstance(total, float) and total >= 0)
