"""Claims and numbers in words."""

from __future__ import annotations

import math

from elephan.papers.claims import Claim

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
