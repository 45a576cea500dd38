"""Say here in one line what the data are, and where they come from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from admmbench.api import Arrays, DatasetDefinition, DatasetError, DatasetInfo, checksum

SOURCE = "sklearn.datasets.load_wine"
CHECKSUM = "sha256:3a28849ef2366c4b9d4e382b3fa5624a66f693c04d7fdcf43c529bbb0bb338d7"


class Template(DatasetDefinition):
    """Wine of three growers, 13 measurements, each divided by its largest; every fifth record is in the test part."""

    name = "template"

    # Facts that are known without reading data; "files" would name files to fetch.
    facts = {
        "title": "Wine of three growers",
        "n_train": 142,
        "n_test": 36,
        "n_features": 13,
        "class_names": ("0", "1", "2"),
        "checksums": {SOURCE: CHECKSUM},
        # A guarantee of privacy holds beside what is taken from the records; empty if scales are stated instead.
        "presumed": "what the preparation found in the records is public: the largest value of each measurement",
        "licence": "CC BY 4.0",
        "citation": "S. Aeberhard and M. Forina. Wine. UCI Machine Learning Repository, 1992. doi:10.24432/C5PC7J",
    }

    def read(self, info: DatasetInfo, paths: Mapping[str, Path]) -> Arrays:
        """Return features within ``info.domain`` as float32, classes as int64; ``paths`` has the files of ``info``."""
        from sklearn.datasets import load_wine  # here, because it is slow to import

        raw, labels = load_wine(return_X_y=True)
        digest = checksum(raw.tobytes() + labels.astype(np.int64).tobytes(), "sha256")
        if digest != CHECKSUM:
            raise DatasetError(f"{SOURCE}: {digest}, expected {CHECKSUM}")
        X, y = (raw / raw.max(axis=0)).astype(np.float32), labels.astype(np.int64)
        tests = np.arange(len(X)) % 5 == 0
        return Arrays(X[~tests], y[~tests], X[tests], y[tests])
