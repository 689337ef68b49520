"""Writer of a scenario as TOML; the standard library only has a reader."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_LONG = 1000
_NOT_TOML = ("\\", "{", "null", "NaN", "Infinity")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_PLAIN = re.compile(r"[ !#-\[\]-~]*")
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\b": "\\b", "\f": "\\f"}


class Inline(str):
    """The TOML text of a value."""

    __slots__ = ()


def write_toml(tables: Mapping[str, Any]) -> str:
    """A TOML document: values first, then tables, then lists of tables; nested tables are written inline."""
    lines = [f"{_key(key)} = {write_value(value)}" for key, value in tables.items() if not _is_table(value)]
    for key, value in tables.items():
        if isinstance(value, Mapping):
            lines += ["", f"[{_key(key)}]", *(f"{_key(k)} = {write_value(v)}" for k, v in value.items())]
    for key, value in tables.items():
        if _is_table(value) and not isinstance(value, Mapping):
            for row in value:
                lines += ["", f"[[{_key(key)}]]", *(f"{_key(k)} = {write_value(v)}" for k, v in row.items())]
    return "\n".join(lines).strip() + "\n"


def _is_table(value: Any) -> bool:
    rows = isinstance(value, list | tuple) and len(value) > 0 and all(isinstance(row, Mapping) for row in value)
    return isinstance(value, Mapping) or rows


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _string(key)


def _string(text: str) -> str:
    if _PLAIN.fullmatch(text):  # most texts; a table over time has hundreds of thousands
        return f'"{text}"'
    escaped = "".join(_ESCAPES.get(c, c if c.isprintable() else f"\\U{ord(c):08x}") for c in text)
    return f'"{escaped}"'


def write_value(value: Any) -> str:
    """One value; tables are written inline."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, Inline):
        return value
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(k)} = {write_value(v)}" for k, v in value.items()) + " }" if value else "{}"
    if isinstance(value, list | tuple):
        return _long(value) or "[" + ", ".join(write_value(item) for item in value) + "]"
    raise TypeError(f"TOML has no value for {type(value).__name__}")


def _long(value: list[Any] | tuple[Any, ...]) -> str:
    """A long list, such as a table over time, as JSON writes it, if that is TOML too; otherwise empty. The standard
    library's writer of JSON is ten times as fast."""
    if len(value) < _LONG:
        return ""
    text = json.dumps(value, ensure_ascii=False)
    return text if text.isprintable() and not any(sign in text for sign in _NOT_TOML) else ""
