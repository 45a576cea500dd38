"""How fast this machine is: some kinds of rounds on made-up data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import nnls

from admmbench import algorithms
from admmbench.datasets import Dataset
from admmbench.engine.spec import RunSpec
from admmbench.files.cache import Cache
from admmbench.forecast.cost import LIMITS, Machine, rounds_counts
from admmbench.jobs import fingerprint, provenance
from admmbench.jobs.simulate import run_spec

_MEASURED = Cache[list[float]]("speeds.json")
# Records, features, classes, agents, and seeds, so that most of a round is of one kind: products with many models,
# products with one, entries of models, and what is the same for all.
_KINDS = (
    (4000, 500, 10, 1, 10),
    (40_000, 100, 2, 1, 10),
    (400, 100, 10, 200, 10),
    (20, 5, 2, 1, 1),
)
# Rounds that are timed of each kind, after one that also compiles.
_ROUNDS = 6


def measure(progress: Callable[[int, int], None], *, renew: bool = False) -> Machine:
    """Measure this machine, unless that was done before, and the code of a run is the same.

    Parameters
    ----------
    progress
        Called with the number of measurements made, and of all.
    renew
        Whether to measure again.
    """
    if not renew and (machine := known()):
        return machine
    specs, found = [_spec(*kind) for kind in _KINDS], []
    for number, spec in enumerate(specs, start=1):
        found.append(_time_round(spec))
        progress(number, len(specs))
    # Seconds of one of each count, such that the rounds take what they took; all rounds matter alike.
    counts, seconds = np.array([rounds_counts(spec, 1) for spec in specs]), np.array(found)
    speeds, _ = nnls(counts / seconds[:, None], np.ones(len(specs)))
    machine = Machine(*speeds)
    # The interpreter starts a job, and most of a round of small models is its work too.
    machine = machine._replace(start=LIMITS.start * machine.step / LIMITS.step)
    _MEASURED.add({_name(): list(machine)})
    return machine


def known() -> Machine | None:
    """Return what was measured here; None if nothing was."""
    found = _MEASURED.read().get(_name())
    return Machine(*found) if found else None


def _name() -> str:
    return f"{provenance.machine()} | {fingerprint.of_run(_spec(*_KINDS[-1]))}"


def _spec(n: int, features: int, classes: int, agents: int, seeds: int) -> RunSpec:
    """Make a run of a noisy method on random records."""
    generator = np.random.default_rng(0)
    X = generator.random((n, features), dtype=np.float32)
    y = generator.integers(0, classes, n)
    data = Dataset(
        name="made up",
        settings={},
        class_names=tuple(map(str, range(classes))),
        default_problem="logistic" if classes == 2 else "softmax",
        X_train=X,
        y_train=y,
        X_test=X[:10],
        y_test=y[:10],
    )
    given: dict[str, Any] = {"agents": agents, "seeds": seeds, "rounds": 1 + _ROUNDS}
    return RunSpec(dataset=data, algorithm=_noisy(), epsilon=1.0, evaluate_every=1, **given)


def _noisy() -> str:
    """Name a method over rows that adds noise and needs nothing of its problem."""
    return next(
        name
        for name in algorithms.list_algorithms()
        if (cls := algorithms.resolve(name)).sharing == ("rows",)
        if cls.release is not None and not cls.one_shot and not cls().needs
    )


def _time_round(spec: RunSpec) -> float:
    """Time a round, without evaluation."""
    trace = run_spec(spec, spec.dataset)  # type: ignore[arg-type]
    return float(np.median(np.diff(trace.seconds)[1:]))
