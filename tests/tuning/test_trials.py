"""Trials: which rows they see, what they measure, and how they go on."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from admmbench import load_dataset, simulate
from admmbench.datasets import Attribute
from admmbench.engine.rounds import AlgorithmError
from admmbench.spec.run import RunSpec
from admmbench.tuning import trials
from admmbench.tuning.settings import Axis, TuningSettings
from admmbench.tuning.trials import held_out, tune

SPEC = RunSpec(
    dataset="digits",
    algorithm="dpsgd",
    agents=3,
    rounds=4,
    sensitivity="global",
    privacy={"total": 4},
    delta=1e-5,
    problem={"loss": "softmax", "records": {"max_l2_norm": 2}},
)
AXES = {
    "rounds": Axis(start=4, whole=True),
    "params.learning_rate": Axis(start=0.1),
    "problem.records.max_l2_norm": Axis(start=2),
}
SETTINGS = TuningSettings(trials=6, held_out=4, seeds=[7, 8])


@pytest.fixture(scope="module")
def digits():
    return load_dataset("digits")


@pytest.mark.parametrize("every", [2, 5, 7])
def test_rows_are_held_out_of_the_training_part_alone(digits, every):
    part = held_out(digits, every)
    assert part.n_train + part.n_test == digits.n_train
    assert part.n_test == pytest.approx(digits.n_train / every, abs=1)
    joined = np.concatenate([part.X_train, part.X_test])
    rows = {row.tobytes() for row in digits.X_train}
    assert {row.tobytes() for row in joined} == rows
    # Put back where they were, they are the training part in its order.
    tests = np.arange(digits.n_train) % every == every // 2
    whole = np.empty_like(digits.y_train)
    whole[~tests], whole[tests] = part.y_train, part.y_test
    np.testing.assert_array_equal(whole, digits.y_train)


def test_every_agent_gives_its_part_and_attributes_follow(digits):
    writers = np.sort(np.arange(digits.n_train) % 9).astype(np.int32)
    data = replace(
        digits,
        attributes={"writer": Attribute(tuple("abcdefghi"), writers, np.zeros(360, np.int32))},
    )
    part = held_out(data, 5)
    of_train, of_test = part.attributes["writer"].train, part.attributes["writer"].test
    assert (np.diff(of_train) >= 0).all()
    shares = np.bincount(of_test) / np.bincount(writers)
    np.testing.assert_allclose(shares, 0.2, atol=0.01)
    np.testing.assert_array_equal(
        np.bincount(of_train) + np.bincount(of_test), np.bincount(writers)
    )


def test_the_error_of_a_trial_is_that_of_the_last_round_on_held_out_rows(digits):
    found = tune(SPEC, AXES, SETTINGS, digits)
    best = found.best.settings
    trace = simulate(
        held_out(digits, 4),
        "dpsgd",
        params={"learning_rate": best["params.learning_rate"]},
        problem={
            "loss": "softmax",
            "records": {"max_l2_norm": best["problem.records.max_l2_norm"]},
        },
        agents=3,
        sensitivity="global",
        privacy={"total": 4, "delta": 1e-5},
        rounds=best["rounds"],
        seeds=[7, 8],
    )
    last = trace.isel(round=-1).mean("seed")
    assert found.best.score.error == pytest.approx(float(last.test_error))
    assert found.best.score.loss == pytest.approx(float(last.test_loss))
    assert len(found.trials) in (6, 7)  # one may look beyond an edge


def test_the_test_part_is_never_looked_at(digits):
    blank = replace(digits, X_test=digits.X_test * 0, y_test=digits.y_test * 0)
    assert tune(SPEC, AXES, SETTINGS, blank) == tune(SPEC, AXES, SETTINGS, digits)


def test_a_search_goes_on_where_it_was_stopped(digits, tmp_path, monkeypatch):
    whole = tune(SPEC, AXES, SETTINGS, digits)
    kept = tmp_path / "search.trials"
    made = []
    measure = trials.run_rounds

    def counted(*given):
        made.append(given)
        return measure(*given)

    def stopped_after_three(*given):
        if len(made) == 3:
            raise KeyboardInterrupt
        return counted(*given)

    monkeypatch.setattr(trials, "run_rounds", stopped_after_three)
    with pytest.raises(KeyboardInterrupt):
        tune(SPEC, AXES, SETTINGS, digits, kept, "code")
    monkeypatch.setattr(trials, "run_rounds", counted)
    assert tune(SPEC, AXES, SETTINGS, digits, kept, "code") == whole
    assert len(made) == len(whole.trials)
    # So does what was damaged or altered since.
    made.clear()
    content = kept.read_text()
    first = content.index("[", content.index("scores")) + 1
    for text in (content[:-9], content[:first] + "9" + content[first:]):
        kept.write_text(text)
        assert tune(SPEC, AXES, SETTINGS, digits, kept, "code") == whole
    assert len(made) == 2 * len(whole.trials)
    # Other code, or another search, makes all trials again.
    made.clear()
    tune(SPEC, AXES, SETTINGS, digits, kept, "other code")
    assert len(made) == len(whole.trials)
    made.clear()
    other = tune(SPEC.at(8.0), AXES, SETTINGS, digits, kept, "other code")
    assert len(made) == len(other.trials)


def test_a_run_that_diverges_is_the_worst(digits):
    axes = {"params.learning_rate": Axis(start=1e38)}
    found = tune(SPEC, axes, TuningSettings(trials=1, seeds=[1]), digits)
    assert found.best.score.error == math.inf


def failing(monkeypatch, which):
    """Let some runs fail, by their number."""
    run, count = trials.run_rounds, itertools.count()

    def run_rounds(spec, data):
        if which(next(count)):
            raise AlgorithmError("no solution")
        return run(spec, data)

    monkeypatch.setattr(trials, "run_rounds", run_rounds)


def test_a_run_that_fails_is_the_worst(digits, monkeypatch):
    failing(monkeypatch, lambda number: number % 2)
    found = tune(SPEC, AXES, SETTINGS, digits)
    assert [math.isinf(trial.score.error) for trial in found.trials[:6]] == 3 * [False, True]
    assert math.isfinite(found.best.score.error)


def test_a_search_whose_first_run_fails_says_so(digits, monkeypatch):
    failing(monkeypatch, lambda number: True)
    with pytest.raises(AlgorithmError, match="no solution"):
        tune(SPEC, AXES, SETTINGS, digits)


def test_progress_counts_trials(digits):
    seen = []
    tune(SPEC, AXES, SETTINGS, digits, progress=lambda done, total: seen.append((done, total)))
    assert seen[:6] == [(k, 6) for k in range(1, 7)]
    assert seen[6:] in ([], [(7, 7)])
