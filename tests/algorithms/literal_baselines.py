"""What transcriptions of DP-FedAvg, DP-SCAFFOLD and federated private ADMM share, and runs of methods by hand."""

import math
from dataclasses import replace
from unittest.mock import patch

import numpy as np

from admmbench.contracts.runs import run_without_engine
from admmbench.datasets import Attribute
from admmbench.privacy import Noise
from admmbench.spec.run import RunSpec
from tests.algorithms.records import SIZES, J, N, P, in_unit_ball
from tests.noise import noisy

STRENGTH, EPS, DELTA, T, SEEDS = 0.003, 0.9, 1e-4, 5, [4, 1]
LOGISTIC = {"loss": "logistic", "penalty": "l2", "strength": STRENGTH, "per": "agent"}
# That of two contributions.
MULTIPLIER = 2 * math.sqrt(2 * math.log(1.25 / DELTA)) / EPS
UNEQUAL = {"scheme": "by_writer"}


def played(name, params, rounds, data=None, problem=LOGISTIC, **given):
    """States after each round, of a run in double precision."""
    data = data or in_unit_ball()
    spec = RunSpec(
        dataset=data,
        algorithm=name,
        params=params,
        problem=problem,
        dtype="float64",
        rounds=rounds,
        **{"agents": P, "seeds": SEEDS, "sensitivity": "global", "delta": DELTA, **given},
    )
    begun, states = run_without_engine(spec, data, 0), []
    for t in range(1, rounds + 1):
        for block in begun.federation.blocks:
            block.noise.begin_round(t)
        spec.method.round(t, begun.state, begun.federation)
        states.append({name: np.copy(each) for name, each in vars(begun.state).items()})
    return states


def gradients():
    """The gradient of each agent's mean loss, at one model, without the penalty."""
    data = in_unit_ball()
    b = 2.0 * data.y_train - 1
    shares = np.split(np.arange(N), np.cumsum(SIZES)[:-1])

    def gradient(i, w):
        total = np.zeros(J)
        for j in shares[i]:
            x = data.X_train[j].astype(np.float64)
            total -= b[j] * x / (1 + math.exp(b[j] * (x @ w)))
        return total / len(shares[i])

    return gradient


def perturbed(value, bound, where, eps):
    return value if math.isinf(eps) else noisy(value, "gaussian", bound, MULTIPLIER, where)


def check_trajectory(name, params, literal, eps):
    """Compare models with those that ``literal(seed, eps)`` yields: the global one, and the local ones or None."""
    states = played(name, params, T, epsilon=eps)
    for s, seed in enumerate(SEEDS):
        for state, (w, models) in zip(states, literal(seed, eps), strict=True):
            np.testing.assert_allclose(state["w"][s, 0], w, rtol=1e-7, atol=1e-9)
            for i, model in enumerate(models or []):
                np.testing.assert_allclose(state["z"][i, s, 0], model, rtol=1e-7, atol=1e-9)


def unequal(sizes=(40, 15, 7)):
    """Agents of so many records, 62 together."""
    data = in_unit_ball()
    of = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    writer = Attribute(tuple("abcdefg"[: len(sizes)]), of, np.zeros(data.n_test, np.int32))
    return replace(data, attributes={"writer": writer})


def released(name, params, data, loss, records, w):
    """What the only agent releases first, without noise, from a model that is known; and the stated sensitivity."""
    problem = {"loss": loss, "strength": 0.02, "per": "agent", "records": records}
    spec = RunSpec(
        dataset=data,
        algorithm=name,
        params=params,
        problem=problem,
        agents=1,
        seeds=[0],
        dtype="float64",
        sensitivity="global",
    )
    begun, drawn = run_without_engine(spec, data, 0), []
    state = begun.state
    state.w[:], state.z[:] = w, w

    def none(noise, sensitivity, sampling=1.0):
        drawn.append(sensitivity.l2.item())
        return 0.0

    with patch.object(Noise, "gaussian", none):
        spec.method.round(1, state, begun.federation)
    return state.z[0, 0], drawn[0]
