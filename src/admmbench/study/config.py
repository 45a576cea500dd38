"""Configuration: typed models of a study and its experiments, and functions that read and check their files.

A configuration (``config/config.yaml``, overlaid by ``--configfile``) names experiments; each is a file in
``config/experiments/``: the user's own, or one of the papers' in the package. All files are checked here, before any
job starts. For an unknown key the message names the nearest valid one, for a value out of range the path of its key.
"""

from __future__ import annotations

import contextlib
import fnmatch
import json
import math
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property, reduce
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, Field, ValidationError
from pydantic.json_schema import SkipJsonSchema

from admmbench import datasets
from admmbench.engine.devices import CPU, DeviceName
from admmbench.figures import look
from admmbench.figures.look import Look
from admmbench.files import checksummed_json, read_checksummed
from admmbench.files.core_yaml import read_yaml
from admmbench.files.installed import OWN, find_all
from admmbench.study.experiment import Experiment
from admmbench.study.methods import merged
from admmbench.study.runs import Run
from admmbench.tuning.settings import TuningSettings
from admmbench.validation import (
    Count,
    Folder,
    Strict,
    Text,
    distinct,
    file_name,
    in_present_keys,
    messages,
    unknown,
    warn_renamed,
)

T = TypeVar("T", bound=BaseModel)


class ConfigError(ValueError):
    """Error in the configuration; the message names the file, the key and the fix."""


class Data(Strict):
    """Folders that data come from and go to."""

    mirror: Folder | None = None
    """Folder with source files, looked up before the network (ADMMBENCH_MIRROR)."""
    cache: Folder = "resources"
    """Folder for downloads, prepared data and partitions."""


class Config(Strict):
    """Keys of the whole configuration, as Snakemake merges it."""

    experiments: Annotated[list[str], AfterValidator(distinct), Field(min_length=1)]
    overrides: dict[str, dict[str, Any]] = {}
    """Changes to experiments, by name or pattern; later ones win, mappings are merged."""
    data: Data = Data()
    results: Folder = "results"
    """Folder for everything generated."""
    threads: Count = 2
    """Threads that a run may use at most."""
    device: DeviceName = CPU
    """What computes the runs: cpu, or for those that it can compute an installed device such as cuda (docs/gpu.md)."""
    gres: Text = "gpu:1"
    """What a job on a GPU asks Slurm for; shard:1, for example, where jobs share a GPU."""
    cache_runs: bool = False
    """With `snakemake --cache`: share runs between copies of the project, not only data."""
    checkpoint_minutes: Annotated[float, Field(gt=0)] = 5.0
    """Minutes between two checkpoints of a run."""
    files: SkipJsonSchema[list[str]] = []
    """Names of the files that it was read from: nobody states them."""

    @property
    def overlays(self) -> list[str]:
        """Return the names of the files that change ``config.yaml``, which name the report."""
        return [name for name in self.files if name != CONFIG.name]


