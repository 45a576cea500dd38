"""Theorems of huang2019: a transcription of algorithm 3 with every inequality of the proofs."""

import math

import numpy as np
import pytest

from admmbench import simulate
from tests.algorithms.literal_huang2019 import (
    DELTA,
    EPS,
    LOG,
    RHO,
    SIZES,
    STRENGTH,
    J,
    Literal,
    P,
    in_unit_ball,
)

T, C_W, SEED = 12, 4.0, 4
THEOREMS = {"theorem3": "l1", "theorem4": "l2"}


def problem(penalty, **more):
    given = {"loss": "logistic", "penalty": penalty, "strength": STRENGTH, "per": "agent"}
    return {**given, "average": "agents", **more}


def run(theorem, eps=EPS, **more):
    params = {"average": theorem, "rho": RHO, "c_w": C_W}
    given = {"agents": P, "epsilon": eps, "delta": DELTA, "rounds": T, "evaluate_every": 1}
    given |= {"seeds": [SEED], "dtype": "float64"}
    given |= {"problem": problem(THEOREMS[theorem], feasible=BALL)} | more
    return simulate(in_unit_ball(), "dp_admm", params, **given)


def within(W, z):
    return z * min(1, W["ball"] / np.linalg.norm(z)) if W else z


def optimum(literal, W):
    """Of sum_i f_i over W, by proximal gradients."""
    w, step = np.zeros(J), 1.0
    for _ in range(4000):
        w = w - step * sum(literal.loss_gradient(i, w) for i in range(P))
        lam = step * P * STRENGTH
        w = np.sign(w) * np.maximum(np.abs(w) - lam, 0) if literal.l1 else w / (1 + lam)
        w = within(W, w)
    return w


def inverse_eta(literal, i, k, smooth):
    m, c1 = literal.m[i], literal.c1[i]
    if smooth:
        growth = 4 * c1 * math.sqrt(J * k * LOG) / (m * literal.eps * C_W)
        return c1**2 / 4 + STRENGTH + growth
    slope = (c1 + STRENGTH * math.sqrt(J)) ** 2
    return math.sqrt(2 * k * (slope + 8 * J * c1**2 * LOG / (m * literal.eps) ** 2)) / C_W


def rounds(theorem, eps, W):
    """Each round of algorithm 3: its own inequality at the multipliers 0, and what is summed up."""
    smooth = theorem == "theorem4"
    literal = Literal(SEED, THEOREMS[theorem], eps)
    star = optimum(literal, W)
    z_sum, w_sum, total = [np.zeros(J) for _ in range(P)], np.zeros(J), 0.0
    for k in range(1, T + 1):
        before, w_before = list(literal.z), literal.w
        gamma_before = list(literal.gamma)
        updates = []
        for i in range(P):
            s = inverse_eta(literal, i, k, smooth)
            g = literal.gradient(i, literal.z[i])
            v = (-g + literal.gamma[i] + RHO * literal.w + literal.z[i] * s) / (RHO + s)
            noisy = literal.noisy(v, i, literal.c1[i] / literal.m[i] / (RHO + s), k)
            updates.append((s, g, noisy - v))
            literal.z[i] = within(W, noisy)
        literal.finish()
        left = right = 0.0
        for i, (s, g, xi) in enumerate(updates):
            near, far = (np.sum((star - z[i]) ** 2) for z in (before, literal.z))
            if smooth:  # (33)
                spare = 2 * s - 2 * (literal.c1[i] ** 2 / 4 + STRENGTH)
                right += (RHO + s) ** 2 / spare * xi @ xi if xi.any() else 0.0
            else:  # (28)
                right += np.sum((g - (RHO + s) * xi) ** 2) / (2 * s)
            right -= (RHO + s) * xi @ (star - before[i]) - s / 2 * (near - far)
            right += RHO / 2 * (np.sum((star - w_before) ** 2) - np.sum((star - literal.w) ** 2))
            right += (np.sum(gamma_before[i] ** 2) - np.sum(literal.gamma[i] ** 2)) / (2 * RHO)
            at, w = (literal.z if smooth else before)[i], literal.w
            # (u^k - u)^T F(u^k) at gamma_i = 0
            skew = -literal.gamma[i] @ (literal.z[i] - star) + literal.gamma[i] @ (w - star)
            skew += literal.gamma[i] @ (literal.z[i] - w)
            left += literal.f(i, at) - literal.f(i, star) + skew
            z_sum[i] = z_sum[i] + at
        total, w_sum = total + right, w_sum + literal.w
        means = [each / k for each in z_sum]
        gap = sum(literal.f(i, means[i]) - literal.f(i, star) for i in range(P))
        apart = sum(np.linalg.norm(each - w_sum / k) for each in means)
        farthest = max(np.linalg.norm(star - z) for z in literal.z)
        yield left, right, gap, apart, total / k, farthest


