"""Trials: runs with some training rows held out, stored so that a search continues where it stopped."""

from __future__ import annotations

import contextlib
import itertools
import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from admmbench.base.outcomes import SUCCESSFUL
from admmbench.datasets import Attribute, Dataset
from admmbench.engine.context import Progress
from admmbench.engine.rounds import AlgorithmError, run_rounds
from admmbench.files import checksummed_json, read_checksummed, write
from admmbench.spec.run import RunSpec
from admmbench.tuning.search import Score, SearchResult, search
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
    search_settings = [code, spec.complete(), settings.identity, data.key]
    identity = json.dumps(search_settings, sort_keys=True, default=str)
    scores = _stored_scores(file, identity)
    done = itertools.count(1)

    def measure(values: Settings) -> Score:
        key = json.dumps(values)
        if key not in scores:
            try:
                scores[key] = _score(spec, values, settings, part)
            except AlgorithmError:
                if not scores:
                    raise
                scores[key] = _FAILED
            if file is not None:
                write(file, checksummed_json({"of": identity, "scores": scores}))
        if progress:
            number = next(done)
            progress(number, max(number, settings.trials))
        return scores[key]

    return search(axes, settings, measure)


def score(spec: RunSpec, values: Settings, settings: TuningSettings, data: Dataset) -> Score:
    """Make one trial, as `tune` does."""
    return _score(spec, values, settings, held_out(data, settings.held_out))


def _score(spec: RunSpec, values: Settings, settings: TuningSettings, part: Dataset) -> Score:
    """Measure metric and loss after the last round, as means over seeds; both are infinite where a run did not end."""
    arguments = apply(values, {**spec.complete(), "dataset": part, "seeds": settings.seeds})
    trial = RunSpec.model_validate({**arguments, "evaluate_every": arguments["rounds"]})
    trace = run_rounds(trial, part).variables()
    if not np.isin(trace["status"], SUCCESSFUL).all():
        return _FAILED
    names = trial.as_problem.judged_by, "test_loss"
    return Score(*(float(trace["arrays"][name][:, -1].mean()) for name in names))


def _stored_scores(file: Path | None, identity: str) -> dict[str, Score]:
    """Read the scores of the trials that were made; none if the file is damaged, or has trials of another search."""
    if file is not None and file.exists():
        with contextlib.suppress(ValueError):  # trials of a damaged file are made again
            former = read_checksummed(file)
            if former["of"] == identity:
                return {key: Score(*numbers) for key, numbers in former["scores"].items()}
    return {}
