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
from collections.abc import Callable, Iterable, Iterator, Sequence
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
from admmbench.files.installed import OWN, OWN_REFERENCE
from admmbench.forecast.cost import LIMITS, work
from admmbench.forecast.plan import attack_seconds
from admmbench.jobs import fingerprint
from admmbench.jobs.simulate import run_spec
from admmbench.results import reference
from admmbench.spec.run import RunSpec
from admmbench.study import aggregate
from admmbench.study.config import (
    AUDITS,
    MANIFEST,
    TUNED,
    TUNING,
    ConfigError,
    Study,
    load,
    read_mapping,
)
from admmbench.study.experiment import Experiment
from admmbench.study.grid import Search
from admmbench.study.housekeeping import refuse_busy
from admmbench.study.runs import Run
from admmbench.tuning import trials
from admmbench.tuning.search import Score
from admmbench.tuning.search import search as find_settings
from admmbench.tuning.settings import Tuned, dump
from admmbench.validation import checked, unknown
from admmbench.watch import damage
from admmbench.watch.witnesses import Difference, Piece, Row, Verdict, differ, differ_json, judge

# Function that returns the pieces of a file, and rows of what cannot be computed again.
_PieceMaker = Callable[[], Sequence[Piece | Row]]


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
    most
        Seconds after which no further group is computed.
    dry_run
        Whether files and Snakemake's records stay as they are.
    progress
        Called with the number of groups done, and of all groups.

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
    rows, makers = list[Row](), list[tuple[Path, _PieceMaker]]()
    with ExitStack() as stack:
        for folder, dataset in study.datasets.items():
            path = Path(study.config.data.cache, "datasets", folder)
            data, verdict = _prepared(study, path, dataset, stack, dry_run)
            rows.append(Row((), [str(path)], verdict))
            if verdict != Verdict.DIFFERENT:
                makers += _piece_makers(study, folder, data)
        rows += _judge_files(makers, most, dry_run=dry_run, progress=progress)
    if not dry_run:
        settled = [row for row in rows if row.verdict in (Verdict.CURRENT, Verdict.SAME)]
        _record(study, {str(piece.path) for row in settled for piece in row.pieces}, words)
    return rows


