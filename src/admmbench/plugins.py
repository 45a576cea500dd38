"""Plug-ins: methods, losses and data sets of one module each, built in, installed, or the path of a file."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import importlib
import inspect
import pkgutil
import sys
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from importlib.metadata import entry_points
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from admmbench.validation import expanded, unknown, warn_renamed

T = TypeVar("T")


def installed(group: str) -> dict[str, str]:
    """Return the modules that installed packages offer in an entry-point group, by name."""
    return {entry.name: entry.module for entry in entry_points(group=group)}


def load_file(path: Path) -> ModuleType:
    """Import a Python file that is in no package, once for each content.

    Raises
    ------
    ValueError
        If there is no such file, or if it raises; the message gives the line of the file.
    """
    what = f"plug-in {str(path)!r}"
    if not path.is_file():
        fault = "is no regular file" if path.exists() else "there is no such file"
        raise ValueError(f"{what}: {fault}")
    with explained(f"{what} cannot be imported"):
        return _load(path.resolve(), path.read_bytes())


# Errors that follow where a plug-in returned a value of another type.
_OF_TYPES = (TypeError, AttributeError, LookupError)
# Names of the modules that were loaded here from outside the package.
_FOREIGN: set[str] = set()


@lru_cache
def _load(path: Path, content: bytes) -> ModuleType:
    """Import a file, once for each content."""
    # Files of one name in several folders are several modules.
    place = hashlib.sha256(str(path).encode()).hexdigest()[:8]
    name = f"_admmbench_plugin_{path.stem}_{place}"
    _FOREIGN.add(name)
    return import_file(path, name)


def import_file(path: Path, name: str) -> ModuleType:
    """Import a Python file that is in no package, as a module of this name.

    Its source is compiled each time: bytecode in the folder is found by size and second of change, and may be that
    of another content.
    """
    module = ModuleType(name)
    module.__file__ = str(path.absolute())
    sys.modules[name] = module  # dataclasses look their module up by name
    exec(compile(path.read_bytes(), module.__file__, "exec", dont_inherit=True), vars(module))
    return module


@contextlib.contextmanager
def explained(what: str, *passing: type[Exception]) -> Iterator[None]:
    """Turn any exception of a plug-in into a `ValueError`: its ``sys.exit(0)`` must not end a command with status 0.

    The message begins with ``what``. Exceptions of the types ``passing`` have messages for users, and pass.
    """
    try:
        yield
    except BaseException as error:
        if isinstance(error, (KeyboardInterrupt, MemoryError, *passing)):
            raise
        raise ValueError(f"{what}: {raised(error)}") from error


@contextlib.contextmanager
def answerable(*names: str) -> Iterator[None]:
    """Do what `explained` does where the suite and plug-ins of these names work together; any `ValueError` passes."""
    try:
        yield
    except (KeyboardInterrupt, MemoryError, ValueError):
        raise
    except BaseException as error:
        if not is_foreign(error, *names):
            raise
        raise ValueError(f"{', '.join(names)}: {raised(error)}") from error


def is_foreign(error: BaseException, *names: str) -> bool:
    """Return whether a plug-in, or code that it called, raised an error; a refusal by the suite is none.

    If one of the names is the path of a file, errors of types count as errors of the value that this file returned.
    """
    if isinstance(error, _OF_TYPES) and any(name.endswith(".py") for name in names):
        return True
    *_, (last, _) = traceback.walk_tb(error.__traceback__)
    refused = isinstance(error, ValueError) and last.f_globals["__name__"].startswith("admmbench.")
    return bool(_lines(error)) and not refused


def raised(error: BaseException) -> str:
    """Return an exception in one line, with the line of a plug-in that raised it."""
    text = " ".join(str(error).split())
    if isinstance(error, SyntaxError) and error.filename:
        where, text = f'File "{error.filename}", line {error.lineno}: ', error.msg
    else:
        where = "".join(f"{line}: " for line in _lines(error)[-1:])
    if isinstance(error, ModuleNotFoundError) and (error.name or "").startswith("admmbench."):
        text += "; what plug-ins need is in admmbench.api"
    return f"{where}{type(error).__name__}" + (f": {text}" if text else "")


def _lines(error: BaseException) -> list[str]:
    """List the lines of plug-ins that an exception came through; the line that raised it is the last."""
    return [
        f'File "{frame.f_code.co_filename}", line {line}, in {frame.f_code.co_name}'
        for frame, line in traceback.walk_tb(error.__traceback__)
        if frame.f_globals.get("__name__") in _FOREIGN
    ]


def has_foreign() -> bool:
    """Return whether this process has loaded code from outside the package."""
    return bool(_FOREIGN)


def identity(module: ModuleType) -> str:
    """Return the name of a module, with a hash of its content outside the package, where others may have the name."""
    name = module.__name__.rpartition(".")[2]
    if module.__name__.startswith("admmbench."):
        return name
    path = Path(str(module.__file__))
    return f"{path.stem}-{meaning(path.read_bytes())[:8]}"


@cache
def meaning(source: bytes) -> str:
    """Hash the `bare` source of a module: equal for modules that mean the same."""
    return hashlib.sha256(bare(ast.parse(source)).encode()).hexdigest()[:16]


# Attributes that describe a method to its readers and checks, and that no run reads.
_DESCRIPTIONS = {"examples", "family"}


def bare(tree: ast.Module) -> str:
    """Return source without docstrings, comments, formatting, and descriptions that the module does not read."""
    read = {name for node in ast.walk(tree) for name in _read_by(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            left_out = _DESCRIPTIONS - read if _is_method(node) else set()
            node.body = [
                part
                for part in node.body
                if not (_is_text(part) or left_out.intersection(_defined_by(part)))
            ] or [ast.Pass()]
    return ast.unparse(tree)


def _is_method(node: ast.AST) -> bool:
    """Return whether a node is the class of a method, by the decorator of all of them; other classes may differ."""
    if not (isinstance(node, ast.ClassDef) and node.bases):
        return False
    return any(ast.unparse(decorator).endswith("parameters") for decorator in node.decorator_list)


def _read_by(node: ast.AST) -> list[str]:
    """List the name that a node reads, if any: of a variable, of an attribute, or as a text."""
    match node:
        case ast.Attribute(attr=str(name), ctx=ast.Load()) | ast.Name(id=str(name), ctx=ast.Load()):
            return [name]
        case ast.Constant(value=str(name)):
            return [name]
    return []


def _defined_by(node: ast.stmt) -> list[str]:
    """List the name that a statement of a method's class defines, if it is a single one, and no parameter."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)]):
            return [name]
        case ast.AnnAssign(target=ast.Name(id=name)) if "ClassVar" in ast.unparse(node.annotation):
            return [name]
        case ast.FunctionDef(name=name):
            return [name]
    return []


