"""What the figures show, and that their files are reproducible."""

from __future__ import annotations

import io
import itertools
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text
from matplotlib.textpath import TextPath
from matplotlib.transforms import Bbox
from PIL import Image

from admmbench.base.outcomes import Outcome
from admmbench.figures import Figure, look, style, wording
from admmbench.figures.drawing import WIDTHS, draw, save, svg
from admmbench.files import is_whole
from admmbench.inference.intervals import lowest
from admmbench.jobs import fingerprint
from admmbench.report import tables
from admmbench.report.environment import words
from admmbench.results import statistics
from admmbench.study import config
from admmbench.study.config import ConfigError, check_experiment
from admmbench.study.experiment import Experiment
from tests.made import ERRORS, INF, build, totals

ROOT = Path(__file__).parents[2]
SMALL = {
    "title": "Small",
    "dataset": "digits",
    "agents": 3,
    "rounds": 10,
    "epsilon": [0.1],
    "algorithms": [{"name": "objp", "label": "ObjP"}],
}


def lines(panel):
    return {line.get_label(): line for line in panel.lines}


def legend(drawing):
    return [text.get_text() for text in drawing.legends[0].get_texts()]


def texts(drawing):
    return " ".join(" ".join(text.get_text().split()) for text in drawing.texts)


def panels(drawing):
    return [panel for panel in drawing.axes if panel.get_visible()]


def test_curves_have_a_panel_for_each_epsilon_and_a_line_for_each_method(results, figure):
    drawing = draw(results, figure())
    assert [panel.get_title() for panel in panels(drawing)] == ["ε = 0.05", "ε = 0.1", "ε = 1"]
    for panel in panels(drawing):
        assert list(lines(panel)) == ["OutP", "ObjP", "ObjPM", "Non-private"]
        assert panel.get_xlabel() == "Round"
    assert panels(drawing)[0].get_ylabel() == "Test error (%)"
    assert legend(drawing) == ["OutP", "ObjP", "ObjPM", "Non-private"]
    assert "20–80 percentile" in texts(drawing)


def test_a_figure_is_the_same_where_a_notebook_crops_it(results, figure):
    """By half an inch from below, which is a whole number of pixels; legend and small print are not cropped."""
    drawing = draw(results, figure())

    def pixels(**how):
        content = io.BytesIO()
        drawing.savefig(content, dpi=100, **how)
        return plt.imread(io.BytesIO(content.getvalue()))

    size = drawing.get_size_inches()
    whole, part = pixels(), pixels(bbox_inches=Bbox([[0, 0.5], size]), pad_inches=0)
    np.testing.assert_array_equal(part, whole[: len(part)])
    foot = [text.get_window_extent().y0 for text in drawing.texts]
    assert drawing.get_tightbbox().y0 * drawing.dpi <= min(foot) + 1


def test_curves_show_every_round_of_the_mean_in_percent(results, figure):
    drawing = draw(results, figure())
    own = results["test_error"].sel(algorithm="ObjP", epsilon=0.1)
    band = statistics.band(100 * own)
    line = lines(panels(drawing)[1])["ObjP"]
    np.testing.assert_array_equal(line.get_xdata(), results["round"])
    np.testing.assert_allclose(line.get_ydata(), band["mean"])
    shaded = panels(drawing)[1].collections[1].get_paths()[0].vertices[:, 1]
    assert shaded.min() == pytest.approx(float(band["lower"].min()))
    assert shaded.max() == pytest.approx(float(band["upper"].max()))


def test_the_run_without_noise_is_a_dashed_reference_in_every_panel(results, figure):
    drawing = draw(results, figure())
    expected = 100 * results["test_error"].sel(algorithm="Non-private", epsilon=INF).mean("seed")
    for panel in panels(drawing):
        line = lines(panel)["Non-private"]
        assert line.is_dashed()
        np.testing.assert_allclose(line.get_ydata(), expected)


def test_noise_has_no_reference(results, figure):
    drawing = draw(results, figure(metric="noise_magnitude", log=True))
    assert "Non-private" not in legend(drawing)
    assert panels(drawing)[0].get_yscale() == "log"


def test_figure_selects_methods_and_budgets(results, figure):
    drawing = draw(results, figure(algorithms=["ObjP", "OutP"], epsilon=[0.1]))
    assert [panel.get_title() for panel in panels(drawing)] == ["ε = 0.1"]
    assert legend(drawing) == ["ObjP", "OutP"]


def test_infinity_has_a_panel_where_it_is_asked_for(results, figure):
    drawing = draw(results, figure(epsilon=[0.1, INF]))
    assert [panel.get_title() for panel in panels(drawing)] == ["ε = 0.1", "no budget"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"metric": "accuracy"}, "no metric 'accuracy'"),
        ({"algorithms": ["ObjQ"]}, "ObjQ"),
    ],
)
def test_a_figure_of_what_is_not_there_is_refused(results, figure, given, message):
    with pytest.raises(ValueError, match=message):
        draw(results, figure(**given))


