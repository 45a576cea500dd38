"""PVP: a transcription, and the noise that it needs."""

import math

import numpy as np
import pytest

from admmbench import simulate
from admmbench.contracts.made_up_data import make_dataset
from admmbench.contracts.runs import run_without_engine
from admmbench.spec.run import RunSpec
from tests.algorithms.literal_huang2019 import DELTA, RHO, STRENGTH, check_trajectory
from tests.algorithms.records import P, in_unit_ball


def pvp(run, k):
    """Algorithm 2."""
    for i in range(P):
        exact = run.solve(i, run.gamma[i])
        run.z[i] = run.noisy(exact, i, STRENGTH + RHO, k)
    run.finish()


def test_trajectory_is_the_literal_one():
    check_trajectory("pvp", pvp, "l2", {"rho": RHO, "tolerance": 1e-10})


def test_pvp_protects_an_agent_of_one_record():
    given = {"epsilon": 1.0, "delta": DELTA, "sensitivity": "global", "problem": "logistic"}
    data = make_dataset(60, n_classes=2)
    trace = simulate(data, "pvp", {"rho": RHO}, agents=60, seeds=range(5), rounds=1, **given)
    std = 2 * math.sqrt(2 * math.log(1.25 / DELTA)) / RHO
    expected = std * math.sqrt(2 / math.pi)
    assert float(trace.noise_magnitude.mean()) == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize("tolerance", [0.3, 0.02])
def test_the_noise_of_pvp_covers_what_its_solver_leaves(tolerance):
    """A solution is within tolerance / stiffness of the exact one, for either neighbour."""
    given = {
        "problem": {"loss": "logistic", "penalty": "l2", "strength": 0.01, "per": "agent"},
        "agents": {"scheme": "iid", "agents": 3, "shuffle": False},
        "dtype": "float64",
        "sensitivity": "global",
        "rounds": 1,
    }
    stiffness = 0.01 + RHO
    sent = []
    for each in (tolerance, 1e-10):
        spec = RunSpec(
            dataset=in_unit_ball(),
            algorithm="pvp",
            params={"rho": RHO, "tolerance": each},
            seeds=[0],
            **given,
        )
        sent.append(run_without_engine(spec, in_unit_ball(), 1).state.z)
    apart = np.linalg.norm(sent[0] - sent[1], axis=(2, 3))
    assert (apart <= tolerance / stiffness).all()
    assert apart.max() > 0.05 * tolerance / stiffness
    loose, exact = (
        simulate(
            in_unit_ball(),
            "pvp",
            {"rho": RHO, "tolerance": each},
            epsilon=0.5,
            delta=DELTA,
            **given,
        )
        for each in (tolerance, 1e-10)
    )
    m = np.diff(np.linspace(0, in_unit_ball().n_train, 4).astype(int)).mean()
    ratio = loose.noise_magnitude / exact.noise_magnitude
    assert float(ratio.mean()) == pytest.approx(1 + 2 * tolerance * m, rel=0.05)
    np.testing.assert_allclose(loose.epsilon_total, exact.epsilon_total, rtol=1e-3)
