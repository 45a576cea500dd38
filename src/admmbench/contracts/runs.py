"""Runs on made-up data that the checks of methods compare, and checkpoints and workers that disturb them."""

from __future__ import annotations

import itertools
import json
import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from pydantic import ValidationError

from admmbench.algorithms import resolve
from admmbench.base.algorithm import Algorithm
from admmbench.base.types import Array, Federation
from admmbench.contracts import ensure
from admmbench.contracts.made_up_data import make_dataset, make_regression
from admmbench.datasets import Dataset
from admmbench.engine.rounds import assemble, do_round, start
from admmbench.engine.snapshot import Snapshot
from admmbench.engine.threads import Map, one_by_one, workers
from admmbench.jobs.checkpoint import Checkpoint
from admmbench.jobs.packing import pack
from admmbench.jobs.simulate import run_spec
from admmbench.problems import as_problem, list_losses
from admmbench.problems.base import State
from admmbench.problems.penalties import PENALTIES
from admmbench.spec.run import RunSpec
from admmbench.validation import configured, messages

AGENTS, ROUNDS, EVERY = 4, 9, 4
RECORDS = 61  # no multiple of the agents
_PARTIES = [3, 4]
_COMPARED = ("test_loss", "train_loss", "noise_magnitude", "consensus_violation")


# Constraints: a bound on the mean loss that the best model does not meet, and a sum of weights.
_CONSTRAINED = {
    "objective": {},
    "constraints": [
        {"mean_loss": {}, "at_most": 0.6},
        {"linear": {"matrix": [[1] * 7], "offset": [-1]}, "cone": "zero"},
    ],
}


class Setting(NamedTuple):
    """Problem with data that suit it, made anew for each seed."""

    make: Callable[[int], Dataset]
    problem: dict[str, Any]


def settings(sharing: str) -> Iterator[Setting]:
    """Yield every loss with every penalty, each with data that suit it; losses of the papers come first."""
    data: list[Callable[[int], Dataset]] = [
        lambda seed: make_dataset(RECORDS, n_classes=3, seed=seed),
        lambda seed: make_dataset(RECORDS, n_classes=2, seed=seed),
        lambda seed: make_regression(RECORDS, seed=seed),
    ]
    papers = ("softmax", "logistic")
    losses = [*papers, *(name for name in list_losses() if name not in papers)]
    for loss, penalty in itertools.product(losses, sorted(PENALTIES, reverse=True)):
        problem: dict[str, Any] = {"loss": loss, "penalty": penalty}
        if sharing == "constrained":
            problem |= {"strength": 1e-3, **_CONSTRAINED}
        for make in data:
            try:
                as_problem(problem, sharing).check(make(0).info)  # type: ignore[arg-type]
            except ValueError:
                continue
            yield Setting(make, problem)
            break


@dataclass(frozen=True, eq=False)
class MethodCase:
    """Method with one of its variants and one of its examples."""

    name: str
    variant: str
    sharing: str
    params: Mapping[str, Any]

    @property
    def cls(self) -> type[Algorithm[Any, Any]]:
        """Return the class of the method."""
        return resolve(self.name)

    @property
    def method(self) -> Algorithm[Any, Any]:
        """Return a new instance of the method each time, so that no instance keeps anything for a later run."""
        return configured(self.cls, {**self.params, "variant": self.variant}, "params", self.name)

    @cached_property
    def setting(self) -> Setting:
        """Return the first problem that the method does not refuse."""
        refusals: list[str] = []
        for setting in settings(self.sharing):
            if (refusal := self.refusal(setting)) is None:
                return setting
            refusals.append(refusal)
        raise AssertionError(
            f"it refuses every problem over {self.sharing}; look at its needs and its check; the first refusal: "
            f"{refusals[0]}"
        )

    @cached_property
    def data(self) -> Dataset:
        """Return the data of the first accepted problem."""
        return self.setting.make(0)

    def spec(self, setting: Setting | None = None, **changes: Any) -> RunSpec:
        """Return the specification of a run with changed arguments."""
        setting = setting or self.setting
        columns = {"scheme": "columns", "blocks": _PARTIES}
        arguments: dict[str, Any] = {
            "dataset": setting.make(0),
            "algorithm": self.name,
            "variant": self.variant,
            "params": dict(self.params),
            "problem": setting.problem,
            "agents": columns if self.sharing == "columns" else AGENTS,
            "epsilon": 0.5,
            "rounds": ROUNDS,
            "evaluate_every": EVERY,
            "seeds": [0, 1, 2],
        }
        one_round = {"rounds": 1, "evaluate_every": 1} if self.cls.one_shot else {}
        return RunSpec(**{**arguments, **changes, **one_round})

    def refusal(self, setting: Setting | None = None, **changes: Any) -> str | None:
        """Return the message with which a problem is refused, or changed arguments."""
        try:
            self.spec(setting, **changes)
        except ValidationError as error:
            return "; ".join(messages(error, None))
        return None

    def trace(self, **changes: Any) -> xr.Dataset:
        """Return the trace of a run, without its times."""
        spec = self.spec(**changes)
        assert isinstance(spec.dataset, Dataset)
        return run_spec(spec, spec.dataset).drop_vars("seconds")

    @cached_property
    def usual(self) -> xr.Dataset:
        """Return the trace of a run without changes."""
        return self.trace()


