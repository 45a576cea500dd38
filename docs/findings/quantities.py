"""Quantities of pages: numbers, counts and orders of the reference results, the verdicts, and the settings in use.

Templates call these functions. A list in place of an argument gives the list of all results, see `over_lists`.
"""

from __future__ import annotations

import functools
import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pandas as pd
import xarray as xr

from admmbench import algorithms
from admmbench.base.outcomes import Outcome
from admmbench.claims import claims
from admmbench.claims.judge import Verdict, evaluate
from admmbench.files.core_yaml import read_yaml
from admmbench.inference.contrasts import Decision
from admmbench.inference.intervals import sampling_error, student
from admmbench.inference.levels import TOGETHER
from admmbench.privacy import Ledger, Privacy, Release
from admmbench.results import reference, statistics, who_wins
from admmbench.study.configurations import labels as labels_of_experiments

ROOT = Path(__file__).parents[2]
INF = math.inf
log = math.log
TOTALS = [0.5, 1, 2, 4, 8]
EQUAL = ["equal_privacy_adult", "equal_privacy_femnist", "equal_privacy_mnist"]
CLIENTS = ["clients_heart"]
RATINGS = "clients_ratings"
CONFIDENCE = TOGETHER
"""With which the intervals of the comparison at equal privacy hold together."""
MARK = reference.MARK.strip()
# Claims about theorems have a page of their own.
_THEOREMS = {"bound", "privacy", "rate"}


class Interval(NamedTuple):
    """A difference and the ends of its interval."""

    value: float
    lower: float
    upper: float


