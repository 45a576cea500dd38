"""Lines that tell users what became of their table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from admmbench.datasets._base import Arrays, Attribute
from admmbench.datasets._table_settings import listed


def list_counts(counts: Mapping[str, int] | pd.Series[int]) -> str:
    """List the names whose count is not 0, each with its count."""
    return listed([f"{name} ({count:,})" for name, count in counts.items() if count])


def describe_target(
    name: str, y: NDArray[Any], class_names: Sequence[str], tests: NDArray[np.bool_]
) -> str:
    """Return in words the numbers of records, and the classes or the range of the target."""
    sizes = f"{(~tests).sum():,} training and {tests.sum():,} test records"
    if not class_names:
        return f"{sizes}; target {name}: numbers from {y.min():g} to {y.max():g}"
    counts = np.bincount(y[~tests], minlength=len(class_names))
    classes = [f"{label!r} ({count:,})" for label, count in zip(class_names, counts, strict=True)]
    return f"{sizes}; target {name}: {len(classes)} classes, of training records {listed(classes)}"


def describe_groups(name: str, group: Attribute, arrays: Arrays) -> str:
    """Return in words the sizes of groups, and the groups that lack records or classes."""
    n = len(group.values)
    counts, tested = (np.bincount(codes, minlength=n) for codes in (group.train, group.test))
    sizes = " to ".join(dict.fromkeys(f"{count:,}" for count in (counts.min(), counts.max())))
    sentences = [
        f"group {name}: {n:,} {'value' if n == 1 else 'values'} with {sizes} training records"
    ]
    faults = {"no training record": counts == 0, "no test record": tested == 0}
    if arrays.y_train.dtype == np.int64:
        pairs = np.unique(np.stack([group.train, arrays.y_train]), axis=1)[0].astype(int)
        classes = np.bincount(pairs, minlength=n)
        faults["one class"] = classes == 1
        faults["not all classes"] = (classes > 1) & (classes < len(np.unique(arrays.y_train)))
    for what, has in faults.items():
        if has.any():
            sentences.append(f"{what}: {listed(np.array(group.values, object)[has].tolist())}")
    return "; ".join(sentences)
