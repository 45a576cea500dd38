"""Commands on single runs: prepare their data, run, attack, tune, time."""

from __future__ import annotations

import argparse
import math
import shlex
from typing import TYPE_CHECKING, Any, get_args

from admmbench.cli.options import (
    DATA,
    DEVICE,
    SETTINGS,
    argument,
    collect_garbage,
    command,
    count,
    dataset,
    dataset_names,
    place,
    plugin_names,
    run_spec,
    wide_console,
)
from admmbench.cli.results import ended
from admmbench.files import read_sealed, sealed_json, write
from admmbench.files.core_yaml import parse_words, parse_yaml

if TYPE_CHECKING:
    from rich.console import Console

    from admmbench.privacy.curves import Curve


@command(
    "prepare",
    "fetch, check and prepare a data set",
    argument(
        "dataset",
        help="name, or YAML such as '{name: femnist, shards: [0, 1]}'",
        complete=dataset_names,
    ),
    argument("--output", type=place, required=True, help="folder to write"),
    argument("--mirror", help="folder with source files, looked up before the network"),
    argument("--cache", help="folder for downloads"),
    in_folder=True,
)
def _prepare(options: argparse.Namespace) -> None:
    from admmbench.datasets import describe, prepare

    spec = parse_yaml(options.dataset, "DATASET")
    if not isinstance(spec, str | dict):
        raise ValueError(f"DATASET: expected a name or a mapping, got {options.dataset!r}")
    prepare(spec, options.output, mirror=options.mirror, cache=options.cache)
    for line in describe(spec).summary:
        print(line)


@command(
    "run",
    "run an algorithm and write its trace",
    SETTINGS,
    DATA,
    argument("--output", type=place, required=True, help="netCDF file to write"),
    argument("--threads", type=count, default=1),
    DEVICE,
    argument("--fingerprint", help="of the code; other code is refused"),
    argument(
        "--checkpoint", type=place, help="file that keeps the state; a rerun continues from it"
    ),
)
def _run(options: argparse.Namespace) -> None:
    from admmbench.jobs import job, seal
    from admmbench.jobs.progress import shown

    spec = run_spec(options)
    data = dataset(options, spec)
    title = f"{spec.algorithm} on {spec.info.name}, epsilon {spec.stated_budget:g}"
    with shown(title) as progress:

        def report(done: int, total: int) -> None:
            collect_garbage()  # compiled code is loaded in the first round
            progress(done, total)

        job.execute(
            spec,
            data,
            options.output,
            options.threads,
            options.fingerprint,
            report,
            options.checkpoint,
            options.device,
        )
    print(ended(seal.read(options.output)))
    print(
        f"{options.output} has the trace; admmbench show {shlex.quote(str(options.output))} says this again"
    )


