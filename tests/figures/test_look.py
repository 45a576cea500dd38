"""Looks of methods: one for each label of a study, told apart with and without colour."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from admmbench.figures import look
from admmbench.figures.look import Traits

OBJP, OUTP = "objective_perturbation", "output_perturbation"


def contender(method, family=""):
    return Traits(method, family, "contender")


def test_a_label_has_one_look_in_all_experiments_of_a_study():
    """Also where others stand before it, or fewer beside it."""
    first = {"A": contender("objp", OBJP), "B": contender("outp", OUTP), "C": contender("mine")}
    second = {"New": contender("yours"), "C": contender("mine"), "B": contender("outp", OUTP)}
    study = look.of_study([first, second])
    assert list(study) == ["A", "B", "C", "New"]
    for own in (first, second):
        assert {study[label] for label in own} == {*map(study.get, own)}
        assert len({study[label].color for label in own}) == len(own)
    assert study["A"].color == look.PALETTE[0]
    assert study["B"].color == look.PALETTE[1]


def test_families_have_a_colour_each_and_share_it_in_all_experiments():
    first = {"A 1": contender("a", "one"), "B": contender("b", "two"), "C": contender("c", OBJP)}
    second = {"A 2": contender("a2", "one"), "D": contender("d", "four")}
    study = look.of_study([first, second])
    assert study["A 1"].color == study["A 2"].color
    assert len({study[label].color for label in ("A 1", "B", "C", "D")}) == 4


def test_parameters_of_one_method_have_its_colour_only_beside_other_methods():
    alone = {"rho=1": contender("outp", OUTP), "rho=10": contender("outp", OUTP)}
    others = {"rho=1": contender("outp", OUTP), "A": contender("objp", OBJP)}
    study = look.of_study([alone])
    assert study["rho=1"].color != study["rho=10"].color
    study = look.of_study([alone, others])
    assert study["rho=1"].color == look.PALETTE[1] != study["rho=10"].color


def test_experiments_do_not_wear_out_the_colours_of_each_other():
    """Those of the last of many experiments are whole lines of eight colours, like those of the first."""
    studied = [{f"{n} {k}": contender(f"{n} {k}") for k in range(8)} for n in range(20)]
    study = look.of_study(studied)
    for own in studied:
        assert {study[label].color for label in own} == {*look.PALETTE}
        assert not any(study[label].dashes for label in own)


@pytest.mark.parametrize("families", [{"": 40}, {"one": 20, "two": 20}])
def test_colours_come_before_dashes_and_no_two_methods_look_alike(families):
    own = {
        f"{family} {k}": contender(f"{family} {k}", family)
        for family, count in families.items()
        for k in range(count)
    }
    study = look.of_study([own])
    assert len({(each.dashes, each.marker) for each in study.values()}) == len(own)
    if "" in families:
        assert not any(each.dashes for each in list(study.values())[: len(look.PALETTE)])
        assert len({(each.color, each.dashes) for each in study.values()}) == len(own)


def test_lines_that_stand_for_no_method_can_be_told_apart_without_colour():
    lines = [f"line {number}" for number in range(30)]
    found = look.of_lines(lines)
    assert list(found) == lines
    assert len({(look.linestyle, look.marker) for look in found.values()}) == len(lines)


# Machado, Oliveira and Fernandes (2009), table of severity 1.0: what is seen of linear RGB.
SIGHTS = {
    "normal": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}  # fmt: skip


def lab(color, sight):
    """CIE L*a*b* of a colour as somebody sees it."""
    parts = np.array([int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    seen = np.clip(SIGHTS[sight] @ linear, 0, 1)
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    x, y, z = np.cbrt(np.maximum(to_xyz @ seen / [0.9505, 1, 1.089], 1e-3))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("sight", SIGHTS)
def test_colours_are_told_apart_by_the_colour_blind(sight):
    """A difference of 2.3 is just noticed."""
    seen = [lab(color, sight) for color in (*look.PALETTE, look._DARK)]
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > 10
