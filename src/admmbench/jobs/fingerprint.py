"""Fingerprint of the code that a job can reach.

Snakemake does not see what a job imports. The fingerprint hashes the source of every module in the job's import
closure, without docstrings, comments and formatting. So Snakemake makes results again when the meaning of the code
changed, and not otherwise. Another algorithm's module is not in the closure. Packages count by their version.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.metadata
import json
import sys
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from admmbench import algorithms, datasets, plugins
from admmbench.files import hash_file
from admmbench.files.cache import Cache
from admmbench.spec.run import RunSpec

_PACKAGE = "admmbench"
_API = f"{_PACKAGE}.api"
_ROOT = Path(__file__).parents[1]
# Other packages whose releases may change a run's numbers.
_NUMERICAL = ("dp-accounting", "numba", "numpy", "scipy")


def of_run(spec: RunSpec) -> str:
    """Hash everything that a run executes: engine, problem, its own algorithm, and numerical packages.

    The data set's module is not part of it: prepared data are an input, and `of_dataset` covers what prepares them.
    """
    return of_text(json.dumps([parts(spec), packages(spec)]))


def parts(spec: RunSpec) -> dict[str, str]:
    """Hash the code of a run by its parts: the file of the ``method``, that of the ``loss``, and ``shared`` code."""
    modules = algorithms.find_module(spec.algorithm), sys.modules[spec.as_problem.module]
    method, loss = (Path(str(module.__file__)) for module in modules)
    problem = type(spec.as_problem).__module__
    return {
        "method": meaning(method),
        "loss": meaning(loss),
        "shared": of_modules(
            ("admmbench.jobs.simulate", problem, *imports(method), *imports(loss))
        ),
    }


def packages(spec: RunSpec) -> dict[str, str]:
    """Return the versions of packages that may change a run's numbers, by name."""
    names = (*_NUMERICAL, *spec.method.resources.packages)
    return {name: importlib.metadata.version(name) for name in names}


def of_text(text: str) -> str:
    """Hash a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def code(spec: RunSpec) -> str:
    """Name the code that `of_run` is about: equal for runs that execute the same."""
    problem = spec.as_problem
    return f"{spec.algorithm} {problem.module} {problem.sharing}"


def codes(specs: Iterable[RunSpec]) -> list[str]:
    """Name the code of some runs, each once, in their order."""
    return list(dict.fromkeys(map(code, specs)))


def of_dataset(spec: datasets.Spec) -> str:
    """Hash what prepares a data set."""
    module = datasets.find_module(datasets.normalize(spec)["name"])
    inside, files = _inside_and_files([module])
    data = tuple(datasets.files_beside(spec))
    return of_modules((f"{_PACKAGE}.datasets", *inside), files, data=data)


def of_figures(kinds: Iterable[str]) -> str:
    """Hash what draws figures of some kinds, which are imported modules, perhaps of a user's file."""
    inside, files = _inside_and_files([sys.modules[name] for name in sorted(set(kinds))])
    return of_modules((f"{_PACKAGE}.figures.drawing", *inside), files)


def of_page(*modules: str) -> str:
    """Hash what writes a page: modules, templates, scripts and styles."""
    folders = (_ROOT / "report" / name for name in ("templates", "vendor"))
    return of_modules(modules, data=tuple(sorted(path for f in folders for path in f.iterdir())))


def _inside_and_files(modules: Iterable[ModuleType]) -> tuple[list[str], tuple[Path, ...]]:
    """Names of modules of this package, and files of those outside it."""
    modules = list(modules)
    inside = [module.__name__ for module in modules if _is_inside(module.__name__)]
    files = [Path(str(module.__file__)) for module in modules if module.__name__ not in inside]
    return inside, tuple(files)


