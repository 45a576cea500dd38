"""Gisette: 7,000 handwritten 4s and 9s, described by 5,000 features of which half are noise (Guyon et al.)."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from admmbench.datasets._base import Arrays, DatasetDefinition, DatasetInfo
from admmbench.datasets._fetch import sources
from admmbench.validation import one_of

FILES = sources("gisette")
N_FEATURES = 5000
#: Largest value of a feature; the smallest is 0.
MAXIMUM = 999
#: Labels in the files, and names of classes.
LABELS = ("-1", "+1")
#: Bounds of a scaled feature by the setting ``scaling``.
DOMAINS = {"libsvm": (-1.0, 1.0), "unit": (0.0, 1.0)}


class Gisette(DatasetDefinition):
    """Gisette in file order; the validation part serves as test part, as labels of the test part are not public.

    hu2019 follows the preprocessing that LIBSVM lists for it (section 5), which is ``scaling: libsvm``: each feature to
    [-1, 1] by its range over the training part, and the test part likewise. Zeros become -1, so the data are dense. A
    feature that is constant over the training part is 0, as LIBSVM leaves it out. Unlike LIBSVM, test values beyond the
    range of the training part are clipped to [-1, 1], the bounds of an admissible record.

    ``scaling: unit`` divides by 999 instead: features in [0, 1], most of them 0.
    """

    name = "gisette"
    defaults = {"scaling": "libsvm"}

    def validate(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Check `scaling`."""
        one_of(f"{self.name}: scaling", settings["scaling"], DOMAINS)
        return settings

    facts = {
        "title": "Gisette (4 or 9, with noise features)",
        "n_train": 6_000,
        "n_test": 1_000,
        "n_features": N_FEATURES,
        "class_names": LABELS,
        "files": FILES,
        "licence": "CC BY 4.0",
        "citation": (
            "I. Guyon, S. Gunn, A. Ben-Hur and G. Dror. Result analysis of the NIPS 2003 "
            "feature selection challenge. NIPS, 2004. doi:10.24432/C5HP5B"
        ),
        "default_problem": "logistic",
    }

    def describe(self, settings: dict[str, Any]) -> DatasetInfo:
        """Return the static facts; the domain depends on the scale."""
        return replace(super().describe(settings), domain=DOMAINS[settings["scaling"]])

    def read(self, info: DatasetInfo, paths: Mapping[str, Path]) -> Arrays:
        """Parse the four files."""
        train, test = (
            np.loadtxt(paths[f"gisette_{part}.data"], np.uint16) for part in ("train", "valid")
        )
        y_train, y_test = (
            (np.loadtxt(paths[f"gisette_{part}.labels"]) > 0).astype(np.int64)
            for part in ("train", "valid")
        )
        X_train, X_test = scale(train, test, info.settings["scaling"])
        return Arrays(X_train, y_train, X_test, y_test)


def scale(
    train: NDArray[np.uint16], test: NDArray[np.uint16], scaling: str
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Scale features from 0 to 999 into ``DOMAINS[scaling]``.

    Parameters
    ----------
    train, test
        Features as they are in the files, shape (n, n_features).
    scaling
        See `Gisette`.

    Returns
    -------
    tuple of ndarray of float32
        Scaled training and test features, shapes as given.
    """
    from sklearn.preprocessing import MinMaxScaler  # slow to import

    X_train, X_test = (part.astype(np.float32, order="C") for part in (train, test))
    if scaling == "unit":
        X_train /= MAXIMUM
        X_test /= MAXIMUM
        return X_train, X_test
    scaler = MinMaxScaler(DOMAINS[scaling], copy=False, clip=True).fit(X_train)
    X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)
    for X in (X_train, X_test):
        X[:, scaler.data_range_ == 0] = 0
    return X_train, X_test
