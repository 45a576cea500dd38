"""The site of the documentation: what its own directives make; `make docs` builds it, where a warning is an error."""

import importlib
import re
import sys

import pytest
from sphinx.application import Sphinx

from admmbench import list_algorithms, list_datasets, list_losses
from admmbench.results.reference import digests
from tests.pages import ROOT

REPORT = "<html><head><title>Report of a small study</title></head><body></body></html>"


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A site of one page in a folder `docs`, with the extensions of the real one."""
    monkeypatch.setattr(sys, "path", [str(ROOT / "docs/_ext"), *sys.path])
    source = tmp_path / "docs"
    source.mkdir()

    def build(page):
        (source / "index.md").write_text(f"# A page\n\n{page}\n")
        made = tmp_path / "site"
        Sphinx(
            source,
            None,
            made,
            tmp_path / "doctrees",
            "html",
            {"extensions": ["myst_parser", "kept_reports", "configuration_keys", "built_in"]},
            status=None,
            warningiserror=True,
        ).build()
        return made

    return build


def test_reports_that_are_kept_are_linked_and_taken_along_and_older_ones_come_last(site, tmp_path):
    note = '<p class="note older"><strong>An older report</strong>.</p>'
    pages = {"a": REPORT.replace("<body>", f"<body>{note}"), "b": REPORT}
    for name, page in pages.items():
        report = tmp_path / f"docs/reports/{name}/index.html"
        report.parent.mkdir(parents=True)
        report.write_text(page)
    made = site("```{kept-reports}\n```")
    assert (made / "reports/a/index.html").read_text() == pages["a"]
    links = re.findall(
        r'href="reports/(\w)/index.html">(\w)</a>(.*?)</p>', (made / "index.html").read_text()
    )
    assert links == [("b", "b", ""), ("a", "a", ": an older report")]


def test_a_kept_report_of_an_earlier_layout_says_so_and_links_a_newer_one():
    found = (ROOT / "docs/reports").glob("*/index.html")
    pages = {path: path.read_text("utf-8") for path in found}
    assert len(pages) > 1
    for path, page in pages.items():
        assert "<small>Files: " not in page, path  # which are not kept
        note = re.search(r'<main>\n<p class="note older">(.*?)</p>', page)
        # Pages of the present layout name the reference results that they show.
        assert bool(note) == ('<meta name="reference-results"' not in page), path
        assert len(page.encode()) < 2_500_000, path
        if note:
            (newer,) = re.findall(r'href="(.*?)"', note[1])
            assert "reference-results" in pages[(path.parent / newer).resolve()]


def test_no_kept_report_is_older_than_the_reference_results_that_it_shows(monkeypatch):
    """Else `admmbench report NAME --reference` renders it again, see docs/reports.md."""
    monkeypatch.setattr(sys, "path", [str(ROOT / "docs/_ext"), *sys.path])
    kept_reports = importlib.import_module("kept_reports")
    pages = kept_reports.reports(ROOT / "docs")
    assert len(pages) > 5
    for page in pages:
        assert kept_reports.text(page) == page.read_text("utf-8"), page


def test_a_kept_report_whose_results_were_computed_again_gets_a_note(site, tmp_path):
    (name, digest), *_ = digests(["ryu2021_mnist"]).items()
    meta = '<meta name="reference-results" content="{}={}">'
    for report, shown in (("a", "0" * 64), ("b", digest)):
        path = tmp_path / f"docs/reports/{report}/index.html"
        path.parent.mkdir(parents=True)
        path.write_text(f"<html><head>{meta.format(name, shown)}</head><main>\n</main></html>")
    made = site("```{kept-reports}\n```")
    old, new = ((made / f"reports/{report}/index.html").read_text() for report in "ab")
    assert "An older report" in old
    assert "An older report" not in new
    index = (made / "index.html").read_text()
    assert index.index("reports/b/") < index.index("reports/a/") < index.index("an older report")


def test_without_kept_reports_the_page_says_so(site):
    made = site("```{kept-reports}\n```")
    assert "no reports" in (made / "index.html").read_text()
    assert not (made / "reports").exists()


def test_keys_come_with_their_kinds_and_defaults(site):
    text = (site("```{configuration-keys} experiment\n```") / "index.html").read_text()
    cells = [re.sub("<.*?>", "", each) for each in re.findall(r"<td>(.*?)</td>", text, re.DOTALL)]
    keys = {cells[k].strip("\n"): cells[k + 1 : k + 3] for k in range(0, len(cells), 4)}
    plain = {key: [each.replace("<p>", "").strip() for each in rest] for key, rest in keys.items()}
    assert plain["epsilon"] == ["list of numbers or number", ""]  # of a method
    assert plain["seed_blocks"] == ["list of whole numbers", ""]
    assert plain["dataset"] == ["text or mapping", "required"]
    assert plain["relation"][1] == "zero_out"
    assert plain["width"][0] == "column, page"  # of figures, which have kinds


def test_the_reference_has_every_name_for_plug_ins():
    page = (ROOT / "docs/reference/plugins.md").read_text()
    named = set(re.findall(r"^   (\w+)$", page, re.MULTILINE)) | set(re.findall(r"`(\w+)`", page))
    source = (ROOT / "src/admmbench/api.py").read_text()
    names = set(re.findall(r" as (\w+)$", source, re.MULTILINE))
    assert {"Algorithm", "parameters"} < names <= named


def test_overviews_have_what_methods_need_and_the_sizes_of_data_sets(site):
    page = "```{overview} methods\n```\n\n```{overview} data-sets\n```"
    text = (site(page) / "index.html").read_text()
    rows = re.findall(r"<tr.*?</tr>", text.replace("\n", ""))
    cells = [[re.sub("<.*?>", "", each) for each in re.findall("<td.*?</td>", row)] for row in rows]
    found = {row[0]: row[1:] for row in cells if row}
    assert {*found} == {*list_algorithms(), *list_datasets()} - {"table", "synthetic_qp"}
    needs = "convex loss, smooth penalty, bounded derivative, one output"
    assert found["dvp"][0].startswith("DVP: ADMM with dual variable perturbation")
    assert found["dvp"][1:] == ["rows", needs]
    assert found["sklearn_logistic"][1] == "rows or columns"
    assert found["objt"][1:] == ["rows", "nothing"]
    assert found["digits"] == ["1,437 + 360", "64", "10 classes"]
    assert found["diabetes"] == ["354 + 88", "11", "numbers"]


def test_the_tables_have_every_method_and_loss():
    methods = (ROOT / "docs/methods/index.md").read_text()
    assert set(re.findall(r"`(\w+)`", methods)) >= set(list_algorithms())
    losses = (ROOT / "docs/methods/problems.md").read_text()
    assert all(f"| `{name}` |" in losses for name in list_losses())


def test_equations_within_text_begin_and_end_on_one_line():
    """Else a line may begin with + or -, which is a list."""
    for page in (ROOT / "docs").rglob("*.md"):
        text = re.sub(r"^```.*?^```$|`[^`\n]*`", "", page.read_text(), flags=re.M | re.S)
        assert [line for line in text.splitlines() if line.count("$") % 2] == [], page
