"""What a run measures, by name."""

from __future__ import annotations

from admmbench.engine.spec import RunSpec

Variables = dict[str, tuple[tuple[str, ...], str, str]]
"""name: (dims, units, long name)"""

_ALWAYS: Variables = {
    "test_error": (("seed", "round"), "1", "test error"),
    "test_loss": (("seed", "round"), "nat", "mean test loss"),
    "train_loss": (("seed", "round"), "nat", "training objective"),
    "noise_magnitude": (("seed", "round"), "1", "mean absolute noise per parameter"),
    "consensus_violation": (("seed", "round"), "1", "consensus violation"),
    "epsilon_claimed": (("round",), "1", "per-iteration budget times rounds"),
    "floats_sent": (("round",), "1", "numbers sent since the start, all agents"),
    "seconds": (("round",), "s", "computing time of the whole batch of seeds, without evaluation"),
}
COMMENTS = {
    "noise_magnitude": "(1/PJK) sum |xi|, averaged over local updates (ryu2022, section IV-B)",
    "consensus_violation": "sum over agents of ||w - z_p||_1 (ryu2021, appendix A.10)",
    "train_loss": "sum over agents of f_p(w), regulariser included",
    "epsilon_claimed": "basic composition of one budget per round, as ryu2021 and ryu2022 count",
}


def measured(spec: RunSpec) -> Variables:
    """Return all variables of a run's trace: the usual ones, totals, and those of its problem and its method."""
    own = {**spec.as_problem.variables, **spec.method.variables}
    return {
        **_ALWAYS,
        **{each.variable: (("round",), "1", each.long_name) for each in spec.composed_by},
        **{name: (("seed", "round"), *facts) for name, facts in own.items()},
    }
