"""What methods declare about their kin reaches readers of results, also of files that lack it."""

from __future__ import annotations

import pytest

from admmbench.algorithms import list_algorithms, resolve
from admmbench.figures import look
from admmbench.results import reference, statistics
from admmbench.results.declarations import with_declarations
from admmbench.results.who_wins import lead
from tests.made import ERRORS, INF, build


def test_methods_of_older_files_are_asked():
    ds = build({**ERRORS, "OutP+": {1.0: 0.1}, "x": {1.0: 0.1}}, methods={"x": "gone/plugin.py"})
    found = with_declarations(ds)
    assert dict(zip(found["algorithm"].values, found["family"].values, strict=True)) == {
        "OutP": "output_perturbation",
        "ObjP": "objective_perturbation",
        "ObjPM": "objective_perturbation_several_local_updates",
        "Non-private": "",
        "OutP+": "output_perturbation_scaled_penalty",
        "x": "",
    }
    assert found["role"].values.tolist() == [*["contender"] * 3, "reference", *["contender"] * 2]
    assert with_declarations(found) is found


def test_methods_that_are_compared_with_have_a_role():
    roles = {name: resolve(name)().family.role for name in list_algorithms()}
    assert {name: role for name, role in roles.items() if role != "contender"} == {
        "admm": "reference",
        "centralized": "optimum",
        "fedadmm_insa": "reference",
        "fedpd": "reference",
        "iadmm": "reference",
        "local_only": "reference",
        "one_agent": "reference",
        "sklearn_logistic": "reference",
    }


def test_an_optimum_of_a_plugin_is_one():
    """It does not compete, and is a dark dashed line."""
    errors = {"One": {INF: 0.2}, "Two": {INF: 0.4}, "Best": {INF: 0.1}}
    ds = with_declarations(build(errors))
    assert lead(ds)["lowest"].item() == "Best"
    ds["role"][2] = "optimum"
    assert statistics.is_optimum(ds).values.tolist() == [False, False, True]
    assert lead(ds)["lowest"].item() == "One"
    assert look.of_results([ds])["Best"].color == "#333333"
    assert look.of_results([ds])["Best"].linestyle != "-"


def test_a_plugin_joins_a_family():
    ds = with_declarations(build({"OutP": {1.0: 0.2}, "Mine": {1.0: 0.3}, "Other": {1.0: 0.3}}))
    ds["family"] = ds["family"].astype(object)
    ds["family"][1] = "output_perturbation"
    found = look.of_results([ds])
    assert found["Mine"].color == found["OutP"].color != found["Other"].color
    assert found["Mine"].linestyle != found["OutP"].linestyle


@pytest.mark.parametrize("name", ["hu2019_a9a", "ryu2022_mnist"])
def test_kept_results_know_their_references(name):
    found = with_declarations(reference.load([name])[name])
    roles = found["role"].to_series()
    assert {"hu2019_a9a": "All features", "ryu2022_mnist": "Non-private"}[name] in roles.index[
        roles != "contender"
    ]
