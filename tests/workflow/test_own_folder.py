"""A study in a folder of one's own: from a wheel, or with the workflow of a clone or a repository."""

import re
import shutil
import signal
import subprocess

import pytest
import yaml

from tests.wheel import ROOT, install
from tests.workflow.own import OwnFolder
from tests.workflow.project import kill, wait_for

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    return install(tmp_path_factory.mktemp("installed"))


@pytest.fixture
def own(python, tmp_path):
    return OwnFolder(tmp_path / "my study", python)


def use(own, snakefile):
    """Take the workflow from elsewhere, under other names, after a rule of one's own."""
    (own.folder / "Snakefile").write_text(
        f"""
configfile: "config/config.yaml"

rule printed:
    input: "results/my_study/results.nc"
    output: "printed.txt"
    shell: "admmbench show {{input}} > {{output}}"

module suite:
    snakefile: {snakefile}
    config: config

use rule * from suite as suite_*
"""
    )
    shown = own.run("--dry-run")
    assert "printed" in shown
    assert "suite_aggregate" in shown
    assert "suite_run" in shown
    assert "suite_report" not in shown  # one's own rule comes first
    assert "suite_report" in own.run("--dry-run", "suite_all")
    own.run("results/my_study/manifest.json")  # from a template of the workflow


def test_a_study_is_stopped_and_goes_on_and_one_s_own_method_is_in_its_report(own, tmp_path):
    assert str(own.packages) in own.calls("path", "quick.yaml")
    started = own.start("--cores", "1")
    # One run is accepted, and another one is under way: while Snakemake selects jobs, SIGTERM makes it hang.
    wait_for(lambda: 1 < len(own.made()) < len(own.begun()))
    kill(started, signal.SIGTERM)
    made = own.made()
    assert 0 < len(made) < 4
    own.run()
    assert made.items() < own.made().items()
    found = own.page()
    assert ">ObjP<" in found
    assert ">Mine<" in found
    assert "power = 0.25" in found

    assert "Nothing to be done" in own.run()
    assert own.calls("gc").startswith("0 that no configuration asks for")
    assert "Mine" in own.calls("show", "results/my_study/results.nc")

    # Another environment, as after an upgrade, whose claims are others.
    own.python = install(tmp_path / "another")
    assert own.planned_jobs() == set()
    claims = own.packages / "admmbench/share/config/claims/he2023.yaml"
    claims.write_text(claims.read_text() + "\n")
    assert own.planned_jobs() == {"report", "overview"}
    method = own.folder / "plugins/my_method.py"
    method.write_text(method.read_text().replace("sub.t**self.power", "2 * sub.t**self.power"))
    planned = {run.partition("-")[0] for run in own.planned()}
    assert planned == {"digits/my_method"}


def test_a_papers_experiment_by_name_and_one_s_own_in_the_place_of_another(own):
    """Of the same name: the one in the folder is run."""
    own_quick = yaml.safe_load((ROOT / "config/experiments/quick.yaml").read_text())
    own_quick |= {
        "dataset": "breast_cancer_wisconsin",
        "problem": {"loss": "softmax", "records": {"max_l2_norm": 1}},
    }
    for method in own_quick["algorithms"]:
        method.pop("tune", None)  # what was tuned is of the other data
    path = own.folder / "config/experiments/quick.yaml"
    path.write_text(yaml.safe_dump(own_quick))
    (own.folder / "config/config.yaml").write_text("experiments: [ryu2022_mnist, quick]\n")
    assert {run.partition("/")[0] for run in own.planned()} == {"mnist", "breast_cancer_wisconsin"}
    overlay = own.calls("path", "quick.yaml").strip()
    planned = own.planned("--configfile", overlay)
    assert {run.partition("/")[0] for run in planned} == {"breast_cancer_wisconsin"}


def test_the_workflow_of_a_clone_is_a_module(own):
    use(own, repr(str(ROOT / "workflow/Snakefile")))


def test_the_workflow_of_a_repository_is_a_module(own, tmp_path):
    clone = tmp_path / "clone"
    shutil.copytree(ROOT / "workflow", clone / "workflow")
    for words in (
        ("init", "--quiet", "--initial-branch=main"),
        ("add", "workflow"),
        ("-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "--quiet", "--message=a"),
    ):
        subprocess.run(["git", *words], cwd=clone, check=True)
    use(own, f'gitfile("{clone}", path="workflow/Snakefile", ref="main")')


def test_only_an_empty_folder_becomes_a_study(own):
    with pytest.raises(subprocess.CalledProcessError) as refused:
        own.calls("init", ".")
    assert refused.value.stderr == (
        "admmbench: . is not empty; nothing was written: give the name of a new folder\n"
    )
    assert not re.search("my_method", (own.folder / "Snakefile").read_text())
