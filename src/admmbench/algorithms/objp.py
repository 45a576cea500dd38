"""ObjP: objective perturbation with a proximal term, and with E local updates ObjPM (ryu2021, ryu2022)."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Literal

import numpy as np

from admmbench.frames import theorems
from admmbench.frames.base import Array, Messages, RowFederation, parameters
from admmbench.frames.consensus import ConsensusState, Subproblem
from admmbench.frames.inexact import ObjectivePerturbation
from admmbench.frames.linearized import Schedule, proximal_step
from admmbench.frames.theorems import RYU2021, THEOREMS, VARIABLES, Average
from admmbench.problems.base import Problem
from admmbench.problems.needs import Need
from admmbench.problems.rows import Rows


@parameters
class ObjP(ObjectivePerturbation):
    """DP-IADMM-Prox: Algorithm 1 of ryu2022, and with E = 1 of ryu2021. ObjPM has E = 10 local updates.

    Parameters
    ----------
    proximity
        ``sqrt``: eta_t = a / sqrt(t), as ryu2021, theorem 3 of ryu2022 and the authors' code have it; ``smooth``:
        eta_t = a / (L + sqrt(t) / epsilon), theorem 2 of ryu2022 for L-smooth f_p; ``strong``: eta_t =
        2 a / (alpha (t + 2)), theorem 4 for alpha-strongly convex f_p.
    average
        ``theorem2``, ``theorem3``, ``theorem4`` of ryu2022: models are averaged as it says, and both sides of it are
        measured. L of theorem 2 is then the largest of all agents, and not each agent's own.
    """

    examples = ({"local_updates": 3}, {"proximity": "strong"})

    proximity: Literal["sqrt", "smooth", "strong"] = "sqrt"
    average: Average | None = None

    @property
    def needs(self) -> tuple[Need, ...]:
        """Theorem 2 is about smooth f_p, theorem 4 about those that are strongly convex."""
        kinds: dict[str, tuple[Need, ...]] = {
            "sqrt": (),
            "smooth": ("smooth penalty",),
            "strong": ("quadratic penalty",),
        }
        return kinds[self.proximity] + (("convex loss",) if self.average else ())

    def check(self, problem: Problem, agents: int) -> None:
        """A theorem supposes its proximity parameter, a compact W, and that all records count alike."""
        if self.proximity == "strong" and problem.strength == 0:
            raise ValueError("proximity: strong needs a problem with a strength above 0")
        if self.average is None:
            return
        assert isinstance(problem, Rows)
        if problem.feasible is None:
            raise ValueError("average: theorems are about a compact W; set problem.feasible")
        if problem.average != "records":
            raise ValueError("average: the theorems are about problem.average: records")
        wanted = THEOREMS[self.average].proximity
        if self.proximity != wanted or self.a != 1 or self.reference:
            raise ValueError(
                f"average: {self.average} supposes proximity: {wanted}, a: 1, variant: paper"
            )

    @property
    def variables(self) -> Mapping[str, tuple[str, str]]:
        """Both sides of the theorem that is asked for."""
        more = RYU2021 if self.average == "theorem3" else {}
        return {**VARIABLES, **more} if self.average else {}

    @property
    def evaluated(self) -> Collection[str]:
        """Name all of them."""
        return self.variables

    def init(self, federation: RowFederation) -> ConsensusState:
        """All variables start at zero; a theorem needs the optimum."""
        state = ObjectivePerturbation.init(self, federation)
        return theorems.start(state, federation) if self.average else state

    def round(self, t: int, state: ConsensusState, federation: RowFederation) -> Messages:  # type: ignore[override]
        """See `Consensus.round`; where a theorem is asked for, its sums follow."""
        if self.average is None:
            return ObjectivePerturbation.round(self, t, state, federation)
        assert isinstance(state, theorems.Course)
        theorem, epsilon = THEOREMS[self.average], federation.privacy.epsilon
        then, rho = theorems.distances(state), self.rho(t, epsilon)
        if self.average == "theorem4" and t > 1 and rho > t / (t - 1) * self.rho(t - 1, epsilon):
            raise ValueError(f"rho: in round {t} it grows faster than assumption 2 (ii) allows")
        followed = theorems.Followed(federation.strategy, theorem, state)
        sent = ObjectivePerturbation.round(self, t, state, replace(federation, strategy=followed))
        theorems.after_round(t, state, theorem, rho, then)
        return sent

    def measure(self, t: int, state: ConsensusState, federation: RowFederation) -> dict[str, Array]:  # type: ignore[override]
        """Both sides of the theorem that is asked for."""
        if self.average is None:
            return {}
        assert isinstance(state, theorems.Course)
        whole, epsilon = federation.problem, federation.privacy.epsilon
        gamma = 2 * state.multiplier
        if self.average == "theorem4":  # assumption 2 (i)
            gamma = np.maximum(gamma, state.largest)
        facts = theorems.Facts(
            T=t,
            P=whole.n_agents,
            size=whole.size,
            E=self.local_updates,
            epsilon=epsilon,
            first=self.rho(1, epsilon),
            last=self.rho(t, epsilon),
            gamma=gamma,
            L=whole.smoothness if self.proximity == "smooth" else 0.0,
            alpha=whole.penalty_curvature,
        )
        return theorems.sides(THEOREMS[self.average], state, facts, federation)

    @property
    def family(self) -> str:
        """With several local updates, ryu2022 calls it by another name."""
        more = ", several local updates" if self.local_updates > 1 else ""
        return f"objective perturbation{more}"

    # Closed form of (8).
    step = staticmethod(proximal_step)

    def schedule(self, sub: Subproblem) -> Schedule:
        """Return ``1 / eta_t``."""
        whole = sub.parts.whole
        if self.proximity == "sqrt":
            return {"inverse_eta": self.inverse_eta(sub.t)}
        if self.proximity == "strong":
            return {"inverse_eta": whole.penalty_curvature * (sub.t + 2) / (2 * self.a)}
        L = whole.smoothness if self.average else sub.parts.smoothness
        return {"inverse_eta": (L + math.sqrt(sub.t) / sub.privacy.epsilon) / self.a}
