"""Snakemake's messages, as they come to its logger."""

import io
import logging
import os
import signal
from pathlib import Path
from signal import SIGINT, SIGTERM
from types import SimpleNamespace

import pytest
from rich.console import Console
from snakemake.logging import LoggerManager
from snakemake.settings.enums import Quietness
from snakemake.settings.types import OutputSettings
from snakemake_interface_logger_plugins.registry import LoggerPluginRegistry

from admmbench.forecast.cost import LIMITS
from admmbench.forecast.plan import expected
from admmbench.forecast.timing import Speeds
from admmbench.jobs import limits
from admmbench.jobs.progress import duration
from admmbench.study import config
from admmbench.watch import logger as watching
from admmbench.watch.failure_report import Remains
from admmbench.watch.logger import Watched
from admmbench.watch.study import _changes, _command_line
from tests.forecast.test_plan import ATTACKED
from tests.studies import write_study

COUNTS = {"aggregate": 2, "total": 2}
LOOKS = {"interim_analyses": [1, 2], "seeds": None, "seed_blocks": None}


class Graph:
    """Snakemake's graph of jobs, each with the jobs that it depends on."""

    def __init__(self, *jobs):
        self.jobs = jobs

    def needrun_jobs(self):
        return iter(self.jobs)

    def toposorted(self, jobs):
        return [sorted(jobs, key=self.jobid, reverse=True)]

    def jobid(self, job):
        return self.jobs.index(job)

    def reason(self, job):
        return f"Missing output files: {', '.join(job.output)}"


class Job:
    """Job that makes files."""

    def __init__(self, rule, *output):
        self.rule, self.output = SimpleNamespace(name=rule), output


class Snakemake:
    """Its logging, with this logger and what the workflow adds."""

    def __init__(self, **settings):
        plugin = LoggerPluginRegistry().get_plugin("admmbench")
        given = OutputSettings(
            log_handler_settings={"admmbench": plugin.get_settings({})}, **settings
        )
        self.logger = logging.getLogger("a snakemake")
        self.manager = LoggerManager(self.logger, given)
        (self.handler,) = self.manager.get_log_handlers()
        self.handler.console = Console(file=io.StringIO(), width=200)

    def says(self, message, event=None, level=logging.INFO, **facts):
        self.logger.log(level, message, extra={**({"event": event} if event else {}), **facts})

    def begins(self, nodes=None, jobs=()):
        """All jobs are known."""
        study = config.load({"experiments": ["small"], "files": ["config.yaml", "quick.yaml"]})
        self.remains = Remains([], "index.html")
        replaced = watching.replaced_by(study)
        workflow = SimpleNamespace(dag=Graph(*jobs))
        watched = Watched(study, Path("index.html"), 2, self.remains, replaced, workflow)
        # The first job may be as fast as the logger, which has a thread of its own.
        for name in replaced:
            Path(study.config.results, name, config.MANIFEST).unlink()
        self.says(None, watched=watched)
        if nodes:
            self.says("Provided remote nodes", "resources_info", nodes=nodes)
        self.says("Job stats", "run_info", stats=COUNTS)

    def starts(self, number, log=(), **wildcards):
        facts = {"log": [str(each) for each in log], "wildcards": wildcards, "threads": 1}
        self.says("rule ...", "job_info", jobid=number, rule_name="aggregate", **facts)

    def fails(self, number, log=(), why=None):
        self.says("...", "error", logging.ERROR, exception="RuleException")
        facts = {"log": [str(each) for each in log], "rule_msg": why}
        self.says("...", "job_error", logging.ERROR, jobid=number, **facts)

    def ends(self):
        """What was shown until the end."""
        self.manager.stop()
        return self.handler.console.file.getvalue().splitlines()


