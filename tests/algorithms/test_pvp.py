"""PVP: a transcription."""

from tests.algorithms.literal_huang2019 import RHO, STRENGTH, P, check_rounds


def pvp(run, k):
    """Algorithm 2."""
    for i in range(P):
        exact = run.solve(i, run.gamma[i])
        run.z[i] = run.noisy(exact, i, run.c1[i] / run.m[i] / (STRENGTH + RHO), k)
    run.finish()


def test_trajectory_is_the_literal_one():
    check_rounds("pvp", {"rho": RHO, "tolerance": 1e-11}, pvp)
