"""What the results say about the papers' claims.

:func:`evaluate` gives one :class:`Verdict` for each claim; :mod:`admmbench.claims.judging` has the kinds of claims.
:mod:`admmbench.claims.requirements` says whether the runs meet what the paper's statement presupposes. Runs that do not
are judged all the same, and the verdict says what they would come to, but they support and contradict nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from admmbench.claims import requirements
from admmbench.claims.claims import Claim, Inequality, Order, Rate, Trend, check
from admmbench.claims.judging import judge, published
from admmbench.claims.selection import Selection, Verdict

if TYPE_CHECKING:
    import xarray as xr


def evaluate(
    claims: Iterable[Claim],
    results: Mapping[str, xr.Dataset],
    known: Mapping[str, Collection[str]] | None = None,
) -> list[Verdict]:
    """Judge each claim by the results.

    Parameters
    ----------
    claims
        As :func:`admmbench.claims.claims.load` gives them.
    results
        Experiment name -> its results. A claim on an experiment that is not here was not run.
    known
        Every experiment of the project and its labels, whether part of this configuration or not.
        With it, a misspelt experiment can be told from one that was left out, and labels may be left
        out too. Without it, a claim may name only labels that its experiment holds.

    Returns
    -------
    list of Verdict
        In the order of the claims.

    Raises
    ------
    ClaimError
        If a claim names an unknown experiment or label.
    """
    given = list(claims)
    names = {name: [str(x) for x in ds["algorithm"].values] for name, ds in results.items()}
    check(given, {**names, **(known or {})}, complete=known is not None)
    return [
        _judged(claim, results).model_copy(update={"published": published(claim)})
        for claim in given
    ]


def _judged(claim: Claim, results: Mapping[str, xr.Dataset]) -> Verdict:
    """Judge a claim whose names exist; all but what the paper gives."""
    ds = results.get(claim.experiment)
    if ds is None:
        why = f"The experiment {claim.experiment} is not part of this configuration."
        return Verdict(claim=claim, verdict="not run", why=why)
    if unmeasured := [metric for metric in claim.metrics if metric not in ds]:
        why = f"No run measures {unmeasured[0]}."
        return Verdict(claim=claim, verdict="not run", why=why)
    if claim.at_round is not None and claim.at_round not in ds["round"].values:
        why = f"Round {claim.at_round:,} was not evaluated."
        return Verdict(claim=claim, verdict="not run", why=why)
    present, absent = requirements.split(claim, ds)
    if not present or (absent and not isinstance(claim, Order | Trend | Inequality | Rate)):
        why = f"Not run: {requirements.named(absent)}."
        return Verdict(claim=claim, verdict="not run", why=why)
    lacking = requirements.lacking(claim, ds, present)
    verdict = judge(claim, Selection(claim, ds, present, absent, lacking))
    required = claim.requires is not None and claim.requires.equally_private
    if isinstance(claim, Order) and not (required or requirements.equally_private(ds, present)):
        why = f"{verdict.why} These methods are not equally private."
        verdict = verdict.model_copy(update={"why": why})
    if claim.other_data:
        why = f"Not judged: {claim.other_data} {verdict.why}"
        update = {"verdict": "not run", "why": why, "seeds": 0, "size": 0.0}
        return verdict.model_copy(update=update)
    return verdict
