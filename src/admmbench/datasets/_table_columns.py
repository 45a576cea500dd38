"""Columns of a table: of which kind each is, and how they become features, targets and attributes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

from admmbench.datasets._base import TARGET_END, Arrays, Attribute, untested
from admmbench.datasets._table_settings import (
    RECORD,
    SHOWN,
    Columns,
    Kind,
    Range,
    Value,
    as_text,
    different,
    is_number,
    listed,
)
from admmbench.validation import Text, checked, meant

# Text with more values than this is no category; whole numbers with more values are no classes.
_MOST_CATEGORIES, _MOST_CLASSES = 100, 20
# Rows from which on a column with another value in each is one of identifiers.
_FEW_ROWS = 20
_DATE = r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(?:[ T]\d.*)?"
# Rows of a value that a message spells out.
_ROWS_SHOWN = 3
# Values of several parts, as nobody could scale or compare them.
_COMPOUND: dict[str, Callable[[Any], bool]] = {
    "lists or mappings": types.is_list_like,
    "complex numbers": types.is_complex,
}
# Text that stands for a missing value: an empty cell, what pandas takes for it, and what UCI has.
_EMPTY = frozenset(
    ["", "?", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"]
)
_EMPTY |= {"<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"}
# Share from which on a column of text is one of dates, or of numbers with some in the way; and that of so many
# different numbers that they are no categories.
_MOSTLY, _HALF = 0.9, 0.5
# Decimal points with signs between thousands, as people write them; and other signs beside a number.
_FORMS = ((".", ","), (",", ""), (",", "."), (".", " "), (",", " "), (".", "'"))
_SIGNS = "%‰$€£¥<>≤≥~≈ \u00a0"
# Why a column is left out that says nothing.
_NO_VALUE = "no value in the training part"
# What is presumed of columns of a kind, unless it is stated.
_PRESUMED: dict[Kind, str] = {
    "number": "the ranges of {}",
    "category": "the categories of {}",
    "leave_out": "that {} can be left out",
}
# Kind of each column, and why one is left out.
Kinds = dict[str, tuple[Kind, str]]


def check(frame: pd.DataFrame, given: Columns) -> None:
    """Refuse what no table has.

    Parameters
    ----------
    frame
        The table.
    given
        What a user says of its columns.

    Raises
    ------
    ValueError
        If there are no records, two columns of one name, or values that are neither a number nor text.
    """
    names = [str(name) for name in frame.columns]
    different(names)
    checked(list[Text], names, "columns")
    if not len(frame):
        raise ValueError("there are no records")
    # Text is told by its type where it can be, as there is much of it.
    mixed = {
        str(name): values
        for name, values in frame.items()
        if values.dtype.kind in "Oc" and not types.is_string_dtype(values)
    }
    for what, is_so in _COMPOUND.items():
        columns = [name for name, values in mixed.items() if values.map(is_so).any()]
        if columns := [name for name in columns if name not in given.left_out]:
            instead = "" if given.beside.issuperset(columns) else ", or kinds: {...: leave_out}"
            raise ValueError(
                f"{what} in {listed(columns)}: expected a number or text in each row; "
                f"make a column of each part{instead}"
            )


def prepare(frames: Sequence[pd.DataFrame], given: Columns) -> tuple[Arrays, dict[str, Any]]:
    """Prepare a table.

    Parameters
    ----------
    frames
        The table, and its test part if that is a table of its own.
    given
        What a user says of its columns.

    Returns
    -------
    arrays : Arrays
    facts : dict
        Facts of the data set that follow from the table, by the names that `DatasetInfo` has for them.

    Raises
    ------
    ValueError
        If the table cannot be used as it is; the message names the columns, and what to do.
    """
    first, *others = (frame.rename(columns=str) for frame in frames)
    _check_names(first, given)
    for other in others:
        if lacking := [name for name in first.columns if name not in other.columns]:
            raise ValueError(f"test: the second file lacks {listed(lacking)}")
    frame = pd.concat([first, *(other[first.columns] for other in others)], ignore_index=True)
    tests = np.arange(len(frame)) >= len(first) if others else None
    # Lists cannot be compared with text, as is done next.
    unread = [name for name in given.left_out if name not in given.dropna]
    frame[unread] = None
    words = dict[str, set[str]]()
    for name in frame.columns.difference(unread):
        frame[name], words[name] = _without_empty(frame[name], given)
    if isinstance(given.test, dict):
        tests = _stated_part(frame, given.test)

    # Until the test part is drawn, any record may be a training record.
    seen = frame if tests is None else frame[~tests]
    names = [name for name in frame.columns if name not in given.beside]
    kinds = {name: kind_of(name, seen[name], given) for name in names}
    _leave_empty_out(seen, kinds, given)
    asked = _of_kind(kinds, "number", "category")
    if given.missing == "refuse":
        # Such as the country code NA beside one other: without the word, the column would say something.
        asked += [name for name in names if kinds[name][1] == "one value" and words[name]]
    keep = _without_missing(frame, asked, given, set().union(*words.values()))
    frame, tests = frame[keep], None if tests is None else tests[keep]
    y, class_names = _targets(frame[given.target], given)
    if tests is None:
        tests = _drawn(y if class_names else np.zeros(len(y), int), given)
    for part, rows in (("training", ~tests), ("test", tests)):
        if not rows.any():
            raise ValueError(f"test: no record is in the {part} part")
    _leave_empty_out(frame[~tests], kinds, given)
    arrays, facts = _arrays_and_facts(frame, tests, y, class_names, kinds, given)
    if not keep.all():
        dropped = f"records dropped, as values are missing: {(~keep).sum():,}"
        facts["summary"] = (dropped, *facts["summary"])
    return arrays, facts


def _arrays_and_facts(
    frame: pd.DataFrame,
    tests: NDArray[np.bool_],
    y: NDArray[Any],
    class_names: tuple[str, ...],
    kinds: Kinds,
    given: Columns,
) -> tuple[Arrays, dict[str, Any]]:
    """Return arrays of records without gaps that matter, and their facts."""
    said, target_range = _said_of_target(given.target, y, class_names, tests), None
    if not class_names:
        y, target_range, scaled = _scaled_targets(y, tests, given)
        said += scaled
    left_out = _reasons(kinds)
    if not (used := _of_kind(kinds, "number", "category")):
        raise ValueError(f"no column is left for features: {left_out}")
    categories = _of_kind(kinds, "category")
    group = slug(given.group) if given.group else ""
    texts = {name: identifiers(frame[name]) for name in [given.group] * bool(group) + categories}
    numbers, said_of_numbers = _scaled(frame, _of_kind(kinds, "number"), tests, given)
    columns, said_of_columns = _one_hot({name: texts[name] for name in categories}, tests, given)
    X = np.hstack([numbers, columns, np.ones((len(frame), 1))]).astype(np.float32, order="C")
    attributes = _attributes(texts, tests, given)
    arrays = Arrays(X[~tests], y[~tests], X[tests], y[tests], attributes)
    note, gaps = untested(class_names, y[tests]), _counted(frame[used].isna().sum())
    others = {name: len(each.values) for name, each in attributes.items() if name != group}
    lines = [
        said,
        note,
        *said_of_numbers,
        *said_of_columns,
        f"missing values, imputed: {gaps}" * bool(gaps),
        f"left out: {left_out}" * bool(left_out),
        f"{X.shape[1]} features in [0, 1], the last a column of ones, as models have no intercept",
        _said_of_groups(given.group, attributes[group], arrays) if group else "",
        f"columns that can share records out too: {_counted(others)}" * bool(others),
    ]
    return arrays, {
        "n_train": len(arrays.y_train),
        "n_test": len(arrays.y_test),
        "n_features": X.shape[1],
        "class_names": class_names,
        "target_range": target_range,
        "default_problem": {0: "huber", 2: "logistic"}.get(len(class_names), "softmax"),
        "attributes": {name: len(each.values) for name, each in attributes.items()},
        "note": note,
        "presumed": _presumed(kinds, bool(class_names), given),
        "group": group,
        "summary": tuple(filter(None, lines)),
    }


def _presumed(kinds: Kinds, classes: bool, given: Columns) -> str:
    """Return what totals presuppose, as it was found in records; empty if nothing was."""
    found = [
        what.format(listed(unstated))
        for kind, what in _PRESUMED.items()
        if (unstated := [name for name in _of_kind(kinds, kind) if not given.stated(name, kind)])
    ]
    if classes and given.target not in given.categories:
        found.append(f"the classes of {given.target}")
    if not classes and given.target_range is None:
        found.append(f"the range of {given.target}")
    return f"what the preparation found in the records is public: {'; '.join(found)}" * bool(found)


def _of_kind(kinds: Kinds, *wanted: str) -> list[str]:
    """Return the columns of some kinds."""
    return [name for name, (kind, _) in kinds.items() if kind in wanted]


def slug(name: str) -> str:
    """Name the attribute that a column becomes: letters, digits, ``_``, ``-`` and ``.``."""
    return re.sub(r"^[.-]", "_", re.sub(r"[^A-Za-z0-9_.-]", "_", name))[:64]


def _check_names(frame: pd.DataFrame, given: Columns) -> None:
    """Refuse columns that are not there, and a table without a target."""
    columns = list(frame.columns)
    hint = f"; {RECORD}" * any(map(is_number, columns))
    if not given.target:
        raise ValueError(f"target: name the column of the targets: {listed(columns)}{hint}")
    named = {"target": given.beside & {given.target}, "group": given.beside & {given.group}}
    named |= {key: value for key, value in given if key == "dropna" or isinstance(value, dict)}
    for key, names in named.items():
        for name in names:
            if name not in columns:
                near = meant(name, columns) or f" (there are {listed(columns)})"
                raise ValueError(f"{key}: unknown column {name!r}{near}{hint}")
    if given.group == given.target:
        raise ValueError(f"group: {given.group!r} is the target")
    for name in given.kinds:
        if given.kinds[name] == "number" and name in given.categories:
            raise ValueError(f"categories: {name!r} is a number in kinds")
    if given.target in given.ranges_by_column:
        raise ValueError(f"ranges: {given.target!r} is the target; state its range in target_range")
    if both := given.ranges_by_column.keys() & given.categories:
        raise ValueError(f"ranges: {min(both)!r} has categories too; give one of them")


def kind_of(name: str, values: pd.Series[Any], given: Columns) -> tuple[Kind, str]:
    """Return the kind of a column, and why it is left out, if it is."""
    if name in given.kinds:
        return given.kinds[name], "as asked"
    if name in given.categories:
        return "category", ""
    if name in given.ranges_by_column:
        return "number", ""
    present = values.dropna()
    if present.empty:
        return "leave_out", _NO_VALUE
    numbers = _are_numbers(present, given)
    if numbers and given.range_of(name) is not None:
        return "number", ""
    if types.is_datetime64_any_dtype(values):
        return "leave_out", "dates"
    if (present.iloc[0] == present).all():
        return "leave_out", "one value"
    text = _texts(present) if _is_text(present) or not numbers else present
    many = len(present) >= _FEW_ROWS and text.is_unique
    if numbers:
        whole = text.str.fullmatch(r"\d+").all() if _is_text(text) else types.is_integer_dtype(text)
        return ("leave_out", "another number in each row") if whole and many else ("number", "")
    if text.str.strip().str.fullmatch(_DATE).mean() >= _MOSTLY:
        return "leave_out", "dates"
    if _mostly_numbers(present, given):
        return "number", ""  # which says what is in the way
    if many:
        return "leave_out", "another text in each row"
    if (count := text.nunique()) > _MOST_CATEGORIES:
        return "leave_out", f"text with {count:,} values"
    return "category", ""


def _leave_empty_out(training: pd.DataFrame, kinds: Kinds, given: Columns) -> None:
    """Leave columns out of which no record says anything; ValueError if they are asked for."""
    for name in _of_kind(kinds, "number", "category"):
        kind, _ = kinds[name]
        if given.stated(name, kind) or training[name].notna().any():
            continue
        if name in given.kinds:
            key = "ranges" if kind == "number" else "categories"
            raise ValueError(
                f"kinds: {name!r} is a {kind} with {_NO_VALUE}; state {key}: {{{name}: [...]}}, or leave it out by "
                f"kinds: {{{name}: leave_out}}"
            )
        kinds[name] = "leave_out", _NO_VALUE


def _without_empty(values: pd.Series[Any], given: Columns) -> tuple[pd.Series[Any], set[str]]:
    """Mark as missing what stands for a missing value; returns also the texts that do so by default."""
    name = str(values.name)
    own, default = given.empty_of(name), {""}
    texts = _is_text(values)
    if not (texts or own):
        return values, set()
    if texts and given.keep_default_na and name != given.target:
        default |= _EMPTY - {as_text(value) for value in given.categories.get(name, [])} - own
    spelled = _texts(values).astype("string").str.strip()
    empty = spelled.isin(own | default).to_numpy()
    # Whole numbers beside a gap would become floats, which long ones do not fit in.
    kept = values.astype(object) if types.is_integer_dtype(values) and empty.any() else values
    return kept.mask(empty), {*spelled[empty]} & default - {""}


def _without_missing(
    frame: pd.DataFrame, used: Sequence[str], given: Columns, words: set[str]
) -> NDArray[np.bool_]:
    """Find the rows to keep; ValueError if values are missing that nobody says what to do about."""
    whose = [given.target] + [given.group] * bool(given.group)
    needed = whose if given.missing == "impute" else [*whose, *used]
    keep = frame[given.dropna].notna().all(axis=1).to_numpy()
    gaps = frame[needed].isna()
    lacking = gaps[keep].sum()[lambda counts: counts > 0]
    if given.missing == "drop":
        keep = keep & ~gaps.any(axis=1).to_numpy()
    elif len(lacking):
        fix, lost = "missing: drop", [name for name in whose if name in lacking]
        if lost:
            fix += f", or dropna: [{listed(lost)}] to drop only records without it"
            fix += " and missing: impute for the others" * (len(lost) < len(lacking))
        else:
            fix = "missing: impute or missing: drop, or leave the column out by kinds: {...: leave_out}"
        said = f"; {listed(sorted(words))} in text is missing unless keep_default_na: false"
        raise ValueError(f"values are missing: {_counted(lacking)}; set {fix}{said * bool(words)}")
    if not keep.any():
        how = "missing: drop"
        if not len(lacking):
            how, lacking = f"dropna: [{listed(given.dropna)}]", frame[given.dropna].isna().sum()
        raise ValueError(f"{how} leaves no record, as values are missing: {_counted(lacking)}")
    return keep


def _targets(values: pd.Series[Any], given: Columns) -> tuple[NDArray[Any], tuple[str, ...]]:
    """Return class indices and the names of the classes, or numbers and no names."""
    kind = given.kinds.get(given.target)
    if kind == "leave_out":
        raise ValueError(f"kinds: the target {given.target!r} cannot be left out")
    if given.target_range is not None:
        if kind == "category" or given.target in given.categories:
            raise ValueError(
                f"target_range: it is of targets that are numbers, and {given.target!r} is said to have classes; leave "
                "one of them out"
            )
        kind = "number"
    if kind is None and given.target not in given.categories:
        if _are_numbers(values, given):
            whole = (_numbers(values, given) % 1 == 0).all()
            kind = "category" if values.nunique() <= _MOST_CLASSES and whole else "number"
        elif _mostly_numbers(values, given):
            kind = "number"  # which says what is in the way
    if kind == "number":
        return _numbers(values, given).to_numpy(np.float64), ()
    texts = identifiers(values)
    names = _spelled(given.categories.get(given.target, []), texts) or _sorted(texts)
    found = set(texts.unique())
    if others := sorted(found - set(names)):
        raise ValueError(f"categories.{given.target}: {listed(others)} is none of {listed(names)}")
    if unused := [name for name in names if name not in found]:
        raise ValueError(
            f"categories.{given.target}: no record is of {listed(unused)}; leave it out"
        )
    if len(names) < 2:
        raise ValueError(f"target: {given.target!r} has one value, {names[0]!r}")
    if len(found) == len(texts):
        fix = f", or state kinds: {{{given.target}: number}}" * all(map(is_number, names))
        raise ValueError(
            f"target: {given.target!r} has another value in each record, such as {names[0]!r}, so that these are no "
            f"classes; name another column{fix}"
        )
    if len(names) > 10 * _MOST_CATEGORIES:
        raise ValueError(f"target: {given.target!r} is text with {len(names):,} values, no classes")
    codes = {name: code for code, name in enumerate(names)}
    return texts.map(codes).to_numpy(np.int64), tuple(names)


def _scaled_targets(
    y: NDArray[np.float64], tests: NDArray[np.bool_], given: Columns
) -> tuple[NDArray[np.float32], Range, str]:
    """Scale targets from their range; returns it, and what to say of it.

    Those that train are clipped, as features are. Those that test are not, so that errors are those of the file.
    """
    ends = given.target_range or (float(y[~tests].min()), float(y[~tests].max()))
    if not ends[0] < ends[1]:
        raise ValueError(
            f"target: {given.target!r} has one value in the training part, {ends[0]:g}"
        )
    low, high = (end / 2 for end in ends)  # so that no difference is too large
    made = (y - (high + low)) / (high - low) * TARGET_END
    beyond = int((abs(made[~tests]) > TARGET_END).sum())
    made[~tests] = made[~tests].clip(-TARGET_END, TARGET_END)
    said = f", scaled from the range [{ends[0]:.10g}, {ends[1]:.10g}]"
    said += f", to which {beyond:,} of the training part are clipped" * bool(beyond)
    return made.astype(np.float32), ends, said


def _stated_part(frame: pd.DataFrame, test: Mapping[str, Value]) -> NDArray[np.bool_]:
    """Find the records of the test part by the value that a column has for them."""
    ((name, value),) = test.items()
    texts = identifiers(frame[name])
    tests = texts.isin(_spelled([value], texts)).to_numpy()
    if not tests.any():
        there = listed(_sorted(texts))
        raise ValueError(f"test: no record is in the test part, as {name} is {there}")
    return tests


def _drawn(classes: NDArray[Any], given: Columns) -> NDArray[np.bool_]:
    """Draw a share of the rows of each class, rounded, but one at least; one record alone stays in training."""
    assert isinstance(given.test, float)
    rng, tests = np.random.default_rng(given.seed), np.zeros(len(classes), bool)
    for label in np.unique(classes):
        rows = np.flatnonzero(classes == label)
        count = min(max(round(given.test * len(rows)), 1), len(rows) - 1)
        tests[rng.permutation(rows)[:count]] = True
    return tests


def _scaled(
    frame: pd.DataFrame, names: list[str], tests: NDArray[np.bool_], given: Columns
) -> tuple[NDArray[np.float64], list[str]]:
    """Scale numbers to [0, 1] by their ranges, and clip what is beyond; returns lines for users too."""
    if not names:
        return np.empty((len(frame), 0)), []
    numbers = pd.DataFrame({name: _numbers(frame[name], given) for name in names})
    training = numbers[~tests]
    found = pd.DataFrame([training.min(), training.max()])
    ends = pd.DataFrame({name: given.range_of(name) or tuple(found[name]) for name in names})
    stated = np.array([given.range_of(name) is not None for name in names])
    middle = training.median().mask(stated, ends.mean())
    beyond = _counted(((numbers < ends.loc[0]) | (numbers > ends.loc[1])).sum())
    ranges = [f"{name} [{low:g}, {high:g}]" for name, (low, high) in ends.items()]
    one = len(names) == 1
    what = "number, scaled from its range" if one else "numbers, scaled from their ranges"
    lines = [f"{len(names):,} {what}: {listed(ranges)}"]
    lines += [f"values beyond the ranges, clipped: {beyond}"] * bool(beyond)
    scaler = MinMaxScaler(clip=True).fit(ends)
    return np.asarray(scaler.transform(numbers.fillna(middle))), lines


def _one_hot(
    texts: Mapping[str, pd.Series[Any]], tests: NDArray[np.bool_], given: Columns
) -> tuple[NDArray[np.float64], list[str]]:
    """Make a column of each category; a value that is none has 0 in all of them; returns lines for users too."""
    if not texts:
        return np.empty((len(tests), 0)), []
    values, others = dict[str, list[str]](), dict[str, int]()
    for name, own in texts.items():
        stated = _spelled(given.categories.get(name, []), own)
        values[name] = stated or _sorted(own[~tests])
        strange = own[own.notna() & ~own.isin(values[name])]
        if len(strange) and (unused := sorted({*stated} - {*own.unique()})):
            raise ValueError(
                f"categories.{name}: no record has {listed(unused)}, and {listed(_sorted(strange))} are none of them"
            )
        others[name] = len(strange)
    counts = _counted({name: len(each) for name, each in values.items()})
    lines = [f"categories, a column for each value: {counts}"]
    if other := _counted(others):
        lines.append(f"values that are no category, 0 in all columns: {other}")
    encoder = OneHotEncoder(
        categories=[np.array(each, object) for each in values.values()],
        handle_unknown="ignore",
        sparse_output=False,
    ).fit(pd.DataFrame({name: each[:1] for name, each in values.items()}))
    with np.errstate(all="ignore"):
        return np.asarray(encoder.transform(pd.DataFrame(texts).fillna(""))), lines


def _attributes(
    texts: Mapping[str, pd.Series[Any]], tests: NDArray[np.bool_], given: Columns
) -> dict[str, Attribute]:
    """Return attributes of records: the group, and every category.

    Where several columns would be one attribute, it is the group, or else the column that has just this name, if any.
    """
    alike, group = Counter(map(slug, texts)), slug(given.group)
    found = dict[str, Attribute]()
    for name, own in texts.items():
        attribute = slug(name)
        if alike[attribute] == 1 or name == (given.group if attribute == group else attribute):
            values = own.fillna("missing")
            found[attribute] = Attribute.of(_sorted(values), values[~tests], values[tests])
    return found


def _numbers(values: pd.Series[Any], given: Columns) -> pd.Series[float]:
    """Read numbers; ValueError for what is none, with the settings that help."""
    numeric = types.is_numeric_dtype(values)
    numbers = values if numeric else _read(_texts(values), given.decimal, given.thousands)
    found = numbers.astype(float)
    bad = values.notna() & ~np.isfinite(found)
    if bad.any():
        raise ValueError(_in_the_way(values.dropna(), bad[values.notna()], given))
    return found


def _is_text(values: pd.Series[Any]) -> bool:
    """Tell whether a column is of text or of objects, in which numbers may be; a Categorical has none."""
    return bool(types.is_string_dtype(values.dtype))


def _are_numbers(values: pd.Series[Any], given: Columns) -> bool:
    """Return whether all that is present in a column is a number; true and false are none."""
    if not _is_text(values):
        return types.is_numeric_dtype(values) and not types.is_bool_dtype(values)
    texts = _texts(values.dropna())
    return bool(_read(texts, given.decimal, given.thousands).notna().all())


def _mostly_numbers(values: pd.Series[Any], given: Columns) -> bool:
    """Tell whether most of a column of text are numbers, in whatever form, perhaps with signs beside them."""
    if not _is_text(values):
        return False
    counts = _texts(values).value_counts()
    bare = counts.index.to_series().str.strip(_SIGNS)
    forms = [(given.decimal, given.thousands), *_FORMS]
    numbers = max((counts[_read(bare, *form).notna()] for form in forms), key=sum)
    share = _HALF if len(numbers) > _MOST_CLASSES else _MOSTLY
    return bool(numbers.sum() >= share * counts.sum())


def _read(texts: pd.Series[Any], decimal: str, thousands: str) -> pd.Series[float]:
    """Read numbers of a form; what is none is NaN. A group of thousands has three digits."""
    if (decimal, thousands) != (".", ""):
        groups = rf"\d{{1,3}}(?:{re.escape(thousands)}\d{{3}})+|" if thousands else ""
        form = rf"\s*[+-]?(?:{groups}\d*)(?:{re.escape(decimal)}\d*)?(?:[eE][+-]?\d+)?\s*"
        texts = texts.where(texts.str.fullmatch(form, na=False))
        texts = texts.str.replace(thousands, "", regex=False) if thousands else texts
        texts = texts.str.replace(decimal, ".", regex=False)
    numbers = pd.to_numeric(texts, errors="coerce").astype(float)
    return numbers.where(np.isfinite(numbers))


def _in_the_way(values: pd.Series[Any], bad: pd.Series[bool], given: Columns) -> str:
    """Return which values of a column are no numbers, in which rows they are, and which settings help."""
    name, own = str(values.name), (given.decimal, given.thousands)
    texts = _texts(values)
    bare = texts.str.strip(_SIGNS)
    numbers = {form: _read(bare, *form) for form in (own, *_FORMS)}
    # The form that reads most values, by as few settings as can be.
    effort = {form: -sum(np.not_equal(form, own)) for form in numbers}
    rank = {form: (numbers[form].notna().sum(), effort[form]) for form in numbers}
    best = [form for form in numbers if rank[form] == max(rank.values())]
    fixes = []
    for form in best if own not in best else ():
        words = zip(("decimal", "thousands"), form, own, strict=True)
        settings = [f"{key}: {sign!r}" for key, sign, other in words if sign != other]
        example = numbers[form].dropna().index[0]
        value = f"{texts[example]!r} is {numbers[form][example]:.12g}"
        fixes.append(f"{' and '.join(settings)} if {value}")
    left = texts[_read(texts, *best[0]).isna()]
    if 0 < len(left) < len(texts) / 2:
        odd = [repr(word) for word in left.unique()]
        some = ", ".join([*odd[:SHOWN], *["..."] * (len(odd) > SHOWN)])
        fixes.append(f"na_values: [{some}] if they are missing")
    fixes.append(f"kinds: {{{name}: category}}")
    fixes += [f"kinds: {{{name}: leave_out}}"] * (name not in given.beside)
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


def _spelled(values: Iterable[Value], texts: pd.Series[Any]) -> list[str]:
    """Spell stated values, true and false as a column does, such as ``TRUE``; ValueError if one is stated twice."""
    made = list[str]()
    for value in values:
        spelling, own = as_text(value), list[str]()
        if isinstance(value, bool):
            own = _sorted(texts[texts.str.casefold() == spelling.casefold()])
        made += own or [spelling]
    if repeated := [value for value, count in Counter(made).items() if count > 1]:
        raise ValueError(f"categories.{texts.name}: {listed(repeated)} is stated more than once")
    return made


def identifiers(values: pd.Series[Any]) -> pd.Series[Any]:
    """Spell values; ValueError for floats that are whole numbers with more digits than these keep."""
    if types.is_float_dtype(values):
        exact = 2.0 ** (np.finfo(values.to_numpy().dtype).nmant + 1)
        if (long := values.abs().between(exact, np.inf, inclusive="neither")).any():
            raise ValueError(
                f"{values.name}: {values[long].iloc[0]:.0f} is a float, in which numbers of so many digits may be "
                "equal that were not; store them as text or as integers"
            )
    return _texts(values)


def _texts(values: pd.Series[Any]) -> pd.Series[Any]:
    if isinstance(values.dtype, pd.StringDtype):
        return values
    return values.astype(object).map(as_text, na_action="ignore")


def _sorted(texts: pd.Series[Any]) -> list[str]:
    """Return the values of a column, once each: numbers by size, before text."""
    values = texts.dropna().unique()
    if all(map(is_number, values)):
        return sorted(values, key=lambda value: (float(value), value))
    return sorted(values)


def _counted(counts: Mapping[str, int] | pd.Series[int]) -> str:
    """Name those of which there are some, each with its count."""
    return listed([f"{name} ({count:,})" for name, count in counts.items() if count])


def _reasons(kinds: Kinds) -> str:
    """Name the columns that are left out, by the reason."""
    by: dict[str, list[str]] = {}
    for name in _of_kind(kinds, "leave_out"):
        by.setdefault(kinds[name][1], []).append(name)
    return "; ".join(f"{listed(names)} ({reason})" for reason, names in by.items())


def _said_of_target(
    name: str, y: NDArray[Any], class_names: Sequence[str], tests: NDArray[np.bool_]
) -> str:
    sizes = f"{(~tests).sum():,} training and {tests.sum():,} test records"
    if not class_names:
        return f"{sizes}; target {name}: numbers from {y.min():g} to {y.max():g}"
    counts = np.bincount(y[~tests], minlength=len(class_names))
    each = [f"{label!r} ({count:,})" for label, count in zip(class_names, counts, strict=True)]
    return f"{sizes}; target {name}: {len(each)} classes, of training records {listed(each)}"


def _said_of_groups(name: str, group: Attribute, arrays: Arrays) -> str:
    """Return how large groups are, and which lack something."""
    n = len(group.values)
    counts, tested = (np.bincount(codes, minlength=n) for codes in (group.train, group.test))
    sizes = " to ".join(dict.fromkeys(f"{count:,}" for count in (counts.min(), counts.max())))
    said = [f"group {name}: {n:,} {'value' if n == 1 else 'values'} with {sizes} training records"]
    faults = {"no training record": counts == 0, "no test record": tested == 0}
    if arrays.y_train.dtype == np.int64:
        pairs = np.unique(np.stack([group.train, arrays.y_train]), axis=1)[0].astype(int)
        classes = np.bincount(pairs, minlength=n)
        faults["one class"] = classes == 1
        faults["not all classes"] = (classes > 1) & (classes < len(np.unique(arrays.y_train)))
    for what, has in faults.items():
        if has.any():
            said.append(f"{what}: {listed(np.array(group.values, object)[has].tolist())}")
    return "; ".join(said)
