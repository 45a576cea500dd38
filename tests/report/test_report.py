"""The page: complete, self-contained, well-formed, the same every time."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr

from admmbench import list_algorithms
from admmbench.audit.findings import Audit, Finding, Kind, ManyCanaries, fact
from admmbench.audit.settings import AuditSettings
from admmbench.base.outcomes import Outcome
from admmbench.claims import claims
from admmbench.claims.judge import evaluate
from admmbench.figures import drawing
from admmbench.inference.contrasts import Decision
from admmbench.privacy import ACCOUNTANTS
from admmbench.report import answer as answers
from admmbench.report import rendering, tables
from admmbench.report.claims import texts
from admmbench.spec.run import RunSpec
from admmbench.study.runs import Run
from admmbench.tuning.settings import Chosen, TuningSettings
from tests.made import ERRORS, INF, build, described, totals
from tests.report.conftest import moved

VOID = {"meta", "link", "br", "img", "hr", "input"}
LONG = "A method whose label is far too long for any legend, table or margin " * 2


class Page(HTMLParser):
    """Checks nesting while it collects what the tests ask for."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: set[str] = set()
        self.loads: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.tags.add(tag)
        if tag not in VOID:
            self.open.append(tag)
        self.note(tag, given)

    def handle_startendtag(self, tag, attrs):
        self.note(tag, dict(attrs))

    def note(self, tag, given):
        if "id" in given:
            self.ids.append(given["id"])
        for key in ("href", "xlink:href"):
            if key in given:
                self.links.append(given[key])
        if "src" in given or tag in {"link", "iframe", "object"}:
            self.loads.append(tag)
        for key in ("aria-labelledby", "clip-path"):
            if key in given:
                self.links.append(re.sub(r"^(?:url\()?#?(.*?)\)?$", r"#\1", given[key]))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in {"style", "script"}:
            self.text += data


@pytest.fixture(scope="module")
def figures(figure):
    return [
        figure(name="errors", caption="Test errors.", source="ryu2022 fig. 1 (top)"),
        figure(name="tradeoff", kind="tradeoff", caption='Errors & "budgets" <all>.'),
    ]


# Drawing takes much of a page's time: no test changes these drawings, and most do not look at any.
DRAWN = '<?xml version="1.0"?><svg width="72pt" height="36pt"><text x="1" y="2">drawn</text></svg>'
DRAWINGS = dict.fromkeys(("errors", "tradeoff", answers.CURVES), DRAWN)


def page_of(*results, verdicts=(), **given):
    """Return the page of experiments without figures."""
    sections = [rendering.Section(each, described(**given), DRAWINGS) for each in results]
    return rendering.render(sections, verdicts, CONFIGURATION)


def rendered(*results, **given):
    """Return the words of the page."""
    return Page(page_of(*results, **given)).text


def answered(*results, **given):
    """Return the page, and its two sections on equal privacy."""
    page = page_of(*results, **given)
    return page, "".join(re.findall(r'<section class="answer".*?</section>', page, re.DOTALL))


@pytest.fixture(scope="module")
def sections(figures):
    """Two experiments, with their drawings."""

    def section(results, title):
        given = {"description": "Three methods.", "artefacts": ["fig. 1", "fig. 2"]}
        own = described(title=title, figures=figures, **given)
        drawings = {each.name: drawing.svg(results, each) for each in own.figures}
        return rendering.Section(results, own, drawings)

    femnist = build(
        {**ERRORS, LONG: {0.05: 0.3}},
        name="ryu2022_femnist",
        dataset="femnist",
        dataset_note="114 of 195 writers",
        n_train=15440,
        diverged={("OutP", 0.05): 2},
    )
    mnist = build(ERRORS, name="ryu2022_mnist")
    return [section(mnist, "MNIST & more"), section(femnist, "FEMNIST")]


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory, sections):
    file = tmp_path_factory.mktemp("claims") / "claims.yaml"
    file.write_text(
        """
paper: ryu2022
scale:
  ryu2022_mnist: {rounds: 300, seeds: 10, agents: 10, n_train: 60000}
claims:
  - {id: a, kind: value, statement: Value <1>., source: section IV, experiment: ryu2022_mnist,
     algorithm: ObjP, epsilon: 0.1, published: 13.2, tolerance: 1}
  - {id: b, kind: order, statement: Order., source: fig. 1, experiment: ryu2022_mnist,
     labels: [OutP, ObjP], epsilon: [0.1]}
  - {id: c, kind: value, statement: Elsewhere., source: fig. 2, experiment: ryu2022_mnist,
     algorithm: ObjP, epsilon: 9, published: 13.2, tolerance: 1}
"""
    )
    results = {section.name: section.results for section in sections}
    return evaluate(claims.load([file]), results)


CONFIGURATION = "quick.yaml"


def with_parts(verdict, **change):
    """Change the parts of a verdict with one piece of evidence."""
    (finding,) = verdict.findings
    parts = [part._replace(**change) for part in finding.parts]
    return replace(verdict, findings=(replace(finding, parts=parts),))


