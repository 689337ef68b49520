"""The first paragraph of a report, generated from the verdicts."""

from __future__ import annotations

import math
from collections.abc import Sequence

from elephan.evaluation.wording import spoken
from elephan.suites.result import Evaluation, Outcome
from elephan.suites.sides import Difference, Sides

_SHOWN = 3


def paragraph(found: Evaluation) -> str:
    """One paragraph: the number of criteria that hold, the failed criteria with their cells, the criteria of concern,
    and the criteria that are not settled."""
    totals = found.totals
    judged = len(found.outcomes)
    musts = [outcome for outcome in found.outcomes if outcome.criterion.force == "must"]
    kept = sum(outcome.verdict == "pass" for outcome in musts)
    size = " (quick)" if found.quick else ""
    name = found.name
    parts = [f"{name} by {found.suite.id}{size}: {totals['pass'] + totals['weak']} of {judged} criteria pass"]
    parts[0] += f", {kept} of {len(musts)} of those that are a must." if musts else "."
    parts += _named(found, "fail", "Fails")
    parts += _named(found, "concern", "Of concern")
    parts += _named(found, "not_settled", "Not settled")
    if totals["weak"]:
        parts.append(f"{_criteria(totals['weak'])} by a limit that the baseline does not meet either: weak.")
    if totals["not_judged"]:
        parts.append(f"Not judged: {totals['not_judged']}.")
    if found.against is not None:
        parts.append(_comparison(found, found.against.label))
    return " ".join(parts)


def said_of(found: Sides) -> str:
    """One paragraph on the agreement of backends; differing verdicts are first."""
    names = " and ".join(found.backends)
    opposed = [one for one in found.differences if one.opposed]
    apart = [one for one in found.differences if not one.opposed]
    judged = len(found.shared)
    if not judged:
        parts = [f"{found.algorithm}: no cell was judged on both {names}."]
    elif not opposed:
        parts = [f"{found.algorithm}: no settled verdict differs between {names} in {_cells(judged)}."]
    else:
        shown = "; ".join(_difference(found, one) for one in opposed[:_SHOWN])
        more = f"; and {len(opposed) - _SHOWN} more" if len(opposed) > _SHOWN else ""
        parts = [f"{found.algorithm}: {names} disagree in {len(opposed)} of {_cells(judged)}: {shown}{more}."]
    if apart:
        shown = "; ".join(_difference(found, one) for one in apart[:_SHOWN])
        more = f"; and {len(apart) - _SHOWN} more" if len(apart) > _SHOWN else ""
        said = "Values differ beyond their intervals, with the same verdict or one that is not settled"
        parts.append(f"{said}, in {len(apart)}: {shown}{more}.")
    for name, missing in found.missing.items():
        if missing:
            parts.append(f"Not judged on {name}: {', '.join(missing)}.")
    return " ".join(parts)


def _cells(count: int) -> str:
    return "one cell that both judge" if count == 1 else f"{count} cells that both judge"


def _difference(found: Sides, one: Difference) -> str:
    where = f" at {one.cell}" if one.cell else ""
    quantity = found.evaluations[0].outcome(one.criterion).quantity
    values = ", ".join(
        f"{name} {quantity.amount(judged.found.value)} ({spoken(judged.verdict)})"
        for name, judged in zip(found.backends, one.judged, strict=True)
    )
    return f"{one.criterion}{where}: {quantity.name} {values}"


def _criteria(count: int) -> str:
    return "One criterion passes" if count == 1 else f"{count} criteria pass"


def _named(found: Evaluation, verdict: str, word: str) -> list[str]:
    listed = [outcome for outcome in found.outcomes if outcome.verdict == verdict]
    return [f"{word}: {_list(listed)}."] if listed else []


def _list(outcomes: Sequence[Outcome]) -> str:
    shown = [f"{_section(outcome)}{outcome.criterion.id}{_at(outcome)}" for outcome in outcomes[:_SHOWN]]
    more = len(outcomes) - _SHOWN
    return "; ".join([*shown, f"and {more} more"] if more > 0 else shown)


def _section(outcome: Outcome) -> str:
    name = outcome.criterion.section
    return f"§{name} " if name[:1].isdigit() else ""


def _at(outcome: Outcome) -> str:
    worst = outcome.worst
    if worst is None or worst.judged is None:
        return ""
    if math.isnan(worst.judged.found.value):  # a program failed
        return f" ({worst.why})"
    value = outcome.quantity.amount(worst.judged.found.value)
    return f" ({outcome.quantity.name} {value}{worst.case.cell.where}, {outcome.required})"


def _comparison(found: Evaluation, against: str) -> str:
    changes = [outcome.comparison for outcome in found.outcomes if outcome.comparison is not None]
    counted = [f"{changes.count(word)} {spoken(word)}" for word in ("better", "worse", "same", "not_settled")]
    worse = [outcome.criterion.id for outcome in found.outcomes if outcome.comparison == "worse"]
    named = f"; worse in {', '.join(worse[:_SHOWN])}{' and others' if len(worse) > _SHOWN else ''}" if worse else ""
    return f"Against {against}: {', '.join(counted)}{named}."
