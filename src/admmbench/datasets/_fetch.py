"""Source files: from the cache, a local mirror, or the network; every copy is verified.

A copy may be stored as it is or xz-compressed (`<name>.xz`); checksum and size always refer to the
content inside.
"""

import contextlib
import csv
import hashlib
import io
import logging
import lzma
import os
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator

from admmbench.files import cache_folder
from admmbench.validation import expanded

# Checksums that can be compared.
_CHECKSUM = re.compile("sha256:[0-9a-f]{64}|git-blob-sha1:[0-9a-f]{40}")
#: Attempts per URL; pooch waits a second before the second one, two before the third.
ATTEMPTS = 3
#: Bytes of a file that states no size, at most.
MOST = 2**31
#: Seconds to wait for a connection and for the next bytes.
TIMEOUT = (10.0, 60.0)
#: Seconds to wait for each of the two where only the existence of a file is asked for.
PATIENCE = 5.0
# Number of further missing files that a message names.
_SHOWN = 4

logger = logging.getLogger(__name__)


class DatasetError(RuntimeError):
    """Error of a data set that cannot be loaded: a file or a prepared copy is missing or wrong."""


def _inside_mirror(path: str) -> str:
    """Return a path relative to the mirror; ValueError if it leads out of it."""
    if Path(path).is_absolute() or ".." in Path(path).parts or not Path(path).parts:
        raise ValueError(f"{path!r} leads out of the mirror")
    return path


def _known_checksum(checksum: str) -> str:
    """Return a checksum; ValueError if it is of no known algorithm."""
    if not _CHECKSUM.fullmatch(checksum):
        raise ValueError(f"{checksum!r} is no sha256:<64 hex digits>")
    return checksum


