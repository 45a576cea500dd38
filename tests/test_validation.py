"""What is refused, and in which words."""

import pytest
from pydantic import Field

from admmbench import list_algorithms
from admmbench.algorithms.objp import ObjP
from admmbench.validation import meant, parameters, unknown


@pytest.mark.parametrize(
    ("slip", "name"),
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
def test_the_nearest_name_is_the_one_that_was_meant(slip, name):
    assert meant(slip, list_algorithms()) == f"; did you mean {name!r}?"


@pytest.mark.parametrize(
    "line", ["gamma = 0.5", "gamma = Field(gt=0)", "a = 2.0", "sums_onyl = True"]
)
def test_a_value_that_would_set_no_parameter_is_refused(line):
    """A dataclass would ignore it in silence: a new name, and one whose default it seems to change."""
    given = {"ObjP": ObjP, "Field": Field, "parameters": parameters}
    name = line.split()[0]
    with pytest.raises(TypeError, match=rf"Own\.{name} has no annotation"):
        exec(f"@parameters\nclass Own(ObjP):\n    {line}\n", given)


def test_constants_of_a_base_need_no_annotation():
    @parameters
    class Own(ObjP):
        one_shot = True
        gamma: float = 0.5

    assert (Own.one_shot, Own().gamma) == (True, 0.5)


@pytest.mark.parametrize(
    ("name", "names", "end"),
    [
        ("x", [], ""),
        ("foo", ["rounds", "agents"], " (there are agents, rounds)"),
        (1, ["a1", "b"], "; did you mean 'a1'?"),
    ],
)
def test_an_unknown_name_gets_the_nearest_or_all_names(name, names, end):
    assert unknown("key", name, names) == f"unknown key {name!r}{end}"
