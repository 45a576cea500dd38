"""What is measured beside a run: means over rounds, and both sides of theorems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from admmbench.base.types import Array, Federation, LocalUpdate, Subproblem, Wrapping

Variables = Mapping[str, tuple[str, str]]


class Observer:
    """Measurements beside a run, of which no model and no message follows.

    The engine makes new observers for each run, and tells them what happens. What they measure may be made of the
    agents' records, and no total covers it.

    Parameters
    ----------
    method
        The method that is observed.

    Attributes
    ----------
    variables
        What is measured, as `Algorithm.variables`.
    sees_updates
        Whether `after_update` is called; before each update, its models are copied for it.
    memory
        Numbers, arrays and dataclasses of these, which checkpoints keep.
    """

    variables: ClassVar[Variables]
    sees_updates: ClassVar[bool] = False

    def __init__(self, method: Any) -> None:
        self.method = method
        self.memory: Any = None

    def check(self, problem: Any) -> None:
        """Raise a ValueError if there is nothing to measure for a method or a problem."""

    def begin(self, state: Any, federation: Federation[Any, Any]) -> None:
        """Take note of the state before the first round."""

    def before_round(self, t: int, state: Any, federation: Federation[Any, Any]) -> None:
        """Take note of the state that round t begins with."""

    def after_update(self, update: LocalUpdate, before: Subproblem) -> None:
        """Take note of a local update of a block, whose models were as in ``before``."""

    def after_iteration(self, state: Any, federation: Federation[Any, Any]) -> None:
        """Take note of an iteration of an inner loop, before the outer loop goes on."""

    def after_round(self, t: int, state: Any, federation: Federation[Any, Any]) -> None:
        """Take note of the state that round t ends with."""

    def measure(self, t: int, state: Any, federation: Federation[Any, Any]) -> dict[str, Array]:
        """Return the `variables` after round t, each of shape (S,)."""
        raise NotImplementedError(f"{type(self).__name__} measures nothing")


@dataclass(frozen=True)
class Observed(Wrapping):
    """Strategy whose local updates are told to observers."""

    observers: Sequence[Observer]

    def update(self, update: LocalUpdate) -> None:
        """See `Strategy`."""
        sub = update.sub
        before = replace(sub, z=sub.z.copy(), sent=sub.sent.copy(), dual=sub.dual.copy())
        self.inner.update(update)
        for observer in self.observers:
            observer.after_update(update, before)


def observed(
    federation: Federation[Any, Any], observers: Sequence[Observer]
) -> Federation[Any, Any]:
    """Return a federation that tells observers what its agents do."""
    strategy = federation.strategy
    if curious := [observer for observer in observers if observer.sees_updates]:
        strategy = Observed(strategy, curious)
    return replace(federation, strategy=strategy, observers=observers)
