"""Contracts of every method about its noise: a ledger that fits the noise, finite totals, attacks that find nothing."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, get_args

import numpy as np

from admmbench.audit.auditor import audit
from admmbench.audit.neighbours import other_records
from admmbench.audit.settings import AuditSettings
from admmbench.audit.words import words
from admmbench.contracts import ensure
from admmbench.contracts.runs import Breaking, MethodCase, ensure_same, run_without_engine
from admmbench.engine import rounds as engine
from admmbench.engine.context import Context
from admmbench.files.core_yaml import inline_yaml
from admmbench.privacy import COMPOSED, Relation, epsilon_total
from admmbench.results.statistics import after_start
from admmbench.spec.accounting import ledger
from admmbench.spec.guarantees import guarantee_with_noise

# Few rounds and runs, which are enough to find messages without noise and samples that are not as declared; lower
# bounds from so few runs show little.
_ATTACKED = 24
_FEW = AuditSettings(rounds=3, repeats=24, canaries=["worst", "natural"])
_SAMPLED = AuditSettings(rounds=4, repeats=64, canaries=["worst"])
_SUM = {"trust": "secure_sum"}
_SUM_OF_AGENTS = {"unit": "agent", **_SUM}
_ATTACKS: list[tuple[dict[str, Any], AuditSettings]] = [
    ({}, _FEW),
    (_SUM, _FEW),
    ({"unit": "agent"}, _FEW),
    (_SUM_OF_AGENTS, _FEW),
    ({**_SUM_OF_AGENTS, "participation": 0.25}, _SAMPLED),
    ({**_SUM_OF_AGENTS, "relation": "replace", "cohort": 1}, _SAMPLED),
]
"""Threat models, units and participation, each with the settings of its audit; a method may refuse some of them."""


def the_total_is_finite_where_noise_is_declared(case: MethodCase) -> None:
    """Ensure that the composed total is finite and grows where noise is declared, and is infinite elsewhere."""
    trace, declared = case.usual, case.cls.release is not None
    noisy = bool((trace.noise_magnitude > 0).any())
    ensure(
        noisy == declared,
        f"its release is {case.cls.release!r}, and its noise is {'not ' if noisy else ''}zero",
    )
    composed = trace[COMPOSED]
    finite = bool(np.isfinite(after_start(trace)[COMPOSED]).all())
    ensure(finite == declared, f"{COMPOSED} does not fit its release")
    ensure(
        not declared or bool((composed.diff("round") > 0).all()),
        f"{COMPOSED} does not grow by rounds",
    )


def without_a_budget_nothing_is_noisy(case: MethodCase) -> None:
    """Ensure that an infinite epsilon gives no noise and an infinite total."""
    trace = after_start(case.trace(epsilon=math.inf))
    ensure(not trace.noise_magnitude.any(), "it adds noise though epsilon is infinite")
    infinite = np.isinf(trace.epsilon_total) & np.isinf(trace[COMPOSED])
    ensure(infinite.all(), "its total is finite without noise")


def the_total_is_finite_where_there_is_a_guarantee(case: MethodCase) -> None:
    """Ensure that the total is at most the composed one where there is a guarantee, and infinite elsewhere."""
    for sensitivity in ("local", "global"):
        trace = after_start(case.trace(sensitivity=sensitivity))
        ensure(np.isfinite(trace.train_loss).all(), "its loss is not finite")
        kind = case.method.guarantee(sensitivity).kind
        worth = guarantee_with_noise(case.spec(sensitivity=sensitivity))
        ensure(
            kind == "none" or worth.kind != "none",
            f"with sensitivity: {sensitivity} its guarantee is {kind!r}, but its total is infinite: "
            f"{worth.conditions}; let guarantee say none",
        )
        most = math.inf if kind == "none" else trace[COMPOSED]
        fits = (trace.epsilon_total <= most) & (np.isinf(trace.epsilon_total) == (kind == "none"))
        ensure(
            fits.all(),
            f"with sensitivity: {sensitivity} its guarantee is {kind!r}, which epsilon_total does not fit",
        )


def the_noise_matches_release_and_updates(case: MethodCase) -> None:
    """Ensure that ledgers have the declared ``release``; the engine compares ``updates`` in every round."""
    release = case.cls.release
    assert release is not None
    federation = run_without_engine(case.spec(), case.data, rounds=3).federation
    released = {type(cost) for ledger in federation.ledgers for cost, _ in ledger.composition()}
    names = ", ".join(sorted(kind.name for kind in released)) or "nothing"
    ensure(
        bool(released) and all(issubclass(kind, release.kind) for kind in released),
        f"it released {names}; declared: {release.kind.name} (law {release.law})",
    )


def the_noise_matches_cost_and_steady(case: MethodCase) -> None:
    """Ensure that ledgers agree with ``cost`` and ``steady``, by which noise is calibrated."""
    if case.method.guarantee("global").kind == "none":
        return
    for relation in get_args(Relation):
        spec = case.spec(sensitivity="global", privacy={"relation": relation})
        rounds = spec.rounds + case.method.extra_rounds
        federation = run_without_engine(spec, case.data, rounds).federation
        stated = ledger(spec, federation.problem, federation.privacy).epsilon(spec.delta)
        drawn = epsilon_total(federation.ledgers, spec.delta)
        ensure(
            math.isclose(stated, drawn, rel_tol=1e-6),
            f"with relation: {relation} {spec.rounds} rounds are stated to cost {stated:.6g}, drawn is {drawn:.6g}",
        )


def worst_case_noise_knows_nothing_of_the_records(case: MethodCase) -> None:
    """Ensure that with ``sensitivity: global`` the scale of noise depends on no record, or there is no guarantee."""
    if case.method.guarantee("global").kind == "none":
        return
    # Equal seeds draw equal numbers, which the scale multiplies.
    run = partial(case.trace, sensitivity="global")
    traces, probes = [run(), run(dataset=case.setting.make(1))], []
    for data in other_records(case.data):
        with contextlib.suppress(engine.AlgorithmError):  # subproblems may not be solved on these
            probes.append(run(dataset=data))
    ensure(
        probes, "it ends in an error on all data with other records, which its noise is compared on"
    )
    usual, *others = (after_start(trace).noise_magnitude for trace in (*traces, *probes))
    ensure(
        all(np.array_equal(usual, other) for other in others),
        "with sensitivity: global other records change the scale of its noise, which its guarantee excludes",
    )


def attacks_find_nothing(case: MethodCase) -> None:
    """Ensure that audits with ``sensitivity: global`` find no fault in any threat model that the method accepts."""
    if case.method.guarantee("global").kind == "none":
        return
    for privacy, attacks in _ATTACKS:
        changes: dict[str, Any] = {"delta": 1e-3, "rounds": _ATTACKED, "privacy": privacy}
        if "unit" in privacy:
            changes["problem"] = {**case.setting.problem, "average": "agents"}
        if privacy and case.refusal(sensitivity="global", **changes) is not None:
            continue
        result = audit(case.spec(sensitivity="global", **changes), case.data, attacks)
        # One sentence for each level, of its first failure, in the order of levels.
        sentences = {each.level: words().sentence(each) for each in reversed(result.failures)}
        where = f"with privacy: {inline_yaml(privacy)}: " if privacy else ""
        ensure(result.passed is not False, where + " ".join(reversed(sentences.values())))
        foreign = not case.cls.__module__.startswith("admmbench.")
        ensure(not (foreign and result.uncovered), where + words().summary(result))


def divergence_is_recorded(case: MethodCase) -> None:
    """Ensure that a seed with invalid noise is recorded as diverged, and that other seeds are not changed by it."""
    spec = case.spec()
    keeper = Breaking(Path(), {}, math.inf)
    trace = engine.run_rounds(spec, case.data, Context(checkpoint=keeper)).dataset(spec, {})
    status = list(trace.status.values)
    ensure(status == [0, 1, 0], f"with noise that is not a number in one seed, status is {status}")
    usual, other = (
        run.drop_vars(["seconds", "mistakes"], errors="ignore").sel(seed=[0, 2])
        for run in (case.usual, trace)
    )
    ensure_same(usual, other, "another seed's divergence")


# Checks of every method, and of those that declare noise.
TOTALS: tuple[Callable[[MethodCase], None], ...] = (
    the_total_is_finite_where_noise_is_declared,
    the_total_is_finite_where_there_is_a_guarantee,
    without_a_budget_nothing_is_noisy,
)
NOISY: tuple[Callable[[MethodCase], None], ...] = (
    the_noise_matches_release_and_updates,
    the_noise_matches_cost_and_steady,
    worst_case_noise_knows_nothing_of_the_records,
    attacks_find_nothing,
    divergence_is_recorded,
)
