"""Run ns-2 on the paths of the comparison table: one and two flows of each module that the engine also has.

    python benches/ns2/table.py --out tests/reference/ns2/table.json
    python benches/ns2/table.py --out tests/reference/ns2/table.json --timestamps
    python benches/ns2/table.py --out tests/reference/ns2/table.json --start gentle --flows 1
    python benches/ns2/table.py --out tests/reference/ns2/table.json --judged --jobs 2

Runs that are already in the file are kept, so the script can be interrupted and continued, and algorithms can be added.

Each case is repeated with delays of the bottleneck that differ by a few microseconds. A result that changes by much
between these runs depends on chance in ns-2 itself, and another simulator need not agree with such a result.

With `--start gentle`, the agents' `window_` is 1.04 times the capacity of the path and its queue. The agents' first
ssthresh is equal to `window_`. Slow start then ends with a few losses instead of the loss of a whole window.

`--judged` runs the paths with two flows for which the page has a verdict on each flow. Each case is run up to eight
times, and each time the delay is longer by an eighth of a packet's transmission time. A run takes about a second.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from elephan.rates import payload_rate_mbps
from reference import ALGORITHMS, FLOW_COLUMNS, Options, at_mark, provenance, simulate

# Without timestamps, TCP/Linux measures one RTT a round trip. These modules read the RTT, the timestamps, or both.
TIMESTAMPED = ["cubic", "htcp", "vegas", "illinois", "westwood", "veno", "yeah", "hybla", "lp", "compound"]
SECOND_STARTS_S = 5.0
MOVED_US = (-10, 0, 10)
PATHS: dict[str, dict[str, Any]] = {
    "100M": {"rate_bps": 100e6, "delay_s": 0.018, "buffer": 480, "duration_s": 200, "from_s": 50, "gentle": 1000},
    "622M": {"rate_bps": 622e6, "delay_s": 0.048, "buffer": 1555, "duration_s": 60, "from_s": 20, "gentle": 9400},
    # Paths of two flows, each with the delay of its own access links; the page judges each flow. The bottleneck's delay
    # changes in steps of an eighth of a packet's transmission time, since smaller steps do not change the order of the
    # packets. The BDPs, with the mean RTT, are 24, 48, 361, 240, 2404, 1082 and 3245 packets.
    "10M-0.5": {
        "rate_bps": 10e6, "delay_s": 0.006, "access_s": [0.002, 0.002], "buffer": 12, "duration_s": 60, "from_s": 10,
        "step_us": 104,
    },
    "10M-4": {
        "rate_bps": 10e6, "delay_s": 0.016, "access_s": [0.002, 0.002], "buffer": 192, "duration_s": 60, "from_s": 10,
        "step_us": 104,
    },
    "50M-0.3": {
        "rate_bps": 50e6, "delay_s": 0.005, "access_s": [0.005, 0.020], "buffer": 108, "duration_s": 40, "from_s": 10,
        "gentle": 490, "step_us": 21,
    },
    "50M-2": {
        "rate_bps": 50e6, "delay_s": 0.005, "access_s": [0.0025, 0.0125], "buffer": 480, "duration_s": 40, "from_s": 10,
        "gentle": 750, "step_us": 21,
    },
    "200M-0.2": {
        "rate_bps": 200e6, "delay_s": 0.030, "access_s": [0.010, 0.010], "buffer": 480, "duration_s": 15, "from_s": 6,
        "gentle": 3000, "step_us": 5,
    },
    "100M-1": {
        "rate_bps": 100e6, "delay_s": 0.010, "access_s": [0.010, 0.025], "buffer": 1082, "duration_s": 25, "from_s": 8,
        "gentle": 2250, "step_us": 10,
    },
    "300M-0.5": {
        "rate_bps": 300e6, "delay_s": 0.010, "access_s": [0.010, 0.025], "buffer": 1622, "duration_s": 20, "from_s": 5,
        "step_us": 3,
    },
}  # fmt: skip
# Scope of the page. Each path has the kind of start, the number of runs, and the modules. The large paths have fewer
# runs, so that all runs take about ten minutes.
LARGE = ["reno", "cubic", "bic", "htcp", "illinois", "westwood", "yeah", "compound"]
JUDGED: dict[str, tuple[str, int, list[str]]] = {
    "10M-0.5": ("slow", 8, ALGORITHMS),
    "10M-4": ("slow", 8, ALGORITHMS),
    "50M-0.3": ("gentle", 8, ALGORITHMS),
    "50M-2": ("gentle", 8, ALGORITHMS),
    "200M-0.2": ("gentle", 4, LARGE),
    "100M-1": ("gentle", 4, LARGE),
    "300M-0.5": ("slow", 4, ["yeah", "compound"]),
}
# Paths whose runs with one flow and with two flows are compared line by line.
LINE_BY_LINE = ("100M", "622M")


def judged(paths: list[str], algorithms: list[str]) -> Iterator[dict[str, Any]]:
    """The runs on which the page has verdicts, with TCP timestamps for the modules that read timestamps."""
    for path in paths:
        start, runs, modules = JUDGED[path]
        for algorithm in modules:
            for run in range(runs) if algorithm in algorithms else ():
                moved_us = run * PATHS[path]["step_us"]
                yield dict(zip(KEYS, (algorithm, path, 2, algorithm in TIMESTAMPED, start, moved_us), strict=True))


def options(row: dict[str, Any]) -> Options:
    """The options of dumbbell.tcl for one row of the table."""
    path = PATHS[row["path"]]
    return {
        "headers": "tcp", "algorithms": " ".join([row["algorithm"]] * row["flows"]),
        "starts": " ".join(str(SECOND_STARTS_S * i) for i in range(row["flows"])),
        "rate_bps": f"{path['rate_bps']:.0f}", "delay_s": f"{path['delay_s'] + row['moved_us'] / 1e6:.6f}",
        "access_bps": "1e9", "access_s": " ".join(map(str, path.get("access_s", [0.001]))),
        "buffer": f"{path['buffer']:.0f}", "payload": "1000",
        "window": f"{path['gentle']:.0f}" if row["start"] == "gentle" else "67000",
        "timestamps": str(int(row["timestamps"])), "duration_s": f"{path['duration_s']:.0f}", "period_s": "1",
        "marks": f"{path['from_s']:.0f} {path['duration_s'] - 0.001:.3f}",
    }  # fmt: skip


def measure(row: dict[str, Any]) -> dict[str, Any]:
    """Results of one run: each flow's goodput in the measurement window, and its counts over the whole run."""
    document = simulate(options(row))
    early, late = at_mark(document, 0), at_mark(document, 1)
    span_s = late["time_s"] - early["time_s"]
    flows = range(row["flows"])
    goodput = [payload_rate_mbps(late[f"in_order[{i}]"] - early[f"in_order[{i}]"], 1000, span_s) for i in flows]
    counts = {name: [int(late[f"{name}[{i}]"]) for i in flows] for name in FLOW_COLUMNS if name != "cwnd"}
    return {**row, "goodput_mbps": [round(rate, 4) for rate in goodput], **counts, "dropped": int(late["dropped"])}


