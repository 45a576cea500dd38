"""Methods of an experiment: what each states, and one method for each value of a setting that is a list."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Annotated, Any, NamedTuple

from pydantic import (
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from admmbench import algorithms
from admmbench.files.core_yaml import inline_yaml
from admmbench.privacy.selection import CompositionScope
from admmbench.spec.fields import (
    Law,
    PrivacySettings,
    Settings,
    default_evaluate_every,
    delta_of_privacy,
)
from admmbench.spec.rules import Rule, refuse
from admmbench.tuning.settings import Axes
from admmbench.tuning.settings import Settings as Values
from admmbench.validation import Epsilons, Text, checked

# Settings that may be lists: a method is run with each value. A list of accountants is one value.
_LISTABLE = Settings.model_fields.keys() - {"params", "accountants"}


def _allow_in_schema(schema: dict[str, Any], *, several: bool = False) -> None:
    """Allow a list of values in place of a setting in a JSON schema if it may have several, else null."""
    about = ("default", "description", "title")
    value_schema = {name: schema.pop(name) for name in [*schema] if name not in about}
    list_schema = {"title": "Several", "type": "array", "minItems": 1, "items": value_schema}
    schema["anyOf"] = [
        *value_schema.get("anyOf", [value_schema]),
        list_schema if several else {"type": "null"},
    ]


def allow_lists(schema: dict[str, Any]) -> None:
    """Allow lists in place of settings in a JSON schema."""
    for key in sorted(_LISTABLE & schema["properties"].keys()):
        _allow_in_schema(schema["properties"][key], several=True)


def _method_schema(schema: dict[str, Any]) -> None:
    """Complete the JSON schema of a method: settings may be null, and have no defaults but the experiment's values."""
    allow_lists(schema)
    for key in Settings.model_fields:
        schema["properties"][key].pop("default", None)
        _allow_in_schema(schema["properties"][key])


