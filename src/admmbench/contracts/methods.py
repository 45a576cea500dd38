"""Contracts of every method, with each of its variants: true declarations, reproducible results, correct noise."""

from __future__ import annotations

import contextlib
import itertools
import math
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, get_args

import numpy as np
from pydantic import ValidationError

from admmbench.algorithms import resolve
from admmbench.audit.auditor import audit
from admmbench.audit.settings import AuditSettings
from admmbench.audit.worlds import other_records
from admmbench.base.algorithm import Caveat
from admmbench.base.outcomes import SUCCESSFUL
from admmbench.base.types import Guarantee, Models
from admmbench.contracts import Check, ensure
from admmbench.contracts.made_up_data import written_by
from admmbench.contracts.runs import (
    AGENTS,
    RECORDS,
    ROUNDS,
    Array,
    Backwards,
    Breaking,
    Halfway,
    MethodCase,
    StoppedError,
    agree,
    play,
    same,
    settings,
)
from admmbench.datasets import Dataset
from admmbench.engine import rounds as engine
from admmbench.engine.context import Context
from admmbench.engine.threads import workers
from admmbench.files.core_yaml import inline_yaml
from admmbench.privacy import COMPOSED, Relation, epsilon_total
from admmbench.problems.base import State
from admmbench.problems.needs import Need
from admmbench.results.statistics import after_start
from admmbench.spec.guarantees import guarantee_with_noise, ledger

_LEARNING_ROUNDS = 60
# Rounding of single precision: between runs in it, and against double precision.
_ROUNDING, _PRECISION, _SMALL = 1e-4, 2e-3, 1e-5
# Global models that a state may have besides the copies of all local ones.
_GLOBAL_MODELS = 4
# Two sites whose optimum depends on how agents and penalty are weighed, and what part of the way to it may be left.
_AVERAGES, _FACTORS, _STRENGTH = ("records", "agents"), (1 / 4, 1 / 2, 1, 2, 4), 0.1
_ENDING_ROUNDS, _NEAR = 300, 0.01
_MISSPELT = "varaint"
# Enough for what leaves without noise, and to see who takes part; bounds from so few runs show little.
_ATTACKED = 24
_FEW = AuditSettings(rounds=3, repeats=24, canaries=["worst", "natural"])
_SAMPLED = AuditSettings(rounds=4, repeats=64, canaries=["worst"])
_SUM = {"trust": "secure_sum"}
_SUM_OF_AGENTS = {"unit": "agent", **_SUM}
_ATTACKS: list[tuple[dict[str, Any], AuditSettings]] = [
    ({}, _FEW),
    (_SUM, _FEW),
    ({"unit": "agent"}, _FEW),
    (_SUM_OF_AGENTS, _FEW),
    ({**_SUM_OF_AGENTS, "participation": 0.25}, _SAMPLED),
    ({**_SUM_OF_AGENTS, "relation": "replace", "cohort": 1}, _SAMPLED),
]
"""What is protected from whom, and who takes part, as far as a method has totals for it; and how it is attacked."""


def of_method(name: str) -> Iterator[Check]:
    """Find all checks of a method: a name in `list_algorithms`, or the path of a plug-in."""
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
        checks += _NOISY if cls.release else []
        checks += _OVER_RECORDS if sharing != "columns" else []
        checks += _OVER_ROWS if sharing == "rows" else []
        checks += [approaches_a_solution if sharing == "constrained" else learns_without_noise]
        for check in checks:
            yield Check.of(check, case, label)


# Its declarations


