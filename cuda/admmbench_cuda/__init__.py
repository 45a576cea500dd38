"""Runs on a GPU: local updates in closed form, their gradients, and what is measured of them.

The state of such a run, its records and its noise are there; bounds, scales and ledgers stay in double precision with
the processor. Base algorithms and methods are the same: CuPy's arrays answer NumPy's functions, and the update of
`admmbench.base.kernel` is compiled for the GPU.

This module is the device ``cuda`` of `admmbench.engine.devices`. Nothing of a GPU is imported before a run asks for
one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from admmbench.base.linearized import Linearized
from admmbench.engine.devices import Machine
from admmbench.problems.rows import BoundRows, Rows

if TYPE_CHECKING:
    from admmbench.base.types import Strategy
    from admmbench.spec.run import RunSpec

# An H200 that four jobs share.
TYPICAL = Machine(start=5.0, product=2.3e-14, vector=2.3e-14, entry=8e-12, step=2e-4)
# Each of them takes four times as long, and a GPU, or the processor that starts its kernels, may be slower.
SLOWEST = Machine(*(20 * seconds for seconds in TYPICAL))._replace(step=8e-3)


def unsuitable(spec: RunSpec) -> str:
    """Return why a GPU does not compute a run; empty if it does."""
    method, problem = spec.method, spec.as_problem
    if not isinstance(method, Linearized):
        return "its agents do not update their models by a gradient and a step in closed form"
    # What extends the softmax has formulas of its own beside an equation that is not.
    if not isinstance(problem, Rows) or not vars(type(problem.loss)).get("row_to_derivatives"):
        return "the loss is not softmax"
    if problem.penalty_name != "l2":
        return "the penalty is not l2"
    if problem.feasible is not None:
        return "models are projected onto problem.feasible"
    if method.observers(problem):
        return "means of its models over rounds are kept"
    return ""


def take(spec: RunSpec, problem: Any) -> tuple[BoundRows, Strategy]:
    """Bring a problem to a GPU, see `admmbench.engine.devices.Device`."""
    if reason := unsuitable(spec):
        raise ValueError(f"device: cuda does not make a run of {spec.algorithm}: {reason}; use cpu")
    from admmbench_cuda.rows import DeviceRows
    from admmbench_cuda.update import OnDevice

    return DeviceRows(problem.problem, problem.split, problem.setting), OnDevice()


def describe() -> str:
    """Name the GPU, and what computes on it."""
    from admmbench_cuda.arrays import name

    return name()
