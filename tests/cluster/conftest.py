import sys

import pytest

from tests.cluster.slurm import Slurm, missing


@pytest.fixture(autouse=True)
def runnable(request):
    if request.node.get_closest_marker("cluster") and " " in sys.executable:
        pytest.skip("Snakemake starts jobs by the interpreter's path and does not quote it")


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
