"""Results of one experiment from several files: parts of a whole make the whole again."""

import json

import numpy as np
import pytest
import xarray as xr
import yaml

from admmbench.cli import main
from admmbench.results import reference
from admmbench.results.declarations import with_declarations
from admmbench.results.joining import join, replace
from tests.made import INF, build

LABELS = ["OutP", "ObjP", "Non-private"]
ERRORS = {"OutP": {0.1: 0.4, 1.0: 0.2}, "ObjP": {0.1: 0.3, 1.0: 0.25}, "Non-private": {INF: 0.1}}


def whole():
    """With a run that diverged: what is missing in it stays so."""
    results = with_declarations(build(ERRORS, diverged={("OutP", 0.1): 1}))
    ran = (results["status"] >= 0).any("seed")
    results["epsilon_total"] = results["epsilon_total"].where(ran)  # as a study has it
    return results.assign_coords(rounds=results["rounds"].where(ran, 0))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"algorithm": LABELS[1:]}, {"algorithm": LABELS[:1], "epsilon": [0.1, 1.0]}),
        ({"epsilon": [0.1, INF]}, {"epsilon": [1.0], "algorithm": LABELS[:2]}),
        ({"seed": range(7)}, {"seed": range(7, 10)}),
    ],
)
def test_parts_make_the_whole_again(one, other):
    parts = [whole().sel(each) for each in (one, other)]
    for pair in (parts, parts[::-1]):
        found = join(*pair)
        xr.testing.assert_identical(found.sel(algorithm=LABELS), whole())
        assert found["status"].dtype == np.int8


def test_an_axis_of_one_file_alone_is_left_out():
    """Results of an earlier version lack it."""
    one, other = whole().sel(seed=range(7)), whole().sel(seed=range(7, 10))
    hits = (other["status"] * 0.5).expand_dims(false_alarms=[0.0, 0.5, 1.0])
    for pair in ((one, other.assign(hits=hits)), (other.assign(hits=hits), one)):
        xr.testing.assert_identical(join(*pair).sel(algorithm=LABELS), whole())


def test_results_on_a_part_of_the_data_do_not_join_those_on_all():
    one, other = whole().sel(seed=range(7)), whole().sel(seed=range(7, 10))
    other.attrs |= {"missing_data": "{}"}
    for pair in ((one, other), (other, one)):
        with pytest.raises(ValueError, match="they differ in missing_data"):
            join(*pair)


def test_code_machines_and_versions_of_both_are_named():
    one, other = whole().sel(epsilon=[0.1, INF]), whole().sel(epsilon=[1.0], algorithm=LABELS[:2])
    other["fingerprint"] = "algorithm", ["new", one["fingerprint"].values[1]]
    other.attrs |= {"machine": "another", "versions": json.dumps({"numpy": "9.0"})}
    one.attrs |= {"machine": "this", "versions": json.dumps({"numpy": "2.0", "scipy": "1.0"})}
    found = join(one, other)
    first, second, _ = one["fingerprint"].values
    assert found["fingerprint"].values.tolist()[:2] == [f"{first} new", second]
    assert found.attrs["machine"] == "this; another"
    assert json.loads(found.attrs["versions"]) == {"numpy": "2.0, 9.0", "scipy": "1.0"}
    # What a third part shares with one of them is named once.
    third = one.assign_coords(seed=one["seed"] + 10)
    again = join(found, third.assign_attrs(machine="another"))
    assert again.attrs["machine"] == "this; another"
    assert json.loads(again.attrs["versions"]) == json.loads(found.attrs["versions"])
    assert again["fingerprint"].equals(found["fingerprint"])


def test_what_does_not_belong_together_is_refused():
    one = whole().sel(epsilon=[0.1, INF])
    with pytest.raises(ValueError, match=r"joined: both have ObjP at ε = 0.1$"):
        join(one, whole().sel(algorithm=["ObjP"]))
    others = whole().sel(epsilon=[1.0], algorithm=LABELS[:2])
    with pytest.raises(ValueError, match=r"they differ in sensitivity$"):
        join(one, others.assign_attrs(sensitivity="global"))
    with pytest.raises(ValueError, match="they differ in evaluated rounds"):
        join(one, others.isel(round=[0, 1]))
    for pair in ((one, others.drop_vars("guarantee")), (others.drop_vars("guarantee"), one)):
        with pytest.raises(ValueError, match=r"they differ in guarantee$"):
            join(*pair)
    with pytest.raises(ValueError, match=r"they differ in test_loss \(dimensions\)$"):
        join(one, others.assign(test_loss=others["test_loss"].mean("seed")))
    others["params"] = "algorithm", ["{}", '{"a": 2}']
    with pytest.raises(ValueError, match=r"they differ in params of ObjP$"):
        join(one, others)


