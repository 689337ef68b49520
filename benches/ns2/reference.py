"""Run ns-2 (`apt-get install ns2`) and save the results with which the engine is compared.

    python benches/ns2/reference.py single --out tests/reference/ns2            # one flow of each algorithm
    python benches/ns2/reference.py sensitivity --out tests/reference/ns2       # with delays changed by microseconds
    python benches/ns2/reference.py sawtooth --out tests/reference/ns2          # one Reno flow, three buffers
    python benches/ns2/reference.py pairs --out tests/reference/ns2 --pair htcp,bic
    python benches/ns2/reference.py phase --out tests/reference/ns2         # five Reno flows in phase

Each run becomes one JSON file with its results, the command, ns-2's version and the date. Times are in seconds, windows
and counts in segments. Each packet counts as one segment, also the first packet, which is a SYN of 40 bytes.
"""

from __future__ import annotations

import argparse
import datetime
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from elephan.rates import rate_mbps

SCRIPT = Path(__file__).with_name("dumbbell.tcl")
ALGORITHMS = [
    "reno", "cubic", "bic", "highspeed", "scalable", "htcp", "vegas",
    "illinois", "westwood", "veno", "yeah", "hybla", "lp", "compound",
]  # fmt: skip
DISCRIMINATING_PAIRS = [
    ("htcp", "bic"), ("bic", "htcp"), ("highspeed", "htcp"),
    ("cubic", "htcp"), ("bic", "highspeed"), ("highspeed", "cubic"),
]  # fmt: skip
FLOW_COLUMNS = ("cwnd", "in_order", "retransmits", "timeouts", "window_cuts")
Options = dict[str, str]


def simulate(options: Options) -> dict[str, Any]:
    """Run dumbbell.tcl once and return its document.

    Raises RuntimeError when ns-2 fails or prints no document.
    """
    with tempfile.NamedTemporaryFile(mode="r", suffix=".json") as out:
        words = (word for item in {**options, "out": out.name}.items() for word in item)
        done = subprocess.run(
            ["ns", str(SCRIPT), *words], capture_output=True, text=True, errors="replace", check=False
        )
        text = out.read()
    if done.returncode != 0 or not text:
        raise RuntimeError(f"ns-2 failed (exit {done.returncode}): {done.stderr.strip() or done.stdout[-500:]}")
    document: dict[str, Any] = json.loads(text)
    return document


def provenance(options: Options) -> dict[str, str]:
    """Provenance of a file: package version, command line (from the repository's root), date."""
    version = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Version}", "ns2"], capture_output=True, text=True, check=False
    )
    words = [item for key, value in options.items() for item in (key, f"'{value}'")]
    return {
        "simulator": f"ns-2, Debian package ns2 {version.stdout.strip() or 'of unknown version'}",
        "command": " ".join(["ns benches/ns2/dumbbell.tcl", *words]),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
    }


def follow(options: Options, variables: str) -> tuple[dict[str, Any], list[tuple[float, str, float]]]:
    """Run once with agent variables traced; returns the document and (time_s, variable, new value) by time."""
    with tempfile.NamedTemporaryFile(mode="r", suffix=".trace") as trace:
        document = simulate({**options, "follow": variables, "follow_file": trace.name})
        changes = []
        for line in trace:
            fields = line.split()
            changes.append((float(fields[0]), fields[-2], float(fields[-1])))
    return document, changes


def window_cuts(changes: list[tuple[float, str, float]]) -> list[dict[str, float]]:
    """Time, window before the reduction, and new ssthresh of each reduction (loss or timeout) counted by the agent."""
    cuts: list[dict[str, float]] = []
    latest: dict[str, float] = {}
    for time_s, variable, value in changes:
        if variable == "ncwndcuts_" and value > 0:
            cuts.append({"time_s": time_s, "cwnd_before": latest["cwnd_"], "ssthresh": latest["ssthresh_"]})
        elif variable == "ssthresh_" and cuts and time_s == cuts[-1]["time_s"]:
            # The agent first counts the reduction, and sets ssthresh at the end of the same ACK.
            cuts[-1]["ssthresh"] = value
        latest[variable] = value
    return cuts


def first_recovery(options: Options, entered_s: float) -> dict[str, float]:
    """The first recovery, from a second run that ends soon after this recovery and traces every ACK.

    `recover` is the highest segment that had been sent when the recovery began. The recovery ends with the first ACK
    of this segment or of a later one. Drops and retransmissions are read at multiples of 10 ms.
    """
    duration_s = entered_s + 1.0
    while True:
        short = {**options, "duration_s": f"{duration_s}", "period_s": "0.01", "marks": ""}
        document, changes = follow(short, "cwnd_ ssthresh_ ack_ maxseq_")
        found = _first_recovery(changes)
        if found:
            break
        duration_s *= 2
    place = {name: i for i, name in enumerate(document["columns"])}
    rows = document["rows"]
    at_entry = max((row for row in rows if row[0] <= found["entered_s"]), key=lambda row: row[0])
    at_end = min((row for row in rows if row[0] >= found["ended_s"]), key=lambda row: row[0])
    return {
        **found,
        "drops_before_entry": at_entry[place["dropped"]],
        "drops_by_end": at_end[place["dropped"]],
        "retransmits_by_end": at_end[place["retransmits[0]"]],
    }


