"""The public call: what it accepts, what it promises."""

import json
import math

import numpy as np
import pytest

from admmbench import list_algorithms, list_datasets, load_dataset, simulate
from admmbench.checks.made import make_dataset
from admmbench.engine.rounds import AlgorithmError


def test_the_example_of_the_documentation():
    trace = simulate(
        dataset="digits",
        algorithm="objp",
        params={"local_updates": 1},
        variant="paper",
        problem=None,
        agents=5,
        epsilon=1.0,
        delta=1e-6,
        sensitivity="local",
        rounds=40,
        evaluate_every=10,
        seeds=range(3),
        threads=2,
        dtype="float32",
    )
    assert dict(trace.sizes) == {"seed": 3, "round": 4}
    measured = "test_error test_loss train_loss noise_magnitude consensus_violation"
    for name in [*measured.split(), "epsilon_total", "floats_sent", "seconds", "status"]:
        assert name in trace
    assert trace.seconds.attrs["units"] == "s"
    assert list(trace.status.values) == [0, 0, 0]


def test_names_are_listed():
    assert {"iadmm", "objp", "objt", "outp"} <= set(list_algorithms())
    assert {"digits", "mnist", "femnist"} <= set(list_datasets())


def test_loaded_data_serve_as_well_as_names():
    first, second = (
        simulate(dataset, "iadmm", rounds=3, evaluate_every=3)
        for dataset in ("digits", load_dataset("digits"))
    )
    np.testing.assert_array_equal(first.test_loss, second.test_loss)


def test_floats_sent_counts_both_ways():
    trace = simulate(make_dataset(), "objp", agents=4, rounds=6, evaluate_every=3, seeds=[0, 1])
    model = 3 * 7
    assert list(trace.floats_sent.values) == [3 * 2 * 4 * model, 6 * 2 * 4 * model]


def test_noise_magnitude_is_that_of_its_definition():
    """Mean |xi| of Laplace noise is its scale, Delta_p / epsilon, averaged over agents."""
    dataset = make_dataset(n_train=400, n_features=200, n_classes=4)
    trace = simulate(
        dataset, "objp", agents=2, epsilon=0.5, rounds=1, evaluate_every=1, sensitivity="global"
    )
    assert float(trace.noise_magnitude[0, 0]) == pytest.approx(2 * 200 / 400 / 0.5, rel=0.1)


def test_budget_of_each_round_and_local_update_is_composed():
    one, many = (
        simulate(
            make_dataset(),
            "objp",
            {"local_updates": updates},
            agents=2,
            epsilon=0.01,
            rounds=10,
            evaluate_every=5,
        )
        for updates in (1, 3)
    )
    assert one.epsilon_claimed.values == pytest.approx([0.05, 0.1])
    assert one.epsilon_total.values == pytest.approx([0.05, 0.1], rel=0.02)
    assert many.epsilon_total[-1] > 1.8 * one.epsilon_total[-1]


def test_progress_is_reported_every_round():
    seen = []
    simulate(
        make_dataset(),
        "iadmm",
        agents=2,
        rounds=3,
        progress=lambda done, total: seen.append((done, total)),
    )
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_provenance_says_what_was_run():
    attrs = simulate(make_dataset(), "objp", {"a": 2}, agents=2, epsilon=math.inf, rounds=1).attrs
    assert json.loads(attrs["params"]) == {"a": 2}
    assert json.loads(attrs["problem"])["regularization"] == 1e-6
    assert json.loads(attrs["versions"])["numpy"] == np.__version__
    assert attrs["n_train"] == 60


def test_all_runs_diverging_ends_early(monkeypatch):
    from admmbench.privacy import Noise

    monkeypatch.setattr(Noise, "_draw", lambda self, fill, scale: np.float32(np.nan))
    seen = []
    trace = simulate(
        make_dataset(),
        "objp",
        agents=2,
        epsilon=1,
        rounds=50,
        evaluate_every=5,
        progress=lambda done, total: seen.append(done),
    )
    assert list(trace.status.values) == [1]
    assert len(seen) < 50


def test_what_an_algorithm_raises_names_the_round(tmp_path):
    plugin = tmp_path / "faulty.py"
    plugin.write_text(
        "from admmbench.algorithms.base import parameters\n"
        "from admmbench.algorithms.objp import ObjP\n\n\n"
        "@parameters\n"
        "class Faulty(ObjP):\n"
        "    def round(self, t, state, federation):\n"
        "        raise KeyError('gamma')\n"
    )
    with pytest.raises(AlgorithmError, match=r"Faulty\.round raised in round 1: KeyError") as info:
        simulate("digits", str(plugin), agents=2, epsilon=1, rounds=2)
    assert isinstance(info.value.__cause__, KeyError)


def test_provenance_counts_the_rows_that_train():
    dataset = make_dataset(60, 30)
    drawn = {"scheme": "iid", "agents": 4, "shuffle": True, "train": 80}
    trace = simulate(dataset, "objp", agents=drawn, rounds=1)
    assert (trace.attrs["n_train"], trace.attrs["n_test"]) == (80, 10)
    trace = simulate(dataset, "objp", agents=4, rounds=1)
    assert (trace.attrs["n_train"], trace.attrs["n_test"]) == (60, 30)
