"""The methods of huang2019 against a literal transcription: agent by agent, seed by seed, record by record.

The transcription draws from the same streams, in float64, and leaves exact subproblems to scipy; whole trajectories
must agree, with l1 and with l2.
"""

import math
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import dp_accounting as dp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize
from scipy.special import expit

from admmbench import simulate
from admmbench.algorithms.dp_admm import DPADMM
from admmbench.algorithms.dvp import DVP, noise_budget
from admmbench.contracts.made import make_dataset
from admmbench.engine.federation import workers
from admmbench.engine.rounds import assemble
from admmbench.engine.spec import RunSpec
from admmbench.engine.streams import sample_key
from admmbench.frames.consensus import Subproblem
from admmbench.privacy import Privacy
from admmbench.privacy.samplers import poisson_sample
from admmbench.problems import as_problem
from admmbench.problems.rows import RowParts
from tests.noise import noisy, spherical

P, J, N, STRENGTH, EPS, DELTA, RHO, T, SEEDS = 3, 6, 62, 0.003, 0.9, 1e-4, 0.2, 7, [4, 1]
SIZES = [21, 21, 20]
LOG = math.log(1.25 / DELTA)


def binary():
    """Two classes, and records of norm at most 1, as the paper prepares its data."""
    made = make_dataset(N, 30, J, 2)
    longest = 1.001 * np.linalg.norm(np.concatenate([made.X_train, made.X_test]), axis=1).max()
    return replace(made, X_train=made.X_train / longest, X_test=made.X_test / longest)


class Literal:
    """State and helpers of the transcription, for one seed."""

    def __init__(self, dataset, seed, penalty, eps=EPS):
        X = dataset.X_train.astype(np.float64)
        b = 2.0 * dataset.y_train - 1
        cuts = np.cumsum(SIZES)[:-1]
        self.A, self.b = np.split(X, cuts), np.split(b, cuts)
        self.m = SIZES
        self.c1 = [np.linalg.norm(A, axis=1).max() for A in self.A]
        self.l1, self.eps = penalty == "l1", eps
        self.seed = seed
        self.sizes = []  # of the round's noise, for each agent
        self.w = np.zeros(J)
        self.z = [np.zeros(J) for _ in range(P)]
        self.gamma = [np.zeros(J) for _ in range(P)]

    def loss(self, i, w):
        return sum(
            math.log1p(math.exp(-b * (a @ w))) for a, b in zip(self.A[i], self.b[i], strict=True)
        )

    def f(self, i, w):
        penalty = np.abs(w).sum() if self.l1 else (w @ w) / 2
        return self.loss(i, w) / self.m[i] + STRENGTH * penalty

    def loss_gradient(self, i, w):
        return (
            sum(
                -b * a / (1 + math.exp(b * (a @ w)))
                for a, b in zip(self.A[i], self.b[i], strict=True)
            )
            / self.m[i]
        )

    def penalty(self, w):
        return STRENGTH * (np.sign(w) if self.l1 else w)

    def gradient(self, i, w):
        return self.loss_gradient(i, w) + self.penalty(w)

    def solve(self, i, linear, ridge=0.0):
        """The minimiser of f_i(v) - <linear, v> + rho/2 ||v - w||^2 + ridge/2 ||v||^2, by L-BFGS-B."""
        if not self.l1:
            return optimize.minimize(
                lambda v: (
                    self.f(i, v)
                    - linear @ v
                    + RHO / 2 * ((v - self.w) ** 2).sum()
                    + ridge / 2 * v @ v
                ),
                self.w,
                jac=lambda v: self.gradient(i, v) - linear + RHO * (v - self.w) + ridge * v,
                method="L-BFGS-B",
                options={"gtol": 1e-12, "ftol": 1e-16, "maxiter": 5000},
            ).x

        # v = up - down with up, down >= 0 makes the l1 norm linear.
        def value(u):
            v = u[:J] - u[J:]
            loss = self.loss(i, v) / self.m[i] + STRENGTH * u.sum()
            return loss - linear @ v + RHO / 2 * ((v - self.w) ** 2).sum()

        def slope(u):
            v = u[:J] - u[J:]
            g = self.loss_gradient(i, v) - linear + RHO * (v - self.w)
            return np.concatenate([g + STRENGTH, -g + STRENGTH])

        start = np.concatenate([np.maximum(self.w, 0), np.maximum(-self.w, 0)])
        u = optimize.minimize(
            value,
            start,
            jac=slope,
            method="L-BFGS-B",
            bounds=[(0, None)] * (2 * J),
            options={"gtol": 1e-12, "ftol": 1e-16, "maxiter": 5000},
        ).x
        return u[:J] - u[J:]

    def noisy(self, value, i, stiffness, k, tolerance=0.0):
        """With noise for the sensitivity 2 c1 / (m stiffness) of a replaced record."""
        bound = (self.c1[i] / self.m[i] + 2 * tolerance) / stiffness
        where = (self.seed, i, k, 0)
        found = noisy(value, "gaussian", bound, 2 * math.sqrt(2 * LOG) / self.eps, where)
        self.sizes.append(np.abs(found - value).mean())
        return found

    def finish(self):
        """Lines 8 to 11 of algorithm 3: the server, then the dual variables."""
        self.w = np.sum(self.z, axis=0) / P - np.sum(self.gamma, axis=0) / P / RHO
        for i in range(P):
            self.gamma[i] = self.gamma[i] - RHO * (self.z[i] - self.w)


