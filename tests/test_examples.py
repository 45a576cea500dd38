"""Examples of property tests: the same ones everywhere, or fresh ones and more of them."""

import importlib
import os
import subprocess
import sys
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st


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


COUNTED = """
import hypothesis
from hypothesis import strategies as st

counted = []

@hypothesis.settings(max_examples=7)
@hypothesis.given(st.integers())
def test_counted(number):
    counted.append(number)

def test_count():
    assert len(counted) == 70
"""


def test_who_explores_draws_ten_times_as_many(tmp_path):
    """In a session of its own, as profiles and marks come from there."""
    (tmp_path / "test_counted.py").write_text(COUNTED)
    (tmp_path / "conftest.py").write_text("from tests.conftest import *")
    options = ["--hypothesis-profile", "explore", f"--rootdir={tmp_path}"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "-p", "no:cacheprovider", tmp_path],
        cwd=Path(__file__).parents[1],
        env={**os.environ, "HYPOTHESIS_STORAGE_DIRECTORY": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
