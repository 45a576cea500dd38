"""Every method against a literal transcription of its equations, agent by agent and seed by seed, in float64.

The transcription has the same noise, so that whole trajectories must agree: a wrong sign, order, schedule or
constant anywhere shows.
"""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import optimize, special

from admmbench import simulate
from admmbench.algorithms.objp import ObjP
from admmbench.algorithms.objt import ObjT
from admmbench.contracts.made import make_dataset
from admmbench.engine.streams import noise_key
from admmbench.frames.base import RhoSchedule
from admmbench.frames.consensus import Subproblem
from admmbench.privacy import Noise, Privacy
from admmbench.privacy.sensitivity import Sensitivity
from admmbench.problems.base import Gradient
from tests.noise import noisy

P, K, J, N, BETA, EPS, DELTA, T = 3, 3, 7, 60, 0.02, 0.7, 1e-5, 8
RHO = {"c1": 0.3, "c2": 0.2, "period": 3, "growth": 1.5}


def rho(t, eps=EPS):
    return min(1e9, 0.3 * 1.5 ** math.floor(t / 3) + 0.2 / eps)


class Literal:
    """State and helpers of the transcription, for one seed."""

    def __init__(self, dataset, seed, reference, eps=EPS):
        self.X = np.split(dataset.X_train.astype(np.float64), P)
        self.y = np.split(dataset.y_train, P)
        self.seed, self.reference, self.eps = seed, reference, eps
        self.w = np.zeros((K, J))
        self.z = [np.zeros((K, J)) for _ in range(P)]
        self.dual = [np.zeros((K, J)) for _ in range(P)]

    def residual(self, p, z):
        h = special.softmax(self.X[p] @ z.T, axis=1)
        if self.reference:
            h = np.clip(h, 1e-9, 1)
        return h - np.eye(K)[self.y[p]]

    def gradient(self, p, z, n):
        return self.residual(p, z).T @ self.X[p] / n

    def penalty(self, z):
        return 2 * BETA * self.w if self.reference else 2 * BETA / P * z

    def sensitivity(self, p, z):
        """Equation (20) of ryu2021, over the records one by one."""
        residual = self.residual(p, z)
        return max(np.abs(np.outer(r, x)).sum() for r, x in zip(residual, self.X[p], strict=True))

    def server(self, r):
        return sum(self.z[p] - self.dual[p] / r for p in range(P)) / P


def objective_perturbation(run, step, rounds, E=1, private=True):
    """Algorithm 1 of ryu2022."""
    chain = [z.copy() for z in run.z]
    trajectory = []
    for t in range(1, rounds + 1):
        r = rho(t, run.eps)
        run.w = run.server(r)
        for p in range(P):
            iterates = []
            for e in range(E):
                g = run.gradient(p, chain[p], N)
                if private:
                    bound = run.sensitivity(p, chain[p]) / N
                    g = noisy(g, "laplace", bound, 1 / run.eps, (run.seed, p, t, e))
                g += run.penalty(chain[p])
                chain[p] = step(t, r, g, run.w, run.dual[p], chain[p])
                iterates.append(chain[p])
            run.z[p] = sum(iterates) / E
            run.dual[p] = run.dual[p] + r * (run.w - run.z[p])
        trajectory.append((run.w.copy(), [z.copy() for z in run.z]))
    return trajectory


def proximal(a):
    def step(t, r, g, w, dual, z):
        eta = a / math.sqrt(t)
        return (-g + r * w + dual + z / eta) / (r + 1 / eta)

    return step


def trust_region(radius):
    def step(t, r, g, w, dual, z):
        return np.minimum(np.maximum((-g + r * w + dual) / r, z - radius(t)), z + radius(t))

    return step


def output_perturbation(run, rounds, a=1.0):
    """Algorithm 3 of huang2019, and what the authors of ryu2022 made of it."""
    trajectory = []
    size = J * K
    c_w = math.sqrt(4 * J * K)
    calibration = math.sqrt(2 * math.log(1.25 / DELTA)) / run.eps
    for t in range(1, rounds + 1):
        r = rho(t, run.eps)
        for p in range(P):
            m = len(run.X[p])
            largest = np.linalg.norm(run.X[p], axis=1).max()
            c1 = m if run.reference else math.sqrt(2) * largest
            c3 = 0.25 * m if run.reference else largest**2 / 2
            smooth = 0 if run.reference else 2 * BETA / P
            root = math.sqrt(size * t * math.log(1.25 / DELTA))
            eta = a / (c3 + smooth + 4 * c1 * root / (m * run.eps * c_w))
            g = run.gradient(p, run.z[p], m) + run.penalty(run.z[p])
            z = (-g + r * run.w + run.dual[p] + run.z[p] / eta) / (r + 1 / eta)
            bound = c1 / (m * (r + 1 / eta))
            std = (2 * bound * calibration) ** 2 if run.reference else None
            if run.reference:  # of admissible records, in the unit box
                bound = math.sqrt(2 * J) / (m * (r + 1 / eta))
            # For a replaced record, which has two contributions.
            run.z[p] = noisy(z, "gaussian", bound, 2 * calibration, (run.seed, p, t, 0), std)
        run.w = run.server(r)
        for p in range(P):
            run.dual[p] = run.dual[p] + r * (run.w - run.z[p])
        trajectory.append((run.w.copy(), [z.copy() for z in run.z]))
    return trajectory


