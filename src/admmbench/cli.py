"""Command line: every rule of the workflow calls one of these commands, and users can call them too."""

from __future__ import annotations

import argparse
import gc
import io
import itertools
import logging
import os
import shlex
import sys
import traceback
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from admmbench import __version__, interrupts
from admmbench.core_yaml import dump_yaml, parse_words, parse_yaml
from admmbench.files import check_output, expanded, read_sealed, sealed_json, write

if TYPE_CHECKING:
    import xarray as xr

    from admmbench.engine.spec import RunSpec

# Columns where the output is no terminal.
_WIDTH = 120
# Errors whose words alone say nothing.
_UNFORESEEN = (UnicodeError, RecursionError, NotImplementedError)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; an error in the input gives one message and status 1."""
    words = sys.argv[1:] if arguments is None else [*arguments]
    if words[:1] == ["study"]:  # what follows are words for Snakemake, options too
        options = _parser().parse_args(words[:1])
        options.words = words[1:]
    else:
        options = _parser().parse_args(words)
    _written_whatever_the_locale()
    logging.basicConfig(format="admmbench: %(message)s")
    logging.getLogger("admmbench").setLevel(logging.INFO)
    with interrupts.raised() as heard:
        try:
            _check_outputs(options)
            status: int | None = options.command(options)
        except KeyboardInterrupt:
            return interrupts.said()
        except (Exception, SystemExit) as error:
            from admmbench.plugins import is_foreign

            if isinstance(error, SystemExit) and not is_foreign(error):
                raise  # such as of a console whose reader is gone
            if heard:  # what was called made another error of it
                return interrupts.said()
            if os.environ.get("ADMMBENCH_DEBUG"):
                traceback.print_exc()
            print(f"admmbench: {_message(error)}", file=sys.stderr)
            return getattr(error, "status", 1)
    return status or 0


def _check_outputs(options: argparse.Namespace) -> None:
    """Refuse files that cannot be written before hours are spent on their content."""
    in_folder = options.command in (_new, _prepare, _figures, _schema)
    for path in (getattr(options, name, None) for name in ("output", "checkpoint")):
        if path is not None:
            check_output(path / "file" if in_folder else path)


def _message(error: BaseException) -> str:
    from admmbench.engine.rounds import AlgorithmError
    from admmbench.plugins import raised

    cause = error.__cause__ if isinstance(error, AlgorithmError) else error
    if isinstance(cause, MemoryError):
        return (
            f"out of memory ({cause or 'the system gives no more'}): run fewer jobs at once (--cores), or compute "
            "seeds in smaller blocks (seed_block)"
        )
    if isinstance(error, AlgorithmError):
        lines = traceback.format_exception(cause)
        return "".join([*lines, f"admmbench: {error}"])
    if isinstance(error, ValueError | RuntimeError | OSError) and not isinstance(
        error, _UNFORESEEN
    ):
        return str(error) or type(error).__name__
    return f"{raised(error)} (ADMMBENCH_DEBUG=1 shows where)"


def _written_whatever_the_locale() -> None:
    """Spell out characters that the terminal does not have: otherwise printing them is an error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="admmbench", description=__doc__)
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    command = _command(commands, "list", _list, "list methods, losses and data sets")

    command = _command(commands, "init", _init, "write a folder for your own study")
    command.add_argument("folder", type=_place, help="a new folder, or an empty one")

    command = _command(commands, "path", _path, "print the path of a file of the papers' studies")
    command.add_argument("name", help="such as laptop.yaml or experiments/quick.yaml")

    command = _command(commands, "new", _new, "write a method, a loss or a data set to start from")
    command.add_argument("kind", choices=("method", "loss", "dataset"))
    command.add_argument("name", help="name of the module, such as my_method")
    command.add_argument("--output", type=_place, default=Path(), help="folder (default: this one)")

    command = _command(commands, "check", _check, "check that a plug-in keeps its contracts")
    command.add_argument("name", help="path of a file, or name of a method, loss or data set")
    command.add_argument(
        "--traceback", action="store_true", help="show where errors arise in the suite, too"
    )

    command = _command(commands, "prepare", _prepare, "fetch, check and prepare a data set")
    command.add_argument("dataset", help="name, or YAML such as '{name: femnist, shards: [0, 1]}'")
    command.add_argument("--output", type=_place, required=True, help="folder to write")
    command.add_argument("--mirror", help="folder with source files, looked up before the network")
    command.add_argument("--cache", help="folder for downloads")

    command = _command(commands, "run", _run, "run an algorithm and write its trace")
    command.add_argument(
        "settings",
        nargs="+",
        metavar="KEY=VALUE",
        help="arguments of admmbench.simulate, values in YAML, such as dataset=digits "
        "algorithm=objp epsilon=1 seeds=0-9 params='{local_updates: 10}'",
    )
    command.add_argument("--data", type=_place, help="prepared data set (default: load it)")
    command.add_argument("--output", type=_place, required=True, help="netCDF file to write")
    command.add_argument("--threads", type=_count, default=1)
    command.add_argument("--fingerprint", help="of the code; other code is refused")
    command.add_argument(
        "--checkpoint", type=_place, help="file that keeps the state; a rerun continues from it"
    )

    command = _command(commands, "audit", _audit, "attack the privacy of a run")
    command.add_argument("settings", nargs="+", metavar="KEY=VALUE", help="as for run")
    command.add_argument("--data", type=_place, help="prepared data set (default: load it)")
    command.add_argument(
        "--audit", default="{}", help="how much to audit, in YAML: '{rounds: 5, repeats: 200}'"
    )
    command.add_argument(
        "--output", type=_place, help="JSON file to write; failed checks then give status 0"
    )
    command.add_argument(
        "--strict",
        action="store_true",
        help="give status 1 if a level does not apply, or nothing can be attacked, with --output too",
    )

    command = _command(commands, "tune", _tune, "look for a method's best settings")
    command.add_argument("settings", nargs="+", metavar="KEY=VALUE", help="as for run")
    command.add_argument(
        "--axes",
        required=True,
        help="settings to tune and their start, in YAML, such as '{rounds: 40, params.rho: 1}'",
    )
    command.add_argument(
        "--tuning", default="{}", help="how to tune, in YAML, such as '{trials: 24, held_out: 5}'"
    )
    command.add_argument("--data", type=_place, help="prepared data set (default: load it)")
    command.add_argument("--fingerprint", default="", help="of the code that trials are kept for")
    command.add_argument("--output", type=_place, required=True, help="JSON file to write")

    command = _command(commands, "choose", _choose, "write the settings that tuning chose")
    command.add_argument("files", type=_place, nargs="*", help="files that tune wrote")
    command.add_argument(
        "--of", required=True, help="label and budget of each file: '[[ObjP, 0.5], [ObjP, 1]]'"
    )
    command.add_argument(
        "--kept", default="{}", help="what was chosen before, by label and budget, in JSON"
    )
    command.add_argument("--output", type=_place, required=True, help="YAML file to write")

    command = _command(commands, "time", _time, "make all runs of an experiment, one by one")
    command.add_argument("folder", type=_place, help="folder of the experiment, with its manifest")
    command.add_argument("--data", type=_place, required=True, help="prepared data set")
    command.add_argument(
        "--fingerprints", nargs="+", required=True, help="of the codes, in order; others refused"
    )

    command = _command(commands, "aggregate", _aggregate, "join the runs of an experiment")
    command.add_argument("folder", type=_place, help="folder of the experiment, with its manifest")
    command.add_argument("--output", type=_place, required=True, help="netCDF file to write")

    command = _command(commands, "figures", _figures, "draw the figures of an experiment")
    command.add_argument("figures", type=_place, help="list of figures, a JSON file")
    command.add_argument("--results", type=_place, required=True, help="results.nc")
    command.add_argument("--output", type=_place, required=True, help="folder to write")

    command = _command(commands, "report", _report, "write the report of a study")
    command.add_argument("folders", type=_place, nargs="+", help="folders of its experiments")
    command.add_argument("--configuration", default="", help="name of this study on the page")
    command.add_argument(
        "--keep-what-exists",
        action="store_true",
        help="of a study that failed: join the runs that are there, and say what is missing and why",
    )
    command.add_argument("--output", type=_place, required=True, help="HTML file to write")

    command = _command(commands, "overview", _overview, "write the page that links all reports")
    command.add_argument("folder", type=_place, help="folder with a report for each configuration")
    command.add_argument("--output", type=_place, required=True, help="HTML file to write")

    command = _command(commands, "show", _show, "print the tables of an experiment")
    command.add_argument("results", type=_place, help="results.nc")

    command = _command(commands, "compare", _compare, "compare two result files of one study")
    command.add_argument("first", type=_place, help="results.nc")
    command.add_argument(
        "second", type=_place, help="results.nc of another machine, version or code"
    )

    command = _command(
        commands,
        "study",
        _study,
        "run a study with Snakemake, and show how far it is",
    )
    command.add_argument(
        "words",
        nargs="*",
        metavar="WORD",
        help="overlays of config/config.yaml (your files, or installed ones such as laptop.yaml), then options and "
        "targets of snakemake",
    )
    command.set_defaults(usage=command.print_help)

    command = _command(commands, "keep", _keep, "keep results, to compare others with them")
    command.add_argument("results", type=_place, nargs="+", help="results.nc")
    command.add_argument("--made-by", required=True, help="command that makes these results")
    command.add_argument("--folder", type=_place, help="folder to write (default: reference)")
    command.add_argument(
        "--add",
        action="store_true",
        help="add the runs to those that are kept of the same experiment, instead of replacing them",
    )

    command = _command(commands, "plan", _plan, "forecast what a study costs, beside what it took")
    _add_configfile(command)
    command.add_argument(
        "--config",
        "-C",
        nargs="+",
        default=[],
        metavar="KEY=VALUE",
        help="keys of the configuration, as for snakemake",
    )
    command.add_argument("--cores", type=_count, default=os.cpu_count(), help="default: all")
    command.add_argument(
        "--measure", action="store_true", help="measure everything again, not only what is new"
    )

    command = _command(commands, "gc", _gc, "list results that no configuration in config asks for")
    _add_configfile(command)
    command.add_argument("--delete", action="store_true", help="remove them")

    command = _command(commands, "schema", _schema, "write the JSON schemas of the configuration")
    command.add_argument("--output", type=_place, required=True, help="folder to write")
    return parser


