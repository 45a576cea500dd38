"""Local updates that end in the problem's feasible set W.

What minimises (8) of ryu2022 over W is the projection of what minimises it everywhere, because its quadratic terms are
multiples of the squared distance. A projection comes after the noise, so that it costs no privacy. The solution of a
subproblem that is solved exactly is projected as well, which is not its solution over W.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from admmbench.base.kernel import dual_ascent, message
from admmbench.base.types import Array, LocalUpdate, Subproblem, Wrapping
from admmbench.problems.feasible import Feasible


@dataclass(frozen=True)
class Projected(Wrapping):
    """Strategy that projects what another one computes."""

    feasible: Feasible

    def update(self, update: LocalUpdate) -> None:
        """See `Strategy`: the pass ends with the step, as if another update followed, and its last part comes later."""
        if update.solve:  # `released` projects
            self.inner.update(update)
            return
        fused, sub = update.fused, update.sub
        first, last = (fused.flags()[name] for name in ("first", "last"))
        step = replace(fused, updates="first" if first else "middle")
        # The pass would sum up models that are not projected.
        inside = sub if first else replace(sub, sent=sub.sent.copy())
        self.inner.update(replace(update, fused=step, sub=inside))
        sub.z[:] = self.feasible.project(sub.z)
        sub.sent[:] = sub.z if first else sub.sent + sub.z
        if not last:
            return
        if not first:
            sub.sent[:] *= sub.sent.dtype.type(update.share)
        if fused.order == "server":
            sub.dual[:] = dual_ascent(sub.dual, sub.rho_dual, sub.w, sub.sent)
        sub.partial[:] += message(sub.sent, sub.dual, sub.rho_message).sum(axis=0)

    def released(self, sub: Subproblem, solution: Array) -> Array:
        """See `Strategy`."""
        return self.feasible.project(self.inner.released(sub, solution))
