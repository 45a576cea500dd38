"""What goes wrong on real machines: a clear message, nothing lost, and the same files in the end."""

import contextlib
import hashlib
import os
import shutil
import signal
import subprocess
import time

import pytest
import yaml

from admmbench.datasets import describe
from admmbench.files import checksummed_json, read_checksummed, write
from admmbench.watch.damage import RECORD, _file_state
from tests.plugins import write_method
from tests.workflow.project import STUDY, Project, assert_same, kill, wait_for

pytestmark = pytest.mark.slow

FAULTY = """
def round(self, t, state, federation):
    if t == 3:
        {fault}
    return super().round(t, state, federation)
"""
SCALE = {"rounds": 1, "seeds": 1, "agents": 1, "n_train": 1}
CLAIM = {
    "id": "mine-error",
    "experiment": "tiny",
    "kind": "value",
    "statement": "ObjP has an error of 10 %.",
    "source": "table 1",
    "metric": "test_eror",
    "algorithm": "ObjP",
    "epsilon": 0.5,
    "published": 10,
    "tolerance": 1,
    "unit": "%",
}
# The digits with one pixel that is no number.
UNREADABLE = """
import numpy as np

from admmbench.datasets.digits import Digits


class Unreadable(Digits):
    name = "unreadable"

    def read(self, info, paths):
        arrays = super().read(info, paths)
        arrays.X_train[7, 7] = np.nan
        return arrays
"""


def untouched(project):
    """Runs that are there, with times and content."""
    return {
        path: (path.stat().st_mtime_ns, path.read_bytes())
        for path in project.folder.glob("results/runs/*/*/*.nc")
    }


def nothing_half_written(project):
    return not [path for path in project.folder.glob("results/**/.*.tmp") if path.is_file()]


@pytest.fixture
def disk(project):
    """The results folder on a disk of its own; a function gives it other options."""
    results = project.folder / "results"
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=10m", "tmpfs", str(results)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("mounting a disk needs root")

    def remount(options):
        subprocess.run(["mount", "-o", f"remount,{options}", str(results)], check=True)

    yield remount
    subprocess.run(["umount", "--lazy", str(results)], check=True)


def test_a_disk_that_is_read_only_and_then_full(project, finished, disk):
    disk("ro")
    assert "Read-only file system" in project.fails()
    disk("rw,size=64k")  # room for messages, not for a trace
    assert "No space left on device" in project.fails()
    assert nothing_half_written(project)
    disk("size=10m")
    project.run()
    assert_same(project.files(), finished.files())


def flipped(content):
    """With one bit in the middle that is another one."""
    half = len(content) // 2
    return content[:half] + bytes([content[half] ^ 1]) + content[half + 1 :]


