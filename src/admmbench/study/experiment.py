"""Experiments as their files state them: a grid of runs, its purpose, and figures."""

from __future__ import annotations

from typing import Self

from pydantic import Field, SerializeAsAny, ValidationInfo, field_validator, model_validator
from pydantic.json_schema import SkipJsonSchema

from admmbench.datasets import MissingData
from admmbench.figures import Figure
from admmbench.spec.rules import refuse
from admmbench.study.grid import Grid
from admmbench.study.rules import EXPERIMENT_RULES, FIGURE_RULES, StatedFigure
from admmbench.study.runs import Run
from admmbench.validation import Text, file_name


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

    @property
    def pictures(self) -> list[str]:
        """Return the pictures that the report draws: differences at equal total ε, and attacks."""
        stated = {"differences": self.privacy.total, "attacks": self.audits}
        return [name for name, content in stated.items() if content]

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
        specs = {method.label: spec for method, spec in self.computed}
        for number, figure in enumerate(self.figures):
            earlier = [other.name for other in self.figures[:number]]
            refuse(StatedFigure(number, figure, earlier, specs, self.metrics), FIGURE_RULES)
        return self
