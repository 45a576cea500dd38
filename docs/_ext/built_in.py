"""`built-in`: all methods, losses or data sets by the name that a user writes, with their parameters.

`overview`: the same names as one table, with what methods need of a problem, or the sizes of data sets.
"""

import inspect

from configuration_keys import described, explained, table
from numpydoc.docscrape import NumpyDocString
from pydantic import TypeAdapter
from sphinx.util.docutils import SphinxDirective

from admmbench import algorithms, datasets
from admmbench.plugins import subclasses
from admmbench.problems import losses


class BuiltIn(SphinxDirective):
    """A heading, a description and a table for each name."""

    required_arguments = 1

    def run(self):
        """Tell of each class."""
        names, class_of, parameters = _KINDS[self.arguments[0]]
        lines, parts = [], {}
        for name in names():
            cls = class_of(name)
            schema = parameters(cls)
            lines += [
                f"### `{name}`",
                "",
                *_introduced(cls),
                "",
                *table(schema, _explained(cls)),
                "",
            ]
            parts |= schema.get("$defs", {})
        for name, schema in parts.items():
            lines += [f"### {name}", "", *described(schema), ""]
        return self.parse_text_to_nodes("\n".join(lines), allow_section_headings=True)


class Overview(SphinxDirective):
    """A table with a line for each method or data set."""

    required_arguments = 1

    def run(self):
        """List the facts of each class."""
        rows = _OVERVIEWS[self.arguments[0]]()
        return self.parse_text_to_nodes("\n".join("| " + " | ".join(row) + " |" for row in rows))


def _methods():
    """What each method is, what its agents share of a problem, and what it needs of the problem."""
    yield "method", "what it is", "agents share", "needs"
    yield "---", "---", "---", "---"
    for name in algorithms.list_algorithms():
        cls = algorithms.resolve(name)
        summary, *_ = inspect.getdoc(inspect.getmodule(cls)).splitlines()
        shared = " or ".join(cls.sharing).replace("constrained", "rows, with constraints")
        yield f"`{name}`", summary.rstrip("."), shared, ", ".join(cls().needs) or "nothing"


def _sizes():
    """How many records and features each data set has, and what its targets are."""
    yield "name", "records (training + test)", "features", "targets"
    yield "---", "--:", "--:", "---"
    # A table is the user's, and a synthetic program has no records.
    for name in sorted({*datasets.list_datasets()} - {"table", "synthetic_qp"}):
        info = datasets.describe(name)
        targets = f"{len(info.class_names)} classes" if info.class_names else "numbers"
        records = f"{info.n_train:,} + {info.n_test:,}"
        yield f"`{name}`", records, f"{info.n_features:,}", targets


def _introduced(cls):
    """Where a class is, and what its docstring says, which may be RST."""
    doc = NumpyDocString(inspect.getdoc(cls))
    text = [*doc["Summary"], "", *doc["Extended Summary"], "", *doc["Notes"]]
    return [f"`{cls.__module__}.{cls.__name__}`", "", "```{eval-rst}", *text, "```"]


def _explained(cls):
    """Descriptions of parameters, those of base classes included."""
    found = {}
    for base in reversed(cls.__mro__):
        found |= explained(NumpyDocString(inspect.cleandoc(base.__doc__ or "")))
    return found


def _schema(cls):
    schema = TypeAdapter(cls).json_schema()
    schema["properties"].pop("variant", None)  # stands beside the parameters
    return schema


def _settings(cls):
    return {"properties": {key: {"default": value} for key, value in cls.defaults.items()}}


def _data_set(name):
    (definition,) = subclasses(datasets.find_module(name), datasets.DatasetDefinition)
    return definition


_KINDS = {
    "methods": (algorithms.list_algorithms, algorithms.resolve, _schema),
    "losses": (losses.list_losses, losses.resolve, _schema),
    "data-sets": (datasets.list_datasets, _data_set, _settings),
}

_OVERVIEWS = {"methods": _methods, "data-sets": _sizes}


def setup(app):
    """Extend Sphinx."""
    app.add_directive("built-in", BuiltIn)
    app.add_directive("overview", Overview)
    return {"parallel_read_safe": True}
