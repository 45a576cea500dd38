"""Checks of what users write. The messages of refusals are worded here and nowhere else."""

from __future__ import annotations

import functools
import math
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar, dataclass_transform, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    TypeAdapter,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)
from pydantic.dataclasses import dataclass
from pydantic.fields import FieldInfo
from pydantic_core import InitErrorDetails, PydanticCustomError

# YAML's infinity, and how people write it; and numbers that YAML 1.1 leaves as text, for those who read with it.
_INFINITE = (".inf", "inf", "infty", "infinity")
_LEFT_AS_TEXT = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)[eE][-+]?[0-9]+")
_MOST = 1e100
# Bytes of a file's name; what Snakemake and a file that is being written add comes to 255.
_LONGEST = 200
# Neither a file of results nor a figure can have these.
_IN_NO_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]")
_IN_NO_NAME = re.compile(r"^[-.~\s]|[{}/\\\x00-\x1f\x7f]|\s$|^$")

# How pydantic calls a type among those that a value may have, between the keys of a path.
_TYPE = re.compile(r"str|int|float|bool|none|.*[\[-].*|[A-Z].*")
# Characters of a value that a message shows.
_SHOWN = 80
# Share of letters from which on one name is taken for a slip of another; `hinge` has 0.56 of `squared_hinge`.
_ALIKE = 0.5

T = TypeVar("T")
Keys = tuple[str | int, ...]
"""Path of a key, below what is checked."""


@dataclass_transform(frozen_default=True, field_specifiers=(Field,))
def parameters(cls: type[T]) -> type[T]:
    """Make a class a frozen dataclass whose fields are checked.

    Parameters come from YAML: unknown names and values out of range are refused when the object is made.

    Raises
    ------
    TypeError
        If a value of the class has no annotation, so that it would be no parameter.
    """
    _refuse_unannotated(cls)
    return dataclass(frozen=True, config=ConfigDict(extra="forbid"))(cls)  # type: ignore[return-value]


def _refuse_unannotated(cls: type) -> None:
    """Refuse a value without an annotation, which a dataclass ignores, unless it is a constant of a base."""
    above = cls.__mro__[1:]
    known = {
        name for base in above for name in (*vars(base), *vars(base).get("__annotations__", {}))
    }
    known -= {field.name for base in above if is_dataclass(base) for field in fields(base)}
    known |= vars(cls).get("__annotations__", {}).keys()
    for name, value in vars(cls).items():
        if name.startswith("_") or name in known:
            continue
        if isinstance(value, int | float | str | FieldInfo):
            raise TypeError(
                f"{cls.__name__}.{name} has no annotation, so that it sets no parameter: "
                f"write `{name}: float = ...`, or `{name}: ClassVar[float] = ...` for a constant"
            )


def _number(value: Any) -> Any:
    """Read the spellings of infinity, and ``1e-6`` where it is text; refuse other text, and ``true``."""
    if isinstance(value, str) and value.lower() in _INFINITE:
        return math.inf
    if _no_number(value):
        raise ValueError(f"expected a number, got {value!r}")
    return float(value) if isinstance(value, str) else value


def _no_number(value: Any) -> bool:
    """Whether Python would make a number of what is none for a reader."""
    if isinstance(value, str):
        return value.lower() not in _INFINITE and not _LEFT_AS_TEXT.fullmatch(value)
    return isinstance(value, bool)


def _as_list(value: Any) -> Any:
    return value if isinstance(value, list | tuple) else [value]


def distinct(values: list[Any]) -> list[Any]:
    """Refuse a list in which a value appears twice."""
    if len(set(values)) < len(values):
        raise ValueError(f"each value may appear once, got {values}")
    return values


def _each_once(values: Any, handler: ValidatorFunctionWrapHandler) -> Any:
    """Refuse budgets that are one number in several spellings, such as 1 and "1": the last would win."""
    made = handler(values)
    if len(made) < len(values):
        raise ValueError(f"each budget may appear once, got {list(values)}; remove one")
    return made


def printed(text: str) -> str:
    """Refuse text that no file of results can have."""
    if bad := _IN_NO_TEXT.search(text):
        raise ValueError(
            f"{shortened(repr(text))} has the character {ord(bad[0]):#06x}, which is not printed; leave it out"
        )
    return text


def file_name(name: str, what: str) -> str:
    """Refuse a name that no file can have, or that a program takes for an option, a pattern or a hidden file."""
    if bad := _IN_NO_NAME.search(name):
        part = repr(bad[0]) if bad[0] else "nothing"
        raise ValueError(f"{what}: {name!r} has {part}, which no name of a file here may have")
    if (length := len(os.fsencode(name))) > _LONGEST:
        raise ValueError(f"{what}: a name of {length} bytes; a file's may have {_LONGEST}")
    return name


