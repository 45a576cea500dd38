"""FEMNIST: handwritten characters by writer, the LEAF 5 % sample of the DP-IADMM papers.

The sample has 36 shards of 5 or 6 writers, each shard a training and a test file. A shard holds
about 90 % of the images of each of its writers for training and the rest for testing.
"""

import csv
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from string import ascii_lowercase, ascii_uppercase, digits
from typing import Any

import numpy as np
from numpy.typing import NDArray

from admmbench.datasets._base import Arrays, Attribute, DatasetDefinition, DatasetInfo
from admmbench.datasets._fetch import RemoteFile, read_bytes

REPOSITORY = "APPFL/DPFL-IADMM-Classification"
COMMIT = "4610458edaad176f5108199393f2bc18c93659e2"
# Shards whose writers have about half as many images as the others: `shards: small`.
SMALL = (*range(5), *range(15, 31))


@dataclass(frozen=True)
class Shard:
    """Shard of FEMNIST: one row of `femnist_shards.csv`.

    Training samples that were not `counted` are an estimate: the rest of the 36,708 samples that the papers state, in
    proportion to the test samples.
    """

    number: int
    writers: int
    train_samples: int
    test_samples: int
    counted: bool
    train: RemoteFile
    test: RemoteFile


class Femnist(DatasetDefinition):
    """FEMNIST with pixels inverted (background 0), one group per writer.

    Rows follow the shard number, then the order of the writers in the file. The test part is that
    of the selected shards, so every test writer also has training data in the selection.

    Parameters
    ----------
    shards : "all", "small" or list of int
        Which of the shards 0 to 35 to use; "small" stands for those whose writers have few images.
    """

    name = "femnist"
    defaults = {"shards": "all"}

    def validate(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Check `shards`, spell "small" out and sort them; every shard listed is the same as "all"."""
        shards = settings["shards"]
        count = len(_shards())
        if shards == "all":
            return {"shards": "all"}
        if shards == "small":
            return {"shards": list(SMALL)}
        if isinstance(shards, str) or not isinstance(shards, Iterable):
            raise ValueError(
                f"femnist: shards must be 'all', 'small' or a list of integers, not {shards!r}"
            )
        numbers = list(shards)
        wrong = [n for n in numbers if type(n) is not int or not 0 <= n < count]
        if wrong or not numbers or len(set(numbers)) < len(numbers):
            raise ValueError(
                f"femnist: shards must be one or more different integers from 0 to {count - 1}, "
                f"not {numbers!r}"
            )
        return {"shards": "all" if len(numbers) == count else sorted(numbers)}

    def without(self, settings: dict[str, Any], missing: Collection[str]) -> dict[str, Any] | None:
        """Leave out the shards of which a file is missing."""
        left = [
            shard.number
            for shard in _selected(settings)
            if {shard.train.name, shard.test.name}.isdisjoint(missing)
        ]
        return self.validate({"shards": left}) if left else None

    def describe(self, settings: dict[str, Any]) -> DatasetInfo:
        """Return the static facts; some training counts are estimates (see `exact`)."""
        shards = _selected(settings)
        sources = tuple(file for shard in shards for file in (shard.train, shard.test))
        return DatasetInfo(
            name=self.name,
            title="FEMNIST, LEAF 5 % sample of the DP-IADMM papers",
            settings=settings,
            n_train=sum(shard.train_samples for shard in shards),
            n_test=sum(shard.test_samples for shard in shards),
            n_features=784,
            class_names=tuple(digits + ascii_uppercase + ascii_lowercase),
            attributes={"writer": sum(shard.writers for shard in shards)},
            files=sources,
            licence="derived from NIST Special Database 19; LEAF, BSD 2-clause",
            citation=(
                "S. Caldas et al. LEAF: A Benchmark for Federated Settings. arXiv:1812.01097. "
                f"Sample: github.com/{REPOSITORY}, commit {COMMIT[:7]}"
            ),
            note=_note(shards),
            exact=all(shard.counted for shard in shards),
        )

    def read(self, info: DatasetInfo, paths: Mapping[str, Path]) -> Arrays:
        """Parse the shards in order."""
        shards = _selected(info.settings)
        X_train, y_train, users, train = _read_shards([paths[shard.train.name] for shard in shards])
        X_test, y_test, _, test = _read_shards([paths[shard.test.name] for shard in shards])
        writer = Attribute.of(users, train, test)
        return Arrays(X_train, y_train, X_test, y_test, {"writer": writer})


def _file(shard: int, split: str, blob: str, size: str) -> RemoteFile:
    """Return the training or test file of a shard."""
    name = f"all_data_{shard}_niid_05_keep_0_{split.lower()}_9.json"
    path = f"Inputs/Femnist_{split}_small/{name}"
    return RemoteFile(
        name=name,
        urls=(f"https://raw.githubusercontent.com/{REPOSITORY}/{COMMIT}/{path}",),
        mirror_path=f"femnist/dpfl-iadmm/{path}",
        checksum=f"git-blob-sha1:{blob}",
        size=int(size) if size else None,
    )


@cache
def _shards() -> tuple[Shard, ...]:
    """Return all shards, by their number."""
    table = files("admmbench.datasets").joinpath("femnist_shards.csv").read_text(encoding="utf-8")
    return tuple(
        Shard(
            number=int(row["shard"]),
            writers=int(row["writers"]),
            train_samples=int(row["train_samples"]),
            test_samples=int(row["test_samples"]),
            counted=row["counted"] == "1",
            train=_file(int(row["shard"]), "Train", row["train_blob"], row["train_bytes"]),
            test=_file(int(row["shard"]), "Test", row["test_blob"], row["test_bytes"]),
        )
        for row in csv.DictReader(table.splitlines())
    )


def _selected(settings: Mapping[str, Any]) -> tuple[Shard, ...]:
    """Return the shards that canonical settings select."""
    chosen = settings["shards"]
    return _shards() if chosen == "all" else tuple(_shards()[number] for number in chosen)


def _note(shards: tuple[Shard, ...]) -> str:
    """Return a note for reports on a selection of shards; empty if all are selected."""
    every = _shards()
    if len(shards) == len(every):
        return ""
    writers, all_writers = (sum(shard.writers for shard in part) for part in (shards, every))
    return f"{writers} of {all_writers} writers ({len(shards)} of {len(every)} training shards)"


def _read_shards(
    paths: Iterable[Path],
) -> tuple[NDArray[np.float32], NDArray[np.int64], list[str], list[str]]:
    """Parse LEAF files: rows in the order of their writers, their labels, all writers, and who wrote each row."""
    X, y, users, writers = [], [], list[str](), list[str]()
    for path in paths:
        content = json.loads(read_bytes(path))
        for user in content["users"]:
            rows = content["user_data"][user]
            # The files have a white background, 1.0; the papers' code inverts it.
            X.append((1.0 - np.array(rows["x"]).reshape(-1, 784)).astype(np.float32))
            y += rows["y"]
            users.append(user)
            writers += [user] * len(rows["y"])
    return np.concatenate(X), np.array(y, dtype=np.int64), users, writers
