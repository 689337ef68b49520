"""Tables for people: at most as wide as the terminal, and with one line per row for other programs.

On a terminal, a table that is too wide is changed step by step until it fits:

1. headings and prose are broken between words;
2. the columns that the caller names in ``least`` are left out in their order, and a line below names them;
3. records are printed one below another, with one line for each field.

A word is broken only if it is wider than the terminal. In a pipe or a file a table has all of its columns, one line per
row, no color, and only ASCII characters outside its cells.
"""

from __future__ import annotations

import math
import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

GAP = 2
"""Number of spaces between two columns of a table."""

PROSE = 18
"""Smallest width of a column of prose, characters."""

_SOFT = "_."
"""Characters after which a heading may be broken."""

_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"
_DASH = "–"


@dataclass(frozen=True)
class Missing:
    """A cell without a value; the reason, one clause, is printed in a line below the table."""

    reason: str


@dataclass(frozen=True)
class Page:
    """Properties of the output of a table.

    Attributes:
        width: width, in characters; ``None`` for lines of any length.
        color: true if headings may be bold.
        ascii_only: true if rules and dashes are ASCII.
    """

    width: int | None = None
    color: bool = False
    ascii_only: bool = True


def page() -> Page:
    """The output properties of stdout: those of its terminal, or lines of any length if stdout is not a terminal.

    ``$COLUMNS`` overrides the terminal's own width. There is no color if ``$NO_COLOR`` is not empty.
    """
    if not is_terminal():
        return Page()
    encoding = (getattr(sys.stdout, "encoding", None) or "").lower()
    color = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return Page(max(20, shutil.get_terminal_size().columns), color, ascii_only=not encoding.startswith("utf"))


def is_terminal() -> bool:
    """True if stdout is a terminal."""
    return sys.stdout.isatty()


def print_table(title: str, header: Sequence[str], rows: Iterable[Sequence[Any]], *, least: Sequence[str] = ()) -> None:
    """Print a table for people on stdout; numbers have four significant digits and are aligned to the right.

    Args:
        title: line above the table; may be empty.
        header: a heading for each column.
        rows: cells; a cell may be :class:`Missing`.
        least: headings of columns that may be left out on a narrow terminal, the least important first.
    """
    lines = table_lines(page(), title, header, [list(row) for row in rows], least)
    click.echo("".join(f"{line}\n" for line in [*lines, ""]), nl=False, color=True)


def table_lines(
    place: Page, title: str, header: Sequence[str], rows: Sequence[Sequence[Any]], least: Sequence[str] = ()
) -> list[str]:
    """The lines of a table, none wider than the page and none with spaces at its end."""
    cells = [[_text(cell, place) for cell in row] for row in rows]
    names = [printable(name) for name in header]
    title = printable(title).strip()
    lines = [_bold(line, place) for line in wrapped(title, place.width)] if title else []
    shown, widths = _layout(place.width, names, cells, least)
    if widths:
        lines += _columns(place, [names[i] for i in shown], [[row[i] for i in shown] for row in cells], widths)
    else:
        lines += _records(place, names, cells)
    notes = _reasons(place, names, rows)
    if len(shown) < len(names):
        left_out = ", ".join(name for i, name in enumerate(names) if i not in shown)
        notes.append(f"left out in {place.width} columns: {left_out}")
    return lines + [line for note in notes for line in wrapped(note, place.width, "  ")]


def _layout(
    room: int | None, names: Sequence[str], cells: Sequence[Sequence[str]], least: Sequence[str]
) -> tuple[list[int], list[int]]:
    """The shown columns and their widths in characters. The widths are empty if the terminal is too narrow for a table,
    so that records are printed."""
    columns = [[row[i] for row in cells] for i in range(len(names))]

    def widths_of(shown: Sequence[int]) -> list[int]:
        return column_widths([names[i] for i in shown], [columns[i] for i in shown], room)

    shown, left_out = list(range(len(names))), []
    for at in (names.index(name) for name in least if name in names):
        if widths_of(shown):
            break
        shown.remove(at)
        left_out.append(at)
    if not widths_of(shown):
        return list(range(len(names))), []
    for at in reversed(left_out):  # the omitted columns may have been wide
        if widths_of(sorted([*shown, at])):
            shown = sorted([*shown, at])
    return shown, widths_of(shown)


