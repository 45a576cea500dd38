"""Files of tables: what each format is, and how it becomes a table with a column for each feature."""

from __future__ import annotations

import codecs
import hashlib
import io
import json
import lzma
import re
import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from admmbench.datasets._fetch import read_bytes
from admmbench.datasets._table_columns import different
from admmbench.validation import expanded

if TYPE_CHECKING:
    import pandas as pd

#: Formats, with the suffixes of their files; behind each, ``.xz`` may follow.
FORMATS = {
    "csv": (".csv", ".tsv", ".txt"),
    "parquet": (".parquet", ".pq"),
    "libsvm": (".libsvm", ".svmlight", ".svm"),
    "leaf": (".json",),
}
#: Column of the targets, in formats that have a place for them.
LABELS = {"libsvm": "label", "leaf": "y"}
#: Column that says whose a row of a LEAF file is.
USER = "user"
# What stands for a missing value, besides what pandas takes for one.
_MISSING = ["?"]
_SEPARATORS = ",;\t"
_QUOTED = re.compile('"[^"]*"')
# What is raised of a file that is damaged, or of another format.
_UNREADABLE = (
    *(ValueError, TypeError, KeyError, OverflowError, RecursionError),
    *(OSError, EOFError, lzma.LZMAError),
)


def sources(path: str) -> list[Path]:
    """List the files of a table: the one that is named, or the JSON files of a folder in the order of their names.

    Raises
    ------
    ValueError
        If there is none.
    """
    place = expanded(path)
    if place.is_file():
        return [place]
    if not place.is_dir():
        raise ValueError(f"there is no file {path!r}")
    found = sorted(each for each in place.iterdir() if _suffix(each) in FORMATS["leaf"])
    if not found:
        raise ValueError(
            f"the folder {path!r} has neither .json files, as LEAF writes them, nor folders train and test of these"
        )
    return found


def parts_of(path: str) -> tuple[str, str] | None:
    """Return the folders of both parts, if a path is the folder in which LEAF makes these."""
    train, test = (Path(path, part) for part in ("train", "test"))
    both = expanded(str(train)).is_dir() and expanded(str(test)).is_dir()
    return (str(train), str(test)) if both else None


def check_path(path: str, key: str) -> None:
    """Refuse a path that leads to no table; ValueError names its key."""
    try:
        sources(path)
    except ValueError as error:
        raise ValueError(f"{key}: {error}") from None


def checksums_of(path: str) -> dict[str, str]:
    """Return the SHA-256 of each file of a table by its name in a folder; that of a single file has the empty name."""
    files = sources(path)
    names = [""] if files == [expanded(path)] else [file.name for file in files]
    found = {}
    for name, file in zip(names, files, strict=True):
        state = file.stat()
        found[name] = f"sha256:{_sha256(file, state.st_mtime_ns, state.st_ino, state.st_size)}"
    return found


