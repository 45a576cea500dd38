"""What the pipeline costs besides computing, on the quick study and on a large dry run.

    python performance/pipeline.py [--jobs 10000]

The quick study is run in a copy of the project with one job at a time. "computing" is the time that `simulate` takes
for the same runs in one process; all else is overhead: Snakemake, starting processes, imports, files, aggregation,
figures, report.
"""

import argparse
import csv
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

from admmbench.datasets import load_dataset
from admmbench.jobs.simulate import run_spec
from admmbench.study.config import read

ROOT = Path(__file__).parents[1]
PARTS = ("config", "workflow", "src")
QUICK = "config/quick.yaml"


def copy(folder: Path) -> None:
    for part in PARTS:
        shutil.copytree(ROOT / part, folder / part, symlinks=True)


def snakemake(folder: Path, *options: str) -> float:
    """Seconds of a call."""
    command = [sys.executable, "-m", "snakemake", "--cores", "1", "--configfile", *options]
    environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # as on a user's machine
    start = time.perf_counter()
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    return time.perf_counter() - start


def recorded(folder: Path) -> float:
    """Seconds of all runs, by Snakemake's benchmark files."""
    tables = folder.glob("results/runs/*/*/benchmarks/*.tsv")
    rows = [next(csv.DictReader(table.open(), delimiter="\t")) for table in tables]
    return sum(float(row["s"]) for row in rows)


def computing() -> float:
    """Seconds of `simulate` for all runs of the quick study; its first call, which imports, is not counted."""
    experiment = read([ROOT / QUICK], ROOT / "config/config.yaml").experiments["quick"]
    data = load_dataset(experiment.dataset)
    run_spec(experiment.runs[0].spec, data)
    start = time.perf_counter()
    for each in experiment.runs:
        run_spec(each.spec, data)
    return time.perf_counter() - start


def large(folder: Path, jobs: int) -> float:
    """Seconds of a dry run of the quick study with one job a seed."""
    content = yaml.safe_load((ROOT / "config/experiments/quick.yaml").read_text())
    curves = sum(1 if method.get("epsilon") else 2 for method in content["algorithms"])
    changes = {"seeds": -(-jobs // curves), "seed_block": 1, "tuning": {"seeds": [10**6]}}
    overlay = folder / "config/large.yaml"
    overlay.write_text(yaml.safe_dump({"experiments": ["quick"], "overrides": {"quick": changes}}))
    return snakemake(folder, "config/large.yaml", "--dry-run", "--quiet")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=10_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copy(folder)
        total = snakemake(folder, QUICK)
        again = snakemake(folder, QUICK)
        runs, alone = recorded(folder), computing()
        dry = large(folder, options.jobs)
    print(f"quick study, one core          {total:6.1f} s")
    print(f"  computing                    {alone:6.1f} s  ({alone / total:.0%})")
    print(f"  starting and ending runs     {runs - alone:6.1f} s")
    print(f"  planning, as for no job      {again:6.1f} s")
    print(f"  data, figures, report, rest  {total - runs - again:6.1f} s")
    print(f"once more, nothing to be done  {again:6.1f} s")
    print(f"dry run of {options.jobs} jobs       {dry:6.1f} s")


if __name__ == "__main__":
    main()
