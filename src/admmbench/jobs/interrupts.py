"""Interrupts: Ctrl-C and a closed terminal both end a command with one line and the exit status of a shell."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGHUP)
STATUS = 128 + signal.SIGINT


class Interrupted(KeyboardInterrupt):
    """Interrupt by a signal.

    A class of its own, as Python sometimes kills a process at its end that ends by `KeyboardInterrupt` itself.
    """


@contextlib.contextmanager
def handled(
    handler: Callable[[int, Any], None], signals: tuple[signal.Signals, ...] = SIGNALS
) -> Iterator[None]:
    """Call a function for some signals; signals that the process ignores, as `nohup` asks for, stay ignored."""
    # Python lets only the main thread set handlers.
    is_main = threading.current_thread() is threading.main_thread()
    previous = {number: signal.getsignal(number) for number in signals if is_main}
    replaced = {number: call for number, call in previous.items() if call is not signal.SIG_IGN}
    for number in replaced:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, previous_handler in replaced.items():
            signal.signal(number, previous_handler)


def overhear() -> list[int]:
    """Return a list to which each signal from now on adds its number, and leave its handling to the present handler."""
    received: list[int] = []

    def note(previous_handler: Callable[[int, Any], Any], number: int, frame: object) -> None:
        received.append(number)
        previous_handler(number, frame)

    for number in (*SIGNALS, signal.SIGTERM):
        previous_handler = signal.getsignal(number)
        if callable(previous_handler):
            signal.signal(number, partial(note, previous_handler))
    return received


@contextlib.contextmanager
def raised() -> Iterator[list[int]]:
    """Raise `Interrupted` when a signal comes.

    Yields
    ------
    Numbers of the signals that came: a library that is interrupted may raise another error.
    """
    received: list[int] = []

    def interrupt(number: int, frame: object) -> None:
        received.append(number)
        raise Interrupted

    with handled(interrupt):
        yield received


def said() -> int:
    """Print that a command was interrupted, and return its exit status."""
    with contextlib.suppress(OSError):  # the terminal may be gone
        print("admmbench: interrupted", file=sys.stderr)
    return STATUS