def is_a_frozen_dataclass_of_checked_parameters(case: MethodCase) -> None:
    """Otherwise nobody would notice a misspelt parameter in a configuration."""
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
    """The report, the ledger and the forecast read them."""
    method = case.method
    text = vars(case.cls).get("__doc__") or ""
    # A dataclass without one gets its signature.
    ensure(
        bool(text) and not text.startswith(f"{case.cls.__name__}("),
        "it has no docstring that says what it is",
    )
    ensure(
        isinstance(method.caveats, tuple)
        and all(
            each in get_args(Caveat) or (each[:1].isupper() and each.rstrip().endswith("."))
            for each in method.caveats
        ),
        f"caveats are sentences, from a capital letter to a full stop: {method.caveats!r}",
    )
    for need in method.needs:
        ensure(need in get_args(Need), f"needs: {need!r} is none of {', '.join(get_args(Need))}")
    ensure(0 < method.sampling <= 1, f"sampling is a probability, not {method.sampling!r}")
    for sensitivity in ("local", "global"):
        found = method.guarantee(sensitivity)
        ensure(
            isinstance(found, Guarantee) and bool(found.conditions),
            f"guarantee({sensitivity!r}) says neither what holds nor why not: {found!r}",
        )
        ensure(
            method.release is not None or found.kind == "none",
            "it releases nothing noisy and states a guarantee",
        )


def works_for_every_problem_that_it_does_not_refuse(case: MethodCase) -> None:
    """Results are finite, or recorded as diverged."""
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
    """The forecast of a job's memory rests on it."""
    agents, seeds = 8, 3
    train, test = (np.tile(X, (1, 10)) for X in (case.data.X_train, case.data.X_test))
    data = replace(case.data, X_train=train, X_test=test)
    problem = {key: each for key, each in case.setting.problem.items() if key != "constraints"}
    spec = case.spec(dataset=data, agents=agents, problem=problem)
    played = play(spec, data, rounds=2)
    own = seeds * math.prod(played.federation.problem.model_shape) * 4
    most = (case.method.resources.state_copies * agents + _GLOBAL_MODELS) * own
    # As in a checkpoint: all arrays.
    size = sum(map(len, played.content[1]))
    ensure(
        size <= most,
        f"its state has {size / agents / own:.1f} copies of all local models, state_copies says "
        f"{case.method.resources.state_copies}",
    )


# Its results


def what_it_measures_has_units_and_values(case: MethodCase) -> None:
    """Results of any method have labels."""
    trace = case.usual
    for name, variable in trace.data_vars.items():
        known = "units" in variable.attrs or "flag_values" in variable.attrs
        ensure(known and bool(variable.attrs["long_name"]), f"{name} has no units or long name")
    for name in case.method.variables:
        found = np.isfinite(after_start(trace)[name])
        ensure(found.all(), f"{name} is not measured in every round")
    ensure(trace.status.isin(SUCCESSFUL).all(), "a run fails in the first rounds")
    ensure(np.isfinite(trace.train_loss).all(), "train_loss is not finite")


def repetition_changes_no_bit(case: MethodCase) -> None:
    """Random numbers come from the streams alone."""
    same(case.usual, case.trace(), "a repetition")


def going_on_from_a_checkpoint_changes_no_bit(case: MethodCase) -> None:
    """All that the rounds to come depend on is in the state."""
    with tempfile.TemporaryDirectory() as folder:
        half = Halfway(Path(folder, "state"), 1 if case.cls.one_shot else 6)
        with contextlib.suppress(StoppedError):
            engine.run_rounds(case.spec(), case.data, Context(checkpoint=half))
        play(case.spec(), case.data, rounds=1)  # whatever else the process does meanwhile
        trace = engine.run_rounds(case.spec(), case.data, Context(checkpoint=half))
    resumed = trace.dataset(case.spec(), {}).drop_vars("seconds")
    same(case.usual, resumed, "a restart from a checkpoint")


def threads_and_the_order_of_agents_change_no_bit(case: MethodCase) -> None:
    """A step reads and writes its own block, and sums are in the order of agents."""
    usual = play(case.spec(), case.data, ROUNDS, size=1).content
    with workers(3) as threads:
        pools = {"threads change": threads, "the order of agents changes": Backwards(1)}
        for what, pool in pools.items():
            found = play(case.spec(), case.data, ROUNDS, size=1, pool=pool).content
            ensure(
                found == usual, f"{what} the state: a step reads and writes its block's slice only"
            )


def another_block_of_agents_agrees_within_rounding(case: MethodCase) -> None:
    """Agents that are served together know nothing of each other."""
    usual = play(case.spec(), case.data, ROUNDS).state.w
    for size in (1,) if case.sharing == "columns" else (1, 3):
        model = play(case.spec(), case.data, ROUNDS, size=size).state.w
        ensure(
            np.allclose(model, usual, rtol=_ROUNDING, atol=_SMALL),
            f"the model is another one if {size} agents are served together",
        )


