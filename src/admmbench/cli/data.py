"""Commands on data sets."""

from __future__ import annotations

import argparse
from typing import Any

from admmbench.cli.options import (
    command,
    complete,
    dataset_names,
    place,
)
from admmbench.files.core_yaml import parse_yaml


def add(commands: Any) -> None:
    """Add these commands to the command line."""
    parser = command(
        commands, "prepare", _prepare, "fetch, check and prepare a data set", in_folder=True
    )
    dataset = parser.add_argument(
        "dataset", help="name, or YAML such as '{name: femnist, shards: [0, 1]}'"
    )
    complete(dataset, dataset_names)
    parser.add_argument("--output", type=place, required=True, help="folder to write")
    parser.add_argument("--mirror", help="folder with source files, looked up before the network")
    parser.add_argument("--cache", help="folder for downloads")


def _prepare(options: argparse.Namespace) -> None:
    from admmbench.datasets import prepare

    spec = parse_yaml(options.dataset, "DATASET")
    if not isinstance(spec, str | dict):
        raise ValueError(f"DATASET: expected a name or a mapping, got {options.dataset!r}")
    prepare(spec, options.output, mirror=options.mirror, cache=options.cache)
