"""What a run will need, from the problem's size alone: for the scheduler, before any data is read."""

from __future__ import annotations

from dataclasses import dataclass

from admmbench.engine.spec import RunSpec
from admmbench.engine.threads import BLOCK_BYTES

# A slow core's share of float32 products, and of elementwise work on a model; limits, not forecasts.
_FLOPS_PER_SECOND = 1e10
_ENTRIES_PER_SECOND = 5e7
# On a cluster a job also carries the Snakemake processes that start it.
_INTERPRETER_MB = 1000
_THREAD_MB = 64
# Copies of the data that products are made from: columns that agents use, and their entries by records and by columns;
# records that a seed draws, with and without their zeros.
_USED, _DRAWN = 1.8, 1.9
# Below this a job spends most of its time on starting, and two jobs side by side beat one with two threads.
_SECONDS_WORTH_THREADS = 60


@dataclass(frozen=True)
class JobResources:
    """Resources of one job."""

    threads: int
    mem_mb: int
    runtime: int
    """Minutes."""


def estimate(spec: RunSpec, threads: int) -> JobResources:
    """Upper bounds for threads, memory and time.

    Memory is the data, copies of the columns that agents use or of the records that each seed draws, the state, and for
    every thread a dozen blocks of models for temporaries.
    """
    info, agents, seeds = spec.info, spec.n_agents, len(spec.computed.seeds)
    size, model, seconds = _size(spec), model_entries(spec), work(spec)
    data = (info.n_train + info.n_test) * info.n_features
    if spec.as_problem.sharing == "columns":
        # Each party factors its Gram matrix, in double precision.
        widest = spec.n_features / agents
        gram = 8 * agents * widest**2
        data += round((2 * size * info.n_train * widest * threads + 2 * gram) / size)
    if spec.as_problem.sharing == "constrained":
        # In double precision: records and their weighted copies, or a matrix and an inverse for each agent and seed.
        own = 6 * info.n_train * info.n_features
        matrices = 4 * (agents + 1) * seeds * info.n_features**2
        data += (8 // size) * (matrices if info.drawn else own)
    threads = min(threads, agents) if seconds > _SECONDS_WORTH_THREADS else 1
    copies = 1 + (_DRAWN * seeds if spec.scheme.shuffled else _USED)
    memory = (
        size * data * copies + state_bytes(spec) + 12 * threads * max(size * model, BLOCK_BYTES)
    )
    mem_mb = _INTERPRETER_MB + _THREAD_MB * threads + round(memory / 2**20)
    minutes = min(seconds / threads / 60, spec.time_limit)
    return JobResources(threads, mem_mb, 5 + round(minutes))


def work(spec: RunSpec) -> float:
    """Upper bound for the seconds that one core needs."""
    info, agents, model = spec.info, spec.n_agents, model_entries(spec)
    gradients = spec.rounds * spec.method.gradients
    evaluations = spec.rounds / spec.evaluate_every + 1
    flops = (gradients + evaluations) * 4 * info.n_train * model
    if spec.as_problem.sharing == "columns":
        flops += agents * info.n_train * (spec.n_features / agents) ** 2
    if spec.as_problem.sharing == "constrained":
        flops += spec.rounds * agents * len(spec.computed.seeds) * info.n_features**2
    return gradients * agents * model / _ENTRIES_PER_SECOND + flops / _FLOPS_PER_SECOND


def model_entries(spec: RunSpec) -> int:
    """Entries of one model, for all seeds that are computed."""
    return len(spec.computed.seeds) * spec.as_problem.loss.outputs(spec.info) * spec.n_features


def state_bytes(spec: RunSpec) -> int:
    """Bytes of a run's state: the global model, and the method's copies of all local ones.

    Where columns are shared out its copies are of all parties' predictions, beside z and the dual variable.
    """
    agents = spec.method.state_copies * spec.n_agents
    entries = (1 + agents) * model_entries(spec)
    if spec.as_problem.sharing == "columns":
        entries = model_entries(spec) + (2 + agents) * len(spec.computed.seeds) * spec.info.n_train
    return _size(spec) * entries


def _size(spec: RunSpec) -> int:
    """Bytes of a number."""
    return 4 if spec.dtype == "float32" else 8
