"""Checks of settings that users write. The messages of refusals are worded here and nowhere else."""

from __future__ import annotations

import ast
import contextlib
import functools
import inspect
import math
import os
import re
import textwrap
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from pathlib import Path
from typing import (
    Annotated,
    Any,
    ClassVar,
    Self,
    TypeVar,
    dataclass_transform,
    get_args,
)

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    ModelWrapValidatorHandler,
    TypeAdapter,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)
from pydantic.dataclasses import dataclass
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, InitErrorDetails, PydanticCustomError

# Spellings of infinity, in YAML and by people; and numbers that readers of YAML 1.1 leave as text.
_INFINITE = (".inf", "inf", "infty", "infinity")
_LEFT_AS_TEXT = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)[eE][-+]?[0-9]+")
_MOST = 1e100
# Bytes of a file's name; with the additions of Snakemake and of a temporary file there are 255, the limit.
_LONGEST = 200
# Characters that neither a file of results nor a figure can have.
_IN_NO_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]")
_IN_NO_NAME = re.compile(r"^[-.~\s]|[{}/\\\x00-\x1f\x7f]|\s$|^$")

# Names of types that pydantic puts between the keys of a path, where a value may have one of several.
_TYPE = re.compile(r"str|int|float|bool|none|.*[\[-].*|[A-Z].*")
# Characters of a value that a message shows.
_SHOWN = 80
# Share of letters from which on one name is taken for a slip of another; `hinge` has 0.56 of `squared_hinge`.
_ALIKE = 0.5

T = TypeVar("T")
Keys = tuple[str | int, ...]
"""Path of a key, below the value that is checked."""


