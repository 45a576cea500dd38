"""Lines in a log: how far a job is, and how long it takes."""

from itertools import pairwise

import pytest

from admmbench.jobs import progress


@pytest.fixture
def lines(monkeypatch, capsys):
    """Return what is written for some calls, each after so many seconds."""
    now = 0.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)

    def write(steps, total):
        nonlocal now
        with progress.shown("Run") as report:
            for seconds, done in steps:
                now += seconds
                report(done, total)
        return capsys.readouterr().err.splitlines()

    return write


def test_the_first_round_says_nothing_of_the_others(lines):
    """It compiles for 60 seconds; the other rounds take half a second."""
    found = lines([(60, 1), *((0.5, n) for n in range(2, 11))], 10)
    assert found[0] == "Run: round 2 of 10, 60 s, about 4 s left"
    assert found[-1] == "Run: round 10 of 10, 64 s, about 0 s left"


def test_rounds_of_an_earlier_attempt_took_no_time_here(lines):
    found = lines([(1, 101), (10, 111), (10, 121)], 201)
    assert found[0] == "Run: round 111 of 201, 11 s, about 90 s left"


def test_lines_come_soon_and_then_every_half_minute(lines):
    found = lines([(0.25, n) for n in range(1, 1001)], 1000)
    seconds = [int(line.split(", ")[1].split()[0]) for line in found]
    assert seconds[:6] == [1, 2, 4, 8, 16, 32]
    assert {b - a for a, b in pairwise(seconds[5:-1])} == {30}


def test_a_single_round_is_told(lines):
    assert lines([(3, 1)], 1) == ["Run: round 1 of 1, 3 s, about 0 s left"]
