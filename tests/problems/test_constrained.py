"""Constrained problems: functions against plain formulas and differences, and what is refused."""

import itertools
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from admmbench.base.constrained import AugmentedLagrangian
from admmbench.contracts.made_up_data import make_dataset, make_regression
from admmbench.datasets import Split, load_dataset
from admmbench.partition import as_partition
from admmbench.problems import as_problem
from admmbench.problems.constrained import describe_group, slug
from tests.problems.helpers import with_sex

NEYMAN_PEARSON = {
    "loss": "logistic",
    "objective": {"mean_loss": {"where": {"label": 0}}},
    "constraints": [{"mean_loss": {"where": {"label": 1}}, "at_most": 0.2}],
}
FAIR: dict[str, Any] = {
    "loss": "logistic",
    "objective": {},
    "constraints": [
        {"disparity": {"between": [{"sex": "F"}, {"sex": "M"}]}, "within": 0.01, "at": "everywhere"}
    ],
    "server": 0.5,
}
F_AGAIN = {"mean_loss": {"where": {"sex": "F>"}}, "at_most": 1}
MIXED = {
    **FAIR,
    "constraints": [
        *FAIR["constraints"],
        {"mean_loss": {"where": {"label": 1, "sex": "M"}}, "at_most": 0.7, "at": "everywhere"},
        {"linear": {"matrix": [[1, 2, 3, 0, 0, 0, 0]], "offset": [-1]}, "cone": "zero"},
        {
            "linear": {"matrix": np.eye(3, 7).tolist(), "offset": [1, 0, 0]},
            "cone": "second_order",
            "at": "server",
        },
    ],
}


def people(n=40, seed=0):
    return with_sex(make_dataset(n, n_classes=2, seed=seed), seed)


def bound(spec, data, agents=3, seeds=2, shuffle=False):
    draws = [partial(np.random.default_rng, seed) for seed in range(seeds)]
    partition = as_partition({"scheme": "iid", "agents": agents, "shuffle": shuffle})
    return as_problem(spec, "rows").bind(partition.split(data, draws), seeds)


def mean_loss(data, rows, w, part="train", **where):
    """Mean logistic loss over some rows with what they have in common, term by term."""
    X, y = getattr(data, f"X_{part}")[rows], getattr(data, f"y_{part}")[rows]
    kept = np.ones(len(y), bool)
    for name, value in where.items():
        codes = y if name == "label" else getattr(data.attributes[name], part)[rows]
        kept &= codes == (value if name == "label" else data.attributes[name].values.index(value))
    u = X[kept].astype(float) @ w
    return np.mean(np.log1p(np.exp(u)) - y[kept] * u)


@pytest.mark.parametrize("shuffle", [False, True])
def test_functions_are_means_over_groups(shuffle):
    data = people()
    problem = bound(MIXED, data, shuffle=shuffle)
    w = np.random.default_rng(1).normal(size=(2, 7))
    values = problem.block(slice(0, 3)).at(w[None])
    for p, s in itertools.product(range(3), range(2)):
        own = problem._rows[p][s if shuffle else 0]
        gap = mean_loss(data, own, w[s], sex="F") - mean_loss(data, own, w[s], sex="M")
        both = mean_loss(data, own, w[s], label=1, sex="M") - 0.7
        linear = w[s] @ [1, 2, 3, 0, 0, 0, 0] - 1
        np.testing.assert_allclose(
            values.constraints[p, s], [gap - 0.01, -gap - 0.01, both, linear], atol=1e-12
        )
        assert values.objective[p, s] == pytest.approx(mean_loss(data, own, w[s]) / 3)
    held = slice(0, 15)
    server = problem.server.at(w[None])
    for s in range(2):
        gap, both = (
            mean_loss(data, held, w[s], "test", sex="F")
            - mean_loss(data, held, w[s], "test", sex="M"),
            mean_loss(data, held, w[s], "test", label=1, sex="M") - 0.7,
        )
        expected = [gap - 0.01, -gap - 0.01, both, *(w[s, :3] + [1, 0, 0])]
        np.testing.assert_allclose(server.constraints[0, s], expected, atol=1e-12)
    assert not server.objective.any()


@pytest.mark.parametrize("kind", ["means", "server", "quadratics"])
def test_derivatives_agree_with_differences(kind):
    rng = np.random.default_rng(0)
    if kind == "quadratics":
        functions, d = quadratics(d=5, m=2).block(slice(0, 3)), 5
    else:
        problem, d = bound(MIXED, people()), 7
        functions = problem.server if kind == "server" else problem.block(slice(0, 3))
    w, h = rng.normal(size=(1, 2, d)), 1e-5
    mu = rng.normal(size=functions.at(w).constraints.shape)

    def lagrangian(x):
        values = functions.at(x)
        return values.objective + (mu * values.constraints).sum(axis=-1)

    at = functions.at(w)
    for j, e in enumerate(np.eye(d)):
        slope = (lagrangian(w + h * e) - lagrangian(w - h * e)) / (2 * h)
        np.testing.assert_allclose(at.gradient(mu)[..., j], slope, atol=1e-7)
        right, left = functions.at(w + h * e), functions.at(w - h * e)
        np.testing.assert_allclose(
            np.broadcast_to(at.jacobian[..., j], right.constraints.shape),
            (right.constraints - left.constraints) / (2 * h),
            atol=1e-7,
        )
        bend = (right.gradient(mu) - left.gradient(mu)) / (2 * h)
        np.testing.assert_allclose(
            np.broadcast_to(at.hessian(mu), (*bend.shape, d))[..., j], bend, atol=1e-6
        )


