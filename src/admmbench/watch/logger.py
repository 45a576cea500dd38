"""Logger ``admmbench`` of Snakemake, which shows messages about jobs as progress."""

from __future__ import annotations

import contextlib
import json
import logging
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from admmbench.jobs import limits
from admmbench.jobs.progress import duration

if TYPE_CHECKING:
    from admmbench.study.config import Study
    from admmbench.watch.board import Board
    from admmbench.watch.failure_report import Remains
    from admmbench.watch.reasons import Reasons

# Number of lines shown of the log of a job that failed.
_LAST_LINES = 20
# Seconds of a study beyond which a forecast is shown before it starts.
HOUR = 3600.0


@dataclass(frozen=True)
class Watched:
    """Study that is watched; the Snakefile puts it into a message, as its attribute ``watched``."""

    study: Study
    report: Path
    """Page that the study writes."""
    cores: int | None
    """Number of cores of this machine that jobs may use; None where jobs run elsewhere."""
    remains: Remains
    """Handler that knows whether a signal stopped the study."""
    replaced: Sequence[str]
    """Experiments whose results here are by another definition, see `replaced_by`."""
    workflow: Any
    """Snakemake's workflow, whose graph has the jobs of a dry run."""

    @property
    def jobs(self) -> Iterator[tuple[str, list[str], str]]:
        """Yield rule, files and reason of each job to be done that makes files, after the jobs that it depends on."""
        graph = self.workflow.dag
        for layer in graph.toposorted(set(graph.needrun_jobs())):
            for job in sorted(layer, key=graph.jobid):
                if job.output:
                    yield job.rule.name, [*map(str, job.output)], str(graph.reason(job))

    @property
    def title(self) -> str:
        """Return the title of the study: the names of its overlays."""
        return " + ".join(Path(name).stem for name in self.study.config.overlays) or "The study"


class LogHandler(LogHandlerBase):
    """Logger that shows a study as one bar, and failures at once; of other workflows, what Snakemake shows.

    Snakemake loads it for every workflow, so that it imports little before there is a study.
    """

    writes_to_stream = True
    writes_to_file = False
    has_filter = False
    has_formatter = False
    needs_rulegraph = False

    def __post_init__(self) -> None:
        """Prepare the console and the handlers of events."""
        from rich.console import Console

        self.console = Console(
            file=sys.stdout if self.common_settings.stdout else sys.stderr,
            highlight=False,
            no_color=self.common_settings.nocolor,
        )
        self._each_job = self.common_settings.dryrun and self.common_settings.printshellcmds
        self._watched: Watched | None = None
        self._board: Board | None = None
        self._reasons: Reasons | None = None
        self._cluster = self._announced = self._tuned = False
        self._events: dict[str, Callable[[Any], None]] = {
            LogEvent.RESOURCES_INFO: self._resources,
            LogEvent.RUN_INFO: self._begin,
            LogEvent.JOB_INFO: self._started,
            LogEvent.JOB_FINISHED: self._finished,
            LogEvent.JOB_ERROR: self._failed,
            LogEvent.ERROR: self._error,
        }

    def emit(self, record: Any) -> None:
        """Handle a message of Snakemake."""
        try:
            self._watched = getattr(record, "watched", self._watched)
            if self._watched is None or self._each_job:
                self._show_message(record)
            elif not hasattr(record, "watched"):
                event = getattr(record, "event", "")
                self._events.get(event, self._show_remark)(record)
        except Exception:
            self.handleError(record)

    def close(self) -> None:
        """End the display; print how the study ended and how to continue, or the reasons for the jobs of a dry run."""
        super().close()
        if board := self._board:
            self._board = None
            board.stop()
            self._print(self._conclusion(board))
        if reasons := self._reasons:
            self._reasons = None
            for line in reasons.lines():
                self._print(line)
            self._print("\nThis was a dry-run: nothing was made. -p shows each job and why.")

    def _show_message(self, record: logging.LogRecord) -> None:
        """Show a message as Snakemake does."""
        if (text := self.format(record)) not in ("", "None"):
            self._print(text, {logging.WARNING: "yellow", logging.ERROR: "red"}.get(record.levelno))

    def _print(self, text: str, style: str | None = None) -> None:
        self.console.print(text, style=style, markup=False, soft_wrap=True)

    def _show_remark(self, record: logging.LogRecord) -> None:
        """Show warnings, and before the jobs also messages that are no events; Snakemake's log file has all."""
        early = not (hasattr(record, "event") or self._board or self._announced)
        if early or record.levelno >= logging.WARNING:
            self._show_message(record)

    def _error(self, record: Any) -> None:
        """Show an error, unless it repeats that a job failed or is a consequence of Ctrl-C."""
        if record.exception == "LockException":
            self._print(
                f"{Path.cwd()} is locked: another Snakemake works in it, or one was killed. If none does, "
                "`admmbench study --unlock` removes the lock; then call the same command again.",
                "red",
            )
        elif text := limits.explain(record.getMessage()):
            self._print(text, "red")
        elif not (self._stopped or (self._board and record.exception == "RuleException")):
            self._show_message(record)

    @property
    def _stopped(self) -> bool:
        return self._watched is not None and self._watched.remains.stopped

    def _resources(self, record: Any) -> None:
        self._cluster = self._cluster or hasattr(record, "nodes")

    def _begin(self, record: Any) -> None:
        """Start the display when all jobs are known, or list them in a dry run."""
        assert self._watched is not None
        if self._announced:
            return
        from admmbench.forecast.plan import expected
        from admmbench.forecast.timing import Speeds
        from admmbench.study.outdated import outdated
        from admmbench.watch.board import Board
        from admmbench.watch.reasons import Reasons

        study = self._watched.study
        for name, experiment in study.experiments.items():
            for sentence in outdated(name, experiment):
                self._print(f"Note: {name}: {sentence}")
        counts = {rule: count for rule, count in record.stats.items() if rule != "total"}
        board = Board(self._watched.title, counts, expected(study, Speeds(study)), self.console)
        cores = 1 if self._cluster else self._watched.cores or 1
        seconds, cores_text = board.work / cores, "1 core" if cores == 1 else f"{cores} cores"
        forecast = f"{self._watched.title} takes about {duration(seconds)} on {cores_text}."
        if self.common_settings.dryrun:
            self._announced, self._reasons = True, Reasons(study)
            for rule, files, reason in self._watched.jobs:
                self._reasons.add(_kind(rule), files, reason)
            self._print(f"{_table(record.stats)}\n\n{forecast}\n")
            return
        if any(rule.endswith("report") for rule in counts):
            self._print(f"The report will be {self._watched.report}.")
        for name in self._watched.replaced:
            self._print(
                f"Note: {Path(study.config.results, name)} has results of {name} by another definition, which are made "
                "again; another folder in `results` of the configuration keeps both."
            )
        self._tuned = any(rule.startswith("choose_") for rule in counts) and "all" not in counts
        if seconds > HOUR:
            self._print(forecast)
        self._board = board
        board.show()

    def _started(self, record: Any) -> None:
        if self._board:
            log = next(iter(record.log), "")
            self._board.start(record.jobid, record.rule_name, record.wildcards, log)

    def _finished(self, record: Any) -> None:
        if self._board:
            self._board.finish(record.job_id)

    def _failed(self, record: Any) -> None:
        if self._board and not self._stopped and (job := self._board.fail(record.jobid)):
            from admmbench.watch.board import last_lines

            elapsed, title = duration(job.elapsed or 0.0), job.description.strip()
            lines = [*last_lines(job, _LAST_LINES), *filter(None, [record.rule_msg])]
            log = job.fields["log"]
            end = f"{log} ends:" if lines else f"{log} is empty, as that of a killed process may be"
            self._print(f"✗ {title} failed after {elapsed}; {end}")
            for line in lines:
                self._print(f"    {line}")

    def _conclusion(self, board: Board) -> str:
        assert self._watched is not None
        report = self._watched.report
        text = f"{board.done} of {board.total} jobs in {duration(board.elapsed)}"
        if self._stopped:
            return f"{text}; stopped. What was running left checkpoints: the same command goes on from there."
        if failed := len(board.failed):
            again = "The same command tries them again, and runs what waits for them."
            return f"{text}; {failed} failed. {again}"
        if board.done < board.total:
            return f"{text}; stopped. The same command goes on from there."
        if self._tuned:
            chosen = (f"config/tuned/{name}.yaml" for name in self._watched.study.experiments)
            files = ", ".join(path for path in chosen if Path(path).exists())
            return f"{text}; the settings that were found are in {files}, where runs take them from"
        return f"{text}; the report is {report}" if report.exists() else text


