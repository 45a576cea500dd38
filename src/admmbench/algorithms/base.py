"""What every algorithm is: a frozen dataclass of parameters with ``init`` and ``round``.

An algorithm sees a federation: its agents with their local problems and noise, and the privacy budget. Agents come
in blocks of a few, and all arrays carry the agents of the block and the seeds of the batch as leading axes, so that
the equations are written as for one agent of one run. It knows nothing of files, seeds, threads, metrics or other
algorithms.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field

from admmbench.elementwise import elementwise
from admmbench.privacy import Noise, Privacy
from admmbench.validation import parameters as parameters

Array = NDArray[Any]


class Block(Protocol):
    """A few agents, B of them, that are served together; arrays about them start with their axis."""

    @property
    def agents(self) -> slice:
        """Where they are among all agents."""

    @property
    def problem(self) -> Any:
        """Their parts of the problem."""

    @property
    def noise(self) -> Noise:
        """Their noise source."""


class Federation(Protocol):
    """All agents, as an algorithm sees them."""

    @property
    def privacy(self) -> Privacy:
        """Budget of one release."""

    @property
    def problem(self) -> Any:
        """The problem as a whole."""

    def each(self, step: Callable[[Any], Any]) -> list[Any]:
        """Let every block of agents do a step, in parallel, and collect what it returns."""

    def draw(self, sample: Callable[[np.random.Generator], Array]) -> Array:
        """Draw for every seed what all agents know, from the first agent's stream; shape (S, ...)."""


@parameters
class Penalty:
    """Penalty rho_t = scale * min(cap, c1 * growth^floor(t / period) + c2 / epsilon).

    Equation (24) of ryu2022 and (21) of ryu2021; the defaults are theirs for MNIST. FEMNIST: c1 = 0.005, c2 = 0.05,
    period = 2000. ``scale`` is for OutP+ and figure 4 (rho_t / 100).
    """

    c1: Annotated[float, Field(ge=0)] = 2.0
    c2: Annotated[float, Field(ge=0)] = 5.0
    period: Annotated[int, Field(ge=1)] = 10_000
    growth: Annotated[float, Field(ge=1)] = 1.2
    cap: Annotated[float, Field(gt=0)] = 1e9
    scale: Annotated[float, Field(gt=0)] = 1.0

    def __post_init__(self) -> None:
        if self.c1 + self.c2 <= 0:
            raise ValueError("rho: c1 and c2 are both 0, so the penalty would be 0")

    def __call__(self, t: int, epsilon: float) -> float:
        """Penalty of round t = 1, 2, ..."""
        # In log space, so that a million rounds do not overflow before the cap applies.
        steps = t // self.period
        if self.c1 and steps * math.log(self.growth) + math.log(self.c1) > math.log(self.cap):
            return self.scale * self.cap
        return self.scale * min(self.cap, self.c1 * self.growth**steps + self.c2 / epsilon)


def _constant(value: Any) -> Any:
    """A number stands for a constant penalty."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return {"c1": value, "c2": 0, "growth": 1}
    return value


Rho = Annotated[Penalty, BeforeValidator(_constant)]


@dataclass
class Consensus:
    """State of a consensus method, for S seeds and P agents with models of shape (K, J)."""

    w: Array
    """Global model, shape (S, K, J)."""
    z: Array
    """Local models, shape (P, S, K, J)."""
    dual: Array
    """Dual variables lambda, shape (P, S, K, J)."""


@dataclass(frozen=True)
class Messages:
    """What one round sends: from the server to every agent, and from the agents to the server."""

    down: tuple[Array, ...]
    """Arrays of shape (S, ...), received by each agent."""
    up: tuple[Array, ...]
    """Arrays of shape (P, S, ...), one entry from each agent."""


@parameters
class Algorithm(ABC):
    """What all methods share.

    Parameters
    ----------
    variant
        ``paper``: the equations as printed; ``reference``: what the authors' public code computes.

    Attributes
    ----------
    variables
        What `measure` returns besides the usual: units and long name by name.
    variants
        What ``variant`` may be: ``reference`` only where authors published code.
    shares
        What may be shared out over agents: ``rows``, ``columns``, or both.
    """

    shares: ClassVar[tuple[str, ...]] = ("rows",)
    variables: ClassVar[Mapping[str, tuple[str, str]]] = {}
    variants: ClassVar[tuple[str, ...]] = ("paper",)

    variant: Literal["paper", "reference"] = "paper"

    def check(self, problem: Any) -> None:  # noqa: B027
        """Raise a ValueError if the method cannot solve a problem with these parameters."""

    @property
    def reference(self) -> bool:
        """Whether to follow the authors' code where it departs from the paper."""
        return self.variant == "reference"

    @property
    def extra_rounds(self) -> int:
        """The authors' code counts rounds from 0 and makes T + 1 of them."""
        return int(self.reference)

    @property
    def updates(self) -> int:
        """Local updates, each with a gradient, that an agent makes in a round."""
        return 1

    def init(self, federation: Federation) -> Consensus:
        """Models and dual variables start at zero."""
        problem = federation.problem
        shape = (problem.n_seeds, *problem.model_shape)
        local = (problem.n_agents, *shape)
        return Consensus(
            np.zeros(shape, problem.dtype),
            np.zeros(local, problem.dtype),
            np.zeros(local, problem.dtype),
        )

    @abstractmethod
    def round(self, t: int, state: Consensus, federation: Federation) -> Messages:
        """Do round t = 1, 2, ...: update ``state`` in place and return what was sent."""

    def violation(self, state: Any, federation: Federation) -> Array:
        """How far the agents are from consensus, sum_p ||w - z_p||_1, shape (S,)."""
        gaps = federation.each(
            lambda block: np.abs(state.w - state.z[block.agents]).sum((0, 2, 3), dtype=np.float64)
        )
        return np.asarray(np.sum(gaps, axis=0))

    def measure(self, t: int, state: Any, federation: Federation) -> dict[str, Array]:
        """Measure what the method's papers plot besides the usual, after round t; arrays of shape (S,)."""
        return {}


@parameters
class ADMM(Algorithm):
    """What all forms of consensus ADMM share.

    Parameters
    ----------
    rho
        Penalty, a number or the parameters of `Penalty`.
    """

    rho: Rho = Field(default_factory=Penalty)


@elementwise
def dual_ascent(dual: float, rho: float, w: float, z: float) -> float:
    """Dual update, (4c) of ryu2021 and ryu2022."""
    return dual + rho * (w - z)


def need_smooth(problem: Any, what: str) -> None:
    """Raise a ValueError if a problem's regulariser has no gradient."""
    if not problem.smooth:
        raise ValueError(
            f"{what} needs a regulariser with a gradient; choose another for the problem"
        )


def need_convex(problem: Any, what: str) -> None:
    """Raise a ValueError if a problem's loss is not convex."""
    if not problem.convex:
        raise ValueError(f"{what} needs a convex loss; choose another for the problem")


def factors(values: Array, like: Array) -> Array:
    """Numbers of shape (B, S) as factors of models of shape (B, S, K, J), in their precision."""
    return values[..., None, None].astype(like.dtype)


def server_average(state: Consensus, rho: float) -> Array:
    """Return w = (1/P) sum_p (z_p - lambda_p / rho), the minimiser of (4a) of ryu2021 and ryu2022."""
    return state.z.mean(axis=0) - state.dual.mean(axis=0) / rho
