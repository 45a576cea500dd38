"""VIMADMM: ADMM over features whose parties make noisy local steps (Xie et al. 2024), with a guarantee."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from admmbench.base.algorithm import Algorithm, parameters
from admmbench.base.sharing import Sharing, SharingState
from admmbench.base.types import Array, ColumnBlock, ColumnFederation, Guarantee, Messages
from admmbench.privacy import Release
from admmbench.sensitivity import Sensitivity

# A row may be zero.
_SHORT = 1e-30


@parameters
class VIMADMM(Sharing):
    """ADMM sharing by local gradient steps, with noise on clipped predictions and on clipped gradients.

    C. Xie, P.-Y. Chen, Q. Li, A. Nourian, C. Zhang and B. Li, "Improving privacy-preserving vertical federated learning
    by efficient communication with ADMM" (SaTML 2024); the equations are those of the authors' code for parties that
    send predictions (VIMADMM-J), with one linear model. Each party sends its clipped predictions with noise. The server
    updates z and the dual variable, as in `Sharing`. Then each party makes E gradient steps on its subproblem, from its
    last model. The authors' noise is on what is sent alone, while a row also moves the party's model and with it all
    predictions. So here each local step has a noisy sum of clipped gradients, and a round costs one release.
    docs/privacy/special.md has the proof.

    Neighbours differ in one record at one party: its features there are zero, or others.

    Parameters
    ----------
    learning_rate
        Of the local steps, for a mean over records.
    local_updates
        Local steps of a round, E.
    clip
        Bound on the norm of a record's gradient at a party.
    clip_predictions
        Bound on a party's part of a prediction.
    share
        Part of a round's privacy loss (inverse squared multiplier) that goes to the predictions.
    """

    release = Release("gaussian", "predictions")
    variables = {}
    needs = ()
    examples = ({"coupling": "averaged", "local_updates": 2},)
    tune = {"rounds": 20, "params.rho": 0.25, "params.learning_rate": 4, "params.clip": 0.5}

    coupling: Literal["parallel", "averaged"] = "parallel"
    learning_rate: Annotated[float, Field(gt=0)] = 0.1
    local_updates: Annotated[int, Field(ge=1)] = 1
    clip: Annotated[float, Field(gt=0)] = 1.0
    clip_predictions: Annotated[float, Field(gt=0)] = 1.0
    share: Annotated[float, Field(gt=0, lt=1)] = 0.5

    @property
    def gradients(self) -> float:
        """Each local step takes a gradient."""
        return float(self.local_updates)

    def guarantee(self, sensitivity: Literal["local", "global"]) -> Guarantee:
        """Clipping bounds what any record does, so that there is a proof for both kinds of sensitivity."""
        return super().guarantee("global")

    def round(self, t: int, state: SharingState, federation: ColumnFederation) -> Messages:
        """Send predictions, update z and the dual variable, and do local steps."""
        problem, rho = federation.problem, self.rho
        rows = np.broadcast_to(np.arange(problem.n_samples), state.z.shape)
        parts = problem.n_agents if self.coupling == "averaged" else 1
        share = (1 - self.share) / self.local_updates
        # A row's prediction and its gradients share the release of its party.
        releases = [block.noise.shared(problem.n_samples) for block in federation.blocks]

        def noisy(block: ColumnBlock, value: Array, bound: float, share: float) -> Array:
            """Add noise to a value that a row moves by a bound, for a share of the privacy loss of a round."""
            sensitivity = Sensitivity(l2=np.full(value.shape[:2], bound))
            release = releases[block.agents.start]
            found: Array = value + release.share(sensitivity, share, rows, value.shape[2:])
            return found[0]

        def send(block: ColumnBlock) -> None:
            m, most = block.agents.start, self.clip_predictions
            sent = np.clip(_finite(state.x[m] @ block.parts.D.T.astype(np.float64)), -most, most)
            state.predictions[m] = noisy(block, sent[None], most, self.share)

        federation.each(send)
        s = state.predictions.sum(axis=0)
        state.z = problem.minimize_loss(s, state.dual, rho, state.z)
        state.dual = state.dual + problem.dtype.type(rho) * (s - state.z)

        def descend(block: ColumnBlock) -> None:
            m, D = block.agents.start, block.parts.D.astype(np.float64)
            target = state.predictions[m] - (s - state.z) / parts
            most = self.clip / np.maximum(np.linalg.norm(D, axis=1), _SHORT)
            for _ in range(self.local_updates):
                x = state.x[m]
                pull = _finite(state.dual + parts * rho * (_finite(x @ D.T) - target))
                gradient = (np.clip(pull, -most, most) @ D)[None]
                mean = noisy(block, gradient, self.clip, share) / problem.n_samples
                penalty = problem.problem.strength * problem.penalty.gradient(x)
                state.x[m] = x - (self.learning_rate * (mean + penalty)).astype(x.dtype)

        federation.each(descend)
        return Messages(down=(s - state.z, state.dual), up=(state.predictions,))

    measure = Algorithm.measure  # a Lyapunov function supposes exact subproblems


def _finite(x: Array) -> Array:
    """Replace what is no number: models that overflow are known to all, and bounds must hold all the same."""
    return np.asarray(np.nan_to_num(x))
