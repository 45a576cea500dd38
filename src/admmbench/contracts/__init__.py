"""Checks that every method, loss and data set must pass, on small made-up data and without pytest.

``admmbench check`` runs the checks on a plug-in, and the project's tests run them on everything built in. A new method
is checked as soon as it has a name or a file.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Self, TypeVar

from admmbench import plugins
from admmbench.algorithms import list_algorithms
from admmbench.base.algorithm import Algorithm
from admmbench.datasets import DatasetDefinition, list_datasets
from admmbench.problems.loss import Loss
from admmbench.problems.losses import list_losses
from admmbench.validation import expanded, unknown

T = TypeVar("T")


@dataclass(frozen=True)
class Check:
    """Check of one property."""

    name: str
    """The property in words."""
    run: Callable[[], None]
    """Function that raises an AssertionError if the property does not hold; the message says why."""

    @classmethod
    def from_function(cls, function: Callable[[T], None], case: T, label: str = "") -> Self:
        """Make the check of a case by a function whose name states the property."""
        return cls(function.__name__.replace("_", " ") + label, partial(function, case))


def ensure(holds: Any, sentence: str) -> None:
    """Raise an AssertionError with a sentence if a condition does not hold; ``assert`` may be switched off."""
    if not holds:
        raise AssertionError(sentence)


def of(name: str) -> Iterator[Check]:
    """Yield the checks of a plug-in, or of a built-in method, loss or data set.

    Parameters
    ----------
    name
        Path of a plug-in ending in ``.py``, or name of a method, a loss or a data set.

    Raises
    ------
    ValueError
        If there is none of this name; the message gives the nearest name.
    """
    if name.endswith(".py"):
        module = plugins.load_file(expanded(name))
        functions = [function for base, _, function in _KINDS if plugins.subclasses(module, base)]
        fault = f"{name}: no subclass of Algorithm, Loss or DatasetDefinition, so there is nothing to check"
    else:
        functions = [function for _, names, function in _KINDS if name in names()]
        all_names = sorted(known for _, names, _ in _KINDS for known in names())
        fault = unknown("method, loss or data set", name, all_names)
    if not functions:
        raise ValueError(fault)
    for function in functions:
        yield from pkgutil.resolve_name(f"{__name__}.{function}")(name)


def is_method(name: str) -> bool:
    """Return whether a plug-in has a method, or a name is one of a built-in method."""
    base, names, _ = _KINDS[0]
    if name.endswith(".py"):
        return bool(plugins.subclasses(plugins.load_file(expanded(name)), base))
    return name in names()


# Base classes of plug-ins, names of built-in ones, and the functions that give their checks, whose modules are loaded
# when they are needed.
_KINDS: list[tuple[type, Callable[[], list[str]], str]] = [
    (Algorithm, list_algorithms, "methods:method_checks"),
    (Loss, list_losses, "losses:loss_checks"),
    (DatasetDefinition, list_datasets, "datasets:dataset_checks"),
]
