"""Totals that are kept between processes: the same numbers, and never those of other code."""

import json
import os
import subprocess
import sys
from typing import Any

from admmbench.privacy import Ledger, Shift, remembered

CODE = """
import sys
from admmbench.privacy import Ledger, Shift
totals = []
for releases in sys.argv[1:]:
    ledger = Ledger()
    exec(releases)
    totals.append(ledger.epsilon(1e-6))
    ledger.pure(0.5, 3)
    totals.append(ledger.epsilon(1e-6))
print(*map(repr, totals), "dp_accounting" in sys.modules)
"""


def totals(cache, *releases):
    """Two totals of each releases, of a hundred pure ones by default, and whether any was composed."""
    done = subprocess.run(
        [sys.executable, "-c", CODE, *(releases or ["ledger.pure(0.5, 100)"])],
        env={**os.environ, "ADMMBENCH_CACHE": str(cache)},
        check=True,
        capture_output=True,
        text=True,
    )
    *found, composed = done.stdout.split()
    return found, composed == "True"


def test_another_process_finds_the_same_totals(tmp_path):
    kinds = [
        "ledger.pure(0.5, 100)",
        "ledger.laplace(Shift(0.5, 0.2, 0.1), 50)",
        "ledger.gaussian(3.7, 8)",
        "ledger.gaussian(3.7); ledger.approximate(0.5, 1e-7)",
    ]
    first, composed = totals(tmp_path, *kinds)
    assert composed
    assert totals(tmp_path, *kinds) == (first, False)
    for releases, total in zip(kinds, first[::2], strict=True):
        ledger = Ledger()
        exec(releases, {"ledger": ledger, "Shift": Shift})
        assert repr(ledger.epsilon(1e-6)) == total


def test_releases_that_differ_in_number_share_a_file(tmp_path):
    totals(tmp_path)
    totals(tmp_path, "ledger.pure(0.5, 200)")
    (file,) = (tmp_path / "totals").iterdir()
    assert len(json.loads(file.read_text())) == 4
    totals(tmp_path, "ledger.pure(0.25, 100)")
    assert len(list((tmp_path / "totals").iterdir())) == 3  # alone, and with the others


def test_what_cannot_be_read_or_written_is_composed(tmp_path):
    first, _ = totals(tmp_path)
    (file,) = (tmp_path / "totals").iterdir()
    file.write_text('{"half')
    assert totals(tmp_path) == (first, True)
    assert totals(tmp_path) == (first, False)
    (tmp_path / "a file").write_text("")
    assert totals(tmp_path / "a file") == (first, True)


def test_totals_of_other_code_or_packages_are_not_found(tmp_path, monkeypatch):
    module = tmp_path / "accountant.py"

    def compose(text):
        """What an accountant in a file of its own composes."""
        module.write_text(text)
        names: dict[str, Any] = {}
        exec(compile(text, str(module), "exec"), names)
        remembered._file.cache_clear()
        total = remembered.remembered(names["compose"])
        found = total(releases, 1e-6)
        remembered._file(names["compose"], remembered._kinds(releases), 1e-6)._write()
        return found

    monkeypatch.setenv("ADMMBENCH_CACHE", str(tmp_path))
    ledger = Ledger()
    ledger.pure(0.5, 2)
    releases = ledger.releases()
    source = "made = []\ndef compose(releases, delta):\n    made.append(1)\n    return {}\n"
    assert compose(source.format(7.0)) == 7
    assert compose(source.format(8.0)) == 8
    monkeypatch.setattr(remembered, "version", lambda package: "another")
    assert compose(source.format("float(len(made))")) == 1
    assert compose(source.format("float(len(made))")) == 1
