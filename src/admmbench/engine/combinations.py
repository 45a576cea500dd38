"""Every unit, threat model, relation and sampling with every method: a total, or the reason why there is none."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any, get_args

from pydantic import ValidationError

from admmbench import algorithms
from admmbench.datasets import load_dataset
from admmbench.engine.account import of_run
from admmbench.privacy import Relation, Unit
from admmbench.spec import guarantees
from admmbench.spec.fields import PrivacySettings
from admmbench.spec.run import RunSpec

SAMPLED: Mapping[str, Mapping[str, Any]] = {
    "no": {},
    "records": {"params": {"sampling": 0.5}},
    "agents": {"privacy": {"participation": 0.5}},
    "cohort": {"privacy": {"cohort": 2}},
}
"""Settings by what is sampled."""
# Ten rounds of epsilon 1 at delta 1e-5, on data that come with the suite, whose loss suits every method over rows.
_SETTING: Mapping[str, Any] = {
    "dataset": "diabetes",
    "agents": 5,
    "epsilon": 1.0,
    "delta": 1e-5,
    "sensitivity": "global",
    "seeds": 1,
}
_PROBLEM: Mapping[str, Any] = {
    "loss": "huber",
    "penalty": "l2",
    "strength": 0.01,
    "per": "agent",
    "records": {"max_l2_norm": 1},
}


@dataclass(frozen=True)
class Combination:
    """Method with a unit, a threat model, a relation and a sampling.

    Attributes
    ----------
    total
        Its total epsilon, and what that is worth; None where it is refused.
    reason
        Why it is refused; empty if it is not.
    """

    method: str
    unit: Unit
    threat_model: str
    relation: Relation
    sampled: str
    total: tuple[float, str] | None
    reason: str = ""


def combinations() -> Iterator[Combination]:
    """Give every combination of every built-in method over rows that declares noise."""
    threat_models = get_args(PrivacySettings.model_fields["trust"].annotation)
    classes = {name: algorithms.resolve(name) for name in algorithms.list_algorithms()}
    noisy = [name for name, cls in classes.items() if cls.release and "rows" in cls.sharing]
    settings = get_args(Unit), threat_models, get_args(Relation), SAMPLED
    for *of, method in itertools.product(*settings, noisy):
        yield _combination(method, *of)


def _combination(
    method: str, unit: Unit, threat_model: str, relation: Relation, sampled: str
) -> Combination:
    of = (method, unit, threat_model, relation, sampled)
    cls, sampling = algorithms.resolve(method), SAMPLED[sampled]
    # Methods with samples have them by default.
    params = {"sampling": 1.0} if "sampling" in {field.name for field in fields(cls)} else {}
    if "params" in sampling and not params:
        return Combination(*of, None, f"params.sampling: {method} has no samples of records")
    privacy = {"unit": unit, "trust": threat_model, "relation": relation}
    try:
        spec = RunSpec(
            **_SETTING,
            algorithm=method,
            params=params | sampling.get("params", {}),
            rounds=1 if cls.one_shot else 10,
            problem={**_PROBLEM, "average": "agents" if unit == "agent" else "records"},
            privacy=privacy | sampling.get("privacy", {}),
        )
        total = of_run(spec, load_dataset(spec.dataset)).total
    except ValidationError as error:
        (first, *_) = error.errors()
        return Combination(*of, None, str(first.get("ctx", {}).get("error", first["msg"])))
    return Combination(*of, (total, guarantees.guarantee(spec).kind))


def markdown() -> str:
    """Return a table in Markdown, and the reasons of refusals below it, where METHOD stands for each of the methods."""
    reasons: dict[str, int] = {}
    key = attrgetter("unit", "threat_model", "relation", "sampled")
    head = ("unit", "trust", "relation", "sampled", "total", "refused, by the reason below")
    lines: list[Sequence[str]] = [head, ("---",) * len(head)]
    for of, group in itertools.groupby(combinations(), key):
        totals: dict[str, list[str]] = defaultdict(list)
        refused: dict[int, list[str]] = defaultdict(list)
        for each in group:
            if each.total:
                value, kind = each.total
                totals[f"{value:.3g}{'' if kind == 'proved' else f' ({kind})'}"].append(each.method)
            else:
                text = re.sub(rf"\b{each.method}\b", "METHOD", each.reason)
                refused[reasons.setdefault(text, len(reasons) + 1)].append(each.method)
        lines.append((*of, _listed(totals), _listed(refused)))
    table = ["| " + " | ".join(cells) + " |" for cells in lines]
    return "\n".join([*table, "", *(f"{n}. {text}" for text, n in reasons.items())])


def _listed(groups: Mapping[Any, list[str]]) -> str:
    """Names by what they have in common."""
    return "; ".join(f"**{key}**: {', '.join(names)}" for key, names in groups.items())
