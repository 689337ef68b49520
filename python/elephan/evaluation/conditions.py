"""The conditions of a criterion, and the aggregation over several conditions.

A condition is a value (``buffer_pkts = 1555``) or a text that names several values. With ``"each of 1.5, 2, 6"`` the
criterion must hold at each value. With ``"mean over RTTs"`` or ``"max over RTTs"`` the criterion is about the mean or
the maximum of the measurements at all RTTs. If the text lists no values, the experiment's values are used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from elephan.evaluation.measurement import NotJudgedError

Value = bool | int | float | str
Where = Mapping[str, Value]
How = Literal["each", "mean", "max", "min"]

_FORM = re.compile(r"(?P<how>each|mean|max|min)(?P<joint>\s+of|\s+over)?(\s+(?P<rest>.+))?")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_SPAN = re.compile(r"(-?\d+(?:\.\d+)?)\s*(?:\.\.|to)\s*(-?\d+(?:\.\d+)?)")


@dataclass(frozen=True)
class Aggregation:
    """Several conditions of one criterion.

    Attributes:
        how: ``each`` if the criterion must hold at every condition; otherwise the function that combines the measured
            values.
        wheres: the conditions, one by one.
    """

    how: How
    wheres: tuple[Where, ...]


def span(text: str) -> tuple[float, float] | None:
    """Parses ``"20..50"`` or ``"600 to 4000"`` to a pair of numbers; ``None`` for another text."""
    match = _SPAN.fullmatch(text.strip())
    return (float(match[1]), float(match[2])) if match else None


Points = Callable[[str], Sequence[Value]]


def points_of(parameter: str, known_points: Points, text: str = "") -> list[Value]:
    """The values of a parameter: the values that ``text`` lists, otherwise ``known_points``, limited to the span if
    ``text`` is a span.

    Raises:
        NotJudgedError: neither ``text`` nor ``known_points`` lists points.
    """
    limits = span(text)
    if limits is None and (listed := _NUMBER.findall(text)):
        return [float(number) if "." in number or "e" in number.lower() else int(number) for number in listed]
    points = list(known_points(parameter))
    if limits is not None:
        points = [point for point in points if not isinstance(point, str) and limits[0] <= point <= limits[1]]
    return points


def aggregation(where: Where, known_points: Points) -> Aggregation | None:
    """The aggregation that conditions ask for, or ``None`` for a single condition.

    Raises:
        NotJudgedError: the points of a parameter are not stated, or two aggregations are stated.
    """
    asked = {}
    for key, value in where.items():
        match = _FORM.fullmatch(value.strip()) if isinstance(value, str) else None
        if match and (match["joint"] or not match["rest"]):
            asked[key] = match
    if not asked:
        return None
    if len(asked) > 1:
        raise NotJudgedError(f"conditions on {' and '.join(asked)} are both to be aggregated")
    ((key, match),) = asked.items()
    points = points_of(key, known_points, match["rest"] or "")
    how: How = match["how"]  # type: ignore[assignment]  # the pattern only allows these words
    return Aggregation(how, tuple({**where, key: point} for point in points))