def _folder(text: str) -> str:
    """Spell a folder in one way, with ``~`` and ``$HOME`` for what they stand for."""
    path = os.path.normpath(expanded(text)) if text.strip() else "."
    if path in (".", "/", "//"):
        raise ValueError(f"{text!r} is no folder of its own; name one")
    for part in path.replace("../", "").strip("/").split("/"):
        if part != "..":
            file_name(part.removeprefix("."), "a folder")
    existing = next(place for place in (Path(path), *Path(path).parents) if place.exists())
    if not existing.is_dir():
        raise ValueError(f"{text!r}: {existing} is no folder")
    return path


def _with_square(value: float, *, other: str = "") -> float:
    """Refuse numbers whose squares are 0 or infinite in double precision."""
    if not 1 / _MOST <= value <= _MOST:
        raise ValueError(f"expected {1 / _MOST:g} to {_MOST:g}{other}, got {value:g}")
    return value


def _budget(value: float) -> float:
    """Refuse budgets whose squares are no numbers."""
    return value if value == math.inf else _with_square(value, other=", or .inf for no noise")


Number = Annotated[float, Field(allow_inf_nan=False), BeforeValidator(_number)]
Length = Annotated[Number, Field(gt=0), AfterValidator(_with_square)]
"""Of a vector, in any norm: bounds are made of squares of it."""
PerhapsInfinite = Annotated[float, BeforeValidator(_number)]
Epsilon = Annotated[PerhapsInfinite, Field(gt=0), AfterValidator(_budget)]
Epsilons = Annotated[
    list[Epsilon],
    AfterValidator(distinct),
    Field(min_length=1),
    BeforeValidator(
        _as_list, json_schema_input_type=Annotated[list[Epsilon], Field(min_length=1)] | Epsilon
    ),
]
ByBudget = Annotated[dict[float, T], WrapValidator(_each_once)]
Whole = Annotated[int, BeforeValidator(_number)]
Count = Annotated[Whole, Field(ge=1, le=10**9)]
Text = Annotated[str, AfterValidator(printed)]
"""A part of results."""
Folder = Annotated[str, AfterValidator(_folder)]


def fault(path: Keys, text: str, values: Any) -> ValidationError:
    """Say what is wrong about a key below those that are being checked."""
    error = PydanticCustomError("value_error", "{text}", {"text": text})
    details = InitErrorDetails(type=error, loc=path, input=values)
    return ValidationError.from_exception_data("", [details])


def _slips(given: Any, made: Any, path: Keys = ()) -> Iterator[tuple[Keys, str]]:
    """Find values that Python made of another type: ``true`` is no 1, ``"5"`` no 5, ``"yes"`` no ``true``."""
    if isinstance(made, bool):
        if isinstance(given, str | int | float) and not isinstance(given, bool):
            yield path, f"expected true or false, got {given!r}"
    elif isinstance(made, int | float):
        if _no_number(given) or made != made:
            yield path, f"expected a number, got {given!r}"
    elif isinstance(given, list | tuple) and isinstance(made, list | tuple):
        for place, pair in enumerate(zip(given, made, strict=False)):
            yield from _slips(*pair, (*path, place))
    elif isinstance(given, Mapping):
        parts = made if isinstance(made, Mapping) else getattr(made, "__dict__", {})
        for key in given:
            if key in parts:
                yield from _slips(given[key], parts[key], (*path, key))


class Strict(BaseModel):
    """Models of this kind are immutable, and take no key that is not declared and no value of another type."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, ser_json_inf_nan="strings", use_attribute_docstrings=True
    )

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, values: Any) -> Any:
        """Name the nearest key where pydantic would only refuse the wrong one."""
        for key in values if isinstance(values, Mapping) else ():
            if key not in cls.model_fields:
                raise ValueError(unknown("key", key, cls.model_fields))
        return values

    @model_validator(mode="wrap")
    @classmethod
    def _as_written(cls, values: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Refuse what pydantic makes fit."""
        made = handler(values)
        if isinstance(values, Mapping):
            for path, text in _slips(values, made):
                raise fault(path, text, values)
        return made


def meant(name: object, names: Iterable[str]) -> str:
    """End a message about a name that does not exist: with the nearest one that does, if one is like it.

    Letters in another order are the likeliest slip (``obpj`` means ``objp``), then what difflib finds alike.
    """
    given = str(name)

    def likeness(other: str) -> tuple[bool, float]:
        return sorted(other) == sorted(given), SequenceMatcher(None, other, given).ratio()

    near = max(names, key=likeness, default="")
    return f"; did you mean {near!r}?" if likeness(near) >= (False, _ALIKE) else ""


def suggestion(name: object, names: Collection[str]) -> str:
    """End a message about a name that does not exist: with the nearest one that does, or else all of them."""
    return meant(name, names) or (f" (there are {', '.join(sorted(names))})" if names else "")


def unknown(kind: str, name: object, names: Collection[str]) -> str:
    """Word the message about a name that does not exist."""
    return f"unknown {kind} {name!r}{suggestion(name, names)}"


