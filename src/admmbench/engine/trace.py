"""The trace of a run: what was measured, labelled."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from admmbench.base.outcomes import SUCCESSFUL, Outcome
from admmbench.datasets import DatasetInfo
from admmbench.engine.variables import COMMENTS, OF_RELEASES, Variables
from admmbench.privacy.curves import FALSE_ALARMS
from admmbench.spec import guarantees
from admmbench.spec.run import RunSpec

if TYPE_CHECKING:
    import pandas as pd


class Results(xr.Dataset):  # type: ignore[no-untyped-call]
    """Labelled results of runs, whose `to_dataframe` is tidy."""

    __slots__ = ()

    @classmethod
    def of(cls, dataset: xr.Dataset) -> Self:
        """Return the variables, coordinates and attributes of a data set of xarray."""
        return cls(dataset.data_vars, dataset.coords, dataset.attrs)

    def to_dataframe(self, dim_order: Sequence[Hashable] | None = None) -> pd.DataFrame:
        """Return a row for each seed and round, without what has other dims, such as the model.

        Without rounds, such as ``trace[["model"]]``, all variables are columns, as usual in xarray.
        """
        others = {"record", "class", "feature", "false_alarms"} & set(self.dims)
        tidy = self.drop_dims(others) if "round" in self.dims else self
        return xr.Dataset.to_dataframe(tidy, dim_order)


_FALSE_ALARMS = {"units": "1", "long_name": "probability of a false alarm"}


class Trace:
    """Arrays of a run that fill up round by round.

    Variables have dims ``seed`` and ``round`` or ``round`` alone; ``status`` is the `Outcome` of each seed's run. A
    diverged one is NaN from then on; one that its method ended keeps its last values.

    Where records are classified, ``mistakes`` counts, for each test record (dim ``record``), the seeds whose last model
    gets it wrong, among those that neither diverged nor ran out of time.
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
        self.mistakes: NDArray[Any] | None = None
        """Which test records the last model of each seed gets wrong, shape (S, R)."""
        self.privacy: dict[str, NDArray[Any]] = {}
        """Gaussian differential privacy and trade-off curve of all releases, by variable."""
        self.models: NDArray[Any] | None = None
        """Last global model of each seed, shape (S, K, J)."""

    def record(self, t: int, values: Mapping[str, NDArray[Any] | float], seconds: float) -> None:
        """Enter what was measured after round ``t``; a seed that is no longer finite has diverged."""
        position = self.rounds[t]
        self._status[~np.asarray(values["finite"])] = Outcome.DIVERGED
        diverged = self._status == Outcome.DIVERGED
        for name, (dims, _, _) in self._variables.items():
            value = np.asarray(seconds if name == "seconds" else values[name], np.float64)
            if "seed" in dims:
                value = np.where(diverged, np.nan, value)
            self._arrays[name][..., position] = value

    def start(self, values: Mapping[str, NDArray[Any]]) -> None:
        """Enter what was measured of the model before the first round, when nothing was sent or spent.

        Noise, and what a method measures by itself, is not there yet and stays NaN.
        """
        position = self.rounds[0]
        for name, (dims, _, _) in self._variables.items():
            if name in values:
                self._arrays[name][..., position] = values[name]
            elif "seed" not in dims:
                self._arrays[name][..., position] = 0

    def variables(self) -> dict[str, Any]:
        """Return what was recorded so far."""
        return {
            "arrays": self._arrays,
            "status": self._status,
            "mistakes": self.mistakes,
            "privacy": self.privacy,
            "models": self.models,
        }

    def restore(self, variables: Mapping[str, Any]) -> None:
        """Take up what `variables` returned."""
        self._arrays, self._status = variables["arrays"], variables["status"]
        self.mistakes, self.models = variables["mistakes"], variables["models"]
        self.privacy = variables["privacy"]

    def note(self, outcomes: NDArray[np.int8]) -> None:
        """Take note of the seeds that the method has ended."""
        self._status = np.where(self._status == 0, outcomes, self._status).astype(np.int8)

    def all_ended(self) -> bool:
        """Return whether no seed is left to run."""
        return bool((self._status != 0).all())

    def hold(self, t: int) -> None:
        """Let what was recorded after round ``t`` stand for the rounds to come."""
        position = self.rounds[t]
        for array in self._arrays.values():
            array[..., position + 1 :] = array[..., position, None]

    def repeated(self, seeds: Sequence[int]) -> Trace:
        """Return the trace of seeds that all have the values of this one's only seed."""
        trace = Trace(seeds, list(self.rounds), self._variables)
        for name, array in self._arrays.items():
            trace._arrays[name][...] = array  # along the seeds, where it has them
        trace._status[:], trace.privacy = self._status, self.privacy
        if self.mistakes is not None:
            trace.mistakes = self.mistakes.repeat(len(seeds), axis=0)
        if self.models is not None:
            trace.models = self.models.repeat(len(seeds), axis=0)
        return trace

    @classmethod
    def joined(cls, traces: Sequence[Trace]) -> Trace:
        """Join the traces of seeds that were runs of their own: their times add up, and the largest total counts."""
        first = traces[0]
        seeds = [seed for part in traces for seed in part.seeds]
        trace = cls(seeds, list(first.rounds), first._variables)
        for name, (dims, _, _) in first._variables.items():
            arrays = [part._arrays[name] for part in traces]
            if "seed" in dims:
                trace._arrays[name] = np.concatenate(arrays)
            else:
                trace._arrays[name] = (np.add if name == "seconds" else np.fmax).reduce(arrays)
        trace._status = np.concatenate([part._status for part in traces])
        # Mu, regret and curve are of one another; a mu is never NaN.
        known = [part.privacy for part in traces if part.privacy]
        trace.privacy = max(known, key=lambda each: float(each["mu"]), default={})
        if first.mistakes is not None:
            none = np.zeros_like(first.mistakes)
            mistakes = [none if part.mistakes is None else part.mistakes for part in traces]
            trace.mistakes = np.concatenate(mistakes)
        if first.models is not None:
            missing = np.full_like(first.models, np.nan)
            models = [missing if part.models is None else part.models for part in traces]
            trace.models = np.concatenate(models)
        return trace

    def time_out(self) -> None:
        """Record that the seeds that are left ran out of time; the rounds to come stay NaN."""
        self._status[self._status == Outcome.COMPLETED] = Outcome.TIMED_OUT

    def timed_out(self) -> bool:
        """Return whether seeds ran out of time."""
        return bool((self._status == Outcome.TIMED_OUT).any())

    def labelled_models(self, info: DatasetInfo) -> xr.DataArray:
        """Return the last global models, labelled; NaN for a seed that diverged.

        Dims are ``seed``, ``class`` and ``feature``. A model for two classes with one output predicts the second class
        where its output is above 0; one for numbers has no ``class``.
        """
        assert self.models is not None
        n_outputs, n_features = self.models.shape[1:]
        features = info.feature_names or [f"x{number}" for number in range(info.n_features)]
        labels = [*features, "intercept"][:n_features]
        diverged = (self._status == Outcome.DIVERGED)[:, None, None]
        models = xr.DataArray(
            np.where(diverged, np.nan, self.models),
            {
                "seed": np.array(self.seeds, np.int64),
                "class": list(info.class_names)[-n_outputs:] or range(n_outputs),
                "feature": labels,
            },
            ("seed", "class", "feature"),
            attrs={"units": "1", "long_name": "last global model"},
        )
        return models if info.class_names else models.squeeze("class", drop=True)

    def dataset(self, spec: RunSpec, attrs: Mapping[str, Any]) -> xr.Dataset:
        """Return labelled arrays with units and provenance."""
        variables: dict[str, Any] = {
            name: (dims, self._arrays[name], {"units": units, "long_name": long_name})
            for name, (dims, units, long_name) in self._variables.items()
        }
        variables["status"] = ("seed", self._status, status_attrs())
        for name, values in self.privacy.items():
            dims, long_name, comment = OF_RELEASES[name]
            facts = {"units": "1", "long_name": long_name, "comment": comment}
            variables[name] = (dims, values, facts)
        if self.mistakes is not None:
            counted = self.mistakes[np.isin(self._status, SUCCESSFUL)].sum(axis=0, dtype=np.float32)
            facts = {"units": "1", "long_name": "seeds whose last model gets a test record wrong"}
            variables["mistakes"] = ("record", counted, facts)
        coords = {
            "seed": ("seed", np.array(self.seeds, np.int64), {"long_name": "seed"}),
            "round": ("round", np.array(list(self.rounds), np.int64), {"long_name": "round"}),
        }
        if self.privacy:
            coords["false_alarms"] = ("false_alarms", np.array(FALSE_ALARMS), _FALSE_ALARMS)
        trace = xr.Dataset(variables, coords, dict(attrs))
        for name, comment in COMMENTS.items():
            trace[name].attrs["comment"] = comment
        for name in spec.as_problem.fractions:
            trace[name].attrs["valid_range"] = [0.0, 1.0]
        for accountant in spec.composed_by:
            attributes = {"accountant": accountant.name, "delta": spec.delta}
            trace[accountant.variable].attrs.update(
                attributes | ({"comment": accountant.comment} if accountant.comment else {})
            )
        # Between which data sets the total is, against whom, and on which conditions.
        guarantee = guarantees.guarantee(spec)
        trace["epsilon_total"].attrs.update(
            delta=spec.delta,
            guarantee=guarantee.kind,
            conditions=" ".join(guarantee.keys),
            relation=spec.neighbours.relation,
            threat_model=spec.privacy.trust,
        )
        for name in (str(variable) for variable in trace if str(variable).startswith("epsilon_")):
            trace[name].attrs["unit_of_privacy"] = spec.neighbours.unit
            if spec.delta_warning:
                trace[name].attrs["warning"] = "large_delta"
        return trace


def status_attrs() -> dict[str, Any]:
    """Return CF attributes of the status flag."""
    outcomes = [each for each in Outcome if each is not Outcome.NOT_RUN]
    return {
        "long_name": "how the run ended",
        "flag_values": np.array([each.value for each in outcomes], np.int8),
        "flag_meanings": " ".join(each.word for each in outcomes),
    }
