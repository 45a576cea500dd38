"""Privacy losses of an iteration that audits show, as variables of results."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from admmbench.claims.kinds import AUDITED

if TYPE_CHECKING:
    import xarray as xr

    from admmbench.audit.findings import Audit
    from admmbench.study.runs import Run

_MEANINGS = (
    "largest ε of an iteration that an attack shows; 0 if it is about several",
    "composed ε of the attacked iterations; infinite without a proof",
    "budget of an iteration",
)


def with_audits(results: xr.Dataset, audits: Iterable[tuple[Run, Audit]]) -> xr.Dataset:
    """Return results with the privacy losses that audits enclose.

    Parameters
    ----------
    results
        Results of an experiment.
    audits
        Attacked runs, with their audits.

    Returns
    -------
    xarray.Dataset
        Results with ``audit_lower`` and ``audit_upper``, which enclose the privacy loss of an iteration, and
        ``audit_claimed``, over ``algorithm`` and ``epsilon``; NaN where nothing was attacked. Without audits of the
        runs that the results have, the results as they are.
    """
    labels, budgets = results["algorithm"].values, results["epsilon"].values
    attacked = [
        (run, audit)
        for run, audit in audits
        if audit.rounds and run.label in labels and run.spec.stated_budget in budgets
    ]
    if not attacked:
        return results
    dims = "algorithm", "epsilon"
    shape = [results.sizes[dim] for dim in dims]
    joined = results.assign(
        {
            name: (dims, np.full(shape, math.nan), {"long_name": meaning, "units": "1"})
            for name, meaning in zip(AUDITED, _MEANINGS, strict=True)
        }
    )
    for run, audit in attacked:
        place = {"algorithm": run.label, "epsilon": run.spec.stated_budget}
        proved = joined["guarantee"].sel(algorithm=run.label).item() == "proved" and audit.passed
        composed = audit.epsilon_ledger if proved else math.inf
        # A loss of several iterations bounds that of each, and shows none of one.
        shown = audit.epsilon_lower if audit.rounds == 1 else 0.0
        losses = shown, composed, run.spec.stated_budget
        for name, loss in zip(AUDITED, losses, strict=True):
            joined[name].loc[place] = loss
    return joined
