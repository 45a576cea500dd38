"""`sweep`: a grid of runs from Python, at the addresses of a study's runs, so that either finds what the other made."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import TYPE_CHECKING, Any

from admmbench import datasets
from admmbench.figures import Figure
from admmbench.figures.drawing import draw
from admmbench.jobs import fingerprint, seal
from admmbench.jobs.progress import shown
from admmbench.spec.fields import SEEDS
from admmbench.study.address import LOG
from admmbench.study.aggregate import join_runs, read
from admmbench.study.config import check_experiment
from admmbench.validation import Count, checked

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure as Drawing

    from admmbench.study.experiment import Experiment
    from admmbench.study.runs import Run

# Of results, which figures select and average over.
_DIMENSIONS = ("algorithm", "epsilon", "seed", "round")


def sweep(
    dataset: str | dict[str, Any] | Sequence[str | dict[str, Any]] | Any,
    algorithms: Iterable[str | Mapping[str, Any]],
    *,
    totals: float | Sequence[float] | None = None,
    epsilons: float | Sequence[float] | None = None,
    rounds: int = 100,
    seeds: int | Sequence[int] | str = SEEDS,
    workers: int | None = None,
    folder: str | os.PathLike[str] = ".",
    groups: Any = None,
    **settings: Any,
) -> xr.Dataset:
    """Run methods on a data set at several budgets, and join the runs.

    Runs that are there already are read. Files are where ``admmbench study`` in the same folder looks for them and
    leaves its own, in ``results/runs`` and ``resources/datasets``.

    Parameters
    ----------
    dataset
        Name, or ``{"name": ..., setting: ...}``; or a list of these. Also a pair of features and targets, or a Bunch
        of scikit-learn, as of `admmbench.simulate`: they are written as a table to ``resources/tables``.
    algorithms
        Methods: names, paths of plug-ins, or mappings as in an experiment's file, such as
        ``{"name": "objp", "label": "ObjPM", "params": {"local_updates": 10}}``. The label is the name if absent.
    totals
        Budgets of whole runs, which need ``sensitivity="global"``.
    epsilons
        Budgets of one iteration, instead of totals; infinity adds no noise.
    rounds, seeds
        As of `admmbench.simulate`.
    workers
        Runs that are made at once, each in a process with one thread; as many as there are cores if absent.
    folder
        Folder of the study.
    groups
        With arrays: whose each record is, as of `admmbench.simulate`.
    **settings
        Other keys of an experiment's file, such as ``agents``, ``problem``, ``delta`` and ``sensitivity``.

    Returns
    -------
    xarray.Dataset
        Dims ``algorithm``, ``epsilon`` (totals, if these were given), ``seed`` and ``round``, as ``results.nc`` of an
        experiment has them; with a list of data sets ``dataset`` too, by the names of their folders, and nothing of
        single test records. `plot` draws it.

    Raises
    ------
    ConfigError
        If something is wrong; the message names the key.
    RuntimeError
        If runs failed: the message has what their logs say. The others are kept.
    """
    several = isinstance(dataset, list | tuple) and all(
        isinstance(x, str | Mapping) for x in dataset
    )
    if several and not dataset:
        raise ValueError("dataset: the list is empty; name at least one data set")
    if isinstance(dataset, datasets.Dataset):
        raise ValueError(
            "dataset: runs read it from files; give its name, or its features and targets"
        )
    if not several and datasets.are_arrays(dataset):
        table = datasets.find_module("table")
        dataset = table.write_arrays(dataset, groups, Path(folder, "resources/tables"))
    elif groups is not None:
        raise ValueError("groups: are for arrays; name the column of a table by its setting group")
    methods = [_method(each) for each in algorithms]
    given = {**settings, "rounds": rounds, "seeds": seeds, "algorithms": methods}
    if epsilons is not None:
        given["epsilon"] = epsilons
    if totals is not None:
        given["privacy"] = {**given.get("privacy", {}), "total": totals}
    experiments = [
        check_experiment({"title": "sweep", **given, "dataset": each}, "sweep")
        for each in (dataset if several else [dataset])
    ]
    at_once = checked(Count, workers or os.cpu_count() or 1, "workers")
    place = Path(folder)
    _make(experiments, place, at_once)
    joined = [_joined(each, place) for each in experiments]
    if not several:
        return joined[0]
    import xarray as xr

    # Test records of one data set are not those of another.
    joined = [each.drop_dims("record", errors="ignore") for each in joined]
    names = xr.Variable("dataset", [each.dataset_folder for each in experiments])
    return xr.concat(
        joined, names, data_vars="all", coords="all", join="outer", combine_attrs="drop_conflicts"
    )


def plot(results: xr.Dataset, kind: str = "tradeoff", **keys: Any) -> Drawing:
    """Draw results of an experiment or a sweep as figures of a study are drawn.

    A notebook shows what is returned after ``%matplotlib inline``, and a script saves it by ``savefig``.

    Parameters
    ----------
    results
        Of `sweep`, or of a file ``results.nc``, for one data set.
    kind
        Kind of the figure, such as ``curves``, or the path of a plug-in.
    **keys
        Other keys of a figure in an experiment's file, such as ``metric`` and ``epsilon``.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If a key is wrong, or the results lack a dimension.
    """
    if absent := [name for name in _DIMENSIONS if name not in getattr(results, "dims", ())]:
        raise ValueError(
            f"results: expected those of sweep or of a file results.nc, with the dimensions {', '.join(_DIMENSIONS)}; "
            f"there is no {', '.join(absent)}. Select by lists, such as sel(epsilon=[1])"
        )
    metric = {"metric": results.attrs["metric"]} if "metric" in results.attrs else {}
    (figure,) = checked(
        list[Figure], [{"name": "figure", "kind": kind, **metric, **keys}], "figure"
    )
    return draw(results, figure)


def _method(given: str | Mapping[str, Any]) -> dict[str, Any]:
    """Return a method of an experiment, with a label."""
    method = {"name": given} if isinstance(given, str) else dict(given)
    return {"label": Path(str(method.get("name", ""))).stem, **method}


def _make(experiments: Sequence[Experiment], folder: Path, workers: int) -> None:
    """Make the runs that are not there."""
    missing: dict[Path, tuple[Run, Path]] = {}
    for experiment in experiments:
        runs = [run for run in experiment.runs if not _is_there(folder, run)]
        data = folder / "resources/datasets" / experiment.dataset_folder
        if runs and not _is_prepared(data, experiment.dataset):
            datasets.prepare(experiment.dataset, data, cache=folder / "resources")
        missing |= {_file(folder, run): (run, data) for run in runs}
    if not missing:
        return
    failed = []
    with shown("Sweep", "run") as progress, ThreadPoolExecutor(workers) as pool:
        jobs = [pool.submit(_run, folder, run, data) for run, data in missing.values()]
        progress(0, len(jobs))
        for number, job in enumerate(as_completed(jobs), start=1):
            failed += job.result()
            progress(number, len(jobs))
    if failed:
        raise RuntimeError(f"{len(failed)} of {len(missing)} runs failed: {'; '.join(failed)}")


def _file(folder: Path, run: Run) -> Path:
    return folder / "results/runs" / run.path


def _is_there(folder: Path, run: Run) -> bool:
    """Whether a run was made, by the present code."""
    try:
        read(_file(folder, run), run)
    except seal.StaleResultError:
        return False
    return True


def _is_prepared(data: Path, dataset: str | dict[str, Any]) -> bool:
    """Whether a folder has the data set, as it was written."""
    try:
        datasets.open_as(dataset, data)
    except datasets.DatasetError:
        return False
    return True


def _run(folder: Path, run: Run, data: Path) -> list[str]:
    """Make a run by the command that a study makes it by; returns what its log says if it fails."""
    runs, log = folder / "results/runs", folder / "results/runs" / run.address.file(LOG)
    log.parent.mkdir(parents=True, exist_ok=True)
    log.unlink(missing_ok=True)  # a link is not followed
    words = ["run", *run.spec.arguments(), "--data", str(data)]
    words += ["--output", str(_file(folder, run)), "--checkpoint", str(runs / run.checkpoint)]
    words += ["--fingerprint", fingerprint.of_run(run.spec)]
    with log.open("w", encoding="utf-8") as stream:
        done = subprocess.run(
            [sys.executable, "-m", "admmbench", *words], stdout=stream, stderr=stream, check=False
        )
    if done.returncode == 0:
        return []
    said = log.read_text("utf-8", "replace").strip().splitlines()[-1:]
    return [f"{run.label} at {run.spec.stated_budget:g}: {said[0] if said else log}"]


def _joined(experiment: Experiment, folder: Path) -> xr.Dataset:
    traces = [(run, read(_file(folder, run), run)) for run in experiment.runs]
    return join_runs("sweep", experiment, traces)
