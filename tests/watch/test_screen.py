"""What a terminal and a log show of a study."""

import io

import pytest
from rich.console import Console

from admmbench.watch import screen as shown
from admmbench.watch.expected import Expected
from admmbench.watch.progress import Job, Progress, State


@pytest.fixture
def progress(tmp_path):
    """One job is done, one has failed, twenty are running, one of which reports, and one waits."""
    log, checkpoint = tmp_path / "run.log", tmp_path / "state"
    log.write_text("x: round 40 of 200, 12 s, about 48 s left\n")
    checkpoint.touch()
    first = Job(0, Expected("ObjP [a], epsilon 1", "run", 60, checkpoint), log=log)
    others = [Job(number, Expected(f"job {number}", "run", 60)) for number in range(1, 23)]
    made = Progress([first, *others], 20)
    made.start(range(22))
    made.end(20, State.DONE)
    made.end(21, State.FAILED)
    return made


def test_a_terminal_has_a_bar_and_a_row_for_each_running_job(progress):
    console = Console(file=io.StringIO(), force_terminal=True, width=120, height=40)
    bar = shown.screen(progress, "quick", console)
    bar.start()
    bar.stop()
    text = console.file.getvalue()
    for fact in ("quick", "1 of 23 jobs", "1 failed", "about", "━"):
        assert fact in text
    for cell in ("ObjP [a], epsilon 1", "round 40 of 200", "checkpoint 0 s ago", "job 11"):
        assert cell in text
    assert "and 8 more" in text
    assert "job 12" not in text


def test_elsewhere_there_is_a_line_now_and_then(progress, monkeypatch):
    monkeypatch.setattr(shown, "INTERVAL", 0.01)
    console = Console(file=io.StringIO(), width=40)
    lines = shown.screen(progress, "quick", console)
    lines.start()
    while not console.file.getvalue():
        pass
    lines.stop()
    first = console.file.getvalue().splitlines()[0]
    assert first.startswith("quick: ")
    assert "1 of 23 jobs, 1 failed, " in first
    assert "running: ObjP [a], epsilon 1 round 40 of 200 0 s checkpoint 0 s ago; job 1" in first
    assert first.endswith("and 18 more")
