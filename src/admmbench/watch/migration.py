"""Migration: results of earlier code that today's code reproduces get today's fingerprints, and are not run again.

Fingerprints of code change whenever a module moves. `admmbench.watch.witnesses` chooses the results that are computed
again to compare them.
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
from admmbench.engine.context import Context, Progress
from admmbench.engine.devices import chosen
from admmbench.files import CHECKSUM_KEY, checksummed_json, digest, netcdf, read_checksummed, write
from admmbench.files.installed import OWN
from admmbench.forecast.cost import LIMITS, work
from admmbench.forecast.plan import attack_seconds
from admmbench.jobs import fingerprint
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
from admmbench.tuning.search import search as find_settings
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
    progress: Progress | None = None,
) -> list[Row]:
    """Give today's fingerprints to the files of a study that today's code reproduces.

    Parameters
    ----------
    study
        The study, of the present folder.
    words
        Options by which Snakemake finds its configuration.
    most, dry_run, progress
        See `judge`; in a dry run Snakemake's records stay as they are, too.

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
            for file, make in _piece_makers(study, folder, data):
                try:
                    pieces += [make()] if file.exists() and not file.is_symlink() else []
                except LookupError as error:
                    rows.append(Row((), [f"{file}: lacks {error}"], Verdict.DAMAGED))
                except (ValueError, netcdf.StaleResultError) as error:
                    rows.append(Row((), [str(error)], Verdict.DAMAGED))
        rows += judge(pieces, most, dry_run=dry_run, progress=progress)
    if not dry_run:
        settled = [row for row in rows if row.verdict in (Verdict.CURRENT, Verdict.SAME)]
        _record(study, {str(piece.path) for row in settled for piece in row.pieces}, words)
    return rows


def _prepared(
    study: Study, path: Path, dataset: str | dict[str, Any], stack: ExitStack, dry_run: bool
) -> tuple[Dataset, Verdict]:
    """Prepare a data set by today's code, and put it in the place of the former one if the arrays are equal."""
    with contextlib.suppress(DatasetError):
        if fingerprint.of_dataset(dataset) in _recorded_parameters(path):
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
    """Return the checksums of the arrays of a prepared data set of any version; None if it is damaged."""
    try:
        return json.loads((folder / "dataset.json").read_text("utf-8"))["arrays"]
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _recorded_parameters(path: Path) -> str:
    """Return the parameters of the job that made a file, as Snakemake recorded them."""
    from snakemake.io import IOFile
    from snakemake.persistence.file import FilePersistence

    records = FilePersistence(nolock=True, path=Path(".snakemake").absolute())
    return " ".join(records.params(IOFile(str(path))) or ())


def _piece_makers(
    study: Study, folder: str, data: Dataset
) -> Iterator[tuple[Path, Callable[[], Piece]]]:
    """Yield the distinct files that are computed from a data set, each with the function that makes its piece."""
    described = set[Path]()
    for name, experiment in study.experiments.items():
        if experiment.dataset_folder != folder:
            continue
        results = Path(study.config.results, name)
        for run in experiment.runs:
            path = study.runs_folder(name) / run.path
            if path not in described:
                yield path, partial(_run_piece, run, path, data, study)
            described.add(path)
        for file, run in experiment.audits.items():
            path = results / AUDITS / file
            yield path, partial(_audit_piece, run.first, path, data, experiment)
        for file, search in experiment.searches.items():
            outcome = experiment.chosen[search.label].get(search.budget)
            if experiment.tuning and outcome and outcome.space == search.space(experiment.tuning):
                path = results / TUNING / file
                path = path if path.exists() else _tuned_file(name)
                yield path, partial(_search_piece, search, path, data, name, experiment)


def _run_piece(run: Run, path: Path, data: Dataset, study: Study) -> Piece:
    """Return the piece of a run's file."""
    device, threads = chosen(run.spec, study.config.device), study.config.threads
    parts = json.dumps(fingerprint.parts(run.spec), sort_keys=True)
    present = {"fingerprint": fingerprint.of_run(run.spec), "code": parts}
    former = read(path)
    aggregate.check(former.assign_attrs(present), path, run)
    code = "" if former.attrs.items() >= present.items() else str(former.attrs["fingerprint"])

    def recompute() -> Difference | None:
        trace, former = run_spec(run.spec, data, Context(threads, device)), read(path)
        exactly = trace.attrs["arithmetic"] == former.attrs["arithmetic"]
        return differ(former, trace, exactly=exactly)

    def renew() -> None:
        netcdf.write(read(path).assign_attrs(present), path)

    return Piece(run.label, path, code, run.spec, work(run.spec), recompute, renew)


