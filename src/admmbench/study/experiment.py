"""An experiment, as its file states it: a grid of runs, what it is for, and figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Self

from pydantic import Field, SerializeAsAny, ValidationInfo, field_validator, model_validator
from pydantic.json_schema import SkipJsonSchema

from admmbench.engine.variables import measured
from admmbench.figures import Figure
from admmbench.figures.base import PARAMETER
from admmbench.figures.tidy import COURSES
from admmbench.spec.guarantees import guarantee_with_noise
from admmbench.spec.rules import refuse
from admmbench.spec.run import RunSpec
from admmbench.study.grid import Grid
from admmbench.study.missing_data import MissingData
from admmbench.study.rules import OF_EXPERIMENTS, twice
from admmbench.study.runs import Run
from admmbench.validation import Text, file_name, unknown


class Experiment(Grid):
    """An artefact of a paper, or a study: a data set, and a grid of methods, budgets and seeds."""

    title: Text
    paper: Text = ""
    """Key of the paper, or empty."""
    description: Text = ""
    artefacts: list[str] = []
    """Figures and tables of the paper."""
    figures: list[SerializeAsAny[Figure]] = []
    missing_data: SkipJsonSchema[MissingData | None] = Field(
        None, exclude_if=lambda found: not found
    )
    """Part of the data that could not be had: nobody states it."""

    @field_validator("figures")
    @classmethod
    def _of_the_part(cls, figures: list[Figure], others: ValidationInfo) -> list[Figure]:
        """Leave out figures of methods that are not run."""
        only = others.data.get("only")
        return [each for each in figures if not only or {*only}.issuperset(each.algorithms or [])]

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Refuse whatever would make a job fail."""
        refuse(self, OF_EXPERIMENTS)
        for number, (method, spec) in enumerate(self.computed):
            address = Run(method.label, spec).address
            for name in (*address.folder.split("/"), address.stem):
                file_name(name, f"algorithms.{number}: its folder of runs")
        if name := twice(figure.name for figure in self.figures):
            raise ValueError(f"figures: the name {name!r} appears twice")
        for number, figure in enumerate(self.figures):
            self._check_figure(f"figures.{number}", figure)
        return self

    def _check_figure(self, where: str, figure: Figure) -> None:
        """Refuse a figure of methods, variables or totals that are not there."""
        specs = {method.label: spec for method, spec in self.computed}
        for label in figure.algorithms or []:
            if label not in specs:
                raise ValueError(f"{where}.algorithms: {unknown('label', label, list(specs))}")
        for metric in figure.metrics:
            if metric not in self.metrics:
                key = "metric" if metric == figure.metric else "beside"
                raise ValueError(f"{where}.{key}: {unknown('metric', metric, self.metrics)}")
        shown = {label: specs[label] for label in figure.algorithms or specs}
        against = str(getattr(figure, "against", ""))
        self._check_axis(f"{where}.against", against, shown)
        guaranteed = any(guarantee_with_noise(spec).kind != "none" for spec in shown.values())
        if "epsilon_total" in (figure.metric, against) and not guaranteed:
            raise ValueError(
                f"{where}: no method here has a guarantee, so epsilon_total is infinite; set sensitivity: global, or "
                "show epsilon_composed"
            )

    def _check_axis(self, where: str, against: str, shown: Mapping[str, RunSpec]) -> None:
        """Refuse a horizontal axis that no method has, or that has no numbers."""
        advances = against in COURSES and against != "round"
        if advances and not any(against in measured(spec) for spec in shown.values()):
            raise ValueError(f"{where}: no method here has {COURSES[against].lower()}")
        if not against.startswith(PARAMETER):
            return
        name = against.removeprefix(PARAMETER)
        known = {label: asdict(spec.method) for label, spec in shown.items()}
        found = {label: given[name] for label, given in known.items() if name in given}
        if not found:
            fault = unknown("parameter", name, sorted(set().union(*known.values())))
            raise ValueError(f"{where}: {fault}")
        for label, value in found.items():
            if isinstance(value, bool) or not isinstance(value, int | float | None):
                raise ValueError(f"{where}: {name} of {label!r} is {value!r}, which is no number")
