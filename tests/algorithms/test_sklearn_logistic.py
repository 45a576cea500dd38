"""The baseline of hu2019 against scikit-learn, called directly, and against the optimum where it has its objective."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from admmbench import simulate
from admmbench.contracts.made_up_data import make_dataset, written_by
from admmbench.contracts.runs import run_without_engine
from admmbench.jobs import fingerprint
from admmbench.spec.run import RunSpec

TIGHT = {"objective": "problem", "tol": 1e-10, "max_iter": 100_000}
PARTIES = {"scheme": "columns", "blocks": [3, 2, 2]}
NO_BOUNDS: dict[str, dict[str, float]] = {"records": {}}


def run(dataset, params=None, problem="logistic", agents=PARTIES, **more):
    given = {"rounds": 2, "evaluate_every": 1, "seeds": 2, "dtype": "float64", **more}
    return simulate(
        dataset=dataset,
        algorithm="sklearn_logistic",
        params=params or {},
        problem=problem,
        agents=agents,
        **given,
    )


def model_of(dataset, params, problem, agents):
    """Weights and intercepts (K, J + 1) as the state has them."""
    spec = RunSpec(
        dataset=dataset,
        algorithm="sklearn_logistic",
        params=params,
        problem=problem,
        agents=agents,
        dtype="float64",
        seeds=1,
    )
    before, found = (run_without_engine(spec, dataset, rounds) for rounds in (0, 1))
    assert found.state.w.shape == before.state.w.shape
    return found.state.w[0], found.federation.problem


@pytest.mark.parametrize(
    ("n_classes", "loss", "agents", "params", "columns"),
    [
        (2, "logistic", PARTIES, {"parties": 1}, 3),
        (2, "logistic", PARTIES, {"parties": 2}, 5),
        (2, "logistic", PARTIES, {}, 7),
        (2, "logistic", 4, {}, 7),
        (2, "softmax", 4, {}, 7),
        (3, "softmax", 4, {}, 7),
        (5, "softmax", 4, {}, 7),
    ],
)
def test_it_is_the_estimator_with_its_defaults(n_classes, loss, agents, params, columns):
    """On the columns of the first parties, or on the rows of all agents."""
    dataset = make_dataset(120, 90, n_classes=n_classes, seed=3)
    problem = {"loss": loss, "strength": 0.1}
    if agents is not PARTIES:
        problem |= {"per": "total", "average": "records", **NO_BOUNDS}
    trace = run(dataset, params, problem, agents)
    X, X_test = (each[:, :columns].astype(np.float64) for each in (dataset.X_train, dataset.X_test))
    direct = LogisticRegression().fit(X, dataset.y_train)
    assert abs(direct.intercept_[0]) > 0.01
    found = trace.isel(round=-1, seed=1)
    wanted = log_loss(dataset.y_test, direct.predict_proba(X_test))
    assert float(found.test_loss) == pytest.approx(wanted, rel=1e-12)
    assert float(found.test_error) == pytest.approx(1 - direct.score(X_test, dataset.y_test))
    # Of two classes, softmax has half of the difference for each.
    halves = 2 if (n_classes, loss) == (2, "softmax") else 1
    objective = log_loss(dataset.y_train, direct.predict_proba(X))
    objective += 0.1 * np.square(direct.coef_).sum() / halves / 2
    assert float(found.train_loss) == pytest.approx(objective, rel=1e-12)


def test_it_is_found_in_the_first_round_and_sends_nothing():
    trace = run(make_dataset(n_classes=2), rounds=3)
    assert float(trace.test_loss[0, 0]) == pytest.approx(np.log(2))
    assert (trace.test_loss[:, 1:] == trace.test_loss[0, 1]).all()
    assert not trace.floats_sent.any()
    assert not trace.consensus_violation.any()


def test_it_takes_the_records_that_each_seed_trains_on():
    dataset = make_dataset(90, n_classes=2)
    shuffled = {"scheme": "iid", "agents": 3, "shuffle": True, "train": 30}
    trace = run(dataset, problem={"loss": "logistic", **NO_BOUNDS}, agents=shuffled, seeds=3)
    assert len(np.unique(trace.test_loss[:, -1])) == 3


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.parametrize(
    ("n_classes", "loss", "agents"),
    [
        (2, "logistic", PARTIES),
        (2, "logistic", {"scheme": "by_writer"}),
        (2, "softmax", {"scheme": "by_writer"}),
        (3, "softmax", {"scheme": "by_writer"}),
    ],
)
@pytest.mark.parametrize("average", ["records", "agents"])
def test_with_the_objective_of_the_problem_it_is_the_optimum(
    n_classes, loss, agents, average, penalty
):
    """Agents have 40, 15 and 5 records, so that records weigh differently where agents count alike."""
    dataset = make_dataset(n_classes=n_classes, seed=1)
    dataset = written_by(dataset, np.repeat([0, 1, 2], [40, 15, 5]), ["a", "b", "c"])
    problem = {"loss": loss, "penalty": penalty, "strength": 0.01}
    if agents is not PARTIES:
        problem |= {"average": average, "per": "agent", **NO_BOUNDS}
    elif average == "agents":
        pytest.skip("parties share their records")
    w, bound = model_of(dataset, TIGHT, problem, agents)
    np.testing.assert_allclose(w, bound.optimum()[0], atol=2e-5)


def test_without_a_penalty_it_has_none():
    dataset = make_dataset(200, n_classes=2, seed=2)
    dataset = replace(dataset, y_train=np.random.default_rng(0).integers(0, 2, 200))
    w, bound = model_of(dataset, TIGHT, {"loss": "logistic", "strength": 0, **NO_BOUNDS}, 3)
    np.testing.assert_allclose(w, bound.optimum()[0], rtol=1e-3)


def test_what_did_not_converge_is_said():
    with pytest.warns(ConvergenceWarning):
        run(make_dataset(n_classes=2), {"max_iter": 1})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"params": {"parties": 4}}, r"params\.parties: 4, but there are 3 parties"),
        ({"params": {"parties": 1}, "agents": 3}, r"params\.parties: rows are partitioned"),
        ({"problem": "sigmoid"}, "sklearn_logistic needs the loss logistic or softmax"),
        ({"params": {"objective": "probelm"}}, r"params\.objective"),
        ({"params": {"max_iter": 0}}, r"params\.max_iter"),
    ],
)
def test_what_it_cannot_do_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        run(make_dataset(n_classes=2), **given)


def test_a_class_without_records_is_said():
    """Scikit-learn's model would give it no probability at all."""
    dataset = make_dataset(n_classes=3)
    dataset = replace(dataset, y_train=dataset.y_train.clip(0, 1))
    with pytest.raises(RuntimeError, match="the training records have 2 of 3 classes"):
        run(dataset, problem={"loss": "softmax", **NO_BOUNDS}, agents=2)


def test_another_version_of_scikit_learn_makes_its_runs_again_and_no_others(monkeypatch):
    specs = {
        name: RunSpec(dataset="a9a", algorithm=name, agents={"scheme": "columns", "blocks": 2})
        for name in ("sklearn_logistic", "local_only")
    }
    version = fingerprint.version

    def fingerprints():
        fingerprint.of_modules.cache_clear()
        return {name: fingerprint.of_run(spec) for name, spec in specs.items()}

    before = fingerprints()
    monkeypatch.setattr(
        fingerprint, "version", lambda name: version(name) + "+" * (name == "scikit-learn")
    )
    after = fingerprints()
    fingerprint.of_modules.cache_clear()
    assert before["local_only"] == after["local_only"]
    assert before["sklearn_logistic"] != after["sklearn_logistic"]
