"""Code that is made from a method's equation, compiled once, and kept on disk.

numba keeps compiled functions beside their source file. If a kernel calls an equation from another file, it would still
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
import shutil
import tempfile
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import numba

from admmbench.files import cache_folder, import_file, write

_log = logging.getLogger(__name__)
_LOCK = threading.Lock()
# What an equation may use besides its arguments.
_KNOWN = {"np", "math", "abs", "max", "min"}


FOLDER = "kernels"


def kernels() -> Path:
    """Folder of the modules that are made here."""
    return cache_folder() / FOLDER


def equation_source(equation: Callable[..., Any], name: str) -> str:
    """Source of an equation as a function of another name, without decorators, annotations and docstring.

    Numbers in it are wrapped by ``number``, a type that the module must state: single precision stays so.

    Raises
    ------
    ValueError
        If it cannot stand alone: there is no source, or it uses more than its arguments, numpy and math.
    """
    what = f"the equation {getattr(equation, '__name__', equation)!r}"
    try:
        source = textwrap.dedent(inspect.getsource(inspect.unwrap(equation)))
    except (OSError, TypeError):
        raise ValueError(f"{what} has no source that could be compiled") from None
    function = ast.parse(source).body[0]
    if not isinstance(function, ast.FunctionDef):
        raise ValueError(f"{what} is no function of its own: write it with def")
    if not _is_unchanged(inspect.unwrap(equation)):
        raise ValueError(f"the file of {what} changed after it was imported: start again")
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
    present = _codes(compile(path.read_text("utf-8"), path, "exec", dont_inherit=True))
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
        Source of the module; functions in it are compiled with ``cache=True``.
    what
        What it is for, in words: compiling takes some seconds, and the log says so.
    """
    with _LOCK:  # whoever asks at the same time gets the same module
        return _load(text, what)


@functools.cache
def _load(text: str, what: str) -> ModuleType:
    digest = hashlib.sha256(f"{numba.__version__}\n{text}".encode()).hexdigest()
    name = f"kernel_{digest[:16]}"
    path = kernels() / f"{name}.py"
    try:
        if not path.exists() or path.read_text("utf-8") != text:
            _log.info("compiling %s, once for this machine", what)
            write(path, text)
    except OSError as error:
        _log.warning("compiled code is not kept: %s", error)
        folder = Path(tempfile.mkdtemp())
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        path = folder / f"{name}.py"
        path.write_text(text, "utf-8")
    return import_file(path, name)
