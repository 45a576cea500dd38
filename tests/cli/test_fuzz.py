"""Whatever a user writes, in files or on the command line, is read as it is meant or refused in one message."""

import contextlib
import copy
import io
import math
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from admmbench.cli import main
from admmbench.contracts.made_up_data import make_dataset
from admmbench.files.core_yaml import ReadError, dump_yaml, inline_yaml, read_yaml
from admmbench.forecast.cost import estimate
from admmbench.study import config
from admmbench.study.config import Config, ConfigError
from admmbench.study.experiment import Experiment

TUNE = {"rounds": 5, "params.learning_rate": {"start": 0.1, "factor": 4, "most": 1}}
EXPERIMENT: dict[str, Any] = {
    "title": "Mutated",
    "paper": "",
    "description": "x",
    "artefacts": ["table 1"],
    "dataset": {"name": "digits"},
    "agents": {"scheme": "iid", "agents": 3, "shuffle": True, "train": None},
    "problem": {"loss": {"name": "softmax", "floor": 0.1}, "penalty": "l2", "strength": 0.1},
    "rounds": 20,
    "evaluate_every": 5,
    "seeds": [0, 2**40],
    "seed_block": 2,
    "privacy": {"total": [1, math.inf], "relation": "zero_out", "noise": "published"},
    "sensitivity": "global",
    "delta": 1e-5,
    "dtype": "float64",
    "time_limit": 10,
    "timed": False,
    "accountants": ["rdp", "pld"],
    "audit": {"rounds": 2, "repeats": 10, "canaries": ["worst"], "level": 0.9},
    "tuning": {"trials": 4, "held_out": 5, "seeds": [1000]},
    "tuned": {"GD": {1: {"settings": {"rounds": 4}, "error": 0.5, "edges": []}}},
    "algorithms": [
        {"name": "objp", "label": "ObjP", "params": {"rho": {"c1": 2, "scale": 1}, "a": 1}},
        {"name": "dpsgd", "label": "GD", "tune": TUNE, "delta": 1e-6, "agents": 4, "rounds": 7},
        {"name": "outp", "label": "OutP", "epsilon": [2], "noise": "gaussian", "variant": "paper"},
    ],
    "figures": [
        {"name": "a", "kind": "curves", "metric": "test_error", "log": True, "width": "page"},
        {"name": "b", "kind": "tradeoff", "against": "epsilon", "epsilon": [1]},
    ],
}
CONFIG: dict[str, Any] = {
    "experiments": ["small"],
    "overrides": {"small": {"rounds": 20}, "*": {"audit": None}},
    "data": {"mirror": None, "cache": "resources"},
    "results": "results",
    "threads": 2,
    "cache_runs": False,
    "checkpoint_minutes": 5.0,
}
RUN: dict[str, Any] = {
    "dataset": {"name": "digits"},
    "algorithm": "objp",
    "params": {"rho": {"c1": 2}, "a": 1.0, "local_updates": 2},
    "problem": {"loss": "softmax", "records": {"max_l2_norm": 1}, "per": "total"},
    "agents": {"scheme": "stratified", "agents": 3, "shuffle": True},
    "epsilon": 1,
    "privacy": {"relation": "replace", "trust": "agents"},
    "rounds": 4,
    "seeds": "0-1",
    "evaluate_every": 2,
    "delta": 1e-6,
    "accountants": ["rdp"],
}
ODD: list[Any] = [
    *(None, True, False, 0, 1, -1, 2, 10**9 + 1, 2**63, 10**300, 0.5, -0.0, 2.0, 1e-300, 1e160),
    *(1e308, math.inf, -math.inf, math.nan, "", " ", "x", "5", "yes", "null", "~", "$x", "-rf"),
    *("a{b}", "../x", ".py", "x.py", "0-1", "9-1", "a\nb", "x" * 300, "ε", [], {}, [None], [[]]),
    *([1, "x"], {"x": 1}, {1: 2}, {"name": None}, {"": {}}, {"scheme": "x"}, [1, 1], "0-99999999"),
]
ANY = st.sampled_from(ODD).map(copy.deepcopy) | st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text("aε-.0{$", max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)


