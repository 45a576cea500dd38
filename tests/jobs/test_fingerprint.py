"""Fingerprints follow meaning."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import admmbench
from admmbench import plugins
from admmbench.jobs import fingerprint
from admmbench.spec.run import RunSpec
from tests import pages

CODE = """
def f(x):
    return x + 1
"""


@pytest.mark.parametrize(
    "same",
    [
        '"""A module."""\n' + CODE,
        CODE.replace("x + 1", "x+1  # one more"),
        CODE.replace("    return", '    """One more."""\n\n    return (').replace("+ 1", "+ 1)"),
    ],
)
def test_comments_docstrings_and_formatting_do_not_count(tmp_path, same):
    first, second = tmp_path / "a.py", tmp_path / "b.py"
    first.write_text(CODE)
    second.write_text(same)
    assert fingerprint.meaning(first) == fingerprint.meaning(second)


DESCRIBED = """
@parameters
class A(Base):
    examples = ({"b": 1},)

    @property
    def family(self):
        return "one" if self.b else "another"

    def f(self, x):
        return x + 1
"""


@pytest.mark.parametrize(
    "same",
    [
        DESCRIBED.replace('"b": 1', '"b": 2'),
        DESCRIBED.replace('"another"', '"a third"'),
        re.sub("    examples.*\n", "", DESCRIBED),
        re.sub("    @property(.|\n)*another.\n", "    family = 'one'\n", DESCRIBED),
        re.sub("    examples.*\n", "    examples: ClassVar[tuple] = ()\n", DESCRIBED),
    ],
)
def test_what_describes_a_method_does_not_count(same):
    assert same != DESCRIBED
    assert plugins.meaning(same.encode()) == plugins.meaning(DESCRIBED.encode())


def test_what_has_such_a_name_counts_where_it_is_read_or_in_no_class():
    for first, second in (
        (f"{DESCRIBED}\n    def g(self): return self.examples", "examples = ()"),
        (f"{DESCRIBED}\n    n = len(examples)", "examples = ()"),
        ("def f():\n    examples = 1\n    return 2", "examples = 2"),
    ):
        other = re.sub(r"examples = .*", second, first)
        assert plugins.meaning(other.encode()) != plugins.meaning(first.encode())


@pytest.mark.parametrize(
    "head",
    [
        "class A(NamedTuple):",
        "@dataclass\nclass A(Base):",
        "class A(Enum):",
        "class A(Base):",
        "@parameters\nclass A:",
        "@parameters\nclass A(Base):",
    ],
)
@pytest.mark.parametrize("name", ["examples", "family"])
def test_fields_and_values_of_what_is_no_method_count(head, name):
    """Other modules may read them."""
    field = f"{head}\n    {name}: int = 5"
    assert plugins.meaning(field.encode()) != plugins.meaning(field.replace("5", "6").encode())
    value = field.replace(": int", "")
    same = plugins.meaning(value.encode()) == plugins.meaning(value.replace("5", "6").encode())
    assert same == (head == "@parameters\nclass A(Base):")


@given(st.integers(2, 10**6))
def test_every_other_constant_counts(value):
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        first, second = Path(folder, "a.py"), Path(folder, "b.py")
        first.write_text(CODE)
        second.write_text(CODE.replace("1", str(value)))
        assert fingerprint.meaning(first) != fingerprint.meaning(second)


@pytest.fixture
def package(tmp_path):
    """A copy of the package, with compiled code, that may be edited; fingerprints are taken in another process."""
    shutil.copytree(Path(admmbench.__file__).parent, tmp_path / "admmbench")
    return tmp_path / "admmbench"


def printed(code, *words, folder=None, **environment):
    """Words that code prints in a process of its own, which imports the package from a folder if one is given."""
    if folder:
        environment["PYTHONPATH"] = str(folder)
    return subprocess.run(
        [sys.executable, "-B", "-c", code, *words],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()


RUNS = {
    **{name: {"algorithm": name} for name in ("objp", "objt", "outp")},
    "squared": {"dataset": "diabetes", "algorithm": "objp"},
    "huber": {"dataset": "diabetes", "algorithm": "objp", "problem": "huber"},
}


def fingerprints(package, names=("objp", "objt", "outp")):
    runs = [{"dataset": "digits", **RUNS[name]} for name in names]
    code = (
        "from admmbench.jobs import fingerprint\n"
        "from admmbench.spec.run import RunSpec\n"
        f"for run in {runs!r}:\n"
        "    print(fingerprint.of_run(RunSpec(**run)))\n"
    )
    return dict(zip(names, printed(code, folder=package.parent), strict=True))


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def differ(before, after):
    return {name for name in after if after[name] != before[name]}


def changed(package, before):
    return differ(before, fingerprints(package, tuple(before)))


def test_a_run_covers_its_own_loss_and_no_other(package):
    before = fingerprints(package, tuple(RUNS))
    losses = package / "problems/losses"

    edit(losses / "softmax.py", "row[y] = derivative", "row[y] = 2 * derivative")
    after = fingerprints(package, tuple(RUNS))
    assert differ(before, after) == {"objp", "objt", "outp"}

    # Of the other losses, and of what only columns need, nothing counts.
    edit(losses / "huber.py", "quadratic / 2", "quadratic / 3")
    edit(losses / "sigmoid.py", "derivative_bound", "bound_of_derivatives")
    edit(package / "base/sharing.py", "* (s - state.z)", "* 2 * (s - state.z)")
    assert changed(package, after) == {"huber"}

    edit(package / "problems/loss.py", "np.sqrt(mean)", "np.cbrt(mean)")
    assert changed(package, after) == set(RUNS)


@pytest.mark.slow
def test_what_was_found_in_a_file_is_kept_by_its_bytes(tmp_path, monkeypatch):
    """Another process need not parse what has not changed, and sees what has."""
    cache, path = tmp_path / "cache", tmp_path / "a.py"
    code = (
        "import ast, sys\nfrom pathlib import Path\nfrom admmbench.jobs import fingerprint\n"
        "parse, parsed = ast.parse, []\n"
        "ast.parse = lambda *given: parsed.append(1) or parse(*given)\n"
        "roots = ('admmbench.datasets',)\n"
        "print(fingerprint.of_modules(roots, (Path(sys.argv[1]),)), len(parsed))\n"
    )

    def taken(text):
        path.write_text(text)
        found, parsed = printed(code, str(path), ADMMBENCH_CACHE=str(cache))
        return found, int(parsed)

    first, parsed = taken(CODE)
    assert parsed > 5
    assert taken(CODE) == (first, 0)
    assert taken("# the same\n" + CODE) == (first, 1)
    other, parsed = taken(CODE.replace("1", "2"))
    assert (other != first, parsed) == (True, 1)
    for file in cache.glob("meanings-*.json"):
        file.write_text("[")
    assert taken(CODE)[0] == first


RUN = ["run", "dataset=digits", "algorithm=objp", "epsilon=1", "rounds=1", "seeds=1"]
SLOW = ["scipy.fft", "scipy.optimize", "scipy.signal", "scipy.stats", "dp_accounting.pld"]
# Parts of the suite that each call of Snakemake imports.
PLANNING = "claims.claims study.config jobs.partitions files.netcdf watch.logger forecast.cost"
STARTED = {
    # scipy.stats and scipy.signal, which dp-accounting imports as a whole, take a quarter of a short run.
    "run": f"from admmbench.cli import main; main([*{RUN!r}, *sys.argv[1:]])",
    "planning": f"import admmbench.{PLANNING.replace(' ', ', admmbench.')}",
    "fingerprint": "from admmbench.jobs import fingerprint; "
    "fingerprint.of_modules(('admmbench.report.rendering',))",
}


@pytest.mark.parametrize("name", STARTED)
def test_what_starts_often_imports_nothing_slow(name, prepared, tmp_path):
    """Planning reads the sources of figures and statistics, whose packages take seconds to import."""
    slow = [*SLOW, "seaborn"] if name == "fingerprint" else SLOW
    code = f"import sys; {STARTED[name]}; print([name for name in {slow!r} if name in sys.modules])"
    words = ["--data", str(prepared), "--output", str(tmp_path / "run.nc")]
    assert printed(code, *words)[-1] == "[]"


LOSS = """
from admmbench.problems.losses.squared import Squared
from admmbench.validation import parameters


