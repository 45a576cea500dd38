"""Contracts of every method, with each of its variants: true declarations, reproducible results, correct noise."""

from __future__ import annotations

import contextlib
import itertools
import math
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
from pydantic import ValidationError

from admmbench.algorithms import resolve
from admmbench.base.algorithm import Caveat
from admmbench.base.outcomes import SUCCESSFUL
from admmbench.base.types import Array, Guarantee, Models
from admmbench.contracts import Check, ensure, noise
from admmbench.contracts.made_up_data import written_by
from admmbench.contracts.runs import (
    AGENTS,
    RECORDS,
    ROUNDS,
    FinalState,
    Halfway,
    MethodCase,
    StoppedError,
    backwards,
    ensure_agreement,
    ensure_same,
    run_without_engine,
    settings,
)
from admmbench.datasets import Dataset
from admmbench.engine import rounds as engine
from admmbench.engine.context import Context
from admmbench.engine.threads import workers
from admmbench.files.core_yaml import inline_yaml
from admmbench.problems.base import State
from admmbench.problems.needs import Need
from admmbench.results.statistics import after_start
from admmbench.tuning import declared
from admmbench.tuning.settings import Axes
from admmbench.validation import checked

_LEARNING_ROUNDS = 60
# Relative rounding of single precision: between two runs, and against double precision; and absolute rounding.
_ROUNDING, _PRECISION, _SMALL = 1e-4, 2e-3, 1e-5
# Global models that a state may have besides the copies of all local ones.
_GLOBAL_MODELS = 4
# Weights of agents and penalties on which the optimum of two sites depends; and the largest part of the way to the
# optimum that a method may leave after so many rounds.
_AVERAGES, _FACTORS, _STRENGTH = ("records", "agents"), (1 / 4, 1 / 2, 1, 2, 4), 0.1
_ENDING_ROUNDS, _NEAR = 300, 0.01
_MISSPELT = "varaint"


def method_checks(name: str) -> Iterator[Check]:
    """Yield all checks of a method: a name in `list_algorithms`, or the path of a plug-in."""
    cls = resolve(name)
    for sharing, variant, params in itertools.product(
        cls.sharing, cls.variants, ({}, *cls.examples)
    ):
        case = MethodCase(name, variant, sharing, params)
        differs = [variant] if len(cls.variants) > 1 else []
        differs += [sharing] if len(cls.sharing) > 1 else []
        differs += [f"{key}={value}" for key, value in params.items()]
        label = f" ({', '.join(differs)})" if differs else ""
        checks = [*_ALWAYS]
        checks += noise.NOISY if cls.release else []
        checks += _OVER_RECORDS if sharing != "columns" else []
        checks += _OVER_ROWS if sharing == "rows" else []
        checks += [approaches_a_solution if sharing == "constrained" else learns_without_noise]
        for check in checks:
            yield Check.from_function(check, case, label)


# Its declarations


def is_a_frozen_dataclass_of_checked_parameters(case: MethodCase) -> None:
    """Ensure that the class refuses unknown parameters and variants, so that misspelt ones are noticed."""
    cls = case.cls
    ensure(
        "__dataclass_fields__" in vars(cls),
        f"{cls.__name__} is no dataclass of its own: decorate it with @parameters",
    )
    for wrong in ({"variant": "no such variant"}, {_MISSPELT: "paper"}):
        try:
            cls(**wrong)  # type: ignore[arg-type]
        except (ValidationError, TypeError):
            continue
        raise AssertionError(f"{wrong} is accepted: decorate the class with @parameters")


def facts_are_complete(case: MethodCase) -> None:
    """Ensure that docstring, caveats, needs, sampling, axes and guarantee are complete: report and ledger read them."""
    method = case.method
    axes = checked(Axes, declared.axes(case.cls), "tune")
    known = {f"params.{field.name}" for field in fields(case.cls)}
    wrong = [path for path in axes if path.startswith("params.") and path not in known]
    ensure(not wrong, f"tune names {', '.join(wrong)}, which is no parameter of it")
    text = vars(case.cls).get("__doc__") or ""
    # A dataclass without one gets its signature.
    ensure(
        bool(text) and not text.startswith(f"{case.cls.__name__}("),
        "it has no docstring that says what it is",
    )
    ensure(
        isinstance(method.caveats, tuple)
        and all(
            caveat in get_args(Caveat) or (caveat[:1].isupper() and caveat.rstrip().endswith("."))
            for caveat in method.caveats
        ),
        f"caveats are sentences, from a capital letter to a full stop: {method.caveats!r}",
    )
    for need in method.needs:
        ensure(need in get_args(Need), f"needs: {need!r} is none of {', '.join(get_args(Need))}")
    ensure(0 < method.sampling <= 1, f"sampling is a probability, not {method.sampling!r}")
    for sensitivity in ("local", "global"):
        guarantee = method.guarantee(sensitivity)
        ensure(
            isinstance(guarantee, Guarantee) and bool(guarantee.conditions),
            f"guarantee({sensitivity!r}) says neither what holds nor why not: {guarantee!r}",
        )
        ensure(
            method.release is not None or guarantee.kind == "none",
            "it releases nothing noisy and states a guarantee",
        )


