"""Problems: loss x penalty x sharing.

A problem is stated by a mapping such as ``{"loss": "logistic", "penalty": "l1", "strength": 1e-6, "per": "agent"}``.
The partition says whether rows or columns are shared out. This decides which frame derives everything else from the
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
from admmbench.problems.penalties import PenaltyName
from admmbench.problems.rows import Rows
from admmbench.validation import Number, Strict, checked

AnyProblem = Rows | Columns | Constrained | Quadratic

# hu2019: lambda = 1e-4, weight of the squared norm in the mean objective.
_COLUMNS_STRENGTH = 2e-4


class _Objective(Strict):
    """What is minimised."""

    mean_loss: MeanLoss = MeanLoss()


class _Settings(Strict):
    """What a user may write; None stands for the default."""

    loss: str | dict[str, Any]
    penalty: PenaltyName = "l2"
    strength: Annotated[Number, Field(ge=0)] | None = None
    per: Literal["agent", "total"] | None = None
    average: Literal["records", "agents"] | None = None
    records: RecordBounds | None = None
    feasible: Feasible | None = None
    objective: _Objective | None = None
    constraints: tuple[Constraint, ...] | None = None
    server: Annotated[Number, Field(ge=0, le=1)] | None = None


def as_problem(spec: str | Mapping[str, Any], sharing: Sharing) -> AnyProblem:
    """Make a problem from its loss's name, or from a mapping.

    Parameters
    ----------
    spec
        Name or path of a loss, or a mapping with ``loss`` (a name, or a mapping with ``name`` and parameters) and
        perhaps ``penalty``, ``strength``, ``per``, ``average``, ``records`` and ``feasible``. Defaults are those of the
        literature for the loss, see `Convention`. With ``objective``, ``constraints`` or ``server`` the problem is
        constrained, see `admmbench.problems.constrained`; ``quadratic`` stands for drawn quadratics.
    sharing
        What the partition shares out; ``constrained`` shares rows.

    Raises
    ------
    ValueError
        If something is unknown or out of range; the message names the key and the nearest valid value.
    """
    if isinstance(spec, str):
        spec = {"loss": spec}
    given = checked(_Settings, spec, "problem")
    if given.loss == "quadratic":
        return Quadratic(given.penalty, given.strength or 0.0)
    loss = as_loss(given.loss)
    name = given.loss if isinstance(given.loss, str) else str(given.loss["name"])
    usual = loss.convention
    if sharing == "columns":
        for key in ("per", "average", "feasible"):
            if getattr(given, key) is not None:
                raise ValueError(
                    f"problem.{key}: it is about shared rows, the partition shares columns"
                )
        strength = _COLUMNS_STRENGTH if given.strength is None else given.strength
        if strength == 0:
            raise ValueError(
                "problem.strength: parties whose columns depend on each other need one above 0"
            )
        return Columns(given.penalty, strength, loss, name, given.records or RecordBounds())
    if given.objective or given.constraints is not None or given.server is not None:
        return _constrained(given, name, loss)
    return Rows(
        given.penalty,
        usual.strength if given.strength is None else given.strength,
        loss,
        name,
        given.per or usual.per,
        given.average or usual.average,
        given.records or RecordBounds(max_l2_norm=usual.max_l2_norm),
        given.feasible,
    )


def _constrained(given: _Settings, name: str, loss: Loss) -> Constrained:
    """Make a constrained problem, without a penalty unless it is asked for."""
    for key in ("per", "average", "records", "feasible"):
        if getattr(given, key) is not None:
            raise ValueError(f"problem.{key}: it is for problems without constraints")
    if not isinstance(loss, ScalarLoss):
        raise ValueError(f"problem.loss: constraints are on losses with one output, not {name}")
    return Constrained(
        given.penalty,
        given.strength or 0.0,
        loss,
        name,
        (given.objective or _Objective()).mean_loss,
        given.constraints or (),
        given.server or 0.0,
    )
