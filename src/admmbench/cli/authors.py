"""Commands for authors of methods, losses and data sets."""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from admmbench.cli.options import Command, collect_garbage, print_json
from admmbench.files import write
from admmbench.files.core_yaml import parse_yaml

if TYPE_CHECKING:
    from admmbench.base.algorithm import Algorithm
    from admmbench.datasets import DatasetInfo


@Command
def _list(options: argparse.Namespace) -> None:
    """List methods, losses and data sets, or studies.

      admmbench list
      admmbench list --studies

    --studies  list the configurations of studies, and the experiments, with their titles
    --json     print one JSON document
    """
    from admmbench import algorithms, list_algorithms, list_datasets, list_losses
    from admmbench.files.installed import find_all
    from admmbench.study import papers

    if options.studies:
        titles = {name: found.title for name, found in papers.read_experiments().items()}
        studies = [name for name in find_all() if name != "config.yaml"]
        if options.json:
            return print_json({"studies": studies, "experiments": titles})
        print(f"Run one with `admmbench study config/NAME`: {', '.join(studies)}")
        print(
            "Experiments of these, or one with `admmbench study --config 'experiments=[\"NAME\"]'`:"
        )
        for name, title in titles.items():
            print(f"  {name:<28} {title}")
        return None
    names = {
        "methods": list_algorithms(),
        "other names": [f"{alias} ({_meaning_of_alias(alias)})" for alias in algorithms.ALIASES],
        "losses": list_losses(),
        "data sets": list_datasets(),
    }
    return _print_facts(names, options)


def _print_facts(facts: Mapping[str, Any], options: argparse.Namespace) -> None:
    """Print facts with their names, and text that needs no name, or all of it as JSON."""
    if options.json:
        return print_json(facts)
    for name, value in facts.items():
        text = ", ".join(value) if isinstance(value, list) else value
        if text:
            print(f"{text}\n" if name == "text" else f"{name}: {text}")


def _meaning_of_alias(alias: str) -> str:
    """Return the method, with its parameters, that another name stands for."""
    from admmbench.algorithms import ALIASES

    name, params = ALIASES[alias]
    settings = ", ".join(f"{key} {value}" for key, value in params.items())
    return f"{name} with {settings}" if settings else name


@Command
def _describe(options: argparse.Namespace) -> None:
    """Describe a method, a loss, a data set or a paper.

      admmbench describe objp
      admmbench describe ryu2021
      admmbench describe '{name: table, path: patients.csv, target: sick}'

    NAME    of it, the path of a method or a loss, or YAML of a data set with its settings; of a paper,
            the commands that draw its figures, and its BibTeX entry
    --json  print one JSON document
    """
    from admmbench import algorithms, datasets, list_datasets, list_losses
    from admmbench.problems import losses
    from admmbench.study import papers

    spec = parse_yaml(options.name, "NAME")
    if isinstance(spec, dict) or spec in list_datasets():
        facts = _facts_of_data(datasets.describe(spec))
    elif options.name in papers.bibtex():
        facts = {"text": papers.describe(options.name)}
    elif options.name in list_losses():
        facts = _facts_of_class(losses.resolve(options.name))
    elif options.name in algorithms.ALIASES:
        facts = {"stands for": _meaning_of_alias(options.name)}
        facts |= _facts_of_method(algorithms.resolve(algorithms.ALIASES[options.name][0]))
    else:
        facts = _facts_of_method(algorithms.resolve(options.name))
    _print_facts(facts, options)


def _facts_of_data(info: DatasetInfo) -> dict[str, Any]:
    """Return the size of a data set, and its other facts."""
    low, high = info.domain
    targets = f"{info.n_classes} classes" if info.n_classes else f"numbers ({info.target_unit})"
    return {
        "title": info.title,
        "records": f"{info.n_train} + {info.n_test} (training + test)",
        "targets": targets,
        "features": f"{info.n_features}, from {low:g} to {high:g}",
        "settings": info.settings,
        "attributes": [f"{name} ({count})" for name, count in info.attributes.items()],
        "problem": info.default_problem,
        "licence": info.licence,
        "cite": info.citation,
    }


