"""Check of the algorithm and the path that captures show, on captures from Linux in virtual time whose truth is known.

    .venv/bin/python -m tests.capture_survey                             # 60 captures
    .venv/bin/python -m tests.capture_survey --first 60 --count 300 --most-mbps 1000

A capture is a draw: one of 15 algorithms, the rate, the RTT, the buffer, the discipline, random losses, other traffic,
and the place, which is the receiver for a third. Each is made, judged and deleted before the next, and its line is
appended to ``--rows``, so an interrupted survey goes on where it was. The summary says how often the algorithm, the
rate (5 %), the base RTT (2 %) and the stated buffers (15 %) are right, how often intervals contain the truth, and how
often no algorithm is named if the true one is no candidate: of all captures, and of those in which no other algorithm
sends the same segments as the true one. Of what-if it says how often the goodput (10 %) and the 95th percentile of RTTs
(15 %) of other algorithms are those of the true path simulated, as means of eight seeds, and how often intervals
contain them; a prediction that is said to be not identifiable counts apart; and of the limits, in how many of all
intervals they are the path's, which limits all of these flows.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from elephan import backends
from elephan.backends.linux.backend import LinuxBackend
from elephan.backends.linux.guest import DEVICES
from elephan.explanation import (
    AlgorithmFit,
    Estimate,
    Explanation,
    PathFit,
    explain,
)
from elephan.explanation.algorithm import ALIKE, bounds_of, judged
from elephan.explanation.predicting import duration_of
from elephan.explanation.results import OF_PATH, Limits
from elephan.metrics.batch import batch
from elephan.scenario import Scenario

ALGORITHMS = (
    "reno:linux", "cubic:linux", "bic:linux", "westwood:linux", "htcp:linux", "hstcp:linux", "hybla:linux",
    "vegas:linux", "nv", "stcp:linux", "veno:linux", "yeah:linux", "illinois:linux", "cdg:linux", "bbr:linux",
)  # fmt: skip
RATES_MBPS, RTTS_MS, BUFFERS_BDP = (1.0, 1000.0), (5.0, 300.0), (0.2, 8.0)
QUEUES = ("droptail",) * 11 + ("codel",) * 3 + ("pie",) * 3 + ("policer",) * 3
OTHERS = (None,) * 12 + ("flow",) * 3 + ("web",) * 2 + ("datagrams",) * 3
LOSSES = (0.0,) * 8 + (1e-4, 1e-3)
LEAST_BUFFER, LARGE_BUFFER = 4, 1000
PACKET_BITS = 12_000
DURATION_S, START_S, OTHER_START_S = 32, 0.1, 7
SHARE_OF_DATAGRAMS = 0.25
LINK_BEHIND_POLICER = 4
ALTERNATIVES = ("cubic:linux", "bbr:linux", "htcp:linux")
TRUTH_SEEDS = tuple(range(1, 9))
PREDICTED = {"goodput_mbps": 0.10, "rtt_p95_ms": 0.15}
BOUNDS = {
    "algorithm": 0.97, "algorithm elsewhere": 0.9, "none without it, untwinned": 0.9, "rate": 0.9, "rtt": 0.95,
    "buffer": 0.8,
    "interval of rate": 0.9, "interval of rtt": 0.9, "interval of buffer": 0.9, "what-if goodput_mbps": 0.8,
    "what-if rtt_p95_ms": 0.8, "interval of goodput_mbps": 0.9, "interval of rtt_p95_ms": 0.9, "limits": 0.95,
}  # fmt: skip
"""Least shares of right answers, below which the survey fails."""
TOLERANCES = {"rate": 0.05, "rtt": 0.02, "buffer": 0.15}


@dataclass(frozen=True)
class Draw:
    """The truth of a capture."""

    number: int
    algorithm: str
    rate_mbps: float
    rtt_ms: float
    buffer_packets: int
    queue: str
    loss: float
    other: str | None
    place: str

    @classmethod
    def of(cls, number: int, most_mbps: float, least_mbps: float = RATES_MBPS[0]) -> Draw:
        """Draw a number's capture."""
        drawn = random.Random(number)

        def between(low: float, high: float) -> float:
            return float(f"{math.exp(drawn.uniform(math.log(low), math.log(high))):.4g}")

        rate, rtt = between(least_mbps, most_mbps), between(*RTTS_MS)
        packets = max(LEAST_BUFFER, round(between(*BUFFERS_BDP) * rate * 1e3 * rtt / PACKET_BITS))
        return cls(
            number, ALGORITHMS[number % len(ALGORITHMS)], rate, rtt, packets, drawn.choice(QUEUES),
            drawn.choice(LOSSES), drawn.choice(OTHERS), drawn.choice(("sender", "sender", "receiver")),
        )  # fmt: skip

    @property
    def held_packets(self) -> int:
        """Packets that the queue holds: slow start may fill it before CoDel or PIE drops enough."""
        return self.buffer_packets if self.queue in ("droptail", "policer") else max(self.buffer_packets, LARGE_BUFFER)

    def scenario(self, simulated: str | None = None, duration_s: float = DURATION_S) -> Scenario:
        """The path, with the flow on Linux, or with another algorithm that is simulated."""
        flow: dict[str, Any] = {"name": "captured", "algorithm": simulated or self.algorithm, "start": f"{START_S} s"}
        flow |= {"stack": "linux"} if simulated else {"backend": "linux"}
        beside = {} if simulated else {"backend": "sim"}
        path: dict[str, Any] = {
            "rate": f"{self.rate_mbps} Mbit/s", "rtt": f"{self.rtt_ms} ms", "buffer": f"{self.buffer_packets} packets",
            "queue": self.queue,
        }  # fmt: skip
        if self.queue == "policer":
            burst = self.buffer_packets * PACKET_BITS // 8
            behind = max(2 * self.buffer_packets, LARGE_BUFFER)
            path |= {
                "rate": f"{LINK_BEHIND_POLICER * self.rate_mbps} Mbit/s", "buffer": f"{behind} packets",
                "queue_parameters": {"rate": f"{self.rate_mbps} Mbit/s", "burst": f"{burst} B"},
            }  # fmt: skip
        elif self.queue != "droptail":
            path["buffer"] = f"{self.held_packets} packets"
        if self.loss:
            path["loss"] = self.loss
        flows, traffic = [flow], []
        if self.other == "flow":
            flows.append({"name": "other", "algorithm": "cubic", "start": f"{OTHER_START_S} s", **beside})
        elif self.other == "datagrams":
            datagrams = {
                "rate": f"{SHARE_OF_DATAGRAMS * self.rate_mbps:.4g} Mbit/s", "size": "1000 B", "arrivals": "poisson",
            }  # fmt: skip
            flows.append({"name": "other", "algorithm": "datagrams", "datagrams": datagrams, **beside})
        elif self.other == "web":
            traffic.append({"name": "web", "algorithm": "cubic", "load": "20%"})
        tables: dict[str, Any] = {
            "duration": f"{duration_s} s", "seed": self.number, "dumbbell": path, "flow": flows,
        }  # fmt: skip
        if traffic:
            tables["traffic"] = traffic
        return Scenario.from_dict(tables)


