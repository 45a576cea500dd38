"""ADMM sharing: parties with different features of the same samples share predictions (hu2019, algorithm 1)."""

from __future__ import annotations

from admmbench.frames.base import parameters
from admmbench.frames.sharing import Sharing


@parameters
class ADMMSharing(Sharing):
    """Algorithm 1, (6) to (8). The privacy budget has no effect: what is sent has no noise.

    Its rival, for which Hong, Luo and Razaviyayn (2016) prove convergence, has ``coupling: sequential``.
    """

    family = "sharing"
    examples = ({"coupling": "averaged"}, {"coupling": "sequential"})