def quadratics(d, m, agents=3, seeds=2):
    data = load_dataset({"name": "synthetic_qp", "d": d, "m": m})
    streams = [
        lambda agent, seed=seed: np.random.default_rng([seed, 9 if agent is None else agent])
        for seed in range(seeds)
    ]
    shares = as_partition(agents).split(data, streams)
    assert isinstance(shares, Split)
    return as_problem("quadratic", "rows").bind(shares._replace(instances=streams), seeds)


def test_instances_are_those_of_the_paper():
    problem = quadratics(d=30, m=4, agents=40)
    functions = problem.block(slice(0, 40))
    spectra = np.linalg.eigvalsh(functions.A)
    assert spectra.min() >= 5 - 1e-9
    assert spectra.max() <= 10 + 1e-9
    assert spectra.mean() == pytest.approx(7.5, abs=0.1)
    np.testing.assert_allclose(functions.A, np.swapaxes(functions.A, -1, -2), atol=1e-12)
    for normal in (functions.b, functions.matrix, functions.offset):
        assert normal.mean() == pytest.approx(0, abs=5 / np.sqrt(normal.size))
        assert normal.std() == pytest.approx(1, abs=5 / np.sqrt(normal.size))
    assert problem.server.matrix.shape == (1, 2, 4, 30)
    # Haar: no direction is preferred.
    mean = functions.A.mean(axis=(0, 1))
    np.testing.assert_allclose(mean, 7.5 * np.eye(30), atol=0.25)


def test_the_matrix_of_a_subproblem_is_inverted():
    functions = quadratics(d=6, m=2).block(slice(0, 3))
    A, C = functions.A, functions.matrix
    for beta, shift in ((2.0, 0.3), (0.5, 1.0)):
        matrix = A + beta * np.swapaxes(C, -1, -2) @ C + shift * np.eye(6)
        product = functions.inverse(beta, shift) @ matrix
        np.testing.assert_allclose(product, np.broadcast_to(np.eye(6), A.shape), atol=1e-10)


def test_an_agents_part_does_not_depend_on_others():
    few, many = quadratics(6, 1, agents=2), quadratics(6, 1, agents=5)
    np.testing.assert_array_equal(few.block(slice(1, 2)).A, many.block(slice(1, 2)).A)
    np.testing.assert_array_equal(few.server.matrix, many.server.matrix)


def test_a_mean_over_no_record_is_said_of_its_seeds():
    data = people()
    y = np.zeros_like(data.y_train)
    y[:20] = 1
    data = data.__class__(**{**vars(data), "y_train": y})
    assert bound(NEYMAN_PEARSON, data, agents=2).undefined.tolist() == [True, True]
    assert bound(NEYMAN_PEARSON, data, agents=2, shuffle=True).undefined.tolist() == [False, False]


def test_names_of_groups():
    classes = ["<=50K", ">50K"]
    assert slug({"label": 0}, classes) == slug({"label": "<=50K"}, classes) == "label_0"
    assert slug({"label": ">50K"}, classes) == "label_1"
    assert slug({"sex": "Amer-Indian Eskimo"}, classes) == "sex_amer_indian_eskimo"
    assert slug({}, classes) == "all"
    assert describe_group({"label": 1, "sex": "F"}) == "label 1, sex F"
    names = as_problem(NEYMAN_PEARSON, "rows").variables(people().info)
    assert {"test_error", "train_loss", "feasibility", "loss_label_1_max"} <= set(names)
    assert "disparity_max" not in names


def on(**constraint):
    return {"constraints": [constraint]}


def of(**where):
    return {"objective": {"mean_loss": {"where": where}}}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (on(mean_loss={}), "a constraint on mean_loss takes at_most"),
        (on(mean_loss={}, within=1), "a constraint on mean_loss takes at_most"),
        (on(at_most=1), "a constraint is on one of mean_loss, disparity, linear"),
        (on(mean_los={}, at_most=1), "did you mean 'mean_loss'"),
        (
            {"objective": {"mean": {}}},
            "problem.objective: unknown key 'mean'; did you mean 'mean_loss'",
        ),
        (on(linear={"matrix": [[1], [1, 2]], "offset": [0, 0]}, cone="zero"), "rows of one length"),
        ({"loss": "softmax"}, "constraints are on losses with one output, not softmax"),
        ({"per": "agent"}, "problem.per: it is for problems without constraints"),
        ({"server": 2}, "problem.server"),
    ],
)
def test_a_wrong_statement_is_one_clear_message(change, message):
    with pytest.raises(ValueError, match=message):
        as_problem({**NEYMAN_PEARSON, **change}, "rows")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (of(age="1"), "does not know 'age' of its records \\(known: label, sex"),
        (of(label=2), "label is a number below 2 or one of 0, 1, not 2"),
        (on(linear={"matrix": [[1]], "offset": [0]}, cone="zero"), "has 1 columns, made has 7"),
        (
            on(mean_loss={}, at_most=1, at="server"),
            "problem: server: it has constraints on records",
        ),
        ({**of(sex="F"), "constraints": [F_AGAIN]}, "would both be measured as loss_sex_f"),
        (of(label="1"), "would both be measured as loss_label_1"),
    ],
)
def test_what_the_data_do_not_have_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        as_problem({**NEYMAN_PEARSON, **change}, "rows").check(people().info)


