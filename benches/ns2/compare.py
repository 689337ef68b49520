"""The comparison table with ns-2: runs the engine where tests/reference/ns2/table.json has ns-2's figures.

    .venv/bin/python benches/ns2/compare.py                      # writes docs/reference/ns2.md
    .venv/bin/python benches/ns2/compare.py --only cubic htcp    # prints those rows

Both sides run each scenario with the bottleneck's delay moved by a few microseconds, and the table gives the median. A
row agrees when the goodput of all its flows together is within 5 %; for two flows, each flow's share is shown too.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elephan import Scenario
from elephan.habitats import get
from elephan.runs.execute import compute

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "tests" / "reference" / "ns2" / "table.json"
PAGE = ROOT / "docs" / "reference" / "ns2.md"
AGREES = 0.05
# ns-2's name of a module, and what it is called here.
NAMES = {"highspeed": "hstcp", "scalable": "stcp"}
WINDOW = 67_000
Row = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """What a line of the table compares."""

    algorithm: str
    path: str
    flows: int
    timestamps: bool
    start: str


@dataclass(frozen=True)
class Figures:
    """One side of a line, a value for each moved delay: goodput of all flows and the first one's part of it,
    retransmissions, and how many of them there are for each packet that was dropped."""

    goodput_mbps: list[float]
    share: list[float]
    retransmits: list[int]
    resent_per_drop: list[float]

    @property
    def goodput(self) -> float:
        return statistics.median(self.goodput_mbps)

    def differs(self, other: Figures) -> float:
        """How much more goodput than the other side, in its parts."""
        return self.goodput / other.goodput - 1.0


def ours_for(algorithm: str, *, timestamps: bool) -> str:
    """The preset that stands for a module as the agent runs it.

    CUBIC's, Compound's and LP's read what only timestamps bring; Westwood's never hears that a recovery ended.
    """
    if algorithm == "lp" and timestamps:
        return "lp:ns2-timestamps"
    if algorithm == "westwood" or (algorithm in ("cubic", "compound", "lp") and not timestamps):
        return f"{algorithm}:ns2"
    return f"{NAMES.get(algorithm, algorithm)}:linux-2.6"


def scenario(case: Case, table: Row, moved_us: int, preset: str | None = None) -> Scenario:
    """The scenario of dumbbell.tcl, with the preset that stands for the module or with another one."""
    path = table["paths"][case.path]
    # An agent's window_ is its first ssthresh and bounds its cwnd; data above a hole does not count against it.
    ssthresh = int(path["gentle"]) if case.start == "gentle" else WINDOW
    stack: Row = {"base": "ns2", "receive_window": f"{WINDOW} segments", "initial_ssthresh": f"{ssthresh} segments"}
    if case.timestamps:
        stack |= {"header": "50 B", "time_one_segment": False}
    rtt_us = round(2e6 * path["delay_s"]) + 4000 + 2 * moved_us
    return Scenario.dumbbell(
        [preset or ours_for(case.algorithm, timestamps=case.timestamps)] * case.flows,
        rate=f"{path['rate_bps'] / 1e6:g} Mbit/s",
        rtt=f"{rtt_us} us",
        buffer=f"{path['buffer']:.0f} packets",
        starts=[f"{table['second_starts_s'] * i:g} s" for i in range(case.flows)],
        duration=f"{path['duration_s']:g} s",
        queue="droptail:ns2",
        access_rate="1 Gbit/s",
        access_delay="1 ms",
        stack=stack,
        start_jitter="0 s",
        sample_period="1 s",
        measure={"from": f"{path['from_s']:g} s"},
    )


def run_ours(case: Case, table: Row, moved_us: int, preset: str | None = None) -> Row:
    """One run of the engine, in the form of a row of the reference."""
    run = compute(get("sim"), scenario(case, table, moved_us, preset), 1)
    flows, links = run.summary()["flows"], run.links
    return {
        "goodput_mbps": [flow["goodput_mbps"] for flow in flows],
        "retransmits": [flow["retransmits"] for flow in flows],
        "dropped": links.filter(links["link"] == "bottleneck")["dropped_packets"].max(),
    }


def figures(rows: Iterable[Row]) -> Figures:
    """One side of a line."""
    rows = list(rows)
    totals = [sum(row["goodput_mbps"]) for row in rows]
    shares = [row["goodput_mbps"][0] / total for row, total in zip(rows, totals, strict=True)]
    resent = [sum(row["retransmits"]) for row in rows]
    return Figures(totals, shares, resent, [n / max(row["dropped"], 1) for n, row in zip(resent, rows, strict=True)])


def cases(table: Row) -> dict[Case, list[Row]]:
    """The lines of the table, each with ns-2's rows."""
    found: dict[Case, list[Row]] = {}
    for row in table["rows"]:
        case = Case(row["algorithm"], row["path"], row["flows"], row["timestamps"], row["start"])
        found.setdefault(case, []).append(row)
    return found


