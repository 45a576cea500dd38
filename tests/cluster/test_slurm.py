"""The Slurm profile on a real Slurm: the same bytes as on this machine, limits, cancelled jobs, edited code."""

import os
import re
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from tests.cluster.project import ARRAY, OBJP, SmallProject
from tests.device import simulated
from tests.plugins import write_method
from tests.wheel import install
from tests.workflow.own import OwnFolder
from tests.workflow.project import ROOT, assert_same, call, wait_for

pytestmark = pytest.mark.cluster
# A cluster with accounting needs none of these; short intervals, as nobody else waits for this controller.
PROFILE = ["--profile", "workflow/profiles/slurm"]
OPTIONS = [
    "--slurm-no-account",
    *("--slurm-status-command", "squeue", "--slurm-init-seconds-before-status-checks", "1"),
    *("--seconds-between-status-checks", "1", "--latency-wait", "10"),
]
# At epsilon 0.25 it sleeps so long that a job of one minute does not finish.
SLOW = """
def round(self, t, state, federation):
    import time

    if federation.privacy.epsilon == 0.25:
        time.sleep(4.5)
    return super().round(t, state, federation)
"""
# A job that has a GPU of Slurm's finds a simulated one there.
WITH_GPU = """
import os

if "CUDA_VISIBLE_DEVICES" in os.environ:
    os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
    from tests.device import simulated

    simulated.install()
"""


def impatiently(python, folder, *options):
    """Words of a call of Snakemake that does not wait longer and longer for its jobs."""
    shutil.copy(Path(__file__).with_name("impatient.py"), folder)
    return [str(python), "-m", "impatient", *options]


class SlurmProject(SmallProject):
    """A copy of the project whose jobs go to Slurm."""

    def command(self, *options):
        words = [*PROFILE, *OPTIONS, "--configfile", "config/tiny.yaml", *options]
        return impatiently(sys.executable, self.folder, *words)


class OwnSlurmFolder(OwnFolder):
    """A folder of one's own whose jobs go to Slurm."""

    def command(self, *options):
        words = ["--profile", "profiles/slurm", *OPTIONS, *options]
        return impatiently(self.python, self.folder, *words)


def unfinished(project, folder):
    """A copy of a finished project, with its prepared data and without any run."""
    shutil.copytree(project.folder, folder, symlinks=True)
    shutil.rmtree(folder / "results")
    return folder


def jobs(slurm):
    """What Slurm knows of each job, by name."""
    lines = slurm.call("scontrol", "--oneliner", "show", "job").splitlines()
    return [dict(re.findall(r"(\S+?)=(\S*)", line)) for line in lines if "JobId=" in line]


@pytest.fixture
def prepared(local, slurm, tmp_path):
    return SlurmProject.found(unfinished(local, tmp_path / "copy"))


@contextmanager
def drained(slurm):
    """Jobs are queued and do not start."""
    node = slurm.call("sinfo", "--noheader", "--format=%n").strip()
    slurm.call("scontrol", "update", f"NodeName={node}", "State=DRAIN", "Reason=test")
    try:
        yield
    finally:
        slurm.call("scontrol", "update", f"NodeName={node}", "State=RESUME")


@contextmanager
def submitted(slurm, project, targets):
    """Snakemake with its runs in the queue of a drained node."""
    with drained(slurm):
        with (project.folder / "out").open("w") as out:
            started = subprocess.Popen(
                project.command("--retries", "0", *targets),
                cwd=project.folder,
                env=project.environment,
                stdout=out,
                stderr=subprocess.STDOUT,
            )
        pending = ("squeue", "--array", "--noheader", "--states=PENDING")
        wait_for(
            lambda: started.poll() is not None or slurm.call(*pending).count("\n") == 2,
            seconds=300,
        )
        assert started.poll() is None
        yield
    assert started.wait() != 0
    assert "failed" in (project.folder / "out").read_text()


def test_the_study_gives_the_same_files_as_without_a_cluster(slurm, local, tmp_path):
    project = SmallProject(tmp_path / "project")
    words = ["-m", "admmbench", "study", "config/tiny.yaml", *PROFILE, *OPTIONS]
    done = project.call(sys.executable, *words, "--", "results")
    assert done.returncode == 0, done.stdout
    assert re.search(r"^(\d+) of \1 jobs in ", done.stdout, re.MULTILINE), done.stdout
    results = {name: data for name, data in local.files().items() if name.endswith(".nc")}
    assert_same(project.files(), results)
    states = ("squeue", "--states=all", "--array", "--noheader", "--format=%K %T")
    # Members of an array; the controller may be too busy to answer at once.
    wait_for(
        lambda: {"1 COMPLETED", "2 COMPLETED"} <= set(slurm.call(*states).splitlines()), seconds=60
    )


