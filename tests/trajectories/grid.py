"""The grid of trajectories: every algorithm and preset on eight paths with every stack, in a line each.

A line has a few numbers that a person can compare, and a digest of all values of all tables, which differs when one bit
of one value does.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import polars as pl
from tests.trajectories.paths import PATHS, filled

from elephan.runs import tables
from elephan.scenario import Scenario, ScenarioError, catalog
from elephan.scenario.stacks import STACKS

HEAD = "preset stack path delivered retransmits loss_events timeouts cwnd_mean rtt_mean_ms dropped marked digest"
REFUSED = "refused:"
_DIGITS = 12

Simulate = Callable[[str], Mapping[str, Any]]
"""A canonical scenario in JSON to the tables of its run, and its summary."""

_FLOWS = (
    "name algorithm start_s goodput_mbps throughput_mbps segments_delivered segments_sent retransmits loss_events "
    "timeouts spurious_retransmits rtt_min_ms rtt_mean_ms rtt_p50_ms rtt_p95_ms rtt_p99_ms cwnd_mean cwnd_max "
    "receive_window_limited_fraction completion_s"
)
_SAMPLES = "time_s flow cwnd ssthresh srtt_s rtt_s in_flight delivered_segments wire_bytes retransmits loss_events"
_LINKS = (
    "time_s link queue_packets queue_mean queue_min queue_max queue_integral_packet_s arrived_packets dropped_packets "
    "delivered_packets delivered_bytes"
)
COLUMNS = {"flows": _FLOWS.split(), "samples": _SAMPLES.split(), "links": _LINKS.split()}
"""Columns in a digest; all, in the other tables. A column that is added later does not change these."""


def families() -> dict[str, list[str]]:
    """The presets of each algorithm, as a scenario spells them."""
    names: dict[str, list[str]] = {}
    for name in catalog.spellings(catalog.algorithms()):
        names.setdefault(name.partition(":")[0], []).append(name)
    return names


def lines(presets: list[str], simulate: Simulate | None = None, third: int | None = None) -> Iterator[str]:
    """The part of the grid with these presets: a head, and a line for each preset, stack and path.

    Args:
        presets: as a scenario spells them.
        simulate: another build of the engine.
        third: with it, the first preset has every third of its lines alone, those from this diagonal on, and the next
            preset those of the next diagonal: each preset still has every path and every stack.
    """
    rows = [HEAD.split()]
    for place, preset in enumerate(presets, third or 0):
        for row, stack in enumerate(STACKS):
            for column, (path, form) in enumerate(PATHS.items()):
                if third is not None and (place + row + column) % 3:
                    continue
                made = filled(form, preset, catalog.router(preset))
                made["stack"] = {"base": stack} | made.get("stack", {})
                rows.append([preset, stack, path, *_outcome(made, simulate)])
    return aligned(rows)


def aligned(rows: list[list[str]]) -> Iterator[str]:
    """Rows in columns; a refusal, which is a sentence, runs on."""
    widths = [max(map(len, column)) for column in zip(*(row for row in rows if len(row) == len(rows[0])), strict=True)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths[: len(row)], strict=True)]
        yield "  ".join(cells).rstrip()


def _outcome(form: Mapping[str, Any], simulate: Simulate | None) -> list[str]:
    try:
        scenario = Scenario.from_dict(dict(form))
    except ScenarioError as error:
        return [f"{REFUSED} {error}"]
    return trajectory(scenario, simulate)


def trajectory(scenario: Scenario, simulate: Simulate | None = None) -> list[str]:
    """The numbers of a run and the digest of its tables, as text."""
    result = (simulate or catalog.engine().run)(json.dumps(scenario.canonical()))
    frames = tables.all_to_polars({name: table for name, table in result.items() if name != "summary"})
    summary = json.loads(result["summary"])
    flows = frames["flows"]
    counts = [flows[name].sum() for name in ("segments_delivered", "retransmits", "loss_events", "timeouts")]
    means = [_mean(flows["cwnd_mean"]), _mean(flows["rtt_mean_ms"])]
    at_links = [sum(link[name] for link in summary["links"]) for name in ("dropped", "marked")]
    return [*map(str, counts), *means, *map(str, at_links), digest(frames)]


def _mean(values: pl.Series) -> str:
    known = values.drop_nulls().to_list()
    return f"{math.fsum(known) / len(known):.6g}" if known else "-"


def digest(frames: Mapping[str, pl.DataFrame]) -> str:
    """First digits of the SHA-256 of all values."""
    chosen = {name: frame.select(COLUMNS.get(name, frame.columns)) for name, frame in frames.items()}
    return tables.digest(chosen)[:_DIGITS]
