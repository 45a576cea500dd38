"""Privacy losses that audits show, as variables of results."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import xarray as xr

    from admmbench.audit.findings import Audit
    from admmbench.study.runs import Run

LOWER, UPPER, CLAIMED = "audit_lower", "audit_upper", "audit_claimed"
_NAMES = {
    LOWER: "largest ε of the attacked rounds that an attack shows",
    UPPER: "total ε of the attacked rounds, composed; infinite without a proof",
    CLAIMED: "per-iteration budget times attacked rounds",
}


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
        Results with ``audit_lower`` and ``audit_upper``, which enclose the privacy loss of the attacked rounds, and
        ``audit_claimed``, over ``algorithm`` and ``epsilon``; NaN where nothing was attacked. Without audits, the
        results as they are.
    """
    attacked = [(run, audit) for run, audit in audits if audit.rounds]
    if not attacked:
        return results
    dims = "algorithm", "epsilon"
    shape = [results.sizes[dim] for dim in dims]
    joined = results.assign(
        {
            name: (dims, np.full(shape, math.nan), {"long_name": meaning, "units": "1"})
            for name, meaning in _NAMES.items()
        }
    )
    for run, audit in attacked:
        place = {"algorithm": run.label, "epsilon": run.spec.stated_budget}
        proved = joined["guarantee"].sel(algorithm=run.label).item() == "proved" and audit.passed
        joined[LOWER].loc[place] = audit.epsilon_lower
        joined[UPPER].loc[place] = audit.epsilon_ledger if proved else math.inf
        joined[CLAIMED].loc[place] = audit.epsilon_claimed
    return joined
