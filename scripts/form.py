"""Writes the JSON Schema of the canonical form, and the corresponding types in Python.

The engine derives the schema from the types in ``crates/sim/src/spec``, and each definition of the schema becomes a
class. Run this script (``make form``) after a change of these types; a test compares its output with the files.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

SCENARIO = Path(__file__).parents[1] / "python" / "elephan" / "scenario"
SCHEMA = SCENARIO / "canonical.schema.json"
TYPES = SCENARIO / "form.py"
WIDTH = 120
OPEN = "parameters"
"""Name of the field that holds all keys of an object that the object's schema does not name."""

HEAD = '''"""Types of the canonical form, as ``crates/sim/src/spec`` defines it.

Written by scripts/form.py (``make form``) from canonical.schema.json: change the types in Rust, not this file. An
instance is made by :func:`elephan.scenario.document.read`, or by :attr:`Scenario.form` and :attr:`Run.form`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from msgspec import Struct


class Form(Struct, frozen=True):
    """A table of the canonical form."""


'''
_PLAIN = {"boolean": "bool", "integer": "int", "number": "float", "string": "str", "null": "None"}

Schema = Mapping[str, Any]


def schema_text() -> str:
    """The schema, as the engine derives it."""
    from elephan import _engine

    return str(_engine.schema())


def types_text(schema: Schema) -> str:
    """Text of the Python module with the types of a schema."""
    definitions = schema["$defs"] | {schema["title"]: schema}
    parts = [part for name in _ordered(definitions, schema["title"]) for part in _definition(name, definitions)]
    return HEAD + "\n\n".join(parts)


def _ordered(definitions: Mapping[str, Schema], root: str) -> list[str]:
    """Names of the definitions; each definition comes after the definitions that it refers to."""
    found: dict[str, None] = {}

    def visit(name: str) -> None:
        for other in _references({key: value for key, value in definitions[name].items() if key != "$defs"}):
            visit(other)
        found.setdefault(name)

    visit(root)
    return list(found)


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if "$ref" in node:
            yield _name(node)
        for value in node.values():
            yield from _references(value)
    elif isinstance(node, list):
        for value in node:
            yield from _references(value)


def _name(reference: Schema) -> str:
    return str(reference["$ref"]).rpartition("/")[2]


# ---- definitions ----


def _definition(name: str, definitions: Mapping[str, Schema]) -> Iterator[str]:
    schema = definitions[name]
    variants = schema.get("oneOf")
    if variants is None:
        yield _class(name, schema, definitions)
    elif all("const" in variant for variant in variants):
        yield _literal(name, schema)
    else:
        for variant in variants:
            yield _class(_variant(name, variant), variant, definitions)
        yield _union(name, schema)


def _variant(name: str, schema: Schema) -> str:
    """The name of a member of a tagged union: ``gilbert_elliott`` of ``LossSpec`` is ``GilbertElliottLoss``."""
    words = str(schema["properties"]["kind"]["const"]).split("_")
    return "".join(word.title() for word in words) + name.removesuffix("Spec")


def _literal(name: str, schema: Schema) -> str:
    values = [(variant["const"], variant["description"]) for variant in schema["oneOf"]]
    words = ", ".join(json.dumps(value) for value, _ in values)
    lines = [f"{name} = Literal[{words}]"]
    if len(lines[0]) > WIDTH:
        rows = textwrap.wrap(words, WIDTH - 4, break_on_hyphens=False)
        lines = [f"{name} = Literal[", *(f"    {row}" for row in rows), "]  # fmt: skip"]
    return "\n".join([*lines, *_docstring(schema["description"], "Values", values, ""), ""])


def _union(name: str, schema: Schema) -> str:
    members = " | ".join(_variant(name, variant) for variant in schema["oneOf"])
    return "\n".join([f"{name} = {members}", *_docstring(schema["description"], "", [], ""), ""])


