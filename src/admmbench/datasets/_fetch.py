"""Get source files: cache, then local mirror, then the network; every copy is verified.

A copy may be stored as it is or xz-compressed (`<name>.xz`); checksum and size always refer to the
content inside.
"""

import hashlib
import io
import logging
import lzma
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from admmbench.files import PERMISSIONS, cache_folder
from admmbench.validation import expanded

__all__ = ["DatasetError", "RemoteFile", "checksum", "fetch", "read_bytes"]

#: Checksums that can be compared.
CHECKSUM = re.compile("sha256:[0-9a-f]{64}|git-blob-sha1:[0-9a-f]{40}")
#: Attempts per URL; pooch waits a second before the second one, two before the third.
ATTEMPTS = 3
#: Bytes of a file that states no size, at most.
MOST = 2**31
#: Seconds to wait for a connection and for the next bytes.
TIMEOUT = (10.0, 60.0)

logger = logging.getLogger(__name__)


class DatasetError(RuntimeError):
    """A data set cannot be loaded: a file or a prepared copy is missing or wrong."""


@dataclass(frozen=True)
class RemoteFile:
    """A source file, where to find it, and what it must contain.

    Attributes
    ----------
    name
        Name in messages and in `Dataset.checksums`, unique within the data set.
    urls
        Addresses, tried in turn.
    mirror_path
        Path of the file relative to the mirror folder, and to ``files/`` in the cache.
    checksum
        ``"sha256:<hex>"``, or ``"git-blob-sha1:<hex>"`` where the git hash is what is published.
    size
        Bytes, if known. No more are downloaded or unpacked; `MOST` where it is not known.
    """

    name: str
    urls: tuple[str, ...]
    mirror_path: str
    checksum: str
    size: int | None = None

    @property
    def most(self) -> int:
        """Bytes of its content, at most."""
        return MOST if self.size is None else self.size


def checksum(content: bytes, algorithm: str) -> str:
    """Hash a content.

    Parameters
    ----------
    content
        What to hash.
    algorithm
        The second is what ``git hash-object`` prints.

    Returns
    -------
    str
        ``"<algorithm>:<hex>"``.

    Raises
    ------
    ValueError
        For another algorithm.
    """
    if algorithm == "sha256":
        return f"sha256:{hashlib.sha256(content).hexdigest()}"
    if algorithm == "git-blob-sha1":
        digest = hashlib.sha1(b"blob %d\0" % len(content), usedforsecurity=False)
        digest.update(content)
        return f"git-blob-sha1:{digest.hexdigest()}"
    raise ValueError(f"unknown checksum algorithm {algorithm!r}; known: sha256, git-blob-sha1")


def read_bytes(path: Path, most: int = -1) -> bytes:
    """Return the content of a file, decompressed if its name ends in ``.xz``; only so many bytes, if `most` says so."""
    with lzma.open(path) if path.suffix == ".xz" else path.open("rb") as stream:
        return stream.read(most)


def fetch(
    files: Iterable[RemoteFile],
    *,
    mirror: str | os.PathLike[str] | None = None,
    cache: str | os.PathLike[str] | None = None,
    progress: bool = True,
    advise: Callable[[Callable[[RemoteFile], bool]], str] | None = None,
) -> dict[str, Path]:
    """Find verified local copies of files; download those that are neither cached nor mirrored.

    A file of the mirror is used where it is; the cache holds downloads only. A wrong copy is
    reported by a warning and the next place is tried. Nothing enters the cache before its checksum
    was compared, and it enters by a rename, so processes may fetch the same file at the same time.

    Parameters
    ----------
    files
        What to find.
    mirror, cache
        See `admmbench.datasets.load_dataset`.
    progress
        Show downloads on standard error: a bar on a terminal, a line per file elsewhere.
    advise
        Called when a file cannot be obtained, with a function that tells whether some copy of a file is
        in the cache or the mirror (unverified); returns one more hint for the message.

    Returns
    -------
    dict of str to Path
        Path of the verified copy (see `read_bytes`) by file name.

    Raises
    ------
    DatasetError
        If a file cannot be obtained; the message lists every place that was tried and why it failed.
    """
    folders = {"cache": cache_folder(cache) / "files"}
    if given := mirror or os.environ.get("ADMMBENCH_MIRROR"):
        folders["mirror"] = expanded(given)

    # Everything local first: what is missing is then known before the first (slow) download.
    paths: dict[str, Path] = {}
    missing: list[tuple[RemoteFile, list[str]]] = []
    for file in files:
        path, tried = _find(file, folders)
        if path is None:
            missing.append((file, tried))
        else:
            paths[file.name] = path

    for number, (file, tried) in enumerate(missing):
        path = _download(file, folders["cache"], progress, tried)
        if path is None:
            others = [other.name for other, _ in missing[number + 1 :]]
            hint = advise(lambda f: _is_present(f, folders)) if advise else ""
            raise DatasetError(_explain(file, tried, others, folders.get("mirror"), hint))
        paths[file.name] = path
    return paths


def _copies(folder: Path, file: RemoteFile) -> tuple[Path, Path]:
    plain = folder / file.mirror_path
    return plain, plain.with_name(plain.name + ".xz")


def _is_present(file: RemoteFile, folders: dict[str, Path]) -> bool:
    return any(path.exists() for folder in folders.values() for path in _copies(folder, file))


