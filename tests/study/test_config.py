"""Configuration: what is accepted, what is refused and how, and which runs it means."""

import json
import math
import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from admmbench import scaffold
from admmbench.files import CHECKSUM_KEY, checksummed_json
from admmbench.files.core_yaml import parse_words
from admmbench.jobs import provenance
from admmbench.privacy import ACCOUNTANTS
from admmbench.spec.run import RunSpec
from admmbench.study import config, configurations
from admmbench.study.address import CHECKPOINT
from admmbench.study.config import ConfigError, Study
from admmbench.study.experiment import Experiment
from admmbench.study.runs import Run

ROOT = Path(__file__).parents[2]
EXPERIMENTS = sorted((ROOT / "config/experiments").glob("*.yaml"))
SMALL: dict[str, Any] = {
    "title": "Small",
    "dataset": "digits",
    "agents": 3,
    "rounds": 10,
    "epsilon": [0.1, 1],
    "algorithms": [{"name": "objp", "label": "ObjP"}, {"name": "outp", "label": "OutP"}],
}


def write(folder, text):
    """An experiment of a configuration."""
    path = folder / "experiments/small.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


def load(folder, overrides=None, **changes):
    write(folder, yaml.safe_dump({**SMALL, **changes}))
    study = {"experiments": ["small"], "overrides": overrides or {}}
    return config.load(study, folder).experiments["small"]


@pytest.mark.parametrize(
    "path", sorted((ROOT / "config").glob("*.yaml")), ids=lambda path: path.stem
)
def test_shipped_configurations_are_valid(path, monkeypatch):
    monkeypatch.chdir(ROOT)
    base = yaml.safe_load(Path("config/config.yaml").read_text())
    changes = yaml.safe_load(path.read_text())
    study = config.load({**base, **changes})
    assert list(study.experiments) == changes["experiments"]
    assert all(experiment.runs for experiment in study.experiments.values())


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: path.stem)
def test_every_experiment_can_be_read_and_has_figures(path):
    experiment = Experiment.model_validate(yaml.safe_load(path.read_text()))
    assert experiment.figures
    for figure in experiment.figures:  # captions call a round as the axis does
        assert not re.search(r"epoch|communication round", figure.caption)
    assert len({run.path for run in experiment.runs}) == len(experiment.runs)
    assert Experiment.model_validate_json(experiment.model_dump_json()) == experiment


def method(**keys):
    """An experiment of one method."""
    return {"algorithms": [{"name": "objp", "label": "x", **keys}]}


def figure(**keys):
    """An experiment with a figure."""
    return {"figures": [{"name": "a", "kind": "curves", **keys}]}


BEST: dict[str, Any] = {"settings": {}, "error": 0}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"epsilom": [1]}, "unknown key 'epsilom'; did you mean 'epsilon'"),
        ({"timed": "yes"}, "timed: expected true or false, got 'yes'"),
        ({"rounds": None}, r"rounds: Input should be a valid integer \(got None\)"),
        ({"algorithms": [None]}, r"algorithms\.0: Input should be a mapping of keys to values"),
        ({"tuning": {"trial": 1}}, r"tuning: unknown key 'trial'; did you mean 'trials'\?$"),
        ({"only": []}, "only: List should have at least 1 item"),
        (
            {"tuned": {"ObjP": {1: BEST, "1.0": BEST}}},
            r"tuned.ObjP: each budget may appear once, got \[1, '1.0'\]",
        ),
        (figure(name="a" * 101), r"figures\.0\.name: .*at most 100"),
        ({"epsilon": [1e160]}, r"epsilon\.0: expected 1e-100 to 1e\+100"),
        ({"epsilon": [0]}, r"epsilon\.0: .*greater than 0 \(got 0\)"),
        ({"epsilon": []}, "epsilon"),
        ({"epsilon": [1, 1]}, "epsilon: each value may appear once"),
        ({"seed_blocks": [2, 0]}, "seed_blocks.*greater than or equal to 1"),
        ({"seed_blocks": []}, "seed_blocks"),
        ({"algorithms": []}, "algorithms"),
        (
            method(name="objj"),
            r"algorithms\.0 \(x\): unknown algorithm 'objj'; did you mean 'obj[pt]'",
        ),
        (
            method(params={"local_update": 1}),
            r"algorithms\.0 \(x\): params\.local_update: .*did you mean 'local_updates'",
        ),
        (method(labels="x"), r"algorithms\.0: unknown key 'labels'; did you mean 'label'"),
        (figure(kind="curve"), r"figures\.0\.kind"),
        # Only what is timed has them.
        (figure(metric="seconds"), r"figures\.0\.metric: unknown metric 'seconds'"),
        (figure(kind=["curves"]), r"figures\.0\.kind: unknown kind"),
        ({"seeds": [2**63]}, r"seeds\.0: .*less than"),
        ({"dataset": {"name": ["digits"]}}, "dataset: name: expected the name of a data set"),
        ({"problem": {"loss": {"name": ["softmax"]}}}, "loss: name: expected the name of a loss"),
        ({"problem": {"loss": "logistic", "constraints": 3}}, "problem.constraints: "),
        (method(agents=5000), "5000 agents cannot share the 1437 training rows"),
    ],
)
def test_faults_are_named_with_file_and_key(tmp_path, changes, message):
    with pytest.raises(ConfigError, match=message) as caught:
        load(tmp_path, **changes)
    assert "small.yaml" in str(caught.value)


