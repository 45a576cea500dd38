"""Examples of property tests: the same ones everywhere, or fresh ones and more of them."""

import importlib
from types import SimpleNamespace

import hypothesis
from hypothesis import given
from hypothesis import strategies as st

from tests import conftest


def drawn():
    found = []

    @given(st.integers(), st.floats(), st.text())
    def test(number, real, text):
        found.append(repr((number, real, text)))

    test()
    return found


def test_examples_are_the_same_whatever_is_imported(tmp_path, monkeypatch):
    before = drawn()
    numbers = [(k, k + 0.5, f"text {k}") for k in range(1000, 1300)]
    (tmp_path / "full_of_numbers.py").write_text(f"FOUND = {numbers}")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("full_of_numbers")
    assert drawn() == before


def test_who_explores_draws_ten_times_as_many():
    @hypothesis.settings(max_examples=7)
    @given(st.integers())
    def test(number):
        counted.append(number)

    def item():
        marks = {"hypothesis": True}.get
        return SimpleNamespace(obj=test, get_closest_marker=marks, path=conftest.Path(__file__))

    for profile, count in (("same", 7), ("explore", 70)):
        counted: list[int] = []
        config = SimpleNamespace(getoption={"--hypothesis-profile": profile}.get)
        conftest.pytest_collection_modifyitems(config, [item(), item()])
        test()
        assert len(counted) == count