class Method(Settings):
    """A method of an experiment, with the settings that it does not share with the others."""

    model_config = ConfigDict(json_schema_extra=_method_schema)

    name: str
    """Algorithm, or the path of a plug-in ending in .py."""
    label: Annotated[Text, Field(min_length=1, max_length=200)]
    """How plots and tables call it."""
    epsilon: Epsilons | None = None
    """Budgets of this method, of the same kind as the experiment's; the experiment's if absent."""
    privacy: PrivacySettings = PrivacySettings()
    """Changes to the experiment's privacy."""
    noise: Law | None = None
    """The experiment's privacy.noise if absent."""
    covers: CompositionScope | None = None
    """Composition scope of its total; the experiment's privacy.covers if absent."""
    added: bool = False
    """Whether it was added after the study was stated with the others, whose verdicts it leaves as they are: it is
    compared with each of them, at a level of its own, see docs/sure.md."""
    tune: Axes = {}
    """Settings that are tuned at each budget, by the path of their key, such as params.rho; a value is a number to
    start from, or an axis; see docs/experiments.md."""

    @model_validator(mode="before")
    @classmethod
    def _normalize(cls, values: Any) -> Any:
        """Leave out settings that are null, and replace an alias by the method and parameters that it stands for."""
        if isinstance(values, Mapping):
            shared = Settings.model_fields
            values = {k: v for k, v in values.items() if v is not None or k not in shared}
        return algorithms.unalias(values, "name")

    @model_serializer(mode="wrap")
    def _serialize_stated(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Write the stated settings alone: the others are the experiment's."""
        values = {
            key: value for key, value in handler(self).items() if key in self.model_fields_set
        }
        if "privacy" in values:
            values["privacy"] = self.privacy.model_dump(mode="json", exclude_unset=True)
        return values

    @cached_property
    def changes(self) -> dict[str, Any]:
        """Return the settings that the method states, by name; settings of privacy as changes to the experiment's."""
        names = self.model_fields_set & Settings.model_fields.keys()
        settings = {"noise": self.noise, "covers": self.covers}
        stated_settings = {key: value for key, value in settings.items() if value is not None}
        privacy = self.privacy.model_dump(exclude_unset=True)
        return {name: getattr(self, name) for name in names} | {
            "privacy": privacy | stated_settings
        }

    @property
    def starts(self) -> Values:
        """Return the values from which the search for settings starts."""
        return {path: axis.at(0) for path, axis in self.tune.items()}


class StatedMethod(NamedTuple):
    """Method as a file states it, before its values are checked."""

    number: int
    settings: Mapping[str, Any]
    several: Mapping[str, list[Any]]
    """Settings that are lists for this method, its own and the experiment's."""

    @property
    def privacy(self) -> Mapping[str, Any]:
        """Return the stated settings of privacy, where they are a mapping."""
        privacy = self.settings.get("privacy")
        return privacy if isinstance(privacy, Mapping) else {}

    @property
    def contradiction(self) -> str:
        """Return the first setting that has one value in privacy and another one beside privacy."""
        for key in ("noise", "covers"):
            value = self.settings.get(key)
            if value is not None and self.privacy.get(key, value) != value:
                return f"{key}: {value} is not privacy.{key}: {self.privacy[key]}"
        return ""

    @property
    def listed_and_tuned(self) -> tuple[str, str] | None:
        """Return the first setting that is tuned although it is a list, and its values."""
        tuned = self.settings.get("tune")
        for key in tuned if isinstance(tuned, Mapping) else ():
            if key in self.several:
                return key, inline_yaml(self.several[key])
        return None


METHOD_RULES: list[Rule[StatedMethod]] = [
    Rule(
        "budgets of a method beside privacy",
        lambda method: "total" in method.privacy,
        "algorithms.{0.number}.privacy.total: a method has no total of its own",
        "state its budgets as epsilon, beside privacy",
    ),
    Rule(
        "one value of a setting of privacy",
        lambda method: method.contradiction,
        "algorithms.{0.number}.{1}",
        "state one of them",
    ),
    Rule(
        "tuning of what has one value",
        lambda method: method.listed_and_tuned,
        "algorithms.{0.number}.tune.{1[0]}: {1[0]} has the values {1[1]}, and tuning would choose one",
        "state one value for this method, or take it out of tune",
    ),
]
"""Rules on methods as a file states them."""


def expand_lists(values: Any) -> Any:
    """Return an experiment's content with one method for each value where a setting has several."""
    methods = values.get("algorithms") if isinstance(values, Mapping) else None
    if not isinstance(methods, list) or not all(isinstance(entry, Mapping) for entry in methods):
        return values
    values = delta_of_privacy(values)
    several = _stated_lists(values)
    # Methods with fewer rounds are evaluated as often as they can be, whichever value comes first.
    every = {"evaluate_every": default_evaluate_every({})} if "rounds" in several else {}
    first = {key: value[0] for key, value in several.items()}
    expanded = [
        combination
        for number, method in enumerate(methods)
        for combination in _combinations(number, method, several)
    ]
    return {**every, **values, **first, "algorithms": expanded}


def _stated_lists(settings: Mapping[str, Any], path: str = "") -> dict[str, list[Any]]:
    """Return the settings that are stated as lists, with checked values; an empty list is refused later, as a value."""
    values = {key: settings.get(key) for key in Settings.model_fields if key in _LISTABLE}
    lists = {key: value for key, value in values.items() if isinstance(value, list) and value}
    for key, value in lists.items():
        field = Settings.model_fields[key]
        kind = list[Annotated[field.annotation, key, *field.metadata]]  # type: ignore[name-defined]
        checked(kind, value, f"{path}{key}")
    return lists


def _combinations(
    number: int, settings: Mapping[str, Any], several: Mapping[str, list[Any]]
) -> Iterator[dict[str, Any]]:
    """Yield a method for each combination of its own and the experiment's values, which the label names."""
    method = dict(delta_of_privacy(settings))
    several_values = {key: value for key, value in several.items() if method.get(key) is None}
    several_values |= _stated_lists(method, f"algorithms.{number}.")
    refuse(StatedMethod(number, method, several_values), METHOD_RULES)
    lists = {key: several_values[key] for key in Settings.model_fields if key in several_values}
    for values in itertools.product(*lists.values()):
        combination = dict(zip(lists, values, strict=True))
        words = (f", {key} {inline_yaml(value)}" for key, value in combination.items())
        label = method.get("label")
        labelled = {"label": "".join([label, *words])} if isinstance(label, str) else {}
        yield {**method, **combination, **labelled}


def merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return a mapping in which changes win, key by key, also in mappings within it."""
    result = dict(base)
    for key, value in changes.items():
        old = result.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            result[key] = merged(old, value)
        else:
            result[key] = value
    return result


def key_paths(settings: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Yield the paths of all keys of a mapping, and of the mappings within it."""
    for key, value in settings.items():
        yield f"{path}{key}"
        if isinstance(value, Mapping):
            yield from key_paths(value, f"{path}{key}.")
