"""Configurations that run the same experiments with less."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from admmbench.files.installed import find_all
from admmbench.forecast import cost
from admmbench.study.config import CONFIG, ConfigError, Study, read

# A configuration with more of the work than this is no smaller one.
_MUCH = 0.5


def smaller(study: Study, given: Iterable[str]) -> Iterator[str]:
    """Say which other configurations run some of a study's experiments at a smaller scale.

    Parameters
    ----------
    study
        The configuration.
    given
        Names of the files that change it.

    Yields
    ------
    Sentences.
    """
    names = {CONFIG.name, *(Path(name).name for name in given)}
    for path in find_all().values():
        if path.name in names:
            continue
        try:
            other = read([path])
        except ConfigError:
            continue
        common = study.experiments.keys() & other.experiments.keys()
        less, all_ = (_work(each, common) for each in (other, study))
        if less < _MUCH * all_:
            yield (
                f"{path.name} runs {len(common)} of its {len(study.experiments)} experiments with "
                f"{100 * less / all_:.2g} % of their work."
            )


def _work(study: Study, names: Iterable[str]) -> float:
    return sum(cost.work(run.spec) for name in names for run in study.experiments[name].runs)
