"""Columns of a table: of which kind each is, and how they become features, targets and attributes."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field, model_validator

from admmbench.datasets._base import TARGET_END, Arrays, Attribute, check_range, untested
from admmbench.validation import Number, Strict, Text, checked, meant

if TYPE_CHECKING:
    import pandas as pd

Kind = Literal["number", "category", "leave_out"]

# Text with more values than this is no category; whole numbers with more values are no classes.
_MOST_CATEGORIES, _MOST_CLASSES = 100, 20
# Rows from which on a column with another value in each is one of identifiers.
_FEW_ROWS = 20
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T]\d.*)?")
# Names that a message or a summary spells out, and rows of a value.
_SHOWN, _ROWS_SHOWN = 12, 3
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
#: What to do about a file without names.
RECORD = "if the first line is a record, state names: [...], one for each column"


Range = Annotated[tuple[Number, Number], AfterValidator(check_range)]
Value = str | int | float | bool


class Columns(Strict):
    """A user says this of the columns of a table; `Table` explains each setting."""

    target: str = ""
    group: str = ""
    kinds: dict[str, Kind] = {}
    ranges: dict[str, Range] | Range = {}
    target_range: Range | None = None
    categories: dict[str, Annotated[list[Value], Field(min_length=1)]] = {}
    missing: Literal["refuse", "drop", "impute"] = "refuse"
    dropna: list[str] = []
    na_values: list[Value] | dict[str, list[Value]] = []
    keep_default_na: bool = True
    decimal: Literal[".", ","] = "."
    thousands: Annotated[str, Field(pattern=r"^[^\w+-]?$")] = ""
    test: (
        Annotated[float, Field(gt=0, lt=1)]
        | Annotated[dict[str, Value], Field(min_length=1, max_length=1)]
        | str
    ) = 0.2
    seed: Annotated[int, Field(ge=0)] = 0

    @model_validator(mode="after")
    def _two_signs(self) -> Self:
        if self.thousands == self.decimal:
            raise ValueError(
                f"thousands: {self.thousands!r} is the decimal point; state another decimal"
            )
        return self

    @property
    def texts(self) -> set[str] | None:
        """Return the columns to read as text, whatever they look like; None for all, if numbers have another form."""
        if (self.decimal, self.thousands) != (".", ""):
            return None
        categories = {name for name, kind in self.kinds.items() if kind == "category"}
        return self.beside | categories | self.categories.keys()

    @property
    def beside(self) -> set[str]:
        """Return the columns that are no features: of the targets, of the group and of the test part."""
        parts = self.test if isinstance(self.test, dict) else ()
        return {self.target, self.group, *parts} - {""}

    @property
    def left_out(self) -> list[str]:
        """Return the columns that are left out because a user says so."""
        asked = [name for name, kind in self.kinds.items() if kind == "leave_out"]
        return [name for name in asked if name not in self.beside]

    def range_of(self, name: str) -> Range | None:
        """Return the range that is stated for a column."""
        return self.ranges.get(name) if isinstance(self.ranges, dict) else self.ranges

    def empty_of(self, name: str) -> set[str]:
        """Return the texts that stand for a missing value in a column because a user says so."""
        values = (
            self.na_values.get(name, []) if isinstance(self.na_values, dict) else self.na_values
        )
        numbers = {_text(float(value)) for value in values if _is_number(value)}
        return {_text(value).strip() for value in values} | numbers

    def stated(self, name: str, kind: Kind) -> bool:
        """Tell whether a user says all about a column that has become of some kind, so that no record is asked."""
        if kind == "number":
            return self.range_of(name) is not None
        return name in self.categories or self.kinds.get(name) == "leave_out"


@dataclass
class Prepared:
    """A prepared table has arrays, and what is known of them.

    Attributes
    ----------
    arrays
        The arrays.
    class_names
        Empty where targets are numbers.
    target_range
        Range that targets are scaled from; None where they are classes.
    group
        Attribute by which records are shared out; empty if there is none.
    presumed
        What totals presuppose, as it was found in records; empty if nothing was.
    summary
        Lines for users.
    """

    arrays: Arrays
    class_names: tuple[str, ...]
    target_range: Range | None
    group: str
    presumed: str
    summary: list[str] = field(default_factory=list)


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
    left_out, found = set(given.left_out), dict[str, list[str]]()
    for name, (_, values) in zip(names, frame.items(), strict=True):
        if name not in left_out and (what := _compound(values)):
            found.setdefault(what, []).append(name)
    for what, columns in found.items():
        instead = "" if given.beside.issuperset(columns) else ", or kinds: {...: leave_out}"
        raise ValueError(
            f"{what} in {_listed(columns)}: expected a number or text in each row; "
            f"make a column of each part{instead}"
        )


def different(names: Iterable[str], what: str = "columns", hint: str = "") -> None:
    """Refuse columns of one name, as nobody could say which is meant; or whatever else has names."""
    if repeated := [name for name, count in Counter(names).items() if count > 1]:
        hint = f"; {hint}" * bool(hint)
        raise ValueError(
            f"several {what} have the name {_listed(repeated)}; rename all but one{hint}"
        )


def _compound(values: pd.Series[Any]) -> str:
    """Say what values of several parts a column has; empty if it has none."""
    from pandas.api import types  # slow to import

    # Text is told by its type where it can be, as there is much of it.
    mixed = values.dtype.kind == "O" and not types.is_string_dtype(values)
    if mixed and values.map(types.is_list_like).any():
        return "lists or mappings"
    if types.is_complex_dtype(values) or (mixed and values.map(types.is_complex).any()):
        return "complex numbers"
    return ""


def prepare(frame: pd.DataFrame, second: pd.DataFrame | None, given: Columns) -> Prepared:
    """Prepare a table.

    Parameters
    ----------
    frame
        The table.
    second
        Its test part, if that is a table of its own.
    given
        What a user says of its columns.

    Raises
    ------
    ValueError
        If the table cannot be used as it is; the message names the columns, and what to do.
    """
    import pandas as pd  # slow to import

    frame, n_first = frame.rename(columns=str), len(frame)
    _check_names(frame, given)
    if second is not None:
        second = second.rename(columns=str)
        if lacking := [name for name in frame.columns if name not in second.columns]:
            raise ValueError(f"test: the second file lacks {_listed(lacking)}")
        frame = pd.concat([frame, second[frame.columns]], ignore_index=True)
    frame = frame.reset_index(drop=True)
    # Lists cannot be compared with text, as is done next.
    unread = [name for name in given.left_out if name not in given.dropna]
    frame[unread] = None
    empty = dict[str, set[str]]()
    for name in frame.columns.difference(unread):
        frame[name], empty[name] = _without_empty(frame[name], given)
    tests = np.arange(len(frame)) >= n_first if second is not None else None
    if isinstance(given.test, dict):
        ((name, value),) = given.test.items()
        texts = identifiers(frame[name])
        tests = texts.isin(_spelled([value], texts)).to_numpy()
        if not tests.any():
            there = _listed(_sorted(texts.dropna()))
            raise ValueError(f"test: no record is in the test part, as {name} is {there}")

    seen = frame if tests is None else frame[~tests]
    kinds, why = {}, {}
    for name in frame.columns:
        if name not in given.beside:
            kinds[name], why[name] = kind_of(name, seen[name], given)
    _leave_empty_out(seen, kinds, why, given)
    used = [name for name, kind in kinds.items() if kind != "leave_out"]
    # Such as the country code NA beside one other: without the word, the column would say something.
    doubtful = [name for name in kinds if why[name] == "one value" and empty[name]]
    asked = [*used, *(doubtful if given.missing == "refuse" else ())]
    keep = _without_missing(frame, asked, given, set().union(*empty.values()))
    frame, tests = frame[keep], None if tests is None else tests[keep]
    y, class_names = _targets(frame[given.target], given)
    if tests is None:
        assert isinstance(given.test, float)
        tests = _drawn(y if class_names else np.zeros(len(y), int), given.test, given.seed)
    for part, rows in (("training", ~tests), ("test", tests)):
        if not rows.any():
            raise ValueError(f"test: no record is in the {part} part")
    _leave_empty_out(frame[~tests], kinds, why, given)
    used = [name for name in used if kinds[name] != "leave_out"]
    said, target_range = _said_of_target(given.target, y, class_names, tests), None
    if not class_names:
        target_range = given.target_range or _range_of(y[~tests], given.target)
        y, scaled = _scaled(y, tests, target_range)
        said += scaled
    if not used:
        raise ValueError(f"no column is left for features: {_reasons(kinds, why)}")
    features = _Features(frame, ~tests, kinds, given)
    gaps = {name: int(count) for name, count in frame[used].isna().sum().items() if count}
    imputed = _listed([f"{name} ({count:,})" for name, count in gaps.items()])
    attributes = _attributes(frame, tests, kinds, given)
    group = slug(given.group) if given.group else ""
    X = features.made
    arrays = Arrays(X[~tests], y[~tests], X[tests], y[tests], attributes)
    lines = [
        *([f"records dropped, as values are missing: {(~keep).sum():,}"] if not keep.all() else []),
        said,
        *filter(None, [untested(class_names, y[tests])]),
        *features.lines,
        *([f"missing values, imputed: {imputed}"] if gaps else []),
        *([f"left out: {_reasons(kinds, why)}"] if len(used) < len(kinds) else []),
        f"{X.shape[1]} features in [0, 1], the last a column of ones, as models have no intercept",
        *([_said_of_groups(given.group, attributes[group], arrays)] if group else []),
        *_of_attributes(attributes, group),
    ]
    found = features.found
    if unsaid := [
        name for name, kind in kinds.items() if name not in used and not given.stated(name, kind)
    ]:
        found.append(f"that {_listed(unsaid)} can be left out")
    if class_names and given.target not in given.categories:
        found.append(f"the classes of {given.target}")
    if not class_names and given.target_range is None:
        found.append(f"the range of {given.target}")
    presumed = f"what the preparation found in the records is public: {'; '.join(found)}"
    return Prepared(arrays, class_names, target_range, group, presumed if found else "", lines)


def slug(name: str) -> str:
    """Name the attribute that a column becomes: letters, digits, ``_``, ``-`` and ``.``."""
    return re.sub(r"^[.-]", "_", re.sub(r"[^A-Za-z0-9_.-]", "_", name))[:64]


def _check_names(frame: pd.DataFrame, given: Columns) -> None:
    """Refuse columns that are not there, and a table without a target."""
    columns = list(frame.columns)
    if not given.target:
        raise ValueError(
            f"target: name the column of the targets: {_listed(columns)}{_hint(columns)}"
        )
    named = {"target": [given.target], "group": [given.group] if given.group else []}
    named["dropna"] = given.dropna
    for key in ("kinds", "ranges", "categories", "na_values", "test"):
        value = getattr(given, key)
        named[key] = list(value) if isinstance(value, dict) else []
    for key, names in named.items():
        for name in names:
            if name not in columns:
                near = meant(name, columns) or f" (there are {_listed(columns)})"
                raise ValueError(f"{key}: unknown column {name!r}{near}{_hint(columns)}")
    if given.group == given.target:
        raise ValueError(f"group: {given.group!r} is the target")
    for name in given.kinds:
        if given.kinds[name] == "number" and name in given.categories:
            raise ValueError(f"categories: {name!r} is a number in kinds")
    if isinstance(given.ranges, dict) and given.target in given.ranges:
        raise ValueError(f"ranges: {given.target!r} is the target; state its range in target_range")
    if isinstance(given.ranges, dict) and (both := given.ranges.keys() & given.categories):
        raise ValueError(f"ranges: {min(both)!r} has categories too; give one of them")


def _hint(columns: Sequence[str]) -> str:
    return f"; {RECORD}" if any(map(_is_number, columns)) else ""


def kind_of(name: str, values: pd.Series[Any], given: Columns) -> tuple[Kind, str]:
    """Kind of a column, and why it is left out, if it is."""
    from pandas.api import types  # slow to import

    if name in given.kinds:
        return given.kinds[name], "as asked"
    if name in given.categories:
        return "category", ""
    if isinstance(given.ranges, dict) and name in given.ranges:
        return "number", ""
    present = values.dropna()
    if present.empty:
        return "leave_out", _NO_VALUE
    numeric = types.is_numeric_dtype(values) and not types.is_bool_dtype(values)
    numbers = numeric or _are_numbers(values, given)
    if numbers and given.range_of(name) is not None:
        return "number", ""
    if types.is_datetime64_any_dtype(values):
        return "leave_out", "dates"
    if (present.iloc[0] == present).all():
        return "leave_out", "one value"
    text = present if numeric else _texts(present)
    many = len(present) >= _FEW_ROWS and text.is_unique
    if numbers:
        whole = types.is_integer_dtype(values) if numeric else text.str.fullmatch(r"\d+").all()
        return ("leave_out", "another number in each row") if whole and many else ("number", "")
    if text.map(lambda value: bool(_DATE.fullmatch(value.strip()))).mean() >= _MOSTLY:
        return "leave_out", "dates"
    if _mostly_numbers(present, given):
        return "number", ""  # which says what is in the way
    if many:
        return "leave_out", "another text in each row"
    if (count := text.nunique()) > _MOST_CATEGORIES:
        return "leave_out", f"text with {count:,} values"
    return "category", ""


def _leave_empty_out(
    training: pd.DataFrame, kinds: dict[str, Kind], why: dict[str, str], given: Columns
) -> None:
    """Leave columns out of which no record says anything; ValueError if they are asked for."""
    for name, kind in kinds.items():
        if kind == "leave_out" or given.stated(name, kind) or training[name].notna().any():
            continue
        if name in given.kinds:
            key = "ranges" if kind == "number" else "categories"
            raise ValueError(
                f"kinds: {name!r} is a {kind} with {_NO_VALUE}; state {key}: {{{name}: [...]}}, or leave it out by "
                f"kinds: {{{name}: leave_out}}"
            )
        kinds[name], why[name] = "leave_out", _NO_VALUE


def _without_empty(values: pd.Series[Any], given: Columns) -> tuple[pd.Series[Any], set[str]]:
    """Mark as missing what stands for a missing value; returns also the texts that do so by default."""
    from pandas.api import types  # slow to import

    name = str(values.name)
    own, default = given.empty_of(name), {""}
    texts = _is_text(values)
    if not (texts or own):
        return values, set()
    if texts and given.keep_default_na and name != given.target:
        default |= _EMPTY - {_text(value) for value in given.categories.get(name, [])} - own
    spelled = _texts(values).astype("string").str.strip()
    empty = spelled.isin(own | default).to_numpy()
    # Whole numbers beside a gap would become floats, which long ones do not fit in.
    kept = values.astype(object) if types.is_integer_dtype(values) and empty.any() else values
    return kept.mask(empty), {*spelled[empty]} & default - {""}


def _without_missing(
    frame: pd.DataFrame, used: Sequence[str], given: Columns, empty: set[str]
) -> NDArray[np.bool_]:
    """Find the rows to keep; ValueError if values are missing that nobody says what to do about."""
    whose = [name for name in (given.target, given.group) if name]
    needed = whose if given.missing == "impute" else [*whose, *used]
    keep = frame[given.dropna].notna().all(axis=1).to_numpy()
    gaps = frame[needed].isna()
    counts = gaps[keep].sum()
    lacking = [f"{name} ({counts[name]:,})" for name in needed if counts[name]]
    if given.missing == "drop":
        keep = keep & ~gaps.any(axis=1).to_numpy()
    elif lacking:
        fix = "missing: drop"
        if given.missing == "refuse" and not counts[whose].any():
            fix = "missing: impute or missing: drop, or leave the column out by kinds: {...: leave_out}"
        elif lost := [name for name in whose if counts[name]]:
            fix += f", or dropna: [{_listed(lost)}] to drop only records without it"
            fix += " and missing: impute for the others" * (len(lost) < len(lacking))
        said = f"; {_listed(sorted(empty))} in text is missing unless keep_default_na: false"
        raise ValueError(
            f"values are missing: {_listed(lacking)}; set {fix}{said if empty else ''}"
        )
    if not keep.any():
        how = "missing: drop"
        if not lacking:
            how = f"dropna: [{_listed(given.dropna)}]"
            counts = frame[given.dropna].isna().sum()
            lacking = [f"{name} ({counts[name]:,})" for name in given.dropna if counts[name]]
        raise ValueError(f"{how} leaves no record, as values are missing: {_listed(lacking)}")
    return keep


def _targets(values: pd.Series[Any], given: Columns) -> tuple[NDArray[Any], tuple[str, ...]]:
    """Class indices and the names of the classes, or numbers and no names."""
    from pandas.api import types  # slow to import

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
        numeric = types.is_numeric_dtype(values) and not types.is_bool_dtype(values)
        if numeric or _are_numbers(values, given):
            whole = (_numbers(values, given) % 1 == 0).all()
            kind = "category" if values.nunique() <= _MOST_CLASSES and whole else "number"
        else:  # numbers say what is in the way
            kind = "number" if _mostly_numbers(values, given) else "category"
    if kind == "number":
        return _numbers(values, given).to_numpy(np.float64), ()
    texts = identifiers(values)
    names = _spelled(given.categories.get(given.target, []), texts) or _sorted(texts)
    found = set(texts)
    if others := sorted(found - set(names)):
        raise ValueError(
            f"categories.{given.target}: {_listed(others)} is none of {_listed(names)}"
        )
    if unused := [name for name in names if name not in found]:
        raise ValueError(
            f"categories.{given.target}: no record is of {_listed(unused)}; leave it out"
        )
    if len(names) < 2:
        raise ValueError(f"target: {given.target!r} has one value, {names[0]!r}")
    if len(found) == len(texts):
        fix = f", or state kinds: {{{given.target}: number}}" * all(map(_is_number, names))
        raise ValueError(
            f"target: {given.target!r} has another value in each record, such as {names[0]!r}, so that these are no "
            f"classes; name another column{fix}"
        )
    if len(names) > 10 * _MOST_CATEGORIES:
        raise ValueError(f"target: {given.target!r} is text with {len(names):,} values, no classes")
    return texts.map({name: code for code, name in enumerate(names)}).to_numpy(np.int64), tuple(
        names
    )


def _range_of(y: NDArray[np.float64], name: str) -> Range:
    """Range of some targets; ValueError if they are all the same."""
    low, high = float(y.min()), float(y.max())
    if not low < high:
        raise ValueError(f"target: {name!r} has one value in the training part, {low:g}")
    return low, high


def _scaled(
    y: NDArray[np.float64], tests: NDArray[np.bool_], ends: Range
) -> tuple[NDArray[np.float32], str]:
    """Scale targets from their range, and say so.

    Those that train are clipped, as features are. Those that test are not, so that errors are those of the file.
    """
    low, high = (end / 2 for end in ends)  # so that no difference is too large
    made = (y - (high + low)) / (high - low) * TARGET_END
    beyond = int((abs(made[~tests]) > TARGET_END).sum())
    made[~tests] = made[~tests].clip(-TARGET_END, TARGET_END)
    said = f", scaled from the range [{ends[0]:.10g}, {ends[1]:.10g}]"
    if beyond:
        said += f", to which {beyond:,} of the training part are clipped"
    return made.astype(np.float32), said


def _drawn(classes: NDArray[Any], share: float, seed: int) -> NDArray[np.bool_]:
    """Draw a share of the rows of each class, rounded, but one at least; one record alone stays in training."""
    rng, tests = np.random.default_rng(seed), np.zeros(len(classes), bool)
    for label in np.unique(classes):
        rows = np.flatnonzero(classes == label)
        tests[rng.permutation(rows)[: min(max(round(share * len(rows)), 1), len(rows) - 1)]] = True
    return tests


class _Features:
    """Features of all rows: numbers scaled to [0, 1], a column for each category, ones.

    Parameters
    ----------
    frame
        The table.
    training
        The rows that ranges and categories may be found in.
    kinds
        Kind of each column.
    given
        What is stated.
    """

    def __init__(
        self,
        frame: pd.DataFrame,
        training: NDArray[np.bool_],
        kinds: Mapping[str, Kind],
        given: Columns,
    ) -> None:
        self._frame, self._training, self._given = frame, training, given
        self.lines: list[str] = []
        self.found: list[str] = []
        parts = [self._numbers([name for name, kind in kinds.items() if kind == "number"])]
        parts += [self._categories([name for name, kind in kinds.items() if kind == "category"])]
        made = np.hstack([*parts, np.ones((len(frame), 1))])
        self.made: NDArray[np.float32] = np.ascontiguousarray(made, np.float32)

    def _numbers(self, names: list[str]) -> NDArray[np.float64]:
        """Scale numbers by their ranges; beyond these they are clipped."""
        import pandas as pd  # slow to import
        from sklearn.preprocessing import MinMaxScaler

        if not names:
            return np.empty((len(self._frame), 0))
        numbers = pd.DataFrame({name: _numbers(self._frame[name], self._given) for name in names})
        own, ends, middle, beyond = numbers[self._training], {}, {}, []
        for name in names:
            stated = self._given.range_of(name)
            ends[name] = stated or (own[name].min(), own[name].max())
            middle[name] = sum(stated) / 2 if stated else own[name].median()
            outside = ((numbers[name] < ends[name][0]) | (numbers[name] > ends[name][1])).sum()
            beyond += [f"{name} ({outside:,})"] * bool(outside)
        scaler = MinMaxScaler(clip=True).fit(pd.DataFrame(ends, columns=names))
        ranges = [f"{name} [{ends[name][0]:g}, {ends[name][1]:g}]" for name in names]
        what = (
            "number, scaled from its range"
            if len(names) == 1
            else "numbers, scaled from their ranges"
        )
        self.lines.append(f"{len(names):,} {what}: {_listed(ranges)}")
        if beyond:
            self.lines.append(f"values beyond the ranges, clipped: {_listed(beyond)}")
        self._note("the ranges of", names, "number")
        return np.asarray(scaler.transform(numbers.fillna(middle)))

    def _categories(self, names: list[str]) -> NDArray[np.float64]:
        """Make a column of each category; a value that is none has 0 in all of them."""
        import pandas as pd  # slow to import
        from sklearn.preprocessing import OneHotEncoder

        if not names:
            return np.empty((len(self._frame), 0))
        texts = pd.DataFrame({name: identifiers(self._frame[name]) for name in names})
        own, values, other = texts[self._training], [], []
        for name in names:
            stated = _spelled(self._given.categories.get(name, []), texts[name])
            values.append(np.array(stated or _sorted(own[name].dropna()), object))
            none = (texts[name].notna() & ~texts[name].isin(values[-1])).sum()
            if none and (unused := sorted({*stated} - {*texts[name]})):
                others = _sorted({*texts[name].dropna()} - {*stated})
                raise ValueError(
                    f"categories.{name}: no record has {_listed(unused)}, and {_listed(others)} are none of them"
                )
            other += [f"{name} ({none:,})"] * bool(none)
        encoder = OneHotEncoder(
            categories=values, handle_unknown="ignore", sparse_output=False
        ).fit(pd.DataFrame({name: each[:1] for name, each in zip(names, values, strict=True)}))
        counts = [f"{name} ({len(each)})" for name, each in zip(names, values, strict=True)]
        self.lines.append(f"categories, a column for each value: {_listed(counts)}")
        if other:
            self.lines.append(f"values that are no category, 0 in all columns: {_listed(other)}")
        self._note("the categories of", names, "category")
        with np.errstate(all="ignore"):
            return np.asarray(encoder.transform(texts.fillna("")))

    def _note(self, what: str, names: Iterable[str], kind: Kind) -> None:
        """Remember what was found in records."""
        found = [name for name in names if not self._given.stated(name, kind)]
        self.found += [f"{what} {_listed(found)}"] if found else []


def _attributes(
    frame: pd.DataFrame, tests: NDArray[np.bool_], kinds: Mapping[str, Kind], given: Columns
) -> dict[str, Attribute]:
    """Attributes of records: the group, and every category.

    Where several columns would be one attribute, it is the group, or else the column that has just this name, if any.
    """
    columns: dict[str, list[str]] = {}
    names = [given.group] if given.group else []
    for name in [*names, *(name for name, kind in kinds.items() if kind == "category")]:
        columns.setdefault(slug(name), []).append(name)
    found: dict[str, Attribute] = {}
    for attribute, alike in columns.items():
        name = alike[0] if len(alike) == 1 or alike[0] == given.group else attribute
        if name in alike:
            texts = identifiers(frame[name]).fillna("missing")
            values = _sorted(texts)
            found[attribute] = Attribute.of(values, texts[~tests], texts[tests])
    return found


def _numbers(values: pd.Series[Any], given: Columns) -> pd.Series[float]:
    """Read numbers; ValueError for what is none, with the settings that help."""
    from pandas.api import types  # slow to import

    numeric = types.is_numeric_dtype(values)
    numbers = values if numeric else _read(_texts(values), given.decimal, given.thousands)
    found = numbers.astype(float)
    bad = values.notna() & ~np.isfinite(found)
    if bad.any():
        raise ValueError(_in_the_way(values.dropna(), bad[values.notna()], given))
    return found


def _is_text(values: pd.Series[Any]) -> bool:
    """Tell whether a column is of text or of objects, in which numbers may be; a Categorical has none."""
    from pandas.api import types  # slow to import

    return bool(types.is_string_dtype(values.dtype))


def _are_numbers(values: pd.Series[Any], given: Columns) -> bool:
    """Tell whether all that is present in a column of text is a number."""
    if not _is_text(values):
        return False
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
    import pandas as pd  # slow to import

    if (decimal, thousands) != (".", ""):
        groups = rf"\d{{1,3}}(?:{re.escape(thousands)}\d{{3}})+|" if thousands else ""
        form = rf"\s*[+-]?(?:{groups}\d*)(?:{re.escape(decimal)}\d*)?(?:[eE][+-]?\d+)?\s*"
        texts = texts.where(texts.str.fullmatch(form, na=False))
        texts = texts.str.replace(thousands, "", regex=False) if thousands else texts
        texts = texts.str.replace(decimal, ".", regex=False)
    numbers = pd.to_numeric(texts, errors="coerce").astype(float)
    return numbers.where(np.isfinite(numbers))


def _in_the_way(values: pd.Series[Any], bad: pd.Series[bool], given: Columns) -> str:
    """Say which values of a column are no numbers, in which rows they are, and which settings help."""
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
        fixes.append(f"na_values: {_some([*left.unique()])} if they are missing")
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


def _some(values: Sequence[str]) -> str:
    """List some values as YAML has them."""
    more = ", ..." if len(values) > _SHOWN else ""
    return f"[{', '.join(map(repr, values[:_SHOWN]))}{more}]"


def _is_number(value: Any) -> bool:
    try:
        return not (isinstance(value, bool) or math.isnan(float(value)))
    except (ValueError, TypeError):
        return False


def _text(value: Any) -> str:
    """Spell a value as in a file: whole numbers without a point."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def _spelled(values: Iterable[Value], texts: pd.Series[Any]) -> list[str]:
    """Spell stated values, true and false as a column does, such as ``TRUE``; ValueError if one is stated twice."""
    made = list[str]()
    for value in values:
        spelling, own = _text(value), list[str]()
        if isinstance(value, bool):
            own = _sorted(texts[texts.str.casefold() == spelling.casefold()])
        made += own or [spelling]
    if repeated := [value for value, count in Counter(made).items() if count > 1]:
        raise ValueError(f"categories.{texts.name}: {_listed(repeated)} is stated more than once")
    return made


