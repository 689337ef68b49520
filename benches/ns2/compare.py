"""Comparison of the engine with ns-2, in the cases for which tests/reference/ns2/table.json has results of ns-2.

    .venv/bin/python benches/ns2/compare.py                      # writes docs/reference/ns2.md
    .venv/bin/python benches/ns2/compare.py --only cubic htcp    # prints these two rows

Both simulators run each case several times, with delays of the bottleneck that differ by a few microseconds. The means
of each flow's goodput and of the drops are compared. The verdict is *same* if the 95 % confidence interval of the
difference lies within ±1 %, *differs* if the interval lies outside ±1 %, and *not settled* otherwise.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scipy import stats

from elephan import Scenario
from elephan.backends import get
from elephan.runs.execute import compute

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "tests" / "reference" / "ns2" / "table.json"
PAGE = ROOT / "docs" / "reference" / "ns2.md"
# Largest differences for the verdict "same": 1 %, and for drops also one packet.
AGREES = 0.01
ONE_DROP = 1.0
CONFIDENCE = 0.95
# Names of modules in ns-2, and of the same algorithms in Elephan.
NAMES = {"highspeed": "hstcp", "scalable": "stcp"}
WINDOW = 67_000
Row = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """The case of one line of the table."""

    algorithm: str
    path: str
    flows: int
    timestamps: bool
    start: str


@dataclass(frozen=True)
class Figures:
    """Results of one simulator for a case: lists with one value for each delay of the bottleneck."""

    goodput_mbps: list[list[float]]
    dropped: list[float]
    resent_per_drop: list[float]


@dataclass(frozen=True)
class Difference:
    """Difference of the engine's mean from ns-2's mean, with half the width of the difference's confidence interval.

    All three numbers are fractions of ns-2's mean. A difference of at most ``allowed`` counts as no difference.
    """

    mean: float
    half: float
    allowed: float

    @property
    def verdict(self) -> str:
        """``same``, ``differs``, or ``not settled`` if the interval allows both."""
        if abs(self.mean) + self.half <= self.allowed:
            return "same"
        return "differs" if abs(self.mean) - self.half > self.allowed else "not settled"

    def __str__(self) -> str:
        if math.isinf(self.mean):
            return "from none"
        half = f" ± {self.half:.2%}" if self.half >= 5e-5 else ""
        return f"{self.mean:+.2%}{half}"


def difference(ours: Sequence[float], theirs: Sequence[float], least: float = 0.0) -> Difference:
    """Difference of two means with Welch's interval; an absolute difference of up to ``least`` counts as 0."""
    base = statistics.fmean(theirs)
    apart = statistics.fmean(ours) - base
    if base == 0:
        return Difference(math.copysign(math.inf, apart) if apart else 0.0, 0.0, 0.0)
    errors = [statistics.variance(side) / len(side) for side in (ours, theirs)]
    half = 0.0
    if sum(errors) > 0:
        freedom = sum(errors) ** 2 / sum(e**2 / (len(side) - 1) for e, side in zip(errors, (ours, theirs), strict=True))
        half = float(stats.t.ppf((1 + CONFIDENCE) / 2, freedom)) * math.sqrt(sum(errors))
    return Difference(apart / base, half / base, max(AGREES, least / base))


def differences(ns2: Figures, ours: Figures) -> list[Difference]:
    """The difference of each flow's goodput, followed by the difference of the drops."""
    pairs = zip(ours.goodput_mbps, ns2.goodput_mbps, strict=True)
    return [*(difference(mine, theirs) for mine, theirs in pairs), difference(ours.dropped, ns2.dropped, ONE_DROP)]


def ours_for(algorithm: str, *, timestamps: bool) -> str:
    """The preset that corresponds to a module in ns-2's TCP/Linux agent.

    The modules of CUBIC, Compound and LP read values that only TCP timestamps provide. Westwood's module does not get
    the event at the end of a recovery, and Reno counts bytes.
    """
    if algorithm == "lp" and timestamps:
        return "lp:ns2-timestamps"
    if algorithm in ("reno", "westwood") or (algorithm in ("cubic", "compound", "lp") and not timestamps):
        return f"{algorithm}:ns2"
    return f"{NAMES.get(algorithm, algorithm)}:linux-2.6"


