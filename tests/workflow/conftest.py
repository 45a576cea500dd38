import pytest

from tests.workflow.project import Project


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """A project whose study has been run; its path has a space."""
    project = Project(tmp_path_factory.mktemp("pipeline") / "a project")
    project.run()
    return project


@pytest.fixture
def project(finished, tmp_path):
    """A copy of it to change."""
    return finished.copy(tmp_path / "copy of it")
