"""Witnesses: of all that one code made with settings that differ in numbers alone, one or two are computed again.

They stand for the others: if they are as they were, so are these.
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

from admmbench.engine.rounds import AlgorithmError
from admmbench.jobs import fingerprint
from admmbench.results.file_differences import FLIPPED, rounding
from admmbench.spec.run import RunSpec

if TYPE_CHECKING:
    from rich.table import Table

DRAWN_BY = 0
"""Seed of the draw among pieces that cost alike."""


class Verdict(StrEnum):
    """Verdict on the pieces of a group."""

    CURRENT = "up to date"
    SAME = "unchanged"
    DIFFERENT = "outdated"
    UNCHECKED = "not checked"
    DAMAGED = "damaged"


class Difference(NamedTuple):
    """Largest difference between two computations: the name of the number, and its size, NaN where it is missing."""

    name: str
    size: float


@dataclass(frozen=True)
class Piece:
    """File of one run, audit or search, or one method of reference results.

    Attributes
    ----------
    title
        Label of its method, and what it is.
    path
        The file.
    code
        Fingerprints of the code that made it; empty where today's code did.
    spec
        Run that it is of.
    seconds
        Forecast of computing it again.
    again
        Computes it again, and returns how it differs from the file.
    renew
        Writes the file with today's fingerprints.
    more
        Settings beside those of the run.
    """

    title: str
    path: Path
    code: str
    spec: RunSpec
    seconds: float
    again: Callable[[], Difference | None]
    renew: Callable[[], None]
    more: Mapping[str, Any] | None = None

    @property
    def group(self) -> str:
        """Return what it has in common with the pieces that it stands for: all but budget, seeds and other numbers."""
        spec = self.spec.at(2.0) if self.spec.private else self.spec
        kinds = _kinds([{**spec.complete(), "seeds": None}, self.more])
        return json.dumps([self.code, fingerprint.code(spec), kinds], sort_keys=True, default=str)


def _kinds(value: Any) -> Any:
    """Leave out what numbers are, but for those that switch something off or choose another equation."""
    if isinstance(value, Mapping):
        return {key: _kinds(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_kinds(each) for each in value]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return "number" if is_number and value not in (0, 1, math.inf) else value


class Row(NamedTuple):
    """Outcome for a group of pieces, of which some were drawn."""

    pieces: Sequence[Piece]
    titles: Sequence[str]
    verdict: Verdict
    drawn: Sequence[Path] = ()
    difference: Difference | None = None


def judge(
    pieces: Iterable[Piece],
    most: float = math.inf,
    *,
    dry_run: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> list[Row]:
    """Compute the witnesses of each group again, and renew the groups whose witnesses are as they were.

    Parameters
    ----------
    pieces
        All pieces.
    most
        Seconds after which no further group is computed; those that cost least are the first.
    dry_run
        Whether files stay as they are.
    progress
        Called with the groups done, and all.

    Returns
    -------
    A row for each group.
    """
    rows, groups = list[Row](), dict[str, list[Piece]]()
    for piece in pieces:
        groups.setdefault(piece.group, []).append(piece)
    drawn, start = {key: draw(group) for key, group in groups.items()}, time.monotonic()
    for key in sorted(groups, key=lambda key: sum(piece.seconds for piece in drawn[key])):
        titles = [*dict.fromkeys(piece.title for piece in groups[key])]
        row = Row(groups[key], titles, Verdict.CURRENT)
        if groups[key][0].code and time.monotonic() - start > most:
            row = row._replace(verdict=Verdict.UNCHECKED)
        elif groups[key][0].code:
            different = next(filter(None, map(_again, drawn[key])), None)
            verdict = Verdict.DIFFERENT if different else Verdict.SAME
            files = [piece.path for piece in drawn[key]]
            row = row._replace(verdict=verdict, drawn=files, difference=different)
        if row.verdict == Verdict.SAME and not dry_run:
            for piece in row.pieces:
                piece.renew()
        rows.append(row)
        if progress:
            progress(len(rows), len(groups))
    return rows


def _again(piece: Piece) -> Difference | None:
    """Compute a piece again; today's code may come to no end with it."""
    try:
        return piece.again()
    except AlgorithmError:
        return Difference("outcome", math.nan)


