"""Axes that `admmbench rank` searches: declared ones, defaults for bounded numbers, and what nobody tunes."""

from typing import Annotated, ClassVar, Literal

import pytest
from pydantic import Field

from admmbench import algorithms
from admmbench.algorithms.objp import ObjP
from admmbench.api import parameters
from admmbench.tuning.declared import axes, untuned
from admmbench.tuning.settings import Axes
from admmbench.validation import PerhapsInfinite, checked


@parameters
class Silent(ObjP):
    """A method that adds parameters, and declares nothing."""

    momentum: Annotated[float, Field(ge=0, lt=1)] = 0.5
    name: Literal["a", "b"] = "a"


@parameters
class Auto(Silent):
    """A method that asks for the default search."""

    tune: ClassVar = "auto"  # type: ignore[assignment]

    rate: Annotated[float, Field(gt=0)] = 0.25
    part: Annotated[float, Field(ge=0, le=0.5)] = 0.0
    steps: Annotated[int, Field(ge=1)] | None = None
    free: float = 3.0
    limit: Annotated[PerhapsInfinite, Field(gt=0)] = 4.0


@parameters
class Stated(Silent):
    """A method that declares what is tuned, and leaves the rest alone on purpose."""

    tune: ClassVar = {"rounds": 10, "params.momentum": {"start": 0.5, "most": 0.9}}


def test_declared_axes_are_searched_as_they_are():
    assert axes(Stated) == {"rounds": 10, "params.momentum": {"start": 0.5, "most": 0.9}}
    assert untuned(Stated) == []


def test_what_a_class_does_not_declare_is_known():
    assert axes(Silent) == dict(ObjP.tune)
    assert "momentum" in untuned(Silent)
    assert "name" not in untuned(Silent)


def test_auto_takes_numbers_with_bounds_from_their_defaults():
    found = axes(Auto)
    assert found["rounds"] == 20
    assert found["params.rho"] == {"start": 0.02, "least": 0.0}
    assert found["params.limit"] == {"start": 4.0, "least": 0.0}
    assert found["params.momentum"] == {"start": 0.5, "least": 0.0, "most": pytest.approx(0.99)}
    assert found["params.rate"] == {"start": 0.25, "least": 0.0}
    assert found["params.part"] == {"start": 0.25, "least": 0.0, "most": 0.5}
    assert found["params.steps"] == {"start": 1.0, "least": 1, "whole": True}
    assert not {"params.free", "params.name", "params.variant"} & found.keys()
    values = {path: axis.at(3) for path, axis in checked(Axes, found, "tune").items()}
    Auto(**{path.removeprefix("params."): value for path, value in values.items() if "." in path})


def test_every_method_that_is_ranked_declares_its_search():
    named = map(algorithms.resolve, algorithms.list_algorithms())
    contenders = [cls for cls in named if cls.release and "rows" in cls.sharing]
    assert contenders
    for cls in contenders:
        checked(Axes, axes(cls), cls.__name__)
        if cls().family.role == "contender":
            assert not untuned(cls), cls