@dataclass_transform(frozen_default=True, field_specifiers=(Field,))
def parameters(cls: type[T]) -> type[T]:
    """Turn a class into a frozen dataclass that refuses unknown names and values out of range when it is made.

    A value of the class without an annotation, which would be no parameter, is a TypeError.
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
    if _is_no_number(value):
        raise ValueError(f"expected a number, got {value!r}")
    return float(value) if isinstance(value, str) else value


def _is_no_number(value: Any) -> bool:
    """Return whether Python would make a number of a value that is none for a reader."""
    if isinstance(value, str):
        return value.lower() not in _INFINITE and not _LEFT_AS_TEXT.fullmatch(value)
    return isinstance(value, bool)


def _as_list(value: Any) -> Any:
    """Return a value as a list, if it is none."""
    return value if isinstance(value, list | tuple) else [value]


def distinct(values: list[Any]) -> list[Any]:
    """Refuse a list in which a value appears twice."""
    if len(set(values)) < len(values):
        raise ValueError(f"each value may appear once, got {values}")
    return values


def _each_once(values: Any, handler: ValidatorFunctionWrapHandler) -> Any:
    """Refuse budgets that are one number in several spellings, such as 1 and "1": the last would win."""
    by_budget = handler(values)
    if len(by_budget) < len(values):
        raise ValueError(f"each budget may appear once, got {list(values)}; remove one")
    return by_budget


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
    """Spell a folder in one way; ``~`` and ``$HOME`` are expanded."""
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
"""Length of a vector, in any norm: bounds are computed from its square."""
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
"""Text that is a part of results."""
Folder = Annotated[str, AfterValidator(_folder)]


def fault(path: Keys, text: str, values: Any) -> ValidationError:
    """Return the error of a key below the value that is being checked."""
    error = PydanticCustomError("value_error", "{text}", {"text": text})
    details = InitErrorDetails(type=error, loc=path, input=values)
    return ValidationError.from_exception_data("", [details])


def _slips(written: Any, parsed: Any, path: Keys = ()) -> Iterator[tuple[Keys, str]]:
    """Find values that Python made of another type: ``true`` is no 1, ``"5"`` no 5, ``"yes"`` no ``true``."""
    if isinstance(parsed, bool):
        if isinstance(written, str | int | float) and not isinstance(written, bool):
            yield path, f"expected true or false, got {written!r}"
    elif isinstance(parsed, int | float):
        if _is_no_number(written) or parsed != parsed:
            yield path, f"expected a number, got {written!r}"
    elif isinstance(written, list | tuple) and isinstance(parsed, list | tuple):
        for place, pair in enumerate(zip(written, parsed, strict=False)):
            yield from _slips(*pair, (*path, place))
    elif isinstance(written, Mapping):
        parts = parsed if isinstance(parsed, Mapping) else getattr(parsed, "__dict__", {})
        for key in written:
            if key in parts:
                yield from _slips(written[key], parts[key], (*path, key))


def warn_renamed(former: str, present: str, stacklevel: int = 3) -> None:
    """Warn of a name of an earlier version, by default at the place that called the caller."""
    text = f"{former} is now called {present}; rename it"
    warnings.warn(text, FutureWarning, stacklevel=stacklevel)


def in_present_keys(values: Mapping[str, Any], former_keys: Mapping[str, str]) -> dict[str, Any]:
    """Return a mapping with present keys in place of former ones; ValueError if it has both names of a key."""
    for former, present in former_keys.items():
        if former in values and present in values:
            raise ValueError(
                f"{former}: {present}, its present name, is given too; remove {former}"
            )
    return {former_keys.get(key, key): value for key, value in values.items()}


class Strict(BaseModel):
    """Immutable model that takes no key that is not declared and no value of another type."""

    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_inf_nan="strings")

    former_keys: ClassVar[Mapping[str, str]] = {}
    """Present names of keys by their names in earlier versions, which files of these versions have."""

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, values: Any) -> Any:
        """Name the nearest key where pydantic would only refuse the wrong one."""
        if not isinstance(values, Mapping):
            return values
        values = in_present_keys(values, cls.former_keys)
        for key in values:
            if key not in cls.model_fields:
                raise ValueError(unknown("key", key, cls.model_fields))
        return values

    @model_validator(mode="wrap")
    @classmethod
    def _as_written(cls, values: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Refuse values that pydantic converts to another type."""
        model = handler(values)
        if isinstance(values, Mapping):
            for path, text in _slips(values, model):
                raise fault(path, text, values)
        return model

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Describe keys by their docstrings, which pydantic would read whenever the class is imported."""
        described = handler(schema)
        properties = handler.resolve_ref_schema(described).get("properties", {})
        for key, text in _docstrings(cls).items():
            if key in properties:
                properties[key].setdefault("description", text)
        return described


@functools.cache
def _docstrings(cls: type[Strict]) -> dict[str | int, str]:
    """Return the docstrings of attributes, those of bases included, by name."""
    texts: dict[str | int, str] = {}
    for base in reversed(cls.__mro__):
        if not issubclass(base, Strict):
            continue
        with contextlib.suppress(OSError):  # the source of a class in a console is in no file
            (tree,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
            for pair in pairwise(getattr(tree, "body", [])):
                match pair:
                    case (
                        ast.AnnAssign(target=ast.Name(id=str(name))),
                        ast.Expr(value=ast.Constant(value=str(text))),
                    ):
                        texts[name] = inspect.cleandoc(text)
    return texts


def meant(name: object, names: Iterable[str]) -> str:
    """Return the end of a message about an unknown name: the nearest known one, if one is similar.

    Letters in another order are the likeliest slip (``obpj`` means ``objp``), then names that difflib finds similar.
    """
    written = str(name)

    def likeness(other: str) -> tuple[bool, float]:
        return sorted(other) == sorted(written), SequenceMatcher(None, other, written).ratio()

    near = max(names, key=likeness, default="")
    return f"; did you mean {near!r}?" if likeness(near) >= (False, _ALIKE) else ""


def suggestion(name: object, names: Collection[str]) -> str:
    """Return the end of a message about an unknown name: the nearest known one, or else all of them."""
    return meant(name, names) or (f" (there are {', '.join(sorted(names))})" if names else "")


def unknown(kind: str, name: object, names: Collection[str]) -> str:
    """Return the message about an unknown name."""
    return f"unknown {kind} {name!r}{suggestion(name, names)}"


def one_of(what: str, value: object, words: Any) -> None:
    """Refuse a value that is none of some words, or none of a `Literal`: no code would act on it."""
    names = get_args(words) or tuple(words)
    if value not in names:
        raise ValueError(f"{what}: {value!r} is none of {', '.join(names)}{meant(value, names)}")


def messages(error: ValidationError, values: Any, path: str = "", kind: Any = None) -> list[str]:
    """Return a line for each key that is wrong: its path, its fault, the value that was written, and what the key is.

    Parameters
    ----------
    error
        Error of pydantic, whose paths also name the types that it tried.
    values, path
        Values that were checked, and the path of their key.
    kind
        Type that checked them, whose models say what their keys are.
    """
    faults: dict[str, list[str]] = {}
    ends: dict[str, str] = {}
    for details in error.errors(include_url=False):
        if details["type"] == "default_factory_not_called":  # a key that it needs is at fault
            continue
        keys = _written_keys(details["loc"], values)
        where = ".".join([path] * bool(path) + keys)
        text = details["msg"].removeprefix("Value error, ")
        if details["type"] in ("model_type", "dataclass_type"):
            text = "Input should be a mapping of keys to values"
        elif details["type"] == "missing":
            text = "this key is missing"
        shown = details["type"] not in ("value_error", "missing")
        text += f" (got {shortened(repr(details['input']))})" if shown else ""
        faults.setdefault(where, []).append(text)
        if meaning := _meaning(kind, details["loc"]):
            ends[where] = f"; meaning: {meaning}"
    return [
        f"{where}: " * bool(where) + _join_faults(texts) + ends.get(where, "")
        for where, texts in faults.items()
    ]


def _meaning(kind: Any, place: Keys) -> str:
    """Return the first words of the description of a key; empty for a key that has keys below it, which say more."""
    text = ""
    for part in place:
        for model in _models(kind):
            if part in model.model_fields:
                kind, text = (
                    model.model_fields[str(part)].annotation,
                    _docstrings(model).get(part, ""),
                )
                break
    return "" if any(_models(kind)) else re.split(r"[.:;](?:\s|$)", text)[0]


def _models(kind: Any) -> Iterator[type[Strict]]:
    """Yield the models in a type."""
    if isinstance(kind, type) and issubclass(kind, Strict):
        yield kind
    for part in get_args(kind):
        yield from _models(part)


def _written_keys(place: Keys, values: Any) -> list[str]:
    """Return the keys on a path, without types that pydantic tried, unless the user wrote such a key."""
    keys = []
    for part in place:
        is_key = isinstance(values, Mapping) and part in values
        scheme = values.get("scheme") if isinstance(values, Mapping) else None
        is_type = isinstance(part, str) and (part == scheme or _TYPE.fullmatch(part))
        if is_key or not is_type:
            keys.append(str(part))
        if is_key or (isinstance(values, list | tuple) and part in range(len(values))):
            values = values[part]
    return keys


def _join_faults(texts: list[str]) -> str:
    """Join the faults of one key; where it may have several types, into one that lists what is right."""
    start, end = "Input should be ", " (got "
    if len(texts) < 2 or not all(text.startswith(start) and end in text for text in texts):
        return "; ".join(texts)
    expected = dict.fromkeys(text.removeprefix(start).rpartition(end)[0] for text in texts)
    return start + " or ".join(expected) + end + texts[0].rpartition(end)[2]


def shortened(text: str) -> str:
    """Cut a long text, for a message."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({len(text):,} characters)"


