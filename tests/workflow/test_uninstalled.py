"""A clone where Snakemake is installed and the package is not."""

import os

import pytest

from tests.wheel import environment
from tests.workflow.project import Project, call


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    return environment(tmp_path_factory.mktemp("environment"))


@pytest.mark.parametrize(
    ("options", "status", "last"),
    [
        (["--lint"], 0, "Congratulations, your workflow is in a good condition!"),
        (["--cores", "1", "--dry-run"], 0, "This was a dry-run"),
        (["--cores", "1"], 1, "__onstart"),
    ],
)
def test_snakemake_alone_says_what_to_install(python, options, status, last, tmp_path):
    clone = Project(tmp_path / "clone").folder
    without = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = call([python, "-m", "snakemake", *options], clone, without)
    assert done.returncode == status, done.stdout
    _, line, *_, end = done.stdout.splitlines()
    assert line == "admmbench is not installed here: run `make env` or `pip install .` first."
    assert last in end
