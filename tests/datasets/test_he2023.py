"""The data sets of he2023: the real files against plain loops."""

import csv
import math
import statistics

import numpy as np
import pytest

from admmbench import partition, simulate
from admmbench.datasets import load_dataset

# Class 1, class 0 and the number of features: he2023, table 2.
PRINTED = {
    "breast_cancer_wisconsin": (240, 455, 20),
    "adult_a": (7840, 24715, 21),
    "monks1": (275, 275, 21),
}


@pytest.fixture(scope="module")
def real(real_mirror, tmp_path_factory):
    cache = tmp_path_factory.mktemp("he2023")
    return lambda name: load_dataset(name, mirror=real_mirror, cache=cache)


def counts(data):
    """Class counts of both parts."""
    return np.bincount(data.y_train).tolist(), np.bincount(data.y_test).tolist()


# MONK's problem 1


def test_real_robots_are_labelled_by_the_rule(real):
    data = real("monks1")
    assert (data.n_train, data.n_test, data.n_features) == (124, 432, 18)
    assert counts(data) == ([62, 62], [216, 216])
    for X, y in ((data.X_train, data.y_train), (data.X_test, data.y_test)):
        same_shape = (X[:, :3] * X[:, 3:6]).sum(axis=1) == 1
        red = X[:, 11] == 1
        np.testing.assert_array_equal(y, same_shape | red)
        assert (X.sum(axis=1) == 7).all()
    everyone = {tuple(row) for row in data.X_test.tolist()}
    assert len(everyone) == 432
    assert {tuple(row) for row in data.X_train.tolist()} <= everyone


# Breast Cancer Wisconsin


def test_real_masses_are_in_file_order_and_every_fifth_tests(real, real_mirror):
    data = real("breast_cancer_wisconsin")
    assert (data.n_train, data.n_test, data.n_features) == (560, 139, 20)
    assert counts(data) == ([365, 195], [93, 46])
    path = real_mirror / "breast-cancer-wisconsin" / "breast-cancer-wisconsin.data"
    rows = [line.split(",") for line in path.read_text("ascii").split()]
    first = [row for k, row in enumerate(rows) if k % 5 != 4]
    for own, X, y in ((first, data.X_train, data.y_train), (rows[4::5], data.X_test, data.y_test)):
        assert y.tolist() == [int(row[10] == "4") for row in own]
        for j, place in enumerate([1, 2, 3, 4, 5, 7, 8, 9]):
            exact = [(int(row[place]) - 1) / 9 for row in own]
            np.testing.assert_allclose(X[:, j], exact, rtol=1e-6)
        nuclei = [10 if row[6] == "?" else int(row[6]) - 1 for row in own]
        assert X[:, 8:19].argmax(axis=1).tolist() == nuclei
        assert (X[:, 8:].sum(axis=1) == 2).all()
        assert (X[:, 19] == 1).all()
    assert data.X_train[:, 18].sum() + data.X_test[:, 18].sum() == 16


# adult-a and adult-b


def employer(name):
    if name.endswith("-gov"):
        return "government"
    if name.startswith("Self-emp"):
        return "self-employed"
    return "without pay" if name in ("Without-pay", "Never-worked") else name


class Literal:
    """Features of the notebook, record by record."""

    def __init__(self, people, work):
        self.numbers = {k: [float(p[k]) for p in people] for k in (0, 2, 4, 12)}
        self.moments = {
            k: (statistics.fmean(v), statistics.pstdev(v)) for k, v in self.numbers.items()
        }
        tellers = [lambda p: p[7], lambda p: p[8]]
        if work:
            tellers += [lambda p: employer(p[1]), lambda p: p[6]]
        self.categories = [(tell, sorted({tell(p) for p in people})) for tell in tellers]
        self.people = people

    def row(self, i):
        person = self.people[i]
        row = [(float(person[k]) - mean) / (std or 1) for k, (mean, std) in self.moments.items()]
        row.append(not person[5].startswith("Married-") or person[5] == "Married-spouse-absent")
        row += [person[9] == "Male", person[10] not in ("0", "0.0"), person[11] not in ("0", "0.0")]
        row.append(person[13] != "United-States")
        for tell, values in self.categories:
            row += [tell(person) == value for value in values]
        return [*map(float, row), 1.0]


