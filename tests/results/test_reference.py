"""Results that are kept with the project: what is read back, and how others are compared with them."""

import hashlib
import os
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
import yaml

from admmbench import files, load_dataset
from admmbench.cli import main
from admmbench.engine.rounds import evaluated_rounds, run_rounds
from admmbench.report import differences
from admmbench.report.environment import texts, words
from admmbench.results import file_differences, joining, reference
from admmbench.study import config
from tests.made import build

DECLARED = ["family", "role", "stops"]
ERRORS = {"OutP": {0.1: 0.4, 1.0: 0.2}, "ObjP": {0.1: 0.3, 1.0: 0.25}}


def test_what_is_kept_is_read_back_to_the_bit(tmp_path):
    """Also numbers that were not measured, and a second file, which leaves the first alone."""
    first = build(ERRORS)
    first["test_error"][0, 0, 0, 0] = np.nan
    reference.keep(first, "snakemake first", tmp_path / "kept")
    path = reference.keep(build(ERRORS, name="other"), "snakemake other", tmp_path / "kept")
    assert path == tmp_path / "kept/other.nc"
    found = reference.load(["study", "other", "unknown"], [tmp_path / "kept"])
    assert list(found) == ["study", "other"]
    xr.testing.assert_identical(found["study"].load(), first)
    sources = yaml.safe_load((tmp_path / "kept" / reference.FILES).read_text())
    assert sources["study.nc"]["command"] == "snakemake first"


def test_rounds_are_thinned_where_that_is_said(tmp_path):
    results = build(ERRORS)
    path = reference.keep(results, "snakemake", tmp_path, every=2)
    kept, evaluated = reference.load(["study"], [tmp_path])["study"], results["round"].values
    assert list(kept["round"].values) == sorted({evaluated[0], *evaluated[::-2]})
    xr.testing.assert_identical(kept["test_error"], results["test_error"].sel(round=kept["round"]))
    sources = yaml.safe_load((tmp_path / reference.FILES).read_text())
    assert sources[path.name]["every"] == 2
    reference.keep(results, "snakemake", tmp_path)
    assert "every" not in yaml.safe_load((tmp_path / reference.FILES).read_text())[path.name]
    with pytest.raises(ValueError, match="every: a number from 1 on, got 0"):
        reference.keep(results, "snakemake", tmp_path, every=0)


def test_a_part_is_brought_to_the_rounds_of_thinned_results_and_need_not_state_how_they_are_judged(
    tmp_path, capsys
):
    whole = build(ERRORS).assign_attrs(interim_analyses="[4, 10]", margin=0.01)
    thin = reference.keep(whole, "whole", tmp_path / "whole", every=2)
    reference.keep(whole.sel(seed=range(4)), "first", tmp_path / "parts", every=2)
    later = whole.sel(seed=range(4, 10)).drop_attrs(deep=False)
    judged = ("interim_analyses", "margin")
    later.attrs = {name: value for name, value in whole.attrs.items() if name not in judged}
    later.to_netcdf(tmp_path / "later.nc", engine="h5netcdf")
    command = ["keep", str(tmp_path / "later.nc"), "--made-by", "second", "--add", "--folder"]
    assert main([*command, str(tmp_path / "parts")]) == 0
    assert "parts/study.nc: 0.0" in capsys.readouterr().out
    joined = reference.read(tmp_path / "parts" / thin.name)
    xr.testing.assert_identical(joined.drop_vars(DECLARED), reference.read(thin))
    (source,) = yaml.safe_load((tmp_path / "parts" / reference.FILES).read_text()).values()
    assert (source["command"], source["every"]) == ("first; second", 2)
    # The last round of a method is none that thinning leaves out.
    cut = whole.sel(seed=range(4, 10)).assign_coords(rounds=whole["rounds"] * 0 + 200)
    with pytest.raises(ValueError, match="differ in evaluated rounds"):
        reference.keep(cut, "third", tmp_path / "parts", add=True)


def test_ones_own_results_take_the_place_of_those_that_come_with_the_suite(tmp_path):
    folders = tmp_path / "suite", tmp_path / "own"
    reference.keep(build(ERRORS), "snakemake", folders[0])
    reference.keep(build(ERRORS, name="other"), "snakemake", folders[0])
    reference.keep(build(ERRORS, seeds=3), "snakemake", folders[1])
    found = reference.load(["study", "other"], folders)
    assert {name: results.sizes["seed"] for name, results in found.items()} == {
        "study": 3,
        "other": 10,
    }
    digests = reference.digests(["study", "other", "unknown"], folders)
    assert list(digests) == ["study", "other"]
    assert digests["study"] == reference.digests(["study"], folders[1:])["study"]


def test_a_folder_that_is_not_there_keeps_nothing(tmp_path):
    assert reference.load(["study"], [tmp_path / "kept"]) == {}


