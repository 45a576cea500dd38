"""All levels, with all canaries."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

import numpy as np

from admmbench.audit import columns, levels, one_run, reach
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
    points,
    power,
)
from admmbench.audit.findings import Audit, Finding, not_covered, worst
from admmbench.audit.settings import (
    AuditSettings,
    all_rounds,
    audited_rounds,
    compared_rounds,
    one_run_rounds,
    tape_bytes,
)
from admmbench.audit.worlds import (
    Pair,
    Run,
    World,
    Worlds,
    make_worlds,
    other_records,
    play,
    play_both,
    unshuffled,
)
from admmbench.base.types import Array
from admmbench.datasets import Dataset
from admmbench.engine.rounds import AlgorithmError
from admmbench.engine.streams import FEDERATION, stream
from admmbench.engine.threads import workers
from admmbench.privacy import Ledger, dearest, epsilon_total
from admmbench.spec.run import RunSpec

Progress = Callable[[int, int], None]

# Seeds of the run that decides what canaries look like.
_PILOT = 8
# Bytes that may be on tape at a time if several seeds are played together.
_MOST_BYTES = 2**29
# Factors of the noise, one for each run; powers of two, so that nothing is rounded. Solvers may fail far from the
# start: then only the smaller ones are used.
_LOUDER = 4.0 ** np.arange(11)
_USED = (11, 6, 1)
# Of a total, which is computed in floating point.
_ROUNDING = 1e-6
_CHECKED = (levels.NOISE_LAW, levels.COUPLING, levels.LIKELIHOOD)


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
    with workers(1), np.errstate(over="ignore", invalid="ignore"):
        if spec.as_problem.sharing == "columns":
            return columns.attack(spec, data, settings, rounds)
        spec, found = unshuffled(spec), Audit(delta=spec.delta)
        if settings.canaries:
            found = _attack(spec, data, settings, rounds, progress)
        if settings.one_run is None or found.comment:
            return found
        confidence = settings.confidence()
        rounds = chosen(spec, one_run_rounds(spec, data.info, settings.one_run))
        count = settings.one_run.canaries
        finding, numbers = one_run.attack(spec, data, count, rounds, confidence, progress)
        more = {"findings": (*found.findings, finding), "one_run": numbers}
        return found.model_copy(update=more)


def _attack(
    spec: RunSpec,
    data: Dataset,
    settings: AuditSettings,
    rounds: tuple[int, ...],
    progress: Progress | None,
) -> Audit:
    """Attack a method over rows; see `audit`."""
    compared = chosen(spec, compared_rounds(spec, settings))
    n, names = settings.repeats, settings.canaries
    pilot = spec.model_copy(update={"seeds": tuple(range(2 * n, 2 * n + _PILOT))})
    size = min(n, max(1, int(_MOST_BYTES / (len(rounds) * tape_bytes(spec, data.info)))))
    parts = [range(start, min(start + size, n)) for start in range(0, n, size)]
    every: list[Seen] = []
    for worlds in make_worlds(pilot, data, rounds, names):
        probed = [*probe(spec, worlds, compared), *probe_other_records(spec, worlds, rounds)]
        every.append(seen := Seen(spec, worlds, probed))
        for k, part in enumerate(parts, start=1):
            seeds = part, range(n + part.start, n + part.stop)
            pair = play_both(spec, (worlds.first, worlds.second), worlds.row, rounds, seeds)
            if pair.diverged:
                return Audit(comment="The run diverges, so that there is nothing to look at.")
            seen.look_at(pair)
            if progress:
                progress((len(every) - 1) * len(parts) + k, len(names) * len(parts))
    ledger = dearest((seen.ledger for seen in every), spec.delta)
    attacks = 2 + any((TRAJECTORY, ON_GRID) in seen.scores for seen in every)
    confidence = settings.confidence(attacks)
    findings = [each for seen in every for each in seen.findings(confidence, ledger)]
    attacked = [finding.value for finding in findings if finding.level in (TRAJECTORY, MODEL)]
    return Audit(
        findings=tuple(findings),
        rounds=len(rounds),
        of_rounds=all_rounds(spec),
        chosen=rounds,
        compared=len(compared) if all(seen.probed for seen in every) else 0,
        delta=spec.delta,
        epsilon_ledger=ledger.epsilon(spec.delta),
        epsilon_lower=max(attacked),
        epsilon_power=power(n, spec.delta, confidence),
        epsilon_claimed=len(rounds) * every[0].budget,
        curve=points(ledger),
    )


def chosen(spec: RunSpec, count: int) -> tuple[int, ...]:
    """Choose so many rounds of a run: the first, the last, and others that its first seed draws at random."""
    last = all_rounds(spec)
    if count >= last:
        return tuple(range(1, last + 1))
    generator = stream(spec.seeds[0], FEDERATION, "audit")
    between = generator.choice(np.arange(2, last), max(count - 2, 0), replace=False)
    return tuple(sorted([1, *between.tolist(), last][:count]))


class Seen:
    """What an audit needs of the runs with one canary.

    Parameters
    ----------
    spec
        What is audited.
    worlds
        Of the canary.
    probed
        What was found in all rounds.

    Attributes
    ----------
    checks
        Findings of the first three levels.
    scores
        By the level of an attack and what it is, in words, those of all runs: on the final model, on all messages, and
        on the grid of noise inside a problem if there is such noise.
    uncovered
        Why releases are not on tape; empty if they are.
    ledger
        Releases of the agent who pays most.
    budget
        Of one release.
    """

    def __init__(self, spec: RunSpec, worlds: Worlds, probed: list[Finding]) -> None:
        self.spec, self.worlds, self.probed = spec, worlds, probed
        self.checks = list(probed)
        self.scores: dict[tuple[str, str], list[Scores]] = defaultdict(list)
        self.uncovered, self.ledger, self.budget = "", Ledger(), 0.0

    def look_at(self, pair: Pair) -> None:
        """Look at runs of both worlds."""
        run, canary = pair.first.run, self.worlds.canary
        self.ledger = dearest([self.ledger, *run.federation.ledgers], self.spec.delta)
        self.budget = run.federation.privacy.epsilon
        self.scores[MODEL, ANY].append(of_model(pair, self.worlds.row))
        if run.uncovered:
            self.uncovered = run.uncovered
            return
        self.checks += [
            levels.noise_law(pair, canary),
            levels.coupling(run, pair.first.second, canary),
            levels.likelihood(pair, canary),
        ]
        self.scores[TRAJECTORY, ANY].append(of_trajectory(pair, self.spec.sampling))
        if lattice := of_lattice(pair):
            self.scores[TRAJECTORY, ON_GRID].append(lattice)

    def findings(self, confidence: float, ledger: Ledger) -> Iterator[Finding]:
        """Return what all levels found, with this confidence in each lower bound."""
        canary, given = self.worlds.canary, (self.spec.delta, confidence, ledger)
        for level in (*_CHECKED, TRAJECTORY, MODEL):
            if self.uncovered and level != MODEL:
                yield not_covered(level, canary, self.uncovered)
            elif level in _CHECKED:
                yield worst(each for each in self.checks if each.level == level)
            else:
                yield worst(
                    lower_bound(level, canary, _joined(scores), *given, attack)
                    for (of, attack), scores in self.scores.items()
                    if of == level
                )


def _joined(parts: list[Scores]) -> Scores:
    first, second = (np.concatenate(each) for each in zip(*parts, strict=True))
    return first, second


def _nothing(spec: RunSpec) -> str:
    """Why there is nothing to audit; empty if there is."""
    if spec.as_problem.sharing == "constrained":
        return "Audits are for problems over rows or columns."
    if spec.scheme.by_labels:
        return "Records are shared out by their labels, so that another label moves other records."
    if spec.release is None:
        return f"{spec.algorithm} declares no noisy release, so that it claims nothing."
    if not spec.private:
        return "Without a budget nothing is claimed."
    return ""


def probe(spec: RunSpec, worlds: Worlds, rounds: Sequence[int]) -> list[Finding]:
    """Return what the levels without statistics found, the worst of all rounds; nothing if releases are not on tape.

    The statistical levels need many runs, so that they look at some rounds. Whether both worlds are the same with the
    same noisy values, and how far values move, shows in a single run: so these two levels look at all rounds here.
    With the noise of a run, models stay near where they began, and a record moves a value less than some record may.
    Here the noise is louder than it should be, by other factors in other runs: predictions reach both ends, slopes
    come as near to their suprema as floating point allows, and a sensitivity that is too small by little is seen.

    Parameters
    ----------
    spec
        What is audited, unshuffled.
    worlds
        The worlds. They are compared under the relation of the run, and where the record contributes nothing: noise is
        scaled by what one contribution moves.
    rounds
        Numbers of the rounds.
    """
    relations = {"zero_out": worlds.without, spec.privacy.relation: worlds.second}
    found = defaultdict(list)
    for relation, second in relations.items():
        privacy = spec.privacy.model_copy(update={"relation": relation})
        own = spec.model_copy(update={"privacy": privacy})
        for finding in _as_loud_as_possible(own, worlds, second, rounds):
            found[finding.level].append(finding)
    return [worst(found[level]) for level in sorted(found)]


def probe_other_records(spec: RunSpec, worlds: Worlds, rounds: Sequence[int]) -> Iterator[Finding]:
    """Give a run on data sets that have no record in common the same noisy values; nothing if they are not on tape.

    Noise hides a record in the value that it is added to. Nothing else may depend on any number of records: one alone
    may leave the scale of noise where it is, if that is rounded. Data on which the method ends in an error are
    passed over.
    """
    spec = spec.model_copy(update={"seeds": (0,)})
    run, passed_over = play(spec, worlds.first, rounds), True
    if run.uncovered or not np.isfinite(run.model).all():
        return
    for data in other_records(worlds.first.data):
        with suppress(AlgorithmError):
            other = play(spec, worlds.first._replace(data=data), rounds, run)
            yield levels.coupling(run, other, worlds.canary)
            passed_over = False
    if passed_over:
        why = "The scale of noise cannot be compared: on all data with other records the method ends in an error"
        yield not_covered(levels.COUPLING, worlds.canary, why)


def _as_loud_as_possible(
    spec: RunSpec, worlds: Worlds, second: World, rounds: Sequence[int]
) -> list[Finding]:
    *larger, least = _USED
    for count in larger:
        with suppress(AlgorithmError):
            return list(_compared(spec, worlds, second, rounds, _LOUDER[:count]))
    return list(_compared(spec, worlds, second, rounds, _LOUDER[:least]))


def _compared(
    spec: RunSpec, worlds: Worlds, second: World, rounds: Sequence[int], louder: Array
) -> Iterator[Finding]:
    """Findings of each round, with ledgers of its own."""
    spec = spec.model_copy(update={"seeds": tuple(range(len(louder)))})
    taken = worlds.row if spec.sampling < 1 else None
    one, other = (Run(spec, world, taken, louder) for world in (worlds.first, second))
    for t in rounds:
        for run, again in ((one, None), (other, one)):
            run.forget()
            run.round(t, again)
            # What it keeps outside of its state and of itself may be changed by the other run.
            beside = reach.beside(run.method).items()
            run.public[t] |= {name: np.array(each) for name, each in beside}
        if one.uncovered or not np.isfinite(one.model).all():
            return
        yield levels.coupling(one, other, worlds.canary)
        yield levels.of_shifts(one, other, worlds.canary, _over_stated(spec, one, t))


def _over_stated(spec: RunSpec, run: Run, t: int) -> Iterator[str]:
    """Whether a round costs more than the method states, from which noise is solved for; or it states nothing."""
    federation, method = run.federation, spec.method
    release, stated = spec.release, Ledger()
    assert release is not None
    if cost := method.cost(t, federation.problem, federation.privacy, release):
        stated.add(cost, method.updates)
    most, told = stated.epsilon(spec.delta), epsilon_total(federation.ledgers, spec.delta)
    if not told <= most * (1 + _ROUNDING) or math.isinf(most) > math.isinf(told):
        yield f"Round {t} is stated to cost an epsilon of {most:.4g}, the ledger was told {told:.4g}."
