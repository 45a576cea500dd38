"""Data sets from outside the package."""

import numpy as np
import pytest

from admmbench import plugins, simulate
from admmbench.datasets import _registry as registry
from admmbench.datasets import list_datasets, load_dataset

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
        )

    def read(self, info, paths):
        X = np.linspace(0, 1, 2 * (info.n_train + 10), dtype=np.float32).reshape(-1, 2)
        y = (np.arange(len(X)) % 2).astype(np.int64)
        n = info.n_train
        return Arrays(X[:n], y[:n], X[n:], y[n:])
"""


@pytest.fixture
def coins(tmp_path, monkeypatch):
    monkeypatch.setattr(registry, "_LOADED", {})
    path = tmp_path / "coins.py"
    path.write_text(SOURCE)
    return str(path)


def test_a_file_serves_as_a_name(coins):
    dataset = load_dataset({"name": coins, "n": 60})
    assert (dataset.name, dataset.n_train) == ("coins", 60)
    trace = simulate(coins, "objp", agents=4, rounds=2, evaluate_every=2)
    assert np.isfinite(trace.test_loss).all()


def test_an_installed_package_offers_one(coins, monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(plugins, "installed", lambda group: {"coins": "coins"})
    assert "coins" in list_datasets()
    assert load_dataset("coins").n_train == 40


def test_a_module_that_cannot_be_imported_is_named_with_its_line(monkeypatch, tmp_path):
    (tmp_path / "half_written.py").write_text("import numpy\n\nclass X((:\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(plugins, "installed", lambda group: {"half": "half_written"})
    with pytest.raises(ValueError, match=r"data set 'half' cannot be imported:") as caught:
        load_dataset("half")
    assert 'half_written.py", line 3' in str(caught.value)


def test_a_file_without_a_data_set_is_named(tmp_path):
    path = tmp_path / "empty.py"
    path.write_text("")
    with pytest.raises(
        ValueError, match=r"empty\.py: expected one subclass of .*DatasetDefinition"
    ):
        load_dataset(str(path))
    with pytest.raises(ValueError, match="no such file"):
        load_dataset(str(tmp_path / "missing.py"))


def test_an_edited_file_is_prepared_again(coins, tmp_path):
    assert load_dataset(coins).X_train[0, 0] == 0
    (tmp_path / "coins.py").write_text(SOURCE.replace("linspace(0, 1", "linspace(0.5, 1"))
    assert load_dataset(coins).X_train[0, 0] == 0.5


def test_a_file_does_not_take_the_place_of_what_is_built_in(coins, tmp_path):
    (tmp_path / "other.py").write_text(SOURCE.replace('name = "coins"', 'name = "digits"'))
    with pytest.raises(ValueError, match="there is already a data set 'digits'"):
        load_dataset(str(tmp_path / "other.py"))
