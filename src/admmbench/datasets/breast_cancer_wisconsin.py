"""Breast Cancer Wisconsin: 699 samples of breast masses graded by nine criteria, and whether they are malignant."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from admmbench.datasets._base import Arrays, DatasetDefinition, DatasetInfo
from admmbench.datasets._fetch import sources

(FILE,) = sources("breast-cancer-wisconsin")

# Columns of the file: a number of the sample, nine criteria, of which one may be missing, ``?``, and the class.
BARE_NUCLEI, LABEL = 6, 10
MALIGNANT = 4


class BreastCancerWisconsin(DatasetDefinition):
    """Original data in file order; every fifth record is in the test part.

    Eight grades are scaled from 1 to 10 to [0, 1]. Bare nuclei are unknown in 16 records, so each of their ten grades
    and the missing value has a column of 0 and 1. A column of ones follows, as models have no intercept. he2023 trains
    on all records: partition ``{scheme: stratified, train: all}``.
    """

    name = "breast_cancer_wisconsin"

    facts = {
        "title": "Breast Cancer Wisconsin (original)",
        "n_train": 560,
        "n_test": 139,
        "n_features": 20,
        "class_names": ("benign", "malignant"),
        "files": (FILE,),
        "licence": "CC BY 4.0",
        "citation": (
            "W. H. Wolberg. Breast Cancer Wisconsin (Original). UCI Machine Learning "
            "Repository, 1990. doi:10.24432/C5HP4Z"
        ),
        "default_problem": "logistic",
    }

    def read(self, info: DatasetInfo, paths: Mapping[str, Path]) -> Arrays:
        """Parse the file and take every fifth record for the test part."""
        import pandas as pd  # slow to import

        records = pd.read_csv(paths[FILE.name], header=None)
        # Missing after the ten grades.
        nuclei = records[BARE_NUCLEI].replace("?", "11").astype(int) - 1
        numbers = (records.drop(columns=[0, BARE_NUCLEI, LABEL]) - 1) / 9
        ones = np.ones((len(records), 1))
        X = np.hstack([numbers, np.eye(11)[nuclei], ones]).astype(np.float32)
        y = (records[LABEL] == MALIGNANT).to_numpy().astype(np.int64)
        tests = np.arange(len(y)) % 5 == 4
        return Arrays(X[~tests], y[~tests], X[tests], y[tests])
