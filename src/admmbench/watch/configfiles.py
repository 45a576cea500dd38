"""Configurations between the command line and Snakemake.

`admmbench study` resolves overlays and ``--config`` to one file. A plain call of Snakemake has its files read again by
the same reader: Snakemake's YAML takes ``010`` for eight, and the last of equal keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from admmbench.files import digest, write
from admmbench.files.core_yaml import dump_yaml, parse_words
from admmbench.study.config import ConfigError, combine, read_mapping
from admmbench.study.methods import merged


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


def resolve(overlays: Sequence[Path], changes: Mapping[str, Any], folder: Path) -> Path:
    """Write what changes the configuration of a study as one file for Snakemake, and return its path.

    The file is no JSON, in which keys that are numbers, such as budgets, would be text. A file is never changed, as the
    jobs of a study read it until the last of them.

    Parameters
    ----------
    overlays
        Files that change the configuration, whose names the report has.
    changes
        Keys that win over all files.
    folder
        Folder of the study.
    """
    names = [path.name for path in overlays]
    text = dump_yaml({**combine(overlays, changes), "files": names})
    path = folder / ".snakemake/configurations" / f"{digest(text)}.yaml"
    write(path, text)
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
    The configuration as this package reads it, with a Snakefile's changes and the names of its files.

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
    overlays = combine(settings.configfiles, parse_words(settings.config_args or ()))
    names = [path.name for path in map(Path, files)]
    names += overlays.pop("files", [path.name for path in map(Path, settings.configfiles)])
    strict = merged(combine(map(Path, files)), overlays)
    return {**_corrected_values(config, raw, strict), "files": [*dict.fromkeys(names)]}


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
