"""Rounds: which are evaluated, and who may keep a run between them."""

import contextlib
import copy
import itertools
import time

import numpy as np
import pytest
import xarray as xr

from admmbench.base.outcomes import Outcome
from admmbench.contracts.made_up_data import make_dataset
from admmbench.engine.context import Context
from admmbench.engine.rounds import evaluated_rounds, run_rounds
from admmbench.results import statistics
from admmbench.spec.run import RunSpec


@pytest.mark.parametrize(
    ("rounds", "every", "expected"), [(10, 4, [0, 4, 8, 10]), (8, 4, [0, 4, 8]), (3, 5, [0, 3])]
)
def test_evaluated_rounds(rounds, every, expected):
    assert evaluated_rounds(rounds, every) == expected


def test_the_start_is_the_model_before_anything_is_sent():
    spec = RunSpec(dataset="digits", algorithm="objp", epsilon=1, rounds=2, seeds=2)
    data = make_dataset(n_classes=10, n_features=64)
    arrays = run_rounds(spec, data).variables()["arrays"]
    start = {name: values[..., 0] for name, values in arrays.items()}
    np.testing.assert_allclose(start["train_loss"], np.log(10))
    for name in ("floats_sent", "seconds", "epsilon_claimed", "epsilon_composed"):
        assert start[name] == 0
    assert not start["consensus_violation"].any()
    assert np.isnan(start["noise_magnitude"]).all()


@pytest.mark.parametrize("how", ["best", "average"])
def test_the_start_counts_in_no_reduction(how):
    """The noise of round 0 is none, and the model of round 0 is the same for all."""
    rounds = xr.DataArray([[5.0, 3.0, 4.0]], dims=("seed", "round"), coords={"round": [0, 1, 2]})
    found = xr.Dataset({"test_error": rounds, "status": ("seed", [0])})
    assert statistics.reduce(found, "test_error", how).item() in (3, 3.5)


QUIET = """
from admmbench.api import parameters
from admmbench.scaffold.method import Template

@parameters
class Quiet(Template):
    '''Adds noise in three rounds.'''
    {}

    def perturb_gradient(self, sub, gradient):
        return sub.noise.laplace(gradient.sensitivity) if sub.t <= 3 else 0.0
"""
PLANNED = """
    steady = False

    def cost(self, t, problem, privacy, release):
        return super().cost(t, problem, privacy, release) if t <= 3 else None
"""


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("", r"Quiet.round, round 4: noisy releases of an agent: 0, declared .*: 1; the total"),
        ("release = None", r"round 1: noisy releases of an agent: 1, declared .*: 0"),
        (PLANNED, ""),
    ],
)
def test_a_round_with_other_releases_than_declared_is_refused(tmp_path, body, message):
    method = tmp_path / "quiet.py"
    method.write_text(QUIET.format(body))
    data = make_dataset(n_classes=10, n_features=64)
    spec = RunSpec(dataset="digits", algorithm=str(method), epsilon=1, rounds=5, seeds=2)
    with pytest.raises(ValueError, match=message) if message else contextlib.nullcontext():
        run_rounds(spec, data)
    # Without a budget there is no noise, and nothing to declare.
    run_rounds(spec.model_copy(update={"epsilon": np.inf}), data)


class Memory:
    """Keeps a run that is about to end."""

    def load(self, snapshot):
        pass

    after_round = load

    def save(self, snapshot):
        self.kept = copy.deepcopy(snapshot.variables())


def test_what_meets_its_time_limit_is_kept_for_a_longer_one():
    data = make_dataset()
    spec = RunSpec(dataset=data, algorithm="objp", agents=3, rounds=6, time_limit=1e-9)
    memory = Memory()
    status = run_rounds(spec, data, Context(checkpoint=memory)).dataset(spec, {}).status
    assert (status == Outcome.TIMED_OUT).all()
    assert memory.kept["t"] == 1
    assert (memory.kept["trace"]["status"] == Outcome.COMPLETED).all()


