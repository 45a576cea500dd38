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
from admmbench.spec.run import RunSpec
from tests.algorithms.literal_baselines import LOGISTIC, UNEQUAL, unequal
from tests.algorithms.literal_huang2019 import DELTA, EPS, LOG, check_trajectory
from tests.algorithms.records import J, P


def dpsgd(run, k):
    """Noisy gradients of all agents at the common model, learning rate 0.1."""
    total = np.zeros(J)
    for i in range(P):
        total += run.noisy(run.loss_gradient(i, run.w), i, 1, k) + run.penalty(run.w)
    run.w = run.w - 0.1 * total / P
    run.z = [run.w] * P


def dpsgd_sampled(q):
    def round(run, k):
        """Algorithm 1 of Abadi et al. (2016): a sum over a Poisson sample, over the expected size of the sample."""
        total = np.zeros(J)
        for i in range(P):
            g = np.zeros(J)
            for j in poisson_sample(sample_key(run.seed, i), k, run.m[i], q):
                a, b = run.A[i][j], run.b[i][j]
                g = g - b * a / (1 + math.exp(b * (a @ run.w)))
            total += run.noisy(g / (q * run.m[i]), i, q, k) + run.penalty(run.w)
        run.w = run.w - 0.1 * total / P
        run.z = [run.w] * P

    return round


@pytest.mark.parametrize(
    ("literal", "penalty", "params"),
    [
        (dpsgd, "l1", {}),
        (dpsgd, "l2", {}),
        (dpsgd_sampled(0.3), "l2", {"sampling": 0.3}),
        (dpsgd_sampled(0.02), "l1", {"sampling": 0.02}),
    ],
)
def test_trajectory_is_the_literal_one(literal, penalty, params):
    check_trajectory("dpsgd", literal, penalty, params)


def test_dpsgd_protects_an_agent_of_one_record():
    """Another record moves its gradient by up to twice the bound, which is 1 in the unit ball."""
    given = {"epsilon": 1.0, "delta": DELTA, "sensitivity": "global", "problem": "logistic"}
    data, rounds = make_dataset(60, n_classes=2), {"rounds": 3, "evaluate_every": 1}
    trace = simulate(data, "dpsgd", agents=60, seeds=[0, 1, 2], **given, **rounds)
    std = 2 * math.sqrt(2 * math.log(1.25 / DELTA))
    found = trace["noise_magnitude"].sel(round=slice(1, None)).mean()
    assert found == pytest.approx(std * math.sqrt(2 / math.pi), rel=0.1)


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
    spec = RunSpec(
        dataset=data,
        algorithm="dpsgd",
        params={"learning_rate": 1.0},
        agents=UNEQUAL,
        seeds=seeds,
        rounds=1,
        dtype="float64",
        sensitivity="global",
        delta=DELTA,
        **changes,
    )
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