def identifiers(values: pd.Series[Any]) -> pd.Series[Any]:
    """Spell values; ValueError for floats that are whole numbers with more digits than these keep."""
    from pandas.api import types  # slow to import

    if types.is_float_dtype(values):
        exact = 2.0 ** (np.finfo(values.to_numpy().dtype).nmant + 1)
        if (long := values.abs().between(exact, np.inf, inclusive="neither")).any():
            raise ValueError(
                f"{values.name}: {values[long].iloc[0]:.0f} is a float, in which numbers of so many digits may be "
                "equal that were not; store them as text or as integers"
            )
    return _texts(values)


def _texts(values: pd.Series[Any]) -> pd.Series[Any]:
    import pandas as pd  # slow to import

    if isinstance(values.dtype, pd.StringDtype):
        return values
    return values.astype(object).map(_text, na_action="ignore")


def _sorted(texts: Iterable[str]) -> list[str]:
    """Values of a column, once each: numbers by size, before text."""
    values = set(texts)
    if all(map(_is_number, values)):
        return sorted(values, key=lambda value: (float(value), value))
    return sorted(values)


def _listed(names: Sequence[str]) -> str:
    """Name some, and how many more there are."""
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _reasons(kinds: Mapping[str, Kind], why: Mapping[str, str]) -> str:
    by: dict[str, list[str]] = {}
    for name, kind in kinds.items():
        if kind == "leave_out":
            by.setdefault(why[name], []).append(name)
    return "; ".join(f"{_listed(names)} ({reason})" for reason, names in by.items())


