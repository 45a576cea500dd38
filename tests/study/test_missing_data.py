"""Experiments on the part of a data set that is there, where some of its files are missing."""

import pytest

from admmbench.cli import main
from admmbench.datasets import DatasetError, load_dataset
from admmbench.files import installed
from admmbench.study import config
from admmbench.study.config import ConfigError
from tests.plugins import write_parts
from tests.studies import SMALL, write_study

BY_WRITER = {**SMALL, "agents": {"scheme": "by_writer"}}
BY_WRITER["figures"] = [{"name": "error", "kind": "curves"}]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A study of a data set in two parts, of which its mirror has the first."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ADMMBENCH_MIRROR", str(tmp_path / "mirror"))
    monkeypatch.setenv("ADMMBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    write_study(tmp_path, small={**BY_WRITER, "dataset": write_parts(tmp_path)})
    return tmp_path


def paths(experiment):
    return [run.path for run in experiment.runs]


def test_an_experiment_uses_the_part_that_is_there_and_says_so(folder):
    found = config.read().experiments["small"]
    assert found.title == "Small (2 of 4 writers)"
    assert found.missing_data.files == {"part_1": "http://127.0.0.1:9/part_1"}
    assert [spec.n_agents for _, spec in found.computed] == [2]
    assert [figure.name for figure in found.figures] == ["error"]
    path = str(folder / "parts.py")
    alone = {**BY_WRITER, "dataset": {"name": path, "parts": [0]}}
    assert paths(found) == paths(config.check_experiment(alone))  # an ordinary, smaller data set
    assert load_dataset(found.dataset).note == "a part"


def test_when_the_files_appear_the_runs_are_those_of_the_stated_data(folder):
    before = config.read().experiments["small"]
    write_parts(folder, mirrored=2)
    after = config.read().experiments["small"]
    assert (after.title, after.missing_data) == ("Small", None)
    assert "missing_data" not in after.model_dump()
    assert not {*paths(before)} & {*paths(after)}
    assert paths(after) == paths(
        config.check_experiment({**BY_WRITER, "dataset": str(folder / "parts.py")})
    )


def test_prepared_data_need_no_files(folder):
    write_parts(folder, mirrored=2)
    complete = config.read()
    assert complete.missing_files == {}  # jobs before and after the preparation share workers
    (name,) = complete.datasets
    (folder / "mirror/part_1").unlink()
    assert config.read().experiments["small"].missing_data
    (folder / "resources/datasets" / name).mkdir(parents=True)
    assert config.read().experiments["small"].missing_data is None


def test_a_file_with_other_content_is_there_and_an_error(folder):
    (folder / "mirror/part_1").write_bytes(b"other")
    found = config.read().experiments["small"]
    assert found.missing_data is None
    with pytest.raises(DatasetError, match="part_1: wrong content"):
        load_dataset(found.dataset)


def test_without_any_part_the_data_stay_as_stated(folder):
    (folder / "mirror/part_0").unlink()
    assert config.read().experiments["small"].missing_data is None


def test_an_experiment_that_cannot_do_with_less_is_refused_with_the_reason(folder):
    dataset = str(folder / "parts.py")
    write_study(folder, small={**SMALL, "dataset": dataset, "agents": 40})
    with pytest.raises(
        ConfigError, match="small, with 2 of 4 writers as files of the data are missing"
    ):
        config.read()


def test_runs_on_all_data_and_on_a_part_are_both_asked_for_while_files_are_missing(
    folder, monkeypatch, capsys
):
    monkeypatch.setattr(installed, "find_all", lambda: {})  # the configurations of the suite
    names = []
    for mirrored in (2, 1):
        write_parts(folder, mirrored)
        if mirrored == 1:
            (folder / "mirror/part_1").unlink()
        study = config.read()
        run = study.runs_folder("small") / study.experiments["small"].runs[0].path
        run.parent.mkdir(parents=True)
        run.touch()
        names.append(run)
    assert len({*names}) == 2
    assert main(["gc"]) == 0
    assert "0 that no configuration asks for" in capsys.readouterr().out