@pytest.fixture(scope="module")
def text(sections, verdicts):
    return rendering.render(sections, verdicts, CONFIGURATION)


def test_the_page_is_well_formed_and_self_contained(text):
    page = Page(text)
    assert len(page.ids) == len(set(page.ids))
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids)
    assert all(link.startswith("#") for link in page.links)
    assert not page.loads
    assert not re.search(r"url\((?!#)|@import", text)
    assert text.startswith("<!DOCTYPE html>")
    assert '<html lang="en">' in text


def test_the_head_names_the_study(text, sections, verdicts):
    assert "<title>Quick: report of admmbench</title>" in text
    one = rendering.render(sections[:1], verdicts, CONFIGURATION)
    assert "<title>MNIST &amp; more: report of admmbench</title>" in one
    assert '<h1>MNIST &amp; more <small id="written"></small></h1>' in one
    assert "<title>ADMM-based federated learning:" in rendering.render([], [])


def test_every_section_is_there_and_in_the_contents(text):
    page = Page(text)
    for name in ("ryu2022_mnist", "ryu2022_femnist"):
        for part in ("", "-setting", "-figures", "-errors", "-privacy", "-provenance"):
            assert name + part in page.ids
        assert f"#{name}" in page.links
    assert {"claims", "claims-ryu2022"} <= set(page.ids)
    for expected in ("MNIST & more", "quick.yaml", "Three methods.", "numpy 2.4.6", "x86_64"):
        assert expected in page.text


def test_claims_are_told_by_symbol_and_words(text):
    """The value is undecided, as seeds differ much; the order is contradicted; one budget was not run."""
    page = Page(text)
    assert "Value <1>." in page.text
    for outcome, symbol in zip(Decision, "✓≲✗~○", strict=True):
        count = int(outcome not in ("supported", "not falsified"))
        tag = f'<span aria-hidden="true">{symbol}</span> {outcome}</span> {count}</dt><dd>'
        assert text.count(tag) == 1  # where meanings are told
    assert "1 claim of Ryu and Kim (2022) not judged" in page.text
    assert "Only runs that meet what a statement presupposes" in page.text


def test_papers_whose_experiments_are_elsewhere_are_named_alone(sections, verdicts):
    other = moved(verdicts[0], "e", paper="hu2019")
    page = rendering.render(sections[:1], [*verdicts, other], CONFIGURATION)
    assert "<dt>Not examined here</dt><dd>claims of Hu et al. (2019)</dd>" in page
    assert 'href="#claims-hu2019"' not in page
    start = page.index('<h2 id="papers">')
    (line,) = re.findall("<li>(.*)</li>", page[start : page.index("</section>", start)])
    words = " ".join(re.sub(r"<[^>]+>", "", line).split())
    assert words == (
        "Ryu and Kim (2022), 3 claims: ✓ 0 supported, ≲ 0 not falsified, ✗ 1 contradicted, ~ 1 undecided, "
        "○ 1 not run"
    )


def test_what_is_ours_is_listed_apart_and_in_no_count(sections, verdicts):
    ours = moved(verdicts[0], "ours-repaired", ours=True)
    page = rendering.render(sections[:1], [*verdicts, ours], CONFIGURATION)
    assert "3 claims: " in page
    assert "1 not of Ryu and Kim (2022) and in no count" in page
    assert len(re.findall("<tr [^>]*data-verdict=", page)) == 3


def test_the_page_says_how_many_verdicts_may_be_wrong_by_chance(sections, verdicts):
    def sentence(*given):
        return " ".join(Page(rendering.render(sections[:1], given, CONFIGURATION)).text.split())

    value, order, missing = verdicts
    assert (value.size, order.size, missing.size) == (0.05, pytest.approx(0.025), 0)
    many = [value] * 20 + [order] * 4
    found = sentence(*many, missing)
    assert "24 claims were tested on runs whose seeds differ" in found
    assert "up to 1.1 of these verdicts are expected to be wrong by chance." in found
    assert "more were judged" not in found
    fixed = with_parts(order, interval=None)
    assert "1 more was judged by values that do not depend on the seed" in sentence(value, fixed)
    assert "expected to be wrong" not in sentence(fixed, missing)


def test_many_intervals_of_a_claim_are_folded(sections, verdicts):
    def table(n):
        (finding,) = verdicts[1].findings
        parts = [finding.parts[0]._replace(runs=(("a", k), ("b", k))) for k in range(1, n + 1)]
        many = replace(verdicts[1], findings=(replace(finding, parts=parts),))
        return texts(many).interval, rendering.render(sections[:1], [many], CONFIGURATION)

    lines, page = table(7)
    assert f"<details><summary>7 intervals</summary>{lines}</details>" in page
    lines, page = table(6)
    assert "intervals</summary>" not in page
    assert lines in page


