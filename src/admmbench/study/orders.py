"""Orders of further seeds and pairs: for methods of an undecided setting, and the files that record them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from admmbench.files import write
from admmbench.files.installed import OWN
from admmbench.results.mirrors import LEAST_GAIN
from admmbench.study.config import PAIRS, SEEDS
from admmbench.tuning.settings import dump_by_budget

if TYPE_CHECKING:
    import xarray as xr

    from admmbench.study.experiment import Experiment

Orders = dict[str, dict[float, int]]
"""Numbers of seeds beyond the first interim analysis, or of pairs, by label and budget."""


def order(experiment: Experiment, setting: xr.Dataset) -> dict[str, Orders]:
    """Order what a setting takes next: antithetic pairs where these gain enough, else seeds.

    The first pairs of a setting are a pilot, which shows what pairs gain. They count as the first analysis by pairs.

    Returns
    -------
    dict
        Orders of ``seeds`` and of ``pairs``, by the name of their folder.
    """
    pairs = order_pairs(experiment, setting) if experiment.pairs else {}
    if not pairs:
        return {SEEDS: order_seeds(experiment, setting), PAIRS: {}}
    epsilon = float(setting["epsilon"])
    n_next = max(n for by_budget in pairs.values() for n in by_budget.values())
    # Methods whose noise cannot be negated go on as well, by as many seeds.
    seeds: Orders = {
        label: {epsilon: n_next}
        for label in {**pairs, **dict.fromkeys(_open(setting, "verdict"))}
        if _seeds(experiment, label, epsilon) < n_next
    }
    return {SEEDS: seeds, PAIRS: pairs}


def order_pairs(experiment: Experiment, setting: xr.Dataset) -> Orders:
    """Order the pairs of the next interim analysis for all methods among which a setting is undecided.

    Nothing is ordered where a pilot has shown that pairs gain too little, see `admmbench.results.mirrors.gain`.
    """
    epsilon = float(setting["epsilon"])
    added = _open(setting, "added")
    labels = dict.fromkeys([*_open(setting, "verdict"), *added])
    # An added method is compared with the best of the setting, whose mirrors it needs.
    labels |= dict.fromkeys([str(setting["lowest"].item())] if added else [])
    can = {method.label for method, spec in experiment.computed if spec.draws_noise}
    n_pairs = {
        label: experiment.mirrored.get(label, {}).get(epsilon, 0)
        for label in labels
        if label in can
    }
    fewest = min(n_pairs.values(), default=0)
    analyses = experiment.interim_analyses or []
    n_next = next((n for n in analyses if n > fewest), 0)
    if len(n_pairs) < 2 or (fewest and not float(setting["gain"]) >= LEAST_GAIN):
        return {}
    return {label: {epsilon: n_next} for label, n in n_pairs.items() if n < n_next}


def order_seeds(experiment: Experiment, setting: xr.Dataset) -> Orders:
    """Order the seeds of the next interim analysis for all methods among which a setting is undecided.

    Methods that have fewer seeds than the others catch up first. Methods that were added later and are undecided
    against the best of the setting get the seeds of their next analysis as well, up to the seeds of the best.

    Nothing is ordered after the last interim analysis of the experiment. The setting (a data set at one ε) is one of
    `admmbench.results.who_wins.compare`.
    """
    analyses, epsilon = experiment.interim_analyses or [], float(setting["epsilon"])

    def so_far(label: str) -> int:
        return _seeds(experiment, label, epsilon)

    labels = _open(setting, "verdict")
    fewest = min(map(so_far, labels), default=0)
    n_next = next((n for n in analyses if n > fewest), 0)
    seeds_of_method = {label: {epsilon: n_next} for label in labels if so_far(label) < n_next}
    lowest = str(setting["lowest"].item())
    of_best = seeds_of_method[lowest][epsilon] if lowest in seeds_of_method else so_far(lowest)
    for label in _open(setting, "added"):
        if further := [n for n in analyses if so_far(label) < n <= of_best]:
            seeds_of_method[label] = {epsilon: further[0]}
    return seeds_of_method


def _seeds(experiment: Experiment, label: str, epsilon: float) -> int:
    """Return the number of seeds of a method at a budget so far."""
    return sum(map(len, experiment.blocks_of(label, epsilon)))


def _open(setting: xr.Dataset, verdict: str) -> list[str]:
    """Return the methods that are undecided in a setting: its ``verdict``, or that on ``added`` ones."""
    return [
        str(label)
        for label in setting["algorithm"].values[(setting[verdict] == "undecided").values]
    ]


def record(name: str, orders: Orders, folder: Path = OWN, kind: str = SEEDS) -> Path:
    """Write orders of seeds or pairs where the configuration of an experiment finds them, and return the file."""
    path = folder / kind / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    title = f"{kind.capitalize()} that undecided settings asked for, by `admmbench study --until-decided`."
    write(path, dump_by_budget(title, orders))
    return path
