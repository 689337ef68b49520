"""Tables of a page, as the template ``numbers`` shows them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from elephan.notebooks import is_number, shown
from elephan.report.gauges import Gauge


@dataclass(frozen=True)
class Ids:
    """Ids of runs, which lead to them where the page can make them."""

    ids: Sequence[str]


def table(
    title: str, header: Sequence[str], rows: Iterable[Sequence[Any]], numeric: Iterable[int] = ()
) -> dict[str, Any]:
    """A table whose columns with numbers are aligned to the right; ``numeric`` are further ones, of numbers as text.

    A cell may be a picture (:class:`~elephan.report.gauges.Gauge`) or ids of runs (:class:`Ids`).
    """
    listed = [list(row) for row in rows]
    right = {i for row in listed for i, value in enumerate(row) if is_number(value)}
    return {
        "title": title, "header": list(header), "numeric": sorted(right.union(numeric)),
        "rows": [[value if isinstance(value, Gauge | Ids) else shown(value) for value in row] for row in listed],
    }  # fmt: skip