@pytest.fixture
def snakemake(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_study(tmp_path, small=ATTACKED)
    made = Snakemake()
    yield made
    made.manager.stop()


def test_a_study_ends_with_one_line(snakemake):
    Path("index.html").touch()
    snakemake.says("Building DAG of jobs...")
    snakemake.begins()
    snakemake.says("Select jobs to execute...")
    for number in (1, 2):
        snakemake.starts(number)
        snakemake.says("Finished", "job_finished", job_id=number)
    snakemake.says("2 of 2 steps", "progress", done=2, total=2)
    assert snakemake.ends() == [
        "Building DAG of jobs...",
        "2 of 2 jobs in 0 s; the report is index.html",
    ]


def test_the_report_is_named_before_the_jobs_if_one_of_them_makes_it(snakemake, monkeypatch):
    monkeypatch.setitem(COUNTS, "suite_report", 1)
    snakemake.begins()
    assert snakemake.ends()[0] == "The report will be index.html."


def test_a_failure_is_shown_at_once_with_the_end_of_its_log(snakemake, tmp_path):
    log = tmp_path / "aggregate.log"
    log.write_text("".join(f"line {n}\n" for n in range(30)))
    snakemake.begins()
    snakemake.starts(1, [log], e="small")
    snakemake.fails(1, [log], "it took too long")
    snakemake.says("Storage is gone", "error", logging.ERROR, exception="WorkflowError")
    first, *lines, other, last = snakemake.ends()
    assert first == f"✗ aggregate, small failed after 0 s; {log} ends:"
    assert lines == [*(f"    line {n}" for n in range(10, 30)), "    it took too long"]
    assert other == "Storage is gone"
    assert last.startswith("0 of 2 jobs in 0 s; 1 failed. The same command tries them again")


def test_a_failure_without_a_word_says_so(snakemake, tmp_path):
    log = tmp_path / "aggregate.log"
    snakemake.begins()
    snakemake.starts(1, [log], e="small")
    snakemake.fails(1, [log], "")
    assert snakemake.ends()[0].endswith(f"{log} is empty, as that of a killed process may be")


def test_a_lock_names_the_command_that_removes_it(snakemake):
    snakemake.begins()
    text = "Error: Directory cannot be locked. ... with the --unlock argument."
    snakemake.says(text, "error", logging.ERROR, exception="LockException")
    line, *_ = snakemake.ends()
    assert line.startswith(f"{Path.cwd()} is locked")
    assert "`admmbench study --unlock` removes the lock" in line


def test_a_limit_on_memory_is_named_instead_of_where_it_was_met(snakemake, monkeypatch):
    monkeypatch.setattr(limits, "memory_limit", lambda: 2_000_000_000)
    snakemake.begins()
    text = "Traceback ...\nRuntimeError: can't start new thread"
    snakemake.says(text, "error", logging.ERROR, exception="RuntimeError")
    line, *_ = snakemake.ends()
    assert line.startswith("out of memory: `ulimit -v` limits each process to 2.00 GB")


@pytest.fixture
def ignored():
    """Signals that do nothing."""
    former = {number: signal.signal(number, lambda *_: None) for number in (SIGINT, SIGTERM)}
    yield
    for number, handler in former.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [SIGINT, SIGTERM])
def test_jobs_that_ctrl_c_ends_have_not_failed(snakemake, ignored, number):
    snakemake.begins()
    snakemake.remains.emit(record("job_started"))
    snakemake.starts(1)
    os.kill(os.getpid(), number)
    snakemake.fails(1)
    snakemake.says("WorkflowError", "error", logging.ERROR, exception="WorkflowError")
    (line,) = snakemake.ends()
    assert "the same command goes on from there" in line


def test_a_study_that_ends_without_a_failed_job_says_how_to_go_on(snakemake):
    snakemake.begins()
    assert snakemake.ends() == ["0 of 2 jobs in 0 s; stopped. The same command goes on from there."]


@pytest.mark.parametrize(("nodes", "said"), [(None, "2 s on 2 cores"), (4, "4 s on 1 core")])
def test_a_long_study_says_what_it_costs(snakemake, monkeypatch, nodes, said):
    """How many cores a scheduler has is not known."""
    monkeypatch.setattr(watching, "HOUR", 1.0)
    snakemake.begins(nodes)
    assert snakemake.ends()[0] == f"quick takes about {said}."


def test_other_workflows_show_what_they_always_do(snakemake):
    snakemake.says("Job stats: 1", "run_info", stats={"a": 1})
    snakemake.says("2 of 2", "progress", done=1, total=2)
    snakemake.says("broken", "error", logging.ERROR, exception="WorkflowError")
    assert snakemake.ends() == ["Job stats: 1", "1 of 2 steps (50%) done", "broken"]


