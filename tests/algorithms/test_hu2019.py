"""The methods of hu2019 against a literal transcription: party by party, sample by sample.

The transcription leaves every subproblem of (6) and (7) to scipy, in float64, and draws from the same streams; whole
trajectories must agree. The losses are summed over N samples and the penalty is N lambda ||x||^2, which is N times
the mean objective. The noise D_m xi of (16) is sigma times normal coordinates in an orthonormal basis of the range of
D_m. No equation says which one, so the transcription takes the basis of the code; that it is one is tested in
``tests/problems``, and here that the noise has the covariance of the paper.
"""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from dp_accounting import get_epsilon_gaussian
from scipy import linalg, optimize
from sklearn.linear_model import LogisticRegression

from admmbench import list_losses, simulate
from admmbench.contracts.made import make_dataset
from admmbench.datasets import describe
from admmbench.engine.federation import workers
from admmbench.engine.rounds import assemble
from admmbench.engine.spec import RunSpec
from admmbench.engine.streams import stream
from admmbench.problems.loss import RegressionLoss, ScalarLoss
from admmbench.problems.losses import resolve
from tests.noise import noisy, on_grid

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


class Proper(Literal):
    """Two-block consensus ADMM: minimise sum_m g_m(x_m) + l(sum_m z_m) with D_m x_m = z_m, with penalty M rho.

    Every party has its own copy z_m and its own dual variable y_m; the copies are found together, for each sample.
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.copies = np.zeros((self.M, self.N))
        self.duals = np.zeros((self.M, self.N))

    def round(self, noise=None):
        penalty = self.M * self.rho
        for m in self.parties():
            self.x[m] = self.quadratic(m, self.duals[m], penalty, -self.copies[m])
        self.send(noise)
        for i in range(self.N):
            target = np.array([sent[i] for sent in self.sent])

            def gradient(z, i=i, target=target):
                whole = slope(self.kind, z.sum(), self.b[i])
                return whole - self.duals[:, i] + penalty * (z - target)

            found = optimize.root(gradient, self.copies[:, i], options={"xtol": 1e-14})
            assert np.abs(gradient(found.x)).max() < 1e-10
            self.copies[:, i] = found.x
        self.duals += penalty * (np.array(self.sent) - self.copies)
        self.z, self.y = self.copies.sum(axis=0), self.duals.mean(axis=0)


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


def play(*args, rounds, **kwargs):
    """The state after every round, and the federation."""
    spec = RunSpec(**specification(*args, **kwargs))
    with workers(1) as pool:
        federation = assemble(spec, spec.dataset, pool)
        state = spec.method.init(federation)
        for t in range(1, rounds + 1):
            for block in federation.blocks:
                block.noise.begin_round(t)
            spec.method.round(t, state, federation)
            yield state, federation


def final(*args, rounds, **kwargs):
    *_, last = play(*args, rounds=rounds, **kwargs)
    return last


# Trajectories


CASES = {
    "as printed": ("admm_sharing", {}, "logistic", Literal.round),
    "as printed, sigmoid": ("admm_sharing", {}, "sigmoid", Literal.round),
    "averaged": ("admm_sharing", {"coupling": "averaged"}, "logistic", Literal.averaged_round),
    "averaged, sigmoid": ("admm_sharing", {"coupling": "averaged"}, "sigmoid", Proper.round),
    "ADMM proper": ("admm_sharing", {"coupling": "averaged"}, "logistic", Proper.round),
    "sigma of theorem 3": ("dp_admm_sharing", {"b1": B1}, "logistic", Literal.round),
    "sigma of theorem 3, sigmoid": (
        "dp_admm_sharing",
        {"b1": B1},
        "sigmoid",
        Literal.round,
    ),
    "sigma given": ("dp_admm_sharing", {"b1": B1, "noise": 0.6}, "logistic", Literal.round),
    "averaged, with noise": (
        "dp_admm_sharing",
        {"coupling": "averaged", "b1": B1},
        "logistic",
        Literal.averaged_round,
    ),
    "ADMM proper, without a budget": (
        "dp_admm_sharing",
        {"coupling": "averaged"},
        "logistic",
        Proper.round,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_trajectory_is_the_literal_one(case):
    name, params, kind, literal_round = CASES[case]
    private = name == "dp_admm_sharing" and "without" not in case
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

    family = Proper if literal_round is Proper.round else Literal
    for k, seed in enumerate(SEEDS):
        run = family(dataset, BLOCKS, kind)
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


def test_copies_of_proper_admm_share_one_dual_variable():
    """What makes one y for all parties enough."""
    run = Proper(awkward(), BLOCKS)
    for _ in range(3):
        run.round()
        np.testing.assert_allclose(run.duals, np.tile(run.y, (3, 1)), atol=1e-8)
        gap = run.gap / 3
        for m in range(3):
            np.testing.assert_allclose(run.copies[m], run.sent[m] - gap, atol=1e-8)


@pytest.mark.parametrize("coupling", ["parallel", "averaged"])
@pytest.mark.parametrize("name", ["admm_sharing", "dp_admm_sharing"])
def test_the_dual_variable_is_the_gradient_of_the_loss_after_every_round(name, coupling):
    """Lemma 2, with and without noise."""
    params = {"rho": RHO, "coupling": coupling}
    for state, federation in play(awkward(), name, params, BLOCKS, epsilon=EPS, rounds=5):
        samples = zip(state.z[0], federation.problem.y, strict=True)
        gradient = [slope("logistic", z, b) for z, b in samples]
        np.testing.assert_allclose(state.dual[0], gradient, atol=1e-9)


def test_one_party_alone_has_one_coupling():
    dataset = learnable()
    parallel, averaged = (
        trace_of(dataset, "admm_sharing", {"coupling": each}, [6], rounds=9)
        for each in ("parallel", "averaged")
    )
    np.testing.assert_array_equal(parallel.train_loss, averaged.train_loss)


def test_every_party_pulls_two_vectors_and_pushes_one():
    """Lines 3, 6 and 12 of algorithm 1; nothing of the local baseline."""
    dataset = awkward()
    for name, vectors in (("admm_sharing", 3), ("dp_admm_sharing", 3), ("vertical_sgd", 2)):
        trace = trace_of(dataset, name, blocks=BLOCKS, rounds=5, seeds=SEEDS)
        assert float(trace.floats_sent[-1]) == 5 * 3 * vectors * N
    assert not trace_of(dataset, "local_only", blocks=BLOCKS).floats_sent.any()


# Limits


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


@pytest.mark.parametrize("kind", ["independent", "overlapping"])
@pytest.mark.parametrize("coupling", ["parallel", "averaged"])
def test_sharing_reaches_the_optimum_of_scikit_learn(coupling, kind):
    dataset = learnable(kind=kind)
    shared = {"blocks": [3, 3], "rounds": 3000, "params": {"rho": 0.25, "coupling": coupling}}
    state, federation = final(dataset, "admm_sharing", **shared)
    best, w = scikit_learn(dataset, 1e-3)
    X, b = dataset.X_train.astype(np.float64), federation.problem.y
    assert mean_objective(X, b, state.w[0, -1], 1e-3) == pytest.approx(best, abs=1e-6)
    # (9), (11) and (12).
    gap = sum(state.predictions[:, 0]) - state.z[0]
    np.testing.assert_allclose(gap, 0, atol=1e-4)
    np.testing.assert_allclose(state.dual[0], -b / (1 + np.exp(b * (X @ w))), atol=1e-3)
    np.testing.assert_allclose(2 * 80 * 1e-3 * state.w[0, -1] + X.T @ state.dual[0], 0, atol=1e-2)


def test_sharing_reaches_the_optimum_with_dependent_columns_and_more_columns_than_samples():
    dataset = awkward()
    best, _ = scikit_learn(dataset, STRENGTH)
    for coupling in ("parallel", "averaged"):
        trace = trace_of(
            dataset,
            "admm_sharing",
            {"rho": 0.25, "coupling": coupling},
            BLOCKS,
            problem={"strength": STRENGTH},
            rounds=500,
        )
        assert float(trace.train_loss[0, -1]) == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("coupling", ["parallel", "averaged"])
@pytest.mark.parametrize("kind", ["logistic", "sigmoid"])
def test_the_lyapunov_function_falls_faster_than_one_over_t(kind, coupling):
    """Theorem 2: V < epsilon within O(1 / epsilon) rounds."""
    trace = trace_of(
        learnable(),
        "admm_sharing",
        {"rho": 0.5, "coupling": coupling},
        problem={"loss": kind, "strength": 3e-3},
        rounds=800,
        evaluate_every=1,
    )
    V = trace.lyapunov.values[0, 1:]
    product = np.minimum.accumulate(V) * np.arange(1, 801)
    assert product.max() <= 2 * V[:10].max()
    assert product[-1] < 1e-3 * product.max()
    assert V[-1] < 1e-6 * V[0]


@pytest.mark.parametrize("coupling", ["parallel", "averaged"])
def test_the_limit_with_the_sigmoid_loss_is_a_stationary_point(coupling):
    dataset = learnable()
    state, federation = final(
        dataset,
        "admm_sharing",
        {"rho": 0.2, "coupling": coupling},
        problem={"loss": "sigmoid"},
        rounds=1500,
    )
    X, b, w = dataset.X_train.astype(np.float64), federation.problem.y, state.w[0, -1]
    slopes = np.array([slope("sigmoid", z, label) for z, label in zip(X @ w, b, strict=True)])
    assert np.linalg.norm(X.T @ slopes / 80 + 2e-3 * w) < 1e-6
    assert np.linalg.norm(w) > 0.1
    np.testing.assert_allclose(state.dual[0], slopes, atol=1e-5)


def test_with_a_small_penalty_only_the_averaged_coupling_converges():
    """Documented: three parties whose columns span nearly the same, and rho = 0.02."""
    dataset = learnable(kind="overlapping", parties=3)
    best, _ = scikit_learn(dataset, 1e-3)
    loss, V = {}, {}
    for coupling in ("parallel", "averaged"):
        trace = trace_of(
            dataset, "admm_sharing", {"rho": 0.02, "coupling": coupling}, [3, 3, 3], rounds=1000
        )
        loss[coupling], V[coupling] = float(trace.train_loss[0, -1]), float(trace.lyapunov[0, -1])
    assert loss["averaged"] == pytest.approx(best, abs=1e-8)
    assert V["averaged"] < 1e-12
    assert loss["parallel"] > best + 0.3
    assert V["parallel"] > 1


def test_the_assumptions_of_theorem_1_do_not_make_the_parallel_coupling_converge():
    """Documented: with M parties of the same orthonormal columns it takes rho > (3 M - 4) / 8.

    All eigenvalues of every D_m^T D_m are 1, so rho = 2 meets assumption 1: gamma_m = rho + 2 N lambda >= 2,
    rho gamma = rho^2 > 2 L^2 and rho >= L = 1/4. The proof fails in lemma 3: its left side is ||sum_m d_m||^2 - sum_m
    ||d_m||^2 for the steps d_m, not the negative of this.
    """
    rng = np.random.default_rng(0)
    columns, parties = np.linalg.qr(rng.normal(size=(40, 2)))[0], 12
    X = np.vstack([np.hstack([columns] * parties), np.zeros((20, 24))])
    dataset = with_columns(X, rng.integers(0, 2, 60))
    best, _ = scikit_learn(dataset, 1e-4)

    def gap_to_optimum(coupling, rho):
        trace = trace_of(
            dataset,
            "admm_sharing",
            {"rho": rho, "coupling": coupling},
            parties,
            problem={"strength": 1e-4},
            rounds=300,
        )
        return float(trace.train_loss[0, -1]) - best

    assert gap_to_optimum("parallel", 2) > 0.5
    assert gap_to_optimum("parallel", 3.5) > 0.01
    assert abs(gap_to_optimum("parallel", 5)) < 1e-6
    assert abs(gap_to_optimum("averaged", 2)) < 1e-6


@pytest.mark.parametrize("name", ["centralized", "local_only"])
def test_optima_are_those_of_convex_losses(name):
    with pytest.raises(ValueError, match=f"{name} needs a convex loss"):
        simulate(
            make_dataset(n_classes=2),
            name,
            problem="sigmoid",
            agents={"scheme": "columns", "blocks": 2},
        )


@pytest.mark.parametrize("rho", [0.05, math.sqrt(3) / 18])
@pytest.mark.parametrize("name", ["admm_sharing", "dp_admm_sharing"])
def test_the_sigmoid_loss_needs_a_penalty_above_its_curvature(name, rho):
    with pytest.raises(
        ValueError, match=r"rho: the loss is not convex, so it must be above L = 0\.0962"
    ):
        trace_of(learnable(), name, {"rho": rho}, problem={"loss": "sigmoid"})


# Noise and privacy


@pytest.mark.parametrize("D", ["full rank", "dependent", "wide"])
def test_the_noise_has_the_covariance_of_the_paper(D):
    """sigma^2 D_m (D_m^T D_m)^-1 D_m^T; the pseudoinverse where there is no inverse."""
    rng = np.random.default_rng(1)
    X = {
        "full rank": rng.normal(size=(8, 3)),
        "dependent": np.hstack([np.eye(2)[rng.integers(0, 2, 8)], np.ones((8, 1))]),
        "wide": rng.normal(size=(4, 9)),
    }[D]
    n, d = X.shape
    dataset = with_columns(np.vstack([X, X[:2]]), np.arange(n + 2) % 2, 2)
    params, draws = {"noise": 0.7}, 200
    spec = RunSpec(
        **specification(dataset, "dp_admm_sharing", params, [d], epsilon=EPS, seeds=range(100))
    )
    with workers(1) as pool:
        federation = assemble(spec, dataset, pool)
        (block,) = federation.blocks
        zero = np.zeros((100, n))
        sent = np.concatenate(
            [spec.method.message(block, zero, federation.problem) for _ in range(draws)]
        )
    X = dataset.X_train.astype(np.float64)
    literal = 0.7**2 * X @ np.linalg.pinv(X.T @ X, hermitian=True) @ X.T
    np.testing.assert_allclose(sent.T @ sent / len(sent), literal, atol=0.025)
    np.testing.assert_allclose(sent.mean(axis=0), 0, atol=0.025)


def test_the_noise_of_every_party_round_and_seed_is_its_own():
    dataset = learnable(kind="same")
    params = {"noise": 1.0}
    for state, _ in play(dataset, "dp_admm_sharing", params, rounds=1, seeds=SEEDS):
        xi = state.predictions - np.stack([x @ dataset.X_train[:, :3].T for x in state.x])
        vectors = xi.reshape(4, -1)
        cosines = vectors @ vectors.T / np.outer(*2 * [np.linalg.norm(vectors, axis=1)])
        assert np.abs(cosines - np.eye(4)).max() < 0.98


def test_models_are_kept_without_noise():
    """The first x does not depend on the noise of the same round; its prediction is evaluated."""
    dataset = awkward()
    shared = {"blocks": BLOCKS, "rounds": 1, "epsilon": EPS}
    perturbed = trace_of(dataset, "dp_admm_sharing", **shared)
    clean = trace_of(dataset, "admm_sharing", **shared)
    np.testing.assert_array_equal(perturbed.train_loss, clean.train_loss)
    assert (
        abs(float(perturbed.consensus_violation[0, -1]) - float(clean.consensus_violation[0, -1]))
        > 1
    )


@pytest.mark.parametrize("noise", [None, 5.0])
@pytest.mark.parametrize("rounds", [1, 10, 100])
def test_the_ledger_composes_all_rounds_of_the_party_that_pays_most(rounds, noise):
    """The constant of lemma 1 is largest where there are the fewest columns."""
    params = {"b1": B1, "rho": RHO} | ({} if noise is None else {"noise": noise})
    trace = trace_of(
        awkward(),
        "dp_admm_sharing",
        params,
        BLOCKS,
        problem={"strength": STRENGTH},
        epsilon=EPS,
        delta=DELTA,
        rounds=rounds,
    )
    multiplier = math.sqrt(2 * math.log(1.25 / DELTA)) / EPS
    if noise is not None:
        multiplier = noise / on_grid(bound(min(BLOCKS)), math.sqrt(min(BLOCKS)))[1]
    expected = get_epsilon_gaussian(multiplier / math.sqrt(rounds), DELTA)
    assert float(trace.epsilon_composed[-1]) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("rounds", [1, 20, 200])
def test_corollary_1_is_no_tighter_than_the_ledger(epsilon, rounds):
    """Its delta is (T + 1) delta: larger than that of the ledger, which finds less all the same."""
    shared = {"rounds": rounds, "epsilon": epsilon, "delta": 1e-5}
    trace = trace_of(learnable(), "dp_admm_sharing", **shared)
    claimed, total = float(trace.epsilon_corollary[0, -1]), float(trace.epsilon_composed[-1])
    assert claimed == pytest.approx(corollary(epsilon, rounds, 1e-5))
    assert claimed >= total
    multiplier = math.sqrt(2 * math.log(1.25e5)) / epsilon
    looser = get_epsilon_gaussian(multiplier / math.sqrt(rounds), (rounds + 1) * 1e-5)
    assert looser <= total <= claimed


def test_a_noise_that_is_given_needs_no_budget():
    free, bought = (
        trace_of(learnable(), "dp_admm_sharing", {"noise": 0.5}, epsilon=epsilon, rounds=6)
        for epsilon in (math.inf, 0.5)
    )
    for key in ("train_loss", "epsilon_composed", "epsilon_corollary", "noise_magnitude"):
        np.testing.assert_array_equal(free[key], bought[key])
    assert math.isfinite(free.epsilon_composed[-1])


def test_a_huge_budget_has_an_infinite_corollary_and_no_error():
    trace = trace_of(learnable(), "dp_admm_sharing", epsilon=1000, rounds=3)
    assert float(trace.epsilon_corollary[0, -1]) == math.inf


def neighbours():
    """Two blocks of columns that differ in signs of one: rows have norm 1, and ||D - D'|| = 1."""
    n, d = 64, 32
    D = linalg.hadamard(n)[:, :d] / math.sqrt(d)
    other = D.copy()
    other[: d // 4, 0] *= -1
    np.testing.assert_allclose(np.linalg.norm(other, axis=1), 1)
    np.testing.assert_allclose(np.linalg.norm(D - other, 2), 1)
    assert np.linalg.matrix_rank(other) == d
    return D, other


def one_party(D, **params):
    """The first of two parties with these columns; the other has few."""
    n, d = D.shape
    X = np.hstack([D, np.ones((n, 1))])
    dataset = with_columns(np.vstack([X, X[:2]]), np.arange(n + 2) % 2, 2)
    spec = RunSpec(
        **specification(
            dataset, "dp_admm_sharing", params, [d, 1], epsilon=1, problem={"strength": 1e-6}
        )
    )
    with workers(1) as pool:
        federation = assemble(spec, dataset, pool)
    return spec.method, federation.blocks[0], federation.problem


def test_lemma_1_does_not_bound_what_one_column_changes():
    """Documented: all assumptions hold for both, and the predictions of (6) differ by more than twice the bound.

    The proof takes 1 / d_m for the norm of the inverse of D_m^T D_m, which is d_m / N for the first of the two.
    """
    blocks = neighbours()
    eigenvalues = [np.linalg.eigvalsh(D.T @ D) for D in blocks]
    rho = max(2 * values[-1] / values[0] for values in eigenvalues)  # assumption 1.2
    parties = []
    for D in blocks:
        method, block, problem = one_party(D, rho=rho, b1=1.0)
        parties.append(block.parts)
    # rho z - y with y and z of norm 1, in the direction that makes the largest difference.
    sent = [party.predict(party.solver(rho)(np.eye(64))) for party in parties]
    direction = np.linalg.svd((sent[0] - sent[1]).T)[2][:1]
    x = [party.solver(rho)((1 + rho) * direction) for party in parties]
    assert max(np.linalg.norm(each) for each in x) <= 1
    difference = parties[0].predict(x[0]) - parties[1].predict(x[1])
    assert np.linalg.norm(difference) > 2 * method.sensitivity(block.parts.n_features, problem)


def test_a_message_tells_neighbours_apart():
    """Documented: it lies in the range of its columns, which a neighbour's does not; so no delta < 1 is met."""
    D, other = neighbours()
    method, block, problem = one_party(D)
    state = np.zeros((1, 64))
    with np.errstate(all="raise"):
        message = method.message(block, state, problem)[0]
    assert np.linalg.norm(message) > 1

    def outside(columns):
        return np.linalg.norm(message - columns @ np.linalg.lstsq(columns, message)[0])

    assert outside(D) < 1e-5 * np.linalg.norm(message)
    assert outside(other) > 0.01 * np.linalg.norm(message)


ON_COLUMNS = {"scheme": "columns", "blocks": [3, 4]}


# Baselines


@pytest.mark.parametrize("seed", SEEDS)
def test_vertical_sgd_is_the_literal_minibatch_loop(seed):
    dataset = awkward()
    params = {"learning_rate": 0.4, "batch_size": 5, "init_std": 0.3}
    for kind in ("logistic", "sigmoid"):
        trace = trace_of(
            dataset,
            "vertical_sgd",
            params,
            BLOCKS,
            problem={"strength": STRENGTH, "loss": kind},
            rounds=T,
            evaluate_every=1,
            seeds=[7, seed],
        )
        run = Literal(dataset, BLOCKS, kind)
        draws = stream(seed, 0, "choices")
        start = 0.3 * draws.standard_normal((1, 27), np.float32)[0].astype(np.float64)
        run.x = np.split(start, np.cumsum(BLOCKS)[:-1])
        for epoch in range(1, T + 1):
            order = draws.permutation(N)
            # 16 samples in batches of 5: the last has one.
            for batch in (order[:5], order[5:10], order[10:15], order[15:]):
                gradient = [2 * STRENGTH * x for x in run.x]
                for i in batch:
                    prediction = sum(D[i] @ x for D, x in zip(run.D, run.x, strict=True))
                    pull = slope(kind, prediction, run.b[i]) / len(batch)
                    gradient = [g + pull * D[i] for g, D in zip(gradient, run.D, strict=True)]
                step = 0.4 / math.sqrt(epoch)
                run.x = [x - step * g for x, g in zip(run.x, gradient, strict=True)]
            found = trace.sel(seed=seed, round=epoch)
            assert float(found.train_loss) == pytest.approx(run.train_loss(), rel=1e-5)
            assert float(found.test_loss) == pytest.approx(run.test_loss(), rel=1e-5)
            assert float(found.consensus_violation) == 0


def test_vertical_sgd_approaches_the_optimum():
    dataset = learnable()
    best, _ = scikit_learn(dataset, 1e-2)
    trace = trace_of(
        dataset,
        "vertical_sgd",
        {"learning_rate": 0.5, "batch_size": 20},
        problem={"strength": 1e-2},
        rounds=800,
        evaluate_every=10,
    )
    losses = trace.train_loss.values[0]
    assert losses[-1] == pytest.approx(best, abs=1e-3)
    assert losses[-1] >= best - 1e-9
    assert losses[0] > losses[-1] + 1e-3


@pytest.mark.parametrize("parties", [1, 2])
def test_local_only_is_scikit_learn_on_the_first_columns(parties):
    dataset = learnable(parties=3)
    trace = trace_of(dataset, "local_only", {"parties": parties}, [3, 2, 4], rounds=2)
    columns = {1: 3, 2: 5}[parties]
    best, w = scikit_learn(dataset, 1e-3, columns)
    assert float(trace.train_loss[0, -1]) == pytest.approx(best, abs=1e-8)
    b = 2.0 * dataset.y_test - 1
    test = np.log1p(np.exp(-b * (dataset.X_test[:, :columns] @ w))).mean()
    assert float(trace.test_loss[0, -1]) == pytest.approx(test, abs=1e-4)
    everything, _ = scikit_learn(dataset, 1e-3)
    assert float(trace.train_loss[0, -1]) > everything + 1e-3
    whole = trace_of(dataset, "centralized", blocks=[3, 2, 4])
    assert float(whole.train_loss[0, -1]) == pytest.approx(everything, abs=1e-8)
    assert float(whole.optimum_norm[0, -1]) > np.linalg.norm(w)


def test_local_only_cannot_join_more_parties_than_there_are(monkeypatch):
    """It is refused before anything runs, by the name of the parameter."""
    monkeypatch.setattr("admmbench.jobs.simulate.run_spec", lambda *_: pytest.fail("it ran"))
    with pytest.raises(ValueError, match=r"params\.parties: 3, but there are 2") as raised:
        trace_of(learnable(), "local_only", {"parties": 3})
    assert "\n" not in str(raised.value)


def test_blocks_of_columns_need_no_problem_by_name():
    """The partition says that columns are shared out, the data set which loss is meant."""
    dataset = replace(make_dataset(n_classes=2), default_problem="logistic")
    trace = simulate(dataset, "admm_sharing", agents=ON_COLUMNS, rounds=2)
    found = json.loads(trace.attrs["problem"])
    assert found["loss"] == "logistic"
    # hu2019: 1e-4 ||x||^2.
    assert (found["penalty"], found["strength"]) == ("l2", 2e-4)
    named = simulate(dataset, "admm_sharing", problem="logistic", agents=ON_COLUMNS, rounds=2)
    np.testing.assert_array_equal(trace.train_loss, named.train_loss)


def losses_with_one_output():
    info = {True: make_dataset(n_classes=2).info, False: describe("diabetes")}
    for name in list_losses():
        kind = resolve(name)()
        if isinstance(kind, ScalarLoss):
            classes = not isinstance(kind, RegressionLoss)
            kind.check(info[classes])
            yield name, classes


@pytest.mark.parametrize(("name", "classes"), list(losses_with_one_output()))
def test_every_loss_with_one_output_can_be_shared_by_columns(name, classes):
    """And all but the sigmoid's, which is not convex, come to the optimum of all columns."""
    dataset = learnable()
    if not classes:
        targets = dataset.X_train @ np.arange(6, dtype=np.float32)
        dataset = replace(dataset, y_train=targets, y_test=dataset.X_test[:, 0], class_names=())
    problem = {"loss": name, "strength": 0.01}
    shared = {"problem": problem, "rounds": 1500}
    params = {"rho": 0.5, "coupling": "averaged"}
    trace = trace_of(dataset, "admm_sharing", params, **shared)
    metric = "test_error" if classes else "test_rmse"
    assert np.isfinite(trace[metric]).all()
    assert trace.attrs["metric"] == metric
    assert float(trace.consensus_violation[0, -1]) < 1e-3
    if name != "sigmoid":
        best = trace_of(dataset, "centralized", **{**shared, "rounds": 1})
        assert float(trace.train_loss[0, -1]) == pytest.approx(
            float(best.train_loss[0, -1]), rel=1e-5
        )
    trace = trace_of(dataset, "vertical_sgd", {"learning_rate": 0.01}, **{**shared, "rounds": 20})
    assert np.isfinite(trace.train_loss).all()


# What does not fit together


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"algorithm": "objp"}, "objp works on shared rows, the partition gives agents columns"),
        ({"agents": 2}, "admm_sharing works on shared columns, the partition gives agents rows"),
        ({"dataset": make_dataset(), "problem": None}, "softmax has several outputs, .* use logi"),
        ({"problem": "softmax"}, "softmax has several outputs, shared columns need one"),
        ({"problem": {"loss": "logistic", "penalty": "l1"}}, "admm_sharing needs the penalty l2"),
        (
            {"problem": {"loss": "logistic", "per": "agent"}},
            r"problem\.per: it is about shared rows",
        ),
        ({"problem": {"loss": "logistic", "records": {}}}, r"problem\.records: it is about shared"),
        ({"problem": "squared"}, "squared: it needs numbers as targets, made has 2 classes"),
        ({"agents": {"scheme": "columns", "blocks": [3, 5]}}, "blocks have 8 columns in all"),
        ({"agents": {"scheme": "columns", "blocks": [3, 3]}}, "blocks have 6 columns in all"),
        ({"agents": {"scheme": "columns", "blocks": 8}}, "8 parties cannot share the 7 features"),
        ({"params": {"rho": 0}}, r"params\.rho"),
        ({"params": {"coupling": "serial"}}, r"params\.coupling"),
        ({"params": {"noise": 1.0}}, r"params\.noise: unknown parameter"),
        ({"algorithm": "dp_admm_sharing", "params": {"noise": 0}}, r"params\.noise"),
        ({"algorithm": "local_only", "params": {"parties": 0}}, r"params\.parties"),
        ({"algorithm": "vertical_sgd", "params": {"batch_size": 0}}, r"params\.batch_size"),
    ],
)
def test_what_does_not_fit_is_one_clear_error(changes, message):
    fits = {
        "dataset": make_dataset(n_classes=2),
        "algorithm": "admm_sharing",
        "problem": "logistic",
        "agents": ON_COLUMNS,
        "rounds": 1,
    }
    simulate(**fits)
    with pytest.raises(ValueError, match=message) as raised:
        simulate(**{**fits, **changes})
    assert "\n" not in str(raised.value)
