"""Ten runs of one round, served by few workers: what is left when some go wrong, and what is made again."""

import tempfile

import pytest

from tests.workflow.project import Project, runs, wait_for
from tests.workflow.test_workers import processes

pytestmark = pytest.mark.slow

SHORT = {
    "rounds": 1,
    "evaluate_every": 1,
    "seed_blocks": [1] * 10,
    "algorithms": [{"name": "objp", "label": "ObjP"}],
}
PLACE = "    # Closed form of (8).\n"
# Each run notes the process that carries it out; the fifth one is killed, and the eighth raises.
FAULTY = """\
    def init(self, federation):
        import os

        with open("processes", "a+") as file:
            print(os.getpid(), file=file, flush=True)
            file.seek(0)
            begun = len(file.readlines())
        if begun == 5:
            os.kill(os.getpid(), 9)
        if begun == 8:
            raise OverflowError("no budget")
        return super().init(federation)

"""


def test_runs_that_fail_cost_no_others(tmp_path):
    project = Project(tmp_path / "short")
    project.configure(**SHORT)
    project.edit("algorithms/objp.py", PLACE, FAULTY + PLACE)

    def made():
        return {path: path.stat().st_mtime_ns for path in project.results("objp")}

    def ends(status, target, *options):
        started = project.start("--cores", "1", *options, "--", target, TMPDIR=workers)
        shown, _ = started.communicate(timeout=300)
        assert started.returncode == status, shown
        return shown

    with tempfile.TemporaryDirectory(prefix="w-") as workers:
        assert project.planned("--", "results") == runs(**SHORT)
        shown, left = ends(1, "all"), made()
        assert len(left) == 8
        assert shown.count("✗ ObjP, epsilon=0.5+seeds=") == 2
        assert shown.count("OverflowError: no budget") == 1
        assert project.report_page.count("ended without a message") == 1
        ends(0, "results")
        assert len(made()) == 10
        assert left.items() <= made().items()
        path, before = next(iter(left)), made()
        ends(0, "results", "--forcerun", str(path.relative_to(project.folder)))
        assert {each for each, time in made().items() if time != before[each]} == {path}
        wait_for(lambda: not processes(workers))
    used = (project.folder / "processes").read_text().split()
    assert len(used) == 10 + 2 + 1
    # The first worker ends if it had to compile; those of the two that fail carry out nothing after them.
    assert len({*used[:10]}) <= 4
    assert used[4] not in used[5:]
    assert used[7] not in used[8:]