def another_block_of_seeds_agrees_within_rounding(case: MethodCase) -> None:
    """Seeds are a batch."""
    # By rounds without the engine: it computes one seed of a method that draws nothing.
    together, alone = (
        play(spec, case.data, ROUNDS).state.w for spec in (case.spec(), case.spec(seeds=[1]))
    )
    gap = np.abs(together[1] - alone[0]).max()
    ensure(
        gap <= _ROUNDING * max(1, np.abs(alone).max()),
        f"another block of seeds changes the model by {gap:.2g}",
    )


def double_precision_agrees_within_rounding(case: MethodCase) -> None:
    """No number is rounded on its way."""
    agree(case.usual, case.trace(dtype="float64"), "double precision", _PRECISION, _SMALL)


def seeds_differ_where_something_is_drawn(case: MethodCase) -> None:
    """Seeds agree within rounding where nothing is drawn."""
    models = play(case.spec(), case.data, ROUNDS).state.w
    different = len(np.unique(models.reshape(len(models), -1), axis=0))
    drawn = case.cls.release is not None or case.spec().method.draws
    # A sum over agents may be rounded otherwise at another place in the batch of seeds.
    gap = np.abs(models - models[0]).max()
    ensure(
        different == 3 if drawn else bool(gap <= _ROUNDING * max(1, np.abs(models).max())),
        f"three seeds give {different} results; it "
        + ("declares noise or draws" if drawn else "declares neither noise (release) nor draws"),
    )


def the_total_is_finite_where_noise_is_declared(case: MethodCase) -> None:
    """A message without noise has an infinite total, whatever budget was asked for."""
    trace, declared = case.usual, case.cls.release is not None
    noisy = bool((trace.noise_magnitude > 0).any())
    ensure(
        noisy == declared,
        f"its release is {case.cls.release!r}, and its noise is {'not ' if noisy else ''}zero",
    )
    composed = trace[COMPOSED]
    finite = bool(np.isfinite(after_start(trace)[COMPOSED]).all())
    ensure(finite == declared, f"{COMPOSED} does not fit its release")
    ensure(
        not declared or bool((composed.diff("round") > 0).all()),
        f"{COMPOSED} does not grow by rounds",
    )


def without_a_budget_nothing_is_noisy(case: MethodCase) -> None:
    """An infinite epsilon stands for the method without noise."""
    trace = after_start(case.trace(epsilon=math.inf))
    ensure(not trace.noise_magnitude.any(), "it adds noise though epsilon is infinite")
    infinite = np.isinf(trace.epsilon_total) & np.isinf(trace[COMPOSED])
    ensure(infinite.all(), "its total is finite without noise")


def the_total_is_finite_where_there_is_a_guarantee(case: MethodCase) -> None:
    """With a guarantee, the total is at most the composed loss."""
    for sensitivity in ("local", "global"):
        trace = after_start(case.trace(sensitivity=sensitivity))
        ensure(np.isfinite(trace.train_loss).all(), "its loss is not finite")
        kind = case.method.guarantee(sensitivity).kind
        worth = guarantee_with_noise(case.spec(sensitivity=sensitivity))
        ensure(
            kind == "none" or worth.kind != "none",
            f"with sensitivity: {sensitivity} its guarantee is {kind!r}, but its total is infinite: "
            f"{worth.conditions}; let guarantee say none",
        )
        most = math.inf if kind == "none" else trace[COMPOSED]
        fits = (trace.epsilon_total <= most) & (np.isinf(trace.epsilon_total) == (kind == "none"))
        ensure(
            fits.all(),
            f"with sensitivity: {sensitivity} its guarantee is {kind!r}, which epsilon_total does not fit",
        )


