"""Limits that ``elephan explain`` finds in captures of Linux, against the truth of the scenario.

    .venv/bin/python benches/explain_limits.py --cases 40 --seed 1 --out /tmp/limits.jsonl

Each case is a flow of Linux in virtual time with parameters drawn at random, whose limit is known at each time: the
path (a flow with enough data), the receive window (half of the BDP or less), or the application (a rate below the
path's, or pauses). A capture at the sender and one at the receiver are made, judged and deleted. The script prints the
fraction of the intervals in which the limit is right, and appends one line for each capture to ``--out``, so that an
interrupted set goes on where it ended.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from elephan import Scenario
from elephan.backends.linux.backend import LinuxBackend
from elephan.explanation import Connection, Limit, find_limits, open_capture, read_connection
from elephan.explanation.timeline import timeline_of

ALGORITHMS = ("cubic", "reno", "bbr", "vegas", "illinois", "htcp", "bic", "westwood", "hstcp", "yeah")
KINDS = ("bulk", "receive window", "application rate", "application pauses")
PLACES = ("senders", "receivers")
DURATION_S = 12
CLASSES = {Limit.APPLICATION: "application", Limit.RECEIVE_WINDOW: "receive window"}
START_RTTS = 12
"""Round trips at the start, in which a flow is in slow start whatever limits it later."""


@dataclass(frozen=True)
class Case:
    number: int
    kind: str
    algorithm: str
    rate_mbps: float
    rtt_ms: float
    buffer_bdp: float
    flow: Mapping[str, Any]

    def scenario(self) -> Scenario:
        return Scenario.dumbbell(
            [{"algorithm": self.algorithm, "backend": "linux", **self.flow}],
            rate=f"{self.rate_mbps} Mbit/s", rtt=f"{self.rtt_ms} ms", buffer=f"{100 * self.buffer_bdp:.0f}% BDP",
            duration=f"{DURATION_S} s",
        )  # fmt: skip


def drawn(seed: int, number: int) -> Case:
    draw = random.Random(f"{seed}/{number}")
    kind = KINDS[number % len(KINDS)]
    rate = round(10 ** draw.uniform(0.3, 1.6), 2)
    rtt = round(10 ** draw.uniform(0.9, 2.1), 1)
    buffer = round(10 ** draw.uniform(-0.5, 0.5), 2)
    bdp_kb = rate * rtt / 8
    flow: dict[str, Any] = {}
    if kind == "receive window":
        flow = {"stack": {"receive_window": f"{max(6.0, bdp_kb * draw.uniform(0.15, 0.6)):.0f} KB"}}
    elif kind == "application rate":
        flow = {"application": {"rate": f"{rate * draw.uniform(0.08, 0.7):.3f} Mbit/s"}}
    elif kind == "application pauses":
        on_ms, off_ms = rtt * draw.uniform(8, 60), rtt * draw.uniform(8, 40)
        flow = {
            "application": {
                "rate": f"{rate * draw.uniform(0.6, 2.5):.3f} Mbit/s", "times": "constant",
                "on": f"{on_ms:.0f} ms", "off": f"{off_ms:.0f} ms",
            }
        }  # fmt: skip
    return Case(number, kind, draw.choice(ALGORITHMS), rate, rtt, buffer, flow)


def truth(case: Case, sender: Connection, times_s: np.ndarray[Any, Any]) -> list[str | None]:
    """The limit at each time; ``None`` where the scenario does not say."""
    start_s = START_RTTS * case.rtt_ms / 1e3
    if case.kind == "bulk":
        return ["path"] * len(times_s)
    if case.kind == "receive window":
        return ["receive window" if time_s > start_s else None for time_s in times_s]
    # The application limits while it has given less than two segments that were not sent.
    given = [given_bytes(case, time_s) for time_s in times_s]
    line = timeline_of(sender)
    most = np.maximum.accumulate(line.past)
    sent = [float(most[max(0, np.searchsorted(line.sent_ns, time_s * 1e9, side="right") - 1)]) for time_s in times_s]
    found: list[str | None] = []
    for i in range(len(times_s)):
        near = range(max(0, i - 1), min(len(times_s), i + 2))
        waits = [given[j] - sent[j] for j in near]
        if max(waits) <= 2 * sender.mss:
            found.append("application" if times_s[i] > start_s else None)
        else:
            found.append("path" if min(waits) > 4 * sender.mss else None)
    return found


def given_bytes(case: Case, time_s: float) -> float:
    """Data that the application has given until a time, bytes."""
    fields = case.flow["application"]
    rate = float(fields["rate"].removesuffix(" Mbit/s")) * 1e6 / 8
    if "on" not in fields:
        return rate * time_s
    on_s, off_s = (float(fields[name].removesuffix(" ms")) / 1e3 for name in ("on", "off"))
    periods, rest_s = divmod(time_s, on_s + off_s)
    return rate * (periods * on_s + min(rest_s, on_s))


def judged(case: Case, place: str, folder: Path) -> dict[str, Any]:
    connection = read_connection(open_capture(folder / f"{place}.pcapng"))
    sender = read_connection(open_capture(folder / f"{PLACES[0]}.pcapng"))
    limits = find_limits(connection)
    times_s = limits.series["time_s"]
    known = truth(case, sender, times_s)
    pairs = [
        (right, CLASSES.get(limits.at(time_s), "path"))
        for right, time_s in zip(known, times_s, strict=True)
        if right is not None
    ]
    confused: dict[str, int] = defaultdict(int)
    for right, said in pairs:
        confused[f"{right} > {said}"] += 1
    return {
        "number": case.number, "place": place, "kind": case.kind, "algorithm": case.algorithm,
        "path": [case.rate_mbps, case.rtt_ms, case.buffer_bdp], "found": connection.position.place,
        "intervals": len(pairs), "right": sum(right == said for right, said in pairs),
        "confused": {name: count for name, count in confused.items() if name.split(" > ")[0] != name.split(" > ")[1]},
        "said": {str(share.limit): round(share.fraction, 3) for share in limits.shares},
    }  # fmt: skip


def summary(rows: list[dict[str, Any]]) -> str:
    groups: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        if row["intervals"]:
            for name in (row["kind"], row["place"], "all"):
                groups[name].append(row["right"] / row["intervals"])
    lines = [
        f"{name:20s} {len(shares):4d} captures, {100 * float(np.mean(shares)):5.1f} % of intervals right, "
        f"{sum(share >= 0.95 for share in shares)} captures with 95 % or more"
        for name, shares in sorted(groups.items())
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--cases", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="folder in which the captures are kept and taken from")
    parser.add_argument("--again", action="store_true", help="judge the captures that are kept once more")
    parser.add_argument("--out", type=Path, default=Path("/tmp/explain-limits.jsonl"))
    options = parser.parse_args()
    rows = [json.loads(line) for line in options.out.read_text().splitlines()] if options.out.exists() else []
    rows = [] if options.again else rows
    done = {row["number"] for row in rows}
    for number in range(options.cases):
        if number in done:
            continue
        case = drawn(options.seed, number)
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made) if options.keep is None else options.keep / f"{options.seed}-{number}"
            if options.again and not folder.exists():
                continue
            if not folder.exists() or not list(folder.iterdir()):
                folder.mkdir(parents=True, exist_ok=True)
                LinuxBackend().run(case.scenario(), 1, None, captures=folder)
            fresh = [judged(case, place, folder) for place in PLACES]
        for row in fresh:
            print(json.dumps(row), flush=True)
        if not options.again:
            with options.out.open("a") as file:
                file.writelines(json.dumps(row) + "\n" for row in fresh)
        rows += fresh
    print(summary(rows))


if __name__ == "__main__":
    main()
