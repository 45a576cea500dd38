"""Pattern search: a grid of settings that moves to the best of its neighbours, and gets finer around it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from admmbench.tuning.settings import FURTHER, Axis, Settings, TuningSettings, Value

Place = tuple[float, ...]
"""Exponents of the factors of all axes."""
Direction = tuple[int, int]
"""Number of an axis, and 1 or -1."""

# Steps of grids, as powers of the factors: from whole ones to steps so small that errors do not differ.
_STEPS = tuple(0.5**k for k in range(7))


class Score(NamedTuple):
    """Error on held-out rows; of equal errors, as where all rows get one class, the lower loss is better."""

    error: float
    loss: float


class Trial(NamedTuple):
    """Settings that were tried, and their score."""

    settings: Settings
    score: Score


NearbyErrors = dict[str, list[float | None]]
"""Errors at half and at twice a value, with all others as they are, by the path of its key; None beyond an end."""


class SearchResult(NamedTuple):
    """Result of a search: all trials in their order, the best, and the axes on which it is at an edge of the trials.

    ``sensitivity`` has the errors at half and twice the best values, if the settings ask for them.
    """

    trials: list[Trial]
    best: Trial
    edges: list[str]
    sensitivity: NearbyErrors = {}

    def to_dict(self) -> dict[str, Any]:
        """Make the content of a JSON file."""
        return {
            "settings": self.best.settings,
            "error": self.best.score.error,
            "edges": self.edges,
            **({"sensitivity": self.sensitivity} if self.sensitivity else {}),
            "trials": [
                {"settings": trial.settings, **trial.score._asdict()} for trial in self.trials
            ],
        }


def search(
    axes: Mapping[str, Axis], settings: TuningSettings, measure: Callable[[Settings], Score]
) -> SearchResult:
    """Look for settings with the lowest score (Hooke and Jeeves 1961).

    From the best place so far, the search tries its neighbours along each axis, first in the direction that helped
    last. The search moves as soon as a neighbour is better. If none is better, steps are halved. So a grid is refined
    only when its best has worse neighbours on both sides, wherever the search began.

    Parameters
    ----------
    axes
        Axis of each setting that is tuned, by the path of its key.
    settings
        Number of settings that are tried; fewer if there are no more. If the best value lies at an end of the values
        that were tried along an axis, up to 25 % more trials extend the range. For the sensitivity, half and twice each
        of the best values are tried then; the best stays what the search chose, also where one of these is better.
    measure
        Function that tries settings and returns their score.

    Returns
    -------
    SearchResult
        Of equal scores, the first is best.
    """
    names, trials = list(axes), settings.trials

    def at(place: Place) -> dict[str, Value]:
        return {name: axis.at(k) for (name, axis), k in zip(axes.items(), place, strict=True)}

    best = (0.0,) * len(names)
    tried = {best: Trial(at(best), measure(at(best)))}
    last, steps = (0, 1), iter(_STEPS)
    step = next(steps)
    while len(tried) < trials:
        # Rounding and ends may make two places one.
        known = [trial.settings for trial in tried.values()]
        new = (
            (place, direction)
            for place, direction in _neighbours(best, step, last)
            if at(place) not in known
        )
        place, direction = next(new, (best, last))
        # No neighbour is new, so that only a finer grid around the same best has anything left to try.
        if place == best:
            if (step := next(steps, 0.0)) == 0.0:
                break
            continue
        tried[place] = Trial(at(place), measure(at(place)))
        if tried[place].score < tried[best].score:
            best, last = place, direction
    # A best at the end of what was tried may have better values beyond it. Whole steps get there, where the last, finer
    # ones would stay near the edge.
    for _ in range(trials // FURTHER):
        directions = _open_directions(axes, tried[best].settings, list(tried.values()))
        if not directions:
            break
        axis, sign = directions[0]
        place = tuple(k + sign * (name == names[axis]) for name, k in zip(names, best, strict=True))
        tried[place] = Trial(at(place), measure(at(place)))
        best = min(best, place, key=lambda tried_place: tried[tried_place].score)
    all_trials = list(tried.values())
    directions = _open_directions(axes, tried[best].settings, all_trials)
    edges = dict.fromkeys(names[axis] for axis, _ in directions)
    result = SearchResult(all_trials, tried[best], list(edges))
    return _with_sensitivity(axes, result, measure) if settings.sensitivity else result


def _with_sensitivity(
    axes: Mapping[str, Axis], result: SearchResult, measure: Callable[[Settings], Score]
) -> SearchResult:
    """Return the result with errors at half and twice each of the best values, and new trials behind the others."""
    trials, best = list(result.trials), result.best.settings
    nearby_errors: NearbyErrors = {}
    for path, axis in axes.items():
        # A copy of the axis rounds and ends as the axis does: at an end the next value is the best itself.
        near = axis.model_copy(update={"start": best[path], "factor": 2})
        nearby_errors[path] = []
        for k in (-1, 1):
            settings = {**best, path: near.at(k)}
            if settings[path] == best[path]:
                nearby_errors[path].append(None)
                continue
            score = next((trial.score for trial in trials if trial.settings == settings), None)
            if score is None:
                score = measure(settings)
                trials.append(Trial(settings, score))
            nearby_errors[path].append(score.error)
    return result._replace(trials=trials, sensitivity=nearby_errors)


def _neighbours(place: Place, step: float, first: Direction) -> Iterator[tuple[Place, Direction]]:
    """Yield the places that are one step along an axis away, with the direction."""
    # The direction that helped last may help again. It comes twice, and its place is known the second time.
    for axis, sign in [first, *itertools.product(range(len(place)), (1, -1))]:
        moved = list(place)
        moved[axis] += sign * step
        yield tuple(moved), (axis, sign)


def _open_directions(
    axes: Mapping[str, Axis], best: Settings, trials: list[Trial]
) -> list[Direction]:
    """List the directions in which nothing was tried beyond the best, and values are left to try."""
    directions = []
    for number, (name, axis) in enumerate(axes.items()):
        tried = [trial.settings[name] for trial in trials]
        least = max(axis.least, 1) if axis.whole else axis.least
        if best[name] == max(tried) and best[name] < axis.most:
            directions.append((number, 1))
        if best[name] == min(tried) and best[name] > least:
            directions.append((number, -1))
    return directions
