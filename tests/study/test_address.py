"""Addresses of runs: what is written is read again, and nothing else is taken for one."""

import math

from hypothesis import given
from hypothesis import strategies as st

from admmbench.spec.run import RunSpec
from admmbench.study.address import (
    BENCHMARK,
    CHECKPOINT,
    LOG,
    RESULT,
    dataset_folder,
    files_of_runs,
    rule_name,
)
from admmbench.study.runs import Run

BUDGETS = st.floats(1e-100, 1e100) | st.just(math.inf)
SEEDS = st.integers(0, 2**63 - 1)


ONE = Run("", RunSpec(dataset="digits", algorithm="objp", epsilon=1.0))


@given(BUDGETS, SEEDS)
def test_names_of_many_digits_are_far_shorter_than_a_file_s(budget, seed):
    run = Run("", ONE.spec.at(budget).model_copy(update={"seeds": (seed, seed + 1)}))
    assert run.point == run.path.rpartition("/")[2].removesuffix(".nc")
    assert run.point.startswith("epsilon=")
    assert run.point.endswith(f"+seeds={seed}-{seed + 1}")
    assert len(run.point) < 100


def test_files_of_runs_are_told_from_others(tmp_path):
    own = [ONE.file(pattern) for pattern in (RESULT, LOG, BENCHMARK, CHECKPOINT)]
    other = [
        "digits/notes.txt",
        f"{ONE.folder}/my copy.nc",
        f"{ONE.folder}/{ONE.point}.txt",
        f"{ONE.folder}/{ONE.point} copy.nc",
        f"{ONE.folder}/epsilon=1.nc",
        f"digits/mine/{ONE.point}.nc",
        f"{ONE.folder}/.{ONE.point}.nc.a.tmp",
    ]
    for name in (*own, *other):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert sorted(files_of_runs(tmp_path)) == sorted(tmp_path / name for name in own)


def test_settings_that_came_later_leave_addresses_as_they_were():
    """Where they are stated as they are by default; the address is that of before."""
    stated = {"noise_ratio": 1.0, "params": {"step": "constant"}}
    total = {"privacy": {"total": 1.0}, "sensitivity": "global", "rounds": 20}
    usual, same = (
        Run("", RunSpec(dataset="digits", algorithm="dpsgd", seeds=3, **total, **given))
        for given in ({}, stated)
    )
    assert usual.path == same.path == "digits/dpsgd-a28ad6a8c4be/total=1+seeds=0-2.nc"
    other = [{"noise_ratio": 0.5}, {"params": {"step": "sqrt"}}]
    specs = [RunSpec(dataset="digits", algorithm="dpsgd", **total, **given) for given in other]
    assert len({usual.folder, *(Run("", spec).folder for spec in specs)}) == 3


def test_the_ratio_of_noise_is_not_in_the_address_of_a_run_without_noise():
    given = {"dataset": "digits", "algorithm": "dpsgd", "rounds": 20, "sensitivity": "global"}
    given |= {"privacy": {"total": math.inf}}
    steady, falling = (Run("", RunSpec(**given, noise_ratio=ratio)) for ratio in (1, 0.5))
    assert steady.path == falling.path


def test_equal_data_share_one_folder():
    everything = {"name": "femnist", "shards": list(range(36))}
    assert dataset_folder("femnist") == dataset_folder(everything) == "femnist"
    some = {"name": "femnist", "shards": [0, 2]}
    assert dataset_folder(some).startswith("femnist-")


def test_every_experiment_has_rules_of_its_own():
    names = ["a_b", "a.b", "a-b", "a__b", "é", "ü"]
    assert len({rule_name("figures", name) for name in names}) == len(names)
    assert all(rule_name("figures", name).isidentifier() for name in names)
    assert rule_name("figures", "a_b") == "figures_a_b"
    assert rule_name("run", "digits/objp-0123abcd89ef") == "run_digits_objp_0123abcd89ef"
