"""Noise, and what it costs: mechanisms that draw it and the ledger that composes it."""

from admmbench.privacy.accountants import ACCOUNTANTS, COMPOSED, Accountant
from admmbench.privacy.costs import (
    Approximate,
    Cost,
    Gaussian,
    Laplace,
    Pure,
    Spending,
    Terms,
    gaussian_multiplier,
)
from admmbench.privacy.ledger import Ledger, calibrate, epsilon_total
from admmbench.privacy.mechanisms import (
    NEIGHBOURS,
    RECORD,
    Draw,
    Noise,
    Privacy,
    Relation,
    Release,
    Sampler,
    check_sampling,
    delta_warning,
    finest,
    on_grid,
    unit_of_privacy,
)

__all__ = [
    "ACCOUNTANTS",
    "COMPOSED",
    "NEIGHBOURS",
    "RECORD",
    "Accountant",
    "Approximate",
    "Cost",
    "Draw",
    "Gaussian",
    "Laplace",
    "Ledger",
    "Noise",
    "Privacy",
    "Pure",
    "Relation",
    "Release",
    "Sampler",
    "Spending",
    "Terms",
    "calibrate",
    "check_sampling",
    "delta_warning",
    "epsilon_total",
    "finest",
    "gaussian_multiplier",
    "on_grid",
    "unit_of_privacy",
]
