"""Results of earlier code that today's code computes alike get today's fingerprints, so that nothing is run again.

Fingerprints of code change whenever a module moves. `admmbench.watch.witnesses` says what is computed again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from admmbench.audit.auditor import audit
from admmbench.base.outcomes import Outcome
from admmbench.datasets import Dataset, DatasetError, load_dataset, open_as, open_prepared, prepare
from admmbench.engine.context import Context
from admmbench.engine.devices import chosen
from admmbench.files import SEAL, digest, read_sealed, sealed_json, write
from admmbench.files.installed import OWN
from admmbench.forecast.cost import LIMITS, work
from admmbench.forecast.plan import attack_seconds
from admmbench.jobs import fingerprint, job, seal
from admmbench.jobs.seal import StaleResultError
from admmbench.jobs.simulate import run_spec
from admmbench.results import reference
from admmbench.study import aggregate
from admmbench.study.config import AUDITS, MANIFEST, TUNED, TUNING, Study, load, read_mapping
from admmbench.study.experiment import Experiment
from admmbench.study.grid import Search
from admmbench.study.housekeeping import refuse_busy
from admmbench.study.runs import Run
from admmbench.tuning import trials
from admmbench.tuning.search import Score
from admmbench.tuning.settings import Tuned, dump
from admmbench.validation import checked
from admmbench.watch import damage
from admmbench.watch.witnesses import Difference, Piece, Row, Verdict, differ, differ_json, judge


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
                    pieces += [make()] if file.exists() and not file.is_symlink() else []
                except LookupError as error:
                    rows.append(Row((), [f"{file}: lacks {error}"], Verdict.DAMAGED))
                except (ValueError, StaleResultError) as error:
                    rows.append(Row((), [str(error)], Verdict.DAMAGED))
        rows += judge(pieces, most, dry_run=dry_run, progress=progress)
    if not dry_run:
        settled = [row for row in rows if row.verdict in (Verdict.CURRENT, Verdict.SAME)]
        _record(study, {str(piece.path) for row in settled for piece in row.pieces}, words)
    return rows


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
            found = experiment.chosen[of.label].get(of.budget)
            if experiment.tuning and found and found.space == of.space(experiment.tuning):
                path = results / TUNING / file
                path = path if path.exists() else _tuned(name)
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
        trace, former = run_spec(run.spec, data, Context(threads, device)), read(path)
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
    former = {key: kept[key] for key in ("settings", "error", "code")}

    def again() -> Difference | None:
        tried = {json.dumps(each["settings"]): each for each in kept.get("trials", ())}

        def measure(values: Any) -> Score:
            return Score(*(tried[json.dumps(values)][key] for key in Score._fields))

        with contextlib.suppress(KeyError):  # it would try what it did not
            if tried:
                best = trials.repeat(of.axes, settings, measure).best.settings
                if best != former["settings"]:
                    return Difference("best trial", math.nan)
            score = trials.score(of.spec, former["settings"], settings, data)
            return differ_json({"error": former["error"]}, {"error": score.error})
        return Difference("trial", math.nan)

    def renew() -> None:
        if path != own:
            write(path, sealed_json({**kept, "code": now}, indent=1))
        given = checked(Tuned, read_mapping(own), str(own)) if own.exists() else {}
        entry = given.get(of.label, {}).get(of.budget)
        if entry and entry.code == former["code"]:
            given[of.label][of.budget] = entry.model_copy(update={"code": now})
            write(own, dump(given))

    code = "" if former["code"] == now else former["code"] or "unknown"
    more = {"axes": {key: axis.model_dump() for key, axis in of.axes.items()}}
    more["tuning"], title = settings.model_dump(), f"tuning of {of.label}"
    return Piece(title, path, code, of.spec, work(of.spec), again, renew, more)


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
        names = [*{*trace.data_vars} & {*former.data_vars} - {"mistakes"}]  # those of all seeds
        both = [each[names].sel(round=rounds).reset_coords(drop=True) for each in (former, trace)]
        return differ(*both, exactly=False)

    def renew() -> None:
        reference.renew(path, label, now)

    code, title = "" if made == now else made, f"{label} of {path.stem}"
    return Piece(title, path, code, spec, work(spec), again, renew)
