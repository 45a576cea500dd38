"""FedADMM-InSa: a transcription, whose agents stop at different steps and change their penalty parameters."""

import numpy as np

from tests.algorithms.literal_huang2019 import SEEDS, J, Literal, P, played

ROUNDS = 12
INSA = {
    "learning_rate": 0.5,
    "local_updates": 6,
    "beta": 0.5,
    "convexity": 0.2,
    "mu": 1.5,
    "tau": 1.4,
    "memory": 0.2,
}


def insa(seen):
    """Clients.local_update and Server.aggregate of the authors' code, with full gradients."""
    run = Literal()
    rate, E, start, c, mu, tau, delta = INSA.values()
    z, u, dual, beta = np.zeros(J), np.zeros((P, J)), np.zeros((P, J)), np.full(P, start)
    for _ in range(ROUNDS):
        used = beta.copy()
        for i in range(P):
            e = lambda v: run.gradient(i, v) - dual[i] + beta[i] * (v - z)  # noqa: B023, E731
            sigma = 0.999 * np.sqrt(2) / (np.sqrt(2) + np.sqrt(beta[i] / c))
            v, count = z.copy(), 0
            while count < E and np.linalg.norm(e(v)) > sigma * np.linalg.norm(e(z)):
                v, count = v - rate * e(v), count + 1
            seen.add(count)
            dual[i] -= beta[i] * (v - z)
            primal, gap = beta[i] * np.linalg.norm(v - u[i]), np.linalg.norm(v - z)
            if mu * primal < gap:
                beta[i] *= tau
            elif mu * gap < primal:
                beta[i] /= tau
            u[i] = v
        new = sum(used[i] * u[i] - dual[i] for i in range(P)) / used.sum()
        z = new / (1 + delta) + delta / (1 + delta) * z
        yield z, u, dual, beta


def test_trajectory_is_the_literal_one():
    states = played("fedadmm_insa", INSA, ROUNDS)
    for s in range(len(SEEDS)):
        counts: set[int] = set()
        for state, (z, u, dual, beta) in zip(states, insa(counts), strict=True):
            np.testing.assert_allclose(state["w"][s, 0], z, rtol=1e-7, atol=1e-9)
            np.testing.assert_allclose(state["z"][:, s, 0], u, rtol=1e-7, atol=1e-9)
            np.testing.assert_allclose(state["dual"][:, s, 0], dual, rtol=1e-7, atol=1e-9)
            np.testing.assert_allclose(state["beta"][:, s, 0, 0], beta, rtol=1e-12)
        assert len(counts) > 2
        assert len(set(beta)) > 1
