"""The trace of a run: what was measured, labelled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from admmbench.algorithms.base import Guarantee
from admmbench.engine.spec import RunSpec
from admmbench.engine.variables import COMMENTS, Variables

STATUS = {"completed": 0, "diverged": 1, "timed_out": 2}


class Trace:
    """Arrays that fill up round by round.

    Variables have dims ``seed`` and ``round`` or ``round`` alone; ``status`` says for each seed whether the run
    completed, diverged (NaN from then on) or timed out.

    Parameters
    ----------
    seeds
        Seeds of the batch.
    rounds
        Rounds that are evaluated.
    variables
        What is measured; see `measured`.
    """

    def __init__(self, seeds: Sequence[int], rounds: Sequence[int], variables: Variables) -> None:
        self.seeds = tuple(seeds)
        self._variables = variables
        self.rounds = {t: position for position, t in enumerate(rounds)}
        sizes = {"seed": len(seeds), "round": len(rounds)}
        self._arrays = {
            name: np.full([sizes[dim] for dim in dims], np.nan)
            for name, (dims, _, _) in self._variables.items()
        }
        self._status = np.zeros(len(seeds), np.int8)

    def record(self, t: int, values: Mapping[str, NDArray[Any] | float], seconds: float) -> None:
        """Enter what was measured after round ``t``; a seed that is no longer finite has diverged."""
        position = self.rounds[t]
        self._status[~np.asarray(values["finite"])] = STATUS["diverged"]
        diverged = self._status == STATUS["diverged"]
        for name, (dims, _, _) in self._variables.items():
            value = np.asarray(seconds if name == "seconds" else values[name], np.float64)
            if "seed" in dims:
                value = np.where(diverged, np.nan, value)
            self._arrays[name][..., position] = value

    def variables(self) -> dict[str, Any]:
        """What was recorded so far."""
        return {"arrays": self._arrays, "status": self._status}

    def restore(self, variables: Mapping[str, Any]) -> None:
        """Take up what `variables` returned."""
        self._arrays, self._status = variables["arrays"], variables["status"]

    def all_diverged(self) -> bool:
        """Whether no seed is left to run."""
        return bool((self._status == STATUS["diverged"]).all())

    def time_out(self) -> None:
        """Record that the seeds that are left ran out of time; the rounds to come stay NaN."""
        self._status[self._status == STATUS["completed"]] = STATUS["timed_out"]

    def dataset(self, spec: RunSpec, attrs: Mapping[str, Any]) -> xr.Dataset:
        """Labelled arrays with units and provenance."""
        variables: dict[str, Any] = {
            name: (dims, self._arrays[name], {"units": units, "long_name": long_name})
            for name, (dims, units, long_name) in self._variables.items()
        }
        variables["status"] = ("seed", self._status, status_attrs())
        coords = {
            "seed": ("seed", np.array(self.seeds, np.int64), {"long_name": "seed"}),
            "round": ("round", np.array(list(self.rounds), np.int64), {"long_name": "round"}),
        }
        trace = xr.Dataset(variables, coords, dict(attrs))
        for name, comment in COMMENTS.items():
            trace[name].attrs["comment"] = comment
        loss = spec.as_problem.loss
        if loss.fraction:
            trace[loss.metric].attrs["valid_range"] = [0.0, 1.0]
        found = _guarantee(spec)
        for each in spec.composed_by:
            comment = "; ".join(filter(None, [each.comment, found["comment"]]))
            own = {"accountant": each.name, "delta": spec.delta, **found, "comment": comment}
            trace[each.variable].attrs.update(own)
        return trace


def status_attrs() -> dict[str, Any]:
    """CF attributes of the status flag."""
    return {
        "long_name": "how the run ended",
        "flag_values": np.array(list(STATUS.values()), np.int8),
        "flag_meanings": " ".join(STATUS),
    }


def _guarantee(spec: RunSpec) -> dict[str, str]:
    """What the total is worth, and between which data sets."""
    found, release = spec.method.guarantee(spec.sensitivity), spec.method.release
    if found.kind != "none" and not spec.privacy.private:
        found = Guarantee("none", "an infinite budget adds no noise")
    words = [found.conditions] + ([f"neighbours: {release.neighbours}"] if release else [])
    return {"guarantee": found.kind, "comment": "; ".join(words)}