class Study(Strict):
    """Checked configuration with its experiments."""

    config: Config
    experiments: dict[str, Experiment]

    @cached_property
    def shared(self) -> dict[str, dict[str, Run]]:
        """Return the runs that experiments can share, by folder and file name, with the first experiment's labels."""
        runs: dict[str, dict[str, Run]] = {}
        for experiment in self.experiments.values():
            for run in () if experiment.timed else experiment.runs:
                runs.setdefault(run.folder, {}).setdefault(run.point, run)
        return runs

    def runs_folder(self, name: str) -> Path:
        """Return the folder of an experiment's runs."""
        return self.experiments[name].runs_folder(Path(self.config.results, name))

    def definition(self, name: str, file: str) -> str:
        """Return the text of one of two files that define an experiment: its figures, or its manifest with the rest."""
        experiment = self.experiments[name]
        if file == FIGURES:
            figures = [figure.model_dump(mode="json") for figure in experiment.figures]
            looks = {label: self.looks[label]._asdict() for label in _drawing_facts(experiment)}
            return checksummed_json({"figures": figures, "looks": looks}, indent=1)
        folder = os.path.relpath(self.runs_folder(name), Path(self.config.results, name))
        content = {
            "name": name,
            "experiment": experiment.model_dump(mode="json", exclude={"figures"}),
            "runs": [
                {
                    "label": run.label,
                    "file": f"{folder}/{run.path}",
                    **run.spec.model_dump(mode="json"),
                }
                for run in experiment.runs
            ],
        }
        return checksummed_json(content, indent=1)

    @cached_property
    def looks(self) -> dict[str, Look]:
        """Return the look of each method in all pictures of the study, by label."""
        return look.of_study(map(_drawing_facts, self.experiments.values()))

    @cached_property
    def datasets(self) -> dict[str, str | dict[str, Any]]:
        """Return the data sets that the experiments need, by folder name."""
        return {
            experiment.dataset_folder: experiment.dataset
            for experiment in self.experiments.values()
        }

    @cached_property
    def missing_files(self) -> dict[str, list[str]]:
        """Return the names of files that cannot be had, by the folder of their data set; prepared data need no file."""
        data = self.config.data
        cache = os.environ.get("ADMMBENCH_CACHE", data.cache)
        return {
            folder: files
            for folder, dataset in self.datasets.items()
            if not Path(data.cache, "datasets", folder).exists()
            and (files := datasets.missing_files(dataset, mirror=data.mirror, cache=cache))
        }

    def without(self, missing: Mapping[str, Collection[str]]) -> Study:
        """Return the study whose experiments use the part of their data that needs no missing file.

        The part is a data set with other settings, so that its runs have addresses of their own: when the files
        appear, the runs of the stated data set are made.

        Parameters
        ----------
        missing
            Names of files, by the folder of the stated data set, see `missing_files`.

        Raises
        ------
        ConfigError
            If an experiment cannot run on the part.
        """
        experiments = dict(self.experiments)
        for name, experiment in self.experiments.items():
            files = missing.get(experiment.dataset_folder, ())
            part = datasets.without(experiment.dataset, files) if files else None
            if part is None:
                continue
            missing_data = datasets.MissingData.compare(experiment.dataset, part, files)
            title = f"{experiment.title} ({missing_data})"
            changes = {"title": title, "dataset": part, "missing_data": missing_data}
            experiments[name] = check_experiment(
                experiment.model_dump(mode="json") | changes,
                f"{name}, with {missing_data} as files of the data are missing",
            )
        return Study(config=self.config, experiments=experiments)

    @cached_property
    def partitions(self) -> dict[str, Run]:
        """Return the files of partitions that runs read, each with one of the runs that read it."""
        runs = (run for experiment in self.experiments.values() for run in experiment.runs)
        return {path: run for run in runs for path in run.partitions}


CONFIG = OWN / "config.yaml"
# Files that define an experiment, in the folder of its results.
MANIFEST, FIGURES = "manifest.json", "figures.json"
# Folders below the folder of an experiment's results.
AUDITS, TUNING = "audits", "tuning"
# Folder of the settings that tuning chose, beside the folder of experiments: a file for each experiment.
TUNED = "tuned"
# Folder of the numbers of seeds that undecided settings asked for, beside the folder of experiments: likewise.
SEEDS = "seeds"
# Folder of the numbers of antithetic pairs that undecided settings asked for: likewise.
PAIRS = "pairs"
# Folders of results that belong to no experiment, so that no experiment can have their names.
_RESERVED = ("logs", "report", "runs")


def read(
    overlays: Iterable[Path] = (),
    base: Path = CONFIG,
    changes: Mapping[str, Any] | None = None,
    *,
    on_stated_data: bool = False,
) -> Study:
    """Read the configuration as ``snakemake --configfile`` does: later files win, mappings are merged.

    Parameters
    ----------
    overlays
        Files that change the base.
    base
        ``config/config.yaml`` of the project.
    changes
        Keys that win over all files, as of ``--config``.
    on_stated_data
        Whether experiments keep all data that they state where files of these are missing; otherwise they use the part
        that needs no missing file, see `Study.without`.

    Raises
    ------
    ConfigError
        See `load`; also if a file is missing.
    """
    if not base.exists():
        raise ConfigError(f"{base} is not here: call this in the project's folder")
    study = load(merged(read_mapping(base), combine(overlays, changes)), base.parent)
    return study if on_stated_data else study.without(study.missing_files)