def scenario(case: Case, table: Row, moved_us: int, preset: str | None = None) -> Scenario:
    """The scenario of dumbbell.tcl, with ``preset``, or by default with the preset that corresponds to the module."""
    path = table["paths"][case.path]
    # An agent's window_ is its first ssthresh and bounds its cwnd; data above a hole in the received data does not
    # count toward this bound.
    ssthresh = int(path["gentle"]) if case.start == "gentle" else WINDOW
    stack: Row = {"base": "ns2", "receive_window": f"{WINDOW} segments", "initial_ssthresh": f"{ssthresh} segments"}
    if case.timestamps:
        stack |= {"header": "50 B", "time_one_segment": False}
    access_s = path.get("access_s", [0.001] * case.flows)
    rtts_us = [round(2e6 * path["delay_s"] + 4e6 * access) + 2 * moved_us for access in access_s]
    algorithm = preset or ours_for(case.algorithm, timestamps=case.timestamps)
    return Scenario.dumbbell(
        [{"algorithm": algorithm, "rtt": f"{rtt_us} us"} for rtt_us in rtts_us[: case.flows]],
        rate=f"{path['rate_bps'] / 1e6:g} Mbit/s",
        rtt=f"{rtts_us[0]} us",
        buffer=f"{path['buffer']:.0f} packets",
        starts=[f"{table['second_starts_s'] * i:g} s" for i in range(case.flows)],
        duration=f"{path['duration_s']:g} s",
        queue="droptail:ns2",
        access_rate="1 Gbit/s",
        access_delay=f"{access_s[0] * 1e6:.0f} us",
        stack=stack,
        start_jitter="0 s",
        sample_period="1 s",
        measure={"from": f"{path['from_s']:g} s"},
    )


def run_ours(case: Case, table: Row, moved_us: int, preset: str | None = None) -> Row:
    """Results of one run of the engine, in the form of a row of table.json."""
    run = compute(get("sim"), scenario(case, table, moved_us, preset), 1)
    flows, links = run.summary()["flows"], run.links
    return {
        "goodput_mbps": [flow["goodput_mbps"] for flow in flows],
        "retransmits": [flow["total_retransmits"] for flow in flows],
        "dropped": links.filter(links["link"] == "bottleneck")["dropped_packets"].max(),
    }


def figures(rows: Iterable[Row]) -> Figures:
    """Results of one simulator from the rows of a case."""
    rows = list(rows)
    goodput = [list(flow) for flow in zip(*(row["goodput_mbps"] for row in rows), strict=True)]
    resent = [sum(row["retransmits"]) / max(row["dropped"], 1) for row in rows]
    return Figures(goodput, [float(row["dropped"]) for row in rows], resent)


def cases(table: Row) -> dict[Case, list[Row]]:
    """All cases of table.json, each with the rows of ns-2."""
    found: dict[Case, list[Row]] = {}
    for row in table["rows"]:
        case = Case(row["algorithm"], row["path"], row["flows"], row["timestamps"], row["start"])
        found.setdefault(case, []).append(row)
    return found


def compare(wanted: Sequence[Case], table: Row, found: dict[Case, list[Row]]) -> dict[Case, tuple[Figures, Figures]]:
    """Results of ns-2 and of the engine for each case."""
    jobs = [(case, row["moved_us"]) for case in wanted for row in found[case]]
    with ThreadPoolExecutor(max_workers=2) as pool:
        results = list(pool.map(lambda job: run_ours(job[0], table, job[1]), jobs))
    ours: dict[Case, list[Row]] = {}
    for (case, _), result in zip(jobs, results, strict=True):
        ours.setdefault(case, []).append(result)
    return {case: (figures(found[case]), figures(ours[case])) for case in wanted}


def label(case: Case) -> str:
    """The first two cells of a line: ns-2's module and our preset."""
    return f"{case.algorithm} | `{ours_for(case.algorithm, timestamps=case.timestamps)}`"


