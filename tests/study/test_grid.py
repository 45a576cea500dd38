"""Settings with several values, and those that a method changes."""

import json

import jsonschema  # type: ignore[import-untyped]
import pytest

from admmbench.study import config
from admmbench.study.config import ConfigError, check_experiment
from admmbench.study.runs import Run

OBJP = {"name": "objp", "label": "ObjP"}
CONTENT = {
    "title": "t",
    "dataset": "digits",
    "rounds": 20,
    "sensitivity": "global",
    "privacy": {"total": 1},
    "algorithms": [OBJP],
}
SCHEMA = jsonschema.Draft202012Validator(json.loads(config.schemas()["experiment.schema.json"]))


def check(**changes):
    content = {**CONTENT, **changes}
    SCHEMA.validate(content)
    return check_experiment(content)


def of_method(**changes):
    return {"algorithms": [{**OBJP, **changes}]}


def stated(experiment, key):
    return {run.label: getattr(run.spec, key) for run in experiment.runs}


GRID = {
    "title": "t",
    "dataset": "digits",
    "epsilon": [1, 2],
    "agents": [2, {"scheme": "iid", "agents": 3}],
    "rounds": [10, 20],
    "algorithms": [{"name": "objp", "label": "ObjP"}, {"name": "pvp", "label": "PVP", "rounds": 5}],
}


def test_a_setting_may_have_several_values():
    """Each combination is a method of its own; one that states a single value has this one."""
    found = check_experiment({**GRID, "seeds": 1})
    assert {(run.label, run.spec.n_agents, run.spec.rounds) for run in found.runs} == {
        ("ObjP, agents 2, rounds 10", 2, 10),
        ("ObjP, agents 2, rounds 20", 2, 20),
        ('ObjP, agents {"scheme": "iid", "agents": 3}, rounds 10', 3, 10),
        ('ObjP, agents {"scheme": "iid", "agents": 3}, rounds 20', 3, 20),
        ("PVP, agents 2", 2, 5),
        ('PVP, agents {"scheme": "iid", "agents": 3}', 3, 5),
    }
    assert len(found.runs) == 12
    again = check_experiment(found.model_dump(mode="json"))
    assert [run.path for run in again.runs] == [run.path for run in found.runs]


def test_a_method_may_change_every_setting():
    own = {"sensitivity": "global", "dtype": "float64", "privacy": {"noise": "gaussian"}}
    changed = {"name": "objp", "label": "O", **own, "delta": 1e-5, "evaluate_every": 2}
    given = {**GRID, "agents": 2, "rounds": 10, "algorithms": [*GRID["algorithms"], changed]}
    specs = {run.label: run.spec for run in check_experiment(given).runs}
    spec = specs["O"]
    assert (spec.sensitivity, spec.dtype, spec.delta) == ("global", "float64", 1e-5)
    assert (spec.privacy.noise, spec.evaluate_every) == ("gaussian", 2)
    assert (specs["ObjP"].sensitivity, specs["ObjP"].dtype) == ("local", "float32")


@pytest.mark.parametrize("every", [{}, {"evaluate_every": 10}])
@pytest.mark.parametrize("rounds", [[5, 50], [50, 5]])
def test_rounds_are_evaluated_alike_whichever_value_comes_first(rounds, every):
    experiment = check(rounds=rounds, **every)
    assert stated(experiment, "evaluate_every") == {"ObjP, rounds 5": 5, "ObjP, rounds 50": 10}


@pytest.mark.parametrize("given", [{"total": 1, "delta": [1e-5, 1e-6]}, {"total": 1}])
def test_delta_may_be_a_list_beside_the_total_and_null_in_a_method(given):
    beside = {} if "delta" in given else {"delta": [1e-5, 1e-6]}
    experiment = check(privacy=given, **beside, **of_method(delta=None))
    assert stated(experiment, "delta") == {"ObjP, delta 1e-05": 1e-5, "ObjP, delta 1e-06": 1e-6}
    own = check(privacy=given, **beside, **of_method(privacy={"delta": 1e-7}))
    assert stated(own, "delta") == {"ObjP": 1e-7}