def test_few_seeds_and_other_data_are_marked(sections, verdicts):
    value = with_parts(verdicts[0], n=9)
    page = Page(rendering.render(sections[:1], [value], CONFIGURATION))
    assert "exploratory: 9 seeds" in page.text
    (piece,) = verdicts[1].claim.evidence
    other = {"evidence": [piece.model_copy(update={"other_data": "Theirs has no zeros."})]}
    claim = verdicts[1].claim.model_copy(update=other)
    (unjudged,) = evaluate([claim], {section.name: section.results for section in sections})
    text = rendering.render(sections[:1], [verdicts[0], unjudged], CONFIGURATION)
    assert "exploratory:" not in text
    assert "<small>other data</small>" in text


def test_without_claims_there_is_no_table_of_them():
    assert "claims" not in Page(page_of(build(ERRORS))).ids


def test_tables_come_from_the_data(text):
    assert "2 of 10 failed" in text
    assert "local_updates = 10" in text
    assert '<small class="failed">2 diverged</small>' in text
    assert "<dd>FEMNIST: 15,440 training and" in text
    assert "10 classes" in text
    assert "Final test error in percent: mean" in text
    assert "Lowest test error of all rounds in percent: mean" in text


def test_tables_say_how_seeds_spread():
    """A band of many seeds, each of a few, and no range of what does not depend on the seed."""
    errors = {"ObjP": {0.1: 0.2}, "Centralized": {INF: 0.1}}
    for seeds, spread, caption in (
        (10, "[18.65–21.35]", "mean [20–80 percentile] over 10 seeds"),
        (3, "(20.50, 19.50, 20.00)", "mean over seeds (each of the 3)"),
        (1, "", "mean of one seed"),
    ):
        results = build(errors, name="x", seeds=seeds)
        results["test_error"].loc[{"algorithm": "Centralized"}] = 0.1
        results["seconds"] = 10 * results["test_error"]
        page = page_of(results)
        own = page[page.index('id="x-errors"') : page.index('id="x-privacy"')]
        assert caption in own
        assert spread in own
        same = re.findall(r"10\.00(?:</strong>)? *<small>the same for all seeds</small>", own)
        assert len(same) == (2 if seeds > 1 else 0)  # final and lowest


def with_facts(errors, sensitivity="local", **facts):
    """Results of which some methods declare something else."""
    ds = build(errors, sensitivity=sensitivity)
    for label, own in facts.items():
        for name, value in own.items():
            values = ds[name].values.astype(object)
            values[list(ds.algorithm.values).index(label)] = value
            ds = ds.assign_coords({name: ("algorithm", values.astype(str))})
    return ds


FIRST = {
    "ObjP": {0.5: 0.2, 1.0: 0.1},
    "ObjT": {0.5: 0.2, 1.0: 0.25},
    "OutP": {0.5: 0.6, 1.0: 0.5},
    "Non-private": {INF: 0.05},
}


def test_many_methods_that_are_nowhere_behind_are_counted():
    errors = {f"ObjP {number}": {0.5: 0.2, 1.0: 0.2} for number in range(13)}
    few = {label: errors[label] for label in list(errors)[:12]}
    for given, said in (
        (errors, "13 methods."),
        (few, f"{', '.join(list(few)[:-1])} and ObjP 11."),
    ):
        _, answer = answered(totals(build(given, sensitivity="global")))
        assert f"Nowhere significantly worse: {said}" in answer


@pytest.mark.parametrize("lost", ["OutP", "ObjP"])
def test_where_no_methods_compete_there_is_no_picture_and_no_frame(lost):
    """The only method that is left has none either."""
    errors = {"ObjP": {1.0: 0.1}, "OutP": {1.0: 0.2}}
    diverged = {(label, 1.0): 3 for label in {"OutP", lost}}
    found = totals(build(errors, seeds=3, sensitivity="global", diverged=diverged))
    _, answer = answered(found)
    assert 'class="card"' not in answer
    assert "in the picture" not in answer
    assert "Margin: none was stated" in answer


def test_one_seed_is_no_plural():
    _, answer = answered(totals(build(FIRST, seeds=1, sensitivity="global")))
    assert "mean over 1 seed [" in answer


@pytest.mark.parametrize("margin", [None, 0.05])
def test_all_methods_that_a_row_is_between_are_named_below_the_first_screen(margin):
    """Five methods at 10 %, undecided without a margin; their order is that of rounding."""
    errors = {f"ObjP {number}": {0.5: 0.1} for number in range(5)} | {"OutP": {0.5: 0.3}}
    found = totals(build(errors, sensitivity="global"))
    _, answer = answered(found.assign_attrs({"margin": margin} if margin else {}))
    table = answer.partition('id="answer-rows"')[2]
    said = (
        ("5 equivalent", 'data-verdict="equivalent"')
        if margin
        else ("5 undecided", 'title="', 'data-verdict="undecided"')
    )
    assert all(text in answer for text in said)
    assert answer.count('class="mark ') == 3  # one legend
    best = re.search(r'<td data-label="Best">(.*?)</td>', table, re.DOTALL)[1]
    for number in range(5):
        assert f'<span class="band">ObjP {number}' in best
    assert not re.search(r"and \d+ more", best)
    assert "OutP" not in best
    assert ("; none is more than" in best) == (margin is None)


