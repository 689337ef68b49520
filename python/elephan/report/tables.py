"""Tables of a page, as the template ``numbers`` shows them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from elephan.notebooks import is_number, shown
from elephan.report.gauges import Gauge


def table(
    title: str, header: Sequence[str], rows: Iterable[Sequence[Any]], numeric: Iterable[int] = ()
) -> dict[str, Any]:
    """A table whose columns with numbers are aligned to the right; ``numeric`` are further ones, of numbers as text.

    A cell may be a picture (:class:`~elephan.report.gauges.Gauge`).
    """
    listed = [list(row) for row in rows]
    right = {i for row in listed for i, value in enumerate(row) if is_number(value)}
    return {
        "title": title, "header": list(header), "numeric": sorted(right.union(numeric)),
        "rows": [[value if isinstance(value, Gauge) else shown(value) for value in row] for row in listed],
    }  # fmt: skip
