"""The part of a data set that could not be had: experiments use the rest, and say so."""

from __future__ import annotations

from collections.abc import Collection
from typing import Self

from admmbench import datasets
from admmbench.validation import Strict


class MissingData(Strict):
    """Records of a stated data set that could not be had."""

    unit: str
    """What is counted, such as writer."""
    present: int
    stated: int
    files: dict[str, str]
    """Address of each missing file, by name."""

    @classmethod
    def between(cls, stated: datasets.Spec, left: datasets.Spec, missing: Collection[str]) -> Self:
        """Compare a data set with what is left of it without some files, by an attribute of records or by records."""
        whole, part = datasets.describe(stated), datasets.describe(left)
        counts = ((name, part.attributes[name], n) for name, n in whole.attributes.items())
        fewer = (each for each in counts if each[1] < each[2])
        unit, here, there = next(fewer, ("record", part.n_train, whole.n_train))
        files = {file.name: next(iter(file.urls), "") for file in whole.files}
        addresses = {name: url for name, url in files.items() if name in missing}
        return cls(unit=unit, present=here, stated=there, files=addresses)

    def __str__(self) -> str:
        return f"{self.present:,} of {self.stated:,} {self.unit}s"
