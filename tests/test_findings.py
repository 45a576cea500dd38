"""Findings and the results in the README are what their templates make of the kept results."""

import importlib
import math
import sys

import pytest

from admmbench.privacy import Cost, Ledger
from admmbench.privacy.curves import curve
from tests.pages import ROOT


@pytest.fixture(scope="module")
def generate():
    """The module that makes the pages."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(ROOT / "docs/findings"), *sys.path])
        yield importlib.import_module("generate")


@pytest.fixture
def render(generate, tmp_path):
    """Render a text as a template."""

    def of(text):
        (tmp_path / "page.md.jinja").write_text(text, "utf-8")
        return generate.render("page.md.jinja", tmp_path)

    return of


def test_pages_are_generated(generate):
    """`make findings` renews them; sentences that results do not show any more are to be written anew."""
    readme = (ROOT / "README.md").read_text("utf-8")
    assert generate.findings() == (ROOT / "docs/findings.md").read_text("utf-8")
    assert generate.readme(readme) == readme
    assert generate.totals() == (ROOT / "docs/privacy/overview.md").read_text("utf-8")


def test_an_order_that_results_do_not_show_is_named_with_its_sentence_and_its_place(
    generate, render
):
    text = (
        '{% set outp, objt = mean("ryu2021_mnist", ["OutP", "ObjT"], 1) %}\n'
        "{% holds objt < outp %}\nObjT ends at {{ objt | fixed(1) }} %.\n{% endholds %}\n"
    )
    assert render(text) == "ObjT ends at 8.4 %.\n"
    twice = text.replace("<", ">") + "{% holds false %}All is well.{% endholds %}"
    with pytest.raises(generate.NotShownError) as fault:
        render(twice)
    assert "page.md.jinja:2: «ObjT ends at 8.4 %.»" in str(fault.value)
    assert "page.md.jinja:5: «All is well.»" in str(fault.value)


@pytest.mark.parametrize(
    ("quantity", "missing"),
    [
        ('mean("ryu2021_mnist", "ObjTT", 1)', "ryu2021_mnist: no test_error at .*'ObjTT'"),
        ('mean("ryu2021_mnist", "ObjT", 7)', "ryu2021_mnist: no test_error at .*7"),
        ('mean("ryu2021_mars", "ObjT", 1)', "reference/ has no results of ryu2021_mars"),
        ('printed("ryu2021-mars")', "config/claims/ has no claim ryu2021-mars"),
        ('verdict("ryu2021-mars")', "config/claims/ has no claim ryu2021-mars"),
        (
            'apart("equal_privacy_adult", "ObjP, Gaussian", "ObjT", 1)',
            "the results: no difference at .*'ObjT'",
        ),
        (
            'points("equal_privacy_adult", "DP-GD", 3)',
            "equal_privacy_adult: no comparison at ε = 3",
        ),
        ("median", "'median' is undefined"),
    ],
)
def test_a_quantity_that_is_missing_is_named_with_its_place(generate, render, quantity, missing):
    with pytest.raises(generate.NotShownError, match=rf"page.md.jinja:2: {missing}"):
        render(f"All is well.\nThe error is {{{{ {quantity} }}}}.\n")


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("0.25 | fixed(1)", "0.3"),
        ("-1234.5 | fixed", "−1,235"),
        ("[1, 2.25, 3] | fixed(1)", "1.0, 2.3 and 3.0"),
        ("[3, 1, 2] | span", "1 to 3"),
        ("[1.04, 0.96] | span(1)", "1.0"),
        ("3 | word", "three"),
        ("21.2 | word", "21"),
        ("1e-05 | short", "1e-5"),
        (
            "[0.0006, 0.0139, 0.797, 3.1, 24, 259] | map('significant') | join(' ')",
            "0.0006 0.0139 0.797 3.10 24.0 259",
        ),
        ("'7' | bold(false) ~ '7' | bold(true)", "7**7**"),
    ],
)
def test_filters_write_numbers_as_they_stand_in_sentences(render, expression, text):
    assert render(f"{{{{ {expression} }}}}") == f"{text}\n"


def test_paragraphs_are_wrapped_but_not_within_formulas_and_budgets(render):
    long = "word " * 22 + "$a + b$ {} " + "word " * 20
    page = f"# Page\n\n- {long.format('')}\n{long.format('ε = 1')}\n\n| {long} |\n\n```sh\n{long}\n  two\n```\n"
    heading, _, *item, _, table, _, fence, code, indented, end = render(page).splitlines()
    assert (heading, fence, indented, end) == ("# Page", "```sh", "  two", "```")
    assert max(map(len, item)) <= 120
    assert item[0].startswith("- word")
    assert all(
        line.startswith("  word") or line.startswith(("  $a + b$", "  ε = 1")) for line in item[1:]
    )
    assert table == f"| {long} |"
    assert code == long


def test_what_names_an_outdated_method_is_marked(generate, monkeypatch, render):
    """A paragraph or an item is, tables have marks of their own; nothing is if all is up to date."""
    outdated = {"a": ["ObjP, Laplace"], "b": ["OutP (untuned)"], "c": []}
    monkeypatch.setattr(generate.quantities, "outdated", outdated.__getitem__)
    text = "ObjPM wins.\n\n- OutP\nloses.\n- ObjT wins.\n\n| ObjP | 3 |\n\nObjP is second.\n"
    marked = text.replace("OutP\n", "\N{DAGGER} OutP ").replace("ObjP is", "\N{DAGGER} ObjP is")
    page = "{{% filter marked({}) %}}\n{}{{% endfilter %}}\n"
    assert render(page.format(["a", "b"], text)) == marked
    assert render(page.format(["c"], text)) == text.replace("OutP\n", "OutP ")


@pytest.mark.parametrize("report", ["equal_privacy_audits_later", "equal_privacy_audits"])
def test_a_kept_report_says_at_its_head_what_is_outdated(generate, report):
    page = (ROOT / f"docs/reports/{report}/index.html").read_text("utf-8")
    head = page.split("<h2")[0]
    reasons = {generate.quantities.why_outdated([study]) for study in generate.quantities.EQUAL}
    assert all(why in head for why in reasons)
    later = "Since then all of these were run again" in head
    assert ('<p class="note marks">' in head) == (any(reasons) or later)


def test_totals_of_pages_are_those_of_their_entries_and_settings(generate):
    """Entries of ledgers as the page lists them; and two methods by their settings of today."""
    totals = importlib.import_module("totals")

    numbers = generate.quantities.totals()
    for row in numbers.rows:
        ledger = Ledger()
        for *packed, count in row["mechanisms"]:
            ledger.add(Cost.unpacked(packed), count)
        assert ledger.epsilon(row["delta"]) == pytest.approx(row["epsilon"], rel=1e-4)
        mu = curve(ledger.composition()).gaussian.mu
        assert mu == pytest.approx(row["mu"], rel=1e-4)
        assert math.isinf(mu) or mu <= row["mu"] * (1 + 1e-9)
    for label in ("ObjP, Laplace", "AMP"):
        spec = totals.specs("equal_privacy_digits")[label]
        mu, _ = totals.account(spec).curve.gaussian
        assert mu == pytest.approx(numbers.gaussian["equal_privacy_digits"][label][0], rel=1e-4)
