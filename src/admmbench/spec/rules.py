"""Rules that refuse settings: when, why, and what to state instead."""

from __future__ import annotations

import importlib.metadata
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from admmbench.partition.rows import By
from admmbench.privacy import Gaussian
from admmbench.privacy.samplers import LEAST
from admmbench.problems.rows import Rows
from admmbench.spec.facts import MethodError, RunFacts
from admmbench.spec.guarantees import guarantee_with_noise

T = TypeVar("T", contravariant=True)
S = TypeVar("S")


@dataclass(frozen=True)
class Rule(Generic[T]):
    """Condition that settings must satisfy, with the message of a refusal."""

    name: str
    """The condition, for tests and readers."""
    when: Callable[[T], object]
    """Function of the settings that refuses by returning what is wrong, or true."""
    message: str
    """Key, value and reason: ``{0}`` stands for the settings, ``{1}`` for what is wrong."""
    fix: str
    """Settings to state instead."""
    blames_method: bool = False
    """Whether the method is at fault."""


def refuse(settings: S, rules: Iterable[Rule[S]]) -> None:
    """Raise ValueError for the first rule that refuses the settings, or `MethodError` if the method is at fault."""
    for rule in rules:
        if wrong := rule.when(settings):
            error = MethodError if rule.blames_method else ValueError
            raise error(f"{rule.message.format(settings, wrong)}; {rule.fix}")


def _missing_package(run: RunFacts) -> str:
    """Return the first package of the method that is not installed."""
    for name in run.method.resources.packages:
        try:
            importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            return name
    return ""


def _random_participation(run: RunFacts) -> str:
    """Return the key and the value of random participation in rounds; empty if all agents take part."""
    if run.privacy.cohort:
        return f"privacy.cohort: {run.privacy.cohort}"
    part = run.privacy.participation
    return f"privacy.participation: {part:g}" if part < 1 else ""


def _protects_agents(run: RunFacts) -> bool:
    # Without a noisy release no total is claimed, so that its unit does not matter.
    return run.privacy.unit == "agent" and run.release is not None


def _averages_records(run: RunFacts) -> bool:
    return isinstance(run.as_problem, Rows) and run.as_problem.average == "records"


def _sums_securely(run: RunFacts) -> bool:
    return run.privacy.trust == "secure_sum" and run.release is not None


def _sum_unproved(run: RunFacts) -> bool:
    # Parts of normal noise add up to normal noise of known variance; a sum of Laplace numbers has another law.
    release = run.release
    return release is not None and (run.as_problem.sharing != "rows" or release.law != "gaussian")


def _has_gaussian_releases(run: RunFacts) -> bool:
    return run.release is not None and issubclass(run.release.kind, Gaussian)


def _measures_theorem(run: RunFacts) -> bool:
    return str(getattr(run.method, "average", None)).startswith("theorem")


def _missing_guarantee(run: RunFacts) -> str:
    """Return why a stated total or mu has no guarantee; empty if it has one, or no finite one is stated."""
    if run.budget_key == "epsilon" or math.isinf(run.stated_budget):
        return ""
    guarantee = guarantee_with_noise(run)
    return guarantee.conditions if guarantee.kind == "none" else ""


SETTING_RULES: list[Rule[RunFacts]] = [
    Rule(
        "evaluations within the rounds",
        lambda run: run.evaluate_every > run.rounds,
        "evaluate_every: expected at most the number of rounds, {0.rounds}, got {0.evaluate_every}",
        "evaluate more often, or make more rounds",
    ),
    Rule(
        "a variant that the method has",
        lambda run: run.variant not in run.definition.variants,
        "variant: {0.algorithm} has no authors' code to follow",
        "leave variant out, or set variant: paper",
        blames_method=True,
    ),
    Rule(
        "variant beside params",
        lambda run: "variant" in run.params,
        "params.variant: variant is no parameter",
        "write it beside params",
        blames_method=True,
    ),
    Rule(
        "trials where a search is in scope",
        lambda run: (run.privacy.covers == "run") != (run.privacy.trials is None),
        "privacy.trials: how many there are is stated where privacy.covers is every_trial or best_trial, and only "
        "there",
        "state both, or neither",
    ),
    Rule(
        "composition scope with a total",
        lambda run: run.privacy.covers != "run" and run.privacy.total is None,
        "privacy.covers: is the composition scope of privacy.total, which is not given",
        "state privacy.total, or leave covers out",
    ),
    Rule(
        "a mirror outside a search",
        lambda run: run.mirror and run.privacy.covers != "run",
        "mirror: privacy.covers: {0.privacy.covers} needs trials whose noise is independent",
        "leave mirror out, or set covers: run",
    ),
    Rule(
        "one kind of budget",
        lambda run: run.privacy.total is not None and math.isfinite(run.epsilon),
        "epsilon: privacy.total is given too, from which it follows",
        "give one of them",
    ),
    Rule(
        "a mu alone",
        lambda run: run.privacy.mu and (run.privacy.total or math.isfinite(run.epsilon)),
        "privacy.mu: a total or an epsilon is given too, which follows from it",
        "give one of them",
    ),
]
"""Rules on the settings alone."""

