"""What a shell is told when a user presses the tab key, by the protocol of argcomplete."""

import os
import subprocess
import sys

import pytest


def completed(line, tmp_path):
    """Words that may stand at the end of a line."""
    environment = {
        **os.environ,
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_IFS": "\n",
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
        "COMP_TYPE": "9",
    }
    # The words come on descriptor 8.
    shell = 'exec "$0" -m admmbench 8>&1 9>/dev/null 1>/dev/null'
    done = subprocess.run(
        ["bash", "-c", shell, sys.executable],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    return [word.strip() for word in done.stdout.split("\n")]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("admmbench st", ["study"]),
        ("admmbench plan --meas", ["--measure"]),
        ("admmbench study lap", ["laptop.yaml"]),
        ("admmbench figures qui", ["quick"]),
        ("admmbench figures min", ["mine.yaml", "minutes.y.html"]),
        ("admmbench plan --configfile min", ["mine.yaml"]),
        ("admmbench check objp", ["objp", "objpm"]),
    ],
)
def test_a_shell_completes(line, words, tmp_path):
    """Commands, options, installed overlays and those of this folder, names of methods."""
    for name in ("mine.yaml", "minutes.y.html"):
        (tmp_path / name).touch()
    found = completed(line, tmp_path)
    assert set(found) <= set(words)
    assert words[0] in found


def test_the_global_hook_of_argcomplete_knows_the_command():
    """It looks for a mark in the module that the entry point names."""
    subprocess.run([sys.executable, "-m", "argcomplete._check_module", "admmbench"], check=True)