def test_a_time_limit_is_one_of_all_seeds_also_of_those_computed_one_after_another(monkeypatch):
    """Each round takes a minute here: the first seed ends in time, the second does not, the third does not begin."""
    minutes = itertools.count()
    monkeypatch.setattr(time, "monotonic", lambda: 60.0 * next(minutes))
    data = make_dataset()
    spec = RunSpec(
        dataset=data,
        algorithm="objp",
        agents={"scheme": "quantity", "agents": 3, "alpha": 0.5},
        rounds=4,
        evaluate_every=1,
        seeds=3,
        time_limit=5,
    )
    trace = run_rounds(spec, data).dataset(spec, {})
    ended = Outcome.COMPLETED, Outcome.TIMED_OUT, Outcome.TIMED_OUT
    np.testing.assert_array_equal(trace.status, ended)
    np.testing.assert_array_equal(trace.train_loss.notnull().sum("round"), [5, 3, 0])


SHUFFLED = {"scheme": "iid", "agents": 3, "shuffle": True}


@pytest.mark.parametrize(
    ("settings", "alone"),
    [
        ({"algorithm": "iadmm", "epsilon": 1}, True),
        ({"algorithm": "objp", "epsilon": 1}, False),
        ({"algorithm": "iadmm", "agents": SHUFFLED}, False),
        ({"algorithm": "dpsgd", "params": {"sampling": 0.5}}, False),
    ],
)
def test_one_seed_is_computed_for_all_where_nothing_is_drawn(settings, alone):
    data = make_dataset(n_classes=2)
    given = {"agents": 3, "rounds": 4, "evaluate_every": 2, "seeds": [3, 5, 7], **settings}
    spec = RunSpec(dataset=data, problem="softmax", **given)
    assert spec.computed.seeds == ((3,) if alone else (3, 5, 7))
    trace = run_rounds(spec, data).dataset(spec, {})
    assert trace.seed.values.tolist() == [3, 5, 7]
    assert len(np.unique(trace.train_loss.isel(round=-1))) == (1 if alone else 3)
    mistakes = xr.zeros_like(trace["mistakes"])
    for k, seed in enumerate(spec.seeds):
        one = spec.model_copy(update={"seeds": (seed,)})
        own = run_rounds(one, data).dataset(one, {}).drop_vars("seconds")
        mistakes = mistakes + own["mistakes"]
        of_seed = trace.isel(seed=[k]).drop_vars(["seconds", "mistakes"])
        xr.testing.assert_allclose(of_seed, own.drop_vars("mistakes"), rtol=1e-5)
    xr.testing.assert_equal(trace["mistakes"], mistakes)


@pytest.mark.parametrize(
    ("algorithm", "agents"), [("objp", 3), ("vertical_sgd", {"scheme": "columns", "blocks": 3})]
)
def test_mistakes_on_test_records_are_those_of_the_last_error(algorithm, agents):
    data = make_dataset(n_classes=2)
    given = {"problem": "logistic", "algorithm": algorithm, "agents": agents}
    spec = RunSpec(dataset=data, rounds=4, seeds=5, epsilon=1, **given)
    trace = run_rounds(spec, data).dataset(spec, {})
    assert trace["mistakes"].shape == data.y_test.shape
    share = trace["mistakes"].mean() / trace.sizes["seed"]
    assert 0 < share < 1
    np.testing.assert_allclose(share, trace["test_error"].isel(round=-1).mean(), rtol=1e-6)


def test_seeds_that_diverged_make_no_mistakes():
    data = make_dataset(n_classes=2)
    given = {"agents": 3, "rounds": 40, "seeds": 3, "params": {"learning_rate": 1e30}}
    problem = {"loss": "logistic", "penalty": "l2", "strength": 1.0}
    spec = RunSpec(dataset=data, problem=problem, algorithm="dpsgd", **given)
    trace = run_rounds(spec, data).dataset(spec, {})
    assert (trace["status"] == Outcome.DIVERGED).all()
    assert (trace["mistakes"] == 0).all()


def test_who_draws_must_say_so(tmp_path):
    path = tmp_path / "quiet.py"
    body = "release = None\n\n    def init(self, federation):\n        federation.draw(lambda g: g.random(1))"
    path.write_text(QUIET.format(body))
    data = make_dataset()
    spec = RunSpec(dataset=data, algorithm=str(path), agents=3, rounds=2, evaluate_every=1)
    with pytest.raises(ValueError, match="needs a method with draws = True"):
        run_rounds(spec, data)
