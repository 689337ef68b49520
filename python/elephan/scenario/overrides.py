"""``--set KEY=VALUE``: change single fields of a scenario before it is checked."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from elephan.scenario.errors import ScenarioError

_STEP = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_-]*)(?P<indexes>(?:\[(?:\d+|\*)\])*)")


def parse_assignment(text: str, example: str = "flow[0].algorithm=bic") -> tuple[str, Any]:
    """``flow[0].algorithm=bic`` as a key and a value; a value is read as TOML, or as a plain word if it is not TOML.

    Raises:
        ScenarioError: the text has no ``=``, or no key before it.
    """
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise ScenarioError(f"'{text}' sets nothing; write KEY=VALUE, for example {example}")
    return key.strip(), parse_value(value.strip())


def parse_value(text: str) -> Any:
    """A value as TOML would read it; text that TOML cannot read is a plain word, so that ``622 Mbit/s`` needs no
    quotes."""
    try:
        return tomllib.loads(f"value = {text}")["value"] if "\n" not in text else text
    except (ValueError, RecursionError):  # not TOML, or an input on which TOML's parser fails
        return text


def apply_overrides(raw: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of a scenario's tables with fields replaced; keys are paths such as ``measure.from`` or ``flow[*].start``.

    Raises:
        ScenarioError: the path is malformed, or a list position does not exist.
    """
    changed = {name: _copied(value) for name, value in raw.items()}
    for key, value in overrides.items():
        steps = _steps(key)
        _assign(changed, steps, value, key)
    return changed


def _copied(value: Any) -> Any:
    """A copy of tables and lists; what is in them is immutable, and may be tables over time with 100,000 rows."""
    if isinstance(value, dict):
        return {name: _copied(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_copied(item) if isinstance(item, dict | list) else item for item in value]
    return value


MOST_PARTS = 16
"""Largest number of parts of a key, and of tables and lists within each other; a scenario's fields have at most six."""


def check_depth(tables: Mapping[str, Any]) -> None:
    """Reject tables and lists that are nested more deeply than any field of a scenario.

    Raises:
        ScenarioError: they are; the path is the beginning of the deepest field.
    """
    level: list[tuple[str, Any]] = [(key, value) for key, value in tables.items()]
    for _ in range(MOST_PARTS):
        inner: list[tuple[str, Any]] = []
        for path, value in level:
            if isinstance(value, Mapping):
                inner += [(f"{path}.{key}", item) for key, item in value.items()]
            elif isinstance(value, list):
                inner += [(path, item) for item in value if isinstance(item, Mapping | list)]
        level = inner
    if level:
        path = ".".join(level[0][0].split(".")[:3])
        raise ScenarioError(f"nested more than {MOST_PARTS} deep, which no field of a scenario is", path=f"{path}…")


def _steps(key: str) -> list[str | int]:
    """``flow[*].start`` as ``["flow", "*", "start"]``; positions are integers."""
    steps: list[str | int] = []
    if key.count(".") >= MOST_PARTS:
        raise ScenarioError(f"not a field; a field has at most {MOST_PARTS} parts", path=f"{key[:40]}…")
    for part in key.split("."):
        match = _STEP.fullmatch(part)
        if match is None:
            raise ScenarioError(
                "not a field; write for example measure.from, flow[0].algorithm or flow[*].start", path=key or "''"
            )
        steps.append(match["name"])
        steps += [index if index == "*" else int(index) for index in re.findall(r"\[(\d+|\*)\]", match["indexes"])]
    return steps


@lru_cache(maxsize=1024)
def covers(key: str, path: str) -> bool:
    """True if a key of overrides sets a field, by naming the field itself or a table or a list that contains it.

    ``flow[*].start`` covers ``flow[0].start``, and ``dumbbell`` covers ``dumbbell.rate``.
    """
    try:
        ours, theirs = _steps(key), _steps(path)
    except ScenarioError:
        return key == path
    if len(ours) > len(theirs):
        return False
    return all(mine in (step, "*") for mine, step in zip(ours, theirs, strict=False))


def _assign(table: Any, steps: list[str | int], value: Any, key: str) -> None:
    step, rest = steps[0], steps[1:]
    if isinstance(table, list):
        for position in _positions(table, step, key):
            if rest:
                _assign(table[position], rest, value, key)
            else:
                table[position] = _copied(value)
        return
    if not isinstance(table, dict) or not isinstance(step, str) or step == "*":
        raise ScenarioError("there is nothing at this place to set a field of", path=key)
    if not rest:
        table[step] = _copied(value)
        return
    if not isinstance(rest[0], str) or rest[0] == "*":
        if not isinstance(table.get(step), list):
            raise ScenarioError(f"'{step}' is not a list in this scenario", path=key)
    elif isinstance(table.get(step), str) and step == "stack":
        # stack = "ns2" is short for a table with that base: --set stack.initial_window=… keeps the base.
        table[step] = {"base": table[step]}
    _assign(table.setdefault(step, {}), rest, value, key)


def _positions(rows: list[Any], step: str | int, key: str) -> list[int]:
    if step == "*":
        return list(range(len(rows)))
    if not isinstance(step, int):
        raise ScenarioError(f"this is a list; write a position, as in {key.replace('.', '[0].', 1)}", path=key)
    if step >= len(rows):
        name = key[: key.index(f"[{step}]")] if f"[{step}]" in key else "item"
        ends = f"{name}[0] {'and' if len(rows) == 2 else 'to'} {name}[{len(rows) - 1}]"
        there = f"there is only {name}[0]" if len(rows) == 1 else f"there are {len(rows)}: {ends}"
        raise ScenarioError(f"{name}[{step}] is not there; {there if rows else 'there is none'}", path=key)
    return [step]
