"""Accelerated DP-SGD: a transcription, its rate without noise, and its total."""

import math

import numpy as np
import pytest
from scipy import optimize

from admmbench import simulate
from tests.algorithms.literal_huang2019 import (
    DELTA,
    EPS,
    LOGISTIC,
    STRENGTH,
    J,
    Literal,
    P,
    T,
    check_trajectory,
    in_unit_ball,
)


def noisy_mean(run, w, k):
    total = np.zeros(J)
    for i in range(P):
        total += run.noisy(run.loss_gradient(i, w), i, run.c1[i] / run.m[i], k) + run.penalty(w)
    return total / P


def ac_sa(gradient, start, steps, a, mu, nearest=lambda v: v):
    """Ghadimi and Lan (2012), with their subproblem handed to scipy unless a projection follows it."""
    x, x_ag = start, start
    for k in range(1, steps + 1):
        alpha, gamma = 2 / (k + 1), 4 / (a(k) * k * (k + 1))
        below = gamma + (1 - alpha**2) * mu
        x_md = (1 - alpha) * (mu + gamma) / below * x_ag
        x_md = x_md + alpha * ((1 - alpha) * mu + gamma) / below * x
        g = gradient(x_md, k)

        def slope(v, x=x, x_md=x_md, g=g, alpha=alpha, gamma=gamma):
            near = ((1 - alpha) * mu + gamma) * (v - x)
            return alpha * (g + mu * (v - x_md)) + near

        x = nearest(optimize.root(slope, x, tol=1e-14).x)
        x_ag = alpha * x + (1 - alpha) * x_ag
        yield x_ag


@pytest.mark.parametrize("eps", [math.inf, EPS])
@pytest.mark.parametrize("mu", [0.0, 0.2])
@pytest.mark.parametrize("step", ["constant", "sqrt"])
def test_trajectory_is_the_literal_one(mu, step, eps):
    def literal(run):
        def a(k):
            return 0.7 / math.sqrt(k) if step == "sqrt" else 0.7

        for w in ac_sa(lambda x, k: noisy_mean(run, x, k), np.zeros(J), T, a, mu):
            yield w, [w] * P

    params = {"learning_rate": 0.7, "convexity": mu, "step": step}
    check_trajectory("accelerated_dpsgd", params, literal, eps)


class Sites(Literal):
    """The stated problem without noise."""

    def objective(self, w, pull=0.0, center=0.0):
        return sum(self.f(i, w) for i in range(P)) / P + pull / 2 * np.sum((w - center) ** 2)

    def solve_all(self, pull=0.0, center=0.0):
        def slope(w):
            gradients = sum(self.gradient(i, w) for i in range(P)) / P
            return gradients + pull * (w - center)

        return optimize.root(slope, np.zeros(J), tol=1e-13).x


def losses(name, params, rounds, **given):
    usual = {"epsilon": math.inf, "dtype": "float64", "seeds": 1, "agents": P}
    given = {"problem": LOGISTIC, "rounds": rounds, "evaluate_every": 1, **usual, **given}
    trace = simulate(in_unit_ball(), name, params, **given)
    return trace.train_loss.values[0] / P


@pytest.mark.parametrize("mu", [0.0, STRENGTH])
def test_without_noise_the_rate_is_the_proved_one(mu):
    """The curvature is at most a quarter, of a logistic loss with records in the unit ball, and the strength."""
    run, a = Sites(), 1 / (1 / 4 + STRENGTH)
    best = run.solve_all()
    found = losses("accelerated_dpsgd", {"learning_rate": a, "convexity": mu}, 200)
    k = np.arange(1, 201)
    bound = 2 * best @ best / (a * k * (k + 1))
    gap = found[-200:] - run.objective(best)
    assert (gap <= bound * (1 + 1e-9)).all()
    plain = losses("dpsgd", {"learning_rate": a}, 200)[-200:] - run.objective(best)
    assert gap[99] < plain[99] / 3


@pytest.mark.parametrize("name", ["accelerated_dpsgd", "localized_dpsgd"])
@pytest.mark.parametrize("trust", ["agents", "secure_sum"])
def test_totals_are_those_of_noisy_gradients(name, trust):
    """Noise that is solved for a total is that of DP-GD, and reaches it."""
    given = {"privacy": {"total": 2.0, "trust": trust}, "sensitivity": "global", "delta": DELTA}
    given |= {"problem": LOGISTIC, "agents": P, "rounds": 12, "evaluate_every": 12, "seeds": 2}
    one, other = (simulate(in_unit_ball(), each, **given) for each in (name, "dpsgd"))
    total = float(one.epsilon_total[-1])
    assert 1.98 <= total <= 2
    assert total == float(other.epsilon_total[-1])
    assert one.epsilon_total.attrs == other.epsilon_total.attrs
    assert (
        one.epsilon_total.attrs["conditions"] == "stated_domain"
    )  # of data without a declared one
