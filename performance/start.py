"""Processor time of a job that hardly computes, and of a plan of the full study, at two commits, interleaved.

    python performance/start.py OLD NEW [--repeats 5] [--plans 1]

A job makes one round on the digits. Each commit has a cache folder of its own; "first" finds it empty, and "again"
finds what is kept there: compiled code, what is known of the source's files, times of the machine.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from compare import checked_out

JOB = [
    "run",
    "dataset=digits",
    "algorithm=objp",
    "agents=5",
    "rounds=1",
    "evaluate_every=1",
    "seeds=[0]",
    "epsilon=1",
]


def processor(source: Path, cache: Path, *words: str) -> float:
    """Seconds of a command, in user and system mode."""
    command = [sys.executable, "-m", "admmbench", *words]
    environment = {**os.environ, "PYTHONPATH": str(source), "ADMMBENCH_CACHE": str(cache)}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=source.parent, env=environment, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def show(name: str, times: list[list[float]]) -> None:
    old, new = (statistics.median(each) for each in zip(*times, strict=True))
    print(f"{name:14} {old:8.2f} s {new:8.2f} s {new / old:6.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--plans", type=int, default=1, help="0: none")
    options = parser.parse_args()
    with (
        checked_out(options.old, options.new) as sources,
        tempfile.TemporaryDirectory() as caches,
    ):
        commits = [(source, Path(caches, str(n))) for n, source in enumerate(sources)]
        jobs = []
        for place in commits:
            data, result = place[1] / "data", place[1] / "result.nc"
            processor(*place, "prepare", "digits", f"--output={data}")
            jobs.append([*JOB, f"--data={data}", f"--output={result}"])
        print(f"{'':14} {'old':>10} {'new':>10} {'ratio':>6}")
        times = [
            [processor(*place, *job) for place, job in zip(commits, jobs, strict=True)]
            for _ in range(options.repeats + 1)
        ]
        show("job, first", times[:1])
        show("job, again", times[1:])
        if options.plans:
            times = [
                [processor(*place, "plan") for place in commits] for _ in range(options.plans + 1)
            ]
            show("plan, first", times[:1])
            show("plan, again", times[1:])


if __name__ == "__main__":
    main()
