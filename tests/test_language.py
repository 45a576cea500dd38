"""The check of the pages' language finds what it is for, and nothing else."""

import pytest

from tests import language

LONG = " ".join(["word"] * 31) + "."
RULES = {"phrases": {"kept results?": "reference results"}, "exempt": ["old.md"]}


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (LONG, 1),
        (LONG.replace("word word", "word. Word", 1), 0),
        (f"Two short words.\nA {LONG} Another {LONG}\n", 2),
        (f"- {LONG}\n- {LONG}\n", 0),
        (f"| {LONG} |\n", 0),
        (f"```text\n{LONG}\n```\n", 0),
        (f"`{LONG}` and ${LONG}$ by A. B. Author, *{LONG}*, see [a page]({LONG}).", 0),
        ("By H. B. McMahan, " * 16 + "in a journal.", 1),
        ("We compare kept\nresults and a kept result.", 2),
        ("- A kept result.", 1),
        ("| kept results |\n\nWe kept the results, as `kept results` says.", 0),
    ],
)
def test_long_sentences_and_phrases_are_found(text, count):
    assert len(list(language.faults(text, RULES["phrases"]))) == count


def test_a_page_is_exempt_only_while_it_has_faults():
    assert language.check(RULES, {"new.md": "Short.", "old.md": LONG}) == []
    (fault,) = language.check(RULES, {"old.md": "Short."})
    assert "old.md: has no fault left" in fault
    (fault,) = language.check(RULES, {"new.md": LONG})
    assert fault.startswith("new.md: a sentence has 31 words")
