"""Text files with a record in each line: a wrong line is named with its file."""

import io
from collections.abc import Callable
from typing import TypeVar

from admmbench.datasets._fetch import DatasetError

__all__ = ["parse_lines"]

T = TypeVar("T")
# Letters of a wrong line in a message.
_SHOWN = 200


def parse_lines(
    content: bytes, source: str, expected: str, parse: Callable[[str], T], first: int = 1
) -> list[T]:
    """Parse each line that is not empty.

    Parameters
    ----------
    content
        Of the file, ASCII text.
    source
        File that an error names.
    expected
        What a line has, in words.
    parse
        Called with each line; raises a `ValueError` for a wrong one.
    first
        Number of the first line.

    Returns
    -------
    list
        What `parse` returns, in the order of the lines.

    Raises
    ------
    DatasetError
        If a line is wrong; the message has its number and content.
    """
    found = []
    for number, line in enumerate(io.BytesIO(content), start=first):
        try:
            text = line.decode("ascii").strip("\r\n")
            if text.strip():
                found.append(parse(text))
        except ValueError:
            got = line.decode("ascii", "replace").strip("\r\n")[:_SHOWN]
            raise DatasetError(
                f"{source}, line {number}: expected {expected}, got {got!r}"
            ) from None
    return found