@dataclass(frozen=True)
class RemoteFile:
    """Source file: the places to find it, and the checksum of its content.

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
    mirror_path: Annotated[str, AfterValidator(_inside_mirror)]
    checksum: Annotated[str, AfterValidator(_known_checksum)]
    size: int | None = None

    @property
    def most(self) -> int:
        """Return the largest number of bytes that its content may have."""
        return MOST if self.size is None else self.size


def sources(folder: str) -> tuple[RemoteFile, ...]:
    """Return the files that `sources.csv` states of a folder of the mirror, in its order."""
    table = resources.files("admmbench.datasets").joinpath("sources.csv").read_text("utf-8")
    return tuple(
        RemoteFile(
            name=row["mirror_path"].removeprefix(f"{folder}/"),
            urls=tuple(row["urls"].split()),
            mirror_path=row["mirror_path"],
            checksum=f"sha256:{row['sha256']}",
            size=int(row["bytes"]) if row["bytes"] else None,
        )
        for row in csv.DictReader(table.splitlines())
        if row["mirror_path"].startswith(f"{folder}/")
    )


def checksum(content: bytes, algorithm: str) -> str:
    """Return ``"<algorithm>:<hex>"`` of a content.

    The algorithm is ``sha256``, or ``git-blob-sha1``, the hash that ``git hash-object`` prints; ValueError for another.
    """
    if algorithm == "sha256":
        return f"sha256:{hashlib.sha256(content).hexdigest()}"
    if algorithm == "git-blob-sha1":
        digest = hashlib.sha1(b"blob %d\0" % len(content), usedforsecurity=False)
        digest.update(content)
        return f"git-blob-sha1:{digest.hexdigest()}"
    raise ValueError(f"unknown checksum algorithm {algorithm!r}; known: sha256, git-blob-sha1")


def compare(content: bytes, expected: str, source: str, fix: str) -> None:
    """Raise a `DatasetError` that names a source and a fix if its content has another SHA-256 than expected."""
    actual = checksum(content, "sha256")
    if actual != expected:
        raise DatasetError(f"{source}: {actual}, expected {expected}\n  to fix: {fix}")


def read_bytes(path: Path, most: int = -1) -> bytes:
    """Return the content of a file, decompressed if its name ends in ``.xz``: at most ``most`` bytes, or all (-1)."""
    with lzma.open(path) if path.suffix == ".xz" else path.open("rb") as stream:
        return stream.read(most)


def fetch(
    files: Iterable[RemoteFile],
    *,
    mirror: str | os.PathLike[str] | None = None,
    cache: str | os.PathLike[str] | None = None,
    progress: bool = True,
) -> dict[str, Path]:
    """Find verified local copies of files; download those that are neither cached nor mirrored.

    A file of the mirror is used where it is; the cache holds downloads only. A wrong copy is
    reported by a warning and the next place is tried. Nothing enters the cache before its checksum
    was compared, and it enters by a rename, so processes may fetch the same file at the same time.

    Parameters
    ----------
    files
        Files to find.
    mirror, cache
        See `admmbench.datasets.load_dataset`.
    progress
        Show downloads on standard error: a bar on a terminal, a line per file elsewhere.

    Returns
    -------
    dict of str to Path
        Path of the verified copy (see `read_bytes`) by file name.

    Raises
    ------
    DatasetError
        If a file cannot be obtained; the message lists every place that was tried and why it failed.
    """
    folders = _folders(mirror, cache)
    # Everything local first: what is missing is then known before the first (slow) download.
    tried: dict[RemoteFile, list[str]] = {file: [] for file in files}
    paths = {file.name: _find(file, folders, tried[file]) for file in tried}
    missing = [file for file in tried if paths[file.name] is None]
    for number, file in enumerate(missing, 1):
        paths[file.name] = _download(file, folders["cache"], progress, tried[file])
        if paths[file.name] is None:
            others = [other.name for other in missing[number:]]
            raise DatasetError(_explain(file, tried[file], others, folders.get("mirror")))
    return {name: path for name, path in paths.items() if path is not None}


def find_absent(
    files: Iterable[RemoteFile],
    *,
    mirror: str | os.PathLike[str] | None = None,
    cache: str | os.PathLike[str] | None = None,
) -> list[RemoteFile]:
    """Return the files that neither the cache nor the mirror has; the content of copies is not verified."""
    folders = _folders(mirror, cache)
    return [file for file in files if not _copies(file, folders)]


def is_served(file: RemoteFile) -> bool:
    """Return whether a file could be downloaded, by one short attempt for each address, without its content."""
    import requests  # slow to import, and mostly nothing is to be fetched

    for url in file.urls:
        with (
            contextlib.suppress(requests.RequestException),
            requests.get(url, stream=True, timeout=PATIENCE) as answer,
        ):
            if answer.ok:
                return True
    return False


def _folders(
    mirror: str | os.PathLike[str] | None, cache: str | os.PathLike[str] | None
) -> dict[str, Path]:
    """Return the folders that may have copies of files, by the name of the place."""
    folders = {"cache": cache_folder(cache) / "files"}
    if folder := mirror or os.environ.get("ADMMBENCH_MIRROR"):
        folders["mirror"] = expanded(folder)
    return folders


def _copies(file: RemoteFile, folders: dict[str, Path]) -> list[tuple[str, Path]]:
    """Find copies of a file, each with its place; their content is not verified."""
    candidates = [
        (place, Path(f"{folder / file.mirror_path}{suffix}"))
        for place, folder in folders.items()
        for suffix in ("", ".xz")
    ]
    return [(place, path) for place, path in candidates if path.is_file()]


def _find(file: RemoteFile, folders: dict[str, Path], tried: list[str]) -> Path | None:
    """Return a verified local copy, if there is one; add the faults of others to ``tried``."""
    copies = _copies(file, folders)
    for place, path in copies:
        fault = _fault(path, file)
        if not fault:
            return path
        tried.append(f"{place} {path}: {fault}")
        logger.warning("ignoring %s, expected %s", tried[-1], file.checksum)
    tried += [
        f"{place} {folder / file.mirror_path}: not there"
        for place, folder in folders.items()
        if place not in dict(copies)
    ]
    return None


def _fault(path: Path, file: RemoteFile) -> str:
    """Return the fault of a copy of a file, in words; empty without a fault."""
    try:
        content = read_bytes(path, file.most + 1)
    except (OSError, EOFError, lzma.LZMAError) as error:
        return f"unreadable ({type(error).__name__}: {error})"
    if len(content) > file.most:
        return f"wrong content, more than {file.most:,} bytes"
    actual = checksum(content, file.checksum.partition(":")[0])
    return "" if actual == file.checksum else f"wrong content, {actual}, {len(content):,} bytes"


def _download(file: RemoteFile, folder: Path, progress: bool, tried: list[str]) -> Path | None:
    """Download into the cache from the first URL that serves the right content; add the others' faults to ``tried``."""
    import pooch  # slow to import, and mostly nothing is to be fetched
    import requests

    pooch.get_logger().setLevel("WARNING")  # progress is shown here
    terminal = sys.stderr.isatty()
    get = pooch.HTTPDownloader(progress and terminal, timeout=TIMEOUT)

    def download(url: str, output: str, source: Any) -> None:
        """Refuse another content before it is in its place; pooch does not try again after a `DatasetError`."""
        Path(output).unlink()  # pooch made it for this user alone, and others may share the cache
        with _BoundedFile(output, file.most) as stream:
            get(url, stream, source)
        if fault := _fault(Path(output), file):
            raise DatasetError(fault)

    name, retries = file.mirror_path, ATTEMPTS - 1
    try:
        # Made here, as pooch fails if another process makes it while pooch looks.
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        for _, wrong in _copies(file, {"cache": folder}):
            if _fault(wrong, file):  # another process may have put the right one there
                wrong.unlink(missing_ok=True)
        for url in file.urls:
            source = pooch.create(
                folder, "", registry={name: None}, urls={name: url}, retry_if_failed=retries
            )
            if progress and not terminal:
                print(f"Downloading {url}", file=sys.stderr)
            try:
                return Path(source.fetch(name, downloader=download))
            except (DatasetError, requests.RequestException) as error:
                tried.append(f"{url}: {error}")
    except OSError as error:
        raise DatasetError(
            f"cannot write to the cache {folder}: {error}\n"
            "Name a writable folder by ADMMBENCH_CACHE (config key data.cache)."
        ) from error
    return None


