"""A draw as an Elephan scenario, and its run in the simulator."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import polars as pl
from draws import PACKET_BITS, Draw, Way

from elephan.backends import get
from elephan.scenario import Scenario
from elephan.scenario.catalog import algorithms

STEP_S = 0.02
"""Sampling interval."""
CODEL_MS = 5
"""CoDel's target in Linux."""


def link(name: str, way: Way) -> dict[str, Any]:
    """One direction of the path."""
    made: dict[str, Any] = {
        "name": name,
        "from": "a" if name == "there" else "b",
        "to": "b" if name == "there" else "a",
        "rate": f"{way.rate_mbps} Mbit/s",
        "delay": f"{way.delay_ms} ms",
        "buffer": f"{way.packets} packets",
        "duplex": False,
    }
    if way.queue != "droptail":
        # tbf takes a packet from its queue when the transmission of the one before begins, and not when it ends.
        target_ms = CODEL_MS + PACKET_BITS / (way.rate_mbps * 1e3)
        made["queue"] = way.queue
        made["queue_parameters"] = {"newton": True, "target": f"{target_ms:.6f} ms"}
        if way.queue == "fq_codel":
            made["queue_parameters"] |= {"whole_backlog": True, "count_bound_drops": True}
    if way.loss:
        made["loss"] = way.loss
    if way.late:
        made["reorder"] = {"share": way.late, "delay": f"{way.late_ms} ms"}
    if way.duplicate:
        made["duplicate"] = way.duplicate
    if way.rates:
        made["rate_steps"] = [{"at": f"{at} s", "rate": f"{rate} Mbit/s"} for at, rate in way.rates]
    if way.delays:
        made["delay_steps"] = [{"at": f"{at} s", "change": f"{to - way.delay_ms:.6f} ms"} for at, to in way.delays]
    return made


def as_linux(algorithm: str) -> str:
    """An algorithm with Linux's parameters, where its own default is a paper's."""
    presets = {preset["name"] for preset in algorithms()[algorithm]["presets"]}
    return f"{algorithm}:linux" if "linux" in presets else algorithm


def flow_table(i: int, draw: Draw, window: int | None) -> dict[str, Any]:
    """A flow; ``window`` is the receive window in segments, if the receiver's buffer is stated."""
    flow, payload = draw.flows[i], draw.payload
    made: dict[str, Any] = {
        "name": f"flow{i}",
        "algorithm": as_linux(flow.algorithm),
        "start": f"{flow.start_s * 1e6:.0f} us",
        "path": ["back" if flow.back else "there"],
        "reverse_path": ["there" if flow.back else "back"],
    }
    if flow.size_segments:
        made["size"] = f"{flow.size_segments} segments"
    if window is not None:
        made["stack"] = {"receive_window": f"{window} segments"}
    if flow.on_periods == 1:
        step_s = flow.period_ms / 1e3 + flow.off_s
        times = (flow.start_s + k * step_s for k in range(math.ceil(draw.duration_s / step_s)))
        size = f"{flow.write_segments * payload} B"
        made["application"] = {"writes": [{"at": f"{at * 1e6:.0f} us", "size": size} for at in times]}
    elif flow.write_segments:
        rate_bps = flow.write_segments * payload * 8 / (flow.period_ms / 1e3)
        made["application"] = {"rate": f"{rate_bps:.0f} bit/s"}
        if flow.on_periods:
            on = f"{flow.on_periods * flow.period_ms * 1e6:.0f} ns"
            made["application"] |= {"on": on, "off": f"{flow.off_s} s", "times": "constant"}
    return made


def scenario(draw: Draw, seed: int, windows: list[int | None], late: bool = False) -> Scenario:
    """The scenario of a draw; with ``late``, receivers do not read at once."""
    return Scenario.from_dict(
        {
            "title": f"draw {draw.number}",
            "seed": seed,
            "duration": f"{draw.duration_s} s",
            "sample_period": f"{STEP_S * 1e3} ms",
            "start_jitter": "0 s",
            "measure": {"from": f"{draw.measure_s} s"},
            "stack": {
                "base": "linux",
                "payload": f"{draw.payload} B",
                "ecn": draw.ecn,
                "reads_at_once": not late,
            },
            "link": [link("there", draw.there), link("back", draw.reverse)],
            "flow": [flow_table(i, draw, windows[i]) for i in range(len(draw.flows))],
        }
    )


@dataclass(frozen=True)
class Ran:
    """A simulated flow: completion (-1 if not complete), retransmissions, and rows of time, window and
    delivered bytes."""

    done_s: float
    retransmits: int
    rows: list[tuple[float, float, float]]


def run(draw: Draw, seed: int, windows: list[int | None], backend: str = "sim", late: bool = False) -> list[Ran]:
    """Run a draw in the simulator, or on another backend."""
    return ran(draw, get(backend).run(scenario(draw, seed, windows, late)).tables)


def ran(draw: Draw, tables: dict[str, Any]) -> list[Ran]:
    """The flows of a run's tables."""
    flows, samples = (pl.DataFrame(tables[name]) for name in ("flows", "samples"))
    found = []
    for row in flows.iter_rows(named=True):
        mine = samples.filter(pl.col("flow").cast(pl.String) == row["name"])
        columns = mine.select("time_s", "cwnd", pl.col("delivered_segments") * draw.payload)
        done_s = row["completion_s"]
        found.append(Ran(-1.0 if done_s is None else done_s, row["retransmits"], columns.rows()))
    return found