def column_widths(names: Sequence[str], columns: Sequence[Sequence[str]], room: int | None) -> list[int]:
    """Widths of the columns of a table within ``room`` characters; empty if the table does not fit without broken
    words.

    Columns are narrowed one by one, the widest first: headings to their longest word, prose to :data:`PROSE`
    characters, numbers and names not at all. If the table is still too wide, headings are broken after ``_`` and ``.``
    too.
    """
    widths = [max(map(width_of, [name, *column])) for name, column in zip(names, columns, strict=True)]
    if room is None:
        return widths
    room -= GAP * (len(widths) - 1)
    for ends in ("", _SOFT):
        narrowest = [_narrowest(name, column, ends) for name, column in zip(names, columns, strict=True)]
        if sum(narrowest) <= room:
            break
    else:
        return []
    while sum(widths) > room:
        _, at = max((width, i) for i, width in enumerate(widths) if width > narrowest[i])
        widths[at] -= 1
    return widths


def _narrowest(name: str, column: Sequence[str], ends: str) -> int:
    words = [width_of(word) for text in column if _is_prose(text) for word in text.split()]
    heading = [width_of(piece) for word in name.split() for piece in _pieces(word, ends)]
    whole = [width_of(text) for text in column if not _is_prose(text)]
    prose = [PROSE] if any(map(_is_prose, column)) else []
    return max([*heading, *words, *whole, *prose], default=0)


def _pieces(word: str, ends: str) -> list[str]:
    """A word in pieces; each piece but the last ends with one of the characters ``ends``."""
    return re.split(f"(?<=[{ends}])(?=.)", word) if ends else [word]


def _is_prose(text: str) -> bool:
    """True if a cell may be broken into lines: several words, and longer than a number with its unit."""
    return width_of(text) > PROSE and " " in text


def _columns(place: Page, names: Sequence[str], cells: Sequence[Sequence[str]], widths: Sequence[int]) -> list[str]:
    numeric = [any(_is_number(row[i]) for row in cells) for i in range(len(names))]
    heading = _laid_out(names, widths, numeric, bottom=True)
    rule = [("-" if place.ascii_only else "─") * width for width in widths]
    lines = [*(_bold(line, place) for line in heading), (" " * GAP).join(rule)]
    for row in cells:
        lines += _laid_out(row, widths, numeric)
    return lines


def _laid_out(row: Sequence[str], widths: Sequence[int], numeric: Sequence[bool], *, bottom: bool = False) -> list[str]:
    """Lines of one row of a table; the cell with the most lines determines the number of lines."""
    cells = [wrapped(text, width, ends=_SOFT if bottom else "") for text, width in zip(row, widths, strict=True)]
    height = max(map(len, cells), default=0)
    lines = []
    for i in range(height):
        line = []
        for cell, width, to_the_right in zip(cells, widths, numeric, strict=True):
            at = i - (height - len(cell)) if bottom else i
            text = cell[at] if 0 <= at < len(cell) else ""
            space = " " * (width - width_of(text))
            line.append(space + text if to_the_right else text + space)
        lines.append((" " * GAP).join(line).rstrip())
    return lines