def _said_of_target(
    name: str, y: NDArray[Any], class_names: Sequence[str], tests: NDArray[np.bool_]
) -> str:
    sizes = f"{(~tests).sum():,} training and {tests.sum():,} test records"
    if not class_names:
        return f"{sizes}; target {name}: numbers from {y.min():g} to {y.max():g}"
    counts = np.bincount(y[~tests], minlength=len(class_names))
    each = [f"{label!r} ({count:,})" for label, count in zip(class_names, counts, strict=True)]
    return f"{sizes}; target {name}: {len(each)} classes, of training records {_listed(each)}"


def _said_of_groups(name: str, group: Attribute, arrays: Arrays) -> str:
    """Say how large groups are, and which lack something."""
    n = len(group.values)
    counts, tested = (np.bincount(codes, minlength=n) for codes in (group.train, group.test))
    sizes = " to ".join(dict.fromkeys(f"{count:,}" for count in (counts.min(), counts.max())))
    said = f"group {name}: {n:,} {'value' if n == 1 else 'values'} with {sizes} training records"
    faults = {"no training record": counts == 0, "no test record": tested == 0}
    if arrays.y_train.dtype == np.int64:
        pairs = np.unique(np.stack([group.train, arrays.y_train]), axis=1)[0].astype(int)
        classes = np.bincount(pairs, minlength=n)
        faults["one class"] = classes == 1
        faults["not all classes"] = (classes > 1) & (classes < len(np.unique(arrays.y_train)))
    said_of = [
        f"{what}: {_listed([group.values[code] for code in np.flatnonzero(has)])}"
        for what, has in faults.items()
        if has.any()
    ]
    return "; ".join([said, *said_of])


def _of_attributes(attributes: Mapping[str, Attribute], group: str) -> list[str]:
    others = [f"{name} ({len(each.values)})" for name, each in attributes.items() if name != group]
    return [f"columns that can share records out too: {_listed(others)}"] if others else []