def _class(name: str, schema: Schema, definitions: Mapping[str, Schema]) -> str:
    properties, required = dict(schema.get("properties", {})), schema.get("required", [])
    tag = properties.pop("kind")["const"] if "const" in properties.get("kind", {}) else None
    options = f', tag_field="kind", tag={json.dumps(tag)}' if tag is not None else ""
    if "additionalProperties" in schema and not schema["additionalProperties"]:
        options += ", forbid_unknown_fields=True"
    elif "additionalProperties" in schema:
        properties[OPEN] = {
            "type": "object", "additionalProperties": schema["additionalProperties"], "default": {},
            "description": "Every further key.",
        }  # fmt: skip
    described = [(key, properties[key]["description"]) for key in _fields(properties, required)]
    lines = [
        f"class {name}(Form, frozen=True, kw_only=True{options}):",
        *_docstring(schema["description"], "Attributes", described, "    "),
    ]
    if tag is not None or properties:
        lines.append("")
    if tag is not None:
        lines.append(f"    kind: ClassVar[Literal[{json.dumps(tag)}]] = {json.dumps(tag)}")
    for key in _fields(properties, required):
        field = properties[key]
        default = "" if key in required else f" = {_value(_default(name, key, field), field, definitions)}"
        lines.append(f"    {key}: {_type(field)}{default}")
    return "\n".join([*lines, ""])


def _fields(properties: Mapping[str, Schema], required: list[str]) -> list[str]:
    """Names of fields: first the required fields in their order in Rust, then the optional fields by name."""
    return [*(name for name in required if name in properties), *sorted(properties.keys() - set(required))]


def _default(name: str, key: str, schema: Schema) -> Any:
    if "default" not in schema:
        raise ValueError(f"{name}.{key} is not required and has no default: derive Serialize for its type in Rust")
    return schema["default"]


# ---- types and values ----


def _type(schema: Schema) -> str:
    if "$ref" in schema:
        return _name(schema)
    if "anyOf" in schema:
        return " | ".join(_type(member) for member in schema["anyOf"])
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return " | ".join(_kind(kind, schema) for kind in kinds)


def _kind(kind: str, schema: Schema) -> str:
    if kind == "object":
        return f"Mapping[str, {_type(schema['additionalProperties'])}]"
    if kind == "array" and "prefixItems" in schema:
        return f"tuple[{', '.join(_type(item) for item in schema['prefixItems'])}]"
    if kind == "array":
        return f"tuple[{_type(schema['items'])}, ...]"
    return _PLAIN[kind]


def _value(value: Any, schema: Schema, definitions: Mapping[str, Schema]) -> str:
    """A default value as a Python expression."""
    if "$ref" in schema and isinstance(value, dict):
        name = _name(schema)
        known = definitions[name]
        if "oneOf" in known:
            known = next(v for v in known["oneOf"] if v["properties"]["kind"]["const"] == value["kind"])
            name = _variant(name, known)
        given = [
            f"{key}={_value(item, known['properties'][key], definitions)}"
            for key, item in value.items()
            if "const" not in known["properties"][key] and item != known["properties"][key].get("default")
        ]
        return f"{name}({', '.join(given)})"
    if isinstance(value, list):
        return "()" if not value else f"({', '.join(repr(item) for item in value)},)"
    return json.dumps(value) if isinstance(value, str) else repr(value)


def _docstring(text: str, title: str, items: list[tuple[str, str]], indent: str) -> list[str]:
    """A docstring with a section of named items."""
    lines = textwrap.wrap(_prose(text), WIDTH - len(indent) - 6)
    if items:
        lines += ["", f"{title}:"]
        for name, description in items:
            line = f"    {name}: {_prose(description)}"
            lines += textwrap.wrap(line, WIDTH - len(indent), subsequent_indent="        ")
    quoted = [f'"""{lines[0]}', *lines[1:]]
    return [indent + line if line else "" for line in ([*quoted, '"""'] if len(lines) > 1 else [quoted[0] + '"""'])]


def _prose(text: str) -> str:
    """A comment from Rust in one line, with code in double backticks as in Python."""
    return " ".join(text.split()).replace("`", "``")


def main() -> None:
    """Write both files."""
    text = schema_text()
    SCHEMA.write_text(text, encoding="utf-8")
    TYPES.write_text(types_text(json.loads(text)), encoding="utf-8")


if __name__ == "__main__":
    main()
