"""Configurations of Snakemake, read again: Snakemake's YAML takes ``010`` for eight, and the last of equal keys."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from admmbench.files.core_yaml import parse_words
from admmbench.study.config import ConfigError, combine, read_mapping


def legible(path: str) -> str:
    """Return the path of a file of the configuration if the file can be read; Snakemake would fail without its name.

    Raises
    ------
    snakemake.exceptions.WorkflowError
        If the file is no YAML, or not in UTF-8; the message names it.
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
        The configuration as Snakemake read it, with a Snakefile's changes.
    workflow
        Snakemake's workflow, which knows the files and the words of ``--config``.

    Returns
    -------
    The configuration as this package reads it, with a Snakefile's changes.

    Raises
    ------
    ConfigError
        If a file is no YAML; the message names it and the line.
    """
    from snakemake.common.configfile import load_configfile
    from snakemake.utils import update_config

    settings = workflow.config_settings
    files = workflow.configfiles[len(settings.configfiles) :]  # the files that Snakefiles name
    raw: dict[str, Any] = {}
    for path in files:
        update_config(raw, load_configfile(path))
    update_config(raw, settings.overwrite_config)
    strict = combine(
        map(Path, (*files, *settings.configfiles)), parse_words(settings.config_args or ())
    )
    return dict(_corrected_values(config, raw, strict))


def _corrected_values(value: Any, raw: Any, strict: Any) -> Any:
    """Return a value with the strict reading of each part that is as Snakemake read it: a Snakefile's changes stay."""
    if value == raw:
        return strict
    if not all(isinstance(reading, Mapping) for reading in (value, raw, strict)):
        return value
    return {
        key: _corrected_values(part, raw[key], strict[key])
        if key in raw and key in strict
        else part
        for key, part in value.items()
    }
