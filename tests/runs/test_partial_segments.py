"""Segments with less than their whole payload, with which a sender of Linux fills a receive window: bytes count."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import elephan
from elephan import metrics
from elephan.backends.base import only_with_parts, with_whole_segments
from elephan.backends.linux import tables
from elephan.rates import rate_mbps
from elephan.runs import Run, Store
from elephan.scenario import Scenario

# The window of Hybla on a long path passes the receive window while that grows.
PATH: dict[str, Any] = {"rate": "50 Mbit/s", "rtt": "300 ms", "buffer": "50 packets", "duration": "6 s"}
PAYLOAD = 1448


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    scenario = Scenario.dumbbell(["hybla"], **PATH, sample_period="10 ms", measure={"from": "1 s", "to": "3 s"})
    return elephan.run(scenario, store=Store(tmp_path_factory.mktemp("store")))


def test_payload_never_exceeds_what_arrived_on_the_wire(run: Run) -> None:
    samples = run.samples.select(pl.col("delivered_segments", "delivered_bytes", "wire_bytes").cast(pl.Int64).diff())
    missing = samples["delivered_segments"] * PAYLOAD - samples["delivered_bytes"]
    assert missing.sum() > 0, "no part arrived"
    assert (samples["delivered_bytes"] <= samples["wire_bytes"]).all()


def test_goodput_counts_bytes_in_every_table_and_metric(run: Run) -> None:
    at = dict(run.samples.select("time_s", "delivered_bytes").iter_rows())
    exact = rate_mbps(at[3.0] - at[1.0], 2.0)
    assert run.flows["goodput_mbps"][0] == pytest.approx(exact, rel=1e-12)
    assert metrics.goodput_mbps(run)["hybla-1"] == pytest.approx(exact, rel=1e-12)
    assert metrics.sum_goodput_mbps(run, window=(1.5, 2.5)) == pytest.approx(rate_mbps(at[2.5] - at[1.5], 1.0))


def test_a_crowd_counts_bytes_too(run: Run, tmp_path: Path) -> None:
    reduced = elephan.run(Scenario.from_dict(run.scenario.to_dict() | {"record": "quantiles"}), store=Store(tmp_path))
    assert reduced.flows["measured_delivered_bytes"][0] == (
        run.samples.filter(pl.col("time_s") == 3.0)["delivered_bytes"][0]
        - run.samples.filter(pl.col("time_s") == 1.0)["delivered_bytes"][0]
    )
    assert metrics.goodput_mbps(reduced) == metrics.goodput_mbps(run)
    assert run.crowd.filter(pl.col("quantile") == 0.5)["goodput_mbps"].equals(
        reduced.crowd.filter(pl.col("quantile") == 0.5)["goodput_mbps"]
    )


def words(rows: list[dict[str, int]]) -> Any:
    """Records of a flow in a guest."""
    places = {"retransmits": 9, "sent": 10, "duplicates": 12, "in_order": 16, "arrived": 17}
    found = np.zeros((len(rows), 19), dtype=np.uint64)
    for k, row in enumerate(rows):
        for name, value in row.items():
            found[k, places[name]] = value
    return found


def test_a_guest_knows_the_bytes_of_parts_also_above_a_gap() -> None:
    whole, part = 1000, 300
    found = tables._arrived(
        words(
            [
                {"sent": 1, "arrived": 1, "in_order": whole},
                {"sent": 2, "arrived": 2, "in_order": whole + part},
                {"sent": 6, "arrived": 5, "in_order": whole + part},  # one of four is lost
                {"sent": 7, "retransmits": 1, "arrived": 6, "in_order": 5 * whole + part},
            ]
        ),
        whole,
    )
    assert found.segments.tolist() == [1, 2, 5, 6]
    assert found.payload.tolist() == [1000, 1300, 4300, 5300]


def test_reports_of_duplicates_that_are_lost_or_repeated_change_no_count_of_segments() -> None:
    rows = [
        {"sent": 4, "arrived": 8, "duplicates": 2, "in_order": 4000},  # two reports are on their way
        {"sent": 8, "arrived": 16, "duplicates": 15, "in_order": 8000},  # the copies of ACKs repeat reports
        {"sent": 9, "arrived": 17, "duplicates": 20, "in_order": 9000},
    ]
    found = tables._arrived(words(rows), 1000)
    assert (found.segments.tolist(), found.payload.tolist()) == ([4, 8, 9], [4000, 8000, 9000])


def test_whole_segments_need_no_column_of_bytes() -> None:
    samples = pl.DataFrame(
        {"flow": ["a", "b"], "delivered_segments": [2, 3], "delivered_bytes": [20, 60]}
    ).with_columns(pl.col("delivered_segments", "delivered_bytes").cast(pl.UInt64))
    plain = only_with_parts(samples, {"a": 10, "b": 20})
    assert "delivered_bytes" not in plain.columns
    assert only_with_parts(samples, {"a": 10, "b": 21}).equals(samples)
    one, other = with_whole_segments(plain, samples, {"a": 10, "b": 20})
    assert one["delivered_bytes"].to_list() == other["delivered_bytes"].to_list() == [20, 60]