@command(
    "account",
    "say what releases cost together, without a run",
    argument(
        "name",
        help="method, or a mechanism: gaussian (with --multiplier), laplace or pure (with --epsilon); or all, for a "
        "table of every method with every unit, trust, relation and sampling",
        complete=plugin_names,
    ),
    argument(
        "settings",
        nargs="*",
        metavar="KEY=VALUE",
        help="further arguments of admmbench.simulate, such as agents=5; sensitivity is global if it is not stated",
    ),
    argument(
        "--dataset", help="that a method runs on, as a name or in YAML", complete=dataset_names
    ),
    argument("--rounds", help="of the run, or how many releases there are"),
    argument("--epsilon", help="budget of one release"),
    argument("--multiplier", help="standard deviation of normal noise over the sensitivity"),
    argument("--total", help="total epsilon to solve for"),
    argument("--delta", help="failure probability of totals"),
    argument("--sampling", help="probability that a record takes part in a release"),
    argument("--trials", help="of a search for settings, whose total is said as well"),
    argument(
        "--covers",
        help="what --total is of: run (default); or every_trial or best_trial, with --trials",
    ),
)
def _account(options: argparse.Namespace) -> None:
    from rich.table import Table

    from admmbench import list_algorithms
    from admmbench.algorithms import ALIASES
    from admmbench.datasets import load_dataset
    from admmbench.engine.account import Mechanism, Search, of_run
    from admmbench.privacy import ACCOUNTANTS
    from admmbench.spec.run import RunSpec
    from admmbench.validation import checked, unknown

    if options.name == "all":
        from admmbench.engine import combinations

        print(combinations.markdown())
        return
    keys = ["dataset", "rounds", "epsilon", "multiplier", "total", "delta", "sampling", "covers"]
    keys += ["trials"] if options.covers else []
    given = {key: parse_yaml(text, f"--{key}") for key in keys if (text := getattr(options, key))}
    given |= parse_words(options.settings)
    mechanisms = get_args(Mechanism.model_fields["name"].annotation)
    names = [*mechanisms, *list_algorithms(), *ALIASES]
    if options.name not in names and not options.name.endswith(".py"):
        raise ValueError(unknown("method or mechanism", options.name, names))
    if options.name in mechanisms:
        mechanism = checked(Mechanism, {"name": options.name, **given}, "")
        found = mechanism.account()
        what, releases = options.name, f"{mechanism.rounds} releases"
    else:
        given["params"] = {**given.get("params", {}), **_moved(given, "sampling")}
        own = _moved(given, "total", "covers", "trials")
        given["privacy"] = {**given.get("privacy", {}), **own}
        spec = checked(RunSpec, {"algorithm": options.name, "sensitivity": "global", **given}, "")
        found = of_run(spec, load_dataset(spec.dataset))
        what, releases = f"{options.name} on {spec.info.name}", f"{spec.rounds} rounds"
    table = Table("accountant", "total epsilon", "", box=None)
    for name, total in found.totals.items():
        said = "no total of such releases" if math.isnan(total) else f"{total:.4g}"
        table.add_row(name, said, ACCOUNTANTS[name].comment)
    table.add_row("total", f"{found.total:.4g}", "the least that is proved")
    console = wide_console()
    console.print(f"{what}: {releases}, {found.one} each; at delta {found.delta:g}:")
    console.print(table)
    _print_curve(console, found.curve)
    if options.trials:
        search = checked(Search, {"trials": parse_yaml(options.trials, "--trials")}, "")
        console.print(
            f"A search of {search.trials:g} trials, each with these releases, costs in total:"
        )
        for who, total in search.totals(found).items():
            console.print(f"  {total:.4g} if {who}")


def _print_curve(console: Console, curve: Curve) -> None:
    """Print what an attacker who sees all releases finds at most."""
    from rich.table import Table

    table = Table("false alarms", "hits, at most", box=None)
    rates = (0.0001, 0.001, 0.01, 0.1)
    for alarms, hits in zip(rates, curve.power(rates).tolist(), strict=True):
        table.add_row(f"{alarms:g}", f"{hits:.3g}")
    console.print("An attacker who sees all releases, and looks for one record:")
    console.print(table)
    mu = "" if math.isnan(curve.mu) else f"; mu of Gaussian differential privacy {curve.mu:.4g}"
    console.print(f"Advantage (hits less false alarms) at most {curve.advantage:.3g}{mu}.")


def _moved(given: dict[str, Any], *keys: str) -> dict[str, Any]:
    """Take values out of a mapping."""
    return {key: given.pop(key) for key in keys if key in given}


@command(
    "audit",
    "attack the privacy of a run",
    SETTINGS,
    DATA,
    argument(
        "--audit", default="{}", help="how much to audit, in YAML: '{rounds: 5, repeats: 200}'"
    ),
    argument("--output", type=place, help="JSON file to write; failed checks then give status 0"),
    argument(
        "--strict",
        action="store_true",
        help="give status 1 if a level does not apply, or nothing can be attacked, with --output too",
    ),
)
def _audit(options: argparse.Namespace) -> int:
    from admmbench.audit.auditor import audit
    from admmbench.audit.findings import table
    from admmbench.audit.settings import AuditSettings
    from admmbench.jobs.progress import shown
    from admmbench.validation import checked

    spec = run_spec(options)
    settings = checked(AuditSettings, parse_yaml(options.audit, "--audit"), "audit")
    data = dataset(options, spec)
    collect_garbage()
    with shown(f"Attacks on {spec.algorithm}", "piece") as progress:
        found = audit(spec, data, settings, progress)
    if options.output:
        write(options.output, sealed_json(found.to_dict(), indent=1))
        return int(options.strict and not found.complete)
    console = wide_console()
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


