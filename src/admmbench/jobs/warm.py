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
import signal
import socket
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from admmbench.jobs import interrupts

Main = Callable[[Sequence[str]], int]
VARIABLE = "ADMMBENCH_WORKERS"
"""Environment variable that names the folder of a study's workers."""
COMMANDS = ("run", "audit")
"""Commands that workers carry out: those that read files that no other job of the study changes."""
# Seconds that a worker waits for the next job, and between two looks at whether the study goes on.
_IDLE, _POLL = 10, 1
# Bytes above which a worker does not wait for another job.
_LARGE = 2**29
_PROGRAM = "admmbench.cli.jobs.work"
_IDLE_NAME, _TAKEN_NAME = "{}.idle", "{}.taken"


def folder_of_workers() -> str:
    """Return a new folder for the workers of this process's jobs, gone when it ends.

    Nothing (an empty string) if there is no room for one, so that jobs have processes of their own.
    """
    import atexit
    import shutil
    import tempfile

    try:
        folder = tempfile.mkdtemp(prefix="admmbench-")
    except OSError:
        return ""
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


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


class _Code:
    """Files of this package and of all loaded modules, with their state when this process first saw them."""

    def __init__(self) -> None:
        self._started = time.time_ns()
        self._states: dict[str, tuple[int, int]] = {}
        # Also those that are not loaded yet: a fingerprint has read them.
        files = Path(__file__).parents[1].rglob("*")
        self._note(str(f) for f in files if f.parent.name != "__pycache__" and f.is_file())

    def is_current(self) -> bool:
        """Return whether no file was changed since this process started."""
        return all(_state(file) == state for file, state in self._states.items())

    def note_loaded(self) -> None:
        """Note the files of modules that were loaded since the last call."""
        files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
        self._note(filter(None, files))

    def _note(self, files: Iterable[str]) -> None:
        for file in files:
            if file not in self._states:
                state = _state(file)
                # Whether a file that is younger than the process was loaded before its change is unknown.
                self._states[file] = state if state[0] < self._started else (0, 0)


def _state(file: str) -> tuple[int, int]:
    """Return time of change and size of a file; one that is gone counts as changed."""
    with contextlib.suppress(OSError):
        stat = os.stat(file)
        return stat.st_mtime_ns, stat.st_size
    return -1, 0


def work(main: Main, folder: Path, connection: socket.socket | None) -> None:
    """Carry out the job of a connection and then those of others; see the module for when a worker ends.

    Parameters
    ----------
    main
        Function that carries out the words of a command and returns an exit status.
    folder
        Folder in which the worker waits for jobs.
    connection
        Connection with the first job.
    """
    code = _Code()
    while connection:
        with connection:
            if not (code.is_current() and _carry_out(main, connection)):
                return
        code.note_loaded()
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
        if stop.code is None or isinstance(stop.code, int):
            return stop.code or 0
        print(stop.code, file=sys.stderr)
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