def test_results_of_another_definition_are_said_before_they_are_replaced(snakemake):
    """As an overlay makes them; those of the same definition are not, nor those with fewer seeds of other looks."""
    study = config.load({"experiments": ["small"]})
    folder = Path(study.config.results, "small")
    folder.mkdir(parents=True)
    (folder / "results.nc").touch()
    (folder / config.MANIFEST).write_text(study.definition("small", config.MANIFEST) + "\n")
    assert watching.replaced_by(study) == []
    first, further = (
        config.load({"experiments": ["small"], "overrides": {"small": {**LOOKS, **ordered}}})
        for ordered in ({}, {"ordered": {"ObjP": {1.0: 2}}})
    )
    (folder / config.MANIFEST).write_text(first.definition("small", config.MANIFEST))
    assert watching.replaced_by(further) == []
    assert watching.replaced_by(study) == ["small"]
    for damaged in ("", "[", "[]", "{}", "3"):
        (folder / config.MANIFEST).write_text(damaged)
        assert watching.replaced_by(study) == []
    (folder / config.MANIFEST).write_text(first.definition("small", config.MANIFEST))
    snakemake.begins()
    assert any("has results of small by another definition" in line for line in snakemake.ends())


def test_settings_of_an_earlier_search_are_said_once(snakemake, monkeypatch):
    said = "Settings of ObjP at 1 were found by other code."
    monkeypatch.setattr("admmbench.study.outdated.outdated", lambda name, experiment: [said])
    snakemake.begins()
    assert snakemake.ends().count(f"Note: small: {said}") == 1
    other = Snakemake(dryrun=True)
    other.begins()
    other.says("Job stats", "run_info", stats=COUNTS)
    assert other.ends().count(f"Note: small: {said}") == 1


def test_tuning_ends_with_what_it_found(snakemake, monkeypatch):
    monkeypatch.setitem(COUNTS, "choose_small", 1)
    chosen = Path("config/tuned/small.yaml")
    chosen.parent.mkdir()
    chosen.write_text("{}\n")
    snakemake.begins()
    for number in range(3):
        snakemake.starts(number)
        snakemake.says("Finished", "job_finished", job_id=number)
    assert f"settings that were found are in {chosen}" in snakemake.ends()[-1]


def test_a_dry_run_shows_a_table_once(snakemake, monkeypatch):
    """With one row for rules that are alike."""
    for rule in ("run_mnist_a_1", "run_mnist_b_2", "suite_run_a"):
        monkeypatch.setitem(COUNTS, rule, 3)
    other = Snakemake(dryrun=True)
    other.begins()
    other.says("Job stats", "run_info", stats=COUNTS)
    other.says("Reasons: ...")
    lines = other.ends()
    rows = [["aggregate", "2"], ["total", "2"], ["run", "6"], ["suite_run", "3"]]
    assert [line.split() for line in lines[:4]] == rows
    assert lines[-1] == "This was a dry-run: nothing was made. -p shows each job and why."
    assert not [line for line in lines[4:] if "total" in line or "Reasons" in line]


def test_a_dry_run_says_how_long_its_own_jobs_take(snakemake, monkeypatch):
    """Whatever is there already; rules may have a prefix in another workflow."""
    study = config.load({"experiments": ["small"]})
    jobs = expected(study, Speeds(study))
    for rule in jobs:
        monkeypatch.setitem(COUNTS, f"suite_{rule}", 200)
    other = Snakemake(dryrun=True)
    other.begins()
    seconds = 200 * sum(job.seconds for job in jobs.values()) + 2 * LIMITS.start
    assert f"quick takes about {duration(seconds / 2)} on 2 cores." in other.ends()


def test_a_dry_run_says_why(snakemake):
    """Rules that make no file, such as the target, have no reason of their own."""
    jobs = Job("aggregate", "results.nc"), Job("figures_small", "a.svg"), Job("all")
    other = Snakemake(dryrun=True)
    other.begins(jobs=jobs)
    lines = other.ends()
    assert [line for line in lines if "never made" in line] == [
        "aggregate, figures: never made, or removed (2 jobs)"
    ]
    assert lines[-1].startswith("This was a dry-run")


