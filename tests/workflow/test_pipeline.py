"""The pipeline through Snakemake, on a small study in a copy of the project: what a user would type and see."""

import json
import os
import re
import shutil
import zipfile
from pathlib import Path

import pytest
import xarray as xr
import yaml

from tests.workflow import forked
from tests.workflow.project import ROOT, RUNS, STUDY, Project, assert_same

pytestmark = pytest.mark.slow


def test_everything_is_made(finished):
    files = finished.files()
    assert {
        "report/index.html",
        "report/tiny/index.html",
        "tiny/results.nc",
        *(f"tiny/figures/error.{suffix}" for suffix in ("svg", "pdf", "png", "csv")),
    } <= set(files)
    links = re.findall(r'<a href="(\.\./[^"]*)"', finished.report_page)
    page = finished.folder / "results/report/tiny"
    assert [Path(link).suffix for link in links] == [".nc", ".svg", ".pdf", ".png", ".csv"]
    assert all((page / link).exists() for link in links)
    with xr.open_dataset(finished.folder / "results/tiny/results.nc") as results:
        assert results.test_error.notnull().all()
        assert list(results.algorithm.values) == ["ObjP", "ObjT", "OutP"]
    for run in RUNS:
        folder, _, point = run.rpartition("/")
        folder = finished.folder / "results/runs" / folder
        assert re.fullmatch(r"s\n\d+\.\d+\n", (folder / f"benchmarks/{point}.tsv").read_text())
        assert re.search(r"round (\d+) of \1", (folder / f"logs/{point}.log").read_text())
    leads = (finished.folder / "results/report/index.html").read_text()
    assert '<a href="tiny/index.html">tiny</a> <small>Tiny</small>' in leads


def test_a_manifest_names_the_runs_in_words(finished):
    manifest = json.loads((finished.folder / "results/tiny/manifest.json").read_text())
    assert manifest["name"] == "tiny"
    found = {run["label"]: run for run in manifest["runs"]}
    assert found["ObjT"]["algorithm"] == "objt"
    assert found["ObjT"]["variant"] == "reference"
    assert found["ObjP"]["params"]["a"] == 1
    assert found["ObjP"]["rounds"] == 20
    for run in found.values():
        assert (finished.folder / "results/tiny" / run["file"]).exists()


def test_experiments_that_ask_for_the_same_runs_share_them(project):
    """Spelt in another way, under other labels and with other budgets; each has its own labelled data set."""
    experiments = project.folder / "config/experiments"
    spelt = {
        **STUDY,
        "epsilon": [0.5, 2],
        "algorithms": [{"name": "objp", "label": "Again", "params": {"local_updates": 1}}],
    }
    (experiments / "again.yaml").write_text(yaml.safe_dump(spelt))
    (project.folder / "config/tiny.yaml").write_text("experiments: [tiny, again]\n")
    assert len(project.planned()) == 1
    project.run("--", "results")
    tiny, again = (
        xr.load_dataset(project.folder / f"results/{name}/results.nc") for name in ("tiny", "again")
    )
    own = again.test_error.sel(algorithm="Again", epsilon=0.5)
    assert (own == tiny.test_error.sel(algorithm="ObjP", epsilon=0.5)).all()


def test_attacks_are_jobs_of_their_own_and_a_section_of_the_report(project):
    """Published noise fails, worst-case noise holds; neither is an error, nor a reason to attack again.

    One study has both.
    """
    methods = [
        {"name": "objp", "label": "ObjP"},
        {"name": "iadmm", "label": "I", "epsilon": ".inf"},
    ]
    attack = {"rounds": 2, "repeats": 24, "canaries": ["worst"]}
    worst = {**STUDY, "sensitivity": "global", "audit": attack, "algorithms": methods}
    (project.folder / "config/experiments/worst.yaml").write_text(yaml.safe_dump(worst))
    (project.folder / "config/tiny.yaml").write_text("experiments: [tiny, worst]\n")
    project.configure(audit=attack, algorithms=methods)
    project.run()
    page = (project.folder / "results/report/tiny/index.html").read_text()
    for name, words in (("tiny", "of 5 checks fail."), ("worst", "5 checks hold.")):
        section = page[page.index(f'id="{name}"') :]
        table = section[section.index("Attacks on rounds of runs") :]
        assert words in table[: table.index("</table>")]
        (path,) = (project.folder / f"results/{name}/audits").iterdir()
        assert re.fullmatch(r"objp-\w+\+epsilon=0\.5\.json", path.name)
    assert "Nothing to be done" in project.run()
    project.configure(audit={**attack, "repeats": 25}, algorithms=methods)
    planned = project.run("-n")
    assert re.search(r"^audit +1$", planned, re.MULTILINE)  # of one experiment
    assert not re.search(r"^run +", planned, re.MULTILINE)