SHARING_RULES: list[Rule[RunFacts]] = [
    Rule(
        "a set that the method keeps to",
        lambda run: getattr(run.as_problem, "feasible", None) and not run.method.keeps_feasible,
        "problem.feasible: {0.algorithm} does not keep its models in a set",
        "leave feasible out, or use a method of consensus ADMM, such as objp",
        blames_method=True,
    ),
    Rule(
        "data that the method takes",
        lambda run: not run.method.sharing,
        "algorithm: {0.algorithm} states no sharing, so that it suits no data",
        'state sharing in its class, such as ("rows",)',
        blames_method=True,
    ),
    # Constraints come before the rule on sharing, which would refuse these runs as well, and name the wrong fix.
    Rule(
        "constraints that the method takes",
        lambda run: "constrained" == run.as_problem.sharing not in run.method.sharing,
        "algorithm: {0.algorithm} minimises without constraints, the problem has some",
        "prox_al takes them",
        blames_method=True,
    ),
    Rule(
        "constraints that the method needs",
        lambda run: run.method.sharing == ("constrained",) != (run.as_problem.sharing,),
        "algorithm: {0.algorithm} takes problems that state an objective or constraints",
        "state them, or use a data set such as synthetic_qp",
        blames_method=True,
    ),
    Rule(
        "shared rows or columns that the method takes",
        lambda run: (
            run.as_problem.sharing not in run.method.sharing and " or ".join(run.method.sharing)
        ),
        "algorithm: {0.algorithm} works on shared {1}, the partition gives agents {0.as_problem.sharing}",
        "use another method, or state agents otherwise",
        blames_method=True,
    ),
    Rule(
        "packages of the method",
        _missing_package,
        "algorithm: {0.algorithm} needs the package {1!r}: pip install {1}",
        "then start again",
        blames_method=True,
    ),
    Rule(
        "clients that have test records",
        lambda run: getattr(run.as_problem, "by_client", None) and not isinstance(run.scheme, By),
        "problem.by_client: test records belong to no agent of this partition",
        "partition by an attribute, such as agents: {scheme: by, column: hospital}, or leave by_client and a metric by "
        "client out",
    ),
]
"""Rules on problem, partition and method, which must suit each other."""

AUDIT_RULES: list[Rule[RunFacts]] = [
    Rule(
        "an audit of independent noise",
        lambda run: run.mirror,
        "mirror: an audit compares runs whose noise is independent",
        "leave mirror out: the run and its mirror have the same privacy",
    ),
]
"""Rules on the run that an audit attacks."""

