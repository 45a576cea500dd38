"""Commands on results: join them, draw, report, show, compare and keep them."""

from __future__ import annotations

import argparse
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from admmbench.cli.options import argument, command, place, wide_console
from admmbench.files import MARKUP, with_checksum, write

if TYPE_CHECKING:
    import xarray as xr


@command(
    "aggregate",
    "join the runs of an experiment",
    argument("folder", type=place, help="folder of the experiment, with its manifest"),
    argument("--output", type=place, required=True, help="netCDF file to write"),
)
def _aggregate(options: argparse.Namespace) -> None:
    from admmbench.jobs import job
    from admmbench.results.aggregate import aggregate
    from admmbench.study.config import read_experiment

    name, experiment = read_experiment(options.folder)
    runs = experiment.runs_folder(options.folder)
    job.write(aggregate(name, experiment, runs), options.output)


@command(
    "figures",
    "draw the figures of an experiment: SVG, PDF, PNG, and the table that is drawn as CSV",
    argument(
        "figures",
        type=place,
        help="figures.json of an experiment, a list of figures in JSON, a file of results (.nc), or with --reference "
        "the name of an experiment",
    ),
    argument("--results", type=place, help="results.nc, for figures in JSON"),
    argument("--reference", action="store_true", help="draw the results that are kept"),
    argument("--output", type=place, help="folder to write (default: figures/<experiment>)"),
    in_folder=True,
)
def _figures(options: argparse.Namespace) -> None:
    from admmbench.figures import Figure, drawing
    from admmbench.study import config
    from admmbench.validation import checked

    results = _drawn(options.figures, options.results, options.reference)
    name = results.attrs["experiment"]
    if options.results:
        given, looks = config.read_figures(options.figures)
        wanted = checked(list[Figure], given, str(options.figures))
    else:  # those of the experiment's definition
        study = config.load({"experiments": [name]})
        wanted, looks = study.experiments[name].figures, study.looks
    for path in drawing.save(results, wanted, options.output or Path("figures", name), looks):
        print(path)


def _drawn(given: Path, results: Path | None, kept: bool) -> xr.Dataset:
    """Read the results that figures are drawn of."""
    from admmbench.results import reference

    if kept and results:
        raise ValueError("--reference: leave it out where --results names what is drawn")
    if kept:
        if found := reference.load([str(given)]):
            return found[str(given)]
        raise ValueError(f"{given}: no results of this experiment are kept; name one of reference/")
    if given.suffix == ".nc" and not results:
        results = given
    elif not results:
        raise ValueError(
            f"{given}: name what is drawn: --results and results.nc for figures in JSON, or a file of results, or an "
            "experiment with --reference"
        )
    return _of_experiment(_read(results, strict=True), results)


@command(
    "report",
    "write the report of a study",
    argument("folders", type=place, nargs="+", help="folders of its experiments"),
    argument("--configuration", default="", help="name of this study on the page"),
    argument(
        "--keep-what-exists",
        action="store_true",
        help="of a study that failed: join the runs that are there, and say what is missing and why",
    ),
    argument("--output", type=place, required=True, help="HTML file to write"),
)
def _report(options: argparse.Namespace) -> None:
    from admmbench.claims import claims, judge
    from admmbench.files.installed import find_all
    from admmbench.report import rendering
    from admmbench.report.contents import gather, gather_what_exists
    from admmbench.results import reference
    from admmbench.study.config import labels

    if options.keep_what_exists:
        gathered = [gather_what_exists(folder) for folder in options.folders]
    else:
        gathered = [gather(folder, options.output) for folder in options.folders]
    sections = [section for section, _ in gathered if section]
    names = [section.name for section in sections]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"the experiment {twice[0]} is there twice; name each folder once")
    missing = [row for _, rows in gathered for row in rows]
    kept = reference.load(names)
    stated, known = claims.load(find_all("claims").values()), labels()
    found, kept_found = (
        judge.evaluate(stated, each, known)
        for each in ({section.name: section.results for section in sections}, kept)
    )
    sections = [replace(section, kept=kept.get(section.name)) for section in sections]
    page = rendering.render(sections, found, options.configuration, kept_found, missing)
    content = page.encode()
    if not options.keep_what_exists:  # a page without a checksum counts as incomplete
        content = with_checksum(content, MARKUP)
    write(options.output, content)
    if missing:
        print(f"The report of what exists is {options.output}; it names what is missing and why.")
        print(
            f"To write it again when more of it exists: {shlex.join(['admmbench', *sys.argv[1:]])}"
        )
    elif options.keep_what_exists:
        print(f"The report of what exists is {options.output}; nothing is missing in it.")


@command(
    "overview",
    "write the page that links all reports",
    argument("folder", type=place, help="folder with a report for each configuration"),
    argument("--output", type=place, required=True, help="HTML file to write"),
)
def _overview(options: argparse.Namespace) -> None:
    from admmbench.report import overview

    overview.write(options.folder, options.output)


@command(
    "show",
    "print the tables of an experiment, or how a run ended",
    argument("results", type=place, help="results.nc, or a file that run wrote"),
)
def _show(options: argparse.Namespace) -> None:
    from admmbench.report import terminal

    console = wide_console()
    found = _read(options.results)
    if "status" in found and found["status"].dims == ("seed",):  # of one run
        console.print(ended(found), soft_wrap=True)
        return
    for line in terminal.lines(_of_experiment(found, options.results)):
        console.print(line, soft_wrap=isinstance(line, str))