BALL = {"ball": 1.5}
CASES = [("theorem3", EPS, BALL), ("theorem3", math.inf, {"ball": 5}), ("theorem4", EPS, BALL)]
CASES += [("theorem4", EPS, None), ("theorem4", math.inf, None)]


@pytest.mark.slow
@pytest.mark.parametrize(("theorem", "eps", "W"), CASES)
def test_both_sides_are_those_of_a_transcription(theorem, eps, W):
    trace, far = run(theorem, eps, problem=problem(THEOREMS[theorem], feasible=W)), 0.0
    course = rounds(theorem, eps, W)
    for k, (left, right, gap, apart, drawn, farthest) in enumerate(course, start=1):
        assert left <= right + 1e-12  # lemmas 2 and 3
        now = trace.sel(seed=SEED, round=k)
        assert float(now.theorem_drawn_left) == pytest.approx(gap, rel=1e-5, abs=1e-7)
        assert float(now.theorem_drawn_right) == pytest.approx(drawn, rel=1e-5, abs=1e-7)
        assert float(now.theorem_left) == pytest.approx(gap + RHO * apart, rel=1e-5, abs=1e-7)
        assert gap <= drawn + 1e-12
        far = max(far, farthest)
        assert float(now.theorem_farthest) >= far - 1e-6


@pytest.mark.parametrize("average", ["agents", "records"])
@pytest.mark.parametrize("theorem", THEOREMS)
def test_right_sides_are_those_printed(theorem, average):
    """(30) and (31); (35) and (36): of a part of f_i where records count alike. Runs as drawn are below the proofs."""
    stated = problem(THEOREMS[theorem], feasible=BALL) | {"average": average}
    trace = run(theorem, problem=stated)
    literal = Literal(SEED, THEOREMS[theorem])
    for t in (1, T):
        right = 0.0
        for m, c1 in zip(SIZES, literal.c1, strict=True):
            part = 1 if average == "agents" else m / sum(SIZES)
            if theorem == "theorem3":
                slope = (part * c1 + STRENGTH * math.sqrt(J)) ** 2
                M = C_W * math.sqrt(2 * slope + 16 * J * (part * c1) ** 2 * LOG / (m * EPS) ** 2)
                rest = (RHO * C_W**2 + RHO) / 2
            else:
                M = 4 * C_W * part * c1 * math.sqrt(J * LOG) / (m * EPS)
                rest = (C_W**2 * (part * c1**2 / 4 + STRENGTH + RHO) + RHO) / 2
            right += M / math.sqrt(t) + rest / t
        assert float(trace.theorem_right.sel(seed=SEED, round=t)) == pytest.approx(right)
    drawn = trace.isel(round=slice(1, None))
    assert (drawn.theorem_drawn_left <= drawn.theorem_drawn_right).all()


def test_what_these_theorems_suppose_is_asked_for():
    with pytest.raises(ValueError, match="another step_size"):
        run("theorem3", problem=problem("l2"))
    with pytest.raises(Exception, match="constant"):
        simulate(
            in_unit_ball(),
            "dp_admm",
            {"average": "theorem4", "rho": {"c1": 1, "c2": 0, "period": 1, "growth": 2}},
            problem=problem("l2"),
            agents=P,
            rounds=3,
            dtype="float64",
            seeds=[0],
        )