def works_for_every_problem_that_it_does_not_refuse(case: MethodCase) -> None:
    """Ensure that results for every loss and penalty are finite, or recorded as diverged."""
    for setting in settings(case.sharing):
        if case.refusal(setting) is not None:
            continue
        spec = case.spec(setting, rounds=3, evaluate_every=3, seeds=[0])
        try:
            trace = engine.run_rounds(spec, setting.make(0)).dataset(spec, {})
        except engine.AlgorithmError as error:
            text = f"with problem: {inline_yaml(setting.problem)}: {error}"
            raise engine.AlgorithmError(text) from error.__cause__
        lost = trace.status.values != 0
        ensure(
            (np.isfinite(trace.train_loss.values[:, -1]) | lost).all(),
            f"with {setting.problem} its loss is not finite, and not recorded as diverged",
        )


def state_copies_bounds_the_state(case: MethodCase) -> None:
    """Ensure that the state is no larger than declared: the forecast of a job's memory rests on `state_copies`."""
    agents, seeds = 8, 3
    train, test = (np.tile(X, (1, 10)) for X in (case.data.X_train, case.data.X_test))
    data = replace(case.data, X_train=train, X_test=test)
    problem = {key: part for key, part in case.setting.problem.items() if key != "constraints"}
    spec = case.spec(dataset=data, agents=agents, problem=problem)
    final = run_without_engine(spec, data, rounds=2)
    model_size = seeds * math.prod(final.federation.problem.model_shape) * 4
    most = (case.method.resources.state_copies * agents + _GLOBAL_MODELS) * model_size
    # As in a checkpoint: all arrays.
    size = sum(map(len, final.content[1]))
    ensure(
        size <= most,
        f"its state has {size / agents / model_size:.1f} copies of all local models, state_copies says "
        f"{case.method.resources.state_copies}",
    )


# Its results


def what_it_measures_has_units_and_values(case: MethodCase) -> None:
    """Ensure that the variables of a trace have units, long names and finite values."""
    trace = case.usual
    for name, variable in trace.data_vars.items():
        known = "units" in variable.attrs or "flag_values" in variable.attrs
        ensure(known and bool(variable.attrs["long_name"]), f"{name} has no units or long name")
    for name in case.method.variables:
        measured = np.isfinite(after_start(trace)[name])
        ensure(measured.all(), f"{name} is not measured in every round")
    ensure(trace.status.isin(SUCCESSFUL).all(), "a run fails in the first rounds")
    ensure(np.isfinite(trace.train_loss).all(), "train_loss is not finite")


def repetition_changes_no_bit(case: MethodCase) -> None:
    """Ensure that a second run gives the same trace: random numbers come from the streams alone."""
    ensure_same(case.usual, case.trace(), "a repetition")


def going_on_from_a_checkpoint_changes_no_bit(case: MethodCase) -> None:
    """Ensure that a resumed run gives the same trace: later rounds depend on the state alone."""
    with tempfile.TemporaryDirectory() as folder:
        half = Halfway(Path(folder, "state"), 1 if case.cls.one_shot else 6)
        with contextlib.suppress(StoppedError):
            engine.run_rounds(case.spec(), case.data, Context(checkpoint=half))
        # Another run in between, as in a process that computes several runs.
        run_without_engine(case.spec(), case.data, rounds=1)
        trace = engine.run_rounds(case.spec(), case.data, Context(checkpoint=half))
    resumed = trace.dataset(case.spec(), {}).drop_vars("seconds")
    ensure_same(case.usual, resumed, "a restart from a checkpoint")


