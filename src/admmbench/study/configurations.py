"""Studies of configurations by name: the user's own configurations, and those of the papers."""

from __future__ import annotations

from typing import Any

from admmbench.figures.look import Look
from admmbench.files.installed import find_all
from admmbench.study.config import CONFIG, ConfigError, Study, combine, load, read_mapping
from admmbench.validation import unknown


def read_study(name: str) -> Study:
    """Read the study of a configuration with this name, such as ``equal_privacy``, the user's own or an installed one.

    The experiments have all data that they state, whether their files are here or not.
    """
    files, file = find_all(), f"{name.removesuffix('.yaml')}.yaml"
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
