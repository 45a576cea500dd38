"""What can be added by one module: methods, losses and data sets, built in, installed, or the path of a file."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Generic, TypeVar

from admmbench.files import expanded, import_file
from admmbench.validation import unknown

T = TypeVar("T")


def installed(group: str) -> dict[str, str]:
    """Modules that installed packages offer in an entry-point group, by name."""
    return {entry.name: entry.module for entry in entry_points(group=group)}


def load_file(path: Path) -> ModuleType:
    """Import a Python file that is in no package.

    Raises
    ------
    ValueError
        If there is no such file, or if it raises; the message gives the line of the file.
    """
    if not path.is_file():
        raise ValueError(f"plug-in {str(path)!r}: there is no such file")
    with _explained(f"plug-in {str(path)!r}", path):
        return _load(path, path.stat().st_mtime_ns)


@contextlib.contextmanager
def _explained(what: str, path: Path) -> Iterator[None]:
    """Make one `ValueError` of what a module raises when it is imported."""
    try:
        yield
    except Exception as error:
        raise ValueError(f"{what} cannot be imported:\n{raised(error, path)}") from error


def raised(error: BaseException, path: Path) -> str:
    """Say what was raised, and by which lines of a file."""
    own = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).resolve() == path.resolve()
    ]
    lines = [*traceback.format_list(own), *traceback.format_exception_only(error)]
    return "".join(lines).rstrip()


@lru_cache
def _load(path: Path, changed: int) -> ModuleType:
    """Import it once for each content."""
    # Files of one name in several folders are several modules.
    place = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:8]
    name = f"_admmbench_plugin_{path.stem}_{place}"
    return import_file(path, name)


def subclasses(module: ModuleType, base: type[T]) -> list[type[T]]:
    """Find the subclasses of ``base`` that a module defines."""
    return [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, base)
        and value.__module__ == module.__name__
    ]


def only_subclass(module: ModuleType, base: type[T]) -> type[T]:
    """Find the one subclass of ``base`` that a module defines.

    Raises
    ------
    ValueError
        If there is none, or more than one.
    """
    found = subclasses(module, base)
    if len(found) != 1:
        names = [cls.__name__ for cls in found]
        raise ValueError(
            f"{module.__file__}: expected one subclass of {base.__module__}.{base.__name__}, found {names}"
        )
    return found[0]


@dataclass(frozen=True)
class Registry(Generic[T]):
    """Modules of one kind, each with one class; loaded by name when asked for, so that a job reaches its own only.

    Attributes
    ----------
    kind
        What they are, in a word.
    package
        Package of the built-in ones, a module for each.
    group
        Entry-point group of installed ones.
    built_in
        Their names.
    base
        What their classes extend.
    """

    kind: str
    package: str
    group: str
    built_in: tuple[str, ...]
    base: type[T]

    def names(self) -> list[str]:
        """Names: built in, and installed as plug-ins."""
        return sorted({*self.built_in, *installed(self.group)})

    def find_module(self, name: str) -> ModuleType:
        """Import a module, by a name or the path of a file ending in ``.py``.

        Raises
        ------
        ValueError
            If there is none, or if it raises; the message gives the nearest name, or the line.
        """
        if name.endswith(".py"):
            return load_file(expanded(name))
        here = name in self.built_in
        module = f"{self.package}.{name}" if here else installed(self.group).get(name)
        if module is None:
            raise ValueError(unknown(self.kind, name, self.names()))
        found = find_spec(module)
        path = found.origin if found and found.origin else module
        with _explained(f"{self.kind} {name!r}", Path(path)):
            return importlib.import_module(module)

    def resolve(self, name: str) -> type[T]:
        """Class of a module; see `find_module` for the names."""
        return only_subclass(self.find_module(name), self.base)
