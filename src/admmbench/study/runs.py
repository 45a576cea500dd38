"""Jobs of a study: runs, and the blocks of seeds that they compute."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from admmbench.spec.run import RunSpec
from admmbench.study.address import (
    CHECKPOINT,
    RESULT,
    budget_name,
    partition_files,
    run_folder,
)


@dataclass(frozen=True)
class Run:
    """Run of a method at one epsilon, for a block of seeds: one job."""

    label: str
    """Label of the method in the experiment."""
    spec: RunSpec
    """Settings of the run, all spelt out, see `admmbench.spec.run.RunSpec.complete`."""
    folders: dict[int, str] = field(default_factory=dict, repr=False, compare=False)
    """Known folders, by number of seeds. Runs that differ in budget and seeds alone share this mapping, as settings
    take long to hash."""

    @property
    def folder(self) -> str:
        """Return the folder of the run's files, below the folder of all runs.

        Runs that differ in budget and seeds alone, with equally many seeds, share it: they need equal resources.
        """
        n_seeds = len(self.spec.seeds)
        if n_seeds not in self.folders:
            self.folders[n_seeds] = run_folder(self.spec)
        return self.folders[n_seeds]

    @property
    def point(self) -> str:
        """Return the file name without suffix: the budget and the seeds of the run.

        The name is far shorter than 255 bytes, whatever the seeds are: they follow one another.
        """
        return f"{budget_name(self.spec)}+seeds={self.spec.seeds[0]}-{self.spec.seeds[-1]}"

    @property
    def stem(self) -> str:
        """Return the name of the run's method, budget and number of seeds, for files of one experiment."""
        return f"{Path(self.folder).name}+{budget_name(self.spec)}"

    def file(self, pattern: str) -> str:
        """Return the path of one of the run's files, such as `LOG`, below the folder of all runs."""
        return f"{self.folder}/{pattern.format(point=self.point)}"

    @property
    def dataset_folder(self) -> str:
        """Return the name of the folder of the prepared data set."""
        return self.folder.partition("/")[0]

    @property
    def path(self) -> str:
        """Return the path of the result, below the folder of all runs."""
        return self.file(RESULT)

    @cached_property
    def partitions(self) -> dict[str, range]:
        """Return the files with the run's partition, see `admmbench.study.address.partition_files`."""
        return partition_files(self.spec, self.dataset_folder)

    @property
    def checkpoint_folder(self) -> str:
        """Return the folder of the checkpoint, which runs that differ in the time limit alone share."""
        unlimited = {"time_limit": RunSpec.model_fields["time_limit"].default}
        return run_folder(self.spec.model_copy(update=unlimited))

    @property
    def checkpoint(self) -> str:
        """Return the path of the checkpoint."""
        return f"{self.checkpoint_folder}/{CHECKPOINT.format(point=self.point)}"

    @property
    def first(self) -> Run:
        """Return the run of the first seed alone, which stands for all blocks of its method at its budget."""
        return Run(self.label, self.spec.model_copy(update={"seeds": self.spec.seeds[:1]}))


def blocks(seeds: Iterable[int], size: int) -> list[tuple[int, ...]]:
    """Cut seeds into the blocks that jobs compute, on a grid that is the same however many there are.

    Seeds ``k * size`` to ``(k + 1) * size - 1`` are one block where all of them are asked for. Where some are not, the
    block is halved, the larger half first, and the halves likewise. So blocks that are whole stay when seeds are added.

    Returns
    -------
    Blocks of consecutive seeds, in order.
    """

    def parts(span: range, members: list[int]) -> Iterator[tuple[int, ...]]:
        if len(members) == len(span):
            yield tuple(members)
        elif members:
            middle = (len(span) + 1) // 2
            for half in (span[:middle], span[middle:]):
                yield from parts(half, [seed for seed in members if seed in half])

    grid = itertools.groupby(sorted(seeds), lambda seed: seed // size * size)
    return [
        part for first, members in grid for part in parts(range(first, first + size), list(members))
    ]