def save(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write the file: first the commands that made it, then one line for each row."""
    head = {
        "provenance": {**provenance(options(rows[0])), "first_row_only": "the others differ as their fields say"},
        "made_by": [f"python benches/ns2/table.py --out tests/reference/ns2/table.json{more}" for more in CALLS],
        "second_starts_s": SECOND_STARTS_S,
        "paths": PATHS,
    }
    rows = sorted(
        rows, key=lambda r: (ALGORITHMS.index(r["algorithm"]), *(str(r[k]) for k in KEYS[1:-1]), r["moved_us"])
    )
    lines = ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows)
    text = json.dumps(head, indent=1)[:-2]
    temporary = path.with_suffix(".partial")
    temporary.write_text(f'{text},\n "rows": [\n{lines}\n]\n}}\n', encoding="utf-8")
    temporary.replace(path)


# Arguments of the calls that wrote the file in the repository.
CALLS = ("", " --timestamps", " --start gentle --flows 1", " --judged --jobs 2")
KEYS = ("algorithm", "path", "flows", "timestamps", "start", "moved_us")


def main() -> int:
    """Parse the command line and run ns-2; the exit status is 1 if ns-2 fails."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="the JSON file")
    parser.add_argument("--algorithm", action="append", choices=ALGORITHMS, help="may be repeated; default all")
    parser.add_argument("--path", action="append", choices=tuple(PATHS), help="may be repeated; default all")
    parser.add_argument("--flows", action="append", type=int, choices=(1, 2), help="may be repeated; default both")
    parser.add_argument("--timestamps", action="store_true", help="TCP timestamps on, for the modules that read them")
    parser.add_argument("--start", choices=("slow", "gentle"), default="slow", help="gentle: without an overshoot")
    parser.add_argument("--judged", action="store_true", help="the paths of two flows that the page judges")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = json.loads(arguments.out.read_text())["rows"] if arguments.out.exists() else []
    there = {tuple(row[key] for key in KEYS) for row in rows}
    asked = arguments.algorithm or (TIMESTAMPED if arguments.timestamps else ALGORITHMS)
    if arguments.judged:
        wanted = list(judged(arguments.path or list(JUDGED), arguments.algorithm or ALGORITHMS))
    else:
        wanted = [
            dict(zip(KEYS, (algorithm, path, flows, arguments.timestamps, arguments.start, moved_us), strict=True))
            for path in arguments.path or LINE_BY_LINE
            for flows in arguments.flows or (1, 2)
            for algorithm in asked
            for moved_us in MOVED_US
        ]
    missing = [row for row in wanted if tuple(row[key] for key in KEYS) not in there]
    with ThreadPoolExecutor(max_workers=arguments.jobs) as pool:
        try:
            for row in pool.map(measure, missing):
                rows.append(row)
                save(arguments.out, rows)
        except (RuntimeError, FileNotFoundError) as problem:
            pool.shutdown(cancel_futures=True)
            print(f"table.py: {problem}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