def _facts_of_method(cls: type[Algorithm[Any, Any]]) -> dict[str, Any]:
    """Return the facts that a method's module and classes state."""
    method = cls()
    guarantee, release = method.guarantee("global"), method.release
    worth: str = guarantee.kind
    if worth == "proved" and not cls.__module__.startswith("admmbench."):
        worth = "conditional on what the plug-in states, or none"
    return {
        **_facts_of_class(cls),
        "variants": [*method.variants],
        "shared": " or ".join(method.sharing),
        "needs": [*method.needs],
        "noise": release and f"{release.law}, on each {release.value}",
        "guarantee": f"{worth} (with sensitivity: global): {guarantee.conditions}",
    }


def _facts_of_class(cls: type) -> dict[str, Any]:
    """Return the docstrings of a class and of its bases in the suite, and its parameters."""
    texts = [inspect.getdoc(sys.modules[cls.__module__])]
    for base in cls.__mro__:
        is_ours = base.__module__.startswith("admmbench.") or base is cls
        if is_ours and base.__doc__ and not base.__module__.endswith((".base", ".loss")):
            texts.append(inspect.cleandoc(base.__doc__))
    fields = dataclasses.fields(cls) if dataclasses.is_dataclass(cls) else ()
    usual = cls()
    return {
        "text": "\n\n".join(filter(None, texts)),
        "parameters": [
            f"{field.name} = {getattr(usual, field.name)}"
            for field in fields
            if field.name != "variant"
        ],
        "equations": inspect.getsourcefile(cls),
    }


@Command
def _new(options: argparse.Namespace) -> None:
    """Write a method, a loss or a data set to start from.

      admmbench new method my_method
      admmbench new method my_method --like pvp

    {method,loss,dataset}  what to write
    MODULE                 its name, such as my_method
    --output FOLDER        folder (default: this one)
    --like NAME            method or loss to copy (default: a short example)
    """
    from admmbench import scaffold

    path = scaffold.write(options.kind, options.module, options.output or Path(), options.like)
    print(f"{path} is a complete {options.kind}; change it, and check it:")
    print(f"  admmbench check {path}")


@Command
def _check(options: argparse.Namespace) -> int:
    """Check that a method, a loss or a data set keeps its contracts.

      admmbench check my_method.py

    NAME         path of a file, or name of a method, loss or data set
    --traceback  show where errors arise in the suite, too
    """
    return run_checks(options.name, traceback=options.traceback)


def run_checks(name: str, *, traceback: bool = False) -> int:
    """Check a plug-in, or something built in, print the checks, and return 1 if one failed."""
    from rich.console import Console

    from admmbench import contracts

    collect_garbage()
    console = Console(highlight=False, soft_wrap=True)
    checks = list(contracts.of(name))
    failed = n_left = 0
    first = dict[str, str]()  # name of the first check that failed, by reason
    for number, check in enumerate(checks, start=1):
        try:
            check.run()
        except Exception as error:
            failed += 1
            reason = _reason(error, in_full=traceback)
            console.print(f"[red]✗[/] {check.name}")
            text = f"as above: {first[reason]}" if reason in first else reason
            first.setdefault(reason, check.name)
            for line in text.splitlines():
                console.print(f"    {line}", markup=False)
            if not isinstance(error, AssertionError):
                n_left = len(checks) - number  # most of the others would only raise the same error
                break
        else:
            console.print(f"[green]✓[/] {check.name}")
    if contracts.is_method(name):
        from admmbench.study.ranking import half_tuned

        for line in half_tuned([name]):
            console.print(f"· in `admmbench rank` of {line}", markup=False)
    verdict = f"{failed} failed" if failed else "all hold"
    undone = f", {n_left} not run: mend the error first, and check again" if n_left else ""
    console.print(f"{len(checks)} checks, {verdict}{undone}")
    return int(failed > 0)


def _reason(error: Exception, *, in_full: bool) -> str:
    """Return why a check failed: its sentence, or the error of the plug-in and its place."""
    from admmbench.engine.rounds import AlgorithmError
    from admmbench.plugins import raised

    if isinstance(error, AssertionError):
        return str(error)
    if in_full:
        return "".join(traceback.format_exception(error)).rstrip()
    if isinstance(error, AlgorithmError) and error.__cause__:
        return f"{error}\n{raised(error.__cause__)}"
    return raised(error)


@Command
def _schema(options: argparse.Namespace) -> None:
    """Write the JSON schemas of the configuration.

      admmbench schema --output workflow/schemas

    --output FOLDER  folder to write (required)
    """
    from admmbench.study.config import schemas

    for name, text in schemas().items():
        write(options.output / name, text)
