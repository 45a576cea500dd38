"""What a run will need, from the problem's size alone: for the scheduler, before any data is read."""

from __future__ import annotations

from dataclasses import dataclass

from admmbench.engine.federation import BLOCK_BYTES
from admmbench.engine.spec import RunSpec
from admmbench.partition import as_partition

# A slow core's share of float32 products, and of elementwise work on a model; limits, not forecasts.
_FLOPS_PER_SECOND = 1e10
_ENTRIES_PER_SECOND = 5e7
# On a cluster a job also carries the Snakemake processes that start it.
_INTERPRETER_MB = 1000
_THREAD_MB = 64
# Below this a job spends most of its time on starting, and two jobs side by side beat one with two threads.
_SECONDS_WORTH_THREADS = 60


@dataclass(frozen=True)
class Cost:
    """Resources of one job."""

    threads: int
    mem_mb: int
    runtime: int
    """Minutes."""


def estimate(spec: RunSpec, threads: int) -> Cost:
    """Upper bounds for threads, memory and time.

    Memory is the data, another copy for every seed that draws its own records, the state, and for every thread a dozen
    blocks of models for temporaries.
    """
    info, agents, seeds = spec.info, spec.n_agents, len(spec.seeds)
    size = 4 if spec.dtype == "float32" else 8
    model = seeds * info.n_classes * info.n_features
    data = (info.n_train + info.n_test) * info.n_features
    products = 4 * info.n_train * info.n_features * info.n_classes * seeds
    updates = spec.rounds * spec.method.updates
    evaluations = spec.rounds / spec.evaluate_every + 1
    seconds = updates * agents * model / _ENTRIES_PER_SECOND
    seconds += (updates + evaluations) * products / _FLOPS_PER_SECOND
    if spec.as_problem.sharing == "columns":
        # Each party factors its Gram matrix, in double precision.
        widest = info.n_features / agents
        gram = 8 * agents * widest**2
        data += round((2 * size * info.n_train * widest * threads + 2 * gram) / size)
        seconds += agents * info.n_train * widest**2 / _FLOPS_PER_SECOND
    threads = min(threads, agents) if seconds > _SECONDS_WORTH_THREADS else 1
    copies = 1 + seeds * as_partition(spec.agents).shuffled
    memory = (
        size * data * copies + state_bytes(spec) + 12 * threads * max(size * model, BLOCK_BYTES)
    )
    mem_mb = _INTERPRETER_MB + _THREAD_MB * threads + memory // 2**20
    minutes = min(seconds / threads / 60, spec.time_limit)
    return Cost(threads, mem_mb, 5 + round(minutes))


def state_bytes(spec: RunSpec) -> int:
    """Bytes of a run's state: three copies of all local models (z, lambda and, with local updates, the chains).

    Where columns are shared out it is the predictions of all parties, z and the dual variable.
    """
    size = 4 if spec.dtype == "float32" else 8
    if spec.as_problem.sharing == "columns":
        return size * (spec.n_agents + 2) * len(spec.seeds) * spec.info.n_train
    model = len(spec.seeds) * spec.info.n_classes * spec.info.n_features
    return size * 3 * spec.n_agents * model
