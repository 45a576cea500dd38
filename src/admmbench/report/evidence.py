"""Where in the page a reader sees what a claim is about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import xarray as xr

    from admmbench.claims.claims import Claim
    from admmbench.figures import Figure


class Link(NamedTuple):
    """A place in the page: its id, and words for it."""

    target: str
    words: str


def figure_id(experiment: str, figure: Figure) -> str:
    """Id of a figure of an experiment."""
    return f"{experiment}-figure-{figure.name}"


def place(claim: Claim, results: xr.Dataset, figures: Sequence[Figure]) -> Link:
    """Find where the experiment of a claim shows most of what the claim looks at.

    Parameters
    ----------
    claim
        What a paper states.
    results
        Of the claim's experiment.
    figures
        Of this experiment, in the order of the page.

    Returns
    -------
    Link
        A figure of the claim's metric with some of its methods: the one that stands for the figure that the claim
        names, else the one with most of its methods and budgets, else the first. Without one, all figures of the
        experiment; without any, the experiment.
    """
    name = claim.experiment
    if not figures:
        return Link(name, name)
    ranks = [_rank(claim, results, figure) for figure in figures]
    best = max(range(len(figures)), key=lambda number: ranks[number])
    if not ranks[best]:
        return Link(f"{name}-figures", f"figures of {name}")
    return Link(figure_id(name, figures[best]), f"figure of {name}")


def _rank(claim: Claim, results: xr.Dataset, figure: Figure) -> tuple[bool, int] | tuple[()]:
    """How well a figure shows a claim: whether it is the paper's figure, and how many curves; empty if not at all."""
    if claim.metric not in figure.metrics:
        return ()
    shown = figure.select(results)
    labels = set(map(str, shown["algorithm"].values))
    budgets = set(map(float, shown["epsilon"].values))
    curves = set(claim.selections())
    if not any(label in labels for label, _ in curves):
        return ()
    drawn = sum(label in labels and epsilon in budgets for label, epsilon in curves)
    of_paper = figure.source.removeprefix(claim.paper).strip()
    return bool(of_paper) and of_paper in claim.source, drawn
