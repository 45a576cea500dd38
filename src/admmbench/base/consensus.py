"""The round of consensus ADMM, whatever its order, its step and the place of its noise.

    minimise sum_p f_p(z_p)  subject to  z_p = w:

the server averages, w = mean_p (z_p - lambda_p / rho); each agent updates its model z_p, perhaps several times; the
dual variables follow the gap, lambda_p += rho (w - z_p). In ryu2021 and ryu2022 the server begins, in huang2019 the
agents do.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from admmbench.base.algorithm import Algorithm, Resources, parameters
from admmbench.base.averages import AVERAGES, Average
from admmbench.base.observers import Observer
from admmbench.base.rho import Rho, RhoSchedule
from admmbench.base.types import (
    Array,
    ConsensusState,
    LocalUpdate,
    Messages,
    Models,
    Order,
    Pass,
    RowBlock,
    RowFederation,
    Subproblem,
    positions,
)
from admmbench.privacy import Cost, Privacy, Release
from admmbench.problems.base import Problem, on_host
from admmbench.problems.rows import BoundRows, RowParts
from admmbench.sensitivity import Sensitivity
from admmbench.validation import one_of


@parameters
class OverRows(Algorithm[Models, RowFederation]):
    """Base of methods over rows: models start at zero, and their distance from consensus is measured.

    Attributes
    ----------
    state
        What the models and further variables of the agents are kept in.
    """

    state: ClassVar[type[Models]] = Models

    def init(self, federation: RowFederation) -> Models:
        """All variables start at zero."""
        problem, variables = federation.problem, dataclasses.fields(self.state)[1:]
        local = [problem.zeros(problem.n_agents, problem.n_seeds) for _ in variables]
        return self.state(problem.zeros(problem.n_seeds), *local)

    def mean(self, local: Array, federation: RowFederation) -> Array:
        """Return the mean over agents, of shape (P, S, K, J), with the weights of the objective; shape (S, K, J)."""

        def add(block: RowBlock, total: Array) -> None:
            total += (block.parts.weights * local[block.agents]).sum(axis=0)

        return federation.sum(add, like=local[0])

    def noisy_mean(
        self,
        value: Callable[[RowBlock], Array],
        sensitivity: Callable[[RowParts], Sensitivity],
        federation: RowFederation,
        sampling: float = 1.0,
    ) -> tuple[Array, Array]:
        """Return the mean over agents, as `mean`, of values that get normal noise: one release.

        Under a secure sum an agent multiplies its value by its weight, and adds its part of the noise. All that have
        records add equal parts, or all agents where these are protected. So their sum, the mean, has the noise that
        the agent whose contribution moves it most would need alone, whatever the weights are. Agents that sit a round
        out send their part of the noise alone: so it is the same, however many take part.

        Parameters
        ----------
        value
            Of a block of agents, shape (B, S, K, J); under a secure sum, made of what all agents know and of the
            agent's own records.
        sensitivity
            How far one contribution moves the values; its bound in l2 is used.
        federation
            All agents.
        sampling
            Probability that a record takes part in a value.

        Returns
        -------
        The mean over all agents, those that sit out too, shape (S, K, J); and what the server sees of each agent, shape
        (P, S, K, J): its value with noise, or the sum.
        """
        if not federation.privacy.summed:

            def noisy(block: RowBlock) -> Array:
                bound = sensitivity(block.parts)
                noise = block.noise.gaussian(bound, sampling=sampling)
                return value(block) + noise

            messages = np.concatenate(federation.each(noisy))
            return self.mean(messages, federation), messages

        def moved(block: RowBlock) -> Array:
            return _moved(sensitivity(block.parts), block.parts).max(axis=0)

        most = np.max(federation.each(moved), axis=0)
        everyone = federation.privacy.participation == 1
        active = None if everyone else federation.active(federation.blocks[0].noise.t)

        def add(block: RowBlock, total: Array) -> None:
            parts = block.parts
            weights = parts.weights.astype(np.float64)
            bound = Sensitivity(l2=np.where(parts.protected, most, 0.0))
            noise = block.noise.part(bound, weights[:, :, 0, 0], sampling)
            # On a grid, in double precision: no sum depends on its order.
            weighted: Array = weights * value(block)
            if active is not None:
                weighted = weighted * active[block.agents]
            total += (weighted + noise).sum(axis=0)

        total = federation.sum(add, like=np.zeros(most.shape + federation.problem.model_shape))
        mean = total.astype(federation.problem.dtype)
        return mean, np.broadcast_to(total, (federation.problem.n_agents, *total.shape))

    def cost(self, t: int, problem: BoundRows, privacy: Privacy, release: Release) -> Cost | None:
        """A gradient shifts as the worst record's contribution does."""
        if release.value != "gradient":
            return release.cost(privacy, sampling=self.sampling)
        loss = problem.loss.clipped(self.floor) if self.floor else problem.loss
        return release.cost(privacy, *problem.spread(loss), sampling=self.sampling)

    @property
    def floor(self) -> float:
        """Smallest probability, to which the loss clips."""
        return 0.0

    def violation(self, state: Models, federation: RowFederation) -> Array:
        """Measure ``sum_p ||w - z_p||_1``, shape (S,): appendix A.10 of ryu2021."""
        gaps = federation.each(
            lambda block: on_host(
                np.abs(state.w - state.z[block.agents]).sum((0, 2, 3), dtype=np.float64)
            )
        )
        return np.asarray(np.sum(gaps, axis=0))