def loss(dataset, w):
    logp = special.log_softmax(dataset.X_train.astype(np.float64) @ w.T, axis=1)
    return -logp[np.arange(N), dataset.y_train].mean() + BETA * (w**2).sum()


CASES = {
    "objp": ("objp", {}, lambda run, n: objective_perturbation(run, proximal(1), n)),
    "objp a=5": ("objp", {"a": 5}, lambda run, n: objective_perturbation(run, proximal(5), n)),
    "objpm": (
        "objp",
        {"local_updates": 4},
        lambda run, n: objective_perturbation(run, proximal(1), n, E=4),
    ),
    "objt": (
        "objt",
        {"a": 0.4},
        lambda run, n: objective_perturbation(
            run, trust_region(lambda t: 0.4 if run.reference else 0.4 / t**2), n
        ),
    ),
    "iadmm": (
        "iadmm",
        {},
        lambda run, n: objective_perturbation(run, proximal(1), n, private=False),
    ),
    "iadmm trust": (
        "iadmm",
        {"subproblem": "trust_region", "a": 0.3},
        lambda run, n: objective_perturbation(
            run, trust_region(lambda t: 0.3 if run.reference else 0.3 / t**2), n, private=False
        ),
    ),
    "outp": ("outp", {}, output_perturbation),
    "outp a=9": ("outp", {"a": 9}, lambda run, n: output_perturbation(run, n, a=9)),
}


@pytest.mark.parametrize("variant", ["paper", "reference"])
@pytest.mark.parametrize("case", CASES)
def test_trajectory_is_the_literal_one(case, variant):
    name, params, literal = CASES[case]
    dataset = make_dataset(N, 30, J, K)
    seeds = [4, 1]
    trace = simulate(
        dataset,
        name,
        {**params, "rho": RHO},
        variant,
        problem={"loss": "softmax", "strength": 2 * BETA, "per": "total"},
        agents=P,
        epsilon=EPS,
        delta=DELTA,
        rounds=T,
        evaluate_every=1,
        seeds=seeds,
        dtype="float64",
    )
    # The authors' code counts rounds from 0: its round t comes after t + 1 updates.
    extra = int(variant == "reference")
    for seed in seeds:
        start = (np.zeros((K, J)), np.zeros((P, K, J)))
        trajectory = [start, *literal(Literal(dataset, seed, variant == "reference"), T + extra)]
        assert list(trace["round"].values) == [*range(T + 1)]
        for t in trace["round"].values:
            w, z = trajectory[t + extra]
            found = trace.sel(seed=seed, round=t)
            assert float(found.train_loss) == pytest.approx(loss(dataset, w), rel=1e-7)
            violation = sum(np.abs(w - z_p).sum() for z_p in z)
            assert float(found.consensus_violation) == pytest.approx(violation, rel=1e-5)
            wrong = (dataset.X_test @ w.T).argmax(axis=1) != dataset.y_test
            assert float(found.test_error) == wrong.mean()


class Parts:
    """An agent's part of a problem whose gradient is known; no penalty."""

    n_samples, own_strength = 1, 0.0
    smoothness = np.array([[3.0]])

    def __init__(self, gradient):
        self.whole, self._gradient = self, gradient

    def gradient(self, z, mean_over, floor):
        return Gradient(self._gradient.copy(), lambda: Sensitivity(l1=np.ones((1, 1))))

    problem = SimpleNamespace(penalty_name="l2")


def solved(method, t, z, w, dual, gradient, r, eps=math.inf):
    """New model, and the noise on the gradient."""
    noise = Noise(np.array([[noise_key(0, 0)]]), z.shape[2:], Privacy(eps))
    noise.begin_round(t)
    sub = Subproblem(
        t,
        z.copy(),
        z.copy(),
        w,
        dual.copy(),
        partial=np.zeros_like(w),
        rho=r,
        rho_dual=r,
        rho_message=2 * r,
        parts=Parts(gradient),
        noise=noise,
        privacy=Privacy(eps),
    )
    sub = replace(sub, sent=sub.z)
    method.local_round(sub)
    np.testing.assert_allclose(sub.dual, dual + r * (w - sub.z))
    np.testing.assert_allclose(sub.partial, sub.z[0] - sub.dual[0] / (2 * r))
    return sub.z


