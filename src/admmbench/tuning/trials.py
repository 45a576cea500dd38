"""Trials: runs with some training rows held out, stored so that a search continues where it stopped."""

from __future__ import annotations

import contextlib
import itertools
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from admmbench.base.outcomes import SUCCESSFUL
from admmbench.datasets import Attribute, Dataset
from admmbench.engine.context import Progress
from admmbench.engine.rounds import AlgorithmError, run_rounds
from admmbench.files import checksummed_json, read_checksummed, write
from admmbench.spec.run import RunSpec
from admmbench.tuning.search import Score, SearchResult, measure_sensitivity, search
from admmbench.tuning.settings import Axis, Settings, TuningSettings, apply

_FAILED = Score(math.inf, math.inf)


def held_out(data: Dataset, every: int) -> Dataset:
    """Make a data set that trains on most training rows and tests on the others; the test part is in neither.

    Rows are held out evenly, so that every agent, whose rows follow each other, gives its part.

    Parameters
    ----------
    data
        The data set.
    every
        Number of training rows of which one is held out.
    """
    tests = np.arange(data.n_train) % every == every // 2

    def select_rows(attribute: Attribute) -> Attribute:
        return Attribute(attribute.values, attribute.train[~tests], attribute.train[tests])

    return replace(
        data,
        X_train=data.X_train[~tests],
        y_train=data.y_train[~tests],
        X_test=data.X_train[tests],
        y_test=data.y_train[tests],
        attributes={name: select_rows(values) for name, values in data.attributes.items()},
    )


def tune(
    spec: RunSpec,
    axes: Mapping[str, Axis],
    settings: TuningSettings,
    data: Dataset,
    file: Path | None = None,
    code: str = "",
    progress: Progress | None = None,
) -> SearchResult:
    """Look for the settings of a method with the lowest error on held-out training rows.

    Parameters
    ----------
    spec
        The method at a budget; its seeds are replaced.
    axes
        Axis of each setting that is tuned, by the path of its key.
    settings
        Number of trials, and how they are compared.
    data
        Data set, of which only the training part is used.
    file
        File of the trials that were made; the search goes on from them, and adds its own.
    code
        Fingerprint of the code; trials by other code are made again.
    progress
        Called with the trials done, and their number; a search may add some.

    Raises
    ------
    ValueError
        If a setting does not suit the method.
    AlgorithmError
        If the first run fails. Later runs may fail: noise can be too large for an exact subproblem, and then the
        setting is not chosen.
    """
    part = held_out(data, settings.held_out)
    identity = [code, spec.complete(), settings.identity, data.key]
    scores = _StoredScores(file, json.dumps(identity, sort_keys=True, default=str))
    done = itertools.count(1)

    def measure(values: Settings) -> Score:
        if (score := scores.get(values)) is None:
            try:
                score = _score(changed(spec, values, part, settings), part)
            except AlgorithmError:
                if not scores:
                    raise
                score = _FAILED
            scores.add(values, score)
        if progress:
            number = next(done)
            progress(number, max(number, settings.trials))
        return score

    return repeat(axes, settings, measure)


def repeat(
    axes: Mapping[str, Axis], settings: TuningSettings, measure: Callable[[Settings], Score]
) -> SearchResult:
    """Search with a given measure, such as the scores of trials that were made, see `tune`."""
    result = search(axes, settings.trials, measure)
    return measure_sensitivity(axes, result, measure) if settings.sensitivity else result


def score(spec: RunSpec, values: Settings, settings: TuningSettings, data: Dataset) -> Score:
    """Make one trial, as `tune` does."""
    part = held_out(data, settings.held_out)
    return _score(changed(spec, values, part, settings), part)


def changed(spec: RunSpec, values: Settings, data: Dataset, settings: TuningSettings) -> RunSpec:
    """Return the run of a trial, which is measured after its last round alone."""
    arguments = apply(values, {**spec.complete(), "dataset": data, "seeds": settings.seeds})
    return RunSpec.model_validate({**arguments, "evaluate_every": arguments["rounds"]})


def _score(spec: RunSpec, data: Dataset) -> Score:
    """Measure metric and loss after the last round, as means over seeds; both are infinite where a run did not end."""
    trace = run_rounds(spec, data).variables()
    if not np.isin(trace["status"], SUCCESSFUL).all():
        return _FAILED
    names = spec.as_problem.loss.metric, "test_loss"
    return Score(*(float(trace["arrays"][name][:, -1].mean()) for name in names))


class _StoredScores:
    """Scores of the trials that were made, in a file that is replaced after each; None: in memory alone.

    Parameters
    ----------
    path
        File; ignored if it is damaged, or has the trials of another search.
    identity
        Text that identifies the search: its code, run, settings and data.
    """

    def __init__(self, path: Path | None, identity: str) -> None:
        self._path, self._identity, self._scores = path, identity, dict[str, list[float]]()
        if path is not None and path.exists():
            with contextlib.suppress(ValueError):  # trials of a damaged file are made again
                former = read_checksummed(path)
                self._scores = former["scores"] if former["of"] == identity else {}

    def __len__(self) -> int:
        return len(self._scores)

    def get(self, settings: Settings) -> Score | None:
        score = self._scores.get(json.dumps(settings))
        return Score(*score) if score else None

    def add(self, settings: Settings, score: Score) -> None:
        self._scores[json.dumps(settings)] = [*score]
        if self._path is not None:
            write(self._path, checksummed_json({"of": self._identity, "scores": self._scores}))
