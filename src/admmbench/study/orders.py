"""Seeds to order: which methods of an undecided row run further, and the file that records it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from admmbench.files import write
from admmbench.files.core_yaml import dump_yaml
from admmbench.files.installed import OWN
from admmbench.study.config import SEEDS

if TYPE_CHECKING:
    import xarray as xr

    from admmbench.study.experiment import Experiment

Orders = dict[str, dict[float, int]]
"""Numbers of seeds beyond the first look, by label and budget."""


def further(experiment: Experiment, cell: xr.Dataset) -> Orders:
    """Order the next look for the methods among which a row is undecided, all alike.

    Those that have fewer seeds than the others get their next looks first. Methods that were added later and are
    undecided beside the best of the row get it as well, up to its seeds.

    Parameters
    ----------
    experiment
        Its looks say how many seeds come next; none if it has no more.
    cell
        The row, of `admmbench.results.who_wins.compare`.
    """
    looks, epsilon = experiment.looks or [], float(cell["epsilon"])

    def so_far(label: str) -> int:
        return sum(map(len, experiment.blocks_of(label, epsilon)))

    def undecided(word: str) -> list[str]:
        return [
            str(label) for label in cell["algorithm"].values[(cell[word] == "undecided").values]
        ]

    labels = undecided("verdict")
    fewest = min(map(so_far, labels), default=0)
    following = next((look for look in looks if look > fewest), 0)
    found = {label: {epsilon: following} for label in labels if so_far(label) < following}
    lowest = str(cell["lowest"].item())
    of_best = found[lowest][epsilon] if lowest in found else so_far(lowest)
    for label in undecided("added"):
        if own := [look for look in looks if so_far(label) < look <= of_best]:
            found[label] = {epsilon: own[0]}
    return found


def record(name: str, orders: Orders, own: Path = OWN) -> Path:
    """Write the orders of an experiment where its configuration finds them, and return the file."""
    path = own / SEEDS / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = dump_yaml(
        {label: dict(sorted(of.items())) for label, of in orders.items()},
        default_flow_style=None,
        sort_keys=False,
        width=10_000,
    )
    head = "# Seeds that undecided rows asked for, by `admmbench study --until-decided`.\n"
    write(path, head + text)
    return path
