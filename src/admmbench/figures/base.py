"""Base of all kinds of figures: common keys, and the selection of results.

The configuration reads figures too, so neither this module nor the top of a kind imports packages that draw or compute
statistics: they take seconds.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import (
    Field,
    GetJsonSchemaHandler,
    ModelWrapValidatorHandler,
    model_validator,
)
from pydantic_core import CoreSchema

from admmbench import plugins
from admmbench.figures.tidy import ran
from admmbench.validation import Epsilons, Strict, fault

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.axes import Axes

    from admmbench.figures.look import Look

Width = Literal["column", "page"]
"""Width of a figure on paper."""
FORMATS = ("svg", "pdf", "png", "csv")
"""Suffixes of a figure's files, of which the last has the table behind the drawing."""
CHECKSUMMED = FORMATS[:-1]
"""Suffixes of files that end with a checksum; in a table, a further line would be a row."""
PARAMETER = "params."
"""Prefix in the name of a horizontal axis that is a parameter of methods."""


class Scale(NamedTuple):
    """Axis of a metric: factor from the stored unit to the shown one, and label."""

    factor: float
    label: str


class Figure(Strict):
    """Figure of the report, as stated by its keys.

    A kind is a subclass that is the only one of its module. A kind adds keys of its own, makes a tidy table of the
    results, and draws the rows of a panel by seaborn. ``Figure.model_validate`` makes the kind that a mapping names.
    """

    name: Annotated[
        str,
        Field(pattern=r"^[a-z0-9_]+$", max_length=100, description="file name below figures/"),
    ]
    kind: Annotated[str, Field(description="built in, or the path of a file ending in .py")]
    metric: Annotated[str, Field(description="variable of results.nc")] = "test_error"
    source: Annotated[str, Field(description="the figure of a paper that this one reproduces")] = ""
    caption: str = ""
    log: Annotated[bool, Field(description="logarithmic vertical axis")] = False
    algorithms: Annotated[list[str] | None, Field(description="labels to show; all if absent")] = (
        None
    )
    epsilon: Annotated[Epsilons | None, Field(description="budgets to show; all if absent")] = None

    width: Annotated[
        Width | None,
        Field(
            description="of a paper: a column (3.5 in) or the page (7.16 in); "
            "if absent, a column for one panel and the page for several"
        ),
    ] = None

    failed_runs: ClassVar[str] = "left out"
    """Treatment of runs that diverged or timed out, in words of the small print."""
    lines_are_methods: ClassVar[bool] = True
    """Whether a line has the look of the method of its label; otherwise the order of lines decides their looks."""

    def table(self, shown: xr.Dataset) -> pd.DataFrame:
        """Make the table of rows to draw, here the final value ``y`` of each run with all coordinates of its method.

        The column ``line`` has the names in the legend. Titles of panels, if there are several, are the categories of
        ``panel``. A kind may have further columns.

        Parameters
        ----------
        shown
            Results that `select` returned.
        """
        from admmbench.results import statistics

        values = statistics.final(shown, self.metric) * self.scale(shown).factor
        rows = values.sel(epsilon=self.budgets(shown)).to_dataframe("y").dropna(subset="y")
        return rows.reset_index().rename(columns={"algorithm": "line"})

    @abstractmethod
    def plot(self, panel: Axes, table: pd.DataFrame, looks: Mapping[str, Look]) -> None:
        """Draw the rows of a panel, by any function of seaborn that takes axes.

        Legend, title, labels of axes and small print are added later.

        Parameters
        ----------
        panel
            Axes to draw into.
        table
            Rows of the panel, at least one.
        looks
            Style of each line.
        """

    def axes(self, shown: xr.Dataset) -> tuple[str, str]:
        """Return the labels of the horizontal and of the vertical axis."""
        return "", self.scale(shown).label

    def looks(self, table: pd.DataFrame, methods: Mapping[str, Look]) -> Mapping[str, Look]:
        """Return the style of each line, see `lines_are_methods`."""
        from admmbench.figures import look

        return methods if self.lines_are_methods else look.of_lines(table["line"].unique())

    @property
    def metrics(self) -> list[str]:
        """Return the names of the drawn variables of the results."""
        return [self.metric]

    def says(self, n_seeds: int) -> str:
        """Return a sentence of the small print on how the figure shows the seeds."""
        from admmbench.results import statistics

        if n_seeds == 1:
            return "One seed, no band."
        if n_seeds <= statistics.FEW_SEEDS:
            return f"Mean, and each of {n_seeds} seeds."
        return f"Mean and 20–80 percentile band over {n_seeds} seeds."

    def select(self, results: xr.Dataset) -> xr.Dataset:
        """Select methods and budgets; budgets without noise stay, for the reference lines.

        A study that is scaled down may lack budgets that the figure of the paper shows. Then the figure shows the
        budgets that were run, or all budgets of the study if none of the figure's was run. The small print names
        missing budgets.

        Raises
        ------
        ValueError
            If the results do not hold the metric or a label.
        """
        if absent := [metric for metric in self.metrics if metric not in results]:
            raise ValueError(f"figure {self.name}: no metric {absent[0]!r} in the results")
        present = results["algorithm"].values
        if unknowns := [label for label in self.algorithms or [] if label not in present]:
            raise ValueError(f"figure {self.name}: no algorithm {unknowns} in the results")
        epsilons = results["epsilon"].values
        if asked := [e for e in epsilons if e in (self.epsilon or [])]:
            epsilons = np.array([e for e in epsilons if e in asked or math.isinf(e)])
        return results.sel(algorithm=self.algorithms or list(present), epsilon=epsilons)

    def budgets(self, shown: xr.Dataset) -> list[float]:
        """Return the epsilons to draw: the finite ones, and infinity if it is asked for or the only one."""
        values = [float(e) for e in shown["epsilon"].values]
        finite = [e for e in values if math.isfinite(e)]
        asked = self.epsilon is not None and math.inf in self.epsilon
        return values if asked or not finite else finite

    def references(self, shown: xr.Dataset) -> list[str]:
        """Return the methods that ran without noise only; none for metrics of noise and privacy, which are trivial."""
        budgets = self.budgets(shown)
        if math.inf in budgets or math.inf not in shown["epsilon"].values:
            return []
        if self.metric.startswith(("noise", "epsilon")):
            return []
        return [
            str(label)
            for label in shown["algorithm"].values
            if ran(shown, label, math.inf) and not any(ran(shown, label, e) for e in budgets)
        ]

    def scale(self, shown: xr.Dataset) -> Scale:
        """Return unit and label of the metric."""
        attrs = shown[self.metric].attrs
        name = str(attrs.get("long_name", self.metric.replace("_", " ")))
        name = name[:1].upper() + name[1:]
        if self.metric == "test_error":
            return Scale(100.0, f"{name} (%)")
        unit = str(attrs.get("units", "1"))
        return Scale(1.0, name if unit in {"1", ""} else f"{name} ({unit})")

    @model_validator(mode="wrap")
    @classmethod
    def _resolve_kind(cls, values: Any, handler: ModelWrapValidatorHandler[Figure]) -> Figure:
        """Validate a mapping by the kind that it names."""
        if cls is not Figure or not isinstance(values, Mapping):
            return handler(values)
        if "kind" not in values:
            raise fault(("kind",), f"is missing; one of {', '.join(KINDS.names())}", values)
        try:
            kind = KINDS.resolve(str(values["kind"]))
        except ValueError as error:
            raise fault(("kind",), str(error), values) from None
        return kind.model_validate(values)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Return the schema of a kind; for the base class, the schema of any kind."""
        if cls is not Figure:
            return super().__get_pydantic_json_schema__(schema, handler)
        kinds = []
        for name in sorted(KINDS.built_in):
            kind = handler(KINDS.resolve(name).__pydantic_core_schema__)
            kind["properties"]["kind"] = {"const": name, "title": "Kind", "type": "string"}
            kinds.append(kind)
        properties = {"kind": {"pattern": r"\.py$", "title": "Kind", "type": "string"}}
        plugin = {
            "title": "Your own",
            "description": "A kind of figure in a file of yours, whose class says which other keys there are.",
            "properties": properties,
            "required": ["name", "kind"],
        }
        return {"oneOf": [*kinds, plugin]}


KINDS = plugins.Registry(
    kind="kind",
    package="admmbench.figures.kinds",
    group="admmbench.figures",
    base=Figure,  # type: ignore[type-abstract]
)
"""Kinds by the value of the key ``kind``."""
