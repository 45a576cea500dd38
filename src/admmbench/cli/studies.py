"""Commands on whole studies: begin one, run it, forecast it, clear up after it."""

from __future__ import annotations

import argparse
import itertools
import os
import shlex

from admmbench.cli.options import (
    CONFIGFILE,
    argument,
    collect_garbage,
    command,
    count,
    find_overlays,
    overlay_names,
    place,
    wide_console,
)
from admmbench.files.core_yaml import parse_words


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
        help="overlays of config/config.yaml (your files, or installed ones such as laptop.yaml), then options and "
        "targets of snakemake; --until-decided orders further seeds until every row is decided",
        complete=overlay_names,
    ),
)
def _study(options: argparse.Namespace) -> int:
    from admmbench.watch.study import run, until_decided

    if options.words[:1] in (["-h"], ["--help"]):
        options.usage()
        return 0
    collect_garbage()
    words = [word for word in options.words if word != _DECIDE]
    names = list(itertools.takewhile(_is_yaml, words))
    return (until_decided if _DECIDE in options.words else run)(
        find_overlays(names), words[len(names) :]
    )


_DECIDE = "--until-decided"


def _is_yaml(word: str) -> bool:
    return word.endswith((".yaml", ".yml")) and not word.startswith("-")


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
    argument("--measure", action="store_true", help="measure this machine again"),
)
def _plan(options: argparse.Namespace) -> None:
    from admmbench.forecast import plan, timing
    from admmbench.jobs.progress import shown
    from admmbench.study.config import read

    study = read(find_overlays(options.configfile), changes=parse_words(options.config))
    collect_garbage()
    with shown("Measuring this machine", "kind of work") as progress:
        machine = timing.measure(progress, renew=options.measure)
    console = wide_console()
    costs = plan.plan(study, machine)
    console.print(plan.table(costs))
    console.print(plan.summary(costs, options.cores), soft_wrap=True)


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

    overlays = [path for name, path in find_all().items() if name != CONFIG.stem]
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
