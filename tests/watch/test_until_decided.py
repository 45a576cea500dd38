"""The loop around Snakemake: it judges, orders further seeds, records them, and ends."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import xarray as xr
import yaml

from admmbench.base.outcomes import Outcome
from admmbench.study.config import read
from admmbench.watch import study
from tests.made import build, totals
from tests.studies import write_study
from tests.study.test_orders import DIGITS

LABELS = ("ObjP", "PVP", "DP-GD")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A study of one experiment, whose runs are invented: two methods are alike, and the third is far behind."""
    monkeypatch.chdir(tmp_path)
    write_study(tmp_path, own=DIGITS)
    calls = []

    def snakemake(words, folder, config):
        calls.append(words)
        assert len(calls) < 9, "the loop does not end"
        experiment = read().experiments["own"]
        n = max(len(run.spec.seeds) + run.spec.seeds[0] for run in experiment.runs)
        errors = {"ObjP": 0.2, "PVP": 0.2, "DP-GD": 0.5}
        found = totals(
            build(
                {label: {1.0: error, 2.0: error} for label, error in errors.items()},
                seeds=n,
                name="own",
                spread=0.02 / n**1.5,
                sensitivity="global",
                methods={"PVP": "objp", "DP-GD": "objp"},
                margin=0.005,
                interim_analyses="[5, 10, 25]",
            )
        )
        for label in LABELS:
            for epsilon in (1.0, 2.0):
                own = sum(map(len, experiment.blocks_of(label, epsilon)))
                beyond = {"algorithm": label, "epsilon": epsilon, "seed": slice(own, None)}
                found["status"].loc[beyond] = Outcome.NOT_RUN
        (tmp_path / "results/own").mkdir(parents=True, exist_ok=True)
        found.to_netcdf(tmp_path / "results/own/results.nc", engine="h5netcdf")
        return 0

    monkeypatch.setattr(study, "turn", snakemake)
    monkeypatch.setattr(study.netcdf, "read", xr.load_dataset)
    return SimpleNamespace(path=tmp_path, calls=calls)


def test_seeds_are_ordered_until_all_rows_are_decided(folder, capsys):
    assert study.until_decided([], ["--cores", "1"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[-1] == "0 of 2 settings are undecided."
    assert len(folder.calls) > 1
    assert folder.calls[0] == ["--cores", "1"]
    ordered = yaml.safe_load((folder.path / "config/seeds/own.yaml").read_text())
    assert ordered.keys() == {"ObjP", "PVP"}
    # Called again, it runs what is recorded, and has nothing to order.
    turns = len(folder.calls)
    assert study.until_decided([], []) == 0
    assert len(folder.calls) == turns + 1


@pytest.mark.parametrize("option", ["--dry-run", "--unlock"])
def test_what_makes_no_results_is_no_part_of_the_loop(folder, option):
    with pytest.raises(ValueError, match=r"makes no results to judge; leave one of the two out"):
        study.until_decided([], [option])
    assert not folder.calls


def test_a_study_without_looks_cannot_be_decided(folder):
    given = {key: value for key, value in DIGITS.items() if key != "interim_analyses"}
    write_study(folder.path, own=given)
    with pytest.raises(ValueError, match="no experiment of this study has interim_analyses"):
        study.until_decided([], [])


def test_a_run_that_fails_ends_the_loop(folder, monkeypatch):
    monkeypatch.setattr(study, "turn", lambda *_: 3)
    assert study.until_decided([], []) == 3


def test_results_of_an_earlier_look_order_nothing(folder, monkeypatch):
    """Options that do not make the results, such as another target, would have all looks ordered."""
    assert study.until_decided([], []) == 0
    record = folder.path / "config/seeds/own.yaml"
    former = record.read_text()
    record.write_text(former.replace("10", "25"))
    assert record.read_text() != former
    monkeypatch.setattr(study, "turn", lambda *_: 0)
    with pytest.raises(ValueError, match=r"results.nc has other runs than the configuration asks"):
        study.until_decided([], ["tune"])
    assert record.read_text() == former.replace("10", "25")


def test_open_rows_record_a_pilot_of_pairs_before_it_runs(folder):
    write_study(folder.path, own={**DIGITS, "pairs": {}})
    with pytest.raises(ValueError, match=r"results.nc has other runs than the configuration asks"):
        study.until_decided([], [])
    recorded = yaml.safe_load((folder.path / "config/pairs/own.yaml").read_text())
    assert recorded == {label: {1.0: 5, 2.0: 5} for label in ("ObjP", "PVP")}
    assert len(folder.calls) == 2


def test_orders_that_the_experiment_states_itself_are_refused(folder):
    write_study(folder.path, own={**DIGITS, "ordered": {}})
    with pytest.raises(ValueError, match="own: its file or an overlay states `ordered`"):
        study.until_decided([], [])
    assert len(folder.calls) == 1


def test_the_configuration_that_snakemake_is_given_is_judged(folder):
    (folder.path / "over.yaml").write_text("overrides: {own: {interim_analyses: null}}\n")
    options = ["--configfile", "over.yaml", "--cores", "1"]
    with pytest.raises(ValueError, match="no experiment of this study has interim_analyses"):
        study.until_decided([], options)
    with pytest.raises(ValueError, match="--configfile: name its files before all options"):
        study.until_decided([folder.path / "over.yaml"], options)
    assert not folder.calls
