"""Commands on whole studies: begin one, run it, forecast it, clear up after it."""

from __future__ import annotations

import argparse
import math
import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from admmbench.cli.options import Command, collect_garbage, find_overlays, wide_console
from admmbench.files.core_yaml import parse_words, parse_yaml
from admmbench.jobs.limits import refuse_small_limit

if TYPE_CHECKING:
    from admmbench.report.closing import Closing

_DECIDE = "--until-decided"


@Command
def _init(options: argparse.Namespace) -> None:
    """Write a folder for your own study.

      admmbench init my_study

    FOLDER  a new folder, or an empty one
    """
    from admmbench import scaffold

    scaffold.write_study(options.folder)
    print(f"{options.folder} is a complete study; its README.md explains the files:")
    print(f"  cd {shlex.quote(str(options.folder))}")
    print("  admmbench study")


@Command
def _study(options: argparse.Namespace) -> int:
    """Run a study with Snakemake, and show how far it is.

      admmbench study laptop.yaml -n
      admmbench study config/quick.yaml --cores 4
      admmbench study --until-decided

    [WORDS ...]  overlays of config/config.yaml (your files, or installed ones such as laptop.yaml);
                 options of snakemake, such as -n (only list the jobs) and --cores 4 (default: all
                 cores); targets of snakemake; and --until-decided, which orders further seeds until
                 every setting is conclusive
    """
    refuse_small_limit()
    from admmbench.watch.study import run, split_overlays, until_decided

    collect_garbage()
    names, words = split_overlays([word for word in options.words if word != _DECIDE])
    command = until_decided if _DECIDE in options.words else run
    return command(find_overlays(names), words)


@Command
def _rank(options: argparse.Namespace) -> int:
    """Rank private methods on your table, each tuned, by their error at equal totals.

      admmbench rank patients.csv --target sick --total 1,8
      admmbench rank patients.csv missing=impute --target sick --group hospital --total 1 --dry-run
      admmbench rank old.csv --test new.csv --target sick --total 2 --metric auc --methods objp,mine.py
      admmbench rank mine.py --against equal_privacy_adult

    TABLE              file of the table, or a folder of LEAF files; with --against a method's file
    [KEY=VALUE ...]    further settings of the data set table, such as missing=impute
    --target TEXT      column to predict
    --group TEXT       column that says whose a record is: each has an agent
    --total TEXT       total epsilon of the whole run, or several: 1,8
    --against NAMES    instead: kept experiments that the method joins, as in `admmbench compete`,
                       whose other options are left out
    --test FILE        table of the test records (default: a fifth of each class, drawn)
    --test-column TEXT
                       or NAME=VALUE: records with this value in this column are the test records
    --metric {error,balanced_error,auc,log_loss,rmse,r2,client_error,worst_clients,client_spread}
                       what methods are compared by (default: error, or balanced_error if the
                       rarest of K classes has less than 0.4 / K of the records; rmse for numbers);
                       auc and r2 are shown as 1 - auc and 1 - r2, so that low is good; the last
                       three are over groups with at least 20 test records
    --methods NAMES    names, or paths of your own, separated by commas (default: all that compete
                       and suit)
    --delta TEXT       failure probability of totals (default: 1e-5)
    --agents TEXT      with equal shares (default: one for each group, or 10)
    --loss TEXT        default: logistic, softmax, or huber for numbers
    --noise TEXT       published, laplace or gaussian (default), where a method has it
    --seeds TEXT       of the first interim analysis (default: 10)
    --trials TEXT      settings that are tried for each method and total (default: 24)
    --margin TEXT      difference that does not matter (default: 1 point of an error; 0 for
                       numbers)
    --audit            attack the privacy of each method, too
    --until-decided    go on: methods that are not behind get more seeds, up to eight times as many
    -c, --cores N      cores that jobs use together (default: all)
    -n, --dry-run      write the folder of the study, list the searches, and run nothing
    --output FOLDER    folder of the study (default: rank-TABLE)
    --open             open the report in a browser
    """
    import webbrowser

    from admmbench.cli.ranking import read_ends, run_study, write_study
    from admmbench.datasets import describe
    from admmbench.study.ranking import NAME, Question, as_typed
    from admmbench.validation import checked

    if options.against:
        from admmbench.cli.competing import compete

        names = options.against.split(",")
        return compete(options.table, names, "own", options.output, options.cores, options.dry_run)
    if not options.total:
        raise ValueError("--total: state the total epsilon, or several: 1,8")
    stated_options = {
        key: parse_yaml(text, f"--{key}")
        for key in ("delta", "agents", "loss", "noise", "seeds", "trials", "margin", "metric")
        if (text := getattr(options, key))
    }
    columns = {key: text for key in ("target", "group") if (text := getattr(options, key))}
    table = {"name": "table", "path": str(options.table), **columns}
    answers = {
        **stated_options,
        "dataset": table | _test_part(options) | parse_words(options.settings),
        "methods": [name for name in (options.methods or "").split(",") if name],
        "total": [parse_yaml(text, "--total") for text in options.total.split(",")],
        "audit": options.audit,
    }
    try:
        question = checked(Question, answers, "")
        info = describe(question.dataset)
    except ValueError as error:
        message = as_typed(str(error))
        if re.search(r"\b(set|state|or|by) \w+: ", message):
            message += " (settings follow the table as KEY=VALUE, such as missing=drop)"
        raise ValueError(message) from None
    folder = options.output or Path(f"rank-{options.table.name.partition('.')[0]}")
    for line in (*info.summary, *write_study(question, folder)):
        print(line)
    mode = {"dry_run": options.dry_run, "until_decided": options.until_decided}
    if (status := run_study(folder, options.cores, **mode)) or options.dry_run:
        return status
    _print_ends(read_ends(folder))
    report = folder / "results/report/config/index.html"
    print(f"The report is {report}. To go on in this folder: cd {shlex.quote(str(folder))}")
    print("  admmbench study --until-decided   # more seeds for methods that are not behind")
    print(f"  admmbench study                   # after changes to config/experiments/{NAME}.yaml")
    if options.open:
        webbrowser.open(report.absolute().as_uri())
    return 0