@functools.cache
def adapter(kind: type[T]) -> TypeAdapter[T]:
    """Return the adapter that checks values of a type and writes them out, cached as making one takes long."""
    return TypeAdapter(kind)


def checked(kind: type[T], values: Any, path: str) -> T:
    """Make an object of values that a user wrote; ValueError names every key that is wrong, below ``path``."""
    try:
        return adapter(kind).validate_python(values)  # type: ignore[arg-type]
    except ValidationError as error:
        raise ValueError("; ".join(messages(error, values, path, kind))) from None
    except ArithmeticError as error:
        where = f"{path}: " if path else ""
        raise ValueError(f"{where}a number is out of range ({error})") from error


def configured(cls: type[T], values: Mapping[str, Any], path: str, owner: str) -> T:
    """Make an object of a class of `parameters`; ValueError names what is wrong, below the key that a user wrote.

    Parameters
    ----------
    cls, values
        The class, and its parameters by name.
    path
        Key below which a user wrote them.
    owner
        Words for the method or loss that has the parameters.
    """
    names = [field.name for field in fields(cls)]  # type: ignore[arg-type]
    for key in values:
        if key not in names:
            raise ValueError(f"{path}.{key}: {unknown('parameter', key, names)} ({owner})")
    try:
        instance = cls(**values)
    except ValidationError as error:
        raise ValueError("; ".join(messages(error, values, path))) from None
    for keys, text in (*_slips(values, instance), *_infinite(instance)):
        raise ValueError(f"{'.'.join([path, *map(str, keys)])}: {text}")
    return instance


def _infinite(instance: Any, path: Keys = ()) -> Iterator[tuple[Keys, str]]:
    """Yield the parameters that are infinite, but for defaults."""
    for field in fields(instance):
        value = getattr(instance, field.name)
        if isinstance(value, float) and math.isinf(value) and value != field.default:
            yield (*path, field.name), f"expected a finite number, got {value}"
        elif is_dataclass(value):
            yield from _infinite(value, (*path, field.name))


def expanded(path: str | os.PathLike[str]) -> Path:
    """Return a path in which ``~`` and ``$HOME`` are expanded; ValueError if there is no such user or variable."""
    text = os.fspath(path)
    full = os.path.expandvars(os.path.expanduser(text))
    if full.startswith("~") or "$" in full or "\0" in full:
        raise ValueError(f"{text!r}: no such user or variable is known; write the path out")
    return Path(full)
