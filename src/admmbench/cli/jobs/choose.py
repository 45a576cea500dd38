"""Write the settings that tuning chose."""

from __future__ import annotations

import argparse
import json

from admmbench.cli import start
from admmbench.cli.options import Command
from admmbench.files import read_sealed, write
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
    from admmbench.tuning.settings import Chosen, Tuned, dump
    from admmbench.validation import checked

    chosen = checked(Tuned, parse_yaml(options.kept or "{}", "--kept"), "--kept")
    of = checked(list[tuple[str, float]], parse_yaml(options.of, "--of"), "--of")
    if len(of) != len(options.file):
        raise ValueError(f"--of: names {len(of)} searches, there are {len(options.file)} files")
    trials = []
    for file, (label, budget) in zip(options.file, of, strict=True):
        found = read_sealed(file)
        trials += [
            {"method": label, "budget": budget, **each, "settings": json.dumps(each["settings"])}
            for each in found.pop("trials", [])
        ]
        found = {key: found[key] for key in Chosen.model_fields if key in found}
        chosen.setdefault(label, {})[budget] = checked(Chosen, found, str(file))
    write(options.output, dump(chosen))
    if options.trials:
        write(options.trials, pd.DataFrame(trials, columns=[*TRIALS]).to_csv(index=False))


if __name__ == "__main__":
    start(choose)
