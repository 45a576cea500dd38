"""YAML as version 1.2 defines it (core schema): the one reader of files, of options and of words on the command line.

``010`` is ten, ``1e-3`` a number, ``1:30`` and ``yes`` are text. Of YAML 1.1, merge keys (``<<``) are read too. Content
that would be lost silently is refused: a key that is there twice, a second document, a number too large for a float,
another encoding than UTF-8. A reader by ruamel.yaml would keep most of this module: limits of nesting and of aliases,
keys, numbers and messages are its own.
"""

from __future__ import annotations

import contextlib
import functools
import json
import math
import re
import unicodedata
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NoReturn

import yaml

from admmbench.validation import shortened

# Levels of nesting, and values when those that aliases repeat are counted each time.
_DEEPEST, _LARGEST = 100, 1_000_000
_STANDARD = "tag:yaml.org,2002:"
_STR, _MERGE = _STANDARD + "str", _STANDARD + "merge"
_UNPRINTABLE = yaml.reader.Reader.NON_PRINTABLE


def _int(text: str) -> int:
    """Read a whole number; OverflowError if it is too large."""
    number = int(text, 0 if text[:2] in ("0o", "0x") else 10)
    float(number)  # a number too large for a float would fail later, far from its line
    return number


def _float(text: str) -> float:
    """Read a number; OverflowError if it is too large."""
    if text[-1] in "fFnN":  # .inf and .nan
        return float(text.replace(".", ""))
    if math.isinf(number := float(text)):
        raise OverflowError
    return number


# Pattern of the plain text of each type, and its reader; other plain text is text.
_SCALARS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "null": ("~|null|Null|NULL|", lambda text: None),
    "bool": ("true|True|TRUE|false|False|FALSE", lambda text: text[0] in "tT"),
    "int": ("[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", _int),
    "float": (
        r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
        r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        _float,
    ),
}
_RESOLVERS = {
    None: [
        *((_STANDARD + kind, re.compile(rf"(?:{text})\Z")) for kind, (text, _) in _SCALARS.items()),
        (_MERGE, re.compile(r"<<\Z")),
    ]
}


class ReadError(ValueError):
    """Error in text that is no YAML, or not as it should be; the message names the file and the line."""


def read_yaml(path: Path) -> Any:
    """Read a YAML file; ReadError if it cannot be read, is no YAML, or is not in UTF-8."""
    try:
        content = path.read_bytes()
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise ReadError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ReadError(
            f"{path}: cannot be read: line {line} is not in UTF-8 (byte 0x{content[error.start]:02x}); save it so"
        ) from None
    return _read(text, lambda line: f"{path}: cannot be read: line {line}")


def parse_yaml(text: str, key: str) -> Any:
    """Read a value in YAML that was given for a key or an option; ReadError if it is no YAML."""
    return _read(text, lambda line: f"{key}: {shortened(text)!r}")


def parse_words(words: Iterable[str]) -> dict[str, Any]:
    """Read values in YAML by key, from words ``KEY=VALUE``; ReadError if a word is none or a key appears twice."""
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
    """Writer of YAML that quotes text that `parse_yaml` would read as another type."""

    yaml_implicit_resolvers = _RESOLVERS


def dump_yaml(content: Any, **options: Any) -> str:
    """Write a document that `parse_yaml` reads; options are those of ``yaml.dump``."""
    return yaml.dump(content, Dumper=_Dumper, allow_unicode=True, **options)


def inline_yaml(value: Any) -> str:
    """Return text that `parse_yaml` reads as a value: the value itself if it is such text, else JSON."""
    if isinstance(value, str) and _is_plain(value):
        return value
    return json.dumps(value, ensure_ascii=False)


@functools.cache
def _is_plain(text: str) -> bool:
    """Return whether YAML reads text as itself; cached, as a large study states the same words thousands of times."""
    with contextlib.suppress(ReadError):
        return bool(parse_yaml(text, "") == text)
    return False


