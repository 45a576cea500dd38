"""Every round of a run, compared between two worlds wherever loud noise leads.

The statistical levels need many runs, so that they look at some rounds. Whether both worlds are the same with the same
noisy values, and how far values move, shows in a single run: so these two levels look at all rounds here. With the
noise of a run, models stay near where they began, and a record moves a value less than some record may. Here the noise
is louder than it should be, by other factors in other runs: predictions reach both ends, slopes come as near to their
suprema as floating point allows, and a sensitivity that is too small by little is seen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from admmbench.audit import levels, reach
from admmbench.audit.canaries import Worlds
from admmbench.audit.findings import Finding, worst
from admmbench.audit.worlds import Run
from admmbench.datasets import Dataset
from admmbench.engine.rounds import AlgorithmError
from admmbench.engine.spec import RunSpec
from admmbench.frames.base import Array
from admmbench.privacy import Ledger, epsilon_total

# Factors of the noise, one for each run; powers of two, so that nothing is rounded. Solvers may fail far from the
# start: then only the smaller ones are used.
_LOUDER = 4.0 ** np.arange(11)
_USED = (11, 6, 1)
# Of a total, which is computed in floating point.
_ROUNDING = 1e-6


def probe(spec: RunSpec, worlds: Worlds, rounds: Sequence[int]) -> list[Finding]:
    """Findings of the levels that need no statistics, the worst of all rounds; none if releases are not on tape.

    Parameters
    ----------
    spec
        What is audited, unshuffled.
    worlds
        The worlds. They are compared under the relation of the run, and where the record contributes nothing: noise is
        scaled by what one contribution moves.
    rounds
        Numbers of the rounds.
    """
    relations = {"zero_out": worlds.without, spec.privacy.relation: worlds.second}
    found = []
    for relation, second in relations.items():
        privacy = spec.privacy.model_copy(update={"relation": relation})
        own = spec.model_copy(update={"privacy": privacy})
        found += _as_loud_as_possible(own, worlds, second, rounds)
    levels = {each.level for each in found}
    return [worst(each for each in found if each.level == level) for level in sorted(levels)]


def _as_loud_as_possible(
    spec: RunSpec, worlds: Worlds, second: Dataset, rounds: Sequence[int]
) -> list[Finding]:
    for count in _USED:
        try:
            return list(_compared(spec, worlds, second, rounds, _LOUDER[:count]))
        except AlgorithmError:
            if count == _USED[-1]:
                raise
    return []


def _compared(
    spec: RunSpec, worlds: Worlds, second: Dataset, rounds: Sequence[int], louder: Array
) -> Iterator[Finding]:
    """Findings of each round, with ledgers of its own."""
    spec = spec.model_copy(update={"seeds": tuple(range(len(louder)))})
    taken = worlds.row if spec.method.sampling < 1 else None
    one, other = (Run(spec, data, taken, louder) for data in (worlds.first, second))
    for t in rounds:
        for run, again in ((one, None), (other, one)):
            run.forget()
            run.round(t, again)
            # What it keeps outside of its state and of itself may be changed by the other run.
            beside = reach.beside(run.method).items()
            run.public[t] |= {name: np.array(each) for name, each in beside}
        if one.uncovered or not np.isfinite(one.model).all():
            return
        yield levels.coupling(one, other, worlds.canary)
        yield levels.of_shifts(one, other, worlds.canary, _over_stated(spec, one, t))


def _over_stated(spec: RunSpec, run: Run, t: int) -> Iterator[str]:
    """Whether a round costs more than the method states, from which noise is solved for; or it states nothing."""
    federation, method = run.federation, spec.method
    release, stated = spec.release, Ledger()
    assert release is not None
    if cost := method.cost(t, federation.problem, federation.privacy, release):
        stated.add(cost, method.updates)
    most, told = stated.epsilon(spec.delta), epsilon_total(federation.ledgers, spec.delta)
    if not told <= most * (1 + _ROUNDING) or math.isinf(most) > math.isinf(told):
        yield f"Round {t} is stated to cost an epsilon of {most:.4g}, the ledger was told {told:.4g}."