def _audit_piece(run: Run, path: Path, data: Dataset, experiment: Experiment) -> Piece:
    """Return the piece of an audit's file; Snakemake alone recorded the code that made it."""
    settings, former = experiment.audit, read_json(path)
    assert settings is not None
    present_codes = {
        fingerprint.of_run(run.spec),
        fingerprint.of_modules(("admmbench.audit.auditor",)),
    }
    former_codes = {*re.findall(r"'([0-9a-f]{16})'", _recorded_parameters(path))}
    code = "" if present_codes <= former_codes else " ".join(sorted(former_codes)) or str(path)

    def recompute() -> Difference | None:
        return differ_json(former, audit(run.spec, data, settings).to_dict())

    def renew() -> None:
        write(path, checksummed_json(former, indent=1))

    seconds, extra_settings = attack_seconds(run.spec, settings, LIMITS), settings.model_dump()
    return Piece(
        f"attacks on {run.label}", path, code, run.spec, seconds, recompute, renew, extra_settings
    )


def _search_piece(
    search: Search, path: Path, data: Dataset, name: str, experiment: Experiment
) -> Piece:
    """Return the piece of a search, unchanged if it tries the same settings and the best trial has the same error."""
    settings, tuned_file = experiment.tuning, _tuned_file(name)
    assert settings is not None
    present_code = fingerprint.of_run(search.spec)
    record = (
        experiment.chosen[search.label][search.budget].model_dump()
        if path == tuned_file
        else read_json(path)
    )
    former_outcome = {key: record[key] for key in ("settings", "error", "code")}

    def recompute() -> Difference | None:
        trial_of_settings = {
            json.dumps(trial["settings"]): trial for trial in record.get("trials", ())
        }

        def measure(values: Any) -> Score:
            return Score(*(trial_of_settings[json.dumps(values)][key] for key in Score._fields))

        # A setting without a former trial is a KeyError: today's search would try other settings.
        with contextlib.suppress(KeyError):
            if trial_of_settings:
                best = find_settings(search.axes, settings, measure).best.settings
                if best != former_outcome["settings"]:
                    return Difference("best trial", math.nan)
            score = trials.score(search.spec, former_outcome["settings"], settings, data)
            return differ_json({"error": former_outcome["error"]}, {"error": score.error})
        return Difference("trial", math.nan)

    def renew() -> None:
        if path != tuned_file:
            write(path, checksummed_json({**record, "code": present_code}, indent=1))
        tuned = (
            checked(Tuned, read_mapping(tuned_file), str(tuned_file)) if tuned_file.exists() else {}
        )
        entry = tuned.get(search.label, {}).get(search.budget)
        if entry and entry.code == former_outcome["code"]:
            tuned[search.label][search.budget] = entry.model_copy(update={"code": present_code})
            write(tuned_file, dump(tuned))

    code = "" if former_outcome["code"] == present_code else former_outcome["code"] or "unknown"
    extra_settings = {"axes": {key: axis.model_dump() for key, axis in search.axes.items()}}
    extra_settings["tuning"], title = settings.model_dump(), f"tuning of {search.label}"
    return Piece(
        title, path, code, search.spec, work(search.spec), recompute, renew, extra_settings
    )


def _tuned_file(name: str) -> Path:
    return OWN / TUNED / f"{name}.yaml"


def read(path: Path) -> xr.Dataset:
    """Read a file of a run, of this version or of an earlier one, whose checksum was of values, names and attributes.

    Raises
    ------
    StaleResultError
        If the file is damaged.
    """
    try:
        return netcdf.read(path)
    except netcdf.StaleResultError as error:
        try:
            dataset = xr.load_dataset(path, engine="h5netcdf")
        except Exception:  # damage may end in any
            raise error from None
        if dataset.attrs.pop(CHECKSUM_KEY, "") != _former_checksum(dataset):
            raise
        return dataset


