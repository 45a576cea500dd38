"""Draw the pictures of the pipeline, of a round and of a total ε into docs/figures, see `make pictures`."""

import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "docs/figures"
STUDY = (
    "--configfile",
    "config/equal_privacy.yaml",
    "--config",
    'experiments=["equal_privacy_adult"]',
)
_TEXT, _LINE = "#222233", "#8888a0"
_PLAIN, _BLUE, _ORANGE, _GREEN, _PURPLE = "#f4f4f8", "#d7e8f7", "#fde3cb", "#d9efdc", "#e9dff3"

# Rules of the workflow: place, what their jobs do, and the files that they write.
RULES = {
    "prepare": ((0, 1), "fetch, verify, store", "resources/datasets/"),
    "partition": ((1, 1), "who has which rows", "resources/partitions/"),
    "run": ((2, 1), "train at one budget", "results/runs/"),
    "audit": ((2, 0), "attack a method", "results/*/audits/"),
    "define": ((2, 2), "list runs and figures", "results/*/*.json"),
    "aggregate": ((3, 1), "join the runs", "results/*/results.nc"),
    "figures": ((3, 2), "draw", "results/*/figures/"),
    "report": ((4, 1), "judge and explain", "results/report/*/"),
    "overview": ((4, 0), "link all reports", "results/report/"),
    "everything": ((4, 2), "wait for all files", ""),
}
# Which rule waits for which, with the bend of the arrow.
WAITS = {
    ("prepare", "partition"): 0,
    ("prepare", "run"): -0.35,
    ("prepare", "audit"): 0,
    ("partition", "run"): 0,
    ("partition", "report"): 0.24,
    ("run", "aggregate"): 0,
    ("define", "aggregate"): 0,
    ("define", "figures"): 0,
    ("define", "report"): 0,
    ("aggregate", "figures"): 0,
    ("aggregate", "report"): 0,
    ("aggregate", "everything"): 0,
    ("audit", "report"): 0,
    ("figures", "report"): 0,
    ("figures", "everything"): 0,
    ("report", "overview"): 0,
    ("report", "everything"): 0,
    ("overview", "everything"): 0.8,
}


def rules() -> tuple[set[str], set[tuple[str, str]]]:
    """Return the rules of a study as Snakemake knows them, and which one waits for which.

    Partitions, runs, audits and figures have a rule for each method or experiment, which count as one here.
    """
    command = [sys.executable, "-m", "snakemake", "--rulegraph", *STUDY]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    kinds = {
        number: re.sub("^(partition|run|time|audit|figures)_.*", r"\1", name)
        for number, name in re.findall(r'(\d+)\[label = "(\w+)"', shown)
    }
    waits = {
        (kinds[before], kinds[after]) for before, after in re.findall(r"(\d+) -> (\d+)", shown)
    }
    return {*kinds.values()}, waits


def _canvas(width: float, height: float) -> Axes:
    axes = Figure((width, height)).add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(0, height))
    axes.set_axis_off()
    return axes


def _box(
    axes: Axes, corner: tuple[float, float], size: tuple[float, float], fill: str, edge: str = _LINE
) -> FancyBboxPatch:
    box = FancyBboxPatch(
        corner, *size, "round,pad=0,rounding_size=0.08", facecolor=fill, edgecolor=edge
    )
    return axes.add_patch(box)


def _lines(
    axes: Axes, x: float, y: float, lines: Iterable[str], size: float = 8.5, **style
) -> None:
    """Write lines below each other; the first is bold."""
    for number, line in enumerate(lines):
        weight = "bold" if number == 0 else "normal"
        axes.text(
            x, y - number * size * 0.0195, line, size=size, weight=weight, color=_TEXT, **style
        )


def _arrow(axes: Axes, start, end, bend: float = 0, **style) -> None:
    axes.add_patch(
        FancyArrowPatch(
            start,
            end,
            connectionstyle=f"arc3,rad={bend}",
            arrowstyle="-|>",
            mutation_scale=10,
            color=_LINE,
            **style,
        )
    )


def pipeline() -> Figure:
    """Draw rules of the workflow with their files; an arrow leads to the rule that waits."""
    axes = _canvas(8.75, 3.4)
    boxes = {}
    for name, ((column, row), does, file) in RULES.items():
        x, y = 0.1 + 1.68 * column, 0.1 + 1.24 * row
        fill = (_BLUE, _BLUE, _GREEN, _ORANGE, _ORANGE)[column]
        boxes[name] = _box(axes, (x, y), (1.48, 0.72), fill)
        _lines(axes, x + 0.74, y + 0.53, (name, does), size=9, ha="center")
        style = {"size": 7.5, "family": "monospace", "color": _TEXT, "ha": "center"}
        axes.text(x + 0.74, y + 0.1, file, **style)
    for (before, after), bend in WAITS.items():
        ends = [
            (box.get_x() + box.get_width() / 2, box.get_y() + box.get_height() / 2)
            for box in (boxes[before], boxes[after])
        ]
        style = {"patchA": boxes[before], "patchB": boxes[after], "gid": f"{before}->{after}"}
        _arrow(axes, *ends, bend, **style)
    return axes.figure


