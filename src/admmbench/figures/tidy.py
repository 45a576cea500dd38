"""Tidy tables: labelled results as rows of drawings.

The configuration reads figures too, so packages that compute statistics are imported when they are needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

Course = Literal["round", "outer_iterations", "floats_sent"]
COURSES = {
    "round": "Round",
    "outer_iterations": "Outer iterations",
    "floats_sent": "Numbers sent",
}
"""Quantities that advance during a run, with the labels of their axes."""

COLUMNS = ("panel", "line", "x", "y", "lower", "upper", "seed")
"""Columns of a table that `admmbench.figures.style.draw_lines` draws, see `points`; a line without x is level."""


def points(values: xr.DataArray, *, log: bool = False) -> pd.DataFrame:
    """Make the rows of one line: the mean over seeds, and the spread of seeds about the mean.

    Parameters
    ----------
    values
        Values over one dimension, the horizontal axis, and over ``seed``, if seeds differ.
    log
        Whether the vertical axis is logarithmic: there is no row where the mean is not above 0, and a band ends at the
        mean where it would reach 0.

    Returns
    -------
    pandas.DataFrame
        ``x`` and ``y``, the mean. ``lower`` and ``upper``, its band, are missing for few seeds, each of which has rows
        of its own, with its ``seed``. Seeds that all have the same values have neither band nor rows.
    """
    import pandas as pd

    from admmbench.results import statistics

    (axis,) = set(values.dims) - {"seed"}
    mean = values.mean("seed") if "seed" in values.dims else values
    shown = np.isfinite(mean.values) & ((mean.values > 0) | (not log))
    values, mean = values.isel({axis: shown}), mean.isel({axis: shown})
    x = mean[axis].values
    table = pd.DataFrame({"x": x, "y": mean.values})
    if "seed" not in values.dims or values.sizes["seed"] < 2 or not len(x):
        return table
    if statistics.same_for_all_seeds(values).all():
        return table
    if (n := values.sizes["seed"]) <= statistics.FEW_SEEDS:
        columns = {"x": np.repeat(x, n), "y": values.transpose(axis, "seed").values.ravel()}
        return pd.concat([table, pd.DataFrame(columns | {"seed": np.tile(values["seed"], len(x))})])
    band = statistics.band(values)
    lower = band["lower"].where(band["lower"] > 0, mean) if log else band["lower"]
    return table.assign(lower=lower.values, upper=band["upper"].values)


def combine(panels: Mapping[str, Iterable[pd.DataFrame]]) -> pd.DataFrame:
    """Combine the rows of all lines in one table, by panel; panels without rows are categories all the same."""
    import pandas as pd

    parts = [part.assign(panel=panel) for panel, lines in panels.items() for part in lines]
    rows = pd.concat([pd.DataFrame({name: [] for name in COLUMNS}), *parts], ignore_index=True)
    return rows.assign(panel=pd.Categorical(rows["panel"], pd.Index(panels)))


def values_over_course(values: xr.DataArray, shown: xr.Dataset, course: Course) -> xr.DataArray:
    """Return values without the start, over a quantity that advances during a run.

    The mean over seeds of this quantity takes the place of the rounds. Of several rounds with the same mean, the last
    one stays.

    Parameters
    ----------
    values
        A metric of one method at one epsilon.
    shown
        Results of that method at that epsilon.
    course
        The quantity.
    """
    from admmbench.results import statistics

    values = statistics.after_start(values)
    if course == "round":
        return values
    place = statistics.after_start(shown[course])
    place = place.mean("seed") if "seed" in place.dims else place
    place = place.dropna("round")
    last = place[np.append(np.diff(place) > 0, True)]
    return values.sel(round=last["round"]).assign_coords(round=last.values)


def runs(shown: xr.Dataset, budgets: Sequence[float]) -> Iterator[tuple[str, float, xr.Dataset]]:
    """Yield label, budget and results of each method at each budget at which it ran."""
    for label in map(str, shown["algorithm"].values):
        for budget in budgets:
            if ran(shown, label, budget):
                yield label, budget, shown.sel(algorithm=label, epsilon=budget)


def ran(shown: xr.Dataset, label: str, epsilon: float) -> bool:
    """Return whether there are runs of a method at a budget."""
    return bool((shown["status"].sel(algorithm=label, epsilon=epsilon) >= 0).any())
