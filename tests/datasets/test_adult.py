"""Adult: its parser on files made here, and its features against plain loops over the records."""

import math

import numpy as np
import pytest

from admmbench.datasets import adult, describe, load_dataset

ATTRIBUTES = adult.COLUMNS[:-1]
NUMERIC = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")


class Literal:
    """Features of huang2019 (section VI), record by record."""

    def __init__(self, people):
        people = [dict(zip(ATTRIBUTES, person, strict=True)) for person in people]
        self.people = people
        self.largest = {name: max(float(p[name]) for p in people) for name in NUMERIC}
        self.categories = {
            name: sorted({p[name] for p in people}) for name in ATTRIBUTES if name not in NUMERIC
        }
        self.n_features = len(NUMERIC) + sum(map(len, self.categories.values()))

    def row(self, i):
        person = self.people[i]
        row = [float(person[name]) / (self.largest[name] or 1.0) for name in NUMERIC]
        # The largest value of a binary column is 1 already.
        for name, categories in self.categories.items():
            row += [1.0 if person[name] == category else 0.0 for category in categories]
        norm = math.sqrt(math.fsum(value**2 for value in row))
        return [value / norm for value in row]


def assert_is_rounded_down(X, exact):
    assert X.dtype == np.float32
    assert X.shape == exact.shape
    # Both were computed in double precision, in another order.
    assert (X.astype(np.float64) <= exact * (1 + 1e-14)).all()
    np.testing.assert_allclose(X, exact, rtol=2e-7)


def test_both_files_are_scaled_together(tmp_path):
    common = "State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family"
    people = [
        f"20, {common}, White, Male, 2174, 0, 40, Cuba",
        f"?, {common}, White, Male, 2174, 0, 40, Cuba",
        f"40, {common}, White, Female, 2174, 0, 40, Cuba",
        f"80, {common}, Other, Male, 2174, 0, 40, Cuba",
    ]
    labels = ["<=50K\n", ">50K\n", ">50K\n\n", ">50K.\n"]
    lines = [", ".join(pair) for pair in zip(people, labels, strict=True)]
    paths = {file.name: tmp_path / file.name for file in adult.FILES}
    paths["adult.data"].write_text("".join(lines[:3]))
    paths["adult.test"].write_text(f"|comment\n{lines[3]}")
    arrays = adult.Adult().read(describe("adult"), paths)
    literal = Literal([people[k].split(", ") for k in (0, 2, 3)])
    assert_is_rounded_down(arrays.X_train, np.array([literal.row(0), literal.row(1)]))
    assert_is_rounded_down(arrays.X_test, np.array([literal.row(2)]))
    assert arrays.y_train.tolist() == [0, 1]
    assert arrays.y_test.tolist() == [1]


# The real files


@pytest.fixture(scope="module")
def data(real_mirror, tmp_path_factory):
    return load_dataset("adult", mirror=real_mirror, cache=tmp_path_factory.mktemp("adult"))


@pytest.fixture(scope="module")
def real(real_mirror):
    """Complete records of both files with their labels, by splitting lines at commas."""
    parts = []
    for name in ("adult.data", "adult.test"):
        lines = (real_mirror / "adult" / name).read_text("ascii").splitlines()
        rows = [text.split(", ") for text in lines if len(text.split(", ")) == 15]
        parts.append([row for row in rows if "?" not in row])
    return parts


def test_the_real_data_are_those_of_the_paper(data, real):
    assert (data.n_train, data.n_test, data.n_features) == (30_162, 15_060, 104)
    assert data.class_names == ("<=50K", ">50K")
    train, test = real
    assert data.y_train.tolist() == [int(row[14] == ">50K") for row in train]
    assert data.y_test.tolist() == [int(row[14] == ">50K.") for row in test]


def test_the_real_features_are_those_of_plain_loops(data, real):
    literal = Literal([row[:14] for part in real for row in part])
    assert len(literal.people) == 45_222
    assert literal.n_features == 104
    rows = [*range(50), *range(50, 30_162, 500)]
    assert_is_rounded_down(data.X_train[rows], np.array([literal.row(i) for i in rows]))
    rows = [*range(50), *range(50, 15_060, 500)]
    exact = np.array([literal.row(30_162 + i) for i in rows])
    assert_is_rounded_down(data.X_test[rows], exact)


def test_real_records_have_norm_one_and_never_more(data):
    for X in (data.X_train, data.X_test):
        norms = np.linalg.norm(X.astype(np.float64), axis=1)
        assert 1 - 1e-6 <= norms.min() <= norms.max() <= 1
        assert X.min() == 0
        # Eight categories each.
        assert ((X[:, 6:] > 0).sum(axis=1) == 8).all()
