"""Tables of the report and of the terminal about one experiment, from its results alone."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import xarray as xr

from admmbench.base.outcomes import FAILED, SUCCESSFUL
from admmbench.figures import wording
from admmbench.figures.wording import given, number, stated
from admmbench.privacy import ACCOUNTANTS
from admmbench.report.data import (
    AgentCounts,
    Budgets,
    Conditions,
    Protected,
    Spread,
    Value,
    collected,
)
from admmbench.report.differences import HEADS
from admmbench.report.environment import words
from admmbench.results import statistics
from admmbench.results.reference import marked
from admmbench.results.who_wins import verdicts
from admmbench.spec import guarantees

if TYPE_CHECKING:
    from admmbench.audit.findings import Audit
    from admmbench.study.experiment import Experiment
    from admmbench.study.runs import Run

# Agents times classes beyond which a page shows no table of their records.
_MOST_COUNTS = 200


class Cell(NamedTuple):
    """A cell of a table is more than a text."""

    text: str
    verdict: str = ""
    """Verdict on its method, see `admmbench.inference.contrasts.judge_setting`: winners bold, the best group tinted."""
    note: str = ""
    """Small print."""
    lost: str = ""
    """How many runs have no value."""


class Table(NamedTuple):
    """A table has rows of texts and cells, the first of each its name; columns of numbers are aligned at the right."""

    heads: Sequence[str]
    numbers: Iterable[str]
    """Heads of the columns with numbers."""
    rows: list[list[str | Cell]]


def conditions(results: xr.Dataset) -> Conditions:
    """Return what was run."""
    attrs, metric = results.attrs, results[results.attrs["metric"]].attrs
    # A number of agents stands for equal shares.
    partition = json.loads(attrs["partition"]) if attrs["partition"].startswith("{") else None
    rounds = results["rounds"].values
    return Conditions(
        attrs,
        statistics.data_of(attrs),
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
        # A method may have neighbours of its own.
        [unit for unit in ("record", "agent") if unit in results["unit"].values],
    )


def agent_counts(files: Sequence[xr.Dataset]) -> AgentCounts:
    """Return how many records or columns agents have, from the files of one partition."""
    drawn = "seed" in files[0].dims
    counts = xr.concat([each["counts"] for each in files], "seed") if drawn else files[0]["counts"]
    classes = None
    if "class" in counts.dims:
        classes = _spread((counts > 0).sum("class"))
        counts = counts.sum("class")
    return AgentCounts(
        json.loads(files[0].attrs["scheme"]),
        "record" if "row" in files[0].dims else "column",
        counts.sizes.get("seed", 1),
        _spread(counts),
        classes,
    )


def agent_classes(files: Sequence[xr.Dataset]) -> Table | None:
    """Return the records of each agent by class, at the first seed; None where they are too many for a table."""
    counts = files[0]["counts"]
    counts = counts.isel(seed=0) if "seed" in counts.dims else counts
    if "class" not in counts.dims or counts.size > _MOST_COUNTS:
        return None
    names = [str(name) for name in counts["class"].values]
    rows: list[list[str | Cell]] = [
        [str(agent), *map(str, own), str(sum(own))]
        for agent, own in enumerate(counts.transpose("agent", "class").values.tolist())
    ]
    return Table(["agent", *names, "all"], [*names, "all"], rows)


def _spread(counts: xr.DataArray) -> tuple[int, float, int]:
    return int(counts.min()), float(counts.median()), int(counts.max())


def budget(results: xr.Dataset) -> str:
    """Return what a budget is of."""
    return "ε of the whole run" if statistics.of_whole_runs(results) else "ε per iteration"


def methods(results: xr.Dataset) -> Table:
    """Return what each method is, and what became of its runs."""
    state = statistics.counts(results).sum("epsilon")
    facts = ["method", "variant", *([] if statistics.is_constrained(results) else ["noise"])]
    rows: list[list[str | Cell]] = []
    for place, label in enumerate(results["algorithm"].values):
        own = state.isel(algorithm=place)
        completed = sum(int(own[each.word]) for each in SUCCESSFUL)
        lost = " and ".join(statistics.lost(own)[0])
        name = marked(str(label), results)
        row = [name, *(str(own[fact].item()) for fact in facts), _params(results, place)]
        rows.append([*map(str, row), str(completed), Cell("", lost=lost) if lost else "none"])
    heads = ["Label", "Algorithm", *(fact.capitalize() for fact in facts[1:]), "Parameters"]
    return Table([*heads, "Completed", "Lost"], ["Completed"], rows)


def _params(results: xr.Dataset, place: int) -> str:
    """Parameters of a method, and which of its settings were tuned."""
    own = results.isel(algorithm=place)
    chosen = (
        [json.loads(str(each)) for each in own["tuned"].values if each] if "tuned" in own else []
    )
    names = sorted({path.removeprefix("params.") for each in chosen for path in each})
    tuned = f"tuned: {', '.join(names)}" if names else ""
    return (
        "; ".join(filter(None, (wording.mapping(json.loads(str(own["params"].item()))), tuned)))
        or "defaults"
    )


def tuning(experiment: Experiment) -> Table:
    """Return what tuning chose for each method and budget."""

    def name(path: str) -> str:
        return path.rpartition(".")[2].replace("_", " ")

    tried = any(each.beside for found in experiment.chosen.values() for each in found.values())
    rows: list[list[str | Cell]] = [
        [
            label,
            stated(epsilon),
            ", ".join(f"{name(path)} {value:.4g}" for path, value in chosen.settings.items()),
            number(chosen.error),
            *([number(chosen.lost_beside)] if tried else []),
            ", ".join(map(name, chosen.edges)) or "none",
        ]
        for label, found in experiment.chosen.items()
        for epsilon, chosen in found.items()
    ]
    heads = [
        "Method",
        "ε",
        "Best settings",
        "Error on held-out rows",
        *(["More at half or twice a value, at most"] if tried else []),
        "At an edge of what was tried",
    ]
    return Table(heads, ["ε", *heads[3:-1]], rows)


def error_tables(results: xr.Dataset) -> dict[str, statistics.Reduction]:
    """Return the captions of the tables of the problem's metric, each with what it shows of a run."""
    attrs = results[results.attrs["metric"]].attrs
    unit = "%" if statistics.is_fraction(results) else attrs["units"]
    shown: tuple[statistics.Reduction, ...] = ("final", "best")
    return {words().errors(attrs["long_name"], unit, how): how for how in shown}


