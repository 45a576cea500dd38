"""Numbers in sentences: with their unit, and as many digits as tell them apart."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence

_MOST_DIGITS = 8
_PROPER = {
    "adult": "Adult",
    "adult_a": "adult-a",
    "adult_b": "adult-b",
    "breast_cancer_wisconsin": "breast-cancer-wisc",
    "digits": "Digits",
    "femnist": "FEMNIST",
    "gisette": "Gisette",
    "mnist": "MNIST",
    "monks1": "monks-1",
    "he2023": "He et al. (2023)",
    "hu2019": "Hu et al. (2019)",
    "huang2019": "Huang et al. (2019)",
    "ryu2021": "Ryu and Kim (2021)",
    "ryu2022": "Ryu and Kim (2022)",
}


def proper(key: str) -> str:
    """Write the name of a data set or a paper as people do; one that is not known here stays as it is."""
    return _PROPER.get(key, key)


def about(count: float) -> str:
    """Write a forecast of a number with two digits."""
    return "∞" if math.isinf(count) else f"{float(f'{count:.2g}'):,.0f}"


def quantity(
    values: Iterable[float], unit: str, *, signed: bool = False, join: str = " to "
) -> str:
    """Write numbers with their unit: percentages with two decimals, others with three digits, and more if needed."""
    values = list(values)
    kind = ".{}g" if unit == "1" else ".{}f"
    for digits in range(3 if unit == "1" else 2, _MOST_DIGITS):
        form = ("+" if signed else "") + kind.format(digits)
        texts = [format(value, form).replace("-", "−") for value in values]
        if len(set(texts)) == len(set(values)):
            break
    text = join.join(texts)
    return text if unit == "1" else f"{text} {unit}"


def counted(count: int, what: str) -> str:
    """Write a number of things, in the plural unless it is one."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def percent(*values: float) -> str:
    """Write percentages, with three digits each."""
    return f"{' to '.join(short(value) for value in values)} %"


def confidence(level: float) -> str:
    """Write the level of an interval, in percent."""
    return f"{100 * level:.4g} %"


def number(value: float, form: str = ".4g") -> str:
    """Write a number of a table: with four digits, or in a form; all digits of a larger one; a dash for none."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞"
    text = f"{value:,.0f}" if 1e3 <= abs(value) < 1e9 else f"{value:{form}}"
    return text.replace("-", "−")


def measured(value: float, fraction: object) -> str:
    """Write a value of a metric: in percent with two decimals if it is a fraction, else as any number."""
    return number(100 * value, ".2f") if fraction else number(value)


def best_constant(error: float, fraction: object, unit: str) -> str:
    """Name the constant prediction that the training part suggests, with its test error; nothing if that is NaN."""
    if math.isnan(error):
        return ""
    what = "the commonest class" if fraction else "the mean of the training targets"
    return f"{what}: {measured(error, fraction)} {'%' if fraction else unit.removeprefix('1')}".rstrip()


def given(value: float) -> str:
    """Write a budget or a probability as it was given."""
    return f"{value:g}".replace("e-0", "e−")  # a hyphen may end a line


def in_unit(unit: str) -> str:
    """Write the unit of numbers, behind their name; nothing where they have none."""
    return {"%": " in percent", "1": "", "": ""}.get(unit, f" in {unit}")


def one_line(text: str) -> str:
    """Write the lines of a template as one, with one space between two words."""
    return type(text)(" ".join(text.split()))


def some(labels: Sequence[str], most: int | None) -> list[str]:
    """Choose the labels that are named where there is room for so many; a single further one is named as well."""
    return [*labels] if most is None or len(labels) == most + 1 else [*labels[:most]]


def listed(labels: Iterable[str], most: int | None = None) -> str:
    """Write labels in a sentence, apart even where they hold commas: some of them, and how many more there are."""
    labels = [str(label) for label in labels]
    named = some(labels, most)
    more = len(labels) - len(named)
    return "; ".join(named) + (f" and {more} more" if more else "")


def together(labels: Iterable[str]) -> str:
    """Write labels as the subject of a sentence, "A, B and C"; apart by semicolons where one of them holds a comma."""
    labels = [str(label) for label in labels]
    if len(labels) < 2 or any("," in label for label in labels):
        return listed(labels)
    return f"{', '.join(labels[:-1])} and {labels[-1]}"


def short(value: float) -> str:
    """Write a number with three digits."""
    return "∞" if math.isinf(value) else f"{value:.3g}"


def at(what: str, *epsilons: float) -> str:
    """Write a name at some budgets, or without one."""
    finite = [short(epsilon) for epsilon in epsilons if epsilon < math.inf]
    places = [f"at ε = {', '.join(finite)}"] if finite else []
    if math.inf in epsilons:
        places.append("without a budget")
    return f"{what} {' and '.join(places)}"


def stated(budget: float) -> str:
    """Write a budget, or that there is none."""
    return "none" if math.isinf(budget) else number(budget)


def budget(epsilon: float) -> str:
    """Write an epsilon; where it is infinite there is no budget, though a method may add noise by its parameters."""
    return "no budget" if math.isinf(epsilon) else f"ε = {epsilon:g}"


def mapping(content: object) -> str:
    """Write a mapping as ``key = value, ...``, with JSON of what is no text; empty ones are left out."""
    if not isinstance(content, dict):
        return str(content)
    texts = {
        key: each if isinstance(each, str) else json.dumps(each) for key, each in content.items()
    }
    return ", ".join(f"{key} = {each}" for key, each in texts.items() if each != "{}")
