"""Witnesses: one or two pieces are computed again of all that one code made with settings that differ in numbers alone.

Witnesses stand for the other pieces: if the witnesses are unchanged, so are the others.
"""

from __future__ import annotations

import json
import math
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import xarray as xr

from admmbench.datasets import DatasetError
from admmbench.engine.rounds import AlgorithmError
from admmbench.engine.variables import OF_RELEASES
from admmbench.jobs import fingerprint
from admmbench.results.file_differences import FLIPPED, rounding
from admmbench.spec.run import RunSpec

if TYPE_CHECKING:
    from rich.table import Table

DRAW_SEED = 0
"""Seed of the draw among pieces that cost alike."""


class Verdict(StrEnum):
    """Verdict on the pieces of a group."""

    CURRENT = "up to date"
    SAME = "unchanged"
    DIFFERENT = "outdated"
    UNCHECKED = "not checked"
    DAMAGED = "damaged"


class Difference(NamedTuple):
    """Largest difference between two computations: name and size of the number, NaN where one lacks it."""

    name: str
    size: float


@dataclass(frozen=True)
class Piece:
    """File of one run, audit or search, or one method of reference results."""

    title: str
    """Kind of piece, and label of its method."""
    path: Path
    code: str
    """Fingerprints of the code that made the piece; empty where today's code did."""
    spec: RunSpec
    seconds: float
    """Forecast of the seconds to compute the piece again."""
    recompute: Callable[[], Difference | None]
    """Function that computes the piece again, and returns its largest difference from the file."""
    renew: Callable[[], None]
    """Function that writes the file with today's fingerprints."""
    extra_settings: Mapping[str, Any] | None = None
    """Settings beside those of the run."""
    runs: Sequence[str] = ()
    """Names of the runs that are computed again; the file's own if empty."""

    @property
    def group(self) -> str:
        """Return the key of the group of the piece: all its settings but budget, seeds and other numbers."""
        spec = self.spec.at(2.0) if self.spec.private else self.spec
        kinds = _without_numbers([{**spec.complete(), "seeds": None}, self.extra_settings])
        return json.dumps([self.code, fingerprint.code(spec), kinds], sort_keys=True, default=str)


