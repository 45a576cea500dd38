"""What a reader does with claims and tables of the report, in a browser."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.request import url2pathname

import pytest

from admmbench.analysis import claims, evidence, report
from admmbench.analysis.verdicts import evaluate
from admmbench.figures import Figure

from .conftest import ERRORS, build, described, needs_browser, press

CLAIMS = """
paper: {paper}
scale:
  {paper}_a: {{rounds: 300, seeds: 10, agents: 10, n_train: 60000}}
claims:
  - {{id: {paper}-value, kind: value, statement: The error of ObjP is 13.2 % <or so>., source: section IV,
     experiment: {paper}_a, algorithm: ObjP, epsilon: 0.1, published: 13.2, tolerance: 3}}
  - {{id: {paper}-order, kind: order, statement: OutP is best., source: "section IV, fig. 1",
     experiment: {paper}_a, labels: [OutP, ObjP], epsilon: [0.1]}}
  - {{id: {paper}-absent, kind: value, statement: At another budget., source: fig. 2,
     experiment: {paper}_a, algorithm: ObjP, epsilon: 9, published: 13.2, tolerance: 1}}
  - {{id: {paper}-noise, kind: trend, along: epsilon, statement: The noise falls., source: fig. 2,
     experiment: {paper}_a, metric: noise_magnitude, unit: "1", algorithms: [ObjP], epsilon: [0.05, 0.1]}}
