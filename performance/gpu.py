"""Time of a round on a GPU against the processor of the same machine, and against the plain program through CuPy.

    python performance/gpu.py [--threads 16] [--together 4]

Agents use some of the columns alone: as many as the 114 writers of FEMNIST whose shards are small, and as a tenth of
MNIST. The plain program is Algorithm 1 of ryu2022 as its authors' program has it, agent by agent, for one seed, in
CuPy's arrays; its time is counted once for each seed. All are medians of one call. Bytes are those that a round must
move at least: of local models and dual variables, read and written, of gradients and predictions, written and read, and
of the records, read twice; of gradients and records, those in used columns.

With ``--together`` so many processes compute rounds of the same method at a time, and a round of one of them takes the
card the time that passes, divided by the rounds of all.
"""

import argparse
import itertools
import subprocess
import sys
import time

import cupy
import numpy as np

from admmbench.contracts.made_up_data import make_dataset, using_some_columns
from admmbench.engine.context import Context
from admmbench.engine.rounds import assemble
from admmbench.engine.threads import workers
from admmbench.spec.run import RunSpec
from admmbench_cuda.arrays import name

WARM_UP = 5
SEEDS = 10
# Records, test records, features, classes, writers.
SHAPES = {"FEMNIST": (36_699, 4_176, 784, 62, 195), "MNIST": (60_000, 10_000, 784, 10, 10)}
METHODS = [
    ("objp", {}, "ObjP"),
    ("objp", {"local_updates": 10}, "ObjPM"),
    ("objt", {}, "ObjT"),
    ("outp", {}, "OutP"),
]


# Of 784 columns an agent uses so many: 114 writers of FEMNIST from 153 to 451, 300 in the mean; a tenth of MNIST 654 to
# 675.
USED = {"FEMNIST": (150, 451), "MNIST": (654, 676)}
SECONDS = 4


def made_up(shape):
    """Records in the shapes of a data set."""
    n, n_test, J, K, P = SHAPES[shape]
    data = make_dataset(n, n_test, J, K, writers=P)
    return using_some_columns(data, np.random.default_rng(0).integers(*USED[shape], P))


def share_of_columns(data):
    """Columns that agents use, of all, in the mean."""
    X, writers = data.X_train, data.attributes["writer"].train
    return np.mean([X[writers == writer].any(axis=0).mean() for writer in np.unique(writers)])


def each_round(spec, data, threads, device):
    """Do rounds, and say after each one how long it took."""
    with workers(threads) as pool, np.errstate(over="ignore", invalid="ignore"):
        federation = assemble(spec, data, pool, Context(device=device))
        state = spec.method.init(federation)
        for t in itertools.count(1):
            start = time.perf_counter()
            for block in federation.blocks:
                block.noise.begin_round(t)
            spec.method.round(t, state, federation)
            if device == "cuda":
                cupy.cuda.Device().synchronize()
            yield time.perf_counter() - start


def rounds(spec, data, threads, n, device):
    """Median milliseconds of a round."""
    times = list(itertools.islice(each_round(spec, data, threads, device), n + WARM_UP))
    return 1e3 * float(np.median(times[WARM_UP:]))


def count_rounds(spec, data):
    """Wait for a line of input, then count the rounds of some seconds."""
    running = each_round(spec, data, 1, "cuda")
    for _ in range(WARM_UP):
        next(running)
    print("ready", flush=True)
    sys.stdin.readline()
    stop, n = time.perf_counter() + SECONDS, 0
    while time.perf_counter() < stop:
        next(running)
        n += 1
    print(n)


def together(shape, label, processes):
    """Milliseconds of the card for a round of one of several processes."""
    command = [sys.executable, __file__, "--only", shape, "--methods", label, "--count"]
    started = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(processes)
    ]
    for each in started:
        each.stdout.readline()
    for each in started:
        each.stdin.write("go\n")
        each.stdin.flush()
    return 1e3 * SECONDS / sum(int(each.communicate()[0]) for each in started)


