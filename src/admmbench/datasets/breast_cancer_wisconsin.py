"""Breast Cancer Wisconsin: 699 samples of breast masses graded by nine criteria, and whether they are malignant."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from admmbench.datasets._base import Arrays, DatasetDefinition, DatasetInfo
from admmbench.datasets._fetch import RemoteFile, read_bytes
from admmbench.datasets._tables import naming, read_table

__all__ = ["BreastCancerWisconsin"]

HOST = "https://archive.ics.uci.edu/ml/machine-learning-databases/breast-cancer-wisconsin"
FILE = RemoteFile(
    "breast-cancer-wisconsin.data",
    (f"{HOST}/breast-cancer-wisconsin.data",),
    "breast-cancer-wisconsin/breast-cancer-wisconsin.data",
    "sha256:402c585309c399237740f635ef9919dc512cca12cbeb20de5e563a4593f22b64",
    19_889,
)
GRADES = [str(grade) for grade in range(1, 11)]
N_GRADES = 9
# The only criterion that may be missing, counted from 0.
BARE_NUCLEI = 5
LABELS = ["2", "4"]


class BreastCancerWisconsin(DatasetDefinition):
    """The original data in file order; every fifth record is in the test part.

    Eight grades are scaled from 1 to 10 to [0, 1]. Bare nuclei are unknown in 16 records, so each of their ten grades
    and the missing value has a column of 0 and 1. A column of ones follows, as models have no intercept. he2023 trains
    on all records: partition ``{scheme: stratified, train: all}``.
    """

    name = "breast_cancer_wisconsin"

    def describe(self, settings: dict[str, Any]) -> DatasetInfo:
        """Return the static facts."""
        return DatasetInfo(
            name=self.name,
            title="Breast Cancer Wisconsin (original)",
            settings=settings,
            n_train=560,
            n_test=139,
            n_features=20,
            class_names=("benign", "malignant"),
            files=(FILE,),
            licence="CC BY 4.0",
            citation=(
                "W. H. Wolberg. Breast Cancer Wisconsin (Original). UCI Machine Learning "
                "Repository, 1990. doi:10.24432/C5HP4Z"
            ),
            default_problem="logistic",
        )

    def read(self, info: DatasetInfo, paths: Mapping[str, Path]) -> Arrays:
        """Parse the file and take every fifth record for the test part."""
        X, y = parse(read_bytes(paths[FILE.name]), FILE.name)
        tests = np.arange(len(y)) % 5 == 4
        return Arrays(X[~tests], y[~tests], X[tests], y[tests])


def parse(content: bytes, source: str) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Read the file: in each line a number of the sample, nine grades and the class, 2 or 4.

    Parameters
    ----------
    content
        Of the file.
    source
        File that an error names.

    Returns
    -------
    X
        Eight grades as numbers, eleven columns for bare nuclei, ones, shape (n, 20).
    y
        1 for malignant, shape (n,).

    Raises
    ------
    DatasetError
        If a line has another number of fields, another class or another grade.
    """
    from sklearn.preprocessing import OrdinalEncoder  # slow to import

    known = [GRADES] * N_GRADES + [LABELS]
    known[BARE_NUCLEI] = [*GRADES, "?"]
    records = read_table(content, source, 1 + len(known), delimiter=",")[:, 1:]
    with naming(source):
        codes = OrdinalEncoder(categories=known, dtype=np.int64).fit_transform(records)
    numbers = np.delete(codes[:, :-1], BARE_NUCLEI, axis=1) / 9
    nuclei = np.eye(len(known[BARE_NUCLEI]))[codes[:, BARE_NUCLEI]]
    X = np.hstack([numbers, nuclei, np.ones((len(codes), 1))]).astype(np.float32)
    return X, codes[:, -1]
