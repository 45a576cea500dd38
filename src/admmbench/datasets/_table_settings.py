"""Settings of the columns of a user's table, and words for messages."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import AfterValidator, Field, model_validator

from admmbench.datasets._base import check_range
from admmbench.validation import Number, Strict

Kind = Literal["number", "category", "leave_out"]

#: Fix of a file without names.
RECORD = "if the first line is a record, state names: [...], one for each column"


#: Names that a message or a summary spells out.
SHOWN = 12

Range = Annotated[tuple[Number, Number], AfterValidator(check_range)]
Value = str | int | float | bool


class Columns(Strict):
    """Settings of the columns of a table, as the user states them; `Table` explains each."""

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
        """Return the columns to read as text, whatever their values; None for all, if numbers have another form."""
        if (self.decimal, self.thousands) != (".", ""):
            return None
        categories = {name for name, kind in self.kinds.items() if kind == "category"}
        return self.non_features | categories | self.categories.keys()

    @property
    def non_features(self) -> set[str]:
        """Return the columns that are no features: of the targets, of the group and of the test part."""
        parts = self.test if isinstance(self.test, dict) else ()
        return {self.target, self.group, *parts} - {""}

    @property
    def left_out(self) -> list[str]:
        """Return the columns that the user leaves out."""
        asked = [name for name, kind in self.kinds.items() if kind == "leave_out"]
        return [name for name in asked if name not in self.non_features]

    @property
    def ranges_by_column(self) -> dict[str, Range]:
        """Return the ranges that are stated for single columns."""
        return self.ranges if isinstance(self.ranges, dict) else {}

    def range_of(self, name: str) -> Range | None:
        """Return the range that is stated for a column."""
        return self.ranges.get(name) if isinstance(self.ranges, dict) else self.ranges

    def empty_of(self, name: str) -> set[str]:
        """Return the texts that stand for a missing value in a column, as the user states."""
        values = (
            self.na_values.get(name, []) if isinstance(self.na_values, dict) else self.na_values
        )
        numbers = {as_text(float(value)) for value in values if is_number(value)}
        return {as_text(value).strip() for value in values} | numbers

    def stated(self, name: str, kind: Kind) -> bool:
        """Return whether the user states all about a column of some kind, so that nothing is taken from records."""
        if kind == "number":
            return self.range_of(name) is not None
        return name in self.categories or self.kinds.get(name) == "leave_out"


def different(names: Iterable[str], what: str = "columns", hint: str = "") -> list[str]:
    """Return names of columns, or of other things; ValueError if two are equal, as a setting could mean either."""
    counts = Counter(names)
    if repeated := [name for name, count in counts.items() if count > 1]:
        hint = f"; {hint}" * bool(hint)
        raise ValueError(
            f"several {what} have the name {listed(repeated)}; rename all but one{hint}"
        )
    return [*counts]


def listed(names: Sequence[str]) -> str:
    """Join the first names, with the number of the others."""
    more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def is_number(value: Any) -> bool:
    """Return whether a value is a number, or text that Python reads as one; true, false and NaN are none."""
    try:
        return not (isinstance(value, bool) or math.isnan(float(value)))
    except (ValueError, TypeError):
        return False


def as_text(value: Any) -> str:
    """Spell a value as in a file: whole numbers without a point."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)
