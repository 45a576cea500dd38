"""Commands on whole studies: begin one, run it, forecast it, clear up after it."""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import re
import shlex
import sys
from pathlib import Path

from admmbench.cli.options import (
    CONFIGFILE,
    argument,
    collect_garbage,
    command,
    count,
    find_overlays,
    overlay_names,
    place,
    plugin_names,
    wide_console,
)
from admmbench.files.core_yaml import dump_yaml, parse_words, parse_yaml
from admmbench.jobs.limits import refuse_small_limit


@command(
    "init",
    "write a folder for your own study",
    argument("folder", type=place, help="a new folder, or an empty one"),
)
def _init(options: argparse.Namespace) -> None:
    from admmbench import scaffold

    scaffold.write_study(options.folder)
    print(f"{options.folder} is a complete study; its README.md explains the files:")
    print(f"  cd {shlex.quote(str(options.folder))}")
    print("  admmbench study")


@command(
    "path",
    "print the path of a file of the papers' studies",
    argument("name", help="such as laptop.yaml or experiments/quick.yaml", complete=overlay_names),
)
def _path(options: argparse.Namespace) -> None:
    from admmbench.files.installed import find

    print(find(options.name))


@command(
    "study",
    "run a study with Snakemake, and show how far it is",
    argument(
        "words",
        nargs="*",
        metavar="WORD",
        help="overlays of config/config.yaml (your files, or installed ones such as laptop.yaml); options of "
        "snakemake, such as -n (only list the jobs) and --cores 4 (default: all cores); targets of snakemake; and "
        "--until-decided, which orders further seeds until every row is decided",
        complete=overlay_names,
    ),
)
def _study(options: argparse.Namespace) -> int:
    if {"-h", "--help"} & {*options.words}:
        options.usage()
        return 0
    refuse_small_limit()
    from admmbench.watch.study import run, separated, until_decided

    collect_garbage()
    names, others = separated([word for word in options.words if word != _DECIDE])
    command = until_decided if _DECIDE in options.words else run
    return command(find_overlays(names), others)


@command(
    "migrate",
    "after an upgrade, keep the results that today's code computes alike",
    argument(
        "words",
        nargs="*",
        metavar="WORD",
        help="folder of the study (default: this one), and overlays of its config/config.yaml, as for study",
        complete=overlay_names,
    ),
    argument("--dry-run", "-n", action="store_true", help="change nothing"),
    argument(
        "--most",
        type=count,
        default=math.inf,
        metavar="SECONDS",
        help="begin no computation after so many seconds; what was not checked stays as it is",
    ),
    argument(
        "--reference", action="store_true", help="instead: the reference results of this folder"
    ),
)
def _migrate(options: argparse.Namespace) -> int:
    from admmbench.files.installed import OWN_REFERENCE
    from admmbench.jobs.progress import shown
    from admmbench.study.config import read
    from admmbench.watch import migration, witnesses

    words, settings = options.words, {"most": options.most, "dry_run": options.dry_run}
    if words and Path(words[0]).is_dir():
        os.chdir(words.pop(0))
    collect_garbage()
    with shown("Computing drawn parts again", "group") as progress:
        if options.reference:
            pieces = migration.reference_pieces(OWN_REFERENCE)
            rows = witnesses.judge(pieces, **settings, progress=progress)
        else:
            overlays = find_overlays(words)
            given = ["--configfile", *map(str, overlays)] if overlays else []
            rows = migration.migrate(read(overlays), given, **settings, progress=progress)
    wide_console().print(witnesses.table(rows))
    print(witnesses.summary(rows, dry_run=options.dry_run))
    return int(any(row.verdict == witnesses.Verdict.DAMAGED for row in rows))