def test_seeds_with_other_settings_are_refused():
    """Rounds and tuned settings belong to a method and a budget."""
    one, other = (whole().sel(seed=seeds) for seeds in (range(5), range(5, 10)))
    other["rounds"].loc[{"algorithm": "OutP", "epsilon": 0.1}] = 7
    with pytest.raises(ValueError, match=r"they differ in rounds of OutP$"):
        join(one, other)


def test_seeds_with_noise_for_other_budgets_are_refused():
    """One file was made when another noise was solved for the same total."""
    one, other = (whole().sel(seed=seeds) for seeds in (range(5), range(5, 10)))
    other["epsilon_claimed"] = other["epsilon_claimed"] * (
        1 + 1e-7
    )  # as another processor may find it
    join(one, other)
    other["epsilon_claimed"].loc[{"algorithm": "ObjP", "epsilon": 1.0}] *= 1.07
    for pair, budgets in (((one, other), ("1", "1.07")), ((other, one), ("1.07", "1"))):
        said = r"a release of ObjP at ε = 1 has the budget {} in one and {} in the other".format(
            *budgets
        )
        with pytest.raises(ValueError, match=f"joined: {said}") as refused:
            join(*pair)
        assert "run the seeds of the older one again" in str(refused.value)
        assert "OutP" not in str(refused.value)
    # Seeds that draw how many rows an agent has may have budgets of their own.
    drawn = json.dumps({"scheme": "quantity", "agents": 3, "alpha": 0.5})
    join(*(each.assign_attrs(partition=drawn) for each in (one, other)))
    # Other methods and budgets may be added: theirs is no setting of the first file.
    join(one, other.sel(epsilon=[0.1], algorithm=LABELS[:2]))


def test_seeds_whose_settings_have_nothing_beside_them_are_joined():
    """What half and twice a setting cost was tried at one budget alone, and is not known at the others."""
    lost = np.tile([np.nan, 0.01, np.nan], (len(LABELS), 1))
    known = whole().assign_coords(error_growth=(("algorithm", "epsilon"), lost))
    parts = [known.sel(seed=seeds) for seeds in (range(5), range(5, 10))]
    found = join(*parts)["error_growth"].sel(algorithm="OutP").values
    np.testing.assert_array_equal(found, [np.nan, 0.01, np.nan])
    parts[1] = parts[1].copy(deep=True)
    parts[1]["error_growth"].loc[{"algorithm": "OutP", "epsilon": 0.1}] = 0.02
    with pytest.raises(ValueError, match=r"they differ in error_growth of OutP$"):
        join(*parts)


def test_mistakes_of_seeds_add_up():
    """They are sums over seeds, so that those of one part alone would be too few for all seeds."""
    ran = whole()["status"] >= 0
    wrong = (ran * xr.DataArray([1.0, 0.0, 1.0], dims="record")).where(ran)
    together = wrong.sum("seed", min_count=1)
    parts = [
        whole().sel(seed=seeds).assign(mistakes=wrong.sel(seed=seeds).sum("seed", min_count=1))
        for seeds in (range(4), range(4, 10))
    ]
    xr.testing.assert_identical(
        join(*parts).sel(algorithm=LABELS), whole().assign(mistakes=together)
    )
    further = parts[1].sel(algorithm=LABELS[:2], epsilon=[1.0])
    alone = join(parts[0], further.drop_vars("mistakes"))["mistakes"].sel(algorithm="OutP")
    assert alone.sel(epsilon=1.0).isnull().all()  # of some seeds nothing is known
    of_one = parts[0]["mistakes"].sel(algorithm="OutP", epsilon=0.1)
    assert alone.sel(epsilon=0.1).values.tolist() == of_one.values.tolist()


def test_a_study_is_kept_in_parts(tmp_path):
    kept = tmp_path / "kept"
    for number, labels in enumerate((LABELS[:2], LABELS[2:])):
        part = whole().sel(algorithm=labels)
        path = tmp_path / f"{number}.nc"
        part.to_netcdf(path, engine="h5netcdf")
        words = ["keep", str(path), "--made-by", f"snakemake {number}", "--folder", str(kept)]
        assert main([*words, "--add"]) == 0
    xr.testing.assert_identical(reference.load(["study"], [kept])["study"].load(), whole())
    sources = yaml.safe_load((kept / reference.FILES).read_text())
    assert sources["study.nc"]["command"] == "snakemake 0; snakemake 1"