def test_methods_that_were_added_are_told_from_those_that_are_counted():
    without, found = (
        answered(totals(build(FIRST, sensitivity="global", **given)))[1]
        for given in ({}, {"added": '["ObjT"]'})
    )
    words = "ObjT, added later, is", "Methods that were added later are in no count above."
    assert all(text in found and text not in without for text in words)


def test_the_page_begins_with_who_wins_at_equal_privacy(verdicts):
    first = totals(build(FIRST, name="one", sensitivity="global"))
    second = totals(
        build(
            {k: v for k, v in FIRST.items() if k != "ObjT"},
            name="two",
            sensitivity="global",
            dataset="adult",
            dataset_note="a part <of> it",
            diverged={("OutP", 1.0): 3},
        )
    )
    named = moved(verdicts[0], "one", id="d")
    page, answer = answered(first, second, verdicts=[*verdicts, named])
    parsed = Page(page)
    assert len(parsed.ids) == len(set(parsed.ids))
    assert {link[1:] for link in parsed.links} <= set(parsed.ids)
    assert not parsed.loads
    assert page.index("<main>") < page.index('id="answer"') < page.index('id="claims"')
    assert page.index('href="#answer"') < page.index('href="#claims"')

    board, _, _ = answer.partition("</table>")
    assert re.findall(r"<th [^>]*data-picture[^>]*>([^<]+)", board) == ["0.5", "1", "0.5", "1"]
    verdicts_of = dict(re.findall(r'<tr><th scope="row">(Obj\w)(.*?)</tr>', board, re.DOTALL))
    assert re.findall(r'data-verdict="(\w*)"', verdicts_of["ObjP"]) == [
        *("undecided", "winner", "winner", "alone")
    ]
    assert re.findall(r'data-verdict="(\w*)"', verdicts_of["ObjT"])[:2] == ["undecided", "worse"]
    assert answer.count('class="swatch"') == 3  # one legend
    assert answer.count("differences from") == 3
    rows = re.findall(r"<tr>\n<th scope=\"row\">(.*?)</tr>", answer, re.DOTALL)
    texts = [" ".join(re.sub(r"<[^>]+>", " ", row).split()) for row in rows]
    half = 2.262157 * np.std(range(10), ddof=1) / 10**0.5 * 0.5  # percent: seeds are 0.5 apart
    open_, clear, other, lost = texts[:4]
    lead = re.search(r"\[−([\d.]+) to \1\]", open_)[1]
    assert open_.startswith(
        f"MNIST , ε = 0.5 2 undecided: ObjP ; ObjT ; none is more than {lead} points better than ObjP "
        f"20.00 [{20 - half:.2f} to {20 + half:.2f}] ObjT 20.00 0.00 ["
    )
    assert clear.startswith(
        f"MNIST , ε = 1 ObjP default settings 10.00 [{10 - half:.2f} to {10 + half:.2f}] ObjT 25.00 15.00 ["
    )
    assert other.startswith("Adult *, ε = 0.5 ObjP default settings 20.00")
    assert "* Adult: a part &lt;of&gt; it" in answer
    assert clear.endswith("Non-private 5.00")
    assert '<strong class="winner">ObjP</strong>' in rows[1]
    assert (
        lost
        == f"Adult *, ε = 1 ObjP, the only one left 10.00 [{10 - half:.2f} to {10 + half:.2f}] – – Non-private 5.00"
    )
    for words in (
        "δ = 1e−6",
        "they differ in one record, which is blank in one of them",
        "mean over 10 seeds",
        "for all 8 pairs of methods in all settings, and for all interim analyses (1)",
        "none was stated",
        "percentage points",
        "Without privacy",
        "3 of 10 failed",
        "has the last rank",
    ):
        assert words in answer


def test_the_matrix_marks_winners_and_what_is_undecided():
    ds = totals(build(FIRST, sensitivity="global"))
    _, answer = answered(ds)
    matrix, _, beside = answer[answer.index('<table class="matrix"') :].partition("</table>")
    assert "control: ObjP" in beside
    assert re.findall(r'data-label="Rank" class="number">([^<]+)', beside)[:3] == [
        "1 to 2",
        "1 to 2",
        "3",
    ]
    assert re.findall(r'<strong class="winner">([\d.]+)', matrix) == ["10.00"]
    assert re.findall(r'<span class="undecided">([\d.]+)', matrix) == ["20.00", "20.00"]
    assert re.findall(r"<th scope=\"row\">([^<]+)", matrix) == [
        "ObjP",
        "ObjT",
        "OutP",
        "Without privacy",
    ]
    ranks = re.findall(r'</th><td class="number rank">([\d.]+)</td>', matrix)
    assert ranks == ["1.25", "1.75", "3.00"]


