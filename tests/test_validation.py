"""What is refused, and in which words."""

import pytest

from admmbench import list_algorithms
from admmbench.validation import nearest, unknown


@pytest.mark.parametrize(
    ("slip", "meant"),
    [
        ("obpj", "objp"),
        ("obtj", "objt"),
        ("otup", "outp"),
        ("vdp", "dvp"),
        ("objpp", "objp"),
        ("admm_sharin", "admm_sharing"),
        ("dp-admm", "dp_admm"),
        ("centralised", "centralized"),
    ],
)
def test_the_nearest_name_is_the_one_that_was_meant(slip, meant):
    assert nearest(slip, list_algorithms()) == meant


def test_without_names_none_is_suggested():
    assert nearest("x", []) is None
    assert unknown("key", "x", []) == "unknown key 'x'"


def test_what_is_no_text_gets_a_name_too():
    assert unknown("key", 1, ["a1", "b"]) == "unknown key 1; did you mean 'a1'?"
