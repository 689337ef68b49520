"""Comparison of the simulator with Linux segment by segment: the first transmission and the first ACK that differ.

    .venv/bin/python benches/linux_frames.py cubic "100 Mbit/s × 40 ms, 333 packets"
    .venv/bin/python benches/linux_frames.py --traffic two --seconds 6 reno "10 Mbit/s × 100 ms, 1 BDP"

Runs a cell of ``linux_agreement.py`` in the simulator and on Linux. The simulator writes an event log. On Linux, the
engine simulates the path, and the packets are captured. For each flow, the script pairs the transmissions of the two
senders, and then the ACKs of the two receivers, in order of time. It prints the number of equal pairs, and the packets
around the first difference. For each packet, it prints the time in ms since the start of the run, and the segment; for
an ACK, the acknowledged segment and the SACK blocks. The script needs tshark.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from linux_agreement import PATHS, TRAFFIC, Cell

from elephan import Scenario
from elephan.backends import get
from elephan.backends.linux.backend import LinuxBackend
from elephan.backends.linux.plan import Plan
from elephan.backends.sim import SimBackend
from elephan.runs import tables

LATE_MS = 0.1
"""Largest difference of the times of equal packets, ms."""
START_EPOCH_S = 946_684_800
FIELDS = ("frame.time_epoch", "ip.src", "tcp.seq", "tcp.len", "tcp.ack", "tcp.options.sack_le", "tcp.options.sack_re")
BLOCKS = (1, 2, 3)

HZ = 250
"""Timer interrupts per second in the guest."""


@dataclass(frozen=True)
class Packet:
    """A transmission or an ACK: time in ms, segment, and SACK blocks as segments."""

    at_ms: float
    segment: int
    blocks: tuple[tuple[int, int], ...] = ()

    def equals(self, other: Packet) -> bool:
        same = (self.segment, self.blocks) == (other.segment, other.blocks)
        return same and abs(self.at_ms - other.at_ms) <= LATE_MS

    def __str__(self) -> str:
        return f"{self.at_ms:12.3f} {self.segment:8d} {' '.join(f'{a}-{b}' for a, b in self.blocks)}"


Streams = dict[tuple[int, str], list[Packet]]


def simulated(scenario: Scenario) -> Streams:
    """Transmissions and ACKs of each flow in the simulator."""
    found = tables.all_to_polars(SimBackend().run(scenario).tables)
    names = [flow.name for flow in scenario.form.flows]
    streams: Streams = {(i, kind): [] for i in range(len(names)) for kind in ("sent", "ack_sent")}
    events = found[tables.EVENTS].filter(pl.col("kind").cast(pl.String).is_in(["sent", "ack_sent"]))
    for row in events.with_columns(pl.col("flow", "kind").cast(pl.String)).iter_rows(named=True):
        edges = [(row[f"sack_{block}_first"], row[f"sack_{block}_past"]) for block in BLOCKS]
        blocks = tuple((a, b) for a, b in edges if a is not None)
        streams[names.index(row["flow"]), row["kind"]].append(Packet(row["time_s"] * 1e3, row["segment"], blocks))
    return streams


def captured(scenario: Scenario) -> Streams:
    """Transmissions and ACKs of each flow on Linux."""
    backend = get("linux")
    assert isinstance(backend, LinuxBackend)
    plan = Plan.of(scenario, HZ)
    addresses = [(flow["sender"], flow["receiver"]) for flow in plan.document["flows"]]
    payload = plan.document["flows"][0]["payload_bytes"]
    streams: Streams = {(i, kind): [] for i in range(len(addresses)) for kind in ("sent", "ack_sent")}
    parts: list[dict[int, int]] = [{} for _ in addresses]
    with tempfile.TemporaryDirectory() as folder:
        backend.run(scenario, captures=Path(folder))
        for device, kind in (("senders", "sent"), ("receivers", "ack_sent")):
            for line in fields_of(Path(folder) / f"{device}.pcapng"):
                time, source, seq, length, ack, *edges = line.split("\t")
                flow = [pair[kind == "ack_sent"] for pair in addresses]
                if source not in flow or (kind == "sent") != (int(length) > 0) or int(ack) == 0:
                    continue
                i = flow.index(source)
                lefts, rights = (
                    [segment_of(int(edge) - 1, payload, parts[i]) for edge in side.split(",") if edge] for side in edges
                )
                blocks = tuple(zip(lefts, rights, strict=True))[: len(BLOCKS)]
                first = segment_of(int(seq if kind == "sent" else ack) - 1, payload, parts[i])
                if kind == "sent" and int(length) < payload:
                    parts[i][int(seq) - 1] = payload - int(length)
                whole, _, fraction = time.partition(".")
                at_ms = (int(whole) - START_EPOCH_S) * 1e3 + int(fraction) / 10 ** (len(fraction) - 3)
                # The SYN-ACK of a handshake acknowledges nothing.
                if kind == "sent" or first > 0 or blocks:
                    streams[i, kind].append(Packet(at_ms, first, blocks))
    return streams


def segment_of(offset: int, payload: int, parts: dict[int, int]) -> int:
    """Number of the segment that begins at a byte; ``parts`` has the bytes that shorter segments lack, by their first
    byte."""
    return (offset + sum(missing for first, missing in parts.items() if first < offset)) // payload


def fields_of(capture: Path, fields: Sequence[str] = FIELDS) -> list[str]:
    """tshark's fields of each packet of a capture."""
    words = [word for field in fields for word in ("-e", field)]
    out = subprocess.run(
        ["tshark", "-r", str(capture), "-T", "fields", *words], check=True, capture_output=True, text=True
    )
    return out.stdout.splitlines()


def equal_pairs(ours: list[Packet], theirs: list[Packet]) -> int:
    """Number of packets before the first packet that differs."""
    pairs = zip(ours, theirs, strict=False)
    return next((i for i, (one, other) in enumerate(pairs) if not one.equals(other)), min(len(ours), len(theirs)))


def report(name: str, ours: list[Packet], theirs: list[Packet], around: int) -> None:
    """Print the number of equal pairs, and the packets around the first pair that differs."""
    equal = equal_pairs(ours, theirs)
    print(f"{name}: {equal} of {len(ours)} (simulator) and {len(theirs)} (Linux) equal")
    if equal == len(ours) == len(theirs):
        return
    for i in range(max(0, equal - around), equal + around):
        left, right = (str(side[i]) if i < len(side) else "" for side in (ours, theirs))
        print(f"  {'*' if i >= equal else ' '} {left:60s} | {right}")


def streams(cell: Cell, seconds: float) -> tuple[Streams, Streams]:
    """The packets of the first seconds of a cell in the simulator, and on Linux."""
    form = cell.scenario().to_dict() | {"duration": f"{seconds} s"}
    form.pop("measure", None)
    real = [flow | {"backend": "linux"} for flow in form["flow"]]
    return simulated(Scenario.from_dict(form | {"events": True})), captured(Scenario.from_dict(form | {"flow": real}))


def main() -> None:
    """Compare, and print the first differences."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("algorithm")
    parser.add_argument("path", choices=PATHS)
    parser.add_argument("--traffic", choices=TRAFFIC, default="alone")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--around", type=int, default=6, help="packets shown on each side of the difference")
    given = parser.parse_args()
    ours, theirs = streams(Cell(given.traffic, given.path, given.algorithm, given.seed), given.seconds)
    for flow, kind in ours:
        report(f"flow {flow}, {kind}", ours[flow, kind], theirs[flow, kind], given.around)


if __name__ == "__main__":
    main()
