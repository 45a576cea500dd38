"""Checkpoints: a run's state on disk, from which a killed job continues with the same bits."""

from __future__ import annotations

import hashlib
import json
import logging
import signal
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from admmbench.engine.rounds import Snapshot
from admmbench.files import replacing
from admmbench.jobs import interrupts
from admmbench.jobs.packing import pack, unpack

_log = logging.getLogger(__name__)
_DIGEST = hashlib.sha256


class InterruptedRunError(RuntimeError):
    """The run was asked to stop by a signal.

    Attributes
    ----------
    status
        Exit status.
    """

    def __init__(self, number: int, message: str) -> None:
        super().__init__(message)
        self.status = interrupts.STATUS if number in interrupts.SIGNALS else 1


class Checkpoint:
    """A file to which a run writes its snapshot, from time to time and when it is told to stop.

    The first line is JSON and says which run, code, data and packages the snapshot belongs to; the second is JSON with
    its variables, whose arrays follow in NumPy's format, and then comes their SHA-256. Nothing in it is code.

    Parameters
    ----------
    path
        The file.
    identity
        Facts that a snapshot must share to be used, as JSON values.
    interval
        Seconds between two snapshots.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any], interval: float) -> None:
        self.path = path
        self._header = json.dumps(identity, sort_keys=True)
        self._interval = interval
        self._last = time.monotonic()
        self._signal: int | None = None

    def load(self, snapshot: Snapshot) -> None:
        """Load the saved state into the run's variables; log a warning if the file belongs to something else.

        Raises
        ------
        ValueError
            If the state could not be saved later on.
        """
        try:
            pack(snapshot.state, [])
        except TypeError as error:
            raise ValueError(f"{type(snapshot.state).__name__}: {error}") from None
        try:
            with self.path.open("rb") as file:
                self._verify(file)
                tree = json.loads(file.readline())
                arrays = [
                    np.lib.format.read_array(file, allow_pickle=False)
                    for _ in range(tree["arrays"])
                ]
        except FileNotFoundError:
            return
        except (OSError, ValueError, KeyError) as error:
            _log.warning("%s is not used: %s; starting from the first round", self.path, error)
            return
        snapshot.restore(unpack(tree["snapshot"], arrays, snapshot.variables()))
        _log.warning("going on after round %d, from %s", snapshot.t, self.path)

    def after_round(self, snapshot: Snapshot) -> None:
        """Save if it is time to.

        Raises
        ------
        InterruptedRunError
            If a signal asked the run to stop; the snapshot is saved.
        """
        if self._signal or time.monotonic() - self._last >= self._interval:
            self.save(snapshot)
        if self._signal:
            raise InterruptedRunError(
                self._signal,
                f"stopped by {signal.Signals(self._signal).name} after round {snapshot.t}; "
                "the same command goes on from there",
            )

    def save(self, snapshot: Snapshot) -> None:
        """Write the snapshot, whole or not at all; a full disk does not end the run."""
        try:
            with replacing(self.path) as temporary, temporary.open("wb") as file:
                file.write(f"{self._header}\n".encode())
                hashed = _Hashing(file)
                arrays: list[Any] = []
                tree = pack(snapshot.variables(), arrays)
                text = json.dumps({"snapshot": tree, "arrays": len(arrays)})
                hashed.write(f"{text}\n".encode())
                for array in arrays:
                    np.lib.format.write_array(hashed, array, allow_pickle=False)
                file.write(hashed.digest.digest())
        except OSError as error:
            _log.warning("no checkpoint after round %d: %s", snapshot.t, error)
        self._last = time.monotonic()

    def remove(self) -> None:
        """Remove the file: the run is done."""
        self.path.unlink(missing_ok=True)

    def listening(self) -> AbstractContextManager[None]:
        """Let a signal end the run after the round, with a snapshot: schedulers warn by SIGTERM before they kill."""
        return interrupts.handled(self._stop, (signal.SIGTERM, *interrupts.SIGNALS))

    def _stop(self, number: int, frame: object) -> None:
        self._signal = number

    def _verify(self, file: BinaryIO) -> None:
        """Check owner and content, and leave the file at the snapshot."""
        header = file.readline().decode(errors="replace").rstrip("\n")
        if header != self._header:
            raise ValueError(_difference(header, self._header))
        start = file.tell()
        digest, tail = _DIGEST(), b""
        while chunk := file.read(2**20):
            tail += chunk
            digest.update(tail[: -digest.digest_size])
            tail = tail[-digest.digest_size :]
        if digest.digest() != tail:
            raise ValueError("it is damaged (its SHA-256 differs)")
        file.seek(start)


class _Hashing:
    """File that hashes what is written to it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.digest = _DIGEST()

    def write(self, data: Any) -> int:
        self.digest.update(data)
        return self._file.write(data)


def _difference(found: str, wanted: str) -> str:
    """Say what a checkpoint belongs to instead."""
    try:
        theirs, ours = json.loads(found), json.loads(wanted)
        keys = [key for key in ours if theirs.get(key) != ours[key]]
        return f"it was made with {keys[0]} = {theirs.get(keys[0])!r}, now {ours[keys[0]]!r}"
    except (ValueError, AttributeError, IndexError):
        return "it is damaged (its first line is unreadable)"