@pytest.mark.parametrize("kind", ["proximal", "trust"])
def test_closed_forms_minimise_the_subproblems(kind):
    """Equations (8) and (9): scipy's minimiser of the perturbed, linearised Lagrangian is the closed form."""
    rng = np.random.default_rng(0)
    z, w, dual, gradient = rng.normal(size=(4, 1, 1, 2, 3))
    t, r, a = 4, 1.7, 2.0
    method = (ObjP if kind == "proximal" else ObjT)(a=a)
    found = solved(method, t, z, w[0], dual, gradient, r, eps=0.9)
    noisy_gradient = noisy(gradient, "laplace", 1.0, 1 / 0.9, (0, 0, t, 0))

    def objective(v):
        v = v.reshape(z.shape)
        value = (noisy_gradient * v).sum() + r / 2 * ((w - v + dual / r) ** 2).sum()
        return value + (math.sqrt(t) / (2 * a) * ((v - z) ** 2).sum() if kind == "proximal" else 0)

    radius = a / t**2
    bounds = [(v - radius, v + radius) for v in z.ravel()] if kind == "trust" else None
    best = optimize.minimize(objective, z.ravel(), bounds=bounds, tol=1e-14).x
    np.testing.assert_allclose(found.ravel(), best, atol=1e-5)


@pytest.mark.parametrize("a", [1.0, 4.0])
def test_smooth_proximity_is_theorem_2(a):
    z, w, dual, gradient = np.random.default_rng(1).normal(size=(4, 1, 1, 2, 3))
    found = solved(ObjP(proximity="smooth", a=a), 9, z, w[0], dual, gradient, 0.5, eps=2.0)
    curvature = (3.0 + 3 / 2.0) / a  # 1 / eta = (L + sqrt(9) / epsilon) / a
    g = noisy(gradient, "laplace", 1.0, 1 / 2.0, (0, 0, 9, 0))
    np.testing.assert_allclose(found, (-g + 0.5 * w + dual + curvature * z) / (0.5 + curvature))


def test_iadmm_reaches_the_optimum_of_scikit_learn():
    from sklearn.linear_model import LogisticRegression

    dataset = make_dataset(N, 30, J, K)
    trace = simulate(
        dataset,
        "iadmm",
        {"rho": 0.05, "a": 60},
        problem={"loss": "softmax", "strength": 2 * BETA, "per": "total"},
        agents=P,
        rounds=6000,
        evaluate_every=6000,
        dtype="float64",
    )
    model = LogisticRegression(
        C=1 / (2 * BETA * N), fit_intercept=False, solver="newton-cg", tol=1e-10, max_iter=1000
    )
    model.fit(dataset.X_train.astype(np.float64), dataset.y_train)
    optimum = loss(dataset, model.coef_)
    assert float(trace.train_loss[0, -1]) == pytest.approx(optimum, abs=1e-8)
    assert float(trace.consensus_violation[0, -1]) < 1e-3


@pytest.mark.parametrize("updates", [1, 3])
def test_objp_and_iadmm_agree_without_noise(updates):
    """ryu2022, section IV: with infinite epsilon ObjP is IADMM, and ObjPM that with several local updates."""
    dataset = make_dataset(N, 30, J, K)
    given = {"agents": P, "rounds": 20, "evaluate_every": 5, "seeds": 1}
    first, second = (
        simulate(dataset, name, {"local_updates": updates}, **given) for name in ("objp", "iadmm")
    )
    np.testing.assert_array_equal(first.train_loss, second.train_loss)


def test_penalty_schedule():
    mnist = RhoSchedule()
    assert mnist(1, 0.05) == pytest.approx(2 + 5 / 0.05)
    assert mnist(9_999, math.inf) == 2
    assert mnist(10_000, math.inf) == pytest.approx(2.4)
    assert mnist(20_000, 1.0) == pytest.approx(2 * 1.44 + 5)
    assert mnist(10**9, 1.0) == 1e9
    assert RhoSchedule(scale=0.01)(1, 0.05) == pytest.approx(1.02)


BY_HAND = '''
"""ObjP without noise, its subproblem solved in numpy."""

from admmbench.api import Consensus, parameters, proximal_step


@parameters
class ByHand(Consensus):
    """Mine."""

    order = "server"
    updates = UPDATES

    def update(self, sub):
        """Solve (8) of ryu2022."""
        whole = sub.parts.whole
        gradient = sub.parts.gradient(sub.z, mean_over=whole.n_samples).value
        whole.add_penalty_gradient(gradient, sub.z)
        return proximal_step(gradient, sub.z, sub.w, sub.dual, sub.rho, sub.t**0.5)
'''


@pytest.mark.parametrize("updates", [1, 2, 3])
def test_a_method_that_states_its_update_alone_is_the_one_that_is_compiled(tmp_path, updates):
    """The frame takes the mean of the local updates, and lets the dual variables follow."""
    path = tmp_path / "by_hand.py"
    path.write_text(BY_HAND.replace("UPDATES", str(updates)))
    given = {"agents": P, "rounds": T, "evaluate_every": 1, "seeds": 2, "dtype": "float64"}
    data = make_dataset(N)
    found = simulate(data, str(path), params={"rho": RHO}, **given)
    wanted = simulate(data, "objp", params={"rho": RHO, "local_updates": updates}, **given)
    for name in ("train_loss", "consensus_violation"):
        np.testing.assert_allclose(found[name], wanted[name], rtol=1e-11)


def test_only_several_local_updates_compose_within_a_round():
    assert ObjP().caveats == ()
    (caveat,) = ObjP(local_updates=2).caveats
    assert "E local updates use the data E times" in caveat
