"""Totals that are kept between processes: the same numbers, and never those of other code."""

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from admmbench.files.cache import Cache
from admmbench.privacy import Ledger, Pure, cached_totals, costs

CODE = """
import sys
from admmbench.privacy import Approximate, Gaussian, Laplace, Ledger, Pure
totals = []
for releases in sys.argv[1:]:
    ledger = Ledger()
    exec(releases)
    totals.append(ledger.epsilon(1e-6))
    ledger.add(Pure(0.5), 3)
    totals.append(ledger.epsilon(1e-6))
print(*map(repr, totals), "dp_accounting" in sys.modules)
"""


def totals(cache, *releases):
    """Two totals of each releases, of a hundred pure ones by default, and whether any was composed."""
    done = subprocess.run(
        [sys.executable, "-c", CODE, *(releases or ["ledger.add(Pure(0.5), 100)"])],
        env={**os.environ, "ADMMBENCH_CACHE": str(cache)},
        check=True,
        capture_output=True,
        text=True,
    )
    *found, composed = done.stdout.split()
    return found, composed == "True"


def test_another_process_finds_the_same_totals(tmp_path):
    kinds = [
        "ledger.add(Pure(0.5), 100)",
        "ledger.add(Laplace(0.5, 0.2, 0.1), 50)",
        "ledger.add(Gaussian(3.7), 8)",
        "ledger.add(Gaussian(3.7)); ledger.add(Approximate(0.5, 1e-7))",
    ]
    first, composed = totals(tmp_path, *kinds)
    assert composed
    assert totals(tmp_path, *kinds) == (first, False)
    for releases, total in zip(kinds, first[::2], strict=True):
        ledger = Ledger()
        exec(releases, {**vars(costs), "ledger": ledger})
        assert repr(ledger.epsilon(1e-6)) == total


def test_releases_that_differ_in_number_share_a_file(tmp_path):
    totals(tmp_path)
    totals(tmp_path, "ledger.add(Pure(0.5), 200)")
    (file,) = (tmp_path / "totals").iterdir()
    assert len(json.loads(file.read_text())) == 4
    totals(tmp_path, "ledger.add(Pure(0.25), 100)")
    assert len(list((tmp_path / "totals").iterdir())) == 3  # alone, and with the others


def test_what_cannot_be_read_or_written_is_composed(tmp_path):
    first, _ = totals(tmp_path)
    (file,) = (tmp_path / "totals").iterdir()
    file.write_text('{"half')
    assert totals(tmp_path) == (first, True)
    assert totals(tmp_path) == (first, False)
    (tmp_path / "a file").write_text("")
    assert totals(tmp_path / "a file") == (first, True)


@pytest.fixture
def end(monkeypatch):
    """Do what happens when a process ends, and forget what it knew."""
    registered: list[Callable[[], None]] = []
    monkeypatch.setattr("atexit.register", registered.append)

    def end():
        for function in registered:
            function()
        registered.clear()
        cached_totals._file.cache_clear()

    return end


def test_totals_of_other_code_or_packages_are_not_found(tmp_path, monkeypatch, end):
    module = tmp_path / "accountant.py"

    def compose(text):
        """What an accountant in a file of its own composes."""
        module.write_text(text)
        names: dict[str, Any] = {}
        exec(compile(text, str(module), "exec"), names)
        total = cached_totals.remembered(names["compose"])
        found = total(spending, 1e-6)
        end()
        return found

    monkeypatch.setenv("ADMMBENCH_CACHE", str(tmp_path))
    ledger = Ledger()
    ledger.add(Pure(0.5), 2)
    spending = ledger.spending()
    source = "made = []\ndef compose(spending, delta):\n    made.append(1)\n    return {}\n"
    assert compose(source.format(7.0)) == 7
    assert compose(source.format(8.0)) == 8
    monkeypatch.setattr(cached_totals, "version", lambda package: "another")
    assert compose(source.format("float(len(made))")) == 1
    assert compose(source.format("float(len(made))")) == 1


@pytest.fixture
def seven(tmp_path, monkeypatch, end):
    """Ask for a total of 7 as a new process would; it says how often it was composed."""
    monkeypatch.setenv("ADMMBENCH_CACHE", str(tmp_path))
    composed = []

    def compose(spending, delta):
        composed.append(1)
        return 7.0

    def ask(count=2):
        composed.clear()
        ledger = Ledger()
        ledger.add(Pure(0.5), count)
        assert cached_totals.remembered(compose)(ledger.spending(), 1e-6) == 7
        end()
        return len(composed)

    assert ask() == ask(3) == 1
    assert ask() == ask(3) == 0
    return ask


def _swapped(entries):
    return dict(zip(entries, reversed(entries.values()), strict=True))


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text.replace("7.0", "0.001"),
        lambda text: text.replace("7.0", "true"),
        lambda text: text.replace("7.0", '"7.0"'),
        lambda text: text.replace("7.0", "NaN"),
        lambda text: text.replace("7.0", "-7.0"),
        lambda text: text.replace("7.0", "7"),
        lambda text: text.replace("7.0", "null"),
        lambda text: text[:-20],
        lambda text: "[]",
        lambda text: "3",
        lambda text: "[" * 100_000,
        lambda text: json.dumps(dict.fromkeys(json.loads(text), 0.001)),
        lambda text: json.dumps({key: [] for key in json.loads(text)}),
        lambda text: json.dumps({key: [0.001] for key in json.loads(text)}),
        lambda text: json.dumps(_swapped(json.loads(text))),
    ],
)
def test_totals_that_were_altered_are_composed_again(seven, tmp_path, damage):
    (file,) = (tmp_path / "totals").iterdir()
    file.write_text(damage(file.read_text()))
    assert seven() == 1
    assert seven() == 0


def test_totals_of_another_file_or_of_other_types_are_composed_again(seven, tmp_path):
    (file,) = (tmp_path / "totals").iterdir()
    text = file.read_text()
    cache = Cache[Any](f"totals/{file.name}")
    names = list(cache.read())
    for value in (-7.0, math.nan, True, "7.0", None, 7):
        cache.add(dict.fromkeys(names, value))
        assert seven() == 1
    file.write_text(text)
    file.rename(file.with_name("0" * 16 + ".json"))
    assert Cache(f"totals/{'0' * 16}.json").read() == {}


def test_totals_in_a_folder_of_others_are_not_believed(seven, tmp_path):
    tmp_path.chmod(0o777)
    assert seven() == 1
    assert seven() == 0
    assert (tmp_path / f"user-{os.geteuid()}" / "totals").exists()
