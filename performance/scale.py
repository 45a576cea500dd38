"""Time and memory of a round against the size of a problem: the table of docs/scale.md.

    python performance/scale.py [--repeats 5] [--only agents ...] [--page docs/scale.md]

Data are made up, so that one quantity changes at a time: agents, seeds, classes, features, records of an agent, local
updates, or threads. Times are those of ObjP, in processor time of the process for an entry of a local model (agents x
seeds x classes x features) and the least of some rounds, as others may use the machine. Beside them is the least that
this machine needs: for the products at the speed of a large one, for noise that is drawn into the cache, and for
reading and writing two models. Memory is what arrays hold at most, beside the data, in copies of all local models.
"""

import argparse
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from admmbench.contracts.made_up_data import make_dataset
from admmbench.datasets import Dataset
from admmbench.engine.rounds import assemble
from admmbench.engine.threads import workers
from admmbench.jobs import provenance
from admmbench.privacy import Noise, Privacy
from admmbench.sensitivity import Sensitivity
from admmbench.spec.run import RunSpec

BEGIN, END = "<!-- measured -->", "<!-- end -->"


@dataclass(frozen=True)
class Size:
    """Size of a problem; by default about that of FEMNIST's, with fewer seeds."""

    agents: int = 100
    seeds: int = 4
    classes: int = 20
    features: int = 500
    records: int = 40
    threads: int = 1
    updates: int = 1

    @property
    def entries(self) -> int:
        """Entries of all local models."""
        return self.agents * self.seeds * self.classes * self.features


USUAL = Size()
SERIES = {
    "agents": (10, 100, 1000, 10_000),
    "seeds": (1, 4, 10, 20),
    "classes": (2, 10, 20, 62),
    "features": (20, 100, 500, 2000),
    "records": (1, 10, 40, 200),
    "threads": (1, 2),
    "updates": (1, 3),
}


def sizes(name: str) -> list[Size]:
    """Sizes of a series; with more agents the models are smaller, so that all fit in memory."""
    found = [replace(USUAL, **{name: value}) for value in SERIES[name]]
    if name == "agents":
        found = [replace(each, seeds=1, features=100, records=10) for each in found]
    return found


def rounds(size: Size, data: Dataset, repeats: int) -> float:
    """Least processor time of some rounds."""
    spec = RunSpec(
        dataset=data,
        algorithm="objp",
        params={"local_updates": size.updates},
        epsilon=1,
        agents=size.agents,
        seeds=size.seeds,
    )
    times = []
    with workers(size.threads) as pool:
        federation = assemble(spec, data, pool)
        state = spec.method.init(federation)
        for t in range(1, repeats + 1):
            for block in federation.blocks:
                block.noise.begin_round(t)
            begin = time.process_time()
            spec.method.round(t, state, federation)
            times.append(time.process_time() - begin)
    return min(times)


def made(size: Size) -> Dataset:
    """Data of a size."""
    return make_dataset(size.agents * size.records, 30, size.features, size.classes)


def least(work: Callable[[], object], n: int) -> float:
    """Least nanoseconds of processor time for one of n things."""
    times = []
    for _ in range(7):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return 1e9 * min(times) / n


def machine() -> tuple[float, float, float]:
    """Nanoseconds for a multiplication or addition, for noise on an entry, and to read and write an entry."""
    a, b = np.zeros((2, 2**25), np.float32)
    m = np.random.default_rng(0).random((2000, 2000), dtype=np.float32)
    noise = Noise(np.zeros((1, 1, 2), np.uint32), (2**16,), Privacy(1.0))
    draw = noise.laplace(Sensitivity(l1=np.ones((1, 1))))
    with workers(1):
        product = least(lambda: m @ m, 2 * len(m) ** 3)
        drawn = least(lambda: np.zeros((1, 1, 2**16), np.float32) + draw, 2**16)
        return product, drawn, least(lambda: np.copyto(a, b), len(a))


def line(name: str, size: Size, repeats: int, speeds: tuple[float, float, float]) -> str:
    """Row of the table."""
    data = made(size)
    tracemalloc.start()  # it slows rounds
    rounds(size, data, 1)
    held = tracemalloc.get_traced_memory()[1] / 4 / size.entries
    tracemalloc.stop()
    cpu = 1e9 / size.entries * rounds(size, data, repeats)
    product, noise, copy = speeds
    limit = size.updates * (4 * size.records * product + noise + 2 * copy)
    return f"| {name} | {getattr(size, name):,} | {cpu:.1f} | {cpu / limit:.1f} | {held:.2f} |"


def table(repeats: int, only: list[str]) -> str:
    """Table of all series, in Markdown."""
    for updates in SERIES["updates"]:
        small = Size(4, 2, 3, 9, 3, updates=updates)
        rounds(small, made(small), 1)  # compiles
    speeds = machine()
    lines = [
        f"Measured on {provenance.machine()}.",
        f"An operation of a large product takes {1e3 * speeds[0]:.1f} ps, noise on an entry {speeds[1]:.1f} ns,",
        f"and to read and write an entry {speeds[2]:.2f} ns.",
        "",
        "| changed | to | round, ns | ratio | memory, models |",
        "|---|---|---|---|---|",
    ]
    for name in only:
        for size in sizes(name):
            lines.append(line(name, size, repeats, speeds))
            print(lines[-1], flush=True)
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", nargs="*", choices=SERIES, default=list(SERIES))
    parser.add_argument("--page", type=Path, help="page whose table is replaced")
    options = parser.parse_args()
    found = table(options.repeats, options.only)
    if options.page:
        text = options.page.read_text("utf-8")
        before, after = text.partition(BEGIN)[0], text.partition(END)[2]
        options.page.write_text(f"{before}{BEGIN}\n{found}\n{END}{after}", "utf-8")
    else:
        print(found)


if __name__ == "__main__":
    main()