def admm(run, k):
    """Algorithm 1."""
    run.z = [run.solve(i, run.gamma[i]) for i in range(P)]
    run.finish()


def pvp(run, k):
    """Algorithm 2."""
    for i in range(P):
        exact = run.solve(i, run.gamma[i])
        run.z[i] = run.noisy(exact, i, STRENGTH + RHO, k)
    run.finish()


def dvp(run, k):
    """Objective perturbation of every subproblem, with the budget large enough that Phi = 0."""
    for i in range(P):
        c3 = run.c1[i] ** 2 / 4
        left = run.eps - 2 * math.log(1 + c3 / (run.m[i] * (STRENGTH + RHO)))
        assert left > 0
        b = spherical(J, 2 * run.c1[i] / left, (run.seed, i, k, 0))
        run.z[i] = run.solve(i, run.gamma[i] - b / run.m[i])
        run.sizes.append(np.abs(b / run.m[i]).mean())
    run.finish()


def dvp_tight(run, k):
    """The same where the curvature takes all of the budget: Phi makes up for it."""
    for i in range(P):
        c3 = run.c1[i] ** 2 / 4
        assert run.eps - 2 * math.log(1 + c3 / (run.m[i] * (STRENGTH + RHO))) < 0
        phi = c3 / (run.m[i] * (math.exp(run.eps / 4) - 1)) - STRENGTH - RHO
        b = spherical(J, 2 * run.c1[i] / (run.eps / 2), (run.seed, i, k, 0))
        run.z[i] = run.solve(i, run.gamma[i] - b / run.m[i], phi)
        run.sizes.append(np.abs(b / run.m[i]).mean())
    run.finish()


def dp_admm(smooth, c_w):
    def round(run, k):
        """Algorithm 3 with (38) or (39)."""
        for i in range(P):
            m, c1 = run.m[i], run.c1[i]
            if smooth:
                eta = 1 / (
                    c1**2 / 4 + STRENGTH + 4 * c1 * math.sqrt(J * k * LOG) / (m * run.eps * c_w)
                )
            else:
                c2 = math.sqrt(J)
                first = 2 * k * (c1 + STRENGTH * c2) ** 2
                second = 16 * k * J * c1**2 * LOG / (m * run.eps) ** 2
                eta = c_w / math.sqrt(first + second)
            g = run.gradient(i, run.z[i])
            v = (-g + run.gamma[i] + RHO * run.w + run.z[i] / eta) / (RHO + 1 / eta)
            run.z[i] = run.noisy(v, i, RHO + 1 / eta, k)
        run.finish()

    return round


