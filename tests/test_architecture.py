"""The house: who may import whom."""

import ast
import contextlib
import inspect
import pkgutil
import re
import textwrap
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import admmbench
from admmbench import list_algorithms
from admmbench.jobs.fingerprint import closure

ROOT = Path(admmbench.__file__).parent
CUDA = ROOT.parents[1] / "cuda/admmbench_cuda"
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
    "estimators",
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
    "certificate",
    "api",
    "kit",
    "scaffold",
    "contracts",
    "cli",
]
# Tests about no single room: folders, then modules.
TOGETHER = {"cluster", "device", "regression", "workflow"}
OF_THE_REPOSITORY = {
    "architecture",
    "docs",
    "examples",
    "findings",
    "language",
    "packaging",
    "site",
}
# For authors of plug-ins: no room of the house knows them, and they know nothing of studies.
FOR_AUTHORS = ["api", "kit", "scaffold", "contracts"]
# Number of rooms in the longest chain in which each imports the next.
MOST_FLOORS = 14
# Lines of a module, and arguments that a function takes by position.
MOST_LINES, MOST_ARGUMENTS = 500, 8


@cache
def modules(folder=ROOT):
    """Return the modules of a package, by name, as trees."""
    return {
        ".".join(path.relative_to(folder).with_suffix("").parts): ast.parse(path.read_text("utf-8"))
        for path in sorted(folder.rglob("*.py"))
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


# What is used of other packages without a public way.
UNAVOIDABLE = {
    # numba looks at no file before it loads it, and lets a cache of one's own do so only by these.
    "compiled": {"_cache", "_cache_path", "_impl", "_impl_class", "_index_key", "_locator_classes"},
    # An accountant of dp-accounting composes other events, and adds their divergences, only there.
    "privacy.renyi": {"_maybe_compose", "_rdp"},
    # argparse lists no options.
    "cli.options": {"_option_string_actions"},
    "watch.study": {"_option_string_actions"},
}
# The wheel for GPUs has the version of this package. Its problem is one over rows with the same records, shares, scales
# and bounds; what tests models and computes products differs.
OF_ROWS = {
    *("_test", "_test_parts"),
    *("_X", "_narrow", "_scale", "_sensitivity", "_shape", "_shares", "_starts"),
}
OF_NAMED_TUPLES = {"_asdict", "_fields", "_make", "_replace"}


def private_names(tree, package):
    """Private names that a module defines itself, and those that it takes from anything else than its package.

    What a class has from a base of another package counts as the base's also where the class defines it once more.
    """
    defined, used = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] != package:
            used |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Attribute):
            used.add(node.attr)
        defined |= stored(node)
    used -= defined
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            names = {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)}
            names |= set().union(*map(stored, ast.walk(node)))
            used |= names & set().union(*(known_to(base, package) for base in bases(node, tree)))
    return {name for name in used if re.match(r"_[^_]", name)} - OF_NAMED_TUPLES


def stored(node):
    """Names that a statement defines, or stores on its own object."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return {node.id}
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        return {node.attr} if ast.unparse(node.value) in ("self", "cls") else set()
    return set()


def bases(node, tree):
    """Classes of other modules that a class is made from, perhaps by way of those of its own module."""
    places = dict[str, str]()
    for each in ast.walk(tree):
        if isinstance(each, ast.ImportFrom):
            places |= {a.asname or a.name: f"{each.module}.{a.name}" for a in each.names}
        elif isinstance(each, ast.Import):
            places |= {a.asname: a.name for a in each.names if a.asname}
    local = {each.name: each for each in ast.walk(tree) if isinstance(each, ast.ClassDef)}
    for base in node.bases:
        root, *rest = ast.unparse(base).split("[")[0].split(".")
        if root in local:
            yield from bases(local[root], tree)
        else:
            # A module that is imported by its own name is found by it, and all others are built in.
            builtin = root if rest else f"builtins.{root}"
            yield pkgutil.resolve_name(".".join([places.get(root, builtin), *rest]))


@cache
def known_to(base, package):
    """Names that a class and its bases have or use of an object, but for those of a package."""
    names = set()
    for each in inspect.getmro(base) if inspect.isclass(base) else ():
        if each.__module__.split(".")[0] != package:
            names |= {*vars(each)}
            # A class that is written in C has no source.
            with contextlib.suppress(OSError, TypeError):
                source = ast.parse(textwrap.dedent(inspect.getsource(each)))
                names |= {n.attr for n in ast.walk(source) if isinstance(n, ast.Attribute)}
    return names


def foreign_names(folder):
    """Private names of other packages in the modules of a package."""
    found = {name: private_names(tree, folder.name) for name, tree in modules(folder).items()}
    return {name: names for name, names in found.items() if names}


def test_other_packages_are_used_by_their_public_interface():
    """A release of theirs may change anything else."""
    assert foreign_names(ROOT) == UNAVOIDABLE


def test_a_gpu_uses_the_public_interface_but_of_rows():
    assert foreign_names(CUDA) == {"rows": OF_ROWS}


def test_modules_are_short():
    paths = [*ROOT.parent.rglob("*.py"), *CUDA.rglob("*.py")]
    lengths = {path: len(path.read_text("utf-8").splitlines()) for path in paths}
    assert not {path: length for path, length in lengths.items() if length > MOST_LINES}


# Functions that take more arguments by position than others may.
LONG_CALLS = {
    # Its signature is public, and stated by the design.
    "admmbench.jobs.simulate.simulate",
    # What numba compiles takes arrays and numbers one by one, and so does what writes such a function or calls it.
    "admmbench.base.kernel.make_update",
    "admmbench.problems.weighted_sums._add_up",
    "admmbench.problems.weighted_sums._turn",
    "admmbench_cuda.softmax.to_derivatives",
    "admmbench_cuda.update.make_update",
}


def test_functions_take_few_arguments_by_position():
    found = {
        f"{folder.name}.{name}.{node.name}"
        for folder in (ROOT, CUDA)
        for name, tree in modules(folder).items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and len({each.arg for each in node.args.args} - {"self", "cls"}) > MOST_ARGUMENTS
    }
    assert found == LONG_CALLS


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
WITHOUT_PROSE = ["audit", "claims", "inference", "report", "results"]


def sentences(tree):
    """Strings with values in them and two or more words around these, but for messages of errors, paths and markup."""
    raised = [
        node for each in ast.walk(tree) if isinstance(each, ast.Raise) for node in ast.walk(each)
    ]
    parts = {node.id for node in raised if isinstance(node, ast.Name)}
    named = [
        node
        for each in ast.walk(tree)
        if isinstance(each, ast.Assign | ast.AugAssign)
        and {ast.unparse(target) for target in getattr(each, "targets", None) or [each.target]}
        <= parts
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
        if name.split(".")[0] == room
        for text in sentences(tree)
    }
    assert not found
