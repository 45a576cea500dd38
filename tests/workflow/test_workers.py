"""Workers of a study: many short runs in few processes, and none of them is left."""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tests.workflow.project import wait_for

MODULE = """
configfile: "config/config.yaml"

module suite:
    snakefile: "workflow/Snakefile"
    config: config

use rule * from suite
"""


def call(project, folder, cores, **changes):
    project.configure(epsilon=[0.5, 1], algorithms=[{"name": "objp", "label": "ObjP"}], **changes)
    return subprocess.Popen(
        [sys.executable, "-m", "snakemake", "--cores", str(cores), *project.command()[5:]],
        cwd=project.folder,
        env={**project.environment, "TMPDIR": str(folder)},
        text=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
    )


def processes(folder):
    return subprocess.run(
        ["pgrep", "-f", f"jobs.work {folder}"], text=True, stdout=-1
    ).stdout.split()


@pytest.mark.parametrize("snakefile", [None, MODULE], ids=["clone", "module"])
def test_runs_share_a_worker_that_ends_with_the_study(project, snakefile):
    if snakefile:
        (project.folder / "Snakefile").unlink()
        (project.folder / "Snakefile").write_text(snakefile)
    with tempfile.TemporaryDirectory(prefix="w-") as name:
        folder, seen = Path(name), set()
        process = call(project, folder, 1, seed_blocks=[1, 1, 1, 1])
        while process.poll() is None:
            seen |= {*processes(folder)}
            time.sleep(0.05)
        assert process.returncode == 0
        assert len(project.results("objp")) >= 8
        # The first one ends if it had to compile, as its code is younger then.
        assert 1 <= len(seen) <= 2
        wait_for(lambda: not processes(folder))
        assert not list(folder.glob("admmbench-*"))