def backwards(function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """Serve the last agents first, and return results in the order of the items."""
    return [function(item) for item in reversed(items)][::-1]


class StoppedError(Exception):
    """Deliberate end of a run."""


class Halfway(Checkpoint):
    """Checkpoint that ends a run after a round; the next run starts there."""

    def __init__(self, path: Path, t: int) -> None:
        super().__init__(path, {}, math.inf)
        self._t = t

    def load(self, snapshot: Snapshot) -> None:
        """Load the saved state, without the message that a run goes on."""
        log = logging.getLogger(Checkpoint.__module__)
        log.disabled = True
        try:
            super().load(snapshot)
        finally:
            log.disabled = False

    def after_round(self, snapshot: Snapshot) -> None:
        """Save the round and end the run."""
        if snapshot.t == self._t and not self.path.exists():
            self.save(snapshot)
            raise StoppedError


class Breaking(Checkpoint):
    """Checkpoint that saves nothing, and makes the noise of the second seed NaN."""

    def load(self, snapshot: Snapshot) -> None:
        """Break the sources of noise at the start of a run."""
        for noise in snapshot.noise:
            noise.louder = np.where(np.arange(noise.keys.shape[1]) == 1, np.nan, 1.0)


@dataclass(frozen=True)
class FinalState:
    """Federation and state after some rounds of a method, without the engine."""

    federation: Federation[Any, Any]
    state: State

    @property
    def content(self) -> tuple[str, list[bytes]]:
        """Return all of the state as a checkpoint stores it: JSON, and the bytes of arrays."""
        arrays: list[Array] = []
        text = json.dumps(pack(self.state, arrays))
        return text, [array.tobytes() for array in arrays]

    @property
    def objective(self) -> Array:
        """Return the training objective, shape (S,)."""
        federation = self.federation
        parts = [block.parts for block in federation.blocks]
        return np.asarray(
            federation.problem.evaluate(self.state, parts, federation.run)["train_loss"]
        )


def run_without_engine(
    spec: RunSpec,
    data: Dataset,
    rounds: int,
    size: int | None = None,
    pool: Map = one_by_one,
) -> FinalState:
    """Run some rounds of a method without the engine, with so many agents in a block, or as many as in other runs."""
    with workers(1), np.errstate(over="ignore", invalid="ignore"):
        federation = assemble(spec, data, pool, size=size)
        method = spec.method
        state = start(method, federation)
        for t in range(1, rounds + 1):
            for block in federation.blocks:
                block.noise.begin_round(t)
            do_round(method, t, state, federation)
    return FinalState(federation, state)


def ensure_same(one: xr.Dataset, other: xr.Dataset, change: str) -> None:
    """Ensure that two traces are the same in every bit; `change` names their difference in a message."""
    changed = [
        str(name)
        for name in one.data_vars
        if not np.array_equal(one[name].values, other[name].values, equal_nan=True)
    ]
    ensure(not changed, f"{change} changes {', '.join(changed)}")


def ensure_agreement(
    one: xr.Dataset, other: xr.Dataset, change: str, rtol: float, atol: float = 0.0
) -> None:
    """Ensure that two traces agree within rounding; `change` names their difference in a message."""
    for name in _COMPARED:
        a, b = one[name].values, other[name].values
        ensure(
            np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True),
            f"{change} changes {name} beyond rounding, by up to {np.nanmax(np.abs(a - b)):.2g}",
        )