@pytest.fixture(scope="module")
def census(real_mirror):
    """Records of adult.csv, as Python's csv reads them."""
    with (real_mirror / "adult-b" / "adult.csv").open(newline="") as stream:
        return [[field.strip() for field in row] for row in csv.reader(stream)][1:]


@pytest.mark.parametrize("name", ["adult_a", "adult_b"])
def test_real_tables_are_those_of_plain_loops(name, real, census):
    data = real(name)
    complete = name == "adult_b"
    kept = [
        [row for row in part if not (complete and "?" in row)]
        for part in (census[:32561], census[32561:])
    ]
    assert [len(part) for part in kept] == [data.n_train, data.n_test]
    literal = Literal(kept[0] + kept[1], work=complete)
    for X, y, part, start in (
        (data.X_train, data.y_train, kept[0], 0),
        (data.X_test, data.y_test, kept[1], len(kept[0])),
    ):
        assert y.tolist() == [int(row[14] == ">50K") for row in part]
        rows = [*range(30), *range(30, len(part), 500)]
        exact = [literal.row(start + i) for i in rows]
        np.testing.assert_allclose(X[rows], exact, atol=1e-5)
    for place, attribute in ((8, "race"), (9, "sex")):
        found = data.attributes[attribute]
        assert [found.values[code] for code in found.train] == [row[place] for row in kept[0]]
        assert [found.values[code] for code in found.test] == [row[place] for row in kept[1]]


def test_numbers_of_adult_b_can_stay_as_they_are(real, census):
    data, scaled = real({"name": "adult_b", "scaled": False}), real("adult_b")
    complete = [row for row in census[:32561] if "?" not in row]
    numbers = np.array([[row[k] for k in (0, 2, 4, 12)] for row in complete], float)
    np.testing.assert_array_equal(data.X_train[:, :4], numbers)
    np.testing.assert_array_equal(data.X_train[:, 4:], scaled.X_train[:, 4:])
    low, high = data.info.domain
    assert (low, high) == (0, max(data.X_train.max(), data.X_test.max()))


def test_sizes_of_the_census(real):
    a, b = real("adult_a"), real("adult_b")
    assert counts(a) == ([24_720, 7_841], [12_435, 3_846])
    assert counts(b) == ([22_654, 7_508], [11_360, 3_700])
    assert (a.n_features, b.n_features) == (21, 39)
    # What the notebook prints: 30,527 men, 14,695 women.
    sex = b.attributes["sex"]
    women_and_men = np.bincount(np.concatenate([sex.train, sex.test])).tolist()
    assert (sex.values, women_and_men) == (("Female", "Male"), [14_695, 30_527])
    adult_sex = real("adult").attributes["sex"]
    np.testing.assert_array_equal(sex.train, adult_sex.train)
    np.testing.assert_array_equal(sex.test, adult_sex.test)


# What the paper prints


@pytest.mark.parametrize("name", PRINTED)
def test_five_folds_have_the_sizes_of_the_paper(name, real):
    """But for five records of adult-a, which nothing in its file explains."""
    data = real(name)
    everything = {} if name == "adult_a" else {"train": "all"}
    scheme = partition.as_partition({"scheme": "stratified", "agents": 5, **everything})
    split = scheme.split(data, [np.random.default_rng(0).permutation])
    folds = [split.dataset.y_train[rows] for agent in split.shares for _, rows in agent]
    zeros, ones = sum(np.bincount(y) for y in folds).tolist()
    assert len({tuple(np.bincount(y).tolist()) for y in folds}) == 1
    excess = 5 if name == "adult_a" else 0
    assert (ones, zeros - excess) == PRINTED[name][:2]
    assert math.isclose(data.n_features, PRINTED[name][2], abs_tol=3)
    trace = simulate(data, "iadmm", agents=scheme.model_dump(), rounds=2)
    assert trace.attrs["n_train"] == ones + zeros