def dpsgd(run, k):
    """Noisy gradients of all agents at the common model, learning rate 0.1."""
    total = np.zeros(J)
    for i in range(P):
        total += run.noisy(run.loss_gradient(i, run.w), i, 1, k) + run.penalty(run.w)
    run.w = run.w - 0.1 * total / P
    run.z = [run.w] * P


def dpsgd_sampled(q):
    def round(run, k):
        """Algorithm 1 of Abadi et al. (2016): a sum over a Poisson sample, over the expected size of the sample."""
        total = np.zeros(J)
        for i in range(P):
            g = np.zeros(J)
            for j in poisson_sample(sample_key(run.seed, i), k, run.m[i], q):
                a, b = run.A[i][j], run.b[i][j]
                g = g - b * a / (1 + math.exp(b * (a @ run.w)))
            total += run.noisy(g / (q * run.m[i]), i, q, k) + run.penalty(run.w)
        run.w = run.w - 0.1 * total / P
        run.z = [run.w] * P

    return round


CASES: dict[str, tuple[str, str, dict[str, Any], Callable[..., Any], float]] = {
    "admm l1": ("admm", "l1", {}, admm, EPS),
    "admm l2": ("admm", "l2", {}, admm, EPS),
    "pvp": ("pvp", "l2", {}, pvp, EPS),
    "dvp": ("dvp", "l2", {}, dvp, EPS),
    "dvp with Phi": ("dvp", "l2", {}, dvp_tight, 0.05),
    "dp_admm l1": ("dp_admm", "l1", {"c_w": 3}, dp_admm(False, 3), EPS),
    "dp_admm l2": ("dp_admm", "l2", {"c_w": 5}, dp_admm(True, 5), EPS),
    "dpsgd l1": ("dpsgd", "l1", {}, dpsgd, EPS),
    "dpsgd l2": ("dpsgd", "l2", {}, dpsgd, EPS),
    "dpsgd of samples": ("dpsgd", "l2", {"sampling": 0.3}, dpsgd_sampled(0.3), EPS),
    "dpsgd of small samples": ("dpsgd", "l1", {"sampling": 0.02}, dpsgd_sampled(0.02), EPS),
}


@pytest.mark.parametrize("case", CASES)
def test_trajectory_is_the_literal_one(case):
    name, penalty, params, literal, eps = CASES[case]
    if name not in ("dpsgd",):
        params = {**params, "rho": RHO}
    if name in ("admm", "pvp", "dvp"):
        params["tolerance"] = 1e-10
    dataset = binary()
    trace = simulate(
        dataset,
        name,
        params,
        problem={"loss": "logistic", "penalty": penalty, "strength": STRENGTH, "per": "agent"},
        agents=P,
        epsilon=eps,
        delta=DELTA,
        rounds=T,
        evaluate_every=1,
        seeds=SEEDS,
        dtype="float64",
    )
    for seed in SEEDS:
        run = Literal(dataset, seed, penalty, eps)
        before, after, server = [], [], []
        for k in range(1, T + 1):
            before.append([z.copy() for z in run.z])
            run.sizes = []
            literal(run, k)
            after.append([z.copy() for z in run.z])
            server.append(run.w)
            found = trace.sel(seed=seed, round=k)
            objective = sum(run.f(i, run.w) for i in range(P))
            assert float(found.train_loss) == pytest.approx(objective, rel=1e-7)
            violation = sum(np.abs(run.w - z).sum() for z in run.z)
            assert float(found.consensus_violation) == pytest.approx(violation, rel=1e-5, abs=1e-6)
            empirical = sum(run.loss(i, run.z[i]) / run.m[i] for i in range(P)) / P
            assert float(found.empirical_loss) == pytest.approx(empirical, rel=1e-7)
            # Rounding to the grid is not counted.
            noise = np.mean(run.sizes) if run.sizes else 0
            assert float(found.noise_magnitude) == pytest.approx(noise, rel=1e-2)
            if name == "dp_admm":
                # Theorem 3 averages w~^0 to w~^(t-1), theorem 4 w~^1 to w~^t; w^1 to w^t in both.
                models = np.mean(before if penalty == "l1" else after, axis=0)
                w = np.mean(server, axis=0)
                augmented = sum(
                    run.f(i, models[i]) + RHO * np.linalg.norm(models[i] - w) for i in range(P)
                )
                assert float(found.augmented_objective) == pytest.approx(augmented, rel=1e-6)