def judge(draw: Draw) -> dict[str, Any]:
    """Make a capture, and compare what it shows with the truth."""
    backend = backends.get("linux")
    assert isinstance(backend, LinuxBackend)
    with tempfile.TemporaryDirectory() as folder:
        backend.run(draw.scenario(), draw.number, captures=Path(folder))
        device = DEVICES[0 if draw.place == "sender" else 1]
        explained = explain(Path(folder) / f"{device}.pcapng")
        events, limits = explained.events, explained.limits
    found, path = explained.algorithm, explained.path
    name = draw.algorithm.split(":")[0]
    others = {match.algorithm: match.score for match in found.ranking if match.algorithm.split(":")[0] != name}
    score = max((match.score for match in found.ranking if match.algorithm.split(":")[0] == name), default=0.0)
    without = (
        judged(others, events.segments, found.tolerance_s, bounds_of(events)) if others else AlgorithmFit((), (), 0.0)
    )
    return {
        **asdict(draw), "segments": events.segments, "names": found.names, "without": without.names,
        "score": score, "has_twin": any(abs(other - score) <= ALIKE for other in others.values()),
        "found_queue": path.queue, "losses": int(events.seen.lost.sum()), **_compared(draw, path),
        "limits": _of_path(limits), "what_if": _predicted(draw, explained),
    }  # fmt: skip


def _of_path(limits: Limits) -> tuple[int, int]:
    """Intervals whose limit is the path, and all."""
    times = limits.series["time_s"].tolist()
    return sum(limits.at(time_s) in OF_PATH for time_s in times), len(times)


