"""Sentences of a page, bound to what gives their numbers and orders, so that no number and no order stands by hand."""

import decimal
import difflib
import re
import string
from collections.abc import Iterator

_ORDERS = (
    "lower|lowest|higher|highest|larger|largest|smaller|smallest|fewer|better|best|worse|ahead|behind|tied|faster|"
    "slower|slowest|fastest|loses|winner|supported|contradicted|undecided"
)
_COUNTS = (
    "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|sixteen|twenty|hundred|half|third|quarters|"
    "twice"
)
# Digits in names such as ryu2021, a9a and monks-1 are no numbers.
_NUMBER = r"(?<![\w.-])\d(?:[\d,]*\d)?(?:\.\d+)?(?:e-?\d+)?"
_STATED = re.compile(rf"{_NUMBER}|\b(?:{_ORDERS}|{_COUNTS})\b", re.IGNORECASE)
_SMALL = [
    "no",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
]


class Numbers(string.Formatter):
    """A formatter for numbers as pages print them: with a minus sign, and all that are given are used."""

    def format_field(self, value, format_spec):
        """Format a word, or a number, whose halves are rounded up."""
        if isinstance(value, str):
            return super().format_field(value, format_spec)
        with decimal.localcontext(rounding=decimal.ROUND_HALF_UP):
            text = super().format_field(decimal.Decimal(f"{value:.12g}"), format_spec)
        return text.replace("-", "\N{MINUS SIGN}")

    def check_unused_args(self, used_args, args, kwargs):
        """Refuse numbers that have no place."""
        assert len(used_args) == len(args), f"{len(args)} values for {len(used_args)} places"


def word(count: int) -> str:
    """Return a small count as it stands in sentences."""
    return _SMALL[count] if count < len(_SMALL) else str(count)


class Section:
    """A section of a page, and which parts of it are bound.

    Parameters
    ----------
    heading, text
        Of the section. Each paragraph, item of a list, and row of a table is a line.

    Attributes
    ----------
    faults
        What does not hold, in words.
    """

    def __init__(self, heading: str, text: str) -> None:
        self.heading = heading
        self.text = text
        self.faults: list[str] = []
        self._bound: list[range] = []

    def says(self, fragment: str, *values: object, holds: bool = True) -> None:
        """Bind a part of a sentence to values, which take its places as they are formatted there, and to an order.

        Numbers and words beside the places are those by which a reader finds the values, such as a budget.
        """
        wanted = Numbers().format(fragment, *values)
        if not holds:
            self.faults.append(f"says «{wanted}», which the results do not show")
        count = self.text.count(wanted)
        if count == 1:
            start = self.text.index(wanted)
            self._bound.append(range(start, start + len(wanted)))
        elif count:
            self.faults.append(f"has «{wanted}» {count} times: bind more of the sentence")
        else:
            self.faults.append(f"should say «{wanted}»; nearest is «{self._nearest(wanted)}»")

    def aside(self, why: str, *fragments: str) -> None:
        """List parts of sentences whose numbers are no results that are kept, and why."""
        assert why
        for fragment in fragments:
            self.says(fragment.replace("{", "{{").replace("}", "}}"))

    def unbound(self) -> Iterator[str]:
        """Name the numbers, counts and orders that no binding has."""
        for found in _STATED.finditer(self.text):
            if not any(found.start() in bound for bound in self._bound):
                before, after = self.text[: found.start()], self.text[found.end() :]
                around = before[-50:].split("\n")[-1] + f"»{found[0]}«" + after[:30].split("\n")[0]
                yield f"states what nothing binds: {around}"

    def _nearest(self, wanted: str) -> str:
        match = difflib.SequenceMatcher(
            None, self.text, wanted, autojunk=False
        ).find_longest_match()
        start = max(match.a - match.b, 0)
        return self.text[start : start + len(wanted)]


def sections(page: str) -> list[Section]:
    """Split a page at its headings; blocks of code, figures and addresses of links are left out."""
    page = re.sub(r"^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL)
    page = re.sub(r"!\[[^]]*\]\([^)]*\)", "", page)
    page = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", page)
    # Lines of a paragraph are one.
    page = re.sub(r"(?<=[^\n|])\n(?![\n#|]|- )\s*", " ", page)
    parts = re.split(r"^#+ (.*)$", page, flags=re.MULTILINE)[1:]
    return [Section(heading, text) for heading, text in zip(parts[::2], parts[1::2], strict=True)]
