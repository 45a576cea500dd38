"""Commands on results: join them, draw, report, show, compare and keep them."""

from __future__ import annotations

import argparse
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from admmbench import __version__
from admmbench.cli.options import (
    command,
    place,
    wide_console,
)

if TYPE_CHECKING:
    import xarray as xr


def add(commands: Any) -> None:
    """Add these commands to the command line."""
    for each in (
        _add_aggregate,
        _add_figures,
        _add_report,
        _add_overview,
        _add_show,
        _add_compare,
        _add_keep,
    ):
        each(commands)


def _add_aggregate(commands: Any) -> None:
    parser = command(commands, "aggregate", _aggregate, "join the runs of an experiment")
    parser.add_argument("folder", type=place, help="folder of the experiment, with its manifest")
    parser.add_argument("--output", type=place, required=True, help="netCDF file to write")


def _aggregate(options: argparse.Namespace) -> None:
    from admmbench.jobs.job import write
    from admmbench.results.aggregate import aggregate
    from admmbench.study.config import read_experiment

    name, experiment = read_experiment(options.folder)
    runs = experiment.runs_folder(options.folder)
    write(aggregate(name, experiment, runs), options.output)


def _add_figures(commands: Any) -> None:
    parser = command(
        commands, "figures", _figures, "draw the figures of an experiment", in_folder=True
    )
    parser.add_argument("figures", type=place, help="list of figures, a JSON file")
    parser.add_argument("--results", type=place, required=True, help="results.nc")
    parser.add_argument("--output", type=place, required=True, help="folder to write")


def _figures(options: argparse.Namespace) -> None:
    from admmbench.figures import Figure, drawing
    from admmbench.jobs import seal
    from admmbench.study.config import read_figures
    from admmbench.validation import checked

    wanted = checked(list[Figure], read_figures(options.figures), str(options.figures))
    drawing.save(seal.read(options.results), wanted, options.output)


def _add_report(commands: Any) -> None:
    parser = command(commands, "report", _report, "write the report of a study")
    parser.add_argument("folders", type=place, nargs="+", help="folders of its experiments")
    parser.add_argument("--configuration", default="", help="name of this study on the page")
    parser.add_argument(
        "--keep-what-exists",
        action="store_true",
        help="of a study that failed: join the runs that are there, and say what is missing and why",
    )
    parser.add_argument("--output", type=place, required=True, help="HTML file to write")


def _report(options: argparse.Namespace) -> None:
    from admmbench.claims import claims, verdicts
    from admmbench.files.installed import find_all
    from admmbench.report import rendering
    from admmbench.report.gathered import gather, gather_what_exists
    from admmbench.results import reference
    from admmbench.study.config import labels

    take = gather_what_exists if options.keep_what_exists else gather
    gathered = [take(folder) for folder in options.folders]
    sections = [each.section for each in gathered if each.section]
    missing = [row for each in gathered for row in each.missing]
    kept = reference.load([section.name for section in sections])
    stated, known = claims.load(find_all("claims").values()), labels()
    found, kept_found = (
        verdicts.evaluate(stated, each, known)
        for each in ({section.name: section.results for section in sections}, kept)
    )
    sections = [replace(section, kept=kept.get(section.name)) for section in sections]
    meta = rendering.Meta(configuration=options.configuration, version=__version__)
    rendering.write(options.output, sections, found, meta, kept_found, missing)
    if missing:
        print(f"The report of what exists is {options.output}; it names what is missing and why.")
        print(
            f"To write it again when more of it exists: {shlex.join(['admmbench', *sys.argv[1:]])}"
        )


def _add_overview(commands: Any) -> None:
    parser = command(commands, "overview", _overview, "write the page that links all reports")
    parser.add_argument("folder", type=place, help="folder with a report for each configuration")
    parser.add_argument("--output", type=place, required=True, help="HTML file to write")


def _overview(options: argparse.Namespace) -> None:
    from admmbench.report import overview

    overview.write(options.folder, options.output)


def _add_show(commands: Any) -> None:
    parser = command(commands, "show", _show, "print the tables of an experiment")
    parser.add_argument("results", type=place, help="results.nc")


def _show(options: argparse.Namespace) -> None:
    from admmbench.report import terminal

    console = wide_console()
    for line in terminal.lines(_results(options.results)):
        console.print(line, soft_wrap=isinstance(line, str))


def _add_compare(commands: Any) -> None:
    parser = command(commands, "compare", _compare, "compare two result files of one study")
    parser.add_argument("first", type=place, help="results.nc")
    parser.add_argument("second", type=place, help="results.nc of another machine, version or code")


def _compare(options: argparse.Namespace) -> int:
    from admmbench.results import contrast

    first, second = (_results(path) for path in (options.first, options.second))
    found = contrast.contrast(first, second)
    console = wide_console()
    for difference in contrast.settings(first, second):
        console.print(difference, soft_wrap=True, markup=False)
    console.print(contrast.table(found))
    console.print(contrast.summary(found), soft_wrap=True)
    return int((found["state"] == "different").any())


def _add_keep(commands: Any) -> None:
    parser = command(commands, "keep", _keep, "keep results, to compare others with them")
    parser.add_argument("results", type=place, nargs="+", help="results.nc")
    parser.add_argument("--made-by", required=True, help="command that makes these results")
    parser.add_argument("--folder", type=place, help="folder to write (default: reference)")
    parser.add_argument(
        "--add",
        action="store_true",
        help="add the runs to those that are kept of the same experiment, instead of replacing them",
    )


def _keep(options: argparse.Namespace) -> None:
    from admmbench.results import reference

    for path in options.results:
        kept = reference.keep(_results(path), options.made_by, options.folder, add=options.add)
        print(f"{kept}: {kept.stat().st_size / 1e6:.2f} MB")


def _results(path: Path) -> xr.Dataset:
    """A file of labelled results."""
    from admmbench.jobs import seal
    from admmbench.results import reference

    if not path.exists():
        raise ValueError(f"{path}: no such file")
    found = reference.read(path)
    if found is None:
        found = seal.read(path, strict=False)
    if not {"algorithm", "epsilon", "status"} <= set(found.variables):
        raise ValueError(
            f"{path}: not the results of an experiment; a study writes them to results/<experiment>/results.nc"
        )
    return found
