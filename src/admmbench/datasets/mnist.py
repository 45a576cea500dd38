"""MNIST: 70,000 handwritten digits of 28 x 28 pixels (LeCun, Cortes and Burges)."""

import gzip
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from admmbench.datasets._base import Arrays, DatasetDefinition, DatasetInfo
from admmbench.datasets._fetch import read_bytes, sources

# Files whose MD5 the data set's page states.
FILES = sources("mnist")


class Mnist(DatasetDefinition):
    """MNIST in file order, pixels divided by 255."""

    name = "mnist"

    facts = {
        "title": "MNIST handwritten digits",
        "n_train": 60_000,
        "n_test": 10_000,
        "n_features": 784,
        "class_names": tuple("0123456789"),
        "files": FILES,
        "licence": "not stated by the authors; often given as CC BY-SA 3.0",
        "citation": (
            "Y. LeCun, L. Bottou, Y. Bengio and P. Haffner. Gradient-based learning applied to "
            "document recognition. Proceedings of the IEEE 86(11), 2278-2324, 1998. "
            "doi:10.1109/5.726791"
        ),
    }

    def read(self, info: DatasetInfo, paths: Mapping[str, Path]) -> Arrays:
        """Parse the four IDX files."""
        train, y_train, test, y_test = (_read_idx(paths[file.name]) for file in FILES)
        X_train, X_test = (
            np.divide(pixels.reshape(-1, info.n_features), 255, dtype=np.float32)
            for pixels in (train, test)
        )
        return Arrays(X_train, y_train.astype(np.int64), X_test, y_test.astype(np.int64))


def _read_idx(path: Path) -> NDArray[np.uint8]:
    """Read what follows the header: four bytes, the last the number of dimensions, and four for each dimension."""
    content = gzip.decompress(read_bytes(path))
    return np.frombuffer(content, np.uint8, offset=4 + 4 * content[3])
