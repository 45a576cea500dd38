"""Pages of findings, made from their templates, the reference results and totals.yaml: ``make findings``.

Templates have sentences with quantities; what a sentence says of an order stands in ``{% holds %}`` before it. Lines of
a paragraph may be broken anywhere.
"""

from __future__ import annotations

import decimal
import re
import sys
import textwrap
import traceback
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension
from jinja2.parser import Parser

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

import quantities  # noqa: E402

from admmbench.figures.wording import about, rounded_up  # noqa: E402

WIDTH = 120
_COUNTS = (
    "no one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty"
)
_ORDINALS = "lowest second third fourth fifth sixth seventh eighth ninth"


class NotShownError(Exception):
    """Sentences say what the results do not show."""


class Holds(Extension):
    """The block ``{% holds condition %} sentences {% endholds %}``: sentences that a condition must bear out."""

    tags = {"holds"}

    def parse(self, parser: Parser) -> nodes.Node:
        """Parse the block."""
        line = next(parser.stream).lineno
        condition = parser.parse_expression()
        body = parser.parse_statements(("name:endholds",), drop_needle=True)
        place = nodes.Const(f"{parser.name}:{line}")
        call = self.call_method("_sentences", [place, condition], lineno=line)
        return nodes.CallBlock(call, [], [], body, lineno=line)

    def _sentences(self, place: str, condition: object, caller: Callable[[], str]) -> str:
        sentences = caller()
        if not condition:
            self.environment.not_shown.append(f"{place}: «{' '.join(sentences.split())}»")
        return sentences


def fixed(value: Any, digits: int = 0) -> str:
    """Write a number with some decimals, halves rounded up; several as a list."""
    if not hasattr(value, "__iter__"):
        with decimal.localcontext(rounding=decimal.ROUND_HALF_UP):
            text = f"{decimal.Decimal(f'{float(value):.12g}'):,.{digits}f}"
        return text.replace("-", "\N{MINUS SIGN}")
    return listed([fixed(each, digits) for each in value])


def listed(values: Iterable[Any]) -> str:
    """Write a list as it stands in sentences."""
    *first, last = map(str, values)
    return f"{', '.join(first)} and {last}" if first else last


def span(values: Iterable[float], digits: int = 0) -> str:
    """Write the lowest and the highest of values, or the only one."""
    values = list(values)
    ends = dict.fromkeys(fixed(end(values), digits) for end in (min, max))
    return " to ".join(ends)


def word(count: float) -> str:
    """Write a small count."""
    return dict(enumerate(_COUNTS.split())).get(round(count), str(round(count)))


def short(number: float) -> str:
    """Write a number with the digits that it has."""
    return f"{float(number):g}".replace("e-0", "e-")


def significant(number: float) -> str:
    """Write a number with three digits, or four decimals where it is small."""
    if number < 0.01:
        return short(round(number, 4))
    whole = len(str(int(number))) if number >= 1 else 0 if number >= 0.1 else -1
    return f"{number:.{max(0, 3 - whole)}f}"


def or_zero(number: float) -> str:
    """Write a number with four decimals, or 0."""
    return fixed(number, 4) if number else "0"


def bold(text: str, condition: object = True) -> str:
    """Write a text in bold letters where a condition holds."""
    return f"**{text}**" if condition else text


def called(label: str) -> str:
    """Return the name of a method on pages."""
    return {"OutP": "OutP (DP-ADMM)", "OutP (code)": "OutP, the authors' code"}.get(label, label)


def up(number: float) -> str:
    """Write a number of privacy with four digits, rounded up."""
    return "not available" if number == quantities.INF else rounded_up(number)


def regret(number: float) -> str:
    """Write a regret with two digits."""
    return "–" if number != number else f"{number:.2g}".replace("e-0", "e-")


def error(study: str, label: str, epsilon: float, is_bold: object = False) -> str:
    """Write the error of a method in a table, with a mark if it is outdated."""
    text = fixed(quantities.points(study, label, epsilon), 1)
    return bold(text, is_bold) + quantities.mark(study, label)


