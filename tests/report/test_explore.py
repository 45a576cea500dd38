"""The interactive view: what is packed, what a browser makes of it, and that both agree."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
import xml.etree.ElementTree as ET
from importlib.resources import files
from pathlib import Path
from urllib.request import url2pathname

import numpy as np
import pytest

from admmbench.figures import Figure, look
from admmbench.inference.intervals import student
from admmbench.report import explore, rendering
from admmbench.results import reference, statistics
from tests.made import ERRORS, INF, build, described, totals
from tests.report.conftest import needs_browser, press, table, written


def unpack(text):
    """What a browser unpacks, with NaN for null."""
    return json.loads(gzip.decompress(base64.b64decode(text)))


def test_every_seed_comes_back_as_precisely_as_promised_and_each_time_as_the_same_text():
    ds = build(ERRORS, seeds=4, rounds=tuple(range(1, 300, 23)))
    noise = np.random.default_rng(1).normal(0, 0.01, ds["test_error"].shape)
    ds["test_error"] += noise
    ds["train_loss"] += noise
    ds["test_error"][0, 0, 1, 5:] = np.nan
    ds["train_loss"][0, 0, 2, 3] = -np.inf
    text = explore.pack(ds, look.of_results([ds]))
    assert explore.pack(ds.copy(deep=True), look.of_results([ds])) == text
    packed = unpack(text)
    assert packed["dataset"] == "MNIST"
    metrics = {metric["name"]: metric for metric in packed["metrics"]}
    assert next(iter(metrics)) == "test_error"
    for name, error in (("test_error", 5e-4), ("train_loss", 5e-3)):
        for (a, e), own in zip(packed["curves"], metrics[name]["seeds"], strict=True):
            values = ds[name].where(np.isfinite(ds[name])).values[a, e]
            np.testing.assert_allclose(np.array(own, float), values, rtol=error)  # None is NaN


def test_suboptimality_is_the_distance_to_the_optimum_of_the_same_seed():
    errors = {"ObjP": {1.0: 0.2}, "Centralized": {INF: 0.1}, "Others": {1.0: 0.3}}
    ds = build(errors, methods={"Centralized": "centralized"})
    ds["agents"] = ("algorithm", [10, 10, 5])
    found = explore._with_suboptimality(ds)["suboptimality"]
    loss = ds["train_loss"]
    optimum = loss.sel(algorithm="Centralized", epsilon=INF).values.min(axis=-1)
    excess = loss.sel(algorithm="ObjP", epsilon=1.0).values - optimum[:, None]
    np.testing.assert_allclose(found.sel(algorithm="ObjP", epsilon=1.0), excess)
    assert np.isnan(found.sel(algorithm="Others")).all()  # its objective is a sum over other agents
    tuned = ds.assign_coords(
        tuned=(("algorithm", "epsilon"), np.full((3, 2), '{"problem.strength": 1}'))
    )
    for without in (ds.drop_sel(algorithm="Centralized"), tuned):
        assert "suboptimality" not in explore._with_suboptimality(without)


@pytest.mark.slow
def test_the_largest_of_the_kept_results_has_a_small_part_of_the_page():
    """A page of twelve experiments has at most 15 MB; that of all kept results has 4.9 MB."""
    (results,) = reference.load(["huang2019_l2"]).values()
    assert len(explore.pack(results, look.of_results([results]))) < 400_000
    figure = Figure.model_validate({"name": "error", "kind": "curves"})
    page = rendering.render([rendering.Section(results, described(figures=[figure]))], [])
    assert len(page.encode()) < 15e6 / 12
    drawn = max(re.findall(r"<svg viewBox.*?</svg>", page, re.DOTALL), key=len)  # marks are short
    assert len(drawn.encode()) < 160_000
    assert "<text " in drawn
    assert "font-family" not in drawn  # the page's style says it once


def test_the_library_is_the_one_that_is_written_down():
    folder = files("admmbench.report") / "vendor"
    bytes_ = (folder / "plot.min.js").read_bytes()
    page = (folder / "README.md").read_text()
    assert f"`{hashlib.sha256(bytes_).hexdigest()}`" in page
    assert f"| bytes | {len(bytes_)} |" in page
    licences = (folder / "LICENSES.txt").read_text()
    assert {"@observablehq/plot", "d3-scale", "d3-shape"} <= set(
        re.findall(r"^(\S+) [\d.]+ \(ISC\)", licences, re.M)
    )


def luminance(color):
    """Relative luminance of WCAG 2.1."""
    digits = color.lstrip("#")
    digits = "".join(2 * d for d in digits) if len(digits) == 3 else digits
    parts = np.array([int(digits[k : k + 2], 16) / 255 for k in (0, 2, 4)])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_lines_stand_out_from_the_card_and_text_from_the_page():
    assert contrast("#777", "#fff") == pytest.approx(4.48, abs=0.01)  # a value of WCAG's tutorials
    for color in (*look.PALETTE, look._DARK):
        assert contrast(color, "#ffffff") >= 3
    css = (files("admmbench.report") / "templates/report.css").read_text()
    schemes = [
        dict(re.findall(r"--(\w+): (#\w+)", line)) for line in css.splitlines() if "--ink:" in line
    ]
    assert len(schemes) == 2
    for colors in schemes:
        for ground in ("paper", "wash"):
            for text in ("ink", "soft", "accent", "good", "bad", "open", "unsure"):
                assert contrast(colors[text], colors[ground]) >= 4.5, (text, ground)
        assert contrast(colors["ink"], colors["warned"]) >= 4.5
        assert contrast(colors["edge"], colors["paper"]) >= 3  # frames of buttons


# ------------------------------------------------------------------ in a browser

READY = "document.getElementById('explore-view').dataset.shown"


@pytest.fixture(scope="module")
def results():
    """An experiment with counts, an optimum and lost runs, one of two seeds, and one whose errors are no counts."""
    first = totals(
        build(
            {**ERRORS, "Centralized": {INF: 0.05}, 'A label, "quoted" <&> 50 %': {0.1: 0.3}},
            name="first",
            sensitivity="global",
            methods={"Centralized": "centralized"},
            rounds=(0, *range(1, 300, 23)),
            n_test=777,
            diverged={("OutP", 0.1): 2},
            dataset_note="a part <of> it",
            # Seeds draw from one pool, so that intervals are wider.
            partition='{"scheme": "iid", "agents": 10, "shuffle": true, "train": 3000}',
            n_train=3000,
        )
    )
    noise = np.random.default_rng(0).normal(0, 0.01, first["test_error"].shape)
    first["test_error"][:] = np.rint((first["test_error"] + noise) * 777) / 777
    few = build(ERRORS, name="few", seeds=2)
    other = build({"ObjP": {1.0: 0.3}}, name="other").rename(test_error="test_rmse")
    other["test_rmse"].attrs = {"long_name": "test root mean squared error", "units": "points"}
    return [first, few, other.assign_attrs(metric="test_rmse")]


@pytest.fixture(scope="module")
def page(results, tmp_path_factory, request):
    curves = Figure.model_validate({"name": "curves", "kind": "curves", "caption": "Curves."})
    sections = [rendering.Section(results[0], described(figures=[curves]))]
    sections += [rendering.Section(each, described()) for each in results[1:]]
    path = tmp_path_factory.mktemp("page") / "index.html"
    return written(path, sections, [], "c.yaml").as_uri()


def page_of(results, folder):
    """Write the page of one experiment without figures, and return its address."""
    section = rendering.Section(results, described())
    return written(folder / "index.html", [section], [], "c.yaml").as_uri()


def told(tab, where="note"):
    """Return what stands below the chart, or what a reader is told aloud."""
    return tab.run(f"document.getElementById('explore-{where}').textContent")


def shown(tab, address, **choices):
    """Open a view."""
    query = "&".join(f"{key}={value}" for key, value in choices.items())
    tab.open(f"{address}#explore?{query}" if query else address)
    tab.wait(READY)


@needs_browser
def test_statistics_of_the_browser_are_those_of_the_tables(tab, page, results):
    shown(tab, page, experiment="first", epsilon="0.1")
    press(tab, "CSV")
    rows = table(tab, "explore-first-test_error-0.1.csv")
    values = 100 * results[0]["test_error"]
    band = statistics.band(values)
    interval = student(values, redrawn=777 / 3000)
    labels = {row["method"] for row in rows}
    assert labels == {str(label) for label in results[0]["algorithm"].values}
    assert len(rows) == len(labels) * results[0].sizes["round"]
    for row in rows:
        epsilon = INF if row["epsilon"] == "none" else float(row["epsilon"])
        at = {"algorithm": row["method"], "epsilon": epsilon, "round": int(row["round"])}
        wanted = {
            "mean of Test error (%)": band["mean"],
            "percentile_20": band["lower"],
            "percentile_80": band["upper"],
            "interval_95_lower": interval["lower"],
            "interval_95_upper": interval["upper"],
            "n": band["n"],
        }
        for column, numbers in wanted.items():
            assert float(row[column]) == pytest.approx(float(numbers.sel(at)), rel=1e-5)
    assert {row["n"] for row in rows if row["method"] == "OutP"} == {"10", "8"}


@needs_browser
def test_keys_tell_the_values_that_the_tables_print(tab, page, results):
    shown(tab, page, experiment="first", epsilon="0.1", hide="OutP")
    tab.run("document.querySelector('.chart').focus()")
    tab.key("ArrowRight")
    tab.key("End")
    said = told(tab, "live")
    values = 100 * results[0]["test_error"].sel(algorithm="ObjP", epsilon=0.1).isel(round=-1)
    band = statistics.band(values)
    interval = student(values, redrawn=777 / 3000)
    mean, lower, upper = (f"{float(band[name]):.2f}" for name in ("mean", "lower", "upper"))
    ends = " to ".join(f"{float(interval[name]):.2f}" for name in ("lower", "upper"))
    assert said == (
        f"ObjP, round 277, Test error (%) {mean}, 20–80 percentile {lower} to {upper}, "
        f"95 % interval of the mean {ends}, n = 10"
    )
    assert tab.run("document.querySelector('.tip').innerText").startswith("ObjP\nround 277\n")
    tab.key("ArrowDown")
    tab.key("ArrowLeft")
    said = told(tab, "live")
    assert said.startswith("ObjPM, round 254, ")
    tab.key("Escape")
    assert tab.run("document.querySelector('.tip').hidden")


@needs_browser
def test_the_pointer_tells_the_nearest_point_and_a_drag_zooms(tab, page):
    shown(tab, page, experiment="first", epsilon="1")
    x, y = tab.place(".chart")
    tab.move(x, y)
    assert tab.wait(
        "document.querySelector('.chart .cursor') && document.querySelector('.tip strong').textContent"
    )
    tab.press(x - 200, y - 60)
    tab.move(x + 100, y + 60)
    tab.press(x + 100, y + 60, "mouseReleased")
    zoom = tab.wait("new URLSearchParams(location.hash.split('?')[1]).get('zoom')")
    assert len(zoom.split(",")) == 4
    assert "Reset zoom" in tab.run("document.querySelector('.explore .tools').innerText")
    tab.run("document.querySelector('.chart').focus()")
    tab.key("0")
    tab.wait("!location.hash.includes('zoom')")


@needs_browser
def test_choices_are_in_the_address_and_come_back_from_it(tab, page):
    shown(tab, page)
    assert tab.run("location.hash") == ""  # the page's own address stays as it is
    tab.choose("#explore-epsilon", "1")
    tab.choose("#explore-x", "floats_sent")
    tab.click("#explore-logx")
    tab.choose("#explore-spread", "seeds")
    tab.click('.legend [data-label="ObjP"]')
    address = tab.wait("location.hash.includes('hide') && location.href")
    lines = tab.run("document.querySelectorAll('.chart path').length")
    assert tab.run("document.querySelector('.legend [data-label=ObjP]').ariaPressed") == "false"
    tab.send("Page.navigate", url="about:blank")
    tab.wait("location.href === 'about:blank'")
    tab.open(address)
    tab.wait(READY)
    assert tab.run("document.querySelectorAll('.chart path').length") == lines
    chosen = {
        name: tab.run(f"document.getElementById('explore-{name}').value")
        for name in ("experiment", "metric", "epsilon", "x", "spread")
    }
    assert chosen == {
        "experiment": "first",
        "metric": "test_error",
        "epsilon": "1",
        "x": "floats_sent",
        "spread": "seeds",
    }
    assert tab.run("document.getElementById('explore-logx').checked")
    assert not tab.run("document.getElementById('explore-logy').checked")
    assert tab.run("document.querySelector('.legend [data-label=ObjP]').ariaPressed") == "false"
    assert tab.run("document.querySelector('.tools a').href") == address


@needs_browser
def test_a_wrong_address_shows_what_there_is(tab, page):
    shown(tab, page, experiment="nothing", metric="x", epsilon="-3", x="y", zoom="1,b", hide="none")
    assert tab.run("document.getElementById('explore-experiment').value") == "first"
    assert tab.run("document.querySelectorAll('.chart path').length") > 4


@needs_browser
def test_a_double_click_shows_one_method_alone(tab, page):
    shown(tab, page, epsilon="0.1")
    tab.click('.legend [data-label="ObjPM"]', times=2)
    tab.wait("document.querySelectorAll('.legend [aria-pressed=true]').length === 1")
    assert tab.run("document.querySelector('.legend [aria-pressed=true]').dataset.label") == "ObjPM"


@needs_browser
def test_few_seeds_are_shown_one_by_one(tab, page):
    shown(tab, page, experiment="few", spread="band")
    assert tab.run("document.getElementById('explore-spread').value") == "seeds"
    assert tab.run("document.getElementById('explore-spread').disabled")
    assert "each of 2 seeds" in told(tab)
    assert not tab.run("document.querySelector('.chart [fill-opacity]')?.outerHTML ?? ''")


@needs_browser
def test_the_distance_to_the_optimum_has_a_logarithmic_axis(tab, page):
    shown(tab, page, experiment="first", metric="suboptimality", x="epsilon_total", epsilon="1")
    assert tab.run("document.getElementById('explore-logy').checked")
    note = told(tab)
    assert "F − F*" in note
    assert "No values on these axes: Non-private; Centralized." in note


@needs_browser
def test_an_axis_of_totals_leaves_out_what_has_none(tab, page):
    """Before the first round every total is 0."""
    shown(tab, page, experiment="first", x="epsilon_total", epsilon="0.1")
    note = told(tab)
    assert 'No values on these axes: Non-private; Centralized; A label, "quoted"' in note


@needs_browser
def test_the_view_says_what_has_no_noise_and_what_is_not_equally_private(tab, tmp_path_factory):
    results = build(ERRORS, name="unequal")
    results["noise_magnitude"].loc[{"algorithm": "Non-private"}] = 1.0
    results["epsilon_composed"].loc[{"algorithm": "ObjP"}] *= 3
    address = page_of(results, tmp_path_factory.mktemp("unequal"))
    shown(tab, address, epsilon="0.1")
    note = told(tab)
    unequal = "Not equally private: composed totals ε from 1.73 to 5.2, all without a guarantee."
    assert unequal in note
    assert "Without noise" not in note
    methods = "[...document.querySelectorAll('.legend button')].map(b => b.dataset.label)"
    assert "Non-private" not in tab.run(methods)
    shown(tab, address, epsilon="none")
    assert tab.run(methods) == ["Non-private"]
    shown(tab, address, epsilon="none", x="epsilon_composed")
    assert "no values" in tab.run("document.querySelector('.chart').textContent")
    assert not tab.run("document.querySelectorAll('.chart [aria-label*=axis]').length")
    assert "no budget" in told(tab)


@needs_browser
def test_studies_without_noise_have_no_metrics_of_it_and_equal_seeds_are_told(
    tab, tmp_path_factory
):
    results = build({"A": {INF: 0.25}, "B": {INF: 0.5}}, spread=0)
    for name in ("epsilon_composed", "epsilon_total", "epsilon_claimed", "epsilon_moments"):
        results[name] *= 0
    shown(tab, page_of(results, tmp_path_factory.mktemp("free")))
    metrics = tab.run("[...document.getElementById('explore-metric').options].map(o => o.value)")
    assert metrics[0] == "test_error"
    assert not [name for name in metrics if name.startswith(("noise", "epsilon"))]
    tab.run("document.querySelector('.chart').focus()")
    tab.key("End")
    said = told(tab, "live")
    assert said == "A, round 1, Test error (%) 90.00, the same for all seeds, n = 10"


@needs_browser
def test_errors_that_are_no_counts_have_their_seeds_too(tab, page):
    shown(tab, page, experiment="other")
    assert not tab.run("document.getElementById('explore-spread').disabled")
    assert "root mean squared error (points)" in tab.run(
        "document.querySelector('.chart').innerHTML"
    )


@needs_browser
def test_tables_sort_and_are_saved_as_they_are_shown(tab, page, results):
    shown(tab, page)
    own = "#first-errors-1 + .scroll table"
    column = f"[...document.querySelectorAll('{own} tbody tr')].map(r => r.cells[2].innerText)"
    original = tab.run(column)
    head = f"{own} thead th:nth-child(3)"
    orders = []
    for wanted in ("ascending", "descending", "none"):
        tab.click(f"{head} button")
        assert tab.run(f"document.querySelector('{head}').ariaSort") == wanted
        orders.append(tab.run(column))
    numbers = [float(text.split()[0]) for text in original if text[0] != "–"]
    dashes = [text for text in original if text[0] == "–"]
    assert [float(t.split()[0]) for t in orders[0] if t[0] != "–"] == sorted(numbers)
    assert [float(t.split()[0]) for t in orders[1] if t[0] != "–"] == sorted(numbers, reverse=True)
    assert orders[0][-len(dashes) :] == orders[1][-len(dashes) :] == dashes
    assert orders[2] == original
    tab.click(f"{head} button")
    for kind in ("CSV", "LaTeX"):
        press(tab, kind, within="#first-errors-1 + .scroll +")
    rows = table(tab, "first-errors-1.csv")
    assert [row["ε = 0.1"].split()[0] for row in rows] == [t.split()[0] for t in orders[0]]
    assert 'A label, "quoted" <&> 50 %' in {row["Method"] for row in rows}
    tex = tab.downloaded("first-errors-1.tex")
    assert 'A label, "quoted" $<$\\&$>$ 50 \\% & ' in tex
    assert "Method & $\\varepsilon$ = 0.05 & " in tex
    assert "\\begin{tabular}{lrrrr}" in tex


@needs_browser
def test_the_figure_is_saved_as_a_drawing_and_printed_alone(tab, page):
    shown(tab, page, experiment="first", epsilon="1", hide="ObjP")
    name = "explore-first-test_error-1"
    press(tab, "SVG")
    drawing = tab.downloaded(f"{name}.svg")
    root = ET.fromstring(drawing)
    texts = {element.text for element in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {"OutP", "ObjPM", "Non-private", "Round", "Test error (%)"} <= texts
    assert "ObjP" not in texts
    whole = tab.pdf()
    tab.run("window.print = () => {}")
    press(tab, "PDF")
    assert tab.run("document.title") == name
    alone = tab.pdf()
    pages = [len(re.findall(rb"/Type\s*/Page\b", pdf)) for pdf in (whole, alone)]
    assert pages[0] > 2
    assert pages[1] == 1
    assert b"/Font" in alone  # text is text
    assert len(alone) > 5000
    tab.run("dispatchEvent(new Event('afterprint'))")
    assert not tab.run("document.getElementById('explore-print')")


@needs_browser
def test_without_scripts_all_else_is_there(browser, page, tmp_path):
    with browser.tab(tmp_path, scripts=False) as tab:
        tab.open(page)
        text = tab.run("document.documentElement.outerHTML")
        assert "This view needs JavaScript" in text
        assert '<figure id="first-figure-curves">' in text
        assert 'class="sort"' not in text
        assert len(tab.pdf()) > 20_000
        assert tab.requests() == [page]


@needs_browser
@pytest.mark.parametrize("dark", [False, True])
def test_a_phone_does_not_scroll_sideways(browser, page, tmp_path, dark):
    with browser.tab(tmp_path, width=390, height=844, dark=dark) as tab:
        shown(tab, page, epsilon="0.1")
        assert tab.run("document.documentElement.scrollWidth") == 390
        assert tab.complaints() == []


@needs_browser
def test_dark_pages_have_figures_on_light_cards(browser, page, tmp_path):
    with browser.tab(tmp_path, dark=True) as tab:
        shown(tab, page)
        ground = "getComputedStyle(document.querySelector('{}')).backgroundColor"
        assert tab.run(ground.format("body")) == "rgb(22, 25, 28)"
        for card in ("#explore-figure", "#first-figure-curves .card"):
            assert tab.run(ground.format(card)) == "rgb(255, 255, 255)"
        assert (
            tab.run("getComputedStyle(document.querySelector('.legend button')).color")
            == "rgb(29, 33, 37)"
        )


@needs_browser
def test_every_part_has_a_link_to_itself(tab, page):
    tab.open(page)
    tab.wait("document.getElementById('explore-view').dataset.shown")
    links = tab.run("[...document.querySelectorAll('.permalink')].map(e => e.hash.slice(1))")
    assert len(links) == len(set(links)) > 5
    text = Path(url2pathname(page.removeprefix("file://"))).read_text(encoding="utf-8")
    parts = re.findall(r'<h[23] id="([^"]+)"|class="caption" id="([^"]+)"', text)
    assert {"".join(names) for names in parts} <= set(links)


# ------------------------------------------------------------------ final values, sizes, and the first round


@needs_browser
def test_final_values_are_those_of_the_tables(tab, page, results):
    shown(tab, page, experiment="first", epsilon="0.1", kind="final")
    press(tab, "CSV")
    rows = {row["method"]: row for row in table(tab, "explore-first-test_error-0.1-final.csv")}
    values = 100 * statistics.final(results[0], "test_error")
    band = statistics.band(values)
    interval = student(values, redrawn=777 / 3000)
    assert set(rows) == {str(label) for label in results[0]["algorithm"].values}
    for label, row in rows.items():
        epsilon = INF if row["epsilon"] == "none" else 0.1
        at = {"algorithm": label, "epsilon": epsilon}
        seeds = values.sel(at).values
        first, median, third = np.nanpercentile(seeds, [25, 50, 75])
        wanted = {
            "mean of Test error (%)": band["mean"].sel(at),
            "percentile_20": band["lower"].sel(at),
            "percentile_80": band["upper"].sel(at),
            "interval_95_lower": interval["lower"].sel(at),
            "first_quartile": first,
            "median": median,
            "third_quartile": third,
            "n": np.isfinite(seeds).sum(),
        }
        for column, number in wanted.items():
            assert float(row[column]) == pytest.approx(float(number), rel=1e-5)
        found = [row[f"seed_{seed}"] for seed in range(10)]
        assert [float(each or "nan") for each in found] == pytest.approx(
            list(seeds), rel=1e-5, nan_ok=True
        )
    assert rows["OutP"]["n"] == "8"
    assert rows["OutP"]["round"] == "277"


@needs_browser
def test_a_run_that_was_lost_in_its_last_round_has_no_final_value(browser, tmp_path):
    """It has a value at the last round, as of a run that a limit ended there."""
    ds = build({"ObjP": {0.1: 0.2}, "OutP": {0.1: 0.3}}, name="lost")
    ds["status"][0, 0, 3] = 2
    ds["status"][1] = 1
    with browser.tab(tmp_path) as tab:
        shown(tab, page_of(ds, tmp_path), kind="final")
        note = told(tab)
        assert "No final values on this axis: OutP." in note
        press(tab, "CSV")
        (row,) = table(tab, "explore-lost-test_error-0.1-final.csv")
        assert row["n"] == "9"
        assert row["seed_3"] == ""
        assert tab.complaints() == []


@needs_browser
def test_final_values_are_boxes_of_many_seeds_and_points_of_few(tab, page):
    shown(tab, page, experiment="first", epsilon="0.1", kind="final")
    filled = (
        "document.querySelectorAll('.chart path[fill-opacity], .chart [fill-opacity] path').length"
    )
    assert tab.run(filled) == 6
    tab.run("document.querySelector('.chart').focus()")
    tab.key("ArrowRight")
    tab.key("ArrowDown")
    said = told(tab, "live")
    assert said.startswith("ObjP, round 277, Test error (%) ")
    assert ", median " in said
    assert "quartiles " in said
    tab.key("+")  # nothing to zoom
    assert tab.run("location.hash").count("zoom") == 0
    x, y = tab.place(".chart")
    tab.move(x - 300, y)
    tab.wait("!document.querySelector('.tip').hidden")
    tab.choose("#explore-experiment", "few")
    tab.wait("document.getElementById('explore-view').dataset.shown.includes('experiment=few')")
    assert tab.run(filled) == 0
    assert "each of 2 seeds" in told(tab)
    tab.choose("#explore-experiment", "first")
    tab.choose("#explore-metric", "test_loss")
    tab.wait("document.getElementById('explore-view').dataset.shown.includes('test_loss')")
    note = told(tab)
    assert "boxes from the first to the third quartile" in note
    assert tab.run("document.getElementById('explore-kind').value") == "final"


@needs_browser
def test_bars_begin_at_zero_and_end_at_the_mean(tab, page, results):
    shown(tab, page, experiment="first", epsilon="0.1", kind="bars")
    boxes = tab.run(
        "[...document.querySelectorAll('.chart [fill-opacity] path, .chart path[fill-opacity]')]"
        ".map(e => e.getBBox()).map(b => [b.x, b.width])"
    )
    assert len({round(left, 3) for left, _ in boxes}) == 1
    means = 100 * statistics.final(results[0], "test_error").mean("seed")
    wanted = [float(means.sel(epsilon=0.1, algorithm=label)) for label in ("OutP", "ObjP")]
    assert boxes[0][1] / boxes[1][1] == pytest.approx(wanted[0] / wanted[1], rel=1e-3)
    note = told(tab)
    assert "bars to the mean, lines from the 20th to the 80th percentile over 10 seeds" in note
    shown(tab, page, experiment="first", epsilon="0.1", kind="bars", logy="1", metric="test_loss")
    assert tab.run("document.querySelectorAll('.chart > svg').length") == 1


@needs_browser
def test_a_logarithmic_axis_of_nothing_is_an_axis_all_the_same(tab, page):
    for kind in ("final", "curves"):
        shown(
            tab,
            page,
            experiment="few",
            metric="noise_magnitude",
            logy="1",
            kind=kind,
            epsilon="none",
        )
        assert tab.run("document.querySelectorAll('.chart svg').length") == 1


@needs_browser
def test_losses_may_be_relative_to_the_first_round(tab, page, results):
    shown(tab, page, experiment="few", epsilon="0.1", metric="train_loss", relative="1")
    assert tab.run("document.getElementById('explore-relative').checked")
    assert "divided by its mean at the start" in told(tab)
    press(tab, "CSV")
    rows = table(tab, "explore-few-train_loss-0.1-relative.csv")
    values = results[1]["train_loss"].sel(algorithm="ObjP", epsilon=0.1)
    wanted = values / values.mean("seed").isel(round=0)
    column = "mean of Training loss, relative to the start"
    found = [float(row[column]) for row in rows if row["method"] == "ObjP"]
    np.testing.assert_allclose(found, wanted.mean("seed"), rtol=1e-2)
    seeds = [float(row["seed_1"]) for row in rows if row["method"] == "ObjP"]
    np.testing.assert_allclose(seeds, wanted.sel(seed=1), rtol=1e-2)
    tab.choose("#explore-metric", "test_error")  # a percentage is shown as it is
    tab.wait("document.getElementById('explore-view').dataset.shown.includes('test_error')")
    assert not tab.run("document.getElementById('explore-relative').checkVisibility()")
    assert "Test error (%)" in tab.run("document.querySelector('.chart').innerHTML")


@needs_browser
def test_the_size_is_chosen_by_keys_and_by_dragging_and_is_in_the_address(tab, page):
    shown(tab, page, epsilon="1", size="640x350")
    size = (
        "['width', 'height'].map(side =>"
        " Number(document.querySelector('.chart > svg').getAttribute(side)))"
    )
    assert tab.run(size) == [640, 350]
    tab.run("document.querySelector('.handle').focus()")
    tab.key("ArrowLeft")
    tab.key("ArrowDown")
    tab.wait("location.hash.includes('size=620x370')")
    assert tab.run(size) == [620, 370]
    assert "620 by 370" in tab.run("document.querySelector('.handle').ariaLabel")
    assert "620 by 370" in told(tab, "live")
    x, y = tab.place(".handle")
    tab.press(x, y)
    tab.move(x + 60, y + 30)
    tab.move(x + 80, y + 40)
    tab.press(x + 80, y + 40, "mouseReleased")
    tab.wait("location.hash.includes('size=700x410')")
    assert tab.run(size) == [700, 410]
    press(tab, "SVG")
    root = ET.fromstring(tab.downloaded("explore-first-test_error-1.svg"))
    assert root.get("width") == "700"
    press(tab, "Size of the window")
    tab.wait("!location.hash.includes('size')")
    assert tab.run(size)[0] > 850
    shown(tab, page, epsilon="0.1", size="9999x1")
    assert tab.run(size)[1] == 160  # the least


@needs_browser
@pytest.mark.parametrize("kind", ["curves", "final"])
def test_an_image_has_three_pixels_for_each_of_the_drawing(tab, page, kind):
    shown(tab, page, experiment="first", epsilon="1", kind=kind)
    ending = "-final" if kind == "final" else ""
    press(tab, "SVG")
    press(tab, "PNG")
    root = ET.fromstring(tab.downloaded(f"explore-first-test_error-1{ending}.svg"))
    content = tab.content(f"explore-first-test_error-1{ending}.png")
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = (int.from_bytes(content[at : at + 4], "big") for at in (16, 20))
    assert (width, height) == tuple(3 * int(root.get(side)) for side in ("width", "height"))
    assert len(content) > 30_000  # of an empty image: a few thousand
    texts = {element.text for element in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {"OutP", "ObjP", "Non-private"} <= texts
