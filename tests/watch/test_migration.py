"""Witnesses: what is drawn, what it stands for, and when two computations are the same."""

import math
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
import yaml

from admmbench.audit.auditor import audit
from admmbench.cli import main
from admmbench.datasets import DatasetError, load_dataset
from admmbench.files import checksummed_json
from admmbench.jobs import fingerprint
from admmbench.jobs.simulate import run_spec
from admmbench.results import reference
from admmbench.spec.run import RunSpec
from admmbench.study import aggregate, config
from admmbench.tuning import trials
from admmbench.tuning.settings import dump
from admmbench.watch import migration, witnesses
from admmbench.watch.witnesses import Difference, Piece, Verdict

PRIVATE = {
    "dataset": "digits",
    "agents": 3,
    "problem": {"loss": "softmax", "penalty": "l2", "strength": 1e-2, "per": "total"}
    | {"records": {"max_l2_norm": 1}},
    "rounds": 2,
    "evaluate_every": 1,
    "sensitivity": "global",
}
STUDY = {
    "title": "Small",
    **PRIVATE,
    "seeds": 2,
    "seed_block": 1,
    "epsilon": [1, 2],
    "algorithms": [
        {"name": "dpsgd", "label": "DP-GD", "params": {"learning_rate": 0.5}},
        {"name": "objp", "label": "ObjP"},
    ],
}


def piece(path="a", code="former", seconds=1.0, different=None, renew=lambda: None, **given):
    settings = {**PRIVATE, "algorithm": "objp", "epsilon": 1.0, "seeds": [0], **given}
    spec = RunSpec.model_validate(settings)
    return Piece("ObjP", Path(path), code, spec, seconds, lambda: different, renew)


@pytest.mark.parametrize(
    "changes",
    [
        {"epsilon": 8.0},
        {"seeds": [1, 2]},
        {"delta": 1e-5},
        {"rounds": 5},
        {"problem": {**PRIVATE["problem"], "strength": 0.3}},
    ],
)
def test_a_witness_stands_for_other_numbers(changes):
    assert piece(**changes).group == piece().group


@pytest.mark.parametrize(
    "changes",
    [
        {"code": "other"},
        {"epsilon": math.inf},
        {"algorithm": "outp"},
        {"privacy": {"noise": "gaussian"}},
        {"privacy": {"relation": "replace"}},
        {"params": {"local_updates": 3}},
        {"params": {"proximity": "smooth"}},
        {"variant": "reference"},
        {"dtype": "float64"},
        {"problem": {**PRIVATE["problem"], "average": "agents"}},
        {"problem": {**PRIVATE["problem"], "strength": 0}},
        {"agents": {"scheme": "iid", "agents": 3, "shuffle": True}},
    ],
)
def test_a_witness_stands_for_nothing_that_may_be_computed_otherwise(changes):
    assert piece(**changes).group != piece().group


def test_both_ends_of_the_budgets_are_drawn_where_they_cost_least():
    group = [
        piece(f"{budget}, {i}", seconds=2 - i % 2, epsilon=budget)
        for budget in (4.0, 1.0, 2.0)
        for i in range(4)
    ]
    drawn = witnesses.draw(group)
    assert [each.spec.epsilon for each in drawn] == [1.0, 4.0]
    assert {each.seconds for each in drawn} == {1.0}
    assert drawn == witnesses.draw(group)
    assert len(witnesses.draw(group[:4])) == 1


def test_a_group_is_renewed_as_a_whole_or_not_at_all():
    renewed = []
    noted = {name: lambda name=name: renewed.append(name) for name in "abcd"}
    found = Difference("test_error", 0.1)
    pieces = [
        piece("a", renew=noted["a"], epsilon=1.0),
        piece("b", renew=noted["b"], epsilon=2.0),
        piece("c", "other", renew=noted["c"], epsilon=1.0),
        piece("d", "other", renew=noted["d"], epsilon=2.0, different=found),
    ]
    rows = witnesses.judge(pieces, dry_run=True)
    assert [row.verdict for row in rows] == [Verdict.SAME, Verdict.DIFFERENT]
    assert rows[1].difference == found
    assert not renewed
    witnesses.judge(pieces)
    assert renewed == ["a", "b"]
    shown = witnesses.summary(rows, dry_run=True)
    assert shown == "2 unchanged, 2 outdated; nothing was changed"


