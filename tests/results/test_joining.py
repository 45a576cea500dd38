"""Results of one experiment from several files: parts of a whole make the whole again."""

import json

import numpy as np
import pytest
import xarray as xr
import yaml

from admmbench.cli import main
from admmbench.results import reference
from admmbench.results.joining import join
from admmbench.results.kinship import with_kinship
from tests.made import INF, build

LABELS = ["OutP", "ObjP", "Non-private"]
ERRORS = {"OutP": {0.1: 0.4, 1.0: 0.2}, "ObjP": {0.1: 0.3, 1.0: 0.25}, "Non-private": {INF: 0.1}}


def whole():
    """With a run that diverged: what is missing in it stays so."""
    results = with_kinship(build(ERRORS, diverged={("OutP", 0.1): 1}))
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
    with pytest.raises(ValueError, match=r"they differ in dimensions of test_loss$"):
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


def test_seeds_whose_settings_have_nothing_beside_them_are_joined():
    """What half and twice a setting cost was tried at one budget alone, and is not known at the others."""
    lost = np.tile([np.nan, 0.01, np.nan], (len(LABELS), 1))
    known = whole().assign_coords(lost_beside=(("algorithm", "epsilon"), lost))
    parts = [known.sel(seed=seeds) for seeds in (range(5), range(5, 10))]
    found = join(*parts)["lost_beside"].sel(algorithm="OutP").values
    np.testing.assert_array_equal(found, [np.nan, 0.01, np.nan])
    parts[1] = parts[1].copy(deep=True)
    parts[1]["lost_beside"].loc[{"algorithm": "OutP", "epsilon": 0.1}] = 0.02
    with pytest.raises(ValueError, match=r"they differ in lost_beside of OutP$"):
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


def test_what_three_parts_share_is_named_once():
    parts = [whole().sel(seed=[k]) for k in range(3)]
    for part, machine, version in zip(parts, "ABB", "122", strict=True):
        part.attrs |= {"machine": machine, "versions": json.dumps({"numpy": version})}
        part["fingerprint"] = "algorithm", [machine.lower()] * 3
    found = join(join(*parts[:2]), parts[2])
    assert found.attrs["machine"] == "A; B"
    assert json.loads(found.attrs["versions"]) == {"numpy": "1, 2"}
    assert found["fingerprint"].values.tolist() == ["a b"] * 3


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
