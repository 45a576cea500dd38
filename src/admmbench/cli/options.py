"""What commands share: options, their values, consoles, completion in a shell."""

from __future__ import annotations

import argparse
import gc
import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from admmbench.files.core_yaml import parse_words
from admmbench.validation import expanded, meant

if TYPE_CHECKING:
    from rich.console import Console

    from admmbench.datasets import Dataset
    from admmbench.spec.run import RunSpec

# Columns where the output is no terminal.
_WIDTH = 120


Argument = Callable[[argparse.ArgumentParser], None]
"""Adds itself to a parser."""
Function = Callable[[argparse.Namespace], int | None]
"""Carries a command out and returns its exit status, None for 0."""


class ParserOfCommand(argparse.ArgumentParser):
    """Parser of one command: its words ``KEY=VALUE`` may stand anywhere, and its errors show its own usage."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the words behind the command, and refuse those that it does not know."""
        for word in itertools.takewhile(lambda word: word != "--", args):
            name = word.partition("=")[0]
            if name.startswith("--") and name not in self._option_string_actions:
                self.error(f"unknown option {name!r}{meant(name, self._option_string_actions)}")
        options, rest = super().parse_known_args(args, namespace)
        settings = [word for word in rest if "=" in word and not word.startswith("-")]
        if rest and not (hasattr(options, "settings") and settings == rest):
            self.error(f"unrecognized arguments: {' '.join(rest)}")
        if settings:
            options.settings = [*options.settings, *settings]
        return options, []


class Command(NamedTuple):
    """A command: the word that calls it, what it does for ``--help``, its arguments, and what carries it out."""

    name: str
    text: str
    arguments: tuple[Argument, ...]
    in_folder: bool
    """Whether its ``--output`` is a folder."""
    function: Function

    def add_to(self, commands: Any) -> None:
        """Add a parser of this command to those of the command line."""
        # An option that is cut short is a mistake: `--config` is no `--configfile`.
        parser = commands.add_parser(
            self.name, help=self.text, description=self.text, allow_abbrev=False
        )
        parser.set_defaults(
            command=self.function, in_folder=self.in_folder, usage=parser.print_help
        )
        for add in self.arguments:
            add(parser)


def argument(
    *names: str, complete: Callable[..., list[str]] | None = None, **settings: Any
) -> Argument:
    """Describe an argument or an option.

    Parameters
    ----------
    *names
        Of the argument, as for ``ArgumentParser.add_argument``.
    complete
        Called by `argcomplete` for the values that a shell offers; None: files.
    **settings
        What ``ArgumentParser.add_argument`` takes besides.
    """

    def add(parser: argparse.ArgumentParser) -> None:
        action = parser.add_argument(*names, **settings)
        action.completer = complete  # type: ignore[attr-defined]

    return add


def command(
    name: str, text: str, *arguments: Argument, in_folder: bool = False
) -> Callable[[Function], Command]:
    """Make a command of the function that follows, see `Command`."""
    return lambda function: Command(name, text, arguments, in_folder, function)


def place(text: str) -> Path:
    """Read a file or a folder on the command line."""
    try:
        return expanded(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def count(text: str) -> int:
    """Read a number of cores or threads on the command line."""
    if not (text.isdecimal() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"expected a number from 1 on, got {text!r}")
    return int(text)


def find_overlays(names: Sequence[str]) -> list[Path]:
    """Find overlays of the configuration: the user's files, or installed ones."""
    from admmbench.files.installed import find

    return [Path(name) if Path(name).exists() else find(name) for name in names]


def run_spec(options: argparse.Namespace) -> RunSpec:
    """Make the run that words ``KEY=VALUE`` state."""
    from admmbench.spec.run import RunSpec
    from admmbench.validation import checked

    return checked(RunSpec, parse_words(options.settings), "")


def dataset(options: argparse.Namespace, spec: RunSpec) -> Dataset:
    """Open the prepared data that ``--data`` names, or else load the data set of a run."""
    from admmbench.datasets import load_dataset, open_as

    return open_as(spec.dataset, options.data) if options.data else load_dataset(spec.dataset)


def wide_console() -> Console:
    """Make a console whose tables are of one width where the output is no terminal."""
    from rich.console import Console

    console = Console(highlight=False)
    return console if console.is_terminal else Console(width=_WIDTH, highlight=False)


def collect_garbage() -> None:
    """Look for garbage again, but not among what was imported."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def overlay_names(prefix: str, **_: Any) -> list[str]:
    """List installed overlays, and YAML files below this folder."""
    from admmbench.files.installed import find_all, yaml_files

    return sorted({*find_all(), *map(str, yaml_files(Path(prefix).parent))})


def plugin_names(prefix: str, **_: Any) -> list[str]:
    """List methods, losses, data sets, and Python files of this folder."""
    from admmbench import list_algorithms, list_datasets, list_losses

    files = (str(path) for path in Path(prefix).parent.glob("*.py"))
    return [*list_algorithms(), *list_losses(), *list_datasets(), *files]


def dataset_names(**_: Any) -> list[str]:
    """List the data sets that have a name."""
    from admmbench import list_datasets

    return list_datasets()


CONFIGFILE = argument(
    "--configfile",
    nargs="+",
    default=[],
    metavar="FILE",
    help="overlays of config/config.yaml, as for snakemake: your files, or installed ones such as laptop.yaml",
    complete=overlay_names,
)
DATA = argument("--data", type=place, help="prepared data set (default: load it)")
DEVICE = argument(
    "--device",
    choices=["cpu", "cuda"],
    default="cpu",
    help="what computes: a processor (default), or a GPU",
)
SETTINGS = argument(
    "settings",
    nargs="+",
    metavar="KEY=VALUE",
    help="arguments of admmbench.simulate, values in YAML, such as dataset=digits algorithm=objp epsilon=1 "
    "seeds=0-9 params='{local_updates: 10}'",
)