def test_an_unknown_value_of_an_attribute_is_refused_with_the_data():
    wrong = {**NEYMAN_PEARSON, **of(sex="X")}
    with pytest.raises(ValueError, match="sex of made is one of F, M, not 'X'"):
        bound(wrong, people())


def test_data_and_problem_must_fit():
    with pytest.raises(ValueError, match="quadratic is for data sets that draw instances"):
        as_problem("quadratic", "rows").check(make_dataset(n_classes=2).info)
    with pytest.raises(ValueError, match="synthetic_qp has no records for the loss logistic"):
        as_problem("logistic", "rows").check(load_dataset("synthetic_qp").info)
    as_problem({"loss": "huber", "objective": {}}, "rows").check(make_regression().info)


def test_feasibility_is_the_largest_violation_of_agents_and_server():
    w = np.random.default_rng(2).normal(size=(2, 7))
    w[:, 2] = (1 - w[:, :2] @ [1, 2]) / 3  # meets the equation, which is the same for all agents
    problem = bound(MIXED, people())
    blocks = [problem.block(slice(0, 2)), problem.block(slice(2, 3))]
    found = problem.evaluate(
        SimpleNamespace(w=w[:, None]), blocks, lambda f, of: [f(b) for b in of]
    )

    def violation(c, linear):
        """Of inequalities, then of equations or of a cone, entry by entry."""
        return np.maximum(np.maximum(c, 0).max(axis=-1), linear)

    c = np.concatenate([block.at(w[None]).constraints for block in blocks])
    agents = violation(c[..., :3], np.abs(c[..., 3]))
    t, x = (part := problem.server.at(w[None]).constraints[0])[:, 3], part[:, 4:]
    norm = np.linalg.norm(x, axis=-1)
    # Distance of (t, x) to minus the second-order cone, as the largest entry of its projection on the cone.
    inside, polar = norm <= t, norm <= -t
    factor = np.where(inside, 1.0, np.where(polar, 0.0, (1 + t / norm) / 2))
    first = np.where(inside, t, factor * norm)
    largest = np.maximum(np.abs(first), np.abs(factor[:, None] * x).max(axis=-1))
    server = violation(part[:, :3], largest)
    np.testing.assert_allclose(found["feasibility_agents_mean"], agents.mean(axis=0))
    np.testing.assert_allclose(found["feasibility_agents_max"], agents.max(axis=0))
    np.testing.assert_allclose(found["feasibility_server"], server)
    np.testing.assert_allclose(found["feasibility"], np.maximum(agents.max(axis=0), server))
    assert (agents.max(axis=0) > agents.min(axis=0)).all()


def test_augmented_lagrangians_are_those_of_the_paper():
    """(10) and (11), whose value says how far the dual cone's projection moved."""
    problem, rng = bound(MIXED, people()), np.random.default_rng(3)
    block, w, centre = problem.block(slice(0, 3)), *rng.normal(size=(2, 2, 7))
    mu, beta, pull = rng.normal(size=(3, 2, 4)), 2.5, 0.3
    values = block.at(w[None])
    estimate = mu + beta * values.constraints
    projected = np.concatenate([np.maximum(estimate[..., :3], 0), estimate[..., 3:]], axis=-1)
    expected = values.objective + (np.square(projected) - np.square(mu)).sum(axis=-1) / (2 * beta)
    expected += pull / 2 * np.square(w - centre).sum(axis=-1)
    lagrangian = AugmentedLagrangian(block, beta, mu, pull, centre)
    np.testing.assert_allclose(lagrangian.at(w[None]).value, expected)
    np.testing.assert_allclose(lagrangian.multipliers(w[None]), projected)


@pytest.mark.parametrize(
    ("spec", "convex"),
    [
        (NEYMAN_PEARSON, True),
        ({**NEYMAN_PEARSON, "loss": "sigmoid"}, False),
        (FAIR, False),
        ({**FAIR, "loss": "sigmoid"}, False),
    ],
    ids=["convex loss", "another loss", "differences", "both"],
)
def test_only_means_of_a_convex_loss_are_convex(spec, convex):
    """What is called convex may be called infeasible."""
    problem = bound(spec, people(), agents=1, seeds=1)
    assert problem.block(slice(0, 1)).convex == convex