PRIVACY_RULES: list[Rule[RunFacts]] = [
    Rule(
        "one round of methods that need no more",
        lambda run: run.method.one_shot and run.rounds > 1,
        "rounds: {0.algorithm} does all in one round, got {0.rounds}",
        "set rounds: 1",
    ),
    Rule(
        "samples that are ever drawn",
        lambda run: run.method.sampling < LEAST,
        "params.sampling: {0.method.sampling:g} is below 2^-32, the smallest probability that samples are drawn with: "
        "nobody would ever take part",
        f"use {LEAST:.2g} or more",
    ),
    Rule(
        "agents that ever take part",
        lambda run: run.privacy.participation < LEAST,
        "privacy.participation: {0.privacy.participation:g} is below 2^-32, the smallest probability that samples are "
        "drawn with: nobody would ever take part",
        f"use {LEAST:.2g} or more",
    ),
    Rule(
        "agents by chance in a secure sum",
        lambda run: run.privacy.trust != "secure_sum" and _random_participation(run),
        "{1} needs trust: secure_sum, as a server that sees messages sees who takes part",
        "set it, or let all agents take part",
    ),
    Rule(
        "agents by chance as the unit of privacy",
        lambda run: run.privacy.unit != "agent" and _random_participation(run),
        "{1} needs unit: agent, as all records of an agent take part together, so that whether they do tells more than "
        "one record",
        "set it, or let all agents take part",
    ),
    Rule(
        "a cohort or coins",
        lambda run: run.privacy.cohort and run.privacy.participation < 1,
        "privacy.cohort: {0.privacy.cohort} does not go with privacy.participation",
        "state one of them",
    ),
    Rule(
        "a cohort of the agents there are",
        lambda run: (run.privacy.cohort or 0) > run.n_agents,
        "privacy.cohort: {0.privacy.cohort} is more than the {0.n_agents} agents there are",
        "state fewer",
    ),
    Rule(
        "a cohort in which agents are replaced",
        lambda run: run.privacy.cohort and run.privacy.relation != "replace",
        "privacy.cohort: {0.privacy.cohort} needs relation: replace: an agent takes the place of another in the "
        "cohort, so that its message is not compared with nothing",
        "set it, or use participation",
    ),
    Rule(
        "a cohort whose agents keep nothing",
        lambda run: run.privacy.cohort and run.method.privacy_facts.private_state,
        "privacy.cohort: {0.privacy.cohort} does not suit {0.algorithm}: what its agents keep depends on who took part "
        "before, and all of them depend on one agent then, so that nothing is proved",
        "use participation, or dp_fedavg",
        blames_method=True,
    ),
    Rule(
        "whole agents behind bounded messages",
        lambda run: _protects_agents(run) and run.method.privacy_facts.record_alone,
        "privacy.unit: agent does not suit {0.algorithm}: {1}",
        "use unit: record, or a method whose messages are bounded, such as dp_fedavg",
        blames_method=True,
    ),
    Rule(
        "whole agents of equal weight",
        lambda run: _protects_agents(run) and _averages_records(run),
        "privacy.unit: agent does not go with problem.average: records, as the weights of agents would tell how many "
        "records each has",
        "set problem.average: agents",
    ),
    Rule(
        "whole agents without samples",
        lambda run: _protects_agents(run) and run.method.sampling < 1,
        "privacy.unit: agent does not go with params.sampling {0.method.sampling:g}: a sample of its records hides no "
        "agent",
        "set sampling: 1",
        blames_method=True,
    ),
    Rule(
        "a secure sum of what all agents know",
        lambda run: _sums_securely(run) and not run.method.privacy_facts.sums_only,
        "privacy.trust: secure_sum does not suit {0.algorithm}: its agents compute at models of their own, which "
        "depend on their own noise, so that the noise of others adds nothing that is proved",
        "use trust: agents, or dpsgd",
        blames_method=True,
    ),
    Rule(
        "a secure sum of normal noise",
        lambda run: _sums_securely(run) and _sum_unproved(run),
        "privacy.trust: secure_sum does not suit {0.algorithm}: only normal noise on shared rows adds up",
        "use trust: agents",
        blames_method=True,
    ),
    Rule(
        "a secure sum with one scale of noise",
        lambda run: _sums_securely(run) and run.sensitivity != "global",
        "privacy.trust: secure_sum needs sensitivity: global, as agents scale their noise alike",
        "set it, or use trust: agents",
    ),
    Rule(
        "a mirror of noise that is drawn where it is added",
        lambda run: run.mirror and not run.draws_noise,
        "mirror: {0.algorithm} has no Laplace or normal noise of its own to negate",
        "leave mirror out",
        blames_method=True,
    ),
    Rule(
        "changing noise at a total",
        lambda run: run.noise_ratio != 1 and run.budget_key == "epsilon",
        "noise_ratio: {0.noise_ratio:g} changes the noise of rounds at one privacy.total, which is not given",
        "state it, or leave noise_ratio out",
    ),
    Rule(
        "changing noise of Gaussian releases",
        lambda run: run.noise_ratio != 1 and not _has_gaussian_releases(run),
        "noise_ratio: {0.noise_ratio:g} does not suit {0.algorithm}, which has no Gaussian releases here",
        "leave it out, or use a method that has some, such as objp with privacy.noise: gaussian",
        blames_method=True,
    ),
    Rule(
        "changing noise beside a theorem",
        lambda run: run.noise_ratio != 1 and _measures_theorem(run),
        "noise_ratio: {0.noise_ratio:g} does not go with params.average: {0.method.average}, as that theorem is about "
        "noise with one budget in every round",
        "leave one of them out",
        blames_method=True,
    ),
    # The last three rules refuse a missing guarantee; special causes come first, as each has a fix of its own.
    Rule(
        "a total of what has noise",
        lambda run: run.method.release is None and _missing_guarantee(run),
        "{0.budget_key}: {0.algorithm} sends everything without noise, so only epsilon: .inf is possible",
        "set it, or use a method with noise",
        blames_method=True,
    ),
    Rule(
        "a total of the worst case",
        lambda run: (
            run.sensitivity == "local"
            and _missing_guarantee(run)
            and run.method.guarantee("global").kind != "none"
        ),
        "{0.budget_key}: needs sensitivity: global, as nothing is guaranteed with local sensitivity",
        "set it, or state epsilon",
    ),
    Rule(
        "a total with a guarantee",
        _missing_guarantee,
        "{0.budget_key}: {0.algorithm} guarantees nothing: {1}",
        "state epsilon, or use another method",
        blames_method=True,
    ),
]
"""Rules on rounds, noise and totals of a method that is known."""
