"""Contracts that every method, loss and data set must keep, checked on small made-up data without pytest.

``admmbench check`` runs them on a plug-in, and the project's tests run them on everything built in. A new method is
covered as soon as it has a name or a file.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Self, TypeVar

from admmbench import plugins
from admmbench.algorithms import list_algorithms
from admmbench.datasets import DatasetDefinition, list_datasets
from admmbench.frames.base import Algorithm
from admmbench.problems.loss import Loss
from admmbench.problems.losses import list_losses
from admmbench.validation import expanded, unknown

T = TypeVar("T")


@dataclass(frozen=True)
class Check:
    """One contract.

    Attributes
    ----------
    name
        What should hold, in words.
    run
        Raises an AssertionError if it does not hold; the message says why.
    """

    name: str
    run: Callable[[], None]

    @classmethod
    def of(cls, function: Callable[[T], None], case: T, label: str = "") -> Self:
        """Check of a case by a function, whose name says what should hold."""
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
    kinds = _kinds()
    if name.endswith(".py"):
        module = plugins.load_file(expanded(name))
        found = [kind for kind in kinds if plugins.subclasses(module, kind.base)]
        fault = f"{name}: no subclass of Algorithm, Loss or DatasetDefinition, so there is nothing to check"
    else:
        found = [kind for kind in kinds if name in kind.names]
        every = sorted(each for kind in kinds for each in kind.names)
        fault = unknown("method, loss or data set", name, every)
    if not found:
        raise ValueError(fault)
    for kind in found:
        module = importlib.import_module(f"{__name__}.{kind.module}")
        yield from getattr(module, kind.function)(name)


class _Kind(NamedTuple):
    """A kind of plug-in, and the functions that check it, in modules that are loaded when they are needed."""

    base: type
    names: list[str]
    module: str
    function: str


def _kinds() -> list[_Kind]:
    return [
        _Kind(Algorithm, list_algorithms(), "methods", "of_method"),
        _Kind(Loss, list_losses(), "losses", "of_loss"),
        _Kind(DatasetDefinition, list_datasets(), "datasets", "of_dataset"),
    ]