@lru_cache
def _sha256(path: Path, changed: int, number: int, size: int) -> str:
    """Hash a file that is asked for often, once for each time, number and size that it has."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def format_of(path: str) -> str:
    """Return the name of the format that the suffix of a file states.

    Raises
    ------
    ValueError
        If it is that of no format.
    """
    suffix = _suffix(sources(path)[0])
    for name, suffixes in FORMATS.items():
        if suffix in suffixes:
            return name
    raise ValueError(
        f"dataset.path: {path!r}: the suffix {suffix!r} says no format; state format: {', '.join(FORMATS)}"
    )


def _suffix(path: Path) -> str:
    return Path(path.stem if path.suffix == ".xz" else path.name).suffix.lower()


def read_tables(paths: Sequence[str], kind: str) -> list[pd.DataFrame]:
    """Read tables of one format: one, or a second one with the test part.

    Raises
    ------
    ValueError
        If a file is none of this format; the message names it.
    """
    try:
        return _READERS[kind]([sources(path) for path in paths])
    except ImportError:
        raise ValueError(
            f"{' and '.join(paths)}: Parquet needs the package pyarrow: pip install 'admmbench[parquet]'"
        ) from None
    except _UNREADABLE as error:
        said = " ".join(str(error).split())
        if isinstance(error, UnicodeError):
            said = "it is not in UTF-8; save it so"
        elif isinstance(error, KeyError):
            said = f"it has no {said}"
        raise ValueError(f"{' and '.join(paths)}: cannot be read as {kind}: {said}") from None


def _read_csv(tables: list[list[Path]]) -> list[pd.DataFrame]:
    """Read text with names in its first line, separated by what stands there most often."""
    import pandas as pd  # slow to import

    def read(content: bytes) -> pd.DataFrame:
        # A name in quotes may contain any of the separators.
        first = _QUOTED.sub("", content.split(b"\n", 1)[0].decode("utf-8-sig"))
        form: dict[str, Any] = {"sep": max(_SEPARATORS, key=first.count), "skipinitialspace": True}
        # Of two columns of one name, the second would be read under another one.
        names = pd.read_csv(
            io.BytesIO(content), header=None, nrows=1, dtype=str, keep_default_na=False, **form
        )
        different(name for name in names.iloc[0] if name)
        # Of fields that have no name the first would be left for the index, and those beyond left out.
        with warnings.catch_warnings(action="error", category=pd.errors.ParserWarning):
            try:
                return pd.read_csv(
                    io.BytesIO(content),
                    na_values=_MISSING,
                    low_memory=False,
                    index_col=False,
                    **form,
                )
            except pd.errors.ParserWarning:
                raise ValueError(
                    "rows have more fields than the first line has names; name every column"
                ) from None

    return [read(read_bytes(file)) for (file,) in tables]


def _read_parquet(tables: list[list[Path]]) -> list[pd.DataFrame]:
    import pandas as pd  # slow to import

    def read(content: bytes) -> pd.DataFrame:
        frame = pd.read_parquet(io.BytesIO(content))
        # The file has it as a column like any other.
        return frame.reset_index([name for name in frame.index.names if name is not None])

    return [read(read_bytes(file)) for (file,) in tables]


def _read_libsvm(tables: list[list[Path]]) -> list[pd.DataFrame]:
    """Read sparse features, which are named by their numbers in the file."""
    import pandas as pd  # slow to import
    from sklearn.datasets import load_svmlight_files

    contents = [io.BytesIO(read_bytes(file).removeprefix(codecs.BOM_UTF8)) for (file,) in tables]
    found = load_svmlight_files(contents, dtype=np.float32, zero_based=True)
    widest = max(X.shape[1] for X in found[::2])
    frames = []
    for X, y in zip(found[::2], found[1::2], strict=True):
        X.resize(X.shape[0], widest)
        frame = pd.DataFrame(X.toarray(), columns=[str(number) for number in range(widest)])
        if all(part[:, [0]].nnz == 0 for part in found[::2]):
            frame = frame.drop(columns="0")  # the file counts from 1
        frames.append(frame.assign(**{LABELS["libsvm"]: y.astype(np.float64)}))
    return frames


def _read_leaf(tables: list[list[Path]]) -> list[pd.DataFrame]:
    """Read what LEAF writes: rows ``x`` and targets ``y`` of each user."""
    import pandas as pd  # slow to import

    def read(files: list[Path]) -> pd.DataFrame:
        X: list[Any] = []
        y: list[Any] = []
        users: list[str] = []
        for file in files:
            content = json.loads(read_bytes(file), object_pairs_hook=_each_once)
            different(content["users"], "users")
            _check_users(content)
            for user in content["users"]:
                rows = content["user_data"][user]
                if rows["y"]:
                    X.append(np.array(rows["x"], np.float32).reshape(len(rows["y"]), -1))
                y += rows["y"]
                users += [user] * len(rows["y"])
        features = np.concatenate(X or [np.empty((0, 0))])
        names = [f"x{number}" for number in range(features.shape[1])]
        return pd.DataFrame(features, columns=names).assign(**{LABELS["leaf"]: y, USER: users})

    return [read(files) for files in tables]


def _check_users(content: dict[str, Any]) -> None:
    """Refuse a LEAF file that does not say of each record whose it is; ValueError names the user."""
    users, data = content["users"], content["user_data"]
    if unlisted := [user for user in data if user not in users]:
        raise ValueError(f"users lacks {unlisted[0]!r} of user_data; add it, or remove its records")
    sizes = content.get("num_samples", [len(data[user]["y"]) for user in users])
    if len(sizes) != len(users):
        raise ValueError(f"num_samples has {len(sizes)} numbers for {len(users)} users")
    for user, size in zip(users, sizes, strict=True):
        counts = {"x": len(data[user]["x"]), "y": len(data[user]["y"]), "num_samples": size}
        if len(set(counts.values())) > 1:
            said = ", ".join(f"{count} in {name}" for name, count in counts.items())
            raise ValueError(f"records of user {user!r} differ in number: {said}; mend the file")


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of JSON; of two users of one name, the rows of the first would be lost."""
    different((key for key, _ in pairs), "keys")
    return dict(pairs)


_READERS: dict[str, Callable[[list[list[Path]]], list[pd.DataFrame]]] = {
    "csv": _read_csv,
    "parquet": _read_parquet,
    "libsvm": _read_libsvm,
    "leaf": _read_leaf,
}
