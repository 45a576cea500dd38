"""The house: who may import whom."""

import ast
from pathlib import Path

import pytest

import admmbench
from admmbench.jobs.fingerprint import closure

ROOT = Path(admmbench.__file__).parent
# A room may import itself and the rooms before it. Privacy stands aside and imports none of them.
ORDER = [
    "datasets",
    "partition",
    "problems",
    "algorithms",
    "engine",
    "jobs",
    "statistics",
    "figures",
    "runs",
    "tuning",
    "experiment",
    "config",
    "audit",
    "forecast",
    "housekeeping",
    "watch",
    "analysis",
    "api",
    "templates",
    "checks",
]
# For authors of plug-ins: no room of the house knows them, and they know nothing of studies.
FOR_AUTHORS = ["api", "templates", "checks"]
BASE = [
    "auditing",
    "compiled",
    "core_yaml",
    "files",
    "installed",
    "interrupts",
    "kept",
    "outcomes",
    "plugins",
    "progress",
    "sensitivity",
    "validation",
]


def modules():
    for path in sorted(ROOT.rglob("*.py")):
        yield path, ".".join(path.relative_to(ROOT).with_suffix("").parts)


def imported(path):
    """Rooms that a module imports, those for type checking left out."""
    tree = ast.parse(path.read_text())
    hidden = {
        node
        for branch in ast.walk(tree)
        if isinstance(branch, ast.If) and "TYPE_CHECKING" in ast.unparse(branch.test)
        for node in ast.walk(branch)
    }
    for node in ast.walk(tree):
        if node in hidden:
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("admmbench"):
            parts = node.module.split(".")
            yield from [parts[1]] if len(parts) > 1 else [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            yield from (a.name.split(".")[1] for a in node.names if a.name.startswith("admmbench."))


@pytest.mark.parametrize(("path", "name"), list(modules()), ids=lambda value: str(value))
def test_imports_point_one_way(path, name):
    room = name.split(".")[0]
    if room in ("__init__", "__main__", "cli"):  # the front doors
        return
    allowed = set(BASE)
    if room == "privacy":
        allowed |= {"privacy"}
    elif room not in BASE:
        allowed |= {"privacy", *ORDER[: ORDER.index(room) + 1]}
    if room in FOR_AUTHORS:
        allowed -= {"experiment", "config", "forecast", "housekeeping", "analysis"}
    if room in ("api", "templates"):
        allowed -= {"engine", "jobs"}
    if room in ("runs", "experiment", "config"):
        allowed.discard("jobs")  # they stand side by side
    if room in ("datasets", "partition", "problems"):
        allowed.discard("privacy")
    assert set(imported(path)) <= allowed


def test_runs_reach_neither_configuration_nor_forecast_nor_analysis():
    """Otherwise a new key or another plot would renew all results."""
    reached = closure(["admmbench.jobs.job"])
    rooms = ("admmbench.experiment", "admmbench.config", "admmbench.forecast", "admmbench.analysis")
    assert not any(name.startswith(rooms) for name in reached)


def test_a_run_reaches_no_module_of_another_algorithm_or_data_set():
    reached = closure(["admmbench.jobs.job", "admmbench.algorithms.objp"])
    methods = {"admmbench.algorithms.outp", "admmbench.algorithms.objt"}
    data = {"admmbench.datasets.mnist", "admmbench.datasets.femnist"}
    assert "admmbench.algorithms.objp" in reached
    assert not reached & (methods | data)
