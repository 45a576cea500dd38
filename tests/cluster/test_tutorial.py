"""The tutorial for clusters, up to where it needs one."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.pages import ROOT, blocks, save
from tests.workflow.project import Project

pytestmark = pytest.mark.cluster


def test_the_rehearsal_of_the_tutorial_makes_the_study(tmp_path):
    project = Project(tmp_path / "project")
    for block in blocks(ROOT / "docs/tutorials/cluster.md"):
        if block.file:
            save(block, project.folder)
        elif block.language == "sh":
            path = f"{Path(sys.executable).parent}:{project.environment['PATH']}"
            environment = {**project.environment, "PATH": path}
            done = subprocess.run(
                block.text,
                shell=True,
                cwd=project.folder,
                env=environment,
                text=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
            assert done.returncode == 0, done.stdout
            assert "Submitted job" in project.log
    assert (project.folder / "results/report/quick/index.html").exists()
