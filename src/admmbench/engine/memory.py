"""Memory that the interpreter gave back stays with the process."""

from __future__ import annotations

import ctypes
from functools import cache

# Parameters of mallopt, from glibc's malloc.h, and the largest threshold that it takes on 64 bits.
_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD = -1, -2, -3
_LARGEST_CHUNK = 32 * 2**20
_PAD = 64 * 2**20
_NEVER = 2**31 - 1


@cache
def keep_freed_memory() -> bool:
    """Ask glibc to reuse freed temporaries instead of returning them to the system.

    A round makes and frees arrays of about a megabyte thousands of times; fetching them from the system again, page by
    page, takes a quarter of FEMNIST's time. Costs some 64 MiB a thread, and does nothing with another C library.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    settings = {
        _M_MMAP_THRESHOLD: _LARGEST_CHUNK,
        _M_TRIM_THRESHOLD: _NEVER,
        _M_TOP_PAD: _PAD,
    }
    return all(mallopt(key, value) for key, value in settings.items())
