"""Numbers and quantities in words."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from elephan.metrics.registry import UNITS, find, spelled

_DIGITS = 4


def spoken(verdict: str) -> str:
    """A verdict or a change in words."""
    return verdict.replace("_", " ")


def number(value: float) -> str:
    """A number with four significant digits, in full up to a million."""
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{value:.{_DIGITS}g}"
    if "e" in text and 1e-3 <= abs(value) < 1e6:
        text = f"{value:.0f}"
    return text.replace("-", "−")


def text_of(value: bool | int | float | str) -> str:
    """A stated value: a number with four significant digits, or a word."""
    return number(value) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


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


def quantity_of(metric: str, words: str = "") -> Quantity:
    """A metric as a quantity. The name of one that is not in the registry says its unit; ``words`` say it better."""
    found = find(metric)
    if found is not None:
        return Quantity(found.label, found.shown_unit)
    name, _, per = metric.partition("_per_")
    units = [word for word in name.split("_") if word in UNITS]
    if not (units and per):
        name, per = metric, ""
        units = [word for word in name.split("_") if word in UNITS]
    said = "_".join(word for word in name.split("_") if word not in UNITS)
    unit = UNITS[units[-1]] if units else ""
    return Quantity(words or parameter(said), f"{unit}/{parameter(per)}" if per else unit)


def figure_text(value: float, metric: str) -> str:
    """Text of a measured value, or a note that a time was not reached."""
    return "never in the run" if math.isinf(value) and "_time_" in metric else number(value)


def spread(low: float | None, high: float | None) -> str:
    """An interval, ``"1 to 2"``; empty if there is no interval, or if both ends are equal."""
    return "" if low is None or high is None or low == high else f"{number(low)} to {number(high)}"


_PARAMETERS = {"bg": "background traffic", "on_off": "duty cycle"}


def parameter(name: str) -> str:
    """The name of a parameter in words, without its unit, as "buffer" for ``buffer_pkts``."""
    return _PARAMETERS.get(name) or re.sub(r"(?<=[a-z])(?=[0-9]+$)", " ", spelled(name))


def condition(name: str, value: bool | int | float | str) -> str:
    """A condition in words, with its unit, as "buffer 2000 packets"."""
    words, unit = parameter(name), UNITS.get(name.rpartition("_")[2], "")
    if isinstance(value, bool):
        return f"{'with' if value else 'without'} {words}"
    text = text_of(value)
    return f"{words} {text}" + (f" {unit}" if unit and text[-1:].isdigit() else "")


def where_text(stated: Mapping[str, bool | int | float | str], at: str = "", said: str = "") -> str:
    """Conditions in words, without those that ``said`` has already; ``at`` begins those that have a value."""
    left = {name: value for name, value in stated.items() if str(value) not in said}
    values = ", ".join(condition(name, value) for name, value in left.items() if not isinstance(value, bool))
    switches = (condition(name, value) for name, value in left.items() if isinstance(value, bool))
    return ", ".join(filter(None, (f"{at}{values}" if values else "", *switches)))
