"""Arguments: what is refused, and how it is said."""

import math

import pytest
import yaml
from pydantic import ValidationError

from admmbench import simulate
from admmbench.cli import _settings
from admmbench.engine.spec import RunSpec


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dataset": "digit"}, "did you mean 'digits'"),
        ({"dataset": {"name": "femnist", "shard": [1]}}, "did you mean 'shards'"),
        ({"algorithm": "objq"}, r"unknown algorithm 'objq'; did you mean 'obj[pt]'"),
        ({"params": {"local_update": 2}}, r"params\.local_update.*did you mean 'local_updates'"),
        ({"params": {"local_updates": 0}}, r"params\.local_updates: .*greater than or equal to 1"),
        ({"problem": "softmaxx"}, "did you mean 'softmax'"),
        ({"problem": {"loss": "softmax", "strength": -1}}, r"problem\.strength"),
        ({"problem": {"loss": "softmax", "strenght": 1}}, r"problem.*did you mean 'strength'"),
        ({"problem": {"loss": {"name": "softmax", "flor": 0}}}, "did you mean 'floor'"),
        ({"problem": {"loss": "softmax", "penalty": "l3"}}, r"problem\.penalty"),
        ({"problem": {"loss": "softmax", "records": {"max_norm": 1}}}, r"problem\.records.*max_l"),
        ({"problem": "logistic"}, "logistic: it needs two classes, digits has 10 classes"),
        (
            {"problem": {"name": "softmax", "regularization": 0.5}},
            r"is how version 0\.1 wrote it; write {'loss': 'softmax', 'strength': 1\.0",
        ),
        ({"epsilon": 0}, "epsilon: .*greater than 0"),
        ({"epsilon": -1}, "epsilon: .*greater than 0"),
        ({"delta": 1}, "delta: .*less than 1"),
        ({"rounds": 0}, "rounds: .*greater than or equal to 1"),
        ({"seeds": []}, "seeds"),
        ({"seeds": [1, 1]}, "seeds: each seed may appear once"),
        ({"seeds": [-1]}, "seeds"),
        ({"seeds": 3}, r"range\(3\)"),
        ({"agents": 2000}, "2000 agents cannot share the 1437 training rows"),
        ({"agents": 0}, r"agents.*greater than or equal to 1"),
        ({"agents": {"scheme": "by_writer"}}, "does not say who wrote"),
        ({"agents": {"scheme": "iid", "agent": 3}}, "agents"),
        ({"sensitivity": "both"}, "sensitivity"),
        ({"variant": "mine"}, "variant"),
        ({"dtype": "float16"}, "dtype"),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        simulate(**{"dataset": "digits", "algorithm": "objp", **arguments})


def test_unknown_settings_get_the_nearest():
    with pytest.raises(ValidationError, match="did you mean 'epsilon'"):
        RunSpec(dataset="digits", algorithm="objp", epsilom=1)


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
    assert RunSpec.model_validate(_settings(spec.arguments())) == spec


@pytest.mark.parametrize("text", [".inf", "inf", "Infinity", "infty"])
def test_infinity_as_people_write_it(text):
    assert (
        RunSpec(dataset="digits", algorithm="objp", epsilon=yaml.safe_load(text)).epsilon
        == math.inf
    )
