import os

import pytest
from filelock import FileLock

from tests.workflow.project import Project


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """A project whose study has been run; its path has a space. Processes share it: only read it."""
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    folder, done = base / "a finished project", base / "finished"
    with FileLock(base / "finished.lock"):
        if done.exists():
            return Project.found(folder)
        project = Project(folder)
        project.run()
        done.touch()
        return project


@pytest.fixture
def project(finished, tmp_path):
    """A copy of it to change."""
    return finished.copy(tmp_path / "copy of it")
