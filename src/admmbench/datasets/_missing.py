"""Records that could not be had: experiments use the rest of a data set, and state how many are missing."""

from __future__ import annotations

from collections.abc import Collection
from typing import Self

from admmbench.datasets._registry import Spec, describe
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
    def compare(cls, whole: Spec, remainder: Spec, missing: Collection[str]) -> Self:
        """Compare a data set with the rest of it without these files: by an attribute of records, or by records."""
        full, part = describe(whole), describe(remainder)
        counts = ((name, part.attributes[name], n) for name, n in full.attributes.items())
        fewer = (counted for counted in counts if counted[1] < counted[2])
        unit, n_present, n_stated = next(fewer, ("record", part.n_train, full.n_train))
        files = {file.name: next(iter(file.urls), "") for file in full.files}
        addresses = {name: url for name, url in files.items() if name in missing}
        return cls(unit=unit, present=n_present, stated=n_stated, files=addresses)

    def __str__(self) -> str:
        return f"{self.present:,} of {self.stated:,} {self.unit}s"
