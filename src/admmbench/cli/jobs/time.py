"""Make all runs of an experiment, one by one, and keep how long they took."""

from __future__ import annotations

import argparse

from admmbench.cli import start
from admmbench.cli.options import Command, collect_garbage


@Command
def time(options: argparse.Namespace) -> None:
    """Make all runs of an experiment, one by one.

    FOLDER                   folder of the experiment, with its manifest
    --data FOLDER ...        prepared data set, and files with the partitions of the runs (required)
    --fingerprints TEXT ...  of the codes, in order; others are refused (required)
    """
    from admmbench.datasets import open_as
    from admmbench.engine.context import Context
    from admmbench.jobs import fingerprint, job, partitions
    from admmbench.jobs.progress import shown
    from admmbench.study.config import read_experiment

    _, experiment = read_experiment(options.folder)
    codes = fingerprint.codes(run.spec for run in experiment.runs)
    planned = dict(zip(codes, options.fingerprints, strict=True))
    for run in experiment.runs:
        job.refuse_other_code(run.spec, planned[fingerprint.code(run.spec)])
    prepared, *files = options.data
    data = open_as(experiment.dataset, prepared)
    folder = experiment.runs_folder(options.folder)
    collect_garbage()
    # Seed by seed: if the machine is slow for a while, all methods are slow.
    runs = sorted(experiment.runs, key=lambda run: run.spec.seeds)
    with shown("Timing one by one", "run") as progress:
        for number, run in enumerate(runs, start=1):
            partition_files = [
                file for file in files if any(file.match(path) for path in run.partitions)
            ]
            context = Context(partition=partitions.read(run.spec, data, partition_files))
            job.time_alone(run.spec, data, folder / run.path, context)
            progress(number, len(runs))


if __name__ == "__main__":
    start(time)