def _first_recovery(changes: list[tuple[float, str, float]]) -> dict[str, float]:
    found: dict[str, float] = {}
    latest: dict[str, float] = {}
    for time_s, variable, value in changes:
        if "ended_s" in found:
            # ns-2 writes cwnd_ after ack_, and only if cwnd_ changed; ACKs are further apart than the trace's 10 us.
            same_ack = variable == "cwnd_" and time_s == found["ended_s"]
            return {**found, "cwnd_after": value if same_ack else latest["cwnd_"]}
        if variable == "ssthresh_" and not found and latest.get("ssthresh_", value) != value:
            found = {
                "entered_s": time_s,
                "cwnd_before": latest["cwnd_"],
                "ssthresh": value,
                "recover": latest["maxseq_"],
            }
        elif variable == "ack_" and found and value >= found["recover"]:
            found["ended_s"] = time_s
        latest[variable] = value
    return {}


def condense(document: dict[str, Any], every_s: float) -> dict[str, Any]:
    """Rows at multiples of `every_s`, and the windows of each flow at the run's sampling interval."""
    columns, rows = document["columns"], document["rows"]
    period_s = float(document["options"]["period_s"])
    step = round(every_s / period_s)
    windows = {name: [row[i] for row in rows] for i, name in enumerate(columns) if name.startswith("cwnd[")}
    return {"columns": columns, "rows": rows[::step], "window_period_s": period_s, "windows": windows}


def at_mark(document: dict[str, Any], index: int) -> dict[str, float]:
    """The row at the requested time with the number `index`: values by column name."""
    return dict(zip(document["columns"], document["marks"][index], strict=True))


def save(path: Path, content: dict[str, Any]) -> None:
    """Write a JSON file with one line for each key and for each row, so that a diff shows the changed values."""
    path.write_text(_lines(content, 0) + "\n")
    print(f"{path}: {path.stat().st_size} bytes", file=sys.stderr)


def _lines(value: Any, depth: int) -> str:
    inner = "\n" + " " * (depth + 1)
    if isinstance(value, dict) and depth < 2 and value:
        return "{" + ",".join(f"{inner}{json.dumps(k)}: {_lines(v, depth + 1)}" for k, v in value.items()) + "}"
    if isinstance(value, list) and value and isinstance(value[0], list | dict):
        return "[" + ",".join(inner + json.dumps(item, separators=(",", ":")) for item in value) + "]"
    return json.dumps(value, separators=(",", ":"))


def single(out: Path, algorithms: list[str], timestamps: bool) -> None:
    """Run one flow for 30 s over 622 Mbit/s and 100 ms, with a buffer of 1,555 packets: slow start and recovery."""
    for algorithm in algorithms:
        options = {
            "algorithms": algorithm, "rate_bps": "622e6", "delay_s": "0.048", "access_bps": "1e9", "access_s": "0.001",
            "buffer": "1555", "payload": "1000", "window": "67000", "timestamps": "1" if timestamps else "0",
            "duration_s": "30", "marks": "1.2 3 10 20 29.5",
        }  # fmt: skip
        document, changes = follow(options, "cwnd_ ssthresh_ ncwndcuts_")
        cuts = window_cuts(changes)
        content = {
            "provenance": provenance(options),
            "first_recovery": first_recovery(options, cuts[0]["time_s"]) if cuts else None,
            "window_cuts": cuts,
            "marks": [at_mark(document, i) for i in range(len(document["marks"]))],
            **condense(document, 1.0),
        }
        save(out / f"single-{algorithm}{'-timestamps' if timestamps else ''}.json", content)


def sensitivity(out: Path) -> None:
    """Repeat the `single` runs of the loss-based algorithms with a delay that differs by a few microseconds.

    A result that changes much depends on chance in ns-2's loss recovery and not on the algorithm. Another simulator
    need not agree with such a result.
    """
    rows = []
    options: Options = {}
    for algorithm in ("reno", "highspeed", "scalable", "htcp", "bic", "cubic"):
        for moved_us in (-10, -1, 0, 1, 10):
            options = {
                "algorithms": algorithm, "rate_bps": "622e6", "delay_s": f"{0.048 + moved_us / 1e6:.6f}",
                "access_bps": "1e9", "access_s": "0.001", "buffer": "1555", "payload": "1000", "window": "67000",
                "duration_s": "30", "period_s": "1", "marks": "29.5",
            }  # fmt: skip
            row = at_mark(simulate(options), 0)
            kept = {name: int(row[f"{name}[0]"]) for name in FLOW_COLUMNS if name != "cwnd"}
            rows.append({"algorithm": algorithm, "delay_moved_us": moved_us, **kept, "dropped": int(row["dropped"])})
    save(out / "sensitivity.json", {"provenance": provenance(options), "at_s": 29.5, "rows": rows})


