"""Blocks of code in the documentation, and what a page says of them."""

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"Save (?:it|this) as\s+`([\w/]+\.\w+)`")


class Block(NamedTuple):
    """A block of code."""

    language: str
    text: str
    file: str | None
    """What it is to be saved as; None for one that is to be run."""


def blocks(path: Path) -> list[Block]:
    """Blocks of a page, in their order."""
    page = path.read_text()
    return [
        Block(found[1], found[2], _file_name(page, found.start()))
        for found in _BLOCK.finditer(page)
    ]


def _file_name(page: str, start: int) -> str | None:
    """The last name before a block, if nothing but its sentence's end or an aside stands between."""
    *_, last = [None, *_FILE.finditer(page, 0, start)]
    if last is None or "```" in page[last.end() : start]:
        return None
    follows = page[last.end() : start].strip(" ,:\n.")
    return last[1] if not follows or follows.startswith(";") else None


def save(block: Block, folder: Path) -> None:
    """Write a block to its file."""
    assert block.file
    path = folder / block.file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(block.text)