def plain(data, writers, n, rho=0.5, epsilon=0.05):
    """Median milliseconds of a round of the plain program, for one seed."""
    X, y = (
        cupy.asarray(data.X_train),
        cupy.asarray(np.eye(data.n_classes, dtype=np.float32)[data.y_train]),
    )
    own = [
        slice(rows[0], rows[-1] + 1)
        for rows in np.split(np.arange(len(X)), np.flatnonzero(np.diff(writers)) + 1)
    ]
    shape = data.n_classes, data.n_features
    z, dual = ([cupy.zeros(shape, np.float32) for _ in own] for _ in range(2))
    times = []
    for t in range(1, n + WARM_UP + 1):
        start = time.perf_counter()
        inverse_eta = np.float32(np.sqrt(t))
        w = sum(z_p - dual_p / rho for z_p, dual_p in zip(z, dual, strict=True)) / len(own)
        for p, rows in enumerate(own):
            u = X[rows] @ z[p].T
            h = cupy.exp(u - u.max(axis=1, keepdims=True))
            h = cupy.clip(h / h.sum(axis=1, keepdims=True), 1e-9, 1) - y[rows]
            gradient = h.T @ X[rows] / len(X)
            sizes = cupy.abs(h).sum(axis=1) * cupy.abs(X[rows]).sum(axis=1)
            scale = float(sizes.max()) / len(X) / epsilon
            gradient += cupy.random.laplace(0, scale, shape).astype(np.float32) + 2e-6 * w
            z[p] = (-gradient + rho * w + dual[p] + inverse_eta * z[p]) / (rho + inverse_eta)
            dual[p] += rho * (w - z[p])
        cupy.cuda.Device().synchronize()
        times.append(time.perf_counter() - start)
    return 1e3 * float(np.median(times[WARM_UP:]))


def bandwidth():
    """Bytes a second of a large copy, read and written."""
    a, b = cupy.zeros((2, 2**28), np.float32)
    times = []
    for _ in range(12):
        start, stop = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        cupy.copyto(b, a)
        stop.record()
        stop.synchronize()
        times.append(cupy.cuda.get_elapsed_time(start, stop))
    return 2 * a.nbytes / (1e-3 * float(np.median(times)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--only", nargs="*", default=list(SHAPES))
    parser.add_argument("--methods", nargs="*", default=[label for *_, label in METHODS])
    parser.add_argument("--skip-others", action="store_true")
    parser.add_argument("--together", type=int, default=4)
    parser.add_argument("--count", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.count:
        speed = bandwidth()
        print(f"{name()}; copies move {speed / 1e12:.2f} TB/s")
    for shape in options.only:
        n, _, J, K, P = SHAPES[shape]
        data = made_up(shape)
        for method, params, label in METHODS:
            if label not in options.methods:
                continue
            spec = RunSpec(
                dataset=data,
                algorithm=method,
                params={"rho": {"c1": 0.5}} | params,
                variant="reference",
                agents={"scheme": "by_writer"},
                epsilon=0.05,
                seeds=SEEDS,
            )
            if options.count:
                count_rounds(spec, data)
                continue
            on_gpu = rounds(spec, data, 1, options.rounds, "cuda")
            line = f"{shape:8} {label:6} GPU {on_gpu:7.2f} ms"
            if options.together > 1:
                shared = together(shape, label, options.together)
                line += f"   {options.together} at a time {shared:7.2f} ms"
            if label == "ObjP":
                models, slopes, records = P * SEEDS * K * J, n * SEEDS * K, n * J
                used = share_of_columns(data)
                moved = 4 * (2 * 2 * models + 2 * used * models + 4 * slopes + 2 * used * records)
                line += f"   {moved / 1e9:.2f} GB, {100 * moved / speed / (1e-3 * on_gpu):.0f} % of the bandwidth"
                if not options.skip_others:
                    on_cpu = rounds(spec, data, options.threads, 5, "cpu")
                    program = SEEDS * plain(data, data.attributes["writer"].train, 5)
                    line += f"   {options.threads} threads {on_cpu:.0f} ms ({on_cpu / on_gpu:.0f}x)"
                    line += (
                        f"   plain program through CuPy {program:.0f} ms ({program / on_gpu:.0f}x)"
                    )
            print(line, flush=True)


if __name__ == "__main__":
    main()
