"""Arguments of a run: what they may be, and how a wrong one is refused."""

import itertools
import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest
import yaml
from pydantic import ValidationError

from admmbench import simulate
from admmbench.contracts.made_up_data import make_dataset
from admmbench.engine.rounds import AlgorithmError, run_rounds
from admmbench.files.core_yaml import parse_words
from admmbench.spec.run import RunSpec


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dataset": "digit"}, "did you mean 'digits'"),
        ({"algorithm": "objq"}, r"unknown algorithm 'objq'; did you mean 'obj[pt]'"),
        ({"algorithm": "obpj"}, "unknown algorithm 'obpj'; did you mean 'objp'"),
        ({"params": {"local_update": 2}}, r"params\.local_update.*did you mean 'local_updates'"),
        ({"params": {"local_updates": 0}}, r"params\.local_updates: .*greater than or equal to 1"),
        ({"problem": "softmaxx"}, "did you mean 'softmax'"),
        ({"problem": {"loss": "softmax", "strength": -1}}, r"problem\.strength"),
        ({"problem": {"loss": "softmax", "strenght": 1}}, r"problem.*did you mean 'strength'"),
        ({"problem": {"loss": {"name": "softmax", "flor": 0}}}, "did you mean 'floor'"),
        ({"problem": {"loss": "softmax", "penalty": "l3"}}, r"problem\.penalty"),
        ({"problem": {"loss": "softmax", "records": {"max_norm": 1}}}, r"problem\.records.*max_l"),
        (
            {"problem": {"name": "softmax", "regularization": 0.5}},
            r"problem: unknown key 'name' \(there are .*loss",
        ),
        ({"epsilon": 0}, "epsilon: .*greater than 0"),
        ({"epsilon": -1}, "epsilon: .*greater than 0"),
        ({"delta": 1}, "delta: .*less than 1"),
        ({"rounds": 0}, "rounds: .*greater than or equal to 1"),
        ({"rounds": True}, "^rounds: expected a number, got True$"),
        ({"agents": True}, "^agents: expected a number, got True$"),
        ({"evaluate_every": True}, "^evaluate_every: expected a number, got True$"),
        ({"params": [1]}, r"^params: .*dictionary \(got \[1\]\)$"),
        ({"threads": 0}, "^threads: expected at least 1, got 0$"),
        ({"seeds": []}, "^seeds: expected at least one seed$"),
        ({"seeds": [1, 1]}, "seeds: each seed may appear once"),
        ({"seeds": [-1]}, r"^seeds\.0: .*greater than or equal to 0 \(got -1\)$"),
        ({"seeds": 0}, "^seeds: .*greater than or equal to 1, got 0$"),
        ({"seeds": -3}, "^seeds: .*greater than or equal to 1, got -3$"),
        ({"seeds": True}, "^seeds: expected a number of seeds.*, got True$"),
        ({"seeds": [True]}, r"^seeds\.0: expected a number, got True$"),
        ({"seeds": "5-2"}, "^seeds: expected first <= last, got '5-2'$"),
        ({"seeds": "5-"}, "^seeds: expected text such as 0-9, got '5-'$"),
        ({"agents": 2000}, "2000 agents cannot share the 1437 training rows"),
        ({"agents": 0}, r"agents.*greater than or equal to 1"),
        ({"agents": {"scheme": "iid", "agent": 3}}, "agents"),
        ({"sensitivity": "both"}, "sensitivity"),
        (
            {
                "algorithm": "pvp",
                "sensitivity": "global",
                "problem": {"loss": {"name": "softmax", "floor": 0.2}},
            },
            "pvp needs a loss without a floor",
        ),
        (
            {"algorithm": "dp_fedavg", "problem": {"loss": {"name": "softmax", "floor": 0.2}}},
            "dp_fedavg needs a loss without a floor",
        ),
        ({"variant": "mine"}, "variant"),
        ({"dtype": "float16"}, "dtype"),
        *(
            ({"seeds": each}, "^seeds: expected at most 10,000 seeds$")
            for each in (10**9, 10**30, "0-9999999999", range(10**12), itertools.count())
        ),
        ({"seeds": "9" * 5000 + "-1"}, "^seeds: expected text such as 0-9"),
        ({"seeds": "3"}, "^seeds: expected text such as 0-9, got '3'$"),
        ({"seeds": ["3"]}, r"^seeds\.0: expected a number, got '3'$"),
        ({"rounds": "20"}, "^rounds: expected a number, got '20'$"),
        ({"rounds": 10**12}, "^rounds: .*less than or equal to 1000000000"),
        ({"epsilon": "1"}, "^epsilon: expected a number, got '1'$"),
        ({"epsilon": math.nan}, "^epsilon: .*greater than 0"),
        ({"epsilon": 1e160}, r"^epsilon: expected 1e-100 to 1e\+100, or .inf for no noise"),
        ({"epsilon": 10**400}, "^epsilon: "),
        ({"privacy": {"total": 1e308}}, r"^privacy\.total: expected 1e-100 to 1e\+100"),
        (
            {"problem": {"loss": "softmax", "records": {"max_l1_norm": 1e-200}}},
            r"^problem\.records\.max_l1_norm: expected 1e-100 to 1e\+100, got 1e-200",
        ),
        *(
            ({"algorithm": name, "params": {"clip": 1e-200}}, r"^params\.clip: expected 1e-100 to")
            for name in ("dp_fedavg", "dp_fedadmm", "nbafl")
        ),
        ({"time_limit": "1:30:00"}, "^time_limit: expected a number, got '1:30:00'$"),
        ({"params": {"a": math.inf}}, r"^params\.a: expected a finite number, got inf$"),
        ({"params": {"a": math.nan}}, r"^params\.a: expected a number, got nan$"),
        ({"params": {"rho": math.inf}}, r"^params\.rho\.c1: expected a finite number"),
        ({"params": {"rho": {"c1": "5"}}}, r"^params\.rho\.c1: expected a number, got '5'$"),
        ({"params": {"local_updates": "5"}}, r"^params\.local_updates: expected a number"),
        ({"problem": {"loss": "softmax", "strength": math.inf}}, r"^problem\.strength: .*finite"),
        ({"agents": "x"}, r"^agents: .*integer, .* or a valid dictionary \(got 'x'\)$"),
        ({"agents": {"scheme": "iid", "agents": "x"}}, r"^agents\.agents: expected a number"),
        ({"agents": {"scheme": "iid", "agents": 2, "shuffle": "yes"}}, "true or false, got 'yes'"),
        ({"dataset": 5}, r"^dataset: expected a name, a mapping, a Dataset, a pair \(X, y\)"),
        ({"accountants": 3}, r"^accountants: .* \(got 3\)$"),
        ({"threads": "2"}, "^threads: expected a number, got '2'$"),
        ({"algorithm": "$NOWHERE/x.py"}, r"NOWHERE/x\.py': no such user or variable"),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=re.sub(r"\$$", "(; meaning: .*)?$", message)):
        simulate(**{"dataset": "digits", "algorithm": "objp", **arguments})


