"""Looks, the seeds that undecided rows order, and the file that records them."""

from __future__ import annotations

import pytest
import xarray as xr

from admmbench.results import statistics
from admmbench.study import orders
from admmbench.study.aggregate import with_decision
from admmbench.study.config import ConfigError, check_experiment, load
from admmbench.study.methods import merged
from tests.studies import write_study

DIGITS = {
    "title": "Digits",
    "dataset": "digits",
    "agents": 2,
    "rounds": 3,
    "privacy": {"total": [1, 2]},
    "sensitivity": "global",
    "interim_analyses": [5, 10, 25],
    "margin": 0.5,
    "algorithms": [
        {"name": "objp", "label": "ObjP"},
        {"name": "pvp", "label": "PVP"},
        {"name": "dpsgd", "label": "DP-GD"},
    ],
}


def cell(epsilon=1.0, added="", **verdicts):
    """Verdicts of the methods, in which ObjP has the lowest mean, and of the last one as a method that was added."""
    labels = [each["label"] for each in DIGITS["algorithms"]]
    words = [verdicts.get(label.replace("-", ""), "worse") for label in labels]
    found = {"verdict": ("algorithm", words), "added": ("algorithm", ["", "", added])}
    return xr.Dataset({**found, "lowest": "ObjP"}, {"algorithm": labels, "epsilon": epsilon})


def seeds(experiment, label, epsilon):
    return [
        run.spec.seeds
        for run in experiment.runs
        if run.label == label and run.spec.stated_budget == epsilon
    ]


def test_the_first_look_is_run_and_what_was_ordered_besides():
    first = check_experiment(DIGITS)
    assert seeds(first, "ObjP", 1.0) == [tuple(range(5))]
    further = check_experiment({**DIGITS, "ordered": {"ObjP": {1.0: 25}}})
    # Blocks of a look do not change with what follows.
    blocks = [range(5), range(5, 10), range(10, 20), range(20, 25)]
    assert seeds(further, "ObjP", 1.0) == [*map(tuple, blocks)]
    assert seeds(further, "ObjP", 2.0) == seeds(further, "PVP", 1.0) == [tuple(range(5))]


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"seed_blocks": [5]}, "interim_analyses: they say which seeds are run"),
        ({"interim_analyses": [0, 5]}, "interim_analyses.0"),
        ({"margin": -1}, "margin"),
        (
            {"ordered": {"PVP": {1.0: 10, "1": 25}}},
            r"ordered.PVP: each budget may appear once, got \[1.0, '1'\]; remove one",
        ),
    ],
)
def test_looks_that_make_no_sense_are_refused(changes, fault):
    with pytest.raises(ConfigError, match=fault):
        check_experiment({**DIGITS, **changes})


def test_methods_of_an_undecided_row_order_the_next_look_all_alike():
    experiment = check_experiment(DIGITS)
    found = orders.order_seeds(experiment, cell(ObjP="undecided", PVP="undecided"))
    assert found == {"ObjP": {1.0: 10}, "PVP": {1.0: 10}}
    experiment = check_experiment({**DIGITS, "ordered": found})
    assert orders.order_seeds(experiment, cell(ObjP="undecided")) == {"ObjP": {1.0: 25}}
    assert orders.order_seeds(experiment, cell(2.0, ObjP="undecided")) == {"ObjP": {2.0: 10}}
    last = check_experiment({**DIGITS, "ordered": {"ObjP": {1.0: 25}}})
    assert orders.order_seeds(last, cell(ObjP="undecided")) == {}
    for word in ("winner", "equivalent", "worse", ""):
        assert orders.order_seeds(experiment, cell(ObjP=word)) == {}


def test_a_method_with_fewer_seeds_than_the_others_gets_its_looks_first():
    """Such as one that was stated when the others had their last look."""
    last = check_experiment({**DIGITS, "ordered": {"ObjP": {1.0: 25}}})
    running = cell(ObjP="undecided", PVP="undecided")
    assert orders.order_seeds(last, running) == {"PVP": {1.0: 10}}
    beyond = check_experiment({**DIGITS, "ordered": {"ObjP": {1.0: 25}, "PVP": {1.0: 10}}})
    assert orders.order_seeds(beyond, running) == {"PVP": {1.0: 25}}


def test_a_method_that_was_added_orders_no_more_than_the_best_of_the_row_has():
    experiment = check_experiment(DIGITS)
    assert orders.order_seeds(experiment, cell(added="undecided", DPGD="")) == {}
    found = orders.order_seeds(experiment, cell(added="undecided", ObjP="undecided", DPGD=""))
    assert found == {"ObjP": {1.0: 10}, "DP-GD": {1.0: 10}}
    best = check_experiment({**DIGITS, "ordered": {"ObjP": {1.0: 25}}})
    assert orders.order_seeds(best, cell(added="undecided", DPGD="")) == {"DP-GD": {1.0: 10}}
    assert orders.order_seeds(best, cell(added="worse", DPGD="")) == {}
    alike = check_experiment({**DIGITS, "ordered": {"ObjP": {1.0: 25}, "DP-GD": {1.0: 25}}})
    assert orders.order_seeds(alike, cell(added="undecided", DPGD="")) == {}


PAIRED = {**DIGITS, "pairs": {}}
ALL_OPEN = {"ObjP": "undecided", "PVP": "undecided"}


def of_gain(gain, **verdicts):
    return cell(**verdicts).assign(gain=gain)


