"""Renyi accountant of dp-accounting, for mechanisms that state their own divergences as well.

dp-accounting composes, converts to a total epsilon, and has the divergences of normal noise and of Laplace noise on one
entry. A mechanism states its own where dp-accounting has none, or less: its divergences of Poisson samples are up to a
third too large between whole orders and take ten times as long, those of randomised response drown in rounding below
epsilon = 1e-6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from dp_accounting import DpEvent
from dp_accounting.rdp import RdpAccountant


@dataclass(frozen=True)
class RenyiDpEvent(DpEvent):  # type: ignore[misc]
    """Mechanism whose Renyi divergences are known.

    Attributes
    ----------
    divergences
        One for each order of the accountant.
    """

    divergences: tuple[float, ...]


class RenyiAccountant(RdpAccountant):  # type: ignore[misc]
    """Accountant by Renyi divergences that composes a `RenyiDpEvent` and all events of dp-accounting that have some."""

    def _maybe_compose(self, event: DpEvent, count: float, do_compose: bool) -> Any:
        """Add the divergences; return what cannot be composed, None if all can be."""
        if not isinstance(event, RenyiDpEvent):
            return super()._maybe_compose(event, count, do_compose)
        if do_compose:
            self._rdp += np.multiply(count, event.divergences)
        return None
