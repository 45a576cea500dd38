"""DPSGD: gradient descent on noisy gradients of all agents, a baseline of huang2019."""

from __future__ import annotations

from admmbench.base.algorithm import parameters
from admmbench.base.descent import NoisyDescent
from admmbench.base.types import Messages, Models, RowFederation


@parameters
class DPSGD(NoisyDescent):
    """Gradient descent of the server along the mean of noisy gradients of agents (Abadi et al. 2016, algorithm 1).

    In each round an agent draws a Poisson sample of its m records, each with probability q, and adds Gaussian noise to
    the sum of their gradients over q m, the expected size of the sample. The noise is scaled as in the other methods of
    huang2019 (one record is replaced, which moves the sum by 2 c1 / (q m) at most). Records are bounded, so that no
    gradient needs clipping. The server takes a step along the mean over agents, with the weights of the objective:
    equal, or by their numbers of records. The local models are the global one. No mean of gradients is longer than c1,
    so that totals may be about whole agents. Under a secure sum agents weigh before they add noise, and all that have
    records add equal parts of the noise of the mean.
    """

    examples = ({"sampling": 0.3, "step": "sqrt"},)
    tune = {
        "rounds": 40,
        "params.learning_rate": 4,
        "params.sampling": {"start": 0.25, "most": 1},
    }

    def round(self, t: int, state: Models, federation: RowFederation) -> Messages:
        """Take one step."""
        w = state.w
        gradient, seen = self.noisy_gradient(t, w, federation)
        state.w = w - w.dtype.type(self.rate(t)) * gradient
        state.z[:] = state.w
        return Messages(down=(w,), up=(seen,))
