"""Noise, and what it costs: mechanisms that draw it and the ledger that composes it."""

from admmbench.privacy.accountants import ACCOUNTANTS, COMPOSED, Accountant, Shift
from admmbench.privacy.ledger import Ledger, epsilon_total
from admmbench.privacy.mechanisms import Draw, Noise, Privacy, Release, gaussian_multiplier

__all__ = [
    "ACCOUNTANTS",
    "COMPOSED",
    "Accountant",
    "Draw",
    "Ledger",
    "Noise",
    "Privacy",
    "Release",
    "Shift",
    "epsilon_total",
    "gaussian_multiplier",
]
