"""Partitions: which rows of the training data belong to which agent, or which columns to which party."""

from __future__ import annotations

from itertools import chain
from typing import Annotated, Any, get_args

from pydantic import Field, TypeAdapter

from admmbench.datasets import DatasetInfo
from admmbench.partition.columns import Columns
from admmbench.partition.rows import IID, By, ByWriter, Stratified
from admmbench.partition.skewed import Dirichlet, Labels, Quantity
from admmbench.validation import unknown

Partition = IID | Stratified | By | ByWriter | Dirichlet | Labels | Quantity | Columns
_ADAPTER: TypeAdapter[Partition] = TypeAdapter(Annotated[Partition, Field(discriminator="scheme")])
_NAMES = [
    *chain(*(get_args(each.model_fields["scheme"].annotation) for each in get_args(Partition)))
]


def as_partition(spec: int | dict[str, Any] | Partition) -> Partition:
    """Make a partition from a number of agents, or from a mapping with the key ``scheme``."""
    if isinstance(spec, int):
        spec = {"scheme": "iid", "agents": spec}
    if spec == {"scheme": "by", "column": "writer"}:
        spec = {"scheme": "by_writer"}  # one spelling, so that equal runs are one
    if isinstance(spec, dict) and spec.get("scheme") not in _NAMES:
        if "scheme" not in spec:
            raise ValueError(f"agents: lacks the key scheme: {', '.join(_NAMES)}")
        raise ValueError(f"agents.scheme: {unknown('scheme', spec['scheme'], _NAMES)}")
    return _ADAPTER.validate_python(spec)


def usual(info: DatasetInfo) -> Partition:
    """Return the default partition of a data set: an agent for each group, or ten equal shares without groups."""
    return as_partition({"scheme": "by", "column": info.group} if info.group else 10)
