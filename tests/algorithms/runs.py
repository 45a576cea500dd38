"""Runs of methods round by round, and their comparison with literal transcriptions."""

import numpy as np

from admmbench.contracts.runs import run_without_engine
from admmbench.datasets import load_dataset
from admmbench.engine.rounds import do_round


def rounds(spec):
    """Yield federation, state and messages: before the first round, without messages, and after each one."""
    begun = run_without_engine(spec, load_dataset(spec.dataset), 0)
    yield begun.federation, begun.state, None
    for t in range(1, spec.rounds + spec.method.extra_rounds + 1):
        for block in begun.federation.blocks:
            block.noise.begin_round(t)
        sent = do_round(spec.method, t, begun.state, begun.federation)
        yield begun.federation, begun.state, sent


def states(spec):
    """Copies of the variables after each round."""
    _, *after = (
        {name: np.copy(value) for name, value in vars(state).items()}
        for _, state, _ in rounds(spec)
    )
    return after


def assert_trajectories(found, literal, rtol=1e-7):
    """Compare states with what transcriptions yield for each seed: the global model, and those of agents or None."""
    close = {"rtol": rtol, "atol": rtol / 100}
    for s, trajectory in enumerate(literal):
        for state, (w, models) in zip(found, trajectory, strict=True):
            np.testing.assert_allclose(state["w"][s].squeeze(), w, **close)
            for i, model in enumerate([] if models is None else models):
                own = state["z"][i, s].squeeze()
                np.testing.assert_allclose(own, model, **close)