@pytest.mark.parametrize("writes", [0, 1, 2])
def test_a_killed_process_leaves_the_former_file_or_the_new_one(tmp_path, monkeypatch, writes):
    """Each with the command that made it, whether the list or the file was written last."""
    path = reference.keep(build(ERRORS), "snakemake first", tmp_path)
    reference.keep(build(ERRORS, name="other"), "snakemake other", tmp_path)
    remaining, results = iter(range(writes)), build({"OutP": {0.1: 0.5, 1.0: 0.1}})

    def write(*args):
        if next(remaining, None) is None:
            raise KeyboardInterrupt
        files.write(*args)

    with monkeypatch.context() as patch:
        patch.setattr(reference, "write", write)
        with pytest.raises(KeyboardInterrupt):
            reference.keep(results, "snakemake second", tmp_path, replace=True)
    found, former = reference.read(path), build(ERRORS)
    expected = joining.replace(former, results) if writes == 2 else former
    xr.testing.assert_identical(found.load(), expected.load())
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    assert reference.digests(["study"], [tmp_path]) == {"study": sha256}

    reference.keep(build(ERRORS, name="third"), "snakemake third", tmp_path)
    sources = yaml.safe_load((tmp_path / reference.FILES).read_text())
    commands = "snakemake first; snakemake second" if writes == 2 else "snakemake first"
    assert sources[path.name] == {"command": commands, "sha256": sha256}
    xr.testing.assert_identical(reference.read(path).load(), expected.load())


def test_another_file_is_not_taken_for_the_one_that_was_kept(tmp_path):
    path = reference.keep(build(ERRORS), "snakemake", tmp_path)
    path.write_bytes(path.read_bytes() + b"\n")
    with pytest.raises(
        ValueError, match=r"study.nc: not the file that was stored .* restore it, or keep"
    ):
        reference.load(["study"], [tmp_path])
    path.unlink()
    with pytest.raises(ValueError, match=r"study.nc: files.yaml names it, but it cannot be read"):
        reference.load(["study"], [tmp_path])


@pytest.mark.parametrize("text", ["a: [1", "- a\n", "x.nc: {command: a}\n"])
def test_a_list_of_kept_files_that_cannot_be_read_is_named(tmp_path, text):
    (tmp_path / "files.yaml").write_text(text)
    with pytest.raises(ValueError, match=r"files\.yaml: cannot be read: (.|\n)*; mend it"):
        reference.load(["x"], [tmp_path])


def said(found):
    return texts("differences").with_reference(found)


def test_the_same_results_agree_and_others_are_pointed_out():
    kept, own = build(ERRORS), build(ERRORS)
    found = differences.compare_with_reference(own, kept)
    assert (found.seeds, found.rounds, found.table.rows) == (10, 300, [])
    assert said(found) == "4 methods and budgets: 4 identical bit for bit."
    own["test_error"].loc[{"algorithm": "ObjP", "epsilon": 1.0, "round": 300}] += 0.05
    found = differences.compare_with_reference(own, kept)
    (row,) = found.table.rows
    assert row[:4] == ["ObjP", "ε = 1", "25.00", "30.00"]
    assert "1 different" in said(found)


def test_studies_of_another_scale_are_not_compared():
    kept = build(ERRORS).assign_attrs(rounds=np.int64(20_000))  # as a file gives it
    found = differences.compare_with_reference(build(ERRORS, rounds=(1, 100), partition="{}"), kept)
    assert found.table is None
    assert said(found) == "Not compared: this study has another partition, another rounds."
    alone = differences.compare_with_reference(build({"New": {1.0: 0.2}}), build(ERRORS))
    assert said(alone) == "Not compared: the files have no run in common."


def test_trials_of_a_search_are_kept_as_they_are(tmp_path, capsys):
    path, kept = tmp_path / "results/my_study/trials.csv", tmp_path / "kept"
    path.parent.mkdir(parents=True)
    path.write_text('method,budget,settings,error,loss\nDP-GD,2.0,"{""rounds"": 40}",0.25,inf\n')
    words = ["keep", str(path), "--made-by", "snakemake tune", "--folder", str(kept)]
    assert main(words) == 0
    assert "kept/my_study_trials.csv: 0.00 MB" in capsys.readouterr().out
    assert (kept / "my_study_trials.csv").read_bytes() == path.read_bytes()
    (name, source) = next(iter(yaml.safe_load((kept / reference.FILES).read_text()).items()))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert (name, source) == (
        "my_study_trials.csv",
        {"command": "snakemake tune", "sha256": digest},
    )
    assert reference.load(["my_study", "my_study_trials"], [kept]) == {}


