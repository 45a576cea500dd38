"""Threads, memory and time of a run, from its size alone, before any data is read: limits and forecasts."""

from __future__ import annotations

from dataclasses import dataclass

from admmbench.engine.devices import CPU, Machine, find
from admmbench.engine.threads import BLOCK_BYTES
from admmbench.spec.run import RunSpec

# On a cluster a job also carries the Snakemake processes that start it.
_INTERPRETER_MB = 1000
_THREAD_MB = 64
# Copies of the data that products are made from: columns that agents use, and their entries by records and by columns;
# records that a seed draws, with and without their zeros.
_USED, _DRAWN = 1.8, 1.9
# Below this a job spends most of its time on starting, and two jobs side by side beat one with two threads.
_SECONDS_WORTH_THREADS = 60
# Where parties hold columns, a round solves an equation for each record and seed, in so many steps.
_STEPS = 10


# A slow core: limits, not forecasts.
LIMITS = Machine(start=2.0, product=1e-10, vector=5e-10, entry=2e-8, step=5e-4)


@dataclass(frozen=True)
class JobResources:
    """Resources that a job needs."""

    threads: int
    mem_mb: int
    runtime: int
    """Minutes."""


def estimate(spec: RunSpec, threads: int, device: str = CPU) -> JobResources:
    """Bound threads, memory and time of a run from above; a device other than the processor takes one thread.

    Memory is the data, copies of the columns that agents use or of the records that each seed draws, the state, and for
    every thread a dozen blocks of models for temporaries.
    """
    info, agents, seeds = spec.info, spec.n_agents, len(spec.computed.seeds)
    size, model = _number_size(spec), model_entries(spec)
    seconds = work(spec, LIMITS if device == CPU else find(device).SLOWEST)
    data = (info.n_train + info.n_test) * info.n_features
    if spec.as_problem.sharing == "columns":
        # Each party factors its Gram matrix, in double precision.
        widest = spec.n_features / agents
        gram = 8 * agents * widest**2
        data += round((2 * size * info.n_train * widest * threads + 2 * gram) / size)
    if spec.as_problem.sharing == "constrained":
        # In double precision: records and their weighted copies, or a matrix and an inverse for each agent and seed.
        records = 6 * info.n_train * info.n_features
        matrices = 4 * (agents + 1) * seeds * info.n_features**2
        data += (8 // size) * (matrices if info.drawn else records)
    one_thread = device != CPU or seconds <= _SECONDS_WORTH_THREADS
    threads = 1 if one_thread else min(threads, agents)
    copies = 1 + (_DRAWN * seeds if spec.scheme.shuffled else _USED)
    block = max(size * model, min(size * model * agents, BLOCK_BYTES))
    memory = size * data * copies + state_bytes(spec) + 12 * threads * block
    mem_mb = _INTERPRETER_MB + _THREAD_MB * threads + round(memory / 2**20)
    minutes = min(seconds / threads / 60, spec.time_limit)
    return JobResources(threads, mem_mb, 5 + round(minutes))


def work(spec: RunSpec, machine: Machine = LIMITS) -> float:
    """Forecast the seconds that one core computes, up to the time limit: an upper bound, unless a machine is given."""
    # An evaluation takes about as long as two gradients.
    evaluations = 2 * (spec.rounds / spec.evaluate_every + 1) * _gradient(spec, machine)
    return min(rounds_seconds(spec, spec.rounds, machine) + evaluations, 60 * spec.time_limit)


def rounds_seconds(spec: RunSpec, rounds: int, machine: Machine) -> float:
    """Forecast the seconds of some rounds on one core, with what comes before them and without evaluations."""
    method, model = spec.method, model_entries(spec)
    gradients = rounds * method.gradients + method.resources.gradients_once
    entries = rounds * max(method.gradients, method.updates) * spec.n_agents * model
    setup = 0.0
    if spec.as_problem.sharing == "columns":
        predictions = len(spec.computed.seeds) * spec.info.n_train
        entries = rounds * _STEPS * predictions
        # Gram matrices of the parties.
        setup = predictions * spec.n_features**2 / spec.n_agents * machine.product
    steps = rounds * method.updates * machine.step
    return gradients * _gradient(spec, machine) + setup + entries * machine.entry + steps


def _gradient(spec: RunSpec, machine: Machine) -> float:
    """Forecast the seconds of a gradient of every record, for all seeds."""
    seeds, rows = len(spec.computed.seeds), spec.as_problem.loss.outputs(spec.info)
    if spec.info.drawn:
        return seeds * spec.n_agents * spec.n_features**2 * machine.vector
    n_models = seeds if spec.as_problem.sharing == "columns" else rows
    # A product with several models is faster than one with a single model.
    operations = 4 * spec.scheme.n_train(spec.info) * model_entries(spec)
    return operations * (machine.product if n_models > 1 else machine.vector)


def model_entries(spec: RunSpec) -> int:
    """Count the entries of one model, for all seeds that are computed."""
    return len(spec.computed.seeds) * spec.as_problem.loss.outputs(spec.info) * spec.n_features


def state_bytes(spec: RunSpec) -> int:
    """Count the bytes of a run's state: the global model, and the method's copies of all local ones.

    Where parties hold columns, the copies are of all parties' predictions, and z and the dual variable come on top.
    """
    agents = spec.method.resources.state_copies * spec.n_agents
    entries = (1 + agents) * model_entries(spec)
    if spec.as_problem.sharing == "columns":
        entries = model_entries(spec) + (2 + agents) * len(spec.computed.seeds) * spec.info.n_train
    return _number_size(spec) * entries


def _number_size(spec: RunSpec) -> int:
    """Return the bytes of a number."""
    return 4 if spec.dtype == "float32" else 8
