"""What the pages show works: the Python of all of them runs, and prints what they say; modules keep their contracts.

The tutorials are in `tests/workflow/test_tutorials.py`, as their commands run studies.
"""

import os
import re
import subprocess
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr
import yaml

from admmbench import contracts
from admmbench.claims import claims
from admmbench.plugins import import_file
from admmbench.privacy import ACCOUNTANTS
from admmbench.study.config import check_experiment, read
from tests.pages import ROOT, blocks, save

# These pages share a project, from the files that one is told to save.
GUIDE = [
    block
    for name in ("extending", "experiments", "figures")
    for block in blocks(ROOT / f"docs/{name}.md")
]
# Losses and data sets have their whole modules in tutorials.
OWN = [
    block
    for name in ("own_loss", "own_data_set")
    for block in blocks(ROOT / f"docs/tutorials/{name}.md")
]
SAVED = [block for block in (*GUIDE, *OWN) if block.file]
MODULES = [block.file for block in SAVED if block.language == "python"]


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for block in SAVED:
        save(block, tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", MODULES)
def test_modules_keep_their_contracts(name, project):
    if "Loss" in (project / name).read_text():
        pytest.importorskip("admmbench.contracts.losses")
    for check in contracts.of(name):
        check.run()


def test_the_guide_has_a_module_of_each_kind():
    assert len(MODULES) == 4


def test_experiment_is_valid(project):
    path = Path("config/experiments/my_study.yaml")
    assert check_experiment(yaml.safe_load(path.read_text()), str(path)).runs


def test_other_blocks_run_in_their_order(project, capsys):
    results = project / "results/my_study/my_study/results.nc"
    results.parent.mkdir(parents=True)
    labels = {"algorithm": ["NoisyFedAvg"], "epsilon": [1.0], "seed": [0], "round": [1]}
    xr.Dataset({"test_error": (list(labels), np.zeros((1, 1, 1, 1)))}, labels).to_netcdf(results)
    names: dict[str, object] = {}
    for block in GUIDE:
        if block.language == "python" and not block.file:
            exec(compile(block.text, "guide", "exec"), names)
    assert "[" in capsys.readouterr().out


@pytest.fixture
def own_accountants():
    """One that an example defines is not there for other tests."""
    before = dict(ACCOUNTANTS)
    yield
    ACCOUNTANTS.clear()
    ACCOUNTANTS.update(before)


EXAMPLES = [
    pytest.param(block.text, id=f"{page.name}-{number}")
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if page.parent.name != "tutorials"
    for number, block in enumerate(blocks(page))
    if block.language == "python" and block not in GUIDE
]


def test_there_are_examples():
    assert len(EXAMPLES) >= 9


@pytest.mark.parametrize("text", EXAMPLES)
def test_examples_run_and_print_the_numbers_beside_them(text, capsys, own_accountants):
    if "mnist" in text and not os.environ.get("ADMMBENCH_MIRROR"):
        pytest.skip("needs MNIST from a mirror (ADMMBENCH_MIRROR)")
    exec(compile(text, "example", "exec"), {})
    shown = re.findall(r"-?[\d.]+", capsys.readouterr().out)
    for number in re.findall(r"(-?\d+\.\d+)\.\.\.", text):
        assert any(each.startswith(number) for each in shown), (number, shown)


PICTURES = import_file(ROOT / "docs/pictures.py", "pictures")


@pytest.mark.parametrize("name", PICTURES.PICTURES)
def test_pictures_are_those_that_the_script_draws(name, tmp_path):
    PICTURES.main(tmp_path)
    drawn, kept = (folder / f"{name}.svg" for folder in (tmp_path, ROOT / "docs/figures"))
    assert drawn.read_text("utf-8") == kept.read_text("utf-8"), "call `make pictures`"


def test_the_picture_has_every_rule_and_arrow():
    picture = (ROOT / "docs/figures/pipeline.svg").read_text("utf-8")
    arrows = re.findall(r'<g id="(\w+)-(?:&gt;|>)(\w+)"', picture)
    assert {*arrows} == {*PICTURES.WAITS}
    assert all(f">{name}</text>" in picture for name in PICTURES.RULES)


@pytest.mark.slow
def test_the_drawn_rules_are_those_of_the_workflow():
    assert PICTURES.rules() == ({*PICTURES.RULES}, {*PICTURES.WAITS})


def test_the_number_of_claims_is_that_of_the_files():
    stated = claims.load((ROOT / "config" / "claims").glob("*.yaml"))
    number = f"{sum(not claim.ours for claim in stated)} claims"
    assert number in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_what_a_study_takes_is_the_same_on_all_pages():
    """One table says it, beside the command; no page says anything else."""

    def page(name):
        return " ".join((ROOT / name).read_text("utf-8").replace("two cores", "2 cores").split())

    table = page("docs/reproducing.md").partition("## Changing a study")[0]
    times = dict(re.findall(r"study config/(\w+)\.yaml` \| [^|]* \| ([^|]*) \|", table))
    readme = {"laptop": "half an hour of one core", "equal_privacy": "about a day on 2 cores"}
    for name, words in readme.items():
        assert words in times[name]
        assert words in page("README.md")
    for name in ("config/README.md", "docs/start.md"):
        assert not re.findall(r"\b(?:hours?|minutes?|days)\b", page(name))


def test_the_number_of_duplicates_is_that_of_the_full_study():
    study = read()
    asked = sum(len(each.runs) for each in study.experiments.values() if not each.timed)
    different = sum(map(len, study.shared.values()))
    text = f"Of the {asked} runs of the full study that may be shared, {asked - different} are duplicates."
    assert text in " ".join((ROOT / "docs/reproducing.md").read_text().split())


@pytest.mark.parametrize(
    ("scheduler", "memory"),
    [("PBS", "mem=8000mb "), ("LSF", "mem=8000]"), ("SGE", "h_vmem=2001M ")],
)
def test_submit_commands_ask_for_the_memory_of_the_whole_job(tmp_path, scheduler, memory):
    """A limit of each slot is a part of it. Snakemake fills the command in, and a shell runs it."""
    text = (ROOT / "docs/cluster.md").read_text()
    (command,) = re.findall(rf"^\| {scheduler} \| `(.*?)` \|", text, re.MULTILINE)
    for name in ("qsub", "bsub"):
        (tmp_path / name).write_text('#!/bin/sh\necho "$* "\n')
        (tmp_path / name).chmod(0o755)
    resources = SimpleNamespace(mem_mb=8000, runtime=30)
    shown = subprocess.run(
        command.format(rule="run", threads=4, resources=resources),
        shell=True,
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert memory in shown
