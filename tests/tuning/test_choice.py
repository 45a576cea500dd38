"""The choice among trials: which settings runs take, and all trials as a table."""

from admmbench.tuning.choice import choose_settings
from admmbench.tuning.search import Score, SearchResult, Trial
from admmbench.tuning.settings import Chosen


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