def traces(**changes):
    values = {"test_error": [[0.5, 0.25]], "noise": [[math.nan, 3.0]], "epsilon": [1.0, math.inf]}
    variables = {
        name: (("seed", "round")[-np.ndim(each) :], each)
        for name, each in {**values, **changes}.items()
    }
    found = xr.Dataset(variables, attrs={"n_test": 100})
    found["test_error"].attrs["valid_range"] = [0, 1]
    return found


@pytest.mark.parametrize(
    ("changes", "exact", "rounded"),
    [
        ({}, None, None),
        ({"seconds": [1.0, 2.0]}, None, None),
        ({"test_error": [[0.5, 0.27]]}, "test_error", None),
        ({"test_error": [[0.5, 0.28]]}, "test_error", "test_error"),
        ({"noise": [[math.nan, 3.00001]]}, "noise", None),
        ({"noise": [[math.nan, 3.0001]]}, "noise", "noise"),
        ({"noise": [[3.0, 3.0]]}, "noise", "noise"),
        ({"epsilon": [1.0, 2.0]}, "epsilon", "epsilon"),
        ({"objective": [1.0, 2.0]}, "objective", "objective"),
    ],
)
def test_numbers_are_the_same_to_the_bit_or_within_rounding(changes, exact, rounded):
    for exactly, name in ((True, exact), (False, rounded)):
        found = witnesses.differ(traces(), traces(**changes), exactly=exactly)
        assert (found and found.name) == name


@pytest.mark.parametrize(
    ("now", "name"),
    [
        ({"a": [1.0, {"b": 2}], "text": "other"}, None),
        ({"a": [1.000001, {"b": 2}]}, None),
        ({"a": [1.0, {"b": 3}]}, "a.1.b"),
        ({"a": [1.0]}, "a.1.b"),
        ({"a": [1.0, {"b": None}]}, "a.1.b"),
        ({"a": [1.0, {"b": 2, "c": 0}]}, "a.1.c"),
        ({"a": [1.0, {"b": True}]}, "a.1.b"),
    ],
)
def test_numbers_of_attacks_are_the_same(now, name):
    found = witnesses.differ_json({"a": [1.0, {"b": 2}], "text": "one"}, now)
    assert (found and found.name) == name


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Folder of a study, whose data are prepared."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config/experiments").mkdir(parents=True)
    (tmp_path / "config/config.yaml").write_text("experiments: [small]")
    assert main(["prepare", "digits", "--output", "resources/datasets/digits"]) == 0

    def write(**changes):
        path = tmp_path / "config/experiments/small.yaml"
        path.write_text(yaml.safe_dump({**STUDY, **changes}))
        return config.read()

    return write


def verdicts(rows):
    return {row.titles[0]: row.verdict for row in rows}


def test_attacks_are_made_again_and_compared(folder):
    study = folder(audit={"rounds": 1, "repeats": 20, "budgets": [2]}, epsilon=[2])
    experiment = study.experiments["small"]
    for file, run in experiment.audits.items():
        content = audit(run.first.spec, load_dataset("digits"), experiment.audit).to_dict()
        if run.label == "ObjP":
            content["findings"][0]["value"] *= 1.1
        path = Path("results/small/audits", file)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(checksummed_json(content))
    found = verdicts(migration.migrate(study, [], dry_run=True))
    assert found["attacks on DP-GD"] == Verdict.SAME
    assert found["attacks on ObjP"] == Verdict.DIFFERENT


@pytest.mark.parametrize(("change", "verdict"), [(0, Verdict.SAME), (0.1, Verdict.DIFFERENT)])
def test_settings_without_their_search_are_tried_again(folder, change, verdict):
    methods = [{**STUDY["algorithms"][0], "tune": {"params.learning_rate": 0.5}}]
    given = {"algorithms": methods, "epsilon": [2], "tuning": {"trials": 2, "seeds": [1000]}}
    experiment = folder(**given).experiments["small"]
    (search,) = experiment.searches.values()
    best = trials.tune(search.spec, search.axes, experiment.tuning, load_dataset("digits")).best
    entry = {"settings": best.settings, "error": best.score.error + change, "code": "former"}
    entry |= {"of": search.spec.definitions, "space": search.space(experiment.tuning)}
    path = Path("config/tuned/small.yaml")
    path.parent.mkdir()
    path.write_text(yaml.safe_dump({"DP-GD": {2.0: entry}}))
    study = config.read()
    rows = migration.migrate(study, [])
    assert verdicts(rows)["tuning of DP-GD"] == verdict
    code = config.read().experiments["small"].chosen["DP-GD"][2.0].code
    assert code == ("former" if change else fingerprint.of_run(search.spec))
    assert dump(study.experiments["small"].tuned)


