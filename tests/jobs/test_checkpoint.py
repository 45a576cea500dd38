"""Checkpoints: whatever stops a job, it goes on to the same bytes; what is damaged or stale is not taken up."""

import io
from dataclasses import dataclass, field

import numpy as np
import pytest
import xarray as xr

from admmbench.datasets import load_dataset
from admmbench.engine.context import Context
from admmbench.engine.rounds import Snapshot
from admmbench.engine.trace import Trace
from admmbench.jobs import job
from admmbench.jobs.checkpoint import Checkpoint
from admmbench.spec.run import RunSpec

SPEC = RunSpec(
    dataset="digits",
    algorithm="objp",
    params={"local_updates": 2},
    agents=3,
    epsilon=1.0,
    rounds=40,
    evaluate_every=7,
    seeds=(0, 1),
)


@pytest.fixture(scope="module")
def data():
    return load_dataset("digits")


@pytest.fixture(scope="module")
def expected(data, tmp_path_factory):
    """Bytes of the undisturbed run."""
    file = tmp_path_factory.mktemp("undisturbed") / "x.nc"
    job.execute(SPEC, data, file, Context(1))
    return file.read_bytes()


class StoppedError(Exception):
    pass


def stop_at(t):
    def progress(done, total):
        if done == t:
            raise StoppedError

    return progress


@pytest.fixture
def attempt(data, tmp_path, monkeypatch):
    """Run the job with a checkpoint after every round, or until a round."""
    monkeypatch.setenv("ADMMBENCH_CHECKPOINT_MINUTES", "1e-9")

    def start(until=None, spec=SPEC):
        rounds = []
        progress = stop_at(until) if until else lambda done, _: rounds.append(done)
        job.execute(
            spec,
            data,
            tmp_path / "x.nc",
            Context(progress=progress),
            checkpoint=tmp_path / "state",
        )
        return rounds[0]

    return start


def test_it_goes_on_to_the_same_bytes(attempt, expected, tmp_path):
    for t in (13, 29):
        with pytest.raises(StoppedError):
            attempt(until=t)
    assert attempt() == 29
    assert (tmp_path / "x.nc").read_bytes() == expected
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize("until", [(3,), (13, 45), (20,), (21, 59)])
def test_seeds_that_are_computed_one_after_another_go_on_as_well(until, data, tmp_path, attempt):
    """From the seed that was left, also if it had just ended or begun; each of three has 20 rounds."""
    agents = {"scheme": "quantity", "agents": 3, "alpha": 0.5}
    spec = RunSpec(
        dataset="digits",
        algorithm="objp",
        agents=agents,
        epsilon=1.0,
        rounds=20,
        evaluate_every=5,
        seeds=3,
    )
    job.execute(spec, data, tmp_path / "whole.nc", Context(1))
    for t in until:
        with pytest.raises(StoppedError):
            attempt(until=t, spec=spec)
    assert attempt(spec=spec) == max(until)
    assert (tmp_path / "x.nc").read_bytes() == (tmp_path / "whole.nc").read_bytes()


PLUG_IN = """
from dataclasses import dataclass

from admmbench.base.algorithm import parameters
from admmbench.base.types import ConsensusState
from admmbench.algorithms.objp import ObjP


@dataclass
class Counted(ConsensusState):
    rounds: int = 0


@parameters
class Counting(ObjP):
    def init(self, federation):
        start = super().init(federation)
        return Counted(start.w, start.z, start.dual, start.chain, start.average)

    def round(self, t, state, federation):
        state.rounds += 1
        assert state.rounds == t
        return super().round(t, state, federation)
"""


def test_a_plug_in_with_variables_of_its_own_goes_on(attempt, tmp_path):
    (tmp_path / "counting.py").write_text(PLUG_IN)
    spec = RunSpec(
        **{**SPEC.model_dump(), "algorithm": str(tmp_path / "counting.py"), "params": {}}
    )
    with pytest.raises(StoppedError):
        attempt(until=13, spec=spec)
    assert attempt(spec=spec) == 13


class Code:
    """Runs where it is unpickled."""

    def __reduce__(self):
        return pytest.fail, ("code in a checkpoint ran",)


def with_code(content):
    """From somebody else's folder."""
    file = io.BytesIO()
    np.savez(file, facts=np.array([Code()], object))
    return file.getvalue()


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:-100],
        lambda content: content[: len(content) // 2],
        lambda content: content[:-2000] + b"x" + content[-1999:],
        lambda content: b"",
        lambda content: b"\x80" + content,
        lambda content: content.replace(b'"epsilon": 1.0', b'"epsilon": 2.0', 1),
        with_code,
    ],
)
def test_a_damaged_one_is_refused(attempt, expected, tmp_path, caplog, damage):
    with pytest.raises(StoppedError):
        attempt(until=20)
    state = tmp_path / "state"
    state.write_bytes(damage(state.read_bytes()))
    assert attempt() == 1
    assert "damaged" in caplog.text
    assert "starting from the first round" in caplog.text
    assert (tmp_path / "x.nc").read_bytes() == expected


@pytest.mark.parametrize("key", ["fingerprint", "versions", "data_checksums", "arithmetic"])
def test_a_stale_one_is_refused(attempt, tmp_path, monkeypatch, caplog, key):
    identity = job._identity
    with pytest.raises(StoppedError):
        attempt(until=20)
    monkeypatch.setattr(job, "_identity", lambda *given: {**identity(*given), key: "another"})
    assert attempt() == 1
    assert f"it was made with {key}" in caplog.text


def test_without_room_for_it_the_run_goes_on(attempt, expected, tmp_path, monkeypatch, caplog):
    from admmbench.jobs import checkpoint

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint, "replacing", full)
    attempt()
    assert "no checkpoint after round 1: [Errno 28] No space left" in caplog.text
    assert (tmp_path / "x.nc").read_bytes() == expected


def test_a_wrong_interval_is_named(monkeypatch):
    monkeypatch.setenv("ADMMBENCH_CHECKPOINT_MINUTES", "soon")
    with pytest.raises(ValueError, match=r"ADMMBENCH_CHECKPOINT_MINUTES.*'soon'"):
        job.checkpoint_minutes()


def test_a_longer_limit_goes_on_where_the_shorter_one_ended(attempt, expected, tmp_path):
    attempt(spec=SPEC.model_copy(update={"time_limit": 1e-9}))
    with xr.open_dataset(tmp_path / "x.nc") as short:
        assert list(short.status.values) == [2, 2]
    assert attempt() == 2
    assert (tmp_path / "x.nc").read_bytes() == expected
    assert np.isfinite(xr.load_dataset(tmp_path / "x.nc").test_error).all()


@dataclass
class Forgetful:
    """State of a method that keeps what no file can hold."""

    w: np.ndarray
    seen: set = field(default_factory=set)


def test_a_state_that_cannot_be_kept_is_refused_before_the_first_round(tmp_path):
    snapshot = Snapshot(0, Forgetful(np.zeros((1, 1, 1))), [], [], Trace([0], [1], {}))
    with pytest.raises(ValueError, match=r"^Forgetful: a state may hold .*, not set$"):
        Checkpoint(tmp_path / "checkpoint", {}, 60).load(snapshot)
