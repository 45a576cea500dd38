"""What the best of many runs costs, against dp-accounting and a mechanism whose law is known."""

import math

import dp_accounting as dp
import numpy as np
import pytest
from dp_accounting import dp_event

from admmbench.privacy import Approximate, Gaussian, Laplace, Ledger, Pure
from admmbench.privacy.costs import ORDERS
from admmbench.privacy.selection import SHAPES, selected


def spent(*pairs):
    ledger = Ledger()
    for cost, count in pairs:
        ledger.add(cost, count)
    return ledger.spending()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("trials", [2, 24, 500])
@pytest.mark.parametrize(
    ("pairs", "event"),
    [
        ([(Gaussian(5.0), 20)], dp.SelfComposedDpEvent(dp.GaussianDpEvent(5.0), 20)),
        ([(Laplace(0.1, 0.1, 0.1), 30)], dp.SelfComposedDpEvent(dp.LaplaceDpEvent(10.0), 30)),
    ],
    ids=["gaussian", "laplace"],
)
def test_it_is_the_total_of_dp_accounting(shape, trials, pairs, event):
    accountant = dp.rdp.RdpAccountant(ORDERS, dp.NeighboringRelation.REPLACE_SPECIAL)
    accountant.compose(dp_event.RepeatAndSelectDpEvent(event, trials, SHAPES[shape]))
    expected = accountant.get_epsilon(1e-5)
    assert selected(spent(*pairs), 1e-5, trials, shape) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("shape", SHAPES)
def test_it_holds_for_randomised_response(shape):
    """The best of K answers that are each right with a chance p, ties for the yes: its law is a sum over K."""
    epsilon, trials = 0.5, 6
    p = 1 / (1 + math.exp(-epsilon))
    k = np.arange(1, 20_000)
    if shape == "geometric":
        chances = (1 - 1 / trials) ** (k - 1) / trials
    else:
        inverse = np.geomspace(1 + 1e-9, 1e9, 2_000_001)
        gamma = 1 / inverse[np.argmin(np.abs((inverse - 1) / np.log(inverse) - trials))]
        chances = (1 - gamma) ** k / k / math.log(1 / gamma)
    assert chances.sum() == pytest.approx(1, abs=1e-6)
    no_yes = [float(chances @ (1 - each) ** k) for each in (p, 1 - p)]
    yes = [1 - each for each in no_yes]
    shown = max(abs(math.log(yes[0] / yes[1])), abs(math.log(no_yes[0] / no_yes[1])))
    assert epsilon < shown <= selected(spent((Pure(epsilon), 1)), 1e-9, trials, shape)


def test_what_has_no_divergences_has_no_total():
    assert selected(spent((Approximate(0.5, 1e-7), 1)), 1e-5, 24, "geometric") == math.inf
    assert selected(spent((Gaussian(0.0), 1)), 1e-5, 24, "geometric") == math.inf
