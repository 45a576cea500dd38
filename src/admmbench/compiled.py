"""Compiled code: kernels that are written from a method's equation, compiled once, and cached on disk.

numba caches compiled functions in the folder of their source file, or in ``NUMBA_CACHE_DIR``; if neither can be
written, this module takes the user's own folder. Cached files are code: they must be as they were saved, and no other
user may have written them.

If a kernel called an equation from another file, it would still use the old equation after an edit. If it were a
closure over the equation, every process would compile it again. So a kernel and its equation are written out as one
module, which is named by the hash of its text: another text is another module.
"""

from __future__ import annotations

import ast
import atexit
import functools
import hashlib
import inspect
import logging
import os
import pickle
import shutil
import tempfile
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import numba
from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    InTreeCacheLocator,
    UserProvidedCacheLocator,
)
from numba.core.serialize import dumps

from admmbench.files import is_own, private_folder, write
from admmbench.plugins import import_file

_log = logging.getLogger(__name__)
_LOCK = threading.Lock()
# Names that an equation may use besides its arguments.
_KNOWN = {"np", "math", "abs", "max", "min"}


FOLDER = "kernels"
# Users whose files are loaded: the owner of the package can run code anyway.
_TRUSTED = (0, Path(__file__).stat().st_uid)


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return `numba.njit` with options, whose compiled code is cached where that is possible, see `_Cache`."""

    def decorate(function: Callable[..., Any]) -> Any:
        dispatcher = numba.njit(**options)(function)
        try:
            dispatcher._cache = _Cache(function)
        except (OSError, RuntimeError) as error:
            _warn_not_kept(str(error))
        return dispatcher

    return decorate


@functools.cache
def _warn_not_kept(reason: str) -> None:
    """Warn that compiled code is not cached: once for a reason, and not for each function."""
    _log.warning("compiled code is not kept: %s", reason)


class _OwnFolder(InTreeCacheLocator):
    """Cache in the user's own folder, for sources in a folder that cannot be written."""

    def __init__(self, function: Any, source: str) -> None:
        super().__init__(function, source)
        folder = self.get_suitable_cache_subpath(source)
        self._cache_path = str(private_folder() / FOLDER / folder)


class _CacheImplementation(CompileResultCacheImpl):
    """Content of numba's cache, in the first folder that can be written."""

    _locator_classes = [UserProvidedCacheLocator, InTreeCacheLocator, _OwnFolder]


class _Cache(FunctionCache):
    """Cache of numba for a function, with a file for each signature, and a checksum in the file.

    A file that is damaged, of other code, or perhaps of another user is ignored, and the function is compiled again; so
    it is where no file can be written.
    """

    # `numba.njit(cache=True)` unpickles any file that it finds: a damaged file ends the run, and a file of another user
    # is executed. numba has no public way to check a file before.
    _impl_class = _CacheImplementation

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Load the code of a signature; None if that cannot be done."""
        context.refresh()
        path, code = self._entry(signature, context.codegen())
        try:
            content = _read_trusted(path)
            if content[: len(code)] != code:
                return None
            digest, data = content[len(code) :][: len(code)], content[2 * len(code) :]
            if hashlib.sha256(data).digest() != digest:
                raise ValueError("it is damaged (its SHA-256 differs)")
            return self._impl.rebuild(context, pickle.loads(data))
        except FileNotFoundError:
            return None
        except Exception as error:
            _log.warning("%s is not used: %s; compiling once more", path, error)
            return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Save the code of a signature, if that can be done."""
        try:
            if not self._impl.check_cachable(result):
                return
            path, code = self._entry(signature, result.codegen)
            data = dumps(self._impl.reduce(result))
            write(path, code + hashlib.sha256(data).digest() + data)
            path.chmod(path.stat().st_mode & ~0o022)
        except Exception as error:
            _warn_not_kept(str(error))

    def _entry(self, signature: Any, codegen: Any) -> tuple[Path, bytes]:
        """Return the file of a signature on this processor, and the hash of numba, the source and the code."""
        # The variables of a closure are left out: the source makes them, and their bytes differ in each process.
        signature, processor, (code, _) = self._index_key(signature, codegen)
        name = hashlib.sha256(repr((signature, processor)).encode()).hexdigest()[:16]
        stamp = self._impl.locator.get_source_stamp()
        digest = hashlib.sha256(repr((numba.__version__, stamp, code)).encode()).digest()
        return Path(self.cache_path, f"{self._impl.filename_base}.{name}.nbc"), digest


