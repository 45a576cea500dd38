"""Accounts: what a method or a mechanism costs by every accountant, without a run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple, Self, get_args

from pydantic import Field, model_validator
from scipy.special import ndtr, ndtri

from admmbench import algorithms
from admmbench.datasets import Dataset, load_dataset
from admmbench.privacy import ACCOUNTANTS, Cost, Gaussian, Laplace, Ledger, Pure, calibrate
from admmbench.privacy.curves import Curve, calibrate_mu, curve
from admmbench.privacy.selection import SHAPES, CompositionScope, epsilon_in_scope, selected
from admmbench.spec import accounting
from admmbench.spec.run import RunSpec
from admmbench.validation import Count, Number, Strict, checked, unknown

Trials = Annotated[Number, Field(gt=1)]
Positive = Annotated[Number, Field(gt=0)]
# False-alarm rates of an attacker.
_FALSE_ALARMS = (0.0001, 0.001, 0.01, 0.1)
# Those at which a terminal draws the curve.
_DRAWN = (0.01, 0.05, *(tenth / 10 for tenth in range(1, 10)))
_NO_TOTAL = "covers: is the composition scope of a total to solve for; give total and trials"
# Settings that may stand beside the mapping that they belong to.
_WITHIN = {"params": ("sampling",), "privacy": ("total", "mu", "covers", "trials")}


class Account(NamedTuple):
    """Composed privacy loss of all mechanisms of the agent whose loss is largest."""

    one: str
    """What one release has."""
    ledger: Ledger
    """All its releases."""
    delta: float
    """Failure probability of the totals."""

    @property
    def total(self) -> float:
        """Return the least total epsilon that is proved."""
        return self.ledger.epsilon(self.delta)

    @property
    def totals(self) -> dict[str, float]:
        """Return the total epsilon by each accountant alone; NaN where it cannot compose these releases."""
        return {name: self.ledger.epsilon(self.delta, name) for name in ACCOUNTANTS}

    @property
    def curve(self) -> Curve:
        """Return what an attacker who sees all releases finds at most."""
        return curve(self.ledger.composition())

    def facts(self) -> dict[str, Any]:
        """Return totals, and hits of an attacker by the rate of false alarms."""
        found = self.curve
        gaussian = found.gaussian
        drawn = () if gaussian.describes or math.isinf(gaussian.mu) else _DRAWN
        return {
            "one": self.one,
            "delta": self.delta,
            "total": self.total,
            "totals": self.totals,
            "hits": dict(zip(_FALSE_ALARMS, found.power(_FALSE_ALARMS).tolist(), strict=True)),
            "advantage": found.advantage,
            "mu": gaussian.mu,
            "regret": gaussian.regret,
            "curve": [
                {
                    "alarms": alarms,
                    "hits": hits,
                    "gaussian": float(ndtr(ndtri(alarms) + gaussian.mu)),
                }
                for alarms, hits in zip(drawn, found.power(drawn).tolist(), strict=True)
            ],
        }

    def searched(self, trials: float) -> dict[str, float]:
        """Return the total of a search for settings, by the trials that an attacker sees, see `epsilon_in_scope`."""
        totals = {"every trial is seen": self.ledger.repeated(trials).epsilon(self.delta)}
        for shape in SHAPES:
            scope = f"the best alone is seen, of a {shape} number (by Renyi divergences)"
            totals[scope] = selected(self.ledger.composition(), self.delta, trials, shape)
        return totals


def of(name: str, settings: Mapping[str, Any]) -> tuple[str, Account]:
    """Account for a mechanism or a method.

    Parameters
    ----------
    name
        Of the mechanism or the method, or the path of a plug-in.
    settings
        Fields of `Mechanism`; or arguments of `simulate`, beside which keys of its ``privacy`` and the parameter
        ``sampling`` may stand. The sensitivity is global if it is not stated.

    Returns
    -------
    str, Account
        What was accounted for, with the number of releases or rounds.

    Raises
    ------
    ValueError
        If there is no such method or mechanism, or a setting is wrong.
    """
    mechanisms = get_args(Mechanism.model_fields["name"].annotation)
    names = [*mechanisms, *algorithms.list_algorithms(), *algorithms.ALIASES]
    if name not in names and not name.endswith(".py"):
        raise ValueError(unknown("method or mechanism", name, names))
    if name in mechanisms:
        mechanism = checked(Mechanism, {"name": name, **settings}, "")
        return f"{name}: {mechanism.rounds} releases", mechanism.account()
    arguments = {"algorithm": name, "sensitivity": "global", **settings}
    for key, inner in _WITHIN.items():
        moved = {part: arguments.pop(part) for part in inner if part in arguments}
        arguments[key] = {**arguments.get(key, {}), **moved}
    spec = checked(RunSpec, arguments, "")
    account = of_run(spec, load_dataset(spec.dataset))
    return f"{name} on {spec.info.name}: {spec.rounds} rounds", account


def of_run(spec: RunSpec, dataset: Dataset) -> Account:
    """Account for a run; where a total or a mu is stated, with the budget of a release that leads to it.

    Where seeds give agents other numbers of records, it is that of the seed whose agent pays most.
    """
    from admmbench.engine.rounds import bind  # slow to import, and mechanisms do without it

    accounts = []
    for part in spec.parts:
        problem = bind(part, dataset)
        budget = accounting.budget(part, problem)
        ledger = accounting.ledger(part, problem, budget)
        accounts.append(Account(f"epsilon {budget.epsilon:.4g}", ledger, part.delta))
    return max(accounts, key=lambda each: each.total) if len(accounts) > 1 else accounts[0]


class Mechanism(Strict):
    """Mechanism that releases one number, so many times, with noise that is stated or solved for."""

    name: Literal["gaussian", "laplace", "pure"]
    """``pure`` stands for any epsilon-DP release."""
    rounds: Count = 100
    """How many releases there are."""
    multiplier: Positive | None = None
    """Standard deviation of normal noise over the sensitivity."""
    epsilon: Positive | None = None
    """Budget of any other release: the sensitivity over the scale of Laplace noise."""
    total: Positive | None = None
    """Total epsilon to solve for."""
    mu: Positive | None = None
    """Mu of Gaussian differential privacy to solve for."""
    delta: Annotated[Number, Field(gt=0, lt=1)] = 1e-6
    sampling: Annotated[Number, Field(gt=0, le=1)] = 1.0
    """Probability that a record takes part in a release with normal noise."""
    covers: CompositionScope = "run"
    """What the total to solve for is of."""
    trials: Trials | None = None
    """Of the search within its composition scope."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Refuse numbers that another mechanism has."""
        own, other = (
            ("multiplier", "epsilon") if self.name == "gaussian" else ("epsilon", "multiplier")
        )
        given = [each for each in (getattr(self, own), self.total, self.mu) if each is not None]
        if len(given) != 1 or getattr(self, other) is not None:
            raise ValueError(
                f"{self.name}: give the {own} of a release, or a total or a mu to solve for"
            )
        if self.covers != "run" and (self.total is None or self.trials is None):
            raise ValueError(_NO_TOTAL)
        if self.sampling < 1 and self.name != "gaussian":
            raise ValueError(f"sampling: its totals are known for gaussian, not for {self.name}")
        return self

    def account(self) -> Account:
        """Account for all releases."""
        epsilon = self.epsilon or (1 / self.multiplier if self.multiplier else None)
        if self.mu is not None:
            epsilon = calibrate_mu(self._ledger, self.mu)
        elif epsilon is None:
            assert self.total is not None
            composed = partial(epsilon_in_scope, scope=self.covers, trials=self.trials or 0)
            epsilon = calibrate(self._ledger, self.total, self.delta, composed)
        gaussian = self.name == "gaussian"
        one = f"multiplier {1 / epsilon:.4g}" if gaussian else f"epsilon {epsilon:.4g}"
        return Account(one, self._ledger(epsilon), self.delta)

    def _ledger(self, epsilon: float) -> Ledger:
        """All releases; of normal noise, with a multiplier of 1 / epsilon."""
        costs: dict[str, Cost] = {
            "gaussian": Gaussian(1 / epsilon, self.sampling),
            "laplace": Laplace(epsilon, epsilon, epsilon),
            "pure": Pure(epsilon),
        }
        ledger = Ledger()
        ledger.add(costs[self.name], self.rounds)
        return ledger
