"""Jobs of a study: runs, and the blocks of seeds that they compute."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from admmbench.spec.run import RunSpec
from admmbench.study.address import CHECKPOINT, RESULT, Address, partition_files


@dataclass(frozen=True)
class Run:
    """A job is a method at one epsilon, for a block of seeds.

    Attributes
    ----------
    label
        How the experiment calls the method.
    spec
        What is computed, every setting spelt out, see `admmbench.spec.run.RunSpec.complete`.
    """

    label: str
    spec: RunSpec

    @cached_property
    def address(self) -> Address:
        """Say where its files are, below the folder of all runs."""
        return Address.of(self.spec)

    @property
    def path(self) -> str:
        """Return the file of the result."""
        return self.address.file(RESULT)

    @cached_property
    def partitions(self) -> dict[str, range]:
        """Name the files with its partition, see `admmbench.study.address.partition_files`."""
        dataset, _, _ = self.address.folder.partition("/")
        return partition_files(self.spec, dataset)

    @property
    def checkpoint(self) -> str:
        """Say where it leaves its state: there a run with a longer time limit, or none, finds it."""
        default = RunSpec.model_fields["time_limit"].default
        unlimited = self.spec.model_copy(update={"time_limit": default})
        return Address.of(unlimited).file(CHECKPOINT)

    @property
    def first(self) -> Run:
        """Return the run of its first seed alone, which stands for all blocks of its method at its budget."""
        return Run(self.label, self.spec.model_copy(update={"seeds": self.spec.seeds[:1]}))


def blocks(seeds: Iterable[int], size: int) -> list[tuple[int, ...]]:
    """Cut seeds into the blocks that jobs compute, on a grid that is the same however many there are.

    Seeds ``k * size`` to ``(k + 1) * size - 1`` are one block where all of them are asked for. Where some are not, the
    block is halved, the larger half first, and the halves likewise. So blocks that are whole stay when seeds are added.

    Parameters
    ----------
    seeds
        What to cut, in any order.
    size
        Seeds of a whole block.

    Returns
    -------
    Blocks of consecutive seeds, in order.
    """

    def parts(place: range, own: list[int]) -> Iterator[tuple[int, ...]]:
        if len(own) == len(place):
            yield tuple(own)
        elif own:
            middle = (len(place) + 1) // 2
            for half in (place[:middle], place[middle:]):
                yield from parts(half, [seed for seed in own if seed in half])

    grid = itertools.groupby(sorted(seeds), lambda seed: seed // size * size)
    return [part for first, own in grid for part in parts(range(first, first + size), list(own))]
