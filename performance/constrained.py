"""Processor time of `prox_al` against a plain transcription of he2023's Algorithms 1 and 2 in numpy and scipy.

    python performance/constrained.py [--rounds 1000] [--repeats 3]

The transcription goes agent by agent: it factors the quadratics of (15) once, and leaves other subproblems to scipy's
L-BFGS, as a reader of the paper would. Both do the same rounds with one thread, in turns. An instance of table 1's
largest row takes about 5,000.
"""

import argparse
import statistics
import time

import numpy as np
from scipy import linalg, optimize
from threadpoolctl import threadpool_limits

from admmbench.datasets import load_dataset
from admmbench.engine.rounds import assemble
from admmbench.engine.threads import workers
from admmbench.problems.constraints import Means, Quadratics
from admmbench.spec.run import RunSpec

NEYMAN_PEARSON = {
    "loss": "logistic",
    "objective": {"mean_loss": {"where": {"label": 0}}},
    "constraints": [{"mean_loss": {"where": {"label": 1}}, "at_most": 0.2}],
}
CASES = {
    "table 1, d = 500, n = 10": {
        "dataset": {"name": "synthetic_qp", "d": 500, "m": 5},
        "agents": 10,
        "params": {},
    },
    "table 2, breast, n = 20": {
        "dataset": "breast_cancer_wisconsin",
        "agents": {"scheme": "stratified", "agents": 20, "train": "all"},
        "problem": NEYMAN_PEARSON,
        "params": {"beta": 300, "rho": 0.01, "s": 0.001},
    },
}


def suite(spec: RunSpec, rounds: int) -> tuple[float, np.ndarray]:
    """Processor seconds of some rounds, and the model after them."""
    with workers(1) as pool:
        federation = assemble(spec, load_dataset(spec.dataset), pool)
        begin = time.process_time()
        state = spec.method.init(federation)
        for t in range(1, rounds + 1):
            spec.method.round(t, state, federation)
        return time.process_time() - begin, state.model[0]


def plain(spec: RunSpec, rounds: int) -> tuple[float, np.ndarray]:
    """The same by the transcription."""
    with workers(1) as pool:
        federation = assemble(spec, load_dataset(spec.dataset), pool)
        problem, n = federation.problem, federation.problem.n_agents
        functions, server = problem.block(slice(0, n)), problem.server
        method, d = spec.method, problem.model_shape[1]
        rho, beta, pull = method.rho, method.beta, 1 / ((n + 1) * method.beta)
        begin = time.process_time()
        make = Quadratic if isinstance(functions, Quadratics) else NeymanPearson
        agents = [make(functions, i, pull, rho, beta) for i in range(n)]
        boss = Server(server, pull, n * rho, beta)
        w = np.full(d, method.start)
        centre, k, t = w, 0, 0
        u, dual = [w] * n, [-agent.gradient(w, centre) for agent in agents]
        for _ in range(rounds):
            tau = method.s / (k + 1) ** 2
            eps = max(method.q**t, 1e-6 * tau)
            w = boss.solve(
                np.mean([u[i] + dual[i] / rho for i in range(n)], axis=0), centre
            )  # (14)
            residual, t = eps, t + 1
            for i, agent in enumerate(agents):
                slope = agent.gradient(w, centre) + dual[i] - rho * (w - u[i])
                residual += np.abs(slope).max()  # (18)
                u[i] = agent.solve(w, centre, dual[i], u[i], eps)  # (15)
                dual[i] = dual[i] + rho * (u[i] - w)  # (16)
            if residual <= tau:  # (19)
                moved = max(part.update(w) for part in [*agents, boss])
                step = np.abs(w - centre).max() + beta * tau
                if step <= beta * method.eps1 and moved <= beta * method.eps2:  # (8)
                    break
                centre, k, t = w, k + 1, 0
                u, dual = [w] * n, [-agent.gradient(w, centre) for agent in agents]
        return time.process_time() - begin, w


class Quadratic:
    """P_i of an agent with a quadratic objective and linear equations."""

    def __init__(self, functions: Quadratics, i: int, pull: float, rho: float, beta: float) -> None:
        self.b, self.C, self.e = (
            functions.b[i, 0],
            functions.matrix[i, 0],
            functions.offset[i, 0],
        )
        identity = np.eye(len(self.b))
        self.H = functions.A[i, 0] + beta * self.C.T @ self.C + pull * identity
        self.factor = linalg.cho_factor(self.H + rho * identity)
        self.mu, self.pull, self.rho, self.beta = np.zeros(len(self.e)), pull, rho, beta

    def _constant(self, centre: np.ndarray) -> np.ndarray:
        return self.b + self.C.T @ (self.mu + self.beta * self.e) - self.pull * centre

    def gradient(self, w: np.ndarray, centre: np.ndarray) -> np.ndarray:
        """Of P_i."""
        return self.H @ w + self._constant(centre)

    def solve(
        self, w: np.ndarray, centre: np.ndarray, dual: np.ndarray, u: np.ndarray, eps: float
    ) -> np.ndarray:
        """(15)."""
        return linalg.cho_solve(self.factor, self.rho * w - dual - self._constant(centre))

    def update(self, w: np.ndarray) -> float:
        """Step of the multipliers; how far they moved."""
        change = self.beta * (self.C @ w + self.e)
        self.mu = self.mu + change
        return np.abs(change).max()


