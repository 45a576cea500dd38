"""Defaults of the methods: what a study that does not say otherwise runs, as the papers state it."""

import pytest

from admmbench import list_algorithms
from admmbench.spec.run import RunSpec

# rho_t for MNIST, (21) of ryu2021 and (24) of ryu2022; 0.1 in section VI of huang2019.
RYU = {"c1": 2, "c2": 5, "period": 10_000, "growth": 1.2, "cap": 1e9, "scale": 1}
HUANG = {"c1": 0.1, "c2": 0, "period": 10_000, "growth": 1, "cap": 1e9, "scale": 1}
ROWS = {"dataset": "adult"}
COLUMNS = {"dataset": "a9a", "agents": {"scheme": "columns", "blocks": 2}}
CONSTRAINED = {"dataset": "synthetic_qp"}
PROXIMAL = {
    "beta": 1,
    "s": 0.01,
    "eps1": 1e-3,
    "eps2": 1e-3,
    "start": 1,
    "reach": 100,
    "theorems": False,
}
DEFAULTS = {
    "iadmm": {"rho": RYU, "a": 1, "local_updates": 1, "subproblem": "proximal", "average": None},
    "objp": {"rho": RYU, "a": 1, "local_updates": 1, "proximity": "sqrt", "average": None},
    "objt": {"rho": RYU, "a": 1, "local_updates": 1, "average": None},
    "outp": {"rho": RYU, "a": 1, "c_w": None, "average": None},
    "admm": {"rho": HUANG, "tolerance": 1e-5, "average": None},
    "pvp": {"rho": HUANG, "tolerance": 1e-5, "average": None},
    "dvp": {"rho": HUANG, "tolerance": 1e-5, "average": None},
    "dp_admm": {"rho": HUANG, "a": 1, "c_w": None, "step_size": "auto", "average": None},
    "dpsgd": {"learning_rate": 0.1, "sampling": 1.0},
    # The papers' steps follow from constants of a loss, and their pull from the budget.
    "accelerated_dpsgd": {"learning_rate": 0.1, "sampling": 1.0, "convexity": 0},
    "localized_dpsgd": {
        "learning_rate": 0.1,
        "sampling": 1.0,
        "convexity": 0.01,
        "growth": 8,
        "phase_rounds": 10,
    },
    "centralized": {},
    # The suite's: their papers have other data, and other neighbours.
    "dp_fedavg": {"learning_rate": 0.005, "local_updates": 20, "clip": 1},
    "dp_scaffold": {"learning_rate": 0.1, "local_updates": 5},
    # config.yaml of the authors' code, with longer steps.
    "fedadmm_insa": {
        "learning_rate": 0.1,
        "local_updates": 10,
        "beta": 10,
        "convexity": 0.01,
        "mu": 5,
        "tau": 2,
        "memory": 0.01,
    },
    "fed_plt": {"learning_rate": 0.1, "local_updates": 5, "rho": 0.1},
    # rho of the authors' code; the others are the suite's.
    "dp_fedadmm": {"rho": 0.01, "learning_rate": 0.1, "local_updates": 5, "clip": 1},
    # Shares of the authors' code; its gamma is 1 / n^2.
    "amp": {"noise_share": 0.9, "output_share": 0.01, "tolerance": 1e-10},
    # The paper prints no mu, and takes the median of norms for the clip.
    "nbafl": {"rho": HUANG, "tolerance": 1e-5, "clip": 10, "bound": "proved", "average": None},
    "iceadmm": {"rho": RYU, "a": 1, "local_updates": 1, "average": None},
    "fedpd": {"eta": 10, "learning_rate": 0.1, "local_updates": 8, "skip": 0},
    "private_admm": {"rho": HUANG, "tolerance": 1e-5, "relaxation": 0.5, "average": None},
    # hu2019 states no more than its own parameters; the others are the suite's.
    "admm_sharing": {"rho": 1, "coupling": "parallel", "theorems": False},
    "dp_admm_sharing": {"rho": 1, "coupling": "parallel", "noise": None, "b1": 1},
    "vertical_sgd": {"learning_rate": 0.1, "batch_size": 100, "init_std": 0.01},
    "private_vertical_sgd": {
        "learning_rate": 0.1,
        "batch_size": 100,
        "init_std": 0.01,
        "clip": 1,
        "clip_predictions": 1,
        "share": 0.5,
    },
    "vimadmm": {
        "rho": 1,
        "coupling": "parallel",
        "learning_rate": 0.1,
        "local_updates": 1,
        "clip": 1,
        "clip_predictions": 1,
        "share": 0.5,
    },
    "frank_wolfe": {"radius": 10},
    "local_only": {"parties": 1},
    "one_agent": {},
    # Those of scikit-learn's estimator.
    "sklearn_logistic": {"objective": "default", "parties": None, "tol": 1e-4, "max_iter": 100},
    # he2023, section 5.1; it prints neither q nor limits.
    "prox_al": {**PROXIMAL, "rho": 1, "q": 0.9, "inner_limit": 100_000},
    "cprox_al": PROXIMAL,
    "fedavg_penalty": {"weight": 10, "learning_rate": 1e-3, "local_updates": 5, "start": 1},
    # The suite's; the authors' library starts at multipliers of 0.
    "primal_dual": {"learning_rate": 0.01, "multiplier_rate": 0.01, "multiplier": 0, "start": 1},
}


@pytest.mark.parametrize("name", DEFAULTS)
def test_defaults_are_those_of_the_papers(name):
    features = ("sharing", "vimadmm", "vertical_sgd", "local_only", "frank_wolfe")
    over_columns = any(each in name for each in features)
    setting = COLUMNS if over_columns else ROWS
    if name in ("prox_al", "cprox_al", "fedavg_penalty", "primal_dual"):
        setting = CONSTRAINED
    params = {"c_w": 1} if name == "dp_admm" else {}
    rounds = {"rounds": 1} if name in ("amp", "one_agent") else {}
    spec = RunSpec(algorithm=name, epsilon=1, params=params, **setting, **rounds)
    found = spec.complete()["params"]
    assert found | ({"c_w": None} if name == "dp_admm" else {}) == DEFAULTS[name]


def test_all_methods_are_here():
    assert set(DEFAULTS) == set(list_algorithms())
