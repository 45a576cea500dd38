"""Write the settings that tuning chose."""

from __future__ import annotations

import argparse

from admmbench.cli import start
from admmbench.cli.options import Command
from admmbench.files import read_checksummed, write
from admmbench.files.core_yaml import parse_yaml


@Command
def choose(options: argparse.Namespace) -> None:
    """Write the settings that tuning chose.

    [FILE ...]     files that tune wrote
    --of YAML      label and budget of each file: '[[ObjP, 0.5], [ObjP, 1]]' (required)
    --kept YAML    what was chosen before, by label and budget
    --output FILE  YAML file to write (required)
    --trials FILE  CSV file to write, of all trials
    """
    import pandas as pd

    from admmbench.results.reference import TRIALS
    from admmbench.tuning.settings import Tuned, choose_settings, dump
    from admmbench.validation import checked

    former_choices = checked(Tuned, parse_yaml(options.kept or "{}", "--kept"), "--kept")
    points = checked(list[tuple[str, float]], parse_yaml(options.of, "--of"), "--of")
    if len(points) != len(options.file):
        raise ValueError(f"--of: names {len(points)} searches, there are {len(options.file)} files")
    searches = [
        (*point, read_checksummed(file)) for point, file in zip(points, options.file, strict=True)
    ]
    chosen, trials = choose_settings(former_choices, searches)
    write(options.output, dump(chosen))
    if options.trials:
        write(options.trials, pd.DataFrame(trials, columns=[*TRIALS]).to_csv(index=False))


if __name__ == "__main__":
    start(choose)
