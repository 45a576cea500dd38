"""What is made again after which change: the table of docs/reproducing.md, through Snakemake."""

import json
import os
import re
import shutil
import subprocess
import time

import pytest
import scipy
import xarray as xr

from tests.workflow.project import RUNS, STUDY, assert_same, kill, runs, wait_for

pytestmark = pytest.mark.slow

RESULTS = {"aggregate", "figures", "report", "overview"}
# Another study: what says what it is, and what follows.
STUDY_RESULTS = RESULTS | {"define"}
ALGORITHMS = STUDY["algorithms"]
NOT_PRIVATE = [{"name": "iadmm", "label": "None", "epsilon": ".inf"}]
OBJP = runs(algorithms=ALGORITHMS[:1])
FIGURE = STUDY["figures"][0]


def edit(module, old, new):
    return lambda project: project.edit(module, old, new)


def configure(**changes):
    return lambda project: project.configure(**changes)


def another_experiment(project):
    experiments = project.folder / "config/experiments"
    shutil.copy(experiments / "tiny.yaml", experiments / "again.yaml")
    (project.folder / "config/tiny.yaml").write_text("experiments: [tiny, again]\n")


def append_to_a_claim(project):
    path = project.folder / "config/claims/ryu2021.yaml"
    path.write_text(path.read_text().replace("claims:", "claims: # all", 1) + "\n")


def upgrade(package):
    """Metadata of another version come first on the path, as after an upgrade."""

    def change(project):
        folder = project.own_source() / f"{package.replace('-', '_')}-999.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {package}\nVersion: 999.0\n"
        )

    return change


def remove_partitions(project):
    shutil.rmtree(project.folder / "resources/partitions")


def remove_data(project):
    shutil.rmtree(project.folder / "resources/datasets")


def new_times(project):
    """As `git checkout` of another branch and back leaves the files."""
    later = time.time() + 60
    project.own_source()
    for part in ("config", "workflow", "src"):
        for file in (project.folder / part).rglob("*"):
            os.utime(file, (later, later))


# What changes, what is made again, and how the change is made.
CHANGES = {
    "an algorithm": (
        OBJP | RESULTS,
        edit("algorithms/objp.py", "self.inverse_eta(sub.t)", "2 * self.inverse_eta(sub.t)"),
    ),
    "the engine": (
        RUNS | RESULTS,
        edit("engine/rounds.py", "_ROUNDING = 1e-6", "_ROUNDING = 2e-6"),
    ),
    "random streams": (
        RUNS | RESULTS | {"partition"},
        edit("engine/streams.py", "SFC64", "PCG64DXSM"),
    ),
    "a parameter of a method": (
        runs(algorithms=[{**ALGORITHMS[0], "params": {"a": 2}}]) | STUDY_RESULTS,
        configure(algorithms=[{**ALGORITHMS[0], "params": {"a": 2}}, *ALGORITHMS[1:]]),
    ),
    "a default, spelt out": (
        STUDY_RESULTS,
        configure(algorithms=[{**ALGORITHMS[0], "params": {"a": 1}}, *ALGORITHMS[1:]]),
    ),
    "a setting of the experiment": (
        runs(sensitivity="global") | STUDY_RESULTS,
        configure(sensitivity="global"),
    ),
    "another seed": (
        (runs(seed_blocks=[2, 1]) - RUNS) | STUDY_RESULTS,
        configure(seed_blocks=[2, 1]),
    ),
    "another epsilon": (
        runs(epsilon=[1]) | STUDY_RESULTS,
        configure(epsilon=[0.5, 1]),
    ),
    "another method": (
        runs(algorithms=NOT_PRIVATE) | STUDY_RESULTS,
        configure(
            algorithms=[*ALGORITHMS, *NOT_PRIVATE],
        ),
    ),
    "reading the data": (
        RUNS | RESULTS | {"prepare", "partition"},
        edit("datasets/digits.py", "/ 16", "/ 17"),
    ),
    "prepared data removed, another epsilon": (
        runs(epsilon=[0.5, 1]) | STUDY_RESULTS | {"prepare", "partition"},
        lambda project: (remove_data(project), project.configure(epsilon=[0.5, 1])),
    ),
    "a label": (
        STUDY_RESULTS,
        configure(algorithms=[{**ALGORITHMS[0], "label": "Another"}, *ALGORITHMS[1:]]),
    ),
    "the family of a method": (
        RESULTS,
        edit("algorithms/objt.py", '"objective_perturbation_in', '"objective_perturbation_within'),
    ),
    "a figure": (
        {"define", "figures", "report", "overview"},
        configure(figures=[{**FIGURE, "log": True}]),
    ),
    "the style of figures": (
        {"figures", "report", "overview"},
        edit("figures/style.py", "import seaborn", "import math\nimport seaborn"),
    ),
    "another experiment of the same runs": (
        {"aggregate", "define", "figures", "report", "overview"},
        another_experiment,
    ),
    "a style of pages": (
        {"report", "overview"},
        edit("report/templates/report.css", "nav h2", "nav  h2"),
    ),
    "a claim": ({"report", "overview"}, append_to_a_claim),
    "partitions removed": ({"report", "overview"}, remove_partitions),
    "another partition": (
        runs(agents=4) | STUDY_RESULTS | {"partition"},
        configure(agents=4),
    ),
    "a numerical package": (RUNS | RESULTS, upgrade("scipy")),
    "NumPy, which draws": (RUNS | RESULTS | {"partition"}, upgrade("numpy")),
}
# What changes nothing.
NOTHING = {
    "a docstring": edit(
        "algorithms/objp.py", "Theorem 2 is about smooth f_p,", "It is about smooth f_p,"
    ),
    "the examples of a method": edit(
        "algorithms/objp.py", '"local_updates": 3', '"local_updates": 4'
    ),
    "formatting, and a comment": edit(
        "engine/rounds.py", "snapshot.t += 1", "snapshot.t  +=  1  # next"
    ),
    "prepared data removed": remove_data,
    "what writes and reads partitions": edit("jobs/partitions.py", "-1, -2", "-1, -3"),
    "another package": upgrade("seaborn"),
    "times of all files": new_times,
}


