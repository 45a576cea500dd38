"""What comes with the package besides code, and what stands beside it."""

import subprocess
import sys

import pytest
import yaml

from admmbench.files.installed import CONFIG, SNAKEFILE, find, find_all, link_package
from admmbench.study import config


def test_a_file_of_one_s_own_takes_the_place_of_an_installed_one(tmp_path):
    (tmp_path / "experiments").mkdir()
    own = tmp_path / "experiments/quick.yaml"
    content = yaml.safe_load((CONFIG / "experiments/quick.yaml").read_text())
    own.write_text(yaml.safe_dump({**content, "title": "Mine"}))
    found = find_all("experiments", tmp_path)
    assert found["quick"] == own
    assert found["ryu2022_mnist"] == CONFIG / "experiments/ryu2022_mnist.yaml"
    study = config.load({"experiments": ["quick", "ryu2022_mnist"]}, tmp_path)
    assert study.experiments["quick"].title == "Mine"
    assert SNAKEFILE.is_file()


def test_files_of_the_configuration_end_in_yaml_or_yml(tmp_path):
    """Overlays have their whole names, so that two of one stem are two."""
    (tmp_path / "experiments").mkdir()
    for name in ("notes.y.html", "quick.yaml~", "quick.yml.bak", "a.ytml"):
        (tmp_path / "experiments" / name).touch()
    assert find_all("experiments", tmp_path) == find_all("experiments", tmp_path / "none")
    own = tmp_path / "experiments/quick.yml"
    own.touch()
    assert find_all("experiments", tmp_path)["quick"] == own
    own.with_suffix(".yaml").touch()
    with pytest.raises(ValueError, match=r"quick\.ya?ml and .*quick\.ya?ml have one name; remove"):
        find_all("experiments", tmp_path)
    names = ("config.yaml", "config.yml", "laptop.yml")
    for name in names:
        (tmp_path / name).touch()
    found = find_all(folder=tmp_path)
    assert [found[name] for name in names] == [tmp_path / name for name in names]
    assert found["laptop.yaml"] == CONFIG / "laptop.yaml"


def test_tuned_settings_are_installed_too(tmp_path):
    study = config.load({"experiments": ["equal_privacy_adult"]}, tmp_path)
    assert not study.experiments["equal_privacy_adult"].untuned
    (tmp_path / "tuned").mkdir()
    (tmp_path / "tuned/equal_privacy_adult.yaml").write_text("{}")
    study = config.load({"experiments": ["equal_privacy_adult"]}, tmp_path)
    assert study.experiments["equal_privacy_adult"].untuned


def test_an_unknown_file_is_refused_with_the_nearest():
    assert find("laptop.yaml") == CONFIG / "laptop.yaml"
    with pytest.raises(
        ValueError, match=r"'experiments/quick'; did you mean 'experiments/quick\.y"
    ):
        find("experiments/quick")


def test_another_python_gets_this_package_link_package(tmp_path):
    folder = link_package(tmp_path / "one")
    assert link_package(tmp_path / "one") == folder
    code = "from importlib.util import find_spec as f; print(f('admmbench').origin, f('numpy'), sep='|')"
    shown = subprocess.run(
        [sys.executable, "-S", "-c", code],
        env={"PYTHONPATH": str(folder)},
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert shown == f"{folder}/admmbench/__init__.py|None\n"
