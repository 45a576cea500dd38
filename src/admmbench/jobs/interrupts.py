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
    previous_handlers = {}
    # Python lets only the main thread set handlers.
    if threading.current_thread() is threading.main_thread():
        previous_handlers = {number: signal.getsignal(number) for number in signals}
    handled_signals = [
        number for number, previous in previous_handlers.items() if previous is not signal.SIG_IGN
    ]
    for number in handled_signals:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number in handled_signals:
            signal.signal(number, previous_handlers[number])


def overhear() -> list[int]:
    """Record signals from now on, and leave their handling to the present handlers.

    Returns
    -------
    Numbers of the signals that came; the list grows with each signal.
    """
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