@command(
    "compare",
    "compare two result files of one study",
    argument("first", type=place, help="results.nc"),
    argument("second", type=place, help="results.nc of another machine, version or code"),
)
def _compare(options: argparse.Namespace) -> int:
    from admmbench.report import differences, tables
    from admmbench.report.environment import texts, words
    from admmbench.report.terminal import as_rich
    from admmbench.results import reference
    from admmbench.results.file_differences import contrast

    first, second = (_of_experiment(_read(path), path) for path in (options.first, options.second))
    compared = contrast(first, second)
    console = wide_console()
    outdated = filter(None, map(reference.outdated, (first, second)))
    sentences = map(words().outdated, outdated)
    others = texts("differences").between(differences.between(first, second)).splitlines()
    for sentence in (*others, *sentences):
        console.print(sentence, soft_wrap=True, markup=False)
    unit = " in percent" if compared.attrs["fraction"] else ""
    rows = tables.differences(differences.rows(compared))
    console.print(as_rich(f"Final {compared.attrs['long_name']}{unit}", rows))
    console.print(texts("differences").summary(differences.states(compared)), soft_wrap=True)
    return int((compared["state"] == "different").any())


@command(
    "keep",
    "keep results, to compare others with them",
    argument("results", type=place, nargs="+", help="results.nc, or trials.csv of a search"),
    argument("--made-by", required=True, help="command that makes these results"),
    argument("--folder", type=place, help="folder to write (default: reference)"),
    argument(
        "--add",
        action="store_true",
        help="add the runs to those that are kept of the same experiment, instead of replacing them",
    ),
    argument(
        "--replace",
        action="store_true",
        help="replace only the methods that are kept under the same labels; of trials, the same searches",
    ),
    argument(
        "--every",
        type=int,
        default=1,
        help="keep one in so many of the evaluated rounds, the first, and the last of each method; files.yaml says so "
        "(default: 1)",
    ),
)
def _keep(options: argparse.Namespace) -> None:
    from admmbench.results import reference

    if options.add and options.replace:
        raise ValueError(
            "--add, --replace: what is added replaces nothing; leave one of the two out"
        )
    for path in options.results:
        if path.suffix == ".csv":
            if options.add or options.every != 1:
                raise ValueError(f"{path}: all trials are kept, without --add and --every")
            kept = reference.keep_trials(
                path, options.made_by, options.folder, replace=options.replace
            )
        else:
            given = {"add": options.add, "replace": options.replace, "every": options.every}
            results = _of_experiment(_read(path), path)
            kept = reference.keep(results, options.made_by, options.folder, **given)
        print(f"{kept}: {kept.stat().st_size / 1e6:.2f} MB")


def ended(trace: xr.Dataset) -> str:
    """Say how a run ended: the final metric, lost seeds, and what it spent."""
    from admmbench.figures.wording import best_constant, counted, in_unit, measured, number
    from admmbench.frames.outcomes import SUCCESSFUL

    attrs, metric = trace.attrs, trace[trace.attrs["metric"]]
    fraction = "valid_range" in metric.attrs
    unit = in_unit("%" if fraction else metric.attrs["units"])
    fine = trace["status"].isin(SUCCESSFUL)
    n, lost = trace.sizes["seed"], int((~fine).sum())
    text = f"{attrs['title']}: after {counted(attrs['rounds'], 'round')} {metric.attrs['long_name']}{unit} is "
    if lost < n:
        mean = float(metric.isel(round=-1).where(fine).mean("seed"))
        text += f"{measured(mean, fraction)}, mean over {counted(n - lost, 'seed')}"
    else:
        text += "unknown"
    if lost:
        text += f"; {lost} of {counted(n, 'seed')} lost (diverged or timed out)"
    total = trace["epsilon_total"]
    what = {
        "none": "composed ε without a guarantee",
        "conditional": "total ε, if its conditions hold,",
    }
    worth = str(total.attrs.get("guarantee"))
    said, shown = (
        what.get(worth, "total ε"),
        trace["epsilon_composed"] if worth == "none" else total,
    )
    spent = number(float(shown.isel(round=-1).max()))
    text += f"; {said} {spent} at δ = {attrs['delta']:g}"
    if "best_constant" in metric.attrs:
        beside = metric.attrs["best_constant"], fraction, metric.attrs["units"]
        text += f"; best constant prediction, {best_constant(*beside)}"
    return text


def _read(path: Path, *, strict: bool = False) -> xr.Dataset:
    """Read a file of results, see `seal.read`: the checksum of one that is kept is in the list beside it."""
    from admmbench.jobs import seal
    from admmbench.results import reference

    if not path.exists():
        raise ValueError(f"{path}: no such file")
    if path.is_dir():
        raise ValueError(f"{path}: is a folder; name a file in it, such as {path / 'results.nc'}")
    results = reference.read(path)
    return seal.read(path, strict=strict) if results is None else results


def _of_experiment(results: xr.Dataset, path: Path) -> xr.Dataset:
    """Refuse results that are not those of an experiment."""
    if not {"algorithm", "epsilon", "status"} <= set(results.variables):
        raise ValueError(
            f"{path}: not the results of an experiment; a study writes them to results/<experiment>/results.nc"
        )
    return results
