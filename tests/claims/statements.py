"""Statements of each kind about the made-up study, and what becomes of them."""

from admmbench.claims import claims
from admmbench.claims.judge import evaluate
from tests.made import INF

SCALE = {"rounds": 300, "seeds": 10, "agents": 10, "n_train": 60000}
HEAD = {"id": "one", "statement": "The paper says so.", "source": "fig. 1"}
BUDGETS = [0.05, 0.1, 1.0]

VALUE = {
    "kind": "value",
    "algorithm": "ObjP",
    "epsilon": 0.1,
    "published": 13.4,
    "tolerance": 0.5,
}
ORDER = {"kind": "order", "labels": ["ObjPM", "ObjP", "OutP"], "epsilon": BUDGETS}
CLOSE = {
    "kind": "close",
    "algorithm": "ObjPM",
    "others": ["ObjP", "OutP"],
    "epsilon": 1.0,
    "reference": {"algorithm": "Non-private", "epsilon": INF},
    "tolerance": 1.0,
}
FALLS = {
    "kind": "trend",
    "along": "round",
    "metric": "consensus_violation",
    "unit": "1",
    "algorithms": ["ObjP", "OutP"],
    "epsilon": [0.1],
}
TRADE = {"kind": "trend", "along": "epsilon", "algorithms": ["ObjP"], "epsilon": BUDGETS}
NARROW = {"algorithms": ["ObjP"], "epsilon": BUDGETS, "over": "epsilon"}
WIDE = {**NARROW, "algorithms": ["OutP"]}
SPREAD = {"kind": "spread", "narrow": NARROW, "wide": WIDE}


def stated(**given):
    """The claim that a file with this one entry states."""
    return claims.Claim.model_validate({**HEAD, "experiment": "study", "requires": SCALE, **given})


def judge(ds, **given):
    (verdict,) = evaluate([stated(**given)], {"study": ds})
    return verdict


def find(ds, **given):
    """What becomes of the only piece of evidence."""
    verdict = judge(ds, **given)
    (finding,) = verdict.findings
    assert verdict.verdict == finding.outcome
    return finding
