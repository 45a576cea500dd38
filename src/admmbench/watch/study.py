"""Run a study with Snakemake, and show how far it is."""

from __future__ import annotations

import argparse
import functools
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from admmbench import watch
from admmbench.files.core_yaml import parse_words
from admmbench.forecast import cost
from admmbench.forecast import plan as forecast
from admmbench.forecast.plan import duration
from admmbench.jobs import interrupts
from admmbench.progress import shown
from admmbench.study.config import Study, read
from admmbench.watch.handler import HOUR, Watch
from admmbench.watch.progress import State


def run(overlays: Sequence[Path], options: Sequence[str], console: Console) -> int:
    """Call Snakemake in this process and show its progress.

    Parameters
    ----------
    overlays
        Files that change the configuration.
    options
        Options and targets for Snakemake.
    console
        Where to show it.

    Returns
    -------
    Snakemake's exit status.

    Raises
    ------
    ConfigError
        If the configuration is wrong.
    """
    from snakemake.cli import main

    _measure(read(overlays, changes=_changes(options)))
    title = " + ".join(path.stem for path in overlays) or "The study"
    watching = watch.current = Watch(title, overlays, console)

    def interrupt(number: int, frame: object) -> None:
        watching.interrupted = True
        raise interrupts.Interrupted

    # Snakemake's own messages reach the terminal in another way.
    logging.getLogger("snakemake.logging").propagate = False
    try:
        with interrupts.handled(interrupt):
            main(_words(overlays, options))
    except SystemExit as end:
        status = interrupts.STATUS if watching.interrupted else int(end.code or 0)
        if watching.progress and watching.progress.of(State.FAILED):
            watch.report_what_exists()  # where the folder's own Snakefile has no ``onerror``
    finally:
        watch.current = watch.remains = None
        watching.close()
    _conclude(watching, status, console)
    return status


@functools.cache
def _parser() -> argparse.ArgumentParser:
    from snakemake.cli import get_argument_parser

    return get_argument_parser()


def _parsed(options: Sequence[str]) -> argparse.Namespace:
    """Options as Snakemake takes them, which may be cut short, without those that it does not know."""
    return _parser().parse_known_args([*options])[0]


def _changes(options: Sequence[str]) -> dict[str, Any]:
    """Keys of the configuration that ``--config`` gives."""
    return parse_words(_parsed(options).config or ())


def _words(overlays: Sequence[Path], options: Sequence[str]) -> list[str]:
    """Command line of Snakemake; its ``--configfile`` takes whatever follows up to the next option."""
    end = options.index("--") if "--" in options else len(options)
    words, given = [*options[:end]], _parsed(options)
    if not (given.cores or given.jobs or given.profile):
        words += ["--cores", "all"]
    if overlays:
        words += ["--configfile", *map(str, overlays)]
    return [*words, *options[end:]]


def _measure(study: Study) -> None:
    """Measure this machine where the study might be long."""
    limit = sum(cost.work(run.spec) for each in study.experiments.values() for run in each.runs)
    if limit > HOUR and forecast.known(study) is None:
        with shown("Measuring this machine", "method") as progress:
            forecast.calibrate(study, progress)


def _conclude(watching: Watch, status: int, console: Console) -> None:
    """Say how the study ended, and how to continue."""
    progress = watching.progress
    report = watching.report if watching.report and watching.report.exists() else None
    if progress is None:
        if not status:
            watching.say_early()
            if report:
                console.print(f"The report is {report}", markup=False, soft_wrap=True)
        return
    done, failed = (len(progress.of(state)) for state in (State.DONE, State.FAILED))
    text = f"{done} of {len(progress.jobs)} jobs in {duration(progress.elapsed)}"
    if watching.interrupted:
        text += "; stopped. What was running left checkpoints: the same command goes on from there."
    elif status and not failed:
        text += "; stopped. The same command goes on from there."
    elif status:
        text += (
            f"; {failed} failed. The same command tries them again, and runs what waits for them."
        )
    elif report:
        text += f"; the report is {report}"
    console.print(text, markup=False, soft_wrap=True)
