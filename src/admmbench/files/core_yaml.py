"""YAML as version 1.2 defines it (core schema): the one reader of files, of options and of words on the command line.

``010`` is ten, ``1e-3`` a number, ``1:30`` and ``yes`` are text. Of what YAML 1.1 has beside, merge keys (``<<``) are
read. What would be lost silently is refused: a key that is there twice, a second document, a number that a computer has
none for, another encoding than UTF-8.
"""

from __future__ import annotations

import contextlib
import json
import re
import unicodedata
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import yaml

# Levels of nesting, and values when those that aliases repeat are counted each time.
_DEEPEST, _LARGEST = 100, 1_000_000
_STANDARD = "tag:yaml.org,2002:"
_MERGE = "<<"
_UNPRINTABLE = yaml.reader.Reader.NON_PRINTABLE


def _float(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise OverflowError
    return number


def _int(text: str) -> int:
    number = int(text)
    float(number)  # what no float can be would fail later, far from its line
    return number


# Plain text of each type; whatever is none of these is text.
_SCALARS: list[tuple[str, re.Pattern[str], Callable[[str], Any]]] = [
    ("null", re.compile(r"^(?:~|null|Null|NULL|)$"), lambda text: None),
    ("bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), lambda text: text[0] in "tT"),
    ("int", re.compile(r"^[-+]?[0-9]+$"), _int),
    ("int", re.compile(r"^0o[0-7]+$|^0x[0-9a-fA-F]+$"), lambda text: _int(str(int(text, 0)))),
    (
        "float",
        re.compile(r"^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$"),
        _float,
    ),
    (
        "float",
        re.compile(r"^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$"),
        lambda text: float(text.replace(".", "")),
    ),
]


class ReadError(ValueError):
    """What is read is no YAML, or not as it should be; the message names the file and the line."""


def read_yaml(path: Path) -> Any:
    """Read a YAML file.

    Raises
    ------
    ReadError
        If it is no YAML, or is not in UTF-8.
    OSError
        If it cannot be read.
    """
    content = path.read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ReadError(
            f"{path}: cannot be read: line {line} is not in UTF-8 (byte 0x{content[error.start]:02x}); save it so"
        ) from None
    return _Reader(text, lambda line: f"{path}: cannot be read: line {line}").document()


def parse_yaml(text: str, key: str) -> Any:
    """Read a value in YAML that was given for a key or an option.

    Raises
    ------
    ReadError
        If it is no YAML.
    """
    return _Reader(text, lambda line: f"{key}: {_shortened(text)!r}").document()


def parse_words(words: Iterable[str]) -> dict[str, Any]:
    """Read values in YAML by key, from words ``KEY=VALUE``.

    Raises
    ------
    ReadError
        If a word is none, a value is no YAML or a key appears twice.
    """
    values: dict[str, Any] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise ReadError(f"{word!r}: expected KEY=VALUE")
        if key in values:
            raise ReadError(f"{key}: is given twice")
        values[key] = parse_yaml(value, key)
    return values


class _Dumper(yaml.SafeDumper):
    """Quotes text that `parse_yaml` would take for something else."""

    yaml_implicit_resolvers = {
        None: [(_STANDARD + kind, pattern) for kind, pattern, _ in _SCALARS]
        + [(_STANDARD + "merge", re.compile(f"^{_MERGE}$"))]
    }


def dump_yaml(content: Any, **options: Any) -> str:
    """Write a document that `parse_yaml` reads; options are those of ``yaml.dump``."""
    return yaml.dump(content, Dumper=_Dumper, allow_unicode=True, **options)


def inline_yaml(value: Any) -> str:
    """Write text that `parse_yaml` makes the same value of: itself where it can be, else JSON."""
    if isinstance(value, str):
        with contextlib.suppress(ReadError):
            if parse_yaml(value, "") == value:
                return value
    return json.dumps(value, ensure_ascii=False)


class _Reader:
    """Makes values of the events of libyaml's parser, or of PyYAML's own where it was built without."""

    def __init__(self, text: str, place: Callable[[int], str]) -> None:
        if bad := _UNPRINTABLE.search(text):
            line = text.count("\n", 0, bad.start()) + 1
            raise ReadError(f"{place(line)} has the character {ord(bad[0]):#06x}, as no YAML may")
        self._place = place
        self._events = yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        self._anchors: dict[str, tuple[Any, int] | None] = {}
        self._count = 0

    def document(self) -> Any:
        """Make the value of the only document."""
        try:
            next(self._events)  # of the stream
            start = next(self._events)
            if isinstance(start, yaml.StreamEndEvent):
                return None
            value = self._value(next(self._events), 0)
            next(self._events)  # the end of the document
            end = next(self._events)
            if not isinstance(end, yaml.StreamEndEvent):
                raise self._fault(end, "has a second document; there may be one only")
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line = mark.line + 1 if mark else 1
            raise ReadError(f"{self._place(line)} is no YAML: {error.problem}") from None
        return value

    def _fault(self, event: Any, text: str) -> ReadError:
        return ReadError(f"{self._place(_line(event))} {text}")

    def _value(self, event: Any, depth: int) -> Any:
        self._count += 1
        if depth > _DEEPEST:
            raise self._fault(event, f"is nested deeper than {_DEEPEST} levels")
        if isinstance(event, yaml.AliasEvent):
            return self._repeated(event)
        before = self._count
        if event.anchor:
            self._anchors[event.anchor] = None
        if isinstance(event, yaml.ScalarEvent):
            value = self._scalar(event)
        elif isinstance(event, yaml.SequenceStartEvent):
            self._refuse_tag(event, "seq")
            value = self._sequence(depth)
        else:
            self._refuse_tag(event, "map")
            value = self._mapping(depth)
        if event.anchor:
            self._anchors[event.anchor] = value, self._count - before
        return value

    def _repeated(self, event: Any) -> Any:
        if event.anchor not in self._anchors:
            raise self._fault(event, f"has *{event.anchor}, but no anchor &{event.anchor} before")
        known = self._anchors[event.anchor]
        if known is None:
            raise self._fault(event, f"has *{event.anchor} within what it stands for")
        value, size = known
        self._count += size
        if self._count > _LARGEST:
            raise self._fault(event, f"has aliases for more than {_LARGEST:,} values")
        return value

    def _sequence(self, depth: int) -> list[Any]:
        values = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            values.append(self._value(event, depth + 1))
        return values

    def _mapping(self, depth: int) -> dict[Any, Any]:
        values: dict[Any, Any] = {}
        merged: dict[Any, Any] = {}
        lines: dict[Any, int] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            key = self._key(event, depth + 1)
            seen = unicodedata.normalize("NFC", key) if isinstance(key, str) else key
            if seen in lines:
                raise self._fault(
                    event,
                    f"has the key {key!r} a second time, after line {lines[seen]}; remove one",
                )
            lines[seen] = _line(event)
            value = self._value(next(self._events), depth + 1)
            if key == _MERGE and isinstance(event, yaml.ScalarEvent) and not event.style:
                merged = self._merged(event, value)
            else:
                values[key] = value
        return {**merged, **values}

    def _key(self, event: Any, depth: int) -> str | int | float:
        key = self._value(event, depth)
        if isinstance(key, bool) or not isinstance(key, str | int | float):
            what = "a list or a mapping" if isinstance(key, list | dict) else repr(key)
            raise self._fault(event, f"has {what} as a key; keys are text or numbers")
        return key

    def _merged(self, event: Any, value: Any) -> dict[Any, Any]:
        """Return what a merge key adds: the first of several mappings wins."""
        mappings = value if isinstance(value, list) else [value]
        merged: dict[Any, Any] = {}
        for mapping in reversed(mappings):
            if not isinstance(mapping, dict):
                raise self._fault(event, f"has {_MERGE} without a mapping, or a list of mappings")
            merged.update(mapping)
        return merged

    def _scalar(self, event: Any) -> Any:
        plain, quoted = event.implicit
        tag = event.tag
        if bad := _UNPRINTABLE.search(event.value):  # neither may a page or a figure
            raise self._fault(event, f"has the character {ord(bad[0]):#06x}, which is not printed")
        if tag == "!" or (quoted and tag is None) or tag == _STANDARD + "str":
            return event.value
        if not plain and not str(tag).startswith(_STANDARD):
            raise self._unread(event)
        for kind, pattern, read in _SCALARS:
            if (plain or tag == _STANDARD + kind) and pattern.fullmatch(event.value):
                try:
                    return read(event.value)
                except (OverflowError, ValueError):  # also of too many digits for Python
                    raise self._fault(
                        event, f"has {_shortened(event.value)}, which is too large"
                    ) from None
        if not plain:
            raise self._unread(event)
        return event.value

    def _refuse_tag(self, event: Any, kind: str) -> None:
        if event.tag not in (None, "!", _STANDARD + kind):
            raise self._unread(event)

    def _unread(self, event: Any) -> ReadError:
        tag = str(event.tag).replace(_STANDARD, "!!")
        return self._fault(
            event, f"has the tag {tag}, which does not suit it, or has no meaning here"
        )


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


def _shortened(text: str) -> str:
    return text if len(text) < 40 else f"{text[:20]}... ({len(text)} characters)"