def test_trials_of_a_search_replace_those_of_the_same_search(tmp_path):
    path, kept = tmp_path / "results/my_study/trials.csv", tmp_path / "kept"
    path.parent.mkdir(parents=True)
    words = ["keep", str(path), "--folder", str(kept), "--replace", "--made-by"]
    head = "method,budget,settings,error,loss\n"
    path.write_text(head + "A,1.0,{},0.30,inf\nA,2.0,{},0.2,1e-05\nB,1.0,{},0.1,\n")
    assert main([*words, "first"]) == 0
    path.write_text(head + "A,1.0,{},0.4,1\nA,1.0,{},0.5,1\n")
    assert main([*words, "second"]) == 0
    (file,) = kept.glob("*.csv")
    assert file.read_text() == (
        head + "A,2.0,{},0.2,1e-05\nB,1.0,{},0.1,\nA,1.0,{},0.4,1\nA,1.0,{},0.5,1\n"
    )
    source = yaml.safe_load((kept / "files.yaml").read_text())[file.name]
    assert source["command"] == "first; second"
    file.write_text(head)
    assert main([*words, "third"]) == 1


def test_the_last_round_of_each_method_is_kept(tmp_path):
    """Methods may have rounds of their own, and what is reported is their last."""
    results = build(ERRORS, rounds=(1, 100, 200, 300))
    results = results.assign_coords(
        rounds=results["rounds"].where(results["method"] != "objp", 200)
    )
    path = reference.keep(results, "snakemake", tmp_path, every=1000)
    assert reference.read(path)["round"].values.tolist() == [1, 200, 300]


@pytest.mark.parametrize(
    ("text", "option", "said"),
    [
        ("", [], "trials.csv: no file of trials"),
        ("method,error\nDP-GD,0.2\n", [], "trials.csv: no file of trials"),
        (",".join(reference.TRIALS), ["--add"], "are kept, without --add and --every"),
        (",".join(reference.TRIALS), ["--every", "2"], "are kept, without --add and --every"),
    ],
)
def test_trials_are_whole_files_of_trials(tmp_path, capsys, text, option, said):
    path = tmp_path / "trials.csv"
    path.write_text(text)
    words = ["keep", str(path), "--made-by", "snakemake tune", "--folder", str(tmp_path / "kept")]
    assert main([*words, *option]) == 1
    assert said in capsys.readouterr().err
    assert not (tmp_path / "kept").exists()


def test_commands_check_kept_files_by_the_list_beside_them(tmp_path, capsys, caplog):
    path, other = reference.keep(build(ERRORS), "snakemake", tmp_path), tmp_path / "other.nc"
    other.write_bytes(path.read_bytes())
    keep = ["keep", str(path), "--made-by", "snakemake", "--folder", str(tmp_path / "again")]
    commands = ["show", str(path)], ["compare", str(path), str(path)], keep
    for command in commands:
        assert main(command) == 0
    assert "checksum" not in caplog.text
    assert main(["show", str(other)]) == 0
    assert "other.nc has no checksum" in caplog.text
    path.write_bytes(path.read_bytes() + b"\n")
    capsys.readouterr()
    for command in commands:
        assert main(command) == 1
        assert "study.nc: not the file that was stored" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.skipif("ADMMBENCH_MIRROR" not in os.environ, reason="needs a mirror of the data")
def test_a_piece_of_what_is_kept_comes_out_again():
    """One seed of each method on Adult at a total of 1, alone instead of with others, with noise of the same scale."""
    name, total, seed = "equal_privacy_adult", 1, 3
    kept = reference.load([name])[name].sel(epsilon=total, seed=seed)
    data = load_dataset("adult", progress=False)
    runs = config.load({"experiments": [name]}).experiments[name].runs
    own = [run for run in runs if run.spec.stated_budget == total and seed in run.spec.seeds]
    own = [run for run in own if run.label not in reference.outdated_labels(kept)]
    assert len(own) > 10
    for run in own:
        spec = run.spec.model_copy(update={"seeds": (seed,)})
        assert kept["test_error"].sel(algorithm=run.label).dropna("round").size > 1
        assert_comes_out_again(spec, data, kept.sel(algorithm=run.label), noise=1e-8)


@pytest.mark.slow
@pytest.mark.skipif("ADMMBENCH_MIRROR" not in os.environ, reason="needs a mirror of the data")
def test_first_rounds_of_long_runs_come_out_again():
    """One seed of ten, and a hundred rounds of 20,000."""
    name, epsilon, seed, rounds = "ryu2021_mnist", 1, 3, 100
    kept = reference.load([name])[name].sel(epsilon=epsilon, seed=seed, round=slice(rounds))
    data = load_dataset("mnist", progress=False)
    experiment = config.read([Path("config/headline.yaml")]).experiments[name]
    own = {run.label: run.spec for run in experiment.runs if run.spec.stated_budget == epsilon}
    for label in ("OutP", "ObjP", "ObjT"):
        spec = own[label].model_copy(update={"seeds": (seed,), "rounds": rounds})
        # Its scale follows from gradients in single precision.
        assert_comes_out_again(spec, data, kept.sel(algorithm=label), noise=1e-6)


