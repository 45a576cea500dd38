"""Wording of numbers, labels and budgets in sentences and tables of reports and figures."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence

from admmbench.privacy.curves import POOR_FIT

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
    """Write the usual name of a data set or a paper; a key without one stays as it is."""
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


def counted(count: int, noun: str) -> str:
    """Write a count with its noun, in the plural unless the count is one."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def rounded_up(value: float) -> str:
    """Write a number with four digits, rounded up but for errors of double precision."""
    if not 0 < value < math.inf:
        return number(value)
    unit = 10.0 ** (math.floor(math.log10(value)) - 3)
    return f"{math.ceil(value / unit * (1 - 1e-12)) * unit:#.4g}".rstrip(".")


def gaussian_privacy(mu: float, regret: float) -> str:
    """Write mu of Gaussian differential privacy with its regret, and whether it describes the trade-off curve."""
    if not math.isfinite(mu):
        return "mu: not available"
    poor = ": one number does not describe the trade-off curve" if regret > POOR_FIT else ""
    return f"mu {rounded_up(mu)} (regret {regret:.2g}{poor})"


def confidence(level: float) -> str:
    """Write the level of an interval, in percent."""
    return f"{100 * level:.4g} %"


def number(value: float, form: str = ".4g") -> str:
    """Write a number of a table: with four digits, or in a form; all digits from a thousand on; a dash for NaN."""
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
    """Write the best constant prediction by the training records, with its test error; nothing if the error is NaN."""
    if math.isnan(error):
        return ""
    prediction = "the commonest class" if fraction else "the mean of the training targets"
    return f"{prediction}: {measured(error, fraction)} {'%' if fraction else unit.removeprefix('1')}".rstrip()


def given(value: float) -> str:
    """Write a budget or a probability as the user wrote it."""
    return f"{value:g}".replace("e-0", "e−")  # a hyphen may end a line


def in_unit(unit: str) -> str:
    """Write the unit of numbers, behind their name; nothing for numbers without a unit."""
    return {"%": " in percent", "1": "", "": ""}.get(unit, f" in {unit}")


def one_line(text: str) -> str:
    """Write the lines of a template as one, with one space between two words."""
    return type(text)(" ".join(text.split()))


def some(labels: Sequence[str], most: int | None) -> list[str]:
    """Return the labels to write where there is room for ``most``; a single further label is written as well."""
    return [*labels] if most is None or len(labels) == most + 1 else [*labels[:most]]


def listed(labels: Iterable[str], most: int | None = None) -> str:
    """Write labels separated by semicolons, as labels may hold commas: at most some, and the number of others."""
    labels = [str(label) for label in labels]
    named = some(labels, most)
    more = len(labels) - len(named)
    return "; ".join(named) + (f" and {more} more" if more else "")


def together(labels: Iterable[str]) -> str:
    """Write labels as the subject of a sentence, "A, B and C"; separated by semicolons if one of them has a comma."""
    labels = [str(label) for label in labels]
    if len(labels) < 2 or any("," in label for label in labels):
        return listed(labels)
    return f"{', '.join(labels[:-1])} and {labels[-1]}"


def short(value: float) -> str:
    """Write a number with three digits."""
    return "∞" if math.isinf(value) else f"{value:.3g}"


def at(name: str, *epsilons: float) -> str:
    """Write a name at some budgets, or without one."""
    finite = [short(epsilon) for epsilon in epsilons if epsilon < math.inf]
    places = [f"at ε = {', '.join(finite)}"] if finite else []
    if math.inf in epsilons:
        places.append("without a budget")
    return f"{name} {' and '.join(places)}"


def stated(budget: float) -> str:
    """Write a budget, or ``none`` for an infinite one."""
    return "none" if math.isinf(budget) else number(budget)


def budget(epsilon: float) -> str:
    """Write an epsilon, or ``no budget`` for infinity, though a method may then add noise by its parameters."""
    return "no budget" if math.isinf(epsilon) else f"ε = {epsilon:g}"


def mapping(content: object) -> str:
    """Write a mapping as ``key = value, ...``, with values that are no text as JSON, and without empty mappings."""
    if not isinstance(content, dict):
        return str(content)
    texts = {
        key: text if isinstance(text, str) else json.dumps(text) for key, text in content.items()
    }
    return ", ".join(f"{key} = {text}" for key, text in texts.items() if text != "{}")
