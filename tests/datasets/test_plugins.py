"""Data sets from outside the package."""

import os
import re
from dataclasses import replace

import numpy as np
import pytest

from admmbench import plugins, simulate
from admmbench.cli import main
from admmbench.contracts.made_up_data import make_dataset, make_regression, written_by
from admmbench.datasets import (
    Attribute,
    DatasetError,
    checksum,
    key,
    load_dataset,
    normalize,
    open_as,
    prepare,
)
from admmbench.files import MARKUP, with_checksum
from admmbench.jobs import fingerprint
from admmbench.spec.run import RunSpec
from admmbench.study.address import dataset_folder

SOURCE = """
import numpy as np
from admmbench.datasets import Arrays, DatasetDefinition, DatasetInfo


class Coins(DatasetDefinition):
    name = "coins"
    defaults = {"n": 40}

    def describe(self, settings):
        return DatasetInfo(
            name="coins", title="Coins", settings=settings, n_train=settings["n"], n_test=10,
            n_features=2, class_names=("heads", "tails"), checksums={}, licence="", citation="",
            default_problem="logistic",
        )

    def read(self, info, paths):
        X = np.linspace(0, 1, 2 * (info.n_train + 10), dtype=np.float32).reshape(-1, 2)
        y = (np.arange(len(X)) % 2).astype(np.int64)
        n = info.n_train
        return Arrays(X[:n], y[:n], X[n:], y[n:])
"""


@pytest.fixture
def coins(tmp_path):
    path = tmp_path / "coins.py"
    path.write_text(SOURCE)
    return str(path)


def test_a_file_serves_as_a_name(coins):
    dataset = load_dataset({"name": coins, "n": 60})
    assert (dataset.name, dataset.n_train) == ("coins", 60)
    trace = simulate(coins, "objp", agents=4, rounds=2, evaluate_every=2)
    assert np.isfinite(trace.test_loss).all()