# Steps of an agent in a round, and the noise that families of methods add to each.
STEPS = (
    (
        ("1  gradient", r"$\nabla f_p(z_p)$ of its records"),
        (
            "noise on the gradient",
            "ObjP, ObjPM, ObjT, ICEADMM",
            "Fed-PLT: in each inner step",
            "also DP-SGD, DP-SCAFFOLD",
        ),
        _ORANGE,
    ),
    (
        ("2  subproblem", r"$f_p(z) - \langle\lambda_p, z\rangle + \frac{\rho}{2}\,\|w - z\|^2$"),
        (
            "noise in the objective",
            "DVP: on its linear term",
            "also AMP: once, here and",
            "on the solution",
        ),
        _PURPLE,
    ),
    (
        ("3  local model", r"the solution $z_p$"),
        ("noise on the solution", "OutP, DP-ADMM, PVP", "Private ADMM: relaxed", "NbAFL: clipped"),
        _GREEN,
    ),
    (
        ("4  dual step", r"$\lambda_p + \rho\,(w - z_p)$"),
        (
            "noise on the change",
            "DP-FedADMM: of model and",
            "dual variable, clipped",
            "also DP-FedAvg: of the model",
        ),
        _BLUE,
    ),
)


def round_of_admm() -> Figure:
    """Draw a round of consensus ADMM, with the place of the noise for each family of methods."""
    axes = _canvas(8.6, 3.95)
    _box(axes, (0.1, 3.25), (8.4, 0.6), _PLAIN)
    mean = r"global model $w$: mean of what the agents send, such as $z_p - \lambda_p / \rho$"
    _lines(axes, 4.3, 3.6, ("Server", mean), ha="center")
    _box(axes, (0.1, 0.1), (8.4, 2.75), "white")
    _lines(axes, 0.25, 2.64, (r"Agent p",))
    for number, (step, noise, fill) in enumerate(STEPS):
        x = 1.18 + 2.08 * number
        _box(axes, (x - 0.97, 1.87), (1.94, 0.66), _PLAIN)
        _lines(axes, x, 2.32, step, ha="center")
        if number:
            _arrow(axes, (x - 1.11, 2.2), (x - 0.97, 2.2))
        _box(axes, (x - 0.97, 0.45), (1.94, 0.95), fill)
        _lines(axes, x, 1.19, noise, ha="center")
        _arrow(axes, (x, 1.4), (x, 1.87))
    _arrow(axes, (1.18, 3.25), (1.18, 2.53))
    axes.text(1.28, 3.01, "$w$", size=8.5, color=_TEXT, va="center")
    _arrow(axes, (7.42, 2.53), (7.42, 3.25))
    axes.text(7.32, 3.01, "message", size=8.5, color=_TEXT, ha="right", va="center")
    note = "A method adds noise in one of these places. Its message reads the records only through that step."
    axes.text(4.3, 0.22, note, size=8.5, color=_TEXT, ha="center")
    return axes.figure


COVERED = (
    """Always
one run with one seed:
every message of every round

protects one record of one
agent, with its label, from all
who see every message""",
    """If you ask for it
covers: trials of the search
unit: an agent with all records

trust: another adversary,
who sees only sums""",
    """Never
the choice among methods
further runs and seeds
test errors and other statistics
the choice of a best round or seed
public statistics of the data
durations and failures""",
)


def total() -> Figure:
    """Draw what a total ε covers by default, on request, and never."""
    axes = _canvas(8.1, 2.05)
    for x, width, fill in ((0.1, 7.9, "white"), (0.2, 5.1, _BLUE), (0.3, 2.5, _GREEN)):
        _box(axes, (x, x), (width, 2.05 - 2 * x), fill)
    for x, lines in zip((0.42, 2.95, 5.45), COVERED, strict=True):
        _lines(axes, x, 1.53, lines.splitlines())
    return axes.figure


PICTURES = {"pipeline": pipeline, "round": round_of_admm, "total": total}


def main(folder: Path = FIGURES) -> None:
    """Write the pictures."""
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "admmbench"}):
        for name, draw in PICTURES.items():
            draw().savefig(folder / f"{name}.svg", metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    main()
