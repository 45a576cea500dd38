"""Diabetes: 442 patients with ten measurements each, part of scikit-learn; a regression."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from admmbench.datasets._base import Arrays, DatasetDefinition, DatasetInfo
from admmbench.datasets._fetch import compare

SOURCE = "sklearn.datasets.load_diabetes"
# Checksum of the measurements and the targets as they are in the file, in double precision.
CHECKSUM = "sha256:e9c1f7559552854a24dc45b41c446ce5f79f96e5da081bcce24b57492720b3f7"
N_TRAIN = 354
N_TEST = 88


class Diabetes(DatasetDefinition):
    """Diabetes in file order; the last fifth is the test part.

    Measurements are scaled to [0, 1] by their range in the file, and a column of ones follows, as models have no
    intercept. The target is a measure of the disease's progress after a year, 25 to 346 points.
    """

    name = "diabetes"

    facts = {
        "title": "Diabetes progression of 442 patients",
        "n_train": N_TRAIN,
        "n_test": N_TEST,
        "n_features": 11,
        "class_names": (),
        "checksums": {SOURCE: CHECKSUM},
        "licence": "not stated; part of scikit-learn (BSD 3-Clause)",
        "citation": (
            "B. Efron, T. Hastie, I. Johnstone and R. Tibshirani. Least angle regression. "
            "Annals of Statistics 32(2), 2004. doi:10.1214/009053604000000067"
        ),
        "default_problem": "squared",
        "target_unit": "points",
    }

    def read(self, info: DatasetInfo, paths: Mapping[str, Path]) -> Arrays:
        """Take the data from scikit-learn, scale and split them."""
        from sklearn.datasets import load_diabetes  # here, because it is slow to import

        raw, target = load_diabetes(return_X_y=True, scaled=False)
        content = raw.tobytes() + target.tobytes()
        compare(content, CHECKSUM, SOURCE, "reinstall scikit-learn, whose copy of the data differs")
        low, high = raw.min(axis=0), raw.max(axis=0)
        ones = np.ones((len(raw), 1))
        X = np.hstack([(raw - low) / (high - low), ones]).astype(np.float32)
        y = target.astype(np.float32)
        return Arrays(X[:N_TRAIN], y[:N_TRAIN], X[N_TRAIN:], y[N_TRAIN:])