def over_lists(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a list stand for each of its elements: the result is the list of results for all combinations."""

    @functools.wraps(function)
    def over(*args: Any, **named: Any) -> Any:
        given = [*args, *named.values()]
        if not any(isinstance(each, list) for each in given):
            return function(*args, **named)
        choices = [each if isinstance(each, list) else [each] for each in given]
        return [
            function(*each[: len(args)], **dict(zip(named, each[len(args) :], strict=True)))
            for each in itertools.product(*choices)
        ]

    return over


# ------------------------------------------------------------------------------------------------------------- totals


@functools.cache
def totals() -> Any:
    """Return the numbers that totals.py has written: ``gaussian`` by study and label, and ``rows`` of a page."""
    return SimpleNamespace(**read_yaml(Path(__file__).with_name("totals.yaml")))


def mu(study: str, label: str) -> float:
    """Return mu of Gaussian differential privacy of a method at a total of 2."""
    return float(totals().gaussian[study][label][0])


def all_hold() -> bool:
    """Return whether no audit of the page on totals found a fault."""
    return all(row["holds"] for row in totals().rows)


def threat(trust: str) -> str:
    """Return what whoever attacks sees, by the key of a threat model."""
    return {"agents": "each message", "secure_sum": "the sum alone"}[trust]


# --------------------------------------------------------------------------------------------------------------- runs


@functools.cache
def _kept(study: str) -> xr.Dataset | None:
    return reference.load([study]).get(study)


def results(study: str) -> xr.Dataset:
    """Return the reference results of a study."""
    if (found := _kept(study)) is None:
        raise LookupError(f"reference/ has no results of {study}")
    return found


def at(values: xr.DataArray, **place: object) -> xr.DataArray:
    """Select, and name what is missing."""
    try:
        return values.sel(place)
    except KeyError as error:
        study = values.attrs.get("study", "the results")
        raise LookupError(f"{study}: no {values.name} at {place}") from error


@functools.cache
def _values(study: str, metric: str, how: str | None) -> xr.DataArray:
    """Return a metric of each run, reduced over rounds if ``how`` is stated; errors in percent."""
    # Selecting takes a tenth of the time without what describes methods.
    ds = results(study)[[metric, "status"]].reset_coords(drop=True)
    values = ds[metric] if how is None else statistics.reduce(ds, metric, how)
    values = 100 * values if metric == "test_error" else values
    return values.rename(metric).assign_attrs(study=study)


@over_lists
def runs(
    study: str,
    label: str | tuple[str, str],
    epsilon: float = INF,
    metric: str = "test_error",
    *,
    how: str = "final",
    at_round: int | None = None,
    seeds: int | None = None,
) -> xr.DataArray:
    """Return values over ``seed``: of the last round, or of ``at_round``; of the first ``seeds``, or of all.

    A pair of another study and a label stands for a method of that study.
    """
    study, label = label if isinstance(label, tuple) else (study, label)
    place: dict[str, object] = {"algorithm": label, "epsilon": epsilon}
    if at_round is None:
        values = at(_values(study, metric, how), **place)
    else:
        values = at(_values(study, metric, None), **place, round=at_round)
    return values.isel(seed=slice(seeds)).reset_coords(drop=True)


@over_lists
def mean(*of: Any, **how: Any) -> float:
    """Return the mean over seeds, see `runs`."""
    return float(runs(*of, **how).mean("seed", skipna=False))


@over_lists
def best(*of: Any, **how: Any) -> float:
    """Return the lowest over seeds, see `runs`."""
    return float(runs(*of, **how).min("seed", skipna=False))


@over_lists
def difference(study: str, first: Any, second: Any, *of: Any, **how: Any) -> Interval:
    """Return the mean difference of two methods, paired by seed, with its 95 % interval."""
    gap = runs(study, first, *of, **how) - runs(study, second, *of, **how)
    found = student(gap, redrawn=statistics.redrawn(results(study)))
    return Interval(*(float(found[name]) for name in ("mean", "lower", "upper")))


@over_lists
def is_lower(*of: Any, **how: Any) -> bool:
    """Say whether the first method is shown to have lower values than the second, see `difference`."""
    return bool(difference(*of, **how).upper < 0)


def over(values: list[float], others: list[float]) -> list[float]:
    """Return how many times the other one at its place each value is."""
    return [one / other for one, other in zip(values, others, strict=True)]


def lowest_at(study: str, methods: list[str], budgets: list[float], metric: str) -> list[float]:
    """Return the lowest mean of methods at each budget."""
    return [min(mean(study, methods, epsilon, metric)) for epsilon in budgets]


@over_lists
def longer(study: str, label: str, than: str, epsilon: float = INF) -> float:
    """Return how many times as long as another method one takes, in the mean over seeds."""
    return float(ratios(study, label, than, epsilon).mean())


def ratios(study: str, label: str, than: str, epsilon: float = INF) -> xr.DataArray:
    """Return how many times as long as another method one takes, at each seed."""
    return runs(study, label, epsilon, "seconds") / runs(study, than, epsilon, "seconds")


def steps_of_agents(studies: list[str], budgets: list[float]) -> list[Interval]:
    """Return how the error grows from each number of agents to the next."""
    numbers = [f"n = {number}" for number in (10, 20, 50, 100, 200, 500)]
    pairs = list(itertools.pairwise(numbers))
    return [
        difference(study, high, low, epsilon)
        for study, epsilon, (low, high) in itertools.product(studies, budgets, pairs)
    ]


@over_lists
def composed(study: str, label: str, epsilon: float, at_round: int | None = None) -> float:
    """Return the composed privacy loss of whole runs, or until a round."""
    totals = at(results(study)["epsilon_composed"], algorithm=label, epsilon=epsilon)
    return float(totals.dropna("round")[-1] if at_round is None else totals.sel(round=at_round))


@over_lists
def ended(study: str, label: str) -> bool:
    """Say whether all runs of a method ended by its own test."""
    return bool((at(results(study)["status"], algorithm=label) == Outcome.CONVERGED).all())


@over_lists
def rounds(study: str, label: str, epsilon: float) -> int:
    """Return the rounds of a method, which may be tuned."""
    return int(at(results(study)["rounds"], algorithm=label, epsilon=epsilon))


def params(study: str, label: str) -> dict[str, Any]:
    """Return the parameters of a method."""
    return dict(json.loads(str(at(results(study)["params"], algorithm=label).values)))


def seeds(study: str) -> int:
    """Return the number of seeds."""
    return results(study).sizes["seed"]


def agents(study: str) -> int:
    """Return the number of agents of the first method."""
    return int(results(study)["agents"].values[0])


def delta(study: str, label: str | None = None) -> float:
    """Return the δ of a method, or the largest of all methods."""
    deltas = results(study)["delta"]
    return float(deltas.max() if label is None else at(deltas, algorithm=label))


def after_sending(study: str, label: str, count: float) -> list[float]:
    """Return numbers sent, loss and violation in the first round with so many numbers sent, or in the last."""
    sent = at(_values(study, "floats_sent", None), algorithm=label, epsilon=INF).mean("seed")
    enough = sent >= count
    until = int(sent["round"][enough.argmax("round") if enough.any() else -1])
    return mean(study, label, INF, ["floats_sent", "train_loss", "feasibility"], at_round=until)


def fact(study: str, name: str) -> int:
    """Return a number of a data set, such as ``n_train``, or the stated rounds."""
    return int(results(study).attrs[name])


def records(study: str) -> float:
    """Return the mean number of records of an agent."""
    return fact(study, "n_train") / agents(study)


def partition(study: str) -> dict[str, Any]:
    """Return how records are partitioned."""
    return dict(json.loads(results(study).attrs["partition"]))


def names(study: str) -> list[str]:
    """Return the labels of the methods."""
    return [str(label) for label in results(study)["algorithm"].values]


def labels_with(study: str, part: str) -> list[str]:
    """Return the labels of the methods that have a part."""
    return [each for each in names(study) if part in each]


def falls(values: Iterable[float]) -> bool:
    """Say whether each value is below the one before."""
    return all(low < high for high, low in itertools.pairwise(values))


# ------------------------------------------------------------------------------------------------------------- claims


labels = functools.cache(labels_of_experiments)


@functools.cache
def stated() -> dict[str, claims.Claim]:
    """Return all claims by their ids, and what is ours."""
    files = sorted((ROOT / "config/claims").glob("*.yaml"))
    return {claim.id: claim for claim in claims.load(files)}


def papers() -> list[str]:
    """Return the papers whose claims are judged."""
    return sorted({claim.paper for claim in stated().values()})


def evidence(claim: str) -> Any:
    """Return the first piece of evidence of a claim, the only one where the paper prints a number."""
    return _of(stated(), claim).evidence[0]


@over_lists
def printed(claim: str) -> float:
    """Return the number that a paper prints."""
    return evidence(claim).published


@functools.cache
def _judged(paper: str) -> dict[str, Verdict]:
    own = [
        claim
        for claim in stated().values()
        if claim.paper == paper and evidence(claim.id).kind not in _THEOREMS
    ]
    kept = {name: _kept(name) for each in own for name in each.experiments}
    found = evaluate(own, {name: ds for name, ds in kept.items() if ds is not None}, labels())
    return {each.claim.id: each for each in found}


def judged(*papers: str, ours: bool = False) -> list[Verdict]:
    """Return the verdicts on the claims of papers, or on what is ours, theorems aside."""
    return [v for paper in papers for v in _judged(paper).values() if v.claim.ours == ours]


def n_stated() -> int:
    """Return the number of claims of the papers."""
    return sum(not claim.ours for claim in stated().values())


def count(verdicts: Iterable[Verdict]) -> tuple[int, int, int, int]:
    """Return the numbers of claims that are supported, contradicted, undecided and not run."""
    counts = Counter(each.verdict for each in verdicts)
    return counts["supported"], counts["contradicted"], counts["undecided"], counts["not run"]


def claims_named(pattern: str) -> list[str]:
    """Return the ids of claims with a regular expression in them."""
    return [each for each in stated() if re.search(pattern, each)]


def ended_early(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Return the verdicts that are open because runs ended at the limit of rounds."""
    return [
        each
        for each in verdicts
        if any(short.what == "converged" for found in each.findings for short in found.shortfalls)
    ]


def on(verdicts: Iterable[Verdict], *studies: str) -> int:
    """Return the number of claims on studies."""
    return sum(each.findings[0].evidence.experiment in studies for each in verdicts)


def would_be_supported(verdicts: Iterable[Verdict]) -> bool:
    """Say whether what ran would support all of these claims."""
    return all(each.findings[0].apparent == Decision.SUPPORTED for each in verdicts)


@over_lists
def verdict(claim: str) -> str:
    """Return the verdict on a claim."""
    return _of(_judged(claim.split("-")[0]), claim).verdict.value


def _of(found: dict[str, Any], claim: str) -> Any:
    if claim not in found:
        raise LookupError(f"config/claims/ has no claim {claim}")
    return found[claim]


def changed_verdicts(study: str, label: str, stands_for: str) -> list[str]:
    """Return the claims with other verdicts if a method stands for another one of its study.

    Claims about other δ are left out: the method did not run there.
    """
    swapped = {stands_for: label, label: stands_for}
    own = [
        each.model_copy(
            update={"evidence": [p.model_copy(update={"requires": None}) for p in each.evidence]}
        )
        for each in stated().values()
        if {*each.experiments} == {study}
        and not any("δ" in name for p in each.evidence for name, _ in p.selections())
    ]
    renamed = results(study).assign_coords(
        algorithm=[swapped.get(each, each) for each in names(study)]
    )
    found = evaluate(own, {study: renamed}, labels())
    return [each.claim.id for each in found if each.verdict != verdict(each.claim.id)]


def quadratic_programs() -> list[dict[str, Any]]:
    """Return the rows of table 1 of he2023, see `_program`."""
    return [_program(d, n, m) for d, m in ((100, 1), (300, 3), (500, 5)) for n in (1, 5, 10)]


def _program(d: int, n: int, m: int) -> dict[str, Any]:
    """Return what he2023 prints of quadratic programs of one size (objective, violation, outer), and ours.

    ``excess`` is the difference of objectives less the sampling error of both means, and ``from_central`` the
    difference of the objectives of ``prox_al`` and ``cprox_al``. The ``verdict`` is on the objective.
    """
    study, label = f"he2023_qp_{d}", f"n = {n}"
    claimed = [f"he2023-qp-{d}-{n}-al-{what}" for what in ("objective", "feasibility", "outer")]
    of_paper = printed(claimed)
    objectives = runs(study, label, INF, "train_loss")
    objective = float(objectives.mean())
    violation, outer = mean(study, label, INF, ["feasibility", "outer_iterations"])
    error = sampling_error(objectives, 10) * math.sqrt(2)
    return {
        "d": d,
        "n": n,
        "m": m,
        "printed": of_paper,
        "violation": violation,
        "outer": outer,
        "excess": abs(objective - of_paper[0]) - error,
        "from_central": abs(objective - mean(study, f"cProx-AL, {label}", INF, "train_loss")),
        "verdict": verdict(claimed[0]),
    }


# ------------------------------------------------------------------------------------------------------------ privacy


def loss_when_replaced(study: str, label: str, epsilon: float, count: int, method: str) -> float:
    """Return the composed loss of rounds at the suite's neighbours, where results have those of the paper."""
    solution = Release("gaussian", "solution", "replace")
    release = solution if method == "solution" else algorithms.resolve(method).release
    budget = Privacy(epsilon=epsilon, delta=float(results(study)["delta"][0]))
    ledger = Ledger()
    ledger.add(release.cost(budget), count or rounds(study, label, epsilon))
    return ledger.epsilon(budget.delta)


# ------------------------------------------------------------------------------------------------------ equal privacy


@functools.cache
def comparison(*studies: str) -> xr.Dataset:
    """Compare methods at equal totals, see `admmbench.results.who_wins.compare`."""
    found = who_wins.compare([results(study) for study in studies])
    assert found is not None
    return found


@functools.cache
def at_total(study: str, epsilon: float) -> xr.Dataset:
    """Return the comparison on one data set at one total; intervals hold together for all of its comparison."""
    together = next((group for group in (EQUAL, CLIENTS) if study in group), [study])
    compared = comparison(*together)
    here = (compared["epsilon"] == epsilon) & (compared["experiment"] == study)
    if not here.any():
        raise LookupError(f"{study}: no comparison at ε = {epsilon:g}")
    return compared.isel(setting=int(here.argmax("setting")))


@over_lists
def points(study: str, label: str, epsilon: float) -> float:
    """Return the mean test error in percent."""
    return 100 * float(at(at_total(study, epsilon)["mean"], algorithm=label))


@over_lists
def apart(study: str, first: str, second: str, epsilon: float) -> Interval:
    """Return the difference of two methods in points, with the interval that holds together with all others."""
    own = at_total(study, epsilon)
    found = ("difference", "difference_lower", "difference_upper")
    pair = {"algorithm": first, "rival": second}
    return Interval(*(100 * float(at(own[name], **pair)) for name in found))


@over_lists
def pair_verdict(study: str, first: str, second: str, epsilon: float) -> str:
    """Return the verdict on the first method beside the second."""
    return str(at_total(study, epsilon)["pair_verdict"].sel(algorithm=first, rival=second).item())


def with_verdict(study: str, epsilon: float, *how: str) -> set[str]:
    """Return the methods with these verdicts, see `admmbench.inference.contrasts.judge_setting`."""
    own = at_total(study, epsilon)
    return {str(each) for each in own["algorithm"].values[own["verdict"].isin(how).values]}


def front(study: str, epsilon: float) -> set[str]:
    """Return the methods that are not shown to be behind another."""
    return with_verdict(study, epsilon, "winner", "equivalent", "undecided")


def constant(study: str) -> float:
    """Return the error in percent of the best constant prediction."""
    return 100 * float(at_total(study, 1)["constant"])


def beats_constant(study: str, epsilon: float) -> set[str]:
    """Return the methods whose interval lies below the error of the best constant prediction."""
    setting = at_total(study, epsilon)
    below = setting["upper"] < setting["constant"]
    return set(map(str, below["algorithm"].values[below.values]))


@over_lists
def behind_at(study: str, label: str) -> tuple[float, ...]:
    """Return the totals at which a method is shown to be behind another."""
    return tuple(epsilon for epsilon in TOTALS if label in with_verdict(study, epsilon, "worse"))


def decided(study: str) -> list[float]:
    """Return the totals at which a winner or equivalent methods are shown."""
    return [each for each in TOTALS if with_verdict(study, each, "winner", "equivalent")]


def never_behind() -> list[str]:
    """Return the methods that are not shown to be behind on any data set at any total."""
    return sorted(set.intersection(*(front(study, each) for study in EQUAL for each in TOTALS)))


def behind_lowest(study: str, label: str) -> list[Interval]:
    """Return the difference of a method and the lowest mean at each total."""
    return [apart(study, label, lowest(study, epsilon), epsilon) for epsilon in TOTALS]


def shown(gaps: list[Interval]) -> list[float]:
    """Return the totals at which intervals do not hold 0; there is one interval for each total."""
    pairs = zip(TOTALS, gaps, strict=True)
    return [epsilon for epsilon, gap in pairs if not gap.lower <= 0 <= gap.upper]


@over_lists
def lowest(study: str, epsilon: float) -> str:
    """Return the method with the lowest mean."""
    return str(at_total(study, epsilon)["lowest"].item())


@over_lists
def seeds_of(study: str, label: str, epsilon: float) -> int:
    """Return with how many seeds a method was run."""
    return int(at(at_total(study, epsilon)["runs"], algorithm=label))


@over_lists
def seeds_at(study: str, epsilon: float, methods: frozenset[str] | None = None) -> list[int]:
    """Return the numbers of seeds of some methods, or of all that are compared, each number once."""
    own = at_total(study, epsilon)
    compared = map(str, own["algorithm"][own["compared"]].values)
    return sorted({seeds_of(study, each, epsilon) for each in methods or compared})


def with_seeds(study: str, epsilon: float, count: int) -> list[str]:
    """Return the methods that were run with so many seeds."""
    return [each for each in names(study) if seeds_of(study, each, epsilon) == count]


@over_lists
def seeds_needed(study: str, epsilon: float) -> float:
    """Return how many seeds would decide a data set at a total, 0 where it is decided."""
    return float(at_total(study, epsilon)["seeds"])


def controls(studies: list[str]) -> list[str]:
    """Return the methods that all others are compared with."""
    return sorted({str(results(study).attrs["control"]) for study in studies})


@over_lists
def possible_lead(study: str, epsilon: float) -> float:
    """Return the largest lead over the control that is still possible on a data set at a total, in points."""
    return 100 * float(at_total(study, epsilon)["possible_lead"])


@over_lists
def of_worst_clients(study: str, label: str, epsilon: float) -> float:
    """Return the mean error in percent of the worst tenth of clients."""
    return 100 * mean(study, label, epsilon, "worst_client_error")


def margin(study: str) -> float:
    """Return the difference in points up to which methods are equivalent."""
    return 100 * statistics.margin(results(study))


def analyses(study: str) -> list[int]:
    """Return the numbers of seeds at which a study may be judged."""
    return statistics.interim_analyses(results(study))


def added(study: str) -> list[str]:
    """Return the methods that joined when there were results."""
    return statistics.added(results(study))


@over_lists
def joined(study: str, label: str, epsilon: float) -> str:
    """Return the verdict on a method that joined beside the best; empty where it did not run."""
    return str(at_total(study, epsilon)["added"].sel(algorithm=label).item())


def optimum(study: str) -> float:
    """Return the error in percent of the optimum without privacy."""
    own = at_total(study, 1)
    assert own["floor_method"].item() == "Centralized"
    return 100 * float(own["floor"])


def ranks(*studies: str) -> list[tuple[str, float]]:
    """Return methods and their mean ranks, the lowest first."""
    found = who_wins.mean_ranks(comparison(*studies))
    return [(str(label), float(found.sel(algorithm=label))) for label in found["algorithm"].values]


def ordered(study: str) -> list[str]:
    """Return the methods of a study with one total, the lowest mean first."""
    own = comparison(study).isel(setting=0)["mean"]
    return [str(each) for each in own.sortby(own).dropna("algorithm")["algorithm"].values]


def admm_variants() -> set[str]:
    """Return the methods at equal privacy that are variants of ADMM."""
    others = {"DP-GD", "DP-SGD", "DP-FedAvg", "DP-SCAFFOLD", "AMP", "Centralized"}
    return {label for study in EQUAL for label in names(study)} - others


def shown_better(candidates: Iterable[str], than: str) -> set[tuple[str, str, float]]:
    """Return study, label and total wherever a candidate is shown to be better than a method."""
    return {
        (study, each, epsilon)
        for study in EQUAL
        for each in {*candidates} & {*names(study)}
        for epsilon in TOTALS
        if apart(study, each, than, epsilon).upper < 0
    }


@functools.cache
def experiment(study: str) -> dict[str, Any]:
    """Return what the file of an experiment states."""
    return dict(read_yaml(ROOT / f"config/experiments/{study}.yaml"))


@functools.cache
def tuned(study: str) -> dict[str, dict[float, Any]]:
    """Return the settings in use by label and total, with their searches' results."""
    return dict(read_yaml(ROOT / f"config/tuned/{study}.yaml"))


@over_lists
def setting(study: str, label: str, epsilon: float, name: str) -> float:
    """Return a parameter that tuning chose for the kept runs."""
    chosen = json.loads(str(results(study)["tuned"].sel(algorithm=label, epsilon=epsilon).values))
    return chosen[f"params.{name}"]


def totals_with(study: str, label: str, name: str, value: float) -> list[float]:
    """Return the totals at which tuning chose a value."""
    return [each for each in TOTALS if setting(study, label, each, name) == value]


def lost(study: str, epsilon: float) -> pd.Series:
    """Return what each method loses in points with a tuned value halved or doubled, at most; the least first."""
    values = at(results(study)["error_growth"], epsilon=epsilon).to_series().dropna()
    return 100 * values.sort_values(kind="stable")


@over_lists
def lost_by(study: str, label: str, epsilon: float) -> float:
    """Return what a method loses, see `lost`."""
    return float(lost(study, epsilon)[label])


def worst_change(study: str, label: str, epsilon: float) -> tuple[str, str]:
    """Return the tuned value that matters most, and whether halving or doubling it does."""
    found = tuned(study)[label][epsilon]["sensitivity"]
    worst = {(path, at): own[at] or -INF for path, own in found.items() for at in (0, 1)}
    path, place = max(worst, key=worst.__getitem__)
    return path, ("half", "twice")[place]


@functools.cache
def trials(study: str) -> pd.DataFrame:
    """Return all kept trials of searches."""
    return pd.read_csv(ROOT / f"reference/{study}_trials.csv")


def searches(study: str) -> list[tuple[str, float]]:
    """Return label and total of each search whose trials are kept."""
    found = trials(study)
    return sorted({*zip(found["method"], found["budget"], strict=True)})


def audit(study: str) -> tuple[int, list[float], int]:
    """Return attacked rounds, totals, and runs with each of two neighbours, of the stated audits."""
    own = experiment(study)
    stated = own["audit"]
    return stated["rounds"], stated.get("budgets", own["privacy"]["total"]), stated["repeats"]


def attacks(study: str) -> list[tuple[str, ...]]:
    """Return method, total, shown ε and findings of audits in the kept report of equal privacy with later audits."""
    page = (ROOT / "docs/reports/equal_privacy_audits_later/index.html").read_text()
    table = page.split(f'<table class="budgets" aria-labelledby="{study}-attacks">')[1]
    rows = table.split("</table>")[0].split("<tr>")[2:]
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in rows]
    return sorted((own[0], own[1], own[4], own[6]) for own in cells)


