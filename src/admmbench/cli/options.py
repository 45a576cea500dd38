"""Options of commands: statement of arguments, values of options, consoles, completion in a shell."""

from __future__ import annotations

import argparse
import gc
import inspect
import itertools
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from admmbench.files.core_yaml import parse_words
from admmbench.validation import expanded, meant

if TYPE_CHECKING:
    from rich.console import Console

    from admmbench.datasets import Dataset
    from admmbench.spec.run import RunSpec

# Columns of an output that is no terminal.
_WIDTH = 120

Function = Callable[[argparse.Namespace], int | None]
"""Function that carries a command out and returns its exit status, None for 0."""


class Command:
    """Command, whose help is the docstring of the function that carries it out.

    The docstring has a summary, examples, and at its end the arguments, each with a text after two spaces. Square
    brackets enclose arguments that may be left out, ``...`` stands for several values, and an option is optional if its
    text does not end with ``(required)``. The name of an argument's value decides how it is read, see `_VALUES`.

    Attributes
    ----------
    name
        Name of the command: the name of the function, without underscores around it.
    """

    def __init__(self, function: Function) -> None:
        self.function = function
        self.name = function.__name__.strip("_")
        self._help = str(inspect.getdoc(function))
        self.summary, *examples, arguments = self._help.split("\n\n")
        # The reference of commands shows the examples as code.
        self.description = "\n\n::\n\n".join([self.summary, *examples])
        self.in_folder = "--output FOLDER" in arguments
        """Whether its ``--output`` is a folder."""
        pairs = (paragraph.partition("  ") for paragraph in re.split(r"\n(?=\S)", arguments))
        self._arguments = {names: " ".join(text.split()) for names, _, text in pairs}

    def add_to(self, parser: Parser) -> None:
        """Add the arguments and the help to a parser."""
        positional = [argument for argument in self._arguments if not argument.startswith("-")]
        usage = " ".join([parser.prog, *positional, "[options]"])
        parser.help = f"usage: {usage}\n\n{self._help}\n"
        for names, text in self._arguments.items():
            _add_argument(parser, names, text)

    def read(self, words: Sequence[str], prog: str = "admmbench ") -> argparse.Namespace:
        """Parse the words that follow the command; ``KEY=VALUE`` may stand anywhere, and errors show the usage."""
        parser = Parser(prog=f"{prog}{self.name}")
        self.add_to(parser)
        if "[WORDS ...]" in self._arguments and not {"-h", "--help"} & {*words}:
            # The words are those of another program, which has options of its own.
            return argparse.Namespace(words=[*words])
        for word in itertools.takewhile(lambda word: word != "--", words):
            name = word.partition("=")[0]
            if name.startswith("--") and name not in parser.options:
                parser.error(f"unknown option {name!r}{meant(name, parser.options)}")
        return parser.parse_intermixed_args([*words])


class Parser(argparse.ArgumentParser):
    """Parser whose help is written by hand."""

    def __init__(self, **settings: Any) -> None:
        # An option that is cut short is a mistake: `--config` is no `--configfile`.
        super().__init__(allow_abbrev=False, **settings)
        self.help = ""

    def format_help(self) -> str:
        """Return the help that is written, or else argparse's own."""
        return self.help or super().format_help()

    @property
    def options(self) -> Sequence[str]:
        """Return the names of all options."""
        return [*self._option_string_actions]


def _add_argument(parser: argparse.ArgumentParser, names: str, text: str) -> None:
    """Add an argument to a parser, see `Command`."""
    words = names.strip("[]").replace(", -", " -").split()
    flags = [word for word in words if word.startswith("-")]
    value = next((word for word in words if not word.startswith("-")), "")
    kind, complete = _VALUES.get(value, (str, None))
    settings: dict[str, Any] = {"help": text.replace("%", "%%")}
    if not value:
        settings["action"] = "store_true"
    elif value.startswith("{"):
        metavar = _DESTINATIONS[value].upper() if value in _DESTINATIONS else value
        settings |= {"choices": value.strip("{}").split(","), "metavar": metavar}
    else:
        settings |= {"type": kind, "metavar": value}
    if "..." in words:
        settings |= {"nargs": "*" if names.startswith("[") else "+", "default": []}
    if flags:
        settings["required"] = text.endswith("(required)")
    else:
        flags = [_DESTINATIONS.get(value, value.lower())]
    action = parser.add_argument(*flags, **settings)
    action.completer = complete  # type: ignore[attr-defined]


def parse_path(text: str) -> Path:
    """Return the path that a word of the command line names."""
    try:
        return expanded(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def count(text: str) -> int:
    """Return the number of cores, threads or seconds that a word of the command line states."""
    if not (text.isdecimal() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"expected a number from 1 on, got {text!r}")
    return int(text)


def find_overlays(names: Sequence[str]) -> list[Path]:
    """Find overlays of the configuration: the user's files, or installed ones."""
    from admmbench.files.installed import find

    return [Path(name) if Path(name).exists() else find(name) for name in names]


def run_spec(options: argparse.Namespace) -> RunSpec:
    """Return the run that words ``KEY=VALUE`` state."""
    from admmbench.spec.run import RunSpec
    from admmbench.validation import checked

    return checked(RunSpec, parse_words(options.settings), "")


def dataset(spec: RunSpec, prepared: Path | None = None) -> Dataset:
    """Return the data set of a run: open the prepared one if its folder is given, or else load it."""
    from admmbench.datasets import load_dataset, open_as

    return open_as(spec.dataset, prepared) if prepared else load_dataset(spec.dataset)


def wide_console() -> Console:
    """Return a console whose tables have a fixed width if the output is no terminal."""
    from rich.console import Console

    console = Console(highlight=False)
    return console if console.is_terminal else Console(width=_WIDTH, highlight=False)


def print_json(content: Any) -> None:
    """Print one JSON document; numbers that JSON does not have are text, such as ``"Infinity"``."""
    from pydantic_core import to_json

    text = to_json(content, indent=2, inf_nan_mode="strings", fallback=lambda value: value.tolist())
    print(text.decode())


def collect_garbage() -> None:
    """Turn garbage collection on again, but not for objects that imports made."""
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


def source_names(prefix: str, **_: Any) -> list[str]:
    """List experiments, and files and folders below this folder."""
    from argcomplete.completers import FilesCompleter

    from admmbench.files.installed import find_all

    return [*find_all("experiments"), *FilesCompleter()(prefix)]


def dataset_names(**_: Any) -> list[str]:
    """List the data sets that have a name."""
    from admmbench import list_datasets

    return list_datasets()


# Attributes of arguments whose names differ from the name of the value.
_DESTINATIONS = {"KEY=VALUE": "settings", "SOURCE": "file", "{method,loss,dataset}": "kind"}
# Function that reads a value, and function that lists completions in a shell (None: files), by the name of the value.
_VALUES: dict[str, tuple[Callable[[str], Any], Callable[..., list[str]] | None]] = {
    **dict.fromkeys(
        ("FILE", "FOLDER", "TABLE", "FIRST", "SECOND", "METHOD", "CERTIFICATE"), (parse_path, None)
    ),
    **dict.fromkeys(("N", "SECONDS"), (count, None)),
    **dict.fromkeys(("NAME", "NAMES"), (str, plugin_names)),
    **dict.fromkeys(("CONFIG", "WORDS"), (str, overlay_names)),
    "DATASET": (str, dataset_names),
    "SOURCE": (parse_path, source_names),
}
