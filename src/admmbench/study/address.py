"""The address of a run: the name of its files, which says what was computed and not who asked for it.

The folder has the data set, the method and a hash of every setting but the budget and the seeds, which name the file:
``digits/objp-3f2a1b9c04de/epsilon=0.5+seeds=0-9.nc``. So experiments that ask for the same run share it, however they
spell it. Nothing else writes such a name.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
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
# Settings of how many rounds are made and evaluated, and for how long at most: they have digits of their own.
_EXTENT = ("rounds", "evaluate_every", "time_limit")
_SETTINGS_DIGITS, _EXTENT_DIGITS = 8, 4
_FILE = re.compile(
    r"[^/]+/[^/]+-[0-9a-f]{12}/(|logs/|benchmarks/|checkpoints/)"
    r"(epsilon|total)=([0-9.e+-]+|inf)\+seeds=[0-9]+-[0-9]+(|\.nc|\.log|\.tsv)"
)

_FILE_OF_PARTITIONS = re.compile(r"[a-z_]+-[0-9a-f]{8}(\+seeds=[0-9]+-[0-9]+)?\.nc")


@dataclass(frozen=True)
class Address:
    """An address says where a run's files are, below the folder of all runs.

    Names of files are far shorter than 255 bytes, whatever the seeds are.

    Attributes
    ----------
    folder
        Folder of runs that differ in budget and seeds alone, with equally many seeds: they need the same resources.
    kind
        What the budget is of: ``epsilon`` of one release, ``total`` of the whole run.
    budget
        The budget, perhaps infinite.
    first, last
        The first and the last of the seeds, which follow one another.
    """

    folder: str
    kind: str
    budget: float
    first: int
    last: int

    @classmethod
    def of(cls, spec: RunSpec) -> Address:
        """Make the address of what is computed.

        Raises
        ------
        ValueError
            If the seeds do not follow one another.
        """
        first, last = spec.seeds[0], spec.seeds[-1]
        if spec.seeds != tuple(range(first, first + len(spec.seeds))):
            raise ValueError(f"seeds: those of one run must follow one another, got {spec.seeds}")
        own = {"seeds": len(spec.seeds), "dataset": datasets.identity(spec.dataset)}
        settings = spec.complete() | own
        del settings["epsilon"], settings["privacy"]["total"]
        extent = {key: settings.pop(key) for key in _EXTENT}
        known = _hash(settings, _SETTINGS_DIGITS) + _hash(extent, _EXTENT_DIGITS)
        return cls(
            folder=f"{dataset_folder(spec.dataset)}/{Path(spec.algorithm).stem}-{known}",
            kind="epsilon" if spec.privacy.total is None else "total",
            budget=spec.stated_budget,
            first=first,
            last=last,
        )

    def __str__(self) -> str:
        return f"{self.folder}/{self.point}"

    @property
    def point(self) -> str:
        """Return the file name without suffix: where on the grid of budgets and seeds the run is."""
        return f"{self._at}+seeds={self.first}-{self.last}"

    @property
    def stem(self) -> str:
        """Name the method at this budget, with so many seeds, for files of one experiment."""
        return f"{Path(self.folder).name}+{self._at}"

    @property
    def _at(self) -> str:
        return f"{self.kind}={_number(self.budget)}"

    def file(self, pattern: str) -> str:
        """Return the path of one of the run's files, such as `LOG`, below the folder of all runs."""
        return f"{self.folder}/{pattern.format(point=self.point)}"


def files_of_runs(folder: Path) -> Iterator[Path]:
    """List the files in a folder of runs whose names are those of a run; whatever else is there is left out."""
    for path in folder.rglob("*=*+seeds=*"):
        if _FILE.fullmatch(path.relative_to(folder).as_posix()):
            yield path


def files_of_partitions(folder: Path) -> Iterator[Path]:
    """List the files in the folder of all partitions whose names are those of partitions."""
    return (path for path in folder.glob("*/*") if _FILE_OF_PARTITIONS.fullmatch(path.name))


def partition_files(spec: RunSpec, dataset: str) -> dict[str, range]:
    """Name the files with a run's partition, whose data set is in this folder.

    Returns
    -------
    dict
        Seeds of each file, by its path below the folder of all partitions: ten, or one that stands for all where none
        draws anything. No file where problems are drawn, as there are no records.
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
    """Name the folder of a data set: by its name, and a short hash of settings that are not the default.

    That of a data set from outside the package, or of a table, has a hash of all that it is: others may have its name.
    """
    full = datasets.normalize(spec)
    name = str(full["name"])
    if datasets.is_foreign(name) or datasets.identity(spec) != full:
        return f"{datasets.describe(spec).name}-{datasets.key(spec)[:_SETTINGS_DIGITS]}"
    return name if full == datasets.normalize(name) else f"{name}-{_hash(full, _SETTINGS_DIGITS)}"


def rule_name(verb: str, what: str) -> str:
    """Name a rule of the workflow for one folder of runs, or one experiment; no two have the same name."""
    name = re.sub("[^A-Za-z0-9]+", "_", what)
    # A folder of runs ends in a hash; of the experiments a.b and a_b, the first gets one.
    mark = "" if what == name or "/" in what else f"_{_hash(what, _SETTINGS_DIGITS)}"
    return f"{verb}_{name}{mark}"


@cache
def _hash_json(text: str) -> str:
    return _hash(json.loads(text), _SETTINGS_DIGITS)


def _hash(settings: Any, digits: int) -> str:
    text = json.dumps(settings, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:digits]


def _number(value: float) -> str:
    """Shortest text that stands for this number and no other."""
    short = f"{value:g}"
    return short if float(short) == value else repr(value)
