"""Arrays in Python as a table with a column for each feature, the targets and the groups."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from pandas.api import types
from scipy import sparse

from admmbench.datasets._table_columns import check
from admmbench.datasets._table_files import dense
from admmbench.datasets._table_settings import Columns
from admmbench.validation import checked


def make_table(data: Any, groups: Any, columns: Mapping[str, Any]) -> tuple[pd.DataFrame, Columns]:
    """Make a table of arrays; return it with the settings of its columns."""
    X, y, names, classes = _parts(data)
    y = _match_by_label(y, (X,), "dataset: y")
    groups = _match_by_label(groups, (X, y), "groups")
    frame, target, classes = _frame(X, y, names, classes)
    stated = {"keep_default_na": False, **columns, "target": target}
    if classes:
        stated["categories"] = {target: classes, **columns.get("categories", {})}
    if groups is not None:
        stated["group"] = _add(frame, groups, "group", "groups")
    settings = checked(Columns, stated, "")
    check(frame, settings)
    return frame, settings


def _parts(data: Any) -> tuple[Any, Any, Any, list[str]]:
    """Return features and targets, and of a Bunch the names of features and classes."""
    if isinstance(data, Mapping) and {"data", "target"} <= data.keys():
        classes = [str(name) for name in data.get("target_names", [])]
        return data["data"], data["target"], data.get("feature_names"), classes
    if not (isinstance(data, tuple | list) and len(data) == 2):
        raise ValueError("dataset: expected a name, a mapping, a Dataset, a pair (X, y) or a Bunch")
    return *data, None, []


def _match_by_label(values: Any, others: Sequence[Any], what: str) -> Any:
    """Put a Series into the order of the first of others that has index labels too; all else is matched by place."""
    index = next(
        (other.index for other in others if isinstance(other, pd.DataFrame | pd.Series)), None
    )
    if index is None or not isinstance(values, pd.Series) or len(values) != len(index):
        return values
    if values.index.equals(index):
        return values
    repeated = [*index[index.duplicated()], *values.index[values.index.duplicated()]]
    lacking = index[~index.isin(values.index)]
    if not (repeated or len(lacking)):
        return values.reindex(index)
    why = f"several have the label {repeated[0]}" if repeated else f"it has no label {lacking[0]}"
    raise ValueError(
        f"{what}: its index differs from that of the other records, and {why}, so that records cannot be matched by "
        "label; give both the same labels, or call to_numpy() to match them by place"
    )


def _frame(X: Any, y: Any, names: Any, classes: list[str]) -> tuple[pd.DataFrame, str, list[str]]:
    """Make the table of features and targets; return also the target's column, and its class names if it has codes."""
    if isinstance(X, pd.DataFrame):
        frame = X.set_axis([str(name) for name in X.columns], axis=1).reset_index(drop=True)
    else:
        array = _array(dense(X) if sparse.issparse(X) else X)
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
    """Make an array that keeps the mask of values; whole numbers beside a gap do not become floats."""
    if types.is_extension_array_dtype(values):
        values = values.astype(object)
    return np.ma.asanyarray(values)


def _add(frame: pd.DataFrame, values: Any, name: str, what: str) -> str:
    """Add a column with the values of an array, and return its name."""
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