def places(value, path=()):
    """Paths of all that is within a value."""
    keys = value if isinstance(value, dict) else range(len(value)) if type(value) is list else ()
    for key in keys:
        yield (*path, key)
        yield from places(value[key], (*path, key))


@st.composite
def mutated(draw, valid):
    """A valid value with one or two changes: other values, keys that are renamed, added or left out."""
    value = copy.deepcopy(valid)
    for _ in range(draw(st.integers(1, 2))):
        *parents, last = draw(st.sampled_from(list(places(value)) or [()])) or (None,)
        if last is None:
            break
        within = value
        for key in parents:
            within = within[key]
        how = draw(st.sampled_from(["replace"] * 6 + ["remove", "rename", "add", "twice"]))
        if how == "remove":
            del within[last]
        elif how == "rename" and isinstance(within, dict):
            within[draw(st.sampled_from(["x", 1, "loss", "agents", "epsilom"]))] = within.pop(last)
        elif how == "add" and isinstance(within, dict):
            within[draw(st.sampled_from(["x", "name", "agents"]))] = draw(ANY)
        elif how == "twice" and isinstance(within, list):
            within.append(copy.deepcopy(within[last]))
        else:
            within[last] = draw(ANY)
    return value


def changed(valid, *path_and_value):
    """A valid value with one change."""
    *path, last, new = path_and_value
    value = within = copy.deepcopy(valid)
    for key in path:
        within = within[key]
    within[last] = new
    return value


SCHEMA = jsonschema.Draft202012Validator(Experiment.model_json_schema())
CONFIG_SCHEMA = jsonschema.Draft202012Validator(Config.model_json_schema())


def load(content, folder, text):
    """What a configuration and its experiment come to; None if they are refused, as foreseen."""
    path = folder / "experiments/small.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, "utf-8")
    refused = None
    try:
        study = config.load(content, folder)
    except ConfigError as error:
        refused = error
    if refused:
        assert refused.__cause__ is None, refused  # of an exception that nobody foresaw
        assert len(str(refused)) < 5000
        return None
    for experiment in study.experiments.values():
        for run in (*experiment.runs, *experiment.searches.values()):
            run.spec.arguments()
            estimate(run.spec, 2)
        assert experiment.audits is not None
        study.definition("small", config.MANIFEST)
    return study


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    with contextlib.chdir(tmp_path_factory.mktemp("fuzz")):
        yield Path.cwd()


def test_what_is_mutated_is_valid(folder):
    assert load(CONFIG, folder, dump_yaml(EXPERIMENT)).experiments["small"].runs
    assert main(["run", *words(RUN), "--output", "x", "--fingerprint", "other"]) == 1


@settings(max_examples=100)
@given(mutated(EXPERIMENT))
def test_experiments(folder, content):
    study = load({"experiments": ["small"]}, folder, dump_yaml(content))
    if study is not None:
        SCHEMA.validate(content)


def respelt(value):
    """What Python would take for the value, and a reader would not."""
    if isinstance(value, bool):
        return [int(value), "yes", str(value).lower()]
    if isinstance(value, int | float):
        return [str(value), True]
    return [5] if isinstance(value, str) else []


def valued(content):
    """Paths of all that has no parts, with its value."""
    for path in places(content):
        value = content
        for key in path:
            value = value[key]
        yield path, value


def test_no_value_may_be_of_another_type(folder):
    """Of a number, infinity and powers of ten may be text: YAML 1.1 leaves ``1e-6`` so."""
    study, text = {"experiments": ["small"]}, dump_yaml({**EXPERIMENT, "audit": None})
    taken = [
        (path, new)
        for valid in (EXPERIMENT, CONFIG)
        for path, value in valued(valid)
        for new in respelt(value)
        for given_ in [changed(valid, *path, new)]
        if (
            load(study, folder, dump_yaml(given_))
            if valid is EXPERIMENT
            else load(given_, folder, text)
        )
    ]
    assert all(new == "inf" or new in ("1e-05", "1e-06") for _, new in taken), taken


