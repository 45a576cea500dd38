"""Adult: its parser on files made here, and its features against plain loops over the records."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from admmbench.datasets import adult, describe, load_dataset
from tests.datasets.census import ATTRIBUTES, PERSON, line, records

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


def assert_norms_are_one_and_never_more(X):
    norms = np.linalg.norm(X.astype(np.float64), axis=1)
    assert norms.max() <= 1
    assert norms.min() >= 1 - 1e-6


# The parser


def test_a_record_is_its_columns(tmp_path):
    path = tmp_path / "adult.data"
    path.write_bytes(line() + line(">50K", sex="Female"))
    people = adult.read_people(path)
    assert list(people.columns) == list(adult.COLUMNS)
    assert [*map(str, people.iloc[0])] == [*PERSON, "<=50K"]
    assert [*map(str, people.iloc[1])] == [*PERSON[:9], "Female", *PERSON[10:], ">50K"]


@pytest.mark.parametrize(
    ("content", "ages"),
    [
        (b"|1x3 Cross validator\n" + line(age="20"), [20]),
        (line(age="20") + b"\n" + line(age="30") + b"\n\n", [20, 30]),
        (line("<=50K.", age="20") + line("<=50K.", age="30"), [20, 30]),
        (line(age="20") + line(age="30").rstrip(b"\n"), [20, 30]),
        (line(age="20").replace(b", ", b",") + line(age="30"), [20, 30]),
    ],
    ids=["comment", "blank lines", "full stops", "no last end of line", "no spaces"],
)
def test_what_is_around_the_records_does_not_matter(tmp_path, content, ages):
    path = tmp_path / "adult.test"
    path.write_bytes(content)
    people = adult.read_people(path)
    assert people["age"].tolist() == ages
    assert (people["salary"] == "<=50K").all()


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_a_record_with_a_missing_value_is_dropped_with_its_label(tmp_path, name):
    path = tmp_path / "adult.data"
    path.write_bytes(line(age="20") + line(">50K", **{name: "?"}) + line(">50K", age="30"))
    people = adult.read_people(path)
    assert people["age"].astype(int).tolist() == [20, 30]
    assert people["salary"].tolist() == ["<=50K", ">50K"]
    assert len(adult.read_people(path, incomplete=True)) == 3


# The features

numbers = st.integers(0, 10**6).map(str)
words = st.sampled_from(["Private", "Male", "10th", "A-b", "a", "Trinadad&Tobago", "(x)"])
people = st.tuples(*(numbers if name in NUMERIC else words for name in ATTRIBUTES))


@settings(max_examples=60)
@given(st.lists(people, min_size=1, max_size=12))
@example([PERSON])
@example([tuple("0" if name in NUMERIC else "x" for name in ATTRIBUTES)] * 2)
def test_features_are_those_of_plain_loops(everyone):
    X = adult.scale(records(everyone))
    literal = Literal(everyone)
    assert_is_rounded_down(X, np.array([literal.row(i) for i in range(len(everyone))]))
    assert_norms_are_one_and_never_more(X)


def written(folder, train, test):
    paths = {file.name: folder / file.name for file in adult.FILES}
    for path, content in zip(paths.values(), (train, test), strict=True):
        path.write_bytes(content)
    return paths


def test_both_files_are_scaled_together(tmp_path):
    train = line(age="20") + line(">50K", age="?") + line(">50K", age="40", sex="Female")
    test = b"|comment\n" + line(">50K.", age="80", race="Other")
    arrays = adult.Adult().read(describe("adult"), written(tmp_path, train, test))
    literal = Literal(
        [
            ("20", *PERSON[1:]),
            ("40", *PERSON[1:9], "Female", *PERSON[10:]),
            ("80", *PERSON[1:8], "Other", *PERSON[9:]),
        ]
    )
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


def test_the_real_data_are_those_of_the_paper(data):
    assert (data.n_train, data.n_test, data.n_features) == (30_162, 15_060, 104)
    assert data.n_train + data.n_test == 45_222
    assert np.bincount(data.y_train).tolist() == [30_162 - 7_508, 7_508]
    assert np.bincount(data.y_test).tolist() == [15_060 - 3_700, 3_700]
    assert data.class_names == ("<=50K", ">50K")


def test_the_real_features_are_those_of_plain_loops(data, real):
    literal = Literal([row[:14] for part in real for row in part])
    assert len(literal.people) == 45_222
    assert literal.n_features == 104
    rows = [*range(50), *range(50, 30_162, 500)]
    assert_is_rounded_down(data.X_train[rows], np.array([literal.row(i) for i in rows]))
    rows = [*range(50), *range(50, 15_060, 500)]
    exact = np.array([literal.row(30_162 + i) for i in rows])
    assert_is_rounded_down(data.X_test[rows], exact)


def test_the_real_labels_are_those_of_the_files(data, real):
    train, test = real
    assert data.y_train.tolist() == [int(row[14] == ">50K") for row in train]
    assert data.y_test.tolist() == [int(row[14] == ">50K.") for row in test]


def test_real_records_have_norm_one_and_never_more(data):
    for X in (data.X_train, data.X_test):
        assert_norms_are_one_and_never_more(X)
        assert X.min() == 0
        # Eight categories each.
        assert ((X[:, 6:] > 0).sum(axis=1) == 8).all()