@pytest.mark.parametrize(
    ("arguments", "end"),
    [
        (
            {"time_limit": "x"},
            "got 'x'; meaning: Minutes after which a run is recorded as timed out",
        ),
        ({"privacy": {"cohort": 0}}, "(got 0); meaning: Agents that take part in a round, drawn"),
        ({"seeds": [0, -1]}, "(got -1); meaning: Number n of seeds, for 0 to n - 1, or a list of"),
    ],
)
def test_a_message_says_what_the_key_is(arguments, end):
    with pytest.raises(ValueError, match=re.escape(end)):
        simulate("digits", "objp", **arguments)


def test_a_method_whose_noise_is_for_the_worst_case_needs_bounded_records():
    """OutP as the authors' code computes it, whatever sensitivity is asked for."""
    data = replace(make_dataset(), domain=(-np.inf, np.inf))
    given = {"agents": 2, "variant": "reference", "rounds": 1, "seeds": 1}
    with pytest.raises(ValueError, match="variant: reference of outp needs bounded records"):
        simulate(data, "outp", epsilon=1, **given)
    simulate(data, "outp", **given)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (1, (0,)),
        (3, (0, 1, 2)),
        (np.int64(2), (0, 1)),
        ([3], (3,)),
        (range(2, 4), (2, 3)),
        (np.arange(2), (0, 1)),
        ("2-4", (2, 3, 4)),
        ("7-7", (7,)),
    ],
)
def test_seeds_are_a_number_or_themselves(given, meant):
    assert RunSpec(dataset="digits", algorithm="objp", seeds=given).seeds == meant


def test_seeds_far_apart_are_no_more_than_themselves():
    spec = RunSpec(dataset="digits", algorithm="objp", seeds=[0, 2**62])
    assert "seeds=[0, 4611686018427387904]" in spec.arguments()


@pytest.mark.parametrize(("rounds", "every"), [(5, 5), (10, 10), (50, 10)])
def test_without_a_wish_rounds_are_evaluated_by_tens(rounds, every):
    assert RunSpec(dataset="digits", algorithm="objp", rounds=rounds).evaluate_every == every


def test_unknown_settings_get_the_nearest():
    with pytest.raises(ValidationError, match="did you mean 'epsilon'"):
        RunSpec(**{"dataset": "digits", "algorithm": "objp", "epsilom": 1})


@pytest.mark.parametrize(
    "spec",
    [
        RunSpec(dataset="digits", algorithm="objp"),
        RunSpec(
            dataset={"name": "femnist", "shards": [0, 2]},
            algorithm="outp",
            params={"rho": {"c1": 0.005, "c2": 0.05, "period": 2000}, "a": 100},
            variant="reference",
            problem={"loss": "softmax", "strength": 2e-6, "per": "total"},
            agents={"scheme": "by_writer"},
            epsilon=0.05,
            seeds=range(3, 7),
            rounds=20_000,
        ),
        RunSpec(dataset="digits", algorithm="iadmm", epsilon=math.inf, seeds=[5, 1]),
    ],
)
def test_command_line_words_make_the_same_run(spec):
    assert RunSpec.model_validate(parse_words(spec.arguments())) == spec


