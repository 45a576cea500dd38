"""Copies of the project on one machine share what they made, through Snakemake's between-workflow cache."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.workflow.project import RUNS, STUDY, Project

pytestmark = pytest.mark.slow


class SharingProject(Project):
    """A copy of the project that shares data and runs."""

    def command(self, *options):
        return super().command("--cache", "--config", "cache_runs=true", *options)


@pytest.fixture
def shared(tmp_path, monkeypatch):
    """The cache's folder."""
    folder = tmp_path / "shared"
    folder.mkdir()
    monkeypatch.setenv("SNAKEMAKE_OUTPUT_CACHE", str(folder))
    return folder


def computed(project):
    """Number of runs that this copy did itself; Snakemake leaves empty logs for the others."""
    return sum(bool(log.read_text()) for log in project.folder.glob("results/runs/*/*/logs/*.log"))


def test_a_second_copy_takes_data_and_runs(shared, tmp_path, finished):
    first, second = (SharingProject(tmp_path / name) for name in ("first", "second"))
    for project in (first, second):
        project.run("--", "results")
    for project in (first, second):
        results = project.folder / "results/tiny"
        original = finished.folder / "results/tiny"
        assert (results / "results.nc").read_bytes() == (original / "results.nc").read_bytes()
        assert all(path.is_symlink() for path in project.folder.glob("results/runs/*/*/*.nc"))
        assert (project.folder / "resources/datasets/digits/X_train.npy").exists()
    assert (computed(first), computed(second)) == (len(RUNS), 0)
    # Other code does not meet the cached files.
    second.edit("algorithms/objp.py", "self.inverse_eta(sub.t)", "2 * self.inverse_eta(sub.t)")
    second.run("--", "results")
    assert computed(second) == 1
    assert first.files()["tiny/results.nc"] == finished.files()["tiny/results.nc"]


def test_what_is_damaged_in_the_cache_is_made_again(shared, tmp_path, finished):
    first = SharingProject(tmp_path / "first")
    first.run("--", "results")
    (path,) = first.results("objp")
    content = path.read_bytes()
    path.write_bytes(content[:-1])  # the file of the cache, which the link leads to
    first.run("--", "results")
    assert path.read_bytes() == content
    assert path.is_symlink()
    assert first.files()["tiny/results.nc"] == finished.files()["tiny/results.nc"]


def test_copies_may_work_at_the_same_time(shared, tmp_path, finished):
    projects = [SharingProject(tmp_path / name) for name in ("first", "second")]
    for project in projects:
        project.configure(algorithms=STUDY["algorithms"][:1])
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda project: project.run("--", "results"), projects))
    for project in projects:
        (path,) = project.results("objp")
        (original,) = finished.results("objp")
        assert path.read_bytes() == original.read_bytes()
        assert (project.folder / "results/tiny/results.nc").exists()


def test_without_the_option_nothing_is_shared(shared, tmp_path):
    project = Project(tmp_path / "alone")
    assert "eligible for caching" not in project.run("--", "resources/datasets/digits")
    assert not list(shared.iterdir())