def test_budgets_that_were_not_run_are_left_out_and_named(results, figure):
    drawing = draw(results, figure(epsilon=[0.1, 7.0]))
    assert [panel.get_title() for panel in panels(drawing)] == ["ε = 0.1"]
    assert "Not run: ε = 7." in texts(drawing)
    everything = draw(results, figure(epsilon=[7.0]))
    assert len(panels(everything)) == len(panels(draw(results, figure())))
    assert "Not run: ε = 7." in texts(everything)
    assert "Not run" not in texts(draw(results, figure(epsilon=[0.1])))


def looks(results):
    return look.of_results([results])


def test_a_method_looks_the_same_in_every_figure(results, figure):
    whole = draw(results, figure())
    other = build({"ObjPM": ERRORS["ObjPM"], "ObjT": ERRORS["ObjP"], "OutP": ERRORS["OutP"]})
    for drawing in (
        draw(results, figure(algorithms=["ObjPM", "OutP"])),
        draw(results, figure(kind="tradeoff")),
        draw(other, figure()),
    ):
        for label in ("ObjPM", "OutP"):
            first, second = (lines(panels(d)[0])[label] for d in (whole, drawing))
            assert first.get_color() == second.get_color()
            assert first.get_marker() == second.get_marker()
            assert first.get_linestyle() == second.get_linestyle()


def test_the_method_decides_about_the_colour_and_not_its_label():
    named = looks(build({label: {1.0: 0.1} for label in ("OutP", "ObjP", "ObjPM", "OutP+")}))
    methods = {"a": "outp", "b": "objp", "c": "objp", "d": "outp"}
    params = {"c": {"local_updates": 10}, "d": {"rho": {"scale": 0.01}}}
    renamed = build({label: {1.0: 0.1} for label in methods}, methods=methods, params=params)
    assert list(looks(renamed).values()) == list(named.values())
    misnamed = build({"OutP": {1.0: 0.1}, "ObjP": {1.0: 0.1}}, methods={"OutP": "objt"})
    assert looks(misnamed)["OutP"].color not in {look.color for look in named.values()}


def test_diverged_runs_are_marked(figure):
    ds = build(ERRORS, diverged={("OutP", 0.05): 2}, timed_out={("ObjP", 1.0): 1})
    for kind in ("curves", "tradeoff"):
        drawing = draw(ds, figure(kind=kind))
        assert legend(drawing)[:3] == ["OutP †", "ObjP †", "ObjPM"]
        assert "OutP, ε = 0.05: 2 diverged of 10 runs" in texts(drawing)
        assert "ObjP, ε = 1: 1 timed out of 10 runs" in texts(drawing)


def test_a_method_whose_every_run_diverged_keeps_its_panel(figure):
    ds = build({"OutP": {0.05: 0.2, 0.1: 0.2}}, diverged={("OutP", 0.05): 5}, seeds=5)
    ds["test_error"].loc[{"epsilon": 0.05}] = np.nan
    drawing = draw(ds, figure())
    first, second = panels(drawing)
    assert not first.lines
    assert first.texts[0].get_text() == "no results"
    assert second.lines
    draw(ds, figure(kind="tradeoff"))


def test_results_without_any_value(figure):
    ds = build({"OutP": {0.05: np.nan}}, diverged={("OutP", 0.05): 10})
    for kind in ("curves", "tradeoff"):
        (panel,) = draw(ds, figure(kind=kind)).axes
        assert panel.texts[0].get_text() == "no results"
        assert not [*panel.get_xticks(), *panel.get_yticks()]  # from 0 to 1, of nothing


def test_zeros_on_a_logarithmic_axis_are_results_all_the_same(figure):
    ds = build({"OutP": {0.05: 0.2}})
    ds["consensus_violation"][:] = 0
    drawing = draw(ds, figure(metric="consensus_violation", log=True))
    assert drawing.axes[0].texts[0].get_text() == "no values above 0"


@pytest.mark.parametrize("ratio", [1.5, 3, 8, 50, 1e4, 1e9])
def test_an_axis_of_totals_has_few_ticks(figure, ratio):
    """Ticks between powers of ten overlap where there are many, and one alone gives no scale."""
    ds = build({"OutP": {0.05: 0.4, 1.0: 0.2}}, sensitivity="global")
    ds["epsilon_total"][..., -1] = [0.013, 0.013 * ratio]
    drawing = draw(ds, figure(kind="tradeoff", against="epsilon_total"))
    (panel,) = panels(drawing)
    low, high = panel.get_xlim()
    ticks = [each for each in panel.get_xticks(minor=False) if low <= each <= high]
    assert 1 <= len(ticks) <= style.MOST_TICKS
    assert not panel.get_xticks(minor=True).size


def test_small_changes_far_from_zero_have_whole_labels(figure):
    ds = build({"OutP": {0.05: 0.2}}, spread=0)
    ds["train_loss"][:] = 0.6931 + 1e-7 * ds["round"]
    drawing = draw(ds, figure(metric="train_loss"))
    drawing.canvas.draw()
    (panel,) = panels(drawing)
    assert panel.yaxis.get_offset_text().get_text() == ""


def test_one_seed_has_no_band(figure):
    ds = build(ERRORS, seeds=1)
    drawing = draw(ds, figure())
    assert not panels(drawing)[0].collections
    assert "One seed" in texts(drawing)
    assert "Lowest of 1 seeds" in texts(draw(ds, figure(kind="tradeoff", statistic="best")))


@pytest.mark.parametrize("log", [False, True])
def test_few_seeds_are_thin_lines_or_points(figure, log):
    ds = build({"OutP": {0.1: 0.2, 1.0: 0.1}}, seeds=3)
    drawing = draw(ds, figure(epsilon=[0.1], log=log))
    (panel,) = panels(drawing)
    mean, *each = panel.lines
    assert not panel.collections
    own = 100 * ds["test_error"].sel(algorithm="OutP", epsilon=0.1)
    np.testing.assert_allclose([line.get_ydata() for line in each], own.transpose("seed", "round"))
    assert all(line.get_linewidth() < mean.get_linewidth() / 2 for line in each)
    assert "each of 3 seeds" in texts(drawing)
    assert legend(drawing) == ["OutP"]
    (panel,) = panels(draw(ds, figure(kind="tradeoff", log=log)))
    (line,), (dots,) = panel.lines, panel.collections
    assert line.get_label() == "OutP"
    final = 100 * ds["test_error"].isel(round=-1).squeeze("algorithm")
    np.testing.assert_allclose(sorted(dots.get_offsets()[:, 1]), np.sort(final.values.ravel()))


def test_what_does_not_depend_on_the_seed_has_no_band(results, figure):
    everything = {"algorithm": ["ObjP", "Non-private"]}
    first = results["test_error"].sel(everything).isel(seed=0)
    results["test_error"].loc[everything] = first * (1 + 1e-15 * results["seed"])
    for kind in ("curves", "tradeoff"):
        drawing = draw(results, figure(kind=kind))
        assert len(panels(drawing)[0].collections) == 2
    few = draw(results.isel(seed=slice(3)), figure(algorithms=["ObjP"], epsilon=[0.1]))
    assert len(panels(few)[0].lines) == 1


def test_a_logarithmic_band_ends_at_the_line_where_it_would_reach_zero(results, figure):
    results["test_error"].loc[{"algorithm": "ObjP", "epsilon": 0.1}] -= 0.13
    panel = panels(draw(results, figure(log=True, algorithms=["ObjP"], epsilon=[0.1])))[0]
    assert panel.collections[0].get_paths()[0].vertices[:, 1].min() > 0


def test_tradeoff_of_the_final_error(results, figure):
    (panel,) = draw(results, figure(kind="tradeoff")).axes
    assert panel.get_xscale() == "log"
    np.testing.assert_allclose(lines(panel)["ObjP"].get_xdata(), [0.05, 0.1, 1.0])
    np.testing.assert_allclose(lines(panel)["ObjP"].get_ydata(), [14.0, 13.0, 12.0])
    np.testing.assert_allclose(lines(panel)["Non-private"].get_ydata(), 9.1)
    assert [label.get_text() for label in panel.get_xticklabels()] == ["0.05", "0.1", "1"]


def test_the_best_error_is_that_of_claims_on_the_best_of_ten_runs(results, figure):
    """The lowest of all seeds after the last round; an earlier round, selected on the test set, does not count."""
    results["test_error"].loc[{"algorithm": "ObjP", "epsilon": 0.1, "seed": 4, "round": 1}] = 0.01
    (panel,) = draw(results, figure(kind="tradeoff", statistic="best")).axes
    final = 100 * results["test_error"].sel(algorithm="ObjP", epsilon=0.1, round=300)
    assert lines(panel)["ObjP"].get_ydata()[1] == pytest.approx(lowest(final, 10))
    assert "lowest over seeds" in panel.get_ylabel().replace("\n", " ")
    assert not panel.collections


def test_a_figure_says_which_runs_their_methods_did_not_finish(figure):
    """Methods with a test of their own, that had all rounds; runs that ended by it are finished."""
    ds = build({"A": {INF: 0.1}, "B": {INF: 0.2}}, methods={"A": "prox_al", "B": "prox_al"})
    ds["status"].loc[{"algorithm": "B"}] = Outcome.CONVERGED
    assert "Not finished by the method's own test: A." in texts(draw(ds, figure()))
    plain = build({"A": {INF: 0.1}}, methods={"A": "objp"})
    assert "own test" not in texts(draw(plain, figure()))


def test_metrics_without_seeds(results, figure):
    drawing = draw(results, figure(metric="epsilon_composed"))
    assert list(lines(panels(drawing)[0])) == ["OutP", "ObjP", "ObjPM"]


