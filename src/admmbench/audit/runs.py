"""Recorded runs of a method on neighbouring data sets, and their replays with the noisy values of another run."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from admmbench.audit import reach
from admmbench.audit.findings import Fact
from admmbench.audit.solutions import RecordingStrategy
from admmbench.audit.transcripts import NoisyValue, RecordingNoise, Transcript, sent_by_one, sums
from admmbench.base.types import Array, Block, Federation, Messages
from admmbench.datasets import Dataset
from admmbench.engine.context import Context
from admmbench.engine.rounds import assemble, do_round, start
from admmbench.engine.threads import one_by_one
from admmbench.privacy import Composition, Privacy, Sampler
from admmbench.problems.base import BoundProblem
from admmbench.problems.rows import BoundRows
from admmbench.spec import accounting
from admmbench.spec.run import RunSpec

SOLVED: dict[str, tuple[float, tuple[Composition, ...]]] = {}
"""Budgets that an audit has solved for, by the settings of runs, with what releases cost at them."""


def _budget(spec: RunSpec, problem: BoundProblem[Any]) -> Privacy:
    """Return the budget of one release: that of an earlier run, if releases cost the same on these data.

    Solving for a total may take longer than the rounds of an audit. What releases cost is compared at another budget,
    too, so that a cost that depends on records is solved for on its own, and shows.
    """
    if spec.budget_key == "epsilon":
        return accounting.budget(spec, problem)

    def costs(epsilon: float) -> tuple[Composition, ...]:
        budgets = (accounting.budget(spec, problem, each) for each in (epsilon, 2 * epsilon))
        return tuple(accounting.ledger(spec, problem, each).composition() for each in budgets)

    settings = repr(spec.model_copy(update={"seeds": (), "dataset": ""}))
    known, expected = SOLVED.get(settings, (None, ()))
    if known is not None and costs(known) == expected:
        return accounting.budget(spec, problem, known)
    found = accounting.budget(spec, problem)
    SOLVED[settings] = found.epsilon, costs(found.epsilon)
    return found


class RunData(NamedTuple):
    """Data set of a recorded run, perhaps without one agent."""

    data: Dataset
    absent: int | None = None
    """Agent that is not there: this agent sends noise alone."""


class Run:
    """Recorded rounds of a method on one of the neighbouring data sets.

    Some rounds may be left out. How far a release moves must be what the ledger is told, wherever earlier releases have
    led, so that a round may follow any other.

    Parameters
    ----------
    spec
        Specification of the run.
    data
        Data set, perhaps without one agent.
    forced
        Training row or rows that take part in every round, or in none, whatever is sampled.
    noise_factors
        See `RecordingNoise`.
    taken
        Whether the forced rows take part.

    Attributes
    ----------
    method, federation, state
        The method, its agents with their noise and ledgers, and the state after the last round.
    transcripts
        One for each block of agents; under a secure sum the first has the sums, and the others have nothing.
    public
        For the number of each round, by name, the arrays that must follow from the releases: messages, variables that
        the method keeps, and its measurements.
    faults
        Forbidden uses of noise and ledger by the method.
    """

    def __init__(
        self,
        spec: RunSpec,
        data: RunData,
        forced: int | Array | None = None,
        noise_factors: Array | None = None,
        taken: bool = True,
    ) -> None:
        # Each run has a method of its own, so that nothing is kept in it for another run.
        self.method = copy.deepcopy(spec.method)
        context = Context(strategy=RecordingStrategy())
        federation = assemble(
            spec, data.data, one_by_one, context, absent=data.absent, solve=_budget
        )
        blocks = federation.blocks
        if forced is not None:
            blocks = _with_forced_rows(federation, forced, taken, data.absent)
        self._sources = [
            RecordingNoise(block.noise, block.agents, spec.dtype, noise_factors) for block in blocks
        ]
        pairs = zip(blocks, self._sources, strict=True)
        blocks = [replace(block, noise=source) for block, source in pairs]
        self.federation: Federation[Any, Any] = replace(federation, blocks=blocks)
        self.state = start(self.method, self.federation)
        self.forget()

    def forget(self) -> None:
        """Begin with empty transcripts and ledgers."""
        self.transcripts: list[Transcript] = [[] for _ in self._sources]
        self.public: dict[int, dict[str, Array]] = {}
        self.faults: list[Fact] = []
        for source in self._sources:
            source.start_ledgers()

    def round(self, t: int, replayed: Run | None = None) -> None:
        """Do a round, perhaps with the noisy values of a replayed run in place of its own."""
        secure = self.federation.privacy.summed
        transcripts = replayed.transcripts if replayed else None
        if transcripts and secure:
            transcripts = sent_by_one(transcripts, self.federation.blocks)
        for k, source in enumerate(self._sources):
            values = None if transcripts is None else [v for v in transcripts[k] if v.t == t]
            source.begin(t, values)
        sent = do_round(self.method, t, self.state, self.federation)
        for source in self._sources:
            source.end(t)
            self.faults += source.faults
        recorded = [source.transcript for source in self._sources]
        recorded = sums(recorded) if secure else recorded
        for transcript, values in zip(self.transcripts, recorded, strict=True):
            transcript += values
        self.public[t] = self._public_arrays(t, sent)

    def _public_arrays(self, t: int, sent: Messages) -> dict[str, Array]:
        """Return the arrays that must follow from the releases, each array once, by name."""
        method, state, federation = self.method, self.state, self.federation
        public: dict[str, Any] = {"number of messages": (len(sent.up), len(sent.down))}
        public |= {f"message {k}": message for k, message in enumerate(sent.up)}
        public |= {f"broadcast {k}": message for k, message in enumerate(sent.down)}
        kept = reach.variables(state).items()
        facts = method.privacy_facts
        public |= {k: v for k, v in kept if k.split(".")[0] not in facts.private_state}
        public |= {f"self.{name}": v for name, v in reach.variables(vars(method)).items()}
        measured = method.measure(t, state, federation)
        measured["consensus_violation"] = method.violation(state, federation)
        measured["status"] = method.outcome(state, federation.problem.n_seeds)
        public |= {f"measured {k}": v for k, v in measured.items() if k not in facts.evaluated}
        # An array that has several names is compared under the first one alone.
        first_names: dict[int, str] = {}
        for name, value in public.items():
            first_names.setdefault(id(value), name)
        return {name: np.array(public[name]) for name in first_names.values()}

    @property
    def model(self) -> Array:
        """Return the final global model, shape (S, K, J)."""
        return self.state.w

    @property
    def uncovered(self) -> bool:
        """Return whether releases are not in the transcript, so that their noise is hidden."""
        return any(source.missed for source in self._sources)


def record_rounds(
    spec: RunSpec,
    data: RunData,
    rounds: Sequence[int],
    replayed: Run | None = None,
    forced: int | Array | None = None,
    taken: bool = True,
) -> Run:
    """Run some rounds of a method and record them; see `Run` for the arguments."""
    run = Run(spec, data, forced, taken=taken)
    for t in rounds:
        run.round(t, replayed)
    return run


def aligned_values(*runs: Run) -> Iterator[tuple[NoisyValue, ...]]:
    """Yield the same release of several runs, block by block, as far as each run has made it."""
    for transcripts in zip(*(run.transcripts for run in runs), strict=True):
        yield from zip(*transcripts, strict=False)


def innermost_values(*runs: Run) -> Iterator[tuple[NoisyValue, ...]]:
    """Yield the same release of several runs, or the part inside a problem if noise is there too."""
    for values in aligned_values(*runs):
        yield tuple(value.parts[-1] for value in values)


class Replays(NamedTuple):
    """A run, and replays of its noisy values on both neighbouring data sets.

    The attacker does not see what a round has sampled, but knows what the canary would add if it were sampled.
    """

    run: Run
    """Run with noise and samples of its own."""
    first: Run
    """Replay on the first data set, where the canary takes part in each round."""
    second: Run
    """Replay on the second data set, where the record in the canary's place takes part in each round."""
    without: Run
    """Replay in which neither record takes part in any round."""


