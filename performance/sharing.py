"""ADMM sharing against scikit-learn: time to the same test loss, on all features of gisette or of its stand-in.

    python performance/sharing.py [--data gisette]

Twenty rounds of ADMM sharing (three parties, two threads) come first; then scikit-learn's L-BFGS gets as many
iterations as it needs to reach that test log loss, with as many threads; a second fit with this number is timed. Both
start from data in memory. Data are read as by the suite (ADMMBENCH_MIRROR, ADMMBENCH_CACHE).
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from threadpoolctl import threadpool_limits

from admmbench import load_dataset
from admmbench.datasets import Dataset
from admmbench.engine.context import Context
from admmbench.jobs.simulate import run_spec
from admmbench.spec.run import RunSpec

MOST_ITERATIONS = 2000


def sharing(data: Dataset, rounds: int, threads: int) -> tuple[float, float]:
    """Seconds, factorisations included, and test log loss."""
    spec = RunSpec(
        dataset=data,
        algorithm="admm_sharing",
        params={"rho": 0.25},
        problem={"loss": "logistic", "strength": 1 / data.n_train},
        agents={"scheme": "columns", "blocks": [2000, 2000, 1000]},
        rounds=rounds,
        evaluate_every=rounds,
        seeds=1,
    )
    small = {"scheme": "columns", "blocks": 1, "features": 10}  # loads what is compiled
    run_spec(spec.model_copy(update={"agents": small, "rounds": 2}), data)
    start = time.perf_counter()
    trace = run_spec(spec, data, Context(threads))
    return time.perf_counter() - start, float(trace.test_loss[0, -1])


def fit(data: Dataset, iterations: int, threads: int) -> tuple[float, float]:
    """Seconds and test log loss of scikit-learn's model after so many iterations of L-BFGS."""
    model = LogisticRegression(fit_intercept=False, max_iter=iterations)
    with warnings.catch_warnings(), threadpool_limits(threads):
        warnings.simplefilter("ignore", ConvergenceWarning)
        start = time.perf_counter()
        model.fit(data.X_train, data.y_train)
        seconds = time.perf_counter() - start
    return seconds, float(log_loss(data.y_test, model.predict_proba(data.X_test)))


def iterations_to(data: Dataset, loss: float, threads: int) -> int | None:
    """Fewest iterations after which the test loss is not above ``loss``, among 1, 2, 3, 5, 7, 10, ..."""
    for count in dict.fromkeys(np.geomspace(1, MOST_ITERATIONS, 40).round().astype(int).tolist()):
        if fit(data, count, threads)[1] <= loss:
            return count
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="gisette_like", choices=["gisette", "gisette_like"])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    data = load_dataset(options.data)
    seconds, loss = sharing(data, options.rounds, options.threads)
    print(f"ADMM sharing, {options.rounds} rounds: {seconds:.2f} s, test log loss {loss:.4f}")
    count = iterations_to(data, loss, options.threads)
    if count is None:
        whole, reached = fit(data, MOST_ITERATIONS, options.threads)
        print(f"scikit-learn does not reach it: {reached:.4f} after {whole:.2f} s")
        print(f"ratio to its complete fit: {seconds / whole:.2f}")
        return
    alone, reached = fit(data, count, options.threads)
    print(f"scikit-learn, {count} iterations: {alone:.2f} s, test log loss {reached:.4f}")
    print(f"ratio: {seconds / alone:.2f}")


if __name__ == "__main__":
    main()
