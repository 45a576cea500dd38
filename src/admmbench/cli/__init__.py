"""Command line: every rule of the workflow calls one of these commands, and users can call them too."""

from __future__ import annotations

import argparse
import io
import itertools
import logging
import os
import sys
import traceback
from collections.abc import Sequence

from admmbench import __version__
from admmbench.cli import authors, results, runs, studies
from admmbench.cli.options import Command, ParserOfCommand
from admmbench.files import check_output
from admmbench.jobs import interrupts, limits
from admmbench.validation import unknown

# Errors whose words alone say nothing.
_UNFORESEEN = (UnicodeError, RecursionError, NotImplementedError)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; an error in the input gives one message and status 1."""
    words = sys.argv[1:] if arguments is None else [*arguments]
    if "_ARGCOMPLETE" in os.environ:
        import argcomplete

        argcomplete.autocomplete(parser())
    if words and not words[0].startswith("-") and words[0] not in _commands():
        parser().error(unknown("command", words[0], _commands()))
    if words[:1] == ["study"]:  # what follows are words for Snakemake, options too
        options = parser().parse_args(words[:1])
        options.words = words[1:]
    else:
        options = parser().parse_args(words)
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
            if text := limits.explain(error):  # before anything more is imported
                print(f"admmbench: {text}", file=sys.stderr)
                return 1
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
    for path in (getattr(options, name, None) for name in ("output", "checkpoint")):
        if path is not None:
            check_output(path / "file" if options.in_folder else path)


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


def parser() -> argparse.ArgumentParser:
    """Make the command line."""
    parser = argparse.ArgumentParser(prog="admmbench", description=__doc__)
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=ParserOfCommand)
    for command in _commands().values():
        command.add_to(commands)
    return parser


def _commands() -> dict[str, Command]:
    audiences = (vars(each).values() for each in (studies, authors, runs, results))
    found = itertools.chain(*audiences)
    return {each.name: each for each in found if isinstance(each, Command)}
