"""A browser, and what a reader does in it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from admmbench.claims.judge import Verdict
from admmbench.report import rendering
from tests.browser import CHROMIUM, Browser, Tab

needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium (Debian: chromium)")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    found = Browser(tmp_path_factory.mktemp("profile"))
    yield found
    found.close()


@pytest.fixture
def tab(browser: Browser, tmp_path: Path) -> Iterator[Tab]:
    """Open the page in a fresh tab; afterwards it has neither complained nor asked for anything else."""
    with browser.tab(tmp_path) as opened:
        yield opened
        assert opened.complaints() == []
        own = ("file:", "blob:", "data:")
        assert all(address.startswith(own) for address in opened.requests())
        assert len({a.split("#")[0] for a in opened.requests() if a.startswith("file:")}) == 1


def written(path: Path, *parts: Any) -> Path:
    """Write a page of what `rendering.render` takes."""
    path.write_text(rendering.render(*parts), encoding="utf-8")
    return path


def moved(verdict: Verdict, experiment: str, **claim: str) -> Verdict:
    """Return a verdict on another claim, whose only evidence is from another experiment."""
    (piece,) = verdict.claim.evidence
    evidence = [piece.model_copy(update={"experiment": experiment})]
    return replace(verdict, claim=verdict.claim.model_copy(update={"evidence": evidence, **claim}))


def press(tab: Tab, name: str, within: str = ".explore") -> None:
    """Press a button below a figure or a table."""
    buttons = f"[...document.querySelectorAll({json.dumps(within + ' .tools button')})]"
    tab.run(f"{buttons}.find(each => each.textContent === {json.dumps(name)}).click()")


def table(tab: Tab, name: str) -> list[dict[str, str]]:
    """Rows of a CSV file that the page saved."""
    return list(csv.DictReader(io.StringIO(tab.downloaded(name))))