@parameters
class Mine(Squared):
    '''Mine.'''

    curvature_bound = 1.0
"""
METHOD = """
from admmbench.base.algorithm import parameters
from admmbench.algorithms.objp import ObjP


@parameters
class Mine(ObjP):
    '''Mine.'''
"""


def of_edited(path, text, **run):
    """Fingerprint of a run that has this text in a file, as another process would find it."""
    for cached in (fingerprint._read, fingerprint.of_modules, fingerprint.imports):
        cached.cache_clear()
    path.write_text(text)
    return fingerprint.of_run(RunSpec(**{"dataset": "diabetes", "algorithm": "objp", **run}))


@pytest.mark.parametrize("method", [False, True], ids=["built-in method", "method of one name"])
def test_the_file_of_a_loss_counts(tmp_path, method):
    """Also where a method's file has the same name."""
    run = {"problem": str(tmp_path / "mine.py")}
    if method:
        (tmp_path / "methods").mkdir()
        (tmp_path / "methods/mine.py").write_text(METHOD)
        run["algorithm"] = str(tmp_path / "methods/mine.py")
    first = of_edited(tmp_path / "mine.py", LOSS, **run)
    assert of_edited(tmp_path / "mine.py", LOSS.replace("Mine.", "My own."), **run) == first
    assert of_edited(tmp_path / "mine.py", LOSS.replace("1.0", "2.0"), **run) != first
    assert of_edited(tmp_path / "mine.py", LOSS, **run) == first
    if method:
        edited = METHOD + "\n    b: float = 1.0\n"
        assert of_edited(tmp_path / "methods/mine.py", edited, **run) != first
    else:
        assert of_edited(tmp_path / "mine.py", LOSS, problem="squared") != first


