"""Noise-free runs whose numbers are kept: every method, variant and kind of problem on small made-up data."""

import itertools

from admmbench.contracts.made_up_data import make_dataset

ROUNDS = {"rounds": 12, "evaluate_every": 3, "seeds": [0, 1, 2], "dtype": "float64"}
SOFTMAX = {"loss": "softmax", "penalty": "l2", "strength": 2e-2, "per": "total"}
LOGISTIC = {"loss": "logistic", "penalty": "l2", "strength": 1e-2, "per": "agent"}
LASSO = {"loss": "logistic", "penalty": "l1", "strength": 1e-2, "per": "agent"}
COLUMNS = {"loss": "logistic", "penalty": "l2", "strength": 2e-2}
SIGMOID = {"loss": "sigmoid", "penalty": "l2", "strength": 2e-2}

AGENTS = 4
IID = {"scheme": "iid", "agents": AGENTS}
SHUFFLED = {**IID, "shuffle": True}
DRAWN = {**SHUFFLED, "train": 50}
WRITERS = {"scheme": "by_writer"}
PARTIES = {"scheme": "columns", "blocks": [3, 4]}

SCHEDULE = {"c1": 0.3, "c2": 1, "period": 4, "growth": 1.5, "scale": 0.5}
ANY = [
    ("iadmm", {}),
    ("iadmm", {"subproblem": "trust_region", "a": 0.1}),
    ("objp", {"a": 0.3}),
    ("objp", {"local_updates": 3, "rho": SCHEDULE}),
    ("objt", {"a": 0.2}),
    ("outp", {}),
    ("outp", {"a": 2, "c_w": 5, "rho": SCHEDULE}),
    ("admm", {"tolerance": 1e-12}),
    ("pvp", {"tolerance": 1e-12}),
    ("dvp", {"tolerance": 1e-12}),
    ("dp_admm", {}),
    ("dp_admm", {"c_w": 3, "rho": 1}),
    ("dpsgd", {"learning_rate": 0.5}),
    ("objp", {"proximity": "smooth"}),
]
SMOOTH = {"outp", "pvp", "dvp"}
TWO_VARIANTS = {"iadmm", "objp", "objt", "outp"}
DIVIDED_BY_OWN = {"outp", "admm", "pvp", "dp_admm"}
DIVIDED_BY_ALL = {"iadmm", "objp", "objt"}


def rows():
    """Methods over rows, on each kind of problem."""
    for (name, params), (key, problem) in itertools.product(
        ANY, {"softmax": SOFTMAX, "logistic": LOGISTIC, "lasso": LASSO}.items()
    ):
        if key == "softmax" and name == "dvp":
            continue
        if key == "lasso" and (name in SMOOTH or params.get("proximity") == "smooth"):
            continue
        for variant in ("paper", "reference")[: 1 + (name in TWO_VARIANTS)]:
            yield {
                "algorithm": name,
                "params": params,
                "variant": variant,
                "problem": problem,
                "agents": IID,
            }


def shapes():
    """Other partitions, bounds on records and worst-case sensitivities."""
    bounded = {**SOFTMAX, "records": {"max_l1_norm": 2.5}}
    shorter = {**LOGISTIC, "records": {"max_l2_norm": 0.5}}
    free = {**LASSO, "records": {}}
    for problem, agents in itertools.product(
        (bounded, shorter, free), (IID, SHUFFLED, DRAWN, WRITERS)
    ):
        for name, params in (
            ("objp", {"local_updates": 2}),
            ("dp_admm", {}),
            ("admm", {"tolerance": 1e-12}),
        ):
            yield {"algorithm": name, "params": params, "problem": problem, "agents": agents}
    for problem in (bounded, shorter):
        for name, settings in (("objp", {"proximity": "smooth"}), ("outp", {})):
            yield {
                "algorithm": name,
                "params": settings,
                "problem": problem,
                "agents": SHUFFLED,
                "sensitivity": "global",
            }


def columns():
    """Methods over columns."""
    for problem in (COLUMNS, SIGMOID):
        for coupling in ("parallel", "averaged"):
            for name in ("admm_sharing", "dp_admm_sharing"):
                params = {"rho": 0.7, "coupling": coupling}
                yield {"algorithm": name, "params": params, "problem": problem, "agents": PARTIES}
        params = {"batch_size": 20, "learning_rate": 0.5}
        yield {"algorithm": "vertical_sgd", "params": params, "problem": problem, "agents": PARTIES}
    some = {"scheme": "columns", "blocks": 2, "features": 5}
    yield {"algorithm": "admm_sharing", "params": {}, "problem": COLUMNS, "agents": some}


def optima():
    """Solvers: compared within their own tolerance."""
    for problem, agents in (
        (SOFTMAX, IID),
        (LOGISTIC, IID),
        (LOGISTIC, DRAWN),
        (LASSO, IID),
        (COLUMNS, PARTIES),
    ):
        yield {"algorithm": "centralized", "problem": problem, "agents": agents}
    for parties in (1, 2):
        yield {
            "algorithm": "local_only",
            "params": {"parties": parties},
            "problem": COLUMNS,
            "agents": PARTIES,
        }


def solved(case):
    """State the problem that a method solved when traces were made: most divided alike, whatever the problem said."""
    name, problem = case["algorithm"], case["problem"]
    if case.get("variant") == "reference":  # the penalty of all agents, for each
        agents = AGENTS if problem["per"] == "agent" else 1
        problem = {**problem, "strength": problem["strength"] * agents, "per": "agent"}
    if problem["loss"] == "softmax":
        if name in DIVIDED_BY_OWN:
            return {**problem, "average": "agents"}
        if name == "dpsgd":  # an agent's part of the penalty
            return {**problem, "strength": problem["strength"] / AGENTS}
    elif name in DIVIDED_BY_ALL:
        return {**problem, "average": "records"}
    return problem


def settings(case):
    """Arguments of `simulate`."""
    n_classes = 3 if case["problem"]["loss"] == "softmax" else 2
    writers = 5 if case["agents"]["scheme"] == "by_writer" else 0
    data = make_dataset(n_train=61, n_classes=n_classes, writers=writers)
    return {**ROUNDS, "dataset": data, **case, "problem": solved(case)}


EXACT = [*rows(), *shapes(), *columns()]
SOLVED = list(optima())
