"""What methods may need of a problem: who has it, and the words for who has not."""

import pytest

from admmbench import simulate
from admmbench.contracts.made_up_data import make_dataset
from admmbench.problems import as_problem
from admmbench.problems.needs import require
from tests.problems.helpers import bind_rows, with_numbers, with_records

# The words of the refusal, and the losses or penalties that lack it.
NEEDS = {
    "convex loss": ("a convex loss", {"sigmoid"}),
    "bounded derivative": (
        "a loss whose derivative is bounded, such as logistic, softmax or huber",
        {"squared", "squared_hinge"},
    ),
    "one output": ("a loss with one output, such as logistic", {"softmax"}),
    "smooth penalty": ("a penalty with a gradient, such as l2", {"l1"}),
    "bounded subgradient": ("a penalty with bounded subgradients, such as l1", {"l2"}),
    "quadratic penalty": ("the penalty l2", {"l1"}),
}


@pytest.mark.parametrize("need", NEEDS)
@pytest.mark.parametrize("penalty", ["l1", "l2"])
@pytest.mark.parametrize(
    "loss", ["huber", "logistic", "sigmoid", "softmax", "squared", "squared_hinge"]
)
def test_a_need_is_met_or_refused_in_words(loss, penalty, need):
    problem = as_problem({"loss": loss, "penalty": penalty}, "rows")
    words, lacking = NEEDS[need]
    if lacking.isdisjoint([loss, penalty]):
        require("it", [need], problem)
    else:
        wanted = f"it needs {words}; the problem has loss {loss} and penalty {penalty}"
        with pytest.raises(ValueError, match=f"^{wanted}$"):
            require("it", [need], problem)


def test_former_words_of_a_plug_in_are_accepted_with_a_warning():
    problem = as_problem({"loss": "squared"}, "rows")
    with (
        pytest.warns(FutureWarning, match="'bounded slope' is now called 'bounded derivative'"),
        pytest.raises(ValueError, match="it needs a loss whose derivative is bounded"),
    ):
        require("it", ["bounded slope"], problem)


@pytest.mark.parametrize("loss", ["squared", "squared_hinge"])
def test_no_worst_case_without_a_bound(loss):
    data = with_numbers() if loss == "squared" else with_records([[1.0, 0.5]], [1])
    with pytest.raises(
        ValueError, match="sensitivity: global needs a loss whose derivative is bounded"
    ):
        bind_rows(data, loss, sensitivity="global")
    bind_rows(data, loss, sensitivity="local")


# Methods


BINARY = make_dataset(n_classes=2)


@pytest.mark.parametrize(
    ("name", "params", "problem", "need"),
    [
        ("pvp", {}, {"penalty": "l1"}, "smooth penalty"),
        ("dvp", {}, {"penalty": "l1"}, "smooth penalty"),
        ("outp", {}, {"penalty": "l1"}, "smooth penalty"),
        ("objp", {"proximity": "smooth"}, {"penalty": "l1"}, "smooth penalty"),
        ("dp_admm", {"step_size": "smooth"}, {"penalty": "l1"}, "smooth penalty"),
        ("dp_admm", {"step_size": "nonsmooth"}, {"penalty": "l2"}, "bounded subgradient"),
        ("dvp", {}, {"loss": "softmax"}, "one output"),
        *(
            (name, {}, {"loss": "sigmoid"}, "convex loss")
            for name in ("admm", "pvp", "dvp", "centralized")
        ),
        *(
            (name, {}, {"loss": "squared_hinge"}, "bounded derivative")
            for name in ("dp_admm", "dpsgd", "dvp", "outp", "pvp")
        ),
    ],
)
def test_what_the_theorems_do_not_cover_is_refused(name, params, problem, need):
    given = {"loss": "logistic", "penalty": "l2", **problem}
    who = f"step_size: {params['step_size']}" if "step_size" in params else name
    message = (
        f"^(algorithm: |params.){who} needs {NEEDS[need][0]}; "
        f"the problem has loss {given['loss']} and penalty {given['penalty']}$"
    )
    with pytest.raises(ValueError, match=message):
        simulate(BINARY, name, params, problem=given)
