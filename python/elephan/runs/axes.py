"""Axes of a sweep: the values of a field, as they were written and as numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from elephan.scenario.toml import write_value
from elephan.scenario.units import base_quantity

_PLAIN, _FRACTION = "", "fraction"


@dataclass(frozen=True)
class Axis:
    """A field of the scenario, with its value in each run of a sweep.

    Attributes:
        key: the field, as ``dumbbell.rtt``.
        texts: the values as they were written.
        numbers: the values in the base unit, if all are quantities of one kind; ``None`` otherwise.
        base: the base unit in the form that ends the name of a column (``s``, ``bps``, ``bytes``, ``bdp``, ...); empty
            for numbers without a unit.
        unit: the unit of all values as they were written, such as ``ms``; empty if the units differ.
    """

    key: str
    texts: tuple[str, ...]
    numbers: tuple[float, ...] | None = None
    base: str = ""
    unit: str = ""

    @property
    def column(self) -> str:
        """Name of the column of numbers."""
        return f"{self.key}_{self.base}" if self.base else self.key

    @property
    def label(self) -> str:
        """The field and the unit of :attr:`shown`, for a plot."""
        unit = self.unit or _UNITS.get(self.base, self.base)
        return f"{self.key} ({unit})" if unit and self.numbers is not None else self.key

    @property
    def shown(self) -> tuple[float, ...]:
        """The numbers of the axis, in the unit of the texts if all texts have the same unit, or else in the base
        unit."""
        if self.numbers is None or not self.unit:
            return self.numbers or ()
        return tuple(float(text[: -len(self.unit)].replace("_", "")) for text in map(str.strip, self.texts))

    @property
    def distinct(self) -> list[str]:
        """The different values, in the order of the numbers, or else in the order of their first appearance."""
        if self.numbers is None:
            return list(dict.fromkeys(self.texts))
        return list(dict.fromkeys(text for _, text in sorted(zip(self.numbers, self.texts, strict=True))))


_UNITS = {"bps": "bit/s", "bdp": "BDP", "fraction": ""}
"""Base units as texts for readers."""


def axes_of(keys: Sequence[str], points: Sequence[Mapping[str, Any]]) -> list[Axis]:
    """The axes of the points of a sweep."""
    return [_axis(key, [point[key] for point in points]) for key in keys]


def _axis(key: str, values: Sequence[Any]) -> Axis:
    texts = tuple(map(as_text, values))
    found = [_quantity(value) for value in values]
    known = [quantity for quantity in found if quantity is not None]
    bases = {base for base, _, _ in known}
    if not known or len(known) < len(found) or (len(bases) > 1 and bases != {_PLAIN, _FRACTION}):
        return Axis(key, texts)
    units = {unit for _, _, unit in known}
    # "BDP" and "% BDP" are one kind of unit, and "1 ms" ends in its unit.
    unit = next(iter(units)) if len(units) == 1 and len(bases) == 1 else ""
    if unit and not all(text.strip().endswith(unit) for text in texts):
        unit = ""
    return Axis(key, texts, tuple(number for _, number, _ in known), max(bases), unit)


def _quantity(value: Any) -> tuple[str, float, str] | None:
    if isinstance(value, str):
        return base_quantity(value)
    return None if isinstance(value, bool) or not isinstance(value, int | float) else (_PLAIN, float(value), "")


def as_text(value: Any) -> str:
    """A value of a field as text: a name unchanged, a user-defined algorithm by its class, any other value as TOML."""
    if isinstance(value, str):
        return value
    if callable(value):
        return str(getattr(value, "__qualname__", type(value).__qualname__))
    try:
        return write_value(value)
    except TypeError:
        return str(value)
