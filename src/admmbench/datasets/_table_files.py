"""Files of tables: their formats, and how each becomes a table with a column for each feature."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import json
import lzma
import re
import warnings
import zlib
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from admmbench.datasets._table_settings import RECORD, different
from admmbench.files import hash_file
from admmbench.validation import expanded

if TYPE_CHECKING:
    import pandas as pd

#: Formats, with the suffixes of their files; behind each, one of `_COMPRESSED` may follow.
FORMATS = {
    "csv": (".csv", ".tsv", ".txt"),
    "parquet": (".parquet", ".pq"),
    "libsvm": (".libsvm", ".svmlight", ".svm"),
    "leaf": (".json",),
}
#: Column of the targets, in formats that have a place for them.
LABELS = {"libsvm": "label", "leaf": "y"}
#: Column of the user whose a row of a LEAF file is.
USER = "user"
# Functions that open compressed files, by the suffixes of these.
_COMPRESSED: dict[str, Callable[[Path], Any]] = {
    ".xz": lzma.open,
    ".gz": gzip.open,
    ".bz2": bz2.open,
}
# Formats of which a folder may have the parts of one table, with their suffixes; other text is often a README.
_IN_PARTS = {
    "leaf": FORMATS["leaf"],
    "parquet": FORMATS["parquet"],
    "csv": (".csv", ".tsv"),
}
# Cells of a table in memory, at most: 8 GiB in double precision.
_MOST_CELLS = 2**30
_SEPARATORS = ",;\t|"
# Name of the empty field behind a separator at the end of a record.
_END = "\0"
_QUOTED = re.compile('"[^"]*"')
# Errors that a file raises which is damaged, or of another format.
_UNREADABLE = (
    *(ValueError, TypeError, KeyError, OverflowError, RecursionError),
    *(OSError, EOFError, lzma.LZMAError, zlib.error),
)


def sources(path: str, kind: str = "") -> list[Path]:
    """List the file of a path, or the files of the folder there by their names, of one format if it is stated.

    Raises
    ------
    ValueError
        If there is none, or files of several formats.
    """
    place = expanded(path)
    if place.is_file():
        return [place]
    if not place.is_dir():
        raise ValueError(f"there is no file {path!r}")
    # Programs that write parts of tables begin the names of other files with these signs.
    files = sorted(file for file in place.iterdir() if file.name[0] not in "._")
    parts = {
        name: matching
        for name, suffixes in _IN_PARTS.items()
        if kind in ("", name)
        and (matching := [file for file in files if _suffix(file) in suffixes])
    }
    if not parts:
        stated = f" of format {kind}" if kind else ""
        raise ValueError(
            f"the folder {path!r} has neither .json (LEAF), .parquet or .csv files{stated} nor folders train and test "
            "of these"
        )
    if len(parts) > 1:
        raise ValueError(
            f"the folder {path!r} has files of several formats, {', '.join(parts)}; leave those of one, or state its "
            "format"
        )
    return next(iter(parts.values()))


def part_folders(path: str) -> tuple[str, str] | None:
    """Return the folders ``train`` and ``test`` if a path is the folder in which LEAF makes these, else None."""
    train, test = (Path(path, part) for part in ("train", "test"))
    parts = str(train), str(test)
    return parts if all(expanded(part).is_dir() for part in parts) else None


def file_checksums(path: str, kind: str) -> dict[str, str]:
    """Return the SHA-256 of each file of a table, by its name in a folder; the name of a single file is empty."""
    files = sources(path, kind)
    names = [""] if files == [expanded(path)] else [file.name for file in files]
    return {name: f"sha256:{hash_file(file)}" for name, file in zip(names, files, strict=True)}


def find_format(path: str, kind: str, key: str) -> str:
    """Return the format of a table: the stated one, or the one of the suffix.

    Raises
    ------
    ValueError
        If no table is there, or the suffix is that of no format; the message names the key of the path.
    """
    try:
        file, *_ = sources(path, kind)
    except ValueError as error:
        raise ValueError(f"{key}: {error}") from None
    if kind:
        return kind
    suffix = _suffix(file)
    for name, suffixes in FORMATS.items():
        if suffix in suffixes:
            return name
    why = f"the suffix {suffix!r} says no format; state format: {', '.join(FORMATS)}"
    if suffix in (".zip", ".zst", ".7z", ".tar", ".tgz"):
        ways = ", ".join(_COMPRESSED)
        why = f"{suffix} files are not unpacked; unpack it, or compress the table by {ways}"
    raise ValueError(f"{key}: {path!r}: {why}")


def _suffix(path: Path) -> str:
    """Return the suffix of a file, in lower case, before the suffix of its compression."""
    compressed = path.suffix.lower() in _COMPRESSED
    return Path(path.stem if compressed else path.name).suffix.lower()


def _content(path: Path) -> bytes:
    """Return the content of a file, decompressed if its suffix says so."""
    with _COMPRESSED.get(path.suffix.lower(), partial(open, mode="rb"))(path) as stream:
        return stream.read()


def read_tables(
    paths: Sequence[str], kind: str, names: Sequence[str], texts: Collection[str] | None
) -> list[pd.DataFrame]:
    """Read tables of one format: one, or a second one with the test part.

    Parameters
    ----------
    paths, kind
        Paths of the tables, and the name of their format.
    names
        Names of the columns of CSV files whose first line is a record; empty if the line has the names.
    texts
        Columns of CSV files whose values are text, as it is written, whatever they look like; None for all.

    Raises
    ------
    ValueError
        If a file is none of this format; the message names it.
    """
    try:
        files = [sources(path, kind) for path in paths]
        if kind == "csv":
            return _read_csv(files, names, texts)
        if kind == "libsvm":
            return _read_libsvm(files)
        return [_READERS[kind](parts) for parts in files]
    except ImportError:
        raise ValueError(
            f"{' and '.join(paths)}: Parquet needs the package pyarrow: pip install 'admmbench[parquet]'"
        ) from None
    except _UNREADABLE as error:
        reason = " ".join(str(error).split())
        if isinstance(error, UnicodeError):
            reason = "it is not in UTF-8; save it so"
        elif isinstance(error, KeyError):
            reason = f"it has no {reason}"
        raise ValueError(f"{' and '.join(paths)}: cannot be read as {kind}: {reason}") from None


def _read_csv(
    tables: list[list[Path]], names: Sequence[str], texts: Collection[str] | None
) -> list[pd.DataFrame]:
    """Read text; a column is text in all files, as it is written there, unless all its values are numbers."""
    from pandas.api import types  # slow to import

    frames = [[_parse_csv(_content(file), names, texts) for file in files] for files in tables]
    columns = [
        (str(name), values) for parts in frames for frame in parts for name, values in frame.items()
    ]
    mixed = {name for name, values in columns if not types.is_numeric_dtype(values)}
    if any(name in mixed and types.is_numeric_dtype(values) for name, values in columns):
        return _read_csv(tables, names, {*(texts or ()), *mixed})
    return [_stack(parts) for parts in frames]


def _parse_csv(content: bytes, names: Sequence[str], texts: Collection[str] | None) -> pd.DataFrame:
    """Read one text; columns are separated by what stands most often in its first line, or else by blanks."""
    import pandas as pd  # slow to import

    lines = (line.decode("utf-8-sig") for line in io.BytesIO(content) if line.strip())
    # A name in quotes may contain any of the separators.
    first, second = (_QUOTED.sub("", next(lines, "")) for _ in range(2))
    separator = max(_SEPARATORS, key=first.count)
    blanks = separator not in first and len(first.split()) > 1
    form: dict[str, Any] = {"sep": r"\s+" if blanks else separator}
    row = pd.read_csv(
        io.BytesIO(content), header=None, nrows=1, dtype=str, na_filter=False,
        skipinitialspace=True, **form,
    ).iloc[0]  # fmt: skip
    if names and len(names) != len(row):
        raise ValueError(f"names: {len(names)} names for {len(row)} columns; name every column")
    # Of two columns of one name, the second would be read under another one.
    if not names:
        different((name for name in row if name), hint=RECORD)
    header = None if names else 0
    columns = [name or f"Unnamed: {place}" for place, name in enumerate(names or row)]
    # Blanks after all separators belong to these, and otherwise to the values.
    record = second if header == 0 else first
    spaced = 0 < record.count(separator) == record.count(f"{separator} ")
    # A separator at the end of each record is no field.
    ends = [_END] * (header == 0 and record.count(separator) == len(row) and not blanks)
    # Of fields that have no name the first would be left for the index, and those beyond left out.
    with warnings.catch_warnings(action="error", category=pd.errors.ParserWarning):
        try:
            frame = pd.read_csv(
                io.BytesIO(content),
                header=header,
                names=[*columns, *ends],
                dtype=str if texts is None else dict.fromkeys([*texts, *ends], str),
                na_filter=False,
                low_memory=False,
                index_col=False,
                skipinitialspace=spaced,
                **form,
            )
            if ends and frame.pop(_END).any():
                raise pd.errors.ParserWarning
            return frame
        except pd.errors.ParserWarning:
            raise ValueError(
                "rows have more fields than the first line has names; name every column"
            ) from None


def _stack(parts: list[pd.DataFrame]) -> pd.DataFrame:
    """Join the parts of a table; ValueError if their columns differ."""
    import pandas as pd  # slow to import

    for part in parts:
        if other := {*part.columns} ^ {*parts[0].columns}:
            raise ValueError(f"not all files of the folder have the column {min(map(str, other))}")
    return pd.concat(parts, ignore_index=True) if len(parts) > 1 else parts[0]


def _read_parquet(files: list[Path]) -> pd.DataFrame:
    """Read Parquet files, the parts of a table."""
    import pyarrow.parquet

    # Whole numbers beside a gap would become floats, which identifiers of 19 digits do not fit in.
    tables = (pyarrow.parquet.read_table(io.BytesIO(_content(file))) for file in files)
    frames = [table.to_pandas(integer_object_nulls=True) for table in tables]
    # An index with a name is a column of the file like any other.
    named = ([name for name in frame.index.names if name is not None] for frame in frames)
    return _stack([frame.reset_index(names) for frame, names in zip(frames, named, strict=True)])


def _read_libsvm(tables: list[list[Path]]) -> list[pd.DataFrame]:
    """Read sparse features, which are named by their numbers in the file."""
    import pandas as pd  # slow to import
    from sklearn.datasets import load_svmlight_files

    contents = [io.BytesIO(_content(file).removeprefix(codecs.BOM_UTF8)) for (file,) in tables]
    parts = load_svmlight_files(contents, dtype=np.float32, zero_based=True)
    # Most files count from 1.
    first = int(not any((X.indices == 0).any() for X in parts[::2]))
    frames = (pd.DataFrame(dense(X)).rename(columns=str).iloc[:, first:] for X in parts[::2])
    label = LABELS["libsvm"]
    return [
        frame.assign(**{label: y.astype(np.float64)})
        for frame, y in zip(frames, parts[1::2], strict=True)
    ]


def dense(X: Any) -> NDArray[Any]:
    """Write out a sparse matrix; ValueError if it is too large for that."""
    rows, columns = X.shape
    if rows * columns > _MOST_CELLS:
        used = len(np.unique(X.tocoo().col))
        raise ValueError(
            f"{rows:,} records of {columns:,} features do not fit in memory, as zeros are stored too; {used:,} "
            "features are used: number these from 1, or hash them to fewer, such as 4,096"
        )
    return np.asarray(X.toarray())


def _read_leaf(files: list[Path]) -> pd.DataFrame:
    """Read what LEAF writes: rows ``x`` and targets ``y`` of each user."""
    import pandas as pd  # slow to import

    X: list[Any] = []
    y: list[Any] = []
    users: list[str] = []
    for file in files:
        content = json.loads(_content(file), object_pairs_hook=_each_once)
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


def _check_users(content: dict[str, Any]) -> None:
    """Refuse a LEAF file whose records do not all belong to a listed user; ValueError names the user."""
    users, data = content["users"], content["user_data"]
    known = set(users)
    if unlisted := [user for user in data if user not in known]:
        raise ValueError(f"users lacks {unlisted[0]!r} of user_data; add it, or remove its records")
    sizes = content.get("num_samples", [len(data[user]["y"]) for user in users])
    if len(sizes) != len(users):
        raise ValueError(f"num_samples has {len(sizes)} numbers for {len(users)} users")
    for user, size in zip(users, sizes, strict=True):
        counts = {"x": len(data[user]["x"]), "y": len(data[user]["y"]), "num_samples": size}
        if len(set(counts.values())) > 1:
            numbers = ", ".join(f"{count} in {name}" for name, count in counts.items())
            raise ValueError(f"records of user {user!r} differ in number: {numbers}; mend the file")


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of JSON; of two users of one name, the rows of the first would be lost."""
    different((key for key, _ in pairs), "keys")
    return dict(pairs)


_READERS = {"parquet": _read_parquet, "leaf": _read_leaf}