def test_a_method_changes_what_it_states_of_privacy_alone():
    experiment = check(
        privacy={"total": 1, "relation": "replace", "noise": "gaussian"},
        algorithms=[OBJP, {**OBJP, "label": "blank", "privacy": {"relation": "zero_out"}}],
    )
    again = check_experiment(experiment.model_dump(mode="json"))
    for each in (experiment, again):
        privacy = stated(each, "privacy")
        assert {key: value.relation for key, value in privacy.items()} == {
            "ObjP": "replace",
            "blank": "zero_out",
        }
        assert {value.noise for value in privacy.values()} == {"gaussian"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rounds": [5, "x"]}, "rounds.1: expected a number, got 'x'"),
        (of_method(rounds=[5, 0]), "algorithms.0.rounds.1: Input should be greater than"),
        (of_method(rounds=[None]), "algorithms.0.rounds.0: Input should be a valid integer"),
        ({"algorithms": [OBJP, {**OBJP, "rounds": []}]}, "algorithms.1.rounds: Input should be"),
        ({"algorithms": [{"name": "objp", "rounds": [4]}]}, "algorithms.0.label: this key is mi"),
        (of_method(privacy={"covers": ["run"]}), "algorithms.0.privacy.covers: Input should be"),
    ],
)
def test_what_is_refused_is_named_as_it_was_written(changes, message):
    content = {**CONTENT, **changes}
    with pytest.raises(ConfigError) as raised:
        check_experiment(content)
    assert str(raised.value).splitlines()[1].strip().startswith(message)


@pytest.mark.parametrize(
    ("own", "key"),
    [
        ({"evaluate_every": 21}, "evaluate_every"),
        ({"privacy": {"cohort": 11}}, "privacy.cohort"),
        ({"privacy": {"unit": "agent"}, "problem": {"average": "records"}}, "privacy.unit"),
    ],
)
def test_a_setting_of_a_method_that_is_refused_is_named_with_it(own, key):
    with pytest.raises(ConfigError, match=rf"algorithms\.1 \(FedAvg\): {key}: "):
        check(algorithms=[OBJP, {"name": "dp_fedavg", "label": "FedAvg", **own}])


def test_a_setting_of_the_experiment_that_is_refused_is_not_one_of_a_method():
    with pytest.raises(ConfigError, match=r"^experiment:\n  privacy\.cohort: "):
        check(privacy={"total": 1, "cohort": 11}, algorithms=[{**OBJP, "rounds": 10}])


def test_noise_may_be_stated_twice_alike():
    ((_, spec),) = check(**of_method(noise="gaussian", privacy={"noise": "gaussian"})).computed
    assert spec.privacy.noise == "gaussian"


@pytest.mark.parametrize(
    "changes",
    [
        {"rounds": [10, 20], **of_method(tune={"rounds": 5})},
        of_method(rounds=[10, 20], tune={"rounds": 5}),
    ],
)
def test_a_setting_with_several_values_is_not_tuned(changes):
    with pytest.raises(ConfigError, match=r"algorithms\.0\.tune\.rounds: .*take it out of tune"):
        check(tuning={}, **changes)
    one = {"tuning": {}, "rounds": [10, 20], **of_method(rounds=10, tune={"rounds": 5})}
    assert check(**one).computed[0][1].rounds == 5


def test_schemas_state_limits_and_defaults_in_json():
    for text in config.schemas().values():
        json.loads(text, parse_constant=pytest.fail)
    for given in ({"rounds": 0}, {"delta": 1}, {"time_limit": 0}):
        assert not SCHEMA.is_valid({**CONTENT, **given})
    assert SCHEMA.is_valid({**CONTENT, "rounds": 1, "delta": 0.5, "time_limit": 1})


def test_runs_of_one_method_share_a_folder():
    """Where a search chose other settings at another budget, and where blocks have other sizes, they do not."""
    tuned = {"ObjP": {n: {"settings": {"rounds": 10 * n}, "error": 0.1} for n in (1, 2)}}
    methods = [{**OBJP, "tune": {"rounds": 10}}, {**OBJP, "label": "other"}]
    totals, tuning = {"privacy": {"total": [1, 2]}}, {"tuning": {"seeds": [1000]}, "tuned": tuned}
    content = {**CONTENT, **totals, **tuning, "seeds": 13, "algorithms": methods}
    runs = check_experiment(content).runs
    assert [run.path for run in runs] == [Run("", run.spec).path for run in runs]
    assert len({run.folder for run in runs if run.label == "ObjP"}) == 2 * 2
    assert len({run.folder for run in runs if run.label == "other"}) == 2