def compare(wanted: Sequence[Case], table: Row, found: dict[Case, list[Row]]) -> dict[Case, tuple[Figures, Figures]]:
    """ns-2's figures and ours."""
    jobs = [(case, row["moved_us"]) for case in wanted for row in found[case]]
    with ThreadPoolExecutor(max_workers=2) as pool:
        results = list(pool.map(lambda job: run_ours(job[0], table, job[1]), jobs))
    ours: dict[Case, list[Row]] = {}
    for (case, _), result in zip(jobs, results, strict=True):
        ours.setdefault(case, []).append(result)
    return {case: (figures(found[case]), figures(ours[case])) for case in wanted}


def label(case: Case) -> str:
    """The first cells of a line: ns-2's module, our preset."""
    return f"{case.algorithm} | `{ours_for(case.algorithm, timestamps=case.timestamps)}`"


def ranged(values: Sequence[float], form: str) -> str:
    """The median, and the range where the moved delay makes it differ."""
    low, middle, high = (format(x, form) for x in (min(values), statistics.median(values), max(values)))
    return middle if low == high else f"{middle} ({low} – {high})"


def forgets(ns2: Figures) -> bool:
    """Whether ns-2 sent again what had arrived: more retransmissions than drops, by a twentieth at least."""
    return max(ns2.resent_per_drop) > 1.05


def overlap(ns2: Figures, ours: Figures) -> bool:
    """Whether microseconds move either side by so much that their ranges of goodput meet."""
    return min(ns2.goodput_mbps) <= max(ours.goodput_mbps) and min(ours.goodput_mbps) <= max(ns2.goodput_mbps)


def agrees(ns2: Figures, ours: Figures) -> bool:
    return abs(ours.differs(ns2)) <= AGREES


def verdict(ns2: Figures, ours: Figures) -> str:
    """The last cell of a line."""
    if forgets(ns2):
        return "SACKs forgotten" if agrees(ns2, ours) else "**differs**: SACKs forgotten"
    return "" if agrees(ns2, ours) else "ranges overlap" if overlap(ns2, ours) else "**differs**"


def lines(found: dict[Case, tuple[Figures, Figures]], flows: int) -> str:
    """One table of the page."""
    head = ["module", "preset", "timestamps", "ns-2, Mbit/s", "Elephan, Mbit/s", "difference"]
    head += ["first flow's part: ns-2", "Elephan"] if flows == 2 else []
    head += ["retransmissions: ns-2", "Elephan", "per drop in ns-2", ""]
    text = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    for case, (ns2, ours) in found.items():
        cells = [label(case), "on" if case.timestamps else "off", ranged(ns2.goodput_mbps, ".2f")]
        cells += [ranged(ours.goodput_mbps, ".2f"), f"{ours.differs(ns2):+.2%}"]
        cells += [ranged(ns2.share, ".2f"), ranged(ours.share, ".2f")] if flows == 2 else []
        cells += [ranged(ns2.retransmits, ".0f"), ranged(ours.retransmits, ".0f")]
        cells += [format(max(ns2.resent_per_drop), ".2f"), verdict(ns2, ours)]
        text.append("| " + " | ".join(cells) + " |")
    return "\n".join(text) + "\n"


# Runs of a preset that lacks one peculiarity of ns-2, beside the preset that has it: (case, preset without it).
ISOLATED = [
    (Case("cubic", "622M", 1, False, "gentle"), "cubic:linux-2.6"),
    (Case("westwood", "622M", 1, False, "slow"), "westwood:linux-2.6"),
    (Case("compound", "622M", 1, False, "slow"), "compound:linux-2.6"),
    (Case("lp", "100M", 1, False, "slow"), "lp:linux-2.6"),
]


def isolated(table: Row, found: dict[Case, list[Row]]) -> str:
    """What each peculiarity of ns-2 does, by leaving it out."""
    text = ["| module | run | ns-2, Mbit/s | with it | Mbit/s | without it | Mbit/s |", "|" + " --- |" * 7]
    for case, preset in ISOLATED:
        with_it, without = (run_ours(case, table, 0, name)["goodput_mbps"][0] for name in (None, preset))
        own = ours_for(case.algorithm, timestamps=case.timestamps)
        cells = [case.algorithm, f"{case.path}, {START[case.start]}", f"{figures(found[case]).goodput:.2f}"]
        cells += [f"`{own}`", f"{with_it:.2f}", f"`{preset}`", f"{without:.2f}"]
        text.append("| " + " | ".join(cells) + " |")
    return "\n".join(text) + "\n"


