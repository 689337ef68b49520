"""Templates: tables of a file whose texts have placeholders, such as ``{algorithm}``, and the grids that fill them."""

from __future__ import annotations

import itertools
import re
import string
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from elephan.scenario import ScenarioError
from elephan.scenario.errors import join_path
from elephan.scenario.words import hint

_PLACE = re.compile(r"\{(\w+)(:[^{}]*)?\}")


def points(grid: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    """The points of a grid by name, with the last name varying fastest.

    A key of several names (``"first, second"``) has a list of values, one for each name, for each of its points.
    """
    for point in itertools.product(*grid.values()):
        found: dict[str, Any] = {}
        for key, value in zip(grid, point, strict=True):
            names = key.split(", ")
            found |= zip(names, value, strict=True) if len(names) > 1 else {key: value}
        yield found


def filled(template: Any, values: Mapping[str, Any], *, partly: bool = False) -> Any:
    """A template with its placeholders filled; a text that is a single placeholder becomes the value unchanged. With
    ``partly``, placeholders without a value stay.

    Raises:
        ScenarioError: a placeholder has no value; the message has the nearest name.
    """
    if isinstance(template, dict):
        return {key: _at(key, item, values, partly) for key, item in template.items()}
    if isinstance(template, list):
        return [_at(i, item, values, partly) for i, item in enumerate(template)]
    if not isinstance(template, str) or "{" not in template:
        return template
    return _filled_text(template, values, partly)


def _at(step: str | int, item: Any, values: Mapping[str, Any], partly: bool) -> Any:
    try:
        return filled(item, values, partly=partly)
    except ScenarioError as error:
        raise error.located(path=join_path(step)) from None


def _filled_text(text: str, values: Mapping[str, Any], partly: bool) -> Any:
    if partly:
        return _filled_known(text, values)
    for place in places(text):
        if place not in values:
            raise ScenarioError(f"'{{{place}}}' is not a place of this experiment; {hint(place, list(values))}")
    names = places(text)
    if len(names) == 1 and text == f"{{{names[0]}}}":
        return values[names[0]]
    try:
        return text.format_map({name: values[name] for name in names})
    except ValueError as error:
        raise ScenarioError(f"{text!r} cannot be filled: {error}") from None


def _filled_known(text: str, values: Mapping[str, Any]) -> Any:
    """A text in which only the placeholders with a value are filled, and all other braces stay."""

    def fill(place: re.Match[str]) -> str:
        return str(_filled_text(place[0], values, partly=False)) if place[1] in values else place[0]

    whole = _PLACE.fullmatch(text)
    return values[whole[1]] if whole and not whole[2] and whole[1] in values else _PLACE.sub(fill, text)


def places(text: str) -> list[str]:
    """Names of the placeholders in a text.

    Raises:
        ScenarioError: the braces do not match.
    """
    try:
        return [name for _, name, _, _ in string.Formatter().parse(text) if name is not None]
    except ValueError as error:
        raise ScenarioError(f"{text!r} is not a text with places: {error}") from None


def left_open(text: str) -> list[str]:
    """Names in braces that nothing has filled."""
    return [place[1] for place in _PLACE.finditer(text)]
