"""What problems whose rows are shared out over agents have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, NamedTuple

from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

Array = NDArray[Any]


class Gradient(NamedTuple):
    """Sum over each agent's records, divided by ``mean_over``."""

    value: Array
    """Gradient of the loss, shape (B, S, K, J), without the regulariser."""
    sensitivity: Array
    """l1 sensitivity of ``value``, shape (B, S): the largest contribution of one record."""


class RowProblem(BaseModel):
    """Parameters of a convex problem over rows."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    shares: ClassVar[Literal["rows", "columns"]] = "rows"
    convex: ClassVar[bool] = True
    neighbours: ClassVar[str] = "neighbours differ by one record"
    variables: ClassVar[Mapping[str, tuple[str, str]]] = {}
