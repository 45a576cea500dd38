"""The rounds of a run: one algorithm for a batch of seeds, from the first round or from where a run was left."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from admmbench import plugins, privacy
from admmbench.base.algorithm import Algorithm
from admmbench.base.observers import observed
from admmbench.base.projected import Projected
from admmbench.base.types import Block, Federation, Messages
from admmbench.datasets import Dataset, Split
from admmbench.engine import devices
from admmbench.engine.context import ONE_THREAD, Context, Splitter
from admmbench.engine.snapshot import Snapshot
from admmbench.engine.streams import FEDERATION, noise_key, sample_key, stream
from admmbench.engine.threads import Map, block_size, workers
from admmbench.engine.trace import Trace
from admmbench.engine.variables import measured
from admmbench.privacy import Noise, Privacy, Sampler
from admmbench.privacy.curves import FALSE_ALARMS, Curve, least_private
from admmbench.problems.base import BoundProblem, State, on_host
from admmbench.problems.rows import BoundRows
from admmbench.spec import accounting, guarantees
from admmbench.spec.run import RunSpec

# Of a total, which is a sum over rounds.
_ROUNDING = 1e-6
AnyFederation = Federation[Any, Any]
"""Of rows or of columns: the method and the problem know which."""


class AlgorithmError(RuntimeError):
    """Error that an algorithm raised in a run; the cause says what and where."""


def run_rounds(spec: RunSpec, dataset: Dataset, context: Context = ONE_THREAD) -> Trace:
    """Do the rounds of a run, and return what was measured.

    Raises
    ------
    AlgorithmError
        If the algorithm raises, or a plug-in.
    """
    computed = spec.computed
    try:
        with workers(context.threads) as pool, np.errstate(over="ignore", invalid="ignore"):
            trace = _run(computed, dataset, pool, context)
    except (AlgorithmError, KeyboardInterrupt):
        raise
    except BaseException as error:
        if not plugins.is_foreign(error, *spec.names):
            raise
        raise AlgorithmError(f"{', '.join(spec.names)}: {plugins.raised(error)}") from error
    return trace if computed is spec else trace.repeated(spec.seeds)


def _run(spec: RunSpec, dataset: Dataset, pool: Map, context: Context) -> Trace:
    """Compute the parts of a run, one after another."""
    runs, done = spec.parts, list[dict[str, Any]]()
    begun = False
    while len(done) < len(runs):
        run = runs[len(done)]
        federation = assemble(run, dataset, pool, context)
        snapshot = Snapshot(
            t=0,
            state=start(run.method, federation),
            noise=[block.noise for block in federation.blocks],
            choices=federation.choices,
            trace=_trace(run),
            elapsed=done[-1]["elapsed"] if done else 0.0,
            done=done,
            observers=federation.observers,
        )
        if context.checkpoint and not begun:
            context.checkpoint.load(snapshot)
            if len(snapshot.done) > len(done):
                done = snapshot.done
                continue
        begun = True
        _rounds(run, federation, snapshot, len(runs), context)
        done = [*done, {"trace": snapshot.trace.variables(), "elapsed": snapshot.elapsed}]
        if snapshot.trace.timed_out():
            break
    traces = [_trace(run) for run in runs]
    for trace, part in zip(traces, done, strict=False):
        trace.restore(part["trace"])
    for trace in traces[len(done) :]:
        trace.time_out()
    return Trace.joined(traces) if len(traces) > 1 else traces[0]


def _trace(spec: RunSpec) -> Trace:
    """Return a trace before the first round."""
    return Trace(spec.seeds, evaluated_rounds(spec.rounds, spec.evaluate_every), measured(spec))


def assemble(
    spec: RunSpec,
    dataset: Dataset,
    pool: Map,
    context: Context = ONE_THREAD,
    size: int | None = None,
    absent: int | None = None,
    solve: Callable[[RunSpec, BoundProblem[Any]], Privacy] = accounting.budget,
) -> AnyFederation:
    """Partition the data and give every agent its noise.

    Parameters
    ----------
    pool
        Serves the blocks of agents.
    size
        Agents that are served together; by default as many as suit the machine. A device serves all together.
    absent
        Agent whose records are taken away, if any: its neighbour in an audit.
    solve
        Finds the budget of one release, see `accounting.budget`.

    Raises
    ------
    ValueError
        If the device is not there, or does not compute the run.
    """
    problem = bind(spec, dataset, absent, context.partition)
    strategy = context.strategy
    if context.device != devices.CPU:
        problem, strategy = devices.find(context.device).take(spec, problem)
        size = problem.n_agents
    # An absent agent counts, so that neighbours have the same blocks.
    whole = problem if absent is None else bind(spec, dataset, None, context.partition)
    size = size or block_size(whole)
    budget = solve(spec, problem)
    blocks = []
    for start in range(0, problem.n_agents, size):
        agents = range(start, min(start + size, problem.n_agents))
        keys = np.array([[noise_key(seed, p) for seed in spec.seeds] for p in agents])
        where = slice(agents.start, agents.stop)
        parts = problem.block(where)
        release, shape = spec.release or Noise.release, parts.release_shape
        noise = Noise(keys, shape, budget, spec.dtype, release, mirror=spec.mirror)
        sampler = Sampler(np.array([[sample_key(seed, p) for seed in spec.seeds] for p in agents]))
        blocks.append(Block(where, parts, noise, sampler))
    if isinstance(problem, BoundRows) and problem.feasible:
        strategy = Projected(strategy, problem.feasible)
    choices = [stream(seed, 0, "choices") for seed in spec.seeds] if spec.method.draws else []
    federation = Federation(problem, budget, blocks, choices, pool, strategy)
    return observed(federation, spec.method.observers(spec.as_problem))


def bind(
    spec: RunSpec,
    dataset: Dataset,
    absent: int | None = None,
    drawn: Splitter | None = None,
) -> BoundProblem[Any]:
    """Partition the data, and return the problem of all agents, with their numbers of records and bounds on these.

    The records of an absent agent are nobody's. A partition that was drawn before is not drawn again.
    """
    if drawn:
        split = drawn.split(spec.scheme, dataset, spec.seeds)
    else:
        draws = [partial(stream, seed, FEDERATION, "partition") for seed in spec.seeds]
        split = spec.scheme.split(dataset, draws)
    if isinstance(split, Split):
        split = split._replace(instances=[partial(_instance, seed) for seed in spec.seeds])
        if absent is not None:
            shares = list(split.shares)
            shares[absent] = [(seeds, slice(0, 0)) for seeds, _ in shares[absent]]
            split = split._replace(shares=shares)
    # Where a total is guaranteed, rounding errors must not tell what noise hides.
    released = None if guarantees.guarantee(spec).kind == "none" else "float64"
    setting = len(spec.seeds), spec.sensitivity, spec.dtype, released, spec.privacy.unit
    return spec.as_problem.bind(split, *setting)


def _instance(seed: int, agent: int | None) -> np.random.Generator:
    """Return the source of an agent's part of a drawn problem, or of the server's."""
    return stream(seed, FEDERATION if agent is None else agent, "instance")


def _rounds(
    spec: RunSpec,
    federation: AnyFederation,
    snapshot: Snapshot,
    runs: int,
    context: Context,
) -> None:
    """Do all rounds and evaluate those asked for, of one of so many runs."""
    method = spec.method
    if snapshot.t == 0 and not method.extra_rounds:
        _start(snapshot, spec, federation)
    begin = time.monotonic() - snapshot.elapsed
    # The authors' code counts from 0: its round t comes after t + 1 updates.
    last = spec.rounds + method.extra_rounds
    while snapshot.t < last:
        snapshot.t += 1
        _round(snapshot, spec, federation)
        snapshot.elapsed = time.monotonic() - begin
        if context.progress:
            context.progress(len(snapshot.done) * last + snapshot.t, runs * last)
        if snapshot.trace.all_ended():
            _hold(snapshot, spec, federation)
            break
        if snapshot.elapsed > 60 * spec.time_limit and snapshot.t < last:
            if context.checkpoint:
                context.checkpoint.save(snapshot)  # for the same run with a longer limit
            snapshot.trace.time_out()
            break
        if context.checkpoint:
            context.checkpoint.after_round(snapshot)
    snapshot.trace.mistakes = federation.problem.mistakes(snapshot.state, federation.run)
    snapshot.trace.privacy = _of_releases(spec, federation)
    snapshot.trace.models = on_host(snapshot.state.w)


def _start(snapshot: Snapshot, spec: RunSpec, federation: AnyFederation) -> None:
    """Evaluate the model before the first round."""
    method, state, seeds = spec.method, snapshot.state, len(spec.seeds)
    _check_model(f"{type(method).__name__}.init", state, seeds)
    parts = [block.parts for block in federation.blocks]
    values = {
        **federation.problem.evaluate(state, parts, federation.run),
        "consensus_violation": method.violation(state, federation),
    }
    snapshot.trace.start(values)


def _round(snapshot: Snapshot, spec: RunSpec, federation: AnyFederation) -> None:
    """Do one round, and evaluate it if asked for."""
    method, offset = spec.method, spec.method.extra_rounds
    due = snapshot.t - offset in snapshot.trace.rounds
    for noise in snapshot.noise:
        noise.begin_round(snapshot.t, measure=due)
    begin = time.perf_counter()
    sent = do_round(method, snapshot.t, snapshot.state, federation)
    snapshot.seconds += time.perf_counter() - begin
    _check_releases(snapshot, spec, federation)
    if due or snapshot.t == 1:  # some states put w together when they are asked for it
        _check_round(snapshot, spec, sent, federation.problem.n_agents)
    if due:
        values = evaluate(spec, snapshot.state, sent, snapshot.t, federation)
        _check_total(snapshot.t, spec, federation)
        snapshot.trace.record(snapshot.t - offset, values, snapshot.seconds)
    snapshot.trace.note(method.outcome(snapshot.state, len(spec.seeds)))


def start(method: Algorithm[Any, Any], federation: AnyFederation) -> Any:
    """Return the state before the first round, of which observers have taken note."""
    state = method.init(federation)
    for observer in federation.observers:
        observer.begin(state, federation)
    return state


def do_round(
    method: Algorithm[Any, Any], t: int, state: Any, federation: AnyFederation
) -> Messages:
    """Let a method do a round, and tell observers; an `AlgorithmError` says in which round it raised."""
    try:
        for observer in federation.observers:
            observer.before_round(t, state, federation)
        sent = method.round(t, state, federation)
        for observer in federation.observers:
            observer.after_round(t, state, federation)
        return sent
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise AlgorithmError(
            f"{type(method).__name__}.round raised in round {t}: {type(error).__name__}: {error}"
        ) from error


def _check_round(snapshot: Snapshot, spec: RunSpec, sent: object, agents: int) -> None:
    """Refuse what cannot be evaluated, as a method that is being written may leave it."""
    where = f"{type(spec.method).__name__}.round, round {snapshot.t}"
    if not isinstance(sent, Messages):
        raise ValueError(
            f"{where}: returned {type(sent).__name__}; return Messages(down=(...), up=(...))"
        )
    seeds = len(spec.seeds)
    _check_model(where, snapshot.state, seeds)
    for name, arrays, axes in (("down", sent.down, (seeds,)), ("up", sent.up, (agents, seeds))):
        for array in arrays:
            if np.shape(array)[: len(axes)] != axes:
                raise ValueError(
                    f"{where}: {name} has an array of shape {np.shape(array)}; expected down=(S, ...), up=(P, S, ...), "
                    f"with P = {agents} agents and S = {seeds} seeds"
                )


def _check_releases(snapshot: Snapshot, spec: RunSpec, federation: AnyFederation) -> None:
    """Refuse a round with other releases than the method declares: the total of the run would be wrong."""
    t, method, release = snapshot.t, spec.method, spec.release
    declared = method.updates if release else 0
    made = {noise.entered for noise in snapshot.noise}
    if made == {declared} or not (spec.private or any(made)):
        return
    known = federation.problem, federation.privacy
    if made == {0} and not method.steady and accounting.cost_of_release(spec, t, *known) is None:
        return
    raise ValueError(
        f"{type(method).__name__}.round, round {t}: noisy releases of an agent: "
        f"{' or '.join(map(str, sorted(made)))}, declared (release, updates): {declared}; the total would be wrong"
    )


def _check_total(t: int, spec: RunSpec, federation: AnyFederation) -> None:
    """Refuse a run whose releases cost more than the total that was asked for."""
    asked, costs = spec.privacy.total, {each.composition(): each for each in federation.ledgers}
    if asked is None:
        return
    found = max(
        (accounting.total_in_scope(spec, each, spec.delta) for each in costs.values()), default=0.0
    )
    if not found <= asked * (1 + _ROUNDING):
        raise ValueError(
            f"privacy.total: asked for {asked:g}, but after round {t} the ledger has {found:.4g}: the noise of "
            f"{spec.algorithm} is not what its `cost` says"
        )


def _check_model(where: str, state: State, seeds: int) -> None:
    shape = np.shape(state.w)
    if len(shape) != 3 or shape[0] != seeds:
        raise ValueError(
            f"{where}: w of the state has shape {shape}; expected three axes (S, K, J), with S = {seeds} seeds"
        )


def _hold(snapshot: Snapshot, spec: RunSpec, federation: AnyFederation) -> None:
    """Let the last values stand for the rounds that no seed needs; those of diverged ones are NaN."""
    t = snapshot.t - spec.method.extra_rounds
    position = next((each for each in snapshot.trace.rounds if each >= t), None)
    if position is None:
        return
    if position != t:
        nothing = Messages(down=(), up=())
        values = evaluate(spec, snapshot.state, nothing, snapshot.t, federation)
        snapshot.trace.record(position, values, snapshot.seconds)
    snapshot.trace.hold(position)


def evaluated_rounds(rounds: int, every: int) -> list[int]:
    """List the start, multiples of ``every``, and the last round."""
    return sorted({*range(0, rounds + 1, every), rounds})


def evaluate(
    spec: RunSpec, state: State, sent: Messages, t: int, federation: AnyFederation
) -> dict[str, NDArray[Any] | float]:
    """Measure the model and what the round cost; arrays have shape (S,)."""
    method, problem, blocks = spec.method, federation.problem, federation.blocks
    floats = problem.n_agents * sum(array.size for array in sent.down)
    floats += sum(array.size for array in sent.up)
    parts = [block.parts for block in blocks]
    observations = [observer.measure(t, state, federation) for observer in federation.observers]
    return {
        **problem.evaluate(state, parts, federation.run),
        "noise_magnitude": np.concatenate([block.noise.magnitude() for block in blocks]).mean(0),
        "consensus_violation": method.violation(state, federation),
        **_totals(spec, federation),
        "epsilon_claimed": t * federation.privacy.epsilon,
        "floats_sent": t * floats / problem.n_seeds,
        "finite": np.isfinite(on_host(state.w)).all(axis=(1, 2)),
        # The last: a method that counts what it sends says so.
        **method.measure(t, state, federation),
        **{name: value for values in observations for name, value in values.items()},
    }


def _of_releases(spec: RunSpec, federation: AnyFederation) -> dict[str, NDArray[Any]]:
    """Return mu, its regret and the trade-off curve of all releases; mu is infinite where nothing is guaranteed."""
    ledgers, found = federation.ledgers, Curve(math.inf)
    if guarantees.guarantee(spec).kind != "none" and all(ledgers):
        found = least_private(ledger.composition() for ledger in ledgers)
    mu, regret = found.gaussian
    if not mu <= (spec.privacy.mu or math.inf) * (1 + _ROUNDING):
        raise ValueError(
            f"privacy.mu: asked for {spec.privacy.mu:g}, but the ledger has {mu:.4g}: the noise of {spec.algorithm} is "
            "not what its `cost` says"
        )
    hits = found.power(FALSE_ALARMS)
    return {"mu": np.array(mu), "regret": np.array(regret), "hits": hits}


def _totals(spec: RunSpec, federation: AnyFederation) -> dict[str, float]:
    """Compose the losses of the agent who pays most, infinite where something was sent without noise; and the total."""
    names: dict[str, str | None] = {each.variable: each.name for each in spec.composed_by}
    found = dict.fromkeys([*names, "epsilon_total"], math.inf)
    if all(ledgers := federation.ledgers):
        # The least total takes longest where every round costs something else, which nothing is guaranteed of.
        names |= {"epsilon_total": None} if guarantees.guarantee(spec).kind != "none" else {}
        for variable, name in names.items():
            found[variable] = privacy.epsilon_total(ledgers, spec.delta, name)
    return found