def threads_and_the_order_of_agents_change_no_bit(case: MethodCase) -> None:
    """Ensure that a step reads and writes its own block only, and that sums are in the order of agents."""
    usual = run_without_engine(case.spec(), case.data, ROUNDS, size=1).content
    with workers(3) as threads:
        pools = {"threads change": threads, "the order of agents changes": backwards}
        for change, pool in pools.items():
            final = run_without_engine(case.spec(), case.data, ROUNDS, size=1, pool=pool)
            ensure(
                final.content == usual,
                f"{change} the state: a step reads and writes its block's slice only",
            )


def another_block_of_agents_agrees_within_rounding(case: MethodCase) -> None:
    """Ensure that agents that are served together know nothing of each other."""
    usual = run_without_engine(case.spec(), case.data, ROUNDS).state.w
    for size in (1,) if case.sharing == "columns" else (1, 3):
        model = run_without_engine(case.spec(), case.data, ROUNDS, size=size).state.w
        ensure(
            np.allclose(model, usual, rtol=_ROUNDING, atol=_SMALL),
            f"the model is another one if {size} agents are served together",
        )


def another_block_of_seeds_agrees_within_rounding(case: MethodCase) -> None:
    """Ensure that a seed's model does not depend on the other seeds of its batch."""
    # By rounds without the engine: it computes one seed of a method that draws nothing.
    together, alone = (
        run_without_engine(spec, case.data, ROUNDS).state.w
        for spec in (case.spec(), case.spec(seeds=[1]))
    )
    gap = np.abs(together[1] - alone[0]).max()
    ensure(
        gap <= _ROUNDING * max(1, np.abs(alone).max()),
        f"another block of seeds changes the model by {gap:.2g}",
    )


def double_precision_agrees_within_rounding(case: MethodCase) -> None:
    """Ensure that a run in double precision gives the same trace within the rounding of single precision."""
    ensure_agreement(
        case.usual, case.trace(dtype="float64"), "double precision", _PRECISION, _SMALL
    )


def seeds_differ_where_something_is_drawn(case: MethodCase) -> None:
    """Ensure that seeds give different models where something is drawn, and equal ones where nothing is."""
    models = run_without_engine(case.spec(), case.data, ROUNDS).state.w
    different = len(np.unique(models.reshape(len(models), -1), axis=0))
    drawn = case.cls.release is not None or case.spec().method.draws
    # A sum over agents may be rounded otherwise at another place in the batch of seeds.
    gap = np.abs(models - models[0]).max()
    ensure(
        different == 3 if drawn else bool(gap <= _ROUNDING * max(1, np.abs(models).max())),
        f"three seeds give {different} results; it "
        + ("declares noise or draws" if drawn else "declares neither noise (release) nor draws"),
    )


def learns_without_noise(case: MethodCase) -> None:
    """Ensure that the training objective falls from where it starts."""
    # A mean of models that were each trained on a few records need not be near a minimum.
    alone: dict[str, Any] = {"agents": 1} if case.cls.one_shot else {}
    last = _LEARNING_ROUNDS
    spec = case.spec(epsilon=math.inf, rounds=last, evaluate_every=last, seeds=[0], **alone)
    start, end = (run_without_engine(spec, case.data, rounds=n).objective for n in (0, spec.rounds))
    ensure(
        (end < start).all(),
        f"after {spec.rounds} rounds without noise the objective is {end[0]:.4g}, it was {start[0]:.4g}",
    )


