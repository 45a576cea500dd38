"""What is declared: packages, versions, and the environment of the jobs."""

import ast
import re
import sys
import tomllib
import zipfile
from pathlib import Path

import yaml
from flit_core import buildapi

import admmbench
from admmbench.analysis import explore

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# Where the name to import is another one.
PACKAGES = {
    "dp_accounting": "dp-accounting",
    "pydantic_core": "pydantic",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}
# h5netcdf reads and writes with it; the workflow runs in it; pooch draws its progress with it.
NOT_IMPORTED = {"h5py", "snakemake", "tqdm"}


def bounds(requirements):
    """Packages with their lowest versions."""
    return dict(re.split(r" ?>=", requirement, maxsplit=1) for requirement in requirements)


def imported():
    """Top-level names that the package imports, its own and Python's left out."""
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module]
            yield from (name.split(".")[0] for name in names)


def test_what_is_imported_is_declared_and_the_other_way_round():
    found = set(imported()) - set(sys.stdlib_module_names) - {"admmbench"}
    names = {PACKAGES.get(name, name) for name in found}
    assert names == set(bounds(PROJECT["dependencies"])) - NOT_IMPORTED


def test_the_environment_of_jobs_has_the_same_packages():
    content = yaml.safe_load((ROOT / "envs/environment.yaml").read_text())["dependencies"]
    listed = [each for each in content if isinstance(each, str) and ">=" in each]
    (pip,) = (each["pip"] for each in content if isinstance(each, dict))
    found = bounds([*listed, *pip])
    assert found.pop("python") == PROJECT["requires-python"].removeprefix(">=")
    found["matplotlib"] = found.pop("matplotlib-base")
    wanted = bounds(PROJECT["dependencies"])
    del wanted["snakemake"]  # starts the jobs, and is not started by them
    assert found == wanted


def test_the_version_is_one():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert admmbench.__version__ == PROJECT["version"] == citation["version"]


def test_types_are_for_users_too():
    assert (ROOT / "src/admmbench/py.typed").exists()


def test_a_wheel_has_all_that_the_report_includes(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    names = zipfile.ZipFile(tmp_path / buildapi.build_wheel(str(tmp_path))).namelist()
    parts = [f"templates/{name}.js" for name in explore.SCRIPTS]
    parts += ["templates/explore.css", "templates/report.css"]
    parts += ["vendor/plot.min.js", "vendor/LICENSES.txt", "vendor/README.md"]
    assert {f"admmbench/analysis/{part}" for part in parts} <= set(names)
