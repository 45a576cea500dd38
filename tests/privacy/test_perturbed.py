"""Perturbed objectives: their divergences by integration, sums of losses, and densities of real solutions."""

import math

import numpy as np
import pytest
from scipy import integrate, optimize, signal, stats
from scipy.special import expit

from admmbench.algorithms.amp import AMP
from admmbench.privacy import ORDERS, Perturbed, Privacy
from admmbench.privacy.curves import curve
from tests.privacy.ledgers import ledger_of

STATED = 1.0, 1e-6
SHIFTS = [0.05, 0.7, 4.0]


def mean_excess(u, dimensions, epsilon):
    """Mean of ``1 - exp(epsilon - u |b|)`` where it is above 0, for the norm of normal numbers."""
    start = max(epsilon, 0) / u
    return integrate.quad(
        lambda r: -stats.chi.pdf(r, dimensions) * math.expm1(min(epsilon - u * r, 0)),
        start,
        start + 12,
        epsabs=0,
        epsrel=1e-11,
    )[0]


@pytest.mark.parametrize("dimensions", [1, 2])
@pytest.mark.parametrize("u", SHIFTS)
def test_the_profile_is_an_integral(u, dimensions):
    cost = Perturbed(*STATED, 0.1, u, dimensions, 0.0, 0.0)
    for epsilon in (-1.0, -0.01, 0.3 * u, 2 * u, 4 * u):
        found = cost.hockey_stick(np.array([0.1 + u**2 / 2 + epsilon]), False)
        assert found == pytest.approx(mean_excess(u, dimensions, epsilon), rel=1e-9)
    # The noise on top: with the probability left, its loss is below this.
    more = Perturbed(*STATED, 0.1, u, dimensions, 0.03, 1e-4)
    above = 0.03 * math.sqrt(-2 * math.log(1e-4)) + 0.03**2 / 2
    found = more.hockey_stick(np.array([0.1 + u**2 / 2 + above + u]), False)
    expected = 1e-4 + (1 - 1e-4) * mean_excess(u, dimensions, u)
    assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("dimensions", [1, 2])
@pytest.mark.parametrize("u", SHIFTS)
def test_renyi_divergences_are_integrals(u, dimensions):
    renyi = Perturbed(*STATED, 0.1, u, dimensions, 0.2, 1e-9).renyi()
    for k in (0, 60, 120, 160):
        a = ORDERS[k]
        k_u = (a - 1) * u
        moment, _ = integrate.quad(
            lambda r, k=k_u: math.exp(stats.chi.logpdf(r, dimensions) + k * r - k**2 / 2),
            max(0, k_u - 14),
            k_u + 14,
            epsrel=1e-11,
        )
        moment = math.log(moment) + k_u**2 / 2
        expected = 0.1 + u**2 / 2 + moment / (a - 1) + a * 0.2**2 / 2
        assert renyi[k] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("dimensions", [1, 2])
@pytest.mark.parametrize("number", [1, 3, 8])
def test_losses_of_several_releases_add_up(number, dimensions):
    """By convolution of the density of the norm, in numpy."""
    u, delta, step = 0.3, 1e-5, 1e-3
    cost = Perturbed(*STATED, 0.02, u, dimensions, 0.0, 0.0)
    edges = np.arange(0, 12, step / u)
    chances = np.diff(stats.chi.cdf(edges, dimensions))
    total = np.ones(1)
    for _ in range(number):
        total = signal.fftconvolve(total, chances)
    losses = number * (0.02 + u**2 / 2) + step * (np.arange(len(total)) + number / 2)

    def excess(epsilon):
        return (total * -np.expm1(np.minimum(epsilon - losses, 0))).sum() - delta

    expected = optimize.brentq(excess, 0, losses[-1])
    ledger = ledger_of((cost, number))
    assert ledger.epsilon(delta, "pld") == pytest.approx(expected, rel=2e-3)
    assert ledger.epsilon(delta) <= ledger.epsilon(delta, "rdp")
    assert 0 < curve(ledger.composition()).gaussian.mu < math.inf


@pytest.mark.parametrize("relation", ["zero_out", "replace"])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 5.0])
@pytest.mark.parametrize("m", [1, 4])
def test_no_solution_loses_more(m, epsilon, relation):
    """Densities of a solution with two features, on a grid: both divergences, in both orders, of random neighbours."""
    rng = np.random.default_rng(m)
    budget = AMP().budget(_Problem, Privacy(epsilon, 1e-4))
    cost = budget.profile(1 if relation == "zero_out" else 2)
    assert cost.dimensions == (1 if relation == "zero_out" else 2)
    alone = Perturbed(*STATED, cost.curvature, cost.linear, cost.dimensions, 0.0, 0.0)
    std = budget.noise_std(np.array([[1.0]]), np.array([[m]])).item()
    ridge = budget.convexity(np.array([[0.25]])).item() / m
    line = np.linspace(-1, 1, 401) * (7 * std + 1) / ridge
    grid = np.stack(np.meshgrid(line, line), axis=-1)
    cell = (line[1] - line[0]) ** 2
    nearest = 0.0
    for _ in range(6):
        X = rng.normal(size=(m, 2))
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        y = rng.choice([-1.0, 1.0], m)
        other, labels = X.copy(), y.copy()
        angle = rng.uniform(0, 2 * math.pi)
        other[0] = 0 if relation == "zero_out" else (math.cos(angle), math.sin(angle))
        one, two = (_density(grid, *each, std, ridge) for each in ((X, y), (other, labels)))
        assert one.sum() * cell == pytest.approx(1, abs=1e-6)
        for p, q in ((one, two), (two, one)):
            for e in np.linspace(-0.5, 1.2, 12) * cost.epsilon:
                found = np.maximum(p - math.exp(e) * q, 0).sum() * cell
                bound = alone.hockey_stick(np.array([e]), False).item()
                assert found <= bound + 1e-9
                nearest = max(nearest, found / bound)
            seen = (p > 1e-250) & (q > 1e-250)
            for k in (0, 60, 120, 150):
                a = ORDERS[k]
                moment = np.exp(a * np.log(p[seen]) + (1 - a) * np.log(q[seen])).sum() * cell
                assert math.log(moment) / (a - 1) <= alone.renyi()[k] * (1 + 1e-9) + 1e-6
    assert nearest > 0.3


class _Problem:
    loss = type("Loss", (), {"rank": staticmethod(lambda outputs: 1)})
    model_shape, size = (1, 2), 2


def _density(v, X, y, std, ridge):
    """Of the solution, at models v: that of b times the determinant of the Hessian."""
    s = expit(-y * (v @ X.T))
    b = (y * s) @ X / len(y) - ridge * v
    outer = X[:, :, None] * X[:, None, :]
    hessian = np.einsum("...i,ijk->...jk", s * (1 - s), outer) / len(y) + ridge * np.eye(2)
    weight = np.exp(-np.square(b).sum(axis=-1) / (2 * std**2)) / (2 * math.pi * std**2)
    return weight * np.linalg.det(hessian)
