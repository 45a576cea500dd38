"""ADMM sharing: parties with different features of the same samples share predictions (hu2019, algorithm 1)."""

from __future__ import annotations

from collections.abc import Mapping

from admmbench.base import theorems_hu2019 as hu2019
from admmbench.base.algorithm import parameters
from admmbench.base.sharing import Sharing
from admmbench.base.types import Array, ColumnFederation, Messages, SharingState


@parameters
class ADMMSharing(Sharing):
    """Algorithm 1, (6) to (8). The privacy budget has no effect: what is sent has no noise.

    Its rival, for which Hong, Luo and Razaviyayn (2016) prove convergence, has ``coupling: sequential``.

    Parameters
    ----------
    theorems
        Whether both sides of lemma 4 are measured, from which theorems 1 and 2 follow; the problem must meet
        assumption 1.
    """

    family = "sharing"
    examples = ({"coupling": "averaged"}, {"coupling": "sequential"})

    theorems: bool = False

    @property
    def variables(self) -> Mapping[str, tuple[str, str]]:  # type: ignore[override]
        """What all measure, and lemma 4 if it is asked for."""
        return {**Sharing.variables, **(hu2019.VARIABLES if self.theorems else {})}

    def init(self, federation: ColumnFederation) -> SharingState:
        """Start all variables at zero, and find what lemma 4 needs."""
        state = super().init(federation)
        if self.theorems:
            state.course = hu2019.start(self, state, federation)
        return state

    def round(self, t: int, state: SharingState, federation: ColumnFederation) -> Messages:
        """Do a round, and look at it."""
        x, z = list(state.x), state.z
        sent = super().round(t, state, federation)
        if state.course is not None:
            hu2019.follow(self, state, federation, x, z)
        return sent

    def measure(
        self, t: int, state: SharingState, federation: ColumnFederation
    ) -> dict[str, Array]:
        """Measure the `variables`."""
        found = super().measure(t, state, federation)
        if state.course is None:
            return found
        return {**found, **dict(zip(hu2019.VARIABLES, state.course.sides, strict=True))}
