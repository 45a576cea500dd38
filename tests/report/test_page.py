"""What a reader does with claims and tables of the report, in a browser."""

from __future__ import annotations

import json
import os
import re
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from urllib.request import url2pathname

import pytest

from admmbench.claims import claims
from admmbench.claims.judge import evaluate
from admmbench.figures import Figure
from admmbench.report import rendering
from tests.made import ERRORS, build, described, totals
from tests.report.conftest import moved, needs_browser, press, table, written

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
    """Two experiments of papers; a third paper has most claims on an experiment that is not in the page."""
    first = build(ERRORS, name="mine2020_a", rounds=(0, 1, 100, 200, 300))
    # A start without errors, which no lowest value may be.
    first["test_error"][..., 0] *= 0
    return [
        rendering.Section(first, described(figures=figures())),
        rendering.Section(build(ERRORS, name="yours2021_a"), described()),
    ]


@pytest.fixture(scope="module")
def verdicts(sections, tmp_path_factory):
    folder = tmp_path_factory.mktemp("claims")
    for paper in ("mine2020", "yours2021", "theirs2022"):
        (folder / f"{paper}.yaml").write_text(CLAIMS.format(paper=paper))
    results = {section.name: section.results for section in sections}
    known = {f"{paper}_a": list(ERRORS) for paper in ("mine2020", "yours2021", "theirs2022")}
    found = evaluate(claims.load(sorted(folder.glob("*.yaml"))), results, known)
    # A paper is in the page if one of its experiments is.
    (number,) = (k for k, each in enumerate(found) if each.claim.id == "theirs2022-absent")
    found[number] = moved(found[number], "yours2021_a")
    return found


