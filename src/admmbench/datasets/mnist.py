"""MNIST: 70,000 handwritten digits of 28 x 28 pixels (LeCun, Cortes and Burges)."""

import gzip
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from admmbench.datasets._base import Arrays, DatasetDefinition, DatasetInfo
from admmbench.datasets._fetch import RemoteFile, read_bytes

HOSTS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist",
    "https://storage.googleapis.com/cvdf-datasets/mnist",
    "http://yann.lecun.com/exdb/mnist",
)


# The SHA-256 of the files whose MD5 the data set's page states.
FILES = tuple(
    RemoteFile.hosted(HOSTS, name, "mnist", sha256, size)
    for name, size, sha256 in (
        (
            "train-images-idx3-ubyte.gz",
            9_912_422,
            "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
        ),
        (
            "train-labels-idx1-ubyte.gz",
            28_881,
            "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
        ),
        (
            "t10k-images-idx3-ubyte.gz",
            1_648_877,
            "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
        ),
        (
            "t10k-labels-idx1-ubyte.gz",
            4_542,
            "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
        ),
    )
)


class Mnist(DatasetDefinition):
    """It is MNIST in file order, pixels divided by 255."""

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
