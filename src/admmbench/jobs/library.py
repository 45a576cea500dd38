"""dp-accounting, of which a command imports the parts that it needs.

The package itself imports them all, and with them scipy.signal and scipy.stats: a quarter of the time of a short run.
Only processes of commands do so; in a program that uses the suite, dp-accounting is as it always is.
"""

import contextlib
import importlib
import importlib.util
import sys
from typing import Any

NAME = "dp_accounting"


def import_parts_alone() -> None:
    """Let the package import its parts when they are first used; it runs as a whole if a name is of no part."""
    if NAME in sys.modules:
        return
    spec = importlib.util.find_spec(NAME)
    assert spec is not None
    package = importlib.util.module_from_spec(spec)

    def find(name: str) -> Any:
        with contextlib.suppress(ModuleNotFoundError):
            return importlib.import_module(f"{NAME}.{name}")
        if not name.startswith("__") and spec.loader:
            spec.loader.exec_module(package)
        if name in vars(package):
            return vars(package)[name]
        raise AttributeError(f"module {NAME!r} has no attribute {name!r}")

    vars(package)["__getattr__"] = find
    sys.modules[NAME] = package
