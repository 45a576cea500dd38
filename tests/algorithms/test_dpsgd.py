"""DPSGD: a transcription, samples of records, and secure sums."""

import math
from dataclasses import replace

import dp_accounting as dp
import numpy as np
import pytest

from admmbench import simulate
from admmbench.contracts.made_up_data import make_dataset
from admmbench.contracts.runs import run_without_engine
from admmbench.engine.streams import sample_key
from admmbench.privacy.samplers import poisson_sample
from tests.algorithms.literal_huang2019 import (
    DELTA,
    EPS,
    LOG,
    LOGISTIC,
    SEEDS,
    UNEQUAL,
    J,
    Literal,
    P,
    T,
    check_rounds,
    run_of,
    unequal,
)
from tests.algorithms.runs import assert_trajectories, states


def dpsgd(q, falls=False):
    def round(run, k):
        """Algorithm 1 of Abadi et al. (2016): a sum over a Poisson sample, over the expected size of the sample."""
        total = np.zeros(J)
        for i in range(P):
            m, g = run.m[i], np.zeros(J)
            for j in poisson_sample(sample_key(run.seed, i), k, m, q) if q < 1 else range(m):
                a, b = run.A[i][j], run.b[i][j]
                g = g - b * a / (1 + math.exp(b * (a @ run.w)))
            total += run.noisy(g / (q * m), i, run.c1[i] / (q * m), k) + run.penalty(run.w)
        run.w = run.w - (0.1 / math.sqrt(k) if falls else 0.1) * total / P
        run.z = [run.w] * P

    return round


@pytest.mark.parametrize(("q", "penalty"), [(1.0, "l1"), (1.0, "l2"), (0.3, "l2"), (0.02, "l1")])
def test_trajectory_is_the_literal_one(q, penalty):
    check_rounds("dpsgd", {"sampling": q}, dpsgd(q), penalty)


def test_steps_may_fall():
    check_rounds("dpsgd", {"sampling": 0.3, "step": "sqrt"}, dpsgd(0.3, falls=True))


def test_noise_may_fall_in_a_constant_ratio():
    """From round to round by the same factor, with the total of noise that does not."""
    privacy = {"total": 3.0}
    spec = run_of("dpsgd", {"step": "sqrt"}, T, privacy=privacy, noise_ratio=0.25)
    budget = run_without_engine(spec, spec.dataset, 0).federation.privacy.epsilon
    course = [4 ** (-(k - 1) / (T - 1)) for k in range(1, T + 1)]
    unit = math.sqrt(sum(each**-2 for each in course) / T)

    def trajectory(run):
        for k in range(1, T + 1):
            run.eps = budget / (course[k - 1] * unit)
            dpsgd(1.0, falls=True)(run, k)
            yield run.w, run.z

    runs = [trajectory(Literal(seed, worst_case=True)) for seed in SEEDS]
    assert_trajectories(states(spec), runs)


@pytest.mark.parametrize(
    ("relation", "theirs"), [("zero_out", "REPLACE_SPECIAL"), ("replace", "REPLACE_ONE")]
)
@pytest.mark.parametrize("trust", ["agents", "secure_sum"])
def test_a_sample_is_paid_for_as_one(trust, relation, theirs):
    """The noise covers a contribution over q m, and the total has credit for q: as in dp-accounting's events."""
    q, rounds, multiplier = 0.1, 4, math.sqrt(2 * LOG)
    trace = simulate(
        make_dataset(90, n_classes=2),
        "dpsgd",
        {"sampling": q},
        problem="logistic",
        agents=3,
        epsilon=1.0,
        delta=DELTA,
        sensitivity="global",
        privacy={"trust": trust, "relation": relation},
        rounds=rounds,
        evaluate_every=1,
        seeds=40,
    )
    std = 2 / (q * 30) * multiplier / (math.sqrt(3) if trust == "secure_sum" else 1)
    found = float(trace.noise_magnitude.mean())
    assert found == pytest.approx(std * math.sqrt(2 / math.pi), rel=0.05)
    one = dp.PoissonSampledDpEvent(q, dp.GaussianDpEvent(2 * multiplier))
    accountant = dp.pld.PLDAccountant(dp.NeighboringRelation[theirs])
    accountant.compose(dp.SelfComposedDpEvent(one, rounds))
    assert float(trace.epsilon_total[-1]) == pytest.approx(accountant.get_epsilon(DELTA), rel=0.02)
    assert trace.epsilon_total.attrs["guarantee"] == "conditional"


def slopes(data, w, seeds=1, **changes):
    """What the server steps along after a round from a model, shape (S, J), and what each ledger was told."""
    given = {"agents": UNEQUAL, "seeds": seeds, **changes}
    spec = run_of("dpsgd", {"learning_rate": 1.0}, 1, data, **given)
    begun = run_without_engine(spec, data, 0)
    begun.state.w[:] = w
    spec.method.round(1, begun.state, begun.federation)
    return (w - begun.state.w)[:, 0], begun.federation.ledgers


@pytest.mark.parametrize("budget", [{"epsilon": EPS}, {"privacy": {"total": 2.0}}], ids=str)
@pytest.mark.parametrize("average", ["agents", "records"])
@pytest.mark.parametrize(
    "sizes", [(40, 15, 7), (31, 0, 31), (0, 0, 9, 0, 53, 0, 0), (60, 1, 1)], ids=str
)
def test_under_a_secure_sum_the_noise_that_is_drawn_is_what_the_ledgers_are_told(
    sizes, average, budget
):
    """By brute force: the mean with noise, of many seeds, and without, where an agent has a record or a null one."""
    data, x = unequal(sizes), np.full(J, J**-0.5, np.float32)
    records = {"max_l2_norm": 1}
    given = {"problem": {**LOGISTIC, "strength": 1e-12, "average": average, "records": records}}
    secure = {"privacy": {"trust": "secure_sum", **budget.get("privacy", {})}}
    w = -50 * np.sign(2 * data.y_train[0] - 1) * x  # as wrong as can be about the record
    noisy, ledgers = slopes(data, w, 2000, **given, **{**budget, **secure})
    clean, _ = slopes(data, w, **given)
    std = (noisy - clean).std()
    moved = []
    for first, size in zip(np.cumsum(sizes) - sizes, sizes, strict=True):
        means = []
        for record in [x, 0 * x][: 2 * (size > 0)]:
            X, y = data.X_train.copy(), data.y_train.copy()
            X[first], y[first] = record, y[0]
            means.append(slopes(replace(data, X_train=X, y_train=y), w, **given)[0])
        moved.append(np.linalg.norm(means[0] - means[1]) if means else 0.0)
    told = [math.sqrt(ledger.composition().gaussian) for ledger in ledgers]
    assert len(told) == len(sizes)
    assert (np.array(moved) / std <= 1.03 * np.array(told)).all()
    assert max(moved) / std == pytest.approx(max(told), rel=0.03)
    if "privacy" in budget:
        assert 1.98 <= max(ledger.epsilon(DELTA) for ledger in ledgers) <= 2