def tuned(labels=LABELS, norm=1.0, longest=300):
    """Results of a study in which rounds and norms were tuned: evaluated rounds differ between methods."""
    results = whole().sel(algorithm=labels)
    settings = json.dumps({"rounds": longest, "problem.records.max_l2_norm": norm})
    results = results.sel(round=results["round"] <= longest)
    problem = {"loss": "softmax", "records": {"max_l2_norm": norm}, "average": "agents"}
    ran = (results["status"] >= 0).any("seed").values
    return results.assign_coords(
        tuned=(("algorithm", "epsilon"), np.where(ran, settings, "")),
        rounds=results["rounds"].clip(max=longest),
    ).assign_attrs(problem=json.dumps(problem), rounds=longest)


def test_methods_replace_those_with_their_labels():
    """All others stay, bit for bit; methods need not be tuned to the same rounds and norms."""
    new = tuned(["ObjP"], norm=2.0, longest=200)
    new["test_error"] += 0.1
    former = tuned()
    found = replace(former, new.assign(seconds=new["test_error"]))
    assert found["algorithm"].values.tolist() == LABELS
    others = [LABELS[0], LABELS[2]]
    xr.testing.assert_identical(
        found.sel(algorithm=others).drop_attrs(deep=False),
        former.sel(algorithm=others).drop_attrs(deep=False),
    )
    own = found.sel(algorithm=["ObjP"])
    xr.testing.assert_identical(own["test_error"].sel(round=new["round"]), new["test_error"])
    assert own["test_error"].sel(round=300).isnull().all()
    assert json.loads(found.attrs["problem"]) == {
        "loss": "softmax",
        "records": {},
        "average": "agents",
    }
    assert found.attrs["rounds"] == 300
    # What a study says of decisions may have been stated since.
    stated = replace(former, new.assign_attrs(control="OutP", margin=0.01)).attrs
    assert (stated["control"], stated["margin"]) == ("OutP", 0.01)
    xr.testing.assert_identical(replace(former, former), former)


def test_what_tuning_told_of_some_methods_is_unknown_of_others():
    known = tuned()
    lost = np.where(known["tuned"] == "", np.nan, 0.01)
    known = known.assign_coords(error_growth=(("algorithm", "epsilon"), lost, {"units": "1"}))
    found = replace(known, tuned(["ObjP"]))["error_growth"]
    assert found.sel(algorithm="ObjP").isnull().all()
    assert (found.sel(algorithm="OutP") == known["error_growth"].sel(algorithm="OutP"))[:2].all()
    found = replace(tuned(), known.sel(algorithm=["ObjP"]))["error_growth"]
    assert found.attrs == {"units": "1"}
    assert found.sel(algorithm="ObjP", epsilon=1.0) == 0.01


def test_what_cannot_replace_is_refused():
    part = tuned(["ObjP"])
    with pytest.raises(ValueError, match=r"of ObjP: they lack ε = 0.1; run it at all its budgets$"):
        replace(tuned(), part.sel(epsilon=[1.0]))
    other = json.dumps(json.loads(part.attrs["problem"]) | {"average": "records"})
    with pytest.raises(ValueError, match=r"they differ in problem.average$"):
        replace(tuned(), part.assign_attrs(problem=other))
    with pytest.raises(ValueError, match=r"they differ in rounds, evaluated rounds$"):
        replace(whole(), whole().sel(algorithm=["ObjP"], round=[1]).assign_attrs(rounds=1))


def test_kept_methods_are_replaced_by_a_command(tmp_path, capsys):
    kept, path = tmp_path / "kept", tmp_path / "results.nc"
    words = ["keep", str(path), "--folder", str(kept), "--made-by"]
    tuned().to_netcdf(path, engine="h5netcdf")
    assert main([*words, "first"]) == 0
    new = tuned(["ObjP"], longest=200)
    new.to_netcdf(path, engine="h5netcdf")
    assert main([*words, "second", "--replace"]) == 0
    found = reference.load(["study"], [kept])["study"]
    xr.testing.assert_identical(found.load(), replace(tuned(), new))
    source = yaml.safe_load((kept / reference.FILES).read_text())["study.nc"]
    assert source["command"] == "first; second"
    assert main([*words, "third", "--replace", "--add"]) == 1
    assert "--add, --replace: what is added replaces nothing" in capsys.readouterr().err
