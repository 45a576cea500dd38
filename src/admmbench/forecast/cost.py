"""What a run will need, from its size alone, before any data is read: for the scheduler, and for a forecast."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from admmbench.device import Device
from admmbench.engine.spec import RunSpec
from admmbench.engine.threads import BLOCK_BYTES

# On a cluster a job also carries the Snakemake processes that start it.
_INTERPRETER_MB = 1000
_THREAD_MB = 64
# Copies of the data that products are made from: columns that agents use, and their entries by records and by columns;
# records that a seed draws, with and without their zeros.
_USED, _DRAWN = 1.8, 1.9
# Below this a job spends most of its time on starting, and two jobs side by side beat one with two threads.
_SECONDS_WORTH_THREADS = 60
# Where columns are shared out, a round solves an equation for each record and seed, in so many steps.
_STEPS = 10


class Machine(NamedTuple):
    """A core is so fast: it takes these seconds for each.

    Attributes
    ----------
    start
        Starting a job: interpreter, imports, files.
    product
        A multiplication or addition in a product of records with several models, which a cache holds.
    vector
        The same with one model: records are read from memory for it alone.
    entry
        An entry of a local model that is updated, with its noise.
    step
        A local update of all agents, however small they are.
    """

    start: float
    product: float
    vector: float
    entry: float
    step: float


# A slow core: limits, not forecasts.
LIMITS = Machine(start=2.0, product=1e-10, vector=5e-10, entry=2e-8, step=5e-4)
# An H200 that four jobs share.
GPU = Machine(start=5.0, product=2.3e-14, vector=2.3e-14, entry=8e-12, step=2e-4)
# Each of them takes four times as long, and a GPU, or the processor that starts its kernels, may be slower.
_GPU_LIMITS = Machine(*(20 * seconds for seconds in GPU))._replace(step=8e-3)


@dataclass(frozen=True)
class JobResources:
    """A job needs these resources."""

    threads: int
    mem_mb: int
    runtime: int
    """Minutes."""


def estimate(spec: RunSpec, threads: int, device: Device = "cpu") -> JobResources:
    """Bound threads, memory and time from above; on a GPU, one thread tells it what to do.

    Memory is the data, copies of the columns that agents use or of the records that each seed draws, the state, and for
    every thread a dozen blocks of models for temporaries.
    """
    info, agents, seeds = spec.info, spec.n_agents, len(spec.computed.seeds)
    size, model = _size(spec), model_entries(spec)
    seconds = work(spec, LIMITS if device == "cpu" else _GPU_LIMITS)
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
    alone = device == "cuda" or seconds <= _SECONDS_WORTH_THREADS
    threads = 1 if alone else min(threads, agents)
    copies = 1 + (_DRAWN * seeds if spec.scheme.shuffled else _USED)
    block = max(size * model, min(size * model * agents, BLOCK_BYTES))
    memory = size * data * copies + state_bytes(spec) + 12 * threads * block
    mem_mb = _INTERPRETER_MB + _THREAD_MB * threads + round(memory / 2**20)
    minutes = min(seconds / threads / 60, spec.time_limit)
    return JobResources(threads, mem_mb, 5 + round(minutes))


def work(spec: RunSpec, machine: Machine = LIMITS) -> float:
    """Forecast the seconds that one core computes, up to the time limit: an upper bound, unless a machine is given."""
    # An evaluation takes about as long as two gradients.
    evaluations = 2 * (spec.rounds / spec.evaluate_every + 1)
    counts = rounds_counts(spec, spec.rounds) + evaluations * _gradient(spec)
    return min(float(counts @ machine), 60 * spec.time_limit)


def rounds_counts(spec: RunSpec, rounds: int) -> NDArray[np.float64]:
    """Count what some rounds consist of, with what comes before them and without evaluations, as a `Machine` does."""
    method, info, model = spec.method, spec.info, model_entries(spec)
    gradients = rounds * method.gradients + method.gradients_once
    entries, once = rounds * max(method.gradients, method.updates) * spec.n_agents * model, 0.0
    if spec.as_problem.sharing == "columns":
        seeds = len(spec.computed.seeds)
        entries = rounds * _STEPS * seeds * info.n_train
        # Gram matrices of the parties.
        once = seeds * info.n_train * spec.n_features**2 / spec.n_agents
    counts = _counts(product=once, entry=entries, step=rounds * method.updates)
    return gradients * _gradient(spec) + counts


def _gradient(spec: RunSpec) -> NDArray[np.float64]:
    """Count what a gradient of every record consists of, for all seeds."""
    seeds, rows = len(spec.computed.seeds), spec.as_problem.loss.outputs(spec.info)
    if spec.info.drawn:
        return _counts(vector=seeds * spec.n_agents * spec.n_features**2)
    together = seeds if spec.as_problem.sharing == "columns" else rows
    work = 4 * spec.scheme.n_train(spec.info) * model_entries(spec)
    return _counts(**{"product" if together > 1 else "vector": work})


def _counts(**counts: float) -> NDArray[np.float64]:
    """Make a vector of counts, in the order of the times in a `Machine`."""
    return np.array([counts.get(name, 0.0) for name in Machine._fields])


def model_entries(spec: RunSpec) -> int:
    """Count the entries of one model, for all seeds that are computed."""
    return len(spec.computed.seeds) * spec.as_problem.loss.outputs(spec.info) * spec.n_features


def state_bytes(spec: RunSpec) -> int:
    """Count the bytes of a run's state: the global model, and the method's copies of all local ones.

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