def test_a_module_that_cannot_be_imported_is_named_with_its_line(monkeypatch, tmp_path):
    (tmp_path / "half_written.py").write_text("import numpy\n\nclass X((:\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(plugins, "installed", lambda group: {"half": "half_written"})
    with pytest.raises(ValueError, match=r"data set 'half' cannot be imported:") as caught:
        load_dataset("half")
    assert 'half_written.py", line 3' in str(caught.value)


OTHER = SOURCE.replace("% 2", "// 3 % 2")


@pytest.fixture
def namesakes(coins, tmp_path):
    """Two data sets of one name."""
    (tmp_path / "other").mkdir()
    other = tmp_path / "other" / "coins.py"
    other.write_text(OTHER)
    return coins, str(other)


def test_files_of_one_name_are_data_sets_of_their_own(namesakes, tmp_path):
    """In one process, in the cache, and in the folders of a study."""
    first, second = map(load_dataset, namesakes)
    assert first.name == second.name
    assert (first.y_train != second.y_train).any()
    assert load_dataset(namesakes[0]).y_train.tolist() == first.y_train.tolist()
    assert len({*map(dataset_folder, namesakes)}) == 2
    assert all(normalize(name) == {"name": name, "n": 40} for name in namesakes)
    # The same content is the same data, wherever it is, and so is what means the same.
    copy = tmp_path / "copy.py"
    copy.write_text(f"# A copy\n{SOURCE}")
    assert key(str(copy)) == key(namesakes[0])
    assert key({"name": namesakes[0], "n": 41}) != key(namesakes[0])


@pytest.mark.parametrize("dataset", ["digits", "namesake", "{name: first, n: 50}"])
def test_a_prepared_data_set_serves_as_no_other(dataset, namesakes, tmp_path, capsys):
    first, second = namesakes
    prepare(first, tmp_path / "prepared")
    assert open_as(first, tmp_path / "prepared").name == "coins"
    dataset = {"digits": "digits", "namesake": second}.get(dataset, f"{{name: {first}, n: 50}}")
    words = [f"dataset={dataset}", "algorithm=iadmm", "agents=2", "rounds=1"]
    for command in ("run", "audit"):
        output = ["--data", str(tmp_path / "prepared"), "--output", str(tmp_path / "x.nc")]
        assert main([command, *words, *output]) == 1
        error = capsys.readouterr().err
        assert f"{tmp_path / 'prepared'} holds" in error
        assert "Traceback" not in error
    assert not (tmp_path / "x.nc").exists()


def test_an_edit_counts_though_size_and_time_are_the_same(coins):
    """Python would take its bytecode for that of the new content."""
    before, facts = load_dataset(coins).y_train[0], os.stat(coins)
    with open(coins, "w") as file:
        file.write(SOURCE.replace("np.arange(len(X)) % 2", "np.arange(len(X)) % 1"))
    os.utime(coins, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert os.stat(coins).st_size == facts.st_size
    after = load_dataset(coins).y_train
    assert (before, after.max()) == (0, 0)


def test_facts_of_numpy_serve(coins, tmp_path):
    path = tmp_path / "facts.py"
    path.write_text(
        SOURCE.replace('n_train=settings["n"]', 'n_train=np.int64(settings["n"])')
        .replace("n_features=2,", "n_features=np.int32(2), domain=np.array([0, 1]),")
        .replace('("heads", "tails")', 'np.array(["heads", "tails"])')
        .replace('"n": 40', '"n": np.int64(40), "ends": np.array([0, 1])')
        .replace("settings=settings", "settings={k: np.array(v) for k, v in settings.items()}")
    )
    data = load_dataset(str(path))
    assert (data.class_names, data.domain) == (("heads", "tails"), (0.0, 1.0))
    assert data.settings == {"n": 40, "ends": [0, 1]}


X, Y, TEST = make_dataset().X_train, make_dataset().y_train, make_dataset().y_test
X_TEST = make_dataset().X_test
UNBOUNDED = {"domain": (-np.inf, np.inf)}


IMPORTS = """
from scipy.sparse import csr_array
from admmbench.datasets import RemoteFile
"""

FILE = "files=(RemoteFile('a', (), {}),), checksums"
# What stands in a file in the place of something that it has; with what the message says.
WRONG_FILES = {
    "empty": (SOURCE, "", "expected one subclass of admmbench.datasets._base.DatasetDefinition, found []"),
    "built in": ('= "coins"', '= "digits"', "there is already a data set 'digits'"),
    "ends on import": ("import numpy as np", "import sys; sys.exit(0)", "SystemExit: 0"),
    "never returns": ("import numpy as np", "def f(): f()\nf()", "RecursionError"),
    "no describe": ("def describe", "def descr", "raised: AttributeError: 'Coins' object has no attribute 'facts'"),
    "no read": ("def read", "def reed", "Coins does not define read"),
    "arguments": ("    defaults", "    def __init__(self, x): pass\n    defaults", "Coins() raised"),
    "name above": ('"coins"', '"../../evil"', "name: '../../evil' is no name"),
    "no name": ('    name = "coins"', "    pass", "name: None is no name"),
    "name of a file": ('"coins"', '"coins.py"', "name: 'coins.py' is no name"),
    "two names": ('name="coins"', 'name="dice"', "describe() says 'dice', the class 'coins'"),
    "defaults": ('{"n": 40}', "40", "defaults: 40 is no mapping"),
    "numbers for names": ('"n": 40', "1: 40", "defaults: {1: 40} is no mapping of names"),
    "no settings": ("settings=settings", "settings=None", "settings: describe() says None"),
    "settings": ('"n": 40', '"n": {1j}', "no mapping of JSON values"),
    "lost settings": ("settings=settings", "settings={}", "pass them on"),
    "nothing described": ("return DatasetInfo", "DatasetInfo", "describe() returned NoneType"),
    "describe fails": ('settings["n"]', 'settings["m"]', "line 12, in describe: KeyError: 'm'"),
    "no number": ('n_train=settings["n"]', "n_train='many'", "n_train: Input should be a valid integer"),
    "no test rows": ("n_test=10", "n_test=0", "n_test: 0 is no whole number of 1 or more"),
    "checksum": ("checksums={}", "checksums={'a': b'x'}", "checksums.a: Input should be a valid string"),
    "one text": ('("heads", "tails")', '"ht"', "class_names: Input should be a valid tuple (got 'ht')"),
    "names that can be read once": (
        '("heads", "tails")',
        '(name for name in ("heads", "tails"))',
        "class_names: generator has no order, or can be read once; make it a tuple",
    ),
    "names in no order": ('("heads", "tails")', '{"heads", "tails"}', "class_names: set has no order"),
    "note": ("checksums", "note='a\\0b', checksums", r"note: 'a\x00b' has the character 0x0000, which is not printed"),
    "numbers": (
        '("heads", "tails")',
        "tuple(np.unique([0, 1]))",
        "class_names.0: Input should be a valid string (got np.int64(0))",
    ),
    "attribute": ("checksums", "attributes={'../x': 2}, checksums", "'../x' is no name"),
    "file above": (
        "checksums",
        FILE.format("'../a', 'sha256:' + 64 * '0'"),
        "mirror_path: '../a' leads out of the mirror",
    ),
    "file without checksum": (
        "checksums", FILE.format("'a', 'unknown'"), "checksum: 'unknown' is no sha256:"
    ),
    "read fails": ("n = info.n_train", "float('x')", "in read: ValueError: could not convert"),
    "nothing read": ("return Arrays", "Arrays", "read() returned NoneType, expected Arrays"),
    "sparse": ("Arrays(X[:n]", "Arrays(csr_array(X[:n])", "toarray() of what is sparse"),
    "other sizes": ("Arrays(X[:n]", "Arrays(X[:n, :1]", "features of shape (40, 1)"),
}  # fmt: skip


@pytest.mark.parametrize("fault", WRONG_FILES)
def test_a_wrong_plug_in_is_refused_in_one_line(fault, tmp_path, capsys):
    old, new, message = WRONG_FILES[fault]
    assert old in SOURCE
    path = tmp_path / "broken.py"
    path.write_text(SOURCE.replace(old, new) + IMPORTS)
    assert main(["prepare", str(path), "--output", str(tmp_path / "out")]) == 1
    error = capsys.readouterr().err
    assert str(path) in error
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()


# Changes of a data set that is made in Python; with what the message says.
WRONG: dict[str, tuple[dict, str]] = {
    "labels from 1": ({"y_train": Y + 1}, "labels in [1, 3], expected 0 to 2"),
    "labels below 0": ({"y_test": TEST - 1}, "test part: labels in [-1, 1], expected 0 to 2"),
    "float labels": ({"y_train": Y.astype(float)}, "y_train is float64, expected int64"),
    "columns of labels": ({"y_train": Y[:, None]}, "y_train has shape (60, 1), expected (n,)"),
    "too few labels": ({"y_train": Y[1:]}, "features of shape (60, 7) and labels of shape (59"),
    "NaN": ({"X_train": X * np.float32(np.nan), **UNBOUNDED}, "features in [nan"),
    "infinite": ({"X_test": np.full_like(X_TEST, np.inf), **UNBOUNDED}, "expected finite"),
    "outside": ({"X_train": 2 * X}, "the domain: widen it"),
    "double": ({"X_train": X.astype(float)}, "float64, expected float32; call astype(np.float32"),
    "masked": ({"X_train": np.ma.masked_array(X)}, "MaskedArray, expected a plain array"),
    "one axis": ({"X_train": X[:, 0]}, "X_train has shape (60,), expected (n, n_features)"),
    "no columns": ({"X_train": X[:, :0]}, "n_features: 0 is no whole number of 1 or more"),
    "no test part": ({"X_test": X[:0], "y_test": Y[:0]}, "n_test: 0 is no whole number of 1 or"),
    "no names of classes": ({"class_names": None}, "class_names: Input should be a valid tuple"),
    "same names": ({"class_names": ("a", "b", "a")}, "expected two different names or more"),
    **{
        f"text of {key}": ({key: "a\1"}, rf"{key}: 'a\x01' has the character 0x0001")
        for key in ("name", "citation", "licence", "note", "presumed", "target_unit")
    },
    "reversed": ({"domain": (1, 0)}, "domain: (1.0, 0.0) is no pair of numbers"),
    "too few writers": (
        {"attributes": {"writer": Attribute(("a",), np.zeros(3, np.int32), np.int32(0 * TEST))}},
        "writer has 3 values of type int32 for 60 rows",
    ),
}


@pytest.mark.parametrize("fault", WRONG)
def test_a_wrong_data_set_is_refused(fault):
    changes, message = WRONG[fault]
    with pytest.raises(ValueError, match=re.escape(message)):
        RunSpec(dataset=replace(make_dataset(), **changes), algorithm="objp", agents=2)


def test_what_is_as_it_should_be_is_no_fault():
    made = make_dataset()
    for data in (
        make_regression(),
        written_by(made, np.arange(60) % 4, "abcd"),
        replace(made, X_train=np.asfortranarray(made.X_train), class_names=list("abc")),
        replace(made, domain=(np.float64(0), np.int64(1)), y_train=np.minimum(made.y_train, 1)),
    ):
        assert RunSpec(dataset=data, algorithm="iadmm", agents=2).n_agents == 2


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_what_is_no_regular_file_is_no_plug_in(kind, tmp_path):
    path = tmp_path / "a.py"
    path.mkdir() if kind == "folder" else os.mkfifo(path)
    with pytest.raises(ValueError, match=r"a\.py': is no regular file"):
        load_dataset(str(path))


READING = SOURCE.replace(
    "X = np.linspace",
    "scale = float(Path(__file__).with_name(NAME).read_text())\n        X = scale * np.linspace",
).replace("import numpy", "from pathlib import Path\n\nimport numpy")


@pytest.mark.parametrize("name", ["coins.csv", "coins_rows.csv", "coins_rows.txt"])
def test_a_run_notices_that_a_file_named_after_the_plug_in_changed(tmp_path, name):
    path, table = tmp_path / "coins.py", tmp_path / name
    path.write_text(READING.replace("NAME", repr(name)))
    largest, fingerprints = [], []
    for text in ("1", "0.5"):
        table.write_text(text)
        largest.append(load_dataset(str(path)).X_train.max())
        fingerprint.of_modules.cache_clear()
        fingerprints.append(fingerprint.of_dataset(str(path)))
    assert largest[1] == largest[0] / 2
    assert fingerprints[0] != fingerprints[1]


def test_what_the_suite_writes_beside_a_plug_in_is_no_part_of_it(coins, tmp_path):
    before = key(coins), fingerprint.of_dataset(coins)
    results, table = tmp_path / "coins_results.nc", tmp_path / "coins_rows.nc"
    run = ["algorithm=objp", "agents=2", "rounds=1", "seeds=1"]
    assert main(["run", f"dataset={coins}", *run, "--output", str(results)]) == 0
    (tmp_path / "coins.log").write_text("round 1")
    (tmp_path / "coins_page.html").write_bytes(with_checksum(b"<html></html>", MARKUP))
    assert (key(coins), fingerprint.of_dataset(coins)) == before
    table.write_bytes(results.read_bytes()[:-80])  # data of the user have no checksum
    assert key(coins) != before[0]


def test_files_beside_a_plug_in_belong_to_the_module_with_the_longest_name(coins, tmp_path):
    before = key(coins)
    (tmp_path / "coins_2.csv").write_text("1")
    assert key(coins) != before
    (tmp_path / "coins_2.py").write_text("")
    assert key(coins) == before


def test_a_run_refuses_a_file_beside_the_plug_in_that_is_not_the_one_stated(tmp_path):
    path, table = tmp_path / "coins.py", tmp_path / "rows.csv"
    table.write_text("1")
    stated = checksum(b"1", "sha256")
    source = READING.replace("NAME", repr("rows.csv"))
    path.write_text(source.replace("checksums={}", f"checksums={{'rows.csv': {stated!r}}}"))
    run = {"agents": 4, "rounds": 1, "evaluate_every": 1}
    simulate(str(path), "objp", **run)
    before = fingerprint.of_dataset(str(path))
    prepare(str(path), tmp_path / "prepared")
    table.write_text("0.5")
    found = f"{stated!r} is not that of {table}, which is {checksum(b'0.5', 'sha256')!r}"
    for call in (
        lambda: simulate(str(path), "objp", **run),
        lambda: prepare(str(path), tmp_path / "again"),
        lambda: open_as(str(path), tmp_path / "prepared"),
    ):
        with pytest.raises(DatasetError, match=re.escape(found)):
            call()
    fingerprint.of_modules.cache_clear()
    assert fingerprint.of_dataset(str(path)) != before  # so that a study prepares it, and says so
