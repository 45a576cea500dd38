"""Feasible sets: projections, and optima over them."""

import numpy as np
import pytest
from scipy import optimize

from admmbench import simulate
from admmbench.contracts.made_up_data import make_dataset
from admmbench.problems import as_problem
from admmbench.problems.feasible import Feasible, minimize_in_ball

SETS = [Feasible(box=0.3), Feasible(ball=0.8)]


@pytest.mark.parametrize("W", SETS)
def test_a_projection_is_the_nearest_model(W):
    """By its variational inequality, at many models of W."""
    rng = np.random.default_rng(1)
    models = rng.normal(size=(5, 2, 3))
    nearest = W.project(models)
    others = W.project(rng.normal(size=(200, 5, 2, 3)) * rng.choice([0.1, 1, 10], (200, 1, 1, 1)))
    assert ((models - nearest) * (others - nearest)).sum(axis=(-2, -1)).max() <= 1e-12
    assert W.project(nearest) == pytest.approx(nearest)
    inside = 0.01 * models
    assert (W.project(inside) == inside).all()
    assert W.project(models.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("W", SETS)
def test_what_is_farthest(W):
    rng = np.random.default_rng(2)
    ways = rng.normal(size=(4, 2, 3))
    others = W.project(10 * rng.normal(size=(500, 1, 2, 3)))
    products = (others * ways).sum(axis=(-2, -1))
    assert (products <= W.support(ways) + 1e-12).all()
    end = W.farthest(ways)
    assert (end * ways).sum(axis=(-2, -1)) == pytest.approx(W.support(ways))
    assert W.project(end) == pytest.approx(end)
    corner = W.farthest(np.ones((2, 3)))
    assert W.diameter(6) == pytest.approx(2 * np.linalg.norm(corner))


@pytest.mark.parametrize("radius", [0.2, 1.0, 50.0])
def test_minimum_in_a_ball(radius):
    rng = np.random.default_rng(3)
    root, b = rng.normal(size=(6, 4)), rng.normal(size=6)

    def function(v):
        gap = root @ v - b
        return float(gap @ gap) / 2, root.T @ gap

    def search(f, start):
        return optimize.minimize(f, start, jac=True, method="BFGS", options={"gtol": 1e-10}).x

    found = minimize_in_ball(function, search, np.zeros(4), radius)
    ball = {"type": "ineq", "fun": lambda v: radius**2 - v @ v}
    given = {"jac": True, "constraints": ball, "options": {"ftol": 1e-14}}
    wanted = optimize.minimize(function, np.full(4, 0.1), **given).x
    assert found == pytest.approx(wanted, abs=1e-5)
    assert np.linalg.norm(found) <= radius * (1 + 1e-12)


@pytest.mark.parametrize("radius", [0.5, 1.5, 3.3])
def test_a_minimum_on_the_sphere_of_a_ball_is_on_it(radius):
    """Also where searches end at one side of it or the other, as rounding makes them."""
    centre = np.array([3.0, 4.0])

    def function(v):
        return float((v - centre) @ (v - centre)) / 2, v - centre

    def search(f, start):
        multiplier = (f(centre)[1] / centre)[0]
        return np.round(centre / (1 + multiplier), 3)

    found = minimize_in_ball(function, search, np.zeros(2), radius)
    assert np.linalg.norm(found) == pytest.approx(radius, rel=1e-15)
    assert found == pytest.approx(radius * centre / 5, abs=1e-3)


@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.parametrize("W", [{"box": 0.05}, {"ball": 0.2}])
def test_the_centralized_optimum_is_that_over_w(penalty, W):
    """No step within W lowers the objective, and without W it is lower."""
    data = make_dataset(60, 20, 5, 3)
    problem = {"loss": "softmax", "penalty": penalty, "strength": 1e-3, "per": "total"}
    given = {"agents": 3, "rounds": 1, "seeds": [0], "dtype": "float64"}
    free = simulate(data, "centralized", problem=problem, **given)
    cut = simulate(data, "centralized", problem=problem | {"feasible": W}, **given)
    assert float(cut.train_loss[0, -1]) > float(free.train_loss[0, -1]) + 1e-3
    wide = simulate(data, "centralized", problem=problem | {"feasible": {"ball": 1e4}}, **given)
    assert float(wide.train_loss[0, -1]) == pytest.approx(float(free.train_loss[0, -1]), abs=1e-9)
    # Projected (sub)gradient ADMM over W comes down to it, from above.
    params = {"local_updates": 5, "rho": 0.1, "a": 2}
    more = {**given, "rounds": 400, "evaluate_every": 400}
    run = simulate(data, "objp", params, problem=problem | {"feasible": W}, **more)
    assert float(run.train_loss[0, -1]) == pytest.approx(float(cut.train_loss[0, -1]), rel=3e-3)


def test_a_set_is_a_box_or_a_ball():
    for wrong in ({}, {"box": 1, "ball": 1}, {"ball": 0}, {"box": -1}):
        with pytest.raises(ValueError, match=r"feasible"):
            as_problem({"loss": "softmax", "feasible": wrong}, "rows")
    with pytest.raises(ValueError, match="about shared rows"):
        as_problem({"loss": "logistic", "feasible": {"box": 1}}, "columns")
    described = as_problem({"loss": "softmax", "feasible": {"box": 1}}, "rows").describe()
    assert described["feasible"] == {"box": 1}
    assert "feasible" not in as_problem("softmax", "rows").describe()


def test_methods_that_do_not_project_refuse():
    data = make_dataset(60, 20, 5, 3)
    with pytest.raises(ValueError, match="does not keep its models in a set"):
        simulate(data, "dpsgd", problem={"loss": "softmax", "feasible": {"box": 1}})
