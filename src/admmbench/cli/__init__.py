"""Command line: what users type, in groups, and in `admmbench.cli.jobs` what rules of the workflow alone call."""

from __future__ import annotations

import argparse
import gc
import importlib
import io
import logging
import os
import sys
import traceback
from collections.abc import Sequence

from admmbench import __version__
from admmbench.cli import authors, competing, results, runs, studies
from admmbench.cli.options import Command, Parser
from admmbench.files import check_output
from admmbench.jobs import interrupts, library, limits, warm
from admmbench.validation import unknown

# Errors whose message alone does not explain them.
_UNFORESEEN = (UnicodeError, RecursionError, NotImplementedError)
JOBS = ("aggregate", "choose", "overview", "time", "tune")
"""Modules of `admmbench.cli.jobs` that ``admmbench NAME`` called in earlier versions."""
_JOB = "python -m admmbench.cli.jobs."
_HELP = """\
usage: admmbench COMMAND ...

Benchmark of ADMM-based federated learning, private and constrained.

  admmbench study laptop.yaml                             the papers' studies, with few seeds
  admmbench rank patients.csv --target sick --total 1,8   which method is best on your table
  admmbench account objp --dataset digits --epsilon 1     privacy of a method, without a run
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; an error in the input gives one message and status 1."""
    words = sys.argv[1:] if arguments is None else [*arguments]
    if "_ARGCOMPLETE" in os.environ:
        import argcomplete

        argcomplete.autocomplete(parser())
    name, *rest = words or [""]
    if name in JOBS:
        if warm.VARIABLE not in os.environ:  # rules name jobs so, as workers carry them out
            print(f"admmbench: `admmbench {name}` is now `{_JOB}{name}`", file=sys.stderr)
        return call(job(name), rest)
    commands = {command.name: command for group in groups().values() for command in group}
    if name in commands:
        return call(commands[name], rest)
    if name and not name.startswith("-"):
        parser().error(unknown("command", name, commands))
    parser().parse_args(words)
    return 0


def job(name: str) -> Command:
    """Return a command that rules of the workflow alone call, imported from its module."""
    command: Command = getattr(importlib.import_module(f"admmbench.cli.jobs.{name}"), name)
    return command


def start(command: Command) -> None:
    """Carry out a command as the whole process."""
    gc.disable()  # see `admmbench.__main__`
    sys.exit(call(command, sys.argv[1:], _JOB))


def call(command: Command, words: Sequence[str], prog: str = "admmbench ") -> int:
    """Carry out a command with the words that follow it, and return the exit status."""
    options = command.read(words, prog)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # characters that a terminal lacks would be errors
            stream.reconfigure(errors="backslashreplace")
    logging.basicConfig(format="admmbench: %(message)s")
    logging.getLogger("admmbench").setLevel(logging.INFO)
    library.import_parts_alone()
    with interrupts.raised() as signals:
        try:
            for path in filter(None, map(vars(options).get, ("output", "checkpoint"))):
                # Files that cannot be written are refused before hours are spent on their content.
                check_output(path / "file" if command.in_folder else path)
            status = command.function(options)
        except KeyboardInterrupt:
            return interrupts.said()
        except (Exception, SystemExit) as error:
            if text := limits.explain(error):  # before anything more is imported
                print(f"admmbench: {text}", file=sys.stderr)
                return 1
            from admmbench.plugins import is_foreign

            if isinstance(error, SystemExit) and not is_foreign(error):
                raise  # a console whose reader is gone, for example, ends the process itself
            if signals:  # the command may turn an interrupt into another error
                return interrupts.said()
            if os.environ.get("ADMMBENCH_DEBUG"):
                traceback.print_exc()
            print(f"admmbench: {_message(error)}", file=sys.stderr)
            return getattr(error, "status", 1)
    return status or 0


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


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands, for the reference of commands and for shells that complete them."""
    parser = Parser(prog="admmbench", description=__doc__)
    parser.add_argument("--version", action="version", version=__version__)
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")
    lines = [_HELP]
    for title, commands in groups().items():
        lines.append(f"{title}:")
        for command in commands:
            lines.append(f"  {command.name:10}{command.summary.removesuffix('.')}")
            command.add_to(subparsers.add_parser(command.name, description=command.description))
        lines.append("")
    parser.help = "\n".join(lines) + "`admmbench COMMAND --help` has examples and options.\n"
    return parser


def groups() -> dict[str, list[Command]]:
    """Return all commands by the title of their group."""
    groups = {
        "Studies": (studies, competing),
        "Results": (results,),
        "Single runs, and their privacy": (runs,),
        "Methods, losses and data sets": (authors,),
    }
    return {
        title: [
            command
            for module in modules
            for command in vars(module).values()
            if isinstance(command, Command)
        ]
        for title, modules in groups.items()
    }
