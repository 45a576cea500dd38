"""Commands on results: draw, report, judge, show, compare and keep them."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from admmbench.cli.options import Command, print_json, wide_console
from admmbench.files import MARKUP, with_checksum, write

if TYPE_CHECKING:
    import xarray as xr

    from admmbench.claims.judge import Verdict


@Command
def _figures(options: argparse.Namespace) -> None:
    """Draw the figures of an experiment: SVG, PDF, PNG, and the table that is drawn as CSV.

      admmbench figures huang2019_l2 --reference
      admmbench figures mine.json --results results/quick/results.nc

    SOURCE           figures.json of an experiment, a list of figures in JSON, a file of results
                     (.nc), or with --reference the name of an experiment
    --results FILE   results.nc, for figures in JSON
    --reference      draw the reference results, in the colours of the study that has the experiment
    --output FOLDER  folder to write (default: figures/<experiment>)
    """
    from admmbench.figures import Figure, drawing
    from admmbench.study import config, configurations
    from admmbench.validation import checked

    results = _read_drawn_results(options)
    name = results.attrs["experiment"]
    if options.results:
        entries, looks = config.read_figures(options.file)
        figures = checked(list[Figure], entries, str(options.file))
    else:
        figures = config.load({"experiments": [name]}).experiments[name].figures
        looks = configurations.looks_of(name)
    for path in drawing.save(results, figures, options.output or Path("figures", name), looks):
        print(path)


def _read_drawn_results(options: argparse.Namespace) -> xr.Dataset:
    """Return the results from which figures are drawn; ValueError if the arguments name none."""
    from admmbench.results import reference
    from admmbench.study import configurations
    from admmbench.validation import meant

    source, results = options.file, options.results
    if options.reference and results:
        raise ValueError("--reference: leave it out where --results names what is drawn")
    if options.reference:
        name = str(source).removesuffix(".nc")
        if references := reference.load([name]):
            return references[name]
        hint = meant(name, configurations.labels()) or "; name one of reference/"
        raise ValueError(f"{name}: there are no reference results of this experiment{hint}")
    if source.suffix == ".nc" and not results:
        results = source
    elif not results:
        raise ValueError(
            f"{source}: name what is drawn: --results and results.nc for figures in JSON, or a file of results, or an "
            "experiment with --reference"
        )
    return _require_experiment(_read(results, strict=True), results)


@Command
def _report(options: argparse.Namespace) -> None:
    """Write the report of a study.

      admmbench report results/quick --output report.html
      admmbench report equal_privacy --reference --output report.html

    FOLDER ...            folders of its experiments; with --reference the name of a configuration
    --reference           report the reference results of the configuration's experiments
    --configuration TEXT  name of this study on the page
    --partitions FOLDER   folder of partitions, whose counts the page shows
    --keep-what-exists    of a study that failed: join the runs that are there, and say what is
                          missing and why
    --pictures            write the files of the pictures that only the report has beside the page:
                          differences/ and attacks/, with links
    --output FILE         HTML file to write (required)
    """
    from admmbench.report import rendering
    from admmbench.report.audited import with_audits
    from admmbench.report.contents import gather, gather_reference, gather_what_exists
    from admmbench.results import reference

    configuration = options.configuration or ""
    if options.reference:
        if options.keep_what_exists or options.partitions or len(options.folder) > 1:
            raise ValueError(
                "--reference: name one configuration, without --keep-what-exists and --partitions"
            )
        name = options.folder[0].name.removesuffix(".yaml")
        gathered = gather_reference(name)
        configuration = configuration or f"config.yaml + {name}.yaml"
    elif options.keep_what_exists:
        gathered = [gather_what_exists(folder, options.partitions) for folder in options.folder]
    else:
        gathered = [gather(folder, options.output, options.partitions) for folder in options.folder]
    sections = [section for section, _ in gathered if section]
    names = [section.name for section in sections]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"the experiment {twice[0]} is there twice; name each folder once")
    missing = [row for _, rows in gathered for row in rows]
    verdicts = _judge(
        {section.name: with_audits(section.results, section.audits) for section in sections}
    )
    references = {} if options.reference else reference.load(names)
    reference_verdicts = _judge(references) if references else []
    sections = [replace(section, reference=references.get(section.name)) for section in sections]
    folder = options.output.parent if options.pictures else None
    page = rendering.render(sections, verdicts, configuration, reference_verdicts, missing, folder)
    content = page.encode()
    if not options.keep_what_exists:  # a page without a checksum counts as incomplete
        content = with_checksum(content, MARKUP)
    write(options.output, content)
    if not options.keep_what_exists:
        return
    if missing:
        print(f"The report of what exists is {options.output}; it names what is missing and why.")
        print(
            f"To write it again when more of it exists: {shlex.join(['admmbench', *sys.argv[1:]])}"
        )
    else:
        print(f"The report of what exists is {options.output}; nothing is missing in it.")


def _judge(results: Mapping[str, xr.Dataset]) -> list[Verdict]:
    """Judge all claims by the results of some experiments."""
    from admmbench.claims import claims, judge
    from admmbench.study.configurations import labels

    return judge.evaluate(claims.load(), results, labels())


@Command
def _claims(options: argparse.Namespace) -> None:
    """Judge what the papers claim, by reference results or those of a study.

      admmbench claims
      admmbench claims --paper ryu2022 --verdict contradicted
      admmbench claims results/quick/results.nc

    [FILE ...]         results.nc of experiments; claims on others are left out (default: reference
                       results)
    --paper NAME       claims of this paper alone
    --verdict TEXT     claims with this verdict alone: supported, "not falsified", contradicted,
                       undecided or "not run"
    --experiment NAME  claims on this experiment alone
    --json             print one JSON document
    """
    from admmbench.claims import claims, judge
    from admmbench.inference.contrasts import Decision
    from admmbench.report import environment
    from admmbench.report.audited import with_audits
    from admmbench.report.claims import texts
    from admmbench.report.contents import read_audits
    from admmbench.results import reference
    from admmbench.study.configurations import labels
    from admmbench.validation import one_of

    stated = claims.load()
    files = [
        with_audits(_require_experiment(_read(file), file), read_audits(file.parent))
        for file in options.file
    ]
    for option, known in (
        ("paper", {claim.paper for claim in stated}),
        ("verdict", Decision),
        ("experiment", {name for claim in stated for name in claim.experiments}),
    ):
        if getattr(options, option):
            one_of(f"--{option}", getattr(options, option), sorted(known))
    names = {options.experiment} if options.experiment else {f.attrs["experiment"] for f in files}
    stated = [
        claim
        for claim in stated
        if options.paper in (None, claim.paper) and (not names or names & {*claim.experiments})
    ]
    results = {file.attrs["experiment"]: file for file in files} or reference.load(
        {name for claim in stated for name in claim.experiments}
    )
    rows = [
        {
            "claim": verdict.claim.id,
            "paper": verdict.claim.paper,
            "counted": not verdict.claim.ours,
            "statement": verdict.claim.statement,
            "source": verdict.claim.source,
            "verdict": verdict.verdict.value,
            **texts(verdict)._asdict(),
        }
        for verdict in judge.evaluate(stated, results, labels())
        if options.verdict in (None, verdict.verdict)
    ]
    if options.json:
        return print_json(rows)
    if not rows:
        return print("No claim is about this: the papers' experiments have claims.")
    for row in rows:
        print(environment.texts("terminal").claim(row))


@Command
def _show(options: argparse.Namespace) -> None:
    """Print the tables of an experiment, or how a run ended.

      admmbench show results/quick/results.nc

    FILE    results.nc, or a file that run wrote
    --json  print one JSON document
    """
    from admmbench.report import terminal

    console = wide_console()
    dataset = _read(options.file)
    is_run = "status" in dataset and dataset["status"].dims == ("seed",)
    if is_run:
        if options.json:
            return print_json(run_facts(dataset))
        return console.print(run_summary(dataset), soft_wrap=True)
    results = _require_experiment(dataset, options.file)
    if options.json:
        return print_json(terminal.facts(results))
    for line in terminal.lines(results):
        console.print(line, soft_wrap=isinstance(line, str))


@Command
def _compare(options: argparse.Namespace) -> int:
    """Compare two result files of one study; the status is 1 if they differ.

      admmbench compare results/quick/results.nc other/results/quick/results.nc

    FIRST   results.nc
    SECOND  results.nc of another machine, version or code
    """
    from admmbench.report import differences
    from admmbench.report.environment import texts, words
    from admmbench.report.terminal import as_rich
    from admmbench.results import reference
    from admmbench.results.file_differences import contrast

    first, second = (
        _require_experiment(_read(path), path) for path in (options.first, options.second)
    )
    compared = contrast(first, second)
    console = wide_console()
    outdated = filter(None, map(reference.outdated, (first, second)))
    sentences = map(words().outdated, outdated)
    other_differences = (
        texts("differences").between(differences.compare_files(first, second)).splitlines()
    )
    for sentence in (*other_differences, *sentences):
        console.print(sentence, soft_wrap=True, markup=False)
    unit = " in percent" if compared.attrs["fraction"] else ""
    title = f"Final {compared.attrs['long_name']}{unit}"
    console.print(as_rich(title, differences.table(compared)))
    console.print(texts("differences").summary(differences.states(compared)), soft_wrap=True)
    return int((compared["state"] == "different").any())


@Command
def _keep(options: argparse.Namespace) -> None:
    """Keep results, to compare others with them.

      admmbench keep results/my_study/results.nc --made-by "admmbench study"

    FILE ...         results.nc, or trials.csv of a search
    --made-by TEXT   command that makes these results (required)
    --folder FOLDER  folder to write (default: reference)
    --add            add the runs to the reference results of the same experiment, instead of
                     replacing them
    --replace        replace only the methods with the same labels; of trials, the
                     same searches
    --every N        keep one in so many of the evaluated rounds, the first, and the last of each
                     method; files.yaml says so (default: 1)
    """
    from admmbench.report.audited import with_audits
    from admmbench.report.contents import read_audits
    from admmbench.results import reference

    if options.add and options.replace:
        raise ValueError(
            "--add, --replace: what is added replaces nothing; leave one of the two out"
        )
    every = options.every or 1
    for path in options.file:
        if path.suffix == ".csv":
            if options.add or every != 1:
                raise ValueError(f"{path}: all trials are kept, without --add and --every")
            written = reference.keep_trials(
                path, options.made_by, options.folder, replace=options.replace
            )
        else:
            options_of_merge = {"add": options.add, "replace": options.replace, "every": every}
            results = with_audits(_require_experiment(_read(path), path), read_audits(path.parent))
            written = reference.keep(results, options.made_by, options.folder, **options_of_merge)
        print(f"{written}: {written.stat().st_size / 1e6:.2f} MB")


def run_facts(trace: xr.Dataset) -> dict[str, Any]:
    """Return how a run ended: the final metric, failed or diverged seeds, and its privacy loss."""
    from admmbench.base.outcomes import SUCCESSFUL

    metric, total = trace[trace.attrs["metric"]], trace["epsilon_total"]
    fine = trace["status"].isin(SUCCESSFUL)
    guarantee = str(total.attrs.get("guarantee"))
    loss = trace["epsilon_composed"] if guarantee == "none" else total
    return {
        "title": trace.attrs["title"],
        "rounds": trace.attrs["rounds"],
        "metric": metric.attrs["long_name"],
        "unit": metric.attrs["units"],
        "fraction": "valid_range" in metric.attrs,
        "mean": float(metric.isel(round=-1).where(fine).mean("seed")),
        "seeds": trace.sizes["seed"],
        "failed": int((~fine).sum()),
        "guarantee": guarantee,
        "epsilon": float(loss.isel(round=-1).max()),
        "delta": trace.attrs["delta"],
        "gaussian": [float(trace[name]) for name in ("mu", "regret") if name in trace],
        "best_constant": metric.attrs.get("best_constant"),
    }


def run_summary(trace: xr.Dataset) -> str:
    """Return a text on how a run ended, see `run_facts`."""
    from admmbench.report.environment import texts

    return str(texts("run").run_summary(run_facts(trace)))


def _read(path: Path, *, strict: bool = False) -> xr.Dataset:
    """Read a file of results, see `netcdf.read`; reference results have their checksums in a list beside the files."""
    from admmbench.files import netcdf
    from admmbench.results import reference

    if not path.exists():
        raise ValueError(f"{path}: no such file")
    if path.is_dir():
        raise ValueError(f"{path}: is a folder; name a file in it, such as {path / 'results.nc'}")
    results = reference.read(path)
    return netcdf.read(path, strict=strict) if results is None else results


def _require_experiment(results: xr.Dataset, path: Path) -> xr.Dataset:
    """Return results, or refuse them if they are not an experiment's."""
    if not {"algorithm", "epsilon", "status"} <= set(results.variables):
        raise ValueError(
            f"{path}: not the results of an experiment; a study writes them to results/<experiment>/results.nc"
        )
    return results
