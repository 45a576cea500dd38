"""Snakemake's messages, as they come."""

import io
import logging
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from rich.console import Console

from admmbench.study import config
from admmbench.watch import handler
from admmbench.watch.handler import Watch
from admmbench.watch.progress import State
from admmbench.watch.study import _changes, _conclude, _words
from tests.watch.test_expected import SMALL


class Snakemake:
    """A logger with Snakemake's handlers, and a workflow of two jobs."""

    def __init__(self, log):
        rule = SimpleNamespace(name="aggregate")
        jobs = [
            SimpleNamespace(jobid=1, log=[log], threads=1, rule=rule, wildcards_dict={}),
            SimpleNamespace(jobid=2, log=[], threads=1, rule=rule, wildcards_dict={"e": "small"}),
        ]
        self.workflow = SimpleNamespace(
            dryrun=False,
            is_main_process=True,
            local_exec=True,
            resource_settings=SimpleNamespace(cores=2),
            dag=SimpleNamespace(needrun_jobs=lambda: iter(jobs)),
        )
        self.logger = logging.Logger("snakemake")
        usual = logging.StreamHandler(io.StringIO())
        usual.name = "DefaultStreamHandler"
        self.usual, self.file = usual, logging.StreamHandler(io.StringIO())
        self.logger.addHandler(usual)
        self.logger.addHandler(self.file)

    def says(self, message, event=None, level=logging.INFO, **facts):
        self.logger.log(level, message, extra={**({"event": event} if event else {}), **facts})


@pytest.fixture
def snakemake(tmp_path):
    return Snakemake(tmp_path / "aggregate.log")


@pytest.fixture
def watch(snakemake, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config/experiments").mkdir(parents=True)
    (tmp_path / "config/experiments/small.yaml").write_text(yaml.safe_dump(SMALL))
    made = Watch("quick", [], Console(file=io.StringIO(), width=200))
    study = config.load({"experiments": ["small"]})
    made.attach(study, "index.html", snakemake.workflow, snakemake.logger)
    yield made
    made.close()


def printed(watch):
    return watch._console.file.getvalue()


def test_jobs_are_followed_and_the_log_file_has_everything(watch, snakemake):
    snakemake.says("Building DAG of jobs...")
    snakemake.says("Job stats", "run_info")
    snakemake.says("Execute 2 jobs...", "job_started", jobs=[1, 2])
    assert [job.expected.title for job in watch.progress.of(State.RUNNING)] == [
        "aggregate",
        "aggregate small",
    ]
    snakemake.says("Finished jobid: 2", "job_finished", job_id=2)
    assert [job.number for job in watch.progress.of(State.DONE)] == [2]
    assert printed(watch) == ""
    assert snakemake.usual.stream.getvalue() == ""
    assert "Building DAG" in snakemake.file.stream.getvalue()


def test_a_failure_is_shown_at_once_with_the_end_of_its_log(watch, snakemake, tmp_path):
    (tmp_path / "aggregate.log").write_text("".join(f"line {n}\n" for n in range(30)))
    snakemake.says("Job stats", "run_info")
    snakemake.says("Execute", "job_started", jobs=[1])
    snakemake.says("Error in rule", "job_error", logging.ERROR, jobid=1)
    snakemake.says("RuleException: ...", "error", logging.ERROR, exception="RuleException")
    snakemake.says("Storage is gone", "error", logging.ERROR, exception="WorkflowError")
    lines = printed(watch).splitlines()
    assert lines[0].startswith("✗ aggregate failed after 0 s; ")
    assert lines[1:-1] == [f"    line {n}" for n in range(20, 30)]
    assert lines[-1] == "Storage is gone"


def test_jobs_that_ctrl_c_ends_have_not_failed(watch, snakemake):
    snakemake.says("Job stats", "run_info")
    snakemake.says("Execute", "job_started", jobs=[1])
    watch.interrupted = True
    snakemake.says("Error in rule", "job_error", logging.ERROR, jobid=1)
    snakemake.says("WorkflowError", "error", logging.ERROR, exception="WorkflowError")
    assert printed(watch) == ""
    assert watch.progress.of(State.FAILED) == []


def test_a_study_that_ends_without_a_failed_job_says_how_to_go_on(watch, snakemake):
    snakemake.says("Job stats", "run_info")
    console = Console(file=io.StringIO(), width=200)
    _conclude(watch, 1, console)
    assert "stopped. The same command goes on from there." in console.file.getvalue()


def test_where_nothing_is_to_be_done_snakemake_says_so(watch, snakemake):
    snakemake.says("Nothing to be done")
    Path("index.html").touch()
    _conclude(watch, 0, watch._console)
    assert printed(watch) == "Nothing to be done\nThe report is index.html\n"


def test_a_long_study_says_what_it_costs(watch, snakemake, monkeypatch):
    monkeypatch.setattr(handler, "HOUR", 1.0)
    monkeypatch.setattr(handler, "smaller", lambda study, given: ["config/a.yaml runs less."])
    snakemake.says("Job stats", "run_info")
    assert printed(watch) == "quick takes about 2 s on 2 cores.\nconfig/a.yaml runs less.\n"


def test_jobs_show_what_they_always_do(snakemake):
    snakemake.workflow.is_main_process = False
    watch = Watch("quick", [], Console(file=io.StringIO()))
    watch.attach(None, None, snakemake.workflow, snakemake.logger)
    assert snakemake.usual in snakemake.logger.handlers
    assert watch not in snakemake.logger.handlers


def test_dry_runs_show_what_they_always_do(watch, snakemake):
    """Snakemake knows that it is one after it has read the workflow."""
    snakemake.says("Building DAG of jobs...")
    snakemake.workflow.dryrun = True
    snakemake.says("Job stats", "run_info")
    snakemake.says("Reasons: ...")
    assert printed(watch) == ""
    assert snakemake.usual.stream.getvalue() == "Building DAG of jobs...\nJob stats\nReasons: ...\n"
    Path("index.html").touch()
    _conclude(watch, 0, watch._console)
    assert printed(watch) == ""


def test_snakemake_gets_its_options():
    """All cores unless something says how many; configurations where no target can be taken for one."""
    assert _words([], []) == ["--cores", "all"]
    assert _words(["a.yaml"], ["results", "-c2"]) == ["results", "-c2", "--configfile", "a.yaml"]
    assert _words([], ["--jobscript", "f"]) == ["--jobscript", "f", "--cores", "all"]
    assert _words([], ["-j4"]) == ["-j4"]
    assert _words([], ["--core", "1"]) == ["--core", "1"]  # which Snakemake takes for --cores
    assert _words(["a", "b"], ["--profile=x", "--", "results"]) == [
        *("--profile=x", "--configfile", "a", "b", "--", "results"),
    ]


def test_changes_on_the_command_line_are_those_of_snakemake():
    """So that no other study is measured than the one that runs."""
    words = ["-n", "--config", "experiments=[a]", "overrides={a: {seeds: 03}}", "--cores", "1"]
    assert _changes(words) == {"experiments": ["a"], "overrides": {"a": {"seeds": 3}}}
    assert _changes(["--config=threads=010"]) == {"threads": 10}
    assert _changes(["-n"]) == {}