def are_attacks_on(found: list[tuple[str, ...]], of: dict[str, list[float]], which: str) -> bool:
    """Say whether attacks are on these methods at these totals, all checks hold, and nothing is shown."""
    wanted = sorted((label, f"{epsilon:g}") for label, own in of.items() for epsilon in own)
    first_and_last = r" Attacked: (2 of (\d+) rounds \(1, \2\)|1 of 1 rounds)\."
    holds = re.compile(r"5 checks hold\." + (first_and_last if which == "first and last" else ""))
    return [each[:2] for each in found] == wanted and all(
        each[2] == "0" and holds.match(each[3]) for each in found
    )


class BesideUntuned(NamedTuple):
    """What a search is worth: the difference in points of a method's runs and its untuned ones, and the verdict."""

    method: str
    value: float
    verdict: str


def variants(study: str, way: str) -> list[str]:
    """Return the methods that a study has in a way, such as ``untuned``, the lowest mean of these runs first."""
    ending = f" ({way})"
    return [each.removesuffix(ending) for each in ordered(study) if each.endswith(ending)]


def of_ways(methods: Iterable[str], ways: Iterable[str]) -> list[str]:
    """Return the labels of methods in some ways."""
    return [f"{method} ({way})" for method, way in itertools.product(methods, ways)]


