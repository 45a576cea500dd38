"""Are there better classifiers for (28) of he2023 than the printed loss of 0.68? Scipy's SLSQP, from several starts.

    python examples/fairness.py [--records 30162]

It minimises the mean loss on adult-b with one agent, with differences between women and men of at most 0.01 at the
agent and at the server, and knows nothing of the suite's methods. Then it asks how low the loss becomes if the
coefficient of fnlwgt, which is not scaled, is the only one that may move.
"""

import argparse

import numpy as np
from numpy.typing import NDArray
from scipy import optimize
from scipy.special import expit

from admmbench import load_dataset

# As in the experiment: the share of the test part that the server has.
SERVER_RECORDS, WITHIN, FNLWGT = 5659, 0.01, 1

Array = NDArray[np.float64]


class Part:
    """Records of the agent, or of the server."""

    def __init__(self, X: Array, y: Array, women: Array) -> None:
        self.X, self.signs = X, 2 * y - 1
        # Mean over women minus mean over men.
        self.apart = women / women.sum() - (1 - women) / (1 - women).sum()

    def losses(self, w: Array) -> tuple[Array, Array]:
        """Loss and slope of each record."""
        margins = -self.signs * (self.X @ w)
        return np.logaddexp(0, margins), -self.signs * expit(margins)

    def mean(self, w: Array) -> tuple[float, Array]:
        """Mean loss and its gradient."""
        losses, slopes = self.losses(w)
        return float(losses.mean()), slopes @ self.X / len(slopes)

    def gap(self, w: Array) -> tuple[float, Array]:
        """Difference between women and men, and its gradient."""
        losses, slopes = self.losses(w)
        return float(self.apart @ losses), (self.apart * slopes) @ self.X


def parts(scaled: bool, records: int) -> tuple[Part, Part]:
    """What agent and server have: the first records of the training and of the test part."""
    data = load_dataset({"name": "adult_b", "scaled": scaled})
    sex = data.attributes["sex"]
    woman = sex.values.index("Female")
    agent = (data.X_train, data.y_train, sex.train == woman, records)
    server = (data.X_test, data.y_test, sex.test == woman, SERVER_RECORDS)
    first, second = (
        Part(*(np.asarray(each[:n], float) for each in (X, y, women)))
        for X, y, women, n in (agent, server)
    )
    return first, second


def solve(agent: Part, server: Part, start: Array) -> tuple[float, float, int]:
    """Loss and largest difference at SLSQP's solution, and its iterations."""
    both = (agent, server)

    def slack(w: Array) -> Array:
        gaps = np.array([part.gap(w)[0] for part in both])
        return np.concatenate([WITHIN - gaps, WITHIN + gaps])

    def slopes(w: Array) -> Array:
        jacobian = np.array([part.gap(w)[1] for part in both])
        return np.concatenate([-jacobian, jacobian])

    found = optimize.minimize(
        agent.mean,
        start,
        jac=True,
        method="SLSQP",
        constraints={"type": "ineq", "fun": slack, "jac": slopes},
        options={"maxiter": 500, "ftol": 1e-8},
    )
    return float(found.fun), WITHIN - slack(found.x).min(), int(found.nit)


def one_coefficient(agent: Part, server: Part) -> tuple[float, float, float]:
    """Lowest loss, largest difference and coefficient on a grid of coefficients of fnlwgt that meet the constraints."""
    sizes = np.concatenate([-np.logspace(-9, -5, 200), [0], np.logspace(-9, -5, 200)])
    found = []
    for size in sizes:
        w = np.zeros(agent.X.shape[1])
        w[FNLWGT] = size
        gap = max(abs(part.gap(w)[0]) for part in (agent, server))
        if gap <= WITHIN:
            found.append((agent.mean(w)[0], gap, float(size)))
    return min(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=30_162)
    records = parser.parse_args().records
    agent, server = parts(True, records)
    d = agent.X.shape[1]
    starts = {
        **{f"w = {value:g}": np.full(d, value) for value in (0, 0.1, 1, -1)},
        "w normal": np.random.default_rng(0).normal(size=d),
    }
    print(f"{'start':10} {'loss':>8} {'largest difference':>19} {'iterations':>11}")
    for name, start in starts.items():
        loss, gap, steps = solve(agent, server, start)
        print(f"{name:10} {loss:8.4f} {gap:19.6f} {steps:11}", flush=True)
    loss, gap, size = one_coefficient(*parts(False, records))
    print(
        f"only the coefficient of fnlwgt, {size:.3g}: loss {loss:.4f}, largest difference {gap:.4f}"
    )


if __name__ == "__main__":
    main()
