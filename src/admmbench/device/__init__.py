"""Runs on a GPU: local updates in closed form, their gradients, and what is measured of them.

The state of such a run, its records and its noise are there; bounds, scales and ledgers stay in double precision with
the processor. Frames and methods are the same: CuPy's arrays answer NumPy's functions, and the update of
`admmbench.frames.local_update` is compiled for the GPU.

Nothing of a GPU is imported before a run asks for one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from admmbench.frames.linearized import Linearized
from admmbench.problems.rows import BoundRows, Rows

if TYPE_CHECKING:
    from admmbench.frames.local_update import Strategy
    from admmbench.spec.run import RunSpec

Device = Literal["cpu", "cuda"]
"""What computes a run: a processor, or a GPU."""


def unsuitable(spec: RunSpec) -> str:
    """Say why a GPU does not make a run; empty if it does."""
    method, problem = spec.method, spec.as_problem
    if not isinstance(method, Linearized):
        return "its agents do not update their models by a gradient and a step in closed form"
    # What extends the softmax has formulas of its own beside an equation that is not.
    if not isinstance(problem, Rows) or not vars(type(problem.loss)).get("row_to_slopes"):
        return "the loss is not softmax"
    if problem.penalty_name != "l2":
        return "the penalty is not l2"
    if problem.feasible is not None:
        return "models are projected onto problem.feasible"
    if method.averaged(problem) is not None:
        return "means of its models over rounds are kept"
    return ""


def chosen(spec: RunSpec, device: Device) -> Device:
    """Say what makes a run of a study that has a device: what a GPU does not make, a processor does."""
    return device if device == "cpu" or not unsuitable(spec) else "cpu"


def on_device(spec: RunSpec, problem: Any) -> tuple[BoundRows, Strategy]:
    """Bring a problem to a GPU, and say how local updates are computed there.

    Raises
    ------
    ValueError
        If there is no GPU, or it does not make such a run.
    """
    if reason := unsuitable(spec):
        raise ValueError(f"device: cuda does not make a run of {spec.algorithm}: {reason}; use cpu")
    from admmbench.device.rows import DeviceRows
    from admmbench.device.update import OnDevice

    return DeviceRows(problem.problem, problem.split, problem.setting), OnDevice()
