"""Tables of thousands of flows, as a person can read them: quantiles over the flows of each algorithm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

MOST_ROWS = 40
"""More flows than this are shown by quantiles."""

QUANTILES = {"least": 0.0, "5 %": 0.05, "median": 0.5, "95 %": 0.95, "most": 1.0}


def over_flows(rows: Sequence[Mapping[str, Any]], fields: Sequence[str]) -> list[dict[str, Any]]:
    """Quantiles of ``fields`` over the flows of each algorithm: one row a quantile.

    A row has ``algorithm``, ``flows`` (how many there are), ``quantile`` and the fields. Between two flows the value is
    interpolated. Flows without a value are left out; a field that no flow has is ``None``.
    """
    import numpy as np

    by_algorithm: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        by_algorithm.setdefault(str(row["algorithm"]), []).append(row)
    found = []
    for algorithm, members in by_algorithm.items():
        columns = {field: [row[field] for row in members if row[field] is not None] for field in fields}
        for name, share in QUANTILES.items():
            values = {field: float(np.quantile(column, share)) if column else None for field, column in columns.items()}
            found.append({"algorithm": algorithm, "flows": len(members), "quantile": name} | values)
    return found