def beside_untuned(study: str, methods: Iterable[str], way: str) -> list[BesideUntuned]:
    """Compare methods whose search was paid for with their untuned runs."""
    pairs = ((each, f"{each} ({way})", f"{each} (untuned)", 2) for each in methods)
    return [
        BesideUntuned(method, apart(study, *pair).value, pair_verdict(study, *pair))
        for method, *pair in pairs
    ]


def share(study: str, methods: Iterable[str], way: str) -> float:
    """Return what a run has of the total that covers its search as well, for all methods alike."""
    spent = statistics.final(results(study).reset_coords(), "epsilon_total").sel(epsilon=2)
    shares = spent.sel(algorithm=of_ways(methods, [way]))
    assert shares.max() - shares.min() < 0.001
    return float(shares[0])


def farthest_start(study: str, label: str, epsilon: float) -> float:
    """Return the largest factor between a start of a search and what it found."""
    (stated,) = (each for each in experiment(study)["algorithms"] if each["label"] == label)
    starts = {
        path: axis["start"] if isinstance(axis, dict) else axis
        for path, axis in stated["tune"].items()
    }
    found = tuned(study)[label][epsilon]["settings"]
    return max(max(starts[path] / each, each / starts[path]) for path, each in found.items())


# -------------------------------------------------------------------------------------------------- outdated results


