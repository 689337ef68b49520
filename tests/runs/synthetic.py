"""Runs whose tables are written down rather than simulated, so that each metric has a value known in closed form."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from elephan.backends import Backend, Cancelled, Progress, RawResult
from elephan.runs import Run
from elephan.scenario import Scenario

Array = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
Curve = Callable[[Array], Array]
STACK = {"base": "linux", "payload": "1000 B", "header": "40 B"}


def scenario(
    flows: Sequence[str | Mapping[str, Any]] = ("cubic", "bic"),
    *,
    starts: Sequence[str] | None = None,
    duration: str = "100 s",
    **more: Any,
) -> Scenario:
    """A dumbbell of 100 Mbit/s and 100 ms with packets of 1040 B on the wire."""
    fields: dict[str, Any] = {"rate": "100 Mbit/s", "rtt": "100 ms", "buffer": "200 packets", "stack": STACK}
    return Scenario.dumbbell(flows, starts=starts, duration=duration, **(fields | more))


def constant(value: float) -> Curve:
    """The same at every time."""
    return lambda t: np.full_like(t, value)


def step(at_s: float, before: float, after: float) -> Curve:
    """One value up to a time, another from there on."""
    return lambda t: np.where(t < at_s, before, after).astype(np.float64)


def sample_times(stated: Scenario) -> Array:
    """Sample times, the same as the engine's: multiples of the period, and the ends of the measured part."""
    form = stated.canonical()
    period_ps, end_ps = form["sample_period_ps"], form["duration_ps"]
    ticks = {k * period_ps for k in range(end_ps // period_ps + 1)} | set(form["measure"].values())
    return np.array(sorted(ticks), dtype=np.float64) / 1e12


def accumulated(t: Array, rate: Curve) -> Array:
    """Integral from 0 s to each time of a rate that is constant between samples."""
    return np.concatenate([[0.0], np.cumsum(rate(t[:-1]) * np.diff(t))])


def tables(
    stated: Scenario,
    rates_mbps: Mapping[str, Curve],
    *,
    cwnd: Mapping[str, Curve] | None = None,
    loss_times: Mapping[str, Sequence[float]] | None = None,
    queue: Curve | None = None,
    drop_rate: float = 0.0,
    starts: Mapping[str, float] | None = None,
    link: str = "bottleneck",
    flow_columns: Mapping[str, Any] | None = None,
    completions: Mapping[str, float] | None = None,
    sampled: Mapping[str, Mapping[str, Curve]] | None = None,
    linked: Mapping[str, Curve] | None = None,
) -> dict[str, pl.DataFrame]:
    """Tables of a run in which the flows have these throughputs on the wire.

    ``sampled`` and ``linked`` are further columns of the samples, by column and flow, and of the link.
    """
    t = sample_times(stated)
    form = stated.canonical()
    samples, flows = [], []
    total = np.zeros_like(t)
    for spec in form["flows"]:
        name, stack = spec["name"], spec["stack"]
        wire = accumulated(t, rates_mbps[name]) * 1e6 / 8
        total += wire
        segments = np.floor(wire / (stack["payload_bytes"] + stack["header_bytes"]) + 1e-9).astype(np.int64)
        events = np.searchsorted(np.array(sorted((loss_times or {}).get(name, ())), dtype=np.float64), t, side="right")
        rows = _samples(name, t, (cwnd or {}).get(name, constant(100.0))(t), wire, segments, events)
        written = {column: curves[name](t) for column, curves in (sampled or {}).items() if name in curves}
        samples.append(rows.with_columns(**{column: pl.Series(values) for column, values in written.items()}))
        start_s = (starts or {}).get(name, spec["start_ps"] / 1e12)
        more = dict(flow_columns or {}) | (
            {"completion_s": (completions or {})[name]} if name in (completions or {}) else {}
        )
        row = _flow(name, spec["algorithm"], start_s, int(segments[-1]), int(events[-1]), more)
        # A flow has at most the rate of its path.
        goodput = min(row["goodput_mbps"], min(link["rate_bps"] for link in form["links"]) / 1.04e6)
        flows.append(row | {"goodput_mbps": goodput, "throughput_mbps": 1.04 * goodput})
    waiting = (queue or constant(0.0))(t)
    return {
        "flows": pl.DataFrame(flows, schema_overrides={"completion_s": pl.Float64}),
        "samples": pl.concat(samples).with_columns(pl.col("flow").cast(pl.Categorical)),
        "links": _links(link, t, waiting, total, drop_rate, form["flows"][0]["stack"]).with_columns(
            **{column: pl.Series(curve(t)) for column, curve in (linked or {}).items()}
        ),
    }


def _samples(name: str, t: Array, cwnd: Array, wire: Array, segments: Any, events: Any) -> pl.DataFrame:
    none = np.zeros(len(t), dtype=np.int64)
    return pl.DataFrame(
        {
            "time_s": t, "flow": [name] * len(t), "cwnd": cwnd, "ssthresh": [None] * len(t),
            "srtt_s": np.full_like(t, 0.1), "rtt_s": np.full_like(t, 0.1), "in_flight": none, "wire_bytes": wire,
            "delivered_segments": segments, "retransmits": none, "loss_events": events,
        },
        schema_overrides={"ssthresh": pl.Float64},
    )  # fmt: skip


def _flow(
    name: str, algorithm: str, start_s: float, segments: int, events: int, more: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "name": name, "algorithm": algorithm, "start_s": start_s, "goodput_mbps": 1.0, "throughput_mbps": 1.04,
        "segments_delivered": segments, "segments_sent": segments, "retransmits": 0, "loss_events": events,
        "timeouts": 0, "spurious_retransmits": 0, "rtt_min_ms": 100.0, "rtt_mean_ms": 105.0, "rtt_p50_ms": 104.0,
        "rtt_p95_ms": 109.0, "rtt_p99_ms": 110.0, "cwnd_mean": 100.0, "cwnd_max": 120.0,
        "receive_window_limited_fraction": 0.0, "completion_s": None,
    } | dict(more)  # fmt: skip


def _links(
    name: str, t: Array, waiting: Array, octets: Array, drop_rate: float, stack: Mapping[str, int]
) -> pl.DataFrame:
    delivered = octets / (stack["payload_bytes"] + stack["header_bytes"])
    arrived = delivered / (1 - drop_rate)
    before = np.concatenate([waiting[:1], waiting[:-1]])  # the queue holds its value until the next sample
    integral = np.concatenate([[0.0], np.cumsum(waiting[:-1] * np.diff(t))])
    frame = pl.DataFrame(
        {
            "time_s": t, "link": [name] * len(t), "queue_packets": waiting, "queue_mean": before, "queue_min": before,
            "queue_max": before, "queue_integral_packet_s": integral,
            "arrived_packets": arrived, "dropped_packets": arrived - delivered, "delivered_packets": delivered,
            "delivered_bytes": octets,
        }
    )  # fmt: skip
    return frame.with_columns(pl.col("link").cast(pl.Categorical))


def run(stated: Scenario, rates_mbps: Mapping[str, Curve], **more: Any) -> Run:
    """A run in memory with these throughputs on the wire."""
    return Run.from_tables(stated, tables(stated, rates_mbps, **more))


class WrittenBackend(Backend):
    """A backend that answers at once with written-down tables, which depend on the seed; for the store and sweeps.

    Attributes:
        computed: ``(hash, seed)`` of what was asked of it.
    """

    name = "sim"
    title = "tables that are written down"

    def __init__(self, *, release: str = "1", seeds_matter: bool = True, broken: Sequence[str] = ()) -> None:
        super().__init__()
        self.release = release
        self.computed: list[tuple[str, int]] = []
        self._seeds_matter = seeds_matter
        self._broken = set(broken)

    def version(self) -> str:
        """Whatever the test says."""
        return self.release

    def run(self, scenario: Scenario, seed: int | None = None, progress: Progress | None = None) -> RawResult:
        """Tables of flows at 10 Mbit/s and a little more for each seed."""
        if progress is not None and not progress(0.5):
            raise Cancelled
        seed = scenario.seed if seed is None else seed
        self.computed.append((scenario.hash, seed))
        if scenario.title in self._broken:
            raise ValueError(f"{scenario.title} cannot be run")
        rate_mbps = 10 + (0.01 * seed if self._seeds_matter else 0)
        made = tables(scenario, {name: constant(rate_mbps) for name in scenario.flow_names})
        return RawResult(dict(made), {"conservation": {"sent": 1, "received": 1, "dropped": 0, "under_way": 0}})


def manifest_only(root: Path, number: int, algorithms: Sequence[str], *, title: str = "") -> Path:
    """A folder in a store with nothing but the manifest of a run, made on the hour ``number`` of November 2020."""
    run_id = f"{number * 0x9E3779B97F4A7C15 % 2**64:016x}-sim-s1"
    flows = [{"name": f"{name}-{i}", "algorithm": name} for i, name in enumerate(algorithms, start=1)]
    manifest = {
        "format": 3, "id": run_id, "scenario_hash": run_id[:16], "seed": 1, "backend": "sim", "title": title,
        "scenario": {"flows": flows}, "scenario_toml": "", "tables_sha256": "",
        "created": f"2020-11-{1 + number // 24 % 28:02}T{number % 24:02}:00:00+00:00",
        "files": {"samples.parquet": {"bytes": 123_000 + number, "sha256": ""}},
    }  # fmt: skip
    folder = root / run_id
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder
