"""Samples in which another record takes the place of one: brute force."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import norm

from admmbench.privacy import Replaced


def divergence(p, other, epsilon, x):
    return np.trapezoid(np.maximum(p - math.exp(epsilon) * other, 0), x)


@pytest.mark.parametrize(("m", "q"), [(0.7, 0.3), (1.5, 0.1)])
def test_no_other_contributions_tell_neighbours_apart_better(m, q):
    """By brute force in the plane: of any two contributions that are at most 1 long."""
    axis = np.linspace(-8 * m - 1, 8 * m + 1, 501)
    x = np.stack(np.meshgrid(axis, axis))
    cell = (axis[1] - axis[0]) ** 2
    epsilons = np.array([0.0, 0.3, 1.0])
    worst = Replaced(m / 2, q).hockey_stick(epsilons, False)
    generator = np.random.default_rng(1)
    values = [(r * math.cos(a), r * math.sin(a)) for r, a in itertools.product((0, 0.5, 1), (0, 2))]
    values += list(generator.uniform(-1, 1, (3, 2)) / math.sqrt(2))

    def density(u):
        of = norm.pdf(x, np.reshape(u, (2, 1, 1)), m).prod(axis=0)
        return (1 - q) * norm.pdf(x, 0, m).prod(axis=0) + q * of

    densities = [density(u) for u in [*values, (1, 0), (-1, 0)]]
    found = [
        [np.maximum(one - math.exp(e) * other, 0).sum() * cell for e in epsilons]
        for one, other in itertools.permutations(densities, 2)
    ]
    assert np.max(found, axis=0) == pytest.approx(worst, rel=1e-3)  # on opposite sides


@pytest.mark.parametrize(("m", "size"), [(0.7, 1), (1.5, 2), (3.0, 3)])
def test_cohorts_never_tell_neighbours_apart_better(m, size):
    """By brute force on a line: of four agents so many take part, with any messages that are at most 1 long."""
    x = np.linspace(-8 * m - 4, 8 * m + 4, 4001)
    epsilons = np.array([0.0, 0.3, 1.0])
    most = Replaced(m / 2, size / 4, 1.0).hockey_stick(epsilons, False)

    def density(*messages):
        sums = [sum(each) for each in itertools.combinations(messages, size)]
        return np.mean([norm.pdf(x, value, m) for value in sums], axis=0)

    generator = np.random.default_rng(2)
    others = [(1, 1, 1), (-1, -1, 1), (0, 0, 0), *generator.uniform(-1, 1, (4, 3)).tolist()]
    found = np.array(
        [
            [divergence(density(own, *rest), density(other, *rest), e, x) for e in epsilons]
            for rest in others
            for own, other in [(1, -1), (-1, 1), (1, 0), (0, -1), (0.5, -0.3)]
        ]
    )
    assert (found <= most).all()
    assert found.max(axis=0)[0] > 0.3 * most[0]
