"""`sweep`: a grid of runs from Python, at the addresses of a study's runs, so that each finds the other's runs."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from admmbench import datasets
from admmbench.engine.context import Context
from admmbench.engine.rounds import AlgorithmError
from admmbench.engine.trace import Results
from admmbench.figures import Figure
from admmbench.figures.drawing import draw, draw_into
from admmbench.files import digest, netcdf, write
from admmbench.files.core_yaml import dump_yaml
from admmbench.files.installed import SNAKEFILE
from admmbench.jobs import interrupts, job
from admmbench.jobs.checkpoint import InterruptedRunError
from admmbench.jobs.progress import shown
from admmbench.jobs.simulate import fitting_loss
from admmbench.spec.fields import SEEDS
from admmbench.study.address import LOG
from admmbench.study.aggregate import aggregate, read
from admmbench.study.config import CONFIG, check_experiment, rename_former_keys
from admmbench.validation import Count, checked, expanded
from admmbench.watch.study import run_turns

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from admmbench.study.experiment import Experiment
    from admmbench.study.runs import Run

# Dimensions of results, which figures select and average over.
_DIMENSIONS = ("algorithm", "epsilon", "seed", "round")
# Name of the overlay of a sweep's configuration, which is the title of its progress; digits in the name of its folder.
_OVERLAY, _DIGITS = "sweep.yaml", 12


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
) -> Results:
    """Run methods on a data set at several budgets, and join the runs.

    Runs that are there already are read. A single run is made in this process, several as jobs of a study, whose
    configuration is written to ``resources/sweeps``: Snakemake takes a few seconds to start. Files are where
    ``admmbench study`` in the same folder looks for them and leaves its own, in ``results/runs`` and
    ``resources/datasets``. What is stopped leaves checkpoints, from which the same call goes on.

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
        See `admmbench.simulate`.
    workers
        Runs that are made at once, each in a process with one thread; as many as there are cores if absent.
    folder
        Folder of the study.
    groups
        With arrays: whose each record is, as of `admmbench.simulate`.
    **settings
        Other keys of an experiment's file, such as ``agents``, ``problem``, ``delta`` and ``sensitivity``. In
        ``params``, a list has the values of a parameter that are run, such as ``{"learning_rate": [0.1, 1]}``.

    Returns
    -------
    xarray.Dataset
        Dims ``algorithm``, ``epsilon`` (totals, if these were given), ``seed`` and ``round``, as ``results.nc`` of an
        experiment has them; with a list of data sets ``dataset`` too, by the names of their folders; and a dim for each
        parameter that is a list. With such further dims there is nothing of single test records. `plot` draws it, and
        `to_dataframe` returns a row for each run and round.

    Raises
    ------
    ConfigError
        If something is wrong; the message names the key.
    RuntimeError
        If runs failed: the message has what their logs say. The others are kept.
    KeyboardInterrupt
        If a signal stopped the runs, when the last of them has left its checkpoint.
    """
    study_folder = Path(os.path.normpath(expanded(folder)))
    several = isinstance(dataset, list | tuple) and all(
        isinstance(entry, str | Mapping) for entry in dataset
    )
    if several and not dataset:
        raise ValueError("dataset: the list is empty; name at least one data set")
    if isinstance(dataset, datasets.Dataset):
        raise ValueError(
            "dataset: runs read it from files; give its name, or its features and targets"
        )
    if not several and datasets.are_arrays(dataset):
        table = datasets.find_module("table")
        dataset = table.write_arrays(dataset, groups, study_folder / "resources/tables")
    elif groups is not None:
        raise ValueError("groups: are for arrays; name the column of a table by its setting group")
    methods = [_method(entry) for entry in algorithms]
    stated: list[Any] = [*dataset] if several else [dataset]
    names = [method.get("name", "") for method in methods]
    problems = [
        {
            "problem": settings.get("problem")
            or fitting_loss(data, names, settings.get("sensitivity"))
        }
        for data in stated
    ]
    content = {**settings, "rounds": rounds, "seeds": seeds, "algorithms": methods}
    if epsilons is not None:
        content["epsilon"] = epsilons
    if totals is not None:
        content["privacy"] = {**content.get("privacy", {}), "total": totals}
    content = rename_former_keys(content, "sweep")
    values = _parameter_values(content.get("params"))
    experiments = [
        check_experiment(
            {"title": "sweep", **content, "dataset": data, **problem, **params}, "sweep"
        )
        for data, problem in zip(stated, problems, strict=True)
        for params in _combinations(content, values)
    ]
    n_workers = checked(Count, workers or os.cpu_count() or 1, "workers")
    _make_missing(experiments, study_folder, n_workers)
    results = [
        aggregate("sweep", experiment, study_folder / "results/runs") for experiment in experiments
    ]
    for name, parameter_values in reversed(values.items()):
        dim = f"params.{name}" if name in results[0].variables else name
        n = len(parameter_values)
        results = [
            _concatenate(results[k : k + n], dim, parameter_values)
            for k in range(0, len(results), n)
        ]
    if several:
        folders = dict.fromkeys(experiment.dataset_folder for experiment in experiments)
        results = [_concatenate(results, "dataset", [*folders])]
    return Results.of(results[0])


def _parameter_values(params: Any) -> dict[str, list[Any]]:
    """Return the values of each parameter that is a list."""
    stated = params.items() if isinstance(params, Mapping) else ()
    values = {str(name): value for name, value in stated if isinstance(value, list)}
    for name in values:
        if not values[name]:
            raise ValueError(f"params.{name}: the list is empty; state at least one value")
    return values


def _combinations(
    content: Mapping[str, Any], values: Mapping[str, Sequence[Any]]
) -> Iterator[dict[str, Any]]:
    """Yield ``params`` for each combination of values of some of them; nothing to change without any."""
    for combination in itertools.product(*values.values()):
        chosen = dict(zip(values, combination, strict=True))
        yield {"params": {**content["params"], **chosen}} if chosen else {}


def _concatenate(parts: Sequence[xr.Dataset], dim: str, values: Sequence[Any]) -> xr.Dataset:
    """Join results along a new dimension, without those of single test records, which may differ."""
    import xarray as xr

    parts = [part.drop_dims("record", errors="ignore") for part in parts]
    names = xr.Variable(dim, values)
    return xr.concat(
        parts, names, data_vars="all", coords="all", join="outer", combine_attrs="drop_conflicts"
    )


@overload
def plot(results: xr.Dataset, kind: str = ..., *, ax: None = None, **keys: Any) -> Drawing: ...


@overload
def plot(results: xr.Dataset, kind: str = ..., *, ax: Axes, **keys: Any) -> Axes: ...


def plot(
    results: xr.Dataset, kind: str = "", *, ax: Axes | None = None, **keys: Any
) -> Drawing | Axes:
    """Draw results of an experiment, a sweep or a run as figures of a study are drawn.

    A notebook shows what is returned after ``%matplotlib inline``, and a script saves it by ``savefig``.

    Parameters
    ----------
    results
        Of `sweep`, of `admmbench.simulate`, or of a file ``results.nc``, for one data set and one value of each
        parameter.
    kind
        Kind of the figure, such as ``curves``, or the path of a plug-in. If absent ``tradeoff``, and ``curves`` of a
        single run.
    ax
        Axes to draw into, in the place of a figure of its own: one panel with its legend, without small print.
    **keys
        Other keys of a figure in an experiment's file, such as ``metric`` and ``epsilon``.

    Returns
    -------
    matplotlib.figure.Figure or matplotlib.axes.Axes
        The figure, or the axes that were given.

    Raises
    ------
    ValueError
        If a key is wrong, the results lack a dimension or have others, or the figure has several panels and axes are
        given.
    """
    dims = getattr(results, "dims", ())
    if {*dims} >= {"seed", "round"} and isinstance(results.attrs.get("algorithm"), str):
        results, kind = _as_results(results), kind or "curves"
        dims = results.dims
    if absent := [name for name in _DIMENSIONS if name not in dims]:
        raise ValueError(
            f"results: expected those of simulate, sweep or a file results.nc, with the dimensions "
            f"{', '.join(_DIMENSIONS)}; there is no {', '.join(absent)}. Select by lists, such as sel(epsilon=[1])"
        )
    if others := [
        str(name) for name in dims if name not in (*_DIMENSIONS, "record", "false_alarms")
    ]:
        raise ValueError(
            f"results: a figure has one value of {' and of '.join(others)}; select it, such as "
            f"isel({{{others[0]!r}: 0}})"
        )
    metric = {"metric": results.attrs["metric"]} if "metric" in results.attrs else {}
    stated = {"name": "figure", "kind": kind or "tradeoff", **metric, **keys}
    (figure,) = checked(list[Figure], [stated], "figure")
    return draw(results, figure) if ax is None else draw_into(ax, results, figure)


def _as_results(trace: xr.Dataset) -> xr.Dataset:
    """Return the trace of one run as results of an experiment, which have methods and budgets."""
    attrs = trace.attrs
    total = json.loads(attrs["privacy"])["total"]
    budget = attrs["epsilon"] if total is None else total
    results = trace.drop_dims(["class", "feature"], errors="ignore").expand_dims(
        {"algorithm": [Path(attrs["algorithm"]).stem], "epsilon": [budget]}
    )
    results["epsilon"].attrs["budget_of"] = "iteration" if total is None else "run"
    facts = {"method": "algorithm", "variant": "variant", "params": "params"}
    return results.assign_coords(
        {name: ("algorithm", [attrs[fact]]) for name, fact in facts.items()}
    )


def _method(entry: str | Mapping[str, Any]) -> dict[str, Any]:
    """Return a method of an experiment, with a label."""
    method = {"name": entry} if isinstance(entry, str) else dict(entry)
    return {"label": Path(str(method.get("name", ""))).stem, **method}


def _make_missing(experiments: Sequence[Experiment], folder: Path, workers: int) -> None:
    """Make the runs that are missing: a single run in this process, several as a study."""
    missing: dict[Path, tuple[Run, Path]] = {}
    for experiment in experiments:
        data = folder / "resources/datasets" / experiment.dataset_folder
        runs = [run for run in experiment.runs if not _is_made(folder, run)]
        missing |= {_file(folder, run): (run, data) for run in runs}
        try:
            if runs:
                datasets.open_as(experiment.dataset, data)
        except datasets.DatasetError:  # they are not there, or damaged
            datasets.prepare(experiment.dataset, data, cache=folder / "resources")
    if len(missing) == 1:
        # Snakemake takes longer to start than many a run.
        ((run, data),) = missing.values()
        _run_in_process(folder, run, data)
    elif missing:
        _run_study(experiments, [*missing], folder, workers)
        failed = [_failure(folder, run) for run, _ in missing.values() if not _is_made(folder, run)]
        if failed:
            raise RuntimeError(f"{len(failed)} of {len(missing)} runs failed: {'; '.join(failed)}")


def _run_in_process(folder: Path, run: Run, data: Path) -> None:
    """Carry out a run in this process."""
    file, checkpoint = _file(folder, run), folder / "results/runs" / run.checkpoint
    try:
        with shown(_title(run)) as progress:
            prepared = datasets.open_as(run.spec.dataset, data)
            job.execute(run.spec, prepared, file, Context(progress=progress), checkpoint=checkpoint)
    except InterruptedRunError as error:
        raise interrupts.Interrupted(str(error)) from None
    except AlgorithmError as error:
        raise RuntimeError(f"1 of 1 runs failed: {_title(run)}: {error}") from error


def _run_study(
    experiments: Sequence[Experiment], missing: Sequence[Path], folder: Path, workers: int
) -> None:
    """Carry out runs as a study, with a configuration of their own beside that of a study in this folder."""
    names = [f"sweep_{number}" for number in range(len(experiments))]
    # Other experiments share the runs of a sweep, but not runs that are timed one by one.
    contents = [
        experiment.model_dump(mode="json", exclude={"figures", "timed"})
        for experiment in experiments
    ]
    common = {
        "results": str(folder / "results"),
        "data": {"cache": str(folder / "resources")},
        "threads": 1,
        "checkpoint_minutes": job.checkpoint_minutes(),
    }
    # A sweep has a folder for its configuration, as another sweep may read its own at this moment.
    config = folder / "resources/sweeps" / digest([common, *contents])[:_DIGITS]
    for name, content in zip(names, contents, strict=True):
        write(config / "experiments" / f"{name}.yaml", dump_yaml(content))
    write(config / CONFIG.name, dump_yaml(common))
    write(config / _OVERLAY, dump_yaml({"experiments": names}))
    words = [str(config / _OVERLAY), *map(str, missing), "--snakefile", str(SNAKEFILE)]
    # A missing run whose file exists was made by other code, so that its file is replaced by force. Files of runs are
    # written whole, so that two sweeps need no lock, which a killed sweep would leave behind.
    words += ["--force", "--nolock", "--cores", str(workers)]
    if run_turns([words], config=config) == interrupts.STATUS:
        raise interrupts.Interrupted("stopped; the same sweep goes on from there")


def _title(run: Run) -> str:
    return f"{run.label} at {run.spec.stated_budget:g}"


def _file(folder: Path, run: Run) -> Path:
    return folder / "results/runs" / run.path


def _is_made(folder: Path, run: Run) -> bool:
    """Return whether a run was made by the present code."""
    try:
        read(_file(folder, run), run)
    except netcdf.StaleResultError:
        return False
    return True


def _failure(folder: Path, run: Run) -> str:
    """Return the title of a run that failed, and the last line of its log."""
    log = folder / "results/runs" / run.file(LOG)
    lines = log.read_text("utf-8", "replace").strip().splitlines() if log.exists() else []
    return f"{_title(run)}: {lines[-1] if lines else 'it was not begun'}"