@command(
    "tune",
    "look for a method's best settings",
    SETTINGS,
    argument(
        "--axes",
        required=True,
        help="settings to tune and their start, in YAML, such as '{rounds: 40, params.rho: 1}'",
    ),
    argument(
        "--tuning", default="{}", help="how to tune, in YAML, such as '{trials: 24, held_out: 5}'"
    ),
    DATA,
    argument("--fingerprint", default="", help="of the code that trials are kept for"),
    argument("--output", type=place, required=True, help="JSON file to write"),
)
def _tune(options: argparse.Namespace) -> None:
    from admmbench.figures.wording import counted
    from admmbench.jobs.progress import shown
    from admmbench.study.grid import Search
    from admmbench.tuning.settings import Axes, TuningSettings
    from admmbench.tuning.trials import tune
    from admmbench.validation import checked

    spec = run_spec(options)
    axes = checked(Axes, parse_yaml(options.axes, "--axes"), "axes")
    if not axes:
        raise ValueError("--axes: names no setting to tune, such as '{params.rho: 1}'")
    settings = checked(TuningSettings, parse_yaml(options.tuning, "--tuning"), "tuning")
    data = dataset(options, spec)
    kept = options.output.with_suffix(".trials")
    collect_garbage()
    title = f"Tuning {spec.algorithm} on {spec.info.name}, epsilon {spec.stated_budget:g}"
    with shown(title, "trial") as progress:
        found = tune(spec, axes, settings, data, kept, options.fingerprint, progress)
    content = {
        **found.to_dict(),
        "of": spec.definitions,
        "space": Search("", spec.stated_budget, spec, axes).space(settings),
        "code": options.fingerprint,
    }
    write(options.output, sealed_json(content, indent=1))
    kept.unlink(missing_ok=True)
    best = ", ".join(f"{path} {value:g}" for path, value in found.best.settings.items())
    edges = f"; at an edge of what was tried: {', '.join(found.edges)}" if found.edges else ""
    error = f"{spec.as_problem.loss.metric} {found.best.score.error:.4g} on held-out rows"
    trials = counted(len(found.trials), "trial")
    print(f"{spec.algorithm} on {spec.info.name}: best of {trials}: {best}; {error}{edges}")
    print(f"{options.output} has all trials; `admmbench run` takes these settings as KEY=VALUE")


@command(
    "choose",
    "write the settings that tuning chose",
    argument("files", type=place, nargs="*", help="files that tune wrote"),
    argument(
        "--of", required=True, help="label and budget of each file: '[[ObjP, 0.5], [ObjP, 1]]'"
    ),
    argument("--kept", default="{}", help="what was chosen before, by label and budget, in JSON"),
    argument("--output", type=place, required=True, help="YAML file to write"),
    argument("--trials", type=place, help="CSV file to write, of all trials"),
)
def _choose(options: argparse.Namespace) -> None:
    import json

    import pandas as pd

    from admmbench.results.reference import TRIALS
    from admmbench.tuning.settings import Chosen, Tuned, dump
    from admmbench.validation import checked

    chosen = checked(Tuned, parse_yaml(options.kept, "--kept"), "--kept")
    of = checked(list[tuple[str, float]], parse_yaml(options.of, "--of"), "--of")
    if len(of) != len(options.files):
        raise ValueError(f"--of: names {len(of)} searches, there are {len(options.files)} files")
    trials = []
    for file, (label, budget) in zip(options.files, of, strict=True):
        found = read_sealed(file)
        trials += [
            {"method": label, "budget": budget, **each, "settings": json.dumps(each["settings"])}
            for each in found.pop("trials", [])
        ]
        found = {key: found[key] for key in Chosen.model_fields if key in found}
        chosen.setdefault(label, {})[budget] = checked(Chosen, found, str(file))
    write(options.output, dump(chosen))
    if options.trials:
        write(options.trials, pd.DataFrame(trials, columns=[*TRIALS]).to_csv(index=False))


@command(
    "time",
    "make all runs of an experiment, one by one",
    argument("folder", type=place, help="folder of the experiment, with its manifest"),
    argument("--data", type=place, required=True, help="prepared data set"),
    argument(
        "--fingerprints", nargs="+", required=True, help="of the codes, in order; others refused"
    ),
)
def _time(options: argparse.Namespace) -> None:
    from admmbench.datasets import open_as
    from admmbench.jobs import fingerprint, job
    from admmbench.jobs.progress import shown
    from admmbench.study.config import read_experiment

    _, experiment = read_experiment(options.folder)
    codes = fingerprint.codes(run.spec for run in experiment.runs)
    planned = dict(zip(codes, options.fingerprints, strict=True))
    collect_garbage()
    # Seed by seed: if the machine is slow for a while, all methods are slow.
    runs = sorted(experiment.runs, key=lambda run: run.spec.seeds)
    with shown("Timing one by one", "run") as progress:
        job.time_one_by_one(
            [run.spec for run in runs],
            open_as(experiment.dataset, options.data),
            [experiment.runs_folder(options.folder) / run.path for run in runs],
            [planned[fingerprint.code(run.spec)] for run in runs],
            progress,
        )
