"""Adult: 45,222 complete records of a census, and whether the person earns more than 50,000 dollars a year."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from admmbench.datasets._base import Arrays, Attribute, DatasetDefinition, DatasetInfo
from admmbench.datasets._fetch import sources

if TYPE_CHECKING:
    import pandas as pd

FILES = sources("adult")
COLUMNS = (
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation"),
    *("relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week"),
    *("native-country", "salary"),
)
# The others are categories.
NUMERIC = ["age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"]
LABELS = ("<=50K", ">50K")
# Columns that are attributes of records too.
VALUES = {
    "race": ("Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other", "White"),
    "sex": ("Female", "Male"),
}
N_VALUES = {name: len(values) for name, values in VALUES.items()}


class Adult(DatasetDefinition):
    """Adult as huang2019 prepares it (section VI).

    Records with a missing value are dropped; categories become binary columns, after the six numeric ones; columns are
    divided by their maximum over all records, and rows by their l2 norm. Training and test part are those of the files;
    the paper draws its own from all records: partition ``{scheme: iid, train: 40000}``.
    """

    name = "adult"

    facts = {
        "title": "Adult (census income), one-hot",
        "n_train": 30_162,
        "n_test": 15_060,
        "n_features": 104,
        "class_names": LABELS,
        "attributes": N_VALUES,
        "files": FILES,
        "licence": "CC BY 4.0",
        "citation": (
            "B. Becker and R. Kohavi. Adult. UCI Machine Learning Repository, 1996. "
            "doi:10.24432/C5XW20"
        ),
        "default_problem": "logistic",
    }

    def read(self, info: DatasetInfo, paths: Mapping[str, Path]) -> Arrays:
        """Parse both files and scale them together."""
        train, test = (read_people(paths[file.name]) for file in FILES)
        return assemble(train, test, scale)


def read_people(path: Path, *, incomplete: bool = False, header: int | None = None) -> pd.DataFrame:
    """Read the records of a file, a row each, with `COLUMNS`.

    Parameters
    ----------
    path
        Path of the file.
    incomplete
        Whether to keep records with a missing value, ``?``.
    header
        Number of the line with the names of the columns, if there is one.
    """
    import pandas as pd  # slow to import

    people = pd.read_csv(
        path,
        names=COLUMNS,
        header=header,
        skipinitialspace=True,
        comment="|",  # the first line of adult.test
        keep_default_na=False,
    )
    people["salary"] = people["salary"].str.rstrip(".")
    return people if incomplete else people[(people != "?").all(axis=1)]


def assemble(
    train: pd.DataFrame,
    test: pd.DataFrame,
    encode: Callable[[pd.DataFrame], NDArray[np.float32]],
) -> Arrays:
    """Turn the records of both parts into features together; race and sex are attributes of records."""
    import pandas as pd

    X, n = encode(pd.concat([train, test])), len(train)
    y_train, y_test = (
        (part["salary"] == LABELS[1]).to_numpy().astype(np.int64) for part in (train, test)
    )
    attributes = {
        name: Attribute.of(values, train[name], test[name]) for name, values in VALUES.items()
    }
    return Arrays(X[:n], y_train, X[n:], y_test, attributes)


def scale(people: pd.DataFrame) -> NDArray[np.float32]:
    """Turn records into features: columns with maximum 1, then rows with l2 norm 1 (never more, rounded down)."""
    from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, normalize  # slow to import

    categories = people.drop(columns=[*NUMERIC, "salary"])
    columns = np.hstack(
        [people[NUMERIC], OneHotEncoder(sparse_output=False).fit_transform(categories)]
    )
    exact = normalize(MaxAbsScaler().fit_transform(columns))
    X = exact.astype(np.float32)
    return np.where(exact < X, np.nextafter(X, np.float32(0)), X)