def draw(group: Sequence[Piece]) -> list[Piece]:
    """Draw the witnesses of a group: of its smallest and of its largest budget, one of those that cost least."""
    budgets, drawn = {piece.spec.stated_budget for piece in group}, []
    for budget in sorted({min(budgets), max(budgets)}):
        at = [piece for piece in group if piece.spec.stated_budget == budget]
        least = min(piece.seconds for piece in at)
        cheapest = [piece for piece in at if piece.seconds == least]
        drawn.append(random.Random(DRAWN_BY).choice(cheapest))
    return drawn


def differ(former: xr.Dataset, now: xr.Dataset, *, exactly: bool = True) -> Difference | None:
    """Compare what two codes computed of one run.

    Parameters
    ----------
    former, now
        Variables of both; times and text are left out.
    exactly
        Whether one arithmetic computed both, so that each bit is to be equal; otherwise rounding is allowed for.

    Returns
    -------
    None if all numbers are equal, or else the one that differs most for its size.
    """
    found = list[tuple[float, Difference]]()
    names = {*former.variables, *now.variables} - {"seconds"}
    for name in sorted(map(str, names)):
        if any(name not in each.variables for each in (former, now)):
            return Difference(name, math.nan)
        variable = now[name]
        if variable.dtype.kind in "OSU":
            continue
        if former[name].shape != variable.shape:
            return Difference(name, math.nan)
        a, b = (np.asarray(each, dtype=float) for each in (former[name], variable))
        with np.errstate(invalid="ignore"):
            gaps = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b))
        size = float(np.nan_to_num(gaps, nan=math.inf).max(initial=0))
        scale = float(np.abs(a[np.isfinite(a)]).max(initial=0)) or 1.0
        n_test = now.attrs["n_test"] if "valid_range" in variable.attrs else 0
        most = FLIPPED if name == "mistakes" else rounding(scale, n_test)
        if size > (0 if exactly else most):
            found.append((size / scale, Difference(name, size)))
    return max(found)[1] if found else None


def numbers(content: Any, name: str = "") -> Iterator[tuple[str, float]]:
    """List the numbers of what JSON holds, each with the keys and places that lead to it."""
    if isinstance(content, list):
        content = dict(enumerate(content))
    if isinstance(content, Mapping):
        for key, each in content.items():
            yield from numbers(each, f"{name}.{key}".strip("."))
    elif isinstance(content, int | float):
        yield name, float(content)


def differ_json(former: Any, now: Any) -> Difference | None:
    """Compare the numbers of what JSON holds, within rounding; see `differ`."""
    return differ(*(xr.Dataset(dict(numbers(each))) for each in (former, now)), exactly=False)


def table(rows: Sequence[Row]) -> Table:
    """Lay out a row for each group that is whole: what is in it, its witnesses, and the verdict."""
    from rich.table import Table

    found = Table("group", "files", "computed again", "verdict", box=None)
    for row in rows:
        verdict = str(row.verdict)
        if row.verdict == Verdict.DAMAGED:
            continue
        if row.difference:
            name, size = row.difference
            verdict += (
                f": another {name}" if math.isnan(size) else f": {name} differs by {size:.2g}"
            )
        drawn = "\n".join(f"{path.parent.name}/{path.stem}" for path in row.drawn)
        found.add_row(", ".join(row.titles), str(len(row.pieces) or 1), drawn, verdict)
    return found


def summary(rows: Sequence[Row], *, dry_run: bool) -> str:
    """Name damaged files, count all files by their verdict, and say what follows."""
    counts = Counter[Verdict]()
    for row in rows:
        counts[row.verdict] += len(row.pieces) or 1
    said = ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict if counts[verdict])
    end = (
        "nothing was changed"
        if dry_run
        else "what is outdated, not checked or damaged stays as it is"
    )
    faults = (row.titles[0] for row in rows if row.verdict == Verdict.DAMAGED)
    return "\n".join([*faults, f"{said or 'No files'}; {end}"])
