"""Limit of ``ulimit -v`` on the memory of a process, under which any call may fail with any error."""

from __future__ import annotations

import resource

# Address space that a process of a study takes at least, in bytes: libraries, and threads on two cores.
LEAST = 2**30
_ERRORS = ("can't start new thread", "Cannot allocate memory", "failed to map segment")


def memory_limit() -> int | None:
    """Return the bytes of address space that a process may have; None if there is no limit."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if limit == resource.RLIM_INFINITY else limit


def refuse_small_limit() -> None:
    """Raise a `MemoryError` if the limit is too small for any study."""
    limit = memory_limit()
    if limit is not None and limit < LEAST:
        raise MemoryError


def explain(error: BaseException | str) -> str:
    """Return advice on an error, or on its text, if the limit caused the error; empty otherwise."""
    limit = memory_limit()
    lacking = isinstance(error, MemoryError) or any(text in str(error) for text in _ERRORS)
    if limit is None or not lacking:
        return ""
    return (
        f"out of memory: `ulimit -v` limits each process to {limit / 1e9:.2f} GB, and a study takes at least "
        f"{LEAST / 1e9:.2f} GB; raise it, such as by `ulimit -v unlimited`, and call the same command again"
    )