@pytest.fixture(scope="module")
def page(sections, verdicts, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "index.html"
    return written(path, sections, verdicts, "c.yaml").as_uri()


def opened(tab, address, fragment=""):
    tab.open(address + fragment)
    tab.wait("document.getElementById('explore-view').dataset.shown")


# ------------------------------------------------------------------ first screen

LABELS = ("ObjP, Gaussian", "ObjPM, Gaussian", "DP-GD", "DP-SGD", "DP-FedAvg")


def many_totals():
    """Two studies of five totals, of methods with long names."""
    means = {0.5 * 2**k: 0.3 - 0.02 * k for k in range(5)}
    methods = dict.fromkeys(LABELS, "objp")
    return [
        totals(
            build(dict.fromkeys(LABELS, means), name=name, sensitivity="global", methods=methods)
        )
        for name in ("equal_privacy_one", "equal_privacy_two")
    ]


@pytest.fixture(scope="module")
def many_rows(tmp_path_factory):
    sections = [rendering.Section(each, described()) for each in many_totals()]
    return written(tmp_path_factory.mktemp("rows") / "index.html", sections, []).as_uri()


BOARD = ".board table"
ROWS = f"{BOARD} tbody tr"


def bottoms(tab, selector):
    """Lower edges of elements that are seen, in pixels."""
    seen = f"[...document.querySelectorAll('{selector}')].filter(e => e.checkVisibility())"
    return tab.run(f"{seen}.map(e => e.getBoundingClientRect().bottom)")


def pictures(tab):
    """Sides of the pictures that are seen beside boards, and their titles."""
    return tab.run(
        "[...document.querySelectorAll('.board .pictures figure')].filter(e => e.checkVisibility())"
        ".map(e => [e.getBoundingClientRect().left, e.getBoundingClientRect().right, e.dataset.title])"
    )


@needs_browser
@pytest.mark.parametrize(("width", "height"), [(1600, 900), (1300, 900), (1200, 800), (390, 844)])
def test_the_first_screen_has_the_answer(browser, many_rows, tmp_path, width, height):
    with browser.tab(tmp_path, width=width, height=height) as tab:
        opened(tab, many_rows)
        assert len(bottoms(tab, ROWS)) == 3
        assert max(bottoms(tab, ROWS)) <= height * 0.65  # there is room for more methods
        words = tab.run("document.querySelector('.short').innerText")
        assert words.startswith("All 10 settings are undecided")
        assert re.search(
            r"better than the control of its setting by more than [\d.]+ points\.", words
        )
        assert bottoms(tab, ".short")[0] < bottoms(tab, ".verdicts")[0] < bottoms(tab, ROWS)[0]
        # Nothing scrolls sideways: neither the page, nor the leaderboard, nor a picture.
        assert tab.run("document.documentElement.scrollWidth") <= width
        wide = "[...document.querySelectorAll('.board, .board *:not(svg, svg *)')]"
        assert not tab.run(
            f"{wide}.some(e => e.scrollWidth > e.clientWidth + 1 && e.matches('div'))"
        )
        ((left, right, title),) = pictures(tab)
        assert title == "equal_privacy_one, ε = 0.5"
        assert right <= width
        board = tab.run(f"document.querySelector('{BOARD}').getBoundingClientRect().right")
        assert (left > board) == (width > 1000)
        # The menu is beside the page or below the answer, and hides nothing.
        nav, first = (
            tab.run(
                f"(({{left, top}}) => [left, top])(document.querySelector('{part}').getBoundingClientRect())"
            )
            for part in ("nav", BOARD)
        )
        assert nav[0] < first[0] if width == 1600 else nav[1] > first[1]


@needs_browser
def test_letters_of_the_first_screen_are_readable_on_phones(browser, many_rows, tmp_path):
    with browser.tab(tmp_path, width=390, height=844) as tab:
        opened(tab, many_rows)
        texts = "[...document.querySelectorAll('.short, .verdicts, .board td, .board th')]"
        assert (
            tab.run(f"Math.min(...{texts}.map(e => parseFloat(getComputedStyle(e).fontSize)))")
            >= 12
        )
        drawn = "[...document.querySelectorAll('.board figure:not([hidden]) svg text')]"
        height = f"{drawn}.map(e => e.getBoundingClientRect().height)"
        assert tab.run(f"Math.min(...{height})") >= 10


@needs_browser
def test_a_column_of_the_leaderboard_sorts_it_and_shows_its_picture(tab, many_rows):
    opened(tab, many_rows)
    assert len(pictures(tab)) == 1
    column = "document.querySelectorAll('.board th[data-picture]')[3]"
    tab.run(f"{column}.querySelector('button').click()")
    place = tab.run(f"{column}.cellIndex")
    values = [float(row[place]) for row in cells(tab, BOARD)[2:] if row[0] in LABELS]
    assert values == sorted(values)
    ((_, _, title),) = pictures(tab)
    assert tab.run(f"{column}.innerText").strip() == title.rpartition(" ")[2]
    tab.choose(".board select", tab.run("document.querySelectorAll('.board option')[5].value"))
    ((_, _, other),) = pictures(tab)
    assert other != title


@needs_browser
def test_a_filter_hides_methods_in_tables_pictures_and_curves(tab, many_rows):
    opened(tab, many_rows)
    tab.wait("!!document.querySelector('.explore [data-label]')")
    first, *others = LABELS[2:]
    tab.run("document.querySelector('.methods').open = true")
    tab.run(
        f"[...document.querySelectorAll('.methods input')].find(e => e.value === {json.dumps(first)}).click()"
    )
    assert f"{len(LABELS) - 1} of {len(LABELS)}" in tab.run(
        "document.querySelector('.methods summary').innerText"
    )
    seen = (
        "[...document.querySelectorAll('tbody th, [data-method]')]"
        ".filter(e => e.getClientRects().length && e.checkVisibility())"
        ".map(e => e.dataset.method ?? e.innerText.trim())"
    )
    found = tab.run(seen)
    assert first not in found
    assert set(others) <= set(found)
    press(tab, "CSV", within=".board")
    saved = tab.downloaded("answer-matrix.csv")
    assert others[0] in saved
    assert f"\n{first}," not in saved
    legend = "[...document.querySelectorAll('.explore [data-label]')].map(e => e.dataset.label)"
    tab.wait(f"!{legend}.includes({json.dumps(first)})")
    assert set(others) <= set(tab.run(legend))
    tab.run(
        "[...document.querySelectorAll('.methods button')].find(e => e.innerText === 'All').click()"
    )
    assert first in tab.run(seen)


@needs_browser
def test_the_head_says_when_the_file_was_written(browser, tmp_path):
    path = written(tmp_path / "index.html", [], [])
    noon = datetime(2024, 2, 29, 12).timestamp()
    os.utime(path, (noon, noon))
    with browser.tab(tmp_path) as tab:
        tab.open(path.as_uri())
        assert tab.run("document.querySelector('h1').innerText").endswith("2024-02-29")


@needs_browser
def test_the_first_screen_of_other_studies_says_who_leads_and_which_claims_hold(
    browser, page, tmp_path
):
    with browser.tab(tmp_path, width=1300, height=900) as tab:
        opened(tab, page)
        for part in (".board tbody tr:last-child", ".papers"):
            assert tab.run(f"document.querySelector('{part}').getBoundingClientRect().bottom") < 900


# ------------------------------------------------------------------ claims


def test_every_claim_has_a_link_to_its_experiment(page, verdicts):
    text = Path(url2pathname(page.removeprefix("file://"))).read_text(encoding="utf-8")
    rows = re.findall(r'<tr id="claim-([^"]+)"[^>]*>\s*<th scope="row">(.*?)</th>', text, re.S)
    assert sorted(name for name, _ in rows) == sorted(each.claim.id for each in verdicts)
    targets = {}
    for name, cell in rows:
        _, small = cell.split("<small>")
        targets[name] = re.findall(r'href="#([^"]+)"', small)
    assert targets == {
        **{f"mine2020-{name}": ["mine2020_a"] for name in ("value", "order", "absent", "noise")},
        **{f"yours2021-{name}": ["yours2021_a"] for name in ("value", "order", "absent", "noise")},
        **{f"theirs2022-{name}": [] for name in ("value", "order", "noise")},
        "theirs2022-absent": ["yours2021_a"],
    }
    assert all(f'id="{target}"' in text for found in targets.values() for target in found)


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
def test_a_link_leads_to_its_part_though_the_page_grows_above_it(tab, page):
    opened(tab, page, "#mine2020_a-figure-error")
    top = "document.getElementById('mine2020_a-figure-error').getBoundingClientRect().top"
    tab.wait(f"Math.abs({top}) < 100")


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


# ------------------------------------------------------------------ tables

ERROR_TABLE = "#mine2020_a-errors-1 + .scroll"


def shape(tab, place=ERROR_TABLE):
    """Open the controls of a table."""
    tools = f"{place} + .tools"
    tab.run(f"document.querySelector('{tools} .shape').open = true")
    tab.wait(f"!!document.querySelector('{tools} .shaping')")
    return tools


def cells(tab, place=ERROR_TABLE):
    """Rows of a table as they are seen."""
    return tab.run(
        f"[...document.querySelectorAll('{place} tr')].filter(e => e.checkVisibility())"
        ".map(e => [...e.cells].filter(c => c.checkVisibility()).map(c => c.innerText.trim()))"
    )


@needs_browser
def test_rows_and_columns_of_a_table_are_chosen_and_saved(tab, page):
    opened(tab, page)
    tools = shape(tab)
    original = cells(tab)
    tab.run(f"document.querySelector('{tools} input[type=search]').focus()")
    for letter in "obj":
        tab.key(letter)
    assert [row[0] for row in cells(tab)[1:]] == ["ObjP", "ObjPM"]
    tab.run(f"document.querySelectorAll('{tools} [type=checkbox]')[0].focus()")
    tab.key(" ")  # the first budget
    head, objp, _ = cells(tab)
    assert head == [original[0][0], *original[0][2:]]
    note = f"document.querySelector('{tools} + .count').textContent"
    assert tab.run(note) == "Shown: 2 of 4 rows, 4 of 5 columns"
    for kind in ("CSV", "LaTeX"):
        press(tab, kind, within=f"{ERROR_TABLE} +")
    rows = table(tab, "mine2020_a-errors-1.csv")
    assert [row["Method"] for row in rows] == ["ObjP", "ObjPM"]
    assert list(rows[0]) == ["Method", "ε = 0.1", "ε = 1", "no budget"]
    assert rows[0]["ε = 0.1"] == objp[1]
    tex = tab.downloaded("mine2020_a-errors-1.tex")
    assert "\\begin{tabular}{lrrr}" in tex
    assert tex.count("\\\\") == 3
    press(tab, "As printed", within=f"{ERROR_TABLE} +")
    assert cells(tab) == original
    assert tab.run(note) == ""


@pytest.fixture
def blank(browser, tmp_path):
    """An empty tab, for functions of the scripts alone."""
    with browser.tab(tmp_path) as tab:
        yield tab


def of_tables(tab, expression):
    """What an expression gives in the script of the tables."""
    source = (files("admmbench.report") / "templates/tables.js").read_text(encoding="utf-8")
    return tab.run(f"(() => {{ {source}; return {expression}; }})()")


@needs_browser
def test_what_is_folded_is_saved_without_the_words_that_unfold_it(blank):
    cell = "<details><summary>2 intervals</summary>0 to 1\n2 to 3</details>"
    call = f"Object.assign(document.createElement('td'), {{ innerHTML: {json.dumps(cell)} }})"
    assert of_tables(blank, f"words({call})") == "0 to 1 2 to 3"


@needs_browser
def test_heads_over_several_columns_shrink_with_them(browser, tmp_path):
    """The table of all methods has a row of data sets above that of budgets."""
    errors = {"ObjP": {0.5: 0.2, 1.0: 0.1}, "ObjT": {0.5: 0.2, 1.0: 0.25}}
    sections = [
        rendering.Section(totals(build(errors, name=name, sensitivity="global")), described())
        for name in ("one", "two")
    ]
    address = written(tmp_path / "index.html", sections, []).as_uri()
    matrix = ".board .scroll"
    with browser.tab(tmp_path) as tab:
        opened(tab, address)
        tools = shape(tab, matrix)
        heads = f"[...document.querySelectorAll('{tools} .columns label')].map(e => e.innerText)"
        assert len(tab.run(heads)) == len(set(tab.run(heads)))
        whole = cells(tab, matrix)
        box = f"[...document.querySelectorAll('{tools} [type=checkbox]')].at({{}}).click()"
        tab.run(box.format(-1))
        spans = (
            f"[...document.querySelectorAll('{matrix} [scope=colgroup]')]"
            ".filter(e => !e.hidden).map(e => e.colSpan)"
        )
        assert tab.run(spans) == [2, 1]
        tab.run(box.format(-2))
        assert tab.run(spans) == [2]
        assert [len(row) for row in cells(tab, matrix)[1:]] == [len(row) - 2 for row in whole[1:]]
        tab.run(box.format(-1))
        tab.run(box.format(-2))
        assert cells(tab, matrix) == whole
        assert tab.complaints() == []


@needs_browser
def test_claims_hide_columns_and_leave_rows_to_their_filter(tab, page):
    opened(tab, page)
    place = "#claims-mine2020 ~ .claims-group .scroll"
    tools = shape(tab, place)
    assert not tab.run(f"document.querySelector('{tools} input[type=search]')")
    tab.choose("#claims-verdict", "contradicted")
    tab.run(f"document.querySelectorAll('{tools} [type=checkbox]')[2].click()")
    head, *rows = cells(tab, place)
    assert head == ["Claim", "Published", "Ours", "Verdict", "Why"]
    assert len(rows) == 1
