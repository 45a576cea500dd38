"""Tables of the report and of the terminal about one experiment, from its results alone."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from admmbench.audit.words import words as audit_words
from admmbench.base.outcomes import FAILED, SUCCESSFUL
from admmbench.figures import wording
from admmbench.figures.wording import given, number, rounded_up, stated
from admmbench.partition.targets import gini, label_distances
from admmbench.privacy import ACCOUNTANTS
from admmbench.report.data import (
    AgentCounts,
    Budgets,
    Cell,
    Conditions,
    Protected,
    Spread,
    Table,
    Value,
    collected,
)
from admmbench.report.environment import words
from admmbench.results import statistics
from admmbench.results.reference import marked
from admmbench.results.who_wins import verdicts
from admmbench.spec import guarantees

if TYPE_CHECKING:
    from admmbench.audit.findings import Audit
    from admmbench.study.experiment import Experiment
    from admmbench.study.runs import Run

# How numbers of Gaussian differential privacy are written.
_GAUSSIAN = {
    "mu": lambda mu: "not available" if mu == math.inf else rounded_up(mu),
    "regret": lambda regret: number(regret, ".2g"),
}
# Agents times classes beyond which the page shows no table of the agents' records.
_MOST_COUNTS = 200


def conditions(results: xr.Dataset) -> Conditions:
    """Return the conditions of the runs."""
    attrs, metric = results.attrs, results[results.attrs["metric"]].attrs
    shares = attrs.get("shares", "")
    # A number of agents stands for equal shares.
    partition = json.loads(attrs["partition"]) if attrs["partition"].startswith("{") else None
    rounds = results["rounds"].values
    tested = results["client_error"].attrs if "client_error" in results else None
    return Conditions(
        attrs,
        statistics.data_of(attrs),
        # A file of an earlier version has a sentence.
        json.loads(shares) if shares.startswith("[") else [shares] if shares else [],
        json.loads(attrs["problem"]),
        list(dict.fromkeys(results["agents"].values.tolist())),
        partition,
        (int(rounds[rounds > 0].min()), int(rounds.max())),
        results.sizes["seed"],
        Value(metric.get("best_constant", math.nan), fraction=statistics.is_fraction(results)),
        metric["units"],
        [] if statistics.is_constrained(results) else results["epsilon"].values.tolist(),
        statistics.of_whole_runs(results),
        list(dict.fromkeys(results["delta"].values.tolist())),
        # A method may have neighbours of its own, which are not named here.
        [unit for unit in ("record", "agent") if unit in results["unit"].values],
        (tested["clients"], tested["fewest_records"]) if tested else None,
    )


def agent_counts(files: Sequence[xr.Dataset]) -> AgentCounts:
    """Return the numbers of records or columns of agents, from the files of one partition."""
    drawn = "seed" in files[0].dims
    counts = xr.concat([file["counts"] for file in files], "seed") if drawn else files[0]["counts"]
    classes = distance = None
    if "class" in counts.dims:
        classes = _spread((counts > 0).sum("class"))
        distances = label_distances(counts.transpose(..., "agent", "class").values)
        distance = float(np.nanmean(distances)), float(np.nanmax(distances))
        counts = counts.sum("class")
    return AgentCounts(
        json.loads(files[0].attrs["scheme"]),
        "record" if "row" in files[0].dims else "column",
        counts.sizes.get("seed", 1),
        _spread(counts),
        classes,
        float(gini(counts.transpose(..., "agent").values).mean()),
        distance,
    )


def agent_classes(files: Sequence[xr.Dataset]) -> Table | None:
    """Return the records of each agent by class, at the first seed; None if there are too many for a table."""
    counts = files[0]["counts"]
    counts = counts.isel(seed=0) if "seed" in counts.dims else counts
    if "class" not in counts.dims or counts.size > _MOST_COUNTS:
        return None
    names = [str(name) for name in counts["class"].values]
    rows: list[list[str | Cell]] = [
        [str(agent), *map(str, counts_of_agent), str(sum(counts_of_agent))]
        for agent, counts_of_agent in enumerate(counts.transpose("agent", "class").values.tolist())
    ]
    return Table(["agent", *names, "all"], [*names, "all"], rows)


def _spread(counts: xr.DataArray) -> tuple[int, float, int]:
    return int(counts.min()), float(counts.median()), int(counts.max())


def budget(results: xr.Dataset) -> str:
    """Return the name of a budget: of the whole run, or of one iteration."""
    return "ε of the whole run" if statistics.of_whole_runs(results) else "ε per iteration"


def methods(results: xr.Dataset) -> Table:
    """Return the table of methods: algorithm, parameters, and numbers of completed and failed runs."""
    state = statistics.counts(results).sum("epsilon")
    facts = ["method", "variant", *([] if statistics.is_constrained(results) else ["noise"])]
    rows: list[list[str | Cell]] = []
    for place, label in enumerate(results["algorithm"].values):
        facts_of_method = state.isel(algorithm=place)
        completed = sum(int(facts_of_method[outcome.word]) for outcome in SUCCESSFUL)
        failed = " and ".join(statistics.failed_runs(facts_of_method)[0])
        name = marked(str(label), results)
        row = [
            name,
            *(str(facts_of_method[fact].item()) for fact in facts),
            _params(results, place),
        ]
        rows.append([*map(str, row), str(completed), Cell("", failed=failed) if failed else "none"])
    heads = ["Label", "Algorithm", *(fact.capitalize() for fact in facts[1:]), "Parameters"]
    return Table([*heads, "Completed", "Failed"], ["Completed"], rows)


def _params(results: xr.Dataset, place: int) -> str:
    """Return the parameters of a method, and the names of its tuned settings."""
    method = results.isel(algorithm=place)
    chosen = (
        [json.loads(str(settings)) for settings in method["tuned"].values if settings]
        if "tuned" in method
        else []
    )
    names = sorted({path.removeprefix("params.") for settings in chosen for path in settings})
    tuned = f"tuned: {', '.join(names)}" if names else ""
    return (
        "; ".join(filter(None, (wording.mapping(json.loads(str(method["params"].item()))), tuned)))
        or "defaults"
    )


def tuning(experiment: Experiment) -> Table:
    """Return the table of tuned settings of each method and budget."""

    def name(path: str) -> str:
        return path.rpartition(".")[2].replace("_", " ")

    tried = any(
        choice.sensitivity for choices in experiment.chosen.values() for choice in choices.values()
    )
    growth = ["More at half or twice a value, at most"] if tried else []
    numbers = ["ε", "Error on held-out rows", *growth]
    rows: list[list[str | Cell]] = [
        [
            label,
            stated(epsilon),
            ", ".join(f"{name(path)} {value:.4g}" for path, value in chosen.settings.items()),
            number(chosen.error),
            *(number(chosen.error_growth) for _ in growth),
            ", ".join(map(name, chosen.edges)) or "none",
        ]
        for label, choices in experiment.chosen.items()
        for epsilon, chosen in choices.items()
    ]
    heads = ["Method", "ε", "Best settings", *numbers[1:], "At an edge of what was tried"]
    return Table(heads, numbers, rows)


def error_tables(results: xr.Dataset) -> dict[str, statistics.Reduction]:
    """Return the captions of the tables of the problem's metric, each with the reduction over rounds that it shows."""
    attrs = results[results.attrs["metric"]].attrs
    unit = "%" if statistics.is_fraction(results) else attrs["units"]
    reductions: tuple[statistics.Reduction, ...] = ("final", "best")
    return {
        words().errors(attrs["long_name"], unit, reduction): reduction for reduction in reductions
    }