def test_dpsgd_protects_an_agent_of_one_record():
    """Another record moves its gradient by up to twice the bound, which is 1 in the unit ball."""
    given = {"epsilon": 1.0, "delta": DELTA, "sensitivity": "global", "problem": "logistic"}
    data, rounds = make_dataset(60, n_classes=2), {"rounds": 3, "evaluate_every": 1}
    trace = simulate(data, "dpsgd", agents=60, seeds=[0, 1, 2], **given, **rounds)
    std = 2 * math.sqrt(2 * math.log(1.25 / DELTA))
    found = trace["noise_magnitude"].sel(round=slice(1, None)).mean()
    assert found == pytest.approx(std * math.sqrt(2 / math.pi), rel=0.1)


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
            dataset=binary(),
            algorithm="pvp",
            params={"rho": RHO, "tolerance": each},
            seeds=[0],
            **given,
        )
        with workers(1) as pool:
            federation = assemble(spec, binary(), pool)
            state = spec.method.init(federation)
            spec.method.round(1, state, federation)
        sent.append(state.z)
    apart = np.linalg.norm(sent[0] - sent[1], axis=(2, 3))
    assert (apart <= tolerance / stiffness).all()
    assert apart.max() > 0.05 * tolerance / stiffness
    loose, exact = (
        simulate(
            binary(), "pvp", {"rho": RHO, "tolerance": each}, epsilon=0.5, delta=DELTA, **given
        )
        for each in (tolerance, 1e-10)
    )
    m = np.diff(np.linspace(0, binary().n_train, 4).astype(int)).mean()
    ratio = loose.noise_magnitude / exact.noise_magnitude
    assert float(ratio.mean()) == pytest.approx(1 + 2 * tolerance * m, rel=0.05)
    np.testing.assert_allclose(loose.epsilon_total, exact.epsilon_total, rtol=1e-3)


def test_the_paper_prints_these_step_sizes():
    """Section VI: with the constants of Adult, m = 400 records, k = 7."""

    class Whole:
        size = 104
        penalty_curvature = 1e-6
        penalty_gradient_bound = 1e-6 * math.sqrt(104)

    class Parts:
        n_samples = np.array([400])
        gradient_bound = np.array([[1.0]])
        curvature_bound = np.array([[0.25]])

    eps, delta, k = 0.05, 1e-4, 7
    log = math.log(1.25 / delta)
    l1 = 23 / math.sqrt(
        2 * k * (1 + 1e-6 * math.sqrt(104)) ** 2 + 1664 * k * log / (400 * eps) ** 2
    )
    l2 = 1 / (0.25 + 1e-6 + 2 * math.sqrt(416 * k * log) / (89 * 400 * eps))
    for kind, c_w, eta in (("nonsmooth", 23, l1), ("smooth", 89, l2)):
        penalty = "l1" if kind == "nonsmooth" else "l2"
        whole, parts = Whole(), Parts()
        whole.problem = as_problem({"loss": "logistic", "penalty": penalty}, "rows")
        parts.whole = whole
        zero = np.zeros((1, 1, 1, 104))
        rhos = 0.1, 0.1, 0.1
        models = zero, zero, zero[0], zero, zero[0]
        sub = Subproblem(k, *models, *rhos, parts, None, Privacy(eps, delta))
        for step_size in (kind, "auto"):
            found = DPADMM(step_size=step_size, c_w=c_w).schedule(sub)["inverse_eta"]
            assert found[0, 0] == pytest.approx(1 / eta)


def test_centralized_is_the_optimum_of_all_records():
    dataset = binary()
    trace = simulate(
        dataset,
        "centralized",
        problem={"loss": "logistic", "strength": STRENGTH},
        agents=P,
        rounds=2,
        evaluate_every=1,
        dtype="float64",
    )
    run = Literal(dataset, 0, "l2")
    best = optimize.minimize(
        lambda w: sum(run.f(i, w) for i in range(P)), np.zeros(J), tol=1e-12
    ).fun
    np.testing.assert_allclose(trace.train_loss[0, 1:], best, rtol=1e-9)
    assert not trace.floats_sent.any()


