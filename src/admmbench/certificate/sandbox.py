"""Sandbox of Linux for a command that executes a method: no network, no file but those that it needs, and limits.

``python -m admmbench.certificate.sandbox METHOD COMMAND...`` executes a command. Namespaces need no privileges here: a
namespace of users may set up the others. The root is a new one with this Python, this package, the data and the method,
all read-only; a second namespace locks them, so that the code inside cannot undo it. Sockets, the certificate and the
user's files are not there.
"""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from admmbench.files import cache_folder
from admmbench.files.installed import CONFIG, REFERENCE
from admmbench.validation import expanded

SECONDS, MEMORY, FILE, SCRATCH = 1800, 8 << 30, 64 << 20, 1 << 30
"""Limits: seconds of a processor, bytes of memory, bytes of a file, and of all files in a folder that is lost."""
REFUSED = 2
_MODULE = "admmbench.certificate.sandbox"
_SCRATCH = "/scratch"
# Of mount(2), mount_setattr(2) and umount2(2).
_BIND, _DETACH = 0x1000 | 0x4000, 2
_MOUNT_SETATTR, _AT_FDCWD, _AT_RECURSIVE, _READ_ONLY_NO_SETUID = 442, -100, 0x8000, 1 | 2
_OUTER = (
    *("unshare", "--user", "--map-root-user", "--net", "--ipc", "--pid", "--mount"),
    "--kill-child",
)
_INNER = ("unshare", "--user", "--mount")
_SYSTEM = ("/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache", "/dev/null", "/dev/urandom")
_libc = ctypes.CDLL(None, use_errno=True)


class _Attributes(ctypes.Structure):
    """Structure ``mount_attr``."""

    _fields_ = [(name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "userns")]


def within(method: Path) -> list[str]:
    """Return the words before a command that execute it in a sandbox."""
    return [sys.executable, "-P", "-m", _MODULE, str(method.absolute())]


def missing() -> str:
    """Return why there can be no sandbox here; empty if there can."""
    if not (sys.platform == "linux" and shutil.which("unshare") and shutil.which("pivot_root")):
        return "it needs Linux, unshare and pivot_root"
    tried = subprocess.run([*_OUTER, "true"], capture_output=True, text=True, check=False)
    return tried.stderr.strip() if tried.returncode else ""


def _mirror() -> Path:
    """Return the folder with files of data sets."""
    named = os.environ.get("ADMMBENCH_MIRROR")
    return expanded(named) if named else cache_folder() / "files"


def _visible(method: Path) -> list[Path]:
    """Return the files and folders that the command sees."""
    package = Path(__file__).resolve().parents[1]
    own: list[str | Path] = [
        sys.prefix,
        sys.base_prefix,
        package,
        CONFIG.resolve(),
        REFERENCE.resolve(),
    ]
    paths = sorted(map(Path, [*_SYSTEM, *own, _mirror(), method]))
    return [path for path in paths if path.exists() or path.is_symlink()]


def _call(name: str, *arguments: object) -> None:
    if getattr(_libc, name)(*arguments):
        raise OSError(ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())}")


def _fill(root: Path, paths: Iterable[Path]) -> None:
    """Make files and folders visible below a new root, where they are below the present one."""
    for path in paths:
        place = root / path.relative_to("/")
        if place.exists() or place.is_symlink():  # a folder above it is visible
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        if path.is_symlink() and path.parent == Path("/"):
            place.symlink_to(path.readlink())
            continue
        if path.is_dir():
            place.mkdir()
        else:
            place.touch()
        _call("mount", os.fsencode(path), os.fsencode(place), None, _BIND, None)


def _set_up(method: Path, command: list[str]) -> None:
    """Change to a new root that is read-only but for a folder in memory, set limits, and execute the command."""
    mirror, root, size = _mirror(), Path("/proc"), f"size={SCRATCH}".encode()
    # Nothing that is visible is below /proc, where every Linux has a folder to mount on.
    _call("mount", b"none", os.fsencode(root), b"tmpfs", 0, size)
    _fill(root, _visible(method))
    scratch = root / _SCRATCH[1:]
    scratch.mkdir()
    attributes = _Attributes(set=_READ_ONLY_NO_SETUID)
    arguments = (os.fsencode(root), _AT_RECURSIVE, ctypes.byref(attributes))
    _call("syscall", _MOUNT_SETATTR, _AT_FDCWD, *arguments, ctypes.sizeof(attributes))
    _call("mount", b"none", os.fsencode(scratch), b"tmpfs", 0, size)
    os.chdir(root)
    subprocess.run(["pivot_root", ".", "."], check=True)
    _call("umount2", b".", _DETACH)
    limits = {
        resource.RLIMIT_CPU: SECONDS,
        resource.RLIMIT_AS: MEMORY,
        resource.RLIMIT_FSIZE: FILE,
    }
    for limit, value in limits.items():
        resource.setrlimit(limit, (value, value))
    os.chdir(_SCRATCH)
    kept = ("PATH", "OPENBLAS_NUM_THREADS", "LANG")
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    environment |= dict.fromkeys(("HOME", "TMPDIR", "XDG_CACHE_HOME"), _SCRATCH)
    environment["ADMMBENCH_MIRROR"] = str(mirror)
    # This process stays the first one of its namespace: if `unshare` outside is killed, it is, and all others with it.
    # A change of namespaces of users would undo that.
    sys.exit(subprocess.run([*_INNER, *command], env=environment, check=False).returncode)


def main(words: list[str]) -> None:
    """Execute a command in a sandbox: first outside, then inside of its namespaces."""
    if words[0] == "inside":
        _set_up(Path(words[1]), words[2:])
    method, *command = words
    inside = [sys.executable, "-P", "-m", _MODULE, "inside", method, *command]
    os.execvp(_OUTER[0], [*_OUTER, *inside])


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"no sandbox: {error}", file=sys.stderr)
        sys.exit(REFUSED)