def one_of(what: str, value: object, words: Any) -> None:
    """Refuse a value of a class that is none of some words, or of those of a `Literal`: nothing would act on it."""
    names = get_args(words) or tuple(words)
    if value not in names:
        raise ValueError(f"{what}: {value!r} is none of {', '.join(names)}{meant(value, names)}")


def messages(error: ValidationError, given: Any, path: str = "") -> list[str]:
    """Write a line for each key that is wrong: its path, what is wrong, and what was given.

    Parameters
    ----------
    error
        Of pydantic, whose paths also name the types that it tried.
    given
        What was checked.
    path
        Of its key.
    """
    faults: dict[str, list[str]] = {}
    for each in error.errors(include_url=False):
        if each["type"] == "default_factory_not_called":  # as what it depends on is at fault
            continue
        keys = _written(each["loc"], given)
        where = ".".join([path] * bool(path) + keys)
        text = each["msg"].removeprefix("Value error, ")
        if each["type"] in ("model_type", "dataclass_type"):
            text = "Input should be a mapping of keys to values"
        elif each["type"] == "missing":
            text = "this key is missing"
        shown = each["type"] not in ("value_error", "missing")
        text += f" (got {shortened(repr(each['input']))})" if shown else ""
        faults.setdefault(where, []).append(text)
    return [
        f"{where}: {_either(texts)}" if where else _either(texts) for where, texts in faults.items()
    ]


def _written(place: Keys, given: Any) -> list[str]:
    """Keys on a path, without the types that pydantic tried where there is no such key."""
    keys = []
    for part in place:
        within = isinstance(given, Mapping) and part in given
        scheme = given.get("scheme") if isinstance(given, Mapping) else None
        a_type = isinstance(part, str) and (part == scheme or _TYPE.fullmatch(part))
        if within or not a_type:
            keys.append(str(part))
        if within or (isinstance(given, list | tuple) and part in range(len(given))):
            given = given[part]
    return keys


def _either(texts: list[str]) -> str:
    """Of what is wrong for each of several types, what would be right."""
    start, end = "Input should be ", " (got "
    if len(texts) < 2 or not all(text.startswith(start) and end in text for text in texts):
        return "; ".join(texts)
    wanted = dict.fromkeys(text.removeprefix(start).rpartition(end)[0] for text in texts)
    return start + " or ".join(wanted) + end + texts[0].rpartition(end)[2]


def shortened(text: str) -> str:
    """Cut a long text, for a message."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({len(text):,} characters)"


@functools.cache
def adapter(kind: type[T]) -> TypeAdapter[T]:
    """Return what checks values of a type and writes them out; to make it takes longer than to use it."""
    return TypeAdapter(kind)


def checked(kind: type[T], values: Any, path: str) -> T:
    """Make an object of what a user wrote; ValueError names every key that is wrong, below ``path``."""
    try:
        return adapter(kind).validate_python(values)  # type: ignore[arg-type]
    except ValidationError as error:
        raise ValueError("; ".join(messages(error, values, path))) from None
    except ArithmeticError as error:
        where = f"{path}: " if path else ""
        raise ValueError(f"{where}a number is out of range ({error})") from error


def configured(cls: type[T], values: Mapping[str, Any], path: str, of: str) -> T:
    """Make an object of a class of `parameters`; ValueError names what is wrong.

    Parameters
    ----------
    cls
        The class.
    values
        Its parameters, by name.
    path
        Key below which a user wrote them.
    of
        What has the parameters, in words.
    """
    names = [field.name for field in fields(cls)]  # type: ignore[arg-type]
    for key in values:
        if key not in names:
            raise ValueError(f"{path}.{key}: {unknown('parameter', key, names)} ({of})")
    try:
        made = cls(**values)
    except ValidationError as error:
        raise ValueError("; ".join(messages(error, values, path))) from None
    for keys, text in (*_slips(values, made), *_infinite(made)):
        raise ValueError(f"{'.'.join([path, *map(str, keys)])}: {text}")
    return made


def _infinite(made: Any, path: Keys = ()) -> Iterator[tuple[Keys, str]]:
    """Find parameters without end, which no default is."""
    for field in fields(made):
        value = getattr(made, field.name)
        if isinstance(value, float) and math.isinf(value) and value != field.default:
            yield (*path, field.name), f"expected a finite number, got {value}"
        elif is_dataclass(value):
            yield from _infinite(value, (*path, field.name))


def expanded(path: str | os.PathLike[str]) -> Path:
    """Return a path with what ``~`` and ``$HOME`` stand for.

    Raises
    ------
    ValueError
        If there is no such user or variable.
    """
    text = os.fspath(path)
    full = os.path.expandvars(os.path.expanduser(text))
    if full.startswith("~") or "$" in full or "\0" in full:
        raise ValueError(f"{text!r}: no such user or variable is known; write the path out")
    return Path(full)