METHODS = ", ".join(each["label"] for each in ALGORITHMS)
# What a dry run says of a change.
REASONS = {
    "an algorithm": "ObjP: its code changed (1 job)",
    "a numerical package": f"{METHODS}: scipy {scipy.__version__} -> 999.0 (3 jobs)",
    "another epsilon": f"{METHODS}: never made, or removed (3 jobs)",
    # Looks are those of the whole study, so that figures of its other experiment are stated anew.
    "a label": "define: its settings changed (2 jobs)",
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_renews(project, name):
    """And a dry run says why."""
    renewed, change = CHANGES[name]
    change(project)
    assert project.planned_jobs() == renewed
    if line := REASONS.get(name):
        titles, _, words = line.partition(": ")
        shown = project.run("--dry-run")
        (found,) = re.findall(rf"^(.*): {re.escape(words)}$", shown, re.MULTILINE)
        assert sorted(found.split(", ")) == sorted(titles.split(", "))


def test_nothing_is_made_again(project):
    """All at once, as every dry run takes seconds."""
    for change in NOTHING.values():
        change(project)
    assert project.planned_jobs() == set()


def partitions_of(project):
    folder = project.folder / "resources/partitions"
    return {path.name: path.read_bytes() for path in folder.rglob("*.nc")}


def test_results_from_before_partitions_had_files_stay(project):
    """Snakemake recorded that they were made of the data alone."""
    project.run("--", "results")
    remove_partitions(project)
    for path in (project.folder / ".snakemake/metadata").iterdir():
        record = json.loads(path.read_text())
        if "partitions/" in str(record["input"]):
            record["input"] = [name for name in record["input"] if "partitions/" not in name]
            path.write_text(json.dumps(record))
    assert project.planned() == set()
    assert project.planned_jobs("results") == set()
    project.configure(epsilon=[0.5, 1])
    assert project.planned() == runs(epsilon=[1])
    assert "partition" in project.planned_jobs()


def test_a_killed_partition_is_drawn_by_the_next_call(project):
    before = partitions_of(project)
    project.configure(
        agents={"scheme": "iid", "agents": 3, "shuffle": True}, seeds=11, seed_blocks=None
    )
    logs = project.folder / "results/logs/partition"
    started = project.start("--", "results")
    wait_for(lambda: [*logs.rglob("iid-*+seeds=*.log")])
    kill(started)
    assert len(partitions_of(project)) < len(before) + 2
    project.run("--unlock")
    project.run("--", "results")
    drawn = partitions_of(project)
    assert len(drawn) == len(before) + 2
    assert drawn.items() >= before.items()
    assert project.planned_jobs("results") == set()


def test_a_damaged_partition_is_drawn_again_and_no_run_is_made(project):
    before = partitions_of(project)
    (path,) = (project.folder / "resources/partitions").rglob("*.nc")
    path.write_bytes(path.read_bytes()[:-9])
    assert f"{path.name} is incomplete" in project.run("--dry-run")
    project.run()
    assert partitions_of(project) == before
    assert project.planned_jobs() == set()


def test_seeds_that_are_added_are_run_alone(project):
    """Nothing but the number of seeds is changed."""
    few, more = ({"seeds": n, "seed_blocks": None, "algorithms": ALGORITHMS[:1]} for n in (5, 7))
    project.configure(**few)
    project.run("--", "results")
    (kept,) = runs(**few)
    path = project.folder / f"results/runs/{kept}.nc"
    made = path.stat().st_mtime_ns
    project.configure(**more)
    (added,) = runs(**more) - {kept}
    assert project.planned() == {added}
    project.run("--", "results")
    assert path.stat().st_mtime_ns == made
    with xr.open_dataset(project.folder / "results/tiny/results.nc") as results:
        assert list(results.seed.values) == list(range(7))
        assert (results.status == 0).all()


def test_an_update_line_on_another_branch_and_back(project):
    """With git: the line changes its own runs; back on the first branch the files are the same again."""
    before = project.files()
    project.own_source()

    def git(*words):
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", *identity, *words], cwd=project.folder, check=True)

    git("init", "--quiet", "--initial-branch=main")
    git("add", "src", "config", "workflow")
    git("commit", "--quiet", "--message=first")
    git("checkout", "--quiet", "-b", "other")
    project.edit("algorithms/objp.py", "self.inverse_eta(sub.t)", "2 * self.inverse_eta(sub.t)")
    git("commit", "--quiet", "--all", "--message=second")
    git("checkout", "--quiet", "main")
    assert project.planned_jobs() == set()
    git("checkout", "--quiet", "other")
    project.run("--", "results")
    after = project.files()
    changed = {name for name in before if before[name] != after[name]}
    assert {f"runs/{run}.nc" for run in OBJP} < changed
    assert not any("objt" in name or "outp" in name for name in changed)
    assert project.planned_jobs() == {"figures", "report", "overview"}
    git("checkout", "--quiet", "main")
    assert project.planned() == OBJP
    project.run("--", "results")
    assert_same(project.files(), before)
