"""Snakemake and its jobs in processes that have their imports already: these take longer than what the tests ask.

Nothing here needs the suite: a project that edits its source imports its own.
"""

import ast
import atexit
import contextlib
import functools
import multiprocessing
import os
import runpy
import shutil
import socket
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

# What the Snakefile, `snakemake` and the jobs import.
IMPORTS = [
    *("snakemake.cli", "numba", "pydantic", "rich.table", "scipy.linalg", "xarray"),
    *("h5netcdf", "jinja2", "matplotlib.backends.backend_pdf", "matplotlib.backends.backend_svg"),
    *("rich.progress", "seaborn", "sklearn.datasets"),
    *("admmbench.report.rendering", "admmbench.cli", "admmbench.engine.rounds"),
]

_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload([__name__, *IMPORTS])


def snakemake(
    folder: Path, words: list[str], environment: dict[str, str], module: str = "snakemake"
) -> tuple[int, str]:
    """Run ``python -m snakemake`` with some words in a folder: its exit status, and what it printed.

    Another module stands for it if that is asked for.
    """
    log = folder / "snakemake.log"
    given = module, words, folder, log, environment, python_of_jobs()
    process = _SERVER.Process(target=_snakemake, args=given)
    process.start()
    process.join()
    assert process.exitcode is not None
    printed = log.read_text()
    log.unlink()
    return process.exitcode, printed


def _snakemake(
    module: str,
    words: list[str],
    folder: Path,
    log: Path,
    environment: dict[str, str],
    python: str,
) -> None:
    os.setsid()
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    sys.executable = python
    _become(module, words, folder, environment, [0, handle, handle])


def _become(
    module: str,
    words: list[str],
    folder: Path,
    environment: dict[str, str],
    standard: Sequence[int],
) -> None:
    """Be ``python -m module`` with some words, from the folder and with standard streams."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for number, handle in enumerate(standard):
        os.dup2(handle, number)
    # Those of the server remember another kind of file.
    sys.stdout, sys.stderr = (open(number, "w", buffering=1, closefd=False) for number in (1, 2))  # noqa: SIM115
    sys.path[:0] = [str(folder), environment["PYTHONPATH"]]
    _forget_other_source(Path(environment["PYTHONPATH"]))
    sys.argv = [module, *words]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _forget_other_source(folder: Path) -> None:
    """Import the suite anew if the folder has another one than what was imported."""
    imported = Path(str(sys.modules["admmbench"].__file__)).parent
    if not imported.samefile(folder / "admmbench"):
        for name in [name for name in sys.modules if name.partition(".")[0] == "admmbench"]:
            del sys.modules[name]


@functools.cache
def python_of_jobs() -> str:
    """Path of what runs a module of the suite and its words, as Python would."""
    folder = Path(tempfile.mkdtemp())  # a socket has a short path
    atexit.register(shutil.rmtree, folder)
    client = folder / "python"
    source = Path(__file__).with_name("client.py").read_text()
    client.write_text(f"#!{sys.executable} -IS\n{source}")
    client.chmod(0o755)
    _SERVER.Process(target=_serve, args=(folder / "jobs",), daemon=True).start()
    while not (folder / "jobs").exists():
        time.sleep(0.01)
    return str(client)


def _serve(path: Path) -> None:
    """Start the jobs that are asked for."""
    sys.executable = str(path.with_name("python"))  # a job may be a study, with jobs of its own
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        while True:
            connection, _ = listener.accept()
            if os.fork() == 0:
                _start(connection)
            connection.close()
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass


def _start(connection: socket.socket) -> None:
    """Do a job in a process of its own, and tell its exit status."""
    _, standard, *_ = socket.recv_fds(connection, 1, 3)
    with connection.makefile("rb") as file:
        (module, *words), folder, environment = ast.literal_eval(file.read().decode())
    job = os.fork()
    if job == 0:
        os._exit(_status(module, words, folder, environment, standard))
    status = os.waitstatus_to_exitcode(os.waitpid(job, 0)[1])
    connection.sendall(str(status).encode())
    os._exit(0)


def _status(
    module: str,
    words: list[str],
    folder: Path,
    environment: dict[str, str],
    standard: Sequence[int],
) -> int:
    """Exit status of a job, which has done what it wants to do at its end."""
    atexit._clear()  # what the server would do
    status = 1
    try:
        _become(module, words, folder, environment, standard)
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return status