def _records(place: Page, names: Sequence[str], cells: Sequence[Sequence[str]]) -> list[str]:
    """Each row as a block of lines ``field  value``, with an empty line between two blocks."""
    assert place.width is not None
    label = min(max(map(width_of, names)), place.width // 2)
    room = place.width - label - GAP
    lines: list[str] = []
    for row in cells:
        lines += [""] if row is not cells[0] else []
        for name, text in zip(names, row, strict=True):
            if not text:
                continue
            if max(map(width_of, text.split()), default=0) > room:
                # A long name is put on its own line unbroken, so that the name is easy to copy.
                both = [*wrapped(name, place.width), *(f"  {line}".rstrip() for line in wrapped(text, place.width - 2))]
            else:
                both = _laid_out([name, text], [label, room], [False, False])
            bold = _bold(both[0][: len(name)], place) + both[0][len(name) :] if width_of(name) <= label else both[0]
            lines += [bold, *both[1:]]
    return lines


def _reasons(place: Page, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[str]:
    """A line for each reason why values are missing, with the names of the columns that lack values."""
    columns_of: dict[str, dict[str, None]] = {}
    for row in rows:
        for name, cell in zip(names, row, strict=True):
            if isinstance(cell, Missing):
                columns_of.setdefault(printable(cell.reason), {})[name] = None
    dash = "-" if place.ascii_only else _DASH
    return [
        f"{', '.join(name for name in names if name in found)} {dash}: {reason}" for reason, found in columns_of.items()
    ]


def print_text(text: str) -> None:
    """Print paragraphs on stdout, on a terminal in lines of whole words."""
    width = page().width
    click.echo("\n".join(line for paragraph in text.split("\n") for line in wrapped(paragraph, width)))


def metric_cell(summary: Mapping[str, Any], name: str) -> Any:
    """The cell of a metric in the summary of a run: its value, ``never`` for a time that was not reached, or the reason
    for a missing value."""
    value = summary["metrics"].get(name)
    if value is not None:
        return value
    reason = (summary.get("undefined") or {}).get(name)
    if reason is not None:
        return Missing(reason)
    return math.inf if name in summary["metrics"] else Missing("not among the metrics of this version's summary")


def wrapped(text: str, width: int | None, indent: str = "", ends: str = "") -> list[str]:
    """A text in lines of at most ``width`` characters, broken between words; all lines but the first begin with
    ``indent``.

    A word that is wider than a line is broken, if possible after one of the characters ``ends``.
    """
    if width is None or width_of(text) <= width:
        return [text]
    lines, line = [], ""
    for word in text.split():
        for i, piece in enumerate(_pieces(word, ends) if width_of(word) > width else [word]):
            joined = line + (" " if line.strip() and i == 0 else "") + piece
            if width_of(joined) <= width:
                line = joined
                continue
            if line.strip():
                lines.append(line)
            line = indent + piece
            while width_of(line) > width:
                head = _head(line, width)
                lines.append(head)
                line = indent + line[len(head) :]
    return [*lines, line]


def _head(text: str, width: int) -> str:
    """The longest beginning of a text that fits the width, with at least one character after the indent."""
    end = len(text)
    while end > len(text) - len(text.lstrip()) + 1 and width_of(text[:end]) > width:
        end -= 1
    return text[:end]


def width_of(text: str) -> int:
    """Width of a text on a terminal: two for a wide character, zero for a combining character."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(sign) else 2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in text
    )


def printable(text: str) -> str:
    """A text, such as a title, in one line and without control characters."""
    if text.isprintable():
        return text
    return " ".join("".join(sign if sign.isprintable() or sign.isspace() else "?" for sign in text).split())


def _text(cell: Any, place: Page) -> str:
    text = printable(show_cell(None if isinstance(cell, Missing) else cell))
    return "-" if text == _DASH and place.ascii_only else text


def _bold(text: str, place: Page) -> str:
    return f"{_BOLD}{text}{_PLAIN}" if place.color and text else text


def show_cell(value: Any) -> str:
    """The text of a table cell: a dash for a missing value, four significant digits for a number that is not whole."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return _DASH
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        if math.isinf(value):
            return "never" if value > 0 else "-inf"
        if value != 0 and not 1e-3 <= abs(value) < 1e6:
            return f"{value:.3g}"
        digits = max(0, 3 - math.floor(math.log10(abs(value)))) if value else 0
        return f"{value:,.{min(digits, 4)}f}"
    if isinstance(value, int):
        return f"{value:,}"
    return str(value)


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", ""))
    except ValueError:
        return False
    return text[-1].isdigit()