@pytest.mark.parametrize(
    ("options", "stated", "early"),
    [
        ({"dryrun": True}, None, True),
        ({"dryrun": True, "printshellcmds": True}, None, False),
        ({"dryrun": True, "log_handler_settings": {}}, None, False),
        ({}, {Quietness.HOST}, False),
    ],
)
def test_a_dry_run_ends_before_snakemake_prints_each_job(options, stated, early):
    """Unless all jobs are asked for, or another logger shows them."""
    loggers = {"log_handler_settings": {"admmbench": None}}
    settings = OutputSettings(**{**loggers, **options}, quiet=stated)
    watching.shorten_dry_run(settings)
    assert settings.quiet == ({Quietness.RULES, Quietness.PROGRESS} if early else stated)


def test_a_dry_run_may_show_each_job(snakemake):
    other = Snakemake(dryrun=True, printshellcmds=True)
    other.begins()
    other.says("Reasons: ...")
    assert other.ends() == ["Job stats", "Reasons: ..."]


def record(event, **facts):
    return SimpleNamespace(event=event, **facts)


@pytest.fixture
def remains(monkeypatch, tmp_path):
    """What was called to write the report."""
    called = []

    def run(command, **_):
        called.append(command)
        return SimpleNamespace(stdout="", stderr="", returncode=1)

    monkeypatch.setattr("admmbench.watch.failure_report.subprocess.run", run)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results/small").mkdir(parents=True)
    (tmp_path / "results/small/manifest.json").touch()
    return Remains(["results/small"], "index.html"), called


def test_a_report_comes_of_what_exists_if_a_job_failed(remains):
    made, called = remains
    made.emit(record("job_error", jobid=1, log=[]))
    made.close()
    made.close()
    (command,) = called
    assert command[3:] == [
        "report",
        "results/small",
        "--keep-what-exists",
        "--output",
        "index.html",
    ]


def test_no_report_comes_of_single_runs(remains):
    """As of a sweep: nothing of an experiment is there but these."""
    made, called = remains
    Path("results/small/manifest.json").unlink()
    made.emit(record("job_error", jobid=1, log=[]))
    made.close()
    assert called == []


def test_no_report_comes_where_a_second_attempt_succeeds_or_somebody_stops_it(remains, ignored):
    made, called = remains
    made.emit(record("job_started"))
    made.emit(record("job_error", jobid=1, log=[]))
    made.emit(record("job_finished", job_id=1))
    made.close()
    made.emit(record("job_error", jobid=2, log=[]))
    assert not made.stopped
    os.kill(os.getpid(), SIGTERM)
    made.close()
    assert called == []


OURS, ALL = ["--logger", "admmbench"], ["--cores", "all"]
FILE, GIVEN = Path("a.yaml"), ["--configfile", "a.yaml"]


@pytest.mark.parametrize(
    ("configuration", "options", "words"),
    [
        (None, [], [*OURS, *ALL]),
        (FILE, ["results", "-c2"], ["results", "-c2", *OURS, *GIVEN]),
        (None, ["--jobscript", "f"], ["--jobscript", "f", *OURS, *ALL]),
        (None, ["-j4"], ["-j4", *OURS]),
        (None, [*OURS, "-c1"], [*OURS, "-c1"]),
        (None, ["--core", "1"], ["--core", "1", *OURS]),  # which Snakemake takes for --cores
        (FILE, ["--profile=x", "--", "b"], ["--profile=x", *OURS, *GIVEN, "--", "b"]),
        (FILE, ["-c1", "-C", "a=1"], ["-c1", "-C", "a=1", *OURS, *GIVEN, "--config"]),
    ],
)
def test_snakemake_gets_its_options(configuration, options, words):
    """This logger, all cores unless something says otherwise, the configuration where no target is taken for one."""
    assert _command_line(configuration, options) == words


def test_changes_on_the_command_line_are_those_of_snakemake():
    """So that no other study is measured than the one that runs."""
    words = ["-n", "--config", "experiments=[a]", "overrides={a: {seeds: 03}}", "--cores", "1"]
    assert _changes(words) == {"experiments": ["a"], "overrides": {"a": {"seeds": 3}}}
    assert _changes(["--config=threads=010"]) == {"threads": 10}
    assert _changes(["-n"]) == {}
