"""Warm workers: processes that carry out one job after another, so that libraries are loaded once for many short jobs.

A study on this machine names a folder in ``ADMMBENCH_WORKERS``. The process of a job then loads nothing: it hands its
words, output and errors to a worker that waits in the folder, or to a new one, passes signals on, and ends with the
worker's status. A worker carries out one job at a time. It ends if a job fails, if a job's own process is gone, if code
was changed, if it has loaded a plug-in, which may have a state of its own, if it has become large, and soon after the
study.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import resource
import shutil
import signal
import socket
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from admmbench.jobs import interrupts

Main = Callable[[Sequence[str]], int]
VARIABLE = "ADMMBENCH_WORKERS"
"""Environment variable that names the folder of a study's workers."""
COMMANDS = ("prepare", "tune", "choose", "run", "audit", "aggregate", "figures", "report")
"""Commands that workers carry out: those that keep nothing of a file that a later job may change."""
# Seconds that a worker waits for the next job, and between two looks at whether the study goes on.
_IDLE, _POLL = 60, 1
# Nanoseconds that the clock of a file system may be late.
_CLOCK_TICK = 20_000_000
# Bytes above which a worker does not wait for another job.
_LARGE = 2**29
_PROGRAM = "admmbench.cli.jobs.work"
_IDLE_NAME, _TAKEN_NAME = "{}.idle", "{}.taken"


def folder_of_workers() -> str:
    """Return a new folder for the workers of this process's jobs, gone when it ends.

    Nothing (an empty string) if there is no room for one, so that jobs have processes of their own.
    """
    import atexit
    import tempfile

    try:
        folder = tempfile.mkdtemp(prefix="admmbench-")
    except OSError:
        return ""
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@contextlib.contextmanager
def shared_workers() -> Iterator[None]:
    """Let all studies that this process calls meanwhile share workers, so that libraries are loaded once."""
    if VARIABLE in os.environ:
        yield
        return
    os.environ[VARIABLE] = folder = folder_of_workers()
    try:
        yield
    finally:
        del os.environ[VARIABLE]
        shutil.rmtree(folder, ignore_errors=True)


def call(words: Sequence[str]) -> int | None:
    """Let a worker carry out a command, and return its exit status; None if no worker can."""
    folder = os.environ.get(VARIABLE, "")
    if not (words and words[0] in COMMANDS and os.path.isdir(folder)):
        return None
    devices = [value for option, value in pairwise(words) if option == "--device"]
    if {*devices} - {"cpu"} or any(word.startswith("--device=") for word in words):
        return None  # a worker that waits would hold the memory of the device
    with contextlib.suppress(OSError):
        for connection in _workers(Path(folder, _key())):
            with connection:
                status = _hand_over(connection, words)
            if status is not None:
                return status
    return None


def _key() -> str:
    """Return a hash of what a process takes from its surroundings at its start; jobs share workers of one hash."""
    passing = {"_", "SHLVL"}  # of the shell that calls
    variables = sorted(item for item in os.environ.items() if item[0] not in passing)
    surroundings = json.dumps([sys.executable, os.getcwd(), variables])
    return hashlib.sha256(surroundings.encode(errors="surrogateescape")).hexdigest()[:16]


