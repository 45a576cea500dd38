"""What Snakefiles of study folders import, those that earlier versions wrote as well."""

import os
import re
from pathlib import Path

import pytest

from admmbench import scaffold
from tests.workflow import forked
from tests.workflow.project import ROOT

END = """

module admmbench:
    snakefile:
        SNAKEFILE
    config:
        config


use rule * from admmbench
"""
FIRST = 'from admmbench.installed import SNAKEFILE\n\n\nconfigfile: "config/config.yaml"\n'
LEGIBLE = """
from admmbench.installed import SNAKEFILE
from admmbench.watch.configuration import legible


configfile: legible("config/config.yaml")
"""
REPORTING = LEGIBLE.replace(
    "SNAKEFILE\n", "SNAKEFILE\nfrom admmbench.watch import report_what_exists\n"
)
MOVED = REPORTING.replace("admmbench.installed", "admmbench.files.installed").replace(
    "configuration", "configfiles"
)
PLAIN = re.sub(r"from admmbench.watch import .*\n", "", MOVED)
AT_THE_END = "\n\nonerror:\n    report_what_exists()\n"
WRITE = "write `from admmbench.installed import SNAKEFILE, legible` instead."
LEAVE_OUT = "leave out the import of report_what_exists, and `onerror:`."


def dry_run(folder):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    return forked.snakemake(folder, ["--dry-run", "--cores", "1"], environment)


@pytest.mark.parametrize(
    ("snakefile", "sentences"),
    [
        (FIRST + END, []),
        (LEGIBLE + END, [WRITE]),
        (REPORTING + END + AT_THE_END, [LEAVE_OUT, WRITE]),
        (MOVED + END + AT_THE_END, [LEAVE_OUT]),
        (PLAIN + END, []),
        (None, []),
    ],
    ids=["first", "legible", "reporting", "moved", "plain", "present"],
)
def test_a_folder_of_any_version_runs_and_says_which_lines_to_change(
    tmp_path, snakefile, sentences
):
    folder = tmp_path / "Größe ä" / "study"
    scaffold.write_study(folder)
    if snakefile:
        Path(folder, "Snakefile").write_text(snakefile)
    status, shown = dry_run(folder)
    assert status == 0, shown
    assert re.search(r"^run +4$", shown, re.MULTILINE)
    found = [line for line in shown.splitlines() if line.startswith("Snakefile: ")]
    assert [line.partition("; ")[2] for line in found] == sentences


def test_other_names_are_still_not_there(tmp_path):
    folder = tmp_path / "study"
    scaffold.write_study(folder)
    Path(folder, "Snakefile").write_text("from admmbench.watch import report\n")
    status, shown = dry_run(folder)
    assert status == 1
    assert "cannot import name 'report' from 'admmbench.watch'" in shown
