"""What Snakemake reads of a configuration, read again: its YAML takes ``010`` for eight, and the last of equal keys."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from admmbench.files.core_yaml import parse_words
from admmbench.study.config import ConfigError, combine, read_mapping


def legible(path: str) -> str:
    """Return the path of a file of the configuration; an error names one that Snakemake would fail on without a word.

    Raises
    ------
    snakemake.exceptions.WorkflowError
        If the file is no YAML, or not in UTF-8.
    """
    from snakemake.exceptions import WorkflowError

    try:
        if Path(path).exists():
            read_mapping(Path(path))
    except ConfigError as error:
        raise WorkflowError(str(error)) from None
    return path


def reread(config: Mapping[str, Any], workflow: Any) -> dict[str, Any]:
    """Read the configuration of a workflow again.

    Parameters
    ----------
    config
        What Snakemake read, and what a Snakefile made of it.
    workflow
        Knows the files and the words of ``--config``.

    Returns
    -------
    The configuration as this package reads it, with what a Snakefile changed.

    Raises
    ------
    ConfigError
        If a file is no YAML; the message names it and the line.
    """
    from snakemake.common.configfile import load_configfile
    from snakemake.utils import update_config

    given = workflow.config_settings
    files = workflow.configfiles[len(given.configfiles) :]  # those that Snakefiles name
    theirs: dict[str, Any] = {}
    for path in files:
        update_config(theirs, load_configfile(path))
    update_config(theirs, given.overwrite_config)
    ours = combine(map(Path, (*files, *given.configfiles)), parse_words(given.config_args or ()))
    return dict(_corrected(config, theirs, ours))


def _corrected(found: Any, theirs: Any, ours: Any) -> Any:
    """Take our reading of each value that is as Snakemake read it."""
    if found == theirs:
        return ours
    if not all(isinstance(each, Mapping) for each in (found, theirs, ours)):
        return found
    return {
        key: _corrected(value, theirs[key], ours[key]) if key in theirs and key in ours else value
        for key, value in found.items()
    }
