"""Literal transcription for the methods of hu2019: party by party, sample by sample.

The transcription leaves every subproblem of (6) and (7) to scipy, in float64, and draws from the same streams; whole
trajectories must agree. The losses are summed over N samples and the penalty is N lambda ||x||^2, which is N times
the mean objective. The noise D_m xi of (16) is sigma times normal coordinates in an orthonormal basis of the range of
D_m. No equation says which one, so the transcription takes the basis of the code; that it is one is tested in
``tests/problems``, and here that the noise has the covariance of the paper.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize
from sklearn.linear_model import LogisticRegression

from admmbench import simulate
from admmbench.contracts.made_up_data import make_dataset
from admmbench.contracts.runs import run_without_engine
from admmbench.engine.threads import workers
from admmbench.spec.run import RunSpec
from tests.noise import noisy

STRENGTH, RHO, EPS, DELTA, B1, T, SEEDS = 0.02, 0.4, 0.9, 1e-4, 0.3, 5, [4, 1]
N, N_TEST, BLOCKS = 16, 9, [3, 4, 20]


def with_columns(X, y, n_test=20):
    """A data set of given columns; the last rows test."""
    rows = len(X) - n_test
    dataset = make_dataset(rows, n_test, np.shape(X)[1], 2)
    X, y = np.asarray(X, np.float32), np.asarray(y, np.int64)
    parts = {"X_train": X[:rows], "X_test": X[rows:], "y_train": y[:rows], "y_test": y[rows:]}
    return replace(dataset, domain=(-math.inf, math.inf), **parts)


def awkward():
    """A party with dense columns, one whose columns are dependent, and one with more columns than samples."""
    rng = np.random.default_rng(0)
    rows = N + N_TEST
    one_hot = np.eye(3)[rng.integers(0, 3, rows)]
    X = np.hstack([rng.normal(size=(rows, 3)), one_hot, np.ones((rows, 1)), rng.random((rows, 20))])
    scores = X @ rng.normal(size=27)
    return with_columns(X, scores > np.median(scores), N_TEST)


def learnable(rows=80, kind="independent", parties=2, seed=0):
    """Parties with three columns each; they are independent, nearly those of the others, or the same."""
    rng = np.random.default_rng(seed)
    base, noise = rng.normal(size=(rows + 20, 3)), {"overlapping": 0.1, "same": 0.0}
    X = rng.normal(size=(rows + 20, 3 * parties))
    if kind != "independent":
        X = np.hstack([base] * parties) + noise[kind] * X
    scores = X @ rng.normal(size=3 * parties)
    return with_columns(X, scores + rng.normal(size=rows + 20) > 0)


def slope(kind, z, b):
    """Derivative of the loss of one sample."""
    miss = 1 / (1 + math.exp(b * z))
    return -b * miss if kind == "logistic" else -b * miss * (1 - miss)


def loss(kind, margin):
    """Of one sample."""
    return math.log1p(math.exp(-margin)) if kind == "logistic" else 1 / (1 + math.exp(margin))


class Literal:
    """State and equations of the transcription, for one seed."""

    def __init__(self, dataset, blocks, kind="logistic", rho=RHO, strength=STRENGTH):
        cuts = np.cumsum(blocks)[:-1]
        self.D = np.split(dataset.X_train.astype(np.float64), cuts, axis=1)
        self.D_test = np.split(dataset.X_test.astype(np.float64), cuts, axis=1)
        self.b, self.b_test = (2.0 * y - 1 for y in (dataset.y_train, dataset.y_test))
        self.N, self.M = len(self.b), len(blocks)
        self.kind, self.rho, self.weight = kind, rho, len(self.b) * strength
        self.strength = strength
        self.x = [np.zeros(d) for d in blocks]
        self.sent = [np.zeros(self.N) for _ in blocks]
        self.z, self.y = np.zeros(self.N), np.zeros(self.N)

    def parties(self):
        return range(self.M)

    def quadratic(self, m, y, penalty, offset):
        """The minimiser of N lambda ||x||^2 + <y, D_m x> + penalty/2 ||D_m x + offset||^2."""
        D = self.D[m]

        def value(v):
            return self.weight * v @ v + y @ (D @ v) + penalty / 2 * ((D @ v + offset) ** 2).sum()

        def gradient(v):
            return 2 * self.weight * v + D.T @ y + penalty * D.T @ (D @ v + offset)

        return optimize.minimize(
            value,
            self.x[m],
            jac=gradient,
            method="L-BFGS-B",
            options={"gtol": 1e-12, "ftol": 1e-17, "maxiter": 5000, "maxcor": 30},
        ).x

    def prediction_of_centre(self, i, s):
        """The minimiser of (7) for one sample: l'(z) - y + rho (z - s) = 0."""
        y, b = self.y[i], self.b[i]
        reach = (abs(y) + 1) / self.rho + 1
        return optimize.brentq(
            lambda z: slope(self.kind, z, b) - y + self.rho * (z - s),
            s - reach,
            s + reach,
            xtol=1e-14,
            rtol=1e-14,
        )

    def round(self, noise=None):
        """(6) to (8), or (16) where there is noise."""
        before = [sent.copy() for sent in self.sent]
        for m in self.parties():
            others = sum((before[k] for k in self.parties() if k != m), np.zeros(self.N))
            self.x[m] = self.quadratic(m, self.y, self.rho, others - self.z)
        self.send(noise)
        self.finish()

    def sequential_round(self, noise=None):
        """(6) with what the parties before m in this round, and those after it in the last one, have sent."""
        for m in self.parties():
            others = sum((self.sent[k] for k in self.parties() if k != m), np.zeros(self.N))
            self.x[m] = self.quadratic(m, self.y, self.rho, others - self.z)
            self.sent[m] = self.D[m] @ self.x[m]
        self.finish()

    def averaged_round(self, noise=None):
        """Boyd et al. (2011), section 7.3, for the penalty M rho."""
        gap = sum(self.sent) - self.z
        before = [sent.copy() for sent in self.sent]
        for m in self.parties():
            self.x[m] = self.quadratic(m, self.y, self.M * self.rho, gap / self.M - before[m])
        self.send(noise)
        self.finish()

    def send(self, noise):
        for m in self.parties():
            self.sent[m] = self.D[m] @ self.x[m] + (0 if noise is None else noise(m))

    def finish(self):
        s = sum(self.sent)
        self.z = np.array([self.prediction_of_centre(i, s[i]) for i in range(self.N)])
        self.y = self.y + self.rho * (s - self.z)

    @property
    def gap(self):
        return sum(self.sent) - self.z

    def train_loss(self):
        predictions = sum(D @ x for D, x in zip(self.D, self.x, strict=True))
        losses = [loss(self.kind, b * p) for b, p in zip(self.b, predictions, strict=True)]
        return sum(losses) / self.N + self.strength * sum(x @ x for x in self.x)

    def test_loss(self):
        predictions = sum(D @ x for D, x in zip(self.D_test, self.x, strict=True))
        losses = [loss(self.kind, b * p) for b, p in zip(self.b_test, predictions, strict=True)]
        return sum(losses) / len(losses)

    def lyapunov(self):
        """(13); every prox is the root of the derivative of N lambda u^2 + (u - v)^2 / 2."""
        total = (self.gap**2).sum()
        for m in self.parties():
            v = self.x[m] - self.D[m].T @ (self.y + self.rho * self.gap)
            prox = [
                optimize.brentq(lambda u, a=a: 2 * self.weight * u + u - a, -1 - abs(a), 1 + abs(a))
                for a in v
            ]
            total += ((self.x[m] - prox) ** 2).sum()
        gradient = [
            slope(self.kind, z, b) - y - self.rho * gap
            for z, b, y, gap in zip(self.z, self.b, self.y, self.gap, strict=True)
        ]
        return total + np.square(gradient).sum()


