"""Kinds of the columns of a table: numbers, categories, and columns that are left out with the reason."""

from __future__ import annotations

from typing import Any

import pandas as pd
from pandas.api import types

from admmbench.datasets._table_settings import Columns, Kind, listed
from admmbench.datasets._table_values import (
    MOSTLY,
    are_mostly_numbers,
    are_numbers,
    as_texts,
    is_text,
)

# Text with more values than this is no category.
MOST_CATEGORIES = 100
# Rows from which on a column with another value in each is one of identifiers.
_FEW_ROWS = 20
_DATE = r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(?:[ T]\d.*)?"
# Reason for leaving out a column without values.
_NO_VALUE = "no value in the training part"
# What is presumed of columns of a kind, unless it is stated.
_PRESUMED: dict[Kind, str] = {
    "number": "the ranges of {}",
    "category": "the categories of {}",
    "leave_out": "that {} can be left out",
}
Kinds = dict[str, tuple[Kind, str]]
"""Kind of each column, and the reason for leaving it out, by its name."""


def kind_of(name: str, values: pd.Series[Any], settings: Columns) -> tuple[Kind, str]:
    """Return the kind of a column, and why it is left out, if it is."""
    if name in settings.kinds:
        return settings.kinds[name], "as asked"
    if name in settings.categories:
        return "category", ""
    if name in settings.ranges_by_column:
        return "number", ""
    present = values.dropna()
    if present.empty:
        return "leave_out", _NO_VALUE
    numbers = are_numbers(present, settings)
    if numbers and settings.range_of(name) is not None:
        return "number", ""
    if types.is_datetime64_any_dtype(values):
        return "leave_out", "dates"
    if (present.iloc[0] == present).all():
        return "leave_out", "one value"
    text = as_texts(present) if is_text(present) or not numbers else present
    many = len(present) >= _FEW_ROWS and text.is_unique
    if numbers:
        whole = text.str.fullmatch(r"\d+").all() if is_text(text) else types.is_integer_dtype(text)
        return ("leave_out", "another number in each row") if whole and many else ("number", "")
    if text.str.strip().str.fullmatch(_DATE).mean() >= MOSTLY:
        return "leave_out", "dates"
    if are_mostly_numbers(present, settings):
        return "number", ""  # reading numbers names the values that are none
    if many:
        return "leave_out", "another text in each row"
    if (count := text.nunique()) > MOST_CATEGORIES:
        return "leave_out", f"text with {count:,} values"
    return "category", ""


def columns_of_kind(kinds: Kinds, *wanted: str) -> list[str]:
    """Return the columns of one of some kinds."""
    return [name for name, (kind, _) in kinds.items() if kind in wanted]


def leave_empty_out(training: pd.DataFrame, kinds: Kinds, settings: Columns) -> None:
    """Leave out columns without a value in the training part; ValueError if the user states their kind."""
    for name in columns_of_kind(kinds, "number", "category"):
        kind, _ = kinds[name]
        if settings.stated(name, kind) or training[name].notna().any():
            continue
        if name in settings.kinds:
            key = "ranges" if kind == "number" else "categories"
            raise ValueError(
                f"kinds: {name!r} is a {kind} with {_NO_VALUE}; state {key}: {{{name}: [...]}}, or leave it out by "
                f"kinds: {{{name}: leave_out}}"
            )
        kinds[name] = "leave_out", _NO_VALUE


def left_out_columns(kinds: Kinds) -> str:
    """List the columns that are left out, by the reason."""
    by_reason: dict[str, list[str]] = {}
    for name in columns_of_kind(kinds, "leave_out"):
        by_reason.setdefault(kinds[name][1], []).append(name)
    return "; ".join(f"{listed(names)} ({reason})" for reason, names in by_reason.items())


def presumptions(kinds: Kinds, classes: bool, settings: Columns) -> str:
    """Return in words the facts found in records that a privacy loss presupposes to be public; empty without any."""
    facts = [
        what.format(listed(unstated))
        for kind, what in _PRESUMED.items()
        if (
            unstated := [
                name for name in columns_of_kind(kinds, kind) if not settings.stated(name, kind)
            ]
        )
    ]
    if classes and settings.target not in settings.categories:
        facts.append(f"the classes of {settings.target}")
    if not classes and settings.target_range is None:
        facts.append(f"the range of {settings.target}")
    return f"what the preparation found in the records is public: {'; '.join(facts)}" * bool(facts)