def read_json(path: Path) -> dict[str, Any]:
    """Read a file of an audit or a search, of this version or of an earlier one, whose checksum was of its content.

    Raises
    ------
    ValueError
        If the file is damaged.
    """
    try:
        return read_checksummed(path)
    except ValueError as error:
        try:
            content = json.loads(path.read_bytes())
            if content.pop(CHECKSUM_KEY) == digest(content):
                return dict(content)
        except (ValueError, LookupError, AttributeError):
            pass
        raise error from None


def _former_checksum(dataset: xr.Dataset) -> str:
    """Return the checksum of values, names and attributes that files of earlier versions had as an attribute."""

    def text(value: object) -> bytes:
        return json.dumps(value, sort_keys=True, default=plain).encode()

    def plain(value: object) -> object:
        return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)

    checksum = hashlib.sha256(text(dataset.attrs))
    for name in sorted(map(str, dataset.variables)):
        variable = dataset.variables[name]
        values = np.ascontiguousarray(variable.values)
        is_text = values.dtype.kind in "OSU"
        kind = "text" if is_text else values.dtype.str
        checksum.update(text([name, variable.dims, variable.shape, kind]))
        checksum.update(text(dict(variable.attrs)))
        checksum.update(text(values.tolist()) if is_text else values.tobytes())
    return checksum.hexdigest()


def _record(study: Study, current: set[str], words: Sequence[str]) -> None:
    """Let Snakemake record that the current files are up to date; it makes all others again, as before."""
    targets = set[str]()
    for name, experiment in study.experiments.items():
        folder = Path(study.config.results, name)
        runs = {f"{study.runs_folder(name)}/{run.path}" for run in experiment.runs}
        if experiment.timed:  # Snakemake makes no timed runs while their manifest is outdated
            _snakemake([str(folder / MANIFEST)], words)
        targets |= runs & current if not experiment.timed or runs <= current else set()
        targets |= {f"{folder}/{AUDITS}/{file}" for file in experiment.audits} & current
        searches = {*map(str, folder.glob(f"{TUNING}/*.json"))}
        targets |= searches & current
        if searches and searches <= current:
            targets.add(str(_tuned_file(name)))
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
    """Yield a piece for each method in a folder of reference results that is not marked as outdated."""
    for path in sorted(folder.glob("*.nc")):
        results = reference.read(path)
        if results is None:
            continue
        experiment = load({"experiments": [path.stem]}).experiments[path.stem]
        statuses = results["status"].stack(run=["algorithm", "epsilon", "seed"])
        computed = {*statuses["run"].values[statuses.values != Outcome.NOT_RUN]}
        firsts: dict[str, list[Run]] = {}
        for run in (block.first for block in experiment.runs):
            if (run.label, run.spec.stated_budget, run.spec.seeds[0]) in computed:
                firsts.setdefault(run.label, []).append(run)
        for label in reference.outdated_labels(results):
            firsts.pop(label, None)
        for label, runs in firsts.items():
            yield _reference_piece(min(runs, key=lambda run: work(run.spec)), path, results, label)


def _reference_piece(run: Run, path: Path, results: xr.Dataset, label: str) -> Piece:
    """Return the piece of a method's reference results.

    The witness is a run of one seed, whose numbers differ by rounding from those of a block of seeds.
    """
    spec, present_code = run.spec, fingerprint.of_run(run.spec)
    former_code = str(results["fingerprint"].sel(algorithm=label).item())

    def recompute() -> Difference | None:
        selection = {"algorithm": label, "epsilon": spec.stated_budget, "seed": [*spec.seeds]}
        former, trace = results.sel(selection), run_spec(spec, load_dataset(spec.dataset))
        rounds = np.intersect1d(former["round"], trace["round"])
        names = [*{*trace.data_vars} & {*former.data_vars} - {"mistakes"}]  # those of all seeds
        traces = [
            computation[names].sel(round=rounds).reset_coords(drop=True)
            for computation in (former, trace)
        ]
        return differ(*traces, exactly=False)

    def renew() -> None:
        reference.renew(path, label, present_code)

    code, title = "" if former_code == present_code else former_code, f"{label} of {path.stem}"
    return Piece(title, path, code, spec, work(spec), recompute, renew)
