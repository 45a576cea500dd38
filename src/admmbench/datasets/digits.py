"""Digits: 1,797 handwritten digits of 8 x 8 pixels, part of scikit-learn."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from admmbench.datasets._base import Arrays, DatasetDefinition, DatasetInfo
from admmbench.datasets._fetch import compare

SOURCE = "sklearn.datasets.load_digits"
# Checksum of the pixel values (0 to 16), then the labels, one byte each.
CHECKSUM = "sha256:87ff0c9e40dc7e2c0e34e7257799c2e3f3aec1a016363bb11cad869ec428a826"
N_TRAIN = 1437
N_TEST = 360


class Digits(DatasetDefinition):
    """Digits in file order, pixels divided by 16; the last fifth is the test part.

    The file keeps the images of a writer together, so the test part is mostly by other writers.
    This is harder, and more honest, than a shuffled split.
    """

    name = "digits"

    facts = {
        "title": "Optical recognition of handwritten digits (test part), 8 x 8 pixels",
        "n_train": N_TRAIN,
        "n_test": N_TEST,
        "n_features": 64,
        "class_names": tuple("0123456789"),
        "checksums": {SOURCE: CHECKSUM},
        "licence": "CC BY 4.0",
        "citation": (
            "E. Alpaydin and C. Kaynak. Optical Recognition of Handwritten Digits. "
            "UCI Machine Learning Repository, 1998. doi:10.24432/C50P49"
        ),
    }

    def read(self, info: DatasetInfo, paths: Mapping[str, Path]) -> Arrays:
        """Take the data from scikit-learn and split them."""
        from sklearn.datasets import load_digits  # here, because it is slow to import

        pixels, labels = load_digits(return_X_y=True)
        content = pixels.astype(np.uint8).tobytes() + labels.astype(np.uint8).tobytes()
        compare(content, CHECKSUM, SOURCE, "reinstall scikit-learn, whose copy of the data differs")
        X = (pixels / 16).astype(np.float32)
        y = labels.astype(np.int64)
        return Arrays(X[:N_TRAIN], y[:N_TRAIN], X[N_TRAIN:], y[N_TRAIN:])