# Columns of the table of solutions, in their order, with their heads; groups' losses follow.
_SOLUTION_HEADS = {
    "train_loss": "Objective",
    "feasibility": "Violation",
    "stationarity": "Stationarity",
    "outer_iterations": "Outer",
    "inner_iterations": "Inner",
    "floats_sent": "Numbers sent",
    "seconds": "Seconds",
    "test_error": "Test error, %",
}


def solutions(results: xr.Dataset) -> Table | None:
    """Return the table of solutions of a constrained problem: ends of runs, and means over seeds; None for others."""
    if not statistics.is_constrained(results):
        return None
    heads = {name: head for name, head in _SOLUTION_HEADS.items() if name in results}
    heads |= {
        str(name): str(name).replace("_", " ")
        for name in results
        if str(name).startswith(("loss_", "disparity_"))
    }
    ends = statistics.counts(results).sum("epsilon")
    values = {name: statistics.final(results, name).mean(["seed", "epsilon"]) for name in heads}
    if "test_error" in values:
        values["test_error"] = 100 * values["test_error"]
    rows: list[list[str | Cell]] = []
    for place, label in enumerate(results["algorithm"].values):
        n = {outcome: int(ends[outcome.word][place]) for outcome in (*SUCCESSFUL, *FAILED)}
        ended = ", ".join(f"{n[outcome]} {outcome.words}" for outcome in n if n[outcome])
        name = marked(str(label), results)
        rows.append([name, ended, *(number(float(means[place])) for means in values.values())])
    return Table(["Method", "Ended", *heads.values()], heads.values(), rows)


