"""Columns of a table: how they become features, targets and attributes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

from admmbench.datasets._base import TARGET_END, Arrays, Attribute, DatasetInfo, untested
from admmbench.datasets._table_settings import (
    RECORD,
    Columns,
    Range,
    Value,
    as_text,
    different,
    is_number,
    listed,
)
from admmbench.datasets._table_values import (
    MOST_CATEGORIES,
    MOST_CLASSES,
    Kinds,
    are_mostly_numbers,
    are_numbers,
    as_texts,
    columns_of_kind,
    identifiers,
    is_text,
    kind_of,
    leave_empty_out,
    left_out_columns,
    presumptions,
    read_numbers,
    sorted_values,
    spellings,
)
from admmbench.datasets._table_words import describe_groups, describe_target, list_counts
from admmbench.validation import Text, checked, meant

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
_NONE = "None"


def check(frame: pd.DataFrame, settings: Columns) -> None:
    """Refuse columns and values that no table has.

    Parameters
    ----------
    frame
        The table.
    settings
        What the user states about its columns.

    Raises
    ------
    ValueError
        If there are no records, two columns of one name, or values that are neither a number nor text.
    """
    checked(list[Text], different(map(str, frame.columns)), "columns")
    if not len(frame):
        raise ValueError("there are no records")
    # Text is told by its type where it can be, as there is much of it.
    mixed = {
        str(name): values
        for name, values in frame.items()
        if values.dtype.kind in "Oc" and not types.is_string_dtype(values)
    }
    for what, is_compound in _COMPOUND.items():
        columns = [name for name, values in mixed.items() if values.map(is_compound).any()]
        if columns := [name for name in columns if name not in settings.left_out]:
            features = not settings.non_features.issuperset(columns)
            raise ValueError(
                f"{what} in {listed(columns)}: expected a number or text in each row; make a column of each part"
                + ", or kinds: {...: leave_out}" * features
            )


def _refuse_common_records(frame: pd.DataFrame, n_first: int) -> None:
    """Raise a ValueError if more of the first records of a table are among the others, too, than by chance.

    Records of few values repeat: twice the share that does so among the first is allowed.
    """
    first, others = frame[:n_first], frame[n_first:]
    common = others.reset_index(drop=True).reset_index().merge(first.drop_duplicates(), how="inner")
    if len(common) > 2 * first.duplicated(keep=False).mean() * len(others):
        row = int(common["index"].min()) + 2  # the first line has the names
        raise ValueError(
            f"test: {len(common):,} records of the second file are in the first one, too, such as that of row {row}; "
            "remove them from one of the two"
        )


def prepare(frames: Sequence[pd.DataFrame], settings: Columns) -> tuple[Arrays, DatasetInfo]:
    """Make arrays of a table, and of its test part if that is a table of its own, and find their facts.

    Raises
    ------
    ValueError
        If the table cannot be used as it is; the message names the columns, and what to do.
    """
    first, *others = (frame.rename(columns=str) for frame in frames)
    _check_names(first, settings)
    for other in others:
        for verb, one, two in (("lacks", first, other), ("has besides", other, first)):
            if lacking := [name for name in one.columns if name not in two.columns]:
                raise ValueError(f"test: the second file {verb} {listed(lacking)}")
    frame = pd.concat([first, *(other[first.columns] for other in others)], ignore_index=True)
    tests = np.arange(len(frame)) >= len(first) if others else None
    # Lists cannot be compared, as is done next.
    unread = [name for name in settings.left_out if name not in settings.dropna]
    frame[unread] = None
    if tests is not None:
        _refuse_common_records(frame, len(first))
    words = dict[str, set[str]]()
    for name in frame.columns.difference(unread):
        frame[name], words[name] = _mask_empty(frame[name], settings)
    if isinstance(settings.test, dict):
        tests = _find_test_part(frame, settings.test)

    # Until the test part is drawn, any record may be a training record.
    seen = frame if tests is None else frame[~tests]
    names = [name for name in frame.columns if name not in settings.non_features]
    kinds = {name: kind_of(name, seen[name], settings) for name in names}
    leave_empty_out(seen, kinds, settings)
    required = columns_of_kind(kinds, "number", "category")
    if settings.missing == "refuse":
        # Such as the country code NA beside one other: without the word, the column would say something.
        required += [name for name in names if kinds[name][1] == "one value" and words[name]]
    keep = _find_complete_rows(frame, required, settings, set().union(*words.values()))
    frame, tests = frame[keep], None if tests is None else tests[keep]
    y, class_names = _targets(frame[settings.target], settings)
    if tests is None:
        tests = _draw_test_part(y if class_names else np.zeros(len(y), int), settings)
    for part, rows in (("training", ~tests), ("test", tests)):
        if not rows.any():
            raise ValueError(f"test: no record is in the {part} part")
    if class_names and len(unknown := np.setdiff1d(y[tests], y[~tests])):
        labels = listed([repr(class_names[label]) for label in unknown])
        raise ValueError(f"test: no training record has the class {labels} of test records")
    leave_empty_out(frame[~tests], kinds, settings)
    arrays, info = _arrays_and_facts(frame, tests, y, class_names, kinds, settings)
    if not keep.all():
        dropped = f"records dropped, as values are missing: {(~keep).sum():,}"
        info = replace(info, summary=(dropped, *info.summary))
    return arrays, info


def _arrays_and_facts(
    frame: pd.DataFrame,
    tests: NDArray[np.bool_],
    y: NDArray[Any],
    class_names: tuple[str, ...],
    kinds: Kinds,
    settings: Columns,
) -> tuple[Arrays, DatasetInfo]:
    """Return arrays of records, whose gaps are imputed, and their facts."""
    target_line, target_range = describe_target(settings.target, y, class_names, tests), None
    if not class_names:
        y, target_range, scaled = _scale_targets(y, tests, settings)
        target_line += scaled
    left_out = left_out_columns(kinds)
    if not (used := columns_of_kind(kinds, "number", "category")):
        raise ValueError(f"no column is left for features: {left_out}")
    categories = columns_of_kind(kinds, "category")
    group = slug(settings.group) if settings.group else ""
    texts = {name: identifiers(frame[name]) for name in [settings.group] * bool(group) + categories}
    names = columns_of_kind(kinds, "number")
    numbers, number_lines = _scale_numbers(frame, names, tests, settings)
    columns, category_lines = _encode_categories(
        {name: texts[name] for name in categories}, tests, settings
    )
    X = np.hstack([numbers, columns, np.ones((len(frame), 1))]).astype(np.float32, order="C")
    attributes = _attributes(texts, tests, settings)
    arrays = Arrays(X[~tests], y[~tests], X[tests], y[tests], attributes)
    note, gaps = untested(class_names, y[tests]), list_counts(frame[used].isna().sum())
    n_values = {name: len(attribute.values) for name, attribute in attributes.items()}
    others = {name: count for name, count in n_values.items() if name != group}
    lines = [
        target_line,
        note,
        *number_lines,
        *category_lines,
        f"missing values, imputed: {gaps}" * bool(gaps),
        f"left out: {left_out}" * bool(left_out),
        f"{X.shape[1]} features in [0, 1], the last a column of ones, as models have no intercept",
        describe_groups(settings.group, attributes[group], arrays) if group else "",
        f"columns that can share records out too: {list_counts(others)}" * bool(others),
    ]
    return arrays, DatasetInfo(
        name="table",
        title="A table",
        settings={},
        licence="that of the table",
        citation="A table of a user",
        n_train=len(arrays.y_train),
        n_test=len(arrays.y_test),
        n_features=X.shape[1],
        class_names=class_names,
        feature_names=(*names, *columns, "intercept"),
        target_range=target_range,
        default_problem={0: "huber", 2: "logistic"}.get(len(class_names), "softmax"),
        attributes=n_values,
        note=note,
        presumed=presumptions(kinds, bool(class_names), settings),
        group=group,
        summary=tuple(filter(None, lines)),
        class_sizes=tuple(np.bincount(y).tolist()) if class_names else (),
    )


def slug(name: str) -> str:
    """Name the attribute that a column becomes: letters, digits, ``_``, ``-`` and ``.``."""
    return re.sub(r"^[.-]", "_", re.sub(r"[^A-Za-z0-9_.-]", "_", name))[:64]


def _check_names(frame: pd.DataFrame, settings: Columns) -> None:
    """Refuse columns that are not there, and a table without a target."""
    columns = list(frame.columns)
    hint = f"; {RECORD}" * any(map(is_number, columns))
    if not settings.target:
        raise ValueError(f"target: name the column of the targets: {listed(columns)}{hint}")
    named = {
        "target": settings.non_features & {settings.target},
        "group": settings.non_features & {settings.group},
    }
    named |= {key: value for key, value in settings if key == "dropna" or isinstance(value, dict)}
    for key, names in named.items():
        for name in names:
            if name not in columns:
                near = meant(name, columns) or f" (there are {listed(columns)})"
                raise ValueError(f"{key}: unknown column {name!r}{near}{hint}")
    if settings.group == settings.target:
        raise ValueError(f"group: {settings.group!r} is the target")
    for name in settings.kinds:
        if settings.kinds[name] == "number" and name in settings.categories:
            raise ValueError(f"categories: {name!r} is a number in kinds")
    if settings.target in settings.ranges_by_column:
        raise ValueError(
            f"ranges: {settings.target!r} is the target; state its range in target_range"
        )
    if doubled := settings.ranges_by_column.keys() & settings.categories:
        raise ValueError(f"ranges: {min(doubled)!r} has categories too; give one of them")


def _mask_empty(values: pd.Series[Any], settings: Columns) -> tuple[pd.Series[Any], set[str]]:
    """Mask texts that stand for a missing value; return the values, and the texts found that do so by default."""
    name = str(values.name)
    stated, default = settings.empty_of(name), {""}
    texts = is_text(values)
    if not (texts or stated):
        return values, set()
    if texts and settings.keep_default_na and name != settings.target:
        default |= _EMPTY - {as_text(value) for value in settings.categories.get(name, [])} - stated
    spelled = as_texts(values).astype("string").str.strip()
    others = spelled[~spelled.isin(stated | default)].dropna()
    if _NONE in default and spelled.eq(_NONE).any() and _is_category_beside(others, settings):
        default.remove(_NONE)
    empty = spelled.isin(stated | default).to_numpy()
    # Whole numbers beside a gap would become floats, which long ones do not fit in.
    converted = values.astype(object) if types.is_integer_dtype(values) and empty.any() else values
    return converted.mask(empty), {*spelled[empty]} & default - {""}


def _is_category_beside(others: pd.Series[Any], settings: Columns) -> bool:
    """Return whether `None` is a category beside the other values, not a gap among numbers, dates or long text.

    The houses of Ames have it: "None" is a house without veneer.
    """
    name = str(others.name)
    if name in settings.categories:  # which do not have it
        return False
    if others.nunique() == 1:
        return not are_numbers(others, settings)
    return kind_of(name, others, settings)[0] == "category"


def _find_complete_rows(
    frame: pd.DataFrame, used: Sequence[str], settings: Columns, words: set[str]
) -> NDArray[np.bool_]:
    """Find the rows to keep; ValueError if values are missing and the settings do not state what to do."""
    labels = [settings.target] + [settings.group] * bool(settings.group)
    needed = labels if settings.missing == "impute" else [*labels, *used]
    keep = frame[settings.dropna].notna().all(axis=1).to_numpy()
    gaps = frame[needed].isna()
    lacking = gaps[keep].sum()[lambda counts: counts > 0]
    if settings.missing == "drop":
        keep = keep & ~gaps.any(axis=1).to_numpy()
    elif len(lacking):
        fix, lost = "missing: drop", [name for name in labels if name in lacking]
        if lost:
            fix += f", or dropna: [{listed(lost)}] to drop only records without it"
            fix += " and missing: impute for the others" * (len(lost) < len(lacking))
        else:
            fix = "missing: impute or missing: drop, or leave the column out by kinds: {...: leave_out}"
        hint = f"; {listed(sorted(words))} in text is missing unless keep_default_na: false"
        raise ValueError(
            f"values are missing: {list_counts(lacking)}; set {fix}{hint * bool(words)}"
        )
    if not keep.any():
        cause = "missing: drop"
        if not len(lacking):
            cause = f"dropna: [{listed(settings.dropna)}]"
            lacking = frame[settings.dropna].isna().sum()
        raise ValueError(f"{cause} leaves no record, as values are missing: {list_counts(lacking)}")
    return keep


def _targets(values: pd.Series[Any], settings: Columns) -> tuple[NDArray[Any], tuple[str, ...]]:
    """Return class indices and the names of the classes, or numbers and no names."""
    kind = settings.kinds.get(settings.target)
    if kind == "leave_out":
        raise ValueError(f"kinds: the target {settings.target!r} cannot be left out")
    if settings.target_range is not None:
        if kind == "category" or settings.target in settings.categories:
            raise ValueError(
                f"target_range: it is of targets that are numbers, and {settings.target!r} is said to have classes; "
                "leave one of them out"
            )
        kind = "number"
    if kind is None and settings.target not in settings.categories:
        if are_numbers(values, settings):
            whole = (read_numbers(values, settings) % 1 == 0).all()
            kind = "category" if values.nunique() <= MOST_CLASSES and whole else "number"
        elif are_mostly_numbers(values, settings):
            kind = "number"  # reading numbers names the values that are none
    if kind == "number":
        return read_numbers(values, settings).to_numpy(np.float64), ()
    texts = identifiers(values)
    names = spellings(settings.categories.get(settings.target, []), texts) or sorted_values(texts)
    present = set(texts.unique())
    if others := sorted(present - set(names)):
        raise ValueError(
            f"categories.{settings.target}: {listed(others)} is none of {listed(names)}"
        )
    if unused := [name for name in names if name not in present]:
        raise ValueError(
            f"categories.{settings.target}: no record is of {listed(unused)}; leave it out"
        )
    if len(names) < 2:
        raise ValueError(f"target: {settings.target!r} has one value, {names[0]!r}")
    if len(present) == len(texts):
        fix = f", or state kinds: {{{settings.target}: number}}" * all(map(is_number, names))
        raise ValueError(
            f"target: {settings.target!r} has another value in each record, such as {names[0]!r}, so that these are no "
            f"classes; name another column{fix}"
        )
    if len(names) > 10 * MOST_CATEGORIES:
        raise ValueError(
            f"target: {settings.target!r} is text with {len(names):,} values, no classes"
        )
    codes = {name: code for code, name in enumerate(names)}
    return texts.map(codes).to_numpy(np.int64), tuple(names)


def _scale_targets(
    y: NDArray[np.float64], tests: NDArray[np.bool_], settings: Columns
) -> tuple[NDArray[np.float32], Range, str]:
    """Scale targets from their range; return them with the range and words about it for users.

    Training targets are clipped, as features are. Test targets are not, so that errors are those of the file.
    """
    ends = settings.target_range or (float(y[~tests].min()), float(y[~tests].max()))
    if not ends[0] < ends[1]:
        raise ValueError(
            f"target: {settings.target!r} has one value in the training part, {ends[0]:g}"
        )
    low, high = (end / 2 for end in ends)  # so that no difference is too large
    scaled = (y - (high + low)) / (high - low) * TARGET_END
    beyond = int((abs(scaled[~tests]) > TARGET_END).sum())
    scaled[~tests] = scaled[~tests].clip(-TARGET_END, TARGET_END)
    words = f", scaled from the range [{ends[0]:.10g}, {ends[1]:.10g}]"
    words += f", to which {beyond:,} of the training part are clipped" * bool(beyond)
    return scaled.astype(np.float32), ends, words


def _find_test_part(frame: pd.DataFrame, test: Mapping[str, Value]) -> NDArray[np.bool_]:
    """Find the records of the test part by the value that a column has for them."""
    ((name, value),) = test.items()
    texts = identifiers(frame[name])
    tests = texts.isin(spellings([value], texts)).to_numpy()
    if not tests.any():
        there = listed(sorted_values(texts))
        raise ValueError(f"test: no record is in the test part, as {name} is {there}")
    return tests


def _draw_test_part(classes: NDArray[Any], settings: Columns) -> NDArray[np.bool_]:
    """Draw the test rows: a rounded share of each class, at least one row; the only record of a class trains."""
    assert isinstance(settings.test, float)
    rng, tests = np.random.default_rng(settings.seed), np.zeros(len(classes), bool)
    for label in np.unique(classes):
        rows = np.flatnonzero(classes == label)
        count = min(max(round(settings.test * len(rows)), 1), len(rows) - 1)
        tests[rng.permutation(rows)[:count]] = True
    return tests


def _scale_numbers(
    frame: pd.DataFrame, names: list[str], tests: NDArray[np.bool_], settings: Columns
) -> tuple[NDArray[np.float64], list[str]]:
    """Scale numbers to [0, 1] by their ranges, clipped; return them with lines for users."""
    if not names:
        return np.empty((len(frame), 0)), []
    numbers = pd.DataFrame({name: read_numbers(frame[name], settings) for name in names})
    training = numbers[~tests]
    measured = pd.DataFrame([training.min(), training.max()])
    ends = pd.DataFrame({name: settings.range_of(name) or tuple(measured[name]) for name in names})
    stated = np.array([settings.range_of(name) is not None for name in names])
    middle = training.median().mask(stated, ends.mean())
    beyond = list_counts(((numbers < ends.loc[0]) | (numbers > ends.loc[1])).sum())
    ranges = [f"{name} [{low:g}, {high:g}]" for name, (low, high) in ends.items()]
    one = len(names) == 1
    what = "number, scaled from its range" if one else "numbers, scaled from their ranges"
    lines = [f"{len(names):,} {what}: {listed(ranges)}"]
    lines += [f"values beyond the ranges, clipped: {beyond}"] * bool(beyond)
    scaler = MinMaxScaler(clip=True).fit(ends)
    return np.asarray(scaler.transform(numbers.fillna(middle))), lines


def _encode_categories(
    texts: Mapping[str, pd.Series[Any]], tests: NDArray[np.bool_], settings: Columns
) -> tuple[pd.DataFrame, list[str]]:
    """Make a column of each category, all 0 for a value that is none; return them with lines for users."""
    if not texts:
        return pd.DataFrame(index=range(len(tests))), []
    values, others = dict[str, list[str]](), dict[str, int]()
    for name, column in texts.items():
        stated = spellings(settings.categories.get(name, []), column)
        values[name] = stated or sorted_values(column[~tests])
        strange = column[column.notna() & ~column.isin(values[name])]
        if len(strange) and (unused := sorted({*stated} - {*column.unique()})):
            raise ValueError(
                f"categories.{name}: no record has {listed(unused)}, and {listed(sorted_values(strange))} are none of "
                "them"
            )
        others[name] = len(strange)
    counts = list_counts({name: len(column_values) for name, column_values in values.items()})
    lines = [f"categories, a column for each value: {counts}"]
    if other := list_counts(others):
        lines.append(f"values that are no category, 0 in all columns: {other}")
    encoder = OneHotEncoder(
        categories=[np.array(column_values, object) for column_values in values.values()],
        handle_unknown="ignore",
        sparse_output=False,
        feature_name_combiner="{}={}".format,
    ).fit(pd.DataFrame({name: column_values[:1] for name, column_values in values.items()}))
    with np.errstate(all="ignore"):
        encoded = encoder.transform(pd.DataFrame(texts).fillna(""))
    return pd.DataFrame(encoded, columns=encoder.get_feature_names_out()), lines


def _attributes(
    texts: Mapping[str, pd.Series[Any]], tests: NDArray[np.bool_], settings: Columns
) -> dict[str, Attribute]:
    """Return attributes of records: the group, and every category.

    Where several columns would be one attribute, it is the group, or else the column that has just this name, if any.
    """
    counts, group = Counter(map(slug, texts)), slug(settings.group)
    attributes = dict[str, Attribute]()
    for name, column in texts.items():
        key = slug(name)
        if counts[key] == 1 or name == (settings.group if key == group else key):
            values = column.fillna("missing")
            attributes[key] = Attribute.of(sorted_values(values), values[~tests], values[tests])
    return attributes