# Columns of the table of solutions, in their order, with their heads; groups' losses follow.
_OF_SOLUTIONS = {
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
    """Return where methods for a constrained problem end: how runs ended, and means over seeds; None for others."""
    if not statistics.is_constrained(results):
        return None
    heads = {name: head for name, head in _OF_SOLUTIONS.items() if name in results}
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
        n = {each: int(ends[each.word][place]) for each in (*SUCCESSFUL, *FAILED)}
        ended = ", ".join(f"{n[each]} {each.words}" for each in n if n[each])
        name = marked(str(label), results)
        rows.append([name, ended, *(number(float(each[place])) for each in values.values())])
    return Table(["Method", "Ended", *heads.values()], heads.values(), rows)


def errors(
    results: xr.Dataset, how: statistics.Reduction, comparison: xr.Dataset | None = None
) -> Table:
    """Show the metric of each method: mean and spread at each budget.

    Final means are marked by where they stand in the comparison that the page opens with, if there is one.
    """
    percent = statistics.is_fraction(results)
    values = statistics.reduce(results, results.attrs["metric"], how) * (100 if percent else 1)
    counts = [results["status"].isin(FAILED).sum("seed"), (results["status"] >= 0).sum("seed")]
    lost, started = (_plain(each) for each in counts)
    # The lowest of all rounds is selected on the test set.
    final = how == "final"
    verdict = _plain(verdicts(results, comparison)) if final else np.full(lost.shape, "")
    cells = _cells(values, ".2f" if percent else ".4g")
    for place in np.ndindex(cells.shape):
        gone = words().lost_of(lost[place], started[place]) if lost[place] else ""
        cells[place] = cells[place]._replace(verdict=str(verdict[place]), lost=gone)
    budgets = [wording.budget(float(e)) for e in results["epsilon"].values]
    rows = [
        [marked(str(label), results), *own]
        for label, own in zip(results["algorithm"].values, cells, strict=True)
    ]
    return Table(["Method", *budgets], budgets, rows)


def _plain(values: xr.DataArray) -> Any:
    """Values over methods and budgets, without labels: to look up thousands of cells by label takes seconds."""
    return values.transpose("algorithm", "epsilon", ...).values


def _cells(values: xr.DataArray, form: str) -> Any:
    """Mean over seeds of each method and budget, with a band, each of a few seeds, or a note that all are the same."""
    band, same = statistics.band(values), _plain(statistics.same_for_all_seeds(values))
    mean, lower, upper, n = (_plain(band[name]) for name in ("mean", "lower", "upper", "n"))
    seeds = _plain(values)
    cells = np.empty(same.shape, object)
    for place in np.ndindex(same.shape):
        text = number(mean[place], form)
        if n[place] > 1 and not same[place]:
            few = values.sizes["seed"] <= statistics.FEW_SEEDS
            shown = seeds[place] if few else (lower[place], upper[place])
            texts = [number(each, form) for each in shown]
            text += f" ({', '.join(texts)})" if few else f" [{'–'.join(texts)}]"
        cells[place] = Cell(text, note="the same for all seeds" if same[place] else "")
    return cells


def spread(results: xr.Dataset) -> Spread:
    """Return over which seeds a mean in a table is, and what is shown beside it."""
    n, ordered = results.sizes["seed"], statistics.seeds_by_analyses(results)
    return Spread(
        n,
        n <= statistics.FEW_SEEDS,
        statistics.PERCENTILES,
        ordered[0] if ordered else None,
        [] if ordered else statistics.fewer_seeds(results),
    )


def times(results: xr.Dataset) -> Table | None:
    """Compare the computing times of methods and budgets: mean and spread, and the ratio to a budget's shortest."""
    if "seconds" not in results or statistics.is_constrained(results):  # then solutions have them
        return None
    values = statistics.final(results, "seconds")
    mean = values.mean("seed")
    ratio, cells = _plain(mean / mean.min("algorithm")), _cells(values, ".3g")
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
    """Show budgets after the last round, of methods and finite budgets that were run; None if there are none."""
    others = [each for each in ACCOUNTANTS.values() if each.variable in results]
    totals = ["epsilon_claimed", *(each.variable for each in others), "epsilon_total"]
    found = xr.Dataset({name: statistics.final(results, name) for name in totals})
    found["ran"] = (results["status"] >= 0).any("seed")
    frame = found.to_dataframe(["algorithm", "epsilon"]).reset_index()
    frame = frame[frame["ran"] & np.isfinite(frame["epsilon"])]
    if frame.empty:
        return None
    columns = [
        frame["algorithm"].map(lambda label: marked(label, results)),
        frame["epsilon"].map(stated),
        frame["delta"].map(given),
        *(frame[name].map(number) for name in totals),
        frame["guarantee"],
    ]
    numbers = [
        budget(results),
        "δ",
        "ε times rounds",
        *(each.column for each in others),
        "ε guaranteed",
    ]
    rows = [list(row) for row in zip(*columns, strict=True)]
    return Table(["Method", *numbers, "Guarantee"], numbers, rows)


def audits(audits: Iterable[tuple[Run, Audit]], experiment: Experiment) -> Table | None:
    """Return what attacks found for each method and budget in the experiment's order; None if nothing was attacked."""
    labels = [method.label for method in experiment.algorithms]
    rows: list[list[str | Cell]] = []
    for run, found in sorted(
        audits, key=lambda each: (labels.index(each[0].label), each[0].spec.stated_budget)
    ):
        epsilons = found.epsilon_claimed, found.epsilon_ledger, found.epsilon_lower
        sentences = dict.fromkeys(each.sentence for each in found.failures)
        told = [(epsilons, " ".join([found.summary, *sentences]))]
        if one := found.one_run:
            numbers = None, one.epsilon_ledger, one.epsilon_lower
            told.append((numbers, words().one_run(one)))
        rows += [
            [
                run.label,
                stated(run.spec.stated_budget),
                *("–" if value is None else number(value) for value in values),
                guarantees.guarantee(run.spec).kind,
                text,
            ]
            for values, text in told
        ]
    heads = ["ε", "ε claimed", "ε composed", "ε at least"]
    return Table(["Method", *heads, "Guarantee", "Found"], heads, rows) if rows else None


def differences(rows: Iterable[list[str]]) -> Table:
    """Make a table of a contrast of two files, see `admmbench.report.differences.rows`."""
    return Table(HEADS, HEADS[2:-1], [[*row] for row in rows])


def protected(results: xr.Dataset) -> list[Protected]:
    """Return what totals are about, and where their delta is too large for that; nothing if no total is finite."""
    if not privacy(results):
        return []
    about = [str(unit) for unit in results["unit"].values if unit != "none"]
    rows = [Protected(unit) for unit in dict.fromkeys(about)]
    numbers = {"record": int(results.attrs["n_train"]), "agent": int(results["agents"].min())}
    for unit, n in numbers.items():
        largest = float(
            results["delta"].where(results["unit"] == unit).max()
        )  # NaN where none is about it
        if largest * n > 1:
            rows.append(Protected(unit, largest, n))
    return rows


def budgets(results: xr.Dataset) -> Budgets | None:
    """Return what budgets do and do not promise, of the methods that were run with a finite one; None if none was."""
    finite = (results["status"] >= 0).any("seed") & np.isfinite(results["epsilon"])
    results = results.isel(algorithm=finite.any("epsilon").values)
    if not results.sizes["algorithm"]:
        return None
    noisy = results.isel(algorithm=results["notion"].values != "none")
    whole = statistics.of_whole_runs(results)
    gaussian = noisy.isel(algorithm=noisy["notion"].values == "approximate")
    large = ((noisy["epsilon"] > 1) & (noisy["epsilon"] < math.inf)).values
    return Budgets(
        whole,
        str(results.attrs["sensitivity"]),
        _labels_by(noisy["guarantee"].values, noisy),
        _labels_by(zip(noisy["relation"].values, noisy["unit"].values, strict=True), noisy),
        _labels_by(noisy["notion"].values, noisy),
        not whole and bool((gaussian.isel(epsilon=large)["status"] >= 0).any()),
    )


def caveats(results: xr.Dataset) -> dict[str, dict[str, Any]]:
    """Return the caveats of the methods by key, each once, with their values."""
    keys: dict[str, dict[str, Any]] = {}
    for text in results["caveats"].values:
        keys |= json.loads(str(text))
    return keys


def _labels_by(facts: Iterable[Any], results: xr.Dataset) -> dict[Any, list[str]]:
    """Labels of the methods that share a fact, by its value."""
    return collected(zip(facts, results["algorithm"].values.tolist(), strict=True))