class NeymanPearson:
    """Likewise for Neyman-Pearson classification."""

    def __init__(self, functions: Means, i: int, pull: float, rho: float, beta: float) -> None:
        self.X, self.y, groups = functions.X[i, 0], functions.y[i, 0], functions.groups[i, 0]
        self.zero, self.one = groups[0] * functions.weights[0], groups[1]
        self.mu, self.pull, self.rho, self.beta = 0.0, pull, rho, beta

    def _merit(self, w: np.ndarray, centre: np.ndarray) -> tuple[float, np.ndarray]:
        margin = -self.y * (self.X @ w)
        losses, slopes = np.logaddexp(0, margin), -self.y / (1 + np.exp(-margin))
        p = max(0.0, self.mu + self.beta * (self.one @ losses - 0.2))
        apart = w - centre
        value = self.zero @ losses + p**2 / (2 * self.beta) + self.pull / 2 * (apart @ apart)
        return value, self.X.T @ ((self.zero + p * self.one) * slopes) + self.pull * apart

    def gradient(self, w: np.ndarray, centre: np.ndarray) -> np.ndarray:
        """Of P_i."""
        return self._merit(w, centre)[1]

    def solve(
        self, w: np.ndarray, centre: np.ndarray, dual: np.ndarray, u: np.ndarray, eps: float
    ) -> np.ndarray:
        """(15)."""

        def function(x: np.ndarray) -> tuple[float, np.ndarray]:
            value, gradient = self._merit(x, centre)
            apart = x - w
            return value + dual @ x + self.rho / 2 * (
                apart @ apart
            ), gradient + dual + self.rho * apart

        options = {"gtol": eps, "ftol": 0, "maxiter": 1000}
        return optimize.minimize(function, u, jac=True, method="L-BFGS-B", options=options).x

    def update(self, w: np.ndarray) -> float:
        """Step of the multipliers; how far they moved."""
        losses = np.logaddexp(0, -self.y * (self.X @ w))
        mu = max(0.0, self.mu + self.beta * (self.one @ losses - 0.2))
        change, self.mu = abs(mu - self.mu), mu
        return change


class Server:
    """P_0: linear equations, or nothing."""

    def __init__(self, server: Quadratics | Means, pull: float, rho: float, beta: float) -> None:
        d = server.matrix.shape[-1]
        self.C, self.e = np.zeros((0, d)), np.zeros(0)
        if isinstance(server, Quadratics):
            self.C, self.e = server.matrix[0, 0], server.offset[0, 0]
        self.factor = linalg.cho_factor(beta * self.C.T @ self.C + (pull + rho) * np.eye(d))
        self.mu, self.pull, self.rho, self.beta = np.zeros(len(self.e)), pull, rho, beta

    def solve(self, mean: np.ndarray, centre: np.ndarray) -> np.ndarray:
        """(14)."""
        constant = self.C.T @ (self.mu + self.beta * self.e) - self.pull * centre
        return linalg.cho_solve(self.factor, self.rho * mean - constant)

    def update(self, w: np.ndarray) -> float:
        """Step of the multipliers; how far they moved."""
        change = self.beta * (self.C @ w + self.e)
        self.mu = self.mu + change
        return np.abs(change).max(initial=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    print(f"{'case':28} {'plain':>9} {'suite':>9} {'ratio':>6}   models differ by")
    for name, case in CASES.items():
        spec = RunSpec(algorithm="prox_al", seeds=1, rounds=options.rounds, **case)
        times, apart = [], 0.0
        with threadpool_limits(1):
            for _ in range(options.repeats):
                (slow, theirs), (fast, ours) = (
                    plain(spec, options.rounds),
                    suite(spec, options.rounds),
                )
                times.append((slow, fast))
                apart = float(np.abs(ours - theirs).max())
        slow, fast = (statistics.median(each) for each in zip(*times, strict=True))
        ratio = statistics.median(fast / slow for slow, fast in times)
        each = 1e3 / options.rounds
        print(f"{name:28} {each * slow:6.2f} ms {each * fast:6.2f} ms {ratio:6.2f}   {apart:.1g}")


if __name__ == "__main__":
    main()