@command(
    "rank",
    "say which private method predicts best on your table, each tuned",
    argument("table", type=place, help="file of the table, or a folder of LEAF files"),
    argument(
        "settings",
        nargs="*",
        default=[],
        metavar="KEY=VALUE",
        help="further settings of the data set table, such as missing=impute",
    ),
    argument("--target", default="", help="column to predict"),
    argument("--group", default="", help="column that says whose a record is: each has an agent"),
    argument("--total", required=True, help="total epsilon of the whole run, or several: 1,8"),
    argument(
        "--methods",
        default="",
        help="names, or paths of your own, separated by commas (default: all that compete and suit)",
        complete=plugin_names,
    ),
    argument("--delta", help="failure probability of totals (default: 1e-5)"),
    argument("--agents", help="with equal shares (default: one for each group, or 10)"),
    argument("--loss", help="default: logistic, softmax, or huber for numbers"),
    argument("--noise", help="published, laplace or gaussian (default), where a method has it"),
    argument("--seeds", help="of the first look (default: 10)"),
    argument("--trials", help="settings that are tried for each method and total (default: 24)"),
    argument(
        "--margin",
        help="difference that does not matter (default: 1 point of an error; 0 for numbers)",
    ),
    argument("--audit", action="store_true", help="attack the privacy of each method, too"),
    argument("--cores", "-c", type=count, help="cores that jobs use together (default: all)"),
    argument(
        "--dry-run",
        "-n",
        action="store_true",
        help="write the folder of the study, list the searches, and run nothing",
    ),
    argument("--output", type=place, help="folder of the study (default: rank-TABLE)"),
    argument("--open", action="store_true", help="open the report in a browser"),
    in_folder=True,
)
def _rank(options: argparse.Namespace) -> int:
    import webbrowser

    from admmbench import scaffold
    from admmbench.datasets import describe
    from admmbench.jobs import seal
    from admmbench.report import answer
    from admmbench.report.environment import words
    from admmbench.results.who_wins import compare
    from admmbench.study.config import read_experiment
    from admmbench.study.ranking import HEAD, NAME, Question, as_typed, experiment
    from admmbench.validation import checked
    from admmbench.watch.study import turn

    given = {
        key: parse_yaml(text, f"--{key}")
        for key in ("delta", "agents", "loss", "noise", "seeds", "trials", "margin")
        if (text := getattr(options, key))
    }
    columns = {key: text for key in ("target", "group") if (text := getattr(options, key))}
    table = {"name": "table", "path": str(options.table), **columns}
    asked = {
        **given,
        "dataset": table | parse_words(options.settings),
        "methods": [name for name in options.methods.split(",") if name],
        "total": [parse_yaml(text, "--total") for text in options.total.split(",")],
        "audit": options.audit,
    }
    try:
        question = checked(Question, asked, "")
    except ValueError as error:
        raise ValueError(as_typed(str(error))) from None
    try:
        describe(question.dataset)
    except ValueError as error:
        said = as_typed(str(error))
        if re.search(r"\b(set|state|or|by) \w+: ", said):
            said += " (settings follow the table as KEY=VALUE, such as missing=drop)"
        raise ValueError(said) from None
    folder = options.output or Path(f"rank-{options.table.name.partition('.')[0]}")
    content, left_out = experiment(question, folder)
    scaffold.write_experiment(
        NAME, HEAD + dump_yaml(content, default_flow_style=None, sort_keys=False, width=120), folder
    )
    for line in describe(question.dataset).summary:
        print(line)
    for line in left_out:
        print(f"not ranked: {line}")
    study = [sys.executable, "-m", "admmbench", "study"]
    cores = ["--cores", str(options.cores)] if options.cores else []
    if options.dry_run:
        return turn([*study, "tune", "-n", *cores], folder)
    for target in ("tune", "all"):
        if status := turn([*study, target, *cores], folder):
            return status
    with contextlib.chdir(folder):
        results = Path("results", NAME)
        comparison = compare([seal.read(results / "results.nc")])
        if comparison is not None:
            content = answer.content(comparison, dict([read_experiment(results)]))
            print(words().short(content["answer"]))
    report = folder / "results/report/config/index.html"
    print(f"The report is {report}. To go on in this folder: cd {shlex.quote(str(folder))}")
    print(
        "  admmbench study --until-decided   # more seeds, up to the last look, until the answer is decided"
    )
    print(f"  admmbench study                   # after changes to config/experiments/{NAME}.yaml")
    if options.open:
        webbrowser.open(report.absolute().as_uri())
    return 0


_DECIDE = "--until-decided"


@command(
    "plan",
    "forecast what a study costs, beside what it took",
    CONFIGFILE,
    argument(
        "--config",
        "-C",
        nargs="+",
        default=[],
        metavar="KEY=VALUE",
        help="keys of the configuration, as for snakemake",
    ),
    argument("--cores", type=count, default=os.cpu_count(), help="default: all"),
    argument("--measure", action="store_true", help="time rounds again"),
    argument(
        "--power",
        action="store_true",
        help="instead: which differences numbers of seeds show, and what deciding the study costs",
    ),
)
def _plan(options: argparse.Namespace) -> None:
    from admmbench.forecast import plan, power
    from admmbench.forecast.timing import Speeds
    from admmbench.jobs.progress import shown
    from admmbench.study.config import read
    from admmbench.tuning.outdated import outdated

    study = read(find_overlays(options.configfile), changes=parse_words(options.config))
    collect_garbage()
    speeds = Speeds(study)
    with shown("Timing rounds", "kind of run") as progress:
        speeds.measure(progress, renew=options.measure)
    console = wide_console()
    if options.power:
        console.print(power.power(study, speeds))
        console.print(power.NOTE, soft_wrap=True)
        return
    costs = plan.plan(study, speeds)
    console.print(plan.table(costs))
    console.print(plan.summary(costs, options.cores), soft_wrap=True)
    for name, experiment in study.experiments.items():
        for sentence in outdated(name, experiment):
            console.print(f"{name}: {sentence}", soft_wrap=True, markup=False)


@command(
    "gc",
    "list results that no configuration in config asks for",
    CONFIGFILE,
    argument("--delete", action="store_true", help="remove them"),
)
def _gc(options: argparse.Namespace) -> None:
    from admmbench.files.installed import find_all
    from admmbench.study import housekeeping
    from admmbench.study.config import CONFIG, read

    overlays = [path for name, path in find_all().items() if name != CONFIG.name]
    # What the other configurations of the folder ask for stays as well.
    found = housekeeping.leftovers(
        read(each) for each in ([], *([o] for o in overlays), find_overlays(options.configfile))
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