def errors(
    results: xr.Dataset, reduction: statistics.Reduction, comparison: xr.Dataset | None = None
) -> Table:
    """Return the table of each method's metric: mean and spread at each budget.

    Final means are marked with the verdicts of the comparison at the beginning of the page, if there is one.
    """
    percent = statistics.is_fraction(results)
    values = statistics.reduce(results, results.attrs["metric"], reduction) * (
        100 if percent else 1
    )
    counts = [results["status"].isin(FAILED).sum("seed"), (results["status"] >= 0).sum("seed")]
    failed, started = (_plain_values(count) for count in counts)
    # The lowest error of all rounds is selected on the test set, so that verdicts are on final errors alone.
    final = reduction == "final"
    verdict = _plain_values(verdicts(results, comparison)) if final else np.full(failed.shape, "")
    cells = _cells(values, ".2f" if percent else ".4g")
    for place in np.ndindex(cells.shape):
        failed_text = words().failed_of(failed[place], started[place]) if failed[place] else ""
        cells[place] = cells[place]._replace(verdict=str(verdict[place]), failed=failed_text)
    budgets = [wording.budget(float(e)) for e in results["epsilon"].values]
    rows = [
        [marked(str(label), results), *cells_of_method]
        for label, cells_of_method in zip(results["algorithm"].values, cells, strict=True)
    ]
    return Table(["Method", *budgets], budgets, rows)


def _plain_values(values: xr.DataArray) -> Any:
    """Return values over methods and budgets, without labels: to look up thousands of cells by label takes seconds."""
    return values.transpose("algorithm", "epsilon", ...).values


def _cells(values: xr.DataArray, form: str) -> Any:
    """Return cells with the mean over seeds of each method and budget, and its spread.

    The spread is a band, the value of each seed if there are few, or a note that all seeds have the same value.
    """
    band = statistics.band(values)
    is_constant = _plain_values(statistics.same_for_all_seeds(values))
    mean, lower, upper, n = (_plain_values(band[name]) for name in ("mean", "lower", "upper", "n"))
    seeds = _plain_values(values)
    cells = np.empty(is_constant.shape, object)
    for place in np.ndindex(is_constant.shape):
        text = number(mean[place], form)
        if n[place] > 1 and not is_constant[place]:
            few = values.sizes["seed"] <= statistics.FEW_SEEDS
            numbers = seeds[place] if few else (lower[place], upper[place])
            texts = [number(value, form) for value in numbers]
            text += f" ({', '.join(texts)})" if few else f" [{'–'.join(texts)}]"
        cells[place] = Cell(text, note="the same for all seeds" if is_constant[place] else "")
    return cells


def spread(results: xr.Dataset) -> Spread:
    """Return the seeds of a mean in a table, and the spread that is shown beside the mean."""
    n, ordered = results.sizes["seed"], statistics.seeds_by_analyses(results)
    return Spread(
        n,
        n <= statistics.FEW_SEEDS,
        statistics.PERCENTILES,
        ordered[0] if ordered else None,
        [] if ordered else statistics.fewer_seeds(results),
    )


def times(results: xr.Dataset) -> Table | None:
    """Return the table of computing times: mean and spread, and the ratio to a budget's shortest; None if not timed."""
    # The table of solutions has the times for a problem with constraints.
    if "seconds" not in results or statistics.is_constrained(results):
        return None
    values = statistics.final(results, "seconds")
    mean = values.mean("seed")
    ratio, cells = _plain_values(mean / mean.min("algorithm")), _cells(values, ".3g")
    rows: list[list[str | Cell]] = [
        [
            marked(str(label), results),
            stated(epsilon),
            cells[row, column],
            f"{ratio[row, column]:.1f}",
        ]
        for row, label in enumerate(results["algorithm"].values)
        for column, epsilon in enumerate(results["epsilon"].values)
        if np.isfinite(ratio[row, column])
    ]
    heads = ["Method", budget(results), "Seconds", "Ratio"]
    return Table(heads, heads[1:], rows)


