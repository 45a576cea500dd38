"""The generic profile, as the tutorial for clusters rehearses it."""

import sys
from pathlib import Path

import pytest

from tests.cluster.project import SmallProject
from tests.pages import ROOT, blocks, save
from tests.workflow.project import assert_same, call

pytestmark = pytest.mark.cluster

# Jobs get no environment, but for the processor that products are made for: another one rounds otherwise.
NOTHING = 'env -i $(env | grep ^OPENBLAS_) PATH="$PATH" HOME="$HOME" PYTHONPATH="$PYTHONPATH" '


def replaced(text, old, new):
    assert text.count(old) == 1
    return text.replace(old, new)


def test_the_rehearsal_of_the_tutorial_gives_the_same_files_as_without_a_cluster(local, tmp_path):
    """With a smaller study than the page's, and with a submit command that hands on no environment."""
    project = SmallProject(tmp_path / "project")
    path = f"{Path(sys.executable).parent}:{project.environment['PATH']}"
    called = 0
    for block in blocks(ROOT / "docs/tutorials/cluster.md"):
        if block.file:
            assert block.file == "submit.sh"
            save(block._replace(text=replaced(block.text, "sh ", f"{NOTHING}sh ")), project.folder)
        elif block.language == "sh":
            words = replaced(block.text, "config/quick.yaml", "config/tiny.yaml").strip()
            line = f"{words} --seconds-between-status-checks 1"
            environment = {**project.environment, "PATH": path}
            done = call(line, project.folder, environment, shell=True)
            assert done.returncode == 0, done.stdout
            assert "Submitted job" in project.log
            called += 1
    assert called == 1
    assert_same(project.files(), local.files())
