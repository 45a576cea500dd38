"""What a run measures, by name."""

from __future__ import annotations

from collections.abc import Mapping

from admmbench.base.types import UNIT_OF_LOSS
from admmbench.spec.run import RunSpec

Variables = dict[str, tuple[tuple[str, ...], str, str]]
"""name: (dims, units, long name)"""

_ALWAYS: Variables = {
    "noise_magnitude": (("seed", "round"), "1", "mean absolute noise per parameter"),
    "consensus_violation": (("seed", "round"), "1", "consensus violation"),
    "epsilon_claimed": (("round",), "1", "per-iteration budget times rounds"),
    "epsilon_total": (("round",), "1", "composed privacy loss epsilon that is guaranteed"),
    "floats_sent": (("round",), "1", "numbers sent since the start, all agents"),
    "seconds": (
        ("round",),
        "s",
        "computing time of all seeds that are computed together, without evaluation",
    ),
}
COMMENTS = {
    "noise_magnitude": "mean of |xi| over agents, entries of what is released, and local updates (ryu2022, section "
    "IV-B)",
    "consensus_violation": "sum over agents of ||w - z_p||_1 (ryu2021, appendix A.10)",
    "train_loss": "objective of all agents together, penalty included",
    "epsilon_total": "infinite where nothing is guaranteed",
    "epsilon_claimed": "basic composition of one budget per round, as ryu2021 and ryu2022 count",
}
OF_RELEASES = {
    "mu": (
        (),
        "mu of Gaussian differential privacy of the whole run",
        "rounded up; infinite where no trade-off curve is proved",
    ),
    "regret": (
        (),
        "regret of mu",
        "how much better the privacy is than mu says, as rates of errors (Gomez et al. 2026)",
    ),
    "hits": (
        ("false_alarms",),
        "largest probability to detect a record",
        "trade-off curve of all releases of the agent with the largest mu",
    ),
}
"""Privacy of all releases of a run together: dims, long name and comment by name."""


def measured(spec: RunSpec) -> Variables:
    """Return all variables of a run's trace: the usual ones, totals, and those of problem, method and observers."""
    problem = spec.as_problem.variables(spec.info)
    totals: Variables = {
        each.variable: (("round",), "1", each.long_name) for each in spec.composed_by
    }
    unit = spec.as_problem.loss.unit(spec.info)
    observers = spec.method.observers(spec.as_problem)
    own = {
        name: (unit if units == UNIT_OF_LOSS else units, long_name)
        for variables in (spec.method.variables, *(each.variables for each in observers))
        for name, (units, long_name) in variables.items()
    }
    return {**_for_seeds(problem), **_ALWAYS, **totals, **_for_seeds(own)}


def _for_seeds(variables: Mapping[str, tuple[str, str]]) -> Variables:
    return {name: (("seed", "round"), *facts) for name, facts in variables.items()}
