"""Snakemake in a process that has its imports already: they take longer than most of what the tests ask of it.

Nothing here imports the suite, as a project of the tests runs its own copy.
"""

import multiprocessing
import os
import runpy
import sys
from pathlib import Path

# What the Snakefile and `snakemake` import that no test changes.
IMPORTS = ["snakemake.cli", "numba", "pydantic", "rich.table", "scipy.linalg", "xarray"]

_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload([__name__, *IMPORTS])


def snakemake(folder: Path, words: list[str], environment: dict[str, str]) -> tuple[int, str]:
    """Run ``python -m snakemake`` with some words in a folder: its exit status, and what it printed."""
    log = folder / "snakemake.log"
    process = _SERVER.Process(target=_snakemake, args=(folder, log, words, environment))
    process.start()
    process.join()
    assert process.exitcode is not None
    printed = log.read_text()
    log.unlink()
    return process.exitcode, printed


def _snakemake(folder: Path, log: Path, words: list[str], environment: dict[str, str]) -> None:
    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for standard in (1, 2):
        os.dup2(handle, standard)
    sys.path[:0] = [str(folder), environment["PYTHONPATH"]]
    sys.argv = ["snakemake", *words]
    runpy.run_module("snakemake", run_name="__main__", alter_sys=True)
