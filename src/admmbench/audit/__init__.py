"""Audits: attacks on runs that reveal a wrong statement about privacy.

Two worlds are neighbouring data sets: they differ in one record, the canary. The method runs in both worlds, and again
in each world with the noisy values of the other. Five levels test these runs, from the noise to what an adversary can
tell:

1. **Noise law**: the noise has the declared law and scale, and is used once.
2. **Coupling**: with the same noisy values both worlds send the same, so that nothing leaves without noise.
3. **Likelihood**: no value shifts between the worlds by more than the ledger was told.
4. **Lower bound**: an attack on all messages bounds epsilon from below, and the ledger's total is above that bound.
5. **Black box**: an attack on the final model does the same.

If parties hold columns, one attack looks at the range in which their messages lie.

An audit that passes proves nothing. One that fails shows that a total is wrong.
"""