@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_admm_converges_to_the_centralized_optimum(penalty):
    problem = {"loss": "logistic", "penalty": penalty, "strength": 0.01}
    shared = {"problem": problem, "agents": P, "rounds": 400, "evaluate_every": 400}
    exact = simulate(binary(), "admm", {"tolerance": 1e-9}, dtype="float64", **shared)
    best = simulate(binary(), "centralized", dtype="float64", **shared)
    assert float(exact.train_loss[0, -1]) == pytest.approx(float(best.train_loss[0, -1]), rel=1e-4)
    assert float(exact.consensus_violation[0, -1]) < 1e-2


@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_one_large_record_does_not_slow_the_solver_down(penalty, monkeypatch):
    """The bound on curvature is 900 times larger; what the iterates meet is not."""
    steps = []
    gradient = RowParts.gradient

    def counted(self, *args, **given):
        steps.append(1)
        return gradient(self, *args, **given)

    monkeypatch.setattr(RowParts, "gradient", counted)
    problem = {"loss": "logistic", "penalty": penalty, "strength": 1e-5}
    data = binary()
    small = data.X_train / 30
    mixed = np.concatenate([data.X_train[:1], small[1:]])

    def steps_on(X_train):
        steps.clear()
        simulate(
            replace(data, X_train=X_train),
            "admm",
            {"rho": 0.001, "tolerance": 1e-10},
            problem=problem,
            agents=1,
            rounds=1,
            dtype="float64",
        )
        return len(steps)

    assert steps_on(mixed) < 5 * steps_on(small)


def test_exact_methods_say_when_they_cannot_solve():
    from admmbench.engine.rounds import AlgorithmError

    with pytest.raises(AlgorithmError, match="raise the tolerance"):
        simulate(binary(), "admm", {"tolerance": 1e-30}, problem="logistic", rounds=1)


LOGISTIC = {"loss": "logistic", "penalty": "l2"}


@pytest.mark.parametrize(
    ("name", "params", "problem", "message"),
    [
        ("pvp", {}, {"penalty": "l1"}, "pvp needs a penalty with a gradient, such as l2"),
        ("dvp", {}, {"penalty": "l1"}, "dvp needs a penalty with a gradient, such as l2"),
        ("outp", {}, {"penalty": "l1"}, "outp needs a penalty with a gradient, such as l2"),
        (
            "objp",
            {"proximity": "smooth"},
            {"penalty": "l1"},
            "objp needs a penalty with a gradient, such as l2",
        ),
        (
            "dp_admm",
            {"step_size": "smooth"},
            {"penalty": "l1"},
            "step_size: smooth needs a penalty with a gradient",
        ),
        (
            "dp_admm",
            {"step_size": "nonsmooth"},
            {"penalty": "l2"},
            "step_size: nonsmooth needs a penalty with bounded subgradients, such as l1",
        ),
        ("dvp", {}, {"loss": "softmax"}, "dvp needs a loss with one output, such as logistic"),
        ("admm", {}, {"loss": "sigmoid"}, "admm needs a convex loss"),
        ("pvp", {}, {"loss": "sigmoid"}, "pvp needs a convex loss"),
        ("dvp", {}, {"loss": "sigmoid"}, "dvp needs a convex loss"),
        ("centralized", {}, {"loss": "sigmoid"}, "centralized needs a convex loss"),
        *(
            (name, {}, {"loss": "squared_hinge"}, f"{name} needs a loss whose slope is bounded")
            for name in ("dp_admm", "dpsgd", "dvp", "outp", "pvp")
        ),
    ],
)
def test_what_the_theorems_do_not_cover_is_refused(name, params, problem, message):
    with pytest.raises(ValueError, match=f"^(algorithm: |params.){message}") as raised:
        simulate(binary(), name, params, problem={**LOGISTIC, **problem})
    words = {**LOGISTIC, **problem}
    assert f"the problem has loss {words['loss']} and penalty {words['penalty']}" in str(
        raised.value
    )
    assert "\n" not in str(raised.value)


