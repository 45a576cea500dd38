"""What methods, kernels and audits share: a federation of agents, models, subproblems and messages.

Agents come in blocks of a few, and all arrays carry the agents of the block and the seeds of the batch as leading axes,
so that equations are written as for one agent of one run.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from admmbench.privacy import Draw, Ledger, Noise, Privacy, Sampler
from admmbench.problems.base import Gradient, Map, on_host
from admmbench.problems.columns import BoundColumns, Party
from admmbench.problems.constrained import BoundConstrained
from admmbench.problems.constraints import Functions
from admmbench.problems.penalties import PenaltyName
from admmbench.problems.rows import BoundRows, Objective, RowParts
from admmbench.sensitivity import Sensitivity

Array = NDArray[Any]
T = TypeVar("T")
WholeT = TypeVar("WholeT", covariant=True)
PartsT = TypeVar("PartsT", covariant=True)
Step = Callable[..., Any]
Position = Literal["only", "first", "middle", "last"]
"""Which of the local updates of a round."""
Order = Literal["server", "agents"]
"""Who begins a round."""

UNIT_OF_LOSS = "loss"
# Blocks whose sums are one array, as many for any number of threads.
_GROUPS = 16
# Rounding errors of some operations in double precision, as a part of a model.
_ROUNDING = 2.0**-50
ALLOWED = 2.0**-10
"""What part of a bound rounding errors may be."""
# Above this bound only models beyond all use have such errors.
_SMALL = 1e-6


@dataclass(frozen=True)
class Block(Generic[PartsT]):
    """Some agents that a thread serves together; arrays about them start with the axis of agents."""

    agents: slice
    """Positions of these agents among all agents."""
    parts: PartsT
    """Their parts of the problem."""
    noise: Noise
    sampler: Sampler
    """Source of their samples of records."""


@dataclass(frozen=True)
class Federation(Generic[WholeT, PartsT]):
    """All agents as an algorithm sees them, and the means to let them work at the same time.

    Results do not depend on the number of threads: an agent's work is done by one thread, with one BLAS thread, and
    whatever is summed over agents is summed in their order.
    """

    problem: WholeT
    """The bound problem as a whole."""
    privacy: Privacy
    """Budget of one release."""
    blocks: Sequence[Block[PartsT]]
    choices: list[np.random.Generator]
    """For each seed, the source of random numbers that all agents know; none if the method declares no draws."""
    run: Map = field(repr=False)
    strategy: Strategy
    """How local updates are computed."""
    observers: Sequence[Any] = ()
    """Who is told of iterations, see `admmbench.base.observers`."""

    @property
    def ledgers(self) -> list[Ledger]:
        """What each agent has released so far."""
        return [ledger for block in self.blocks for ledger in block.noise.ledgers]

    def active(self, t: int) -> Array:
        """Return which agents take part in round t, by coins or as a cohort, shape (P, S, 1, 1)."""
        privacy = self.privacy
        if not privacy.cohort:
            coins = (block.sampler.coins(t, privacy.participation) for block in self.blocks)
            return np.concatenate(list(coins))
        numbers = np.concatenate([block.sampler.numbers(t) for block in self.blocks])
        ranks = numbers.argsort(axis=0).argsort(axis=0)
        return np.asarray(ranks < privacy.cohort)[..., None, None]

    def each(self, step: Callable[[Block[PartsT]], T]) -> list[T]:
        """Let every block of agents do a step, in parallel, and collect what it returns."""
        return self.run(step, self.blocks)

    def sum(self, add: Callable[[Block[PartsT], Array], None], like: Array) -> Array:
        """Sum what a step of each block of agents adds to an array of the shape and type of ``like``."""

        def group(blocks: Sequence[Block[PartsT]]) -> Array:
            partial = np.zeros_like(like)
            for block in blocks:
                add(block, partial)
            return partial

        size = -(-len(self.blocks) // _GROUPS)
        starts = range(0, len(self.blocks), size)
        total, *others = self.run(group, [self.blocks[k : k + size] for k in starts])
        for other in others:
            total += other
        return total

    def draw(self, sample: Callable[[np.random.Generator], Array]) -> Array:
        """Draw, for every seed, random numbers that all agents know; shape (S, ...).

        Raises
        ------
        ValueError
            If the method does not declare that it draws: all seeds would count as one.
        """
        if not self.choices:
            raise ValueError("federation.draw needs a method with draws = True")
        return np.stack([sample(generator) for generator in self.choices])


RowBlock = Block[RowParts]
RowFederation = Federation[BoundRows, RowParts]
ColumnBlock = Block[Party]
ColumnFederation = Federation[BoundColumns, Party]
ConstrainedBlock = Block[Functions]
ConstrainedFederation = Federation[BoundConstrained, Functions]


@dataclass(frozen=True)
class Messages:
    """Messages of one round, from the server to every agent and from the agents to the server."""

    down: tuple[Array, ...]
    """Arrays of shape (S, ...), received by each agent."""
    up: tuple[Array, ...]
    """Arrays of shape (P, S, ...), one entry from each agent."""


@dataclass(frozen=True)
class Guarantee:
    """Strength of the proof behind the composed privacy loss of a run.

    Attributes
    ----------
    kind
        ``proved``: docs/privacy/bounds.md has a proof; ``conditional``: the proof needs conditions that the code does
        not ensure; ``none``: there is no finite guarantee.
    conditions
        What the guarantee covers and assumes, or why there is none.
    keys
        What it assumes, or why there is none, in words that results store.
    """

    kind: Literal["proved", "conditional", "none"]
    conditions: str
    keys: tuple[str, ...] = ()


@dataclass
class Models:
    """Global and local models, for S seeds and P agents with models of shape (K, J)."""

    w: Array
    """Global model, shape (S, K, J)."""
    z: Array
    """Local models, shape (P, S, K, J)."""


@dataclass
class ConsensusState(Models):
    """State of consensus ADMM."""

    dual: Array
    """Dual variables lambda, shape (P, S, K, J)."""
    chain: Array | None
    """Last local iterates where they are not ``z`` itself, which is their mean: None with one update."""
    average: Array
    """Mean of the agents' last messages, shape (S, K, J)."""

    @property
    def iterates(self) -> Array:
        """Last local iterates, from which the next round goes on, shape (P, S, K, J)."""
        return self.z if self.chain is None else self.chain


