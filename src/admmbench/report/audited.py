"""Privacy losses that audits show, as variables of results."""

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
    "largest ε of the attacked rounds that an attack shows",
    "total ε of the attacked rounds, composed; infinite without a proof",
    "per-iteration budget times attacked rounds",
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
            for name, meaning in zip(AUDITED, _MEANINGS, strict=True)
        }
    )
    for run, audit in attacked:
        place = {"algorithm": run.label, "epsilon": run.spec.stated_budget}
        proved = joined["guarantee"].sel(algorithm=run.label).item() == "proved" and audit.passed
        composed = audit.epsilon_ledger if proved else math.inf
        losses = audit.epsilon_lower, composed, audit.epsilon_claimed
        for name, loss in zip(AUDITED, losses, strict=True):
            joined[name].loc[place] = loss
    return joined
