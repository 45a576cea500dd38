"""Addresses of runs: what is written is read again, and nothing else is taken for one."""

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from admmbench.engine.spec import RunSpec
from admmbench.study.address import (
    BENCHMARK,
    CHECKPOINT,
    LOG,
    RESULT,
    Address,
    dataset_folder,
    files_of_runs,
)

NAMES = st.from_regex(r"[a-z0-9][a-z0-9_+=.-]{0,20}", fullmatch=True)
BUDGETS = st.floats(1e-100, 1e100) | st.just(math.inf)
SEEDS = st.integers(0, 2**63 - 1)


def digits(n):
    return st.text("0123456789abcdef", min_size=n, max_size=n)


ADDRESSES = st.builds(
    Address,
    data=NAMES,
    method=NAMES,
    settings=digits(8),
    extent=digits(4),
    kind=st.sampled_from(["epsilon", "total"]),
    budget=BUDGETS,
    first=SEEDS,
    last=SEEDS,
)
ONE = Address("digits", "objp", "0123abcd", "89ef", "epsilon", 1.0, 0, 9)


@given(ADDRESSES)
@example(ONE)
def test_what_is_written_is_read_again(address):
    assert Address.parse(str(address)) == address
    assert str(address) == address.file("{point}")


@given(
    st.from_regex(
        r"d/m-[0-9a-f]{12}/(epsilon|total)=[0-9.e+-]{1,4}\+seeds=[0-9]-[0-9]", fullmatch=True
    )
)
@example("d/m-0123456789ab/epsilon=1.0+seeds=0-9")
@example("d/m-0123456789ab/epsilon=1+seeds=0-9")
def test_what_is_read_is_spelt_in_one_way(text):
    try:
        address = Address.parse(text)
    except ValueError:
        return
    assert str(address) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "digits/objp-0123456789ab",
        "digits/objp-0123456789ab/my copy",
        "digits/objp-0123456789ab/epsilon=1",
        "digits/objp-0123456789ab/epsilon=1.0+seeds=0-9",
        "digits/objp-0123456789ab/epsilon=nan+seeds=0-9",
        "digits/objp-0123456789ab/epsilon=1+seeds=00-9",
        "digits/objp-0123456789ab/delta=1+seeds=0-9",
        "digits/objp-0123456789ab/epsilon=1+seeds=0-9.nc",
        "digits/objp-01234/epsilon=1+seeds=0-9",
        "more/digits/objp-0123456789ab/epsilon=1+seeds=0-9",
    ],
)
def test_nothing_else_is_an_address(text):
    with pytest.raises(ValueError, match=r"is no address|could not convert"):
        Address.parse(text)


def test_seeds_of_a_run_follow_one_another():
    spec = RunSpec(dataset="digits", algorithm="objp", seeds=[2**62 - 1, 2**62])
    assert Address.of(spec).point == f"epsilon=inf+seeds={2**62 - 1}-{2**62}"
    for seeds in ([0, 2], [1, 0], [0, 2**62]):
        spec = RunSpec(dataset="digits", algorithm="objp", seeds=seeds)
        with pytest.raises(ValueError, match="follow one another"):
            Address.of(spec)


@given(BUDGETS, SEEDS)
def test_names_of_many_digits_are_far_shorter_than_a_file_s(budget, seed):
    address = Address("d", "m", "0" * 8, "0" * 4, "epsilon", budget, seed, seed + 99)
    assert len(address.point) < 100


def test_files_of_runs_are_told_from_others(tmp_path):
    own = [ONE.file(pattern) for pattern in (RESULT, LOG, BENCHMARK, CHECKPOINT)]
    other = [
        "digits/notes.txt",
        f"{ONE.folder}/my copy.nc",
        f"{ONE.folder}/{ONE.point}.txt",
        f"{ONE.folder}/logs/{ONE.point}.nc",
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