def reference_results(study, code="former"):
    """Joined results of a study's runs, as kept, by some code."""
    experiment = study.experiments["small"]
    made = [(run, run_spec(run.spec, load_dataset("digits"))) for run in experiment.runs]
    results = aggregate.join_runs(
        "small", experiment, [(r, t.drop_vars("seconds")) for r, t in made]
    )
    return results.assign_coords(fingerprint=("algorithm", np.array([code] * 2)))


def test_reference_results_are_kept_with_today_s_fingerprints(folder, capsys):
    study = folder()
    results = reference_results(study)
    results["train_loss"].loc[{"algorithm": "ObjP"}] += 0.01
    # Thinned reference results may lack some numbers.
    results["test_loss"].loc[{"algorithm": "DP-GD"}] = np.nan
    path = reference.keep(results, "admmbench study", every=2)
    kept = path.read_bytes()
    assert main(["migrate", "--reference", "--dry-run"]) == 0
    assert path.read_bytes() == kept
    assert main(["migrate", "--reference", "small"]) == 0
    shown = capsys.readouterr().out
    assert "1 unchanged, 1 outdated" in shown
    assert "small/epsilon=1+seeds=0-0" in shown
    found = reference.read(path)
    now = fingerprint.of_run(study.experiments["small"].runs[0].spec)
    assert found["fingerprint"].values.tolist() == [now, "former"]
    results["fingerprint"] = found["fingerprint"]
    xr.testing.assert_identical(found, results.sel(round=[0, 2]).load())
    assert main(["migrate", "--reference", "smal"]) != 0
    message = "reference: unknown experiment 'smal'; did you mean 'small'?"
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("code", "verdicts_of_methods"),
    [
        ("former", [Verdict.SAME, Verdict.SAME]),
        ("former other", [Verdict.SAME, Verdict.DIFFERENT]),
    ],
)
def test_each_part_of_joined_reference_results_is_computed_again(folder, code, verdicts_of_methods):
    """The part that other code made has the last seed, at the larger budget."""
    results = reference_results(folder(), code)
    results["train_loss"].loc[{"algorithm": "ObjP", "epsilon": 2, "seed": 1}] += 0.01
    reference.keep(results, "admmbench study")
    rows = migration.migrate_reference(["small"], dry_run=True)
    assert [
        verdicts(rows)[f"{label} of small"] for label in ("DP-GD", "ObjP")
    ] == verdicts_of_methods


def test_reference_results_that_cannot_be_computed_again_are_named(folder, monkeypatch):
    """What a missing method, another number of rounds, missing data, a damaged file and a missing experiment leave."""
    results = reference_results(folder())
    path = reference.keep(results, "admmbench study")
    reference.keep(results.assign_attrs(experiment="gone"), "admmbench study")
    reference.keep(results.assign_attrs(experiment="altered"), "admmbench study")
    path.with_stem("altered").write_bytes(b"")
    kept = path.read_bytes()
    folder(algorithms=STUDY["algorithms"][:1], rounds=3)
    rows = migration.migrate_reference([])
    shown = {row.titles[0].split(":")[0]: (row.verdict, row.difference) for row in rows}
    assert shown.keys() == {
        "DP-GD of small",
        "ObjP of small",
        "reference/altered.nc",
        "reference/gone.nc",
    }
    verdict, difference = shown["DP-GD of small"]
    assert verdict == Verdict.DIFFERENT
    assert difference
    assert difference.name == "rounds"
    assert shown["ObjP of small"] == shown["reference/gone.nc"] == (Verdict.UNCHECKED, None)
    assert shown["reference/altered.nc"] == (Verdict.DAMAGED, None)

    def fail(_):
        raise DatasetError("digits: cannot be had")

    folder()
    monkeypatch.setattr(migration, "load_dataset", fail)
    rows = migration.migrate_reference(["small"])
    assert {(row.titles[0], row.verdict) for row in rows} == {
        (f"{label} of small: digits: cannot be had", Verdict.UNCHECKED)
        for label in ("DP-GD", "ObjP")
    }
    assert path.read_bytes() == kept
