"""Contracts that every method, loss and data set must keep, checked on small made-up data without pytest.

``admmbench check`` runs them on a plug-in, and the project's tests run them on everything built in. A new method is
covered as soon as it has a name or a file.
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
    """One contract."""

    name: str
    """What should hold, in words."""
    run: Callable[[], None]
    """Raises an AssertionError if it does not hold; the message says why."""

    @classmethod
    def of(cls, function: Callable[[T], None], case: T, label: str = "") -> Self:
        """Make the check of a case by a function, whose name says what should hold."""
        return cls(function.__name__.replace("_", " ") + label, partial(function, case))


def ensure(holds: Any, sentence: str) -> None:
    """Raise an AssertionError with a sentence if something does not hold; ``assert`` may be switched off."""
    if not holds:
        raise AssertionError(sentence)


def of(name: str) -> Iterator[Check]:
    """Find the checks of a plug-in, or of a built-in method, loss or data set.

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
        found = [where for base, _, where in _KINDS if plugins.subclasses(module, base)]
        fault = f"{name}: no subclass of Algorithm, Loss or DatasetDefinition, so there is nothing to check"
    else:
        found = [where for _, names, where in _KINDS if name in names()]
        every = sorted(each for _, names, _ in _KINDS for each in names())
        fault = unknown("method, loss or data set", name, every)
    if not found:
        raise ValueError(fault)
    for where in found:
        yield from pkgutil.resolve_name(f"{__name__}.{where}")(name)


# What plug-ins subclass, with the modules and functions that check them, which are loaded when they are needed.
_KINDS: list[tuple[type, Callable[[], list[str]], str]] = [
    (Algorithm, list_algorithms, "methods:of_method"),
    (Loss, list_losses, "losses:of_loss"),
    (DatasetDefinition, list_datasets, "datasets:of_dataset"),
]