def _is_text(node: ast.stmt) -> bool:
    """Return whether a statement is a docstring, also of an attribute: an expression that is only text."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


class FormerNames:
    """Base of classes whose attributes plug-ins may state and read by their names in earlier versions, with a warning.

    Attributes
    ----------
    former_names
        Present names by former ones; ``record.field`` is a field of an attribute that is a dataclass.
    """

    former_names: ClassVar[Mapping[str, str]] = {}

    def __init_subclass__(cls, **settings: Any) -> None:
        """Give attributes that a class states by former names their present ones."""
        super().__init_subclass__(**settings)
        for former, present in cls.former_names.items():
            value, (name, _, field) = vars(cls).get(former), present.partition(".")
            # A record that has the former name of one of its fields is stated as it is called today.
            if value is None or (former == name and not isinstance(value, str)):
                continue
            if field and isinstance(value, property):
                raise TypeError(f"{cls.__name__}.{former}: make {name} a property instead")
            delattr(cls, former)
            if field:
                first = next(vars(base)[name] for base in cls.__mro__[::-1] if name in vars(base))
                inherited = getattr(cls, name)
                record = first if isinstance(inherited, property) else inherited
                value = replace(record, **{field: value})
                present = f"{name} = {type(first).__name__}({field}=...)"
            warn_renamed(f"{cls.__name__}.{former}", f"`{present}`", stacklevel=4)
            setattr(cls, name, value)

    if not TYPE_CHECKING:  # for a type checker, any attribute would be there

        def __getattr__(self, name: str) -> Any:
            """Return an attribute by its former name."""
            if name not in self.former_names:
                text = f"{type(self).__name__!r} object has no attribute {name!r}"
                raise AttributeError(text, name=name, obj=self)
            warn_renamed(f"{type(self).__name__}.{name}", f"`{self.former_names[name]}`")
            return attrgetter(self.former_names[name])(self)


def subclasses(module: ModuleType, base: type[T]) -> list[type[T]]:
    """Find the subclasses of ``base`` that a module defines."""
    return [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, base)
        and value.__module__ == module.__name__
    ]


@dataclass(frozen=True)
class Registry(Generic[T]):
    """Modules of one kind, each with one class; they are loaded by name, so that a job reaches its own module only.

    Attributes
    ----------
    kind
        Name of the kind, in a word or two.
    package
        Package of the built-in modules; modules whose names begin with ``_`` are something else.
    group
        Entry-point group of installed modules.
    base
        Base of their classes.
    """

    kind: str
    package: str
    group: str
    base: type[T]

    @cached_property
    def built_in(self) -> frozenset[str]:
        """Return the names of the package's modules."""
        modules = pkgutil.iter_modules(importlib.import_module(self.package).__path__)
        return frozenset(module.name for module in modules if not module.name.startswith("_"))

    def names(self) -> list[str]:
        """Return all names, built in and installed as plug-ins, in alphabetical order."""
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
        is_built_in = name in self.built_in
        module = f"{self.package}.{name}" if is_built_in else installed(self.group).get(name)
        if module is None:
            raise ValueError(unknown(self.kind, name, self.names()))
        if not is_built_in:
            _FOREIGN.add(module)
        with explained(f"{self.kind} {name!r} cannot be imported"):
            return importlib.import_module(module)

    def resolve(self, name: str) -> type[T]:
        """Return the class of a module; see `find_module` for the names.

        Raises
        ------
        ValueError
            As `find_module`; also if the module has no class or several, or its class lacks what its base asks for.
        """
        module, base = self.find_module(name), self.base
        classes = subclasses(module, base)
        if len(classes) != 1:
            names = [cls.__name__ for cls in classes]
            raise ValueError(
                f"{module.__file__}: expected one subclass of {base.__module__}.{base.__name__}, found {names}"
            )
        (cls,) = classes
        if inspect.isabstract(cls):
            missing = ", ".join(sorted(getattr(cls, "__abstractmethods__", ())))
            raise ValueError(f"{module.__file__}: {cls.__name__} does not define {missing}")
        return cls