def _predicted(draw: Draw, explained: Explanation) -> dict[str, list[tuple[float, bool, bool]]]:
    """Predicted numbers of other algorithms as multiples of those on the true path, if intervals contain these, and if
    they are said to be not identifiable.
    """
    found: dict[str, list[tuple[float, bool, bool]]] = {name: [] for name in PREDICTED}
    for one in explained.what_if(ALTERNATIVES):
        truth = draw.scenario(one.algorithm, duration_of(explained.limits))
        table = batch(truth, [{"seed": seed} for seed in TRUTH_SEEDS], list(PREDICTED), progress=False)
        for name, compared in found.items():
            column = name if name in table.columns else f"{name}[captured]"
            true = float(table[column].to_numpy().mean())
            inside = bool(one.low[name] <= true <= one.high[name])
            compared.append((one.means[name] / true, inside, name in one.hidden))
    return found


def _compared(draw: Draw, path: PathFit) -> dict[str, Any]:
    """Each number as a multiple of its true value, and if its interval contains this."""
    packet_bytes = PACKET_BITS / 8
    truth = {
        "rate": draw.rate_mbps * 1e6, "rtt": draw.rtt_ms / 1e3, "buffer": draw.held_packets * packet_bytes,
    }  # fmt: skip
    return {name: _of_truth(path.by_name[name], value) for name, value in truth.items()}


def _of_truth(quantity: Estimate, truth: float) -> tuple[float, bool] | None:
    if quantity.value is None:
        return None
    low, high = quantity.low or -math.inf, quantity.high or math.inf
    return quantity.value / truth, bool(low <= truth <= high)


def summary(rows: list[dict[str, Any]]) -> dict[str, tuple[int, int]]:
    """Right answers, and all that count, for each question."""
    counted: dict[str, tuple[int, int]] = {}

    def count(name: str, answers: Iterable[bool]) -> None:
        listed = list(answers)
        counted[name] = (sum(listed), len(listed))

    def right(row: dict[str, Any]) -> bool:
        return row["algorithm"].split(":")[0] in [name.split(":")[0] for name in row["names"]]

    count("algorithm", (right(row) for row in rows if row["place"] == "sender"))
    count("algorithm elsewhere", (right(row) for row in rows if row["place"] != "sender"))
    count("none without it", (not row["without"] for row in rows))
    count("none without it, untwinned", (not row["without"] for row in rows if not (right(row) and row["has_twin"])))
    for name, tolerance in TOLERANCES.items():
        stated = [row[name] for row in rows if row[name] is not None]
        answers = [abs(value - 1) <= tolerance for value, _ in stated]
        count(name, answers if name == "buffer" else [*answers, *([False] * (len(rows) - len(stated)))])
        count(f"interval of {name}", (inside for _, inside in stated))
    for name, tolerance in PREDICTED.items():
        compared = [one for row in rows for one in row["what_if"][name]]
        count(f"what-if {name}", (abs(ratio - 1) <= tolerance for ratio, _, hidden in compared if not hidden))
        count(f"not identifiable {name}", (hidden for _, _, hidden in compared))
        count(f"interval of {name}", (inside for _, inside, _ in compared))
    counted["limits"] = (sum(row["limits"][0] for row in rows), sum(row["limits"][1] for row in rows))
    count("queue that is named", (row["found_queue"] == row["queue"] for row in rows if row["found_queue"]))
    return counted


def main() -> int:
    """Judge the captures that the rows lack, and print the summary."""
    parser = argparse.ArgumentParser(description="algorithms and paths of captures from Linux in virtual time")
    parser.add_argument("--first", type=int, default=0, help="number of the first capture")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--least-mbps", type=float, default=RATES_MBPS[0])
    parser.add_argument("--most-mbps", type=float, default=50.0)
    parser.add_argument("--rows", type=Path, default=Path(".elephan/capture_survey.jsonl"))
    given = parser.parse_args()
    given.rows.parent.mkdir(parents=True, exist_ok=True)
    rows = [json.loads(line) for line in given.rows.read_text().splitlines()] if given.rows.exists() else []
    wanted = range(given.first, given.first + given.count)
    known = {row["number"] for row in rows}
    with given.rows.open("a", encoding="utf-8") as file:
        for number in (number for number in wanted if number not in known):
            row = judge(Draw.of(number, given.most_mbps, given.least_mbps))
            file.write(json.dumps(row) + "\n")
            file.flush()
            rows.append(json.loads(json.dumps(row)))
    counted = summary([row for row in rows if row["number"] in wanted])
    failed = False
    for name, (good, of) in counted.items():
        is_low = of > 0 and good < BOUNDS.get(name, 0.0) * of
        failed |= is_low
        print(f"{name:24s} {good:4d} of {of:4d}{'  below ' + format(BOUNDS[name], '.0%') if is_low else ''}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
