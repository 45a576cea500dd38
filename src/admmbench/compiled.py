"""Code that is made from a method's equation, compiled once, and kept on disk.

numba keeps compiled functions beside their source file, or in ``NUMBA_CACHE_DIR``; here, if neither can be written, in
the user's own folder. What is loaded is code: it must be as it was saved, and no other user may have written it.

If a kernel calls an equation from another file, it would still
use the old equation after an edit. If it is a closure over the equation, every process would compile it again. So a
kernel and the equation in it are written out as one module, which is named by the hash of its text: another text is
another module.
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

from admmbench.files import import_file, is_own, private_folder, write

_log = logging.getLogger(__name__)
_LOCK = threading.Lock()
# What an equation may use besides its arguments.
_KNOWN = {"np", "math", "abs", "max", "min"}


FOLDER = "kernels"
# Who owns the package can run code anyway.
_TRUSTED = (0, Path(__file__).stat().st_uid)


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """`numba.njit` with options; what it compiles is kept where that is possible, see `_Cache`."""

    def kept(function: Callable[..., Any]) -> Any:
        made = numba.njit(**options)(function)
        try:
            made._cache = _Cache(function)
        except (OSError, RuntimeError) as error:
            _not_kept(str(error))
        return made

    return kept


@functools.cache
def _not_kept(why: str) -> None:
    """Say so once, and not for each function."""
    _log.warning("compiled code is not kept: %s", why)


class _OwnFolder(InTreeCacheLocator):
    """The user's own folder, for sources that nothing can be written beside."""

    def __init__(self, function: Any, source: str) -> None:
        super().__init__(function, source)
        folder = self.get_suitable_cache_subpath(source)
        self._cache_path = str(private_folder() / FOLDER / folder)


class _Content(CompileResultCacheImpl):
    _locator_classes = [UserProvidedCacheLocator, InTreeCacheLocator, _OwnFolder]


class _Cache(FunctionCache):
    """numba's cache of a function, with a file for each signature, and a checksum in it.

    A file that is damaged, of other code, or perhaps of another user counts as none, and one that cannot be written is
    not needed: the function is compiled again.
    """

    # `numba.njit(cache=True)` unpickles whatever file it finds: a damaged one ends the run, and one that another user
    # wrote is run. It has no public way to look at a file before.
    _impl_class = _Content

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Load what was compiled for a signature; None if that cannot be done."""
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

    def save_overload(self, signature: Any, made: Any) -> None:
        """Save what was compiled for a signature, if that can be done."""
        try:
            if not self._impl.check_cachable(made):
                return
            path, code = self._entry(signature, made.codegen)
            data = dumps(self._impl.reduce(made))
            write(path, code + hashlib.sha256(data).digest() + data)
            path.chmod(path.stat().st_mode & ~0o022)
        except Exception as error:
            _not_kept(str(error))

    def _entry(self, signature: Any, codegen: Any) -> tuple[Path, bytes]:
        """File of a signature on this processor, and the hash of what else it depends on."""
        # What a function is closed over is made by its file; compiled functions have other bytes in each process.
        signature, processor, (code, _) = self._index_key(signature, codegen)
        name = hashlib.sha256(repr((signature, processor)).encode()).hexdigest()[:16]
        stamp = self._impl.locator.get_source_stamp()
        of = hashlib.sha256(repr((numba.__version__, stamp, code)).encode()).digest()
        return Path(self.cache_path, f"{self._impl.filename_base}.{name}.nbc"), of


def _read_trusted(path: Path) -> bytes:
    # Opening a pipe would wait for somebody to write.
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
        if not is_own(os.fstat(file.fileno()), *_TRUSTED):
            raise PermissionError("another user can write to it")
        return file.read()


def source(function: Callable[..., Any], what: str = "a kernel") -> str:
    """Source of a function, as it was imported.

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
    """Source of an equation as a function of another name, without decorators, annotations and docstring.

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
    own = {argument.arg for argument in function.args.args}
    own |= {node.id for node in names if isinstance(node.ctx, ast.Store)}
    function.name, function.decorator_list, function.returns = name, [], None
    for argument in function.args.args:
        argument.annotation = None
    if ast.get_docstring(function) is not None:
        del function.body[0]
    used = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    _Numbers().visit(function)
    ast.fix_missing_locations(function)
    if foreign := sorted(used - own - _KNOWN):
        raise ValueError(
            f"{what} uses {', '.join(foreign)}: write it out, or take it as an argument; it may use np and math"
        )
    return ast.unparse(function)


def _is_unchanged(function: Callable[..., Any]) -> bool:
    """Whether the file of a function still holds what it was made of: it may have been edited since."""
    imported = function.__code__
    path = Path(imported.co_filename)
    if not path.exists():  # typed in, in a notebook
        return True
    present = _codes(compile(path.read_bytes(), path, "exec", dont_inherit=True))
    facts = imported.co_qualname, imported.co_code, imported.co_consts
    return any((code.co_qualname, code.co_code, code.co_consts) == facts for code in present)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


class _Numbers(ast.NodeTransformer):
    """Wrap numbers, but for whole powers."""

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
    """Import a module with this text from the cache; a new module is written there first.

    Parameters
    ----------
    text
        Source of the module; functions in it are compiled with `njit`.
    what
        What it is for, in words: compiling takes some seconds, and the log says so.
    """
    with _LOCK:  # whoever asks at the same time gets the same module
        return _load(text, what)


@functools.cache
def _load(text: str, what: str) -> ModuleType:
    digest = hashlib.sha256(f"{numba.__version__}\n{text}".encode()).hexdigest()
    name = f"kernel_{digest[:16]}"
    try:
        path = private_folder() / FOLDER / f"{name}.py"
        if not path.exists() or path.read_bytes() != text.encode():
            _log.info("compiling %s, once for this machine", what)
            write(path, text)
    except OSError as error:
        _not_kept(str(error))
        folder = Path(tempfile.mkdtemp())
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        path = folder / f"{name}.py"
        write(path, text)
    return import_file(path, name)