def test_runs_without_noise_on_digits_come_out_again():
    """Also of OutP, which has another problem than the other methods of the study."""
    name, seed, rounds = "ryu2022_updates", 3, 100
    kept = reference.load([name])[name].sel(epsilon=np.inf, seed=seed, round=slice(rounds))
    data = load_dataset("digits", progress=False)
    own = {
        run.label: run.spec for run in config.load({"experiments": [name]}).experiments[name].runs
    }
    for label in ("E = 1", "OutP, no noise"):
        changes = {"seeds": (seed,), "rounds": rounds, "epsilon": np.inf}
        spec = own[label].model_copy(update=changes)
        assert_comes_out_again(spec, data, kept.sel(algorithm=label), noise=0)


def assert_comes_out_again(spec, data, kept, noise):
    """A run of one seed has the errors and, within a part of it, the scale of noise that are kept."""
    found = run_rounds(spec, data).variables()["arrays"]
    rounds = evaluated_rounds(spec.rounds, spec.evaluate_every)
    record = 1 / kept.attrs["n_test"]
    flipped = {"atol": file_differences.FLIPPED * record + 1e-12, "rtol": 0}
    for name, tolerance in {"test_error": flipped, "noise_magnitude": {"rtol": noise}}.items():
        values = kept[name].dropna("round")
        assert values.size
        own = found[name][0, np.isin(rounds, values["round"])]
        np.testing.assert_allclose(own, values, **tolerance, err_msg=str(kept["algorithm"].values))


OLD = {"because": "had more noise than today, and will be run again", "labels": ["ObjP"]}


def outdated(folder):
    """Keep results of which some are outdated."""
    path = reference.keep(build(ERRORS), "first", folder)
    sources = yaml.safe_load((folder / reference.FILES).read_text())
    sources[path.name]["outdated"] = OLD
    (folder / reference.FILES).write_text(yaml.safe_dump(sources))
    return path


def test_a_mark_of_a_method_that_is_not_kept_is_refused(tmp_path):
    path = outdated(tmp_path)
    sources = (tmp_path / reference.FILES).read_text().replace("- ObjP", "- ObjQ")
    (tmp_path / reference.FILES).write_text(sources)
    with pytest.raises(ValueError, match=r"study.nc.outdated.labels: unknown label 'ObjQ'; did"):
        reference.read(path)


def stated(folder):
    """Labels that the list states as outdated."""
    (source,) = yaml.safe_load((folder / reference.FILES).read_text()).values()
    return source.get("outdated", {}).get("labels", [])


def test_outdated_results_are_marked_wherever_they_are_shown(tmp_path, capsys):
    path = outdated(tmp_path)
    kept = reference.read(path)
    why = "†: ObjP had more noise than today, and will be run again. Verdicts, ranks"
    assert words().outdated(reference.outdated(kept)).startswith(why)
    labels = [reference.marked(each, kept) for each in ("ObjP", "OutP")]
    assert labels == ["ObjP †", "OutP"]
    for command in (["show", str(path)], ["compare", str(path), str(path)]):
        assert main(command) == 0
        printed = " ".join(capsys.readouterr().out.split())
        assert why in printed
        assert ("ObjP †" in printed) == (command[0] == "show")
    assert differences.compare_with_reference(build(ERRORS), kept).outdated.labels == ["ObjP"]
    assert reference.outdated(build(ERRORS)) is None
    assert reference.marked("ObjP", build(ERRORS)) == "ObjP"


def test_a_mark_goes_with_the_results_that_it_is_of(tmp_path):
    """It stays with whatever else is kept, and with a copy of the results."""
    path = outdated(tmp_path / "kept")
    copy = reference.read(path)
    reference.keep(copy, "copied", tmp_path / "copy")
    assert stated(tmp_path / "copy") == ["ObjP"]
    others = build(ERRORS)
    others = others.sel(algorithm=others["algorithm"] != "ObjP")
    reference.keep(others, "second", tmp_path / "kept", replace=True)
    assert stated(tmp_path / "kept") == ["ObjP"]
    new = build({"ObjP": ERRORS["ObjP"]})
    reference.keep(new, "third", tmp_path / "kept", replace=True)
    assert stated(tmp_path / "kept") == []
    assert "outdated" not in reference.read(path).attrs
    reference.keep(copy.sel(algorithm=["ObjP"]), "again", tmp_path / "kept", replace=True)
    assert stated(tmp_path / "kept") == ["ObjP"]
