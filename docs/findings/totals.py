"""Numbers of privacy that need data or attacks: writes totals.yaml (needs the data of equal privacy, and minutes).

Of each method at a total epsilon of 2: mu with its regret on each data set of equal privacy; and on digits, for each
threat model, what an attack shows and what a search for settings costs.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import ROUND_CEILING, Context
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from admmbench.audit.auditor import audit
from admmbench.audit.settings import AuditSettings
from admmbench.datasets import load_dataset
from admmbench.engine.account import Account, of_run
from admmbench.spec import guarantees
from admmbench.spec.run import RunSpec
from admmbench.study.config import load

FILE = Path(__file__).with_suffix(".yaml")
TOTAL, TRIALS = 2, 24
STUDIES = [f"equal_privacy_{name}" for name in ("adult", "femnist", "mnist", "digits")]
SETTINGS = (
    *("dataset", "algorithm", "variant", "params", "problem", "agents"),
    *("rounds", "delta", "sensitivity"),
)
ATTACKS = AuditSettings(rounds=1, repeats=100, canaries=["worst"])


def specs(study: str) -> dict[str, RunSpec]:
    """Return the runs of an experiment at the total, by label."""
    experiment = load({"experiments": [study]}).experiments[study]
    runs = [run for run in experiment.runs if run.spec.stated_budget == TOTAL]
    return {run.label: run.spec for run in reversed(runs)}


def account(spec: RunSpec) -> Account:
    """Return the account of a run."""
    return of_run(spec, load_dataset(spec.dataset))


def written(number: float) -> float:
    """Return a number with five digits, rounded up."""
    return float(Context(prec=5, rounding=ROUND_CEILING).create_decimal_from_float(number))


def rows() -> Iterator[dict[str, Any]]:
    """Yield a row for each method and threat model."""
    dvp = specs("equal_privacy_adult")["DVP"]
    for label, spec in {**specs("equal_privacy_digits"), "DVP": dvp}.items():
        for trust in ("agents", "secure_sum"):
            settings = {name: getattr(spec, name) for name in SETTINGS}
            privacy = {"total": TOTAL, "noise": spec.privacy.noise, "trust": trust}
            try:
                stated = RunSpec(**settings, privacy=privacy, seeds=(0,))
            except ValidationError:
                continue
            yield row(label, stated)


def row(label: str, spec: RunSpec) -> dict[str, Any]:
    """Return the numbers of a method."""
    found, guarantee = account(spec), guarantees.guarantee(spec)
    gaussian = found.curve.gaussian
    attacked = audit(spec, load_dataset(spec.dataset), ATTACKS)
    search = found.ledger.repeated(TRIALS + 1)
    return {
        "method": label,
        "name": spec.algorithm,
        "data": spec.info.name,
        "trust": spec.privacy.trust,
        "mechanisms": [[*cost.packed(), count] for cost, count in found.ledger.composition()],
        "epsilon": written(found.total),
        "delta": spec.delta,
        "mu": written(gaussian.mu),
        "regret": written(gaussian.regret),
        "guarantee": guarantee.kind,
        "conditions": list(dict.fromkeys([*guarantee.keys, *spec.method.caveats])),
        "shown": attacked.epsilon_lower,
        "could_show": attacked.epsilon_power,
        "composed": attacked.epsilon_ledger,
        "holds": attacked.passed,
        "every_trial": written(search.epsilon(spec.delta)),
        "best_trial": written(found.searched(TRIALS)[BEST]),
    }


BEST = "the best alone is seen, of a logarithmic number (by Renyi divergences)"

if __name__ == "__main__":
    content = {
        "gaussian": {
            study: {
                label: [written(each) for each in account(spec).curve.gaussian]
                for label, spec in specs(study).items()
            }
            for study in STUDIES
        },
        "rows": [],
    }
    for each in rows():
        print(each, flush=True)
        content["rows"].append(each)
    FILE.write_text(yaml.safe_dump(content, sort_keys=False, width=120))