class Noise:
    """The draws of one seed: sigma times the basis of each party, in the order of the rounds."""

    def __init__(self, seed, bases, bounds, sigma=None):
        self.seed, self.bases, self.bounds, self.sigma = seed, bases, bounds, sigma
        self.drawn = [None] * len(bases)
        self.t = 0

    def __call__(self, m):
        zero = np.zeros(min(N, BLOCKS[m]))
        multiplier = math.sqrt(2 * math.log(1.25 / DELTA)) / EPS
        where = (self.seed, m, self.t, 0)
        xi = noisy(zero, "gaussian", self.bounds[m], multiplier, where, self.sigma)
        self.drawn[m] = xi
        basis = self.bases[m]
        return basis @ xi[: basis.shape[1]]

    def magnitude(self):
        return np.mean([np.abs(xi).mean(dtype=np.float64) for xi in self.drawn])


def bound(d, weight=N * STRENGTH, M=3, rho=RHO, b1=B1, c1=2):
    """Lemma 1; c1 = 2 bounds the second derivative of ||x||^2 (assumption 2.2)."""
    return 3 / (d * rho) * (weight * c1 + (1 + M * rho) * b1)


def corollary(epsilon, rounds, delta=DELTA):
    """(17) with delta' = delta."""
    return math.sqrt(2 * rounds * math.log(1 / delta)) * epsilon + rounds * epsilon * (
        math.exp(epsilon) - 1
    )


