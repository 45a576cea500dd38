"""Processor time of `prox_al` against a plain transcription of he2023's Algorithms 1 and 2 in numpy and scipy.

    python performance/constrained.py [--rounds 200] [--repeats 3]

The transcription goes agent by agent: it factors the quadratics of (15) once, and leaves other subproblems to scipy's
L-BFGS, as a reader of the paper would. Both do the same rounds of the first outer iteration with one thread, in turns.
"""

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
from scipy import linalg, optimize
from threadpoolctl import threadpool_limits

from admmbench.datasets import load_dataset
from admmbench.engine.federation import workers
from admmbench.engine.rounds import assemble
from admmbench.engine.spec import RunSpec
from admmbench.problems.constraints import Means, Quadratics

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
        pull, rho, beta = 1 / ((n + 1) * method.beta), method.rho, method.beta
        w = np.full(d, method.start)
        begin = time.process_time()
        make = quadratic if isinstance(functions, Quadratics) else means
        gradients, solvers = zip(
            *(make(functions, i, pull, rho, beta, w) for i in range(n)), strict=True
        )
        solve_server = of_server(server, pull, n * rho, beta, w)
        u, dual = [w.copy() for _ in range(n)], [-gradient(w) for gradient in gradients]
        for t in range(rounds):
            w = solve_server(np.mean([u[i] + dual[i] / rho for i in range(n)], axis=0))
            for i in range(n):
                np.abs(gradients[i](w) + dual[i] - rho * (w - u[i])).max()  # (18)
                u[i] = solvers[i](w, dual[i], u[i], max(method.q**t, 1e-6 * method.s))
                dual[i] = dual[i] + rho * (u[i] - w)
        return time.process_time() - begin, w


Solver = Callable[[np.ndarray, np.ndarray, np.ndarray, float], np.ndarray]


def quadratic(
    functions: Quadratics, i: int, pull: float, rho: float, beta: float, centre: np.ndarray
) -> tuple[Callable[[np.ndarray], np.ndarray], Solver]:
    """Gradient of P_i, and the solution of (15)."""
    A, b = functions.A[i, 0], functions.b[i, 0]
    C, e = functions.linear.matrix[i, 0], functions.linear.offset[i, 0]
    H = A + beta * C.T @ C + pull * np.eye(len(b))
    constant = b + beta * C.T @ e - pull * centre
    factor = linalg.cho_factor(H + rho * np.eye(len(b)))
    return (
        lambda w: H @ w + constant,
        lambda w, dual, u, eps: linalg.cho_solve(factor, rho * w - dual - constant),
    )


def means(
    functions: Means, i: int, pull: float, rho: float, beta: float, centre: np.ndarray
) -> tuple[Callable[[np.ndarray], np.ndarray], Solver]:
    """Likewise for Neyman-Pearson classification."""
    X, y, groups = functions.X[i, 0], functions.y[i, 0], functions.groups[i, 0]
    zero, one = groups[0] * functions.weights[0], groups[1]

    def merit(w: np.ndarray) -> tuple[float, np.ndarray]:
        margin = -y * (X @ w)
        losses, slopes = np.logaddexp(0, margin), -y / (1 + np.exp(-margin))
        p = max(0.0, beta * (one @ losses - 0.2))
        value = zero @ losses + p**2 / (2 * beta) + pull / 2 * ((w - centre) ** 2).sum()
        return value, X.T @ ((zero + p * one) * slopes) + pull * (w - centre)

    def solve(w: np.ndarray, dual: np.ndarray, u: np.ndarray, eps: float) -> np.ndarray:
        def function(x: np.ndarray) -> tuple[float, np.ndarray]:
            value, gradient = merit(x)
            return value + dual @ x + rho / 2 * ((x - w) ** 2).sum(), gradient + dual + rho * (
                x - w
            )

        options = {"gtol": eps, "ftol": 0, "maxiter": 1000}
        return optimize.minimize(function, u, jac=True, method="L-BFGS-B", options=options).x

    return lambda w: merit(w)[1], solve


def of_server(
    server: Quadratics | Means, pull: float, rho: float, beta: float, centre: np.ndarray
) -> Callable[[np.ndarray], np.ndarray]:
    """Solution of (14)."""
    C = np.zeros((0, len(centre))), np.zeros(0)
    if isinstance(server, Quadratics):
        C = server.linear.matrix[0, 0], server.linear.offset[0, 0]
    H = beta * C[0].T @ C[0] + (pull + rho) * np.eye(len(centre))
    factor = linalg.cho_factor(H)
    constant = beta * C[0].T @ C[1] - pull * centre
    return lambda mean: linalg.cho_solve(factor, rho * mean - constant)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
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
