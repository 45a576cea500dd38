"""Tables of users: a file in CSV, Parquet, LIBSVM or LEAF format, or arrays in Python."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator

from admmbench.datasets import _table_files
from admmbench.datasets._base import Arrays, Dataset, DatasetDefinition, DatasetInfo
from admmbench.datasets._fetch import DatasetError
from admmbench.datasets._table_settings import Columns, different
from admmbench.files import digest, write
from admmbench.files.cache import Cache
from admmbench.validation import Text, checked

# Facts of tables that this code has read before, as reading takes long.
_MODULES = sorted(Path(__file__).parent.glob("*table*.py"))
_CODE = hashlib.sha256(b"".join(module.read_bytes() for module in _MODULES)).hexdigest()[:8]
_FACTS = Cache[dict[str, Any]](f"tables-{_CODE}.json")


class Settings(Columns):
    """Settings of a table: its files, and what the user states about its columns."""

    path: str = ""
    format: Literal["", "csv", "parquet", "libsvm", "leaf"] = ""
    names: Annotated[list[Text], AfterValidator(different)] = []


class Table(DatasetDefinition):
    """Records of a file, one a row, with names of columns in the first line of text.

    Numbers are scaled to [0, 1] by their ranges and clipped, each value of a category has a column, and a column of
    ones follows, as models have no intercept. Dates, identifiers, long texts and columns with one value are left out.
    Ranges and categories are found in the training part (classes in both), unless they are stated; a total of privacy
    does not cover what is found.

    Parameters
    ----------
    path
        File, or a folder of LEAF files, or the folder that holds LEAF's folders ``train`` and ``test``. Its content is
        part of the data set's identity, and its place is not.
    format
        csv, parquet, libsvm or leaf; by the suffix of the file if absent.
    names
        Names of all columns of a CSV file whose first line is a record.
    target
        Column of the targets. LIBSVM and LEAF files have a place for them, so that it is absent there.
    group
        Column that tells whose a record is, such as its hospital: no feature, but an attribute, by whose values records
        are partitioned by default. Of LEAF files it is the user.
    kinds
        Kind of a column, where it is another one than is found: number, category or leave_out.
    ranges
        Range of each number that a record may have, by column, or one range for all numbers.
    target_range
        Range of targets that are numbers. They are scaled from it to [-10, 10]; errors, and thresholds of losses, are
        in the unit of the file.
    categories
        Values that a record may have, by column; for the target, the classes in their order.
    missing
        Treatment of records with a missing value: refuse the table, drop them, or impute the value: the median of
        the training part (the middle, if the range is stated), and no category.
    dropna
        Columns, such as the target, without whose value a record is dropped, whatever `missing` says of the others.
    na_values
        Values that stand for a missing one, such as ["-", "n.a."], besides an empty cell: of all columns, or by column.
    keep_default_na
        Whether texts such as NA, None and ? in a CSV file are missing values, but for the target and for categories
        that are stated. None is one of the categories in a column of text that has others.
    decimal
        Decimal point of numbers in text.
    thousands
        What stands between the thousands of numbers in text; empty for nothing.
    test
        Test part: a share of the records, drawn within each class; or a column with the value of its records, such as
        {part: test}; or the path of a second file or folder.
    seed
        Seed of that draw, whatever the seeds of runs are.
    """

    name = "table"
    defaults = {name: field.get_default() for name, field in Settings.model_fields.items()}

    def validate(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Complete the settings, and read the table, so that its faults are told before anything runs."""
        if not settings["path"]:
            raise ValueError("dataset.path: name the file of the table, such as patients.csv")
        table = checked(Settings, settings, "dataset")
        parts = _table_files.part_folders(table.path)
        if parts and table.test == self.defaults["test"]:
            table = table.model_copy(update=dict(zip(("path", "test"), parts, strict=True)))
        kind = _table_files.find_format(table.path, table.format, "dataset.path")
        if isinstance(table.test, str):
            _table_files.find_format(table.test, kind, "dataset.test")
        implied: dict[str, Any] = {"format": kind}
        if label := _table_files.LABELS.get(kind):
            if table.target not in ("", label):
                raise ValueError(f"dataset.target: {kind} files have a place for it; leave it out")
            implied["target"] = label
        if kind == "leaf":
            implied["group"] = table.group or _table_files.USER
            if table.target_range is None:
                implied["kinds"] = {_table_files.LABELS[kind]: "category", **table.kinds}
        if kind != "csv":  # other formats have names, and say what is missing
            implied["keep_default_na"] = False
            if table.names:
                raise ValueError(f"dataset.names: {kind} files have their own; leave it out")
        complete = table.model_copy(update=implied).model_dump(mode="json")
        self.describe(complete)
        return complete

    def identity(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Return the settings without the places of files."""
        test = "" if isinstance(settings["test"], str) else settings["test"]
        return {**settings, "path": "", "test": test}

    def describe(self, settings: dict[str, Any]) -> DatasetInfo:
        """Return the facts of the table; they are cached, so that each content is read once."""
        checksums = _checksums(settings)
        content = digest([self.identity(settings), checksums])
        text = json.dumps(settings)
        facts = _FACTS.find(
            content, lambda: asdict(_read_and_prepare(text, tuple(checksums.items()))[1])
        )
        return replace(checked(DatasetInfo, facts, ""), settings=settings)

    def read(self, info: DatasetInfo, paths: Mapping[str, Path]) -> Arrays:
        """Read the table; DatasetError if it is another one than was described."""
        checksums = _checksums(info.settings)
        if checksums != info.checksums:
            raise DatasetError(f"{info.settings['path']} has changed meanwhile; run again")
        arrays, _ = _read_and_prepare(json.dumps(info.settings), tuple(checksums.items()))
        return arrays


def from_arrays(data: Any, groups: Any = None, **columns: Any) -> Dataset:
    """Make a data set of arrays, as `Table` makes one of a file.

    Parameters
    ----------
    data
        Features of shape (n, J), as a DataFrame or an array, perhaps sparse, with targets of shape (n,), as a pair; or
        a Bunch of scikit-learn. Masked values are missing.
        A Series is matched with a DataFrame, or another Series, by the labels of its index, and by place with an array.
    groups
        Group of each record, shape (n,), matched likewise; records are then partitioned by it.
    **columns
        Settings of `Table` on columns. Columns without a name are ``x0``, ``x1`` and so on; the target is ``target``
        and the group ``group``, unless they are Series with names.

    Returns
    -------
    Dataset

    Raises
    ------
    ValueError
        If the arrays cannot be used; the message says why.
    """
    from admmbench.datasets import _table_arrays, _table_columns  # slow to import

    frame, settings = _table_arrays.make_table(data, groups, columns)
    arrays, info = _table_columns.prepare([frame], settings)
    content = hashlib.sha256()
    for array in (arrays.X_train, arrays.y_train, arrays.X_test, arrays.y_test):
        content.update(array.tobytes())
    checksums = {"arrays": f"sha256:{content.hexdigest()}"}
    info = replace(info, name="arrays", checksums=checksums, licence="", citation="")
    return Dataset(**vars(arrays), **info.facts)


def write_arrays(data: Any, groups: Any, folder: Path) -> dict[str, Any]:
    """Write arrays, see `from_arrays`, as a table in CSV, named by its content, for runs in other processes.

    Returns
    -------
    dict
        Settings of the data set.
    """
    from admmbench.datasets import _table_arrays, _table_values  # slow to import

    frame, settings = _table_arrays.make_table(data, groups, {})
    # Numbers in text do not show that they are categories.
    categories = [
        str(name)
        for name, values in frame.items()
        if values.dtype == "category"
        and _table_values.kind_of(str(name), values, settings)[0] == "category"
    ]
    # Whole numbers have no point, as classes and groups of arrays have none.
    frame[settings.target] = frame[settings.target].convert_dtypes()
    for name in [*categories, *([settings.group] if settings.group else [])]:
        frame[name] = _table_values.identifiers(frame[name])
    content = frame.to_csv(index=False).encode()
    path = folder / f"{hashlib.sha256(content).hexdigest()[:16]}.csv"
    write(path, content)
    stated = settings.model_dump(exclude_unset=True)
    kinds = dict.fromkeys(categories, "category")
    return {"name": Table.name, "path": str(path), "kinds": kinds, **stated}


def _paths(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the path of the table, and of the second file if there is one, by the part that each is."""
    second = settings["test"]
    return {"table": settings["path"]} | ({"test table": second} if isinstance(second, str) else {})


def _checksums(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the checksum of each file, by its part and its name."""
    return {
        f"{part} {name}".strip(): checksum
        for part, path in _paths(settings).items()
        for name, checksum in _table_files.file_checksums(path, settings["format"]).items()
    }


@lru_cache(maxsize=1)
def _read_and_prepare(
    settings: str, checksums: tuple[tuple[str, str], ...]
) -> tuple[Arrays, DatasetInfo]:
    """Read and prepare a table with these checksums; the last one is kept, as it is described before it is read."""
    from admmbench.datasets import _table_columns  # slow to import

    table = Settings(**json.loads(settings))
    paths = [*_paths(table.model_dump()).values()]
    frames = _table_files.read_tables(paths, table.format, table.names, table.texts)
    for path, frame in zip(paths, frames, strict=True):
        with _naming_file(path):
            _table_columns.check(frame, table)
    with _naming_file(table.path):
        arrays, info = _table_columns.prepare(frames, table)
    return arrays, replace(info, checksums=dict(checksums))


@contextmanager
def _naming_file(path: str) -> Iterator[None]:
    """Begin the message of a ValueError about a table with its file."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