def test_a_plug_in_is_followed_through_the_api(tmp_path):
    """To the modules of the names that it takes, not to those of the others."""
    path = tmp_path / "mine.py"
    path.write_text("from admmbench.api import Linearized, parameters\n")
    reached = fingerprint.closure(fingerprint.imports(path))
    assert {"admmbench.base.linearized", "admmbench.validation"} <= reached
    assert not reached & {"admmbench.api", "admmbench.base.exact"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("call", "file"),
    [
        ("of_dataset('femnist')", "datasets/femnist_shards.csv"),
        ("of_page('admmbench.report.rendering')", "report/vendor/plot.min.js"),
    ],
)
def test_files_that_are_no_modules_count_where_they_are_read(package, call, file):
    def found(call):
        code = f"from admmbench.jobs import fingerprint; print(fingerprint.{call})"
        return printed(code, folder=package.parent)

    other = "of_dataset('mnist')"
    before, untouched = found(call), found(other)
    with (package / file).open("a") as stream:
        stream.write("\n")
    assert found(call) != before
    assert found(other) == untouched


def test_a_package_whose_name_begins_alike_is_another(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("import admmbench_extras\nfrom admmbench_extras.api import thing\n")
    assert fingerprint.imports(path) == ()
    assert fingerprint.closure(["admmbench_extras"]) == set()


def test_a_data_set_outside_the_package_counts(tmp_path):
    source = Path(admmbench.__file__).parent / "scaffold" / "dataset.py"
    path = tmp_path / "wine.py"
    path.write_text(source.read_text())
    before = fingerprint.of_dataset(str(path))
    path.write_text(source.read_text().replace("% 5", "% 6"))
    fingerprint._read.cache_clear()
    fingerprint.of_modules.cache_clear()
    assert fingerprint.of_dataset(str(path)) != before


@pytest.mark.parametrize(
    ("rule", "module"),
    [
        ("aggregate", "admmbench.engine.trace"),
        ("audit", "admmbench.audit.attacks"),
        ("report", "admmbench.claims.judge"),
        ("report", "admmbench.study.aggregate"),
        ("tune", "admmbench.tuning.search"),
    ],
)
def test_a_rule_follows_the_code_that_its_command_runs(rule, module):
    text = (pages.ROOT / "workflow" / "rules" / f"{rule}.smk").read_text(encoding="utf-8")
    (called, *_) = re.findall(r"fingerprint\.of_(?:modules|page)\(([^)]*)\)", text)
    roots = re.findall(r'"([\w.]+)"', called)
    assert roots
    assert module in fingerprint.closure(roots)
