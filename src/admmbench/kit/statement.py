"""What private training states of itself, and what checks find."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Tensors = Mapping[str, Array]


class Mechanism(Protocol):
    """Black box: one run of private training, or of the part of it that clips, adds noise and sends.

    It is called as ``mechanism(contributions, clip=..., noise_multiplier=..., rounds=..., seed=...)``.

    Parameters
    ----------
    contributions
        Gradients of n records or updates of n clients by name of the parameter, each of shape (n, ...); the same in all
        rounds.
    clip
        Largest l2 norm of a contribution, over all parameters together.
    noise_multiplier
        Standard deviation of the noise on a sum, over ``clip``; 0 for none.
    rounds
        Number of rounds.
    seed
        Of all random numbers.

    Returns
    -------
    What an observer sees in each round, by name of the parameter: a sum or mean of shape (...), or the messages of the
    contributors, of shape (n, ...).
    """

    def __call__(
        self,
        contributions: Tensors,
        *,
        clip: float,
        noise_multiplier: float,
        rounds: int,
        seed: int,
    ) -> Sequence[Tensors]:
        """Run, and return what is released."""


@dataclass(frozen=True)
class Statement:
    """What training states of its privacy.

    Attributes
    ----------
    observer
        ``sum``: of the contributions, or their mean, is seen; ``messages``: each message is.
    divisor
        What a sum of contributions is divided by, a number that does not follow from the records: 1 for a sum, n for a
        mean over n contributions, q n for Poisson samples. Messages are divided by 1.
    clip, noise_multiplier, rounds
        As the training is run.
    sampling
        Probability that a contribution takes part in a round, by Poisson samples that nobody sees.
    epsilon, delta
        Total privacy loss of all rounds as it is printed; None if none is printed. It is about a contribution that is
        there or is zero.
    contributions
        Number n of contributions that checks make up.
    shapes
        Shapes of the parameters by name.
    """

    observer: Literal["sum", "messages"] = "sum"
    divisor: float = 1.0
    clip: float = 1.0
    noise_multiplier: float = 1.0
    rounds: int = 5
    sampling: float = 1.0
    epsilon: float | None = None
    delta: float = 1e-5
    contributions: int = 10
    shapes: Mapping[str, tuple[int, ...]] = field(
        default_factory=lambda: {"weight": (6, 8), "bias": (6,)}
    )

    def __post_init__(self) -> None:
        for name in ("divisor", "clip", "noise_multiplier", "rounds", "contributions"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name}: must be above 0, got {getattr(self, name)!r}")
        if not 0 < self.sampling <= 1:
            raise ValueError(f"sampling: must be above 0 and at most 1, got {self.sampling!r}")
        if not 0 < self.delta < 1:
            raise ValueError(f"delta: must be between 0 and 1, got {self.delta!r}")
        if self.observer not in ("sum", "messages"):
            raise ValueError(f"observer: expected sum or messages, got {self.observer!r}")
        if self.observer == "messages" and (self.divisor, self.sampling) != (1, 1):
            raise ValueError("observer: messages have divisor 1 and sampling 1; leave both out")

    @property
    def std(self) -> float:
        """Return the standard deviation of the noise in each number of a release."""
        return self.noise_multiplier * self.clip / self.divisor


@dataclass(frozen=True)
class Finding:
    """What a check found.

    Attributes
    ----------
    check
        Name of the check.
    holds
        Whether what is stated is true of what was measured, which it is not where the mechanism raises; None if the
        check could not be made.
    measured, stated
        The numbers that were compared.
    why
        A sentence that says what is wrong, and where.
    """

    check: str
    holds: bool | None
    measured: float = np.nan
    stated: float = np.nan
    why: str = ""


@dataclass(frozen=True)
class Report:
    """All findings about one mechanism."""

    findings: tuple[Finding, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong; checks that could not be made do not count."""
        return all(finding.holds is not False for finding in self.findings)

    @property
    def failed(self) -> tuple[str, ...]:
        """Return the names of the checks that failed."""
        return tuple(finding.check for finding in self.findings if finding.holds is False)

    def __str__(self) -> str:
        signs = {True: "✓", False: "✗", None: "–"}
        return "\n".join(
            f"{signs[f.holds]} {f.check}" + f"\n    {f.why}" * (f.holds is not True and bool(f.why))
            for f in self.findings
        )
