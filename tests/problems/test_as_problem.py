"""What people may write for a problem, its defaults, and how they are told that they may not."""

import importlib.metadata
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admmbench import plugins, scaffold
from admmbench.contracts.losses import loss_checks
from admmbench.contracts.made_up_data import make_dataset
from admmbench.problems import as_problem, list_losses
from tests.problems.helpers import bind_columns, bind_rows, with_numbers

NAMES = ["huber", "logistic", "sigmoid", "softmax", "squared", "squared_hinge"]
PLUGIN = Path(scaffold.__file__).with_name("loss.py").read_text()


def test_losses_are_listed_by_name():
    assert set(NAMES) <= set(list_losses())
    assert list_losses() == sorted(list_losses())


@pytest.mark.parametrize("sharing", ["rows", "columns"])
@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_a_problem_with_the_defaults_of_the_literature(name, sharing):
    problem = as_problem(name, sharing)
    assert (
        problem
        == as_problem({"loss": name}, sharing)
        == as_problem({"loss": {"name": name}}, sharing)
    )
    assert problem.sharing == sharing
    assert problem.penalty_name == "l2"
    if sharing == "columns":  # hu2019: lambda = 1e-4 of ||x||^2
        assert problem.strength == 2e-4
    elif name == "logistic":  # huang2019
        assert (problem.strength, problem.per, problem.average) == (1e-6, "agent", "agents")
        assert problem.records.model_dump() == {"max_l1_norm": None, "max_l2_norm": 1}
    else:  # ryu2022: beta = 1e-6 of ||W||^2
        assert (problem.strength, problem.per, problem.average) == (2e-6, "total", "records")
        assert problem.records.model_dump() == {"max_l1_norm": None, "max_l2_norm": None}


settings_of_rows = st.fixed_dictionaries(
    {"loss": st.sampled_from([*NAMES, {"name": "huber", "threshold": 2.5}])},
    optional={
        "penalty": st.sampled_from(["l1", "l2"]),
        "strength": st.floats(0, 10),
        "per": st.sampled_from(["agent", "total"]),
        "average": st.sampled_from(["agents", "records"]),
        "records": st.fixed_dictionaries(
            {}, optional={"max_l1_norm": st.floats(0.1, 9), "max_l2_norm": st.floats(0.1, 9)}
        ),
    },
)


@given(settings_of_rows)
def test_what_is_written_counts_and_the_description_is_the_problem(spec):
    problem = as_problem(spec, "rows")
    for key in ("strength", "per", "average"):
        assert getattr(problem, key) == spec.get(key, getattr(problem, key))
    described = json.loads(json.dumps(problem.describe()))
    again = as_problem(described, "rows")
    assert again == problem
    assert again.describe() == described
    if "records" in spec:  # complete: what is absent there is no bound
        assert described["records"] == spec["records"]


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("sofmax", "unknown loss 'sofmax'; did you mean 'softmax'"),
        ("huberr", "did you mean 'huber'"),
        ({"loss": "logistc"}, "did you mean 'logistic'"),
        ({"loss": "hinge"}, "did you mean 'squared_hinge'"),
        ({"loss": "no_such_file.py"}, "there is no such file"),
        ({"loss": {"threshold": 1}}, "the key 'name' is missing"),
        ({"loss": {"name": "huber", "treshold": 1}}, "problem.loss.treshold: .*'threshold'"),
        ({"loss": {"name": "huber", "threshold": 0}}, "problem.loss.threshold: .*greater than 0"),
        ({"loss": {"name": "squared", "threshold": 1}}, "problem.loss.threshold"),
        ({}, "problem.loss: this key is missing"),
        ({"loss": "softmax", "regularisation": 1}, "regularisation"),
        ({"loss": "softmax", "strenght": 1}, "did you mean 'strength'"),
        ({"loss": "softmax", "strength": -1}, "problem.strength: .*greater than or equal to 0"),
        ({"loss": "softmax", "penalty": "l3"}, "problem.penalty: .*'l1' or 'l2'"),
        ({"loss": "softmax", "per": "each"}, "problem.per: .*'agent' or 'total'"),
        ({"loss": "softmax", "average": "rows"}, "problem.average: .*'records' or 'agents'"),
        ({"loss": "softmax", "records": {"max_l3_norm": 1}}, "records: .*did you mean 'max_l"),
        ({"loss": "softmax", "records": {"max_l1_norm": 0}}, "records.max_l1_norm: .*greater"),
    ],
)
def test_refusals_name_the_key_and_the_nearest(spec, words):
    with pytest.raises(ValueError, match=words):
        as_problem(spec, "rows")


