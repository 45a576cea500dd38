"""Jobs of a study, and where their results are.

A result is addressed by what was computed, not by who asked for it: the folder has the data set, the method and a hash
of every setting but the budget and the seeds, which name the file. So experiments that ask for the same run share it,
however they spell it.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from admmbench import datasets
from admmbench.engine.spec import RunSpec

# Settings of which a run may have more than another that computes the same rounds.
_EXTENT = ("rounds", "evaluate_every", "time_limit")
# A run's files in its folder, as the rules write them: result, messages, Snakemake's measurements, state.
RESULT, LOG, BENCHMARK, CHECKPOINT = (
    "{point}.nc",
    "logs/{point}.log",
    "benchmarks/{point}.tsv",
    "checkpoints/{point}",
)
# Digits of the hashes of the settings, of the extent and of seeds that are many words.
_SETTINGS_DIGITS, _EXTENT_DIGITS, _SEEDS_DIGITS = 8, 4, 12
# Characters of seeds that are spelt out: names of files are shorter than 255 bytes.
_SPELT = 100


@dataclass(frozen=True)
class Run:
    """One job: a method at one epsilon, for a block of seeds.

    Attributes
    ----------
    label
        How the experiment calls the method.
    spec
        What is computed, every setting spelt out, see `admmbench.engine.spec.RunSpec.complete`.
    """

    label: str
    spec: RunSpec

    @cached_property
    def folder(self) -> str:
        """Folder of runs that differ only in budget and seeds, with equally many seeds: they need the same resources.

        The first digits of the hash are the same for runs that differ in their extent alone.
        """
        settings = self.spec.complete() | {"seeds": len(self.spec.seeds)}
        del settings["epsilon"], settings["privacy"]["total"]
        extent = {key: settings.pop(key) for key in _EXTENT}
        method = Path(self.spec.algorithm).stem
        data = dataset_folder(self.spec.dataset)
        digits = _hash(settings, _SETTINGS_DIGITS) + _hash(extent, _EXTENT_DIGITS)
        return f"{data}/{method}-{digits}"

    @property
    def stem(self) -> str:
        """Name of this run, whatever its seeds, though not whatever their number, for files of one experiment."""
        return f"{Path(self.folder).name}+{self._budget}"

    @property
    def relatives(self) -> str:
        """Pattern of folders of runs that differ in their extent alone."""
        return self.folder[:-_EXTENT_DIGITS] + "?" * _EXTENT_DIGITS

    @cached_property
    def point(self) -> str:
        """File name without suffix: where on the grid the run is."""
        first, *rest = _ranges(self.spec.seeds)
        text = "_".join([first, *rest])
        if len(text) > _SPELT:
            text = f"{first}_etc-{_hash(self.spec.seeds, _SEEDS_DIGITS)}"
        return f"{self._budget}+seeds={text}"

    @property
    def _budget(self) -> str:
        kind = "epsilon" if self.spec.privacy.total is None else "total"
        return f"{kind}={_number(self.spec.stated_budget)}"

    def file(self, pattern: str) -> str:
        """One of the run's files, such as `LOG`, below the folder of all runs."""
        return f"{self.folder}/{pattern.format(point=self.point)}"

    @property
    def path(self) -> str:
        """File of the result, likewise."""
        return self.file(RESULT)

    @property
    def checkpoint_folder(self) -> str:
        """Folder of the run without a time limit: one with a longer limit finds its checkpoint there."""
        fields = RunSpec.model_fields
        unlimited = self.spec.model_copy(update={"time_limit": fields["time_limit"].default})
        return Run(self.label, unlimited).folder


def dataset_folder(spec: str | dict[str, Any] | datasets.Dataset) -> str:
    """Folder name of a data set: its name, and a short hash of settings that are not the default.

    That of a data set from outside the package has a hash of all that it is: others may have its name.
    """
    full = datasets.normalize(spec)
    name = str(full["name"])
    if datasets.is_foreign(name):
        return f"{datasets.describe(spec).name}-{datasets.key(spec)[:_SETTINGS_DIGITS]}"
    return name if full == datasets.normalize(name) else f"{name}-{_hash(full, _SETTINGS_DIGITS)}"


def _hash(settings: Any, digits: int) -> str:
    text = json.dumps(settings, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:digits]


def _number(value: float) -> str:
    """Shortest text that stands for this number and no other."""
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


def _ranges(seeds: Iterable[int]) -> Iterator[str]:
    """Text for each stretch of consecutive seeds, such as ``0-9``."""
    for _, stretch in itertools.groupby(enumerate(seeds), lambda pair: pair[1] - pair[0]):
        members = [seed for _, seed in stretch]
        yield f"{members[0]}-{members[-1]}"
