"""Run a study with Snakemake, which shows how far it is by the logger ``admmbench``."""

from __future__ import annotations

import argparse
import functools
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from admmbench.files.core_yaml import parse_words
from admmbench.forecast import timing
from admmbench.forecast.cost import work
from admmbench.jobs import interrupts
from admmbench.jobs.progress import shown
from admmbench.study.config import Study, read
from admmbench.watch.logger import HOUR


def run(overlays: Sequence[Path], options: Sequence[str]) -> int:
    """Call Snakemake in this process.

    Parameters
    ----------
    overlays
        Files that change the configuration.
    options
        Options and targets for Snakemake.

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
    # Snakemake's own messages reach the terminal in another way.
    logging.getLogger("snakemake.logging").propagate = False
    with interrupts.raised() as heard:
        try:
            main(_words(overlays, options))
        except SystemExit as end:
            return interrupts.STATUS if heard else int(end.code or 0)
    return 0


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
    if not given.logger:
        words += ["--logger", "admmbench"]
    if not (given.cores or given.jobs or given.profile):
        words += ["--cores", "all"]
    if overlays:
        words += ["--configfile", *map(str, overlays)]
    return [*words, *options[end:]]


def _measure(study: Study) -> None:
    """Measure this machine where the study might be long."""
    limit = sum(work(run.spec) for each in study.experiments.values() for run in each.runs)
    if limit > HOUR:
        with shown("Measuring this machine", "kind of work") as progress:
            timing.measure(progress)