def _moved(sensitivity: Sensitivity, parts: RowParts) -> Array:
    """How far one contribution moves a mean over agents, shape (B, S); 0 for agents without any."""
    if sensitivity.l2 is None:
        raise TypeError(
            "noisy_mean takes its scale from the l2 sensitivity: pass Sensitivity(l2=...)"
        )
    own = parts.weights[:, :, 0, 0] * sensitivity.l2
    return np.where(parts.protected, own, 0.0)


@parameters
class Consensus(OverRows):
    """Consensus ADMM: base algorithm of methods whose agents agree on a model.

    Parameters
    ----------
    rho
        Penalty parameter, a number or the parameters of `RhoSchedule`.
    average
        ``before``, ``after``: means of the models over rounds are kept, of local models as they are before or after
        each local update, and what they are worth is measured. They change no model.

    Attributes
    ----------
    order
        Who begins a round: ``server`` or ``agents``.
    averages
        What ``average`` may be.
    """

    order: ClassVar[Order]
    # What plug-ins of before state; it has no effect.
    mean_over: ClassVar[str]
    averages: ClassVar[Mapping[str, type[Average]]] = AVERAGES
    keeps_feasible = True

    rho: Rho = Field(default_factory=RhoSchedule)
    average: Literal["before", "after"] | None = None

    def __init_subclass__(cls) -> None:
        """Refuse an order that has no name here: the method would update no dual variables."""
        super().__init_subclass__()
        if hasattr(cls, "order"):
            one_of(f"{cls.__name__}.order", cls.order, Order)
        if "mean_over" in vars(cls):
            text = (
                f"{cls.__name__}.mean_over has no effect: sums of losses are divided by what problem.average states; "
                "leave it out"
            )
            warnings.warn(text, FutureWarning, stacklevel=3)

    @property
    def resources(self) -> Resources:  # type: ignore[override]
        """Means need one more copy, in double precision."""
        return Resources(state_copies=5 if self.average else 3)

    def check(self, problem: Problem, agents: int) -> None:
        """Refuse means that are not kept, and what they suppose."""
        super().check(problem, agents)
        if self.average:
            one_of(f"average of {type(self).__name__}", self.average, self.averages)
        for observer in self.observers(problem):
            observer.check(problem)

    def observers(self, problem: Problem) -> Sequence[Observer]:
        """Return the means that are asked for."""
        return [self.averages[self.average](self)] if self.average else []

    def init(self, federation: RowFederation) -> ConsensusState:
        """All variables start at zero."""
        start = super().init(federation)
        chain = None if self.updates == 1 else start.z.copy()
        zero = np.zeros_like(start.z)
        return ConsensusState(start.w, start.z, zero, chain, average=start.w.copy())

    def round(self, t: int, state: ConsensusState, federation: RowFederation) -> Messages:  # type: ignore[override]
        """Run server and agents, in their order.

        An agent updates its dual variables in the same pass as its models. If the agents begin a round, this is the
        pass of the next round, and ``state.dual`` still holds the values from the start of this round.
        """
        privacy = federation.privacy
        last, rho, following = (
            self.rho(max(when, 1), privacy.epsilon) for when in (t - 1, t, t + 1)
        )
        server_begins = self.order == "server"
        if server_begins:
            state.w = state.average

        def agents(block: RowBlock, partial: Array) -> None:
            p = block.agents
            self.local_round(
                Subproblem(
                    t,
                    state.iterates[p],
                    state.z[p],
                    state.w,
                    state.dual[p],
                    partial,
                    rho,
                    rho if server_begins else last,
                    following if server_begins else rho,
                    block.parts,
                    block.noise,
                    privacy,
                    federation.strategy,
                    p,
                )
            )

        state.average = federation.sum(agents, like=state.w) / federation.problem.n_agents
        if server_begins:
            return Messages(down=(state.w,), up=(state.z,))
        state.w = state.average
        return Messages(down=(state.w,), up=(state.z, state.dual))

    def update(self, sub: Subproblem) -> Array:
        """Return new local models of a block, shape (B, S, K, J): the solutions of its subproblems."""
        raise NotImplementedError(f"{type(self).__name__} has neither update nor local_round")

    def local_round(self, sub: Subproblem) -> None:
        """Update a block in place.

        This changes the iterates ``sub.z``; their mean ``sub.sent``; the dual variables ``sub.dual``, before the
        updates of the iterates if the agents begin a round, and after them otherwise; and the sum of messages
        ``sub.partial``.
        """
        solve, share = partial(self._solve, sub), 1 / self.updates
        for which in positions(self.updates):
            fused = Pass(updates=which, order=self.order)
            sub.strategy.update(LocalUpdate(fused, sub, solve=solve, share=share))

    def _solve(self, sub: Subproblem) -> Array:
        """Return the solutions of a block's subproblems, as far as they are what a method should return."""
        solution = self.update(sub)
        if np.shape(solution) != sub.z.shape:
            found = type(solution).__name__ if solution is None else f"shape {np.shape(solution)}"
            raise ValueError(
                f"{type(self).__name__}.update returned {found}; return the new local models of the block, shape "
                f"(B, S, K, J) = {sub.z.shape}"
            )
        return sub.strategy.released(sub, solution)
