"""Results of earlier code that today's code computes alike get today's fingerprints, so that nothing is run again.

Fingerprints of code change whenever a module moves. Of all pieces that one code made with settings that differ in
numbers alone, one or two are drawn, computed again, whole, and compared with their files: these witnesses stand for the
others.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import random
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import xarray as xr

from admmbench.audit.auditor import audit
from admmbench.datasets import Dataset, DatasetError, load_dataset, open_as, open_prepared, prepare
from admmbench.device import chosen
from admmbench.engine.spec import RunSpec
from admmbench.files import SEAL, digest, read_sealed, sealed_json, write
from admmbench.files.installed import OWN
from admmbench.forecast.cost import LIMITS, work
from admmbench.forecast.plan import attack_seconds
from admmbench.frames.outcomes import Outcome
from admmbench.jobs import fingerprint, job, seal
from admmbench.jobs.seal import StaleResultError
from admmbench.jobs.simulate import run_spec
from admmbench.results import aggregate, reference
from admmbench.results.file_differences import FLIPPED, ROUNDING
from admmbench.study.config import AUDITS, MANIFEST, TUNED, TUNING, Study, load, read_mapping
from admmbench.study.experiment import Experiment, Search
from admmbench.study.housekeeping import refuse_busy
from admmbench.study.runs import Run
from admmbench.tuning import trials
from admmbench.tuning.search import Score
from admmbench.tuning.settings import Tuned, dump
from admmbench.validation import checked
from admmbench.watch import damage

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


def migrate(
    study: Study,
    words: Sequence[str],
    most: float = math.inf,
    *,
    dry_run: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> list[Row]:
    """Give today's fingerprints to the files of a study that today's code computes alike.

    Parameters
    ----------
    study
        The study, of the present folder.
    words
        Options by which Snakemake finds its configuration.
    most, dry_run, progress
        As of `judge`; in a dry run Snakemake's records stay as they are, too.

    Returns
    -------
    A row for each data set, group and damaged file.

    Raises
    ------
    BusyError
        If Snakemake is at work in the folder.
    DatasetError
        If data cannot be prepared again.
    """
    refuse_busy("nothing was changed")
    rows, pieces = list[Row](), list[Piece]()
    with ExitStack() as stack:
        for folder, dataset in study.datasets.items():
            path = Path(study.config.data.cache, "datasets", folder)
            data, verdict = _prepared(study, path, dataset, stack, dry_run)
            rows.append(Row((), [str(path)], verdict))
            if verdict == Verdict.DIFFERENT:
                continue
            for file, make in _makers(study, folder, data):
                try:
                    pieces += [make()] if file.exists() else []
                except (ValueError, LookupError, StaleResultError) as error:
                    rows.append(Row((), [f"{error}"], Verdict.DAMAGED, [file]))
        rows += judge(pieces, most, dry_run=dry_run, progress=progress)
    if not dry_run:
        settled = [row for row in rows if row.verdict in (Verdict.CURRENT, Verdict.SAME)]
        _record(study, {str(piece.path) for row in settled for piece in row.pieces}, words)
    return rows


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
    start, rows, groups = time.monotonic(), list[Row](), dict[str, list[Piece]]()
    for piece in pieces:
        groups.setdefault(piece.group, []).append(piece)
    drawn = {key: draw(group) for key, group in groups.items()}
    for key in sorted(groups, key=lambda key: sum(piece.seconds for piece in drawn[key])):
        titles = [*dict.fromkeys(piece.title for piece in groups[key])]
        row = Row(groups[key], titles, Verdict.CURRENT)
        if groups[key][0].code and time.monotonic() - start > most:
            row = row._replace(verdict=Verdict.UNCHECKED)
        elif groups[key][0].code:
            different = next(filter(None, (piece.again() for piece in drawn[key])), None)
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
        Variables of both; times, and variables over other dimensions than these, are left out.
    exactly
        Whether one arithmetic computed both, so that each bit is to be equal; otherwise rounding is allowed for.

    Returns
    -------
    None if all numbers are equal, or else the one that differs most for its size.
    """
    found = list[tuple[float, Difference]]()
    for name, variable in now.variables.items():
        if name == "seconds" or variable.dtype.kind in "OSU":
            continue
        if name not in former.variables or former[name].shape != variable.shape:
            return Difference(str(name), math.nan)
        a, b = (np.asarray(each, dtype=float) for each in (former[name], variable))
        with np.errstate(invalid="ignore"):
            gaps = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b))
        size = float(np.nan_to_num(gaps, nan=math.inf).max(initial=0))
        scale = float(np.abs(a[np.isfinite(a)]).max(initial=0)) or 1.0
        rounding = ROUNDING * scale
        if name == "mistakes":
            rounding = FLIPPED
        elif "valid_range" in variable.attrs:
            rounding = FLIPPED / now.attrs["n_test"] + ROUNDING
        if size > (0 if exactly else rounding):
            found.append((size / scale, Difference(str(name), size)))
    return max(found)[1] if found else None


