"""The grid of trajectories: every preset on eight paths with every stack.

A digest is over all values of all tables of a run, so it differs when one bit of one value does. A row has the digest
and a few numbers that a person can compare.
"""

from __future__ import annotations

import hashlib
import json
import math
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl
from tests.trajectories.paths import PATHS, filled

from elephan.runs import tables
from elephan.scenario import Scenario, ScenarioError, catalog
from elephan.scenario.stacks import STACKS

NUMBERS = [
    "delivered",
    "retransmits",
    "loss_events",
    "timeouts",
    "cwnd_mean",
    "rtt_mean_ms",
    "dropped",
    "marked",
    "digest",
]
REFUSED = "refused"
"""In place of the numbers, where no such scenario exists. The message is not compared: it may be worded anew."""
_DIGITS = 12

Row = list[str]
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


def rows(presets: Sequence[str], stack: str, *, a_third: bool = False, simulate: Simulate | None = None) -> list[Row]:
    """Preset, stack, path and the numbers of each run of these presets with a stack."""
    return [row(*cell, simulate) for cell in cells(presets, stack, a_third=a_third)]


def cells(presets: Sequence[str], stack: str, *, a_third: bool) -> Iterator[tuple[str, str, str]]:
    """Preset, stack and path of each run.

    With ``a_third``, a preset runs on every third path, and another preset or stack begins at another path, so the
    stacks of a preset together run it on every path.
    """
    begin = zlib.crc32(presets[0].encode()) + list(STACKS).index(stack)
    for place, preset in enumerate(presets):
        for column, path in enumerate(PATHS):
            if not a_third or (begin + place + column) % 3 == 0:
                yield preset, stack, path


def row(preset: str, stack: str, path: str, simulate: Simulate | None = None) -> Row:
    """One row of the grid."""
    form = filled(PATHS[path], preset, catalog.router(preset))
    form["stack"] = {"base": stack} | form.get("stack", {})
    try:
        scenario = Scenario.from_dict(form)
    except ScenarioError:
        return [preset, stack, path, REFUSED]
    return [preset, stack, path, *numbers(scenario, simulate)]


def numbers(scenario: Scenario, simulate: Simulate | None = None) -> Row:
    """The numbers of a run and the digest of its tables, as text."""
    result = (simulate or catalog.engine().run)(json.dumps(scenario.canonical()))
    frames = tables.all_to_polars({name: table for name, table in result.items() if name != "summary"})
    summary = json.loads(result["summary"])
    flows = frames["flows"]
    counts = [flows[name].sum() for name in ("segments_delivered", "retransmits", "loss_events", "timeouts")]
    means = [_mean(flows["cwnd_mean"]), _mean(flows["rtt_mean_ms"])]
    at_links = [sum(link[name] for link in summary["links"]) for name in ("dropped", "marked")]
    chosen = {name: frame.select(COLUMNS.get(name, frame.columns)) for name, frame in frames.items()}
    return [*map(str, counts), *means, *map(str, at_links), tables.digest(chosen)[:_DIGITS]]


def _mean(values: pl.Series) -> str:
    known = values.drop_nulls().to_list()
    return f"{math.fsum(known) / len(known):.6g}" if known else "-"


def digest(made: Sequence[Row]) -> str:
    """One digest of the digests of many rows, and of what they are of."""
    text = "\n".join(" ".join([*row[: -len(NUMBERS)], row[-1]] if row[-1] != REFUSED else row) for row in made)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def aligned(made: Sequence[Row]) -> Iterator[str]:
    """Rows in columns."""
    widths = [max(map(len, column)) for column in zip(*(row for row in made if row[-1] != REFUSED), strict=True)]
    for row in made:
        cells = [cell.ljust(width) for cell, width in zip(row, widths[: len(row)], strict=True)]
        yield "  ".join(cells).rstrip()
