"""Verification in a sandbox of Linux: no network, no file that can be written, limits of time and memory.

A namespace of users makes a process that may set up the others without being privileged. All mounts become read-only,
and a second namespace locks them, so that the code inside cannot undo it.
"""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

SECONDS, MEMORY, SCRATCH = 1800, 8 << 30, 1 << 30
"""Limits: seconds of a processor, bytes of memory, and bytes of files in a folder that is lost."""
REFUSED = 2
# Of mount_setattr(2) and mount(2).
_MOUNT_SETATTR, _AT_FDCWD, _AT_RECURSIVE, _READ_ONLY = 442, -100, 0x8000, 1
_OUTER = ("unshare", "--user", "--map-root-user", "--net", "--ipc", "--pid", "--fork", "--mount")
_INNER = ("unshare", "--user", "--mount")


class _Attributes(ctypes.Structure):
    """Structure ``mount_attr``."""

    _fields_ = [(name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "userns")]


def confined(certificate: Path, method: Path, part: str | None, draw: str | None) -> int:
    """Verify a certificate in a sandbox, and return the exit status, 2 where there can be none."""
    words = [str(certificate.absolute()), str(method.absolute())]
    for option, value in (("--part", part), ("--draw", draw)):
        words += [option, value] if value else []
    if reason := missing():
        print(f"– no sandbox: {reason}; verify in a container, or on a machine of its own")
        return REFUSED
    with tempfile.TemporaryDirectory() as scratch:
        command = [*_OUTER, sys.executable, "-m", __name__, scratch, *words]
        try:
            status = subprocess.run(command, timeout=2 * SECONDS, check=False).returncode
        except subprocess.TimeoutExpired:
            print(f"✗ stopped after {2 * SECONDS} s")
            return 1
    if status not in (0, 1, REFUSED):
        print(f"✗ ended by {status}: it may need more than {SECONDS} s or {MEMORY >> 30} GiB")
        return 1
    return status


def missing() -> str:
    """Return why there can be no sandbox here; empty if there can."""
    if not (sys.platform == "linux" and shutil.which("unshare")):
        return "it needs Linux and unshare"
    tried = subprocess.run([*_OUTER, "true"], capture_output=True, text=True, check=False)
    return tried.stderr.strip() if tried.returncode else ""


def _set_up(scratch: str, words: Sequence[str]) -> None:
    """Make all mounts read-only but a folder in memory, set limits, and become the verification."""
    libc = ctypes.CDLL(None, use_errno=True)
    attributes = _Attributes(set=_READ_ONLY)
    arguments = (b"/", _AT_RECURSIVE, ctypes.byref(attributes), ctypes.sizeof(attributes))
    if libc.syscall(_MOUNT_SETATTR, _AT_FDCWD, *arguments):
        raise OSError(ctypes.get_errno(), "mount_setattr")
    if libc.mount(b"none", scratch.encode(), b"tmpfs", 0, f"size={SCRATCH}".encode()):
        raise OSError(ctypes.get_errno(), "mount")
    for limit, value in ((resource.RLIMIT_CPU, SECONDS), (resource.RLIMIT_AS, MEMORY)):
        resource.setrlimit(limit, (value, value))
    os.chdir(scratch)
    kept = ("PATH", "OPENBLAS_NUM_THREADS", "ADMMBENCH_MIRROR", "LANG")
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    environment |= dict.fromkeys(("HOME", "TMPDIR", "XDG_CACHE_HOME"), scratch)
    os.execvpe(
        _INNER[0], [*_INNER, sys.executable, "-m", "admmbench", "verify", *words], environment
    )


if __name__ == "__main__":
    _set_up(sys.argv[1], sys.argv[2:])
