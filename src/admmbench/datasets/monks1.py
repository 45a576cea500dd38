"""MONK's problem 1: six attributes of robots, and whether head and body have the same shape or the jacket is red."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from admmbench.datasets._base import Arrays, DatasetDefinition, DatasetInfo
from admmbench.datasets._fetch import sources

FILES = sources("monks-problems")
# Values of each attribute: 1, 2, ... in the files.
SIZES = (3, 3, 2, 3, 4, 2)


class Monks1(DatasetDefinition):
    """MONK's problem 1 in file order, one-hot, and a column of ones, as models have no intercept.

    The test part has all 432 combinations of the attributes, so the 124 training records are among them. he2023 trains
    on both: partition ``{scheme: stratified, train: all}``.
    """

    name = "monks1"

    facts = {
        "title": "MONK's problem 1, one-hot",
        "n_train": 124,
        "n_test": 432,
        "n_features": 18,
        "class_names": ("other robots", "same shape or red jacket"),
        "files": FILES,
        "licence": "CC BY 4.0",
        "citation": (
            "S. B. Thrun et al. The MONK's problems: a performance comparison of different "
            "learning algorithms. Technical report CS-CMU-91-197, 1991; UCI Machine Learning "
            "Repository"
        ),
        "default_problem": "logistic",
    }

    def read(self, info: DatasetInfo, paths: Mapping[str, Path]) -> Arrays:
        """Parse both files."""
        train, test = (_read_part(paths[file.name]) for file in FILES)
        return Arrays(*train, *test)


def _read_part(path: Path) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Read a file: in each line the class, six attributes and the name of the record."""
    records = np.loadtxt(path, np.int64, usecols=range(1 + len(SIZES)))
    columns = [np.eye(size)[values - 1] for size, values in zip(SIZES, records.T[1:], strict=True)]
    X = np.hstack([*columns, np.ones((len(records), 1))]).astype(np.float32)
    return X, records[:, 0]