def _find(file: RemoteFile, folders: dict[str, Path]) -> tuple[Path | None, list[str]]:
    """Return a verified local copy, or None; and what was wrong in each place."""
    tried: list[str] = []
    for place, folder in folders.items():
        present = [path for path in _copies(folder, file) if path.exists()]
        for path in present:
            fault = _fault(path, file)
            if not fault:
                return path, tried
            tried.append(f"{place} {path}: {fault}")
            logger.warning("ignoring %s, expected %s", tried[-1], file.checksum)
        if not present:
            tried.append(f"{place} {folder / file.mirror_path}: not there")
    return None, tried


def _fault(path: Path, file: RemoteFile) -> str:
    """Say what is wrong with a copy of a file; empty if nothing is."""
    try:
        if not path.is_file():  # reading a pipe would wait for ever
            return "no regular file"
        content = read_bytes(path, file.most + 1)
    except (OSError, EOFError, lzma.LZMAError) as error:
        return f"unreadable ({type(error).__name__}: {error})"
    if len(content) > file.most:
        return f"wrong content, more than {file.most:,} bytes"
    found = checksum(content, file.checksum.partition(":")[0])
    return "" if found == file.checksum else f"wrong content, {found}, {len(content):,} bytes"


def _download(file: RemoteFile, folder: Path, progress: bool, tried: list[str]) -> Path | None:
    """Download into the cache from the first URL that serves the right content; say what the others did."""
    import pooch  # slow to import, and mostly nothing is to be fetched
    import requests

    pooch.get_logger().setLevel("WARNING")  # progress is shown here
    terminal = sys.stderr.isatty()
    download = _Downloader(file, progress and terminal)
    name, retries = file.mirror_path, ATTEMPTS - 1
    try:
        for wrong in _copies(folder, file):
            # Another process may have put the right one there.
            if wrong.exists() and _fault(wrong, file):
                wrong.unlink(missing_ok=True)
        for url in file.urls:
            source = pooch.create(
                folder, "", registry={name: None}, urls={name: url}, retry_if_failed=retries
            )
            if progress and not terminal:
                print(f"Downloading {url}", file=sys.stderr)
            try:
                return Path(source.fetch(name, downloader=download))
            except DatasetError as error:
                tried.append(f"{url}: {error}")
            except requests.RequestException as error:
                tried.append(f"{url}: {_reason(error)} (in the last of {ATTEMPTS} attempts)")
    except OSError as error:
        raise DatasetError(
            f"cannot write to the cache {folder}: {error}\n"
            "Name a writable folder by ADMMBENCH_CACHE (config key data.cache)."
        ) from error
    return None


@dataclass(frozen=True)
class _Downloader:
    """What pooch calls for a file: it takes no more bytes than the file has, and no other content.

    A `DatasetError` says that the server has something else, which asking again does not change; pooch tries again
    after other errors.
    """

    file: RemoteFile
    bar: bool
    """Whether a bar shows how far it is."""

    def __call__(self, url: str, output_file: Any, source: Any) -> None:
        import pooch
        import requests

        download = pooch.HTTPDownloader(self.bar, chunk_size=1 << 16, timeout=TIMEOUT)
        try:
            with _Bounded(output_file, self.file.most) as stream:
                download(url, stream, source)
        except requests.HTTPError as error:
            status = getattr(error.response, "status_code", 0)
            if status < 500 and status != requests.codes.too_many_requests:
                raise DatasetError(_reason(error)) from error
            raise
        path = Path(output_file)
        if fault := _fault(path, self.file):
            raise DatasetError(fault)
        path.chmod(PERMISSIONS)  # others may share the cache, but none reads a temporary file


class _Bounded(io.FileIO):
    """A file that is written, so many bytes at most."""

    def __init__(self, path: str, most: int) -> None:
        super().__init__(path, "wb")
        self._most = most

    def write(self, content: Any) -> int:
        if self.tell() + len(content) > self._most:
            raise DatasetError(f"wrong content, more than {self._most:,} bytes")
        return super().write(content)


def _reason(error: BaseException) -> str:
    """Say in plain words why a download failed: the first exception of a chain says "connection refused"."""
    if (response := getattr(error, "response", None)) is not None:
        return f"HTTP status {response.status_code}"
    while error.__context__ is not None:
        error = error.__context__
    return f"{type(error).__name__}: {error}"


def _some(names: Sequence[str], most: int = 4) -> str:
    """List names, the first few of many."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def _explain(
    file: RemoteFile, tried: list[str], others: list[str], mirror: Path | None, hint: str
) -> str:
    """Compose the message about a file that cannot be obtained."""
    size = f", {file.size:,} bytes" if file.size is not None else ""
    if mirror is None:
        fix = f"set ADMMBENCH_MIRROR (config key data.mirror) to a folder with {file.mirror_path}"
    else:
        fix = f"put the right file at {mirror / file.mirror_path} (or .xz of it) in the mirror"
    ways = ["check the network and run again to download it", fix] + ([hint] if hint else [])
    lines = [
        f"cannot get {file.name}",
        f"  expected: {file.checksum}{size}",
        *(f"  tried: {attempt}" for attempt in tried),
        *([f"  also not in cache or mirror: {_some(others)}"] if others else []),
        *(f"  to fix: {way}" for way in ways),
    ]
    return "\n".join(lines)
