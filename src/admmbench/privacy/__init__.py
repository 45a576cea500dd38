"""Noise, and what it costs: mechanisms that draw it and the ledger that composes it."""

from admmbench.privacy.accountants import (
    ACCOUNTANTS,
    COMPOSED,
    Accountant,
    Approximate,
    Releases,
    Sampled,
    Shift,
)
from admmbench.privacy.calibration import calibrate
from admmbench.privacy.ledger import Ledger, epsilon_total
from admmbench.privacy.mechanisms import (
    NEIGHBOURS,
    Draw,
    Noise,
    Privacy,
    Relation,
    Release,
    Sampler,
    check_sampling,
    finest,
    gaussian_multiplier,
    on_grid,
)

__all__ = [
    "ACCOUNTANTS",
    "COMPOSED",
    "NEIGHBOURS",
    "Accountant",
    "Approximate",
    "Draw",
    "Ledger",
    "Noise",
    "Privacy",
    "Relation",
    "Release",
    "Releases",
    "Sampled",
    "Sampler",
    "Shift",
    "calibrate",
    "check_sampling",
    "epsilon_total",
    "finest",
    "gaussian_multiplier",
    "on_grid",
]
