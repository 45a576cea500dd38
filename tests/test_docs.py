"""What the pages show works: the Python of all of them runs, and prints what they say; modules keep their contracts."""

import os
import re
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
import yaml

from admmbench import checks
from admmbench.config import check_experiment
from admmbench.privacy.accountants import ACCOUNTANTS

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "extending.md").read_text()
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"Save (?:it|this) as\s+`([\w/]+\.\w+)`")


def blocks(language):
    return [found for found in BLOCK.finditer(PAGE) if found[1] == language]


def module_name(block):
    """The file that a block is to be saved as; None for one that is to be run."""
    *_, last = [None, *FILE.finditer(PAGE, 0, block.start())]
    follows = last and PAGE[last.end() : block.start()].strip(" ,:\n.")
    return last[1] if last and not follows else None


def saved(folder):
    """All files of the page, in a folder."""
    paths = []
    for language in ("python", "yaml"):
        for block in blocks(language):
            if name := module_name(block):
                path = folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block[2])
                paths.append(path)
    return paths


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    saved(tmp_path)
    return tmp_path


MODULES = [name for name in map(module_name, blocks("python")) if name]


@pytest.mark.parametrize("name", MODULES)
def test_modules_keep_their_contracts(name, project):
    if "Loss" in (project / name).read_text():
        pytest.importorskip("admmbench.checks.losses")
    for check in checks.of(name):
        check.run()


def test_the_page_has_a_module_of_each_kind():
    assert len(MODULES) == 5


def test_experiment_is_valid(project):
    path = Path("config/experiments/my_study.yaml")
    assert check_experiment(yaml.safe_load(path.read_text()), str(path)).runs


def test_other_blocks_run_in_their_order(project, capsys):
    results = project / "results/my_study/my_study/results.nc"
    results.parent.mkdir(parents=True)
    labels = {"algorithm": ["NoisyFedAvg"], "epsilon": [1.0], "seed": [0], "round": [1]}
    xr.Dataset({"test_error": (list(labels), np.zeros((1, 1, 1, 1)))}, labels).to_netcdf(results)
    names: dict[str, object] = {}
    for block in blocks("python"):
        if not module_name(block):
            exec(compile(block[2], "extending.md", "exec"), names)
    assert "[" in capsys.readouterr().out


@pytest.fixture
def own_accountants():
    """One that an example defines is not there for other tests."""
    before = dict(ACCOUNTANTS)
    yield
    ACCOUNTANTS.clear()
    ACCOUNTANTS.update(before)


EXAMPLES = [
    pytest.param(block[2], id=f"{page.name}-{number}")
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
    if page.name != "extending.md"
    for number, block in enumerate(BLOCK.finditer(page.read_text()))
    if block[1] == "python"
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