def combine(files: Iterable[Path], changes: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Read files of the configuration and merge them: later files win, and the changes win over all files."""
    return reduce(merged, [*map(read_mapping, files), changes or {}], {})


def load(config: Mapping[str, Any], folder: Path = OWN) -> Study:
    """Check a configuration and read its experiments.

    Parameters
    ----------
    config
        Content of ``config.yaml`` and overlays.
    folder
        Folder of the user's own ``experiments/``, ``tuned/``, ``seeds/`` and ``pairs/``; the papers' files come with
        the package.

    Raises
    ------
    ConfigError
        If anything is wrong; the message has a line for every fault, with the file and the path of the key.
    """
    checked = _validate(Config, dict(config), "configuration")
    available = find_all("experiments", folder)
    recorded_files = {kind: find_all(kind, folder) for kind in (TUNED, SEEDS, PAIRS)}
    for pattern in checked.overrides:
        if not any(_matches(name, pattern) for name in available):
            fault = unknown("experiment", pattern, available)
            raise ConfigError(f"configuration: overrides: {fault}")
    overrides = {
        pattern: rename_former_keys(changes, f"configuration: overrides: {pattern}")
        for pattern, changes in checked.overrides.items()
    }
    experiments = {}
    for name in checked.experiments:
        if name in _RESERVED:
            raise ConfigError(
                f"configuration: experiments: {name} is a folder of results that all experiments share; "
                f"rename {folder / 'experiments' / name}.yaml"
            )
        if name not in available:
            fault = unknown("experiment", name, available)
            raise ConfigError(
                f"configuration: experiments: {fault} (yours are files in {folder / 'experiments'})"
            )
        with _config_errors():
            file_name(name, "configuration: experiments")
        content = rename_former_keys(read_mapping(available[name]), str(available[name]))
        matching = (changes for pattern, changes in overrides.items() if _matches(name, pattern))
        changed = reduce(merged, matching, content)
        recorded = {kind: paths[name] for kind, paths in recorded_files.items() if name in paths}
        contents = {kind: read_mapping(path) for kind, path in recorded.items()}
        try:
            experiments[name] = check_experiment(
                _with_recorded(changed, contents), f"configuration: overrides: {name}"
            )
        except ConfigError:
            # The overrides are to blame only if the file alone, and with each recorded file, has no mistake.
            check_experiment(content, str(available[name]))
            for kind, path in recorded.items():
                with_recorded = _with_recorded(content, {kind: contents[kind]})
                check_experiment(with_recorded, f"{available[name]} with {path}")
            raise
    return Study(config=checked, experiments=experiments)


def read_experiment(folder: Path) -> tuple[str, Experiment]:
    """Read the name and definition of an experiment, without figures, from the folder of its results."""
    name, definition = _read_definition(folder)
    return name, check_experiment(definition, str(folder / MANIFEST))


def read_drawn_experiment(
    folder: Path, *, complete: bool = True
) -> tuple[str, Experiment, dict[str, Look]]:
    """Read the name and definition of an experiment with its figures, and the looks of methods, see `read_figures`.

    A study that is not complete may lack the file of figures, as one that makes results alone; then it has no figures.
    """
    name, definition = _read_definition(folder)
    looks: dict[str, Look] = {}
    if complete or (folder / FIGURES).exists():
        definition["figures"], looks = read_figures(folder / FIGURES)
    return name, check_experiment(definition, str(folder / MANIFEST)), looks


def _read_definition(folder: Path) -> tuple[str, dict[str, Any]]:
    path = folder / MANIFEST
    if not path.exists():
        raise ConfigError(
            f"{path}: is not there; name the folder of an experiment that was run, such as results/quick"
        )
    with _config_errors():
        manifest = read_checksummed(path)
    return str(manifest["name"]), dict(manifest["experiment"])


def _drawing_facts(experiment: Experiment) -> dict[str, look.Traits]:
    """Return the facts that decide the look of each method that runs, by label."""
    specs = {run.label: run.spec for run in experiment.runs}
    return {
        label: look.Traits(spec.algorithm, spec.method.family.mechanism, spec.method.family.role)
        for label, spec in specs.items()
    }


def read_figures(path: Path) -> tuple[list[Any], dict[str, Look]]:
    """Read the figures of an experiment, see `Study.definition`, or a list of figures in a JSON file of the user.

    Returns
    -------
    tuple
        Figures, and the looks of methods as the study decided them; no looks where the file has none.

    Raises
    ------
    ConfigError
        If the file is neither, or damaged; the message names the file and the fix.
    """
    try:
        content = json.loads(path.read_text("utf-8"))
        fault = f"it has {type(content).__name__} instead of a list"
    except (OSError, ValueError) as error:
        content, fault = None, str(error)
    if isinstance(content, list):
        return content, {}
    if path.name == FIGURES:
        with _config_errors():
            content = read_checksummed(path)
        looks = content.get("looks", {}).items()
        return content["figures"], {label: Look.of_json(values) for label, values in looks}
    raise ConfigError(
        f"{path}: cannot be read as a list of figures in JSON ({fault}); name the {FIGURES} of an experiment "
        f"that was run, such as results/quick/{FIGURES}"
    )


@contextlib.contextmanager
def _config_errors(start: str = "", end: str = "") -> Iterator[None]:
    """Turn errors into errors of the configuration, with text before and behind theirs."""
    try:
        yield
    except ValueError as error:
        raise ConfigError(f"{start}{error}{end}") from None


def check_experiment(content: Mapping[str, Any], source: str = "experiment") -> Experiment:
    """Make an experiment from the content of its file; a `ConfigError` names the file and every key that is wrong."""
    return _validate(Experiment, content, source)


def read_mapping(path: Path) -> dict[str, Any]:
    """Read a YAML file of the configuration; a `ConfigError` names a file that is no mapping."""
    with _config_errors():
        content = read_yaml(path)
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: expected a mapping of keys to values")
    return content


def report_name(overlays: Iterable[str]) -> str:
    """Return the name of a report's folder, from the files that change the configuration.

    Raises
    ------
    ConfigError
        If no folder can have the name.
    """
    with _config_errors(end=": give the configurations other names"):
        return file_name("+".join(Path(name).stem for name in overlays) or "config", "report")


def rename_former_keys(content: Mapping[str, Any], source: str) -> dict[str, Any]:
    """Return what a user wrote of an experiment by present keys, so that it can be merged, and warn of former ones.

    Raises
    ------
    ConfigError
        If both names of a key are given.
    """

    def rename(values: Mapping[str, Any], model: type[Strict], path: str) -> dict[str, Any]:
        for former in model.former_keys.keys() & values.keys():
            warn_renamed(f"{source}: {path}{former}", path + model.former_keys[former])
        with _config_errors(f"{source}: {path}"):
            return in_present_keys(values, model.former_keys)

    content = rename(content, Experiment, "")
    if isinstance(content.get("tuning"), Mapping):
        content["tuning"] = rename(content["tuning"], TuningSettings, "tuning.")
    return content


def _matches(name: str, pattern: str) -> bool:
    return name == pattern or fnmatch.fnmatchcase(name, pattern)


def _with_recorded(
    content: dict[str, Any], recorded: Mapping[str, dict[str, Any]]
) -> dict[str, Any]:
    """Return an experiment's content with the settings that tuning found, and ordered seeds and pairs.

    Those that the experiment states itself win.
    """
    defaults = {}
    if content.get("tuning") is not None and TUNED in recorded:
        defaults["tuned"] = recorded[TUNED]
    if content.get("interim_analyses") is not None and SEEDS in recorded:
        defaults["ordered"] = recorded[SEEDS]
    if content.get("pairs") is not None and PAIRS in recorded:
        defaults["mirrored"] = recorded[PAIRS]
    return {**defaults, **content}


def _validate(model: type[T], content: Mapping[str, Any], source: str) -> T:
    try:
        return model.model_validate(content)
    except ValidationError as error:
        lines = "\n  ".join(messages(error, content, kind=model))
        raise ConfigError(f"{source}:\n  {lines}") from None
    # A plug-in may raise any error, and the message should name the file.
    except Exception as error:
        raise ConfigError(f"{source}: {type(error).__name__}: {error}") from error


def schemas() -> dict[str, str]:
    """Return the texts of the JSON schemas of the configuration and of experiments, by file name."""
    models: dict[str, type[BaseModel]] = {
        "config.schema.json": Config,
        "experiment.schema.json": Experiment,
    }
    return {
        name: json.dumps(_as_json_schema(model.model_json_schema()), indent=2, allow_nan=False)
        + "\n"
        for name, model in models.items()
    }


# Names in JSON Schema of the limits of numbers. Pydantic keeps its own names where a validator comes before the limit.
_LIMITS = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}


def _as_json_schema(schema: Any) -> Any:
    """Return a schema with the keys of JSON Schema; infinity is text, as in a configuration."""
    if isinstance(schema, Mapping):
        return {
            _LIMITS.get(key, key) if isinstance(value, int | float) else key: _as_json_schema(value)
            for key, value in schema.items()
        }
    if isinstance(schema, list):
        return [_as_json_schema(part) for part in schema]
    return ".inf" if schema == math.inf else schema
