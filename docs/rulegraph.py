"""Draw the rules of the workflow, as `snakemake --rulegraph` knows them, see `make rulegraph`.

Partitions, runs, audits and figures have a rule for each method or experiment, which stand as one here.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
DRAWN = ROOT / "docs/figures/rulegraph.svg"
STUDY = (
    "--configfile",
    "config/equal_privacy.yaml",
    "--config",
    'experiments=["equal_privacy_adult"]',
)
_LOOK = "rankdir=BT bgcolor=transparent nodesep=0.3 ranksep=0.3"
_NODES = 'shape=box style=rounded fontname="sans-serif" fontsize=12 color="#777788" fontcolor="#777788" height=0.3'


def rules() -> tuple[set[str], set[tuple[str, str]]]:
    """Return the rules of the drawn study, and which of them waits for which."""
    command = [sys.executable, "-m", "snakemake", "--rulegraph", *STUDY]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    kinds = {
        number: re.sub("^(partition|run|time|audit|figures)_.*", r"\1", name)
        for number, name in re.findall(r'(\d+)\[label = "(\w+)"', shown)
    }
    waits = {
        (kinds[after], kinds[before]) for before, after in re.findall(r"(\d+) -> (\d+)", shown)
    }
    return {*kinds.values()}, waits


def drawn() -> tuple[set[str], set[tuple[str, str]]]:
    """Return the same of the drawing."""
    titles = re.findall("<title>(.+)</title>", DRAWN.read_text("utf-8"))[1:]
    arrows = [title.split("&#45;&gt;") for title in titles if "&gt;" in title]
    names = {title for title in titles if "&gt;" not in title}
    return names, {(after, before) for before, after in arrows}


def main() -> None:
    """Write the drawing."""
    names, waits = rules()
    lines = [f'"{before}" -> "{after}"' for after, before in sorted(waits)]
    text = (
        f'digraph rules {{ graph [{_LOOK}] node [{_NODES}] edge [color="#777788" arrowsize=0.6]\n'
    )
    text += "\n".join([*(f'"{name}"' for name in sorted(names)), *lines, "}"])
    done = subprocess.run(["dot", "-Tsvg"], input=text, capture_output=True, text=True, check=True)
    DRAWN.write_text(done.stdout, "utf-8")


if __name__ == "__main__":
    main()
