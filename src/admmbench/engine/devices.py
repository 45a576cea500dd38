"""What computes runs: the processor, or a device that an installed package offers.

A package offers one by an entry point in the group ``admmbench.devices``: its name is that of the device, and the
module that it names has what `Device` says.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import Annotated, Any, NamedTuple, Protocol, cast

from pydantic import AfterValidator

from admmbench import plugins
from admmbench.base.types import Strategy
from admmbench.problems.rows import BoundRows
from admmbench.spec.run import RunSpec

CPU = "cpu"
_GROUP = "admmbench.devices"


class Machine(NamedTuple):
    """Speed of a core, or of a device: the seconds that it takes for each of these.

    Attributes
    ----------
    start
        Starting a job: interpreter, imports, files.
    product
        A multiplication or addition in a product of records with several models, which a cache holds.
    vector
        The same with one model: records are read from memory for it alone.
    entry
        An entry of a local model that is updated, with its noise.
    step
        A local update of all agents, however small they are.
    """

    start: float
    product: float
    vector: float
    entry: float
    step: float


class Device(Protocol):
    """A device that computes some runs in place of the processor.

    Attributes
    ----------
    TYPICAL, SLOWEST
        Speed for forecasts, and for limits.
    """

    TYPICAL: Machine
    SLOWEST: Machine

    def unsuitable(self, spec: RunSpec) -> str:
        """Return why the device does not compute a run; empty if it does."""

    def take(self, spec: RunSpec, problem: Any) -> tuple[BoundRows, Strategy]:
        """Return a problem on the device, and how local updates are computed there.

        Raises
        ------
        ValueError
            If there is no such device, or it does not compute the run.
        """

    def describe(self) -> str:
        """Return what sums are rounded by: names and versions of the device and of its libraries."""


@cache
def find(name: str) -> Device:
    """Return a device other than the processor.

    Raises
    ------
    ValueError
        If no installed package offers it.
    """
    return cast("Device", importlib.import_module(plugins.installed(_GROUP)[checked(name)]))


def checked(name: str) -> str:
    """Refuse the name of a device that is not installed."""
    names = [CPU, *sorted(plugins.installed(_GROUP))]
    if name in names:
        return name
    raise ValueError(
        f"device: {name!r} is none of {', '.join(names)}; "
        "for another device, install the package that offers it (docs/gpu.md)"
    )


DeviceName = Annotated[str, AfterValidator(checked)]


def chosen(spec: RunSpec, name: str) -> str:
    """Return what computes a run of a study that has a device: the processor, where that device is unsuitable."""
    return CPU if name == CPU or find(name).unsuitable(spec) else name
