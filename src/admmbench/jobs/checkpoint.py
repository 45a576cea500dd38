"""Checkpoints: a run's state on disk, from which a killed job continues with the same bits."""

from __future__ import annotations

import json
import logging
import signal
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np

from admmbench.engine.snapshot import Snapshot
from admmbench.files import replacing
from admmbench.jobs import interrupts
from admmbench.jobs.packing import pack, unpack

_log = logging.getLogger(__name__)


class InterruptedRunError(RuntimeError):
    """Stop of a run that a signal asked for, with the exit status."""

    def __init__(self, number: int, message: str) -> None:
        super().__init__(message)
        self.status = interrupts.STATUS if number in interrupts.SIGNALS else 1


class Checkpoint:
    """File with the state of a run, written from time to time and when the run is told to stop.

    The file is an archive of NumPy (``.npz``), with a checksum of each array. The first array is JSON: the run, code,
    data and packages that the snapshot belongs to, and its variables, whose arrays follow. The file holds no code.

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
        self._identity = json.loads(json.dumps(identity))
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
            with np.load(self.path, allow_pickle=False) as file:
                facts = json.loads(file["facts"].tobytes())
                arrays = [file[f"arr_{number}"] for number in range(facts["arrays"])]
                fault = _difference(facts["identity"], self._identity)
        except FileNotFoundError:
            return
        except Exception as error:  # damage may end in any
            fault = f"it is damaged ({error})"
        if fault:
            _log.warning("%s is not used: %s; starting from the first round", self.path, fault)
            return
        snapshot.restore(unpack(facts["snapshot"], arrays, snapshot.variables()))
        _log.warning("going on after round %d, from %s", snapshot.t, self.path)

    def after_round(self, snapshot: Snapshot) -> None:
        """Save the snapshot if the interval has passed or a signal asked the run to stop.

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
                arrays: list[Any] = []
                tree = pack(snapshot.variables(), arrays)
                facts = {"identity": self._identity, "snapshot": tree, "arrays": len(arrays)}
                text = np.frombuffer(json.dumps(facts).encode(), np.uint8)
                np.savez(file, *arrays, facts=text)
        except OSError as error:
            _log.warning("no checkpoint after round %d: %s", snapshot.t, error)
        self._last = time.monotonic()

    def remove(self) -> None:
        """Remove the file when the run is done."""
        self.path.unlink(missing_ok=True)

    def listening(self) -> AbstractContextManager[None]:
        """Return a context in which a signal ends the run after the round, with a snapshot.

        Schedulers warn by SIGTERM before they kill.
        """
        return interrupts.handled(self._stop, (signal.SIGTERM, *interrupts.SIGNALS))

    def _stop(self, number: int, frame: object) -> None:
        self._signal = number


def _difference(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> str:
    """Return the first fact in which a checkpoint's identity differs from the run's, as text; empty if none does."""
    for key in {**ours, **theirs}:
        if theirs.get(key) != ours.get(key):
            return f"it was made with {key} = {theirs.get(key)!r}, now {ours.get(key)!r}"
    return ""