# Ways to damage a file.
DAMAGES = {
    "one bit": flipped,
    "truncated": lambda content: content[: len(content) // 2],
    "empty": lambda content: b"",
}


def damage(path, how, old):
    """Damage a file, which is then as old as it was, or new."""
    before = path.stat()
    path.write_bytes(DAMAGES[how](path.read_bytes()))
    if old:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


# What a study makes, and what has to be made again where it is damaged; and files with which it is the same.
FOLLOWS = {
    "results/tiny/results.nc": {"aggregate", "figures", "report", "overview"},
    "results/tiny/manifest.json": {"define", "aggregate", "figures", "report", "overview"},
    "results/tiny/figures.json": {"define", "figures", "report", "overview"},
    "results/tiny/figures/error.svg": {"figures", "report", "overview"},
    "results/report/tiny/index.html": {"report", "overview"},
    "results/report/index.html": {"overview"},
    "resources/datasets/digits/X_train.npy": set(),
}
OTHERS = [
    *(f"results/tiny/figures/error.{suffix}" for suffix in ("pdf", "png")),
    *(f"resources/datasets/digits/{name}" for name in ("X_test.npy", "dataset.json")),
]


@pytest.mark.parametrize("name", FOLLOWS)
def test_what_follows_from_a_damaged_file_is_made_again(project, name):
    """Also if it is not newer than before; a dry run says so and makes nothing."""
    path = project.folder / name
    damage(path, "one bit", old=True)
    before = path.read_bytes()
    assert project.planned_jobs() == FOLLOWS[name]
    assert path.read_bytes() == before


@pytest.mark.parametrize(("how", "old"), [("one bit", True), ("empty", False)])
def test_damaged_files_are_made_again_by_the_same_command(project, finished, how, old):
    """One run, and all files that a study makes at the end; other runs stay."""
    (run,) = project.results("objp")
    data = project.folder / "resources/datasets/digits"
    before = untouched(project)
    for path in (run, *(project.folder / name for name in (*FOLLOWS, *OTHERS))):
        damage(path, how, old)
    shown = project.run()
    assert "is incomplete, altered or of an earlier version; it is made again" in shown
    assert_same(project.files(), finished.files())
    for path in (finished.folder / "resources/datasets/digits").iterdir():
        assert (data / path.name).read_bytes() == path.read_bytes()
    assert {path for path, state in untouched(project).items() if state != before[path]} == {run}
    assert "Nothing to be done" in project.run()


def test_what_is_damaged_while_a_study_runs_fails_one_job_and_is_made_by_the_next_call(project):
    """As a disk does that loses something without a trace: for the first call the file is whole."""
    (path,) = project.results("objp")
    project.run()
    damage(path, "truncated", old=False)
    with contextlib.chdir(project.folder):
        state = {str(path.relative_to(project.folder)): _file_state(path)}
        write(RECORD, checksummed_json({**read_checksummed(RECORD), **state}))
    shown = project.fails()
    assert f"{path.relative_to(project.folder)}: cannot be read as results" in shown
    assert "the command that made it, such as `admmbench study`, makes it again" in shown
    assert "delete" not in shown
    assert "nothing is missing" not in shown
    project.run()
    assert "Nothing to be done" in project.run()


def test_joined_results_that_are_damaged_are_missing_in_the_report_of_what_exists(project):
    """Though all runs that they are made from are there."""
    words = ["report", "results/tiny", "--keep-what-exists", "--output", "x.html"]
    said = {}
    for state in ("whole", "damaged", "gone"):
        path = project.folder / "results/tiny/results.nc"
        if state == "damaged":
            damage(path, "truncated", old=False)
        elif state == "gone":
            path.unlink()
        said[state] = project.admmbench(*words)
    assert "nothing is missing in it" in said["whole"]
    assert "names what is missing" in said["damaged"]
    assert "names what is missing" in said["gone"]


def test_a_study_of_results_alone_that_fails_names_its_failed_runs(project):
    """It has no file of figures yet."""
    (run,) = project.results("objp")
    run.unlink()
    for name in ("results.nc", "figures.json"):
        (project.folder / "results/tiny" / name).unlink()
    words = ["report", "results/tiny", "--keep-what-exists", "--output", "x.html"]
    assert "names what is missing" in project.admmbench(*words)
    page = (project.folder / "x.html").read_text("utf-8")
    assert '<td data-label="Missing">ObjP' in page
    assert "figures.json" not in page


def test_a_study_that_is_killed_while_it_makes_a_damaged_file_again(project, finished):
    """Snakemake has removed the file by then, and results that need it are there."""
    (path,) = project.results("objp")
    damage(path, "one bit", old=True)
    started = project.start()
    wait_for(lambda: not path.exists())
    kill(started)
    project.snakemake("--unlock")
    project.run()
    assert_same(project.files(), finished.files())


def test_stopped_at_any_moment_it_ends_in_the_same_files(tmp_path, finished):
    """A second Snakemake waits; one that is asked to end needs no unlocking; one that is killed does."""
    project = Project(tmp_path / "stopped")
    first = project.start()
    wait_for(lambda: list(project.folder.glob("results/runs/*/*/logs/*.log")))
    # A fast machine would end the study before the second one has begun.
    os.killpg(first.pid, signal.SIGSTOP)
    shown = project.fails()
    os.killpg(first.pid, signal.SIGCONT)
    assert "is locked: another Snakemake works in it" in shown
    # Snakemake's handler waits for ever for a lock that its main thread has while it starts jobs.
    time.sleep(1)
    kill(first, signal.SIGTERM)
    assert nothing_half_written(project)
    second = project.start()
    wait_for(lambda: list(project.folder.glob("results/runs/*/*/*.nc")))
    assert second.poll() is None
    kill(second)
    assert project.files().keys() < finished.files().keys()
    project.snakemake("--unlock")
    project.run("--", "results")
    wanted = {name: file for name, file in finished.files().items() if name.endswith(".nc")}
    assert_same(project.files(), wanted)


def offline(**more):
    """An environment without a network: its proxy does not answer."""
    proxy = "http://127.0.0.1:9"
    return {"https_proxy": proxy, "http_proxy": proxy, "ADMMBENCH_MIRROR": "", **more}


def test_no_network(project):
    before = untouched(project)
    project.configure(dataset="mnist")
    shown = project.fails(**offline())
    assert "train-images-idx3-ubyte" in shown
    assert "https://" in shown
    assert "ADMMBENCH_MIRROR" in shown
    assert "Traceback" not in shown
    assert untouched(project) == before
    assert not list(project.folder.glob("resources/datasets/*mnist*"))


def test_what_cannot_be_had_is_a_row_of_the_report(project, finished):
    """All data are asked for before the first run begins; one that is not there costs its own experiment alone."""
    shutil.rmtree(project.folder / "resources/datasets")
    overlay, away = (
        project.folder / "config" / name for name in ("tiny.yaml", "experiments/away.yaml")
    )
    away.write_text(yaml.safe_dump({**STUDY, "title": "Away", "dataset": "mnist"}))
    overlay.write_text("experiments: [away, tiny]\n")
    project.configure(epsilon=[0.5, 1])
    shown = project.fails(**offline())
    log = project.log
    assert log.rindex("localrule prepare:") < log.index("localrule run_digits_objp")
    assert "--keep-what-exists" in shown
    assert '<td data-label="Missing">all runs</td>' in project.report_page
    assert "no data: cannot get train-images-idx3-ubyte" in project.report_page
    assert 'id="tiny-figures"' in project.report_page
    assert (project.folder / "results/tiny/results.nc").exists()
    overlay.write_text("experiments: [tiny]\n")
    project.configure()
    project.run()
    assert project.report_page == finished.report_page


def test_a_table_of_a_figure_that_was_deleted_is_made_again(project, finished):
    (project.folder / "results/tiny/figures/error.csv").unlink()
    project.run()
    assert_same(project.files(), finished.files())


def test_claims_are_checked_before_the_first_job(project):
    claims = {"paper": "mine", "scale": {"tiny": SCALE}, "claims": [CLAIM]}
    (project.folder / "config/claims/own.yaml").write_text(yaml.safe_dump(claims))
    project.configure(epsilon=[0.5, 1])
    before = untouched(project)
    assert "unknown metric 'test_eror'" in project.fails()
    assert untouched(project) == before


def test_a_mirror_that_serves_wrong_bytes(project, tmp_path):
    project.configure(dataset="mnist")
    path = tmp_path / "mirror" / describe("mnist").files[0].mirror_path
    path.parent.mkdir(parents=True)
    path.write_bytes(b"<html>not found</html>")
    shown = project.fails(**offline(ADMMBENCH_MIRROR=str(tmp_path / "mirror")))
    assert f"{path}: wrong content" in shown
    assert hashlib.sha256(path.read_bytes()).hexdigest() in shown


def test_data_with_a_value_that_is_no_number(project):
    (project.folder / "unreadable.py").write_text(UNREADABLE)
    project.configure(dataset="unreadable.py")
    shown = project.fails()
    assert "unreadable, training part: features in [nan, nan]" in shown
    assert not list(project.folder.glob("resources/datasets/unreadable*"))


def test_methods_that_fail(project, finished):
    """One that is killed, as the kernel does when memory runs out; one that asks for too much; one that raises.

    The author of the last one gets the traceback. The other methods' runs stay, and the study ends as if nothing had
    been once these methods are gone.
    """
    faults = {
        "Killed": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
        "Greedy": "import numpy; numpy.ones(2**40)",
        "Faulty": "raise KeyError('gamma')",
    }
    for label, fault in faults.items():
        write_method(project.folder / f"{label.lower()}.py", FAULTY.format(fault=fault))
    added = [{"name": f"{label.lower()}.py", "label": label} for label in faults]
    project.configure(algorithms=[*STUDY["algorithms"], *added])
    before = untouched(project)
    shown = project.fails("--keep-going")
    assert "✗ Killed, epsilon=0.5+seeds=0-1 failed" in shown
    assert "out of memory" in shown
    assert "seed_block" in shown
    assert "Faulty.round raised in round 3: KeyError: 'gamma'" in shown
    assert 'faulty.py", line 9, in round' in shown
    assert shown.count("Traceback") == 1
    assert untouched(project) == before
    assert nothing_half_written(project)
    for row, why in {
        "Killed at ε = 0.5": "ended without a message",
        "Greedy at ε = 0.5": "out of memory",
        "Faulty at ε = 0.5": "Faulty.round raised in round 3: KeyError: &#39;gamma&#39;",
    }.items():
        assert f'{row}</td><td data-label="Why" class="lines">{why}' in project.report_page
    project.configure()
    project.run()
    assert_same(project.files(), finished.files())
