"""`configuration-keys`: the keys of a YAML file as tables, from the models that check it."""

import inspect
import json

from numpydoc.docscrape import NumpyDocString
from sphinx.util.docutils import SphinxDirective

from admmbench.study.config import schemas


class ConfigurationKeys(SphinxDirective):
    """Tables of a schema: its own keys, and those of each mapping in it."""

    required_arguments = 1

    def run(self):
        """Make a table for each mapping."""
        schema = json.loads(schemas()[f"{self.arguments[0]}.schema.json"])
        own = {self.arguments[0].capitalize(): schema}
        lines = []
        for name, part in (own | schema.get("$defs", {})).items():
            lines += [f"## {name}", "", *described(part), ""]
        return self.parse_text_to_nodes("\n".join(lines), allow_section_headings=True)


def described(schema):
    """What a mapping is, and its keys, from the docstring of its model."""
    doc = NumpyDocString(inspect.cleandoc(schema.get("description", "")))
    lines = [*doc["Summary"], "", *doc["Extended Summary"], "", *table(schema, explained(doc))]
    for kind in schema.get("oneOf", []):
        lines += ["", f"### {kind['title']}", "", *described(kind)]
    return lines


def explained(doc):
    """Descriptions in a docstring, by name."""
    found = {}
    for names, _, lines in (*doc["Parameters"], *doc["Attributes"]):
        found |= dict.fromkeys(names.split(", "), " ".join(lines))
    return found


def table(schema, explanations):
    """A line for each key of a JSON schema, as Markdown."""
    if not schema.get("properties"):
        return []
    lines = ["| key | value | if absent | |", "|---|---|---|---|"]
    required = schema.get("required", [])
    for key in sorted(schema["properties"], key=lambda key: key not in required):
        value = schema["properties"][key]
        absent = "required" if key in required else _default(value)
        explanation = " ".join((value.get("description") or explanations.get(key, "")).split())
        cells = [f"`{key}`", _kind(value), absent, explanation]
        lines.append("| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |")
    return lines


def _default(value):
    default = value.get("default")
    if default is None or default in ("", [], {}) or isinstance(default, dict):
        return ""
    text = default if isinstance(default, str) else json.dumps(default)
    return f"`{text}`"


def _kind(value, plural=""):
    """What may stand there, in words."""
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "enum" in value:
        return ", ".join(f"`{each}`" for each in value["enum"])
    if "const" in value:
        return f"`{value['const']}`"
    if "anyOf" in value:
        kinds = (_kind(each) for each in value["anyOf"] if each.get("type") != "null")
        if any(each.get("title") == "Several" for each in value["anyOf"]):
            *kinds, _ = kinds
            return " or ".join(dict.fromkeys(kinds)) + "; or a list of them"
        return " or ".join(dict.fromkeys(kinds))
    if value.get("type") == "array":
        return "list of " + _kind(value.get("items", {}), "s").replace("texts", "text")
    if value.get("type") in _WORDS:
        return _WORDS[value["type"]] + plural
    return "`true` or `false`" if value.get("type") == "boolean" else ""


_WORDS = {"string": "text", "integer": "whole number", "number": "number", "object": "mapping"}


def setup(app):
    """Extend Sphinx."""
    app.add_directive("configuration-keys", ConfigurationKeys)
    return {"parallel_read_safe": True}
