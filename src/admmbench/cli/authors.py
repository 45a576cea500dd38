"""Commands for authors of methods, losses and data sets."""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from admmbench.cli.options import argument, collect_garbage, command, place, plugin_names
from admmbench.files import write
from admmbench.files.core_yaml import parse_yaml

if TYPE_CHECKING:
    from admmbench.datasets import DatasetInfo
    from admmbench.frames.base import Algorithm


@command(
    "list",
    "list methods, losses and data sets",
)
def _list(options: argparse.Namespace) -> None:
    from admmbench import algorithms, list_algorithms, list_datasets, list_losses

    print("methods:", ", ".join(list_algorithms()))
    others = (f"{alias} ({_stands_for(alias)})" for alias in algorithms.ALIASES)
    print("other names:", ", ".join(others))
    print("losses:", ", ".join(list_losses()))
    print("data sets:", ", ".join(list_datasets()))


def _stands_for(alias: str) -> str:
    """Say which method with which parameters another name stands for."""
    from admmbench.algorithms import ALIASES

    name, params = ALIASES[alias]
    given = ", ".join(f"{key} {value}" for key, value in params.items())
    return f"{name} with {given}" if given else name


@command(
    "describe",
    "say what a method, a loss or a data set is",
    argument(
        "name",
        help="of it, the path of a method or a loss, or YAML such as '{name: table, path: a.csv, target: y}'",
        complete=plugin_names,
    ),
)
def _describe(options: argparse.Namespace) -> None:
    from admmbench import algorithms, datasets, list_datasets, list_losses
    from admmbench.problems import losses

    spec = parse_yaml(options.name, "NAME")
    if isinstance(spec, dict) or spec in list_datasets():
        facts = _facts_of_data(datasets.describe(spec))
    elif options.name in list_losses():
        facts = _documented(losses.resolve(options.name))
    elif options.name in algorithms.ALIASES:
        print(f"{options.name} is {_stands_for(options.name)}.", end="\n\n")
        facts = _facts_of_method(algorithms.resolve(algorithms.ALIASES[options.name][0]))
    else:
        facts = _facts_of_method(algorithms.resolve(options.name))
    for name, value in facts.items():
        if value:
            print(f"{name}: {value}")


def _facts_of_data(info: DatasetInfo) -> dict[str, Any]:
    """Print the size of a data set and return what is known of it besides."""
    low, high = info.domain
    targets = f"{info.n_classes} classes" if info.n_classes else f"numbers ({info.target_unit})"
    print(f"{info.title}: {info.n_train} + {info.n_test} records (training + test), {targets}")
    return {
        "features": f"{info.n_features}, from {low:g} to {high:g}",
        "settings": info.settings,
        "attributes": ", ".join(f"{name} ({count})" for name, count in info.attributes.items()),
        "problem": info.default_problem,
        "licence": info.licence,
        "cite": info.citation,
    }


def _facts_of_method(cls: type[Algorithm[Any, Any]]) -> dict[str, Any]:
    """Print what a method's module and classes say, and return what they state."""
    facts, method = _documented(cls), cls()
    guarantee, release = method.guarantee("global"), method.release
    worth: str = guarantee.kind
    if worth == "proved" and not cls.__module__.startswith("admmbench."):
        worth = "conditional on what the plug-in states, or none"
    return {
        **facts,
        "variants": ", ".join(method.variants),
        "shared": " or ".join(method.sharing),
        "needs": ", ".join(method.needs),
        "noise": release and f"{release.law}, on each {release.value}",
        "guarantee": f"{worth} (with sensitivity: global): {guarantee.conditions}",
    }


def _documented(cls: type) -> dict[str, Any]:
    """Print docstrings of a class, and of those in the suite that it is made from; return its parameters."""
    print(inspect.getdoc(sys.modules[cls.__module__]), end="\n\n")
    for each in cls.__mro__:
        own = each.__module__.startswith("admmbench.") or each is cls
        if own and each.__doc__ and not each.__module__.endswith((".base", ".loss")):
            print(inspect.cleandoc(each.__doc__), end="\n\n")
    fields = dataclasses.fields(cls) if dataclasses.is_dataclass(cls) else ()
    usual = cls()
    defaults = [f"{each.name} = {getattr(usual, each.name)}" for each in fields]
    return {
        "parameters": ", ".join(each for each in defaults if not each.startswith("variant ")),
        "equations": inspect.getsourcefile(cls),
    }


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
    checks = list(contracts.of(options.name))
    failed = left = 0
    first = dict[str, str]()  # the check that failed for a reason first
    for number, check in enumerate(checks, start=1):
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
            if not isinstance(error, AssertionError):
                left = len(checks) - number  # most of them would only raise the same
                break
        else:
            console.print(f"[green]✓[/] {check.name}")
    verdict = f"{failed} failed" if failed else "all hold"
    undone = f", {left} not run: mend the error first, and check again" if left else ""
    console.print(f"{len(checks)} checks, {verdict}{undone}")
    return int(failed > 0)


def _reason(error: Exception, options: argparse.Namespace) -> str:
    """Why a check failed: its sentence, or what the plug-in raised and where."""
    from admmbench.engine.rounds import AlgorithmError
    from admmbench.plugins import raised

    if isinstance(error, AssertionError):
        return str(error)
    if options.traceback:
        return "".join(traceback.format_exception(error)).rstrip()
    if isinstance(error, AlgorithmError) and error.__cause__:
        return f"{error}\n{raised(error.__cause__)}"
    return raised(error)


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