def shorten_dry_run(settings: Any) -> None:
    """Let a dry run end before it prints each job, as with ``--quiet``: this logger takes the jobs from the graph."""
    from snakemake.settings.enums import Quietness

    if (
        settings.dryrun
        and not settings.printshellcmds
        and "admmbench" in settings.log_handler_settings
    ):
        settings.quiet = {Quietness.RULES, Quietness.PROGRESS}


def replaced_by(study: Study) -> list[str]:
    """Find the experiments whose results here are by another definition, such as of another overlay.

    Seeds that undecided settings ordered are added to results, and make no other definition. The function is called
    before the first job, as jobs may remove these files before the logger, in a thread of its own, gets a message.
    """
    from admmbench.study.config import MANIFEST, read_experiment

    replaced_experiments = []
    for name in study.experiments:
        folder = Path(study.config.results, name)
        # A manifest that is missing or damaged defines nothing.
        with contextlib.suppress(OSError, ValueError, TypeError, LookupError):
            _, former = read_experiment(folder)
            definition = json.loads(study.definition(name, MANIFEST))["experiment"]
            former_definition = former.model_dump(mode="json", exclude={"figures"})
            former_definition["ordered"] = definition["ordered"]
            if (folder / "results.nc").exists() and former_definition != definition:
                replaced_experiments.append(name)
    return replaced_experiments


def _table(counts: Mapping[str, int]) -> str:
    """Return a table of the numbers of jobs; the rules of several methods or experiments share a row."""
    rows: Counter[str] = Counter()
    for rule, count in counts.items():
        rows[_kind(rule)] += count
    return "\n".join(f"{rule:10}  {count:6}" for rule, count in rows.items())


def _kind(rule: str) -> str:
    """Return the name of a rule without the method or experiment that it is for."""
    return re.sub(r"(^|_)(run|time|audit|tune|choose|figures)_.*", r"\1\2", rule)