def test_the_answer_says_who_is_not_in_it():
    def changed(label, **facts):
        errors = {**FIRST, "ObjPM": FIRST["OutP"]}
        found = with_facts(errors, sensitivity="global", **{label: facts})
        return answered(totals(found))[1]

    assert "no guarantee, or one with another total, δ or neighbours: ObjPM (MNIST)." in changed(
        "ObjPM", guarantee="none"
    )
    assert "The guarantee of ObjPM (MNIST) is conditional" in changed(
        "ObjPM", guarantee="conditional"
    )
    for words in ("Not compared", "conditional", "last rank"):
        assert words not in answered(totals(build(FIRST, sensitivity="global")))[1]


def test_facts_that_differ_are_told_for_each_data_set():
    first = totals(build(FIRST, name="one", sensitivity="global"))
    second = totals(build(FIRST, name="two", sensitivity="global", seeds=4))
    second["delta"] = second["delta"] * 10
    second = second.rename(test_error="rmse").assign_attrs(metric="rmse")
    second["rmse"].attrs = {"long_name": "root mean squared error", "units": "points"}
    _, answer = answered(first, second)
    for words in (
        "δ = 1e−6 (one); 1e−5 (two)",
        "10 seeds (one); 4 seeds (two)",
        "root mean squared error in points (two)",
    ):
        assert words in answer
    assert "none was stated" in answer
    assert "two, in points, ε" in answer
    for head in ("one, in %, ε", "two, in points, ε"):
        assert f">{head}</th>" in answer
    first, second = (each.assign_attrs(margin=2.0) for each in (first, second))
    assert "up to 2 points do not matter (two)" in answered(first, second)[1]
    assert ">two</a>, ε = 1" in answer  # of one data set, which does not tell them apart
    assert "0.1\n[" in answer


def test_nothing_is_said_of_winners_where_no_privacy_is_equal(text):
    assert 'id="answer"' not in text
    assert 'href="#answer"' not in text
    lost = totals(
        build(
            {"ObjP": {1.0: 0.1}, "ObjT": {1.0: 0.1}},
            sensitivity="global",
            diverged={("ObjP", 1.0): 1, ("ObjT", 1.0): 10},
        )
    )
    assert "none: all methods have failed or diverged runs" in answered(lost)[1]


def test_a_relation_is_shown_where_it_is_chosen():
    results = build({"ObjP": {0.1: 0.2}}, name="x")
    assert "<dt>Neighbours</dt><dd>zero_out</dd>" in page_of(results)
    results["unit"] = ("algorithm", ["column"])
    assert "<dt>Neighbours</dt>" not in page_of(results)


def test_what_attacks_found_is_a_table():
    """In the order of methods and budgets, with the sentences of what failed, each once."""
    sentence = fact(Kind.SENTENCE, text="Noise is <reused>.")
    failed = [
        Finding(level="coupling", canary=name, passed=False, value=1, bound=0, fact=sentence)
        for name in ("worst", "natural")
    ]
    good = failed[0].model_copy(update={"passed": True})
    found = [
        Audit(
            findings=(good,),
            rounds=3,
            delta=1e-6,
            epsilon_ledger=0.25,
            epsilon_lower=0.125,
            epsilon_claimed=3.0,
        ),
        Audit(
            findings=(*failed, good),
            rounds=3,
            epsilon_ledger=0.5,
            epsilon_lower=1.5,
            epsilon_claimed=6.0,
            one_run=ManyCanaries(
                canaries=900,
                rounds=20,
                guesses=70,
                right=69,
                epsilon_ledger=7.5,
                epsilon_lower=2.25,
                epsilon_power=5.5,
            ),
        ),
        Audit.from_dict({"comment": "The run diverges."}),
    ]
    methods = [SimpleNamespace(label=label) for label in ("ObjT", "ObjP")]
    given = described(audit=AuditSettings(), algorithms=methods)
    runs = [
        Run(label, RunSpec(dataset="digits", algorithm="objp", epsilon=epsilon))
        for label, epsilon in (("ObjP", 2), ("ObjP", 1), ("ObjT", 1))
    ]
    results = build({"ObjP": {0.1: 0.2}}, name="x")
    pairs = list(zip(runs, found, strict=True))
    page = rendering.render([rendering.Section(results, given, audits=pairs)], [], CONFIGURATION)
    table = page[page.index("Attacks on rounds of runs") :]
    table = table[: table.index("</table>")]
    assert "holds with 95 % confidence" in table
    assert table.count("Noise is &lt;reused&gt;.") == 1
    order = [
        table.index(text)
        for text in ("The run diverges.", "2 of 3 checks fail.", "The one check holds.")
    ]
    assert order == sorted(order)
    for number in ("0.25", "0.125", "1.5", "6", "7.5", "2.25"):
        assert f'<td class="number">{number}</td>' in table
    assert "900 canaries or not: 69 of 70 guesses are right." in table
    assert "trade-off curves" not in page


def test_a_total_that_is_unknown_is_not_that_of_the_start():
    """Before the first round every total is 0; that says nothing of the run."""
    results = build({"ObjP": {0.1: 0.2}}, rounds=(0, 100, 200))
    results["epsilon_moments"][..., 1:] = np.nan
    results["epsilon_moments"][..., 0] = 0
    spent = tables.privacy(results)
    (row,) = spent.rows
    assert row[list(spent.heads).index(ACCOUNTANTS["huang2019"].column)] == "–"


