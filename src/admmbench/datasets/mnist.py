"""MNIST: 70,000 handwritten digits of 28 x 28 pixels (LeCun, Cortes and Burges)."""

import gzip
import math
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from admmbench.datasets._base import Arrays, DatasetDefinition, DatasetInfo, check_samples
from admmbench.datasets._fetch import DatasetError, RemoteFile, read_bytes

__all__ = ["Mnist"]

HOSTS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist",
    "https://storage.googleapis.com/cvdf-datasets/mnist",
    "http://yann.lecun.com/exdb/mnist",
)


def _file(name: str, size: int, sha256: str) -> RemoteFile:
    urls = tuple(f"{host}/{name}" for host in HOSTS)
    return RemoteFile(name, urls, f"mnist/{name}", f"sha256:{sha256}", size)


# The SHA-256 of the files whose MD5 the data set's page states.
FILES = (
    _file(
        "train-images-idx3-ubyte.gz",
        9_912_422,
        "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    ),
    _file(
        "train-labels-idx1-ubyte.gz",
        28_881,
        "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    ),
    _file(
        "t10k-images-idx3-ubyte.gz",
        1_648_877,
        "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    ),
    _file(
        "t10k-labels-idx1-ubyte.gz",
        4_542,
        "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
    ),
)


class Mnist(DatasetDefinition):
    """MNIST in file order, pixels divided by 255."""

    name = "mnist"

    def describe(self, settings: dict[str, Any]) -> DatasetInfo:
        """Return the static facts."""
        return DatasetInfo(
            name=self.name,
            title="MNIST handwritten digits",
            settings=settings,
            n_train=60_000,
            n_test=10_000,
            n_features=784,
            class_names=tuple("0123456789"),
            files=FILES,
            licence="not stated by the authors; often given as CC BY-SA 3.0",
            citation=(
                "Y. LeCun, L. Bottou, Y. Bengio and P. Haffner. Gradient-based learning applied to "
                "document recognition. Proceedings of the IEEE 86(11), 2278-2324, 1998. "
                "doi:10.1109/5.726791"
            ),
        )

    def read(self, info: DatasetInfo, paths: Mapping[str, Path]) -> Arrays:
        """Parse the four IDX files."""
        X_train, y_train = _read_part("train", info, paths)
        X_test, y_test = _read_part("t10k", info, paths)
        return Arrays(X_train, y_train, X_test, y_test)


def _read_part(
    part: str, info: DatasetInfo, paths: Mapping[str, Path]
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    images_name, labels_name = (
        f"{part}-{kind}-ubyte.gz" for kind in ("images-idx3", "labels-idx1")
    )
    images = parse_idx(_decompress(paths[images_name]), 3, images_name)
    labels = parse_idx(_decompress(paths[labels_name]), 1, labels_name)
    X = images.reshape(len(images), -1).astype(np.float32)
    X /= 255
    y = labels.astype(np.int64)
    check_samples(X, y, info, f"{images_name} and {labels_name}")
    return X, y


def _decompress(path: Path) -> bytes:
    try:
        return gzip.decompress(read_bytes(path))
    except (OSError, EOFError, zlib.error) as error:
        raise DatasetError(f"{path}: not a complete gzip file ({error})") from error


def parse_idx(content: bytes, ndim: int, source: str) -> NDArray[np.uint8]:
    """Parse an IDX file of unsigned bytes.

    The header is two zero bytes, the type (8: unsigned byte), the number of dimensions, and each
    dimension as a big-endian 32-bit integer.

    Parameters
    ----------
    content
        Of the file.
    ndim
        Number of dimensions that the file must have.
    source
        File that an error names.

    Returns
    -------
    ndarray of uint8
        Read-only view of `content`.

    Raises
    ------
    DatasetError
        If the header or the length is not as expected.
    """
    magic = bytes((0, 0, 8, ndim))
    start = 4 + 4 * ndim
    if content[:4] != magic or len(content) < start:
        raise DatasetError(
            f"{source}: starts with {content[:4].hex()}, expected the IDX header {magic.hex()}"
        )
    shape = tuple(int(n) for n in np.frombuffer(content, ">u4", ndim, 4))
    if len(content) - start != math.prod(shape):
        raise DatasetError(
            f"{source}: {len(content) - start:,} bytes of data, expected {math.prod(shape):,} "
            f"for shape {shape}"
        )
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)
