"""Configurations that run the same experiments with less."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from admmbench.files.installed import find_all
from admmbench.forecast import cost
from admmbench.study.config import CONFIG, ConfigError, Study, read
from admmbench.study.experiment import Experiment

# A configuration with more of the work than this is no smaller one.
_MUCH = 0.5


def smaller(study: Study, given: Sequence[Path]) -> Iterator[str]:
    """Say which other configurations run some of a study's experiments at a smaller scale.

    Parameters
    ----------
    study
        The configuration.
    given
        Its files.

    Yields
    ------
    Sentences.
    """
    names = {CONFIG.name, *(path.name for path in given)}
    for path in find_all().values():
        if path.name in names:
            continue
        try:
            other = read([path])
        except ConfigError:
            continue
        common = study.experiments.keys() & other.experiments.keys()
        part = (
            _work(other.experiments[name] for name in common)
            / _work(study.experiments[name] for name in common)
            if common
            else 1.0
        )
        if part < _MUCH:
            yield (
                f"{path.name} runs {len(common)} of its {len(study.experiments)} experiments with {_percent(part)} of "
                "their work."
            )


def _work(experiments: Iterable[Experiment]) -> float:
    return sum(cost.work(run.spec) for experiment in experiments for run in experiment.runs)


def _percent(part: float) -> str:
    return f"{100 * part:.2g} %"
