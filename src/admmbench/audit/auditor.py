"""All levels, with all canaries."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from admmbench.audit import columns, coupling, likelihood, noise_law
from admmbench.audit.attacks import (
    ANY,
    MODEL,
    ON_GRID,
    TRAJECTORY,
    Scores,
    lower_bound,
    of_lattice,
    of_model,
    of_trajectory,
    power,
)
from admmbench.audit.canaries import Worlds, make_worlds, unshuffled
from admmbench.audit.findings import Audit, Finding, not_covered, worst
from admmbench.audit.probe import probe
from admmbench.audit.settings import (
    AuditSettings,
    Name,
    all_rounds,
    audited_rounds,
    compared_rounds,
    tape_bytes,
)
from admmbench.audit.worlds import Pair, play_both
from admmbench.datasets import Dataset
from admmbench.engine.spec import RunSpec
from admmbench.engine.streams import FEDERATION, stream
from admmbench.privacy import epsilon_total

Progress = Callable[[int, int], None]

# Seeds of the run that decides what canaries look like.
_PILOT = 8
# Bytes that may be on tape at a time if several seeds are played together.
_MOST_BYTES = 2**29
_CHECKED = (noise_law.LEVEL, coupling.LEVEL, likelihood.LEVEL)
_MISSED = "Noise is used in a way that an audit cannot follow"
_UNSOLVED = "Subproblems are solved too loosely to show their noise (lower the tolerance)"


def audit(
    spec: RunSpec,
    data: Dataset,
    settings: AuditSettings = AuditSettings(),  # noqa: B008
    progress: Progress | None = None,
) -> Audit:
    """Attack a run.

    The audit shares out the rows without shuffling, computes in the precision of the run, and uses seeds of its own. It
    does the first round, the last one, and others drawn at random, one right after another; fewer than it is asked for
    if the tape of one seed would be longer than 4 GiB. Both worlds are compared in all rounds, or in 100 of them.

    Parameters
    ----------
    spec
        What is audited.
    data
        Its data set.
    settings
        How much is audited.
    progress
        Called with the number of pieces of work done, and of all pieces.

    Returns
    -------
    Audit
        What was found; where there is nothing to audit, a comment says why.
    """
    if comment := _nothing(spec):
        return Audit(comment=comment)
    rounds = chosen(spec, audited_rounds(spec, data.info, settings))
    compared = chosen(spec, compared_rounds(spec, settings))
    if spec.as_problem.sharing == "columns":
        return columns.attack(spec, data, settings, rounds)
    spec = unshuffled(spec)
    n, names = settings.repeats, settings.canaries
    pilot = spec.model_copy(update={"seeds": tuple(range(2 * n, 2 * n + _PILOT))})
    size = min(n, max(1, int(_MOST_BYTES / (len(rounds) * tape_bytes(spec, data.info)))))
    parts = [range(start, min(start + size, n)) for start in range(0, n, size)]
    pieces = len(names) * len(parts)
    seen: dict[Name, list[Seen]] = {name: [] for name in names}
    probed: dict[Name, list[Finding]] = {}
    for worlds in make_worlds(pilot, data, rounds, names):
        probed[worlds.canary] = probe(spec, worlds, compared)
        for part in parts:
            seeds = part, range(n + part.start, n + part.stop)
            pair = play_both(spec, (worlds.first, worlds.second), worlds.row, rounds, seeds)
            if pair.diverged:
                return Audit(comment="The run diverges, so that there is nothing to look at.")
            seen[worlds.canary].append(Seen.of(pair, worlds, spec.delta, spec.method.sampling))
            if progress:
                progress(sum(map(len, seen.values())), pieces)
    every = [each for found in seen.values() for each in found]
    total = max(each.total for each in every)
    # All lower bounds hold together: two or three attacks with each canary.
    attacks = 2 + any((TRAJECTORY, ON_GRID) in each.attacks for each in every)
    confidence = 1 - (1 - settings.level) / (attacks * len(names))
    findings = [
        finding
        for name, found in seen.items()
        for finding in _findings(name, found, probed[name], spec.delta, confidence, total)
    ]
    attacked = [finding.value for finding in findings if finding.level in (TRAJECTORY, MODEL)]
    return Audit(
        findings=tuple(findings),
        rounds=len(rounds),
        of_rounds=all_rounds(spec),
        chosen=rounds,
        compared=len(compared) if all(probed.values()) else 0,
        delta=spec.delta,
        epsilon_ledger=total,
        epsilon_lower=max(attacked),
        epsilon_power=power(n, spec.delta, confidence),
        epsilon_claimed=len(rounds) * every[0].budget,
    )


def chosen(spec: RunSpec, count: int) -> tuple[int, ...]:
    """So many rounds of a run: the first, the last, and others that its first seed draws at random."""
    last = all_rounds(spec)
    if count >= last:
        return tuple(range(1, last + 1))
    generator = stream(spec.seeds[0], FEDERATION, "audit")
    between = generator.choice(np.arange(2, last), max(count - 2, 0), replace=False)
    return tuple(sorted([1, *between.tolist(), last][:count]))


@dataclass(frozen=True)
class Seen:
    """What an audit keeps of a pair of worlds.

    Attributes
    ----------
    uncovered
        Why releases are not on tape; empty if they are.
    checks
        Findings of the first three levels, if they are.
    attacks
        Scores by the level of an attack and what it is, in words: on the final model, and if releases are on tape, on
        all messages, and on the grid of noise inside a problem if there is such noise.
    total
        That of the ledgers.
    budget
        Of one release.
    """

    uncovered: str
    checks: list[Finding]
    attacks: dict[tuple[str, str], Scores]
    total: float
    budget: float

    @classmethod
    def of(cls, pair: Pair, worlds: Worlds, delta: float, sampling: float) -> Seen:
        """Look at a pair of worlds."""
        run, canary = pair.first, worlds.canary
        federation = run.federation
        why = (_UNSOLVED if run.unsolved else _MISSED) if run.missed else ""
        checks, attacks = [], {(MODEL, ANY): of_model(pair, worlds.row)}
        if not why:
            checks = [
                noise_law.find(pair, canary),
                coupling.find(run, pair.second_as_first, canary),
                likelihood.find(pair, canary),
            ]
            attacks[TRAJECTORY, ANY] = of_trajectory(pair, sampling)
            if lattice := of_lattice(pair):
                attacks[TRAJECTORY, ON_GRID] = lattice
        total = epsilon_total(federation.ledgers, delta)
        return cls(why, checks, attacks, total, federation.privacy.epsilon)


def _findings(
    name: Name,
    seen: Sequence[Seen],
    probed: Sequence[Finding],
    delta: float,
    confidence: float,
    total: float,
) -> Iterator[Finding]:
    """Findings of all levels with one canary."""
    levels = [MODEL]
    if why := next((each.uncovered for each in seen if each.uncovered), ""):
        for level in (*_CHECKED, TRAJECTORY):
            yield not_covered(level, name, why)
    else:
        found = [*probed, *itertools.chain.from_iterable(each.checks for each in seen)]
        for level in _CHECKED:
            yield worst(each for each in found if each.level == level)
        levels = [TRAJECTORY, MODEL]
    attacks = dict.fromkeys(attack for each in seen for attack in each.attacks)
    for level in levels:
        yield worst(
            lower_bound(level, name, _joined(seen, attack), delta, confidence, total, attack[1])
            for attack in attacks
            if attack[0] == level
        )


def _joined(seen: Sequence[Seen], attack: tuple[str, str]) -> Scores:
    """Scores of an attack, of all parts of the runs."""
    scores = [each.attacks[attack] for each in seen if attack in each.attacks]
    first, second = (np.concatenate(each) for each in zip(*scores, strict=True))
    return first, second


def _nothing(spec: RunSpec) -> str:
    """Why there is nothing to audit; empty if there is."""
    if spec.as_problem.sharing == "constrained":
        return "Audits are for problems over rows or columns."
    if spec.scheme.scheme == "stratified":
        return "Records are shared out by their labels, so that another label moves other records."
    if spec.release is None:
        return f"{spec.algorithm} declares no noisy release, so that it claims nothing."
    if not spec.private:
        return "Without a budget nothing is claimed."
    return ""
