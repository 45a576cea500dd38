"""Commands for authors of methods, losses and data sets."""

from __future__ import annotations

import argparse
import traceback
from pathlib import Path

from admmbench.cli.options import argument, collect_garbage, command, place, plugin_names
from admmbench.files import write


@command(
    "list",
    "list methods, losses and data sets",
)
def _list(options: argparse.Namespace) -> None:
    from admmbench import list_algorithms, list_datasets, list_losses

    print("methods:", ", ".join(list_algorithms()))
    print("losses:", ", ".join(list_losses()))
    print("data sets:", ", ".join(list_datasets()))


@command(
    "new",
    "write a method, a loss or a data set to start from",
    argument("kind", choices=("method", "loss", "dataset")),
    argument("name", help="name of the module, such as my_method"),
    argument("--output", type=place, default=Path(), help="folder (default: this one)"),
    in_folder=True,
)
def _new(options: argparse.Namespace) -> None:
    from admmbench import scaffold

    path = scaffold.write(options.kind, options.name, options.output)
    print(f"{path} is a complete {options.kind}; change it, and check it:")
    print(f"  admmbench check {path}")


@command(
    "check",
    "check that a plug-in keeps its contracts",
    argument(
        "name", help="path of a file, or name of a method, loss or data set", complete=plugin_names
    ),
    argument("--traceback", action="store_true", help="show where errors arise in the suite, too"),
)
def _check(options: argparse.Namespace) -> int:
    from rich.console import Console

    from admmbench import contracts

    collect_garbage()
    console = Console(highlight=False, soft_wrap=True)
    total = failed = 0
    first = dict[str, str]()  # the check that failed for a reason first
    for check in contracts.of(options.name):
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


@command(
    "schema",
    "write the JSON schemas of the configuration",
    argument("--output", type=place, required=True, help="folder to write"),
    in_folder=True,
)
def _schema(options: argparse.Namespace) -> None:
    from admmbench.study.config import schemas

    for name, text in schemas().items():
        write(options.output / name, text)
