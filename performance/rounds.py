"""Time of a round against the time that the gradient's floating-point operations alone need.

    python performance/rounds.py [--shards 0 1 ...]

The yardstick is the machine's own sgemm speed, measured between the rounds with as many threads: 4 I J K operations for
each seed, those with zeros as well. Both are medians, as the speed of a shared machine drifts. A logistic gradient
reads its records from memory once for every seed, so that it cannot come near. Where records are mostly zeros, products
leave them out, and the ratio may be below 1. Data are read as by the suite (ADMMBENCH_MIRROR, ADMMBENCH_CACHE).
"""

import argparse
import time

import numpy as np
from threadpoolctl import threadpool_limits

from admmbench.datasets import load_dataset
from admmbench.engine.rounds import assemble
from admmbench.engine.threads import workers
from admmbench.partition import as_partition
from admmbench.spec.run import RunSpec

WARM_UP = 3
ADULT = {
    "agents": {"scheme": "iid", "agents": 100, "shuffle": True, "train": 40_000},
    "params": {"c_w": 81},
}
FEMNIST = {"agents": {"scheme": "by_writer"}, "params": {"rho": {"c1": 0.005, "c2": 0.05}}}


def product(threads: int, a: np.ndarray) -> float:
    """Seconds of a large single-precision product."""
    with threadpool_limits(threads, user_api="blas"):
        start = time.perf_counter()
        a @ a
        return time.perf_counter() - start


def measure(spec: RunSpec, threads: int, rounds: int) -> tuple[float, float]:
    """Median seconds of a round, and floating-point operations per second of the product."""
    a = np.random.default_rng(0).random((3000, 3000), dtype=np.float32)
    products, times = [], []
    with workers(threads) as pool:
        federation = assemble(spec, load_dataset(spec.dataset), pool)
        state = spec.method.init(federation)
        for t in range(1, rounds + WARM_UP + 1):
            if t > WARM_UP and t % 5 == 0:
                products.append(product(threads, a))
            start = time.perf_counter()
            spec.method.round(t, state, federation)
            times.append(time.perf_counter() - start)
    return float(np.median(times[WARM_UP:])), 2 * len(a) ** 3 / float(np.median(products))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--shards", type=int, nargs="*", help="FEMNIST shards (default: all)")
    options = parser.parse_args()
    femnist = {"name": "femnist", "shards": options.shards} if options.shards else "femnist"
    cases = [("mnist", {}, 10, "objp"), ("mnist", {}, 10, "outp"), ("mnist", {}, 1, "objp")]
    cases += [("adult", ADULT, 10, "dp_admm")]
    cases += [(femnist, FEMNIST, 1, name) for name in ("objp", "outp", "objt")]
    print(f"{'data':8} {'method':6} {'seeds':>5} {'round':>9} {'flops alone':>11} {'ratio':>5}")
    for dataset, settings, seeds, method in cases:
        spec = RunSpec(
            dataset=dataset, algorithm=method, epsilon=0.05, seeds=range(seeds), **settings
        )
        seconds, speed = measure(spec, options.threads, options.rounds)
        info = spec.info
        rows = as_partition(spec.agents).n_train(load_dataset(dataset).info)
        outputs = spec.as_problem.loss.outputs(info)
        alone = 4 * rows * info.n_features * outputs * seeds / speed
        print(
            f"{info.name:8} {method:6} {seeds:5} {1e3 * seconds:6.1f} ms {1e3 * alone:8.1f} ms "
            f"{seconds / alone:5.2f}   (peak {speed / 1e9:.0f} GFLOP/s)"
        )


if __name__ == "__main__":
    main()
