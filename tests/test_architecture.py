"""The house: who may import whom."""

import ast
import re
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import admmbench
from admmbench import list_algorithms
from admmbench.jobs.fingerprint import closure

ROOT = Path(admmbench.__file__).parent
# A room may import itself and those before it. This list is the only one.
ORDER = [
    "validation",
    "files",
    "plugins",
    "compiled",
    "sensitivity",
    "inference",
    "privacy",
    "datasets",
    "partition",
    "problems",
    "base",
    "theorems",
    "algorithms",
    "spec",
    "engine",
    "audit",
    "jobs",
    "tuning",
    "results",
    "figures",
    "claims",
    "study",
    "forecast",
    "watch",
    "installed",
    "report",
    "api",
    "scaffold",
    "contracts",
    "cli",
]
# Tests about no single room: folders, then modules.
TOGETHER = {"cluster", "device", "regression", "workflow"}
OF_THE_REPOSITORY = {"architecture", "docs", "examples", "findings", "packaging", "site"}
# For authors of plug-ins: no room of the house knows them, and they know nothing of studies.
FOR_AUTHORS = ["api", "scaffold", "contracts"]
# Number of rooms in the longest chain in which each imports the next.
MOST_FLOORS = 14


@cache
def modules():
    """Return the modules of the package, by name, as trees."""
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): ast.parse(path.read_text("utf-8"))
        for path in sorted(ROOT.rglob("*.py"))
    }


def imports(tree):
    """Names that a module imports from the package, also those for type checking alone: module and name in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("admmbench"):
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((a.name, "") for a in node.names if a.name.startswith("admmbench."))


def imported(tree):
    """Rooms that a module imports."""
    return {".".join(each).split(".")[1] for each in imports(tree)}


def test_imports_point_one_way():
    for name, tree in modules().items():
        room = name.split(".")[0]
        if room in ("__init__", "__main__", "cli"):  # the front doors
            continue
        allowed = set(ORDER[: ORDER.index(room) + 1])
        if room in FOR_AUTHORS:
            allowed -= {"study", "forecast", "watch", "claims", "report"}
        if room in ("api", "scaffold"):
            allowed -= {"engine", "jobs"}
        assert imported(tree) <= allowed, name


def test_no_module_imports_itself_through_others():
    known = {
        f"admmbench.{name}".removesuffix(".__init__"): each for name, each in modules().items()
    }
    graph = {
        name: {full if (full := ".".join(each)) in known else each[0] for each in imports(tree)}
        for name, tree in known.items()
    }
    TopologicalSorter({name: found - {name} for name, found in graph.items()}).prepare()


def test_the_house_has_few_floors():
    """A chain of rooms in which each imports the next is no longer; the longest is printed. All imports count."""
    chains: dict[str, list[str]] = {}
    for room in ORDER:
        found = [
            [f"{name} imports {other}", *chains[other]]
            for name, tree in modules().items()
            if name.split(".")[0] == room
            for other in sorted(imported(tree) & {*chains})
        ]
        chains[room] = max(found, key=len, default=[])
    longest = max(chains.values(), key=len)
    print(*longest, sep="\n")
    assert len(longest) < MOST_FLOORS, "\n".join(longest)


def test_a_configuration_is_read_without_jobs():
    assert not {name for name in closure(["admmbench.study.config"]) if ".jobs" in name}


def test_contributors_read_the_same_order():
    text = (ROOT.parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (table,) = re.findall(r"\| room \| what \|\n.*?\n\n", text, re.DOTALL)
    assert [
        name.removesuffix("/").removesuffix(".py")
        for name in re.findall(r"^\| `(.*?)` \|", table, re.M)
    ] == ORDER


def test_every_room_has_a_place():
    found = {
        path.stem
        for path in ROOT.iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert found - {"__init__", "__main__"} == set(ORDER)


def test_few_modules_are_loose():
    assert len(list(ROOT.glob("*.py"))) <= 9


def test_the_folder_of_methods_is_the_list_of_methods():
    folder = ROOT / "algorithms"
    assert (
        sorted(path.stem for path in folder.glob("*.py") if path.stem != "__init__")
        == list_algorithms()
    )


def test_tests_mirror_the_rooms():
    tests = Path(__file__).parent
    folders = {path.parent.name for path in tests.glob("*/test_*.py")}
    modules = {path.stem.removeprefix("test_") for path in tests.glob("test_*.py")}
    assert folders - TOGETHER <= {path.name for path in ROOT.iterdir() if path.is_dir()}
    assert modules - OF_THE_REPOSITORY <= {path.stem for path in ROOT.glob("*.py")}
    assert not TOGETHER & set(ORDER)


def test_every_method_has_tests_of_its_own():
    files = {path.stem for path in (Path(__file__).parent / "algorithms").glob("test_*.py")}
    assert {f"test_{name}" for name in list_algorithms()} <= files


def test_runs_reach_neither_studies_nor_pages():
    """Otherwise a new key or another plot would renew all results."""
    reached = {name.split(".")[1] for name in closure(["admmbench.jobs.job"]) if "." in name}
    assert not reached & set(ORDER[ORDER.index("jobs") + 1 :])


def test_a_run_reaches_no_module_of_another_algorithm_or_data_set():
    reached = closure(["admmbench.jobs.job", "admmbench.algorithms.objp"])
    methods = {"admmbench.algorithms.outp", "admmbench.algorithms.objt"}
    data = {"admmbench.datasets.mnist", "admmbench.datasets.femnist"}
    assert "admmbench.algorithms.objp" in reached
    assert not reached & (methods | data)


@pytest.mark.parametrize("name", list_algorithms())
def test_a_method_knows_no_other_and_nothing_of_files_threads_seeds_or_labels(name):
    others = {f"admmbench.algorithms.{other}" for other in list_algorithms()} - {
        f"admmbench.algorithms.{name}"
    }
    assert not closure([f"admmbench.algorithms.{name}"]) & others
    source = (ROOT / f"algorithms/{name}.py").read_text("utf-8")
    foreign = ("open(", "threading", "concurrent", "xarray", "default_rng", "stream(")
    assert not [word for word in foreign if word in source]


def test_snakemake_is_used_by_its_public_interface():
    """A release of it may change anything else."""
    private = re.compile(
        r"Default\w+Handler|\b(workflow|rules?|dag|job|logger|snakemake)(\.\w+)*\._"
    )
    files = [ROOT.parents[1] / "Snakefile", ROOT / "scaffold/study/Snakefile"]
    files += [*(ROOT / "watch").glob("*.py"), *(ROOT / "share/workflow").rglob("*.smk")]
    files += [ROOT / "share/workflow/Snakefile"]
    assert len(files) > 15
    for path in files:
        assert not private.findall(path.read_text("utf-8")), path


# Without a public way: numba looks at no file before it loads it, and argparse lists no options.
UNAVOIDABLE = {"compiled": {"_cache", "_impl", "_index_key"}}
ARGPARSE = {name: {"_option_string_actions"} for name in ("cli.options", "watch.study")}
OF_NAMED_TUPLES = {"_asdict", "_fields", "_make", "_replace"}


def private_names(tree):
    """Private names that a module defines, and those that it reads of any object."""
    defined, read = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            defined.add(node.name)
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            owner = getattr(node, "value", None)
            if owner is None or ast.unparse(owner) in ("self", "cls"):
                defined.add(node.id if isinstance(node, ast.Name) else node.attr)
        if isinstance(node, ast.Attribute):
            read.add(node.attr)
        elif isinstance(node, ast.ImportFrom) and not (node.module or "").startswith("admmbench"):
            read |= {alias.name for alias in node.names}
    return defined, {name for name in read if re.match(r"_[^_]", name)}


def test_other_packages_are_used_by_their_public_interface():
    """A release of theirs may change anything else."""
    names = {name: private_names(tree) for name, tree in modules().items()}
    ours = set().union(*(defined for defined, _ in names.values())) | OF_NAMED_TUPLES
    foreign = {name: read - ours for name, (_, read) in names.items() if read - ours}
    assert foreign == UNAVOIDABLE | ARGPARSE


def documented(tree):
    """Docstrings of a module."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            yield body[0].value


