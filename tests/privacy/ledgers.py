"""Ledgers for tests of what releases cost, and what dp-accounting finds of the same releases."""

from functools import reduce

from dp_accounting import NeighboringRelation
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.pld.common import DifferentialPrivacyParameters

from admmbench.privacy import Cost, Gaussian, Laplace, Ledger, Replaced


def ledger_of(*releases):
    """Return a ledger of costs, each alone or as a pair with how often it was paid."""
    found = Ledger()
    for each in releases:
        found.add(*((each,) if isinstance(each, Cost) else each))
    return found


def theirs(*releases, grid=1e-4, **options):
    """Return dp-accounting's distribution of losses on a grid, of pairs of a cost and how often it is paid."""
    return reduce(
        lambda one, other: one.compose(other),
        (_of_one(cost, grid, options).self_compose(count) for cost, count in releases),
    )


def _of_one(cost, grid, options):
    given = {"value_discretization_interval": grid, **options}
    match cost:
        case Replaced(multiplier, sampling):  # theirs is of one contribution
            relation = {"neighboring_relation": NeighboringRelation.REPLACE_ONE}
            given |= {"sampling_prob": sampling, **relation}
            return pld.from_gaussian_mechanism(2 * multiplier, **given)
        case Gaussian(multiplier, sampling):
            relation = {"neighboring_relation": NeighboringRelation.REPLACE_SPECIAL}
            given |= {"sampling_prob": sampling, **relation}
            return pld.from_gaussian_mechanism(multiplier, **given)
        case Laplace(l1, _, linf):
            entries = round(l1 / linf)
            return pld.from_laplace_mechanism(1 / linf, **given).self_compose(entries)
        case _:
            return pld.from_privacy_parameters(DifferentialPrivacyParameters(*cost.stated), grid)