def solution(gradient: float, z: float, w: float, dual: float, rho: float) -> float:
    """Step of methods that have none: the solution is found otherwise."""
    return gradient


@dataclass(frozen=True)
class Pass:
    """Facts about a local update that are known when it is compiled.

    Attributes
    ----------
    step
        Equation of the step, ``step(gradient, z, w, dual, rho, ...)``, for one entry of a model; its further arguments
        are numbers of each agent and seed.
    penalty
        Of the problem.
    at
        Model that the penalty's gradient is taken at: the ``local`` one, or the ``global`` one.
    noise
        What noise is added to; None: there is none.
    updates
        ``only``: the one update of a round; or of several the ``first``, a ``middle`` one, or the ``last``.
    order
        Who begins a round, see `admmbench.base.consensus.Consensus`: the dual variables follow after the last
        update, or before the first one.
    """

    step: Step = solution
    penalty: PenaltyName = "l2"
    at: Literal["local", "global"] = "local"
    noise: Literal["gradient", "solution"] | None = None
    updates: Position = "only"
    order: Literal["server", "agents"] = "server"

    def flags(self, of: Callable[..., Any] | None = None) -> dict[str, bool]:
        """Return those of `make_finish` and `make_update`; or only what a function takes of them."""
        flags = {
            "first": self.updates in ("only", "first"),
            "last": self.updates in ("only", "last"),
            "agents_begin": self.order == "agents",
            "solved": self.step is solution,
            "noise_on_gradient": self.noise == "gradient",
            "noise_on_solution": self.noise == "solution",
        }
        taken = inspect.signature(of).parameters if of else flags
        return {name: flag for name, flag in flags.items() if name in taken}


