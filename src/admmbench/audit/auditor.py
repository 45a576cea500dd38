"""The whole audit: all levels, with all canaries."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress

import numpy as np

from admmbench.audit import columns, levels, one_run, reach, runs
from admmbench.audit.attacks import (
    ANY,
    MODEL,
    ON_GRID,
    TRAJECTORY,
    Scores,
    grid_scores,
    is_hopeless,
    look_sizes,
    lower_bound,
    model_scores,
    points,
    power,
)
from admmbench.audit.findings import (
    Audit,
    Fact,
    Finding,
    Kind,
    fact,
    inapplicable_finding,
    worst_finding,
)
from admmbench.audit.neighbours import NeighbouringData, make_neighbours, other_records, unshuffled
from admmbench.audit.runs import Pair, Run, RunData, record_rounds, run_pair
from admmbench.audit.settings import (
    AuditSettings,
    all_rounds,
    audited_rounds,
    compared_rounds,
    one_run_rounds,
    transcript_bytes,
)
from admmbench.base.exact import UnsolvedSubproblemError
from admmbench.datasets import Dataset, DatasetInfo
from admmbench.engine.context import Progress
from admmbench.engine.rounds import AlgorithmError
from admmbench.engine.streams import FEDERATION, stream
from admmbench.engine.threads import workers
from admmbench.privacy import Ledger, dearest, epsilon_total
from admmbench.spec.accounting import cost_of_release
from admmbench.spec.rules import AUDIT_RULES, refuse
from admmbench.spec.run import RunSpec

# Number of seeds of the pilot run, whose models choose the canaries' targets.
_PILOT_SEEDS = 8
# Bytes of transcripts that may be in memory at a time if several seeds run together.
_MOST_BYTES = 2**29
# Number of seeds whose samples all have the canary, or none.
_SAMPLED_SEEDS = 8
# Factors of the noise, one for each run; powers of two, so that nothing is rounded. Solvers may fail far from the
# start: then only the smaller factors are used.
_NOISE_FACTORS = 4.0 ** np.arange(11)
_FACTOR_COUNTS = (11, 6, 1)
# Relative error of a total ε, which is computed in floating point.
_ROUNDING = 1e-6
# Part of what the ledger was told from which on a canary among opposed records is not looked at.
_TIGHT = 0.95
# Rounds that are compared with louder noise, too.
_LOUD_ROUNDS = 10
# Part of the total at which a bound needs no more runs.
_NEAR = 0.9
_CHECKED = (levels.NOISE_LAW, levels.COUPLING, levels.LIKELIHOOD)


def audit(
    spec: RunSpec,
    data: Dataset,
    settings: AuditSettings = AuditSettings(),  # noqa: B008
    progress: Progress | None = None,
) -> Audit:
    """Attack a run.

    The audit partitions the rows without shuffling, computes in the precision of the run, and uses seeds of its own. It
    does the first round, the last one, and others drawn at random, one right after another; fewer than the settings ask
    for if the transcript of one seed would exceed 4 GiB. Runs on neighbouring data sets are compared in all rounds, or
    in 250. Attacks with a canary stop where a bound exceeds the total or reaches 90 % of it, or where the data sets
    look alike.

    Parameters
    ----------
    spec
        Specification of the run.
    data
        Data set of the run.
    settings
        Number of rounds, runs and canaries of the audit.
    progress
        Function that is called with the number of pieces of work done, and of all pieces.

    Returns
    -------
    Audit
        All findings, or the reason that there is nothing to audit.

    Raises
    ------
    ValueError
        If the run is a mirror.
    """
    refuse(spec, AUDIT_RULES)
    if reason := _reason_not_to_audit(spec):
        return Audit(reason=reason)
    runs.SOLVED.clear()
    rounds = choose_rounds(spec, audited_rounds(spec, data.info, settings))
    with workers(1), np.errstate(over="ignore", invalid="ignore"):
        if spec.as_problem.sharing == "columns":
            return columns.attack(spec, data, settings, rounds)
        spec, result = unshuffled(spec), Audit(delta=spec.delta)
        if settings.canaries:
            result = _attack(spec, data, settings, rounds, progress)
        if settings.one_run is None or result.reason:
            return result
        confidence = settings.confidence()
        rounds = choose_rounds(spec, one_run_rounds(spec, data.info, settings.one_run))
        count = settings.one_run.canaries
        finding, many = one_run.attack(spec, data, count, rounds, confidence, progress)
        update = {"findings": (*result.findings, finding), "one_run": many}
        return result.model_copy(update=update)


def _attack(
    spec: RunSpec,
    data: Dataset,
    settings: AuditSettings,
    rounds: tuple[int, ...],
    progress: Progress | None,
) -> Audit:
    """Attack a method over rows; see `audit`."""
    compared = choose_rounds(spec, compared_rounds(spec, settings))
    n, names = settings.repeats, settings.canaries
    pilot = spec.model_copy(update={"seeds": tuple(range(2 * n, 2 * n + _PILOT_SEEDS))})
    batches = _batches(spec, _fitting_seeds(spec, data.info, len(rounds)), n)
    all_runs: list[CanaryRuns] = []
    for neighbours in make_neighbours(pilot, data, rounds, names):
        checks = probe(spec, neighbours, compared)
        if ended := [check for check in checks if check.fact.kind == Kind.END_DEPENDS]:
            # There are no runs on both data sets to attack.
            return Audit(findings=tuple(ended), of_rounds=all_rounds(spec), delta=spec.delta)
        checks += probe_other_records(spec, neighbours, rounds)
        all_runs.append(canary_runs := CanaryRuns(spec, neighbours, checks))
        for k, (batch, is_look) in enumerate(batches, start=1):
            seeds = batch, range(n + batch.start, n + batch.stop)
            pair = run_pair(
                spec, (neighbours.first, neighbours.second), neighbours.row, rounds, seeds
            )
            if pair.diverged:
                return Audit(reason=fact(Kind.DIVERGES))
            canary_runs.add(pair)
            if progress:
                progress((len(all_runs) - 1) * len(batches) + k, len(names) * len(batches))
            if is_look and canary_runs.may_stop(settings):
                break
    ledger = dearest((canary_runs.ledger for canary_runs in all_runs), spec.delta)
    findings = [
        finding for canary_runs in all_runs for finding in canary_runs.findings(settings, ledger)
    ]
    bounds = [finding.value for finding in findings if finding.level in (TRAJECTORY, MODEL)]
    confidence = max(canary_runs.confidence(settings) for canary_runs in all_runs)
    return Audit(
        findings=tuple(findings),
        rounds=len(rounds),
        of_rounds=all_rounds(spec),
        chosen=rounds,
        compared=len(compared) if all(runs.probed for runs in all_runs) else 0,
        delta=spec.delta,
        epsilon_ledger=ledger.epsilon(spec.delta),
        epsilon_lower=max(bounds),
        epsilon_power=power(n, spec.delta, confidence),
        epsilon_claimed=len(rounds) * all_runs[0].budget,
        curve=points(ledger),
    )


def _batches(spec: RunSpec, size: int, planned: int) -> list[tuple[range, bool]]:
    """Return batches of seeds of at most a size, each with whether an attack may stop after it.

    How often a canary is in samples is counted in all runs together.
    """
    looks = look_sizes(planned) if spec.sampling == 1 else [planned]
    return [
        (range(start, min(start + size, end)), start + size >= end and end < planned)
        for begin, end in itertools.pairwise([0, *looks])
        for start in range(begin, end, size)
    ]


def _fitting_seeds(spec: RunSpec, data: DatasetInfo, rounds: int) -> int:
    """Return the number of seeds whose transcripts of some rounds fit into memory; at least one."""
    return max(1, int(_MOST_BYTES / (rounds * transcript_bytes(spec, data))))


def choose_rounds(spec: RunSpec, count: int) -> tuple[int, ...]:
    """Choose the given number of rounds: the first, the last, and others that the first seed draws at random."""
    last = all_rounds(spec)
    if count >= last:
        return tuple(range(1, last + 1))
    generator = stream(spec.seeds[0], FEDERATION, "audit")
    between = generator.choice(np.arange(2, last), max(count - 2, 0), replace=False)
    return tuple(sorted([1, *between.tolist(), last][:count]))


class CanaryRuns:
    """Findings and scores of all runs with one canary.

    Attributes
    ----------
    checks
        Findings of the first three levels, first those of the levels that look at all rounds.
    scores
        Scores of all runs, by the level and the words of an attack: on the final model, on all messages, and on the
        grid of noise inside a problem if there is such noise.
    uncovered
        Whether releases are not in the transcript.
    ledger
        Releases of the agent with the largest total ε.
    budget
        Budget of one release.
    """

    def __init__(self, spec: RunSpec, neighbours: NeighbouringData, probed: list[Finding]) -> None:
        self.spec, self.neighbours, self.probed = spec, neighbours, probed
        self.checks = list(probed)
        self.scores: dict[tuple[str, str], list[Scores]] = defaultdict(list)
        self.uncovered, self.ledger, self.budget = False, Ledger(), 0.0

    def add(self, pair: Pair) -> None:
        """Check and score a pair of runs on both data sets."""
        run, canary = pair.first.run, self.neighbours.canary
        self.ledger = dearest([self.ledger, *run.federation.ledgers], self.spec.delta)
        self.budget = run.federation.privacy.epsilon
        self.scores[MODEL, ANY].append(model_scores(pair, self.neighbours.row))
        if run.uncovered:
            self.uncovered = True
            return
        self.checks += [
            levels.noise_law(pair, canary),
            levels.coupling(run, pair.first.second, canary),
            levels.likelihood(pair, canary),
        ]
        # Log-likelihood ratios are the best scores for who sees all messages.
        first, second = (levels.log_ratio(side, self.spec.sampling) for side in pair)
        self.scores[TRAJECTORY, ANY].append((first, second))
        if scores := grid_scores(pair):
            self.scores[TRAJECTORY, ON_GRID].append(scores)

    def confidence(self, settings: AuditSettings) -> float:
        """Return the confidence in what each attack shows."""
        return settings.confidence(2 + ((TRAJECTORY, ON_GRID) in self.scores))

    def may_stop(self, settings: AuditSettings) -> bool:
        """Return whether a bound exceeds the total or nearly reaches it, or more runs will hardly show anything."""
        if all(is_hopeless(_concatenated(parts)) for parts in self.scores.values()):
            return True
        bounds = [
            finding
            for finding in self.findings(settings, self.ledger)
            if finding.level in (TRAJECTORY, MODEL)
        ]
        return any(each.passed is False or each.value >= _NEAR * each.bound > 0 for each in bounds)

    def findings(self, settings: AuditSettings, ledger: Ledger) -> Iterator[Finding]:
        """Yield the finding of each level."""
        canary = self.neighbours.canary
        arguments = self.spec.delta, self.confidence(settings), ledger
        for level in (*_CHECKED, TRAJECTORY, MODEL):
            if self.uncovered and level != MODEL:
                yield inapplicable_finding(level, canary, Kind.HIDDEN_NOISE)
            elif level in _CHECKED:
                yield worst_finding(finding for finding in self.checks if finding.level == level)
            else:
                yield worst_finding(
                    lower_bound(
                        level, canary, _concatenated(parts), *arguments, attack, settings.repeats
                    )
                    for (attack_level, attack), parts in self.scores.items()
                    if attack_level == level
                )


def _concatenated(parts: list[Scores]) -> Scores:
    """Return the scores of all batches of seeds."""
    first, second = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return first, second


def _reason_not_to_audit(spec: RunSpec) -> Fact | None:
    """Return why there is nothing to audit; None if there is."""
    sharing = spec.as_problem.sharing
    if sharing == "constrained":
        return fact(Kind.CONSTRAINED)
    if spec.scheme.by_labels:
        return fact(Kind.BY_LABELS)
    if spec.release is None:
        return fact(Kind.NO_RELEASE, algorithm=spec.algorithm)
    if not spec.private:
        return fact(Kind.NO_BUDGET)
    if sharing == "columns" and spec.release.own_neighbours != "column":
        return fact(Kind.COLUMNS_OF_OTHERS)
    return None


def probe(spec: RunSpec, neighbours: NeighbouringData, rounds: Sequence[int]) -> list[Finding]:
    """Return the findings of the levels without statistics, the worst of all rounds each.

    The list is empty if releases are not in the transcript. The statistical levels need many runs, so that they look at
    some rounds. Whether runs on both data sets are the same with the same noisy values, and how far values move, shows
    in a single run: so these two levels look at the given rounds here, one right after another.

    With the noise of a run, models stay near where they began, and a record moves a value less than some record may.
    Here the noise is larger than it should be, by other factors in other runs: predictions reach both ends, derivatives
    of the loss come as near to their suprema as floating point allows, and a sensitivity that is too small by little is
    seen. So are some rounds; the given ones have the noise as declared. A bound by clipping is reached only where other
    records pull the other way: the worst record among such ones is looked at where it shows less than the bound among
    the agent's own.

    Data sets are compared under the relation of the run, and where the record contributes nothing: noise is scaled by
    the shift of one contribution.
    """
    findings, louder = defaultdict(list), rounds
    if len(rounds) > _LOUD_ROUNDS:
        second = neighbours.second
        for finding in _compare_rounds(spec, neighbours, second, rounds, 1):
            findings[finding.level].append(finding)
        louder = choose_rounds(spec, _LOUD_ROUNDS)
    for relation in dict.fromkeys(("zero_out", spec.privacy.relation)):
        privacy = spec.privacy.model_copy(update={"relation": relation})
        relation_spec = spec.model_copy(update={"privacy": privacy})
        for pair in filter(None, (neighbours, neighbours.opposed)):
            second = pair.without if relation == "zero_out" else pair.second
            compared = _compare_with_loudest_noise(relation_spec, pair, second, louder)
            for finding in compared:
                findings[finding.level].append(finding)
            if any(finding.value > _TIGHT for finding in compared):
                break
    return [worst_finding(findings[level]) for level in sorted(findings)]


def probe_other_records(
    spec: RunSpec, neighbours: NeighbouringData, rounds: Sequence[int]
) -> Iterator[Finding]:
    """Replay a run on data sets that have no record in common with its own, and yield the findings.

    There are no findings if releases are not in the transcript. Noise hides a record in the value before noise. Nothing
    else may depend on any number of records: one alone may leave the scale of noise where it is, if that is rounded.
    Data on which a subproblem is not solved are passed over. Who takes part in a round is not for noise to tell either.
    """
    few = tuple(range(_SAMPLED_SEEDS)) if spec.sampling < 1 else (0,)
    spec = spec.model_copy(update={"seeds": few})
    run, passed_over = record_rounds(spec, neighbours.first, rounds), True
    if run.uncovered or not np.isfinite(run.model).all():
        return
    for taken in (True, False) if spec.sampling < 1 else ():
        replay = record_rounds(spec, neighbours.first, rounds, run, neighbours.row, taken)
        yield levels.coupling(run, replay, neighbours.canary)
    for data in other_records(neighbours.first.data):
        try:
            replay = record_rounds(spec, neighbours.first._replace(data=data), rounds, run)
        except AlgorithmError as error:
            if isinstance(error.__cause__, UnsolvedSubproblemError):
                continue
            yield levels.end_of_one(neighbours.canary, rounds[-1])
        else:
            yield levels.coupling(run, replay, neighbours.canary)
        passed_over = False
    if passed_over:
        yield inapplicable_finding(levels.COUPLING, neighbours.canary, Kind.ALL_END)


def _compare_with_loudest_noise(
    spec: RunSpec, neighbours: NeighbouringData, second: RunData, rounds: Sequence[int]
) -> list[Finding]:
    """Compare runs with as many factors of the noise as solvers can follow."""
    *larger, least = _FACTOR_COUNTS
    for count in larger:
        with suppress(AlgorithmError):
            return list(_compare_rounds(spec, neighbours, second, rounds, count))
    return list(_compare_rounds(spec, neighbours, second, rounds, least))


def _compare_rounds(
    spec: RunSpec,
    neighbours: NeighbouringData,
    second: RunData,
    rounds: Sequence[int],
    count: int,
) -> Iterator[Finding]:
    """Yield the findings of each round, with ledgers of its own, at this number of factors of the noise."""
    taken, canary = neighbours.row if spec.sampling < 1 else None, neighbours.canary
    size = _fitting_seeds(spec, neighbours.first.data.info, 1)
    for start in range(0, count, size):
        seeds = tuple(range(start, min(start + size, count)))
        some, noise_factors = spec.model_copy(update={"seeds": seeds}), _NOISE_FACTORS[[*seeds]]
        first, replay = (
            Run(some, data, taken, noise_factors) for data in (neighbours.first, second)
        )
        for t in rounds:
            errors = [_try_round(first, t, None)]
            errors.append(_try_round(replay, t, None if errors[0] else first))
            if any(errors):
                # Where the noise is as declared, an error on one of the data sets tells them apart.
                if count == 1 and not all(errors):
                    yield levels.end_of_one(canary, t)
                    return
                raise next(filter(None, errors))
            if first.uncovered or not np.isfinite(first.model).all():
                break
            yield levels.coupling(first, replay, canary)
            yield levels.compare_shifts(first, replay, canary, _understated_costs(some, first, t))


def _try_round(run: Run, t: int, replayed: Run | None) -> AlgorithmError | None:
    """Do a round with a transcript of its own, and return the error that it ends in, if any."""
    run.forget()
    try:
        run.round(t, replayed)
    except AlgorithmError as error:
        return error
    # Copies, as the other run may change what the method keeps in its classes and its module.
    shared = reach.global_variables(run.method).items()
    run.public[t] |= {name: np.array(value) for name, value in shared}
    return None


def _understated_costs(spec: RunSpec, run: Run, t: int) -> Iterator[Fact]:
    """Yield a fact if a round costs more than the method states, or if the method states no cost.

    Noise is solved for from the stated cost.
    """
    federation, stated = run.federation, Ledger()
    if cost := cost_of_release(spec, t, federation.problem, federation.privacy):
        stated.add(cost, spec.method.updates)
    most, composed = stated.epsilon(spec.delta), epsilon_total(federation.ledgers, spec.delta)
    if not composed <= most * (1 + _ROUNDING) or math.isinf(most) > math.isinf(composed):
        yield fact(Kind.UNDERSTATED, round=t, stated=most, told=composed)