def test_gradient_descent_with_noise_needs_bounded_slopes_on_numbers_too():
    for name in ("dp_admm", "dpsgd", "outp", "pvp"):
        with pytest.raises(ValueError, match=f"algorithm: {name} needs a loss whose slope is"):
            simulate("diabetes", name, problem="squared")


def test_a_worst_case_needs_a_bounded_slope():
    with pytest.raises(ValueError, match=r"sensitivity: global needs a loss whose slope is") as at:
        simulate(binary(), "objp", problem="squared_hinge", sensitivity="global")
    assert "such as logistic, softmax or huber" in str(at.value)
    simulate(binary(), "objp", problem="squared_hinge", rounds=1)


def test_there_is_no_authors_code_to_follow():
    with pytest.raises(ValueError, match="variant: pvp has no authors' code to follow"):
        simulate(binary(), "pvp", variant="reference", problem="logistic", epsilon=1)


def test_a_budget_of_thousands_needs_no_added_convexity():
    alpha, ridge = noise_budget(5000.0, np.array([[0.1]]), 0.5)
    assert alpha == pytest.approx(5000, rel=1e-3)
    assert ridge == 0


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    eps=st.floats(0.02, 3),
    m=st.integers(1, 30),
    rho=st.floats(0.01, 1),
)
def test_a_message_of_dvp_costs_its_budget(seed, eps, m, rho):
    """The density of any message under neighbouring records, from the noise that would have led to it.

    v solves the perturbed subproblem for exactly one b; the densities of v are those of b times a Jacobian.
    """
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(m, J))
    A /= np.linalg.norm(A, axis=1)[:, None]
    b = rng.choice([-1.0, 1.0], m)
    convexity = STRENGTH + rho
    left, ridge = noise_budget(eps, np.full((1, 1), 0.25 / m), convexity)
    zeta, phi = left.item() / 2, ridge.item()
    gamma, w, v = rng.normal(size=(3, J)) * rng.choice([0.1, 1, 20])

    def log_density(A, b):
        s = 1 / (1 + np.exp(b * (A @ v)))
        gradient = -(b * s) @ A / m + STRENGTH * v - gamma + rho * (v - w) + phi * v
        hessian = (A.T * (s * (1 - s))) @ A / m + (convexity + phi) * np.eye(J)
        return -zeta * np.linalg.norm(m * gradient) + np.linalg.slogdet(m * hessian)[1]

    other, flipped = A.copy(), b.copy()
    other[0] = -A[0] if seed % 2 else rng.normal(size=J) / J
    flipped[0] = rng.choice([-1.0, 1.0])
    assert abs(log_density(A, b) - log_density(other, flipped)) <= eps * (1 + 1e-9)


@settings(max_examples=200)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.01, 0.1, 1.0, 4.0]),
    st.sampled_from([1, 3, 40]),
    st.sampled_from(["zero_out", "replace"]),
)
def test_a_solution_of_dvp_costs_what_is_entered(seed, epsilon, m, relation):
    """Its density at any solution, by the change of variables from the noise, for both neighbours."""
    rng = np.random.default_rng(seed)
    J, c1, c3, convexity = 3, 1.0, 0.25, 0.12
    v, w, dual = rng.normal(size=(3, J)) * rng.choice([0.1, 1, 10])
    X = rng.normal(size=(m, J))
    X /= np.maximum(1, np.linalg.norm(X, axis=1, keepdims=True))
    y = rng.choice([-1, 1], m)
    other = X.copy()
    other[0] = 0 if relation == "zero_out" else rng.choice([-1, 1]) * X[0] / np.linalg.norm(X[0])
    labels = y.copy()
    labels[0] *= rng.choice([-1, 1])
    alpha, ridge = noise_budget(epsilon, np.array([[c3 / m]]), convexity)
    weight = float(ridge.item())

    def log_density(records, y):
        """Of b = m (dual - grad f(v) - rho (v - w) - ridge v), where lambda / n is a part of the convexity."""
        s = expit(-y * (records @ v))
        gradient = -(records * (y * s)[:, None]).mean(axis=0)
        b = m * (dual - gradient - convexity * v + 0.1 * w - weight * v)
        hessian = (records.T * (s * (1 - s))) @ records / m + (convexity + weight) * np.eye(J)
        zeta = float(alpha.item()) / (2 * c1)
        return -zeta * np.linalg.norm(b) + np.linalg.slogdet(hessian)[1]

    loss = abs(log_density(X, y) - log_density(other, labels))
    release = DVP.release
    ((entered, _),) = release.cost(Privacy(epsilon, relation=relation)).pure
    assert loss <= entered * (1 + 1e-9)
    assert entered == (epsilon if relation == "replace" else epsilon / 2)