def differ_json(former: Any, now: Any, name: str = "") -> Difference | None:
    """Compare the numbers of what JSON holds, within rounding; return the first that differs or is missing."""
    if isinstance(now, Mapping) and isinstance(former, Mapping):
        inner = ((former.get(key), each, f"{name}.{key}") for key, each in now.items())
        return next(filter(None, (differ_json(*each) for each in inner)), None)
    if isinstance(now, list) and isinstance(former, list) and len(now) == len(former):
        return differ_json(dict(enumerate(former)), dict(enumerate(now)), name)
    numbers = [each for each in (former, now) if not isinstance(each, str | None)]
    if not numbers:
        return None
    if not all(isinstance(each, int | float) for each in (former, now)):
        return Difference(name.strip("."), math.nan)
    equal = former == now or math.isclose(former, now, rel_tol=ROUNDING)
    return None if equal else Difference(name.strip("."), abs(former - now))


def _prepared(
    study: Study, path: Path, dataset: str | dict[str, Any], stack: ExitStack, dry_run: bool
) -> tuple[Dataset, Verdict]:
    """Prepare a data set by today's code; it takes the place of what runs read where the arrays are the same."""
    with contextlib.suppress(DatasetError):
        if fingerprint.of_dataset(dataset) in _recorded(path):
            return open_as(dataset, path), Verdict.CURRENT
    new = Path(stack.enter_context(damage.staging(path)), "new")
    cache = os.environ.get("ADMMBENCH_CACHE", study.config.data.cache)
    prepare(dataset, new, mirror=study.config.data.mirror, cache=cache)
    data, former = open_prepared(new), _checksums(path)
    if former != _checksums(new):
        return data, Verdict.DIFFERENT
    if not dry_run:
        damage.replace_data(path, new)
    return data, Verdict.SAME


def _checksums(folder: Path) -> Any:
    """Checksums of the arrays of a prepared data set, of whichever version; nothing of a damaged one."""
    try:
        return json.loads((folder / "dataset.json").read_text("utf-8"))["arrays"]
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _recorded(path: Path) -> str:
    """Parameters of the job that made a file, as Snakemake recorded them."""
    from snakemake.io import IOFile
    from snakemake.persistence.file import FilePersistence

    records = FilePersistence(nolock=True, path=Path(".snakemake").absolute())
    return " ".join(records.params(IOFile(str(path))) or ())


def _makers(study: Study, folder: str, data: Dataset) -> Iterator[tuple[Path, Callable[[], Piece]]]:
    """List the files that are computed of a data set, each once, with what describes it."""
    shared = set[Path]()
    for name, experiment in study.experiments.items():
        if experiment.dataset_folder != folder:
            continue
        results = Path(study.config.results, name)
        for run in experiment.runs:
            path = study.runs_folder(name) / run.path
            if path not in shared:
                yield path, partial(_of_run, run, path, data, study)
            shared.add(path)
        for file, run in experiment.audits.items():
            path = results / AUDITS / file
            yield path, partial(_of_audit, run.first, path, data, experiment)
        for file, of in experiment.searches.items():
            path = results / TUNING / file
            if not path.exists() and of.budget in experiment.chosen[of.label]:
                path = _tuned(name)
            yield path, partial(_of_search, of, path, data, name, experiment)