def _read_trusted(path: Path) -> bytes:
    """Return the content of a file that only this user, or a trusted one, can write."""
    # Opening a pipe would wait for somebody to write.
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
        if not is_own(os.fstat(file.fileno()), *_TRUSTED):
            raise PermissionError("another user can write to it")
        return file.read()


def source(function: Callable[..., Any], what: str = "a kernel") -> str:
    """Return the source of a function, as it was imported.

    Raises
    ------
    ValueError
        If there is none, or it changed since.
    """
    function = inspect.unwrap(function)
    try:
        text = textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):
        raise ValueError(f"{what} has no source that could be compiled") from None
    if not _is_unchanged(function):
        raise ValueError(f"the file of {what} changed after it was imported: start again")
    return text


def equation_source(equation: Callable[..., Any], name: str) -> str:
    """Return the source of an equation as a function of another name, without decorators, annotations and docstring.

    Numbers in it are wrapped by ``number``, a type that the module must state: single precision stays so.

    Raises
    ------
    ValueError
        If it cannot stand alone: there is no source, or it uses more than its arguments, numpy and math.
    """
    what = f"the equation {getattr(equation, '__name__', equation)!r}"
    function = ast.parse(source(equation, what)).body[0]
    if not isinstance(function, ast.FunctionDef):
        raise ValueError(f"{what} is no function of its own: write it with def")
    if function.args.args and function.args.args[0].arg == "self":
        raise ValueError(f"{what} takes self: write a function, and give it numbers")
    names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
    defined = {argument.arg for argument in function.args.args}
    defined |= {node.id for node in names if isinstance(node.ctx, ast.Store)}
    function.name, function.decorator_list, function.returns = name, [], None
    for argument in function.args.args:
        argument.annotation = None
    if ast.get_docstring(function) is not None:
        del function.body[0]
    used = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    _Numbers().visit(function)
    ast.fix_missing_locations(function)
    if foreign := sorted(used - defined - _KNOWN):
        raise ValueError(
            f"{what} uses {', '.join(foreign)}: write it out, or take it as an argument; it may use np and math"
        )
    return ast.unparse(function)


def _is_unchanged(function: Callable[..., Any]) -> bool:
    """Return whether the file of a function still holds its code, and was not edited after the import."""
    imported = function.__code__
    path = Path(imported.co_filename)
    if not path.exists():  # typed in, in a notebook
        return True
    present = _codes(compile(path.read_bytes(), path, "exec", dont_inherit=True))
    facts = imported.co_qualname, imported.co_code, imported.co_consts
    return any((code.co_qualname, code.co_code, code.co_consts) == facts for code in present)


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object, and all code objects in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


class _Numbers(ast.NodeTransformer):
    """Transformer of an equation that wraps its numbers, but for whole powers."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        node.left = self.visit(node.left)
        whole = isinstance(node.right, ast.Constant) and isinstance(node.right.value, int)
        if not (isinstance(node.op, ast.Pow) and whole):
            node.right = self.visit(node.right)
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, bool) or not isinstance(node.value, int | float):
            return node
        return ast.Call(ast.Name("number", ast.Load()), [node], [])


def load(text: str, what: str) -> ModuleType:
    """Import a module with this text, whose functions `njit` compiles, from the cache; it is written there first.

    The log tells ``what`` is compiled, which takes some seconds.
    """
    with _LOCK:  # so that threads that ask at the same time get the same module
        return _load(text, what)


@functools.cache
def _load(text: str, what: str) -> ModuleType:
    """Import a module with this text, see `load`; in a folder of this process if the cache cannot be written."""
    digest = hashlib.sha256(f"{numba.__version__}\n{text}".encode()).hexdigest()
    name = f"kernel_{digest[:16]}"
    try:
        path = private_folder() / FOLDER / f"{name}.py"
        if not path.exists() or path.read_bytes() != text.encode():
            _log.info("compiling %s, once for this machine", what)
            write(path, text)
    except OSError as error:
        _warn_not_kept(str(error))
        folder = Path(tempfile.mkdtemp())
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        path = folder / f"{name}.py"
        write(path, text)
    return import_file(path, name)
