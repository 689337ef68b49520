"""Numbers of a run that an expression of a lab can name, as the page computes them (``web/src/readings.ts``)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from elephan.runs import Run

SETTINGS = ("rate_mbps", "rtt_ms", "buffer_packets", "loss_percent", "duration_s")
"""Numbers of a setting; ``flows`` is the number of its flows, and ``rtt_ms[2]`` the RTT of the second."""
OF_RUN = ("utilization", "jain", "loss_rate", "drops", "queue_mean_packets", "queue_max_packets", "marks")
OF_FLOW = (
    "throughput_mbps", "goodput_mbps", "share", "rtt_mean_ms", "retransmits", "loss_events", "timeouts",
    "cwnd_max", "cwnd_min", "cwnd_mean", "rtt_max_ms", "rtt_min_ms", "period_s",
)  # fmt: skip
"""Numbers of a flow. Those of ``cwnd``, ``rtt_max_ms`` and ``rtt_min_ms`` are of the samples that the pictures show."""
_WHOLE = {"retransmits", "loss_events", "timeouts"}  # counted in the whole run, as in the page's table
FALL = 0.9
"""A sample of the window below this fraction of the sample before is a reduction."""


def is_known(name: str, flow: int | None) -> bool:
    """True if an expression can name this number."""
    if flow is None:
        return name in SETTINGS or name in OF_RUN or name == "flows"
    return name in OF_FLOW or name == "rtt_ms"


def of_setting(settings: Mapping[str, Any], name: str, flow: int | None) -> float | None:
    """Number of a setting; ``None`` if the name is one of a run."""
    flows = settings["flows"]
    if name == "flows":
        return float(len(flows))
    if name == "rtt_ms" and flow is not None:
        own = flows[flow - 1]["rtt_ms"] if flow <= len(flows) else math.nan
        return float(settings["rtt_ms"] if own is None else own)
    return float(settings[name]) if name in SETTINGS else None


def of_run(run: Run, name: str, flow: int | None) -> float:
    """Number of a run; no number if it has no such flow."""
    summary = run.summary()
    if flow is None:
        if name == "jain":
            return float(summary["metrics"]["jain"])
        if name == "queue_max_packets":
            table = run.links.filter(run.links["link"] == run.links["link"][0])
            return _largest(_measured(run, table["time_s"].to_numpy(), table["queue_mean"].to_numpy()))
        return float(summary["links"][0][name])
    flows = summary["flows"]
    if flow > len(flows):
        return math.nan
    if name == "share":
        return float(flows[flow - 1]["throughput_mbps"] / sum(row["throughput_mbps"] for row in flows))
    if name in flows[flow - 1] and not name.startswith(("cwnd", "rtt_max", "rtt_min")):
        return _number(flows[flow - 1][f"total_{name}" if name in _WHOLE else name])
    return _of_samples(run, name, flows[flow - 1]["name"])


def _of_samples(run: Run, name: str, flow: str) -> float:
    table = run.samples.filter(run.samples["flow"] == flow)
    times = table["time_s"].to_numpy()
    column = "rtt_s" if name.startswith("rtt") else "cwnd"
    values = _measured(run, times, table[column].to_numpy().astype(float))
    if column == "rtt_s":
        values = values * 1e3
    known = values[~np.isnan(values)]
    if not len(known):
        return math.nan
    if name == "period_s":
        return _period(values, _measured(run, times, times))
    kind = name.removesuffix("_ms").rpartition("_")[2]
    return float(known.max() if kind == "max" else known.min() if kind == "min" else known.mean())


def _period(values: np.ndarray[Any, Any], times: np.ndarray[Any, Any]) -> float:
    """Mean time between reductions of the window."""
    (falls,) = np.nonzero(values[1:] < FALL * values[:-1])
    begun = [at for k, at in enumerate(falls) if k == 0 or falls[k - 1] != at - 1]
    return float((times[begun[-1]] - times[begun[0]]) / (len(begun) - 1)) if len(begun) > 1 else math.nan


def _measured(run: Run, times: np.ndarray[Any, Any], values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Values within the measured time; its beginning is the middle of the run."""
    begin = float(run.summary()["measure"]["from_s"])
    kept: np.ndarray[Any, Any] = values[times >= begin - 1e-9]
    return kept


def _largest(values: np.ndarray[Any, Any]) -> float:
    return float(np.nanmax(values)) if len(values) else math.nan


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)