def test_under_a_secure_sum_agents_share_the_noise():
    """Their sum has the noise that the smallest agent needs alone; the total is the same."""
    given = {"epsilon": 1.0, "delta": DELTA, "sensitivity": "global", "problem": "logistic"}
    data, rounds = make_dataset(90, n_classes=2), {"rounds": 2, "evaluate_every": 1}
    alone, together = (
        simulate(data, "dpsgd", agents=4, seeds=40, privacy={"trust": trust}, **given, **rounds)
        for trust in ("agents", "secure_sum")
    )
    np.testing.assert_array_equal(alone.epsilon_total, together.epsilon_total)
    smallest = 90 // 4
    std = 2 / smallest * math.sqrt(2 * math.log(1.25 / DELTA)) / math.sqrt(4)
    found = float(together.noise_magnitude.mean())
    assert found == pytest.approx(std * math.sqrt(2 / math.pi), rel=0.05)


@pytest.mark.parametrize("trust", ["agents", "secure_sum"])
def test_a_sample_is_paid_for_as_one(trust):
    """The noise covers a contribution over q m, and the total has credit for q: as in dp-accounting's events."""
    q, rounds, multiplier = 0.1, 4, math.sqrt(2 * LOG)
    trace = simulate(
        make_dataset(90, n_classes=2),
        "dpsgd",
        {"sampling": q},
        problem="logistic",
        agents=3,
        epsilon=1.0,
        delta=DELTA,
        sensitivity="global",
        privacy={"trust": trust},
        rounds=rounds,
        evaluate_every=1,
        seeds=40,
    )
    std = 2 / (q * 30) * multiplier / (math.sqrt(3) if trust == "secure_sum" else 1)
    found = float(trace.noise_magnitude.mean())
    assert found == pytest.approx(std * math.sqrt(2 / math.pi), rel=0.05)
    one = dp.PoissonSampledDpEvent(q, dp.GaussianDpEvent(2 * multiplier))
    accountant = dp.pld.PLDAccountant(dp.NeighboringRelation.REPLACE_SPECIAL)
    accountant.compose(dp.SelfComposedDpEvent(one, rounds))
    assert float(trace.epsilon_total[-1]) == pytest.approx(accountant.get_epsilon(DELTA), rel=0.02)
    assert trace.epsilon_total.attrs["guarantee"] == "conditional"


def test_samples_are_refused_where_another_record_takes_the_place_of_one():
    given = {"epsilon": 1.0, "problem": "logistic", "privacy": {"relation": "replace"}}
    with pytest.raises(
        ValueError, match=r"privacy.relation: replace does not go with sampling 0.5,"
    ):
        simulate(binary(), "dpsgd", {"sampling": 0.5}, **given)
    simulate(binary(), "dpsgd", {"sampling": 1}, rounds=1, **given)


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        (
            "dp_admm",
            {},
            "privacy.trust: secure_sum does not suit dp_admm: its agents compute at models",
        ),
        ("dpsgd", {"sensitivity": "local"}, "privacy.trust: secure_sum needs sensitivity: global"),
    ],
)
def test_a_secure_sum_is_refused_where_it_hides_nothing(name, changes, message):
    given = {"epsilon": 1.0, "sensitivity": "global", "problem": "logistic", **changes}
    with pytest.raises(ValueError, match=re.escape(message)):
        simulate(make_dataset(90, n_classes=2), name, privacy={"trust": "secure_sum"}, **given)