class Pair(NamedTuple):
    """Runs on both neighbouring data sets, for a batch of seeds, each with its replays."""

    first: Replays
    second: Replays

    @property
    def diverged(self) -> bool:
        """Return whether a run has no finite models."""
        return not all(np.isfinite(side.run.model).all() for side in self)


def run_pair(
    spec: RunSpec,
    pair: tuple[RunData, RunData],
    row: int,
    rounds: Sequence[int],
    seeds: tuple[Sequence[int], ...],
) -> Pair:
    """Run a method on two data sets, each with seeds of its own, and replay each run as in `Replays`.

    The data sets differ in the row, or in all rows of its owner.
    """
    sampled = spec.sampling < 1
    # Otherwise nothing is in its place, so that nobody sees whether it takes part.
    replaced = sampled and spec.privacy.relation == "replace"

    def replays(seed_spec: RunSpec, own_data: RunData) -> Replays:
        run = record_rounds(seed_spec, own_data, rounds)

        def replay(data: RunData, forced: bool) -> Run:
            if data is own_data and not forced:
                return run
            return record_rounds(seed_spec, data, rounds, run, row if forced else None)

        first, second = replay(pair[0], sampled), replay(pair[1], replaced)
        without = second
        if replaced:
            without = record_rounds(seed_spec, own_data, rounds, run, row, taken=False)
        return Replays(run, first, second, without)

    specs = (spec.model_copy(update={"seeds": tuple(numbers)}) for numbers in seeds)
    return Pair(*(replays(*arguments) for arguments in zip(specs, pair, strict=True)))


@dataclass(frozen=True, eq=False)
class ForcedSampler(Sampler):
    """Source of samples that all have some records, or never have them."""

    records: Sequence[Array]
    """Numbers of these records among their owner's, for each agent of a block."""
    taken: bool
    """Whether all samples have the records; otherwise none has."""

    def draw(self, t: int, n_records: Array, sampling: float) -> list[list[Array]]:
        """Draw as `Sampler.draw` does, and add or take away the records."""
        samples = super().draw(t, n_records, sampling)
        force = np.union1d if self.taken else np.setdiff1d
        pairs = zip(samples, self.records, strict=True)
        return [
            [force(sample, records) if len(records) else sample for sample in of_seeds]
            for of_seeds, records in pairs
        ]

    def numbers(self, t: int) -> Array:
        """Draw as `Sampler.numbers` does; a cohort has agents with such records, or never does."""
        numbers, end = super().numbers(t), -1.0 if self.taken else 2.0
        numbers[[len(records) > 0 for records in self.records]] = end
        return numbers


def _with_forced_rows(
    federation: Federation[Any, Any], rows: int | Array, taken: bool, absent: int | None
) -> list[Block[Any]]:
    """Return blocks of agents whose samples always have their part of these rows, or never have it."""
    problem = federation.problem
    assert isinstance(problem, BoundRows)
    is_forced = np.isin(np.arange(len(problem.y)), rows)
    forced = [np.flatnonzero(is_forced[agent_rows]) for ((_, agent_rows),) in problem.split.shares]
    if absent is not None:
        forced[absent] = np.zeros(1, int)  # it takes part as if it had its records
    return [
        replace(block, sampler=ForcedSampler(block.sampler.keys, forced[block.agents], taken))
        for block in federation.blocks
    ]
