"""Invented studies whose true means are known, judged look by look as a study is, and what is then said wrongly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr

from admmbench.inference import levels
from admmbench.inference.contrasts import judge_pairs, judge_setting


class Setting(NamedTuple):
    """What studies are like; a standard deviation of a method's errors is 1 unless ``spreads`` has others."""

    means: tuple[float, ...]
    margin: float
    looks: tuple[int, ...] = (10,)
    rows: int = 1
    correlation: float = 0.0
    """Of two methods' errors, by what a seed draws for all."""
    spreads: tuple[float, ...] = ()
    skewness: float = 0.0
    """Of a method's errors, which are gamma variables then; the tail is at the worse end."""
    added: int = 0
    """How many of the last methods were added after the study was stated with the others."""
    odd: float | None = None
    """Part of the variance of a method's errors that a mirror negates; no mirrors are run without it."""
    signs: tuple[float, ...] = ()
    """Signs of the noise that a seed draws for all in methods' errors, 1 for each if none are given."""


class Said(NamedTuple):
    """Parts of the studies in which something is wrong at any look, and the part of the rows that were decided."""

    pair: float
    """A method is called better or worse without being so, or equivalent though it is further off than the margin."""
    row: float
    """A winner is not the only one with the lowest mean, or one of an equivalent group is beyond the margin."""
    decided: float


def judge(setting: Setting, studies: int = 2000, narrow: float = 1.0) -> Said:
    """Run the studies; intervals are made narrower by a factor, to see whether anybody notices."""
    size = 250  # at once
    parts = [_judge(setting, size, seed, narrow) for seed in range(studies // size)]
    return Said(*np.mean(parts, axis=0).tolist())


def _judge(setting: Setting, studies: int, seed: int, narrow: float) -> Said:
    values, mirrors = _drawn(setting, studies, seed)
    truth = np.array(setting.means)
    n_methods = len(truth)
    apart = xr.DataArray(truth[:, None] - truth[None], dims=("algorithm", "rival"))
    looks: Sequence[int] = setting.looks
    labels = [f"{number}" for number in range(n_methods)]
    stated = n_methods - setting.added
    # Mirrors take the first turn, where there are any.
    turns = {label: turn for turn, label in enumerate(labels[stated:], 1 + (mirrors is not None))}
    counts = labels[:stated], turns, setting.rows, len(looks)
    level, mirror_level = (
        levels.levels(*counts, error).drop_vars(["algorithm", "rival"])
        for error in (levels.ERROR, levels.error_of_turn(1))
    )
    first = {"algorithm": slice(stated)}
    false_pair = np.zeros(studies, bool)
    false_row = np.zeros(studies, bool)
    over = np.zeros((studies, setting.rows), bool)
    of_seeds = xr.Dataset()
    # Seeds first, and then the mirrors of the same seeds in rows that are open.
    for number, (turn, look) in enumerate([*enumerate(looks)] * (1 if mirrors is None else 2)):
        by_pairs = number >= len(looks)
        seen = values.isel(seed=slice(look))
        if by_pairs:
            seen = (seen + mirrors.isel(seed=slice(look))) / 2
        pairs = seen - seen.rename(algorithm="rival")
        if by_pairs:
            pairs = pairs.where(pairs.notnull().sum("seed") >= looks[0])
            found = levels.intersected(pairs, mirror_level, looks[: turn + 1])
            gap = levels.narrowed(of_seeds, found).where(found["lower"].notnull(), of_seeds)
        else:
            gap = of_seeds = levels.intersected(pairs, level, looks[: turn + 1])
        if narrow != 1:
            middle, half = gap["mean"], (gap["upper"] - gap["lower"]) / 2
            gap = gap.assign(lower=middle - narrow * half, upper=middle + narrow * half)
        verdict = judge_pairs(gap, setting.margin)
        wrong = (verdict == "worse") & (apart <= 0) | (verdict == "better") & (apart >= 0)
        wrong |= (verdict == "equivalent") & (abs(apart) > setting.margin)
        false_pair |= wrong.any(["algorithm", "rival", "row"]).values
        means = seen.fillna(values).mean("seed").isel(first)
        standing = judge_setting(means, verdict.isel({**first, "rival": slice(stated)}))
        words = standing.transpose("study", "row", "algorithm").values
        false_row |= (_wrong(words, truth[:stated], setting.margin) & ~over).any(axis=1)
        decided = (words == "winner") | (words == "equivalent")
        over |= decided.any(axis=2)
        # Only contenders of rows that are open get the seeds of the next look, and added ones that are undecided.
        ahead = means.where(standing != "worse", np.inf).argmin("algorithm")
        beside = verdict.isel(algorithm=slice(stated, None)).isel(rival=ahead)
        behind = xr.concat([standing == "worse", beside != "undecided"], "algorithm")
        stops = behind | xr.DataArray(over, dims=("study", "row"))
        if number < len(looks) - 1:
            values = values.where(~stops | (values["seed"] < look))
        elif mirrors is not None:
            mirrors = mirrors.where(~stops | (by_pairs & (values["seed"] < look)))
    return Said(float(false_pair.mean()), float(false_row.mean()), float(over.mean()))


def _drawn(setting: Setting, studies: int, seed: int) -> tuple[xr.DataArray, xr.DataArray | None]:
    """Errors of seeds and of their mirrors, if these are run."""
    random = np.random.default_rng(seed)

    def draw(*shape: int) -> np.ndarray:
        if not setting.skewness:
            return random.normal(size=shape)
        shape_parameter = 4 / setting.skewness**2
        return (random.gamma(shape_parameter, size=shape) - shape_parameter) / np.sqrt(
            shape_parameter
        )

    n_methods, n_seeds = len(setting.means), setting.looks[-1]
    sizes = (studies, setting.rows, 1, n_seeds), (studies, setting.rows, n_methods, n_seeds)
    weights = np.sqrt([setting.correlation, 1 - setting.correlation])
    spreads = np.array(setting.spreads or np.ones(n_methods))[:, None]

    def labelled(errors: np.ndarray) -> xr.DataArray:
        return xr.DataArray(
            np.array(setting.means)[:, None] + spreads * errors,
            dims=("study", "row", "algorithm", "seed"),
            coords={"seed": np.arange(n_seeds)},
        )

    errors = weights[0] * draw(*sizes[0]) + weights[1] * draw(*sizes[1])
    if setting.odd is None:
        return labelled(errors), None
    # What a mirror negates is symmetric, as the noise is.
    signs = np.array(setting.signs or np.ones(n_methods))[:, None]
    odd = weights[0] * signs * random.normal(size=sizes[0]) + weights[1] * random.normal(
        size=sizes[1]
    )
    even, odd = np.sqrt(1 - setting.odd) * errors, np.sqrt(setting.odd) * odd
    return labelled(even + odd), labelled(even - odd)


def _wrong(standing: np.ndarray, truth: np.ndarray, margin: float) -> np.ndarray:
    """Rows, over study and row, in which a winner or a member of a group is none."""
    lowest = truth.min()
    alone = (truth == lowest) & ((truth == lowest).sum() == 1)
    return ((standing == "winner") & ~alone).any(axis=2) | (
        (standing == "equivalent") & (truth > lowest + margin)
    ).any(axis=2)