class _BoundedFile(io.FileIO):
    """File that takes a largest number of bytes; DatasetError for more."""

    def __init__(self, path: str, most: int) -> None:
        super().__init__(path, "wb")
        self._most = most

    def write(self, content: Any) -> int:
        if self.tell() + len(content) > self._most:
            raise DatasetError(f"wrong content, more than {self._most:,} bytes")
        return super().write(content)


def _explain(file: RemoteFile, tried: list[str], others: list[str], mirror: Path | None) -> str:
    """Compose the message about a file that cannot be obtained."""
    size = f", {file.size:,} bytes" if file.size is not None else ""
    if mirror is None:
        fix = f"set ADMMBENCH_MIRROR (config key data.mirror) to a folder with {file.mirror_path}"
    else:
        fix = f"put the right file at {mirror / file.mirror_path} (or .xz of it) in the mirror"
    more = f" and {len(others) - _SHOWN} more" if len(others) > _SHOWN else ""
    lines = [
        f"cannot get {file.name}",
        f"  expected: {file.checksum}{size}",
        *(f"  tried: {attempt}" for attempt in tried),
        *([f"  also not in cache or mirror: {', '.join(others[:_SHOWN])}{more}"] if others else []),
        "  to fix: check the network and run again to download it",
        f"  to fix: {fix}",
    ]
    return "\n".join(lines)
