"""`simulate`: rounds of one algorithm for a batch of seeds, and the trace of what it measured."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from pydantic import ValidationError

from admmbench import partition, privacy
from admmbench.algorithms.base import Messages
from admmbench.datasets import Dataset, load_dataset
from admmbench.engine import provenance
from admmbench.engine.checkpoint import Checkpoint, Snapshot
from admmbench.engine.federation import Block, Federation, Workers, block_size, workers
from admmbench.engine.spec import RunSpec, messages
from admmbench.engine.streams import FEDERATION, stream
from admmbench.engine.trace import Trace
from admmbench.engine.variables import measured
from admmbench.privacy import Accountant

Progress = Callable[[int, int], None]


class AlgorithmError(RuntimeError):
    """An algorithm raised; the cause says what and where."""


def simulate(
    dataset: str | dict[str, Any] | Dataset,
    algorithm: str,
    params: Mapping[str, Any] | None = None,
    variant: str = "paper",
    problem: str | dict[str, Any] | None = None,
    agents: int | dict[str, Any] = 10,
    epsilon: float = math.inf,
    delta: float = 1e-6,
    sensitivity: str = "local",
    rounds: int = 100,
    evaluate_every: int = 10,
    seeds: Iterable[int] = (0,),
    threads: int = 1,
    dtype: str = "float32",
    time_limit: float = math.inf,
    accountants: Iterable[str] | None = None,
    progress: Progress | None = None,
) -> xr.Dataset:
    """Run an algorithm on a data set, for several seeds at once.

    Parameters
    ----------
    dataset
        Name, ``{"name": ..., setting: ...}``, or what `load_dataset` returns.
    algorithm
        Name in `list_algorithms`, or the path of a plug-in ending in ``.py``.
    params
        Parameters of the algorithm.
    variant
        ``paper``: the equations; ``reference``: what the authors' code computes.
    problem
        Name, or ``{"name": ..., parameter: ...}``; the data set's default if absent.
    agents
        Number of agents with equal shares, or a partition such as ``{"scheme": "by_writer"}``.
    epsilon
        Privacy budget of one iteration; ``float("inf")`` adds no noise.
    delta
        Failure probability of one Gaussian release, and the one at which ``epsilon_total`` is stated.
    sensitivity
        ``local``: from the agent's records, as in the papers; ``global``: the worst case.
    rounds
        Number of rounds.
    evaluate_every
        Rounds between two evaluations; the last round is always evaluated.
    seeds
        Seeds, one run each.
    threads
        Threads to spread the agents over; does not change the result.
    dtype
        Precision of the arithmetic.
    time_limit
        Minutes after which the run ends where it is.
    accountants
        Names in `admmbench.privacy.ACCOUNTANTS`: whose totals are computed besides that of ``pld``, which always is;
        all if absent.
    progress
        Called with the round and the number of rounds.

    Returns
    -------
    xarray.Dataset
        Dims ``seed`` and ``round``; see `Trace` for the variables.

    Raises
    ------
    ValueError
        If an argument is wrong; the message names it and the nearest valid value.

    Notes
    -----
    A run whose iterates overflow is recorded as diverged (``status``), one that meets its time limit as timed out, both
    with NaN from there on; nothing is raised.
    """
    try:
        spec = RunSpec(
            dataset=dataset,
            algorithm=algorithm,
            params=dict(params or {}),
            variant=variant,
            problem=problem,
            agents=agents,
            epsilon=epsilon,
            delta=delta,
            sensitivity=sensitivity,
            rounds=rounds,
            evaluate_every=evaluate_every,
            seeds=seeds,
            dtype=dtype,
            time_limit=time_limit,
            accountants=None if accountants is None else tuple(accountants),
        )
    except ValidationError as error:
        raise ValueError("; ".join(messages(error))) from None
    return run(spec, load_dataset(spec.dataset), threads, progress)


def run(
    spec: RunSpec,
    dataset: Dataset,
    threads: int = 1,
    progress: Progress | None = None,
    checkpoint: Checkpoint | None = None,
) -> xr.Dataset:
    """`simulate` for a checked specification and a loaded data set; goes on from a checkpoint and leaves some."""
    with workers(threads) as pool, np.errstate(over="ignore", invalid="ignore"):
        federation = assemble(spec, dataset, pool)
        trace = _rounds(spec, federation, progress or _silent, checkpoint)
    return trace.dataset(spec, provenance.describe(spec, dataset))


def assemble(spec: RunSpec, dataset: Dataset, pool: Workers) -> Federation:
    """Share out the data and give every agent its noise streams."""
    permutations = [stream(seed, FEDERATION, "partition").permutation for seed in spec.seeds]
    split = partition.split(partition.as_partition(spec.agents), dataset, permutations)
    problem = spec.as_problem.bind(split, len(spec.seeds), spec.sensitivity, spec.dtype)
    size = block_size(problem)
    blocks = []
    for start in range(0, problem.n_agents, size):
        agents = range(start, min(start + size, problem.n_agents))
        streams = [[stream(seed, p, "noise") for seed in spec.seeds] for p in agents]
        where = slice(agents.start, agents.stop)
        local = problem.block(where)
        noise = privacy.Noise(streams, local.release_shape, spec.privacy, spec.dtype)
        blocks.append(Block(where, local, noise))
    return Federation(problem, spec.privacy, blocks, pool)


def _rounds(
    spec: RunSpec, federation: Federation, progress: Progress, checkpoint: Checkpoint | None
) -> Trace:
    """Do all rounds and evaluate those asked for."""
    method = spec.method
    rounds = evaluated_rounds(spec.rounds, spec.evaluate_every)
    trace = Trace(spec.seeds, rounds, measured(spec))
    run = checkpoint.load() if checkpoint else None
    if run is None:
        run = Snapshot(0, method.init(federation), [b.noise for b in federation.blocks], trace)
    federation = federation.with_noise(run.noise)
    begin = time.monotonic() - run.elapsed
    # The authors' code counts from 0: its round t comes after t + 1 updates.
    last = spec.rounds + method.extra_rounds
    while run.t < last:
        run.t += 1
        _round(run, spec, federation)
        run.elapsed = time.monotonic() - begin
        progress(run.t, last)
        if run.trace.all_diverged():
            break
        if run.elapsed > 60 * spec.time_limit and run.t < last:
            if checkpoint:
                checkpoint.save(run)  # for the same run with a longer limit
            run.trace.time_out()
            break
        if checkpoint:
            checkpoint.after_round(run)
    return run.trace


def _round(run: Snapshot, spec: RunSpec, federation: Federation) -> None:
    """Do one round, and evaluate it if asked for."""
    method, offset = spec.method, spec.method.extra_rounds
    due = run.t - offset in run.trace.rounds
    if due:
        for noise in run.noise:
            noise.measure()
    start = time.perf_counter()
    try:
        sent = method.round(run.t, run.state, federation)
    except Exception as error:
        raise AlgorithmError(
            f"{type(method).__name__}.round raised in round {run.t}: {type(error).__name__}: {error}"
        ) from error
    run.seconds += time.perf_counter() - start
    if due:
        values = evaluate(spec, run.state, sent, run.t, federation)
        run.trace.record(run.t - offset, values, run.seconds)


def evaluated_rounds(rounds: int, every: int) -> list[int]:
    """Multiples of ``every``, and the last round."""
    return sorted({*range(every, rounds + 1, every), rounds})


def evaluate(
    spec: RunSpec, state: Any, sent: Messages, t: int, federation: Federation
) -> dict[str, NDArray[Any] | float]:
    """Measure the model and what the round cost; arrays have shape (S,)."""
    method, problem, blocks = spec.method, federation.problem, federation.blocks
    floats = problem.n_agents * sum(array.size for array in sent.down)
    floats += sum(array.size for array in sent.up)
    locals_ = [block.problem for block in blocks]
    return {
        **problem.evaluate(state, locals_, federation.pool.map),
        **method.measure(t, state, federation),
        "noise_magnitude": np.concatenate([block.noise.magnitude() for block in blocks]).mean(0),
        "consensus_violation": method.violation(state, federation),
        **_totals(spec.composed_by, federation),
        "epsilon_claimed": t * federation.privacy.epsilon,
        "floats_sent": t * floats / problem.n_seeds,
        "finite": np.isfinite(state.w).all(axis=(1, 2)),
    }


def _totals(accountants: Iterable[Accountant], federation: Federation) -> dict[str, float]:
    """Composed loss of the agent who pays most; infinite where something was sent without noise."""
    ledgers = [ledger for block in federation.blocks for ledger in block.noise.ledgers]
    if not all(ledgers):
        return {each.variable: math.inf for each in accountants}
    delta = federation.privacy.delta
    return {each.variable: privacy.epsilon_total(ledgers, delta, each.name) for each in accountants}


def _silent(done: int, total: int) -> None:
    """No progress is shown."""
