"""How fast this machine runs a method: a few rounds on made-up data of the same sizes."""

from __future__ import annotations

import json
import math
import statistics
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from admmbench.datasets import Attribute, Dataset
from admmbench.engine.rounds import assemble, evaluate
from admmbench.engine.spec import RunSpec
from admmbench.engine.threads import workers
from admmbench.forecast.cost import model_entries
from admmbench.problems.constrained import Constrained
from admmbench.problems.optimum import Limit

# A sample should exceed the caches: fewer agents would look too fast.
_SAMPLE_BYTES = 2**25
# Rounds are timed for so long.
_SECONDS = 0.1
# A search for an optimum takes hundreds of steps (226 on digits, 321 on Adult), and on random labels far more. Some
# steps are timed, and stand for so many.
_TIMED_STEPS, _USUAL_STEPS = 20, 300


@dataclass(frozen=True)
class Speed:
    """Seconds that the parts of a run take."""

    once: float
    """Before the first round and in it alone: shares of the data, factorisations, optima."""
    round: float
    evaluation: float

    def seconds(self, spec: RunSpec) -> float:
        """Of a whole run, up to its time limit."""
        evaluations = math.ceil(spec.rounds / spec.evaluate_every)
        rounds = spec.rounds * self.round + evaluations * self.evaluation
        return self.once + min(rounds, 60 * spec.time_limit)


def kind(spec: RunSpec, threads: int) -> str:
    """Key of all runs whose rounds cost the same: budgets, seeds and continuous parameters only change the numbers."""
    kept = {"dataset", "algorithm", "variant", "problem", "agents", "sensitivity", "dtype"}
    facts = spec.model_dump(mode="json", include=kept)
    facts["params"] = {key: v for key, v in spec.params.items() if not _continuous(v)}
    facts["seeds"] = len(spec.computed.seeds)
    facts["gradients"] = spec.method.gradients
    facts["law"] = spec.release.law if spec.release and spec.private else ""
    facts["threads"] = threads
    return json.dumps(facts, sort_keys=True)


def _continuous(value: object) -> bool:
    if isinstance(value, dict):
        return all(_continuous(each) for each in value.values())
    return isinstance(value, float)


def time_rounds(spec: RunSpec, threads: int) -> Speed:
    """Time a method on some of the agents, with random samples.

    Parameters
    ----------
    spec
        What to time; its numbers of rounds and evaluations are not used.
    threads
        Threads of the run.

    Returns
    -------
    Speed
        For all agents: the sample's time, scaled by the work of the busiest thread.
    """
    sample, share = _sample(spec.computed, threads)
    rows, tests = (max(1, round(n * share)) for n in (_train(spec), spec.info.n_test))
    limit = Limit(_TIMED_STEPS)
    # The first time compiles what the run needs, or loads what was compiled.
    for _ in range(2):
        once, rounds, evaluations = _time(sample, threads, rows, tests, limit)
    busiest = 1 / share
    if sample.n_agents < spec.n_agents:
        busiest = math.ceil(spec.n_agents / threads) / math.ceil(sample.n_agents / threads)
    usual = statistics.median(rounds[1:])
    first = max(0, rounds[0] - usual) * (_USUAL_STEPS / _TIMED_STEPS if limit.reached else 1)
    return Speed(
        (once + first) / share,
        busiest * usual,
        statistics.median(evaluations[1:]) / share,
    )


def _time(
    sample: RunSpec, threads: int, n_train: int, n_test: int, limit: Limit
) -> tuple[float, list[float], list[float]]:
    """Seconds before the first round, of rounds, and of evaluations, on random data."""
    data = _random(sample, n_train, n_test)
    with workers(threads) as pool, np.errstate(over="ignore", invalid="ignore"):
        start = time.perf_counter()
        federation = assemble(sample, data, pool, limit=limit)
        state = sample.method.init(federation)
        once = time.perf_counter() - start
        rounds, evaluations = [], []
        t, begin = 0, time.perf_counter()
        while t < 2 or time.perf_counter() - begin < _SECONDS:
            t += 1
            start = time.perf_counter()
            sent = sample.method.round(t, state, federation)
            end = time.perf_counter()
            evaluate(sample, state, sent, t, federation)
            rounds.append(end - start)
            evaluations.append(time.perf_counter() - end)
    return once, rounds, evaluations


def _sample(spec: RunSpec, threads: int) -> tuple[RunSpec, float]:
    """Less of the same: fewer agents, or where they share out columns fewer rows; and what part of the rows that is."""
    scheme = spec.scheme
    if scheme.sharing == "columns":
        return spec, min(1.0, _SAMPLE_BYTES / (4 * _train(spec) * spec.n_features))
    rows = max(1, _train(spec) // spec.n_agents)
    size = 4 * (rows * spec.n_features + spec.method.state_copies * model_entries(spec))
    agents = min(spec.n_agents, threads * math.ceil(_SAMPLE_BYTES / size / threads))
    some = {"scheme": "iid", "agents": agents, "shuffle": scheme.shuffled}
    # Made anew: a copy would keep what was found out about all agents.
    given: dict[str, Any] = {name: getattr(spec, name) for name in RunSpec.model_fields}
    return RunSpec(**{**given, "agents": some}), agents / spec.n_agents


def _train(spec: RunSpec) -> int:
    """Training rows of all agents."""
    return spec.scheme.n_train(spec.info)


def _random(spec: RunSpec, n_train: int, n_test: int) -> Dataset:
    info, generator = spec.info, np.random.default_rng(0)
    low, high = info.domain if all(map(math.isfinite, info.domain)) else (0.0, 1.0)
    X_train, X_test = (
        low + (high - low) * generator.random((n, info.n_features), dtype=np.float32)
        for n in (n_train, n_test)
    )
    y_train, y_test = (
        generator.integers(0, info.n_classes, n)
        if info.n_classes
        else generator.random(n, dtype=np.float32)
        for n in (n_train, n_test)
    )
    return Dataset(
        name=info.name,
        settings=info.settings,
        X_train=X_train,
        y_train=y_train,
        X_test=X_test,
        y_test=y_test,
        class_names=info.class_names,
        domain=info.domain,
        default_problem=info.default_problem,
        target_unit=info.target_unit,
        drawn=info.drawn,
        attributes={
            name: Attribute(
                _values(spec, name, count),
                *(generator.integers(0, count, n).astype(np.int32) for n in (n_train, n_test)),
            )
            for name, count in info.attributes.items()
        },
    )


def _values(spec: RunSpec, attribute: str, count: int) -> tuple[str, ...]:
    """Values of an attribute: those that the problem names, and others up to their number."""
    problem = spec.as_problem
    groups = problem.groups() if isinstance(problem, Constrained) else []
    named = dict.fromkeys(str(where[attribute]) for where in groups if attribute in where)
    return tuple([*named, *(f"value {number}" for number in range(count))][:count])
