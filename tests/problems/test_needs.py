"""What methods may need of a problem: who has it, and the words for who has not."""

import pytest

from admmbench import simulate
from admmbench.contracts.made_up_data import make_dataset
from admmbench.problems import as_problem, list_losses
from admmbench.problems.losses import as_loss
from admmbench.problems.needs import require

NEEDS = {
    "convex loss": lambda loss, penalty: loss != "sigmoid",
    "bounded slope": lambda loss, penalty: loss not in ("squared", "squared_hinge"),
    "one output": lambda loss, penalty: loss != "softmax",
    "smooth penalty": lambda loss, penalty: penalty == "l2",
    "bounded subgradient": lambda loss, penalty: penalty == "l1",
    "quadratic penalty": lambda loss, penalty: penalty == "l2",
}
WORDS = {
    "convex loss": "a convex loss",
    "bounded slope": "a loss whose slope is bounded, such as logistic, softmax or huber",
    "one output": "a loss with one output, such as logistic",
    "smooth penalty": "a penalty with a gradient, such as l2",
    "bounded subgradient": "a penalty with bounded subgradients, such as l1",
    "quadratic penalty": "the penalty l2",
}


@pytest.mark.parametrize("need", NEEDS)
@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.parametrize(
    "loss", ["huber", "logistic", "sigmoid", "softmax", "squared", "squared_hinge"]
)
def test_a_need_is_met_or_refused_in_words(loss, penalty, need):
    problem = as_problem({"loss": loss, "penalty": penalty}, "rows")
    if NEEDS[need](loss, penalty):
        require("it", [need], problem)
    else:
        wanted = f"it needs {WORDS[need]}; the problem has loss {loss} and penalty {penalty}"
        with pytest.raises(ValueError, match=f"^{wanted}$"):
            require("it", [need], problem)


def test_all_needs_are_looked_at():
    problem = as_problem({"loss": "squared", "penalty": "l1"}, "rows")
    require("it", [], problem)
    require("it", ["convex loss", "bounded subgradient"], problem)
    with pytest.raises(ValueError, match="it needs the penalty l2"):
        require("it", ["convex loss", "quadratic penalty"], problem)


@pytest.mark.parametrize("need", NEEDS)
def test_what_is_recommended_meets_the_need(need):
    """Losses and penalties that a refusal names are there, and are not refused."""
    named = WORDS[need].replace(",", "").split()
    for loss in set(named) & set(list_losses()):
        require("it", [need], as_problem({"loss": loss, "penalty": "l2"}, "rows"))
        as_loss(loss)
    for penalty in set(named) & {"l1", "l2"}:
        require("it", [need], as_problem({"loss": "logistic", "penalty": penalty}, "rows"))


@pytest.mark.parametrize("loss", ["squared", "squared_hinge"])
def test_no_worst_case_without_a_bound(loss):
    from tests.problems.helpers import bind_rows, with_numbers, with_records

    data = with_numbers() if loss == "squared" else with_records([[1.0, 0.5]], [1])
    with pytest.raises(ValueError, match="sensitivity: global needs a loss whose slope is bounded"):
        bind_rows(data, loss, sensitivity="global")
    bind_rows(data, loss, sensitivity="local")


# Methods


BINARY = make_dataset(n_classes=2)
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
        simulate(BINARY, name, params, problem={**LOGISTIC, **problem})
    words = {**LOGISTIC, **problem}
    assert f"the problem has loss {words['loss']} and penalty {words['penalty']}" in str(
        raised.value
    )
    assert "\n" not in str(raised.value)
