"""Audits: attacks on runs that reveal a wrong statement about privacy.

Two neighbouring data sets differ in one record, the canary. The method runs on
both data sets, and each run is replayed on the other data set with the same noisy values. Five levels test these runs,
from the noise to the success of an adversary:

1. **Noise law**: the noise has the declared law and scale, and is used once.
2. **Coupling**: with the same noisy values, runs on both data sets send the same, so that nothing leaves without noise.
3. **Likelihood**: no value shifts between the data sets by more than the ledger was told.
4. **Lower bound**: an attack on all messages bounds epsilon from below, and the ledger's total is above that bound.
5. **Black box**: an attack on the final model does the same.

A further attack puts many canaries into one run, each with probability one half, and bounds epsilon from below too.

If parties hold columns, one attack looks at the range in which their messages lie.

An audit that passes proves nothing. One that fails shows that a total is wrong.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from admmbench.audit.attacks import epsilon_lower as epsilon_lower
    from admmbench.audit.auditor import audit as audit
    from admmbench.audit.findings import Audit as Audit
    from admmbench.audit.findings import Finding as Finding
    from admmbench.audit.settings import AuditSettings as AuditSettings

# Loaded when first used: studies need the settings, and not what attacks.
_HOMES = {
    "Audit": "findings",
    "AuditSettings": "settings",
    "Finding": "findings",
    "audit": "auditor",
    "epsilon_lower": "attacks",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