START = {"slow": "slow start", "gentle": "gentle start"}
TITLES = {
    ("100M", 1, "slow"): "One flow, 100 Mbit/s × 40 ms, 1 BDP",
    ("100M", 2, "slow"): "Two flows, 100 Mbit/s × 40 ms, 1 BDP",
    ("622M", 1, "slow"): "One flow, 622 Mbit/s × 100 ms, 0.2 BDP",
    ("622M", 2, "slow"): "Two flows, 622 Mbit/s × 100 ms, 0.2 BDP",
    ("100M", 1, "gentle"): "Gentle start, 100 Mbit/s × 40 ms, 1 BDP",
    ("622M", 1, "gentle"): "Gentle start, 622 Mbit/s × 100 ms, 0.2 BDP",
}


def page(table: Row) -> str:
    """The whole page."""
    found = cases(table)
    both = compare(list(found), table, found)
    parts = [INTRODUCTION]
    for (path, flows, start), title in TITLES.items():
        own = {c: pair for c, pair in both.items() if (c.path, c.flows, c.start) == (path, flows, start)}
        parts += [f"### {title}\n", lines(own, flows)]
        if (path, flows, start) == ("622M", 2, "slow"):
            agree = [agrees(*pair) for c, pair in both.items() if c.start == "slow"]
            parts.append(f"{sum(agree)} of these {len(agree)} lines agree within {AGREES:.0%}.\n")
            parts.append(DIFFERENCES)
    return "\n".join([*parts, PECULIAR, isolated(table, found)])


INTRODUCTION = """<!-- written by benches/ns2/compare.py from tests/reference/ns2/table.json -->

# Side by side with ns-2

Every congestion control module that both ns-2's TCP/Linux and Elephan have, on the same paths: ns-2.35 (Debian's
`ns`) with the modules of Linux 2.6.22.6, against the stack `ns2` and the preset that stands for the module. Goodput
is what arrives in order, 1,000 bytes a packet; a second flow starts 5 s after the first. At 100 Mbit/s the mean is
over 50 to 200 s, at 622 Mbit/s over 20 to 60 s; retransmissions are those of the whole run.

Each run is made three times, with the bottleneck's delay moved by −10, 0 and 10 µs, in ns-2 and here: the median, and
the range in brackets where it differs. What moves in ns-2 itself is chance, and no other simulator can be asked to
agree with it. Timestamps add 10 bytes to a packet and bring an RTT sample with each ACK.

## Line by line
"""
DIFFERENCES = """## Where they differ

**SACKs forgotten.** ns-2's TCP/Linux clears its scoreboard at the end of a recovery. If segments beyond the recovery
point were lost too, the next ACK's three blocks are all it knows: it takes the rest for lost, sends thousands of
segments again that had arrived, and overfills the queue with them. The column *per drop* shows it: more
retransmissions than drops. Whether a run falls into it hangs on microseconds. Elephan keeps its scoreboard, as Linux
does.

It needs a window that still overfills path and queue after the first reduction, which slow start's overshoot leaves
to those that give up little (BIC, CUBIC) or overshoot by more than twice (Hybla). With a *gentle start*, where the
first threshold is 1.04 of what path and queue hold (`window_` in ns-2, `initial_ssthresh` here), ns-2 never forgets
anything that matters, and the same modules on the same paths agree:
"""
PECULIAR = """### What else is ns-2's own

Presets named `ns2` stand for a module as ns-2's agent runs it, where that differs from the kernel. Each difference,
shown by leaving it out:

- CUBIC without timestamps never learns the smallest RTT, and its cap on growth is off; here the cap costs nothing.
- Westwood's module takes its bandwidth estimate when it hears that a recovery ended; the agent never says so, and what
  remains is Reno.
- Compound without timestamps has one RTT sample a round trip and falls back to Reno.
- LP without timestamps has no one-way delays and is Reno.
"""


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", metavar="MODULE", help="print these instead of writing the page")
    arguments = parser.parse_args()
    table = json.loads(TABLE.read_text(encoding="utf-8"))
    if not arguments.only:
        PAGE.write_text(page(table), encoding="utf-8")
        return
    found = cases(table)
    for case, (ns2, ours) in compare([c for c in found if c.algorithm in arguments.only], table, found).items():
        print(case, ranged(ns2.goodput_mbps, ".2f"), ranged(ours.goodput_mbps, ".2f"), f"{ours.differs(ns2):+.2%}")


if __name__ == "__main__":
    main()
