"""Run a study with Snakemake, which shows how far it is by the logger ``admmbench``."""

from __future__ import annotations

import argparse
import contextlib
import functools
import itertools
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from admmbench.base.outcomes import Outcome
from admmbench.files import check_output
from admmbench.files.core_yaml import parse_words
from admmbench.files.installed import CONFIG_FOLDER, OWN, SUFFIXES
from admmbench.forecast.cost import work
from admmbench.forecast.timing import Speeds
from admmbench.jobs import interrupts, seal
from admmbench.jobs.progress import shown
from admmbench.results.who_wins import compare
from admmbench.study import orders
from admmbench.study.config import TUNED, Study, read
from admmbench.study.mappings import merged
from admmbench.validation import meant
from admmbench.watch.logger import HOUR

if TYPE_CHECKING:
    import xarray as xr


def separated(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Tell the overlays of a configuration from options and targets of Snakemake, in whatever order they stand.

    Parameters
    ----------
    words
        As they were typed: YAML files before all targets are overlays, but those that the workflow writes.

    Returns
    -------
    list of str, list of str
        Overlays, and all other words.

    Raises
    ------
    ValueError
        If Snakemake has no such option, or an option takes an overlay for one of its values.
    """
    given = _parser().parse_intermixed_args([*words])
    is_overlay = functools.partial(_is_overlay, folder=Path(given.directory or "").absolute())
    for option, values in vars(given).items():
        if option in ("configfile", "targets") or not isinstance(values, list | set | tuple):
            continue
        if taken := [str(value) for value in values if is_overlay(str(value))]:
            raise ValueError(
                f"{taken[0]}: stands behind --{option.replace('_', '-')}, which takes it for one of its values; name "
                "configuration files first"
            )
    overlays = [*itertools.takewhile(is_overlay, given.targets)]
    others = [*words]
    for name in overlays:
        others.remove(name)
    return overlays, others


def _is_overlay(word: str, folder: Path) -> bool:
    """Whether a word is a YAML file that the workflow does not write in the folder of the study."""
    path = folder / word
    written = path.parent == folder / OWN / TUNED
    return path.suffix in SUFFIXES and "=" not in word and not written


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
    ValueError
        If overlays are named in two ways, or Snakemake has no such option.
    OSError
        If Snakemake cannot write to its folder ``.snakemake``.
    """
    from snakemake.cli import main

    # Of a folder that it cannot write to, Snakemake shows a traceback.
    check_output(Path(_parsed(options).directory or "", ".snakemake/locks/of_jobs"))
    study = read(_overlays(overlays, options), changes=_changes(options))
    if sum(work(run.spec) for each in study.experiments.values() for run in each.runs) > HOUR:
        with shown("Timing rounds", "kind of run") as progress:
            Speeds(study).measure(progress)
    # Snakemake's own messages reach the terminal in another way.
    logging.getLogger("snakemake.logging").propagate = False
    with interrupts.raised() as heard:
        try:
            main(_words(overlays, options))
        except SystemExit as end:
            return interrupts.STATUS if heard else int(end.code or 0)
    return 0


def until_decided(overlays: Sequence[Path], options: Sequence[str]) -> int:
    """Run a study, judge it, and order the next look of undecided rows, until all are decided or have had their looks.

    Orders are recorded in files of the configuration before they run: the loop can be killed, and goes on when it is
    called again.

    Parameters
    ----------
    overlays, options
        As of :func:`run`.

    Returns
    -------
    Exit status of the first run that did not end well, else 0.

    Raises
    ------
    ConfigError
        If the configuration is wrong.
    ValueError
        If no experiment has looks, the options do not make the results, an experiment states its own orders, or
        overlays are named in two ways.
    """
    parsed = _parsed(options)
    if parsed.dryrun or parsed.unlock:
        what = "a dry run makes no results" if parsed.dryrun else "--unlock makes no results"
        raise ValueError(f"--until-decided: {what} to judge; leave one of the two out")
    return run_turns(_turns_until_decided(overlays, options))


def _turns_until_decided(overlays: Sequence[Path], options: Sequence[str]) -> Iterator[list[str]]:
    """Yield the words of the study as long as its results order seeds."""
    words = [*map(str, overlays), *options]
    overlays = _overlays(overlays, options)
    ordered = True
    while ordered:
        study = read(overlays, changes=_changes(options))
        if not any(each.looks for each in study.experiments.values()):
            raise ValueError("--until-decided: no experiment of this study has looks")
        yield words
        comparison, ordered = compared(study), False
        cells = [comparison.isel(setting=number) for number in range(comparison.sizes["setting"])]
        for name, experiment in study.experiments.items():
            further = experiment.ordered
            for cell in cells:
                if cell["experiment"] == name:
                    further = merged(further, orders.order_seeds(experiment, cell))
            if further != experiment.ordered:
                path = orders.record(name, further)
                if read(overlays, changes=_changes(options)).experiments[name].ordered != further:
                    raise ValueError(
                        f"{name}: its file or an overlay states `ordered`, which wins over {path}; leave it out"
                    )
                print(f"Further seeds for undecided rows: {path}")
                ordered = True
        undecided = sum((cell["verdict"] == "undecided").any().item() for cell in cells)
        print(f"{undecided} of {len(cells)} rows are undecided.", flush=True)


def run_turns(
    turns: Iterable[Sequence[str]], folder: Path = Path(), config: Path | None = None
) -> int:
    """Call ``admmbench study`` again and again, until a call does not end well or there are no more.

    Parameters
    ----------
    turns
        Words of each call. They are asked for when the calls before ended well, so they may follow from their results.
    folder
        Where to call it.
    config
        Folder of the configuration; that of the study's folder if absent.

    Returns
    -------
    Exit status of the last call; 0 if there was none.
    """
    for words in turns:
        if status := turn(words, folder, config):
            return status
    return 0


def turn(words: Sequence[str], folder: Path, config: Path | None) -> int:
    """Call ``admmbench study`` in a process of its own, as Snakemake keeps what it read; return its exit status.

    A signal ends both, and the study first, however long it takes to leave things in order. The study and its jobs are
    a session of their own, to which signals are handed on: so they hear each one once, whether a terminal, a notebook
    or another process sends it.
    """
    heard: list[int] = []
    groups: list[int] = []

    def hear(number: int, frame: object) -> None:
        heard.append(number)
        for group in groups:
            with contextlib.suppress(ProcessLookupError):  # it has ended
                os.killpg(group, number)

    command = [sys.executable, "-m", "admmbench", "study", *words]
    environment = {**os.environ, **({CONFIG_FOLDER: str(config)} if config else {})}
    with interrupts.handled(hear, (*interrupts.SIGNALS, signal.SIGTERM)):
        study = subprocess.Popen(command, cwd=folder, env=environment, start_new_session=True)
        groups.append(study.pid)
        if heard:  # while it was started
            hear(heard[-1], None)
        status = study.wait()
    return interrupts.STATUS if heard or status < 0 else status


def compared(study: Study) -> xr.Dataset:
    """Compare the methods of a study by its results, see `admmbench.results.who_wins.compare`.

    Raises
    ------
    ValueError
        If results are not there or not of all runs of the study, or no two methods are equally private.
    """
    found, fix = [], "run the study first, with its target all"
    for name, experiment in study.experiments.items():
        path = Path(study.config.results, name, "results.nc")
        if not path.exists():
            raise ValueError(f"{path} is not there: {fix}")
        results = seal.read(path)
        # Those of an earlier look would order one look after another.
        asked = sum(len(run.spec.seeds) for run in experiment.runs)
        if (results["status"] != Outcome.NOT_RUN).sum() != asked:
            raise ValueError(f"{path} has other runs than the configuration asks for: {fix}")
        found.append(results)
    comparison = compare(found)
    if comparison is None:
        raise ValueError("no two methods of this study are equally private: nothing can be decided")
    return comparison


@functools.cache
def _parser() -> argparse.ArgumentParser:
    from snakemake.cli import get_argument_parser

    def refuse(message: str) -> NoReturn:
        word = message.removeprefix("unrecognized arguments: ").partition(" ")[0]
        hint = meant(word, parser._option_string_actions) if word.startswith("--") else ""
        raise ValueError(f"{message}; options are those of snakemake, see snakemake --help{hint}")

    parser: argparse.ArgumentParser = get_argument_parser()
    parser.error = refuse  # type: ignore[method-assign]  # its own way prints 400 lines about all options
    return parser


def _parsed(options: Sequence[str]) -> argparse.Namespace:
    """Options as Snakemake takes them, which may be cut short."""
    return _parser().parse_args([*options])


def _overlays(named: Sequence[Path], options: Sequence[str]) -> Sequence[Path]:
    """Files that change the configuration: those that are named first, or those of Snakemake's own option."""
    given: list[Path] = _parsed(options).configfile
    if named and given:
        raise ValueError("--configfile: name its files before all options, beside the others")
    return named or given


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
