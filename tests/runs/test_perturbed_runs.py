"""Perturbed runs of the engine: starts are spread, packets are late by so much, and stay in order."""

from __future__ import annotations

from typing import Any

import polars as pl

from elephan import backends
from elephan.runs import Run
from elephan.runs.execute import compute
from elephan.scenario import Scenario


def run(seed: int = 1, **more: Any) -> Run:
    fields: dict[str, Any] = {"rate": "50 Mbit/s", "rtt": "40 ms", "buffer": "1 BDP", "duration": "3 s"}
    return compute(backends.get("sim"), Scenario.dumbbell(["cubic", "bbr"], **(fields | more)), seed)


def test_starts_are_spread_over_four_round_trips() -> None:
    starts = [start for seed in range(1, 21) for start in run(seed, perturb="hosts").flows["start_s"].to_list()]
    assert len(set(starts)) == 40
    assert all(0 <= start <= 0.16 for start in starts)
    assert min(starts) < 0.02
    assert max(starts) > 0.14


def test_packets_leave_late_and_in_order() -> None:
    moved = run(perturb="hosts", start_jitter="0 s", events=True)
    exact = run(perturb="none", events=True)

    def first_sent(made: Run, flow: str) -> pl.DataFrame:
        sent = (pl.col("kind") == "sent") & (pl.col("flow") == flow) & ~pl.col("retransmit")
        return made.events.filter(sent & pl.col("segment").is_not_null()).select("time_s", "segment")

    for flow in ("cubic-1", "bbr-2"):
        found = first_sent(moved, flow)
        assert len(found) > 1000
        assert found["time_s"].is_sorted()
        assert found["segment"].is_sorted()
    # Ten segments leave at once where nothing is moved: each of them has a delay of its own.
    initial, together = first_sent(moved, "cubic-1").head(10), first_sent(exact, "cubic-1").head(10)
    assert together["time_s"].n_unique() == 1
    late = initial["time_s"] - together["time_s"]
    assert late.n_unique() > 2
    assert 0 <= late.min() <= late.max() < 0.0002  # type: ignore[operator]  # numbers, where polars says any literal
    links = moved.links.tail(1)
    assert links["reordered_packets"].to_list() == [0]
    assert moved.flows["spurious_retransmits"].sum() == 0
