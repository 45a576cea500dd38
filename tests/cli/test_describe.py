"""What `admmbench describe` says."""

import json

import pytest

from admmbench import list_algorithms, list_datasets, list_losses
from admmbench.cli import main
from admmbench.files.installed import find_all
from admmbench.study.papers import bibtex

NAMES = {*list_algorithms(), *list_datasets(), *list_losses()} - {"table"}  # which needs a file


@pytest.mark.parametrize("name", sorted(NAMES))
def test_everything_has_a_description(name, capsys):
    assert main(["describe", name]) == 0
    said = capsys.readouterr().out
    assert len(said.splitlines()[0]) > 20
    assert "<factory>" not in said


def test_a_method_is_described_by_paper_parameters_needs_and_guarantee(capsys):
    main(["describe", "objp"])
    said = capsys.readouterr().out
    assert "Algorithm 1 of ryu2022" in said
    assert "parameters: rho = " in said
    assert "local_updates = 1" in said
    assert "E, subproblems that an agent solves in a round" in said  # of a frame
    assert "noise: laplace, on each gradient" in said
    assert "guarantee: proved (with sensitivity: global)" in said
    assert "algorithms/objp.py\n" in said
    assert "needs: " not in said
    main(["describe", "dvp"])
    assert "needs: " in capsys.readouterr().out


def test_a_file_is_described(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    main(["new", "method", "mine"])
    capsys.readouterr()
    assert main(["describe", "mine.py"]) == 0
    said = capsys.readouterr().out
    assert "mine.py" in said
    assert "guarantee: conditional on what the plug-in states, or none (with" in said


def test_a_table_is_described_by_what_is_in_it(tmp_path, capsys):
    path = tmp_path / "patients.csv"
    rows = [f"{20 + k % 9},{k % 2}" for k in range(50)]
    path.write_text("\n".join(["age,label", *rows]))
    assert main(["describe", f"{{name: table, path: {path}, target: label}}"]) == 0
    said = capsys.readouterr().out
    assert "40 + 10 (training + test)" in said
    assert "2 classes" in said
    assert main(["describe", "table"]) == 1
    assert "dataset.path: name the file of the table" in capsys.readouterr().err


def test_what_there_is_not_is_one_line(capsys):
    assert main(["describe", "nothing"]) == 1
    assert "unknown algorithm 'nothing' (there are " in capsys.readouterr().err


def test_a_paper_has_its_bibtex_entry_and_the_commands_that_draw_its_figures(capsys):
    assert main(["describe", "ryu2022"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("@misc{ryu2022,")
    assert "eprint = {2202.09409}" in said
    assert "admmbench figures ryu2022_mnist --reference (kept: " in said
    assert "ryu2021_mnist" not in said


def test_the_papers_have_one_bibtex_entry_each():
    papers = {path.stem for path in find_all("claims").values()}
    assert set(bibtex()) == papers


def test_the_list_of_studies_has_configurations_and_experiments(capsys):
    assert main(["list", "--studies"]) == 0
    said = capsys.readouterr().out
    assert "headline.yaml" in said
    assert "ryu2021_mnist " in said
    main(["list", "--studies", "--json"])
    assert "huang2019_l2" in json.loads(capsys.readouterr().out)["experiments"]