def test_pictures_of_the_report_have_files_that_are_written_again(project):
    """Where one was deleted, and where one is damaged."""
    attack = {"rounds": 2, "repeats": 24, "canaries": ["worst"]}
    privacy = {"total": [0.5, 1]}
    project.configure(epsilon=None, privacy=privacy, sensitivity="global", audit=attack)
    project.run()
    page = project.folder / "results/report/tiny"
    links = re.findall(r'href="((?:differences|attacks)/[^"]*)"', project.report_page)
    suffixes = "svg", "pdf", "png", "csv"
    kinds = "differences", "attacks"
    assert links == [f"{kind}/tiny.{suffix}" for kind in kinds for suffix in suffixes]
    before = project.files()
    (page / "attacks/tiny.csv").unlink()
    assert project.planned_jobs() == {"report", "overview"}
    project.run()
    (page / "differences/tiny.svg").write_bytes(b"")
    assert project.planned_jobs() == {"report", "overview"}
    project.run()
    assert_same(project.files(), before)


def test_what_is_tuned_runs_with_the_best_settings(project):
    """Tuning comes first, in a call of its own; what it came to is a file of the configuration."""
    methods = [
        {"name": "dpsgd", "label": "DP-GD", "tune": {"rounds": 4, "params.learning_rate": 0.5}},
        {"name": "centralized", "label": "Optimum", "epsilon": ".inf", "rounds": 1},
    ]
    study = {
        "epsilon": None,
        "privacy": {"total": [2, 8], "delta": 1e-5},
        "sensitivity": "global",
        "tuning": {"trials": 4, "seeds": [100]},
        "evaluate_every": 2,
    }
    project.configure(**study, algorithms=methods)
    shown = project.fails()
    assert "snakemake tune" in shown
    assert "DP-GD at 2, 8" in shown
    project.run("--", "tune")
    chosen = yaml.safe_load((project.folder / "config/tuned/tiny.yaml").read_text())["DP-GD"]
    trials = {
        path.name.split("=")[1]: json.loads(path.read_text())
        for path in project.folder.glob("results/tiny/tuning/*.json")
    }
    for budget in (2.0, 8.0):
        found = trials[f"{budget:g}.json"]
        assert len(found["trials"]) in (4, 5)  # one may look beyond an edge
        assert chosen[budget]["settings"] == found["settings"]
        assert found["error"] == min(trial["error"] for trial in found["trials"])
    assert all(each["of"] and each["space"] and each["code"] for each in chosen.values())
    assert "were found by" not in project.run("-n")
    project.run()
    results = xr.load_dataset(project.folder / "results/tiny/results.nc")
    for budget in (2.0, 8.0):
        own = results.sel(algorithm="DP-GD", epsilon=budget)
        assert json.loads(own["tuned"].item()) == chosen[budget]["settings"]
        done = own["test_error"].dropna("round")["round"]
        assert int(done.max()) == int(own["rounds"]) == chosen[budget]["settings"]["rounds"]
    page = (project.folder / "results/report/tiny/index.html").read_text()
    assert "Settings that were tuned: 4 trials" in page
    assert f"learning rate {chosen[2.0]['settings']['params.learning_rate']:.4g}" in page
    assert "Nothing to be done" in project.run()
    assert "Nothing to be done" in project.run("--", "tune")
    # Who adds a method, in a copy without the trials of the others, tunes this one alone.
    shutil.rmtree(project.folder / "results/tiny/tuning")
    shutil.rmtree(project.folder / ".snakemake")
    other = {"name": "dpsgd", "label": "Mine", "params": {"sampling": 0.5}, "tune": {"rounds": 2}}
    project.configure(**study, algorithms=[*methods, other])
    assert "Mine at 2, 8\n" in project.fails()
    project.run("--", "tune")
    assert len(list(project.folder.glob("results/tiny/tuning/*.json"))) == 2
    both = yaml.safe_load((project.folder / "config/tuned/tiny.yaml").read_text())
    assert both["DP-GD"] == chosen
    assert list(both["Mine"]) == [2.0, 8.0]
    assert "Nothing to be done" in project.run("--", "tune")
    # Along other axes it was not tuned.
    methods[0]["tune"] = {"rounds": 4}
    project.configure(**study, algorithms=[*methods, other])
    assert "to be tuned first" in project.fails()