def _of_run(run: Run, path: Path, data: Dataset, study: Study) -> Piece:
    """Describe the file of a run."""
    device, threads = chosen(run.spec, study.config.device), study.config.threads
    parts = json.dumps(fingerprint.parts(run.spec), sort_keys=True)
    now = {"fingerprint": fingerprint.of_run(run.spec), "code": parts}
    former = read(path)
    aggregate.check(former.assign_attrs(now), path, run)
    code = "" if former.attrs.items() >= now.items() else str(former.attrs["fingerprint"])

    def again() -> Difference | None:
        trace, former = run_spec(run.spec, data, threads, device=device), read(path)
        exactly = trace.attrs["arithmetic"] == former.attrs["arithmetic"]
        return differ(former, trace, exactly=exactly)

    def renew() -> None:
        job.write(read(path).assign_attrs(now), path)

    return Piece(run.label, path, code, run.spec, work(run.spec), again, renew)


def _of_audit(run: Run, path: Path, data: Dataset, experiment: Experiment) -> Piece:
    """Describe the file of an audit; Snakemake alone recorded the code that made it."""
    settings, former = experiment.audit, read_json(path)
    assert settings is not None
    now = {fingerprint.of_run(run.spec), fingerprint.of_modules(("admmbench.audit.auditor",))}
    made = {*re.findall(r"'([0-9a-f]{16})'", _recorded(path))}
    code = "" if now <= made else " ".join(sorted(made)) or str(path)

    def again() -> Difference | None:
        return differ_json(former, audit(run.spec, data, settings).to_dict())

    def renew() -> None:
        write(path, sealed_json(former, indent=1))

    seconds, more = attack_seconds(run.spec, settings, LIMITS), settings.model_dump()
    return Piece(f"attacks on {run.label}", path, code, run.spec, seconds, again, renew, more)


def _of_search(of: Search, path: Path, data: Dataset, name: str, experiment: Experiment) -> Piece:
    """Describe a search: it is the same if it would try the same again, and the best trial has the same error."""
    settings, now, own = experiment.tuning, fingerprint.of_run(of.spec), _tuned(name)
    assert settings is not None
    kept = experiment.chosen[of.label][of.budget].model_dump() if path == own else read_json(path)
    former = {key: kept[key] for key in ("settings", "error", "space", "code")}

    def again() -> Difference | None:
        tried = {json.dumps(each["settings"]): each for each in kept.get("trials", ())}

        def measure(values: Any) -> Score:
            return Score(*(tried[json.dumps(values)][key] for key in Score._fields))

        found = {**former, "space": of.space(settings)}
        with contextlib.suppress(KeyError):
            if tried:
                found["settings"] = trials.repeat(of.axes, settings, measure).best.settings
            found["error"] = trials.score(of.spec, found["settings"], settings, data).error
            return None if found == former else differ_json(former, found) or _OTHER
        return _OTHER

    def renew() -> None:
        if path != own:
            write(path, sealed_json({**kept, "code": now}, indent=1))
        given = checked(Tuned, read_mapping(own), str(own)) if own.exists() else {}
        entry = given.get(of.label, {}).get(of.budget)
        if entry and entry.code == former["code"]:
            given[of.label][of.budget] = entry.model_copy(update={"code": now})
            write(own, dump(given))

    code, title = "" if former["code"] == now else former["code"], f"tuning of {of.label}"
    more = {"axes": {key: axis.model_dump() for key, axis in of.axes.items()}}
    more |= {"tuning": settings.model_dump(), "space": former["space"] == of.space(settings)}
    return Piece(title, path, code, of.spec, work(of.spec), again, renew, more)


_OTHER = Difference("search", math.nan)


def _tuned(name: str) -> Path:
    return OWN / TUNED / f"{name}.yaml"


def read(path: Path) -> xr.Dataset:
    """Read a file of a run, of this version or of one whose checksum was of values, names and attributes.

    Raises
    ------
    StaleResultError
        If it is damaged.
    """
    try:
        return seal.read(path)
    except StaleResultError as error:
        try:
            found = xr.load_dataset(path, engine="h5netcdf")
        except Exception:  # damage may end in any
            raise error from None
        if found.attrs.pop(SEAL, "") != _former_checksum(found):
            raise
        return found