@pytest.mark.parametrize(("key", "value"), [("per", "agent"), ("average", "records")])
def test_what_is_about_rows_is_refused_over_columns(key, value):
    with pytest.raises(ValueError, match=f"^problem.{key}: it is about shared rows"):
        as_problem({"loss": "logistic", key: value}, "columns")


def test_over_columns_a_penalty_is_needed():
    """Columns that depend on each other have no single solution without one."""
    with pytest.raises(ValueError, match=r"^problem\.strength: .*above 0"):
        as_problem({"loss": "logistic", "strength": 0}, "columns")
    assert as_problem({"loss": "logistic", "strength": 0}, "rows").strength == 0


# Losses and data sets that do not suit each other


@pytest.mark.parametrize(
    ("loss", "data", "words"),
    [
        ("logistic", make_dataset(), "loss logistic: it needs two classes, made has 3 classes; use softmax"),
        ("sigmoid", with_numbers(), "made has numbers as targets; use squared or huber"),
        ("squared_hinge", make_dataset(), "needs two classes"),
        ("softmax", with_numbers(), "loss softmax: it needs classes, .*; use squared or huber"),
        ("squared", make_dataset(), "made has 3 classes; use softmax or logistic"),
        ("huber", make_dataset(n_classes=2), "made has 2 classes; use softmax or logistic"),
    ],
)  # fmt: skip
def test_targets_that_a_loss_cannot_have_are_refused(loss, data, words):
    for bind in (bind_rows, bind_columns):
        with pytest.raises(ValueError, match=f"^problem: .*{words}"):
            bind(data, loss)


def test_several_outputs_are_refused_over_columns(made):
    words = "problem: loss softmax has several outputs, shared columns need one; use logistic"
    with pytest.raises(ValueError, match=words):
        bind_columns(made, "softmax")


@pytest.mark.parametrize("name", NAMES)
def test_units_and_long_names_are_those_of_the_loss(name):
    data = with_numbers() if name in ("squared", "huber") else make_dataset(n_classes=2)
    for sharing in ("rows", "columns")[: 1 + (name != "softmax")]:
        found = as_problem(name, sharing).variables(data.info)
        metric, test, train = list(found.items())[:3]
        if name in ("squared", "huber"):
            assert metric == ("test_rmse", ("m", "root mean squared test error"))
            assert test == ("test_loss", ("(m)2", "mean test loss"))
        else:
            unit = "nat" if name in ("softmax", "logistic") else "1"
            assert metric == ("test_error", ("1", "test error"))
            assert test == ("test_loss", (unit, "mean test loss"))
        assert train[1] == (test[1][0], "training objective")
        agents_alike = sharing == "rows" and name == "logistic"
        assert ("empirical_loss" in found) == agents_alike


def test_models_of_agents_are_tested_where_it_is_asked_for_and_there_are_classes():
    problem = as_problem({"loss": "softmax", "local_error": True}, "rows")
    assert "local_error" in problem.variables(make_dataset().info)
    assert as_problem(problem.describe(), "rows") == problem
    numbers = as_problem({"loss": "squared", "local_error": True}, "rows")
    with pytest.raises(ValueError, match=r"problem.local_error: squared is no loss for classes"):
        numbers.check(with_numbers().info)
    with pytest.raises(ValueError, match=r"problem.local_error: it is about shared rows"):
        as_problem({"loss": "logistic", "local_error": True}, "columns")


def test_a_loss_is_one_file(tmp_path):
    """A plug-in needs value, slope, curvature and their suprema; all checks hold for it."""
    path = tmp_path / "log_cosh.py"
    path.write_text(PLUGIN)
    for check in loss_checks(str(path)):
        check.run()
    problem = as_problem({"loss": str(path), "strength": 0.1}, "rows")
    assert problem.describe()["loss"] == str(path)


