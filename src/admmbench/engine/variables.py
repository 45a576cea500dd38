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
    "epsilon_total": (("round",), "1", "composed privacy loss epsilon"),
    "epsilon_moments": (("round",), "1", "composed privacy loss epsilon, moments accountant"),
    "epsilon_claimed": (("round",), "1", "per-iteration budget times rounds"),
    "floats_sent": (("round",), "1", "numbers sent since the start, all agents"),
    "seconds": (("round",), "s", "computing time of the whole batch of seeds, without evaluation"),
}
COMMENTS = {
    "noise_magnitude": "(1/PJK) sum |xi|, averaged over local updates (ryu2022, section IV-B)",
    "consensus_violation": "sum over agents of ||w - z_p||_1 (ryu2021, appendix A.10)",
    "train_loss": "sum over agents of f_p(w), regulariser included",
    "epsilon_moments": "appendix B of huang2019; NaN where not all releases are Gaussian",
    "epsilon_claimed": "basic composition of one budget per round, as ryu2021 and ryu2022 count",
}


def measured(spec: RunSpec) -> Variables:
    """Return all variables of a run's trace: the usual ones, and those of its problem and its method."""
    own = {**spec.as_problem.variables, **spec.method.variables}
    return {**_ALWAYS, **{name: (("seed", "round"), *facts) for name, facts in own.items()}}
