"""Pieces of HTML for objects in a notebook: tables and small drawings, in the page's own colors."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from typing import Any

MOST_ROWS = 60
"""Largest number of rows of a table in a notebook."""

COLORS = ("#0072b2", "#d55e00", "#009e73", "#e69f00", "#56b4e9", "#cc79a7", "#7f7f7f", "#b8a800")
"""Colors of lines that readers without color vision can distinguish (Okabe and Ito)."""


def escape(value: object) -> str:
    """A text with escaped characters for HTML."""
    return html.escape(str(value))


def heading(title: object, *facts: object) -> str:
    """A title with facts in small letters below."""
    small = " · ".join(escape(fact) for fact in facts if fact not in (None, ""))
    return f"<div><strong>{escape(title)}</strong><br><small>{small}</small></div>"


def table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table; numbers are aligned to the right and have four significant digits, missing values are dashes."""
    lines = [list(row) for row in rows]
    right = {i for row in lines for i, value in enumerate(row) if is_number(value)}
    head = "".join(f"<th{_aligned(i in right)}>{escape(name)}</th>" for i, name in enumerate(header))
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in lines[:MOST_ROWS])
    more = len(lines) - MOST_ROWS
    rest = f"<p><small>and {more:,} more rows</small></p>" if more > 0 else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"


def _cell(value: Any) -> str:
    return f"<td{_aligned(is_number(value), ';white-space:nowrap')}>{escape(shown(value))}</td>"


def is_number(value: Any) -> bool:
    """True for a number; a switch is none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _aligned(right: bool, more: str = "") -> str:
    return f' style="text-align:{"right" if right else "left"}{more}"'


def shown(value: Any) -> str:
    """A value as text."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return "never" if math.isinf(value) else figures(value)
    return f"{value:,}" if isinstance(value, int) else str(value)


def figures(value: float, digits: int = 4) -> str:
    """A number with significant digits as people read it: 16,270 and not 1.627e+04, below a million million."""
    text = f"{value:.{digits}g}"
    return f"{float(text):,.0f}" if "e+" in text and abs(value) < 1e12 else text


def details(title: str, inside: str) -> str:
    """A section that is initially closed."""
    return f"<details><summary>{escape(title)}</summary>{inside}</details>"


def notes(lines: Iterable[str]) -> str:
    """Warnings, one per line."""
    return "".join(f"<p>warning: {escape(line)}</p>" for line in lines)


def lines(series: Sequence[tuple[str, Sequence[tuple[float, float]]]], y_label: str, x_label: str) -> str:
    """A small drawing of lines over a common axis, with a legend: SVG without scripts."""
    width, height, left, bottom, top = 640, 190, 46, 34, 20
    points = [point for _, line in series for point in line]
    if not points:
        return ""
    most_x, most_y = max(x for x, _ in points) or 1.0, max(y for _, y in points) or 1.0
    across, up = (width - left - 8) / most_x, (height - bottom - top) / most_y
    drawn, legend, at = [], [], left
    for i, (name, line) in enumerate(series):
        path = " ".join(f"{left + across * x:.1f},{height - bottom - up * y:.1f}" for x, y in line)
        color = COLORS[i % len(COLORS)]
        drawn.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="1.3"/>')
        legend.append(f'<text x="{at}" y="12" fill="{color}">{escape(name)}</text>')
        at += 7 * len(name) + 16
    base = height - bottom
    frame = f'<path d="M{left} {top}V{base}H{width - 8}" fill="none" stroke="currentColor" stroke-opacity="0.5"/>'
    labels = (
        f'<text x="{left - 4}" y="{top + 8}" text-anchor="end">{most_y:.3g}</text>'
        f'<text x="{left - 4}" y="{base}" text-anchor="end">0</text>'
        f'<text x="{left}" y="{base + 13}">0</text>'
        f'<text x="{width - 8}" y="{base + 13}" text-anchor="end">{most_x:.4g}</text>'
        f'<text x="{(left + width) / 2}" y="{height - 6}" text-anchor="middle">{escape(x_label)}</text>'
        f'<text x="12" y="{(top + base) / 2}" text-anchor="middle" '
        f'transform="rotate(-90 12 {(top + base) / 2})">{escape(y_label)}</text>'
    )
    return svg(width, height, frame + "".join(drawn) + labels + "".join(legend))


def svg(width: int, height: int, inside: str) -> str:
    """A drawing with small letters in the page's color."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'style="max-width:100%" font-size="11" font-family="sans-serif" fill="currentColor">{inside}</svg>'
    )