def test_code_that_was_edited_after_submission_is_refused(slurm, prepared, local):
    original = prepared.folder / "src/admmbench/algorithms/objp.py"
    with submitted(slurm, prepared, ARRAY):
        prepared.edit(
            "algorithms/objp.py", "self.inverse_eta(sub.t)", "2 * self.inverse_eta(sub.t)"
        )
    logs = [path.read_text() for path in prepared.folder.glob("results/runs/*/objp-*/logs/*.log")]
    assert len(logs) == 2
    for log in logs:
        assert "the code of this job changed after it was planned" in log
    assert not prepared.results("objp")
    shutil.copy(local.folder / original.relative_to(prepared.folder), original)
    prepared.locally("--", *ARRAY)
    for run in ARRAY:
        assert (prepared.folder / run).read_bytes() == (local.folder / run).read_bytes()


def test_jobs_over_their_limits_are_reported_and_tried_again_with_more(slurm, prepared):
    write_method(prepared.folder / "slow.py", SLOW)
    methods = [OBJP, {"name": "slow.py", "label": "Slow"}]
    prepared.configure(algorithms=methods, epsilon=[0.25, 0.5])
    wanted = [run for run in prepared.planned() if "slow" in run or "epsilon=0.5" in run]
    rules = {
        name: f"run_digits_{folder.replace('-', '_')}"
        for folder in {run.split("/")[1] for run in wanted}
        for name in [folder.partition("-")[0]]
    }
    done = prepared.snakemake(
        *("--set-resources", f"{rules['objp']}:mem_mb=100*attempt**4"),
        *(f"{rules['slow']}:runtime=attempt**2", "--"),
        *(f"results/runs/{run}.nc" for run in wanted),
    )
    assert done.returncode == 0, done.stdout
    logs = {
        name: [
            path.read_text()
            for path in (prepared.folder / f".snakemake/slurm_logs/rule_{rule}").rglob("*.log")
        ]
        for name, rule in rules.items()
    }
    stopped = {
        name: sum(bool(re.search("xceeded.* memory limit|DUE TO TIME LIMIT", log)) for log in found)
        for name, found in logs.items()
    }
    assert stopped["objp"] == 1
    # On a busy machine, the other member of the slow one's array may take a minute to start.
    assert stopped["slow"] in (1, 2)
    assert prepared.log.count("Trying to restart job") == sum(stopped.values())
    # The second attempt went on where the first was stopped.
    (log,) = prepared.folder.glob("results/runs/digits/slow-*/logs/epsilon=0.25*.log")
    assert "going on after round" in log.read_text()


def test_a_folder_of_one_s_own_is_cancelled_and_goes_on_and_gives_the_same_files(slurm, tmp_path):
    """With the workflow of a wheel."""
    python = install(tmp_path)
    local = OwnFolder(tmp_path / "local", python)
    study = local.folder / "config/experiments/my_study.yaml"
    text = study.read_text()
    assert "epsilon: [0.1, 1]" in text
    study.write_text(text.replace("epsilon: [0.1, 1]", "epsilon: [1]"))
    local.run()
    own = OwnSlurmFolder.found(unfinished(local, tmp_path / "own"))
    own.python = python
    with submitted(slurm, own, ["results"]):
        slurm.call("scancel", "--user=root")
    assert not own.made()
    done = own.snakemake()
    assert done.returncode == 0, done.stdout
    assert_same(own.files(), local.files())
    assert ">Mine<" in own.page()


@pytest.mark.skipif(os.cpu_count() == 1, reason="needs two cores, for two jobs at a time")
def test_runs_of_several_methods_share_a_gpu(slurm, tmp_path):
    project = SlurmProject(tmp_path / "project")
    own_gpus = {"CUDA_VISIBLE_DEVICES", "NUMBA_ENABLE_CUDASIM"}
    outside = {name: value for name, value in project.environment.items() if name not in own_gpus}
    small = {"agents": 2, "rounds": 2, "evaluate_every": 1, "epsilon": [0.5]}
    project.configure(**small)
    (project.folder / "sitecustomize.py").write_text(WITH_GPU)
    places = (project.folder, project.folder / "src", ROOT)
    targets = [f"results/runs/{run}.nc" for run in sorted(project.planned())]
    before = {job["JobId"] for job in jobs(slurm)}
    options = ["--retries", "0", "--config", "device=cuda", "gres=shard:1", "--", *targets]
    environment = {**outside, "PYTHONPATH": os.pathsep.join(map(str, places))}
    done = call(project.command(*options), project.folder, environment)
    assert done.returncode == 0, done.stdout
    runs = [
        job
        for job in jobs(slurm)
        if job["JobId"] not in before and job["Comment"].startswith("rule_run")
    ]
    methods = {method for method in ("objp", "outp") for job in runs if method in job["Comment"]}
    assert methods == {"objp", "outp"}
    asked = [re.split("[:/=]", job["TresPerNode"]) for job in runs]
    assert asked == [["gres", "shard", "1"]] * 2
    # At the same time.
    assert max(job["StartTime"] for job in runs) < min(job["EndTime"] for job in runs)
    own = SmallProject(tmp_path / "own")
    own.configure(**small)
    own.locally("--", *targets)
    for target in targets:
        gpu, cpu = (xr.load_dataset(each.folder / target) for each in (project, own))
        assert gpu.arithmetic.startswith(simulated.NAME)
        for name in ("test_error", "train_loss"):
            np.testing.assert_allclose(gpu[name], cpu[name], rtol=1e-5)