def test_budgets_of_whole_runs_are_called_so():
    errors = {"ObjP": {2.0: 0.2}, "OutP": {2.0: 0.3}}
    results = build(errors, name="x", sensitivity="global")
    page = page_of(results)
    assert "ε per iteration" in page
    assert "ln(1.25/δ) is proved for ε ≤ 1 only" in page
    results["epsilon"].attrs["budget_of"] = "run"
    page = page_of(results)
    assert "Budgets ε of the whole run" in page
    assert "The noise of each method is calibrated to it" in page
    assert "per iteration" not in page
    assert "ln(1.25/δ)" not in page


def test_the_part_of_the_data_is_said_wherever_results_are(text):
    section = text[text.index('<h2 id="ryu2022_femnist"') :]
    # Note, setting, figures (2 captions), tables (2 errors, 1 privacy).
    assert Page(section[: section.index("</section>")]).text.count("114 of 195 writers") >= 7


def test_privacy_is_stated_with_its_caveats(text):
    page = Page(text)
    for words in ("budget for one iteration", "not a valid guarantee", "E local updates", "σ²"):
        assert words in page.text
    ds = build({"ObjP": {0.1: 0.2}}, name="x", sensitivity="global")
    other = rendered(ds)
    assert "worst case over all admissible records" in other
    blank = "they differ in one record, which is blank in one of them"
    assert f"Neighbouring data sets of ObjP: {blank}." in other
    for words in ("not a valid guarantee", "E local updates", "σ²", "Gaussian", "No guarantee"):
        assert words not in other


def test_the_report_says_what_totals_protect():
    ds = totals(build(FIRST, name="one", sensitivity="global"))
    words = "Totals are about one record of one agent, not an agent or a user."
    page = rendered(ds)
    assert page.count(words) == 2  # below the answer, and below the table of totals
    assert "Warning" not in page
    warned = "Warning: delta = 0.001 is above 1/n = 0.01 of the n = 100 training records"
    page = rendered(ds.assign_coords(delta=ds["delta"] * 0 + 0.02).assign_attrs(n_train=100))
    assert page.count(warned.replace("0.001", "0.02")) == 2
    ds["unit"][:] = "column"
    assert "Totals are about one feature column of one party." in rendered(ds)


def test_outdated_results_are_marked_on_the_page(figures):
    """Below the title, in their section and at each figure; and labels, verdicts and numbers that rest on them."""
    results = totals(build(FIRST, name="one", sensitivity="global"))
    label = str(results["algorithm"].values[0])
    why = {"because": "had more noise than today", "labels": [label]}
    old = results.assign_attrs(outdated=json.dumps(why))
    sections = [
        rendering.Section(each.assign_attrs(experiment=name), described(figures=figures), DRAWINGS)
        for name, each in (("one", old), ("two", results.assign_attrs(dataset="adult")))
    ]
    page = rendering.render(sections, [], CONFIGURATION)
    note = f"†: {label} had more noise than today. Verdicts, ranks and what is bold rest on them"
    assert page.count(note) == 4
    assert page.index(note) < page.index('id="answer"')
    assert re.findall(r"MNIST †|Adult †", page[page.index('class="short"') :])
    assert "Adult †" not in page
    (matrix,) = re.findall(r'<table class="matrix".*?</table>', page, re.DOTALL)
    (row,) = (row for row in matrix.split("<tr>") if row.startswith(f'<th scope="row">{label}<'))
    n = sum(budget in results["epsilon"].values for budget in FIRST[label])
    assert row.count("†") == n  # of one of the two studies
    one, two = page.split('<h2 id="two"')
    of_one = one.split('<h2 id="one"')[1]
    assert of_one.count(f">{label} †<") == 3 + n  # tables of methods, errors (two), and totals
    assert f"{label} †" not in two
    plain = rendering.render(sections[1:], [], CONFIGURATION)
    assert "†: " not in plain


PURE = {"ObjP": {0.1: 0.2}, "ObjT": {0.1: 0.2}}
BOTH = {**PURE, "OutP": {0.1: 0.3}}
FREE = {"Non-private": {INF: 0.1}}
GLOBAL = {"sensitivity": "global"}
SEVERAL = "ε-DP (ObjP, ObjT) and (ε, δ)-DP (OutP) are different notions"
LARGE, WORST = "proved for ε ≤ 1 only", "worst case over all admissible records"
MINE = {"method": "mine.py", "caveats": '{"A caveat <of> mine.": {}, "sigma_squared": {}}'}


