"""``--limit``: other limits of a suite's criteria, for a reader who does not share those of the suite."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from elephan.evaluation.relations import RELATIONS
from elephan.evaluation.wording import Quantity
from elephan.scenario import ScenarioError
from elephan.scenario.words import hint
from elephan.suites.cases import quantity
from elephan.suites.schema import CriterionTable
from elephan.suites.suite import Suite

_SOURCE = "limit"


def with_limits(suite: Suite, stated: Mapping[str, str]) -> tuple[Suite, list[str]]:
    """The suite with other limits, and a note that names each; a stated limit is exact, without the suite's tolerance.

    Args:
        suite: the suite, or the part of it that is judged.
        stated: by criterion, a value in the unit of its verdict (``"30 %"``), or a range (``"1..2 s"``).

    Raises:
        ScenarioError: the suite has no such criterion, or a value is not one of its unit.
    """
    known = {row.id: row for row in suite.table.criterion}
    for name in stated:
        if name not in known:
            raise ScenarioError(
                f"'{name}' is not a judged criterion of {suite.id}; {hint(name, known)}", source=_SOURCE
            )
    changed = {name: _changed(known[name], text) for name, text in stated.items()}
    notes = [
        f"limit of this evaluation, not of the suite: {name} {_said(row)}; the suite has {_said(known[name])}"
        for name, row in changed.items()
    ]
    criteria = tuple(changed.get(row.id, row) for row in suite.table.criterion)
    return replace(suite, table=suite.table.model_copy(update={"criterion": criteria})), notes


def _said(row: CriterionTable) -> str:
    return row.allowed.said(quantity(row))


def _changed(row: CriterionTable, text: str) -> CriterionTable:
    """A criterion with another limit, and with the suite's in its reason."""
    unit = quantity(row)
    new: dict[str, Any] = {"tol_abs": None, "tol_rel": None}
    if RELATIONS[row.relation].takes == "range":
        low, dots, high = text.partition("..")
        if not dots:
            raise ScenarioError(f"'{text}' is not a range; write {row.id}={_example(row, unit)}", source=_SOURCE)
        ends = _number(row, low, unit, low=True), _number(row, high, unit)
        if ends[0] > ends[1]:
            raise ScenarioError(f"'{text}' has its ends in the wrong order", source=_SOURCE)
        new["range"] = ends
    else:
        new["limit"] = _number(row, text, unit)
    return row.model_copy(update=new | {"reason": f"the limit of this evaluation; the suite has {_said(row)}"})


def _number(row: CriterionTable, text: str, unit: Quantity, *, low: bool = False) -> float:
    """A value in the unit of the criterion; the low end of a range may leave the unit to the high one."""
    wrong = ScenarioError(f"'{text.strip()}' is not a value of {row.id}; write {row.id}={_example(row, unit)}",
                          source=_SOURCE)  # fmt: skip
    value, has_unit = text.strip(), not unit.unit
    for spelling in filter(None, (unit.unit, unit.unit.removesuffix("s"))):
        if value.endswith(spelling):
            value, has_unit = value.removesuffix(spelling).strip(), True
            break
    try:
        found = float(value) / unit.scale
    except ValueError:
        raise wrong from None
    if not math.isfinite(found) or not (has_unit or low):
        raise wrong
    return found


def _example(row: CriterionTable, unit: Quantity) -> str:
    """The suite's own value, as one writes it; quotes keep a space in a shell."""
    if row.range is not None:
        text = f"{row.range[0] * unit.scale:g}..{row.range[1] * unit.scale:g} {unit.unit}".rstrip()
    else:
        text = f"{(row.limit or 0.0) * unit.scale:g} {unit.unit}".rstrip()
    return f"'{text}'" if " " in text else text
