"""What methods over rows share: messages, weights, and bounds on what a record moves."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from admmbench import simulate
from admmbench.base.observers import Observer
from admmbench.contracts.made_up_data import make_dataset
from tests.algorithms.literal_huang2019 import EPS, LOGISTIC, J, P, in_unit_ball, released


def test_messages_are_counted():
    """What the server sends to each agent, and they to it, in models."""
    given = {"agents": P, "epsilon": EPS, "rounds": 1, "problem": LOGISTIC}
    for name, models in (
        ("dp_fedavg", 2),
        ("dp_scaffold", 4),
        ("fed_plt", 2),
        ("private_admm", 2),
        ("nbafl", 2),
        ("iceadmm", 2),
        ("fedpd", 2),
    ):
        assert float(simulate(in_unit_ball(), name, **given).floats_sent[-1]) == models * P * J


def pair(rng, extreme, n_classes):
    """Data of a few records; the same where the first is null; and where it is another."""
    n = int(rng.integers(1, 6))
    X = rng.uniform(-1, 1, (n, 3)).astype(np.float32)
    y = rng.integers(0, n_classes, n)
    if extreme:
        X[0] = 1
    made = make_dataset(n, 4, 3, n_classes)
    one = replace(made, X_train=X, y_train=y, domain=(-1.0, 1.0))
    null, other = X.copy(), X.copy()
    null[0], other[0] = 0, -X[0] if extreme else rng.uniform(-1, 1, 3)
    return one, replace(one, X_train=null), replace(one, X_train=other)


METHODS = st.one_of(
    st.fixed_dictionaries(
        {
            "learning_rate": st.floats(0.01, 6),
            "local_updates": st.integers(1, 8),
            "clip": st.sampled_from([0.05, 0.5, 1e6]),
        }
    ).map(lambda params: ("dp_fedavg", params)),
    st.fixed_dictionaries(
        {
            "rho": st.floats(0.05, 2),
            "relaxation": st.floats(0.1, 1),
            "tolerance": st.sampled_from([1e-10, 0.05]),
        }
    ).map(lambda params: ("private_admm", params)),
    st.fixed_dictionaries(
        {
            "rho": st.floats(0.05, 2),
            "clip": st.sampled_from([0.05, 0.5, 1e6]),
            "tolerance": st.sampled_from([1e-10, 0.05]),
        }
    ).map(lambda params: ("nbafl", params)),
    st.fixed_dictionaries(
        {"rho": st.floats(0.01, 10), "tolerance": st.sampled_from([1e-10, 0.05])}
    ).map(lambda params: ("pvp", params)),
    st.fixed_dictionaries({"rho": st.floats(0.01, 10), "a": st.floats(0.1, 100)}).map(
        lambda params: ("dp_admm", params)
    ),
    st.just(("dp_scaffold", {"learning_rate": 1.0, "local_updates": 1})),
)


@settings(max_examples=200, deadline=None)
@given(
    method=METHODS,
    seed=st.integers(0, 2**32),
    extreme=st.booleans(),
    loss=st.sampled_from(["logistic", "softmax", "sigmoid"]),
    records=st.sampled_from([{}, {"max_l2_norm": 0.5}]),
    scale=st.sampled_from([0.0, 0.3, 3.0]),
)
def test_a_record_moves_what_is_released_no_further_than_stated(
    method, seed, extreme, loss, records, scale
):
    name, params = method
    if name in ("private_admm", "nbafl", "pvp") and loss == "sigmoid":
        return
    rng = np.random.default_rng(seed)
    data = pair(rng, extreme, 3 if loss == "softmax" else 2)
    w = scale * rng.normal(size=(3 if loss == "softmax" else 1, 3))
    (value, bound), (null, same), (other, _) = (
        released(name, params, each, loss, records, w) for each in data
    )
    assert bound == same
    assert np.linalg.norm(value - null) <= bound * (1 + 1e-6) + 1e-12
    assert np.linalg.norm(value - other) <= 2 * bound * (1 + 1e-6) + 1e-12


class Counting(Observer):
    """Counts updates, and what moved in them."""

    variables = {"moved": ("1", "updates that moved a model")}
    sees_updates = True

    def begin(self, state, federation):
        self.memory = 0

    def after_update(self, update, before):
        self.memory += int((update.sub.z != before.z).any())

    def measure(self, t, state, federation):
        return {"moved": np.full(1, self.memory)}


def write_update(path, body):
    path.write_text(
        "from admmbench.algorithms.pvp import PVP\nfrom admmbench.api import parameters\n"
        "from tests.base.test_consensus import Counting\n\n\n"
        f"@parameters\nclass Mine(PVP):\n    {body}\n"
    )
    return str(path)


def test_observers_are_told_of_updates_that_are_solved_exactly(tmp_path):
    path = write_update(
        tmp_path / "mine.py", "def observers(self, problem):\n        return [Counting(self)]"
    )
    given = {"agents": P, "epsilon": 1.0, "rounds": 4, "threads": 1, "problem": LOGISTIC}
    assert float(simulate(in_unit_ball(), path, **given).moved[0, -1]) >= 4


@pytest.mark.parametrize(("returned", "told"), [("None", "NoneType"), ("sub.w", r"shape \(10, ")])
def test_an_update_that_returns_something_else_is_refused(tmp_path, returned, told):
    path = write_update(tmp_path / "mine.py", f"def update(self, sub):\n        return {returned}")
    with pytest.raises(Exception, match=rf"Mine.update returned {told}.*shape \(B, S, K, J\)"):
        simulate(in_unit_ball(), path, agents=P, epsilon=1.0, rounds=2, problem=LOGISTIC)