def test_against_a_parameter_methods_without_it_are_dashed_lines(figure):
    errors = {"one": {INF: 0.1}, "two": {INF: 0.2}, "baseline": {INF: 0.3}}
    params = {"one": {"noise": 1.0}, "two": {"noise": 3.0}}
    methods = {"one": "objp", "two": "objp", "baseline": "sklearn_logistic"}
    ds = build(errors, methods=methods, params=params)
    (panel,) = draw(ds, figure(kind="tradeoff", against="params.noise", epsilon=[INF])).axes
    drawn = lines(panel)
    np.testing.assert_allclose(drawn["baseline"].get_ydata(), 30.0)
    (other,) = (each for name, each in drawn.items() if name != "baseline")
    np.testing.assert_allclose(other.get_xdata(), [1.0, 3.0])


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (["SGD (500)", "SGD with 250", "Sharing 500", "Sharing 250"], ["SGD", "Sharing"]),
        (["n = 1", "n = 5", "cProx, n = 1", "cProx, n = 5"], ["n", "cProx, n"]),
        (["n = 1, ρ = 1", "n = 5, ρ = 1", "n = 1", "n = 5"], ["n = 1, ρ = 1 …", "n = 1 …"]),
        (["a 1", "b 2", "c 1", "d 2"], ["a 1 …", "c 1 …"]),
    ],
)
def test_lines_against_an_axis_are_of_methods_that_are_alike_but_for_it(figure, labels, names):
    """Whatever their labels are; the labels' common words name the lines, if these differ."""
    params = {label: {"kind": number // 2} for number, label in enumerate(labels)}
    ds = build({label: {INF: 0.1} for label in labels}, params=params)
    ds = ds.assign_coords(features=("algorithm", [500, 250, 500, 250]))
    drawing = draw(ds, figure(kind="tradeoff", against="features"))
    assert legend(drawing) == names
    for line in lines(panels(drawing)[0]).values():
        np.testing.assert_array_equal(line.get_xdata(), [250, 500])


def test_groups_whose_labels_begin_alike_are_told_apart(figure):
    params = {"SGD a": {"rate": 1}, "SGD b": {"rate": 2}}
    ds = build({"SGD a": {INF: 0.1}, "SGD b": {INF: 0.2}}, params=params)
    drawing = draw(ds, figure(kind="tradeoff", against="agents"))
    assert legend(drawing) == ["SGD a", "SGD b"]
    more = build({**{label: {INF: 0.1} for label in (*params, "SGD c")}}, params=params)
    drawing = draw(more, figure(kind="tradeoff", against="agents"))
    assert len(legend(drawing)) == 3


@pytest.fixture(scope="module")
def files(figure, tmp_path_factory):
    """The files of two figures, by name."""
    wanted = [figure(), figure(name="tradeoff", kind="tradeoff")]
    found = save(build(ERRORS, noise={"OutP": 0.1}), wanted, tmp_path_factory.mktemp("figures"))
    return {path.name: path for path in found}


def test_text_of_files_is_text(files):
    shown = said(files["curves.svg"].read_text("utf-8"))
    assert {"Round", "Test error (%)", "ε = 0.1", "ObjPM"} <= set(shown)
    printed = files["curves.pdf"].read_bytes()
    assert b"/FontFile2" in printed  # TrueType, and no /Type3
    assert b"/Type3" not in printed


ODD = ["ObjP, $5 or $10", r"T $\foo$", r"a\$b_c^2%", "_hidden", "<b>&amp;", "שלום 🎉", "#{x}~"]


def said(text):
    root = ET.fromstring(text)
    return ["".join(each.itertext()) for each in root.iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.filterwarnings("ignore:Glyph")
@pytest.mark.parametrize("kind", ["curves", "tradeoff", "agents"])
def test_labels_are_as_they_were_written(kind, figure):
    if kind == "agents":
        pairs = (ODD[i : i + 2] for i in range(0, len(ODD) - 1, 2))
        wanted = figure(kind="agents", metric="loss_mean")
        found = (of_agents([0, 1, 2, 3]).assign_coords(algorithm=pair) for pair in pairs)
        text = "".join(svg(each, wanted) for each in found)
        text = f"<all>{re.sub('<[?!][^>]*>', '', text)}</all>"
    else:
        results = build({label: {0.1: 0.2, 1: 0.001} for label in ODD}, dataset_note="$a$ and $b$")
        wanted = figure(kind=kind, log=True, caption="$x$")
        text = svg(results, wanted)
        assert "Data: $a$ and $b$." in " ".join(said(text))
        assert not any("mathdefault" in each for each in said(text))  # powers of ten
    shown = set(said(text))
    assert {label for label in ODD if label not in shown} <= (
        {ODD[-1]} if kind == "agents" else set()
    )


@pytest.mark.parametrize(
    ("given", "budgets", "width", "columns"),
    [
        ({}, 1, 3.5, 1),
        ({"width": "page"}, 1, 7.16, 1),
        ({}, 3, 7.16, 3),
        ({"width": "column"}, 3, 3.5, 2),
        ({"kind": "tradeoff"}, 3, 3.5, 1),
        ({"kind": "tradeoff", "width": "page"}, 3, 7.16, 1),
        ({"kind": "agents"}, 6, 7.16, 3),
    ],
)
def test_figures_are_as_wide_as_a_column_or_a_page(figure, given, budgets, width, columns):
    label = "A method with a long name"
    errors = {f"{label} {k}": dict.fromkeys(range(1, budgets + 1), 0.1) for k in range(8)}
    shown = [f"{label} 0"] if given.get("kind") == "agents" else None
    drawing = draw(build(errors), figure(algorithms=shown, **given))
    assert drawing.get_figwidth() == width
    assert panels(drawing)[0].get_gridspec().ncols == columns
    drawing.draw_without_rendering()  # lays it out
    inside = drawing.get_window_extent()
    said = [text for text in drawing.findobj(Text) if text.get_visible() and text.get_text()]
    assert all(float(text.get_fontsize()) >= 7 for text in said)
    labels = [each for panel in panels(drawing) for each in (panel.xaxis.label, panel.yaxis.label)]
    for part in [*drawing.legends, *(each for each in labels if each.get_text())]:
        extent = part.get_window_extent()
        assert extent.x0 >= inside.x0
        assert extent.x1 <= inside.x1
        assert extent.y0 >= inside.y0 - 1
        assert extent.y1 <= inside.y1


def test_the_legend_of_a_file_lies_within_it(figure):
    """Text of a file has the widths of its outlines, not those of letters that are set to pixels."""
    labels = [
        "OutP",
        "OutP (code)",
        "PVP",
        "DP-GD",
        "DP-SGD",
        "DP-FedAvg",
        "DP-SCAFFOLD",
        "Private ADMM",
        "AMP",
    ]
    noises = itertools.product(("ObjP", "ObjPM", "ObjT"), ("Laplace", "Gaussian"))
    labels += ["Centralized", *map(", ".join, noises)]
    errors = {label: {1: 0.1, 2: 0.1} for label in labels}
    text = svg(build(errors), figure(kind="tradeoff", width="page"))
    width = float(re.search(r'viewBox="0 0 ([\d.]+) ', text)[1])
    ends = {
        label: float(x) + TextPath((0, 0), label, size=7.5).get_extents().x1
        for x, label in re.findall(r' x="([\d.]+)" y="[^>]*>([^<]+)</text>', text)
        if label in labels
    }
    assert len(ends) == len(labels)
    assert max(ends.values()) <= width


def test_files_are_reproducible(results, figure, files, tmp_path):
    wanted = [figure(), figure(name="tradeoff", kind="tradeoff")]
    suffixes = ("svg", "pdf", "png", "csv")
    names = [f"{name}.{suffix}" for name in ("curves", "tradeoff") for suffix in suffixes]
    assert [*files] == names
    for again in save(results, wanted, tmp_path):
        content = again.read_bytes()
        assert content == files[again.name].read_bytes()
        assert is_whole(content) == (None if again.suffix == ".csv" else True)
    assert svg(results, wanted[0]) == files["curves.svg"].read_text("utf-8")
    assert not plt.get_fignums()


def test_places_of_panels_have_no_digits_that_a_solver_chooses(results, figure):
    """Its last digits differ from one drawing to the next, and names of clipped areas with them."""
    drawn = draw(results, figure())
    drawn.draw_without_rendering()
    places = np.array([panel.get_position().bounds for panel in drawn.axes])
    np.testing.assert_array_equal(places, places.round(6))


def test_the_table_behind_a_figure_has_what_is_drawn(results, figure, files):
    table = pd.read_csv(files["tradeoff.csv"])
    (panel,) = panels(draw(results, figure(kind="tradeoff")))
    for label, line in lines(panel).items():
        own = table[(table["line"] == label) & table["seed"].isna() & table["x"].notna()]
        if len(own):  # else it is a level without x
            np.testing.assert_array_equal(line.get_xydata(), own[["x", "y"]])


def test_a_png_is_read_by_others_in_spite_of_its_checksum(files):
    with Image.open(files["curves.png"]) as image:
        image.verify()
    with Image.open(files["curves.png"]) as image:
        assert image.width == pytest.approx(300 * WIDTHS["page"], abs=1)
        assert image.info["dpi"] == pytest.approx((300, 300), abs=0.1)


def test_a_label_that_is_too_long_for_the_legend_is_cut(figure):
    long = "a method with a very long label " * 5
    assert legend(draw(build({long: {0.1: 0.2}}), figure()))[0].endswith("…")
    alike = {long + "one": {0.1: 0.2}, long + "two": {0.1: 0.2}}
    assert legend(draw(build(alike), figure())) == list(alike)


def test_tradeoff_against_the_guaranteed_loss(results, figure):
    """What has no guarantee is not there."""
    results["epsilon_total"] = results["epsilon_composed"].where(
        results.algorithm != "OutP", np.inf
    )
    drawing = draw(results, figure(kind="tradeoff", against="epsilon_total"))
    (panel,) = panels(drawing)
    own = results.sel(algorithm="ObjP", epsilon=[0.05, 0.1, 1])
    line = lines(panel)["ObjP"]
    np.testing.assert_allclose(line.get_xdata(), own["epsilon_total"].isel(round=-1))
    np.testing.assert_allclose(
        line.get_ydata(), 100 * own["test_error"].isel(round=-1).mean("seed")
    )
    assert "OutP" not in lines(panel)
    assert panel.get_xlabel() == "Guaranteed composed privacy loss, ε"


def test_guaranteed_losses_of_whole_runs_have_ticks_at_budgets(figure):
    errors = {"ObjP": {0.5: 0.3, 8.0: 0.1}, "OutP": {0.5: 0.3, 8.0: 0.2}, "Non-private": {INF: 0.1}}
    ds = totals(build(errors, sensitivity="global"))
    (panel,) = panels(draw(ds, figure(kind="tradeoff", against="epsilon_total")))
    assert [label.get_text() for label in panel.get_xticklabels()] == ["0.5", "8"]
    np.testing.assert_allclose(lines(panel)["ObjP"].get_xdata(), [0.499, 7.984])
    assert lines(panel)["Non-private"].is_dashed()


@pytest.mark.parametrize(
    ("budget_of", "name"),
    [("iteration", "per iteration"), ("run", "of the whole run")],
)
def test_the_axis_says_what_budgets_are_for(results, figure, budget_of, name):
    results["epsilon"].attrs["budget_of"] = budget_of
    (panel,) = panels(draw(results, figure(kind="tradeoff")))
    assert panel.get_xlabel() == f"Privacy budget {name}, ε"


@pytest.mark.parametrize("axis", ["agents", "delta"])
def test_tradeoff_against_what_methods_differ_in_has_a_line_for_each_budget(figure, axis):
    values = [200, 10, 50] if axis == "agents" else [1e-3, 1e-5, 1e-4]
    ds = build({"a": {0.1: 0.3, 1: 0.2}, "b": {0.1: 0.2, 1: 0.1}, "c": {0.1: 0.25, 1: 0.15}})
    ds = ds.assign_coords({axis: ("algorithm", values)})
    drawing = draw(ds, figure(kind="tradeoff", against=axis))
    (panel,) = panels(drawing)
    assert legend(drawing) == ["ε = 0.1", "ε = 1"]
    line = lines(panel)["ε = 0.1"]
    np.testing.assert_allclose(line.get_xdata(), sorted(values))
    np.testing.assert_allclose(line.get_ydata(), [20, 25, 30])
    assert [tick.get_text() for tick in panel.get_xticklabels()] == [
        f"{value:g}".replace("e-0", "e-") for value in sorted(values)
    ]


def test_tradeoff_against_a_parameter_has_one_line_for_methods_of_a_kind(figure):
    params = {"a": {"tau": 1e-2, "also": 1}, "b": {"tau": 1e-4, "also": 2}, "c": {"other": 1}}
    ds = build({"a": {INF: 0.3}, "b": {INF: 0.2}, "c": {INF: 0.1}}, params=params)
    drawing = draw(ds, figure(kind="tradeoff", against="params.tau"))
    (panel,) = panels(drawing)
    (line,) = panel.lines
    np.testing.assert_allclose(line.get_xdata(), [1e-4, 1e-2])
    np.testing.assert_allclose(line.get_ydata(), [20, 30])
    assert panel.get_xlabel() == "tau"
    assert legend(drawing) == ["mine"]  # and not the infinite budget


def test_methods_with_fewer_seeds_than_others_are_named(results, figure):
    left = results.copy(deep=True)
    missing = {"algorithm": "ObjP", "epsilon": 0.1, "seed": left["seed"][4:]}
    left["status"].loc[missing] = Outcome.NOT_RUN
    left["test_error"].loc[missing] = np.nan
    assert statistics.fewer_seeds(results) == []
    assert statistics.fewer_seeds(left) == [("ObjP", 0.1, 4)]
    assert (
        words().spread(tables.spread(left))
        == "[20–80 percentile] over 10 seeds (ObjP at ε = 0.1: 4)"
    )
    assert "Fewer seeds: ObjP, ε = 0.1 (4)." in texts(draw(left, figure()))
    assert "Fewer seeds" not in texts(draw(results, figure()))
    assert "Fewer seeds" not in texts(draw(left, figure(algorithms=["OutP"])))
    left.attrs["interim_analyses"] = "[4, 10]"  # then fewer seeds are no exception
    assert words().spread(tables.spread(left)) == "[20–80 percentile] over 4 to 10 seeds"
    shown = texts(draw(left, figure()))
    assert "4 seeds or more, where inconclusive (interim analyses at 4 to 10)." in " ".join(
        shown.split()
    )


def test_rounds_have_ticks_at_round_numbers(results, figure):
    last = int(results["round"].max())
    long = results.assign_coords(round=results["round"] * 20_000 // last)
    drawing = draw(long, figure())
    drawing.canvas.draw()
    (panel, *_) = panels(drawing)
    # The outer two are beyond the axis.
    _, *shown, _ = [label.get_text() for label in panel.get_xticklabels()]
    assert shown == ["0", "5k", "10k", "15k", "20k"]


def test_curves_against_the_numbers_sent(results, figure):
    (panel, *_) = panels(draw(results, figure(against="floats_sent")))
    np.testing.assert_allclose(
        lines(panel)["ObjP"].get_xdata(), 7840 * results["round"].values.astype(float)
    )
    assert panel.get_xlabel() == "Numbers sent"


def of_agents(outer):
    """Results of two methods with losses of agents, and the outer iterations at four rounds."""
    ds = build({"a": {INF: 0.3}, "b": {INF: 0.2}}, seeds=2)
    for number, name in enumerate(("mean", "min", "max")):
        ds[f"loss_{name}"] = ds["test_error"] * (number + 1)
        ds[f"loss_{name}"].attrs["long_name"] = f"{name} loss"
    return ds.assign(outer_iterations=ds["test_error"] * 0 + np.array(outer))


def test_agents_have_a_panel_for_each_method_and_a_band_from_lowest_to_highest(figure):
    ds = of_agents([0, 0, 1, 3])
    wanted = figure(
        kind="agents", metric="loss_mean", beside=["test_error"], against="outer_iterations"
    )
    drawing = draw(ds, wanted)
    first, second = panels(drawing)
    assert [first.get_title(), second.get_title()] == ["a", "b"]
    assert legend(drawing) == ["mean loss", "test error"]
    assert first.get_xlabel() == "Outer iterations"
    # The last round of each outer iteration stands for it; the mean over seeds.
    values = ds["test_error"].sel(algorithm="a", epsilon=INF).mean("seed").values[1:]
    line = lines(first)["mean loss"]
    np.testing.assert_allclose(line.get_xdata(), [0, 1, 3])
    np.testing.assert_allclose(line.get_ydata(), values)
    (band,) = first.collections  # test_error has no agents
    heights = band.get_paths()[0].vertices[:, 1]
    assert heights.min() == pytest.approx(2 * values.min())
    assert heights.max() == pytest.approx(3 * values.max())
    assert "lowest agent to the highest" in texts(drawing)


def test_agents_of_one_seed_and_of_several_budgets(figure):
    ds = build({"a": {0.1: 0.3, INF: 0.2}}, seeds=1)
    drawing = draw(ds, figure(kind="agents", epsilon=[0.1, INF]))
    assert [panel.get_title() for panel in panels(drawing)] == ["a, ε = 0.1", "a, no budget"]
    assert "One seed." in texts(drawing)


@pytest.mark.parametrize(
    ("given", "path", "message"),
    [
        ({"kind": "curve"}, "kind", "unknown kind 'curve'; did you mean 'curves'"),
        ({"kind": None}, "kind", "unknown kind 'None'"),
        ({"kind": ...}, "kind", "is missing; one of agents, curves, sensitivity, theorem"),
        ({"statistic": "best"}, "", "unknown key 'statistic' (there are against, alg"),
        ({"against": "agents"}, "against", "'outer_iterations'"),
        ({"kind": "agents", "beside": ["test_eror"]}, "beside", "did you mean 'test_error'"),
        ({"kind": "tradeoff", "agains": 1}, "", "did you mean 'against'"),
        ({"kind": "tradeoff", "against": "agent"}, "against", "did you mean 'agents'"),
        ({"kind": "tradeoff", "against": "params.2"}, "against", "unknown axis 'params.2'"),
        ({"epsilon": [0]}, "epsilon.0", "greater than 0"),
    ],
)
def test_keys_that_a_kind_does_not_have_are_refused(given, path, message):
    keys = {"name": "a", "kind": "curves", **given}
    stated = {key: value for key, value in keys.items() if value is not ...}
    with pytest.raises(ConfigError) as caught:
        check_experiment({**SMALL, "figures": [stated]})
    _, *faults = str(caught.value).splitlines()
    assert len(faults) == 1
    assert faults[0].startswith(f"  figures.0{path and '.'}{path}: ")
    assert message in faults[0]


@pytest.fixture
def spread(tmp_path):
    """Path of the kind that the documentation has as an example."""
    page = (ROOT / "docs/figures.md").read_text("utf-8")
    (code,) = re.findall(r"```python\n(\"\"\"Spread.*?)```", page, re.DOTALL)
    path = tmp_path / "spread.py"
    path.write_text(code, "utf-8")
    return str(path)


def test_the_example_of_the_documentation_is_a_kind(results, spread, tmp_path):
    """A new kind is one class in one file: configuration, files and report know it."""
    wanted = {"name": "spread", "kind": spread, "epsilon": [0.1, 1], "size": 5}
    experiment = check_experiment({**SMALL, "epsilon": [0.1, 1], "figures": [wanted]})
    (figure,) = experiment.figures
    assert Experiment.model_validate_json(experiment.model_dump_json()) == experiment
    drawing = draw(results, figure)
    assert [panel.get_title() for panel in panels(drawing)] == ["ε = 0.1", "ε = 1"]
    first, _ = panels(drawing)
    dots = np.concatenate([each.get_offsets() for each in first.collections])
    assert first.viewLim.count_contains(dots) == len(dots)
    assert len(dots) == 30  # three methods, ten seeds
    final = 100 * results["test_error"].sel(epsilon=0.1).isel(round=-1)
    wanted_heights = np.sort(final.values[np.isfinite(final.values)])
    np.testing.assert_allclose(np.sort(dots[:, 1]), wanted_heights)
    assert first.get_ylabel() == "Test error (%)"
    assert legend(drawing) == ["OutP", "ObjP", "ObjPM"]
    assert "Each of 10 seeds" in texts(drawing)
    assert not plt.get_fignums()
    saved = save(results, [figure], tmp_path)
    assert [path.name for path in saved] == [
        f"spread.{suffix}" for suffix in ("svg", "pdf", "png", "csv")
    ]
    assert saved[0].read_text("utf-8") == svg(results, figure)
    with pytest.raises(ConfigError, match=r"figures\.0: unknown key 'sise'; did you mean 'size'"):
        check_experiment({**SMALL, "figures": [{**wanted, "epsilon": 0.1, "sise": 5}]})


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("x = 1", "expected one subclass of admmbench.figures.base.Figure, found []"),
        ("1 / 0", 'spread.py", line 1, in <module>: ZeroDivisionError: division by zero'),
        (
            "from admmbench.figures import Figure\nclass A(Figure):\n    pass",
            "spread.py: A does not define plot",
        ),
    ],
)
def test_a_file_without_a_kind_is_refused(spread, code, message):
    Path(spread).write_text(code)
    with pytest.raises(ConfigError) as caught:
        check_experiment({**SMALL, "figures": [{"name": "a", "kind": spread}]})
    assert "figures.0.kind: " in str(caught.value)
    assert message in str(caught.value)


def test_figures_are_drawn_anew_when_their_kind_means_something_else(spread, tmp_path):
    text = Path(spread).read_text("utf-8")

    def found(folder, text):
        path = tmp_path / folder / "spread.py"
        path.parent.mkdir()
        path.write_text(text, "utf-8")
        figure = Figure.model_validate({"name": "a", "kind": str(path)})
        return fingerprint.of_figures([type(figure).__module__])

    first = found("first", text)
    assert found("comment", f"{text}# a comment\n") == first
    assert found("other", text.replace("0.6", "0.7")) != first


def test_what_a_kind_of_a_user_raises_is_one_line(results, spread):
    broken = (
        Path(spread)
        .read_text("utf-8")
        .replace("        import seaborn", "        1 / 0\n        import seaborn")
    )
    Path(spread).write_text(broken, "utf-8")
    (figure,) = check_experiment({**SMALL, "figures": [{"name": "a", "kind": spread}]}).figures
    with pytest.raises(ValueError, match=r"spread\.py.*, in plot: ZeroDivisionError"):
        draw(results, figure)


def test_editors_know_the_keys_of_every_kind(spread):
    figures = config.schemas()["experiment.schema.json"]
    checker = jsonschema.Draft202012Validator(json.loads(figures)["$defs"]["Figure"])
    assert checker.is_valid({"name": "a", "kind": "curves", "against": "round"})
    assert checker.is_valid({"name": "a", "kind": "plugins/spread.py", "size": 3})
    assert not checker.is_valid({"name": "a", "kind": "curves", "statistic": "best"})
    assert not checker.is_valid({"name": "a", "kind": "curve"})


def test_the_configuration_does_not_import_what_draws():
    """Planning reads it for every job; drawing packages take seconds."""
    code = (
        "import sys, admmbench.study.config; "
        "print([n for n in ('matplotlib', 'seaborn', 'scipy.stats', 'xarray') if n in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_the_sensitivity_has_a_row_for_each_method_those_that_lose_most_first(figure):
    ds = build(ERRORS)
    assert draw(ds, figure(kind="sensitivity")).axes[0].texts[0].get_text() == "no results"
    lost = np.full((ds.sizes["algorithm"], ds.sizes["epsilon"]), np.nan)
    first, second = map(str, ds["algorithm"].values[:2])
    lost[0, :2], lost[1, :2] = [0.01, 0.02], [-0.01, 0.05]
    ds = ds.assign_coords(error_growth=(("algorithm", "epsilon"), lost))
    (panel,) = panels(draw(ds, figure(kind="sensitivity")))
    assert [tick.get_text() for tick in panel.get_yticklabels()] == [second, first]
    marks = {line.get_label(): line.get_xdata() for line in panel.lines[1:]}
    budgets = [wording.budget(float(each)) for each in ds["epsilon"].values[:2]]
    np.testing.assert_allclose(marks[budgets[0]], [-1, 1])
    np.testing.assert_allclose(marks[budgets[1]], [5, 2])
    lost[0, 0] = np.inf
    ds = ds.assign_coords(error_growth=(("algorithm", "epsilon"), lost))
    (panel,) = panels(draw(ds, figure(kind="sensitivity")))
    (edge,) = (line for line in panel.lines if line.get_marker() == ">" and len(line.get_xdata()))
    assert [*edge.get_xdata()] == [1]
    assert [*edge.get_ydata()] == [0]  # a method that diverges is the first
