"""Theorems of ryu2021 and ryu2022: a transcription of the algorithm over W with every inequality of the proofs."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from admmbench import simulate
from admmbench.contracts.made_up_data import make_dataset
from admmbench.contracts.runs import run_without_engine
from admmbench.spec.run import RunSpec
from admmbench.theorems.ryu2022 import THEOREMS, BoundTerms, Constants
from tests.algorithms.literal_ryu2022 import Literal
from tests.noise import noisy

P, N, J, K, T, EPS = 3, 60, 7, 3, 12, 0.7
STRENGTH = 0.3
GROWING = {"c1": 0.3, "c2": 0, "period": 1, "growth": 1.02}
PROXIMITY = {"theorem2": "smooth", "theorem3": "sqrt", "theorem4": "strong"}


def theorems():
    """Theorems of no run."""
    return {name: theorem(None) for name, theorem in THEOREMS.items()}


def within(W, z):
    ((kind, r),) = W.items()
    if kind == "box":
        return np.clip(z, -r, r)
    return z * min(1, r / np.linalg.norm(z)) if z.any() else z


class Course:
    """Algorithm 1 of ryu2022 over W for one seed, agent by agent, and all that the proofs sum up."""

    def __init__(self, data, theorem, E, W, eps, rho, star, objective):
        run = Literal(data, 5, False, eps)
        s = STRENGTH / P
        L = max(np.linalg.eigvalsh(X.T @ X)[-1] for X in run.X) / (2 * N) + s
        eta = {
            "theorem2": lambda t: 1 / (L + math.sqrt(t) / eps),
            "theorem3": lambda t: 1 / math.sqrt(t),
            "theorem4": lambda t: 2 / (s * (t + 2)),
        }[theorem]
        weight = (lambda t: t) if theorem == "theorem4" else lambda t: 1
        chain = [z.copy() for z in run.z]
        self.updates, self.rounds = [], []
        w_sum, z_sum, drawn, total = np.zeros((K, J)), np.zeros((P, K, J)), 0.0, 0.0
        for t in range(1, T + 1):
            run.w = run.server(rho(t))
            sent, dual = [z.copy() for z in run.z], [d.copy() for d in run.dual]
            own = []
            for p in range(P):
                steps = []
                for e in range(E):
                    before = chain[p]
                    g = run.gradient(p, before, N)
                    given = g
                    if math.isfinite(eps):
                        bound = run.sensitivity(p, before) / N
                        given = noisy(g, "laplace", bound, 1 / eps, (5, p, t, e))
                    slope = given + s * before
                    free = (-slope + rho(t) * run.w + run.dual[p] + before / eta(t)) / (
                        rho(t) + 1 / eta(t)
                    )
                    chain[p] = within(W, free)
                    steps.append((before, given - g, slope, chain[p]))
                run.z[p] = sum(after for *_, after in steps) / E
                run.dual[p] = run.dual[p] + rho(t) * (run.w - run.z[p])
                own.append(steps)
            for p, steps in enumerate(own):
                for before, xi, slope, after in steps:
                    u = SimpleNamespace(
                        p=p,
                        eta=eta(t),
                        f_before=objective(p, before),
                        f_after=objective(p, after),
                        f_star=objective(p, star),
                        pull=np.vdot(run.dual[p], after - star),
                        bend=rho(t) * np.vdot(run.z[p] - after, after - star),
                        young=np.vdot(xi, xi) / (2 * (1 / eta(t) - L)) if xi.any() else 0.0,
                        squared_gradient=eta(t) / 2 * np.vdot(slope, slope),
                        near=np.sum((star - before) ** 2),
                        far=np.sum((star - after) ** 2),
                        product=np.vdot(xi, star - before),
                        alpha=s,
                    )
                    self.updates.append(u)
                    drawn += weight(t) / E * right_of_update(theorem, u, bend=False)
                    z_sum[p] += weight(t) / E * (after if theorem == "theorem2" else before)
            for p in range(P):
                moved = np.sum((star - run.z[p]) ** 2) - np.sum((star - sent[p]) ** 2)
                grown = np.sum(run.dual[p] ** 2) - np.sum(dual[p] ** 2)
                drawn -= weight(t) * (rho(t) / 2 * moved + grown / (2 * rho(t)))
            w_sum, total = w_sum + weight(t) * run.w, total + weight(t)
            z = z_sum / total
            gap = sum(objective(p, z[p]) - objective(p, star) for p in range(P))
            apart = math.sqrt(np.sum((w_sum / total - z) ** 2))
            self.rounds.append((gap, apart, drawn / total))


def right_of_update(theorem, u, bend=True, half=1.0):
    """(31), (45) or (56); ``half`` plants a wrong constant."""
    known = half / (2 * u.eta) * (u.near - u.far) + u.product + (u.bend if bend else 0.0)
    if theorem == "theorem2":
        return u.young + known
    return u.squared_gradient + known - (u.alpha / 2 * u.near if theorem == "theorem4" else 0.0)


def left_of_update(theorem, u):
    return (u.f_after if theorem == "theorem2" else u.f_before) - u.f_star - u.pull


def problem(W):
    given = {"loss": "softmax", "strength": STRENGTH, "per": "total", "average": "records"}
    return {**given, "feasible": W}


def run(data, theorem, E, W, eps, rho=GROWING, **more):
    params = {"average": theorem, "proximity": PROXIMITY[theorem], "local_updates": E, "rho": rho}
    given = {"agents": P, "epsilon": eps, "rounds": T, "evaluate_every": 1, "seeds": [5]}
    given |= {"problem": problem(W), "dtype": "float64"} | more
    return simulate(data, "objp", params, **given)


def optimum(data, W):
    """By projected gradients, and the objective of an agent."""
    run = Literal(data, 5, False)

    def objective(p, z):
        logits = run.X[p] @ z.T
        shifted = logits - logits.max(axis=1, keepdims=True)
        log = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
        own = -log[np.arange(len(log)), run.y[p]].sum() / N
        return own + STRENGTH / P / 2 * np.sum(z**2)

    z = np.zeros((K, J))
    for _ in range(800):
        slope = sum(run.gradient(p, z, N) for p in range(P)) + STRENGTH * z
        z = within(W, z - slope / 2)
    return z, objective


CASES = [
    (theorem, E, W, eps)
    for theorem in THEOREMS
    for E, W, eps in ((1, {"box": 0.1}, EPS), (3, {"ball": 0.3}, EPS), (2, {"ball": 5}, math.inf))
]


@pytest.mark.parametrize(("theorem", "E", "W", "eps"), CASES)
def test_both_sides_are_those_of_a_transcription(theorem, E, W, eps):
    """In which every inequality of the proofs holds in every update."""
    data = make_dataset(N, 30, J, K)
    star, objective = optimum(data, W)
    course = Course(data, theorem, E, W, eps, lambda t: 0.3 * 1.02**t, star, objective)
    trace = run(data, theorem, E, W, eps)
    slopes = [Literal(data, 5, False).gradient(p, star, N) for p in range(P)]
    gamma = 2 * math.sqrt(sum(np.sum((g - sum(slopes) / P) ** 2) for g in slopes))
    for t, (gap, apart, drawn) in enumerate(course.rounds, start=1):
        now = trace.sel(seed=5, round=t)
        assert float(now.theorem_drawn_left) == pytest.approx(gap, rel=1e-6, abs=1e-9)
        assert float(now.theorem_drawn_right) == pytest.approx(drawn, rel=1e-6, abs=1e-9)
        if theorem != "theorem4":
            assert float(now.theorem_left) == pytest.approx(gap + gamma * apart, rel=1e-6)
        assert gap <= drawn + 1e-12
    for u in course.updates:
        assert left_of_update(theorem, u) <= right_of_update(theorem, u) + 1e-12


@pytest.mark.parametrize("theorem", THEOREMS)
def test_a_run_is_below_its_proof_where_agents_count_alike(theorem):
    W = {"ball": 0.3}
    stated = problem(W) | {"average": "agents"}
    trace = run(make_dataset(N, 30, J, K), theorem, 3, W, EPS, problem=stated)
    trace = trace.isel(round=slice(1, None))
    assert (trace.theorem_drawn_left <= trace.theorem_drawn_right).all()
    assert (trace.theorem_left <= trace.theorem_repaired_least).all()


@pytest.mark.parametrize("theorem", THEOREMS)
def test_a_wrong_constant_in_the_proof_is_refuted_in_one_dimension(theorem):
    """A linear f, or the square of which theorem 4 speaks: what proofs say of one update is tight for them."""
    alpha = 1.0 if theorem == "theorem4" else 0.0
    eta, rho, star = 0.25, 1e-3, -1.0  # over W = [-1, 1]

    def f(z):
        return (z - star) ** 2 / 2 if alpha else z

    z, dual, refuted = 1.0, 0.0, 0
    for _ in range(5):
        w, slope = z - dual / rho, (z - star) if alpha else 1.0
        new = float(np.clip((-slope + rho * w + dual + z / eta) / (rho + 1 / eta), -1, 1))
        dual += rho * (w - new)
        u = SimpleNamespace(
            eta=eta,
            f_before=f(z),
            f_after=f(new),
            f_star=f(star),
            pull=dual * (new - star),
            bend=0.0,
            young=0.0,
            squared_gradient=eta / 2 * slope**2,
            near=(star - z) ** 2,
            far=(star - new) ** 2,
            product=0.0,
            alpha=alpha,
        )
        left = left_of_update(theorem, u)
        assert left <= right_of_update(theorem, u) + 1e-12
        refuted += left > right_of_update(theorem, u, half=0.5) + 1e-12
        z = new
    assert refuted >= 3


CONSTANTS = Constants(*(np.array([value]) for value in (2.0, 3.0, 0.5)))
FACTS = BoundTerms(
    T=16,
    P=4,
    size=5,
    E=2,
    epsilon=0.5,
    first=1.0,
    last=2.0,
    gamma=np.array([6.0]),
    L=7.0,
    alpha=0.1,
)


def test_right_sides_are_those_printed():
    """(16a), (20a), (23) of ryu2022 and (19a) of ryu2021, by hand."""
    k, f = CONSTANTS, FACTS
    right = {name: float(theorem.right(k, f)[0]) for name, theorem in theorems().items()}
    noise = 2 * 4 * 5 * 0.25
    assert right["theorem2"] == pytest.approx(
        (noise + 9 / 4) / (0.5 * 4) + (9 * (2 + 3.5) + 36) / 32
    )
    assert right["theorem3"] == pytest.approx((noise / 0.25 + 16 + 9 / 4) / 4 + (18 + 36 + 36) / 32)
    last = 36 + 18 + 4 * 36 + 0.1 * 9 / 4 + 2 * 4 * (4 + 10 * 0.25 / 0.25) / 0.1
    assert right["theorem4"] == pytest.approx(last / 17)
    of_ryu2021 = (16 + noise / 0.25 + 1.5) / 4 + (18 + 3 + 18) / 16
    assert float(theorems()["theorem3"].of_ryu2021(k, f)[0]) == pytest.approx(of_ryu2021)


def test_theorem_2_is_violated_by_28_equal_agents_as_printed():
    """The calculation of docs/methods/theorems.md: f_p(z) = (z - 1)^2 / 2 over [-1, 1], one round without noise."""
    rho, eta = 2.0, 1.0
    z = 1.0 / (rho + 1 / eta)  # (8) at z = w = lambda = 0
    for agents, violated in ((27, False), (28, True)):
        gamma = 1e-6
        left = agents * (z - 1) ** 2 / 2 + gamma * math.sqrt(agents) * z
        k = Constants(*(np.array([value]) for value in (2.0, 2.0, 0.0)))
        f = BoundTerms(1, agents, 1, 1, math.inf, rho, rho, np.array([gamma]), 1.0, 1.0)
        theorem = theorems()["theorem2"]
        assert (left > float(theorem.right(k, f)[0]) + 1e-5) == violated
        assert left < float(theorem.right(k.stacked(agents), f)[0])


@pytest.mark.parametrize("theorem", THEOREMS)
def test_more_local_updates_lower_every_right_side(theorem):
    """Corollary 1 of ryu2022."""
    k, f = CONSTANTS, FACTS
    sides = [float(theorems()[theorem].right(k, f._replace(E=E))[0]) for E in (1, 2, 5, 10)]
    assert sides == sorted(sides, reverse=True)
    assert len(set(sides)) == 4


@pytest.mark.parametrize("average", ["records", "agents"])
@pytest.mark.parametrize("W", [{"box": 0.1}, {"ball": 0.4}, {"ball": 50}])
def test_constants_are_enclosed(W, average):
    """The largest values over many models of W lie between what encloses them."""
    data = make_dataset(N, 30, J, K)
    params = {"average": "theorem3", "local_updates": 2}
    spec = RunSpec(
        dataset=data,
        algorithm="objp",
        params=params,
        problem=problem(W) | {"average": average},
        agents=P,
        epsilon=1,
        seeds=(5,),
        dtype="float64",
    )
    played = run_without_engine(spec, data, 0)
    state, course = played.state, played.federation.observers[0].memory
    kept = (*vars(state).values(), *vars(course).values())
    copies = [each for each in kept if np.shape(each) == state.z.shape]
    assert len(copies) <= spec.method.resources.state_copies == 5
    most, least = Constants(*course.constants[1:4]), Constants(*course.constants[4:])
    run, rng = Literal(data, 5, False), np.random.default_rng(0)
    found = np.zeros(2)
    for _ in range(300):
        z = within(W, rng.normal(size=(K, J)) * rng.choice([0.1, 1, 30]))
        for p in range(P):
            n = N if average == "records" else len(run.y[p])
            slope = np.linalg.norm(run.gradient(p, z, n) + STRENGTH / P * z)
            found = np.maximum(found, [slope, run.sensitivity(p, z) / n])
    assert (found <= np.array([most.U1[0], most.U3[0]]) * (1 + 1e-7)).all()
    assert least.U1 <= most.U1
    assert least.U3 <= most.U3
    radius = {"box": lambda r: r * math.sqrt(J * K), "ball": lambda r: r}
    ((kind, r),) = W.items()
    assert most.U2 == least.U2 == pytest.approx(2 * radius[kind](r))


def test_what_a_theorem_supposes_is_asked_for():
    data = make_dataset(N, 30, J, K)
    W = {"ball": 1}
    for given, words in (
        ({"problem": {"loss": "softmax"}}, "compact W"),
        ({"dtype": "float32"}, "float64"),
        ({"privacy": {"noise": "gaussian"}}, "Laplace"),
    ):
        with pytest.raises(ValueError, match=words):
            run(data, "theorem3", 1, W, 1.0, **given)
    with pytest.raises(ValueError, match="proximity: strong"):
        simulate(data, "objp", {"average": "theorem4"}, problem=problem(W), dtype="float64")
    with pytest.raises(Exception, match="assumption 2"):
        run(data, "theorem4", 1, W, 1.0, rho={"c1": 1, "c2": 0, "period": 5, "growth": 2})