@pytest.mark.parametrize(
    ("errors", "facts", "said", "unsaid"),
    [
        (BOTH, {}, [SEVERAL], []),
        (PURE, {}, [], ["different notions"]),
        ({"OutP": {0.1: 0.3}, "Non-private": {INF: 0.1, 0.1: 0.1}}, {}, [], ["different notions"]),
        ({"OutP": {1.0: 0.3}}, {}, [], [LARGE]),
        ({"OutP": {1.5: 0.3}}, {}, [LARGE], []),
        ({"OutP": {1.0: 0.3}, "ObjP": {3.0: 0.3}}, {}, [], [LARGE]),
        ({"OutP": {1.0: 0.3, INF: 0.2}, "ObjP": {3.0: 0.3}}, {}, [], [LARGE]),
        (BOTH, {"ObjT": MINE}, ["A caveat <of> mine.", "equation has variance σ²."], []),
        (
            FREE,
            {"Non-private": {"caveats": '{"It peeks.": {}}'}},
            ["It peeks."],
            ["budget for one iteration", "Privacy"],
        ),
        (
            BOTH,
            {**GLOBAL, "OutP": {"guarantee": "none"}},
            ["Still without a guarantee: OutP.", WORST],
            [],
        ),
        (
            {"Non-private": {0.1: 0.1}},
            GLOBAL,
            ["budget for one iteration"],
            ["The noise is scaled", "Neighbouring", "notions"],
        ),
    ],
)
def test_what_budgets_promise_is_said_once_of_the_methods_that_it_is_of(
    errors, facts, said, unsaid
):
    found = rendered(with_facts(errors, **facts))
    assert [found.count(words) for words in said] == [1] * len(said)
    assert not [words for words in unsaid if words in found]


def test_numbers_as_targets_are_shown_in_their_unit():
    ds = build({"ObjP": {0.1: 61.237}}, spread=0.5, n_classes=0, dataset="diabetes")
    ds = ds.rename(test_error="test_rmse").assign_attrs(metric="test_rmse")
    ds.test_rmse.attrs = {"long_name": "root mean squared test error", "units": "points"}
    found = rendered(ds)
    assert "Final root mean squared test error in points: mean" in found
    assert "Lowest root mean squared test error of all rounds in points: mean" in found
    assert "784 features, numbers as targets" in found
    assert "61.24 [" in re.sub(r"\s+", " ", found)
    assert "6123" not in found
    ds.test_rmse.attrs["units"] = "1"
    assert "Final root mean squared test error: mean" in rendered(ds)


def test_constrained_problems_show_solutions_and_nothing_of_privacy():
    results = build({"A": {INF: 0.25}, "B": {INF: 0.5}}, seeds=4).drop_vars("floats_sent")
    dims = results.test_error.dims
    for name, size in (("train_loss", 2.0), ("feasibility", 0.125), ("loss_label_1_max", 0.75)):
        values = np.full(results.test_error.shape, size)
        values[1, 0, 0] = np.nan  # of a run that is lost, and says nothing
        results[name] = (dims, values, {"units": "1", "long_name": name})
    results["seconds"] = results["train_loss"] * 0 + 1.5
    results.status.values[0] = Outcome.CONVERGED
    results.status.values[1, 0, 0] = Outcome.INFEASIBLE
    page = " ".join(rendered(results).split())
    assert "Solutions" in page
    assert "A4 converged20.1251.5250.75" in page
    assert "B3 completed, 1 infeasible20.1251.550" in page
    assert "Computing time" not in page
    assert "float64" in page
    for absent in ("Test errors", "Budgets", "Sensitivity", "ε ="):
        assert absent not in page


def test_the_report_knows_no_method_by_name():
    names = {*list_algorithms(), *{name.replace("_", "-") for name in list_algorithms()}}
    folder = Path(rendering.__file__).parent
    pages = (
        "rendering.py",
        "answer.py",
        "templates/report.html.jinja",
        "templates/answer.html.jinja",
    )
    for page in pages:
        words = set(re.findall(r"[\w-]+", (folder / page).read_text().lower()))
        assert not names & words


def test_figures_are_described(text):
    # Four figures, and a picture of differences in each of six settings.
    assert text.count("<svg") == text.count('role="img"') == 10
    assert 'aria-label="Errors &amp; &#34;budgets&#34; &lt;all&gt;."' in text


def test_drawings_are_taken_as_given_and_their_files_are_linked(sections, verdicts):
    links = {"errors": {"svg": "../a/figures/errors.svg", "csv": "../a/figures/errors.csv"}}
    given = replace(sections[0], drawings=DRAWINGS, links=links)
    page = rendering.render([given], verdicts, CONFIGURATION)
    assert page.count('<text x="1" y="2">drawn</text>') == 2
    assert (
        '<a href="../a/figures/errors.svg">SVG</a>, <a href="../a/figures/errors.csv">CSV</a>.'
        in page
    )
    assert page.count("Files: ") == 1


def test_the_page_is_the_same_every_time(tmp_path, sections, verdicts, text):
    """From results that were stored, too."""
    stored = []
    for section in sections:
        path = tmp_path / f"{section.name}.nc"
        section.results.to_netcdf(path, engine="h5netcdf")
        with xr.open_dataset(path, engine="h5netcdf") as ds:
            stored.append(rendering.Section(ds.load(), section.experiment))
    assert rendering.render(stored, verdicts, CONFIGURATION) == text