def specification(dataset, name, params=None, blocks=(3, 3), rounds=1, problem=None, **others):
    problem = {"loss": "logistic", "strength": 1e-3, **(problem or {})}
    return {
        "dataset": dataset,
        "algorithm": name,
        "params": params or {},
        # The paper's lambda weighs ||x||^2, the suite's strength ||x||^2 / 2.
        "problem": {**problem, "strength": 2 * problem["strength"]},
        "agents": {"scheme": "columns", "blocks": blocks if isinstance(blocks, int) else [*blocks]},
        "rounds": rounds,
        "evaluate_every": rounds,
        "dtype": "float64",
        **others,
    }


def trace_of(*args, **kwargs):
    return simulate(**specification(*args, **kwargs))


def final(dataset, name, params=None, blocks=(3, 3), **others):
    """The state after the last round, and the federation."""
    spec = RunSpec(**specification(dataset, name, params, blocks, **others))
    found = run_without_engine(spec, spec.dataset, spec.rounds)
    return found.state, found.federation


def mean_objective(X, b, w, strength):
    return np.log1p(np.exp(-b * (X @ w))).mean() + strength * w @ w


def scikit_learn(dataset, strength, columns=None):
    """The smallest mean objective, and the model."""
    X, b = dataset.X_train.astype(np.float64)[:, :columns], 2.0 * dataset.y_train - 1
    model = LogisticRegression(
        C=1 / (2 * len(b) * strength), fit_intercept=False, tol=1e-10, max_iter=10_000
    ).fit(X, b)
    w = model.coef_[0]
    return mean_objective(X, b, w, strength), w


def check_trajectory(name, params, kind, literal_round, private=False):
    """Compare a run of a method with what ``literal_round(run, noise)`` does in each round."""
    dataset = awkward()
    shared = {
        "problem": {"strength": STRENGTH, "loss": kind},
        "blocks": BLOCKS,
        "epsilon": EPS if private else math.inf,
        "delta": DELTA,
        "seeds": SEEDS,
        "rounds": T,
    }
    params = {"rho": RHO, **params}
    trace = trace_of(dataset, name, params, **{**shared, "evaluate_every": 1})
    last, federation = final(dataset, name, params, **shared)
    constants = [bound(d) for d in BLOCKS]
    with workers(1):  # as the code computes it
        bases = [block.parts.basis for block in federation.blocks]
    assert [basis.shape[1] for basis in bases] == [3, 3, N]

    for k, seed in enumerate(SEEDS):
        run = Literal(dataset, BLOCKS, kind)
        noise = Noise(seed, bases, constants, params.get("noise")) if private else None
        for t in range(1, T + 1):
            if private:
                noise.t = t
            literal_round(run, noise)
            found = trace.sel(seed=seed, round=t)
            close = {"rel": 2e-6, "abs": 1e-7}
            assert float(found.train_loss) == pytest.approx(run.train_loss(), **close)
            assert float(found.test_loss) == pytest.approx(run.test_loss(), **close)
            violation = np.abs(run.gap).sum()
            assert float(found.consensus_violation) == pytest.approx(violation, **close)
            assert float(found.lyapunov) == pytest.approx(run.lyapunov(), rel=1e-5, abs=1e-6)
            if private:
                assert float(found.noise_magnitude) == pytest.approx(noise.magnitude(), rel=1e-6)
                epsilon = EPS
                if "noise" in params:
                    epsilon = math.sqrt(2 * math.log(1.25 / DELTA)) * max(constants) / 0.6
                assert float(found.epsilon_corollary) == pytest.approx(corollary(epsilon, t))
            elif name == "dp_admm_sharing":
                assert float(found.epsilon_corollary) == math.inf
                assert float(found.noise_magnitude) == 0
        for m in range(3):
            np.testing.assert_allclose(last.x[m][k], run.x[m], rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(last.predictions[m, k], run.sent[m], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(last.z[k], run.z, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(last.dual[k], run.y, rtol=1e-5, atol=1e-6)
