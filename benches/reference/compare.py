"""Comparison of the simulator with a Linux guest that is set up by ``tc`` and a small C program alone.

    .venv/bin/python benches/reference/compare.py                   # 200 draws
    .venv/bin/python benches/reference/compare.py --first 200 40    # 40 others
    .venv/bin/python benches/reference/compare.py --show 17         # commands and scenario of a draw

Both sides are made from one draw, each by a translation of its own (path.py, simulated.py). A draw agrees if each
flow's goodput and mean window are within 2 % with seed 1, or on average over five seeds, or if the 95 % intervals
(Student's t, five seeds) of the two sides overlap. Results are appended to a file as JSON lines, and draws in the file
are not run again.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import path
import simulated
from draws import Draw
from space import drawn

from elephan.backends.linux import kernels
from elephan.backends.linux.kernels import Kernel
from elephan.rates import rate_mbps

BOUND = 0.02
SEEDS = (1, 2, 3, 4, 5)
STUDENT = 2.776
"""97.5 % quantile of Student's t with four degrees of freedom."""

QUANTITIES = ("goodput_mbps", "cwnd", "retransmits")
JUDGED = ("goodput_mbps", "cwnd")

Measured = list[dict[str, float]]


def quantities(draw: Draw, i: int, done_s: float, rows: list[tuple[float, float, float]]) -> dict[str, float]:
    """Quantities of a flow from rows of time, window and delivered bytes: the goodput of a transfer, or the goodput and
    the mean window of another flow in the measured part."""
    size_bytes = draw.flows[i].size_segments * draw.payload
    if size_bytes:
        return {"goodput_mbps": rate_mbps(size_bytes, done_s) if done_s > 0 else 0.0}
    part = [row for row in rows if row[0] >= draw.measure_s - 1e-9]
    goodput_mbps = rate_mbps(part[-1][2] - part[0][2], part[-1][0] - part[0][0])
    return {"goodput_mbps": goodput_mbps, "cwnd": fmean(row[1] for row in part)}


def stated_window(samples: list[path.Sample], payload: int) -> int:
    """The receive window before data wait above a gap, segments. From the first gap on it is a segment larger, in the
    simulator too."""
    had_gap = any(one.sacked or one.retransmits for one in samples)
    return max(one.window for one in samples) // payload - had_gap


def on_linux(draw: Draw, seed: int, kernel: Kernel, late: bool) -> tuple[Measured, list[int | None]]:
    """The flows in the guest, and the receive windows of those with a stated buffer, in segments."""
    found: Measured = []
    windows: list[int | None] = []
    for i, flow in enumerate(path.run(draw, seed, kernel, late)):
        # Segments that have arrived out of order count, as in the simulator.
        rows = [(one.time_s, float(one.cwnd), float(one.acked + one.sacked * one.mss)) for one in flow.samples]
        done_s = flow.done_s - flow.started_s if flow.done_s >= 0 else -1.0
        found.append(quantities(draw, i, done_s, rows) | {"retransmits": flow.samples[-1].retransmits})
        windows.append(stated_window(flow.samples, draw.payload) if draw.flows[i].buffer_bytes else None)
    return found, windows


def in_simulator(
    draw: Draw, seed: int, windows: list[int | None], backend: str = "sim", late: bool = False
) -> Measured:
    """The flows in the simulator."""
    return [
        quantities(draw, i, flow.done_s, flow.rows) | {"retransmits": flow.retransmits}
        for i, flow in enumerate(simulated.run(draw, seed, windows, backend, late))
    ]


def differs(ours: list[float], theirs: list[float]) -> bool:
    """True if the means differ by more than the bound and the intervals do not overlap."""
    one, other = fmean(ours), fmean(theirs)
    if abs(one - other) <= BOUND * abs(other):
        return False
    if len(ours) < len(SEEDS):
        return True
    width = sum(STUDENT * stdev(side) / math.sqrt(len(side)) for side in (ours, theirs))
    return abs(one - other) > width


def different(ours: list[Measured], theirs: list[Measured]) -> Iterator[str]:
    """The quantities that differ, as simulator / Linux, averaged over the seeds."""
    for i in range(len(ours[0])):
        for name in (name for name in JUDGED if name in ours[0][i]):
            sides = [[seed[i][name] for seed in side] for side in (ours, theirs)]
            if differs(*sides):
                yield f"flow{i} {name} {fmean(sides[0]):.4g} / {fmean(sides[1]):.4g}"


def compared(draw: Draw, kernel: Kernel, late: bool) -> dict[str, Any]:
    """The record of a draw: one seed, and five if that does not agree."""
    ours: list[Measured] = []
    theirs: list[Measured] = []
    found: list[str] = []
    for seed in SEEDS:
        varied = draw.varied(seed)
        linux, windows = on_linux(varied, seed, kernel, late)
        theirs.append(linux)
        ours.append(in_simulator(varied, seed, windows, late=late))
        found = list(different(ours, theirs))
        if seed == SEEDS[0] and not found:
            break
    return {
        "number": draw.number, "kind": draw.kind, "kernel": kernel.version, "late": late, "seeds": len(ours),
        "different": found, "simulator": ours, "linux": theirs,
    }  # fmt: skip


def told(draw: Draw, record: dict[str, Any]) -> str:
    """The line of a draw."""
    there, reverse = draw.there, draw.reverse
    flows = ", ".join(flow.algorithm + (" back" if flow.back else "") for flow in draw.flows)
    way = f"{there.rate_mbps:g} Mbit/s × {there.delay_ms + reverse.delay_ms:g} ms, {there.packets} packets"
    seeds = "" if record["seeds"] == 1 else f" ({record['seeds']} seeds)"
    return f"{draw.number} {draw.kind}: {way}: {flows}: {'; '.join(record['different']) or 'agrees'}{seeds}"


def main() -> None:
    """Compare, and print one line for each draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int, nargs="?", default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--late", action="store_true", help="let receivers read late on both sides, as those of --on linux do"
    )
    parser.add_argument(
        "--file", type=Path, default=Path("reference.jsonl"), help="results, to which new ones are added"
    )
    parser.add_argument("--show", type=int, help="print the commands and the scenario of a draw")
    given = parser.parse_args()
    if given.show is not None:
        draw = drawn(given.show).varied(SEEDS[0])
        print(path.script(draw, given.late))
        print(simulated.scenario(draw, 1, [None] * len(draw.flows), given.late).to_toml())
        print(json.dumps(asdict(draw)))
        return
    kernel = kernels.chosen()
    known: dict[int, dict[str, Any]] = {}
    if given.file.exists():
        records = map(json.loads, given.file.read_text(encoding="utf-8").splitlines())
        known = {record["number"]: record for record in records}
    draws = [drawn(number) for number in range(given.first, given.first + given.count)]
    agreeing = 0
    with ThreadPoolExecutor(given.jobs) as pool, given.file.open("a", encoding="utf-8") as file:
        new = pool.map(lambda draw: known.get(draw.number) or compared(draw, kernel, given.late), draws)
        for draw, record in zip(draws, new, strict=True):
            if draw.number not in known:
                file.write(json.dumps(record) + "\n")
                file.flush()
            agreeing += not record["different"]
            print(told(draw, record), flush=True)
    print(f"{agreeing} of {given.count} draws agree")


if __name__ == "__main__":
    main()