def outdated(study: str) -> list[str]:
    """Return the labels whose reference results are to be run again."""
    return reference.outdated_labels(results(study))


def why_outdated(studies: Iterable[str]) -> str:
    """Return the reasons, as the end of a sentence; empty if nothing is outdated."""
    stated = (results(study).attrs.get("outdated") for study in studies)
    return " or ".join(dict.fromkeys(json.loads(each)["because"] for each in stated if each))


def mark(study: str, label: str) -> str:
    """Return the mark of outdated results, or nothing."""
    return MARK if label in outdated(study) else ""


# ------------------------------------------------------------------------------------------------------- kept reports


def of_laptop(label: str, epsilon: float) -> float:
    """Return a final error of ryu2021 on FEMNIST as the kept report of the laptop study has it."""
    report = (ROOT / "docs/reports/laptop/index.html").read_text()
    table = report.split('data-experiment="ryu2021_femnist" data-run="final"')[1]
    row = table.split("</table>")[0].split(f'<th scope="row">{label}</th>')[1].split("</tr>")[0]
    cells = re.findall(r'<td class="number">(?:<strong>)?([\d.]+|–)', row)
    return float(cells[{0.05: 0, 1: 1, INF: 2}[epsilon]])


@over_lists
def early(study: str, label: str, epsilon: float, at_round: int | None) -> float:
    """Return an error of the laptop study: after some rounds of the runs at scale, or of its report."""
    if not study:
        return of_laptop(label, epsilon)
    return mean(study, label.partition(" (10 local")[0], epsilon, at_round=at_round, seeds=3)


def laptop_claims() -> list[Any]:
    """Return the evidence of claims on the studies of ``config/laptop.yaml``."""
    studies = read_yaml(ROOT / "config/laptop.yaml")["experiments"]
    counted = [claim for claim in stated().values() if not claim.ours]
    return [c.evidence[0] for c in counted if {*c.experiments} & {*studies}]
