"""Addresses of runs: names of files that say what was computed, and not which experiment asked for it.

The folder has the data set, the method and a hash of every setting but the budget and the seeds, which name the file:
``digits/objp-3f2a1b9c04de/epsilon=0.5+seeds=0-9.nc``. So experiments that ask for the same run share its files, however
they spell the settings. No other module writes such a name.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from admmbench import datasets
from admmbench.spec.run import RunSpec

# A run's files in its folder, as the rules write them: result, messages, seconds that it took, state.
RESULT, LOG, BENCHMARK, CHECKPOINT = (
    "{point}.nc",
    "logs/{point}.log",
    "benchmarks/{point}.tsv",
    "checkpoints/{point}",
)
# Seeds whose partitions are in one file.
_SEEDS_OF_A_FILE = 10
# Settings of the extent have digits of their own: folders of runs that differ in the extent alone have names
# that begin alike.
_EXTENT = ("rounds", "evaluate_every", "time_limit")
_SETTINGS_DIGITS, _EXTENT_DIGITS = 8, 4
_FILE = re.compile(
    r"[^/]+/[^/]+-[0-9a-f]{12}/(|logs/|benchmarks/|checkpoints/)"
    r"(epsilon|total|mu)=([0-9.e+-]+|inf)\+seeds=[0-9]+-[0-9]+(|\.nc|\.log|\.tsv)"
)

_FILE_OF_PARTITIONS = re.compile(r"[a-z_]+-[0-9a-f]{8}(\+seeds=[0-9]+-[0-9]+)?\.nc")


def budget_name(spec: RunSpec) -> str:
    """Return the name of a run's budget: ``epsilon`` of one release, ``total`` or ``mu`` of the whole run."""
    kind = spec.budget_key.rpartition(".")[2]
    short = f"{spec.stated_budget:g}"
    exact = short if float(short) == spec.stated_budget else repr(spec.stated_budget)
    return f"{kind}={exact}"


def run_folder(spec: RunSpec) -> str:
    """Return the folder of a run, and of all that differ from it in budget and seeds alone, with equally many seeds."""
    replacements = {"seeds": len(spec.seeds), "dataset": datasets.identity(spec.dataset)}
    settings = spec.complete() | replacements
    del settings["epsilon"], settings["privacy"]["total"]
    settings["privacy"].pop("mu", None)
    extent = {key: settings.pop(key) for key in _EXTENT}
    digits = _hash(settings, _SETTINGS_DIGITS) + _hash(extent, _EXTENT_DIGITS)
    return f"{dataset_folder(spec.dataset)}/{Path(spec.algorithm).stem}-{digits}"


def files_of_runs(folder: Path) -> Iterator[Path]:
    """Yield the files in a folder of runs that are named as a run's files are; other files are left out."""
    for path in folder.rglob("*=*+seeds=*"):
        if _FILE.fullmatch(path.relative_to(folder).as_posix()):
            yield path


def files_of_partitions(folder: Path) -> Iterator[Path]:
    """Yield the files in the folder of all partitions that are named as partitions are."""
    return (path for path in folder.glob("*/*") if _FILE_OF_PARTITIONS.fullmatch(path.name))


def partition_files(spec: RunSpec, dataset: str) -> dict[str, range]:
    """Return the files that hold the partition of a run, whose data set has a folder of this name.

    Returns
    -------
    dict
        Seeds of each file, by its path below the folder of all partitions: ten seeds, or one that stands for all seeds
        where the scheme draws nothing. No file where problems are drawn, as there are no records.
    """
    if spec.info.drawn:
        return {}
    scheme = spec.scheme
    stem = f"{dataset}/{scheme.scheme}-{_hash_json(scheme.model_dump_json())}"
    if not scheme.shuffled:
        return {f"{stem}.nc": range(1)}
    firsts = dict.fromkeys(seed // _SEEDS_OF_A_FILE * _SEEDS_OF_A_FILE for seed in spec.seeds)
    blocks = (range(first, first + _SEEDS_OF_A_FILE) for first in firsts)
    return {f"{stem}+seeds={block[0]}-{block[-1]}.nc": block for block in blocks}


def dataset_folder(spec: str | dict[str, Any] | datasets.Dataset) -> str:
    """Return the name of a data set's folder: its own name, and a short hash of settings that are not the default.

    The folder of a plug-in's data set, or of a table, has a hash of its whole content: other data may have its name.
    """
    full = datasets.normalize(spec)
    name = str(full["name"])
    if datasets.is_foreign(name) or datasets.identity(spec) != full:
        return f"{datasets.describe(spec).name}-{datasets.key(spec)[:_SETTINGS_DIGITS]}"
    return name if full == datasets.normalize(name) else f"{name}-{_hash(full, _SETTINGS_DIGITS)}"


def rule_name(verb: str, target: str) -> str:
    """Return the name of the workflow's rule for one folder of runs, or one experiment; no two rules share a name."""
    name = re.sub("[^A-Za-z0-9]+", "_", target)
    # A folder of runs ends in a hash; of the experiments a.b and a_b, the first gets one.
    mark = "" if target == name or "/" in target else f"_{_hash(target, _SETTINGS_DIGITS)}"
    return f"{verb}_{name}{mark}"


@cache
def _hash_json(text: str) -> str:
    return _hash(json.loads(text), _SETTINGS_DIGITS)


def _hash(settings: Any, digits: int) -> str:
    text = json.dumps(settings, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:digits]
