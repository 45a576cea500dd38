"""Commands on a method of one's own among kept ones: compete, and verify what somebody states to have reached."""

from __future__ import annotations

import argparse
import contextlib
import functools
import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from admmbench.cli.options import Command

if TYPE_CHECKING:
    import xarray as xr

    from admmbench.study.competition import Entry

CERTIFICATE, PAGE = "certificate.json", "competition.html"


@Command
def _compete(options: argparse.Namespace) -> int:
    """Compare your method with kept rivals, and certify what it reached.

      admmbench compete my_method.py
      admmbench compete my_method.py --seeds 160 --track full

    METHOD               file of a method
    --track {lite,full}  lite (default): Adult and digits; full: MNIST, too
    --seeds N            seeds at most, the first of the rivals' (default: 40)
    -c, --cores N        cores that jobs use together (default: all)
    -n, --dry-run        check the method, write the folder of the study, forecast, and run nothing
    --output FOLDER      folder of the study (default: compete-METHOD)
    """
    from admmbench.study.competition import SEEDS, TRACKS

    track = options.track or "lite"
    return compete(
        options.method,
        TRACKS[track],
        track,
        options.output,
        options.cores,
        options.dry_run,
        options.seeds or SEEDS,
    )


def compete(
    method: Path,
    names: Sequence[str],
    track: str,
    folder: Path | None,
    cores: int | None,
    dry_run: bool,
    n_seeds: int = 40,
) -> int:
    """Check a method, write its study, run it, and write its page and certificate; return the exit status."""
    from admmbench.certificate.content import write
    from admmbench.certificate.issue import issue
    from admmbench.certificate.page import page, sentence
    from admmbench.cli.authors import run_checks
    from admmbench.files import write as write_text
    from admmbench.study.competition import entry, kept
    from admmbench.study.config import read
    from admmbench.watch.study import run_turns

    if run_checks(str(method)):
        return 1
    method, rivals = method.absolute(), kept(names)
    folder = (folder or Path(f"compete-{method.stem}")).absolute()
    entries = {name: entry(name, str(method), rivals[name], folder, n_seeds) for name in names}
    _write_study(entries, folder)
    with contextlib.chdir(folder):
        _print_forecast(entries, rivals, cores or os.cpu_count() or 1)
    words = ["--cores", str(cores)] if cores else []
    if dry_run:
        return 0
    if status := run_turns([["tune", *words], ["all", *words]], folder):
        return status
    with contextlib.chdir(folder):
        competed = issue(read(), rivals, method, track)
    write(competed.certificate, folder / CERTIFICATE)
    write_text(folder / PAGE, page(competed))
    print(sentence(competed.certificate))
    where = shlex.quote(os.path.relpath(folder / CERTIFICATE))
    print(f"The page is {os.path.relpath(folder / PAGE)}. Anybody can verify the certificate:")
    print(f"  admmbench verify {where} {shlex.quote(os.path.relpath(method))}")
    return 0


def _write_study(entries: Mapping[str, Entry], folder: Path) -> None:
    """Write the folder of a competition's study, or leave it as it is but for the number of seeds."""
    from admmbench import scaffold
    from admmbench.files.core_yaml import dump_yaml
    from admmbench.study import orders
    from admmbench.study.competition import HEAD

    texts = {
        name: HEAD + dump_yaml(each.content, default_flow_style=None, sort_keys=False, width=120)
        for name, each in entries.items()
    }
    scaffold.write_experiments(texts, folder)
    for name, each in entries.items():
        orders.record(name, {each.label: each.seeds}, folder / "config")


def _print_forecast(
    entries: Mapping[str, Entry], rivals: Mapping[str, xr.Dataset], cores: int
) -> None:
    """Print what the study takes, and the smallest differences that it can show."""
    from admmbench.figures.wording import measured
    from admmbench.forecast.plan import before_tuning
    from admmbench.forecast.power import difference_shown
    from admmbench.forecast.timing import Speeds
    from admmbench.jobs.progress import duration
    from admmbench.study.competition import growth_of_rounds, level_of_next
    from admmbench.study.config import read

    study = read()
    growth = {key: x for name in rivals for key, x in growth_of_rounds(name, rivals[name]).items()}
    seconds = before_tuning(study, Speeds(study), growth)
    print(
        f"About {duration(seconds / cores)} on {cores} cores, if it needs as many rounds as its rivals. "
        "Methods that solve each subproblem take longer."
    )
    for setting in level_of_next(rivals):
        name, total = str(setting["experiment"].item()), float(setting["epsilon"])
        if n := entries[name].seeds.get(total):
            shown = measured(difference_shown(setting, n), bool(setting["fraction"]))
            unit = " points" if setting["fraction"] else ""
            print(
                f"{setting['dataset'].item()}, ε = {total:g}: {n} seeds show a difference from the best, "
                f"{setting['lowest'].item()}, of about {shown}{unit}."
            )


@Command
def _verify(options: argparse.Namespace) -> int:
    """Compute some runs of a certificate again, and compare; this executes the method's file.

      admmbench verify certificate.json my_method.py
      admmbench verify certificate.json my_method.py --part 0.2 --sandbox

    CERTIFICATE  file that `admmbench compete` wrote; the status is 0 if all is equal, 1 if something
                 differs, and 2 if it cannot be compared
    METHOD       file of the method
    --part TEXT  part of the runs of each setting, one at least (default: 0.05)
    --draw TEXT  seed that draws these runs (default: by chance; it is printed)
    --sandbox    execute the file without network, other files, and the certificate (Linux)
    --within TEXT  command that executes the file in a place of yours, such as "docker run ..."
    """
    import random

    from admmbench.certificate import recompute, sandbox
    from admmbench.certificate.content import read
    from admmbench.certificate.verify import Status, verify
    from admmbench.files.core_yaml import parse_yaml
    from admmbench.validation import Whole, checked

    part = parse_yaml(options.part or "0.05", "--part")
    if not (isinstance(part, int | float) and 0 < part <= 1):
        raise ValueError(f"--part: expected a part above 0 and up to 1, got {options.part}")
    draw = checked(
        Whole, parse_yaml(options.draw or str(random.randrange(10**6)), "--draw"), "--draw"
    )
    within = shlex.split(options.within or "")
    if options.sandbox:
        if reason := sandbox.missing():
            print(f"– no sandbox: {reason}; verify in a container by --within")
            return int(Status.INCOMPARABLE)
        within = sandbox.within(options.method)
    print(
        f"This executes {options.method}. The draw of its runs has the seed {draw}. "
        "A certificate is no signature: it does not say who made it."
    )
    found: set[Status] = set()
    try:
        again = functools.partial(recompute.in_process, within=within)
        for line in verify(read(options.certificate), options.method, part, draw, again):
            _print_line(line.status, line.text)
            found.add(line.status)
    except (ValueError, OSError) as error:
        _print_line(Status.INCOMPARABLE, str(error))
        found.add(Status.INCOMPARABLE)
    worst = Status.DIFFERS if Status.DIFFERS in found else max(found, default=Status.INCOMPARABLE)
    print(_VERDICTS[worst])
    return int(worst)


def _print_line(status: int, text: str) -> None:
    # Some text is of the method: it has no characters that steer a terminal.
    clean = "".join(character if character.isprintable() else " " for character in text)
    print(f"{_SIGNS[status]} {clean}", flush=True)


_SIGNS = "✓✗–"
_VERDICTS = ["equal", "differs: see ✗", "cannot be compared: see –"]