@dataclass(frozen=True)
class Subproblem:
    """Values that the agents of a block know when they update their models in round t."""

    t: int
    z: Array
    """Last iterates, shape (B, S, K, J)."""
    sent: Array
    """What was sent last, overwritten by the sum of local updates so far, and then by what is sent next, their mean;
    shape (B, S, K, J); with one update, ``z`` itself."""
    w: Array
    """Global model, shape (S, K, J)."""
    dual: Array
    """Dual variables, shape (B, S, K, J)."""
    partial: Array
    """Receives the sum of the agents' messages, shape (S, K, J)."""
    rho: float
    rho_dual: float
    """Penalty parameter of the round whose gap the dual variables follow next."""
    rho_message: float
    """Penalty parameter of the round for which the server averages next."""
    parts: RowParts
    """The agents' parts of the problem."""
    noise: Noise
    privacy: Privacy
    strategy: Strategy
    agents: slice = field(default_factory=lambda: slice(None))
    """Positions of the block's agents among all."""

    @property
    def n_samples(self) -> Array:
        """Records of each agent, shape (B, 1); 1 for an agent without any, whose sums are 0 anyway."""
        return self.parts.mean_objective.divisor

    def solution_sensitivity(
        self,
        c1: Array | float,
        stiffness: Array | float,
        tolerance: float = 0.0,
        *,
        objective: Objective | None = None,
        worst_case: bool = False,
    ) -> Sensitivity:
        """Bound how far a contribution moves the solution: ``c1 / (n stiffness)``, half of lemmas 1 and 4 of huang2019.

        Parameters
        ----------
        c1
            Bound on the norm of a record's gradient, shape (B, S).
        stiffness
            Strong convexity of the subproblem, shape (B, S).
        tolerance
            Largest norm of the subproblem's gradient that counts as solved: then what is released is within
            tolerance / stiffness of the solution, for either neighbour.
        objective
            Of the agents, whose divisor is n, m_i in huang2019; f_p if absent.
        worst_case
            Whether c1 is one for all admissible records, also where the run has local sensitivities.

        Raises
        ------
        FloatingPointError
            If the bound is for the worst case, and too small beside the models, whose size is known to all.
        """
        n = (objective or self.parts.objective).divisor
        bound = np.asarray((c1 / n + 2 * tolerance) / stiffness)
        worst_case = worst_case or self.privacy.sensitivity == "global"
        guarded = self.privacy.private and worst_case
        if guarded and bound.min() < _SMALL:
            size = norms(self.w) + norms(self.z) + norms(self.dual) / stiffness
            if (np.isfinite(size) & (_ROUNDING * size > ALLOWED * bound)).any():
                raise FloatingPointError(
                    f"one record moves a solution by {bound.min():.1e} at most, which is nearly lost in the rounding "
                    f"errors of models of norm {size.max():.1e}, so that noise cannot hide it; rho is too large (use "
                    "a smaller one, a smaller cap, or fewer rounds)"
                )
        return Sensitivity(l2=bound)


@dataclass(frozen=True)
class LocalUpdate:
    """One update of the models of a block."""

    fused: Pass
    """What is done."""
    sub: Subproblem
    gradient: Gradient | None = None
    """Of the loss, from which the step follows."""
    draw: Draw | None = None
    """Noise, if there is any."""
    schedule: Mapping[str, Array | float] = field(default_factory=dict)
    """Further arguments of the step by name, each a number or of shape (B, S)."""
    strength: float = 0.0
    """Weight of the penalty's gradient."""
    share: float = 1.0
    """Part of each local update in the mean."""
    solve: Callable[[], Array] | None = None
    """In place of the gradient, what finds the solutions of the subproblems, for methods that have no step."""


class Strategy(ABC):
    """Ways to compute what can be computed in more than one way: by compiled code, on a device, or in plain arrays."""

    @abstractmethod
    def update(self, update: LocalUpdate) -> None:
        """Update the models of a block in place."""

    def released(self, sub: Subproblem, solution: Array) -> Array:
        """What a method goes on with that has found the solution of a subproblem: the solution."""
        return solution

    def minimize(
        self,
        objective: Objective,
        noise: Noise,
        ridge: Array,
        b: Array,
        minimize: Callable[[Array], Array],
    ) -> Array:
        """Minimiser of f_i(v) + <b, v> + (ridge / 2) ||v||^2, where b is noise: ``minimize(b)``."""
        return minimize(b)


@dataclass(frozen=True)
class Wrapping(Strategy):
    """Strategy that leaves to another one what it does not change."""

    inner: Strategy

    def released(self, sub: Subproblem, solution: Array) -> Array:
        """See `Strategy`."""
        return self.inner.released(sub, solution)

    def minimize(
        self,
        objective: Objective,
        noise: Noise,
        ridge: Array,
        b: Array,
        minimize: Callable[[Array], Array],
    ) -> Array:
        """See `Strategy`."""
        return self.inner.minimize(objective, noise, ridge, b, minimize)


def positions(updates: int) -> Iterator[Position]:
    """Yield the place of each of so many local updates in a round."""
    for e in range(updates):
        last = e == updates - 1
        yield "only" if updates == 1 else "first" if e == 0 else "last" if last else "middle"


def factors(values: Array, like: Array) -> Array:
    """Return numbers of shape (B, S) as factors of models of shape (B, S, K, J), in their precision."""
    return values[..., None, None].astype(like.dtype)


def clip_norms(models: Array, most: float) -> Array:
    """Scale down, in place, those of the models of shape (B, S, K, J) that are longer than ``most``, and return all."""
    norm = np.linalg.norm(models, axis=(2, 3), keepdims=True)
    models *= most / np.maximum(norm, most)
    return models


def norms(models: Array) -> Array:
    """Return the norm of each model, float64, without the last two axes."""
    return np.asarray(on_host(np.linalg.norm(models, axis=(-2, -1))), np.float64)
