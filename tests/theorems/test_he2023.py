"""Theorems of he2023 on quadratic programs, whose solutions and subproblems are linear systems."""

import functools
import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest

from admmbench import simulate
from tests.algorithms.he2023 import QP, instance, run_of
from tests.algorithms.runs import rounds

N, S, Q, EPS, SEED = 3, 0.01, 0.9, 1e-3, 5
# Rounding errors of squares.
TINY = 1e-24
FLAT = {"beta": 1.0, "rho": 1.0}
CASES = [FLAT, {"beta": 10.0, "rho": 1.0}, {"beta": 3.0, "rho": 20.0}]


class Program:
    """(25) for one seed, as one agent more for the server; and what the proofs speak of."""

    def __init__(self, beta, rho):
        A, self.b, self.C, self.d = instance(N, SEED)
        self.A = np.concatenate([A, np.zeros_like(A[:1])])
        self.b = np.concatenate([self.b, np.zeros_like(self.b[:1])])
        self.beta, self.rho, self.size = beta, rho, A.shape[-1]
        self.sigma = 1 / ((N + 1) * beta)
        gram = np.swapaxes(self.C, 1, 2) @ self.C
        self.hessians = self.A + beta * gram + self.sigma * np.eye(self.size)
        self.L = max(np.linalg.eigvalsh(H)[-1] for H in self.hessians)
        C = self.C.reshape(-1, self.size)
        kkt = np.block([[self.A.sum(axis=0), C.T], [C, np.zeros((len(C), len(C)))]])
        both = np.linalg.solve(kkt, np.concatenate([-self.b.sum(axis=0), -self.d.ravel()]))
        self.w, self.mu = both[: self.size], both[self.size :].reshape(self.d.shape)

    def constraints(self, w):
        return self.C @ w + self.d

    def gradients(self, w, centre, mu):
        """Of P_{i,k}, (10) and (11)."""
        pulls = np.einsum("imd,im->id", self.C, mu + self.beta * self.constraints(w))
        return self.A @ w + self.b + pulls + self.sigma * (w - centre)

    def resolvent(self, centre, mu):
        """(59): what (6) has as its solution, and the multipliers there."""
        zero = np.zeros(self.size)
        w = np.linalg.solve(
            self.hessians.sum(axis=0), -self.gradients(zero, centre, mu).sum(axis=0)
        )
        return w, mu + self.beta * self.constraints(w)

    def subproblem(self, at):
        """Solution, gradients there and at the start, S_0 of (51), and (24), of the subproblem of a state."""
        star, _ = self.resolvent(at.w, at.mu)
        slopes = [self.gradients(w, at.w, at.mu)[:N] for w in (star, at.w)]
        gap, change = np.sum((star - at.w) ** 2), np.sum((slopes[0] - slopes[1]) ** 2)
        first = N * self.rho / 2 * gap + change / (2 * self.rho)
        radius = (N + 1) / (self.sigma**2 * (1 - Q**2)) + 2 * first / self.sigma
        return star, slopes[0], first, radius

    def apart(self, w, mu, other):
        return math.sqrt(np.sum((w - other[0]) ** 2) + np.sum((mu - other[1]) ** 2))


def iterations(method, params):
    """State before and after each round of a run, with the server's multipliers last."""
    return itertools.pairwise(states(method, **params))


@functools.cache
def states(method, **params):
    found = []
    for _, state, _ in rounds(run_of(method, params, 20_000, agents=N, seeds=[SEED])):
        now = SimpleNamespace(w=state.model[0].copy(), outer=int(state.outer[0]))
        now.mu = np.concatenate([state.mu[:, 0], state.mu_server[:, 0]])
        for name in ("u", "dual"):
            if hasattr(state, name):
                setattr(now, name, getattr(state, name)[:, 0].copy())
        found.append(now)
        if state.ended.all():
            return found
    raise AssertionError("no end")


