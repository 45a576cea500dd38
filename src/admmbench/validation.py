"""Checks of what users write. The messages of refusals are worded here and nowhere else."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields, is_dataclass
from difflib import SequenceMatcher
from typing import Annotated, Any, TypeVar, dataclass_transform, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)
from pydantic.dataclasses import dataclass
from pydantic.fields import FieldInfo

# YAML's infinity, and how people write it.
_INFINITE = (".inf", "inf", "infty", "infinity")

# Share of letters from which on one name is taken for a slip of another; `hinge` has 0.56 of `squared_hinge`.
_ALIKE = 0.5

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)


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
    """Read numbers that YAML 1.1 leaves as text: ``1e-6`` and the spellings of infinity; refuse ``true``."""
    if not isinstance(value, str):
        return no_boolean(value)
    if value.strip().lower() in _INFINITE:
        return math.inf
    try:
        return float(value)
    except ValueError:
        return value


def no_boolean(value: Any) -> Any:
    """Refuse ``true`` and ``false``, which Python takes for 1 and 0."""
    if isinstance(value, bool):
        raise ValueError(f"expected a number, got {value}")
    return value


def _as_list(value: Any) -> Any:
    return value if isinstance(value, list | tuple) else [value]


def distinct(values: list[Any]) -> list[Any]:
    """Refuse a list in which a value appears twice."""
    if len(set(values)) < len(values):
        raise ValueError(f"each value may appear once, got {values}")
    return values


Number = Annotated[float, BeforeValidator(_number)]
Epsilon = Annotated[Number, Field(gt=0)]
Epsilons = Annotated[
    list[Epsilon], BeforeValidator(_as_list), AfterValidator(distinct), Field(min_length=1)
]
Count = Annotated[int, Field(ge=1), BeforeValidator(no_boolean)]


class Strict(BaseModel):
    """Immutable, and no key that is not declared."""

    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_inf_nan="strings")

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, values: Any) -> Any:
        """Name the nearest key where pydantic would only refuse the wrong one."""
        for key in values if isinstance(values, Mapping) else ():
            if key not in cls.model_fields:
                raise ValueError(unknown("key", key, cls.model_fields))
        return values


def nearest(name: object, names: Iterable[str]) -> str | None:
    """Find the name that was most likely meant; None if no name is like it.

    Letters in another order are the likeliest slip (``obpj`` means ``objp``), then what difflib finds alike.
    """
    given = str(name)

    def likeness(other: str) -> tuple[bool, float]:
        return sorted(other) == sorted(given), SequenceMatcher(None, other, given).ratio()

    near = max(names, key=likeness, default="")
    return near if likeness(near) >= (False, _ALIKE) else None


def meant(name: object, names: Iterable[str]) -> str:
    """End of a message for a name that does not exist: the nearest one that does, if one is like it."""
    near = nearest(name, names)
    return f"; did you mean {near!r}?" if near else ""


def suggestion(name: object, names: Collection[str]) -> str:
    """End of a message for a name that does not exist: the nearest one that does, or else all of them."""
    return meant(name, names) or (f" (there are {', '.join(sorted(names))})" if names else "")


def unknown(kind: str, name: object, names: Collection[str]) -> str:
    """Message for a name that does not exist."""
    return f"unknown {kind} {name!r}{suggestion(name, names)}"


def one_of(what: str, value: object, words: Any) -> None:
    """Refuse a value of a class that is none of the words of a `Literal`, which nothing would act on."""
    names = get_args(words)
    if value not in names:
        raise ValueError(f"{what}: {value!r} is none of {', '.join(names)}{meant(value, names)}")


def messages(error: ValidationError, path: str = "") -> list[str]:
    """One line per fault of a pydantic error: path of the key, and what is wrong."""
    lines = []
    for fault in error.errors():
        if fault["type"] == "default_factory_not_called":  # as what it depends on is at fault
            continue
        where = ".".join([path] * bool(path) + [str(part) for part in fault["loc"]])
        text = fault["msg"].removeprefix("Value error, ")
        given = "" if fault["type"] in ("value_error", "missing") else f" (got {fault['input']!r})"
        lines.append(f"{where}: {text}{given}" if where else f"{text}{given}")
    return lines


def checked(model: type[M], values: Mapping[str, Any], path: str) -> M:
    """Make a model of what a user wrote; ValueError names every key that is wrong, below ``path``."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise ValueError("; ".join(messages(error, path))) from None


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
        raise ValueError("; ".join(messages(error, path))) from None
    for key, value in values.items():
        if isinstance(value, bool) and not isinstance(getattr(made, key), bool):
            raise ValueError(f"{path}.{key}: expected a number, got {value}")
    return made
