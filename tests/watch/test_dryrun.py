"""What a dry run shows of many jobs."""

import logging

from admmbench.watch.dryrun import Brief

ROWS = {"run_mnist_a": "runs on mnist", "run_mnist_b": "runs on mnist"}


def record(message, **facts):
    made = logging.LogRecord("snakemake", logging.INFO, "", 0, message, (), None)
    vars(made).update(facts)
    return made


def test_a_table_with_a_row_for_each_data_set_comes_once():
    brief = Brief(lambda: True, ROWS, lambda: "About an hour.")
    stats = {"prepare": 1, "run_mnist_a": 3, "run_mnist_b": 2, "total": 6}
    shown = record("Job stats: ...", event="run_info", stats=stats)
    assert brief.filter(shown)
    lines = shown.getMessage().split("\n")
    assert [line.split() for line in lines[:3]] == [
        ["prepare", "1"],
        ["runs", "on", "mnist", "5"],
        ["total", "6"],
    ]
    assert "About an hour." in lines
    assert not brief.filter(record("Job stats: ...", event="run_info", stats=stats))


def test_jobs_and_reasons_are_left_out_and_the_rest_stays():
    brief = Brief(lambda: True, ROWS, lambda: "")
    assert not brief.filter(record("rule a", event="job_info"))
    assert not brief.filter(record("Reasons:\n    (check individual jobs"))
    assert brief.filter(record("Building DAG of jobs..."))
    assert brief.filter(record("an error", event="job_error"))


def test_other_calls_show_everything():
    brief = Brief(lambda: False, ROWS, lambda: "")
    for event in ("job_info", "run_info"):
        shown = record("as it is", event=event, stats={"run_mnist_a": 1})
        assert brief.filter(shown)
        assert shown.getMessage() == "as it is"
