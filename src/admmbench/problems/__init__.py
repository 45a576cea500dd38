"""Problems: loss x penalty x sharing.

A problem is stated by a mapping such as ``{"loss": "logistic", "penalty": "l1", "strength": 1e-6, "per": "agent"}``.
The partition states whether agents hold rows or columns. This decides which module derives everything else from the
loss: `admmbench.problems.rows` or `admmbench.problems.columns`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from admmbench.problems.base import RecordBounds, Sharing
from admmbench.problems.columns import Columns
from admmbench.problems.constrained import Constrained, Constraint, MeanLoss, Quadratic
from admmbench.problems.feasible import Feasible
from admmbench.problems.loss import Loss, ScalarLoss
from admmbench.problems.losses import as_loss
from admmbench.problems.losses import list_losses as list_losses
from admmbench.problems.metrics import BY_CLIENT, FEWEST_RECORDS, Metric
from admmbench.problems.penalties import PenaltyName
from admmbench.problems.rows import Rows
from admmbench.validation import Count, Number, Strict, checked

AnyProblem = Rows | Columns | Constrained | Quadratic

# hu2019: lambda = 1e-4, weight of the squared norm in the mean objective.
_COLUMNS_STRENGTH = 2e-4


class _Objective(Strict):
    """Function that is minimised."""

    mean_loss: MeanLoss = MeanLoss()


class _Settings(Strict):
    """Settings of a problem, as a user writes them; None stands for the default."""

    loss: str | dict[str, Any]
    penalty: PenaltyName = "l2"
    strength: Annotated[Number, Field(ge=0)] | None = None
    per: Literal["agent", "total"] | None = None
    average: Literal["records", "agents"] | None = None
    records: RecordBounds | None = None
    feasible: Feasible | None = None
    local_error: bool | None = None
    metric: Metric | None = None
    by_client: Count | None = None
    objective: _Objective | None = None
    constraints: tuple[Constraint, ...] | None = None
    server: Annotated[Number, Field(ge=0, le=1)] | None = None


def as_problem(spec: str | Mapping[str, Any], sharing: Sharing) -> AnyProblem:
    """Make a problem from the name or path of its loss, or from a mapping with ``loss`` and perhaps other settings.

    Defaults are usual in the literature of the loss, see `Convention`. With ``objective``, ``constraints`` or
    ``server`` the problem is constrained, and rows are partitioned; ``quadratic`` stands for drawn quadratics.

    Raises
    ------
    ValueError
        If something is unknown or out of range; the message names the key and the nearest valid value.
    """
    if isinstance(spec, str):
        spec = {"loss": spec}
    settings = checked(_Settings, spec, "problem")
    if settings.loss == "quadratic":
        return Quadratic(settings.penalty, settings.strength or 0.0)
    loss = as_loss(settings.loss)
    name = settings.loss if isinstance(settings.loss, str) else str(settings.loss["name"])
    usual = loss.convention
    if sharing == "columns":
        for key in ("per", "average", "feasible", "local_error", "metric", "by_client"):
            if getattr(settings, key) is not None:
                raise ValueError(
                    f"problem.{key}: it is about shared rows, the partition shares columns"
                )
        strength = _COLUMNS_STRENGTH if settings.strength is None else settings.strength
        if strength == 0:
            raise ValueError(
                "problem.strength: parties whose columns depend on each other need one above 0"
            )
        return Columns(settings.penalty, strength, loss, name, settings.records or RecordBounds())
    if settings.objective or settings.constraints is not None or settings.server is not None:
        return _constrained(settings, name, loss)
    return Rows(
        settings.penalty,
        usual.strength if settings.strength is None else settings.strength,
        loss,
        name,
        settings.per or usual.per,
        settings.average or usual.average,
        settings.records or RecordBounds(max_l2_norm=usual.max_l2_norm),
        settings.feasible,
        settings.local_error or False,
        settings.metric,
        settings.by_client or (FEWEST_RECORDS if settings.metric in BY_CLIENT else None),
    )


def _constrained(settings: _Settings, name: str, loss: Loss) -> Constrained:
    """Make a constrained problem, without a penalty unless it is asked for."""
    for key in ("per", "average", "records", "feasible", "local_error", "metric", "by_client"):
        if getattr(settings, key) is not None:
            raise ValueError(f"problem.{key}: it is for problems without constraints")
    if not isinstance(loss, ScalarLoss):
        raise ValueError(f"problem.loss: constraints are on losses with one output, not {name}")
    return Constrained(
        settings.penalty,
        settings.strength or 0.0,
        loss,
        name,
        (settings.objective or _Objective()).mean_loss,
        settings.constraints or (),
        settings.server or 0.0,
    )
