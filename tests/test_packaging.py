"""What is declared: packages, versions, and the environment of the jobs."""

import ast
import re
import sys
import tarfile
import tomllib
import zipfile
from contextlib import chdir

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


def imported(folder):
    """Top-level names that the modules of a folder import."""
    for path in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module]
            yield from (name.split(".")[0] for name in names)


def packages(folder, name):
    """Packages that a package imports, Python's and its own left out."""
    found = set(imported(folder)) - set(sys.stdlib_module_names) - {name}
    return {PACKAGES.get(each, each) for each in found}


def test_what_is_imported_is_declared_and_the_other_way_round():
    wanted = bounds([*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["parquet"]])
    assert packages("src", "admmbench") == set(wanted) - NOT_IMPORTED


def test_the_package_for_a_gpu_declares_what_it_imports_besides():
    cuda = tomllib.loads((ROOT / "cuda/pyproject.toml").read_text())["project"]
    names = set(bounds(each for each in cuda["dependencies"] if ">=" in each))
    own = {"admmbench", *bounds(PROJECT["dependencies"])}
    assert packages("cuda/admmbench_cuda", "admmbench_cuda") - own == names
    assert cuda["version"] == PROJECT["version"]


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
