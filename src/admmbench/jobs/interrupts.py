"""Ctrl-C and a terminal that is closed: both end a command alike, with one line and the status of a shell."""

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
    """A signal came. If Python saw `KeyboardInterrupt` itself, it would sometimes kill the process at its end."""


@contextlib.contextmanager
def handled(
    handler: Callable[[int, Any], None], signals: tuple[signal.Signals, ...] = SIGNALS
) -> Iterator[None]:
    """Call a function for some signals; those that are ignored, as `nohup` asks for, stay so."""
    former = {}
    # Python lets no other thread do this.
    if threading.current_thread() is threading.main_thread():
        former = {each: signal.getsignal(each) for each in signals}
    heard = [each for each, before in former.items() if before is not signal.SIG_IGN]
    for each in heard:
        signal.signal(each, handler)
    try:
        yield
    finally:
        for each in heard:
            signal.signal(each, former[each])


def overhear() -> list[int]:
    """Note signals that come from now on, and leave them to the functions that handle them now.

    Returns
    -------
    The signals that came.
    """
    heard: list[int] = []
    for each in (*SIGNALS, signal.SIGTERM):
        former = signal.getsignal(each)
        if callable(former):
            signal.signal(each, partial(_note, heard, former))
    return heard


def _note(heard: list[int], former: Callable[[int, Any], Any], number: int, frame: object) -> None:
    heard.append(number)
    former(number, frame)


@contextlib.contextmanager
def raised() -> Iterator[list[int]]:
    """Raise `Interrupted`.

    Yields
    ------
    The signals that came: a library that is interrupted may raise something else.
    """
    heard: list[int] = []

    def interrupt(number: int, frame: object) -> None:
        heard.append(number)
        raise Interrupted

    with handled(interrupt):
        yield heard


def said() -> int:
    """Say that a command was interrupted, and return its exit status."""
    with contextlib.suppress(OSError):  # the terminal may be gone
        print("admmbench: interrupted", file=sys.stderr)
    return STATUS
