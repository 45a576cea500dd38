"""Settings of an earlier search are used, and it is said that they are not of today's."""

from __future__ import annotations

import pytest

from admmbench.files.core_yaml import inline_yaml, parse_words, parse_yaml
from admmbench.jobs import fingerprint
from admmbench.spec.run import RunSpec
from admmbench.study.config import check_experiment
from admmbench.study.grid import Search
from admmbench.study.outdated import outdated
from admmbench.tuning.settings import Axes, TuningSettings
from admmbench.validation import checked

STUDY = {
    "title": "A study",
    "dataset": "digits",
    "rounds": 3,
    "sensitivity": "global",
    "privacy": {"total": [1.0, 2.0]},
    "tuning": {},
    "algorithms": [{"name": "dpsgd", "label": "DP-GD", "tune": {"params.learning_rate": 0.5}}],
}


@pytest.mark.parametrize(
    ("code", "changes", "said"),
    [
        ("", {}, ""),
        ("now", {}, ""),
        ("other", {}, "by other code"),
        ("now", {"evaluate_every": 3, "seeds": 4}, ""),
        ("now", {"tuning": {"trials": 9}}, "by another search"),
        ("now", {"agents": 3}, "by another search"),
        ("", {"agents": 3}, "by another search"),
    ],
)
def test_other_code_and_other_searches_are_said(code, changes, said):
    experiment = check_experiment(STUDY)
    search = next(iter(experiment.searches.values()))
    chosen = {
        "settings": {"params.learning_rate": 1},
        "error": 0.5,
        "space": search.space(experiment.tuning),
        "code": fingerprint.of_run(search.spec) if code == "now" else code,
    }
    found = outdated("x", check_experiment(STUDY | changes | {"tuned": {"DP-GD": {1.0: chosen}}}))
    assert len(found) == bool(said)
    for sentence in found:
        assert sentence.startswith(f"Settings of DP-GD at 1 were found {said}")
        assert "remove them from config/tuned/x.yaml" in sentence


def test_the_command_that_tunes_reads_the_search_that_a_study_asks_for():
    """As the workflow writes it in words: a whole number may come back as one with a point."""
    experiment = check_experiment(STUDY)
    assert experiment.tuning is not None
    search = next(iter(experiment.searches.values()))
    axes = {path: axis.model_dump(mode="json") for path, axis in search.axes.items()}
    again = Search(
        "",
        search.budget,
        checked(RunSpec, parse_words(search.spec.arguments()), ""),
        checked(Axes, parse_yaml(inline_yaml(axes), ""), ""),
    )
    settings = checked(TuningSettings, parse_yaml(experiment.tuning.model_dump_json(), ""), "")
    assert again.space(settings) == search.space(experiment.tuning)
