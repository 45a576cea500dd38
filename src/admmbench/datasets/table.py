"""A table of one's own: a file in CSV, Parquet, LIBSVM or LEAF format, or arrays in Python."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator

from admmbench.datasets import _table_columns, _table_files
from admmbench.datasets._base import Arrays, Dataset, DatasetDefinition, DatasetInfo, untested
from admmbench.datasets._fetch import DatasetError
from admmbench.datasets._table_columns import Columns, Prepared
from admmbench.files import digest, write
from admmbench.files.cache import Cache
from admmbench.validation import Text, checked

if TYPE_CHECKING:
    import pandas as pd

# Facts of tables that were read before by this code, as reading takes long.
_MODULES = (__file__, str(_table_columns.__file__), str(_table_files.__file__))
_CODE = hashlib.sha256(b"".join(Path(module).read_bytes() for module in _MODULES)).hexdigest()[:8]
_FACTS = Cache[dict[str, Any]](f"tables-{_CODE}.json")


def _each_once(names: list[str]) -> list[str]:
    _table_columns.different(names)
    return names


class Settings(Columns):
    """The data set has these settings."""

    path: str
    format: Literal["", "csv", "parquet", "libsvm", "leaf"] = ""
    names: Annotated[list[Text], AfterValidator(_each_once)] = []


class Table(DatasetDefinition):
    """These are records of a file, one a row, with names of columns in the first line of text.

    Numbers are scaled to [0, 1] by their ranges and clipped, each value of a category has a column, and a column of
    ones follows, as models have no intercept. Dates, identifiers, long texts and columns with one value are left out.
    Ranges and categories are found in the training part (classes in both), unless they are stated; a total of privacy
    does not cover what is found.

    Parameters
    ----------
    path
        File, or a folder of LEAF files, or that with LEAF's folders ``train`` and ``test``. What is in it is part of
        the data set's identity, and not where it is.
    format
        csv, parquet, libsvm or leaf; by the suffix of the file if absent.
    names
        Names of all columns of a CSV file whose first line is a record.
    target
        Column of the targets. LIBSVM and LEAF files have a place for them, so that it is absent there.
    group
        Column that says whose a record is, such as its hospital: no feature, but an attribute, by whose values records
        are shared out if nobody says otherwise. Of LEAF files it is the user.
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
        What becomes of records with a missing value: refuse the table, drop them, or impute the value: the median of
        the training part (the middle, if the range is stated), and no category.
    dropna
        Columns, such as the target, without whose value a record is dropped, whatever `missing` says of the others.
    na_values
        Values that stand for a missing one, such as ["-", "n.a."], besides an empty cell: of all columns, or by column.
    keep_default_na
        Whether texts such as NA, None and ? in a CSV file are missing values, but for the target and for categories
        that are stated.
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
    defaults = {"path": ""} | {
        name: each.get_default()
        for name, each in Settings.model_fields.items()
        if not each.is_required()
    }

    def validate(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Complete the settings; reads the table, so that what is wrong with it is said before anything runs."""
        if not settings["path"]:
            raise ValueError("dataset.path: name the file of the table, such as patients.csv")
        given = checked(Settings, settings, "dataset")
        parts = _table_files.parts_of(given.path)
        if parts and given.test == self.defaults["test"]:
            given = given.model_copy(update=dict(zip(("path", "test"), parts, strict=True)))
        _table_files.check_path(given.path, "dataset.path", given.format)
        kind = given.format or _table_files.format_of(given.path)
        if isinstance(given.test, str):
            _table_files.check_path(given.test, "dataset.test", kind)
        own: dict[str, Any] = {"format": kind}
        if label := _table_files.LABELS.get(kind):
            if given.target not in ("", label):
                raise ValueError(f"dataset.target: {kind} files have a place for it; leave it out")
            own["target"] = label
        if kind == "leaf":
            own["group"] = given.group or _table_files.USER
            if given.target_range is None:
                own["kinds"] = {_table_files.LABELS[kind]: "category", **given.kinds}
        if kind != "csv":  # other formats have names, and say what is missing
            own["keep_default_na"] = False
            if given.names:
                raise ValueError(f"dataset.names: {kind} files have their own; leave it out")
        complete = given.model_copy(update=own).model_dump(mode="json")
        self.describe(complete)
        return complete

    def identity(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Leave out where files are."""
        test = "" if isinstance(settings["test"], str) else settings["test"]
        return {**settings, "path": "", "test": test}

    def describe(self, settings: dict[str, Any]) -> DatasetInfo:
        """Return the facts of the table, which is read for them once for each content."""
        checksums = _checksums(settings)
        content = digest([self.identity(settings), checksums])
        text = json.dumps(settings)
        found = _FACTS.find(content, lambda: asdict(_made(text, tuple(checksums.items()))[1]))
        return replace(checked(DatasetInfo, found, ""), settings=settings)

    def read(self, info: DatasetInfo, paths: Mapping[str, Path]) -> Arrays:
        """Read the table; DatasetError if it is another one than was described."""
        checksums = _checksums(info.settings)
        if checksums != info.checksums:
            raise DatasetError(f"{info.settings['path']} has changed meanwhile; run again")
        arrays, _ = _made(json.dumps(info.settings), tuple(checksums.items()))
        return arrays


def from_arrays(data: Any, groups: Any = None, **columns: Any) -> Dataset:
    """Make a data set of arrays, as `Table` makes one of a file.

    Parameters
    ----------
    data
        Features of shape (n, J), as a DataFrame or an array, perhaps sparse, with targets of shape (n,), as a pair; or
        a Bunch of scikit-learn. What is masked is missing.
        A Series is matched with a DataFrame, or another Series, by the labels of its index, and by place with an array.
    groups
        Whose each record is, shape (n,), matched likewise; records are then shared out by it.
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
    frame, given = _with_columns(data, groups, columns)
    made = _table_columns.prepare(frame, None, given)
    content = hashlib.sha256()
    for array in (made.arrays.X_train, made.arrays.y_train, made.arrays.X_test, made.arrays.y_test):
        content.update(array.tobytes())
    facts = {
        name: value for name, value in _facts(made).items() if name in Dataset.__dataclass_fields__
    }
    return Dataset(
        name="arrays",
        settings={},
        checksums={"arrays": f"sha256:{content.hexdigest()}"},
        **vars(made.arrays),
        **{
            name: value
            for name, value in facts.items()
            if name != "attributes" and name[:2] != "n_"
        },
    )


def write_arrays(data: Any, groups: Any, folder: Path) -> dict[str, Any]:
    """Write arrays as a table in CSV, named by its content, for runs in other processes.

    Parameters
    ----------
    data, groups
        As of `from_arrays`.
    folder
        Where to write.

    Returns
    -------
    dict
        Settings of the data set.
    """
    frame, given = _with_columns(data, groups, {})
    # Text does not say of numbers that they are categories.
    categories = [
        str(name)
        for name, values in frame.items()
        if values.dtype == "category"
        and _table_columns.kind_of(str(name), values, given)[0] == "category"
    ]
    # Whole numbers have no point, as classes and groups of arrays have none.
    frame[given.target] = frame[given.target].convert_dtypes()
    for name in [*categories, *([given.group] if given.group else [])]:
        frame[name] = _table_columns.identifiers(frame[name])
    content = frame.to_csv(index=False).encode()
    path = folder / f"{hashlib.sha256(content).hexdigest()[:16]}.csv"
    write(path, content)
    said = {"kinds": dict.fromkeys(categories, "category"), **given.model_dump(exclude_unset=True)}
    return {"name": Table.name, "path": str(path), **said}


def _with_columns(
    data: Any, groups: Any, columns: Mapping[str, Any]
) -> tuple[pd.DataFrame, Columns]:
    """Table of arrays, and what is said of its columns."""
    X, y, names, classes = _parts(data)
    y, groups = _in_order(y, (X,), "dataset: y"), _in_order(groups, (X, y), "groups")
    frame, target, classes = _frame(X, y, names, classes)
    found = {"keep_default_na": False, **columns, "target": target}
    if classes:
        found["categories"] = {target: classes, **columns.get("categories", {})}
    if groups is not None:
        found["group"] = _add(frame, groups, "group", "groups")
    given = checked(Columns, found, "")
    _table_columns.check(frame, given)
    return frame, given


def _parts(data: Any) -> tuple[Any, Any, Any, list[str]]:
    """Features and targets, and of a Bunch the names of features and classes."""
    if isinstance(data, Mapping) and {"data", "target"} <= data.keys():
        classes = [str(name) for name in data.get("target_names", [])]
        return data["data"], data["target"], data.get("feature_names"), classes
    if not (isinstance(data, tuple | list) and len(data) == 2):
        raise ValueError("dataset: expected a name, a mapping, a Dataset, a pair (X, y) or a Bunch")
    return *data, None, []


def _in_order(values: Any, others: Sequence[Any], what: str) -> Any:
    """Put a Series into the order of the first of others that has index labels too; all else is matched by place."""
    import pandas as pd  # slow to import

    index = next(
        (each.index for each in others if isinstance(each, pd.DataFrame | pd.Series)), None
    )
    if index is None or not isinstance(values, pd.Series) or len(values) != len(index):
        return values
    if values.index.equals(index):
        return values
    if index.is_unique and values.index.is_unique and index.isin(values.index).all():
        return values.reindex(index)
    repeated = [*index[index.duplicated()], *values.index[values.index.duplicated()]]
    lacking = index[~index.isin(values.index)]
    why = f"several have the label {repeated[0]}" if repeated else f"it has no label {lacking[0]}"
    raise ValueError(
        f"{what}: its index differs from that of the other records, and {why}, so that records cannot be matched by "
        "label; give both the same labels, or call to_numpy() to match them by place"
    )


def _frame(X: Any, y: Any, names: Any, classes: list[str]) -> tuple[pd.DataFrame, str, list[str]]:
    """Table of features and targets, name of the column of the targets, and names of its classes if it has codes."""
    import pandas as pd  # slow to import
    from scipy import sparse

    if isinstance(X, pd.DataFrame):
        frame = X.set_axis([str(name) for name in X.columns], axis=1).reset_index(drop=True)
    else:
        array = _array(_table_files.dense(X) if sparse.issparse(X) else X)
        if array.ndim != 2:
            raise ValueError(f"dataset: features have shape {array.shape}, expected (n, J)")
        frame = pd.DataFrame(
            array, columns=[str(name) for name in names] if names is not None else None
        )
        frame.columns = [name if isinstance(name, str) else f"x{name}" for name in frame.columns]
    codes = _array(y)
    known = np.isin(codes, range(len(classes))).all() and not np.ma.is_masked(codes)
    if len(classes) > 1 and codes.ndim == 1 and known:
        y = pd.Series(np.array(classes, object)[codes.astype(int)], name=getattr(y, "name", None))
        classes = [name for name in classes if (y == name).any()]
    else:
        classes = []
    return frame, _add(frame, y, "target", "dataset: y"), classes


def _array(values: Any) -> np.ma.MaskedArray[Any, Any]:
    """Make an array that keeps which values are masked, and whole numbers beside a gap, which are no floats."""
    from pandas.api.types import is_extension_array_dtype  # slow to import

    if is_extension_array_dtype(values):
        values = values.astype(object)
    return np.ma.asanyarray(values)


def _add(frame: pd.DataFrame, values: Any, name: str, what: str) -> str:
    """Add a column of another array; returns its name."""
    array = _array(values)
    if array.shape != (len(frame),):
        raise ValueError(
            f"{what} has shape {array.shape}, expected ({len(frame)},), one for each record"
        )
    name = str(getattr(values, "name", None) or name)
    while name in frame.columns:
        name += "_"
    # Whole numbers beside a masked one would become floats, which long ones do not fit in.
    column = array.data
    if np.ma.is_masked(array):
        column = column.astype(object)
        column[np.ma.getmaskarray(array)] = None
    frame[name] = column
    return name


def _paths(settings: Mapping[str, Any]) -> list[str]:
    """The table, and the second file if there is one."""
    second = settings["test"]
    return [settings["path"], *([second] if isinstance(second, str) else [])]


def _checksums(settings: Mapping[str, Any]) -> dict[str, str]:
    """Checksum of each file, by what it is for."""
    return {
        f"{part} {name}".strip(): checksum
        for part, path in zip(("table", "test table"), _paths(settings), strict=False)
        for name, checksum in _table_files.checksums_of(path, settings["format"]).items()
    }


@lru_cache(maxsize=1)
def _made(settings: str, checksums: tuple[tuple[str, str], ...]) -> tuple[Arrays, DatasetInfo]:
    """Read and prepare a table of these checksums; the last one is kept, as it is described before it is read."""
    given = Settings(**json.loads(settings))
    paths = _paths(given.model_dump())
    frames = _table_files.read_tables(paths, given.format, given.names, given.texts)
    for path, frame in zip(paths, frames, strict=True):
        with _named(path):
            _table_columns.check(frame, given)
    frame, *second = frames
    with _named(given.path):
        made = _table_columns.prepare(frame, second[0] if second else None, given)
    info = DatasetInfo(
        name=Table.name,
        settings={},
        checksums=dict(checksums),
        licence="that of the table",
        citation="A table of a user",
        **_facts(made),
    )
    return made.arrays, info


@contextmanager
def _named(path: str) -> Iterator[None]:
    """Name the file in what is said of its table."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _facts(made: Prepared) -> dict[str, Any]:
    """Facts of a prepared table."""
    arrays, n_classes = made.arrays, len(made.class_names)
    return {
        "title": "A table",
        "n_train": len(arrays.y_train),
        "n_test": len(arrays.y_test),
        "n_features": arrays.X_train.shape[1],
        "class_names": made.class_names,
        "target_range": made.target_range,
        "default_problem": {0: "huber", 2: "logistic"}.get(n_classes, "softmax"),
        "attributes": {name: len(each.values) for name, each in arrays.attributes.items()},
        "note": untested(made.class_names, arrays.y_test),
        "presumed": made.presumed,
        "group": made.group,
        "summary": tuple(made.summary),
    }
