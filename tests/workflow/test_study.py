"""`admmbench study` on a terminal and in a log: Ctrl-C, going on, failures."""

import os
import pty
import re
import select
import sys

import pytest

from tests.plugins import write_method
from tests.workflow.project import STUDY, wait_for

pytestmark = pytest.mark.slow

SLOW = """
def round(self, t, state, federation):
    import os, time

    time.sleep(float(os.environ.get("PAUSE", 0)))
    return super().round(t, state, federation)
"""


@pytest.mark.usefixtures("signals_heard")
def test_ctrl_c_leaves_checkpoints_and_says_how_to_go_on(project):
    """On a terminal; a run of 6 seconds is stopped after its first rounds, and goes on from there."""
    write_method(project.folder / "slow.py", SLOW)
    added = {"name": "slow.py", "label": "Slow"}
    project.configure(rounds=120, algorithms=[STUDY["algorithms"][0], added])
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(project.folder)
        os.environ.update(project.environment, COLUMNS="160", LINES="40", PAUSE="0.05")
        os.execv(sys.executable, [sys.executable, "-m", "admmbench", "study", "config/tiny.yaml"])
    shown = b""

    def read():
        nonlocal shown
        while select.select([terminal], [], [], 0)[0]:
            try:
                more = os.read(terminal, 65536)
            except OSError:  # the other end is closed
                return
            if not more:
                return
            shown += more

    def seen():
        read()
        return shown.decode(errors="replace")

    wait_for(lambda: re.search(r"Slow, epsilon=0\.5\+seeds=0-1.*round ", seen()))
    os.write(terminal, b"\x03")
    wait_for(lambda: "the same command goes on from there" in seen())
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 130
    assert "failed" not in seen()
    assert (project.folder / "results/report/tiny/index.html").stat().st_mtime > 0  # not written
    (state,) = project.folder.glob("results/runs/digits/slow-*/checkpoints/*")
    assert state.stat().st_size > 0
    study = "study", "config/tiny.yaml"
    assert "the report is results/report/tiny/index.html" in project.admmbench(*study)
    (log,) = project.folder.glob("results/runs/digits/slow-*/logs/*.log")
    assert "going on after round" in log.read_text()
    assert "Nothing to be done" in project.admmbench(*study)
