"""Why jobs are to be done, in the words of a study."""

from pathlib import Path

import pytest

from admmbench.datasets import load_dataset
from admmbench.engine.context import Context
from admmbench.files import netcdf
from admmbench.jobs import fingerprint, job
from admmbench.study import config
from admmbench.watch import damage
from admmbench.watch.reasons import Reasons
from tests.forecast.test_plan import ATTACKED
from tests.studies import write_study

CHANGED = (
    "Params have changed since last execution: Union of exclusive params before and now across all output: "
    "before: {} now: {} "
)
ONE, TWO, THREE = ("'" + digit * 16 + "'" for digit in "123")
NOTHING = "<nothing exclusive>"


@pytest.fixture
def study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_study(tmp_path, small=ATTACKED)
    return config.load({"experiments": ["small"]})


@pytest.fixture
def run(study):
    """A run of it, which was made; and its file."""
    found = study.experiments["small"].runs[0]
    file = Path(study.runs_folder("small"), found.path)
    file.parent.mkdir(parents=True)
    job.execute(found.spec, load_dataset(found.spec.dataset), file, Context(1))
    return found, file


def lines(study, *jobs):
    reasons = Reasons(study)
    for each in jobs:
        reasons.add(*each)
    return [*reasons.lines()]


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (
            "Missing output files: a; Input files updated by another job: b",
            "never made, or removed",
        ),
        ("Updated input files: data/x.csv", "data/x.csv is newer"),
        ("Input files updated by another job: b", "its input is made again"),
        ("Forced execution", "it was asked for"),
        (CHANGED.format(ONE, TWO), "its code changed"),
        (CHANGED.format("'a, b'", NOTHING), "its settings changed"),
        (CHANGED.format("'definition 1111111111111111'", "'definition 2'"), "its settings changed"),
    ],
)
def test_what_snakemake_says_is_said_of_the_study(study, said, meant):
    assert lines(study, ("report", ["index.html"], said)) == [f"report: {meant} (1 job)"]


def test_nobody_asked_for_what_is_damaged(study):
    Path("index.html").write_bytes(b"half of it")
    assert damage.damaged(["index.html"]) == ["index.html"]
    Path("index.html").unlink()
    found = lines(study, *((name, [f"{name}.html"], "Forced execution") for name in ("index", "a")))
    assert found == [
        "index: it is damaged or of an earlier version (1 job)",
        "a: it was asked for (1 job)",
    ]


def test_a_job_has_several_reasons_and_a_reason_several_jobs(study):
    both = CHANGED.format(f"{ONE},'a'", f"['{ONE}', {TWO}],'b'") + "; " + "Code has changed"
    found = lines(
        study, ("a", ["x"], both), ("b", ["y", "z"], "Forced execution"), ("b", ["y"], both)
    )
    assert found == [
        "a, b: its rule changed (2 jobs)",
        "a, b: its code changed (2 jobs)",
        "a, b: its settings changed (2 jobs)",
        "b: it was asked for (1 job)",
    ]


@pytest.mark.parametrize(
    ("part", "meant"),
    [
        ("method", "its code changed"),
        ("loss", "the code of its loss changed"),
        ("shared", "shared code changed"),
    ],
)
def test_a_run_says_which_part_of_its_code_changed(study, run, monkeypatch, part, meant):
    made, file = run
    parts = fingerprint.parts(made.spec)
    monkeypatch.setattr(fingerprint, "parts", lambda spec: {**parts, part: "another"})
    found = lines(study, ("run", [str(file)], CHANGED.format(ONE, TWO)))
    assert found == [f"{made.label}: {meant} (1 job)"]


def test_a_run_says_which_package_changed(study, run, monkeypatch):
    made, file = run
    packages = fingerprint.packages(made.spec)
    monkeypatch.setattr(fingerprint, "packages", lambda spec: {**packages, "numpy": "999.0"})
    found = lines(study, ("run", [str(file)], CHANGED.format(ONE, TWO)))
    assert found == [f"{made.label}: numpy {packages['numpy']} -> 999.0 (1 job)"]


def test_a_run_that_does_not_tell_parts_says_that_its_code_changed(study, run):
    """One of an earlier version, and one that is damaged."""
    made, file = run
    trace = netcdf.read(file)
    del trace.attrs["code"]
    netcdf.write(trace, file)
    for content in (file.read_bytes(), b""):
        file.write_bytes(content)
        found = lines(study, ("run", [str(file)], CHANGED.format(ONE, TWO)))
        assert found == [f"{made.label}: its code changed (1 job)"]


def test_runs_of_the_same_code_are_read_once(study, run, monkeypatch):
    """A study has many."""
    made, file = run
    packages = {**fingerprint.packages(made.spec), "numpy": "999.0"}
    monkeypatch.setattr(fingerprint, "packages", lambda spec: packages)
    reasons = Reasons(study)
    reasons.add("run", [str(file)], CHANGED.format(ONE, TWO))
    file.write_bytes(b"")
    reasons.add("run", [str(file)], CHANGED.format(ONE, TWO))
    (line,) = reasons.lines()
    assert "-> 999.0 (2 jobs)" in line
    reasons.add("run", [str(file)], CHANGED.format(THREE, TWO))
    assert f"{made.label}: its code changed (1 job)" in reasons.lines()


def test_attacks_are_called_by_their_method(study):
    (file, run), *_ = study.experiments["small"].audits.items()
    found = lines(study, ("audit", [f"results/small/audits/{file}"], "Forced execution"))
    assert found == [f"attacks on {run.label}: it was asked for (1 job)"]
