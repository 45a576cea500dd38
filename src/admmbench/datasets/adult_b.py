"""adult-b: Adult as a study of fairness prepares it, for constraints that compare women and men."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from admmbench.datasets import adult
from admmbench.datasets._base import Arrays, DatasetDefinition, DatasetInfo
from admmbench.datasets._fetch import sources

if TYPE_CHECKING:
    import pandas as pd

REPOSITORY = "heyaudace/ml-bias-fairness"
COMMIT = "e0fe4ce2d5465b2d702d2ef30c5dedf4bd3e494e"
(FILE,) = sources("adult-b")
# Records of adult.data, which come first; those of adult.test follow.
N_FIRST = 32_561
COUPLES = ("Married-AF-spouse", "Married-civ-spouse")
WORK = {
    **dict.fromkeys(("Federal-gov", "Local-gov", "State-gov"), "government"),
    **dict.fromkeys(("Self-emp-inc", "Self-emp-not-inc"), "self-employed"),
    **dict.fromkeys(("Never-worked", "Without-pay"), "without pay"),
}
# Bound on numbers that have mean 0 and standard deviation 1 here.
DOMAIN = (-4.0, 13.0)
# Largest value of fnlwgt, the largest number.
LARGEST_WEIGHT = 1_490_400.0


class AdultB(DatasetDefinition):
    """Table of the study's notebook, 38 features, and a column of ones, as models have no intercept.

    Records with a missing value are dropped. The file is adult.data followed by adult.test, which are the parts here.
    The notebook draws its own, without a seed, and calls the other class 1.

    Parameters
    ----------
    scaled
        Whether numbers have mean 0 and standard deviation 1, as in the notebook. Else they stay as they are in the
        file: fnlwgt is up to 1,490,400.
    """

    name = "adult_b"
    defaults = {"scaled": True}

    def validate(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Check that ``scaled`` is true or false."""
        if not isinstance(settings["scaled"], bool):
            raise ValueError(f"adult_b: scaled is true or false, not {settings['scaled']!r}")
        return settings

    facts = {
        **adult.Adult.facts,
        "title": "adult-b (census income, study of fairness)",
        "n_features": 39,
        "files": (FILE,),
        "licence": "not stated by the study; that of Adult is CC BY 4.0",
        "citation": (
            f"{adult.Adult.facts['citation']}. Table: github.com/{REPOSITORY}, commit {COMMIT[:7]}"
        ),
    }

    def describe(self, settings: dict[str, Any]) -> DatasetInfo:
        """Return the static facts; the domain depends on the scale."""
        domain = DOMAIN if settings["scaled"] else (0.0, LARGEST_WEIGHT)
        return replace(super().describe(settings), domain=domain)

    def read(self, info: DatasetInfo, paths: Mapping[str, Path]) -> Arrays:
        """Parse the file and make the table of both parts together."""
        people = adult.read_people(paths[FILE.name], header=0)
        first, scaled = people.index < N_FIRST, info.settings["scaled"]
        return adult.assemble(
            people[first], people[~first], lambda records: table(records, work=True, scaled=scaled)
        )


def table(people: pd.DataFrame, *, work: bool, scaled: bool = True) -> NDArray[np.float32]:
    """Make features of records as the notebook does.

    Parameters
    ----------
    people
        Records, see `admmbench.datasets.adult.read_people`.
    work
        Whether there are columns for work class and occupation.
    scaled
        Whether numbers have mean 0 and standard deviation 1 over these records.

    Returns
    -------
    ndarray of float32, shape (n, J)
        Age, fnlwgt, years of education and hours per week; 0 or 1 for single, male, capital gain, capital loss, and
        another country than the United States; a column for each relationship and race, and with `work` for each of
        four kinds of employer and each occupation; ones.
    """
    from sklearn.preprocessing import OneHotEncoder, StandardScaler  # slow to import

    numbers = people[["age", "fnlwgt", "education-num", "hours-per-week"]]
    binary = [
        ~people["marital-status"].isin(COUPLES),
        people["sex"] == "Male",
        people["capital-gain"] > 0,
        people["capital-loss"] > 0,
        people["native-country"] != "United-States",
    ]
    categories = people[["relationship", "race"]]
    if work:
        categories = categories.assign(
            employer=people["workclass"].replace(WORK), occupation=people["occupation"]
        )
    return np.hstack(
        [
            StandardScaler().fit_transform(numbers) if scaled else numbers,
            np.column_stack(binary),
            OneHotEncoder(sparse_output=False).fit_transform(categories),
            np.ones((len(people), 1)),
        ]
    ).astype(np.float32)
