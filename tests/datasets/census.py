"""Records of the census of Adult, as lines of its files and as the table that is read of them."""

import pandas as pd

from admmbench.datasets import adult

PERSON = (
    *("39", "State-gov", "77516", "Bachelors", "13", "Never-married", "Adm-clerical"),
    *("Not-in-family", "White", "Male", "2174", "0", "40", "United-States"),
)
ATTRIBUTES = (
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation"),
    *("relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week"),
    "native-country",
)


def line(label="<=50K", **changes):
    """A line of a file, with some attributes changed."""
    person = dict(zip(ATTRIBUTES, PERSON, strict=True))
    return ", ".join({**person, **changes}.values()).encode() + f", {label}\n".encode()


def records(people):
    """The table that is read of a file with these people, all of one label."""
    table = pd.DataFrame([(*person, "<=50K") for person in people], columns=adult.COLUMNS)
    return table.astype(dict.fromkeys(adult.NUMERIC, float))
