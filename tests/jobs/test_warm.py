"""Warm workers: a job of a worker is the job of a process of its own."""

import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from admmbench.jobs import warm
from tests.workflow.project import wait_for

METHOD = """
from admmbench.algorithms.objp import ObjP
class Mine(ObjP):
    'Another step.'
    def schedule(self, sub):
        {body}
        return super().schedule(sub)
"""


class Jobs:
    """Jobs of a study, called as its rules call them, in a folder of their own."""

    def __init__(self, folder, prepared, workers):
        self.folder, self.prepared, self.workers = folder, prepared, workers

    def start(self, *words, workers=True, **environment):
        of_run = ["dataset=digits", "agents=3", "epsilon=1", "seeds=0-1"]
        files = [f"--data={self.prepared}", "--checkpoint", str(self.folder / "state")]
        variable = {warm.VARIABLE: str(self.workers) if workers else ""}
        return subprocess.Popen(
            [sys.executable, "-m", "admmbench", "run", *of_run, *words, *files],
            cwd=self.folder,
            env={**os.environ, "ADMMBENCH_CHECKPOINT_MINUTES": "0.0005", **variable, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, name, *words, algorithm="objp", rounds=3, **more):
        """Status, output and errors of a job, and the bytes of its result."""
        of_job = [f"algorithm={algorithm}", f"rounds={rounds}", f"--output={name}.nc"]
        process = self.start(*of_job, *words, **more)
        output, errors = process.communicate(timeout=120)
        file = self.folder / f"{name}.nc"
        return process.returncode, output, errors, file.read_bytes() if file.exists() else b""

    @property
    def idle(self):
        """Processes of workers that wait."""
        return {int(path.stem) for path in self.workers.glob("*/*.idle")}

    def settled(self):
        """Processes of workers that wait, once one does."""
        wait_for(lambda: self.idle)
        return self.idle


def lives(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture
def jobs(tmp_path, prepared):
    # A socket's path is short.
    workers = Path(tempfile.mkdtemp(prefix="admmbench-"))
    yield Jobs(tmp_path, prepared, workers)
    for worker in {int(path.stem) for path in workers.glob("*/*.idle")}:
        os.kill(worker, signal.SIGKILL)
    shutil.rmtree(workers, ignore_errors=True)


def test_one_worker_makes_the_runs_that_processes_make(jobs):
    cold = [jobs.run(f"cold{k}", rounds=k, workers=False) for k in (3, 5)]
    first = jobs.run("warm3", rounds=3)
    worker = jobs.settled()
    second = jobs.run("warm5", rounds=5)
    assert jobs.settled() == worker
    for mine, theirs in zip((first, second), cold, strict=True):
        assert mine[0] == theirs[0] == 0
        assert mine[1].replace("warm", "cold") == theirs[1] != ""
        assert mine[3] == theirs[3] != b""
    assert not jobs.idle & {os.getpid()}


def test_jobs_at_once_have_a_worker_each(jobs):
    jobs.run("first")
    jobs.settled()
    started = [jobs.start("algorithm=objp", "rounds=200", f"--output={k}.nc") for k in range(2)]
    assert [process.wait(timeout=120) for process in started] == [0, 0]
    wait_for(lambda: len(jobs.idle) == 2)


def test_a_worker_is_for_jobs_with_its_environment(jobs):
    jobs.run("first")
    worker = jobs.settled()
    jobs.run("second", OMP_NUM_THREADS="1")
    wait_for(lambda: len(jobs.idle) == 2)
    assert worker < jobs.idle


def test_a_mistake_is_told_and_ends_the_worker(jobs):
    jobs.run("first")
    worker = jobs.settled()
    status, _, errors, _ = jobs.run("second", "epsilon=-1")
    assert status == 1
    assert "epsilon" in errors
    assert "Traceback" not in errors
    wait_for(lambda: not any(map(lives, worker)))
    assert not jobs.idle
    assert jobs.run("third")[0] == 0


@pytest.mark.parametrize("option", ["--no-such-option", "--device"])
def test_words_that_no_command_takes(jobs, option):
    status, _, errors, _ = jobs.run("x", option)
    assert status == 2
    assert option in errors


def test_a_kill_of_the_job_is_one_of_its_worker(jobs):
    process = jobs.start("algorithm=objp", "rounds=100000", "--output=x.nc")
    wait_for((jobs.folder / "state").exists)
    (child,) = subprocess.check_output(
        ["pgrep", "-f", f"jobs.work {jobs.workers}"], text=True
    ).split()
    process.kill()
    process.communicate()
    wait_for(lambda: not lives(int(child)))
    assert not (jobs.folder / "x.nc").exists()
    # The next one goes on from its checkpoint.
    process = jobs.start("algorithm=objp", "rounds=100000", "--output=x.nc")
    state = (jobs.folder / "state").stat().st_mtime_ns
    wait_for(lambda: (jobs.folder / "state").stat().st_mtime_ns != state)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate()
    assert "going on after round" in errors
    assert "stopped by SIGTERM after round" in errors
    assert process.returncode == 1


def saved(path):
    """When a checkpoint was written; 0 if there is none."""
    return path.stat().st_mtime_ns if path.exists() else 0


@pytest.mark.slow
def test_killed_at_random_moments_a_run_ends_in_the_same_bytes(jobs):
    given = {"rounds": 2500, "workers": False}
    *_, undisturbed = jobs.run("undisturbed", "evaluate_every=2500", **given)
    words = ["algorithm=objp", "rounds=2500", "evaluate_every=2500", "--output=killed.nc"]
    moments, state = random.Random(0), jobs.folder / "state"

    def kill_after_a_checkpoint():
        last = saved(state)
        process = jobs.start(*words, workers=False)
        wait_for(lambda: saved(state) > last)
        time.sleep(moments.uniform(0, 0.3))
        process.kill()
        process.communicate()

    for _ in range(3):
        kill_after_a_checkpoint()
    assert not (jobs.folder / "killed.nc").exists()
    _, _, errors, killed = jobs.run("killed", "evaluate_every=2500", **given)
    assert "going on after round" in errors
    assert killed == undisturbed != b""


def test_a_worker_that_is_killed_is_a_job_that_is_killed(jobs):
    (jobs.folder / "mine.py").write_text(METHOD.format(body="import os; os.kill(os.getpid(), 9)"))
    assert jobs.run("x", algorithm="mine.py")[0] == 128 + signal.SIGKILL


def test_a_plug_in_is_loaded_anew_for_each_job(jobs):
    """Its module may have a state, and its file may change."""
    body = "DRAWN.append(1); return {'inverse_eta': 1.0 * len(DRAWN)}"
    (jobs.folder / "mine.py").write_text("DRAWN = []\n" + METHOD.format(body=body))
    first = jobs.run("first", algorithm="mine.py")
    assert first[3] == jobs.run("second", algorithm="mine.py")[3] != b""
    assert not jobs.idle


def test_changed_code_needs_a_new_worker(monkeypatch, tmp_path):
    """Also code that only a fingerprint has read."""
    place, other = tmp_path / "admmbench/jobs/warm.py", tmp_path / "admmbench/other.py"
    loaded = tmp_path / "module.py"
    place.parent.mkdir(parents=True)
    for file in (other, loaded):
        file.write_text("")
    monkeypatch.setattr(warm, "__file__", str(place))
    monkeypatch.setattr(warm, "sys", SimpleNamespace(modules={"module": SimpleNamespace()}))
    assert warm.is_current(time.time_ns() + 1)
    for change in (other.unlink, lambda: loaded.write_text("x = 1")):
        time.sleep(0.05)
        before = time.time_ns()
        warm.sys.modules["module"].__file__ = str(loaded)
        assert warm.is_current(before)
        time.sleep(0.05)
        change()
        assert not warm.is_current(before)


def test_workers_end_with_their_study(jobs):
    jobs.run("first")
    (worker,) = jobs.settled()
    for path in [*jobs.workers.glob("*/*"), *jobs.workers.glob("*"), jobs.workers]:
        path.rmdir() if path.is_dir() else path.unlink()
    wait_for(lambda: not lives(worker))
    assert jobs.run("second")[0] == 0  # without workers


def test_studies_that_a_process_calls_share_a_folder_of_workers(monkeypatch):
    monkeypatch.delenv(warm.VARIABLE, raising=False)
    with warm.shared_workers():
        folder = Path(os.environ[warm.VARIABLE])
        assert folder.is_dir()
        with warm.shared_workers():
            assert os.environ[warm.VARIABLE] == str(folder)
    assert warm.VARIABLE not in os.environ
    assert not folder.exists()


def test_a_socket_without_a_worker_is_passed_over(jobs):
    jobs.run("first")
    (worker,) = jobs.settled()
    os.kill(worker, signal.SIGKILL)
    wait_for(lambda: not lives(worker))
    assert jobs.run("second")[0] == 0
    assert worker not in jobs.settled()


def test_a_worker_whose_first_words_fail_leaves_the_job_to_its_own_process(jobs, monkeypatch):
    """Such as one that cannot be started."""
    monkeypatch.setenv(warm.VARIABLE, str(jobs.workers))
    ours, theirs = socket.socketpair()
    theirs.close()
    monkeypatch.setattr(warm, "_workers", lambda folder: iter([ours]))
    assert warm.call(["run"]) is None


def test_other_commands_and_devices_have_processes_of_their_own(jobs, monkeypatch):
    monkeypatch.setenv(warm.VARIABLE, str(jobs.workers))
    monkeypatch.setattr(warm, "_workers", None)
    for words in (
        [],
        ["describe", "digits"],
        ["run", "--device", "cuda"],
        ["audit", "--device=cuda"],
    ):
        assert warm.call(words) is None
