"""Runs that no total is proved for are refused, with the key and what to write."""

import pytest

from tests.audit.runs import TWO, WEIGHED_BY_AGENT, make_spec
from tests.privacy.test_participation import COHORT, COINS

AGENT = {"unit": "agent"}
NO_BUDGET = {"epsilon": float("inf")}
RECORDS = {"problem": {"loss": "logistic", "average": "records"}}


@pytest.mark.parametrize(
    ("name", "privacy", "changes", "message"),
    [
        ("objp", AGENT, {}, "unit: agent does not suit objp: its noise hides one record"),
        ("pvp", AGENT, {}, "unit: agent does not suit pvp: its noise hides one record"),
        ("amp", AGENT, {"rounds": 1}, "agent does not suit amp: its noise hides one record"),
        ("dp_fedavg", AGENT, RECORDS, "agent does not go with problem.average: records, as the we"),
        ("dpsgd", AGENT, {"params": {"sampling": 0.5}}, "does not go with params.sampling 0.5"),
        ("dp_fedavg", COHORT | {"trust": "agents"}, {}, "cohort: 2 needs trust: secure_sum"),
        ("dp_fedavg", COHORT | {"unit": "record"}, {}, "cohort: 2 needs unit: agent"),
        ("dp_fedavg", COHORT | {"relation": "zero_out"}, {}, "cohort: 2 needs relation: replace"),
        ("dp_fedavg", COHORT | {"participation": 0.5}, {}, "2 does not go with privacy.participat"),
        ("dp_fedavg", COHORT | {"cohort": 5}, {}, "cohort: 5 is more than the 4 agents"),
        ("dp_fedadmm", COHORT, {}, "cohort: 2 does not suit dp_fedadmm"),
        ("dp_fedavg", COINS | {"trust": "agents"}, {}, "0.2 needs trust: secure_sum"),
        ("dp_fedavg", COINS | {"unit": "record"}, {}, "participation: 0.2 needs unit: agent"),
        (
            "dp_fedavg",
            COINS | {"participation": 1e-300},
            {},
            "privacy.participation.* is below .*: nobody would ever take part; use",
        ),
        (
            "dpsgd",
            {},
            {"params": {"sampling": 2.3e-10}},
            "params.sampling: 2.3e-10.* is below .*: nobody would ever take part; use",
        ),
        (
            "objp",
            {"total": 2, "covers": "every_trial"},
            NO_BUDGET,
            "privacy.trials: how many there are is stated where",
        ),
        (
            "objp",
            {"total": 2, "trials": 24},
            NO_BUDGET,
            "privacy.trials: how many there are is stated where",
        ),
        (
            "objp",
            {"covers": "best_trial", "trials": 24},
            {},
            "privacy.covers: is the composition scope of privacy.total",
        ),
    ],
)
def test_what_no_total_is_proved_for_is_refused(name, privacy, changes, message):
    with pytest.raises(ValueError, match=message):
        make_spec(name, TWO, **{"problem": WEIGHED_BY_AGENT, "privacy": privacy, **changes})
