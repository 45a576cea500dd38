"""Base of every algorithm: a frozen dataclass of parameters with ``init`` and ``round``, and facts about the method.

An algorithm sees a federation: its agents with their parts of the problem and their noise, and the privacy budget, see
`admmbench.base.types`. It knows nothing about files, seeds, threads, metrics or other algorithms.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from admmbench.base.observers import Observer
from admmbench.base.types import Array, Guarantee, Messages
from admmbench.plugins import FormerNames
from admmbench.privacy import Cost, Privacy, Release
from admmbench.problems.base import Problem, State
from admmbench.problems.needs import Need
from admmbench.validation import parameters as parameters

Role = Literal["contender", "reference", "optimum"]


StateT = TypeVar("StateT", bound=State)
FederationT = TypeVar("FederationT")


Caveat = Literal["local_updates", "sigma_squared", "secret_samples", "lemma_1"]
"""Caveats of the suite's methods."""


@dataclass(frozen=True)
class PrivacyFacts:
    """Facts on which the total epsilon of a method rests, besides its release.

    Attributes
    ----------
    sums_only
        Whether the server needs only the sum of messages, and agents compute noisy values from models that all agents
        know. Then a secure sum can hide single messages (``trust: secure_sum``).
    record_alone
        Why totals are about a record alone, and not about all records of an agent (``unit: agent``); empty for a method
        whose noise is on values that are zero without records, and bounded whatever the records of an agent are.
    private_state
        Variables of the state that agents keep to themselves, and that no release shows: nothing but messages with
        noise and what is ``evaluated`` follows from them.
    evaluated
        Names of those `Algorithm.variables` that evaluate models on the agents' records, as the training loss does. No
        total covers them. All others, and all that the state has, follow from what was released.
    """

    sums_only: bool = False
    record_alone: str = (
        "its noise hides one record, and nothing bounds how far all records of an agent move what "
        "it sends"
    )
    private_state: tuple[str, ...] = ()
    evaluated: tuple[str, ...] = ()


@dataclass(frozen=True)
class Resources:
    """Memory, gradients and packages that a run of a method takes.

    Attributes
    ----------
    state_copies
        Upper bound on the copies of all local models in the state, besides global models. If columns are partitioned,
        these are copies of all parties' predictions.
    gradients_once
        Approximate number of gradients of every record before the first round or in it alone, for the forecast.
    packages
        Other packages that compute its numbers, by the names they are installed by. A run is made again when their
        versions change.
    """

    state_copies: int = 2
    gradients_once: float = 0.0
    packages: tuple[str, ...] = ()


@dataclass(frozen=True)
class Family:
    """Place of a method among others.

    Attributes
    ----------
    mechanism
        What methods share that have one colour in figures; empty for a method that stands alone.
    role
        What it is in a comparison: a ``contender``; a ``reference``, which is drawn as a dark dashed line; or the
        ``optimum`` over all records, a reference that does not compete.
    stops
        Whether it has a test of its own that ends a run, so that one of all rounds is not finished.
    """

    mechanism: str = ""
    role: Role = "contender"
    stops: bool = False


