"""Join the runs of an experiment into one labelled data set."""

from __future__ import annotations

import argparse

from admmbench.cli import start
from admmbench.cli.options import Command


@Command
def aggregate(options: argparse.Namespace) -> None:
    """Join the runs of an experiment.

    FOLDER         folder of the experiment, with its manifest
    --output FILE  netCDF file to write (required)
    """
    from admmbench.files import netcdf
    from admmbench.study.aggregate import aggregate
    from admmbench.study.config import read_experiment

    name, experiment = read_experiment(options.folder)
    runs = experiment.runs_folder(options.folder)
    netcdf.write(aggregate(name, experiment, runs), options.output)


if __name__ == "__main__":
    start(aggregate)