"""


def figures():
    given = [
        {"name": "objp", "kind": "curves", "algorithms": ["OutP"]},
        {"name": "some", "kind": "curves", "epsilon": [1.0]},
        {"name": "error", "kind": "curves", "source": "mine2020 fig. 1", "epsilon": [0.1]},
        {"name": "budgets", "kind": "tradeoff"},
    ]
    return [Figure.model_validate(each) for each in given]


@pytest.fixture(scope="module")
def sections():
    """Two experiments of papers; that of a third paper is not in the page."""
    return [
        report.Section(build(ERRORS, name="mine2020_a"), described(figures=figures())),
        report.Section(build(ERRORS, name="yours2021_a"), described()),
    ]


@pytest.fixture(scope="module")
def verdicts(sections, tmp_path_factory):
    folder = tmp_path_factory.mktemp("claims")
    for paper in ("mine2020", "yours2021", "theirs2022"):
        (folder / f"{paper}.yaml").write_text(CLAIMS.format(paper=paper))
    results = {section.name: section.results for section in sections}
    known = {f"{paper}_a": list(ERRORS) for paper in ("mine2020", "yours2021", "theirs2022")}
    return evaluate(claims.load(folder), results, known)


@pytest.fixture(scope="module")
def page(sections, verdicts, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "index.html"
    return report.write(path, sections, verdicts, report.Meta("c.yaml", "1.0")).as_uri()


def opened(tab, address, fragment=""):
    tab.open(address + fragment)
    tab.wait("document.getElementById('explore-view').dataset.shown")


# ------------------------------------------------------------------ claims


def test_every_claim_has_a_link_to_itself_and_to_what_shows_it(page, verdicts):
    text = Path(url2pathname(page.removeprefix("file://"))).read_text(encoding="utf-8")
    rows = re.findall(r'<tr id="claim-([^"]+)"[^>]*>\s*<th scope="row">(.*?)</th>', text, re.S)
    assert sorted(name for name, _ in rows) == sorted(each.claim.id for each in verdicts)
    targets = {}
    for name, cell in rows:
        statement, small = cell.split("<small>")
        assert f'href="#claim-{name}"' in statement
        targets[name] = re.findall(r'href="#([^"]+)"', small)
    assert targets == {
        "mine2020-value": ["mine2020_a-figure-error"],  # two have the budget: the first of them
        "mine2020-order": ["mine2020_a-figure-error"],
        "mine2020-absent": ["mine2020_a-figure-some"],
        "mine2020-noise": ["mine2020_a-figures"],
        **{f"yours2021-{name}": ["yours2021_a"] for name in ("value", "order", "absent", "noise")},
        **{f"theirs2022-{name}": [] for name in ("value", "order", "absent", "noise")},
    }
    assert all(f'id="{target}"' in text for found in targets.values() for target in found)


def test_the_figure_that_the_paper_calls_so_comes_before_others(sections, verdicts):
    (order,) = [each.claim for each in verdicts if each.claim.id == "mine2020-order"]
    results = sections[0].results
    paper, more = figures()[2], figures()[3]
    assert evidence.place(order, results, [more, paper]).target == "mine2020_a-figure-error"
    other = order.model_copy(update={"source": "section IV"})
    assert evidence.place(other, results, [more, paper]).target == "mine2020_a-figure-budgets"


SHOWN = "[...document.querySelectorAll('tr[data-verdict]')].filter(e => e.checkVisibility()).map(e => e.id.slice(6))"
COUNT = "document.getElementById('claims-count').textContent"


@needs_browser
def test_a_filter_shows_claims_that_were_not_judged_too(tab, page):
    opened(tab, page)
    assert tab.run(COUNT) == "All 12 claims."
    judged = tab.run(SHOWN)
    assert "mine2020-value" in judged
    assert "mine2020-absent" not in judged
    assert tab.run("location.hash") == ""
    tab.choose("#claims-verdict", "not run")
    assert tab.run(SHOWN) == [
        "mine2020-absent",
        "theirs2022-value",
        "theirs2022-order",
        "theirs2022-absent",
        "theirs2022-noise",
        "yours2021-absent",
    ]
    assert tab.run(COUNT) == "6 of 12 claims: 6 not run."
    options = "[...document.querySelectorAll('#claims-paper option')].map(e => e.textContent)"
    assert tab.run(options) == ["all papers (6)", "mine2020 (1)", "theirs2022 (4)", "yours2021 (1)"]
    tab.choose("#claims-verdict", "")
    assert tab.run(SHOWN) == judged  # what was folded is folded again
    assert tab.run("location.hash") == "#claims"


@needs_browser
def test_the_address_holds_the_filter(tab, page):
    opened(tab, page)
    tab.run("document.getElementById('claims-text').focus()")
    for letter in "ObjP <or":
        tab.key(letter)
    tab.choose("#claims-paper", "yours2021")
    assert tab.run(SHOWN) == ["yours2021-value"]
    address = tab.run("location.href")
    assert tab.run("document.querySelector('.stated .tools a').href") == address
    tab.send("Page.navigate", url="about:blank")
    tab.wait("location.href === 'about:blank'")
    opened(tab, address)
    assert tab.run(SHOWN) == ["yours2021-value"]
    assert tab.run("document.getElementById('claims-text').value") == "ObjP <or"
    assert tab.run("document.getElementById('claims-paper').value") == "yours2021"
    assert tab.run("[...document.querySelectorAll('.paper h3')].map(e => e.checkVisibility())") == [
        False,
        False,
        True,
    ]
    tab.run("location.hash = '#claims?paper=nobody&verdict=supported&text=absurd'")
    tab.wait(f"{COUNT} === '0 of 12 claims.'")
    press(tab, "Show all claims", within=".stated")
    assert tab.run(COUNT) == "All 12 claims."
    assert tab.run("location.hash") == "#claims"
    assert tab.run("document.activeElement.id") == "claims-text"


@needs_browser
def test_a_link_opens_a_claim_that_is_folded_or_hidden_by_a_filter(tab, page):
    opened(tab, page, "#claim-theirs2022-absent")
    seen = (
        "(() => {{ const box = document.getElementById('{}').getBoundingClientRect();"
        "return box.height > 0 && box.top >= 0 && box.bottom <= innerHeight; }})()"
    )
    tab.wait(seen.format("claim-theirs2022-absent"))
    tab.choose("#claims-paper", "mine2020")
    tab.run("location.hash = '#claim-yours2021-absent'")
    tab.wait(seen.format("claim-yours2021-absent"))
    assert tab.run(COUNT) == "All 12 claims."


@needs_browser
def test_claims_are_there_without_scripts_and_on_phones(browser, page, tmp_path):
    with browser.tab(tmp_path, scripts=False) as tab:
        tab.open(page + "#claim-mine2020-order")
        assert "mine2020-order" in tab.run(SHOWN)
        assert not tab.run("document.getElementById('claims-text')")
    with browser.tab(tmp_path, width=390, height=844) as tab:
        opened(tab, page, "#claims?verdict=not+run")
        assert tab.run("document.documentElement.scrollWidth") == 390
        assert len(tab.run(SHOWN)) == 6