@parameters
class Algorithm(FormerNames, ABC, Generic[StateT, FederationT]):
    """Base class of all methods.

    Parameters
    ----------
    variant
        ``paper``: the equations as printed; ``reference``: what the authors' public code computes.

    Attributes
    ----------
    sharing
        What may be partitioned over agents: ``rows``, ``columns``, or both.
    variants
        What ``variant`` may be: ``reference`` only where authors published code.
    release
        The noisy value that leaves an agent, `updates` times in a round; None if no noisy value leaves it.
    one_shot
        Whether the method does everything in one round, so that a run has only one.
    draws
        Whether it draws random numbers besides its noise, by `Federation.draw`.
    privacy_facts, resources, family
        What totals rest on, what a run takes, and the place among other methods; a property where it depends on the
        parameters.
    examples
        Parameters that change what the method does; the checks run with each of them, besides the defaults.
    keeps_feasible
        Whether its models stay in the problem's feasible set, if it has one.
    tune
        Settings that ``admmbench rank`` tunes, with where a search begins, as an experiment's ``tune`` has them; for
        objectives that count records alike. ``"auto"``: the rounds and all numbers with bounds. Bounds on records are
        tuned besides.
    """

    sharing: ClassVar[tuple[str, ...]] = ("rows",)
    variants: ClassVar[tuple[str, ...]] = ("paper",)
    release: ClassVar[Release | None] = None
    one_shot: ClassVar[bool] = False
    draws: ClassVar[bool] = False
    privacy_facts: ClassVar[PrivacyFacts] = PrivacyFacts()
    resources: ClassVar[Resources] = Resources()
    family: ClassVar[Family] = Family()
    examples: ClassVar[tuple[Mapping[str, Any], ...]] = ()
    keeps_feasible: ClassVar[bool] = False
    tune: ClassVar[Mapping[str, Any] | Literal["auto"]] = {"rounds": 20}
    former_names = {
        "plan": "cost",
        "family": "family.mechanism",
        **{field.name: f"privacy_facts.{field.name}" for field in fields(PrivacyFacts)},
        **{field.name: f"resources.{field.name}" for field in fields(Resources)},
        **{field.name: f"family.{field.name}" for field in fields(Family)},
    }

    variant: Literal["paper", "reference"] = "paper"

    @property
    def needs(self) -> tuple[Need, ...]:
        """What the problem must have."""
        return ()

    @property
    def variables(self) -> Mapping[str, tuple[str, str]]:
        """What `measure` returns besides the usual: units and long name, by name of the variable.

        `UNIT_OF_LOSS` stands for the unit of the problem's loss.
        """
        return {}

    def check(self, problem: Problem, agents: int) -> None:
        """Raise a ValueError if these parameters do not suit a problem or the number of agents."""

    def same_as(self, problem: Problem) -> str:
        """Name the method that this one coincides with on a problem, step by step; empty if there is none."""
        return ""

    @property
    def fixed_point(self) -> str:
        """Where it ends without noise if that is not the optimum of the stated problem, in words; else empty."""
        return ""

    @property
    def caveats(self) -> tuple[str, ...]:
        """What a reader of its results should know, a `Caveat`, or a sentence or two of a plug-in, each."""
        if self.release is None or self.updates == 1:
            return ()
        return ("local_updates",)

    def guarantee(self, sensitivity: Literal["local", "global"]) -> Guarantee:
        """Say what the composed privacy loss is worth, for one kind of sensitivity."""
        if self.release is None:
            return Guarantee("none", "what is sent has no noise", ("no_noise",))
        if sensitivity == "local":
            return Guarantee(
                "none",
                "the noise is scaled by the agent's own records, which tells neighbours apart; the total is "
                "what epsilon would be if the sensitivities held for every data set",
                ("local_sensitivity",),
            )
        return Guarantee(
            "proved",
            "for the worst case over admissible records, with noise on a grid; rounding errors of double precision, in "
            "which the values are that noise is added to, and the 2^-53 of the uniform numbers, are not counted",
        )

    def cost(self, t: int, problem: Any, privacy: Privacy, release: Release) -> Cost | None:
        """Return the cost of a local update's release in round t, for the agent who pays most; None if there is none.

        It follows from public facts alone. So the total of a run is known before the run, and its noise can be
        calibrated to a total.

        Parameters
        ----------
        t
            The round.
        problem
            The bound problem as a whole; its records are not used.
        privacy
            Budget of one release.
        release
            What is released, with the law of the noise.
        """
        return release.cost(privacy, sampling=self.sampling)

    @property
    def steady(self) -> bool:
        """Whether the cost is the same for every round."""
        return True

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
        """Local updates, each with a gradient and perhaps a release, that an agent makes in a round."""
        return 1

    @property
    def sampling(self) -> float:
        """Probability that a record takes part in a round, by Poisson samples that only its agent sees."""
        return 1.0

    @property
    def gradients(self) -> float:
        """Count the gradients of every record in a round approximately, for the forecast."""
        return self.updates * self.sampling

    def observers(self, problem: Problem) -> Sequence[Observer]:
        """Make what measures a run beside it, as the parameters ask for."""
        return ()

    @abstractmethod
    def init(self, federation: FederationT) -> StateT:
        """Return the state before the first round."""

    @abstractmethod
    def round(self, t: int, state: StateT, federation: FederationT) -> Messages:
        """Do round t = 1, 2, ...: update ``state`` in place and return what was sent."""

    def violation(self, state: StateT, federation: FederationT) -> Array:
        """Measure how far the agents are from consensus, shape (S,); 0 where all have one model."""
        return np.zeros(len(state.w))

    def outcome(self, state: StateT, n_seeds: int) -> NDArray[np.int8]:
        """Return the `Outcome` of each seed that the method has ended, shape (S,); 0 for those that go on."""
        return np.zeros(n_seeds, np.int8)

    def measure(self, t: int, state: StateT, federation: FederationT) -> dict[str, Array]:
        """Measure what the method's papers plot besides the usual, after round t; arrays of shape (S,)."""
        return {}
