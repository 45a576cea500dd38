"""Trials that are kept with the suite: settings in use are what they say."""

import csv
import json
from pathlib import Path

import pytest

from admmbench.files.core_yaml import read_yaml

ROOT = Path(__file__).parents[2]
# Of errors of MNIST's searches, some made on another processor: rounding decides about a few of 24,000 records.
ROUNDING = {"equal_privacy_mnist_trials": 1e-4}
FILES = sorted((ROOT / "reference").glob("*_trials.csv"))


def searches(path):
    """The trials of each method and budget that are kept, in their order, with what is in use."""
    chosen = read_yaml(ROOT / f"config/tuned/{path.name.removesuffix('_trials.csv')}.yaml")
    found: dict[tuple[str, float], list] = {}
    with path.open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            score = float(row["error"]), float(row["loss"])
            trial = json.loads(row["settings"]), score
            found.setdefault((row["method"], float(row["budget"])), []).append(trial)
    used = {(label, budget): each for label, own in chosen.items() for budget, each in own.items()}
    experiment = read_yaml(
        ROOT / f"config/experiments/{path.name.removesuffix('_trials.csv')}.yaml"
    )
    for each in used.values():
        tried = each["settings"] if experiment["tuning"].get("sensitivity") else {}
        assert each.get("sensitivity", {}).keys() == tried.keys()
    assert found.keys() <= used.keys()
    return [(found[each], used[each]) for each in found]


def beside(trials, best):
    """Scores of the trials that differ from the best in one value alone, by its path and whether it is larger."""
    found: dict[tuple[str, bool], list] = {}
    for settings, score in trials:
        changed = [path for path, value in best.items() if settings[path] != value]
        if len(changed) == 1:
            place = changed[0], settings[changed[0]] > best[changed[0]]
            found.setdefault(place, []).append(score)
    return found


def test_some_are_kept():
    assert FILES


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_settings_in_use_are_the_best_that_was_tried(path):
    """But for half and twice each value, which are tried when the search has ended."""
    rounding = ROUNDING.get(path.stem, 0)
    for trials, used in searches(path):
        ((best, score),) = [each for each in trials if each[0] == used["settings"]]
        assert score[0] == pytest.approx(used["error"], abs=rounding)
        sensitivity = used.get("sensitivity", {})
        later = {
            each
            for (name, larger), scores in beside(trials, best).items()
            for each in scores
            if name in sensitivity
            and each[0] == pytest.approx(sensitivity[name][larger], abs=rounding)
        }
        assert {other for _, other in trials if (other[0] + rounding, other[1]) < score} <= later


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_errors_beside_the_values_in_use_are_those_of_trials(path):
    rounding = ROUNDING.get(path.stem, 0)
    for trials, used in searches(path):
        near = beside(trials, used["settings"])
        for name, errors in used.get("sensitivity", {}).items():
            for larger, error in enumerate(errors):
                here = pytest.approx(error, abs=rounding)
                assert error is None or here in [score[0] for score in near[name, bool(larger)]]