@pytest.mark.parametrize("text", [".inf", "inf", "Infinity", "infty"])
def test_infinity_as_people_write_it(text):
    assert (
        RunSpec(dataset="digits", algorithm="objp", epsilon=yaml.safe_load(text)).epsilon
        == math.inf
    )


PLUG_IN = """
from admmbench.algorithms.objp import ObjP
from admmbench.api import RegressionLoss, parameters
"""
METHOD = "@parameters\nclass Mine(ObjP):\n    {}\n"
LOSS = """
@parameters
class Mine(RegressionLoss):
    derivative_bound = curvature_bound = 1.0

    def value(self, u, y): return {}
    def derivative(self, u, y): return {}
    def curvature(self, u, y): return 1.0
"""
FAULTS = {
    "ends": (
        METHOD.format("def check(self, *given): raise SystemExit(0)"),
        "in check: SystemExit: 0",
    ),
    "raises": (
        METHOD.format("def guarantee(self, which): return {}[0]"),
        "in guarantee: KeyError: 0",
    ),
    "returns nothing": (
        METHOD.format("def guarantee(self, which): return None"),
        "no attribute 'kind'",
    ),
    "states text": (METHOD.format("release = 'laplace'"), "no attribute 'under'"),
    "is not complete": (
        "from admmbench.api import Linearized\nclass Mine(Linearized): pass\n",
        "step",
    ),
    "adds up values": (
        LOSS.format("(u - y).sum()", "u"),
        r"losses of 2 records have shape \(\), expected \(2,\)",
    ),
    "adds up slopes": (LOSS.format("u", "u.sum()"), r"derivatives of 2 records have shape"),
    "has no value": (LOSS.format("None", "u"), r"losses of 2 records have shape \(\)"),
    "exits": (LOSS.format("exit(0)", "u"), "in value: SystemExit: 0"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_a_plug_in_does_wrong_names_its_file(fault, tmp_path):
    body, message = FAULTS[fault]
    path = tmp_path / "plug_in.py"
    path.write_text(PLUG_IN + body)
    given = {"dataset": "diabetes", "algorithm": "objp", "agents": 2, "epsilon": 1}
    given["problem" if "RegressionLoss):" in body else "algorithm"] = str(path)
    with pytest.raises(ValueError, match=message) as caught:
        RunSpec(**given)
    assert "plug_in.py" in str(caught.value)


@pytest.mark.parametrize("body", ["raise SystemExit(0)", "return {}[0]", "return None"])
def test_a_method_that_cannot_begin_is_named(body, tmp_path):
    path = tmp_path / "plug_in.py"
    path.write_text(PLUG_IN + METHOD.format(f"def init(self, federation): {body}"))
    data = make_dataset()
    with pytest.raises(AlgorithmError, match=r"plug_in\.py: "):
        run_rounds(RunSpec(dataset=data, algorithm=str(path), agents=2, seeds=1), data)


# What does not fit together


ON_COLUMNS = {"scheme": "columns", "blocks": [3, 4]}


def test_blocks_of_columns_need_no_problem_by_name():
    """The partition says that columns are shared out, the data set which loss is meant."""
    dataset = replace(make_dataset(n_classes=2), default_problem="logistic")
    trace = simulate(dataset, "admm_sharing", agents=ON_COLUMNS, rounds=2)
    found = json.loads(trace.attrs["problem"])
    assert found["loss"] == "logistic"
    # hu2019: 1e-4 ||x||^2.
    assert (found["penalty"], found["strength"]) == ("l2", 2e-4)
    named = simulate(dataset, "admm_sharing", problem="logistic", agents=ON_COLUMNS, rounds=2)
    np.testing.assert_array_equal(trace.train_loss, named.train_loss)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"problem": {"loss": "logistic", "penalty": "l1"}}, "admm_sharing needs the penalty l2"),
        ({"params": {"rho": 0}}, r"params\.rho"),
        ({"params": {"coupling": "serial"}}, r"params\.coupling"),
        ({"params": {"noise": 1.0}}, r"params\.noise: unknown parameter"),
        ({"algorithm": "dp_admm_sharing", "params": {"noise": 0}}, r"params\.noise"),
        ({"algorithm": "local_only", "params": {"parties": 0}}, r"params\.parties"),
        ({"algorithm": "vertical_sgd", "params": {"batch_size": 0}}, r"params\.batch_size"),
    ],
)
def test_what_does_not_fit_is_one_clear_error(changes, message):
    fits = {
        "dataset": make_dataset(n_classes=2),
        "algorithm": "admm_sharing",
        "problem": "logistic",
        "agents": ON_COLUMNS,
        "rounds": 1,
    }
    simulate(**fits)
    with pytest.raises(ValueError, match=message) as raised:
        simulate(**{**fits, **changes})
    assert "\n" not in str(raised.value)


def test_a_partition_may_have_numbers_of_numpy():
    given = {"scheme": "iid", "agents": np.int64(3)}
    assert RunSpec(dataset="digits", algorithm="objp", agents=given).n_agents == 3
