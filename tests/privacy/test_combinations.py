"""Every unit, trust, relation and sampling with every method: a total or a reason, as the docs have it."""

import itertools
from functools import cache

import pytest
from dp_accounting import dp_event, get_epsilon_gaussian
from dp_accounting.pld.pld_privacy_accountant import PLDAccountant
from dp_accounting.privacy_accountant import NeighboringRelation

from admmbench import list_algorithms
from admmbench.algorithms import resolve
from admmbench.cli import main
from admmbench.engine.combinations import combinations
from admmbench.privacy import gaussian_multiplier

NOISY = [
    name
    for name in list_algorithms()
    if resolve(name).release is not None and "rows" in resolve(name).sharing
]
BOUNDED = {"dpsgd", "dp_scaffold", "fed_plt", "dp_fedavg", "dp_fedadmm"}
BOUNDED |= {"accelerated_dpsgd", "localized_dpsgd"}


@cache
def found():
    return list(combinations())


def test_every_combination_has_a_total_or_a_reason():
    expected = itertools.product(
        ("record", "agent"),
        ("agents", "secure_sum"),
        ("zero_out", "replace"),
        ("no", "records", "agents", "cohort"),
        NOISY,
    )
    keys = [(c.unit, c.threat_model, c.relation, c.sampled, c.method) for c in found()]
    assert keys == list(expected)
    for each in found():
        assert bool(each.total) != bool(each.reason)
        assert each.total or each.reason.startswith(("privacy.", "params."))
        assert each.total is None or 0 < each.total[0] < 20


def test_totals_for_agents_are_those_of_bounded_messages():
    methods = {c.method for c in found() if c.unit == "agent" and c.total}
    assert methods == BOUNDED
    summed = {c.method for c in found() if c.threat_model == "secure_sum" and c.total}
    assert summed == BOUNDED - {"dp_scaffold", "fed_plt"}


@pytest.mark.parametrize("method", sorted(BOUNDED))
def test_totals_are_those_of_independent_accountants(method):
    """Whoever is protected, noise is for twice the bound of one contribution."""
    multiplier, releases = gaussian_multiplier(1.0, 1e-5), 10 * resolve(method)().updates

    def sampled(relation, q=0.5, sides=2):
        accountant = PLDAccountant(relation)
        release = dp_event.PoissonSampledDpEvent(q, dp_event.GaussianDpEvent(sides * multiplier))
        return accountant.compose(dp_event.SelfComposedDpEvent(release, 10)).get_epsilon(1e-5)

    blank, other = (
        sampled(r) for r in (NeighboringRelation.REPLACE_SPECIAL, NeighboringRelation.REPLACE_ONE)
    )
    expected = {
        ("zero_out", "no"): get_epsilon_gaussian(2 * multiplier / releases**0.5, 1e-5),
        ("replace", "no"): get_epsilon_gaussian(multiplier / releases**0.5, 1e-5),
        ("zero_out", "agents"): blank,
        ("zero_out", "records"): blank,
        ("replace", "agents"): other,
        ("replace", "records"): other,
        ("replace", "cohort"): sampled(NeighboringRelation.REPLACE_ONE, 0.4, sides=1),
    }
    for each in found():
        if each.method == method and each.total:
            total, _ = each.total
            assert total == pytest.approx(expected[each.relation, each.sampled], rel=0.01)


def test_what_is_printed_has_each_of_them_once(capsys):
    assert main(["account", "all"]) == 0
    text = capsys.readouterr().out
    rows = [line for line in text.splitlines() if line.startswith(("| record", "| agent"))]
    assert len(rows) == 32
    for row in rows:
        names = [name.strip() for name in row.replace(";", ",").replace(":", ",").split(",")]
        assert all(sum(name.split(" ")[0] == method for name in names) == 1 for method in NOISY)
    assert "**1.24**: accelerated_dpsgd, dp_fedadmm, dp_fedavg, dpsgd" in text
