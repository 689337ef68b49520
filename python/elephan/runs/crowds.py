"""Summaries of thousands of flows: quantiles over the flows of each group.

A quantile between two flows is interpolated linearly. The engine computes the quantiles (``crates/sim/src/crowd.rs``)
for this module and for the table ``crowd``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from elephan.rates import MBIT_PER_BYTE
from elephan.scenario.catalog import engine
from elephan.scenario.form import FlowSpec, Spec
from elephan.scenario.groups import Group

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import polars as pl

MOST_ROWS = 40
"""Largest number of flows that are shown one by one; more flows are shown by quantiles."""

QUANTILES = {0.0: "least", 0.05: "5 %", 0.25: "25 %", 0.5: "median", 0.75: "75 %", 0.95: "95 %", 1.0: "most"}
"""Quantiles over the flows of a group, with their names."""

MEDIAN = 0.5

_BYTES = "delivered_bytes"

SAMPLED = {"cwnd_segments": "cwnd", "srtt_s": "srtt_s", "in_flight_segments": "in_flight"}
"""Columns of ``crowd``, with the columns of ``samples`` from which the quantiles are computed."""

_PS_PER_S = 10**12


def over_flows(rows: Sequence[Mapping[str, Any]], fields: Sequence[str], by: str = "algorithm") -> list[dict[str, Any]]:
    """Quantiles of ``fields`` over the flows of each algorithm, or of each value of ``by``: one row for each quantile.

    A row has ``by``, ``algorithm``, ``flows`` (number of flows), ``quantile`` (from 0 to 1) and the fields. Flows
    without a value are left out; a field that no flow has is ``None``.
    """
    members_of: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        members_of.setdefault(str(row[by]), []).append(row)
    found = []
    for name, members in members_of.items():
        spreads = {field: _spread([row[field] for row in members if row[field] is not None]) for field in fields}
        first = {by: name, "algorithm": members[0]["algorithm"], "flows": len(members)}
        for i, quantile in enumerate(QUANTILES):
            found.append(first | {"quantile": quantile} | {field: spreads[field][i] for field in fields})
    return found


def shown_quantiles(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows of :func:`over_flows` with the names of their quantiles; a single flow has one row and no quantile."""
    found = []
    for row in rows:
        if row["flows"] > 1:
            found.append({**row, "quantile": QUANTILES[row["quantile"]]})
        elif row["quantile"] == MEDIAN:
            found.append({**row, "quantile": None})
    return found


def _spread(values: Sequence[float]) -> list[float | None]:
    """Values at :data:`QUANTILES`; ``None`` if there is no value."""
    return [None if value != value else value for value in engine().spread(list(map(float, values)))]


def crowd_table(form: Spec, groups: Sequence[Group], flows: pl.DataFrame, samples: pl.DataFrame) -> pl.DataFrame:
    """The table ``crowd`` of a run with samples of all flows, computed from these samples.

    Args:
        form: the scenario that was run, with the flows listed one by one.
        groups: the groups of the scenario's flows.
        flows: one row for each flow.
        samples: all sample times of each flow.
    """
    import numpy as np
    import polars as pl

    specs, rows_of = {flow.name: flow for flow in form.flows}, {row["name"]: row for row in flows.iter_rows(named=True)}
    columns = ["time_s", "delivered_segments", *SAMPLED.values()]
    columns += [_BYTES] if _BYTES in samples.columns else []
    plain = samples.select(pl.col("flow").cast(pl.String), *columns)
    tables = {str(name): table for (name,), table in plain.partition_by("flow", as_dict=True).items()}
    parts: list[pl.DataFrame] = []
    for group in groups:
        members = [_member(specs[name], rows_of[name], tables[name]) for name in group.members if name in tables]
        if not members:
            continue
        times_s = tables[group.members[0]]["time_s"].to_numpy()
        active = np.array([member.pop("active") for member in members])
        parts.append(
            _group_table(group, times_s, active, {name: np.array([m[name] for m in members]) for name in members[0]})
        )
    return pl.concat(parts)


def _member(spec: FlowSpec, row: Mapping[str, Any], samples: pl.DataFrame) -> dict[str, npt.NDArray[Any]]:
    """The values of a flow at its sample times, and the times at which it is active: started, neither stopped nor
    completed."""
    import numpy as np

    times_ps = np.rint(samples["time_s"].to_numpy() * _PS_PER_S)
    start_ps = round(row["start_s"] * _PS_PER_S)
    ends_ps = [] if spec.stop_ps is None else [spec.stop_ps]
    if row["completion_s"] is not None:
        ends_ps.append(start_ps + round(row["completion_s"] * _PS_PER_S))
    values = {name: samples[column].cast(float).to_numpy() for name, column in SAMPLED.items()}
    segments = np.diff(samples["delivered_segments"].cast(float).to_numpy(), prepend=np.nan)
    megabits = segments * (spec.stack.payload_bytes * MBIT_PER_BYTE)
    if _BYTES in samples.columns:
        # In the order of the engine's operations, so that the last bits are the engine's too.
        delivered = np.diff(samples[_BYTES].cast(float).to_numpy(), prepend=np.nan)
        megabits += (delivered - segments * spec.stack.payload_bytes) * MBIT_PER_BYTE
    values["goodput_mbps"] = megabits / (np.diff(times_ps, prepend=np.nan) * 1e-12)
    values["active"] = (times_ps >= start_ps) & (times_ps <= min(ends_ps, default=np.inf))
    return values


def _group_table(
    group: Group,
    times_s: npt.NDArray[np.float64],
    active: npt.NDArray[np.bool_],
    values: Mapping[str, npt.NDArray[Any]],
) -> pl.DataFrame:
    """The rows of a group; ``active`` and ``values`` have one row for each flow and one column for each sample time."""
    import polars as pl

    spreads: dict[str, list[float | None]] = {name: [] for name in values}
    for k in range(len(times_s)):
        for name, column in values.items():
            spreads[name] += _spread(column[active[:, k], k])
    each = len(QUANTILES)
    return pl.DataFrame(
        {
            "time_s": times_s.repeat(each),
            "group": [group.name] * (len(times_s) * each),
            "algorithm": [group.algorithm] * (len(times_s) * each),
            "active_flows": active.sum(axis=0).astype("uint64").repeat(each),
            "quantile": list(QUANTILES) * len(times_s),
            **{name: pl.Series(spread, dtype=pl.Float64) for name, spread in spreads.items()},
        },
        schema_overrides={"group": pl.Categorical, "algorithm": pl.Categorical},
    )
