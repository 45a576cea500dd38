"""Files that appear complete or not at all."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import uuid
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from admmbench.validation import expanded


def cache_folder(cache: str | os.PathLike[str] | None = None) -> Path:
    """Return the cache folder: the argument, else ``ADMMBENCH_CACHE``, else the user's cache.

    Raises
    ------
    OSError
        If none is named and the user has no home.
    """
    if named := cache or os.environ.get("ADMMBENCH_CACHE"):
        return expanded(named)
    import pooch  # slow to import

    with contextlib.suppress(RuntimeError):
        folder = Path(pooch.os_cache("admmbench"))
        if folder.is_absolute():  # else it begins with ~
            return folder
    raise FileNotFoundError("no home for a cache folder: name one by ADMMBENCH_CACHE")


def private_folder() -> Path:
    """Return a folder that this user alone can write to: the cache folder, or one in it; OSError if there is none."""
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    if is_own(cache.stat()):
        return cache
    folder = cache / f"user-{os.geteuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if not is_own(folder.lstat()):
        raise PermissionError(
            f"others can write to {folder}: name a folder of your own by ADMMBENCH_CACHE"
        )
    return folder


def is_own(state: os.stat_result, *trusted: int) -> bool:
    """Return whether a file belongs to this user, or to a trusted one, and nobody else can write to it."""
    return state.st_uid in (os.geteuid(), *trusted) and not state.st_mode & 0o022


DAMAGED = "incomplete, altered or of an earlier version: its SHA-256 differs"
"""Fault of a file whose checksum is missing or another one."""
MADE_AGAIN = "the command that made it, such as `admmbench study`, makes it again"
"""Fix of a damaged file."""
MARKUP, PDF, BINARY = "<!-- sha256 {} -->\n", "%sha256 {}\n", "sha256 {}\n"
"""Last line with the checksum, which readers skip: of a page or an SVG, a PDF, and a netCDF file or a PNG."""
CHECKSUM_KEY = "sha256"
"""Name of the checksum in JSON and in attributes of netCDF files."""
_CHECKSUM = re.compile(rb"sha256\W{1,4}([0-9a-f]{64})\W{0,8}\Z")
# No line with a checksum is longer, in bytes.
_LINE = 100


def with_checksum(content: bytes, line: str) -> bytes:
    """Append the checksum of a file to its content, as the last line, such as `MARKUP`."""
    before, after = (part.encode() for part in line.split("{}"))
    return content + before + _sha256(content + before, after) + after


def is_whole(content: bytes) -> bool | None:
    """Return whether a file has the content that its checksum was computed of; None if it has no checksum."""
    match = _CHECKSUM.search(content, max(0, len(content) - _LINE))
    if match is None:
        return None
    return match[1] == _sha256(memoryview(content)[: match.start(1)], content[match.end(1) :])


def has_checksum(path: Path) -> bool:
    """Return whether the last line of a file has a checksum, as files of the suite have, without reading all."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _LINE))
        return _CHECKSUM.search(file.read()) is not None


def read_checked(path: Path) -> bytes:
    """Read a file that was written with a checksum.

    Raises
    ------
    ValueError
        If it cannot be read, or is not as it was written; the message names the file and the fix.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ValueError(f"{path}: cannot be read: {error.strerror}; {MADE_AGAIN}") from None
    if not is_whole(content):
        raise ValueError(f"{path}: {DAMAGED}; {MADE_AGAIN}")
    return content


def checksummed_json(content: Mapping[str, Any], **style: Any) -> str:
    """Write a mapping as JSON whose last key is the checksum; ``style`` is passed to `json.dumps`."""
    text = json.dumps(content, **style)
    comma = "," if content else ""
    return with_checksum(
        text[:-1].rstrip().encode(), f'{comma}\n "{CHECKSUM_KEY}": "{{}}"}}'
    ).decode()


def hash_file(path: Path) -> str:
    """Hash a file, however large, by SHA-256; the file is read again if its times, number or size changed."""
    state = path.stat()
    return _hash(path, state.st_mtime_ns, state.st_ctime_ns, state.st_ino, state.st_size)


@lru_cache
def _hash(path: Path, *state: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_checksummed(path: Path) -> dict[str, Any]:
    """Read the mapping in a file with the text of `checksummed_json`. See `read_checked` for errors."""
    content: dict[str, Any] = json.loads(read_checked(path))
    del content[CHECKSUM_KEY]
    return content


def _sha256(*parts: bytes | memoryview) -> bytes:
    """Return the SHA-256 of some bytes, in hexadecimal digits."""
    checksum = hashlib.sha256()
    for part in parts:
        checksum.update(part)
    return checksum.hexdigest().encode()


def digest(content: Any) -> str:
    """Return the SHA-256 of a value that JSON can hold, in hexadecimal digits."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def check_output(path: Path) -> None:
    """Refuse a path at which no file can be written.

    Raises
    ------
    OSError
        If the path is something else than a regular file, which would be replaced, or no folder can be written to.
    """
    if path.is_symlink():
        raise OSError(f"{path} is a symbolic link and not followed: name the file that it leads to")
    if path.exists():
        if not path.is_file():
            raise OSError(f"{path} is no regular file and not replaced: name a file to write")
    elif str(path) == "-":
        raise OSError("- is no file: name a file to write; nothing goes to standard output")
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    if not (folder.is_dir() and os.access(folder, os.W_OK)):
        raise OSError(f"{folder} is no folder that you can write to: name another place")


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Write a file under another name in its folder, and put it in place after success.

    Yields
    ------
    Path
        Path of the temporary file to write. An error removes it, and leaves the file at ``path`` as it was.

    Raises
    ------
    OSError
        See `check_output`; also if the disk is full.
    """
    check_output(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name[:50]}.{uuid.uuid4().hex}.tmp")
    try:
        yield temporary
        sync(temporary)
        temporary.replace(path)
        sync(path.parent)
    except OSError as error:
        if error.errno and error.filename in (None, str(temporary)):  # a full disk has none
            error.filename = str(path)
        raise
    finally:
        temporary.unlink(missing_ok=True)


# Errors of folders that can be written but not read, and of file systems of a network.
_NO_SYNC = (errno.EACCES, errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP)


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk, so that a loss of power leaves them."""
    try:
        number = os.open(path, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
    except OSError as error:
        if error.errno != errno.EINVAL and not (path.is_dir() and error.errno in _NO_SYNC):
            raise


def write(path: Path, content: str | bytes | memoryview) -> None:
    """Write a file, whole or not at all, see `replacing`; text as UTF-8."""
    with replacing(path) as temporary:
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)
