"""Runs of a study with Snakemake, whose logger ``admmbench`` shows the progress."""

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
from admmbench.files import check_output, netcdf
from admmbench.files.core_yaml import parse_words
from admmbench.files.installed import CONFIG_FOLDER, OWN, SUFFIXES
from admmbench.forecast.cost import work
from admmbench.forecast.timing import Speeds, by_folder
from admmbench.jobs import interrupts
from admmbench.jobs.progress import shown
from admmbench.results.who_wins import compare, compared_settings
from admmbench.study import orders
from admmbench.study.config import PAIRS, SEEDS, TUNED, Study, read
from admmbench.study.methods import merged
from admmbench.validation import meant
from admmbench.watch.configfiles import resolve
from admmbench.watch.logger import HOUR

if TYPE_CHECKING:
    import xarray as xr


def split_overlays(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split words as they were typed into overlays of the configuration, and options and targets of Snakemake.

    YAML files before all targets are overlays, except files that the workflow writes.

    Raises
    ------
    ValueError
        If Snakemake has no such option, or an option takes an overlay for one of its values.
    """
    arguments = _parser().parse_intermixed_args([*words])
    is_overlay = functools.partial(_is_overlay, folder=Path(arguments.directory or "").absolute())
    for option, values in vars(arguments).items():
        if option in ("configfile", "targets") or not isinstance(values, list | set | tuple):
            continue
        if swallowed := [str(value) for value in values if is_overlay(str(value))]:
            raise ValueError(
                f"{swallowed[0]}: stands behind --{option.replace('_', '-')}, which takes it for one of its values; "
                "name configuration files first"
            )
    overlays = [*itertools.takewhile(is_overlay, arguments.targets)]
    remaining = [*words]
    for name in overlays:
        remaining.remove(name)
    return overlays, remaining


def _is_overlay(word: str, folder: Path) -> bool:
    """Return whether a word is a YAML file that the workflow does not write in the folder of the study."""
    path = folder / word
    written = path.parent == folder / OWN / TUNED
    return path.suffix in SUFFIXES and "=" not in word and not written


def run(overlays: Sequence[Path], options: Sequence[str]) -> int:
    """Call Snakemake in this process with options and targets, and return its exit status.

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

    # Snakemake would show a traceback for a folder that it cannot write to.
    folder = Path(_parse(options).directory or "")
    check_output(folder / ".snakemake/locks/of_jobs")
    overlays, changes = _find_overlays(overlays, options), _changes(options)
    study = read(overlays, changes=changes)
    runs = (run for experiment in study.experiments.values() for run in experiment.runs)
    if sum(len(alike) * work(alike[0].spec) for alike in by_folder(runs)) > HOUR:
        with shown("Timing rounds", "kind of run") as progress:
            Speeds(study).measure(progress)
    configuration = resolve(overlays, changes, folder) if overlays or changes else None
    # Snakemake's own messages reach the terminal in another way.
    logging.getLogger("snakemake.logging").propagate = False
    with interrupts.raised() as signals:
        try:
            main(_command_line(configuration, options))
        except SystemExit as end:
            return interrupts.STATUS if signals else int(end.code or 0)
    return 0


def until_decided(overlays: Sequence[Path], options: Sequence[str]) -> int:
    """Run a study, judge it, and order seeds or pairs, until no setting is undecided or all analyses are made.

    Orders are recorded in files of the configuration before they run, so that a loop that was killed goes on when it is
    called again. The exit status is that of the first run that did not end well, else 0.

    Raises
    ------
    ValueError
        As of `run`; also if no experiment has interim analyses, the options do not make the results, or an experiment
        states its own orders.
    """
    parsed = _parse(options)
    if parsed.dryrun or parsed.unlock:
        fault = "a dry run makes no results" if parsed.dryrun else "--unlock makes no results"
        raise ValueError(f"--until-decided: {fault} to judge; leave one of the two out")
    return run_turns(_turns_until_decided(overlays, options))


def _turns_until_decided(overlays: Sequence[Path], options: Sequence[str]) -> Iterator[list[str]]:
    """Yield the words of the study as long as its results order seeds."""
    words = [*map(str, overlays), *options]
    overlays = _find_overlays(overlays, options)
    ordered = True
    while ordered:
        study = read(overlays, changes=_changes(options))
        if not any(experiment.interim_analyses for experiment in study.experiments.values()):
            raise ValueError("--until-decided: no experiment of this study has interim_analyses")
        yield words
        settings, ordered = list(compared_settings(compare_methods(study))), False
        for name, experiment in study.experiments.items():
            of_experiment = [each for each in settings if each["experiment"] == name]
            further = [orders.order(experiment, setting) for setting in of_experiment]
            for kind, key in ((SEEDS, "ordered"), (PAIRS, "mirrored")):
                former = getattr(experiment, key)
                recorded = functools.reduce(merged, (each[kind] for each in further), former)
                if recorded != former:
                    path = orders.record(name, recorded, kind=kind)
                    again = read(overlays, changes=_changes(options)).experiments[name]
                    if getattr(again, key) != recorded:
                        raise ValueError(
                            f"{name}: its file or an overlay states `{key}`, which wins over {path}; leave it out"
                        )
                    print(f"Further {kind} for undecided settings: {path}")
                    ordered = True
        undecided = sum((setting["verdict"] == "undecided").any().item() for setting in settings)
        print(f"{undecided} of {len(settings)} settings are undecided.", flush=True)


def run_turns(
    turns: Iterable[Sequence[str]], folder: Path = Path(), config: Path | None = None
) -> int:
    """Call ``admmbench study`` again and again, until a call does not end well or there are no more.

    Parameters
    ----------
    turns
        Words of each call. The words of a call may follow from the results of earlier calls, which have ended well.
    folder
        Folder of the study.
    config
        Folder of the configuration; the one in the study's folder if absent.

    Returns
    -------
    Exit status of the last call; 0 if there was none.
    """
    for words in turns:
        if status := turn(words, folder, config):
            return status
    return 0


def turn(words: Sequence[str], folder: Path, config: Path | None) -> int:
    """Call ``admmbench study`` in a process of its own, as Snakemake keeps what it read; return the exit status.

    A signal ends both processes: first the study, however long it takes to leave its files in order. The study and its
    jobs are a session of their own, to which this process hands on each signal. So they get each signal once, whether a
    terminal, a notebook or another process sends it.
    """
    received: list[int] = []
    groups: list[int] = []

    def forward(number: int, frame: object) -> None:
        received.append(number)
        for group in groups:
            with contextlib.suppress(ProcessLookupError):  # the study has ended
                os.killpg(group, number)

    command = [sys.executable, "-m", "admmbench", "study", *words]
    environment = {**os.environ, **({CONFIG_FOLDER: str(config)} if config else {})}
    with interrupts.handled(forward, (*interrupts.SIGNALS, signal.SIGTERM)):
        study = subprocess.Popen(command, cwd=folder, env=environment, start_new_session=True)
        groups.append(study.pid)
        if received:  # the signal came while the study was started
            forward(received[-1], None)
        status = study.wait()
    return interrupts.STATUS if received or status < 0 else status


def compare_methods(study: Study) -> xr.Dataset:
    """Compare the methods of a study by its results, see `admmbench.results.who_wins.compare`.

    Raises
    ------
    ValueError
        If results are missing or not of all runs of the study, or no two methods are equally private.
    """
    results_of_experiments, fix = [], "run the study first, with its target all"
    for name, experiment in study.experiments.items():
        path = Path(study.config.results, name, "results.nc")
        if not path.exists():
            raise ValueError(f"{path} is not there: {fix}")
        results = netcdf.read(path)
        # Results of an earlier analysis would order further seeds although the present one is not made.
        n_requested = sum(len(run.spec.seeds) for run in experiment.runs)
        states = [results[name] for name in ("status", "mirror_status") if name in results]
        if sum((state != Outcome.NOT_RUN).sum() for state in states) != n_requested:
            raise ValueError(f"{path} has other runs than the configuration asks for: {fix}")
        results_of_experiments.append(results)
    comparison = compare(results_of_experiments)
    if comparison is None:
        raise ValueError(
            "no two methods of this study are equally private: nothing can be compared"
        )
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


def _parse(options: Sequence[str]) -> argparse.Namespace:
    """Return options as Snakemake parses them; their names may be cut short."""
    return _parser().parse_args([*options])


def _find_overlays(named: Sequence[Path], options: Sequence[str]) -> Sequence[Path]:
    """Return the files that change the configuration: the named ones, or those of Snakemake's own option."""
    from_option: list[Path] = _parse(options).configfile
    if named and from_option:
        raise ValueError("--configfile: name its files before all options, beside the others")
    return named or from_option


def _changes(options: Sequence[str]) -> dict[str, Any]:
    """Return the keys of the configuration that ``--config`` gives."""
    return parse_words(_parse(options).config or ())


def _command_line(configuration: Path | None, options: Sequence[str]) -> list[str]:
    """Return the command line of Snakemake, whose ``--configfile`` takes all words up to the next option."""
    end = options.index("--") if "--" in options else len(options)
    words, arguments = [*options[:end]], _parse(options)
    if not arguments.logger:
        words += ["--logger", "admmbench"]
    if not (arguments.cores or arguments.jobs or arguments.profile):
        words += ["--cores", "all"]
    if configuration:
        words += ["--configfile", str(configuration)]
    if arguments.config:  # the file has its keys; Snakemake takes the last of two options
        words += ["--config"]
    return [*words, *options[end:]]