def ranged(values: Sequence[float], form: str) -> str:
    """Text of the mean, followed by the range of the values if they differ."""
    low, middle, high = (format(x, form) for x in (min(values), statistics.fmean(values), max(values)))
    return middle if low == high else f"{middle} ({low} – {high})"


def forgets(ns2: Figures) -> bool:
    """True if ns-2 retransmitted segments that had arrived: it has at least 5 % more retransmissions than drops."""
    return max(ns2.resent_per_drop) > 1.05


def verdict(ns2: Figures, ours: Figures) -> str:
    """The worst of the verdicts on a case's goodputs and drops."""
    found = [one.verdict for one in differences(ns2, ours)]
    return next(word for word in ("differs", "not settled", "same") if word in found)


def explanation(ns2: Figures, ours: Figures) -> str:
    """The last cell of a line: a known reason for a difference, or an empty text."""
    return "SACKs forgotten" if verdict(ns2, ours) != "same" and forgets(ns2) else ""


def lines(found: dict[Case, tuple[Figures, Figures]], flows: int) -> str:
    """One table of the page."""
    head = ["module", "preset", "timestamps"]
    for what in [f"flow {i + 1}, Mbit/s" for i in range(flows)] + ["drops"]:
        head += [f"{what}: ns-2", "Elephan", "difference"]
    head += ["verdict", "cause"]
    text = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    for case, (ns2, ours) in found.items():
        cells = [label(case), "on" if case.timestamps else "off"]
        columns = [*zip(ns2.goodput_mbps, ours.goodput_mbps, strict=True), (ns2.dropped, ours.dropped)]
        for i, ((theirs, mine), apart) in enumerate(zip(columns, differences(ns2, ours), strict=True)):
            form = ".2f" if i < flows else ".0f"
            cells += [ranged(theirs, form), ranged(mine, form), str(apart)]
        word = verdict(ns2, ours)
        cells += [f"**{word}**" if word == "differs" else word, explanation(ns2, ours)]
        text.append("| " + " | ".join(cells) + " |")
    return "\n".join(text) + "\n"


def tally(pairs: Iterable[tuple[Figures, Figures]]) -> str:
    """Sentence with the number of lines for each verdict.

    The sentence also states the number of lines without the verdict *same* in which ns-2 forgot SACKs.
    """
    pairs = list(pairs)
    words = [verdict(*pair) for pair in pairs]
    own = sum(forgets(ns2) for (ns2, _), word in zip(pairs, words, strict=True) if word != "same")
    counts = ", ".join(f"{words.count(word)} {word}" for word in ("same", "not settled", "differs"))
    return f"{len(words)} lines: {counts}; ns-2 forgot its SACKs in {own} of the lines that are not *same*.\n"


# Pairs of a case and a preset without one peculiarity of ns-2. The case itself is run with the preset that has the
# peculiarity.
ISOLATED = [
    (Case("cubic", "622M", 1, False, "gentle"), "cubic:linux-2.6"),
    (Case("westwood", "622M", 1, False, "slow"), "westwood:linux-2.6"),
    (Case("compound", "622M", 1, False, "slow"), "compound:linux-2.6"),
    (Case("lp", "100M", 1, False, "slow"), "lp:linux-2.6"),
]


def isolated(table: Row, found: dict[Case, list[Row]]) -> str:
    """Table of the effect of each peculiarity of ns-2: the engine's goodput with and without the peculiarity."""
    text = ["| module | run | ns-2, Mbit/s | with it | Mbit/s | without it | Mbit/s |", "|" + " --- |" * 7]
    for case, preset in ISOLATED:
        with_it, without = (run_ours(case, table, 0, name)["goodput_mbps"][0] for name in (None, preset))
        own = ours_for(case.algorithm, timestamps=case.timestamps)
        cells = [
            case.algorithm,
            f"{case.path}, {START[case.start]}",
            f"{statistics.fmean(figures(found[case]).goodput_mbps[0]):.2f}",
        ]
        cells += [f"`{own}`", f"{with_it:.2f}", f"`{preset}`", f"{without:.2f}"]
        text.append("| " + " | ".join(cells) + " |")
    return "\n".join(text) + "\n"


