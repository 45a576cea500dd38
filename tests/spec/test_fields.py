"""Settings: each stands once, and `simulate` takes all."""

import inspect
import math

import pytest
from numpydoc.docscrape import FunctionDoc  # type: ignore[import-untyped]

from admmbench import simulate
from admmbench.spec.fields import SEEDS, PrivacySettings, Settings
from admmbench.spec.run import RunSpec
from admmbench.study.experiment import Experiment
from admmbench.study.grid import Totals
from admmbench.study.methods import Method

# Of the call, and of no run: they decide no number.
OF_THE_CALL = {"threads", "progress", "groups", "keep_model", "device"}


def test_simulate_takes_the_settings_of_a_run():
    arguments = inspect.signature(simulate).parameters
    assert arguments.keys() - OF_THE_CALL == RunSpec.model_fields.keys()
    assert arguments.keys() == {
        name for each in FunctionDoc(simulate)["Parameters"] for name in each.name.split(", ")
    }


def test_simulate_has_the_defaults_of_a_run():
    """Or none, where the model fills one in."""
    arguments = inspect.signature(simulate).parameters
    assert arguments["seeds"].default == SEEDS
    for name in RunSpec.model_fields.keys() - {"seeds"}:
        default = RunSpec.model_fields[name].get_default()
        stated = arguments[name].default
        assert stated in (None, inspect.Parameter.empty) or stated == default
    assert arguments["epsilon"].default == math.inf


@pytest.mark.parametrize("model", [Settings, RunSpec, Experiment, Method, PrivacySettings, Totals])
def test_each_setting_says_what_it_is(model):
    keys = model.model_json_schema()["properties"]
    without = {name for name in model.model_fields.keys() & keys if "description" not in keys[name]}
    assert without <= {"title", "description", "privacy", "algorithms", "figures"}


def test_experiments_and_methods_have_the_settings_of_runs():
    """All but the method's name, the seeds and their mirrors are stated in one place."""
    own = {"algorithm", "seeds", "mirror", "epsilon", "privacy", "dataset"}
    of_runs = RunSpec.model_fields.keys() - own
    assert of_runs == Settings.model_fields.keys()
    assert of_runs <= Experiment.model_fields.keys()
    assert of_runs <= Method.model_fields.keys()