def read_json(path: Path) -> dict[str, Any]:
    """Read a file of an audit or a search, of this version or of one whose checksum was of its content.

    Raises
    ------
    ValueError
        If it is damaged.
    """
    try:
        return read_sealed(path)
    except ValueError as error:
        try:
            content = json.loads(path.read_bytes())
            if content.pop(SEAL) == digest(content):
                return dict(content)
        except (ValueError, LookupError, AttributeError):
            pass
        raise error from None


def _former_checksum(dataset: xr.Dataset) -> str:
    """Checksum of values, names and attributes, as files of runs had it among the last."""

    def text(value: object) -> bytes:
        return json.dumps(value, sort_keys=True, default=plain).encode()

    def plain(value: object) -> object:
        return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)

    found = hashlib.sha256(text(dataset.attrs))
    for name in sorted(map(str, dataset.variables)):
        variable = dataset.variables[name]
        values = np.ascontiguousarray(variable.values)
        is_text = values.dtype.kind in "OSU"
        kind = "text" if is_text else values.dtype.str
        found.update(text([name, variable.dims, variable.shape, kind]))
        found.update(text(dict(variable.attrs)))
        found.update(text(values.tolist()) if is_text else values.tobytes())
    return found.hexdigest()


def _record(study: Study, kept: set[str], words: Sequence[str]) -> None:
    """Let Snakemake record that files are up to date; all others are made again as before."""
    targets = set[str]()
    for name, experiment in study.experiments.items():
        folder = Path(study.config.results, name)
        runs = {f"{study.runs_folder(name)}/{run.path}" for run in experiment.runs}
        if experiment.timed:  # Snakemake makes no timed runs while their manifest is outdated
            _snakemake([str(folder / MANIFEST)], words)
        targets |= runs & kept if not experiment.timed or runs <= kept else set()
        targets |= {f"{folder}/{AUDITS}/{file}" for file in experiment.audits} & kept
        searches = {*map(str, folder.glob(f"{TUNING}/*.json"))}
        targets |= searches & kept
        if searches and searches <= kept:
            targets.add(str(_tuned(name)))
    if targets:
        _snakemake(sorted(targets), ["--touch", *words])


def _snakemake(targets: Sequence[str], words: Sequence[str]) -> None:
    command = [sys.executable, "-m", "snakemake", *targets, "--cores", "1", *words]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(
            f"Snakemake could not record what is up to date; mend what it says, and call this again:\n{done.stderr}"
        )


def reference_pieces(folder: Path) -> Iterator[Piece]:
    """Describe what is kept of each method in a folder of reference results, but for what is marked as outdated."""
    for path in sorted(folder.glob("*.nc")):
        kept = reference.read(path)
        if kept is None:
            continue
        experiment = load({"experiments": [path.stem]}).experiments[path.stem]
        ran = kept["status"].stack(run=["algorithm", "epsilon", "seed"])
        made = {*ran["run"].values[ran.values != Outcome.NOT_RUN]}
        firsts: dict[str, list[Run]] = {}
        for run in (each.first for each in experiment.runs):
            if (run.label, run.spec.stated_budget, run.spec.seeds[0]) in made:
                firsts.setdefault(run.label, []).append(run)
        for label in reference.outdated_labels(kept):
            firsts.pop(label, None)
        for label, runs in firsts.items():
            yield _of_reference(min(runs, key=lambda run: work(run.spec)), path, kept, label)


def _of_reference(run: Run, path: Path, kept: xr.Dataset, label: str) -> Piece:
    """Describe what is kept of a method; the witness is one seed, which rounding may tell from a block of them."""
    spec, now = run.spec, fingerprint.of_run(run.spec)
    made = str(kept["fingerprint"].sel(algorithm=label).item())

    def again() -> Difference | None:
        at = {"algorithm": label, "epsilon": spec.stated_budget, "seed": [*spec.seeds]}
        former, trace = kept.sel(at), run_spec(spec, load_dataset(spec.dataset))
        rounds = np.intersect1d(former["round"], trace["round"])
        names = [name for name in trace.data_vars if name in former and name != "mistakes"]
        both = [each.sel(round=rounds) for each in (former, trace[names])]
        return differ(*both, exactly=False)

    def renew() -> None:
        reference.renew(path, label, now)

    code, title = "" if made == now else made, f"{label} of {path.stem}"
    return Piece(title, path, code, spec, work(spec), again, renew)


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