def sawtooth(out: Path) -> None:
    """Run one Reno flow for 200 s over 100 Mbit/s and 40 ms, with buffers of 0.1, 0.5 and 1 BDP.

    The BDP is 480 packets of 1,040 bytes. A queue of ns-2 with the limit n holds n - 1 waiting packets.
    """
    for name, buffer in (("0.1bdp", 48), ("0.5bdp", 240), ("1bdp", 480)):
        options = {
            "algorithms": "reno", "rate_bps": "100e6", "delay_s": "0.018", "access_bps": "1e9", "access_s": "0.001",
            "buffer": str(buffer), "payload": "1000", "window": "67000", "duration_s": "200", "marks": "20 60 199.5",
        }  # fmt: skip
        document, changes = follow(options, "cwnd_ ssthresh_ ncwndcuts_")
        cuts = window_cuts(changes)
        content = {
            "provenance": provenance(options),
            "first_recovery": first_recovery(options, cuts[0]["time_s"]),
            "window_cuts": cuts,
            "marks": [at_mark(document, i) for i in range(len(document["marks"]))],
            **condense(document, 10.0),
        }
        content["windows"] = {flow: series[::10] for flow, series in content["windows"].items()}
        content["window_period_s"] = 1.0
        save(out / f"sawtooth-{name}.json", content)


def phase(out: Path) -> None:
    """Run five Reno flows for a minute over 40 Mbit/s and 30 ms, with a buffer of 150 packets.

    The RTT is 100 times the transmission time of a packet, so all packets arrive in one phase of the departures, and
    the shares stay unequal.
    """
    runs = []
    options: Options = {}
    for step_ms in (20, 25):
        options = {
            "algorithms": " ".join(["reno"] * 5), "starts": " ".join(f"{i * step_ms / 1e3:g}" for i in range(5)),
            "rate_bps": "40e6", "delay_s": "0.013", "access_bps": "100e6", "access_s": "0.001", "buffer": "150",
            "payload": "1460", "window": "67000", "duration_s": "61", "marks": "20 60",
        }  # fmt: skip
        document = simulate(options)
        early, late = at_mark(document, 0), at_mark(document, 1)
        segments = [int(late[f"in_order[{i}]"] - early[f"in_order[{i}]"]) for i in range(5)]
        runs.append({"starts_s": [float(start) for start in options["starts"].split()], "segments": segments})
    save(out / "phase.json", {"provenance": provenance(options), "from_s": 20, "to_s": 60, "runs": runs})


def pair(out: Path, first: str, second: str) -> None:
    """Run two flows for 500 s; the second flow starts at 50 s.

    Throughputs are means from 250 s to 500 s of the segments that arrived in order, Mbit/s on the wire.
    """
    options = {
        "algorithms": f"{first} {second}", "starts": "0 50", "rate_bps": "622e6", "delay_s": "0.048",
        "access_bps": "1e9", "access_s": "0.001", "buffer": "1555", "payload": "1000", "window": "67000",
        "duration_s": "500", "marks": "250 499.999",
    }  # fmt: skip
    document = simulate(options)
    early, late = at_mark(document, 0), at_mark(document, 1)
    span_s = late["time_s"] - early["time_s"]
    rates = [rate_mbps((late[f"in_order[{i}]"] - early[f"in_order[{i}]"]) * 1040, span_s) for i in (0, 1)]
    content = {
        "provenance": provenance(options),
        "throughput_mbps": [round(rate, 3) for rate in rates],
        "asymmetry": round((rates[0] - rates[1]) / (rates[0] + rates[1]), 4),
        "utilization": round((late["sent"] - early["sent"]) * 1040 * 8 / span_s / 622e6, 5),
        "totals": late,
        "window_period_s": 5.0,
        "windows": {k: v[::50] for k, v in condense(document, 1.0)["windows"].items()},
    }
    path = out / "pairs.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    known[f"{first}>{second}"] = content
    save(path, known)


def main() -> int:
    """Parse the command line and run ns-2; the exit status is 1 if ns-2 fails."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=("single", "sensitivity", "sawtooth", "pairs", "phase"))
    parser.add_argument("--out", type=Path, required=True, help="folder for the JSON files")
    parser.add_argument(
        "--algorithm", action="append", choices=ALGORITHMS, help="for single; may be repeated; default all"
    )
    parser.add_argument(
        "--timestamps", action="store_true", help="for single: TCP timestamps on (10 more bytes a packet)"
    )
    parser.add_argument("--pair", action="append", help="for pairs: FIRST,SECOND; may be repeated; default six pairs")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    try:
        if arguments.what == "single":
            single(arguments.out, arguments.algorithm or ALGORITHMS, arguments.timestamps)
        elif arguments.what == "sensitivity":
            sensitivity(arguments.out)
        elif arguments.what == "sawtooth":
            sawtooth(arguments.out)
        elif arguments.what == "phase":
            phase(arguments.out)
        else:
            named = [tuple(text.split(",")) for text in arguments.pair or []]
            for first, second in named or DISCRIMINATING_PAIRS:
                pair(arguments.out, first, second)
    except (RuntimeError, FileNotFoundError) as problem:
        print(f"reference.py: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
