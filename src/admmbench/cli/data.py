"""Commands on data sets."""

from __future__ import annotations

import argparse

from admmbench.cli.options import argument, command, dataset_names, place
from admmbench.files.core_yaml import parse_yaml


@command(
    "prepare",
    "fetch, check and prepare a data set",
    argument(
        "dataset",
        help="name, or YAML such as '{name: femnist, shards: [0, 1]}'",
        complete=dataset_names,
    ),
    argument("--output", type=place, required=True, help="folder to write"),
    argument("--mirror", help="folder with source files, looked up before the network"),
    argument("--cache", help="folder for downloads"),
    in_folder=True,
)
def _prepare(options: argparse.Namespace) -> None:
    from admmbench.datasets import prepare

    spec = parse_yaml(options.dataset, "DATASET")
    if not isinstance(spec, str | dict):
        raise ValueError(f"DATASET: expected a name or a mapping, got {options.dataset!r}")
    prepare(spec, options.output, mirror=options.mirror, cache=options.cache)
