"""The paper's own Table 2, read from the claims, with checks of its consistency."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from elephan.evaluation.evidence import Evidence
from elephan.evaluation.measuring import Rule, Suite, stated
from elephan.metrics import jain_index
from elephan.papers.claims import ClaimSet

_CELL = re.compile(r"hcc2011\.(table2[ab])\.(\w+)\.ratio(\d+(?:p\d+)?)\.(t1|t2|ei|fi)")
Key = tuple[str, str, float]
"""Key of a row: table (``table2a`` or ``table2b``), protocol, ratio."""


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

    def measurer(self, runs: Evidence) -> Suite:
        """The measurements of the whole table."""
        rows = self.rows.values()

        def largest(number: Callable[[Row], float]) -> Rule:
            return stated(lambda suite, subject, at: max(map(number, rows)), f"over {len(rows)} rows as printed")

        residual = {
            "EI_minus_T1_plus_T2": largest(lambda row: abs(row.ei - row.t1 - row.t2)),
            "FI_minus_formula": largest(lambda row: abs(row.fi - jain_index([row.t1, row.t2]))),
        }
        table: dict[str, Rule] = {
            "max_abs_residual": lambda suite, subject, at: residual[subject](suite, subject, at),
            "sum_throughput_mbps": largest(lambda row: row.ei),
            "max_sum_throughput_mbps": largest(lambda row: row.ei),
        }
        return Suite(runs, None, table)