def privacy(results: xr.Dataset) -> Table | None:
    """Return the table of totals after the last round, at finite budgets that were run; None if there are none."""
    accountants = {accountant.variable: accountant.column for accountant in ACCOUNTANTS.values()}
    totals = {
        "epsilon_claimed": "ε times rounds",
        **{name: head for name, head in accountants.items() if name in results},
        "epsilon_total": "ε guaranteed",
    }
    totals_of_methods = xr.Dataset({name: statistics.final(results, name) for name in totals})
    # Results of earlier versions have no mu.
    gaussian = {"mu": "μ", "regret": "Regret of μ"} if "mu" in results else {}
    totals_of_methods = totals_of_methods.assign({name: results[name] for name in gaussian})
    totals_of_methods["ran"] = (results["status"] >= 0).any("seed")
    frame = totals_of_methods.to_dataframe(["algorithm", "epsilon"]).reset_index()
    frame = frame[frame["ran"] & np.isfinite(frame["epsilon"])]
    if frame.empty:
        return None
    columns = {
        "Method": frame["algorithm"].map(lambda label: marked(label, results)),
        budget(results): frame["epsilon"].map(stated),
        "δ": frame["delta"].map(given),
        **{head: frame[name].map(number) for name, head in totals.items()},
        **{head: frame[name].map(_GAUSSIAN[name]) for name, head in gaussian.items()},
        "Guarantee": frame["guarantee"],
    }
    heads = [*columns]
    return Table(heads, heads[1:-1], [[*row] for row in zip(*columns.values(), strict=True)])


def audits(audits: Iterable[tuple[Run, Audit]], experiment: Experiment) -> Table | None:
    """Return the table of audits of each method and budget, in the experiment's order; None if nothing was attacked."""
    labels = [method.label for method in experiment.algorithms]
    rows: list[list[str | Cell]] = []
    for run, audit in sorted(
        audits, key=lambda pair: (labels.index(pair[0].label), pair[0].spec.stated_budget)
    ):
        epsilons = audit.epsilon_claimed, audit.epsilon_ledger, audit.epsilon_lower
        said = audit_words()
        sentences = dict.fromkeys(map(said.sentence, audit.failures))
        entries = [(epsilons, " ".join([said.summary(audit), *sentences]))]
        if one_run := audit.one_run:
            numbers = None, one_run.epsilon_ledger, one_run.epsilon_lower
            entries.append((numbers, words().one_run(one_run)))
        rows += [
            [
                run.label,
                stated(run.spec.stated_budget),
                *("–" if value is None else number(value) for value in values),
                guarantees.guarantee(run.spec).kind,
                text,
            ]
            for values, text in entries
        ]
    heads = ["ε", "ε claimed", "ε composed", "ε at least"]
    return Table(["Method", *heads, "Guarantee", "Found"], heads, rows) if rows else None


def protected(results: xr.Dataset) -> list[Protected]:
    """Return the units that totals protect, and units for which delta is too large; empty if no total is finite."""
    if not privacy(results):
        return []
    units = [str(unit) for unit in results["unit"].values if unit != "none"]
    rows = [Protected(unit) for unit in dict.fromkeys(units)]
    numbers = {"record": int(results.attrs["n_train"]), "agent": int(results["agents"].min())}
    for unit, n in numbers.items():
        # NaN where no method protects the unit
        largest = float(results["delta"].where(results["unit"] == unit).max())
        if largest * n > 1:
            rows.append(Protected(unit, largest, n))
    return rows


def budgets(results: xr.Dataset) -> Budgets | None:
    """Return the meaning of the budgets of methods that were run with a finite one; None if there are none."""
    finite = (results["status"] >= 0).any("seed") & np.isfinite(results["epsilon"])
    results = results.isel(algorithm=finite.any("epsilon").values)
    if not results.sizes["algorithm"]:
        return None
    noisy = results.isel(algorithm=results["notion"].values != "none")
    whole_runs = statistics.of_whole_runs(results)
    gaussian = noisy.isel(algorithm=noisy["notion"].values == "approximate")
    large = ((noisy["epsilon"] > 1) & (noisy["epsilon"] < math.inf)).values
    return Budgets(
        whole_runs,
        str(results.attrs["sensitivity"]),
        _labels_by(noisy["guarantee"].values, noisy),
        _labels_by(zip(noisy["relation"].values, noisy["unit"].values, strict=True), noisy),
        _labels_by(noisy["notion"].values, noisy),
        not whole_runs and bool((gaussian.isel(epsilon=large)["status"] >= 0).any()),
    )


def caveats(results: xr.Dataset) -> dict[str, dict[str, Any]]:
    """Return the caveats of all methods by key, with their values."""
    keys: dict[str, dict[str, Any]] = {}
    for text in results["caveats"].values:
        keys |= json.loads(str(text))
    return keys


def _labels_by(facts: Iterable[Any], results: xr.Dataset) -> dict[Any, list[str]]:
    """Return the labels of the methods that share a fact, by its value."""
    return collected(zip(facts, results["algorithm"].values.tolist(), strict=True))