def test_an_open_row_takes_a_pilot_of_pairs_and_then_pairs_or_seeds_by_its_gain():
    experiment = check_experiment(PAIRED)
    first = orders.order(experiment, of_gain(float("nan"), **ALL_OPEN))
    assert first == {"seeds": {}, "pairs": {"ObjP": {1.0: 5}, "PVP": {1.0: 5}}}
    piloted = check_experiment({**PAIRED, "mirrored": first["pairs"]})
    gained = orders.order(piloted, of_gain(1.2, **ALL_OPEN))
    more = {"ObjP": {1.0: 10}, "PVP": {1.0: 10}}
    assert gained == {"seeds": more, "pairs": more}
    for too_little in (1.19, float("nan")):
        assert orders.order(piloted, of_gain(too_little, **ALL_OPEN)) == {
            "seeds": more,
            "pairs": {},
        }
    # Mirrors of seeds that are there cost half a pair.
    run = check_experiment({**PAIRED, "mirrored": first["pairs"], "ordered": more})
    assert orders.order(run, of_gain(2.0, **ALL_OPEN)) == {"seeds": {}, "pairs": more}
    last = {label: {1.0: 25} for label in ALL_OPEN}
    done = check_experiment({**PAIRED, "mirrored": last, "ordered": last})
    assert orders.order(done, of_gain(2.0, **ALL_OPEN)) == {"seeds": {}, "pairs": {}}
    assert orders.order(experiment, of_gain(2.0)) == {"seeds": {}, "pairs": {}}
    without = orders.order(check_experiment(DIGITS), of_gain(2.0, **ALL_OPEN))
    assert without == {"seeds": more, "pairs": {}}


def test_a_method_that_was_added_takes_pairs_with_the_best_of_the_row():
    ordered = orders.order_pairs(
        check_experiment(PAIRED), cell(added="undecided", DPGD="").assign(gain=1.0)
    )
    assert ordered == {"DP-GD": {1.0: 5}, "ObjP": {1.0: 5}}


def test_mirrors_follow_the_runs_of_their_seeds():
    mirrored = {"ObjP": {1.0: 10}}
    experiment = check_experiment({**PAIRED, "ordered": mirrored, "mirrored": mirrored})
    own = [run for run in experiment.runs if run.label == "ObjP" and run.spec.stated_budget == 1]
    assert [run.spec.mirror for run in own] == [False, False, True, True]
    assert [run.spec.seeds for run in own[2:]] == [run.spec.seeds for run in own[:2]]
    plain = check_experiment({**DIGITS, "ordered": mirrored})
    assert [run.path for run in plain.runs] == [
        run.path for run in experiment.runs if not run.spec.mirror
    ]
    assert not {"pairs", "mirrored"} & plain.model_dump(mode="json").keys()


def test_pairs_are_recorded_beside_seeds(tmp_path):
    write_study(tmp_path, own=PAIRED)
    for kind in ("seeds", "pairs"):
        path = orders.record("own", {"ObjP": {1.0: 10}}, tmp_path / "config", kind)
        assert path == tmp_path / f"config/{kind}/own.yaml"
    experiment = load({"experiments": ["own"]}, tmp_path / "config").experiments["own"]
    assert experiment.mirrored == {"ObjP": {1.0: 10}}
    write_study(tmp_path, own=DIGITS)
    assert not load({"experiments": ["own"]}, tmp_path / "config").experiments["own"].mirrored


def test_results_say_which_methods_were_added():
    given = [{**each, "added": each["name"] != "objp"} for each in DIGITS["algorithms"]]
    experiment = check_experiment({**DIGITS, "algorithms": given})
    results = xr.Dataset(
        {"test_error": ((), 0.5, {"valid_range": [0, 1]})}, attrs={"metric": "test_error"}
    )
    assert statistics.added(with_decision(results, experiment)) == ["PVP", "DP-GD"]
    assert statistics.added(with_decision(results, check_experiment(DIGITS))) == []
    former = results.assign_attrs(
        added='["PVP"]', interim_analyses="[10]", control="PVP", margin=0.3
    )
    found = with_decision(former, check_experiment(DIGITS))
    assert found.attrs == with_decision(results, check_experiment(DIGITS)).attrs


def test_the_record_is_part_of_the_configuration(tmp_path):
    write_study(tmp_path, own=DIGITS)
    ordered = merged({"ObjP": {1.0: 10}}, {"ObjP": {2.0: 25}, "PVP": {1.0: 10}})
    orders.record("own", ordered, tmp_path / "config")
    experiment = load({"experiments": ["own"]}, tmp_path / "config").experiments["own"]
    assert experiment.ordered == {"ObjP": {1.0: 10, 2.0: 25}, "PVP": {1.0: 10}}
    assert len(seeds(experiment, "ObjP", 2.0)) == 4


def test_a_record_that_does_not_fit_the_experiment_is_named(tmp_path):
    write_study(tmp_path, own=DIGITS)
    record = orders.record("own", {"PVQ": {1.0: 10}}, tmp_path / "config")
    with pytest.raises(ConfigError) as caught:
        load({"experiments": ["own"]}, tmp_path / "config")
    assert str(caught.value) == (
        f"{tmp_path / 'config/experiments/own.yaml'} with {record}:\n"
        "  ordered: unknown label 'PVQ'; did you mean 'PVP'?; rename or remove this entry"
    )
