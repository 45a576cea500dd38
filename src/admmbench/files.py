"""Files that appear complete or not at all, and how others are read."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any


def _umask() -> int:
    """Permissions that new files do not get; a temporary file starts with none for others."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


# Asked for once: the answer comes by setting it, which threads must not do at the same time.
_UMASK = _umask()


def read_yaml(path: Path) -> Any:
    """Content of a YAML file, by libyaml where PyYAML was built with it: eight times as fast."""
    import yaml

    return yaml.load(path.read_text("utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def import_file(path: Path, name: str) -> ModuleType:
    """Import a Python file that is in no package, as a module of this name."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up by name
    spec.loader.exec_module(module)
    return module


def cache_folder(cache: str | os.PathLike[str] | None = None) -> Path:
    """Return the cache folder: the argument, else ``ADMMBENCH_CACHE``, else the user's cache."""
    if given := cache or os.environ.get("ADMMBENCH_CACHE"):
        return Path(given)
    import pooch  # slow to import

    return Path(pooch.os_cache("admmbench"))


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Write a file under another name beside it, and put it in place when that succeeded.

    Yields
    ------
    Path to write to. After an error it is gone, and what was at ``path`` is untouched.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_UMASK)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