@pytest.mark.parametrize(
    ("study", "message"),
    [
        ({"experiments": ["smal"]}, "unknown experiment 'smal'; did you mean 'small'"),
        ({"experiments": []}, "experiments"),
        ({"experiments": ["small"], "override": {}}, "did you mean 'overrides'"),
        ({"experiments": ["small"], "overrides": {"smll": {}}}, "did you mean 'small'"),
        (
            {"experiments": ["small"], "overrides": {"small": {"round": 5}}},
            "configuration: overrides: small:\n.*did you mean 'rounds'",
        ),
        ({"experiments": ["small"], "data": {"miror": "x"}}, r"data: .*did you mean 'mirror'"),
        ({"experiments": ["small"], "threads": 0}, "threads"),
    ],
)
def test_faults_of_the_study(tmp_path, study, message):
    write(tmp_path, yaml.safe_dump(SMALL))
    with pytest.raises(ConfigError, match=message):
        config.load(study, tmp_path)


def test_a_mistake_of_a_file_is_not_one_of_the_overrides(tmp_path):
    with pytest.raises(ConfigError, match=r"small\.yaml:\n.*did you mean 'rounds'"):
        load(tmp_path, {"small": {"seeds": 1}}, round=5)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        *((name, "a/b") for name in ("a/b", "a/b/", "a//b", "./a/./b", "a/c/../b")),
        ("../out", "../out"),
        ("~/out", "/home/me/out"),
        ("$PLACE/x", "/place/x"),
        *(
            (name, None)
            for name in ("", " ", ".", "./", "/", "-rf", "r{x}", "a/{b}", "~no-such-user/x")
        ),
        *((name, None) for name in ("$NOWHERE/x", "a\nb", "a\0b", "file", "file/x", "a" * 300)),
        *((name, None) for name in (None, 5, ["a"])),
    ],
)
@pytest.mark.parametrize("key", ["results", "cache", "mirror"])
def test_folders_are_spelt_in_one_way(key, given, meant, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("PLACE", "/place")
    Path("file").touch()
    write(tmp_path, yaml.safe_dump(SMALL))
    path = key if key == "results" else f"data.{key}"
    changes = {"results": given} if key == "results" else {"data": {key: given}}
    study = {"experiments": ["small"], **changes}
    if meant is not None:
        found = config.load(study, tmp_path).config
        assert getattr(found if key == "results" else found.data, key) == meant
    elif (key, given) != ("mirror", None):
        with pytest.raises(ConfigError, match=f"^configuration:\n  {path}: "):
            config.load(study, tmp_path)


@pytest.mark.parametrize("name", ["a{b}", "-x", ".x", "x" * 220, "a\nb"])
def test_names_that_no_folder_of_results_can_have_are_refused(name, tmp_path):
    write(tmp_path, yaml.safe_dump(SMALL))
    (tmp_path / f"experiments/{name}.yaml").write_text(yaml.safe_dump(SMALL))
    with pytest.raises(ConfigError, match=r"^configuration: experiments: "):
        config.load({"experiments": [name]}, tmp_path)
    with pytest.raises(ConfigError, match=r"^report: .* give the configurations other names"):
        config.report_name([f"{name}.yaml"])


@pytest.mark.parametrize("text", ["a\0b", "a\0", "\1", "\x1b[31m", "\ud800"])
@pytest.mark.parametrize("key", ["title", "paper", "description", "algorithms.0.label"])
def test_text_that_no_file_of_results_can_have_is_refused(key, text):
    changes = method(label=text) if key == "algorithms.0.label" else {key: text}
    with pytest.raises(
        ConfigError, match=f"\n  {key}: .* (has the character 0x|unicode)"
    ) as caught:
        config.check_experiment({**SMALL, **changes})
    assert str(caught.value).count("\n") == 1


def test_experiments_whose_names_are_patterns_can_be_overridden(tmp_path):
    write(tmp_path, yaml.safe_dump(SMALL))
    (tmp_path / "experiments/a[b].yaml").write_text(yaml.safe_dump(SMALL))
    study = {"experiments": ["a[b]"], "overrides": {"a[b]": {"rounds": 3}}}
    assert config.load(study, tmp_path).experiments["a[b]"].rounds == 3


def test_the_folder_of_a_plugin_s_runs_has_a_name_that_a_file_can_have(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scaffold.write("method", "mine", tmp_path)
    for name in ("x{y}.py", "x" * 185 + ".py"):
        Path("mine.py").rename(name)
        method = {"name": name, "label": "Mine"}
        with pytest.raises(ConfigError, match=r"algorithms\.0: its folder of runs: "):
            load(tmp_path, algorithms=[method])
        Path(name).rename("mine.py")


def test_an_exception_of_any_kind_names_the_file(tmp_path, monkeypatch):
    def fail(*given):
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr("admmbench.study.experiment.refuse", fail)
    with pytest.raises(ConfigError, match=r"small\.yaml: ZeroDivisionError: by zero"):
        load(tmp_path)
    monkeypatch.setattr("admmbench.study.experiment.refuse", lambda *given: {}["key"])
    with pytest.raises(ConfigError, match=r"small\.yaml: KeyError: 'key'"):
        load(tmp_path)


def test_labels_of_drafts_are_those_that_are_there(tmp_path, monkeypatch):
    """An experiment that the study does not run may be at work; its labels are read all the same."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "config/experiments"
    folder.mkdir(parents=True)
    for name, methods in {"a": None, "b": [{"name": "objp"}, {"label": "B"}], "c": 5}.items():
        (folder / f"{name}.yaml").write_text(yaml.safe_dump({"algorithms": methods}))
    (folder / "d.yaml").write_text("title: [")
    (folder / "e.yaml").write_text(yaml.safe_dump({**SMALL, "rounds": [4, 8]}))
    found = configurations.labels()
    labels = [f"{label}, rounds {rounds}" for label in ("ObjP", "OutP") for rounds in (4, 8)]
    assert [found[name] for name in "abcde"] == [[], ["B"], [], [], labels]


def test_overrides_merge_and_later_ones_win(tmp_path):
    experiment = load(
        tmp_path,
        {"*": {"rounds": 5, "params": {"rho": {"c2": 1}}}, "small": {"rounds": 7}},
        params={"rho": {"c1": 3}},
    )
    assert experiment.rounds == 7
    assert experiment.params == {"rho": {"c1": 3, "c2": 1}}


FORMER = {"looks": [1, 2], "tuning": {"trials": 4, "beside": True}}
PRESENT = {"interim_analyses": [1, 2], "tuning": {"trials": 4, "sensitivity": True}}


@pytest.mark.parametrize("of_file", [FORMER, PRESENT, {}])
@pytest.mark.parametrize("of_overlay", [FORMER, PRESENT, {}])
def test_former_keys_of_files_and_overlays_are_accepted_with_a_warning(
    tmp_path, of_file, of_overlay
):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        experiment = load(tmp_path, {"small": of_overlay}, **of_file)
    told = sorted(str(warning.message) for warning in caught)
    place = {"file": str(tmp_path / "experiments/small.yaml"), "overlay": "overrides: small"}
    former = [
        place[name]
        for name, content in {"file": of_file, "overlay": of_overlay}.items()
        if content is FORMER
    ]
    assert len(told) == 2 * len(former)
    for source in former:
        of_source = [text for text in told if source in text]
        assert any("looks is now called interim_analyses" in text for text in of_source)
        assert any("tuning.beside is now called tuning.sensitivity" in text for text in of_source)
    if of_file or of_overlay:
        assert experiment.interim_analyses == [1, 2]
        assert experiment.tuning
        assert experiment.tuning.sensitivity


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({**FORMER, **PRESENT}, "small.yaml: looks: interim_analyses, its present name, is given"),
        (
            {"tuning": {"beside": True, "sensitivity": True}},
            "small.yaml: tuning.beside: sensitivity, its present name, is given too; remove beside",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:.*is now called:FutureWarning")
def test_a_key_has_one_name(tmp_path, changes, fault):
    with pytest.raises(ConfigError, match=fault):
        load(tmp_path, **changes)


@pytest.mark.filterwarnings("error")
def test_a_study_of_an_earlier_version_is_read_without_a_warning(tmp_path):
    """Its manifest has former keys, which no user can change, and its runs and searches are those of today."""
    method = {**SMALL["algorithms"][0], "tune": {"params.rho": 1}}
    chosen = {"settings": {"params.rho": 2}, "error": 0.5, "sensitivity": {"params.rho": [0.6, 1]}}
    content = {**PRESENT, "algorithms": [method], "tuned": {"ObjP": {0.1: chosen, 1.0: chosen}}}
    experiment = load(tmp_path, **content)
    study = Study(config=config.Config(experiments=["small"]), experiments={"small": experiment})
    manifest = json.loads(study.definition("small", config.MANIFEST))
    definition = manifest["experiment"]
    definition["looks"] = definition.pop("interim_analyses")
    definition["tuning"]["beside"] = definition["tuning"].pop("sensitivity")
    for of_budget in definition["tuned"]["ObjP"].values():
        of_budget["beside"] = of_budget.pop("sensitivity")
    manifest.pop(CHECKSUM_KEY)
    (tmp_path / config.MANIFEST).write_text(checksummed_json(manifest))
    assert config.read_experiment(tmp_path) == ("small", experiment)
    assert experiment.chosen["ObjP"][1.0].error_growth == 0.5


def test_hashes_of_searches_are_those_of_the_first_version():
    """Settings in use have them, and would else be of another search."""
    experiments = config.load({"experiments": ["equal_privacy_adult"]}, ROOT / "config").experiments
    experiment = experiments["equal_privacy_adult"]
    assert experiment.tuning
    assert experiment.tuning.sensitivity
    hashes = {
        (search.label, search.budget): search.space(experiment.tuning)
        for search in experiment.searches.values()
    }
    known = {
        (label, budget): chosen.space
        for label, choices in experiment.tuned.items()
        for budget, chosen in choices.items()
        if chosen.space and (label, budget) in hashes
    }
    assert len(known) == 40
    assert known == {point: hashes[point] for point in known}


def test_numbers_as_yaml_leaves_them(tmp_path):
    experiment = load(tmp_path, epsilon=["1e-2", ".inf"], delta="1e-5")
    assert experiment.epsilon == [0.01, math.inf]
    assert experiment.delta == 1e-5


@pytest.mark.slow
@settings(max_examples=50)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.integers(1, 5))
def test_an_appended_block_leaves_the_runs_that_are_there(sizes, more):
    before, after = (
        {run.path for run in Experiment.model_validate({**SMALL, "seed_blocks": blocks}).runs}
        for blocks in (sizes, [*sizes, more])
    )
    assert before < after


@pytest.mark.parametrize(
    ("changes", "blocks"),
    [
        ({}, [tuple(range(10))]),
        ({"seeds": 7}, [(0, 1, 2, 3, 4), (5, 6)]),
        ({"seeds": [7, 3]}, [(3,), (7,)]),
        ({"seeds": "3-5", "seed_block": 2}, [(3,), (4, 5)]),
        ({"seed_blocks": [2, 1]}, [(0, 1), (2,)]),
        ({"seeds": 3, "seed_blocks": [2, 1]}, [(0, 1), (2,)]),
        ({"seeds": [7, 3, 6], "seed_blocks": [1, 2]}, [(3,), (6, 7)]),
    ],
)
def test_seeds_and_their_blocks(changes, blocks):
    experiment = Experiment.model_validate({**SMALL, **changes})
    assert experiment.blocks == blocks
    assert Experiment.model_validate_json(experiment.model_dump_json()) == experiment


def test_seeds_that_are_added_leave_the_runs_that_are_there():
    """From the configuration alone; attacks and searches do not depend on how many seeds there are."""
    given = {**SMALL, "sensitivity": "global", "audit": {}, "seed_block": 10}
    few, more = (Experiment.model_validate({**given, "seeds": n}) for n in (5, 7))
    paths = [{run.path for run in each.runs} for each in (few, more)]
    assert paths[0] < paths[1]
    assert {path.partition("+")[2] for path in paths[1] - paths[0]} == {"seeds=5-6.nc"}
    assert few.audits.keys() == more.audits.keys()


@pytest.mark.parametrize(
    "spelling",
    [
        {"params": {"a": 1, "rho": {"scale": 1}}},
        {
            "algorithms": [
                {"name": "objp", "label": "x", "params": {"proximity": "sqrt"}},
                SMALL["algorithms"][1],
            ]
        },
        {"agents": {"scheme": "iid", "agents": 3}},
        {"dataset": {"name": "digits"}},
        {"problem": {"loss": "softmax", "penalty": "l2", "per": "total"}},
        {"privacy": {"noise": "published"}},
        {"accountants": [name for name in reversed(ACCOUNTANTS) if ACCOUNTANTS[name].usual]},
        {"title": "Another", "figures": [{"name": "error", "kind": "curves"}]},
    ],
    ids=lambda spelling: next(iter(spelling)),
)
def test_a_run_has_one_address_however_it_is_spelt(tmp_path, spelling):
    plain, spelt = load(tmp_path), load(tmp_path, **spelling)
    assert [run.path for run in plain.runs] == [run.path for run in spelt.runs]
    for a, b in zip(plain.runs, spelt.runs, strict=True):
        assert a.spec.arguments() == b.spec.arguments()
        assert provenance.requested(a.spec) == provenance.requested(b.spec)


@pytest.mark.parametrize(
    "change",
    [
        {"params": {"a": 2}},
        {"params": {"rho": {"scale": 0.01}}},
        {"algorithms": [{"name": "objp", "label": "ObjP", "variant": "reference"}]},
        {"algorithms": [{"name": "objt", "label": "ObjP"}]},
        {"agents": 4},
        {"dataset": "mnist"},
        {"problem": {"loss": "softmax", "strength": 1e-3}},
        {"problem": {"loss": "softmax", "records": {"max_l2_norm": 1}}},
        {"accountants": ["rdp"]},
        {"delta": 1e-5},
        {"sensitivity": "global"},
        {"privacy": {"relation": "replace"}},
        {"algorithms": [{"name": "objp", "label": "ObjP", "noise": "gaussian"}]},
        {"rounds": 11},
        {"evaluate_every": 5},
        {"dtype": "float64"},
        {"time_limit": 5},
        {"seeds": 4},
    ],
    ids=str,
)
def test_every_setting_is_in_the_folder_s_name(tmp_path, change):
    """But budget and seeds, which name the file; runs of equally many seeds need the same resources."""
    before, after = load(tmp_path).runs[0], load(tmp_path, **change).runs[0]
    assert before.folder != after.folder


@pytest.mark.slow
@given(st.lists(st.floats(min_value=1e-9, max_value=1e9), min_size=2, max_size=2, unique=True))
def test_two_budgets_share_no_file(budgets):
    runs = Experiment.model_validate({**SMALL, "epsilon": budgets}).runs
    assert len({run.path for run in runs}) == len(runs)


@pytest.mark.slow
def test_what_is_computed_can_be_read_from_the_command(tmp_path):
    """The words of a job's command, read as the command line does, make the same run."""
    for path in EXPERIMENTS:
        for run in Experiment.model_validate(yaml.safe_load(path.read_text())).runs[::7]:
            read = RunSpec.model_validate(parse_words(run.spec.arguments()))
            assert Run("", read).path == run.path
            assert read.complete() == run.spec.complete()


def test_a_longer_time_limit_finds_the_checkpoint(tmp_path):
    short, none = load(tmp_path, time_limit=5).runs[0], load(tmp_path).runs[0]
    assert short.folder != none.folder
    assert short.checkpoint == none.checkpoint == none.file(CHECKPOINT)


@pytest.mark.parametrize("name", ["runs", "report", "logs"])
def test_folders_of_results_are_no_names_of_experiments(tmp_path, name):
    (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(SMALL))
    with pytest.raises(ConfigError, match="rename"):
        config.load({"experiments": [name]}, tmp_path)


def test_schemas_are_in_step(tmp_path):
    """In a process of its own: plug-ins of other tests would be in them."""
    command = [sys.executable, "-m", "admmbench", "schema", "--output", tmp_path]
    subprocess.run(command, check=True)
    for path in (ROOT / "workflow/schemas").iterdir():
        text = (tmp_path / path.name).read_text()
        assert path.read_text() == text, f"{path} is out of date: run `make schema`"


def test_methods_may_differ_in_agents_and_delta(tmp_path):
    methods = [
        {"name": "outp", "label": "as the experiment"},
        {"name": "outp", "label": "five agents", "agents": 5},
        {"name": "outp", "label": "another delta", "delta": 1e-4},
    ]
    partition = {"scheme": "iid", "agents": 3, "shuffle": True}
    for agents in (3, partition):
        runs = load(tmp_path, algorithms=methods, agents=agents, epsilon=[1]).runs
        assert [run.spec.n_agents for run in runs] == [3, 5, 3]
        assert [run.spec.delta for run in runs] == [1e-6, 1e-6, 1e-4]
        assert len({run.folder for run in runs}) == 3
    assert runs[1].spec.agents == {**partition, "agents": 5, "train": None}


def test_metrics_of_a_problem_or_method_can_be_drawn(tmp_path):
    figure = {"name": "a", "kind": "curves", "metric": "augmented_objective"}
    with_it = {"name": "dp_admm", "label": "x"}
    assert load(tmp_path, figures=[figure], algorithms=[with_it, *SMALL["algorithms"]]).figures
    with pytest.raises(ConfigError, match="unknown metric 'augmented_objective'"):
        load(tmp_path, figures=[figure])


GLOBAL = {"sensitivity": "global", "epsilon": None}


def test_totals_are_budgets_of_whole_runs(tmp_path):
    totals = {"total": [0.5, 2], "delta": 1e-5, "relation": "replace"}
    experiment = load(tmp_path, privacy=totals, **GLOBAL)
    assert experiment.delta == 1e-5
    assert experiment.budget_of == "run"
    runs = experiment.runs
    assert [run.spec.stated_budget for run in runs] == [0.5, 2, 0.5, 2]
    assert all(run.spec.privacy.relation == "replace" for run in runs)
    assert runs[0].path.endswith("/total=0.5+seeds=0-9.nc")
    assert len({run.folder for run in runs}) == 2
    again = Experiment.model_validate_json(experiment.model_dump_json())
    assert [run.path for run in again.runs] == [run.path for run in runs]


def test_a_method_has_totals_and_noise_of_its_own(tmp_path):
    methods = [
        {"name": "objp", "label": "Laplace"},
        {"name": "objp", "label": "Gauss", "noise": "gaussian", "epsilon": 3},
        {"name": "iadmm", "label": "IADMM", "epsilon": ".inf"},
    ]
    runs = load(tmp_path, privacy={"total": 2}, algorithms=methods, **GLOBAL).runs
    assert [run.spec.stated_budget for run in runs] == [2, 3, math.inf]
    assert [run.spec.release and run.spec.release.law for run in runs] == [
        "laplace",
        "gaussian",
        None,
    ]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"privacy": {"total": 1}, **GLOBAL, "algorithms": [{"name": "iadmm", "label": "I"}]},
            r"algorithms.0 (I): privacy.total: iadmm sends everything without noise, so only epsilon: .inf",
        ),
        (
            {"privacy": {"noise": "laplace"}},
            r"algorithms.1 (OutP): privacy.noise: has gaussian noise, not laplace",
        ),
        ({"privacy": {"relatoin": "replace"}}, "did you mean 'relation'?"),
        (
            {"privacy": {"relation": "remove"}},
            "privacy.relation: Input should be 'zero_out' or 'replace'",
        ),
        ({"privacy": {"delta": 1e-5}, "delta": 1e-6}, "privacy.delta: delta is given too"),
        (
            {"privacy": {"total": 0}, "epsilon": None},
            "privacy.total.0: Input should be greater than 0",
        ),
    ],
)
def test_faults_of_budgets(tmp_path, changes, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        load(tmp_path, **changes)


TUNED = {
    "epsilon": None,
    "privacy": {"total": [1, 2]},
    "sensitivity": "global",
    "tuning": {"seeds": [100]},
    "problem": {"loss": "softmax", "records": {}},
    "algorithms": [
        {
            "name": "dpsgd",
            "label": "DP-GD",
            "tune": {"rounds": 8, "params.learning_rate": 0.5, "problem.records.max_l2_norm": 2},
        },
        {"name": "objp", "label": "ObjP", "rounds": 3, "problem": {"records": {"max_l1_norm": 4}}},
    ],
}


def test_a_method_that_is_to_be_tuned_has_searches_and_then_runs(tmp_path):
    experiment = load(tmp_path, **TUNED)
    assert experiment.untuned == ["DP-GD at 1, 2"]
    assert {run.label for run in experiment.runs} == {"ObjP"}
    searches = list(experiment.searches.values())
    assert [(each.label, each.budget) for each in searches] == [("DP-GD", 1.0), ("DP-GD", 2.0)]
    first = searches[0].spec
    assert (first.rounds, first.params["learning_rate"], first.privacy.total) == (8, 0.5, 1.0)
    assert first.as_problem.describe()["records"] == {"max_l2_norm": 2.0}
    # A method's own rounds and problem.
    assert {run.spec.rounds for run in experiment.runs} == {3}
    assert experiment.runs[0].spec.as_problem.describe()["records"] == {"max_l1_norm": 4.0}

    best = {"rounds": 5, "params.learning_rate": 0.25, "problem.records.max_l2_norm": 4.0}
    chosen = {"DP-GD": {1.0: {"settings": best, "error": 0.3, "edges": ["rounds"]}}}
    (tmp_path / "tuned").mkdir()
    (tmp_path / "tuned/small.yaml").write_text(yaml.safe_dump(chosen))
    experiment = load(tmp_path, **TUNED)
    assert experiment.untuned == ["DP-GD at 2"]
    # They are those of what was tuned, not of all that has this label.
    for of, untuned in (("dpsgd on digits, softmax", "2"), ("objp on digits, softmax", "1, 2")):
        stated = {**chosen["DP-GD"][1.0], "of": of}
        (tmp_path / "tuned/small.yaml").write_text(yaml.safe_dump({"DP-GD": {1.0: stated}}))
        (said,) = load(tmp_path, **TUNED).untuned
        assert said.startswith(f"DP-GD at {untuned}")
        assert ("of another method, data set or loss" in said) == (of == "objp on digits, softmax")
    (run,) = [each.spec for each in experiment.runs if each.label == "DP-GD"]
    assert (run.rounds, run.evaluate_every, run.params["learning_rate"]) == (5, 5, 0.25)
    assert run.as_problem.describe()["records"] == {"max_l2_norm": 4.0}
    # The manifest holds what was chosen.
    again = Experiment.model_validate_json(experiment.model_dump_json())
    assert [each.path for each in again.runs] == [each.path for each in experiment.runs]


def test_a_part_of_a_study_has_the_definition_of_the_whole(tmp_path):
    """Only its methods are tuned, run, attacked and drawn; what the others were tuned to stays as it is."""
    best = {"rounds": 5, "params.learning_rate": 0.25, "problem.records.max_l2_norm": 4.0}
    stated = TUNED | {
        "control": "ObjP",
        "audit": {},
        "tuned": {"DP-GD": {1.0: {"settings": best, "error": 0.3}}},
        "figures": [
            {"name": "both", "kind": "tradeoff", "algorithms": ["DP-GD", "ObjP"]},
            {"name": "one", "kind": "tradeoff", "algorithms": ["DP-GD"]},
            {"name": "all", "kind": "tradeoff"},
        ],
    }
    whole = load(tmp_path, **stated)
    part = load(tmp_path, **stated, only=["DP-GD"])
    assert [each.path for each in part.runs] == [
        each.path for each in whole.runs if each.label == "DP-GD"
    ]
    assert part.searches == whole.searches
    assert {each.label for each in part.audits.values()} == {"DP-GD"}
    assert [each.name for each in part.figures] == ["one", "all"]
    assert part.untuned == ["DP-GD at 2"]
    other = load(tmp_path, **stated, only=["ObjP"])
    assert (other.searches, other.untuned) == ({}, [])
    assert {each.label for each in other.runs} == {"ObjP"}
    assert other.chosen == whole.chosen
    assert Experiment.model_validate_json(other.model_dump_json()) == other


def test_settings_belong_to_what_was_tuned_whatever_it_is_called(tmp_path):
    """A search says what it tried; settings whose search is not known keep to their label."""
    experiment = load(tmp_path, **TUNED)
    search = next(iter(experiment.searches.values()))
    best = dict(search.axes)
    chosen = {"settings": dict.fromkeys(best, 4), "error": 0.3, "of": search.spec.definitions}
    chosen["space"] = search.space(experiment.tuning)
    (tmp_path / "tuned").mkdir()
    path = tmp_path / "tuned/small.yaml"
    path.write_text(yaml.safe_dump({"DP-GD": {1.0: chosen}}))
    methods: Any = TUNED["algorithms"]
    tuned, other = methods
    for changes, untuned in (
        ({"label": "Mine"}, "2"),
        ({"label": "Mine", "params": {"sampling": 0.5}}, "1, 2"),
        ({"label": "Mine", "tune": {**tuned["tune"], "rounds": 9}}, "1, 2"),
    ):
        renamed = load(tmp_path, **TUNED | {"algorithms": [{**tuned, **changes}, other]})
        assert renamed.untuned == [f"Mine at {untuned}"]
    path.write_text(yaml.safe_dump({"DP-GD": {1.0: {**chosen, "space": ""}}}))
    with pytest.raises(ConfigError, match="tuned: unknown label 'DP-GD'"):
        load(tmp_path, **TUNED | {"algorithms": [{**tuned, "label": "Mine"}, other]})


def test_each_method_is_attacked_once_at_a_budget_whatever_its_blocks(tmp_path):
    found = load(tmp_path, audit={}, epsilon=1, seed_blocks=[3, 2]).audits
    assert [(run.label, len(run.spec.seeds)) for run in found.values()] == [
        ("ObjP", 3),
        ("OutP", 3),
    ]


def test_tuning_may_make_one_method_of_two_but_not_of_two_alike(tmp_path):
    """With all records, DP-SGD is DP-GD; two methods that are tuned along the same axes are one."""
    rates = {"rounds": 5, "params.learning_rate": 1}
    chosen = {"settings": {"rounds": 5, "params.learning_rate": 1}, "error": 0.1}
    with_all = {"settings": {**chosen["settings"], "params.sampling": 1}, "error": 0.1}
    both = [
        {"name": "dpsgd", "label": "DP-GD", "tune": rates},
        {"name": "dpsgd", "label": "DP-SGD", "tune": {**rates, "params.sampling": 0.5}},
    ]
    tuned = {"DP-GD": {"1": chosen}, "DP-SGD": {"1": with_all}}
    given = {"epsilon": 1, "tuning": {}, "tuned": tuned}
    runs = load(tmp_path, algorithms=both, **given).runs
    assert len({run.path for run in runs}) == 1
    alike = [both[0], {**both[0], "label": "DP-SGD"}]
    with pytest.raises(ConfigError, match="are the same method"):
        load(tmp_path, algorithms=alike, **given)


def test_attacks_may_be_at_some_budgets_alone(tmp_path):
    methods = [{"name": "objp", "label": "ObjP"}, {"name": "iadmm", "label": "I", "epsilon": 1}]
    given = {"algorithms": methods, "epsilon": [0.5, 1, math.inf]}
    everywhere = load(tmp_path, **given, audit={}).audits
    assert [run.spec.epsilon for run in everywhere.values()] == [0.5, 1]
    chosen = load(tmp_path, **given, audit={"budgets": [1]}).audits
    assert [run.spec.epsilon for run in chosen.values()] == [1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tuning": {"trails": 9}}, "did you mean 'trials'"),
        (method(tune={"params.rh": 1}), "params.rh: unknown parameter 'rh'; did you mean 'rho'"),
        (method(tune={"roundss": 1}), "did you mean 'rounds'"),
        (
            method(tune={"epsilon": 1}),
            "rounds can be tuned, and what is below params and problem",
        ),
        (method(tune={"rounds": math.inf}), "rounds.start: Input should be a finite number"),
    ],
)
def test_faults_of_tuning(tmp_path, changes, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        _ = load(tmp_path, **{**TUNED, **changes}).searches


def test_definitions_that_were_altered_are_named_with_the_fix(tmp_path):
    study = config.load({"experiments": ["quick"]})
    for name in (config.MANIFEST, config.FIGURES):
        (tmp_path / name).write_text(study.definition("quick", name))
    assert config.read_drawn_experiment(tmp_path)[:2] == ("quick", study.experiments["quick"])
    for name, change, message in (
        (config.FIGURES, lambda text: text[:-5], "figures.json: .* altered .*; the command"),
        (config.MANIFEST, lambda text: text[:-5], "manifest.json: .* altered .*; the command"),
        (config.MANIFEST, lambda text: "[]", "manifest.json: .* altered .*; the command"),
        (config.MANIFEST, lambda text: text.replace('"global"', '"local"', 1), "altered"),
    ):
        (tmp_path / name).write_text(change(study.definition("quick", name)))
        with pytest.raises(config.ConfigError, match=message):
            config.read_drawn_experiment(tmp_path)
        (tmp_path / name).write_text(study.definition("quick", name))


@pytest.mark.parametrize("text", ["title: A study\n", '{"figures": []}', "7", ""])
def test_a_file_of_the_user_is_no_damaged_list_of_figures(tmp_path, text):
    """Such as the experiment, which states its figures."""
    path = tmp_path / "experiment.yaml"
    path.write_text(text)
    with pytest.raises(config.ConfigError, match="name the figures") as error:
        config.read_figures(path)
    assert "delete" not in str(error.value)
    assert path.read_text() == text


@pytest.mark.parametrize("name", ["mine.json", config.FIGURES])
def test_figures_may_be_a_list_of_the_user(tmp_path, name):
    path = tmp_path / name
    path.write_text('[{"name": "a"}]')
    assert config.read_figures(path) == ([{"name": "a"}], {})


@pytest.mark.parametrize(
    ("tuning", "trials"),
    [({"trials": 24}, 30), ({"trials": 24, "seeds": [1000, 1001]}, 60), ({"trials": 3}, 3)],
    ids=str,
)
def test_a_total_that_covers_tuning_counts_all_runs_of_it(tmp_path, tuning, trials):
    """Those beyond an edge, and those of each seed, look at the records too."""
    privacy = {"total": [2], "covers": "every_trial"}
    given = {**GLOBAL, "tuning": tuning, "privacy": privacy}
    found = load(tmp_path, **given)
    assert {run.spec.privacy.trials for run in found.runs} == {trials}


@pytest.mark.parametrize(
    "stated", [{}, {"covers": "every_trial"}, {"covers": "best_trial"}], ids=str
)
def test_a_method_says_what_its_own_total_covers(tmp_path, stated):
    methods = [
        {"name": "objp", "label": "one", "covers": "run"},
        {"name": "outp", "label": "best", "covers": "best_trial"},
        {"name": "objt", "label": "other"},
    ]
    privacy = {"total": [2], **stated}
    given = {**GLOBAL, "algorithms": methods, "privacy": privacy}
    found = {
        run.label: (run.spec.privacy.covers, run.spec.privacy.trials)
        for run in load(tmp_path, **given, tuning={}).runs
    }
    other = (stated["covers"], 30) if stated else ("run", None)
    assert found == {"one": ("run", None), "best": ("best_trial", 30), "other": other}


# How often a run is evaluated, and which seeds it has.
_UNMEASURED = {"evaluate_every": 1, "seeds": [0]}


@pytest.mark.parametrize("data", ["adult", "mnist"])
def test_what_tuning_costs_is_shown_of_methods_of_equal_privacy(data):
    """They have the same axes, and untuned runs have the settings where the searches start."""
    counted, free = (
        Experiment.model_validate(
            yaml.safe_load((ROOT / f"config/experiments/{name}_{data}.yaml").read_text())
        )
        for name in ("tuning_counts", "equal_privacy")
    )
    searches = {search.label: search for search in counted.searches.values()}
    runs = {run.label: run.spec.complete() for run in counted.runs}
    labels = []
    for search in free.searches.values():
        name, end = search.label.removesuffix(")"), search.label.endswith(")")
        every, best, untuned = (
            f"{name}{', ' if end else ' ('}{way})"
            for way in ("every trial", "best trial", "untuned")
        )
        if search.budget != 2 or untuned not in runs:
            continue
        for label, covers in ((every, "every_trial"), (best, "best_trial")):
            assert searches[label].axes == search.axes
            assert searches[label].spec.privacy.covers == covers
        assert runs[untuned] | _UNMEASURED == search.spec.complete() | _UNMEASURED
        labels += [every, best, untuned]
    assert sorted(labels) == sorted(method.label for method in counted.algorithms)
