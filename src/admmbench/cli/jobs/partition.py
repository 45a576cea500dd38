"""Draw which rows or columns of a data set each agent has."""

from __future__ import annotations

import argparse

from admmbench.cli import start
from admmbench.cli.options import Command
from admmbench.files.core_yaml import parse_yaml


@Command
def partition(options: argparse.Namespace) -> None:
    """Draw which rows or columns of a data set each agent has.

    DATASET        name, or YAML with settings
    --data FOLDER  the data set, prepared (required)
    --agents YAML  scheme, such as '{scheme: iid, agents: 5, shuffle: true}' (required)
    --seeds TEXT   such as 0-9 (required)
    --output FILE  netCDF file to write (required)
    """
    from admmbench.datasets import open_as
    from admmbench.files import netcdf
    from admmbench.jobs import partitions
    from admmbench.partition import as_partition
    from admmbench.spec.fields import Seeds
    from admmbench.validation import checked

    scheme = as_partition(parse_yaml(options.agents, "--agents"))
    seeds = checked(Seeds, options.seeds, "--seeds")
    data = open_as(parse_yaml(options.dataset, "DATASET"), options.data)
    drawn = partitions.draw(scheme, data, seeds)
    netcdf.write(drawn, options.output)
    print(f"{options.output} has which of {drawn.sizes['agent']} agents has what of {data.name}")


if __name__ == "__main__":
    start(partition)
