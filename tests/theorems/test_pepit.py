"""The worst case of a step of Algorithm 2 of he2023, by PEPit, where that is installed."""

from typing import Any

import pytest

PEPIT = pytest.importorskip("PEPit")
FUNCTIONS = pytest.importorskip("PEPit.functions")
STEPS = pytest.importorskip("PEPit.primitive_steps")


def worst(sigma: float, smoothness: float, rho: float) -> float:
    """Largest S_1 / S_0 of one exact step for one agent, over all functions and starts: a semidefinite program."""
    step = STEPS.proximal_step
    problem = PEPIT.PEP()
    server = problem.declare_function(FUNCTIONS.StronglyConvexFunction, mu=sigma)
    agent = problem.declare_function(FUNCTIONS.SmoothStronglyConvexFunction, mu=sigma, L=smoothness)
    star = (server + agent).stationary_point()
    u = problem.set_initial_point()
    dual = -agent.gradient(u)

    def total(u: Any, dual: Any) -> Any:
        return rho / 2 * (u - star) ** 2 + (dual + agent.gradient(star)) ** 2 / (2 * rho)

    problem.set_initial_condition(total(u, dual) <= 1)
    w, _, _ = step(u + dual / rho, server, 1 / rho)
    new, slope, _ = step(w - dual / rho, agent, 1 / rho)
    problem.set_performance_metric(total(new, -slope))
    return float(problem.solve(verbose=0))


@pytest.mark.parametrize(
    ("sigma", "smoothness", "rho", "found"),
    [(1, 10, 1, 0.8264), (1, 10, 3.2, 0.5739), (1, 10, 10, 0.6968), (0.1, 10, 0.1, 0.9803)],
)
def test_a_step_contracts_by_more_than_45_says(sigma, smoothness, rho, found):
    """S_1 <= S_0 / (1 + r), with r = sigma rho / (rho^2 + 2 L^2)."""
    printed = 1 / (1 + sigma * rho / (rho**2 + 2 * smoothness**2))
    assert worst(sigma, smoothness, rho) == pytest.approx(found, abs=2e-4)
    assert found < printed
    if rho <= 3.2:
        assert found == pytest.approx((smoothness / (smoothness + rho)) ** 2, abs=1e-4)
