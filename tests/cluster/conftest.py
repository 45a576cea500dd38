import sys

import pytest

from tests.cluster.project import SmallProject
from tests.cluster.slurm import Slurm, missing


@pytest.fixture(autouse=True)
def runnable(request):
    if request.node.get_closest_marker("cluster") and " " in sys.executable:
        pytest.skip("Snakemake starts jobs by the interpreter's path and does not quote it")


@pytest.fixture(scope="session")
def local(tmp_path_factory):
    """The study with its report, made on this machine without a cluster."""
    project = SmallProject(tmp_path_factory.mktemp("local") / "project")
    project.locally()
    return project


@pytest.fixture(scope="session")
def slurm(tmp_path_factory):
    reason = missing()
    if reason:
        pytest.skip(reason)
    cluster = Slurm(tmp_path_factory.mktemp("slurm"))
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()