def test_only_methods_know_their_names():
    """What others must know of a method it declares itself, so that a plug-in can declare it too."""
    known = set(list_algorithms())
    methods = {f"admmbench.algorithms.{each}" for each in known}
    others = {name: tree for name, tree in modules().items() if not name.startswith("algorithms.")}
    for name, tree in others.items():
        assert not methods & {part for each in imports(tree) for part in (each[0], ".".join(each))}
        docstrings = {id(node) for node in documented(tree)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and id(node) not in docstrings:
                assert node.value not in known, f"{name}, line {node.lineno}"


# Rooms that hold numbers and enums: sentences about these are written by templates of the report.
WITHOUT_PROSE = ["claims", "inference", "report", "results"]
# What a refusal to join says is collected.
SAID_BY = {"results.joining"}


def sentences(tree):
    """Strings with values in them and two or more words around these, but for messages of errors, paths and markup."""
    raised = [
        node for each in ast.walk(tree) if isinstance(each, ast.Raise) for node in ast.walk(each)
    ]
    parts = {node.id for node in raised if isinstance(node, ast.Name)}
    named = [
        node
        for each in ast.walk(tree)
        if isinstance(each, ast.Assign)
        and {ast.unparse(target) for target in each.targets} <= parts
        for node in ast.walk(each.value)
    ]
    errors = {*raised, *named}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr) and node not in errors:
            texts = [str(part.value) for part in node.values if isinstance(part, ast.Constant)]
            is_text = any(" " in text for text in texts) and not texts[0].startswith("<")
            if is_text and len(re.findall(r"[^\W\d_]{2,}", " ".join(texts))) >= 2:
                yield ast.unparse(node)


@pytest.mark.parametrize("room", WITHOUT_PROSE)
def test_no_code_builds_sentences_where_results_are_numbers(room):
    found = {
        f"{name}: {text}"
        for name, tree in modules().items()
        if name.split(".")[0] == room and name not in SAID_BY
        for text in sentences(tree)
    }
    assert not found
