"""Time of a round at two commits, in one interleaved run.

    python performance/compare.py OLD NEW [--cases femnist-objp ...] [--threads 2] [--repeats 5]

Each commit is checked out into a folder of its own. For every case the two take turns, a process each, so that what
slows the machine down slows both; the ratio is that of their medians, and the range is over pairs of neighbours. A
round is timed by the variable `seconds` of `admmbench.simulate`, from the first evaluation after a round to the last,
so that compiling, loading and evaluating do not count. Data are read as by the suite (ADMMBENCH_MIRROR,
ADMMBENCH_CACHE).
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
FEMNIST = {
    "dataset": {"name": "femnist", "shards": "small"},  # 114 writers
    "agents": {"scheme": "by_writer"},
    "params": {"rho": {"c1": 0.005, "c2": 0.05, "period": 2000}},
}
# A total that is guaranteed: gradients in double precision, as the bounds on them must hold.
TOTAL = {
    "privacy": {"total": 2, "delta": 1e-5, "relation": "zero_out"},
    "sensitivity": "global",
    "problem": {"loss": "softmax", "records": {"max_l2_norm": 4, "max_l1_norm": 64}},
}
ADULT = {
    "dataset": "adult",
    "agents": {"scheme": "iid", "agents": 100, "shuffle": True, "train": 40_000},
    "params": {"c_w": 81},
    "delta": 1e-3,
}
CASES = {
    "femnist-objp": {**FEMNIST, "algorithm": "objp", "seeds": 10, "rounds": 5},
    "femnist-objt": {**FEMNIST, "algorithm": "objt", "seeds": 10, "rounds": 5},
    "femnist-outp": {**FEMNIST, "algorithm": "outp", "seeds": 10, "rounds": 5},
    **{
        f"femnist-{name}-total": {**FEMNIST, **TOTAL, "algorithm": name, "seeds": 10, "rounds": 5}
        for name in ("objp", "objt", "outp")
    },
    "mnist-objp": {"dataset": "mnist", "algorithm": "objp", "seeds": 10, "rounds": 12},
    "mnist-outp": {"dataset": "mnist", "algorithm": "outp", "seeds": 10, "rounds": 12},
    "mnist-objp-one-seed": {"dataset": "mnist", "algorithm": "objp", "seeds": 1, "rounds": 30},
    "adult-dp_admm": {**ADULT, "algorithm": "dp_admm", "seeds": 10, "rounds": 40},
}
WORKER = """
import json, sys
from admmbench import simulate
case = json.loads(sys.argv[1])
case["seeds"] = range(case["seeds"])
budget = {} if "privacy" in case else {"epsilon": 0.05}
trace = simulate(**case, **budget, evaluate_every=1 + case["rounds"] // 4)
spent = trace["seconds"][trace["round"] > 0]
print(float((spent[-1] - spent[0]) / (spent["round"][-1] - spent["round"][0])))
"""


def checkout(commit: str, folder: Path) -> Path:
    """Source of a commit."""
    subprocess.run(
        ["git", "-C", ROOT, "worktree", "add", "--detach", "--quiet", folder, commit], check=True
    )
    return folder / "src"


@contextmanager
def checked_out(*commits: str) -> Iterator[list[Path]]:
    """Sources of some commits, each in a folder of its own."""
    with tempfile.TemporaryDirectory() as name:
        folders = [Path(name, str(number)) for number in range(len(commits))]
        try:
            yield [checkout(*pair) for pair in zip(commits, folders, strict=True)]
        finally:
            for folder in filter(Path.exists, folders):
                subprocess.run(
                    ["git", "-C", ROOT, "worktree", "remove", "--force", folder], check=False
                )


def time_round(source: Path, case: dict, threads: int) -> float:
    """Seconds of a round."""
    command = [sys.executable, "-c", WORKER, json.dumps({**case, "threads": threads})]
    environment = {**os.environ, "PYTHONPATH": str(source)}
    done = subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE, text=True)
    return float(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--cases", nargs="*", choices=CASES, default=list(CASES))
    parser.add_argument(
        "--shards", type=int, nargs="*", help="FEMNIST shards (default: small ones)"
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    with checked_out(options.old, options.new) as sources:
        print(f"{'case':20} {'old':>10} {'new':>10} {'ratio':>6}   range")
        for name in options.cases:
            case = dict(CASES[name])
            if options.shards and name.startswith("femnist"):
                case["dataset"] = {"name": "femnist", "shards": options.shards}
            pairs = [
                [time_round(source, case, options.threads) for source in sources]
                for _ in range(options.repeats + 1)
            ][1:]  # the first warms up files and caches of compiled code
            old, new = (statistics.median(times) for times in zip(*pairs, strict=True))
            ratios = sorted(b / a for a, b in pairs)
            print(
                f"{name:20} {1e3 * old:7.1f} ms {1e3 * new:7.1f} ms {new / old:6.2f}   "
                f"{ratios[0]:.2f} to {ratios[-1]:.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
