"""Claims and judgments in words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from elephan.papers.claims import Claim, Judgment

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


def figure_text(value: float, metric: str) -> str:
    """A measured value: a time that was never reached is said so."""
    return "never in the run" if math.isinf(value) and "_time_" in metric else number(value)


def expectation(claim: Claim) -> str:
    """What a claim allows, in a few words."""
    slack = _slack(claim)
    expected = number(claim.expected)
    values = [number(value) if isinstance(value, int | float) else value for value in claim.values]
    if claim.relation in _COMPARISONS:
        margin = f" by {expected}" if claim.expected else ""
        return f"{_COMPARISONS[claim.relation]} {', '.join(claim.other)}{margin}{slack}"
    simple = {
        "approx": f"{expected}{slack}",
        "identity": f"{expected}{slack}",
        ">=": f"≥ {expected}{slack}",
        "<=": f"≤ {expected}{slack}",
        ">": f"> {expected}{slack}",
        "<": f"< {expected}{slack}",
        "constant_in": f"constant along {''.join(values[:1])} within {expected}",
        "increasing_in": f"rises along {''.join(values[:1])}{slack}",
        "decreasing_in": f"falls along {''.join(values[:1])}{slack}",
        "argmax": f"the largest of {', '.join(values)}",
        "argmin": f"the smallest of {', '.join(values)}",
        "ordering_desc": " > ".join(values),
        "sign": "positive, above 0.02" if values[:1] == ["+"] else "negative, below −0.02",
        "member_of": f"{claim.metric} {' or '.join(values)}",
        "in_range": f"{' to '.join(values)}{slack}",
        "count": values[0] if len(set(values)) == 1 else f"{' to '.join(values)}",
    }
    return simple[claim.relation]


def _slack(claim: Claim) -> str:
    parts = []
    if claim.tol_abs:
        parts.append(number(claim.tol_abs))
    if claim.tol_rel:
        parts.append(f"{number(100 * claim.tol_rel)} %")
    return f" (± {' or '.join(parts)})" if parts else ""


def sentence(judgment: Judgment, finding: str | None = None) -> str:
    """One sentence with the numbers; where a claim differs, our explanation of the cause comes first."""
    claim = judgment.claim
    measured = figure_text(judgment.measured if judgment.measured is not None else math.nan, claim.metric)
    between = ""
    if judgment.low is not None and judgment.high is not None and judgment.low != judgment.high:
        between = f" ({number(judgment.low)} to {number(judgment.high)} over seeds)"
    compared = f"; {judgment.detail}" if judgment.detail else ""
    numbers = f"{_what(claim)} {measured}{between}, allowed {judgment.expectation}{_distance(judgment)}{compared}"
    if judgment.verdict == "differs" and finding:
        return f"{finding} [{numbers}]"
    return numbers


def _what(claim: Claim) -> str:
    if claim.relation in ("greater_than_other", "less_than_other"):
        return "measured a margin of"
    if claim.relation == "approx_equal_other":
        return "measured a difference of"
    if claim.relation in ("argmax", "argmin"):
        return "measured rank"
    if claim.relation == "ordering_desc":
        return "measured an agreement (Kendall's tau) of"
    return "measured"


def _distance(judgment: Judgment) -> str:
    margin = judgment.margin
    if judgment.verdict != "differs" or margin is None or not math.isfinite(margin) or margin == 0:
        return ""
    if judgment.claim.relation in ("member_of", "count", "argmax", "argmin", "ordering_desc"):
        return ""
    return f", off by {number(-margin)}"