def approaches_the_optimum_of_the_stated_problem(case: MethodCase) -> None:
    """Ensure that a run without noise ends near the optimum of its problem, not of one with other weights."""
    if case.method.fixed_point:
        return
    data = _two_sites(case.data)
    known: dict[str, Any] = {"dataset": data, "agents": {"scheme": "by_writer"}, "seeds": [0]}
    known |= {"epsilon": math.inf, "dtype": "float64", "rounds": 4 * _ENDING_ROUNDS}
    strength = _STRENGTH

    def stated(average: str, factor: float) -> dict[str, Any]:
        weighed = {"per": "total", "average": average, "strength": factor * strength}
        return known | {"problem": case.setting.problem | weighed}

    def begin(average: str, factor: float) -> FinalState:
        return run_without_engine(case.spec(**stated(average, factor)), data, 0)

    def part_left(state: State, average: str, factor: float) -> float:
        """Return the part of the way from a model of zeros to an optimum that is left."""
        start = begin(average, factor)
        w = start.federation.problem.optimum()
        ends = (state, Models(w, np.broadcast_to(w, (2, *w.shape))))
        here, least = (replace(start, state=end).objective.item() for end in ends)
        return (here - least) / (start.objective.item() - least)

    # A strong l1 penalty has its optimum where methods start.
    while not begin("records", max(_FACTORS)).federation.problem.optimum().any():
        strength /= 4
    for average in _AVERAGES:
        spec = case.spec(**stated(average, 1))
        if not begin(average, 1).federation.problem.loss.convex:
            return
        state = run_without_engine(spec, data, _ENDING_ROUNDS).state
        if (near := part_left(state, average, 1)) < _NEAR:
            continue
        # A slow method still approaches its optimum, perhaps not in each round.
        state = run_without_engine(spec, data, 4 * _ENDING_ROUNDS).state
        if (later := part_left(state, average, 1)) < max(0.8 * near, _NEAR):
            continue
        others = [
            weights for weights in itertools.product(_AVERAGES, _FACTORS) if weights != (average, 1)
        ]
        nearest, other, factor = min((part_left(state, *weights), *weights) for weights in others)
        ensure(
            nearest > later / 4,
            f"with average: {average} it ends near the optimum with average: {other} and {factor:g} times the "
            "strength; `parts.objective` and `parts.mean_objective` have the stated weights; or say what its "
            "`fixed_point` is",
        )
        ensure(
            False,
            f"with average: {average} {near:.1%} of the way to the optimum are left after {_ENDING_ROUNDS} rounds, and "
            f"{later:.1%} after {4 * _ENDING_ROUNDS}: it ends elsewhere; say what its `fixed_point` is",
        )


def _two_sites(data: Dataset) -> Dataset:
    """Return the data of two sites; the second has few of the records, with opposite targets."""
    y: Array = data.y_train.copy()
    few = np.arange(len(y)) >= 0.8 * len(y)
    y[few] = y.max() + y.min() - y[few]
    return replace(written_by(data, few.astype(np.int32), ["large", "small"]), y_train=y)


def approaches_a_solution(case: MethodCase) -> None:
    """Ensure that the violation of constraints falls, or the objective where there is no violation."""
    trace = case.trace(rounds=_LEARNING_ROUNDS, evaluate_every=1, seeds=[0]).isel(seed=0)
    merit = trace.train_loss + 100 * trace.feasibility
    ensure(
        merit[-1] < merit[0],
        f"after {_LEARNING_ROUNDS} rounds objective and violation are {merit[-1]:.4g}, they were {merit[0]:.4g}",
    )


# Rows


def seeded_shares_are_a_partition_of_their_own(case: MethodCase) -> None:
    """Ensure that a seed with a partition of its own gives the same trace alone as in a batch."""
    shuffled = {"scheme": "iid", "agents": AGENTS, "shuffle": True}
    block, single = case.trace(agents=shuffled), case.trace(agents=shuffled, seeds=[2])
    ensure_agreement(
        block.sel(seed=2), single.sel(seed=2), "another block of shuffled seeds", _ROUNDING
    )


def writers_serve_as_agents(case: MethodCase) -> None:
    """Ensure that a method runs where agents differ in size and one agent has no record."""
    writers = np.arange(RECORDS) % 5
    writers[writers == 3] = 2
    data = written_by(case.data, writers, [f"writer {number}" for number in range(5)])
    trace = case.trace(dataset=data, agents={"scheme": "by_writer"})
    ensure(np.isfinite(trace.train_loss).all(), "its loss is not finite")


_ALWAYS: Sequence[Callable[[MethodCase], None]] = (
    is_a_frozen_dataclass_of_checked_parameters,
    facts_are_complete,
    works_for_every_problem_that_it_does_not_refuse,
    what_it_measures_has_units_and_values,
    repetition_changes_no_bit,
    going_on_from_a_checkpoint_changes_no_bit,
    threads_and_the_order_of_agents_change_no_bit,
    another_block_of_agents_agrees_within_rounding,
    another_block_of_seeds_agrees_within_rounding,
    double_precision_agrees_within_rounding,
    seeds_differ_where_something_is_drawn,
    *noise.TOTALS,
)
_OVER_RECORDS = (state_copies_bounds_the_state, seeded_shares_are_a_partition_of_their_own)
_OVER_ROWS = (writers_serve_as_agents, approaches_the_optimum_of_the_stated_problem)