def test_settings_that_were_tuned_are_shown_with_their_error_and_edges():
    """A method may have rounds of its own at each budget."""
    results = build({"ObjP": {1.0: 0.2, 2.0: 0.2}}, name="x")
    results["rounds"].values[0, 0] = 7
    settings = {"rounds": 7, "problem.records.max_l2_norm": 2.0}
    found = Chosen(settings=settings, error=0.125, edges=["params.rho"])
    given = {"audit": None, "tuning": TuningSettings(trials=9, held_out=6)}
    page = page_of(results, chosen={"ObjP": {1.0: found}}, **given)
    assert "9 trials for each method and budget" in page
    assert "were found by" not in page
    assert "one of every 6 training rows" in page
    assert "ObjP1rounds 7, max l2 norm 20.125rho" in "".join(Page(page).text.splitlines())
    assert "<dt>Rounds</dt><dd>7 to 300</dd>" in page
    beside = {"rounds": [0.25, None], "problem.records.max_l2_norm": [0.125, 0.1]}
    found = found.model_copy(update={"sensitivity": beside})
    page = page_of(results, chosen={"ObjP": {1.0: found}}, **given)
    assert "max l2 norm 20.1250.125rho" in "".join(Page(page).text.splitlines())


def test_winners_say_how_their_settings_were_found():
    errors = {**FIRST, "ObjPM": FIRST["ObjP"]}
    ds = totals(build(errors, name="x", sensitivity="global", spread=0))
    for label in ("ObjP", "ObjPM"):
        ds["test_error"].loc[{"algorithm": label}] += np.arange(10)[:, None] * 1e-4
    ds["train_loss"].loc[{"algorithm": "ObjPM"}] += 1e-12
    chosen = Chosen(settings={"rounds": 7}, error=0.1)
    edge = chosen.model_copy(update={"edges": ["rounds"]})

    def of(**given):
        page = page_of(ds, audit=None, tuning=TuningSettings(), **given)
        first = page.partition('id="answer-rows"')[2].partition("</table>")[0]
        return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", first))

    assert "2 equivalent: ObjP; ObjPM default settings" in of()
    assert "2 equivalent: ObjP; ObjPM stated settings" in of(params={"rho": 1})
    both = {"ObjP": {1.0: chosen}, "ObjPM": {1.0: edge}}
    assert "2 equivalent: ObjP tuned; ObjPM tuned at an edge" in of(chosen=both)


def test_kept_results_stand_beside_the_papers_and_ours(sections, verdicts):
    """The claims are judged in both; what differs beyond its interval has a row."""
    own = sections[0]
    kept = own.results.copy(deep=True)
    ends = {"algorithm": "ObjP", "epsilon": 0.1, "round": 300}
    kept["test_error"].loc[ends] -= 0.05
    (finding,) = verdicts[0].findings
    other = replace(finding, rows=[finding.rows[0]._replace(tiers=((8.2,),))])
    beside = [replace(verdicts[0], findings=(other,))]
    section = rendering.Section(own.results, own.experiment, own.drawings, reference=kept)
    page = rendering.render([section], verdicts, CONFIGURATION, beside)
    assert '<th scope="col">Reference</th>' in page
    assert page.count("8.20 % (mean of 10) <small>undecided</small>") == 1
    assert "has reference results of this experiment (seeds: 10, rounds: 300)" in page
    table = page[page.index('id="ryu2022_mnist-reference"') :]
    row = re.search(r'<tbody>\s*<tr><th scope="row">ObjP</th>(.*?)</tr>', table, re.DOTALL)
    assert "<td>ε = 0.1</td>" in row[1]
    assert "5.00" in row[1]
    assert "Reference</th>" not in rendering.render(sections[:1], verdicts, CONFIGURATION)


def test_a_section_links_the_figures_of_theorems_and_counts_verdicts_on_them(
    tmp_path, figure, text
):
    """An experiment without such a figure has no row, and a page without one no section."""
    drawn = {
        "kind": "theorem",
        "name": "sides",
        "metric": "test_error",
        "right": "test_loss",
        "source": "theorem 7",
    }
    results = build(ERRORS)
    results = results.assign(test_loss=2 * results.test_error)
    own = described(figures=[figure(**drawn)])
    file = tmp_path / "claims.yaml"
    file.write_text(
        """
paper: ryu2022
scale: {NAME: {rounds: 1, seeds: 1, agents: 1, n_train: 1}}
claims:
  - {id: a, kind: bound, statement: Theorem., source: (7), experiment: NAME, metric: test_error, unit: "1",
     algorithms: [ObjP], epsilon: [0.1], right: test_loss}
""".replace("NAME", results.attrs["experiment"])
    )
    found = evaluate(claims.load([file]), {results.attrs["experiment"]: results})
    sections = [rendering.Section(results, own, {"sides": DRAWN})]
    page = rendering.render(sections, found, CONFIGURATION)
    begin = page.index('<h2 id="theorems">')
    section = page[begin : page.index("</section>", begin)]
    assert f'href="#{results.attrs["experiment"]}-figure-sides">theorem 7</a>' in section
    assert "1 supported" in section
    assert 'id="theorems"' not in text