def _without_numbers(value: Any) -> Any:
    """Return settings with a word in place of numbers, except values that switch a term off or choose an equation."""
    if isinstance(value, Mapping):
        return {key: _without_numbers(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_without_numbers(part) for part in value]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return "number" if is_number and value not in (0, 1, math.inf) else value


class Row(NamedTuple):
    """Outcome for a group of pieces, of which some were drawn."""

    pieces: Sequence[Piece]
    titles: Sequence[str]
    verdict: Verdict
    drawn: Sequence[str] = ()
    difference: Difference | None = None


def judge(
    pieces: Iterable[Piece],
    most: float = math.inf,
    *,
    dry_run: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> list[Row]:
    """Compute the witnesses of each group again, and renew the groups whose witnesses are unchanged.

    The cheapest groups come first; after ``most`` seconds no further group is computed.
    """
    rows, groups = list[Row](), dict[str, list[Piece]]()
    for piece in pieces:
        groups.setdefault(piece.group, []).append(piece)
    drawn, start = {key: draw(group) for key, group in groups.items()}, time.monotonic()
    for key in sorted(groups, key=lambda key: sum(piece.seconds for piece in drawn[key])):
        titles = [*dict.fromkeys(piece.title for piece in groups[key])]
        row = Row(groups[key], titles, Verdict.CURRENT)
        if groups[key][0].code:
            late = time.monotonic() - start > most
            row = row._replace(verdict=Verdict.UNCHECKED) if late else _judge(row, drawn[key])
        if row.verdict == Verdict.SAME and not dry_run:
            for piece in row.pieces:
                piece.renew()
        rows.append(row)
        if progress:
            progress(len(rows), len(groups))
    return rows


def _judge(row: Row, drawn: Sequence[Piece]) -> Row:
    """Return the row of a group with its verdict; without one, and with the reason, if data are missing."""
    try:
        difference = next(filter(None, (piece.recompute() for piece in drawn)), None)
    except DatasetError as error:
        titles = [f"{', '.join(row.titles)}: {error}"]
        return row._replace(titles=titles, verdict=Verdict.UNCHECKED)
    except AlgorithmError:  # today's code may fail
        difference = Difference("outcome", math.nan)
    runs = [
        name
        for piece in drawn
        for name in piece.runs or [f"{piece.path.parent.name}/{piece.path.stem}"]
    ]
    verdict = Verdict.DIFFERENT if difference else Verdict.SAME
    return row._replace(verdict=verdict, drawn=runs, difference=difference)


def draw(group: Sequence[Piece]) -> list[Piece]:
    """Draw the witnesses of a group: one of the cheapest pieces at the smallest, and one at the largest budget."""
    budgets, drawn = {piece.spec.stated_budget for piece in group}, []
    for budget in sorted({min(budgets), max(budgets)}):
        candidates = [piece for piece in group if piece.spec.stated_budget == budget]
        least = min(piece.seconds for piece in candidates)
        cheapest = [piece for piece in candidates if piece.seconds == least]
        drawn.append(random.Random(DRAW_SEED).choice(cheapest))
    return drawn


def differ(former: xr.Dataset, now: xr.Dataset, *, exactly: bool = True) -> Difference | None:
    """Compare two computations of one run, by former code and by today's.

    Parameters
    ----------
    former, now
        Variables of both; times and text are left out, and privacy of all releases where former code had none.
    exactly
        Whether one arithmetic computed both, so that each bit is to be equal; otherwise rounding is allowed for.

    Returns
    -------
    None if all numbers are equal, or else the number that differs most for its size.
    """
    differences = list[tuple[float, Difference]]()
    ignored = {"seconds", *({*OF_RELEASES, "false_alarms"} - {*former.variables})}
    for name in sorted(map(str, {*former.variables, *now.variables} - ignored)):
        variables = [dataset.variables.get(name) for dataset in (former, now)]
        if any(variable is None for variable in variables):
            return Difference(name, math.nan)
        if now[name].dtype.kind in "OSU":
            continue
        a, b = (np.asarray(variable, dtype=float) for variable in variables)
        if a.shape != b.shape:
            return Difference(name, math.nan)
        with np.errstate(invalid="ignore"):
            gaps = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b))
        size = float(np.nan_to_num(gaps, nan=math.inf).max(initial=0))
        scale = float(np.abs(a[np.isfinite(a)]).max(initial=0)) or 1.0
        n_test = now.attrs["n_test"] if "valid_range" in now[name].attrs else 0
        allowed = FLIPPED if name == "mistakes" else rounding(scale, n_test)
        if size > (0 if exactly else allowed):
            differences.append((size / scale, Difference(name, size)))
    return max(differences)[1] if differences else None


def numbers(content: Any, name: str = "") -> Iterator[tuple[str, float]]:
    """Yield the numbers in the content of JSON, each with the keys and places that lead to it."""
    if isinstance(content, list):
        content = dict(enumerate(content))
    if isinstance(content, Mapping):
        for key, value in content.items():
            yield from numbers(value, f"{name}.{key}".strip("."))
    elif isinstance(content, int | float):
        yield name, float(content)


def differ_json(former: Any, now: Any) -> Difference | None:
    """Compare the numbers in two contents of JSON, within rounding; see `differ`."""
    return differ(*(xr.Dataset(dict(numbers(content))) for content in (former, now)), exactly=False)


def table(rows: Sequence[Row]) -> Table:
    """Return a table with a row for each undamaged group: its files, its witnesses, and the verdict."""
    from rich.table import Table

    rich_table = Table("group", "files", "computed again", "verdict", box=None)
    for row in rows:
        verdict = str(row.verdict)
        if row.verdict == Verdict.DAMAGED:
            continue
        if row.difference:
            name, size = row.difference
            verdict += (
                f": another {name}" if math.isnan(size) else f": {name} differs by {size:.2g}"
            )
        count, drawn = str(len(row.pieces) or 1), "\n".join(row.drawn)
        rich_table.add_row(", ".join(row.titles), count, drawn, verdict)
    return rich_table


def summary(rows: Sequence[Row], *, dry_run: bool) -> str:
    """Return a text that names damaged files, counts all files by their verdict, and says what stays unchanged."""
    counts = Counter[Verdict]()
    for row in rows:
        counts[row.verdict] += len(row.pieces) or 1
    faults = [row.titles[0] for row in rows if row.verdict == Verdict.DAMAGED]
    counted = [f"{counts[verdict]} {verdict}" for verdict in Verdict if counts[verdict]]
    kept = "what is outdated, not checked or damaged stays as it is"
    outcome = "nothing was changed" if dry_run else kept
    return "\n".join([*faults, f"{', '.join(counted) or 'No files'}; {outcome}"])
