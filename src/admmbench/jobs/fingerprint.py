"""Fingerprints of the code that a job can reach.

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
    """Return the hash of the code that a run executes: engine, problem, its own algorithm, and numerical packages.

    The data set's module does not count: prepared data are an input, and `of_dataset` hashes what prepares them.
    """
    return of_text(json.dumps([parts(spec), packages(spec)]))


def parts(spec: RunSpec) -> dict[str, str]:
    """Return the hashes of a run's code by part: the files of ``method`` and ``loss``, and ``shared`` code."""
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
    return {name: version(name) for name in names}


@lru_cache
def version(package: str) -> str:
    """Return the version of an installed package; looking it up takes milliseconds."""
    return importlib.metadata.version(package)


def of_text(text: str) -> str:
    """Return the hash of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def code(spec: RunSpec) -> str:
    """Return a name of the code that `of_run` hashes: equal for runs that execute the same code."""
    problem = spec.as_problem
    return f"{spec.algorithm} {problem.module} {problem.sharing}"


def codes(specs: Iterable[RunSpec]) -> list[str]:
    """Return the distinct names of the code of some runs, in their order, see `code`."""
    return list(dict.fromkeys(map(code, specs)))


def of_dataset(spec: datasets.Spec) -> str:
    """Return the hash of the code and files that prepare a data set."""
    module = datasets.find_module(datasets.normalize(spec)["name"])
    inside, files = _modules_and_files([module])
    data = tuple(datasets.files_beside(spec))
    return of_modules((f"{_PACKAGE}.datasets", *inside), files, data=data)


def of_figures(kinds: Iterable[str]) -> str:
    """Return the hash of the code that draws figures of some kinds, which are imported modules, also a user's own."""
    inside, files = _modules_and_files([sys.modules[name] for name in sorted(set(kinds))])
    return of_modules((f"{_PACKAGE}.figures.drawing", *inside), files)


def of_page(*modules: str) -> str:
    """Return the hash of the code that writes a page: modules, templates, scripts and styles."""
    folders = (_ROOT / "report" / name for name in ("templates", "vendor"))
    return of_modules(modules, data=tuple(sorted(path for f in folders for path in f.iterdir())))


def _modules_and_files(modules: Iterable[ModuleType]) -> tuple[list[str], tuple[Path, ...]]:
    """Return the names of modules of this package, and the files of modules outside it."""
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
    """Return the hash of the code that a job can reach.

    Parameters
    ----------
    roots
        Modules of this package, of which the import closure counts.
    files
        Files of modules outside this package.
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
    modules: set[str] = set()
    queue = list(roots)
    while queue:
        name = queue.pop()
        if name in modules or not _is_inside(name):
            continue
        modules.add(name)
        queue.extend(imports(_source(name)))
        if "." in name:
            queue.append(name.rpartition(".")[0])  # importing a module runs its packages
    return modules


def meaning(path: Path) -> str:
    """Return the hash of a file's source without docstrings, comments and formatting."""
    return _read(path).meaning


class _Source(NamedTuple):
    """Meaning and imports of a source file."""

    meaning: str
    imports: list[list[str]]
    """Modules, with the name that is imported from each, empty where the module itself is imported."""


# Parsing all modules takes longer than a small run. So the cache keeps each file's meaning under the hash of its bytes.
_READERS = (__file__, str(plugins.__file__))
_MEANINGS = Cache[list[Any]](
    f"meanings-{'.'.join(map(str, sys.version_info[:3]))}-"
    f"{hashlib.sha256(b''.join(Path(module).read_bytes() for module in _READERS)).hexdigest()[:8]}.json"
)


@lru_cache
def _read(path: Path) -> _Source:
    content = path.read_bytes()
    key = hashlib.sha256(content).hexdigest()

    def parsed() -> list[Any]:
        tree = ast.parse(content)
        return [of_text(plugins.bare(tree)), [list(pair) for pair in _imported_names(tree)]]

    return _Source(*_MEANINGS.find(key, parsed))


@lru_cache
def _source(name: str) -> Path:
    """Return the file of a module of this package, without importing it; it exists only if the module does."""
    path = _ROOT.joinpath(*name.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@lru_cache
def imports(path: Path) -> tuple[str, ...]:
    """Find the modules of this package that a file imports, those for type checking left out."""
    modules = []
    for module, name in _read(path).imports:
        if module == _API:
            # A plug-in depends on the modules that define the names it imports, not on the other imports of the API.
            modules += [_defining_modules()[name]] if name in _defining_modules() else []
            continue
        modules.append(module)
        if name and _source(f"{module}.{name}").exists():
            modules.append(f"{module}.{name}")
    return tuple(dict.fromkeys(modules))


def _imported_names(node: ast.AST) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return
    if isinstance(node, ast.Import):
        yield from ((alias.name, "") for alias in node.names if _is_inside(alias.name))
    elif isinstance(node, ast.ImportFrom) and _is_inside(node.module or ""):
        yield from ((str(node.module), alias.name) for alias in node.names)
    for child in ast.iter_child_nodes(node):
        yield from _imported_names(child)


@lru_cache
def _defining_modules() -> dict[str, str]:
    """Return the modules that define the names of `admmbench.api`."""
    return {
        alias.name: node.module
        for node in ast.parse(_source(_API).read_text("utf-8")).body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }


def _is_inside(name: str) -> bool:
    """Return whether a module is of this package."""
    return name == _PACKAGE or name.startswith(f"{_PACKAGE}.")
