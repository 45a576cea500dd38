"""The tutorials, followed to the letter in a fresh copy of the project: files saved, commands called, Python run."""

import contextlib
import io
import os
import re
import shlex
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from tests.pages import ROOT, blocks, save
from tests.workflow import forked
from tests.workflow.project import Project, call

pytestmark = pytest.mark.slow

FOLDER = ROOT / "docs/tutorials"
PAGES = re.findall(r"^\| \[.*?\]\((\w+)\.md\)", (FOLDER / "index.md").read_text(), re.MULTILINE)
# What a page promises to leave behind, besides what it prints.
FILES = {
    "first_study": "results/report/quick/index.html",
    "notebook": "digits.png",
    "own_method": "my_method.png",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """One for all tutorials, so that none computes what another one has computed."""
    return Project(tmp_path_factory.mktemp("tutorials") / "project")


def command(line, project):
    """What a command prints, which must end well."""
    words = shlex.split(line, comments=True)
    if words[0] == "cd":
        os.chdir(words[1])
        return ""
    if words[0] == "snakemake":
        status, printed = forked.snakemake(Path.cwd(), words[1:], project.environment)
    else:
        assert words[0] == "admmbench", line
        done = call([forked.python_of_jobs(), "-m", *words], Path.cwd(), project.environment)
        status, printed = done.returncode, done.stdout
    assert status == 0, printed
    return printed


def follow(page, project):
    """Do what a page says, block by block; what was printed before each block that shows it, and that block."""
    printed = ""
    names: dict[str, object] = {}
    for block in blocks(page):
        if block.file:
            save(block, Path.cwd())
        elif block.language == "sh":
            lines = block.text.replace("\\\n", " ").splitlines()
            printed = "".join(command(line, project) for line in lines)
        elif block.language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as stream:
                exec(compile(block.text, page.name, "exec"), names)
            printed = stream.getvalue()
        elif block.language == "text":
            yield printed, block.text


def test_all_tutorials_are_listed():
    assert {*PAGES} == {path.stem for path in FOLDER.glob("*.md")} - {"index"}


@pytest.mark.parametrize("name", [name for name in PAGES if name != "cluster"])
def test_what_a_tutorial_says_happens(name, project, monkeypatch):
    monkeypatch.chdir(project.folder)
    for printed, shown in follow(FOLDER / f"{name}.md", project):
        for line in shown.splitlines():
            pattern = r"[\s\S]*".join(re.escape(part) for part in line.split("..."))
            assert re.search(pattern, printed), (line, printed)
    assert Path(FILES.get(name, "results")).exists()
    plt.close("all")
