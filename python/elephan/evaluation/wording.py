"""Criteria and numbers in words."""

from __future__ import annotations

import math
from dataclasses import dataclass

from elephan.evaluation.criteria import Criterion

_COMPARISONS = {"greater_than_other": "more than", "less_than_other": "less than", "approx_equal_other": "the same as"}
_DIGITS = 4


def number(value: float) -> str:
    """A number with four significant digits, in full up to a million."""
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{value:.{_DIGITS}g}"
    if "e" in text and 1e-3 <= abs(value) < 1e6:
        text = f"{value:.0f}"
    return text.replace("-", "−")


@dataclass(frozen=True)
class Quantity:
    """A judged quantity in words.

    Attributes:
        name: the quantity without its unit, as in "mean queueing delay".
        unit: the unit of the values as they are shown; empty for a plain ratio.
        scale: factor from the judged values to the shown ones, such as 100 for percent.
    """

    name: str = "value"
    unit: str = ""
    scale: float = 1.0

    def plain(self, value: float) -> str:
        """A value without its unit."""
        return number(value * self.scale)

    def amount(self, value: float) -> str:
        """A value with its unit."""
        shown, unit = self.plain(value), self.unit
        if shown == "1" and unit.endswith("s") and "/" not in unit and len(unit) > 2:
            unit = unit[:-1]
        return f"{shown} {unit}".rstrip()

    @property
    def bare(self) -> Quantity:
        """The quantity for a limit beside a value that has the unit; a percentage keeps its sign."""
        return self if self.unit == "%" else Quantity(self.name, "", self.scale)

    def ends(self, low: float, high: float) -> str:
        """An interval with the unit; a single value if both ends are shown alike."""
        first, last = self.plain(low), self.plain(high)
        return self.amount(low) if first == last else f"{first} to {last} {self.unit}".rstrip()


PLAIN = Quantity()


def figure_text(value: float, metric: str) -> str:
    """Text of a measured value, or a note that a time was not reached."""
    return "never in the run" if math.isinf(value) and "_time_" in metric else number(value)


def spread(low: float | None, high: float | None) -> str:
    """An interval, ``"1 to 2"``; empty if there is no interval, or if both ends are equal."""
    return "" if low is None or high is None or low == high else f"{number(low)} to {number(high)}"


def expectation(criterion: Criterion) -> str:
    """The values that a criterion allows, in a few words."""
    slack = _slack(criterion)
    limit = number(criterion.limit)
    values = [number(value) if isinstance(value, int | float) else value for value in criterion.values]
    if criterion.relation in _COMPARISONS:
        margin = f" by {limit}" if criterion.limit else ""
        return f"{_COMPARISONS[criterion.relation]} {', '.join(criterion.other)}{margin}{slack}"
    simple = {
        "approx": f"{limit}{slack}",
        "identity": f"{limit}{slack}",
        ">=": f"≥ {limit}{slack}",
        "<=": f"≤ {limit}{slack}",
        ">": f"> {limit}{slack}",
        "<": f"< {limit}{slack}",
        "constant_in": f"constant along {''.join(values[:1])} within {limit}",
        "increasing_in": f"rises along {''.join(values[:1])}{slack}",
        "decreasing_in": f"falls along {''.join(values[:1])}{slack}",
        "argmax": f"the largest of {', '.join(values)}",
        "argmin": f"the smallest of {', '.join(values)}",
        "ordering_desc": " > ".join(values),
        "sign": "positive, above 0.02" if values[:1] == ["+"] else "negative, below −0.02",
        "member_of": f"{criterion.metric} {' or '.join(values)}",
        "in_range": f"{' to '.join(values)}{slack}",
        "count": values[0] if len(set(values)) == 1 else f"{' to '.join(values)}",
    }
    return simple[criterion.relation]


def _slack(criterion: Criterion) -> str:
    parts = []
    if criterion.tol_abs:
        parts.append(number(criterion.tol_abs))
    if criterion.tol_rel:
        parts.append(f"{number(100 * criterion.tol_rel)} %")
    return f" (± {' or '.join(parts)})" if parts else ""