def migrate_reference(
    names: Sequence[str],
    most: float = math.inf,
    *,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> list[Row]:
    """Give today's fingerprints to the methods in the folder of reference results that today's code reproduces.

    Parameters
    ----------
    names
        Experiments, as this folder or the package defines them; all reference results of the folder if empty.
    most, dry_run, progress
        See `migrate`.

    Returns
    -------
    A row for each method and damaged file.

    Raises
    ------
    ValueError
        If the folder has no reference results of an experiment.
    """
    paths = {path.stem: path for path in sorted(OWN_REFERENCE.glob("*.nc"))}
    for name in names:
        if name not in paths:
            raise ValueError(f"{OWN_REFERENCE}: {unknown('experiment', name, paths)}")
    makers = [(paths[name], partial(_reference_pieces, paths[name])) for name in names or paths]
    return _judge_files(makers, most, dry_run=dry_run, progress=progress)


def _judge_files(
    makers: Iterable[tuple[Path, _PieceMaker]],
    most: float,
    *,
    dry_run: bool,
    progress: Progress | None,
) -> list[Row]:
    """Return a row for each group of pieces of the files that exist, and for each damaged file."""
    rows, pieces = list[Row](), list[Piece]()
    for file, make in makers:
        try:
            made = make() if file.exists() and not file.is_symlink() else ()
            rows += [item for item in made if isinstance(item, Row)]
            pieces += [item for item in made if isinstance(item, Piece)]
        except ConfigError as error:
            rows.append(Row((), [f"{file}: {error}"], Verdict.UNCHECKED))
        except LookupError as error:
            rows.append(Row((), [f"{file}: lacks {error}"], Verdict.DAMAGED))
        except (ValueError, netcdf.StaleResultError) as error:
            rows.append(Row((), [str(error)], Verdict.DAMAGED))
    return [*rows, *judge(pieces, most, dry_run=dry_run, progress=progress)]


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


def _piece_makers(study: Study, folder: str, data: Dataset) -> Iterator[tuple[Path, _PieceMaker]]:
    """Yield the distinct files that are computed from a data set, each with the function that makes its pieces."""
    seen = set[Path]()
    for name, experiment in study.experiments.items():
        if experiment.dataset_folder != folder:
            continue
        results = Path(study.config.results, name)
        for run in experiment.runs:
            path = study.runs_folder(name) / run.path
            if path not in seen:
                yield path, partial(_run_piece, run, path, data, study)
            seen.add(path)
        for file, run in experiment.audits.items():
            path = results / AUDITS / file
            yield path, partial(_audit_piece, run.first, path, data, experiment)
        for file, search in experiment.searches.items():
            outcome = experiment.chosen[search.label].get(search.budget)
            if experiment.tuning and outcome and outcome.space == search.space(experiment.tuning):
                path = results / TUNING / file
                path = path if path.exists() else _tuned_file(name)
                yield path, partial(_search_piece, search, path, data, name, experiment)
        path = OWN_REFERENCE / f"{name}.nc"
        yield path, partial(_reference_pieces, path, experiment, data)


def _run_piece(run: Run, path: Path, data: Dataset, study: Study) -> list[Piece]:
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

    return [Piece(run.label, path, code, run.spec, work(run.spec), recompute, renew)]


def _audit_piece(run: Run, path: Path, data: Dataset, experiment: Experiment) -> list[Piece]:
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
    title = f"attacks on {run.label}"
    return [Piece(title, path, code, run.spec, seconds, recompute, renew, extra_settings)]


def _search_piece(
    search: Search, path: Path, data: Dataset, name: str, experiment: Experiment
) -> list[Piece]:
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
        # A search that would try other settings, or trials without a loss, are a KeyError.
        try:
            scores = {
                json.dumps(trial["settings"]): Score(trial["error"], trial["loss"])
                for trial in record.get("trials", ())
            }
            if scores:
                best = find_settings(search.axes, settings, lambda at: scores[json.dumps(at)]).best
                if best.settings != former_outcome["settings"]:
                    return Difference("best trial", math.nan)
        except KeyError:
            return Difference("trial", math.nan)
        score = trials.score(search.spec, former_outcome["settings"], settings, data)
        return differ_json({"error": former_outcome["error"]}, {"error": score.error})

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
    seconds = work(search.spec)
    return [Piece(title, path, code, search.spec, seconds, recompute, renew, extra_settings)]


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
        with contextlib.suppress(ValueError, LookupError, AttributeError):
            content = json.loads(path.read_bytes())
            if content.pop(CHECKSUM_KEY) == digest(content):
                return dict(content)
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


def _reference_pieces(
    path: Path, experiment: Experiment | None = None, data: Dataset | None = None
) -> list[Piece | Row]:
    """Return a piece for each method of reference results that is not marked as outdated."""
    results, name = reference.read(path), path.stem
    if results is None:
        return []
    experiment = experiment or load({"experiments": [name]}).experiments[name]
    outdated = reference.outdated_labels(results)
    labels = [label for label in results["algorithm"].values.tolist() if label not in outdated]
    return [_reference_piece(label, path, results, experiment, data) for label in labels]


def _reference_piece(
    label: str, path: Path, results: xr.Dataset, experiment: Experiment, data: Dataset | None
) -> Piece | Row:
    """Return the piece of a method's reference results.

    Witnesses are runs of one seed, whose numbers differ by rounding from those of a block of seeds.

    Returns
    -------
    A row if the experiment has no run of the method that the results have.
    """
    title = f"{label} of {path.stem}"
    former_code = str(results["fingerprint"].sel(algorithm=label).item())
    specs = _witnesses(label, results, experiment)
    if not specs:
        return Row((), [f"{title}: the experiment has no such run today"], Verdict.UNCHECKED)
    specs = specs if " " in former_code else [min(specs, key=work)]
    present_code = fingerprint.of_run(specs[0])

    def recompute() -> Difference | None:
        return next(filter(None, map(difference, specs)), None)

    def difference(spec: RunSpec) -> Difference | None:
        selection = {"algorithm": label, "epsilon": spec.stated_budget, "seed": [*spec.seeds]}
        former = results.sel(selection)
        if former["rounds"] != spec.rounds:
            return Difference("rounds", math.nan)
        trace = run_spec(spec, load_dataset(spec.dataset) if data is None else data)
        rounds = np.intersect1d(former["round"], trace["round"])
        names = [*{*trace.data_vars} & {*former.data_vars} - {"mistakes"}]  # those of all seeds
        former, now = (
            computation[names].sel(round=rounds).reset_coords(drop=True)
            for computation in (former, trace)
        )
        if reference.is_thinned(path):
            # What was not kept witnesses nothing; how a run ended, the results have.
            now = now.where(former.notnull())
        return differ(former, now, exactly=False)

    def renew() -> None:
        reference.renew(path, label, present_code)

    return Piece(
        title,
        path,
        "" if former_code == present_code else former_code,
        specs[0],
        sum(map(work, specs)),
        recompute,
        renew,
        # Each method of each file is a group of its own.
        {"file": str(path), "label": label},
        [f"{path.stem}/{Run(label, spec).point}" for spec in specs],
    )


def _witnesses(label: str, results: xr.Dataset, experiment: Experiment) -> list[RunSpec]:
    """Return runs of a method that results have, the first and the last seed at each budget.

    Parts that other code computed were joined at other budgets or seeds.
    """
    present = {run.spec.stated_budget: run.spec for run in experiment.runs if run.label == label}
    statuses = results["status"].sel(algorithm=label).transpose("epsilon", "seed")
    specs = list[RunSpec]()
    for budget, values in zip(results["epsilon"].values.tolist(), statuses.values, strict=True):
        if budget in present:
            seeds = results["seed"].values[values != Outcome.NOT_RUN].tolist()
            ends = dict.fromkeys([*seeds[:1], *seeds[-1:]])
            specs += [present[budget].model_copy(update={"seeds": (seed,)}) for seed in ends]
    return specs