def test_a_cluster_without_its_program_is_said_once(project):
    """Before a job is tried, and tried again."""
    tools = project.folder / "tools"
    tools.mkdir()
    for program in Path("/usr/bin").iterdir():
        if program.name != "sbatch":
            (tools / program.name).symlink_to(program)
    project.configure(rounds=21)
    shown = project.fails("--executor", "slurm", "--jobs", "2", PATH=str(tools))
    assert shown.count("needs the program `sbatch`") == 1
    assert "Traceback" not in shown
    assert "failed after" not in shown


def test_a_wrong_configuration_stops_before_any_job(project):
    project.configure(round=3)
    shown = project.fails()
    assert "did you mean 'rounds'" in shown
    assert "tiny.yaml" in shown
    assert "Traceback" not in shown


@pytest.mark.parametrize("snakefile", ["Snakefile", "workflow/Snakefile"])
def test_both_snakefiles_are_one_workflow_from_any_folder(project, tmp_path, snakefile):
    """With the default profile, captions and the results that the other one made."""
    words = ["--snakefile", str(project.folder / snakefile), "--directory", str(project.folder)]
    words += ["--cores", "1", "--configfile", str(project.folder / "config/tiny.yaml")]
    for more, shown in (([], "Nothing to be done"), (["--report", "all.zip"], "Report created")):
        status, printed = forked.snakemake(tmp_path, [*words, *more], project.environment)
        assert status == 0, printed
        assert "profiles/default for setting default command line arguments" in printed
        assert shown in printed
    with zipfile.ZipFile(project.folder / "all.zip") as packed:
        assert {Path(name).suffix for name in packed.namelist()} == {".html", ".svg"}
        text = packed.read("all/report.html").decode()
    assert "The experiments of this configuration are: tiny" in " ".join(text.split())


def test_a_report_has_the_overlay_s_name_where_the_folder_has_no_configuration(tmp_path):
    (tmp_path / "a b.yaml").write_text("experiments: [quick]\n")
    words = ["--snakefile", str(ROOT / "Snakefile"), "--configfile", "a b.yaml", "-n", "-p"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    status, printed = forked.snakemake(tmp_path, words, environment)
    assert status == 0, printed
    assert "results/report/a b/index.html" in printed


def test_what_is_timed_is_made_by_one_job(project):
    figure = {"name": "seconds", "kind": "tradeoff", "metric": "seconds"}
    project.configure(timed=True, seed_blocks=[1, 1], figures=[figure])
    project.run()
    assert "time_tiny" in project.log
    assert "rule run_" not in project.log
    with xr.open_dataset(project.folder / "results/tiny/results.nc") as results:
        assert (results.seconds[..., 1:] > 0).all()
    report = (project.folder / "results/report/tiny/index.html").read_text()
    assert "Computing time" in report
    assert "Nothing to be done" in project.run()
    assert list(project.folder.glob("results/tiny/runs/*/*/*.nc"))
    # Another label is no other time.
    labels = [{**method, "label": f"My {method['label']}"} for method in STUDY["algorithms"]]
    project.configure(timed=True, seed_blocks=[1, 1], figures=[figure], algorithms=labels)
    assert project.planned_jobs() == {"define", "aggregate", "figures", "report", "overview"}


def test_a_clone_whose_path_has_braces_is_refused(tmp_path):
    said = Project(tmp_path / "a {clone}").fails("--dry-run")
    assert "/workflow: Snakemake takes braces in a path for wildcards" in said
    assert "WildcardError" not in said