@pytest.mark.parametrize("params", CASES)
@pytest.mark.parametrize("method", ["prox_al", "cprox_al"])
def test_outer_iterations_are_as_the_proofs_say(method, params):
    """Lemmas B.1, B.2, 3.2 and B.3, and the number of outer iterations in theorem 3.2."""
    program = Program(params["beta"], params["rho"])
    beta, optimum = program.beta, (program.w, program.mu)
    given = params if method == "prox_al" else {"beta": beta}
    path, centre = [], None
    for before, after in iterations(method, given):
        if centre is None:
            centre = before
            path.append((centre.w, centre.mu))
        if after.outer > before.outer:
            tau = S / after.outer**2
            ideal = program.resolvent(centre.w, centre.mu)
            assert program.apart(after.w, after.mu, ideal) <= math.sqrt(program.size) * beta * tau
            # Lemma B.2: a resolvent is firmly nonexpansive.
            near, far = (
                program.apart(ideal[0], ideal[1], optimum),
                program.apart(centre.w, centre.mu, optimum),
            )
            moved = program.apart(centre.w, centre.mu, ideal)
            assert moved**2 + near**2 <= far**2 * (1 + 1e-12)
            centre = after
            path.append((centre.w, centre.mu))
    r0 = program.apart(*path[0], optimum)
    for w, mu in path:
        assert np.linalg.norm(w - program.w) <= r0 + 2 * S * beta
        assert np.linalg.norm(mu - program.mu) <= r0 + 2 * S * beta
    steps = [program.apart(*new, old) for old, new in itertools.pairwise(path)]
    for K in range(1, (len(steps) - 1) // 2 + 1):
        errors = sum(beta * S / (k + 1) ** 2 for k in range(2 * K + 1))
        assert min(steps[K : 2 * K + 1]) <= math.sqrt(2) * (r0 + 2 * errors) / math.sqrt(K + 1)
    bound = 2 * (S + math.sqrt(2) * (r0 + 4 * S * beta) / beta) ** 2 / EPS**2
    assert len(steps) <= bound


def inner_bound(program, tau, first):
    """(52), with sigma and L of (10) and (11), from S_0 of (51)."""
    rest = (N + 1) / (2 * program.sigma)
    rest += N * program.sigma / (program.rho**2 + 2 * program.L**2)
    b = 2 / math.sqrt(program.sigma) * N * (program.L + program.rho)
    b = (b + math.sqrt(2 * N * program.rho)) * math.sqrt(first + rest / (1 - Q))
    r = program.sigma * program.rho / (program.rho**2 + 2 * program.L**2)
    return math.ceil(2 * math.log(tau / (N + 1 + b)) / math.log(max(Q, 1 / (1 + r)))) + 1


@pytest.mark.parametrize("params", CASES)
def test_inner_iterations_are_as_the_proofs_say(params):
    """Lemma 4.1, (37) and (45), lemma A.3, and the number of iterations in theorem 4.2."""
    program = Program(**params)
    rho, sigma, count, begin = program.rho, program.sigma, 0, None
    for before, after in iterations("prox_al", params):
        if begin is None:
            begin, count = before, 0
            star, slopes, first, radius = program.subproblem(begin)
            r = sigma * rho / (rho**2 + 2 * program.L**2)

        def total(at, star=star, slopes=slopes):
            """(44), with lambda_i* = -grad F_i(w~*)."""
            dual = np.sum((at.dual + slopes) ** 2)
            return rho / 2 * np.sum((star - at.u) ** 2) + dual / (2 * rho)

        if not count:
            assert total(before) == pytest.approx(first)
            bound = inner_bound(program, S / (begin.outer + 1) ** 2, first)
        count += 1
        assert np.sum((after.w - star) ** 2) <= radius
        if after.outer > before.outer:
            assert count <= bound
            begin = None
            continue
        assert (np.sum((after.u - star) ** 2, axis=1) <= radius).all()
        # (37) and (45): subproblems are solved exactly, so that e = 0.
        near = np.sum((after.w - star) ** 2) + np.sum((after.u - star) ** 2)
        known = sigma / 2 * near + rho / 2 * np.sum((after.w - before.u) ** 2)
        assert known <= total(before) - total(after) + 1e-9 * total(before) + TINY
        assert (1 + r) * total(after) <= total(before) * (1 + 1e-9) + TINY


def test_what_a_run_measures_is_what_the_program_says():
    """Both sides of all four, in every round, and (70) and the last bound of the paper with the constant of (68)."""
    params = CASES[-1]
    program = Program(**params)
    of_agents = max(np.linalg.eigvalsh(A)[-1] for A in program.A[:N])
    norm = max(np.linalg.norm(C, 2) for C in program.C)
    exact, program_L = program.L, of_agents + program.beta * norm**2 + program.sigma
    far, begin = 0.0, None
    apart: list[tuple[float, ...]] = []
    counts: list[tuple[float, ...]] = []
    for before, after in iterations("prox_al", params):
        if begin is None:
            begin, count = before, 0
            if not far:
                far = float(np.linalg.norm(before.w - program.w))
                r0 = program.apart(before.w, before.mu, (program.w, program.mu))
            star, _, first, radius = program.subproblem(begin)
            bounds = []
            for L in (exact, program_L):
                program.L = L
                bounds.append(inner_bound(program, S / (begin.outer + 1) ** 2, first))
        count += 1
        if after.outer > before.outer:
            far = max(far, float(np.linalg.norm(after.w - program.w)))
            begin = None
        distances = [*np.sum((after.u - star) ** 2, axis=1), np.sum((after.w - star) ** 2)]
        # The next subproblem begins at once: these are its u.
        distances = distances[-1:] if begin is None else distances
        apart.append((max(distances), radius))
        counts.append((count, *bounds))
    trace = simulate(
        QP,
        "prox_al",
        {**params, "theorems": True},
        agents=N,
        seeds=[SEED],
        rounds=len(counts),
        evaluate_every=50,
    ).isel(seed=0)
    both = itertools.accumulate(apart, nearest), itertools.accumulate(counts, nearest)
    for t, ((left, right), sides) in enumerate(zip(*both, strict=True), start=1):
        if t in trace["round"]:
            now = trace.sel(round=t)
            # At the end of a subproblem its last local models are not looked at above.
            assert now.lemma41_right / now.lemma41_left <= right / left * (1 + 1e-9)
            names = ("theorem42_left", "theorem42_right", "theorem42_right_70")
            assert [float(now[name]) for name in names] == pytest.approx(sides)
    last = trace.isel(round=-1)
    assert float(last.lemma32_left) == pytest.approx(far)
    assert float(last.lemma32_right) == pytest.approx(r0 + 2 * S * program.beta)
    K = 2 * (S + math.sqrt(2) * (r0 + 4 * S * program.beta) / program.beta) ** 2 / EPS**2
    assert float(last.theorem32_right) == pytest.approx(K)
    rho = program.rho
    most = N * (rho**2 + program_L**2) / (2 * rho) * (r0 + 2 * S * program.beta) ** 2
    program.L = program_L
    total = (K + 1) * inner_bound(program, S / (K + 1) ** 2, most)
    assert float(last.theorem32_inner_right) == pytest.approx(total)
    assert float(last.inner_iterations) == len(counts)


def nearest(kept, new):
    """Keep the sides of which the first two are nearest to each other."""
    return new if new[0] * kept[1] > kept[0] * new[1] else kept


def test_the_inequality_of_lemma_41_is_tight():
    """(37) for f_i = sigma w^2 / 2 in one dimension, solved exactly: an equality with 2 sigma for sigma."""
    sigma, rho, n = 0.7, 1.3, 2
    u, dual = np.full(n, 1.0), np.full(n, -sigma)
    for _ in range(5):
        before, S_t = u.copy(), np.sum(rho / 2 * u**2 + dual**2 / (2 * rho))
        w = (rho * u + dual).sum() / (sigma + n * rho)
        u = (rho * w - dual) / (sigma + rho)
        dual = dual + rho * (u - w)
        fall = S_t - np.sum(rho / 2 * u**2 + dual**2 / (2 * rho))
        near, step = w**2 + np.sum(u**2), rho / 2 * np.sum((w - before) ** 2)
        assert sigma * near + step == pytest.approx(fall)
        assert 1.1 * sigma * near + step > fall


def test_what_7_admits_leaves_the_set_of_lemma_32_in_two_dimensions():
    """(7) bounds the largest entry, lemma B.1 the norm: f = 0 and w^0 = w*, and every entry is off by beta tau_k."""
    beta, far = 1.0, {}
    for size in (1, 2):
        w = np.zeros(size)
        for k in range(200):
            tau = S / (k + 1) ** 2
            new = w + beta * tau
            assert np.abs((new - w) / beta).max() <= tau * (1 + 1e-9)  # (7)
            w = new
        far[size] = np.linalg.norm(w)
    assert far[1] <= 2 * S * beta < far[2] <= math.sqrt(2) * 2 * S * beta


def test_what_14_admits_leaves_the_set_of_lemma_41_in_three_dimensions():
    """F_i = ||w||^2 / 2, n = 1, w~0 = w~* = 0: (14) bounds the largest entry of e, the proof its norm."""
    q, rho, outside = 0.5, 1e-3, {}
    for size in (2, 3):
        w = np.ones(size) / (1 + rho)  # grad phi_0 = w + rho w = (1, ..., 1)
        outside[size] = w @ w > 2 / (1 - q**2)
        assert w @ w <= size * 2 / (1 - q**2)
    assert outside == {2: False, 3: True}
