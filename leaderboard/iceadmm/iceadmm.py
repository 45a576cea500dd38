"""ICEADMM: inexact ADMM with several local updates of models and dual variables (Zhou and Li 2021)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from admmbench.base.algorithm import parameters
from admmbench.base.averages import AVERAGES
from admmbench.base.inexact import ObjectivePerturbation
from admmbench.base.linearized import Schedule, proximal_step
from admmbench.base.types import ConsensusState, RowFederation, Subproblem


@parameters
class ICEADMM(ObjectivePerturbation):
    """Inexact ADMM whose agents update models and dual variables in turn, several times between two messages.

    S. Zhou and G. Y. Li, "Communication-efficient ADMM-based federated learning" (arXiv 2110.15318); the equations are
    those of the authors' code. An agent begins a round at the global model, and does local_updates times

        z <- argmin_v <f'(z) + noise - lambda, v> + ||v - z||^2 / (2 a) + (rho / 2) ||v - w||^2,
        lambda <- lambda + rho (w - z).

    It sends z - lambda / rho, and the server takes the mean. The authors have no noise. Here gradients carry the noise
    of ryu2022, so that all that is sent follows from them. The authors measure the distance from the last iterate by
    a matrix of the agent's records, which no noise hides. Here it is the identity over ``a``, as in APPFL.

    Parameters
    ----------
    a
        Proximity parameter of all rounds.
    local_updates
        k_0, updates of models and dual variables between two messages, each with noise of its own.
    """

    variants = ("paper",)
    examples = ({"local_updates": 3},)
    tune = {
        "rounds": 20,
        "params.rho": 0.02,
        "params.a": 32,
        "params.local_updates": {"start": 4, "whole": True},
    }

    # A round begins at the global model: what is sent last is no iterate before an update.
    averages = {"after": AVERAGES["after"]}

    step = staticmethod(proximal_step)

    def schedule(self, sub: Subproblem) -> Schedule:
        """Return the constant ``1 / a``."""
        return {"inverse_eta": 1 / self.a}

    def init(self, federation: RowFederation) -> ConsensusState:
        """All variables start at zero; what is sent is the last iterate, and no mean."""
        return replace(super().init(federation), chain=None)

    def local_round(self, sub: Subproblem) -> None:
        """Do all local updates, each a whole one; the server gets the message of the last."""
        sub.z[:] = sub.w
        for e in range(self.updates):
            last = e == self.updates - 1
            partial = sub.partial if last else np.zeros_like(sub.partial)
            self.local_update(replace(sub, partial=partial), "only", 1.0)
