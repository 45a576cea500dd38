"""Break the code at random places, one at a time, and see whether the tests notice.

    python -m tests.mutants --seed 1 --count 150 [--rooms engine ...]

A mutant that no test notices is a hole in the tests, or it is equivalent: nobody could see the difference. Which of the
two it is, a reader decides. What is broken is a copy of the source; only its own room's tests are run, the likeliest
first. Results go to a file as they come, and a run that was stopped goes on from there.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib
import json
import multiprocessing
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numba
import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "admmbench"
# Seconds for the tests of a room; who takes longer does not end.
LIMIT = 300

# Slow to import, and not broken: processes are forked that have it.
LIBRARIES = (
    "dp_accounting hypothesis matplotlib.pyplot pydantic scipy.stats sklearn.linear_model xarray"
)

# What is broken, and the tests of it in the order in which they are run.
ROOMS = {
    "validation.py": "validation spec cli",
    "files": "files jobs",
    "plugins.py": "contracts jobs/test_fingerprint.py",
    "compiled.py": "compiled base/test_kernel.py",
    "inference": "inference results claims",
    "privacy": "privacy algorithms/test_objp.py algorithms/test_outp.py contracts",
    "datasets": "datasets contracts",
    "partition": "partition problems regression",
    "problems": "problems regression contracts",
    "base": "base algorithms regression contracts",
    "theorems": "theorems claims",
    "algorithms": "algorithms base regression contracts",
    "spec": "spec engine study",
    "engine": "engine algorithms regression contracts jobs",
    "audit": "audit contracts",
    "jobs": "jobs engine study",
    "tuning": "tuning study",
    "results": "results report",
    "figures": "figures report",
    "study": "study results report cli",
    "forecast": "forecast watch",
    "watch": "watch study cli",
    "claims": "claims report/test_claims.py report/test_report.py",
    "report": "report cli",
    "scaffold": "contracts cli",
    "contracts": "contracts",
    "cli": "cli",
}

# Operators and functions, each with what takes its place.
_OTHERS = """
Lt LtE GtE; LtE Lt Gt; Gt GtE LtE; GtE Gt Lt; Eq NotEq; NotEq Eq; Is IsNot; IsNot Is; In NotIn; NotIn In;
And Or; Or And; BitAnd BitOr; BitOr BitAnd;
Add Sub; Sub Add; Mult Div; Div Mult; FloorDiv Mult; Mod FloorDiv; Pow Mult;
min max; max min; minimum maximum; maximum minimum; any all; all any; floor ceil; ceil floor;
argmin argmax; argmax argmin; zeros ones; ones zeros
"""
OTHERS = {own: others for own, *others in map(str.split, _OTHERS.split(";"))}


class Mutant(NamedTuple):
    """One change: another text for the bytes from ``start`` to ``stop`` of a file."""

    path: str
    line: int
    start: int
    stop: int
    text: str
    shown: str

    def __str__(self) -> str:
        return f"src/admmbench/{self.path}:{self.line}: {self.shown}"

    def apply(self, source: bytes) -> bytes:
        """Source with the change."""
        return source[: self.start] + self.text.encode() + source[self.stop :]


def broken(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Parts of a node, each with what takes its place."""

    def changed(**fields: Any) -> tuple[ast.AST, ast.AST]:
        new = copy.copy(node)
        vars(new).update(fields)
        return node, new

    def others(operator: ast.AST) -> list[ast.AST]:
        return [getattr(ast, name)() for name in OTHERS.get(type(operator).__name__, [])]

    match node:
        case ast.Compare(ops=[operator]):
            yield from (changed(ops=[other]) for other in others(operator))
        case ast.BinOp(op=operator) | ast.AugAssign(op=operator) | ast.BoolOp(op=operator):
            yield from (changed(op=other) for other in others(operator))
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield node, operand
        case ast.Constant(value=bool(value)):
            yield changed(value=not value)
        case ast.Constant(value=int(value) | float(value)):
            yield changed(value=value + 1)
        case ast.Name(id=name) if name in OTHERS:
            yield changed(id=OTHERS[name][0])
        case ast.Attribute(attr=name) if name in OTHERS:
            yield changed(attr=OTHERS[name][0])
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
            yield test, ast.UnaryOp(ast.Not(), test)
        case ast.comprehension(ifs=tests):
            yield from ((test, ast.UnaryOp(ast.Not(), test)) for test in tests)
        case ast.Slice(lower=lower, upper=upper):
            ends = (end for end in (lower, upper) if end is not None)
            yield from ((end, ast.BinOp(end, ast.Add(), ast.Constant(1))) for end in ends)
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield value, ast.Constant(None)
        case ast.Break() | ast.Continue():
            yield node, ast.Continue() if isinstance(node, ast.Break) else ast.Break()
        case ast.Expr(value=ast.Call()):
            yield node, ast.Pass()


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """Nodes that mean something when the code runs: no types, decorators, messages and logs."""
    match node:
        case ast.Import() | ast.ImportFrom() | ast.JoinedStr() | ast.Assert() | ast.Raise():
            return
        case ast.If(test=ast.Name(id="TYPE_CHECKING")) | ast.FunctionDef(name="__repr__"):
            return
        case ast.Assign(targets=[ast.Name(id="__all__")]):
            return
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="_log" | "warnings")))):
            return
    yield node
    for field, value in ast.iter_fields(node):
        if field not in ("annotation", "returns", "decorator_list"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from walk(child)


def mutants(file: Path) -> Iterator[Mutant]:
    """All mutants of a file."""
    source = file.read_bytes()
    begins = [0]
    for line in source.splitlines(keepends=True):
        begins.append(begins[-1] + len(line))
    for node in walk(ast.parse(source)):
        for old, new in broken(node):
            assert isinstance(old, ast.stmt | ast.expr)
            first, last = old.lineno, old.end_lineno or old.lineno
            # What follows stays on its line.
            text = ast.unparse(new) + "\n" * (last - first)
            yield Mutant(
                file.relative_to(PACKAGE).as_posix(),
                first,
                begins[first - 1] + old.col_offset,
                begins[last - 1] + (old.end_col_offset or 0),
                f"({text})" if isinstance(new, ast.expr) else text,
                f"{ast.unparse(old)} -> {ast.unparse(new)}",
            )


def draw(seed: int, count: int, rooms: Sequence[str]) -> list[Mutant]:
    """Random mutants of some rooms."""
    files = [file for room in rooms for file in sorted((PACKAGE / room).rglob("*.py"))]
    files += [PACKAGE / room for room in rooms if room.endswith(".py")]
    every = [mutant for file in files for mutant in mutants(file)]
    return random.Random(seed).sample(every, min(count, len(every)))


def room_of(path: str) -> str:
    """Room of a module."""
    return next(room for room in ROOMS if Path(path).is_relative_to(room))


def tests_of(path: str) -> list[str]:
    """Test files of a module: those that have its name or its folder's, then those of its room."""
    room = room_of(path)
    module = Path(path).with_suffix("")
    named = [module, *module.parents][:-1]
    found = dict[str, None]()
    for name in [*(f"{each.parent}/test_{each.name}*.py" for each in named), *ROOMS[room].split()]:
        folder = (ROOT / "tests" / name).is_dir()
        pattern = (
            name if name.endswith(".py") else f"{name}/test_*.py" if folder else f"test_{name}.py"
        )
        files = sorted((ROOT / "tests").glob(pattern))
        found |= {str(file.relative_to(ROOT)): None for file in files}
    return [*found]


class Bench:
    """A copy of the source, where mutants are tried; what is compiled from it stays for the next run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.source = folder / "src" / "admmbench"
        shutil.rmtree(folder / "src", ignore_errors=True)
        shutil.copytree(PACKAGE, self.source, ignore=shutil.ignore_patterns("__pycache__"))

    def run(self, tests: list[str], limit: int, compiled: str = "compiled") -> str:
        """What failed first, in the words of pytest; nothing where all passed."""
        for kept in (self.folder / "cache").glob("*"):  # numbers that other code computed
            if kept.name != "kernels":
                shutil.rmtree(kept) if kept.is_dir() else kept.unlink()
        process = multiprocessing.get_context("fork").Process(
            target=self._pytest, args=(tests, str(self.folder / compiled))
        )
        process.start()
        process.join(limit)
        if process.is_alive():
            os.killpg(process.pid or 0, signal.SIGKILL)
            process.join()
            return "timeout"
        lines = (self.folder / "output").read_text(errors="replace").splitlines()
        failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
        return [*failed, f"exit status {process.exitcode}"][0] if process.exitcode else ""

    def _pytest(self, tests: list[str], compiled: str) -> None:
        """Run tests in a process that has imported what they need besides the package."""
        os.setsid()
        with (self.folder / "output").open("w") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        sys.path.insert(0, str(self.source.parent))
        os.environ.update(
            PYTHONPATH=str(self.source.parent),
            PYTEST_XDIST_WORKER="mutants",  # the cache is beside basetemp, and shared
            NUMBA_CACHE_DIR=compiled,
            HYPOTHESIS_STORAGE_DIRECTORY=str(self.folder / "hypothesis"),
        )
        vars(numba.config).update(CACHE_DIR=compiled)
        options = ["-x", "-q", "-p", "no:cacheprovider", f"--basetemp={self.folder / 'run'}"]
        os._exit(pytest.main([*options, *tests]))

    def attempt(self, mutant: Mutant) -> str:
        """What notices a mutant, if anything does."""
        file = self.source / mutant.path
        kept, facts = file.read_bytes(), file.stat()
        # Numba does not see that a function changed which compiled code of another file calls.
        compiled = "compiled anew" if b"numba" in kept else "compiled"
        shutil.rmtree(self.folder / "compiled anew", ignore_errors=True)
        file.write_bytes(mutant.apply(kept))
        try:
            first, *others = tests_of(mutant.path)
            return self.run([first], LIMIT, compiled) or self.run(others, LIMIT, compiled)
        finally:
            file.write_bytes(kept)
            os.utime(file, ns=(facts.st_atime_ns, facts.st_mtime_ns))


def main() -> None:
    """Try the mutants that are not in the file of results yet, and list those that no test noticed."""
    parser = argparse.ArgumentParser(
        description="Break the code, and see whether the tests notice."
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--rooms", nargs="+", default=[*ROOMS], choices=[*ROOMS], metavar="ROOM")
    given = parser.parse_args()
    drawn = list(enumerate(draw(given.seed, given.count, given.rooms)))
    folder = Path(tempfile.gettempdir()) / "admmbench-mutants"
    folder.mkdir(exist_ok=True)
    results = folder / f"seed-{given.seed}.jsonl"
    lines = results.read_text().splitlines() if results.exists() else []
    known: dict[str, str] = {each["mutant"]: each["by"] for each in map(json.loads, lines)}
    bench = Bench(folder)
    for library in LIBRARIES.split():
        importlib.import_module(library)

    def note(mutant: str, by: str, began: float) -> None:
        known[mutant] = by
        seconds = round(time.monotonic() - began, 1)
        with results.open("a") as file:
            file.write(json.dumps({"mutant": mutant, "by": by, "seconds": seconds}) + "\n")

    began = time.monotonic()
    if "none" not in known:
        tests = dict.fromkeys(test for _, mutant in drawn for test in tests_of(mutant.path))
        if failed := bench.run([*tests], 3600):
            sys.exit(f"the tests fail without any mutant: {failed}")
        note("none", "", began)
    for number, mutant in drawn:
        if str(mutant) not in known:
            began = time.monotonic()
            note(str(mutant), bench.attempt(mutant), began)
            print(f"{number:4d} {known[str(mutant)] or 'SURVIVED'} {mutant}", flush=True)
    survivors = [(number, mutant) for number, mutant in drawn if not known[str(mutant)]]
    print()
    for room in given.rooms:
        number, left = (
            sum(room_of(mutant.path) == room for _, mutant in of) for of in (drawn, survivors)
        )
        if number:
            print(f"{room}: {number - left} of {number} killed")
    print("survivors:")
    print(*(f"{number:4d} {mutant}" for number, mutant in survivors), sep="\n")


if __name__ == "__main__":
    main()
