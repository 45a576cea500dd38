"""How far a study is: shares of the work, and forecasts that finished jobs correct."""

import os
import time

import pytest

from admmbench.watch.expected import START, Expected
from admmbench.watch.progress import Job, Progress, State


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def job(number, seconds, kind="a", **more):
    return Job(number, Expected(f"job {number}", kind, seconds), **more)


def test_work_is_weighted_by_the_forecast(clock):
    """Nine tenths of the work are in one of two jobs; the first has taken what was forecast."""
    progress = Progress([job(1, 90), job(2, 10)], 1, clock)
    assert progress.outlook() == (0, 100)
    progress.start([1])
    clock.now += 90
    progress.end(1, State.DONE)
    assert progress.outlook() == pytest.approx((0.9, 10))
    progress.start([2])
    clock.now += 10
    progress.end(2, State.DONE)
    assert progress.outlook() == (1, 0)
    assert progress.elapsed == 100


def test_finished_jobs_correct_the_forecast(clock):
    """Jobs that took three times as long: their kind is held to take longer, other kinds less so."""
    progress = Progress([job(1, 10), job(2, 10), job(3, 10), job(4, 10, "b")], 1, clock)
    left = {}
    for number in (1, 2):
        progress.start([number])
        clock.now += 30
        progress.end(number, State.DONE)
        left[number] = progress.outlook().left
    # All jobs: (1 + 3) / 2 = 2, of this kind (2 + 3) / 2 = 2.5; then (1 + 2 * 3) / 3 and (7 / 3 + 2 * 3) / 3.
    assert left[1] == pytest.approx(2 * 25 + 20)
    assert left[2] == pytest.approx(10 * (7 / 3 + 6) / 3 + 10 * 7 / 3)


def test_jobs_that_hardly_compute_say_nothing_of_those_that_do(clock):
    progress = Progress([job(1, START, "define"), job(2, START, "define"), job(3, 1000)], 1, clock)
    progress.start([1])
    progress.end(1, State.DONE)
    assert progress.outlook().left == 1000 + START / 2


def test_the_longest_job_decides_where_cores_are_many(clock):
    jobs = [job(1, 60), *(job(number, 10) for number in range(2, 6))]
    assert Progress(jobs, 2, clock).outlook().left == 60
    assert Progress(jobs, 1, clock).outlook().left == 100


def test_threads_share_the_work_of_a_job(clock):
    """Forecasts are core-seconds."""
    progress = Progress([job(1, 60, threads=2), job(2, 60, threads=2)], 2, clock)
    progress.start([1])
    clock.now += 30
    progress.end(1, State.DONE)
    assert progress.outlook() == pytest.approx((0.5, 30))


def test_a_scheduler_gives_as_many_cores_as_are_at_work(clock, tmp_path):
    """Submitted jobs are in its queue until they write to their logs, which may be there from another attempt."""
    logs = [tmp_path / f"{number}.log" for number in range(8)]
    logs[7].touch()
    os.utime(logs[7], (0, 0))
    jobs = [job(number, 10, log=log) for number, log in enumerate(logs)]
    progress = Progress(jobs, None, clock)
    assert progress.outlook().left == 80
    progress.start(range(8))
    clock.now += 100
    assert progress.outlook() == (0, 80)
    assert len(progress.of(State.QUEUED)) == 8
    for log in logs[4:]:
        log.touch()
    assert progress.outlook().left == 20
    assert [each.number for each in progress.of(State.RUNNING)] == [4, 5, 6, 7]
    clock.now += 10
    progress.end(4, State.DONE)
    assert progress.jobs[4].took == 10


def test_a_job_that_ends_while_its_log_is_read_stays_ended(clock, tmp_path, monkeypatch):
    waiting = job(1, 10, log=tmp_path / "1.log")
    progress = Progress([waiting], None, clock)
    progress.start([1])

    def ended_meanwhile(read):
        progress.end(1, State.DONE)
        return True

    monkeypatch.setattr(type(waiting), "begun", ended_meanwhile)
    progress.outlook()
    assert waiting.state is State.DONE


def test_a_job_that_nobody_saw_run_says_nothing_of_how_long_such_jobs_take(clock, tmp_path):
    progress = Progress([job(1, 10, log=tmp_path / "1.log"), job(2, 10)], None, clock)
    progress.start([1])
    clock.now += 100
    progress.end(1, State.DONE)
    assert progress.outlook().left == 10


def test_a_job_that_is_late_is_not_held_to_be_done(clock):
    progress = Progress([job(1, 10)], 1, clock)
    progress.start([1])
    clock.now += 100
    assert progress.outlook().left == pytest.approx(1)
    assert progress.outlook().part < 1


def test_a_log_knows_better(clock, tmp_path):
    log = tmp_path / "run.log"
    running = job(1, 10, log=log)
    progress = Progress([running], 1, clock)
    progress.start([1])
    assert running.reported() is None
    log.write_text(
        "ObjP on mnist, epsilon 1: round 1 of 200, 1 s, about 199 s left\n"
        "ObjP on mnist, epsilon 1: round 40 of 200, 12 s, about 48 s left\nadmmbench: a warning\n"
    )
    before = time.time() - 8
    os.utime(log, (before, before))
    report = running.reported()
    assert report.done == "round 40 of 200"
    assert report.left == pytest.approx(40, abs=2)
    assert progress.outlook().left == pytest.approx(40, abs=2)


def test_failed_jobs_are_tried_again(clock):
    progress = Progress([job(1, 10), job(2, 10)], 1, clock)
    progress.start([1])
    clock.now += 3
    assert progress.end(1, State.FAILED).took == 3
    assert [each.number for each in progress.of(State.FAILED)] == [1]
    # A failure says nothing of how long such jobs take.
    assert progress.outlook().left == 10
    progress.start([1])
    assert progress.of(State.FAILED) == []
    assert [each.number for each in progress.of(State.RUNNING)] == [1]


def test_other_jobs_are_ignored(clock):
    progress = Progress([job(1, 10)], 1, clock)
    progress.start([7])
    assert progress.end(7, State.DONE) is None
    assert progress.outlook() == (0, 10)


def test_nothing_to_do_is_done(clock):
    assert Progress([], 1, clock).outlook() == (1, 0)


def test_a_log_that_vanishes_or_is_of_tomorrow_is_no_fault(clock, tmp_path, monkeypatch):
    line = "x: round 40 of 200, 9 s, about 36 s left"
    running = job(1, 90, log=tmp_path / "log")
    (tmp_path / "log").write_text(line)
    os.utime(tmp_path / "log", (time.time() + 9e4,) * 2)
    assert running.reported() == ("round 40 of 200", 36)
    (tmp_path / "log").unlink()
    assert running.reported() is None
    monkeypatch.setattr(Job, "last_lines", lambda self, count: [line])
    assert running.reported() == ("round 40 of 200", 36)
