"""Tidy tables: labelled results as rows of what is drawn.

The configuration reads figures too, so packages that compute statistics are imported when they are needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
"""What advances during a run, and how an axis calls it."""

COLUMNS = ("panel", "line", "x", "y", "lower", "upper", "seed")
"""Of a table that `admmbench.figures.style.draw_lines` draws, see `points`; a line without x is level."""


def points(values: xr.DataArray, *, log: bool = False) -> pd.DataFrame:
    """Make the rows of one line: the mean over seeds, and how seeds spread about it.

    Parameters
    ----------
    values
        Over ``seed``, if they differ, and one dimension more, the horizontal axis.
    log
        Whether the vertical axis is logarithmic: there is no row where the mean is not above 0, and a band ends at the
        mean where it would reach 0.

    Returns
    -------
    pandas.DataFrame
        ``x`` and ``y``, the mean. ``lower`` and ``upper``, its band, are missing for few seeds: these have rows of
        their own, with their ``seed``. Where all seeds have the same values there is neither.
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
        each = {"x": np.repeat(x, n), "y": values.transpose(axis, "seed").values.ravel()}
        return pd.concat([table, pd.DataFrame(each | {"seed": np.tile(values["seed"], len(x))})])
    band = statistics.band(values)
    lower = band["lower"].where(band["lower"] > 0, mean) if log else band["lower"]
    return table.assign(lower=lower.values, upper=band["upper"].values)


def together(parts: Iterable[pd.DataFrame], panels: Sequence[str] = ("",)) -> pd.DataFrame:
    """Make one table of the rows of all lines; a panel without a row is there all the same."""
    import pandas as pd

    rows = pd.concat([pd.DataFrame({name: [] for name in COLUMNS}), *parts], ignore_index=True)
    return rows.assign(panel=pd.Categorical(rows["panel"], pd.Index(panels)))


def along(values: xr.DataArray, shown: xr.Dataset, course: Course) -> xr.DataArray:
    """Leave out the start, and put the mean over seeds of what advances in the place of the rounds.

    Parameters
    ----------
    values
        A metric of one method at one epsilon; where several rounds are at one place, the last stands for them.
    shown
        Results of that method at that epsilon.
    course
        What advances.
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


def ran(shown: xr.Dataset, label: str, epsilon: float) -> bool:
    """Return whether there are runs of a method at a budget."""
    return bool((shown["status"].sel(algorithm=label, epsilon=epsilon) >= 0).any())
