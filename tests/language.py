"""Language of the pages: ``python -m tests.language`` names long sentences, and phrases that readers do not know."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
LONGEST = 30
# Code, equations, tables, headings, pictures and comments have no sentences.
_APART = re.compile(
    r"^ *```.*?^ *```$|^\$\$.*?\$\$$|<!--.*?-->|^(?:\||#|!\[|\(\S+\)=).*?$",
    re.MULTILINE | re.DOTALL,
)
_ITEM = re.compile(r" *(?:[-*]|\d+\.) ")
# Code, an equation, or the title of a paper within a sentence counts as one word.
_ONE_WORD = re.compile(r"`[^`]+`|\$[^$]+\$|(?<![*\w])\*[^*\s][^*]*\*(?!\*)|https?://\S+")
_INITIAL = re.compile(r"[A-Z]\.,?")
# Not behind initials and abbreviations.
_END = re.compile(r"(?<=[.?!])(?<!\b[A-Z]\.)(?<!\bet al\.)(?<!\b[ei]\.[ge]\.)[)*\"]*\s+")


def pages() -> list[Path]:
    """Return README, CONTRIBUTING and the pages that are not generated."""
    docs = sorted((ROOT / "docs").rglob("*.md"))
    made = {"_build", "generated", "jupyter_execute", "changelog.md"}
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md"] + [
        path for path in docs if not made & {*path.parts}
    ]


def paragraphs(text: str) -> Iterator[tuple[bool, str]]:
    """Split the prose of a page into paragraphs and items of lists; say which are items."""
    text = re.sub(r"\]\([^)]*\)", "]", _APART.sub("\n", text))
    for block in re.split(r"\n\s*\n", _ONE_WORD.sub("word", text)):
        for piece in re.split(rf"\n(?={_ITEM.pattern})", block.strip("\n")):
            if piece.strip():
                yield bool(_ITEM.match(piece)), " ".join(piece.split())


def faults(text: str, phrases: dict[str, str]) -> Iterator[str]:
    """Name the long sentences of a page outside of lists, and its phrases with what to write instead."""
    for is_item, paragraph in paragraphs(text):
        for sentence in [] if is_item else _END.split(paragraph):
            words = [
                word for word in re.findall(r"\S*\w\S*", sentence) if not _INITIAL.fullmatch(word)
            ]
            if len(words) > LONGEST:
                yield f"a sentence has {len(words)} words, at most {LONGEST}: {sentence}"
        for phrase, instead in phrases.items():
            for found in re.finditer(rf"\b(?:{phrase})\b", paragraph, re.IGNORECASE):
                yield f"write '{instead}' for '{found[0]}': {paragraph}"


def check(rules: dict[str, dict[str, str] | list[str]], texts: dict[str, str]) -> list[str]:
    """Return the faults of pages, by name; one that is exempt without need is a fault too."""
    found = []
    for name, text in texts.items():
        own = list(faults(text, rules["phrases"]))
        if name not in rules["exempt"]:
            found += [f"{name}: {each}" for each in own]
        elif not own:
            found.append(f"{name}: has no fault left; remove it from exempt in tests/language.yaml")
    return found


def main() -> int:
    """Print the faults of all pages; return 1 if there are any."""
    rules = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
    texts = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in pages()}
    found = check(rules, texts)
    sys.stdout.writelines(f"{fault}\n" for fault in found)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
