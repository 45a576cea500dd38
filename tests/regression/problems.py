"""Short noisy runs whose models, noise and totals are kept: what methods compute on a problem that states it.

``problems.npz`` was made by the code of commit 6d2cc4c, which gave most methods one divisor and one weight of the
penalty, whatever the problem said: see `RESTATED`.
"""

from functools import cache
from pathlib import Path

import numpy as np

from admmbench.contracts.made_up_data import make_dataset
from admmbench.engine.context import Context
from admmbench.engine.rounds import run_rounds
from admmbench.spec.run import RunSpec
from admmbench.study import config

KEPT = Path(__file__).with_name("problems.npz")
AGENTS = 4
SHORT = {
    "agents": {"scheme": "by_writer"},
    "rounds": 6,
    "evaluate_every": 3,
    "seeds": (0, 1),
    "dtype": "float64",
}
PRIVATE = {"epsilon": 1.0, "delta": 1e-5, "sensitivity": "global"}
STUDIES = (
    "audit_mnist",
    "audit_mnist_worst_case",
    "ryu2021_femnist",
    "ryu2021_mnist",
    "ryu2021_penalty_femnist",
    "ryu2021_penalty_mnist",
    "ryu2021_proximity_femnist",
    "ryu2021_remark3",
    "ryu2021_worst_case",
    "ryu2022_femnist",
    "ryu2022_mnist",
    "ryu2022_updates",
)
"""Of ryu2021 and ryu2022, whose OutP divides by an agent's own records, and whose other methods by all."""

STRENGTH = 2e-2
SOFTMAX = {"loss": "softmax", "per": "total", "records": {"max_l2_norm": 1}}
OWN = {**SOFTMAX, "strength": STRENGTH, "average": "agents"}
"""What methods solved that divided by an agent's own records, if records were to count alike."""
ALL = {"loss": "logistic", "strength": 1e-2, "per": "agent", "average": "records"}
"""What methods solved that divided by all records, if agents were to count alike."""
STRONGER = {**ALL, "strength": 1e-2 * AGENTS}
"""The same with the penalty of the authors' code: that of all agents, for each."""
WEAKER = {**SOFTMAX, "strength": STRENGTH / AGENTS, "average": "records"}
"""What the server's means solved, weighted by records, with an agent's part of the strength."""
EXACTLY = {"tolerance": 1e-12}
RESTATED = {
    "outp": ("outp", {}, OWN),
    "outp, code": ("outp", {"variant": "reference"}, {**OWN, "per": "agent"}),
    "dp_admm": ("dp_admm", {}, OWN),
    "admm": ("admm", {"params": EXACTLY}, OWN),
    "pvp": ("pvp", {"params": EXACTLY}, OWN),
    "dvp": ("dvp", {"params": EXACTLY}, {**ALL, "average": "agents"}),
    "private_admm": ("private_admm", {"params": {**EXACTLY, "relaxation": 0.7}}, OWN),
    "iadmm": ("iadmm", {}, ALL),
    "iadmm, code": ("iadmm", {"variant": "reference"}, STRONGER),
    "objp": ("objp", {}, ALL),
    "objp, code": ("objp", {"variant": "reference"}, STRONGER),
    "objp, smooth": ("objp", {"params": {"proximity": "smooth"}}, ALL),
    "objpm": ("objp", {"params": {"local_updates": 3}, "privacy": {"noise": "gaussian"}}, ALL),
    "objt": ("objt", {"params": {"a": 0.2}}, ALL),
    "objt, code": ("objt", {"params": {"a": 0.2}, "variant": "reference"}, STRONGER),
    "iceadmm": ("iceadmm", {"params": {"local_updates": 3}}, ALL),
    "dpsgd": ("dpsgd", {"params": {"learning_rate": 0.5}}, WEAKER),
    "dpsgd, samples": ("dpsgd", {"params": {"learning_rate": 0.5, "sampling": 0.3}}, WEAKER),
    "dp_fedavg": ("dp_fedavg", {"params": {"learning_rate": 0.2, "local_updates": 3}}, WEAKER),
    "dp_scaffold": ("dp_scaffold", {"params": {"learning_rate": 0.2}}, WEAKER),
    "fedpd": ("fedpd", {"params": {"skip": 0.5}}, WEAKER),
    "nbafl": ("nbafl", {"params": EXACTLY}, WEAKER),
    "dp_fedadmm": ("dp_fedadmm", {"params": {"clip": 0.5}}, WEAKER),
    # With a smaller budget, the ridge of its proof stands in for all of the penalty.
    "amp": ("amp", {"rounds": 1, "evaluate_every": 1, "epsilon": 1e3}, WEAKER),
}
"""Methods, with a statement of the problem that they solved at that commit: there OWN had ``average: records``, ALL
had ``agents``, and WEAKER had all of `STRENGTH`."""


@cache
def data(n_classes):
    """Return 61 records, of which agents have 12 to 18."""
    return make_dataset(n_train=61, n_classes=n_classes, writers=AGENTS)


@cache
def cases():
    """Return what is run, by name: each label of the studies at its first budget, and methods on restated problems."""
    found: dict[str, RunSpec] = {}
    experiments = config.load({"experiments": list(STUDIES)}).experiments
    for name, experiment in experiments.items():
        for run in experiment.runs:
            changes = {"dataset": data(3), **SHORT}
            problem = {**run.spec.problem, "strength": STRENGTH}  # one that matters
            spec = RunSpec(**{**run.spec.model_dump(), **changes, "problem": problem})
            found.setdefault(f"{name}: {run.label}", spec)
    for name, (method, settings, problem) in RESTATED.items():
        of = data(2 if problem["loss"] == "logistic" else 3)
        given = {"dataset": of, "algorithm": method, "problem": problem, **SHORT, **PRIVATE}
        found[name] = RunSpec(**{**given, **settings})
    return found


class Models:
    """Take the models of the last round."""

    def load(self, snapshot):
        """Begin with the first round."""

    def after_round(self, snapshot):
        """Take the global model."""
        self.w = snapshot.state.w.copy()

    def save(self, snapshot):
        """Keep nothing."""


def measure(spec):
    """Return the model, errors, noise and totals of a run, but no objective: that is another one on another problem."""
    models = Models()
    trace = run_rounds(spec, spec.dataset, Context(checkpoint=models)).variables()["arrays"]
    names = (
        "test_error",
        "test_loss",
        "noise_magnitude",
        "consensus_violation",
        "epsilon_claimed",
        "epsilon_composed",
        "epsilon_moments",
    )
    return {"model": models.w, **{name: trace[name] for name in names}}


def keep(specs):
    """Write the file: for each run all numbers, one after another."""
    found = {
        name: [np.ravel(values) for values in measure(spec).values()]
        for name, spec in specs.items()
    }
    np.savez_compressed(
        KEPT,
        names=list(found),
        **{str(n): np.concatenate(values) for n, values in enumerate(found.values())},
    )
