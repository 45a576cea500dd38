"""Audits: attacks on runs that would catch a lie about privacy.

Two worlds are neighbours: they differ in one record, the canary. Both are played, and each is played again with the
noisy values of the other. Five levels look at that, from the noise to what an adversary can tell:

1. **Noise law**: what is added has the declared law and scale, and is used once.
2. **Coupling**: with the same noisy values both worlds send the same, so that nothing leaves without noise.
3. **Likelihood**: no value shifts between the worlds by more than the ledger was told.
4. **Lower bound**: an attack on all messages bounds epsilon from below, and the ledger's total is above that.
5. **Black box**: so does an attack on the final model.

Where parties hold columns, one attack looks at the range in which their messages lie.

An audit that passes proves nothing. One that fails shows that a total is wrong.
"""

from admmbench.audit.auditor import audit
from admmbench.audit.bounds import epsilon_lower
from admmbench.audit.report import Audit, Finding, table
from admmbench.auditing import AuditSettings

__all__ = ["Audit", "AuditSettings", "Finding", "audit", "epsilon_lower", "table"]