START = {"slow": "slow start", "gentle": "gentle start"}
TITLES = {
    ("10M-0.5", 2, "slow"): "10 Mbit/s, 20 and 20 ms, 0.5 BDP (12 packets), slow start",
    ("10M-4", 2, "slow"): "10 Mbit/s, 40 and 40 ms, 4 BDP (192 packets), slow start",
    ("50M-0.3", 2, "gentle"): "50 Mbit/s, 30 and 90 ms, 0.3 BDP (108 packets), gentle start",
    ("50M-2", 2, "gentle"): "50 Mbit/s, 20 and 60 ms, 2 BDP (480 packets), gentle start",
    ("200M-0.2", 2, "gentle"): "200 Mbit/s, 100 and 100 ms, 0.2 BDP (480 packets), gentle start",
    ("100M-1", 2, "gentle"): "100 Mbit/s, 60 and 120 ms, 1 BDP (1,082 packets), gentle start",
    ("300M-0.5", 2, "slow"): "300 Mbit/s, 60 and 120 ms, 0.5 BDP (1,622 packets), slow start",
    ("100M", 1, "slow"): "One flow, 100 Mbit/s, 40 ms, 1 BDP (480 packets), slow start, 50 to 200 s",
    ("100M", 1, "gentle"): "One flow, 100 Mbit/s, 40 ms, 1 BDP (480 packets), gentle start, 50 to 200 s",
    ("622M", 1, "slow"): "One flow, 622 Mbit/s, 100 ms, 0.2 BDP (1,555 packets), slow start, 20 to 60 s",
    ("622M", 1, "gentle"): "One flow, 622 Mbit/s, 100 ms, 0.2 BDP (1,555 packets), gentle start, 20 to 60 s",
}


def page(table: Row) -> str:
    """The whole page."""
    found = cases(table)
    both = compare([case for case in found if (case.path, case.flows, case.start) in TITLES], table, found)
    parts = [INTRODUCTION, f"All of them together: {tally(both.values())}"]
    for (path, flows, start), title in TITLES.items():
        own = {c: pair for c, pair in both.items() if (c.path, c.flows, c.start) == (path, flows, start)}
        parts += [f"### {title}\n", lines(own, flows), tally(own.values())] if own else []
    return "\n".join([*parts, DIFFERENCES, PECULIAR, isolated(table, found), PHASES])


