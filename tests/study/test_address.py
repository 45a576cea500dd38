"""Addresses of runs: what is written is read again, and nothing else is taken for one."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admmbench.spec.run import RunSpec
from admmbench.study.address import (
    BENCHMARK,
    CHECKPOINT,
    LOG,
    RESULT,
    Address,
    dataset_folder,
    files_of_runs,
    rule_name,
)

BUDGETS = st.floats(1e-100, 1e100) | st.just(math.inf)
SEEDS = st.integers(0, 2**63 - 1)


ONE = Address("digits/objp-0123abcd89ef", "epsilon", 1.0, 0, 9)


def test_an_address_is_a_folder_and_a_point():
    assert str(ONE) == ONE.file("{point}") == "digits/objp-0123abcd89ef/epsilon=1+seeds=0-9"
    assert ONE.stem == "objp-0123abcd89ef+epsilon=1"


def test_seeds_of_a_run_follow_one_another():
    spec = RunSpec(dataset="digits", algorithm="objp", seeds=[2**62 - 1, 2**62])
    assert Address.from_spec(spec).point == f"epsilon=inf+seeds={2**62 - 1}-{2**62}"
    for seeds in ([0, 2], [1, 0], [0, 2**62]):
        spec = RunSpec(dataset="digits", algorithm="objp", seeds=seeds)
        with pytest.raises(ValueError, match="follow one another"):
            Address.from_spec(spec)


@given(BUDGETS, SEEDS)
def test_names_of_many_digits_are_far_shorter_than_a_file_s(budget, seed):
    address = Address("d/m-0123abcd89ef", "epsilon", budget, seed, seed + 99)
    assert len(address.point) < 100


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
    assert rule_name("run", ONE.folder) == "run_digits_objp_0123abcd89ef"