@lru_cache
def of_modules(
    roots: tuple[str, ...],
    files: tuple[Path, ...] = (),
    data: tuple[Path, ...] = (),
) -> str:
    """Hash what a job can reach.

    Parameters
    ----------
    roots
        Modules of this package, of which the import closure counts.
    files
        Modules outside it.
    data
        Files that are no modules, of which the bytes count.
    """
    digest = hashlib.sha256()
    imported = (name for file in files for name in imports(file))
    for name in sorted(closure((*roots, *imported))):
        digest.update(f"{name}\n{meaning(_source(name))}\n".encode())
    for file in files:
        digest.update(f"{file.name}\n{meaning(file)}\n".encode())
    _MEANINGS.close()
    for file in data:
        digest.update(f"{file.name}\n{hash_file(file)}\n".encode())
    return digest.hexdigest()[:16]


def closure(roots: Iterable[str]) -> set[str]:
    """Find the modules of this package that importing ``roots`` can reach, functions' own imports included."""
    found: set[str] = set()
    queue = list(roots)
    while queue:
        name = queue.pop()
        if name in found or not _is_inside(name):
            continue
        found.add(name)
        queue.extend(imports(_source(name)))
        if "." in name:
            queue.append(name.rpartition(".")[0])  # importing a module runs its packages
    return found


def meaning(path: Path) -> str:
    """Hash a file's source without docstrings, comments and formatting."""
    return _read(path).meaning


class _Source(NamedTuple):
    """What matters of a file."""

    meaning: str
    imports: list[list[str]]
    """Modules, with the name that is taken from each, empty where it is the module itself."""


# Parsing all modules takes longer than a small run. So what was found in a file is kept under the hash of its bytes.
_MAKERS = (__file__, str(plugins.__file__))
_MEANINGS = Cache[list[Any]](
    f"meanings-{'.'.join(map(str, sys.version_info[:3]))}-"
    f"{hashlib.sha256(b''.join(Path(module).read_bytes() for module in _MAKERS)).hexdigest()[:8]}.json"
)


@lru_cache
def _read(path: Path) -> _Source:
    content = path.read_bytes()
    key = hashlib.sha256(content).hexdigest()

    def parsed() -> list[Any]:
        tree = ast.parse(content)
        return [of_text(plugins.bare(tree)), [list(pair) for pair in _named(tree)]]

    return _Source(*_MEANINGS.find(key, parsed))


@lru_cache
def _source(name: str) -> Path:
    """File of a module of this package, found without importing anything."""
    path = _ROOT.joinpath(*name.split(".")[1:])
    for file in (path.with_suffix(".py"), path / "__init__.py"):
        if file.exists():
            return file
    raise ModuleNotFoundError(f"module {name} has no source file")


@lru_cache
def imports(path: Path) -> tuple[str, ...]:
    """Find the modules of this package that a file imports, those for type checking left out."""
    found = []
    for module, name in _read(path).imports:
        if module == _API:
            # Names that plug-ins import from there are defined elsewhere; its other imports do not concern them.
            found += [_homes()[name]] if name in _homes() else []
            continue
        found.append(module)
        if name and _is_module(f"{module}.{name}"):
            found.append(f"{module}.{name}")
    return tuple(dict.fromkeys(found))


def _named(node: ast.AST) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return
    if isinstance(node, ast.Import):
        yield from ((alias.name, "") for alias in node.names if _is_inside(alias.name))
    elif isinstance(node, ast.ImportFrom) and _is_inside(node.module or ""):
        yield from ((str(node.module), alias.name) for alias in node.names)
    for child in ast.iter_child_nodes(node):
        yield from _named(child)


@lru_cache
def _homes() -> dict[str, str]:
    """Modules that define the names of `admmbench.api`."""
    return {
        alias.name: node.module
        for node in ast.parse(_source(_API).read_text("utf-8")).body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }


def _is_inside(name: str) -> bool:
    """Whether a module is of this package."""
    return name == _PACKAGE or name.startswith(f"{_PACKAGE}.")


def _is_module(name: str) -> bool:
    try:
        return _source(name).exists()
    except ModuleNotFoundError:
        return False