def paragraphs(text: str) -> Iterator[tuple[bool, str]]:
    """Split a page: paragraphs and items of lists as one line each, and all other lines; say which are prose."""
    pieces = re.split(r"^(```.*?^```)$", text, flags=re.MULTILINE | re.DOTALL)
    for number, piece in enumerate(pieces):
        if number % 2:
            yield False, piece
            continue
        prose: list[str] = []
        for line in [*map(str.strip, piece.strip("\n").splitlines()), ""]:
            apart = not line or line.startswith(("|", "#", "!["))
            if prose and (apart or line.startswith("- ")):
                yield True, " ".join(prose)
                prose = []
            if apart:
                yield False, line
            else:
                prose.append(line)


def marked(text: str, studies: Iterable[str]) -> str:
    """Mark paragraphs and items that name a method whose results are outdated."""
    labels = {label for study in studies for label in quantities.outdated(study)}
    names = sorted({re.split(r", | \(", label)[0] for label in labels})
    named = re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})\b" if names else r"(?!)")
    lines = []
    for is_prose, line in paragraphs(text):
        if is_prose and named.search(line):
            line = re.sub(r"^(- )?", rf"\g<0>{quantities.MARK} ", line)
        lines.append(line)
    return "\n".join(lines)


def wrap(text: str) -> str:
    """Break lines of paragraphs, but not within formulas and not in front of numbers of budgets."""
    lines = []
    for is_prose, line in paragraphs(text):
        if is_prose:
            bound = re.sub(
                r"\$[^$]+\$|ε = [\d.]+",
                lambda found: found[0].replace(" ", "\N{NO-BREAK SPACE}"),
                line,
            )
            indent = "  " * line.startswith("- ")
            broken = textwrap.wrap(
                bound,
                WIDTH,
                subsequent_indent=indent,
                break_long_words=False,
                break_on_hyphens=False,
            )
            line = "\n".join(broken).replace("\N{NO-BREAK SPACE}", " ")
        lines.append(line)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n") + "\n"


def environment(folder: Path = HERE) -> jinja2.Environment:
    """Return the environment of templates: all quantities and filters."""
    found = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        extensions=[Holds],
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
    )
    filters = (
        fixed,
        listed,
        span,
        word,
        about,
        short,
        significant,
        or_zero,
        bold,
        called,
        marked,
        up,
        regret,
        rounded_up,
    )
    found.filters |= {each.__name__: each for each in filters}
    found.globals |= {name: each for name, each in vars(quantities).items() if name[0] != "_"}
    found.globals |= {
        each.__name__: each for each in (set, tuple, all, any, max, min, len, abs, sorted)
    }
    found.globals |= {"error": error, "ordinals": _ORDINALS.split()}
    found.not_shown = []
    return found


def render(name: str, folder: Path = HERE, part: str = "") -> str:
    """Return a page, or a part of one, from its template.

    Raises
    ------
    NotShownError
        If the results do not show what sentences say, or do not have what they name.
    """
    templates = environment(folder)
    template = templates.get_template(name)
    try:
        text = template.render(part=part)
    except (jinja2.UndefinedError, LookupError, ValueError) as error:
        places = traceback.extract_tb(error.__traceback__)
        place = [each for each in places if each.filename.endswith(".jinja")][-1]
        fault = f"{Path(place.filename).name}:{place.lineno}: {error}: {place.line}"
        raise NotShownError(fault) from error
    if templates.not_shown:
        raise NotShownError("\n".join(["the results do not show:", *templates.not_shown]))
    return wrap(text)


def findings() -> str:
    """Return docs/findings.md."""
    return render("findings.md.jinja")


def totals() -> str:
    """Return docs/privacy/overview.md."""
    return render("totals.md.jinja")


def readme(page: str) -> str:
    """Return README.md with its results, which stand between comments that name parts of the template."""

    def generated(found: re.Match[str]) -> str:
        return f"{found[1]}\n{render('readme.md.jinja', part=found[2])}{found[3]}"

    return re.sub(
        r"^(<!-- results: (\w+) -->)\n.*?^(<!-- end of results -->)$",
        generated,
        page,
        flags=re.MULTILINE | re.DOTALL,
    )


if __name__ == "__main__":
    home = ROOT / "README.md"
    (ROOT / "docs/findings.md").write_text(findings(), "utf-8")
    (ROOT / "docs/privacy/overview.md").write_text(totals(), "utf-8")
    home.write_text(readme(home.read_text("utf-8")), "utf-8")