@settings(max_examples=60)
@given(mutated(CONFIG))
def test_configurations(folder, content):
    study = load(content, folder, dump_yaml({**EXPERIMENT, "audit": None}))
    if study is not None:
        CONFIG_SCHEMA.validate(content)


@settings(max_examples=60)
@given(st.data())
def test_text_of_experiments(folder, data):
    """Lines and characters that are lost, repeated or foreign."""
    text = dump_yaml(EXPERIMENT, default_flow_style=None)
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = start + data.draw(st.sampled_from([0, 1, 5, 60]))
        new = data.draw(st.sampled_from(["", text[start:end] * 2, *"\t\n:-[{&*!#'\"%\0\ufeff,"]))
        text = text[:start] + new + text[end:]
    load({"experiments": ["small"]}, folder, text)


@settings(max_examples=60)
@given(st.binary(max_size=20) | st.text("a:-[]{}&*!|>'\"\n\t 01~<,#?@%", max_size=20))
@example(b"\xff\xfea\x00")
@example(b"a: \xe9")
def test_any_file(folder, content):
    path = folder / "any.yaml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with contextlib.suppress(ReadError):
        read_yaml(path)


def words(settings):
    return [f"{key}={inline_yaml(value)}" for key, value in settings.items()]


def said(arguments):
    """What a command prints on standard error, with its status."""
    with contextlib.redirect_stderr(io.StringIO()) as error:
        with contextlib.redirect_stdout(io.StringIO()):
            try:
                status = main(arguments)
            except SystemExit as end:
                return end.code, error.getvalue()
        return status, error.getvalue()


def _computed(*given):
    raise ValueError("nothing is computed")


@pytest.fixture(scope="module")
def checked():
    """Settings are checked, and nothing is computed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("admmbench.datasets.load_dataset", lambda spec, **_: make_dataset())
        patch.setattr("admmbench.jobs.job.execute", _computed)
        patch.setattr("admmbench.tuning.trials.tune", _computed)
        yield


@settings(max_examples=60)
@given(mutated(RUN))
def test_words_of_a_run(folder, checked, content):
    status, error = said(["run", *words(content), "--output", "x"])
    assert "ADMMBENCH_DEBUG" not in error
    assert status == 0 or error.startswith("admmbench: ")
    assert "Traceback" not in error


COMMANDS = [
    ["run", *words(RUN), "--threads", "2", "--output", "x"],
    ["tune", "dataset=digits", "algorithm=objp", "--axes", "{x: 1}", "--output", "x"],
    ["audit", "dataset=digits", "algorithm=iadmm", "--audit", "{rounds: 1}", "--output", "x"],
    ["choose", "x.json", "--of", "[[a, 1]]", "--kept", "{}", "--output", "y"],
    ["prepare", "{name: digit}", "--output", "x"],
    ["plan", "--config", "a=1", "--cores", "2"],
    ["aggregate", "folder", "--output", "x"],
    ["figures", "x.json", "--results", "y", "--output", "z"],
    ["show", "x"],
    ["path", "x"],
    ["new", "loss", "0", "--output", "x"],
]


@settings(max_examples=80)
@given(st.data())
def test_command_lines(folder, checked, data):
    given_ = list(data.draw(st.sampled_from(COMMANDS)))
    for _ in range(data.draw(st.integers(1, 2))):
        place = data.draw(st.integers(1, max(1, len(given_) - 1)))
        if len(given_) < 2:
            break
        if data.draw(st.booleans()):
            given_[place] = data.draw(
                st.sampled_from(["", "{", "a=", "=", "\0", "-1", "~x", "[[1]]"])
            )
        else:
            del given_[place]
    status, error = said(given_)
    assert "ADMMBENCH_DEBUG" not in error
    assert status == 0 or error
    assert "Traceback" not in error
