"""What is declared: packages, versions, and the environment of the jobs."""

import ast
import re
import sys
import tarfile
import tomllib
import zipfile
from contextlib import chdir
from itertools import chain

import yaml
from hatchling import build

import admmbench
from admmbench.report import explore
from tests.wheel import ROOT, wheel

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# Where the name to import is another one.
PACKAGES = {
    "cupy": "cupy-cuda13x",
    "cupyx": "cupy-cuda13x",
    "dp_accounting": "dp-accounting",
    "numba_cuda": "numba-cuda[cu13]",
    "pydantic_core": "pydantic",
    "sklearn": "scikit-learn",
    "snakemake_interface_logger_plugins": "snakemake-interface-logger-plugins",
    "yaml": "pyyaml",
}
# xarray reads and writes with the first; pooch draws its progress with the last.
NOT_IMPORTED = {"h5netcdf", "tqdm"}


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
    extras = (PROJECT["optional-dependencies"][name] for name in ("cuda", "parquet"))
    assert names == set(bounds([*PROJECT["dependencies"], *chain(*extras)])) - NOT_IMPORTED


def test_versions_of_python_are_the_same_in_all_places():
    name = "Programming Language :: Python :: "
    classifiers = [each for each in PROJECT["classifiers"] if each.startswith(name)]
    *first, last = (each.removeprefix(name) for each in classifiers[1:])
    for page in ("README.md", "docs/start.md"):
        assert f"You need Python {', '.join(first)} or {last}," in (ROOT / page).read_text()
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
    assert workflow["jobs"]["checks"]["strategy"]["matrix"]["python"] == [*first, last]
    assert PROJECT["requires-python"] == f">={first[0]}"


def test_the_environment_of_jobs_has_the_same_packages():
    content = yaml.safe_load((ROOT / "workflow/envs/environment.yaml").read_text())["dependencies"]
    listed = [each for each in content if isinstance(each, str) and ">=" in each]
    (pip,) = (each["pip"] for each in content if isinstance(each, dict))
    found = bounds([*listed, *pip])
    assert found.pop("python") == PROJECT["requires-python"].removeprefix(">=")
    found["matplotlib"] = found.pop("matplotlib-base")
    wanted = bounds(PROJECT["dependencies"])
    for name in ("snakemake", "snakemake-interface-logger-plugins"):
        del wanted[name]  # starts the jobs, and is not started by them
    assert found == wanted


def test_the_version_is_one():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert admmbench.__version__ == PROJECT["version"] == citation["version"]


def test_a_wheel_has_all_that_it_needs_and_one_from_the_sources_too(tmp_path):
    """What the report includes, the workflow, the configurations, and what Snakemake finds by its name."""
    packed = set(zipfile.ZipFile(wheel(tmp_path)).namelist())
    parts = [f"report/templates/{name}.js" for name in explore.SCRIPTS]
    parts += ["report/templates/explore.css", "report/templates/report.css", "py.typed"]
    parts += [f"report/vendor/{name}" for name in ("plot.min.js", "LICENSES.txt", "README.md")]
    files = [path for part in ("workflow", "config") for path in (ROOT / part).rglob("*")]
    parts += [f"share/{path.relative_to(ROOT)}" for path in files if path.is_file()]
    assert "share/workflow/Snakefile" in parts
    assert {f"admmbench/{part}" for part in parts} <= packed
    assert "snakemake_logger_plugin_admmbench/__init__.py" in packed
    with chdir(ROOT):
        archive = tmp_path / build.build_sdist(str(tmp_path))
    with tarfile.open(archive) as sources:
        # Python 3.11.2 of Debian 12 knows no filters.
        sources.extractall(
            tmp_path, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {})
        )
    unpacked = tmp_path / archive.name.removesuffix(".tar.gz")
    assert set(zipfile.ZipFile(wheel(tmp_path, unpacked)).namelist()) == packed
