"""Newton's method where its full steps lead away from the minimum."""

import numpy as np
import pytest

from admmbench.problems.newton import descent, minimize


class Hyperbola:
    """sqrt(1 + |x|^2) of many problems: from |x| > 1, Newton's step -x (1 + |x|^2) leads farther away."""

    def __init__(self, x):
        self.x = x
        self.value = np.sqrt(1 + (x**2).sum(axis=-1))
        self.gradient = x / self.value[..., None]

    def newton_step(self):
        size = self.value[..., None, None]
        outer = self.x[..., :, None] * self.x[..., None, :]
        hessian = (np.eye(self.x.shape[-1]) - outer / size**2) / size
        return descent(hessian, self.gradient, convex=True)


@pytest.mark.parametrize("far", [0.5, 1.5, 30.0])
def test_steps_are_shortened_until_values_fall(far):
    start = far * np.array([[1.0, -2.0], [0.1, 0.0], [0.0, 3.0]])
    x, gradient = minimize(Hyperbola, start, 1e-9)
    assert np.abs(x).max() < 1e-8
    assert np.abs(gradient).max() <= 1e-9


def test_problems_that_are_not_to_be_solved_stay():
    start = np.array([[5.0], [5.0]])
    x, _ = minimize(Hyperbola, start, np.array([1e-9, np.inf]))
    assert abs(x[0, 0]) < 1e-8
    assert x[1, 0] == 5


def test_an_indefinite_hessian_gives_a_descent_direction():
    hessian, gradient = np.diag([2.0, -1.0]), np.array([1.0, 1.0])
    step = descent(hessian, gradient, convex=False)
    np.testing.assert_allclose(step, [-0.5, -1.0])