def _command(commands: Any, name: str, function: Any, text: str) -> argparse.ArgumentParser:
    # An option that is cut short is a mistake: `--config` is no `--configfile`.
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=text, description=text, allow_abbrev=False
    )
    parser.set_defaults(command=function)
    return parser


def _add_configfile(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--configfile",
        nargs="+",
        default=[],
        metavar="FILE",
        help="overlays of config/config.yaml, as for snakemake: your files, or installed ones such as laptop.yaml",
    )


def _place(text: str) -> Path:
    """A file or a folder on the command line."""
    try:
        return expanded(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _count(text: str) -> int:
    """A number of cores or threads on the command line."""
    if not (text.isdecimal() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"expected a number from 1 on, got {text!r}")
    return int(text)


def _overlays(names: Sequence[str]) -> list[Path]:
    from admmbench.installed import find

    return [Path(name) if Path(name).exists() else find(name) for name in names]


# Each command imports what it needs: a job should not wait for packages that it does not use.


def _list(options: argparse.Namespace) -> None:
    from admmbench import list_algorithms, list_datasets, list_losses

    print("methods:", ", ".join(list_algorithms()))
    print("losses:", ", ".join(list_losses()))
    print("data sets:", ", ".join(list_datasets()))


def _init(options: argparse.Namespace) -> None:
    from admmbench import templates

    templates.write_study(options.folder)
    print(f"{options.folder} is a complete study; its README.md explains the files:")
    print(f"  cd {shlex.quote(str(options.folder))}")
    print("  admmbench study")


def _path(options: argparse.Namespace) -> None:
    from admmbench.installed import find

    print(find(options.name))


def _new(options: argparse.Namespace) -> None:
    from admmbench import templates

    path = templates.write(options.kind, options.name, options.output)
    print(f"{path} is a complete {options.kind}; change it, and check it:")
    print(f"  admmbench check {path}")


def _check(options: argparse.Namespace) -> int:
    from rich.console import Console

    from admmbench import checks

    _collect_garbage()
    console = Console(highlight=False, soft_wrap=True)
    total = failed = 0
    first = dict[str, str]()  # the check that failed for a reason first
    for check in checks.of(options.name):
        total += 1
        try:
            check.run()
        except Exception as error:
            failed += 1
            reason = _reason(error, options)
            console.print(f"[red]✗[/] {check.name}")
            shown = f"as above: {first[reason]}" if reason in first else reason
            first.setdefault(reason, check.name)
            for line in shown.splitlines():
                console.print(f"    {line}", markup=False)
        else:
            console.print(f"[green]✓[/] {check.name}")
    console.print(f"{total} checks, " + (f"{failed} failed" if failed else "all hold"))
    return int(failed > 0)


def _reason(error: Exception, options: argparse.Namespace) -> str:
    """Why a check failed: its sentence, or what the plug-in raised and where."""
    from admmbench.engine.rounds import AlgorithmError
    from admmbench.plugins import raised

    if isinstance(error, AssertionError):
        return str(error)
    if options.traceback:
        return "".join(traceback.format_exception(error)).rstrip()
    cause = error.__cause__ if isinstance(error, AlgorithmError) and error.__cause__ else error
    return raised(cause)


def _prepare(options: argparse.Namespace) -> None:
    from admmbench.datasets import prepare

    spec = parse_yaml(options.dataset, "DATASET")
    if not isinstance(spec, str | dict):
        raise ValueError(f"DATASET: expected a name or a mapping, got {options.dataset!r}")
    prepare(
        spec,
        options.output,
        mirror=options.mirror,
        cache=options.cache,
    )


def _run(options: argparse.Namespace) -> None:
    from admmbench.datasets import load_dataset, open_as
    from admmbench.jobs import job
    from admmbench.progress import shown

    spec = _spec(options)
    data = open_as(spec.dataset, options.data) if options.data else load_dataset(spec.dataset)
    title = f"{spec.algorithm} on {spec.info.name}, epsilon {spec.stated_budget:g}"
    with shown(title) as progress:

        def report(done: int, total: int) -> None:
            _collect_garbage()  # compiled code is loaded in the first round
            progress(done, total)

        job.execute(
            spec,
            data,
            options.output,
            options.threads,
            options.fingerprint,
            report,
            options.checkpoint,
        )


def _audit(options: argparse.Namespace) -> int:
    from admmbench.audit import AuditSettings, audit, table
    from admmbench.datasets import load_dataset, open_as
    from admmbench.progress import shown
    from admmbench.validation import checked

    spec = _spec(options)
    settings = checked(AuditSettings, _mapping(options.audit, "--audit"), "audit")
    data = open_as(spec.dataset, options.data) if options.data else load_dataset(spec.dataset)
    _collect_garbage()
    with shown(f"Attacks on {spec.algorithm}", "piece") as progress:
        found = audit(spec, data, settings, progress)
    if options.output:
        write(options.output, sealed_json(found.to_dict(), indent=1))
        return int(options.strict and not found.complete)
    console = _console()
    if found.findings:
        console.print(table(found))
    for finding in found.failures:
        console.print(
            f"[red]✗[/] {finding.level}, {finding.canary}: {finding.sentence}", soft_wrap=True
        )
    console.print(found.summary, soft_wrap=True)
    if spec.delta_warning:
        console.print(f"Warning: {spec.delta_warning}.", soft_wrap=True)
    return int(not found.complete if options.strict else found.passed is False)


def _tune(options: argparse.Namespace) -> None:
    from admmbench.datasets import load_dataset, open_as
    from admmbench.progress import shown
    from admmbench.tuning.settings import Axes, TuningSettings
    from admmbench.tuning.trials import tune
    from admmbench.validation import checked

    spec = _spec(options)
    axes = checked(Axes, _mapping(options.axes, "--axes"), "axes")
    if not axes:
        raise ValueError("--axes: names no setting to tune, such as '{params.rho: 1}'")
    settings = checked(TuningSettings, _mapping(options.tuning, "--tuning"), "tuning")
    data = open_as(spec.dataset, options.data) if options.data else load_dataset(spec.dataset)
    kept = options.output.with_suffix(".trials")
    _collect_garbage()
    title = f"Tuning {spec.algorithm} on {spec.info.name}, epsilon {spec.stated_budget:g}"
    with shown(title, "trial") as progress:
        found = tune(spec, axes, settings, data, kept, options.fingerprint, progress)
    content = {**found.to_dict(), "of": spec.definitions}
    write(options.output, sealed_json(content, indent=1))
    kept.unlink(missing_ok=True)


def _choose(options: argparse.Namespace) -> None:
    from admmbench.tuning.settings import Chosen, Tuned
    from admmbench.validation import checked

    chosen = checked(Tuned, parse_yaml(options.kept, "--kept"), "--kept")
    of = checked(list[tuple[str, float]], parse_yaml(options.of, "--of"), "--of")
    if len(of) != len(options.files):
        raise ValueError(f"--of: names {len(of)} searches, there are {len(options.files)} files")
    for file, (label, budget) in zip(options.files, of, strict=True):
        found = read_sealed(file)
        if isinstance(found, dict):  # without its trials
            found = {key: found[key] for key in Chosen.model_fields if key in found}
        chosen.setdefault(label, {})[budget] = checked(Chosen, found, str(file))
    # A line for each budget.
    text = dump_yaml(
        {
            label: {budget: each.model_dump() for budget, each in sorted(found.items())}
            for label, found in chosen.items()
        },
        default_flow_style=None,
        sort_keys=False,
        width=10_000,
    )
    write(options.output, f"# Best settings on held-out rows, by `snakemake tune`.\n{text}")


def _time(options: argparse.Namespace) -> None:
    from admmbench.config import read_experiment
    from admmbench.datasets import open_as
    from admmbench.jobs import fingerprint, job
    from admmbench.progress import shown

    _, experiment = read_experiment(options.folder)
    codes = fingerprint.codes(run.spec for run in experiment.runs)
    planned = dict(zip(codes, options.fingerprints, strict=True))
    _collect_garbage()
    # Seed by seed: if the machine is slow for a while, all methods are slow.
    runs = sorted(experiment.runs, key=lambda run: run.spec.seeds)
    with shown("Timing one by one", "run") as progress:
        job.time_one_by_one(
            [run.spec for run in runs],
            open_as(experiment.dataset, options.data),
            [options.folder / "runs" / run.path for run in runs],
            [planned[fingerprint.code(run.spec)] for run in runs],
            progress,
        )


def _collect_garbage() -> None:
    """Look for garbage again, but not among what was imported."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def _spec(options: argparse.Namespace) -> RunSpec:
    """The run that words ``KEY=VALUE`` state."""
    from admmbench.engine.spec import RunSpec
    from admmbench.validation import checked

    return checked(RunSpec, parse_words(options.settings), "")


def _mapping(text: str, what: str) -> dict[str, Any]:
    found = parse_yaml(text, what)
    if not isinstance(found, dict):
        raise ValueError(f"{what}: expected a mapping of keys to values, got {text!r}")
    return found


def _aggregate(options: argparse.Namespace) -> None:
    from admmbench.analysis.aggregate import aggregate
    from admmbench.config import read_experiment, runs_folder
    from admmbench.jobs.job import write

    name, experiment = read_experiment(options.folder)
    runs = runs_folder(options.folder.parent, options.folder.name, experiment)
    write(aggregate(name, experiment, runs), options.output)


def _figures(options: argparse.Namespace) -> None:
    from admmbench.config import read_figures
    from admmbench.figures import Figure, drawing
    from admmbench.jobs import seal
    from admmbench.validation import checked

    wanted = checked(list[Figure], read_figures(options.figures), str(options.figures))
    drawing.save(seal.read(options.results), wanted, options.output)


def _report(options: argparse.Namespace) -> None:
    from admmbench.analysis import claims, reference, report, verdicts
    from admmbench.analysis.gathered import gather, gather_what_exists
    from admmbench.config import labels
    from admmbench.installed import find_all

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
    meta = report.Meta(configuration=options.configuration, version=__version__)
    report.write(options.output, sections, found, meta, kept_found, missing)
    if missing:
        print(f"The report of what exists is {options.output}; it names what is missing and why.")
        print(
            f"To write it again when more of it exists: {shlex.join(['admmbench', *sys.argv[1:]])}"
        )


def _overview(options: argparse.Namespace) -> None:
    from admmbench.analysis import overview

    overview.write(options.folder, options.output)


def _show(options: argparse.Namespace) -> None:
    from admmbench.analysis import terminal

    console = _console()
    for line in terminal.lines(_results(options.results)):
        console.print(line, soft_wrap=isinstance(line, str))


def _compare(options: argparse.Namespace) -> int:
    from admmbench.analysis import contrast

    first, second = (_results(path) for path in (options.first, options.second))
    found = contrast.contrast(first, second)
    console = _console()
    for difference in contrast.settings(first, second):
        console.print(difference, soft_wrap=True, markup=False)
    console.print(contrast.table(found))
    console.print(contrast.summary(found), soft_wrap=True)
    return int((found["state"] == "different").any())


def _keep(options: argparse.Namespace) -> None:
    from admmbench.analysis import reference

    for path in options.results:
        kept = reference.keep(_results(path), options.made_by, options.folder, add=options.add)
        print(f"{kept}: {kept.stat().st_size / 1e6:.2f} MB")


def _results(path: Path) -> xr.Dataset:
    """A file of labelled results."""
    from admmbench.analysis import reference
    from admmbench.jobs import seal

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


def _console() -> Any:
    from rich.console import Console

    console = Console(highlight=False)
    return console if console.is_terminal else Console(width=_WIDTH, highlight=False)


def _study(options: argparse.Namespace) -> int:
    from rich.console import Console

    from admmbench.watch.study import run

    if options.words[:1] in (["-h"], ["--help"]):
        options.usage()
        return 0
    _collect_garbage()
    names = list(itertools.takewhile(_is_yaml, options.words))
    overlays = _overlays(names)
    console = Console(stderr=True, highlight=False)
    return run(overlays, options.words[len(names) :], console)


def _is_yaml(word: str) -> bool:
    return word.endswith((".yaml", ".yml")) and not word.startswith("-")


def _plan(options: argparse.Namespace) -> None:
    from admmbench.config import read
    from admmbench.forecast import plan as forecast
    from admmbench.housekeeping import notices
    from admmbench.progress import shown

    study = read(_overlays(options.configfile), changes=parse_words(options.config))
    _collect_garbage()
    with shown("Measuring this machine", "method") as progress:
        machine = forecast.calibrate(study, progress, renew=options.measure)
    console = _console()
    costs = forecast.plan(study, machine)
    console.print(forecast.table(costs))
    console.print(forecast.summary(costs.total, options.cores), soft_wrap=True)
    for notice in notices(study):
        console.print(notice, soft_wrap=True)


def _gc(options: argparse.Namespace) -> None:
    from admmbench import housekeeping
    from admmbench.config import CONFIG, read
    from admmbench.installed import find_all

    overlays = [path for name, path in find_all().items() if name != CONFIG.stem]
    # What the other configurations of the folder ask for stays as well.
    found = housekeeping.leftovers(
        read(each) for each in ([], *([o] for o in overlays), _overlays(options.configfile))
    )
    sizes = [housekeeping.size(path) for path in found]
    for path, size in zip(found, sizes, strict=True):
        print(f"{size / 1e6:10.2f} MB  {path}")
    text = f"{len(found)} that no configuration asks for, {sum(sizes) / 1e6:.1f} MB"
    if options.delete:
        housekeeping.remove(found)
        print(f"{text}: removed")
    else:
        print(f"{text}; --delete removes them" if found else text)


def _schema(options: argparse.Namespace) -> None:
    from admmbench.config import schemas

    for name, text in schemas().items():
        write(options.output / name, text)