def learns_without_noise(case: MethodCase) -> None:
    """The training objective falls from where it starts."""
    # A mean of models that were each trained on a few records need not be near a minimum.
    alone: dict[str, Any] = {"agents": 1} if case.cls.one_shot else {}
    last = _LEARNING_ROUNDS
    spec = case.spec(epsilon=math.inf, rounds=last, evaluate_every=last, seeds=[0], **alone)
    start, end = (play(spec, case.data, rounds=n).objective for n in (0, spec.rounds))
    ensure(
        (end < start).all(),
        f"after {spec.rounds} rounds without noise the objective is {end[0]:.4g}, it was {start[0]:.4g}",
    )


def approaches_the_optimum_of_the_stated_problem(case: MethodCase) -> None:
    """Without noise it ends near no optimum of a problem that weighs agents or the penalty otherwise."""
    if case.method.fixed_point:
        return
    data = _two_sites(case.data)
    known: dict[str, Any] = {"dataset": data, "agents": {"scheme": "by_writer"}, "seeds": [0]}
    known |= {"epsilon": math.inf, "dtype": "float64", "rounds": _ENDING_ROUNDS}

    def stated(average: str, factor: float) -> dict[str, Any]:
        weighed = {"per": "total", "average": average, "strength": factor * _STRENGTH}
        return known | {"problem": case.setting.problem | weighed}

    def left(state: State, average: str, factor: float) -> float:
        """Part of the way from a model of zeros to an optimum that is left."""
        start = play(case.spec(**stated(average, factor)), data, 0)
        w = start.federation.problem.optimum()
        ends = (state, Models(w, np.broadcast_to(w, (2, *w.shape))))
        here, least = (replace(start, state=end).objective.item() for end in ends)
        return (here - least) / (start.objective.item() - least)

    for average in _AVERAGES:
        spec = case.spec(**stated(average, 1))
        if not play(spec, data, 0).federation.problem.loss.convex:
            return
        state = play(spec, data, _ENDING_ROUNDS).state
        if (near := left(state, average, 1)) < _NEAR:
            continue
        halfway = left(play(spec, data, _ENDING_ROUNDS // 2).state, average, 1)
        others = [each for each in itertools.product(_AVERAGES, _FACTORS) if each != (average, 1)]
        nearest, other, factor = min((left(state, *each), *each) for each in others)
        ensure(
            # On its way to one optimum it may pass another one.
            abs(halfway - near) > near / 20 or nearest > near / 4,
            f"with average: {average} it ends near the optimum with average: {other} and {factor:g} times the "
            "strength; `parts.objective` and `parts.mean_objective` have the stated weights; or say what its "
            "`fixed_point` is",
        )


def _two_sites(data: Dataset) -> Dataset:
    """Let one of two sites have few of the records, with targets that mean the opposite."""
    y: Array = data.y_train.copy()
    few = np.arange(len(y)) >= 0.8 * len(y)
    y[few] = y.max() + y.min() - y[few]
    return replace(written_by(data, few.astype(np.int32), ["large", "small"]), y_train=y)


def approaches_a_solution(case: MethodCase) -> None:
    """The violation of constraints falls, or the objective where there is none."""
    trace = case.trace(rounds=_LEARNING_ROUNDS, evaluate_every=1, seeds=[0]).isel(seed=0)
    merit = trace.train_loss + 100 * trace.feasibility
    ensure(
        merit[-1] < merit[0],
        f"after {_LEARNING_ROUNDS} rounds objective and violation are {merit[-1]:.4g}, they were {merit[0]:.4g}",
    )


# Its noise


def the_noise_matches_release_and_updates(case: MethodCase) -> None:
    """``release`` is compared with the ledgers; the engine compares ``updates`` in every round."""
    release = case.cls.release
    assert release is not None
    played = play(case.spec(), case.data, rounds=3).federation
    released = {cost.name for ledger in played.ledgers for cost, _ in ledger.spending()}
    ensure(
        released == {release.kind.name},
        f"it released {', '.join(released)}; declared: {release.kind.name} (law {release.law})",
    )


def the_noise_matches_cost_and_steady(case: MethodCase) -> None:
    """``cost`` and ``steady`` are compared with the ledgers: noise is calibrated with them."""
    if case.method.guarantee("global").kind == "none":
        return
    for relation in get_args(Relation):
        spec = case.spec(sensitivity="global", privacy={"relation": relation})
        played = play(spec, case.data, rounds=spec.rounds + case.method.extra_rounds)
        problem = played.federation.problem
        stated = ledger(spec, problem, played.federation.privacy).epsilon(spec.delta)
        drawn = epsilon_total(played.federation.ledgers, spec.delta)
        ensure(
            math.isclose(stated, drawn, rel_tol=1e-6),
            f"with relation: {relation} {spec.rounds} rounds are stated to cost {stated:.6g}, drawn is {drawn:.6g}",
        )


def worst_case_noise_knows_nothing_of_the_records(case: MethodCase) -> None:
    """With ``sensitivity: global`` its scale depends on no record, or there is no guarantee."""
    if case.method.guarantee("global").kind == "none":
        return
    # Equal seeds draw equal numbers, which the scale multiplies.
    run = partial(case.trace, sensitivity="global")
    traces, probes = [run(), run(dataset=case.setting.make(1))], []
    for data in other_records(case.data):
        with contextlib.suppress(engine.AlgorithmError):  # subproblems may not be solved on these
            probes.append(run(dataset=data))
    ensure(
        probes, "it ends in an error on all data with other records, which its noise is compared on"
    )
    usual, *others = (after_start(trace).noise_magnitude for trace in (*traces, *probes))
    ensure(
        all(np.array_equal(usual, other) for other in others),
        "with sensitivity: global other records change the scale of its noise, which its guarantee excludes",
    )


def attacks_find_nothing(case: MethodCase) -> None:
    """With ``sensitivity: global`` all that leaves is noisy, and moves no further than the ledger is told."""
    if case.method.guarantee("global").kind == "none":
        return
    for privacy, attacks in _ATTACKS:
        given: dict[str, Any] = {"delta": 1e-3, "rounds": _ATTACKED, "privacy": privacy}
        if "unit" in privacy:
            given["problem"] = {**case.setting.problem, "average": "agents"}
        if privacy and case.refusal(sensitivity="global", **given) is not None:
            continue
        found = audit(case.spec(sensitivity="global", **given), case.data, attacks)
        sentences = {each.level: each.sentence for each in reversed(found.failures)}
        where = f"with privacy: {inline_yaml(privacy)}: " if privacy else ""
        ensure(found.passed is not False, where + " ".join(reversed(sentences.values())))
        foreign = not case.cls.__module__.startswith("admmbench.")
        ensure(not (foreign and found.uncovered), where + found.summary)


def divergence_is_recorded(case: MethodCase) -> None:
    """One seed is lost, the others go on as if nothing had happened."""
    spec = case.spec()
    keeper = Breaking(Path(), {}, math.inf)
    trace = engine.run_rounds(spec, case.data, Context(checkpoint=keeper)).dataset(spec, {})
    status = list(trace.status.values)
    ensure(status == [0, 1, 0], f"with noise that is not a number in one seed, status is {status}")
    usual, other = (
        each.drop_vars(["seconds", "mistakes"], errors="ignore").sel(seed=[0, 2])
        for each in (case.usual, trace)
    )
    same(usual, other, "another seed's divergence")


# Rows


def seeded_shares_are_a_partition_of_their_own(case: MethodCase) -> None:
    """Seeds may share out the records in their own way."""
    shuffled = {"scheme": "iid", "agents": AGENTS, "shuffle": True}
    block, single = case.trace(agents=shuffled), case.trace(agents=shuffled, seeds=[2])
    agree(block.sel(seed=2), single.sel(seed=2), "another block of shuffled seeds", _ROUNDING)


def writers_serve_as_agents(case: MethodCase) -> None:
    """Agents differ in size, and one may have no record."""
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
    the_total_is_finite_where_noise_is_declared,
    the_total_is_finite_where_there_is_a_guarantee,
    without_a_budget_nothing_is_noisy,
)
_NOISY = (
    the_noise_matches_release_and_updates,
    the_noise_matches_cost_and_steady,
    worst_case_noise_knows_nothing_of_the_records,
    attacks_find_nothing,
    divergence_is_recorded,
)
_OVER_RECORDS = (state_copies_bounds_the_state, seeded_shares_are_a_partition_of_their_own)
_OVER_ROWS = (writers_serve_as_agents, approaches_the_optimum_of_the_stated_problem)
