"""Studies, searches, rankings and sweeps on a terminal: Ctrl-C, a kill, and the same command again."""

import contextlib
import os
import pty
import re
import select
import signal
import sys
from pathlib import Path

import psutil
import pytest

from admmbench import scaffold
from tests.datasets.test_table import patients
from tests.plugins import write_method
from tests.studies import write_study
from tests.workflow.project import ROOT, wait_for

pytestmark = pytest.mark.slow

SLOW = """
def round(self, t, state, federation):
    import os, time

    time.sleep(float(os.environ["PAUSE"]))
    return super().round(t, state, federation)
"""
METHODS = [{"name": "slow.py", "label": "Slow"}, {"name": "objp", "label": "ObjP"}]
OWN = {
    "title": "Own",
    "dataset": "digits",
    "agents": 3,
    "rounds": 60,
    "privacy": {"total": 1},
    "sensitivity": "global",
    "interim_analyses": [1, 2],
    "margin": 50,
    "algorithms": METHODS,
}
TUNED = {
    "interim_analyses": None,
    "tuning": {"trials": 8},
    "algorithms": [{**each, "tune": {"params.a": {"start": 1}}} for each in METHODS],
}
SWEEP = f"""
import sys
from admmbench import sweep

try:
    sweep("digits", {METHODS}, epsilons=1, rounds=60, seeds=2, agents=3)
except KeyboardInterrupt:
    sys.exit(130)
"""
RANK = "rank patients.csv --target label --total 1 --methods slow.py,objp --trials 8 --seeds 1"
ADMMBENCH = "-m", "admmbench"
COMMANDS = {
    "study": (*ADMMBENCH, "study"),
    "until decided": (*ADMMBENCH, "study", "--until-decided"),
    "tune": (*ADMMBENCH, "study", "tune"),
    "rank": (*ADMMBENCH, *RANK.split()),
    "sweep": ("sweep.py",),
}


class Terminal:
    """A command on a terminal of its own, and what this shows."""

    def __init__(self, words, pause=0.1):
        self.shown = ""
        given = {"PYTHONPATH": str(ROOT / "src"), "PAUSE": str(pause), "COLUMNS": "160"}
        self.pid, self._handle = pty.fork()
        if self.pid == 0:
            os.execve(sys.executable, [sys.executable, *words], {**os.environ, **given})

    def press_ctrl_c(self):
        os.write(self._handle, b"\x03")

    def is_at_work(self):
        """Read what is shown, as a terminal that nobody reads is full one day."""
        while select.select([self._handle], [], [], 0)[0]:
            try:
                self.shown += os.read(self._handle, 65536).decode(errors="replace")
            except OSError:  # the other end is closed
                break
        return psutil.Process(self.pid).status() != psutil.STATUS_ZOMBIE

    @property
    def processes(self):
        """The command, and all that it started."""
        command = psutil.Process(self.pid)
        return [*command.children(recursive=True), command]

    def end(self):
        """Wait for the end, and return the exit status."""
        wait_for(lambda: not self.is_at_work(), 900)
        os.close(self._handle)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@pytest.fixture(params=COMMANDS)
def name(request, tmp_path, monkeypatch):
    """Name of a command, in a folder where it can be called."""
    monkeypatch.chdir(tmp_path)
    if request.param in ("rank", "sweep"):
        patients().to_csv("patients.csv", index=False)
        Path("sweep.py").write_text(SWEEP)
    else:
        scaffold.write_study(tmp_path / "own")
        monkeypatch.chdir("own")
        changes = TUNED if request.param == "tune" else {}
        write_study(Path(), own={**OWN, **changes})
    write_method(Path("slow.py"), SLOW)
    return request.param


@pytest.mark.usefixtures("signals_heard")
def test_ctrl_c_and_a_kill_leave_what_the_same_command_goes_on_from(name):
    searches = name in ("tune", "rank")
    kept = "**/tuning/slow-*.trials" if searches else "**/slow-*/checkpoints/*"
    logs = "**/logs/tuning/slow-*.log" if searches else "**/slow-*/logs/*.log"

    def wait_for_words(terminal, words):
        """Wait until the log of the slow method has them; a sweep makes its last run itself, and logs here."""

        def said():
            assert terminal.is_at_work(), terminal.shown[-500:]
            texts = [path.read_text() for path in Path().glob(logs)]
            if name == "sweep" and terminal is not first:
                texts.append(terminal.shown)
            return any(re.search(words, text) for text in texts)

        wait_for(said, 900)

    first = Terminal(COMMANDS[name])
    wait_for_words(first, r"trial \d" if searches else r"round \d")
    processes = first.processes
    first.press_ctrl_c()
    assert first.end() == 130, first.shown[-500:]
    assert "the same command goes on from there" in first.shown
    assert "failed" not in first.shown
    assert not psutil.wait_procs(processes, timeout=30)[1]
    assert [*Path().glob(kept)]
    assert not [*Path().glob("**/index.html")]

    for path in Path().glob(logs):
        path.unlink()
    second = Terminal(COMMANDS[name])
    wait_for_words(second, r"trial \d" if searches else "going on after round")
    for process in second.processes:
        process.kill()
    assert second.end() == -signal.SIGKILL
    assert [*Path().glob(kept)]

    if name != "sweep":  # whose folder has no lock
        with contextlib.chdir("rank-patients" if name == "rank" else "."):
            assert Terminal((*ADMMBENCH, "study", "--unlock")).end() == 0
    last = Terminal(COMMANDS[name], pause=0)
    assert last.end() == 0, last.shown[-500:]
    assert not [*Path().glob(kept)]
