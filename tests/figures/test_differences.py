"""Differences of the methods of a setting from the best one or the control, as rows and as a drawing."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex

from admmbench.audit.findings import Audit, Finding, Kind, fact
from admmbench.figures import Figure, attacks, differences, drawing, look
from admmbench.figures.base import FORMATS
from admmbench.report import explore, picture
from admmbench.results import who_wins
from admmbench.spec.run import RunSpec
from admmbench.study import config
from admmbench.study.runs import Run
from tests.made import build, totals
from tests.report.test_explore import unpack

ROOT = Path(__file__).parents[2]
ERRORS = {"ObjP": {0.5: 0.13}, "ObjT": {0.5: 0.135}, "OutP": {0.5: 0.6}}


def compared(errors=ERRORS, **given):
    """The first setting of a study."""
    comparison = who_wins.compare([totals(build(errors, sensitivity="global", **given))])
    return comparison.isel(setting=0)


def drawn(setting):
    """Drawing of a setting, laid out, and what it shows."""
    found = differences.differences(setting)
    labels = setting["algorithm"].values
    looks = look.of_lines(map(str, labels))
    figure = differences.draw([found], looks)
    FigureCanvasAgg(figure).draw()
    return figure, found, looks


def test_rows_are_differences_from_the_best_in_points_with_their_simultaneous_intervals():
    setting = compared(margin=0.01)
    found = differences.differences(setting)
    assert (found.base, found.unit, found.margin) == ("ObjP", "points", 1.0)
    assert found.rows["line"].tolist() == ["ObjP", "ObjT", "OutP"]
    np.testing.assert_allclose(found.rows["difference"], [0, 0.5, 47], atol=1e-9)
    pairs = setting.sel(rival="ObjP", algorithm=found.rows["label"].values)
    for end in ("lower", "upper"):
        np.testing.assert_allclose(found.rows[end], 100 * pairs[f"difference_{end}"])
    assert found.rows["mark"].tolist()[-1] == "worse"


def test_a_control_is_what_others_differ_from_also_where_it_is_not_the_best():
    found = differences.differences(compared(control="ObjT"))
    assert found.base == "ObjT"
    np.testing.assert_allclose(found.rows["difference"], [-0.5, 0, 46.5], atol=1e-9)
    lost = compared(control="ObjT", diverged={("ObjT", 0.5): 3})
    assert differences.differences(lost).base == "ObjP"


def test_methods_that_lost_runs_have_a_row_without_a_mark():
    setting = compared(diverged={("ObjT", 0.5): 3})
    figure, found, _ = drawn(setting)
    assert found.rows["line"].tolist()[-1] == "ObjT"
    assert math.isnan(found.rows["difference"].iloc[-1])
    (panel,) = figure.axes
    assert [text.get_text() for text in panel.texts] == ["failed or diverged"]
    everything = compared(diverged={(label, 0.5): 3 for label in ERRORS})
    assert differences.differences(everything) is None


def test_two_names_of_one_method_have_one_row_and_outdated_ones_a_mark():
    results = totals(build(ERRORS, sensitivity="global"))
    for name in ("test_error", "train_loss"):
        results[name].loc[{"algorithm": "ObjT"}] = results[name].sel(algorithm="OutP")
    results.attrs["outdated"] = '{"labels": ["ObjP"], "because": "had other noise"}'
    figure, found, _ = drawn(who_wins.compare([results]).isel(setting=0))
    assert found.rows["line"].tolist() == ["ObjP", "ObjT = OutP"]
    (panel,) = figure.axes
    assert [text.get_text() for text in panel.get_yticklabels()] == ["ObjP †", "ObjT = OutP"]


def test_marks_say_how_methods_stand():
    """Of the look of the method: hollow where nothing is decided, small where it is behind."""
    figure, found, looks = drawn(compared())
    points = [line for line in figure.axes[0].lines if len(line.get_xdata()) == 1]
    sizes = [point.get_markersize() for point in points]
    for point, row in zip(points, found.rows.itertuples(), strict=True):
        assert to_hex(point.get_color()) == looks[row.label].color
        assert point.get_marker() == looks[row.label].marker
        hollow = to_hex(point.get_markerfacecolor()) == "#ffffff"
        assert hollow == (row.mark == "undecided")
    assert min(sizes[:2]) > sizes[2]


ALIKE = {f"ObjP {number}": {0.5: 0.1 + 1e-17 * number} for number in range(12)}


@pytest.mark.parametrize(
    ("errors", "given"),
    [
        (ERRORS, {"margin": 0.0025}),
        (ERRORS, {"margin": 0.2, "control": "OutP"}),
        ({"ObjP": {0.5: 0.13}, "ObjT": {0.5: 0.15}}, {"margin": 0.02}),
        (ERRORS, {"seeds": 1}),
        (ERRORS, {"diverged": {("ObjT", 0.5): 3}}),
        (ALIKE, {"spread": 1e-17}),
        ({f"ObjP {number}": {0.5: 0.2 + 0.01 * number} for number in range(40)}, {}),
        ({"ObjP": {0.5: 0.1}, f"OutP {'W' * 99}": {0.5: 0.9}, "OutP+ $x$ _ ^": {0.5: 0.8}}, {}),
        ({"ObjP": {0.5: 0.1}, f"OutP {'with a long name ' * 9}": {0.5: 0.9}}, {"margin": 0.01}),
    ],
)
def test_nothing_is_cut_off_and_no_labels_overlap(errors, given):
    figure, found, _ = drawn(compared(errors, **given))
    (panel,) = figure.axes
    low, high = panel.get_xlim()
    ends = found.rows[["difference", "lower", "upper"]].to_numpy()
    assert low < np.nanmin(ends) <= np.nanmax(ends) < high
    assert low < -found.margin < found.margin < high or not found.margin
    texts = [*panel.get_xticklabels(), *panel.get_yticklabels(), *figure.texts]
    boxes = [text.get_window_extent() for text in texts if text.get_text()]
    whole = figure.bbox
    for number, box in enumerate(boxes):
        assert whole.x0 <= box.x0 < box.x1 <= whole.x1
        assert whole.y0 <= box.y0 < box.y1 <= whole.y1
        # Rows are so near that boxes of letters touch.
        assert not any(box.shrunk(0.9, 0.8).overlaps(other) for other in boxes[number + 1 :])
    shown = [text.get_text() for text in panel.get_xticklabels()]
    assert len({*shown}) == len(shown) > 1


@pytest.mark.parametrize("budgets", [(0.5, 1.0), (0.5, 1.0, 2.0)])
def test_settings_of_an_experiment_are_one_drawing_with_one_table(tmp_path, budgets):
    errors = {label: dict.fromkeys(budgets, 0.1 + 0.1 * k) for k, label in enumerate(ERRORS)}
    comparison = who_wins.compare([totals(build(errors, name="x", sensitivity="global"))])
    looks = look.of_lines(ERRORS)
    pictures = ["differences", "attacks"]
    links = picture.save("x", comparison, [], looks, pictures, tmp_path)
    assert links == {"differences": {suffix: f"differences/x.{suffix}" for suffix in FORMATS}}
    table = pd.read_csv(tmp_path / links["differences"]["csv"])
    for setting, (epsilon, rows) in zip(
        picture._settings(comparison, "x").values(), table.groupby("epsilon"), strict=True
    ):
        assert epsilon == setting.epsilon
        for name in ("difference", "lower", "upper"):
            np.testing.assert_allclose(rows[name], setting.rows[name])
    svg = (tmp_path / links["differences"]["svg"]).read_text()
    assert [svg.count(f">ε = {epsilon:g}<") for epsilon in budgets] == [1] * len(budgets)
    assert svg.count(">Difference from ObjP in points<") == len(budgets)
    # The workflow waits for these files.
    assert "Nothing to draw" in (tmp_path / "attacks/x.svg").read_text()


def test_the_margin_is_a_band():
    figure, _, _ = drawn(compared(margin=0.01))
    (band,) = figure.axes[0].patches
    assert (band.get_x(), band.get_width()) == (-1, 2)
    assert not drawn(compared())[0].axes[0].patches


def strokes(text, width):
    """Colours of the lines of this width in an SVG, each with its number of dashes and gaps, in their order."""
    found = re.findall(rf'style="fill: none; ([^"]*)stroke-width: {width}\b', text)
    for style in found:
        dashes = re.search(r"stroke-dasharray: ([^;]*)", style)
        yield (
            re.search("stroke: (#[0-9a-f]{6})", style)[1],
            len(dashes[1].split(",")) if dashes else 0,
        )


def test_figures_the_opening_picture_and_the_explorer_have_the_looks_of_the_study():
    """For every label of the study of all methods."""
    study = config.read([ROOT / "config/equal_privacy.yaml"], ROOT / "config/config.yaml")
    drawn = set[str]()
    for name, experiment in study.experiments.items():
        kin = config._drawing_facts(experiment)
        words = {label.split()[0]: "objp" for label in kin}
        errors = {label: {1.0: 0.2 + 0.01 * k, 2.0: 0.1} for k, label in enumerate(kin)}
        results = totals(build(errors, name=name, sensitivity="global", methods=words))
        for field, values in zip(look.Traits._fields, zip(*kin.values(), strict=True), strict=True):
            results = results.assign_coords({field: ("algorithm", [*values])})
        own = {label: study.looks[label] for label in kin}
        stored = json.loads(study.definition(name, config.FIGURES))["looks"]
        assert {label: look.Look.of_json(each) for label, each in stored.items()} == own
        shown = {each["label"]: each for each in unpack(explore.pack(results, own))["methods"]}
        assert {label: look.Look.of_json(each) for label, each in shown.items()} == own
        comparison = who_wins.compare([results])
        found = differences.differences(comparison.isel(setting=0))
        assert {*found.rows["label"]} == {*kin}
        text = str(picture.draw_settings(comparison, {name: own}, name)[0])
        lines = found.rows["label"][found.rows["lower"].notna()]
        assert [color for color, _ in strokes(text, 1.1)] == [own[each].color for each in lines]
        given = {"name": "a", "kind": "tradeoff", "algorithms": [*kin]}
        lines = strokes(drawing.svg(results, Figure.model_validate(given), own), 1.3)
        looks = [(own[label].color, len(own[label].dashes)) for label in kin]
        assert [*dict.fromkeys(lines)] == [*dict.fromkeys(looks)]  # in their order
        drawn |= {*kin}
    assert len(drawn) == 20


def test_attacks_are_drawn_over_the_curve():
    """A cross for each attack with rates, red where something is wrong."""
    given = {"level": "lower bound", "canary": "worst", "value": 1, "bound": 2}
    given["fact"] = fact(Kind.SAME)
    rates = (0.5, 0.7), (0.1, 0.3)
    findings = (
        Finding(**given, passed=True, rates=rates),
        Finding(**given, passed=False, rates=rates),
        Finding(**given, passed=False),
    )
    audit = Audit(findings=findings, curve=((0, 0), (0.2, 0.4), (1, 1)))
    crosses = [attacks.Attack("lower bound, worst", *rates, sound) for sound in (True, False)]
    shown = attacks.Attacks("ObjP, ε = 2", audit.curve, crosses)
    panel, other = attacks.draw([shown, shown._replace(title="OutP, ε = 2")]).axes
    assert [each.get_title() for each in (panel, other)] == ["ObjP, ε = 2", "OutP, ε = 2"]
    _, curve, *crosses = (line.get_xydata().tolist() for line in panel.lines)
    assert curve == [[0, 0], [0.2, 0.4], [1, 1]]
    cross = [[0.1, 0.6], [0.3, 0.6]], [[0.2, 0.5], [0.2, 0.7]]
    np.testing.assert_allclose(crosses, [*cross, *cross])
    assert [line.get_color() for line in panel.lines[2::2]] == [attacks._SOUND, attacks._WRONG]
    run = Run("ObjP", RunSpec(dataset="digits", algorithm="objp", epsilon=2))
    (text,) = picture.draw_audits([(run, audit)], "a0")
    assert 'aria-label="Hits of attacks against their false alarms: ObjP, ε = 2"' in text
    assert text.count(attacks._SOUND) == text.count(attacks._WRONG) == 2  # lines of a cross
    assert not picture.draw_audits([(run, audit.model_copy(update={"curve": ()}))], "a0")
    table = attacks.table(picture._attacks([(run, audit)]))
    assert table.loc[table["line"] == "curve", ["x", "y"]].values.tolist() == curve
    ends = table.loc[
        table["line"] == "lower bound, worst", ["lower", "upper", "x_lower", "x_upper"]
    ]
    assert ends.values.tolist() == 2 * [[0.5, 0.7, 0.1, 0.3]]
