"""Columns of a table: how values are spelled, which are numbers, and the kind of column that follows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from pandas.api import types

from admmbench.datasets._table_settings import (
    SHOWN,
    Columns,
    Kind,
    Value,
    as_text,
    is_number,
    listed,
)

# Whole numbers with more values than this are no classes.
MOST_CLASSES = 20
# Rows of a value that a message spells out.
_ROWS_SHOWN = 3
# Share of numbers from which on a column of text is one of numbers with some in the way; and that share where the
# numbers are so many different ones that they are no categories.
MOSTLY, _HALF = 0.9, 0.5
# Decimal points with signs between thousands, as people write them; and other signs beside a number.
_FORMS = ((".", ","), (",", ""), (",", "."), (".", " "), (",", " "), (".", "'"))
_SIGNS = "%‰$€£¥<>≤≥~≈ \u00a0"


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


def identifiers(values: pd.Series[Any]) -> pd.Series[Any]:
    """Spell values; ValueError for floats that are whole numbers with more digits than these keep."""
    if types.is_float_dtype(values):
        exact = 2.0 ** (np.finfo(values.to_numpy().dtype).nmant + 1)
        if (long := values.abs().between(exact, np.inf, inclusive="neither")).any():
            raise ValueError(
                f"{values.name}: {values[long].iloc[0]:.0f} is a float, in which numbers of so many digits may be "
                "equal that were not; store them as text or as integers"
            )
    return as_texts(values)


def as_texts(values: pd.Series[Any]) -> pd.Series[Any]:
    """Return values as text; missing ones stay missing."""
    if isinstance(values.dtype, pd.StringDtype):
        return values
    return values.astype(object).map(as_text, na_action="ignore")


def sorted_values(texts: pd.Series[Any]) -> list[str]:
    """Return the values of a column, once each: numbers by size, before text."""
    values = texts.dropna().unique()
    if all(map(is_number, values)):
        return sorted(values, key=lambda value: (float(value), value))
    return sorted(values)


def spellings(values: Iterable[Value], texts: pd.Series[Any]) -> list[str]:
    """Spell stated values, true and false as a column does, such as ``TRUE``; ValueError if one is stated twice."""
    spelled = list[str]()
    for value in values:
        spelling, in_column = as_text(value), list[str]()
        if isinstance(value, bool):
            in_column = sorted_values(texts[texts.str.casefold() == spelling.casefold()])
        spelled += in_column or [spelling]
    if repeated := [value for value, count in Counter(spelled).items() if count > 1]:
        raise ValueError(f"categories.{texts.name}: {listed(repeated)} is stated more than once")
    return spelled


def is_text(values: pd.Series[Any]) -> bool:
    """Return whether a column is of text or of objects, in which numbers may be; a Categorical has none."""
    return bool(types.is_string_dtype(values.dtype))


def are_numbers(values: pd.Series[Any], settings: Columns) -> bool:
    """Return whether all present values of a column are numbers; true and false are none."""
    if not is_text(values):
        return types.is_numeric_dtype(values) and not types.is_bool_dtype(values)
    texts = as_texts(values.dropna())
    return bool(_parse(texts, settings.decimal, settings.thousands).notna().all())


def are_mostly_numbers(values: pd.Series[Any], settings: Columns) -> bool:
    """Return whether most of a column of text are numbers, in whatever form, perhaps with signs beside them."""
    if not is_text(values):
        return False
    counts = as_texts(values).value_counts()
    bare = counts.index.to_series().str.strip(_SIGNS)
    forms = [(settings.decimal, settings.thousands), *_FORMS]
    numbers = max((counts[_parse(bare, *form).notna()] for form in forms), key=sum)
    share = _HALF if len(numbers) > MOST_CLASSES else MOSTLY
    return bool(numbers.sum() >= share * counts.sum())


def read_numbers(values: pd.Series[Any], settings: Columns) -> pd.Series[float]:
    """Read numbers; ValueError for values that are none, with the settings that help."""
    numeric = types.is_numeric_dtype(values)
    numbers = values if numeric else _parse(as_texts(values), settings.decimal, settings.thousands)
    floats = numbers.astype(float)
    bad = values.notna() & ~np.isfinite(floats)
    if bad.any():
        raise ValueError(_explain_non_numbers(values.dropna(), bad[values.notna()], settings))
    return floats


def _parse(texts: pd.Series[Any], decimal: str, thousands: str) -> pd.Series[float]:
    """Read numbers of a form, in which a group of thousands has three digits; other texts become NaN."""
    if (decimal, thousands) != (".", ""):
        groups = rf"\d{{1,3}}(?:{re.escape(thousands)}\d{{3}})+|" if thousands else ""
        form = rf"\s*[+-]?(?:{groups}\d*)(?:{re.escape(decimal)}\d*)?(?:[eE][+-]?\d+)?\s*"
        texts = texts.where(texts.str.fullmatch(form, na=False))
        texts = texts.str.replace(thousands, "", regex=False) if thousands else texts
        texts = texts.str.replace(decimal, ".", regex=False)
    numbers = pd.to_numeric(texts, errors="coerce").astype(float)
    return numbers.where(np.isfinite(numbers))


def _explain_non_numbers(values: pd.Series[Any], bad: pd.Series[bool], settings: Columns) -> str:
    """Return a message about values that are no numbers: the rows they are in, and the settings that help."""
    name, stated = str(values.name), (settings.decimal, settings.thousands)
    texts = as_texts(values)
    bare = texts.str.strip(_SIGNS)
    numbers = {form: _parse(bare, *form) for form in (stated, *_FORMS)}
    # The form that reads most values, by as few settings as can be.
    effort = {form: -sum(np.not_equal(form, stated)) for form in numbers}
    rank = {form: (numbers[form].notna().sum(), effort[form]) for form in numbers}
    best = [form for form in numbers if rank[form] == max(rank.values())]
    fixes = []
    for form in best if stated not in best else ():
        words = zip(("decimal", "thousands"), form, stated, strict=True)
        changes = [f"{key}: {sign!r}" for key, sign, other in words if sign != other]
        example = numbers[form].dropna().index[0]
        value = f"{texts[example]!r} is {numbers[form][example]:.12g}"
        fixes.append(f"{' and '.join(changes)} if {value}")
    left = texts[_parse(texts, *best[0]).isna()]
    if 0 < len(left) < len(texts) / 2:
        odd = [repr(word) for word in left.unique()]
        some = ", ".join([*odd[:SHOWN], *["..."] * (len(odd) > SHOWN)])
        fixes.append(f"na_values: [{some}] if they are missing")
    fixes.append(f"kinds: {{{name}: category}}")
    fixes += [f"kinds: {{{name}: leave_out}}"] * (name not in settings.non_features)
    if numbers[best[0]][left.index].notna().any():
        fixes.append("write numbers without a sign beside them")
    shown = []
    for value in texts[bad].unique()[:_ROWS_SHOWN]:
        rows = [f"{row + 1:,}" for row in texts.index[texts == value][:_ROWS_SHOWN]]
        shown.append(f"{value!r} (row {', '.join(rows)})")
    return (
        f"{name}: {bad.sum():,} of {len(texts):,} values, such as {', '.join(shown)}: each is no number; "
        f"set {', or '.join(fixes)}"
    )


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
