"""Limits on the cost of a run: bounds on its processor time and its memory that its size justifies.

The bounds are generous: they are there to find what grows without reason, not to measure speed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MEMORY_BYTES = 2**30
"""Memory that a run may take; one that needs more is refused or ended by the engine, and counts as cancelled."""
PATIENCE_S = 2.0
"""Processor time after which a run that may take longer is cancelled."""
LONGEST_S = 30.0
"""Processor time after which any run is cancelled."""
BASE_S = 1.0
SECONDS_PER_EVENT = 4e-6
BASE_BYTES = 256 * 2**20
BYTES_PER_EVENT = 200
BYTES_PER_SAMPLE = 400
BYTES_PER_SEGMENT = 90
BYTES_PER_LOGGED = 300
"""An event in the log: a row, its copy in the order of time, and 23 columns whose lists double."""
BYTES_PER_SLOT = 20_000
"""A flow, a link or an active transfer."""
_PS = 1e-12


@dataclass(frozen=True)
class Size:
    """Upper bounds on what happens in a run."""

    events: float
    samples: float
    slots: float

    @property
    def seconds(self) -> float:
        """Processor time that the run may take."""
        return BASE_S + SECONDS_PER_EVENT * self.events + 1e-6 * self.samples + 1e-4 * self.slots

    @property
    def octets(self) -> float:
        """Memory that the run may add."""
        kept = BYTES_PER_EVENT * self.events + BYTES_PER_SAMPLE * self.samples
        return BASE_BYTES + kept + BYTES_PER_SLOT * self.slots


def size_of(form: dict[str, Any]) -> Size:
    """Bounds for a canonical scenario: the packets that its links can carry, its timers, its samples."""
    seconds = form["duration_ps"] * _PS
    sources = form.get("traffic", [])
    events = 1000.0
    flows = sum(flow.get("count", 1) for flow in form["flows"])
    slots = float(flows + sum(link.get("copies", 1) for link in form["links"]))
    for flow in form["flows"]:
        each = _packets(form, flow, seconds) + _timers(flow, seconds) + _arrivals(flow, seconds)
        events += flow.get("count", 1) * each
    for source in sources:
        count = _transfers(source, seconds)
        slots += min(count, 1e6)
        events += (
            _packets(form, source["flow"], seconds) + 50 * count + _timers(source["flow"], seconds) * min(count, 1e6)
        )
    for link in form["links"]:
        changes = link.get("impairments", {})
        events += len(changes.get("rate_steps", [])) + len(changes.get("delay_steps", []))
        trace = changes.get("rate_trace_ms")
        if trace:
            events += len(trace) * seconds * 1e3 / trace[-1]
        update_ps = link["queue"].get("update_ps")
        if update_ps:
            events += form["duration_ps"] / update_ps
    rows = form["duration_ps"] / form["sample_period_ps"] + 2
    return Size(events, rows * (flows + len(sources) + len(form["links"])), slots)


def _packets(form: dict[str, Any], flow: dict[str, Any], seconds: float) -> float:
    """Packets that may enter the flow's path and that its links may carry, data and ACKs, at each of its links."""
    stack = flow["stack"]
    bits = 8 * (stack["payload_bytes"] + stack["header_bytes"])
    first = form["links"][flow["path"][0]]
    entering = _fastest(first) * seconds / bits
    if flow.get("datagrams"):
        # Nothing holds datagrams back: those that the first link drops come all the same.
        entering = flow["application"]["rate_bps"] * seconds / bits
    if flow.get("size_segments") is not None:
        entering = min(entering, 10.0 * flow["size_segments"])
    # Fast senders into a small buffer lose more than is carried.
    return 4.0 * float(entering) * (len(flow["path"]) + len(flow["reverse_path"]))


def _arrivals(flow: dict[str, Any], seconds: float) -> float:
    """Segments that the flow's application hands over, more perhaps than its path can carry."""
    application = flow.get("application") or {}
    bits = 8.0 * flow["stack"]["payload_bytes"]
    return float(application.get("rate_bps", 0) * seconds / bits)


def _fastest(link: dict[str, Any]) -> float:
    changes = link.get("impairments", {})
    rates = [link["rate_bps"], *(step["rate_bps"] for step in changes.get("rate_steps", []))]
    trace = changes.get("rate_trace_ms")
    return float(max([*rates, 12_000 * len(trace) * 1e3 / trace[-1]] if trace else rates))


def _timers(flow: dict[str, Any], seconds: float) -> float:
    stack = flow["stack"]
    shortest_s = max(1e-9, min(stack["min_rto_ps"], stack["initial_rto_ps"]) * _PS)
    # Timeouts back off exponentially, up to max_rto.
    events = math.log2(1 + stack["max_rto_ps"] * _PS / shortest_s) + 4 * seconds / max(1e-9, stack["max_rto_ps"] * _PS)
    if str(flow.get("algorithm", "")).partition(":")[0] == "udt":
        # Its receiver acknowledges every SYN, and its sender looks for losses as often.
        events += 4 * seconds / float(flow.get("parameters", {}).get("syn", 0.01))
    application = flow.get("application") or {}
    frames = application.get("frames")
    if frames:
        events += seconds / (frames["interval_ps"] * _PS)
    if application.get("bursts"):
        on, off = (draw["mean_ps"] * _PS for draw in application["bursts"])
        events += 4 * seconds / (on + off)
    return float(events)


def _transfers(source: dict[str, Any], seconds: float) -> float:
    arrivals: dict[str, Any] = source["arrivals"]
    sizes: dict[str, Any] = source.get("sizes") or {}
    if arrivals["kind"] == "list":
        return float(len(arrivals["starts_ps"]))
    if arrivals["kind"] == "poisson":
        per_second = float(arrivals["per_second"])
        return per_second * seconds
    if arrivals["kind"] == "users":
        think_s = float(arrivals["think"]["mean_ps"]) * _PS
        return float(arrivals["users"]) * (1 + seconds / think_s)
    stack = source["flow"]["stack"]
    octets = max(1.0, float(stack["payload_bytes"] + stack["header_bytes"]), float(sizes.get("mean_bytes", 0.0)) / 10)
    return float(arrivals["bps"]) * seconds / (8 * octets)


def reset_peak() -> None:
    """Forgets the largest resident size so far, where the system lets a process do that (Linux)."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return


def resident_bytes(peak: bool = False) -> int:
    """The resident size of this process, now or at its largest; 0 where the system does not say (no ``/proc``)."""
    field = "VmHWM:" if peak else "VmRSS:"
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(field)), 0)