INTRODUCTION = """<!-- written by benches/ns2/compare.py from tests/reference/ns2/table.json -->

# Side by side with ns-2

This page compares every congestion control module that both ns-2's TCP/Linux and Elephan have, on the same paths. In
ns-2.35 (Debian's `ns2`), the modules are those of Linux 2.6.22.6. Elephan uses the stack `ns2` and the preset that
corresponds to the module. Goodput is the data that arrives in order, 1,000 bytes a packet. Seven paths have two flows,
and the second flow starts after 5 s. For these paths, the measurement of goodput begins after 5 to 10 s, and drops are
counted over the whole run of 15 to 60 s. Timestamps are on for the modules that read them, and add 10 bytes to a
packet. Four longer runs have one flow.

Each run is made several times, in ns-2 and in Elephan, with small changes of the bottleneck's delay. Runs of two flows
are made eight times, on the large paths four times. The delays of these runs differ by multiples of an eighth of the
transmission time of a packet (104 µs at 10 Mbit/s, 3 µs at 300 Mbit/s). Runs of one flow have changes of −10, 0 and 10
µs. The differences between these runs are due to chance, so another simulator need not agree with them. A cell has the
mean of these runs and their range. The difference of the two means has a 95 % confidence interval (Welch's). The
verdict is *same* if the interval lies within ±1 %. For drops the limit is one packet if 1 % is less than one packet.
The verdict is *differs* if the interval lies outside of these limits. Otherwise the verdict is *not settled*, because
one of the two means varies too much by chance. The verdict of a line is the worst verdict of its goodputs and drops. If
a line has no cause, the cause is not known.

With a *gentle start*, the first slow-start threshold is 1.04 times the number of packets that path and queue hold
(`window_` in ns-2, `initial_ssthresh` in Elephan), so that slow start loses a few packets and not a whole window.

Two commands make this page again, in about ten minutes on an idle core. `python benches/ns2/table.py --out
tests/reference/ns2/table.json --judged` runs ns-2 where the file lacks a run, and `python benches/ns2/compare.py` runs
Elephan and judges the differences.

## Line by line
"""
DIFFERENCES = """## SACKs forgotten

ns-2's TCP/Linux clears its scoreboard at the end of a recovery. If segments beyond the recovery point were lost too,
ns-2 then knows only the three SACK blocks of the next ACK. ns-2 counts all other segments as lost, retransmits
thousands of segments that had arrived, and overfills the queue with them. A row of the table names this cause if ns-2
has 5 % more retransmissions than drops. Elephan keeps its scoreboard, as Linux does. This error only occurs if the
window still exceeds path and queue after the first reduction. Algorithms with a small reduction (BIC, CUBIC) or with an
overshoot of more than a factor of two (Hybla) have a window of this size after slow start.
"""
PHASES = """## Phase effects

If nothing is random, the phase of a flow's packets at a full drop-tail queue decides which flow loses (Floyd and
Jacobson 1991). Five Reno flows that start within 0.1 s over 40 Mbit/s and 30 ms, which is 100 times the transmission
time of a packet, with 150 packets of buffer and access links of 100 Mbit/s deliver in order from 20 s to 60 s:

| starts | ns-2, 1,000 segments | Jain's index | Elephan, `reno:ns2` | Jain's index |
| --- | --- | --- | --- | --- |
| 20 ms apart | 31.31, 14.05, 21.41, 21.08, 45.34 | 0.858 | 31.32, 14.06, 21.51, 21.08, 45.35 | 0.858 |
| 25 ms apart | 40.31, 20.56, 14.74, 45.43, 12.28 | 0.794 | 40.31, 20.56, 14.74, 45.43, 12.28 | 0.794 |
| 20 ms apart, RTT of 30.1 ms | 26.52, 26.53, 26.54, 27.00, 26.75 | 1.000 | 26.52, 26.53, 26.54, 27.00, 26.75 | 1.000 |

A step of the window takes exactly one window of segments in ns-2, so all flows take it at the same place of their
round, and their packets meet the queue in the same phase again. With a step of one ACK more, as in Linux 2.6.22
(`reno:linux-2.6`), the place moves by a packet each round and the shares even out (Jain's index is 0.998 and more), and
so they do if the RTT is longer by a tenth of a millisecond or packets are up to 0.2 ms late. `python
benches/ns2/reference.py phase --out tests/reference/ns2` makes ns-2's figures again, and `pytest
tests/reference/ns2/test_ns2_phase.py` compares them.

Two differences of the engine from ns-2 hid this state until November 2026. ns-2's TCP/Linux counts acknowledged bytes
(RFC 3465, `tcp_abc`), which Linux 2.6.22 does not by default, and it lets the window grow before it looks if a recovery
is over, so the ACK that ends a recovery does not grow the window.
"""
PECULIAR = """### Other differences of ns-2

An algorithm has a preset `ns2` if ns-2's agent runs the module differently from the kernel. The table shows the effect
of each difference, with results with and without the difference:

- CUBIC without timestamps never learns the smallest RTT, and its cap on growth is off; in this run the cap costs
  nothing.
- Westwood's module uses its bandwidth estimate at the end of a recovery; the agent never reports this end, so the
  module behaves like Reno.
- Compound without timestamps has one RTT sample a round trip and falls back to Reno.
- LP without timestamps has no one-way delays and behaves like Reno.
"""


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", metavar="MODULE", help="print these modules instead of writing the page")
    parser.add_argument("--path", nargs="+", help="with --only: these paths")
    arguments = parser.parse_args()
    table = json.loads(TABLE.read_text(encoding="utf-8"))
    if not arguments.only:
        PAGE.write_text(page(table), encoding="utf-8")
        return
    found = cases(table)
    wanted = [c for c in found if c.algorithm in arguments.only and c.path in (arguments.path or [c.path])]
    for case, (ns2, ours) in compare(wanted, table, found).items():
        print(case, *differences(ns2, ours), verdict(ns2, ours), explanation(ns2, ours), sep="; ")


if __name__ == "__main__":
    main()
