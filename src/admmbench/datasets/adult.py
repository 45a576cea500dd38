"""Adult: 45,222 complete records of a census, and whether the person earns more than 50,000 dollars a year."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from admmbench.datasets._base import Arrays, Attribute, DatasetDefinition, DatasetInfo
from admmbench.datasets._fetch import DatasetError, RemoteFile, read_bytes
from admmbench.datasets._tables import read_table

__all__ = ["Adult"]

HOST = "https://archive.ics.uci.edu/ml/machine-learning-databases/adult"
# Of the attributes in the order of the files; the others are categories.
NUMERIC = [0, 2, 4, 10, 11, 12]
N_ATTRIBUTES = 14
LABELS = ("<=50K", ">50K")
RACE, SEX = 8, 9
RACES = ("Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other", "White")
SEXES = ("Female", "Male")


N_VALUES = {"race": len(RACES), "sex": len(SEXES)}
CITATION = (
    "B. Becker and R. Kohavi. Adult. UCI Machine Learning Repository, 1996. doi:10.24432/C5XW20"
)


def _file(name: str, size: int, sha256: str) -> RemoteFile:
    return RemoteFile(name, (f"{HOST}/{name}",), f"adult/{name}", f"sha256:{sha256}", size)


FILES = (
    _file(
        "adult.data",
        3_974_305,
        "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    ),
    _file(
        "adult.test",
        2_003_153,
        "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
    ),
)


class Adult(DatasetDefinition):
    """Adult as huang2019 prepares it (section VI).

    Records with a missing value are dropped; categories become binary columns, after the six numeric ones; columns are
    divided by their maximum over all records, and rows by their l2 norm. Training and test part are those of the files;
    the paper draws its own from all records: partition ``{scheme: iid, train: 40000}``.
    """

    name = "adult"

    def describe(self, settings: dict[str, Any]) -> DatasetInfo:
        """Return the static facts."""
        return DatasetInfo(
            name=self.name,
            title="Adult (census income), one-hot",
            settings=settings,
            n_train=30_162,
            n_test=15_060,
            n_features=104,
            class_names=LABELS,
            attributes=N_VALUES,
            files=FILES,
            licence="CC BY 4.0",
            citation=CITATION,
            default_problem="logistic",
        )

    def read(self, info: DatasetInfo, paths: Mapping[str, Path]) -> Arrays:
        """Parse both files and scale them together."""
        train, test = (parse(read_bytes(paths[file.name]), file.name) for file in FILES)
        return assemble(train, test, scale)


Part = tuple[NDArray[np.str_], NDArray[np.int64]]
"""Attributes of persons, shape (n, 14), and their labels."""


def parse(content: bytes, source: str, *, incomplete: bool = False) -> Part:
    """Read the records of a file.

    Parameters
    ----------
    content
        Of the file.
    source
        File that an error names.
    incomplete
        Keep records with a missing value, ``?``.

    Returns
    -------
    attributes
        Shape (n, 14).
    labels
        1 for more than 50,000 dollars, shape (n,).

    Raises
    ------
    DatasetError
        If a line has another number of fields, or another label.
    """
    # The first line of adult.test is a comment.
    table = read_table(content, source, N_ATTRIBUTES + 1, delimiter=",", comments="|")
    table = np.strings.strip(table, " ")
    attributes, labels = table[:, :-1], np.strings.rstrip(table[:, -1], ".")
    if not np.isin(labels, LABELS).all():
        raise DatasetError(f"{source}: labels other than {' and '.join(LABELS)}")
    kept = incomplete | (attributes != "?").all(axis=1)
    return attributes[kept], (labels[kept] == LABELS[1]).astype(np.int64)


def assemble(
    train: Part, test: Part, encode: Callable[[NDArray[np.str_]], NDArray[np.float32]]
) -> Arrays:
    """Turn the attributes of both parts into features together; race and sex are attributes of records."""
    everyone = np.concatenate([train[0], test[0]])
    X, n = encode(everyone), len(train[0])
    return Arrays(
        *(X[:n], train[1], X[n:], test[1]),
        attributes={
            "race": Attribute.of(RACES, everyone[:n, RACE], everyone[n:, RACE]),
            "sex": Attribute.of(SEXES, everyone[:n, SEX], everyone[n:, SEX]),
        },
    )


def scale(attributes: NDArray[np.str_]) -> NDArray[np.float32]:
    """Turn attributes into features: columns with maximum 1, then rows with l2 norm 1 (never more, rounded down)."""
    from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, normalize  # slow to import

    categories = np.delete(attributes, NUMERIC, axis=1)
    columns = np.hstack(
        [
            attributes[:, NUMERIC].astype(np.float64),
            OneHotEncoder(sparse_output=False).fit_transform(categories),
        ]
    )
    exact = normalize(MaxAbsScaler().fit_transform(columns))
    X = exact.astype(np.float32)
    return np.where(exact < X, np.nextafter(X, np.float32(0)), X)