def _test_part(options: argparse.Namespace) -> dict[str, Any]:
    """Return the setting of the table that says which records are the test set; empty if it is drawn."""
    if not options.test_column:
        return {"test": str(options.test)} if options.test else {}
    if options.test:
        raise ValueError("--test and --test-column: state one of them")
    name, equals, value = options.test_column.partition("=")
    if not (name and equals):
        raise ValueError(f"--test-column: expected NAME=VALUE, got {options.test_column!r}")
    return {"test": {name: parse_yaml(value, "--test-column")}}


def _print_ends(ends: Sequence[Closing]) -> None:
    """Print the table of each total, and the sentence for what is known."""
    from admmbench.report import closing
    from admmbench.report.environment import words
    from admmbench.report.terminal import as_rich

    console = wide_console()
    for end in ends:
        console.print(as_rich(words().closing(end), closing.table(end)))
    for end in ends:
        console.print(words().known(end), soft_wrap=True, markup=False)
    if not ends:
        print("No two methods ended at any total: the report says why.")


@Command
def _plan(options: argparse.Namespace) -> None:
    """Forecast what a study costs, beside what it took.

      admmbench plan --configfile laptop.yaml
      admmbench plan --power

    --configfile CONFIG ...  overlays of config/config.yaml, as for snakemake: your files, or
                             installed ones such as laptop.yaml
    -C, --config TEXT ...    keys of the configuration, KEY=VALUE, as for snakemake
    --cores N                default: all
    --measure                time rounds again
    --power                  instead: which differences numbers of seeds show, and what a
                             conclusive study costs
    """
    from admmbench.forecast import plan, power
    from admmbench.forecast.timing import Speeds
    from admmbench.jobs.progress import shown
    from admmbench.study.config import read
    from admmbench.study.outdated import outdated

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
    console.print(plan.summary(costs, options.cores or os.cpu_count() or 1), soft_wrap=True)
    for name, experiment in study.experiments.items():
        for sentence in outdated(name, experiment):
            console.print(f"{name}: {sentence}", soft_wrap=True, markup=False)


@Command
def _gc(options: argparse.Namespace) -> None:
    """List results that no configuration in config asks for.

      admmbench gc
      admmbench gc --delete

    --configfile CONFIG ...  overlays of config/config.yaml, which ask for results, too
    --delete                 remove them
    """
    from admmbench.files.installed import find_all
    from admmbench.study import housekeeping
    from admmbench.study.config import CONFIG, read

    overlays = [path for name, path in find_all().items() if name != CONFIG.name]
    # Results that other configurations of the folder ask for stay as well.
    configurations = ([], *([path] for path in overlays), find_overlays(options.configfile))
    studies = [read(files, on_stated_data=True) for files in configurations]
    # Results on all data stay, too, where files of the data are missing now.
    present = [study.without(study.missing_files) for study in studies]
    leftovers = housekeeping.leftovers([*studies, *present])
    sizes = [housekeeping.size(path) for path in leftovers]
    for path, size in zip(leftovers, sizes, strict=True):
        print(f"{size / 1e6:10.2f} MB  {path}")
    text = f"{len(leftovers)} that no configuration asks for, {sum(sizes) / 1e6:.1f} MB"
    if options.delete:
        housekeeping.remove(leftovers)
        print(f"{text}: removed")
    else:
        print(f"{text}; --delete removes them" if leftovers else text)


@Command
def _migrate(options: argparse.Namespace) -> int:
    """After an upgrade, keep the results that today's code reproduces.

      admmbench migrate --dry-run
      admmbench migrate my_study laptop.yaml

    [CONFIG ...]    folder of the study (default: this one), and overlays of its
                    config/config.yaml, as for study
    -n, --dry-run   change nothing
    --most SECONDS  begin no computation after so many seconds; what was not checked stays as it is
    --reference     instead of the study: all reference results of this folder, or those of the
                    experiments that are named in the place of CONFIG
    """
    from admmbench.jobs.progress import shown
    from admmbench.study.config import read
    from admmbench.watch import migration, witnesses

    words = options.config
    settings = {"most": options.most or math.inf, "dry_run": options.dry_run}
    if words and Path(words[0]).is_dir():
        os.chdir(words.pop(0))
    collect_garbage()
    with shown("Computing drawn parts again", "group") as progress:
        if options.reference:
            rows = migration.migrate_reference(words, **settings, progress=progress)
        else:
            overlays = find_overlays(words)
            config_words = ["--configfile", *map(str, overlays)] if overlays else []
            rows = migration.migrate(read(overlays), config_words, **settings, progress=progress)
    wide_console().print(witnesses.table(rows))
    print(witnesses.summary(rows, dry_run=options.dry_run))
    return int(any(row.verdict == witnesses.Verdict.DAMAGED for row in rows))


@Command
def _path(options: argparse.Namespace) -> None:
    """Print the path of a file of the papers' studies.

      cp "$(admmbench path experiments/ryu2022_mnist.yaml)" config/experiments/mine.yaml

    CONFIG  such as laptop.yaml or experiments/quick.yaml
    """
    from admmbench.files.installed import find

    print(find(options.config))
