"""How far a study is, by a forecast of its work and the logs of its jobs, on a terminal and in a log."""

import io
from functools import partial

import pytest
from rich.console import Console
from rich.progress import Progress

from admmbench.forecast.plan import Expected
from admmbench.watch import board as shown
from admmbench.watch.board import Board


def console(*, terminal=False, width=140):
    return Console(file=io.StringIO(), force_terminal=terminal, width=width, height=40)


@pytest.fixture
def logs(tmp_path):
    return str(tmp_path / "long"), str(tmp_path / "short")


def made(counts, **options):
    """Runs take 90 and 10 core-seconds."""
    known = {"run_a": Expected("ObjP [a]", 90), "run_b": Expected("OutP", 10)}
    return Board("quick", counts, known, console(**options))


def start(board, *logs):
    rules = "run_a", "run_b", *["a job"] * 20
    for number, (log, rule) in enumerate(zip(logs, rules, strict=False)):
        board.start(number, rule, {"point": "epsilon=1"}, log)


def part(board):
    """Of the work that is done, in percent."""
    line = board._refresh()
    return int(line.removeprefix("quick: ").partition(" %")[0])


def write(log, line):
    with open(log, "w") as file:
        file.write(line)


def test_work_is_weighted_by_the_forecast(logs):
    """Nine tenths of the work are in one of two jobs; a log says how much of it is done."""
    board = made({"run_a": 1, "run_b": 1})
    long, short = logs
    assert board.work == 100
    start(board, long, short)
    assert part(board) == 0
    write(long, "x: round 40 of 200, 12 s, about 48 s left\nadmmbench: a warning\n")
    assert part(board) == 18
    board.finish(1)
    assert part(board) == 28
    board.finish(0)
    assert part(board) == 100
    assert (board.done, board.total) == (2, 2)


def test_the_time_that_is_left_follows_from_the_speed(logs, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(shown, "Progress", partial(Progress, get_time=lambda: now[0]))
    board = made({"run_a": 1, "run_b": 1})
    long, _ = logs
    start(board, long)
    assert "left" not in board._refresh()
    for done in (1, 100):
        now[0] += 60
        write(long, f"x: round {done} of 200, 12 s, about 48 s left\n")
        found = board._refresh()
    # 99 of 200 rounds in a minute, and of 100 core-seconds 55 are left.
    assert "about 75 s left" in found


def test_failed_jobs_are_tried_again(logs):
    board = made({"run_a": 1, "run_b": 1})
    long, _ = logs
    start(board, long)
    assert board.fail(0).description.strip() == "ObjP [a], epsilon=1"
    assert "1 failed" in board._refresh()
    assert board.work == 10  # of what can still be done
    assert board.fail(7) is None  # which did not run
    start(board, long)
    assert "failed" not in board._refresh()
    assert board.work == 100


def test_the_bar_never_goes_back(logs):
    """Whatever jobs lose by a failure, or by lines in a log that hide how far they are."""
    board = made({"run_a": 1, "run_b": 1})
    long, short = logs
    write(long, "x: round 100 of 200, 12 s, about 48 s left\n")
    start(board, long, short)
    assert part(board) == 45
    write(long, "a warning\n" * 9)
    assert part(board) == 45
    board.finish(1)
    board.fail(0)
    assert part(board) == 100
    start(board, long)
    assert part(board) == 100
    board.finish(0)
    assert part(board) == 100


def running(board, logs):
    """One job has failed, one is done, and twenty are running, one of which reports."""
    long, _ = logs
    write(long, "x: round 40 of 200, 12 s, about 48 s left\n")
    start(board, long, *[""] * 21)
    board.finish(20)
    board.fail(21)


def test_a_terminal_has_a_bar_and_a_row_for_each_running_job(logs):
    board = made({"run_a": 1, "run": 22}, terminal=True)
    running(board, logs)
    board.show()
    board.stop()
    text = board._console.file.getvalue()
    for fact in ("quick", "1 of 23 jobs", "1 failed", "20 started", "━"):
        assert fact in text
    for cell in ("ObjP [a], epsilon=1", "round 40 of 200"):
        assert cell in text
    assert text.partition("\x1b[1A")[0].count("a job") == 18


def test_elsewhere_there_is_a_line_now_and_then(logs, monkeypatch):
    monkeypatch.setattr(shown, "INTERVAL", 0.01)
    board = made({"run_a": 1, "run": 22}, width=40)
    running(board, logs)
    board.show()
    while not board._console.file.getvalue():
        pass
    board.stop()
    first = board._console.file.getvalue().splitlines()[0]
    assert first.startswith("quick: ")
    assert "1 of 23 jobs, 1 failed, " in first
    assert first.endswith(
        "20 started: ObjP [a], epsilon=1, round 40 of 200, 0 s; OutP, epsilon=1, 0 s"
    )
