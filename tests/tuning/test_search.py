"""Pattern search: where it ends, how many trials it makes, and what it calls an edge."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from admmbench.tuning import search as module
from admmbench.tuning.search import Score, SearchResult, Trial
from admmbench.tuning.settings import Axes, Axis, Chosen, TuningSettings, apply, choose_settings


def search(grid, trials, error):
    """With errors alone."""
    return module.search(
        grid, TuningSettings(trials=trials), lambda values: Score(error(values), 0.0)
    )


def axes(**given_axes):
    return TypeAdapter(Axes).validate_python(given_axes)


def bowl(minima):
    """Error whose lowest value is at these settings, in the logarithms of all."""
    return lambda values: sum(math.log(values[name] / best) ** 2 for name, best in minima.items())


@given(
    st.dictionaries(
        st.sampled_from(["params.a", "params.b", "params.c"]),
        st.tuples(st.floats(0.1, 10), st.floats(0.1, 10)),
        min_size=1,
    )
)
@settings(max_examples=60, deadline=None)
def test_the_minimum_of_a_bowl_is_found_to_a_fine_step_wherever_the_search_begins(pairs):
    grid = axes(**{name: start for name, (start, _) in pairs.items()})
    found = search(grid, 200, bowl({name: best for name, (_, best) in pairs.items()}))
    # The finest step is a factor of 2^(1/64); coarse steps that are left early may cost one.
    assert not found.edges
    for name, (_, best) in pairs.items():
        assert abs(math.log2(found.best.settings[name] / best)) <= 1 / 64 + 1e-4


@given(st.integers(1, 30))
@settings(max_examples=20, deadline=None)
def test_trials_are_as_many_as_asked_for_and_all_different(trials):
    asked = []

    def error(values):
        asked.append(dict(values))
        return bowl({"rounds": 7, "params.rho": 3})(values)

    found = search(axes(rounds=40, **{"params.rho": 0.1}), trials, error)
    assert trials <= len(asked) == len(found.trials) <= trials + trials // 4
    assert all(first != second for i, first in enumerate(asked) for second in asked[:i])
    assert found.best.score == min(trial.score for trial in found.trials)
    assert [trial.settings for trial in found.trials] == asked


def test_a_best_value_at_the_end_of_what_was_tried_is_at_an_edge():
    def falling(values):
        return 1 / values["params.a"] + abs(math.log(values["params.b"]))

    found = search(axes(**{"params.a": 1, "params.b": 1}), 12, falling)
    assert "params.a" in found.edges
    # Along an axis with an end, the end is no edge.
    ended = axes(**{"params.a": {"start": 1, "most": 4}, "params.b": 1})
    found = search(ended, 12, falling)
    assert found.edges == []
    assert found.best.settings == {"params.a": 4, "params.b": 1}


def test_some_trials_are_added_to_look_beyond_an_edge():
    """The minimum is at the last of the coarse steps that 9 trials allow, or one farther."""
    for place in (4, 5):
        found = search(
            axes(**{"params.a": 1}), 8, lambda v, k=place: abs(math.log2(v["params.a"]) - k)
        )
        assert found.best.settings == {"params.a": 2**place}
        assert found.edges == []
    steep = search(axes(**{"params.a": 1}), 8, lambda v: -v["params.a"])
    assert len(steep.trials) == 10
    assert steep.best == steep.trials[-1]
    assert steep.edges == ["params.a"]


def test_a_search_that_only_began_is_at_all_edges():
    assert search(axes(rounds=8, **{"params.a": 1}), 1, lambda _: 1.0).edges == [
        "rounds",
        "params.a",
    ]


def test_whole_numbers_stay_whole_and_one_is_their_end():
    found = search(axes(rounds=4), 60, lambda values: values["rounds"])
    tried = [trial.settings["rounds"] for trial in found.trials]
    assert all(isinstance(value, int) for value in tried)
    assert found.best.settings == {"rounds": 1}
    assert found.edges == []
    assert len(set(tried)) == len(tried) < 60  # there are no more


def test_of_equal_errors_the_first_is_best_and_infinite_ones_are_worst():
    assert search(axes(**{"params.a": 3}), 9, lambda _: 0.5).best.settings == {"params.a": 3}
    found = search(
        axes(**{"params.a": 1}), 9, lambda values: math.inf if values["params.a"] <= 1 else 1.0
    )
    assert found.best.settings == {"params.a": 2}


def test_equal_errors_are_told_apart_by_losses():
    def measure(values):
        return Score(0.25, abs(math.log(values["params.a"] / 8)))

    found = module.search(axes(**{"params.a": 1}), TuningSettings(trials=9), measure)
    assert found.best.settings == {"params.a": 8}
    assert found.to_dict()["error"] == 0.25


@pytest.mark.parametrize(
    ("axis", "message"),
    [
        ({"start": 0}, "greater than 0"),
        ({"start": 1, "factor": 1}, "greater than 1"),
        ({"start": 3, "most": 2}, "expected 0 to 2, got 3"),
        ({"start": 3, "end": 2}, "unknown key 'end'"),
        (True, "expected a number, got True"),
    ],
)
def test_faults_of_an_axis(axis, message):
    with pytest.raises(ValidationError, match=message):
        axes(**{"params.a": axis})


@pytest.mark.parametrize("start", [4, 9])
def test_steps_of_an_axis_of_whole_numbers_lead_somewhere(start):
    with pytest.raises(ValueError, match=f"leads from {start} to {start}, as values are whole"):
        Axis(start=start, factor=1.02, whole=True)
    assert Axis(start=start, factor=1.3, whole=True).at(1) > start


def test_a_number_is_where_an_axis_starts():
    assert axes(**{"params.a": 3}) == {"params.a": Axis(start=3)}
    assert axes(rounds={"start": 8, "most": 32})["rounds"] == Axis(start=8, most=32, whole=True)
    assert Axis(start=3, least=2).at(-4) == 2


def test_settings_change_arguments_below_their_paths():
    arguments = {"rounds": 5, "problem": {"loss": "softmax", "records": {"max_l1_norm": 3}}}
    changed = apply({"rounds": 8, "problem.records.max_l2_norm": 2.0, "params.rho": 1.0}, arguments)
    assert changed == {
        "rounds": 8,
        "params": {"rho": 1.0},
        "problem": {"loss": "softmax", "records": {"max_l1_norm": 3, "max_l2_norm": 2.0}},
    }
    assert arguments["rounds"] == 5
    assert arguments["problem"]["records"] == {"max_l1_norm": 3}


def test_beside_the_best_half_and_twice_of_each_value_are_tried_once():
    grid = axes(rounds={"start": 8, "least": 1}, **{"params.p": {"start": 0.75, "most": 1}})
    asked = []

    def measure(values):
        asked.append(dict(values))
        return Score(bowl({"rounds": 8, "params.p": 0.75})(values), 0.0)

    found = module.search(grid, TuningSettings(trials=6), measure)
    assert found.best.settings == {"rounds": 8, "params.p": 0.75}
    asked.clear()
    full = module.search(grid, TuningSettings(trials=6, sensitivity=True), measure)
    assert full.best == found.best
    assert full.trials[: len(found.trials)] == found.trials
    assert all(first != second for i, first in enumerate(asked) for second in asked[:i])
    assert [trial.settings for trial in full.trials] == asked
    squared = math.log(2) ** 2
    assert full.sensitivity["rounds"] == [pytest.approx(squared), pytest.approx(squared)]
    # An end counts where it is nearer than twice the value.
    assert full.sensitivity["params.p"] == [
        pytest.approx(squared),
        pytest.approx(math.log(4 / 3) ** 2),
    ]


def test_nothing_is_tried_beyond_an_end():
    grid = axes(rounds=1, **{"params.p": {"start": 1, "most": 1}})
    settings = TuningSettings(trials=1, sensitivity=True)
    scores = {(1, 1): 0.5, (2, 1): 0.75, (1, 0.5): 0.75}
    full = module.search(grid, settings, lambda v: Score(scores[v["rounds"], v["params.p"]], 0.0))
    assert full.sensitivity == {"rounds": [None, 0.75], "params.p": [0.75, None]}
    chosen = Chosen(**{key: full.to_dict()[key] for key in ("settings", "error", "sensitivity")})
    assert chosen.error_growth == 0.25
    assert math.isnan(Chosen(settings={"rounds": 1}, error=0.5).error_growth)


def test_a_search_wins_over_what_was_kept_and_other_settings_stay():
    best = Trial({"params.a": 2}, Score(0.1, 1.0))
    trials = [Trial({"params.a": 1}, Score(0.3, 2.0)), best]
    found = SearchResult(trials, best, ["params.a"]).to_dict() | {"code": "c"}
    kept = {"A": {b: Chosen(settings={"params.a": 9}, error=0.5) for b in (1.0, 2.0)}}
    chosen, table = choose_settings(kept, [("A", 1.0, found), ("B", 4.0, found)])
    new = Chosen(settings={"params.a": 2}, error=0.1, edges=["params.a"], code="c")
    assert chosen == {"A": {1.0: new, 2.0: kept["A"][2.0]}, "B": {4.0: new}}
    assert kept["A"][1.0].error == 0.5
    assert [(row["method"], row["budget"], row["settings"], row["error"]) for row in table] == [
        ("A", 1.0, '{"params.a": 1}', 0.3),
        ("A", 1.0, '{"params.a": 2}', 0.1),
        ("B", 4.0, '{"params.a": 1}', 0.3),
        ("B", 4.0, '{"params.a": 2}', 0.1),
    ]
