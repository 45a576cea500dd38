"""Studies and experiments by name: the user's own, and those of the papers."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from admmbench.figures.look import Look
from admmbench.files.installed import find_all
from admmbench.study.config import CONFIG, ConfigError, Study, combine, load, read_mapping
from admmbench.study.methods import expand_lists
from admmbench.validation import unknown


def read_study(name: str) -> Study:
    """Read the study of a configuration with this name, such as ``equal_privacy``, the user's own or an installed one.

    The experiments have all data that they state, whether their files are here or not.
    """
    files, file = find_all(), f"{name}.yaml"
    if file not in files:
        raise ConfigError(unknown("configuration", file, files))
    return load(combine((files[CONFIG.name], files[file]), {}))


def looks_of(experiment: str) -> dict[str, Look]:
    """Return the looks of methods in the study of an experiment, by label.

    Of several configurations that run the experiment as its file states it, the study is that with the fewest
    experiments; an experiment of none is alone.
    """
    configurations = [
        content
        for content in map(read_mapping, find_all().values())
        if experiment in content.get("experiments", ()) and not content.get("overrides")
    ]
    alone: dict[str, Any] = {"experiments": [experiment]}
    return load(min(configurations, key=lambda c: len(c["experiments"]), default=alone)).looks


def labels() -> dict[str, list[str]]:
    """Return the labels of all experiments by name, the user's own and the papers', run by a study or not.

    An author may be at work on a file: of a wrong one, the labels that are there are returned.
    """
    labels_of_experiment: dict[str, list[str]] = {}
    for name, path in find_all("experiments").items():
        methods = None
        with contextlib.suppress(ValueError):
            methods = expand_lists(read_mapping(path)).get("algorithms")
        labels_of_experiment[name] = [
            str(method["label"])
            for method in (methods if isinstance(methods, list) else ())
            if isinstance(method, Mapping) and "label" in method
        ]
    return labels_of_experiment