def _read(text: str, place: Callable[[int], str]) -> Any:
    """Return the value of the only document; an error begins with the place of its line."""
    if bad := _UNPRINTABLE.search(text):
        line = text.count("\n", 0, bad.start()) + 1
        raise ReadError(f"{place(line)} has the character {ord(bad[0]):#06x}, as no YAML may")
    try:
        return _Loader(text).get_single_data()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = "" if isinstance(error, _Fault) else "is no YAML: "
        reason = ", ".join(filter(None, (error.context, error.problem)))
        raise ReadError(f"{place(mark.line + 1 if mark else 1)} {what}{reason}") from None


class _Fault(yaml.constructor.ConstructorError):
    """Fault of YAML that is well formed, at a node."""

    def __init__(self, node: Any, text: str) -> None:
        super().__init__(None, None, text, node.start_mark)


class _Loader(yaml.composer.Composer, yaml.CSafeLoader):
    """PyYAML's safe loader with the core schema; libyaml parses, Python composes: libyaml's stack could overflow."""

    yaml_implicit_resolvers = _RESOLVERS

    def __init__(self, text: str) -> None:
        yaml.CSafeLoader.__init__(self, text)
        yaml.composer.Composer.__init__(self)
        self._depth = self._count = 0
        self._sizes: dict[Any, int] = {}

    def compose_node(self, parent: yaml.Node | None, index: Any) -> Any:
        """Compose the next node, unless it is too deep or too large."""
        before, self._depth = self._count, self._depth + 1
        if self._depth > _DEEPEST + 1:
            raise _Fault(self.peek_event(), f"is nested deeper than {_DEEPEST} levels")
        node = super().compose_node(parent, index)
        self._depth -= 1
        self._count = before + self._sizes.setdefault(node, self._count - before + 1)
        if self._count > _LARGEST:
            raise _Fault(node, f"has aliases for more than {_LARGEST:,} values")
        return node

    def scalar(self, node: yaml.ScalarNode) -> Any:
        """Return the value of a scalar."""
        text = self.construct_scalar(node)
        if bad := _UNPRINTABLE.search(text):  # neither may a page or a figure have it
            raise _Fault(node, f"has the character {ord(bad[0]):#06x}, which is not printed")
        if node.tag in (_STR, _MERGE):
            return text
        pattern, read = _SCALARS[node.tag.removeprefix(_STANDARD)]
        if not re.fullmatch(pattern, text):
            self.unknown(node)
        try:
            return read(text)
        except (OverflowError, ValueError):  # also of too many digits for Python
            raise _Fault(node, f"has {shortened(text)}, which is too large") from None

    def sequence(self, node: yaml.SequenceNode) -> list[Any]:
        """Return the list of a sequence."""
        return self.construct_sequence(node, deep=True)

    def mapping(self, node: yaml.MappingNode) -> dict[Any, Any]:
        """Return a mapping; a key that is there twice is refused."""
        lines: dict[Any, int] = {}
        for key_node, value_node in node.value if isinstance(node, yaml.MappingNode) else ():
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, bool) or not isinstance(key, str | int | float):
                what = "a list or a mapping" if isinstance(key, list | dict) else repr(key)
                raise _Fault(key_node, f"has {what} as a key; keys are text or numbers")
            composed = unicodedata.normalize("NFC", key) if isinstance(key, str) else key
            if composed in lines:
                line = lines[composed]
                text = f"has the key {key!r} a second time, after line {line}; remove one"
                raise _Fault(key_node, text)
            lines[composed] = key_node.start_mark.line + 1
            if key_node.tag == _MERGE:
                self.construct_object(value_node, deep=True)  # its keys are checked too
        return self.construct_mapping(node, deep=True)

    def unknown(self, node: yaml.Node) -> NoReturn:
        """Refuse a tag."""
        tag = node.tag.replace(_STANDARD, "!!")
        raise _Fault(node, f"has the tag {tag}, which does not suit it, or has no meaning here")

    yaml_constructors = {
        **dict.fromkeys((_STR, _MERGE, *(_STANDARD + kind for kind in _SCALARS)), scalar),
        _STANDARD + "seq": sequence,
        _STANDARD + "map": mapping,
        None: unknown,
    }
