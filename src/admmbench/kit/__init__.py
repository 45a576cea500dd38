"""Checks of other people's private training: a black box is compared with what it states.

A `Mechanism` gets the contributions of records or clients and returns what an observer sees of them. `check` feeds it
contributions that it was not made for, and measures: how far one contribution moves a release, how large the noise is,
where it is missing, whether it repeats, and what the rounds cost together.
"""

from admmbench.kit.adapters import from_arrays as from_arrays
from admmbench.kit.adapters import from_flower as from_flower
from admmbench.kit.adapters import from_nvflare as from_nvflare
from admmbench.kit.adapters import from_opacus as from_opacus
from admmbench.kit.checks import check as check
from admmbench.kit.statement import Finding as Finding
from admmbench.kit.statement import Mechanism as Mechanism
from admmbench.kit.statement import Report as Report
from admmbench.kit.statement import Statement as Statement
