"""The paper's own Table 2, from its claims: what it has to obey by itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from elephan.evaluation.measurement import Measurement, constant
from elephan.metrics import jain_index
from elephan.papers.claims import ClaimError, ClaimSet

_CELL = re.compile(r"hcc2011\.(table2[ab])\.(\w+)\.ratio(\d+(?:p\d+)?)\.(t1|t2|ei|fi)")
Key = tuple[str, str, float]
"""Table (``table2a`` or ``table2b``), protocol, ratio."""


@dataclass(frozen=True)
class Row:
    """One protocol at one ratio: both throughputs and their sum in Mbit/s, and Jain's index."""

    t1: float
    t2: float
    ei: float
    fi: float


class Published:
    """Table 2 as printed."""

    def __init__(self, claims: ClaimSet) -> None:
        cells: dict[Key, dict[str, float]] = {}
        for claim in claims.claims:
            if match := _CELL.fullmatch(claim.id):
                table, protocol, ratio, column = match.groups()
                cells.setdefault((table, protocol, float(ratio.replace("p", "."))), {})[column] = claim.limit
        self.rows = {key: Row(**values) for key, values in cells.items()}

    def measure(self, metric: str, subject: str) -> Measurement:
        """A number of the whole table.

        Raises:
            ClaimError: nothing here knows how it is measured.
        """
        rows = self.rows.values()
        known: dict[tuple[str, str], Callable[[], float]] = {
            ("max_abs_residual", "EI_minus_T1_plus_T2"): lambda: max(abs(row.ei - row.t1 - row.t2) for row in rows),
            ("max_abs_residual", "FI_minus_formula"): lambda: max(
                abs(row.fi - jain_index([row.t1, row.t2])) for row in rows
            ),
            ("sum_throughput_mbps", "all"): lambda: max(row.ei for row in rows),
            ("max_sum_throughput_mbps", "all"): lambda: max(row.ei for row in rows),
        }
        if (metric, subject) not in known:
            raise ClaimError(f"'{metric}' of '{subject}' is not a number of the published table")
        return constant(known[metric, subject](), f"over {len(self.rows)} rows as printed")