def _workers(folder: Path) -> Iterator[socket.socket]:
    """Yield connections to workers: those that wait, each claimed by renaming its socket, then a new one."""
    folder.mkdir(exist_ok=True)
    for path in folder.glob(_IDLE_NAME.format("*")):
        taken = path.with_name(_TAKEN_NAME.format(path.stem))
        with contextlib.suppress(FileNotFoundError, ConnectionError):
            path.rename(taken)
            connection = socket.socket(socket.AF_UNIX)
            connection.connect(str(taken))
            taken.unlink()
            yield connection
    import subprocess

    ours, theirs = socket.socketpair()
    with theirs:
        subprocess.Popen(
            [sys.executable, "-m", _PROGRAM, str(folder), str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            # Pipes, as Python expects of a file to be one for ever; a job's streams take their place.
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    yield ours


def _hand_over(connection: socket.socket, words: Sequence[str]) -> int | None:
    """Hand a job to a worker and wait for its end; None if the worker does not take it."""
    received = []
    try:
        socket.send_fds(connection, [b"\n"], [1, 2])
        connection.sendall(json.dumps(words).encode() + b"\n")
        replies = connection.makefile("r")
        worker = replies.readline()
        if not worker:
            return None
    except ConnectionError:
        return None

    def pass_on(number: int, frame: object) -> None:
        received.append(number)
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(worker), number)

    with (
        interrupts.handled(pass_on, (*interrupts.SIGNALS, signal.SIGTERM)),
        contextlib.suppress(ConnectionError),
    ):
        if status := replies.readline():
            return int(status)
    # As a shell says it of a process that a signal ended.
    return 128 + (received[-1] if received else signal.SIGKILL)


def is_current(started: int) -> bool:
    """Return whether no file of this package or of a loaded module was changed since a time in nanoseconds."""
    package = Path(__file__).parents[1]
    # Also files that are not loaded yet, as a fingerprint has read them. A folder is changed if a file in it is gone.
    ours = (path for path in (package, *package.rglob("*")) if "__pycache__" not in path.parts)
    loaded = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    try:
        return all(os.stat(file).st_ctime_ns < started for file in (*ours, *filter(None, loaded)))
    except OSError:
        return False


def work(main: Main, folder: Path, connection: socket.socket | None) -> None:
    """Carry out the job of a connection and then those of others, for which the worker waits in a folder.

    See the module for when a worker ends.
    """
    started = time.time_ns() - _CLOCK_TICK
    while connection:
        with connection:
            if not (is_current(started) and _carry_out(main, connection)):
                return
        connection = _await_job(folder)


def _carry_out(main: Main, connection: socket.socket) -> bool:
    """Carry out a job and send its exit status; return whether this process is fit for another."""
    from admmbench import plugins

    _, streams, *_ = socket.recv_fds(connection, 1, 2)
    words = json.loads(connection.makefile().readline())
    connection.sendall(f"{os.getpid()}\n".encode())
    _write_to(streams)
    ended = threading.Event()
    threading.Thread(target=_die_with_client, args=(connection, ended), daemon=True).start()
    with warnings.catch_warnings():  # so that each job gives its warnings anew
        status = _status(main, words)
    ended.set()
    _write_to([os.open(os.devnull, os.O_WRONLY) for _ in streams])
    with contextlib.suppress(ConnectionError):
        connection.sendall(f"{status}\n".encode())
    unit = 1 if sys.platform == "darwin" else 1024
    peak = unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return status == 0 and peak < _LARGE and not plugins.has_foreign()


def _write_to(streams: Sequence[int]) -> None:
    """Let output and errors go to other files, which are closed here."""
    for ours, number, theirs in zip((sys.stdout, sys.stderr), (1, 2), streams, strict=True):
        ours.flush()
        os.dup2(theirs, number)
        os.close(theirs)


def _die_with_client(connection: socket.socket, ended: threading.Event) -> None:
    """End this process if the job's own process is killed, as it would have ended itself."""
    with contextlib.suppress(OSError):
        connection.recv(1)  # nothing comes but the end
    if not ended.is_set():
        os.kill(os.getpid(), signal.SIGKILL)


def _status(main: Main, words: Sequence[str]) -> int:
    """Return the exit status of a command, with the message that Python would print."""
    try:
        return main(words)
    except KeyboardInterrupt:
        return interrupts.said()
    except SystemExit as stop:
        return int(stop.code or 0)
    except BaseException:
        traceback.print_exc()
    return 1


def _await_job(folder: Path) -> socket.socket | None:
    """Wait for the next job; None if none comes, or the study has ended."""
    path, taken = (folder / name.format(os.getpid()) for name in (_IDLE_NAME, _TAKEN_NAME))
    with socket.socket(socket.AF_UNIX) as listener:
        try:
            listener.bind(str(taken))
            listener.listen(1)
            listener.settimeout(_POLL)
            taken.rename(path)  # only now may a job claim this worker
            for _ in range(_IDLE // _POLL):
                with contextlib.suppress(TimeoutError):
                    return _accepted(listener)
                if not folder.exists():
                    return None
            # A job that has claimed this worker by now is about to connect.
            path.unlink()
        except FileNotFoundError:
            with contextlib.suppress(TimeoutError):
                return _accepted(listener)
        except OSError:  # no room, or a path that is too long for a socket
            return None
    return None


def _accepted(listener: socket.socket) -> socket.socket:
    """Accept a connection, which has no time limit."""
    connection, _ = listener.accept()
    connection.settimeout(None)
    return connection