def faults_of(path):
    """Names of checks that a loss in a file fails, and what they say."""
    faults = []
    for check in loss_checks(str(path)):
        try:
            check.run()
        except AssertionError as error:
            faults.append((check.name, str(error)))
    return faults


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("derivative_bound = 1.0", "derivative_bound = 2.0"),
        ("derivative_bound = 1.0", "derivative_bound = 0.5"),
        ("derivative_bound = 1.0", "derivative_bound = np.inf"),
        ("curvature_bound = 1.0", "curvature_bound = 0.5"),
        ("curvature_bound = 1.0", "curvature_bound = 2.0"),
        ("curvature_bound = 1.0", "curvature_bound = 1.0\n    convex = False"),
        ("curvature_bound = 1.0", "curvature_bound = 1.0\n    rank = lambda self, outputs: 0"),
        ("return np.tanh(u - y)", "return -np.tanh(u - y)"),
        ("return 1 - np.square", "return 2 - np.square"),
        ("np.logaddexp(error, -error) - np.log(u.dtype.type(2))", "np.log(np.cosh(error))"),
        ("return np.tanh(u - y)", "return np.tanh(u - y).astype(np.float64)"),
    ],
)
def test_checks_find_a_wrong_loss(tmp_path, right, wrong):
    path = tmp_path / "wrong.py"
    assert right in PLUGIN
    path.write_text(PLUGIN.replace(right, wrong))
    faults = faults_of(path)
    assert faults
    assert all(words for _, words in faults)


PSEUDO_HUBER = """
from dataclasses import replace
import numpy as np
from admmbench.api import RegressionLoss, parameters

@parameters
class PseudoHuber(RegressionLoss):
    curvature_bound = 1.0
    weight: float = 1.0
    threshold: float = 1.0

    @property
    def derivative_bound(self):
        return self.threshold

    def for_targets(self, scale):
        return {}

    def value(self, u, y):
        return self.threshold**2 * (self._root(u, y) - 1)

    def derivative(self, u, y):
        return (u - y) / self._root(u, y)

    def curvature(self, u, y):
        return self._root(u, y) ** -3

    def _root(self, u, y):
        return np.sqrt(1 + np.square((u - y) / self.threshold))
"""


@pytest.mark.parametrize("wrong", ["self", "replace(self, threshold=self.threshold * scale)"])
def test_a_parameter_in_the_unit_of_targets_that_does_not_follow_their_scale_is_named(
    tmp_path, wrong
):
    path = tmp_path / "right.py"
    path.write_text(PSEUDO_HUBER.format("replace(self, threshold=self.threshold / scale)"))
    assert not faults_of(path)
    path = tmp_path / "wrong.py"
    path.write_text(PSEUDO_HUBER.format(wrong))
    ((name, sentence),) = faults_of(path)
    assert name == "parameters follow the unit of targets"
    assert sentence.startswith("threshold: in the unit of the targets")
    assert sentence.endswith("return replace(self, threshold=self.threshold / scale)")


def test_a_loss_of_an_installed_package_is_found_by_its_name(tmp_path, monkeypatch):
    """As the entry-point group admmbench.losses offers it."""
    folder = tmp_path / "theirs-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text("[admmbench.losses]\ntheir_loss = their_loss\n")
    (tmp_path / "their_loss.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(plugins, "entry_points", importlib.metadata.entry_points)  # none is known
    assert "their_loss" in list_losses()
    assert as_problem("their_loss", "rows").loss_name == "their_loss"


def test_a_drawn_problem_is_described_completely():
    problem = as_problem({"loss": "quadratic", "penalty": "l1", "strength": 0.25}, "rows")
    described = {"loss": "quadratic", "penalty": "l1", "strength": 0.25}
    assert problem.describe() == described
    assert as_problem(described, "rows") == problem


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_an_error_of_numbers_is_no_part_of_the_records(loss):
    assert not as_problem(loss, "rows").loss.fraction
    assert as_problem("logistic", "rows").loss.fraction
