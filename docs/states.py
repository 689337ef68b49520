"""Pictures of states: a block ``states`` of docs/explained becomes an SVG picture in an algorithm's page.

A block names each state with its column and row, and each transition with its condition:

    at 0 0: slow start
    at 1 0: congestion avoidance
    slow start -> congestion avoidance: w ≥ ssthresh

A connection starts in the first state. Transitions connect neighbors in a row, a column or a diagonal, because arrows
are straight and would cross a box between two states.
"""

from __future__ import annotations

import math
import re
import textwrap
from dataclasses import dataclass
from html import escape

BLOCK = re.compile(r"```states\n(.*?)```\n", re.DOTALL)
BOX, PITCH, MARGIN = (176, 44), (344, 150), (44, 26)
"""Width and height of a box, distances between columns and between rows, and margins, px."""
LINE, APART = 15, 9
"""Height of a line of text, and half of the distance between two arrows that connect the same boxes, px."""

Point = tuple[float, float]


@dataclass(frozen=True)
class States:
    """States with their columns and rows, and transitions between them."""

    places: dict[str, tuple[int, int]]
    transitions: list[tuple[str, str, str]]


def parse(text: str) -> States:
    """Reads a block; raises ValueError for a line that is neither a state nor a transition between states."""
    places: dict[str, tuple[int, int]] = {}
    transitions = []
    for line in text.splitlines():
        if found := re.fullmatch(r"at (\d) (\d): (.+)", line):
            places[found[3]] = (int(found[1]), int(found[2]))
        elif (found := re.fullmatch(r"(.+) -> (.+?): (.+)", line)) and {found[1], found[2]} <= places.keys():
            transitions.append((found[1], found[2], found[3]))
        else:
            raise ValueError(f"neither a state nor a transition between states: {line!r}")
    for a, b, _ in transitions:
        aslant = all(here != there for here, there in zip(places[a], places[b], strict=True))
        if aslant and any((b, a) == other[:2] for other in transitions):
            raise ValueError(f"two opposite transitions on a diagonal: {a!r} and {b!r}")
    return States(places, transitions)


def drawn(text: str) -> str:
    """The text of a page with its blocks ``states`` replaced by pictures."""
    return BLOCK.sub(lambda found: picture(parse(found[1])) + "\n", text)


def picture(states: States) -> str:
    """The states as an SVG element in the colours of the page, with a description for screen readers."""
    columns = max(column for column, _ in states.places.values())
    rows = max(row for _, row in states.places.values())
    width = 2 * MARGIN[0] + columns * PITCH[0] + BOX[0]
    height = 2 * MARGIN[1] + rows * PITCH[1] + BOX[1]
    said = "; ".join(f"{a} to {b}: {label}" for a, b, label in states.transitions)
    parts = [
        f'<div class="states" tabindex="0"><svg viewBox="0 0 {width} {height}" width="{width}" role="img"'
        f' aria-label="States. {escape(said)}">',
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0 0L8 4L0 8z"/></marker></defs>',
    ]
    x, y = centre(next(iter(states.places.values())))
    left = x - BOX[0] / 2
    parts.append(f'<circle cx="{left - 34:g}" cy="{y:g}" r="5"/>' + _arrow((left - 34, y), (left, y)))
    pairs = {(a, b) for a, b, _ in states.transitions}
    for a, b, label in states.transitions:
        parts += _transition(states.places[a], states.places[b], label, both=(b, a) in pairs)
    for name, place in states.places.items():
        x, y = centre(place)
        corner = f'x="{x - BOX[0] / 2:g}" y="{y - BOX[1] / 2:g}" width="{BOX[0]}" height="{BOX[1]}"'
        parts.append(f'<rect {corner} rx="8"/><text class="state" x="{x:g}" y="{y + 5:g}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg></div>"]) + "\n"


def centre(place: tuple[int, int]) -> Point:
    """Centre of the box at a column and a row."""
    return (
        MARGIN[0] + BOX[0] / 2 + place[0] * PITCH[0],
        MARGIN[1] + BOX[1] / 2 + place[1] * PITCH[1],
    )


def _arrow(start: Point, end: Point) -> str:
    at = f'x1="{start[0]:g}" y1="{start[1]:g}" x2="{end[0]:g}" y2="{end[1]:g}"'
    return f'<line {at} marker-end="url(#arrow)"/>'


def _transition(a: tuple[int, int], b: tuple[int, int], label: str, *, both: bool) -> list[str]:
    """An arrow and its label; each of two opposite arrows is drawn to the left of its own direction."""
    (x1, y1), (x2, y2) = centre(a), centre(b)
    length = math.hypot(x2 - x1, y2 - y1)
    along = ((x2 - x1) / length, (y2 - y1) / length)
    side = APART if both else 0
    shift = (along[1] * side, -along[0] * side)
    reach = min(
        BOX[0] / 2 / abs(along[0]) if along[0] else math.inf, BOX[1] / 2 / abs(along[1]) if along[1] else math.inf
    )
    start = (x1 + along[0] * reach + shift[0], y1 + along[1] * reach + shift[1])
    end = (x2 - along[0] * reach + shift[0], y2 - along[1] * reach + shift[1])
    return [_arrow(start, end), _label(label, start, end)]


def _label(text: str, start: Point, end: Point) -> str:
    """The label of an arrow: above an arrow to the right, below an arrow to the left, beside a vertical arrow."""
    x, y = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
    down, right = end[1] - start[1], end[0] - start[0]
    if abs(down) < 1:
        lines = textwrap.wrap(text, 22)
        first = y - 7 - LINE * (len(lines) - 1) if right > 0 else y + LINE
        anchor = "middle"
    else:
        lines = textwrap.wrap(text, 17)
        first = y + 5 - LINE * (len(lines) - 1) / 2
        anchor = "middle" if abs(right) > 1 else "start" if down > 0 else "end"
        x += 0 if abs(right) > 1 else 8 if down > 0 else -8
    spans = "".join(
        f'<tspan x="{x:g}" y="{first + LINE * number:g}">{escape(line)}</tspan>' for number, line in enumerate(lines)
    )
    return f'<text text-anchor="{anchor}">{spans}</text>'
