"""Experiments as their files state them: a grid of runs, its purpose, and figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Self

from pydantic import Field, SerializeAsAny, ValidationInfo, field_validator, model_validator
from pydantic.json_schema import SkipJsonSchema

from admmbench.datasets import MissingData
from admmbench.engine.variables import measured
from admmbench.figures import Figure
from admmbench.figures.base import PARAMETER
from admmbench.figures.tidy import COURSES
from admmbench.spec.guarantees import guarantee_with_noise
from admmbench.spec.rules import refuse
from admmbench.spec.run import RunSpec
from admmbench.study.grid import Grid
from admmbench.study.rules import EXPERIMENT_RULES, find_duplicate
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
        None, exclude_if=lambda missing: not missing
    )
    """Part of the data that could not be had: nobody states it."""

    @field_validator("figures")
    @classmethod
    def _drop_absent_figures(cls, figures: list[Figure], info: ValidationInfo) -> list[Figure]:
        """Leave out figures of methods that are not run."""
        only = info.data.get("only")
        return [
            figure for figure in figures if not only or {*only}.issuperset(figure.algorithms or [])
        ]

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Refuse settings, names and figures that would make a job fail."""
        refuse(self, EXPERIMENT_RULES)
        for number, (method, spec) in enumerate(self.computed):
            run = Run(method.label, spec)
            for name in (*run.folder.split("/"), run.stem):
                file_name(name, f"algorithms.{number}: its folder of runs")
        if name := find_duplicate(figure.name for figure in self.figures):
            raise ValueError(f"figures: the name {name!r} appears twice")
        for number, figure in enumerate(self.figures):
            self._check_figure(f"figures.{number}", figure)
        return self

    def _check_figure(self, path: str, figure: Figure) -> None:
        """Refuse a figure of methods, variables or totals that the experiment does not have."""
        specs = {method.label: spec for method, spec in self.computed}
        for label in figure.algorithms or []:
            if label not in specs:
                raise ValueError(f"{path}.algorithms: {unknown('label', label, list(specs))}")
        for metric in figure.metrics:
            if metric not in self.metrics:
                key = "metric" if metric == figure.metric else "beside"
                raise ValueError(f"{path}.{key}: {unknown('metric', metric, self.metrics)}")
        drawn_specs = {label: specs[label] for label in figure.algorithms or specs}
        against = str(getattr(figure, "against", ""))
        self._check_axis(f"{path}.against", against, drawn_specs)
        guaranteed = any(guarantee_with_noise(spec).kind != "none" for spec in drawn_specs.values())
        if "epsilon_total" in (figure.metric, against) and not guaranteed:
            raise ValueError(
                f"{path}: no method here has a guarantee, so epsilon_total is infinite; set sensitivity: global, or "
                "show epsilon_composed"
            )

    def _check_axis(self, path: str, against: str, drawn_specs: Mapping[str, RunSpec]) -> None:
        """Refuse a horizontal axis that no method has, or that has no numbers."""
        advances = against in COURSES and against != "round"
        if advances and not any(against in measured(spec) for spec in drawn_specs.values()):
            raise ValueError(f"{path}: no method here has {COURSES[against].lower()}")
        if not against.startswith(PARAMETER):
            return
        name = against.removeprefix(PARAMETER)
        params_of_label = {label: asdict(spec.method) for label, spec in drawn_specs.items()}
        values = {
            label: params[name] for label, params in params_of_label.items() if name in params
        }
        if not values:
            fault = unknown("parameter", name, sorted(set().union(*params_of_label.values())))
            raise ValueError(f"{path}: {fault}")
        for label, value in values.items():
            if isinstance(value, bool) or not isinstance(value, int | float | None):
                raise ValueError(f"{path}: {name} of {label!r} is {value!r}, which is no number")
