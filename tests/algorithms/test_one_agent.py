"""One agent alone: its optimum is that of scikit-learn on the records of one agent, and seeds pick all agents."""

import math

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from admmbench import load_dataset, simulate


def test_each_seed_has_the_error_of_one_agent_and_all_agents_are_picked():
    data, strength = load_dataset("breast_cancer_wisconsin"), 1e-2
    problem = {"loss": "logistic", "strength": strength, "per": "total", "average": "records"}
    trace = simulate(
        dataset=data,
        algorithm="one_agent",
        problem=problem | {"records": {}},
        agents=3,
        epsilon=math.inf,
        rounds=1,
        seeds=20,
    )
    expected = []
    for rows in np.array_split(np.arange(data.n_train), 3):
        model = LogisticRegression(C=1 / (strength * len(rows)), fit_intercept=False, tol=1e-8)
        model.fit(data.X_train[rows], data.y_train[rows])
        expected.append(1 - model.score(data.X_test, data.y_test))
    errors = trace["test_error"].values[:, -1]
    nearest = np.abs(errors[:, None] - expected)
    assert nearest.min(axis=1) == pytest.approx(0, abs=1e-9)
    assert len(np.unique(errors)) > 1
