"""Comparison of the simulator's endpoint with Linux itself in virtual time; writes docs/reference/linux.md.

    .venv/bin/python benches/linux_agreement.py            # runs the missing cells, then writes the page
    .venv/bin/python benches/linux_agreement.py --page     # the page from tests/reference/linux/measured.json

Each of Linux's congestion controls that Elephan knows is run on eight paths: as one flow, as two flows, and as one flow
that competes with a CUBIC flow. A cell is one algorithm with one path, one kind of traffic and one seed. The first seed
of all cells is run before the second seed, so an interrupted measurement has a value for every cell.

Runs are saved in the store (`$ELEPHAN_STORE`). The file of measurements has the means over the seeds, with the versions
of both backends. If the version of a backend has changed, a row begins anew; the saved runs of the other backend are
reused.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import elephan
from elephan import Run, Scenario
from elephan.backends import get
from elephan.backends.linux.modules import MODULES
from elephan.scenario.catalog import algorithms

ROOT = Path(__file__).resolve().parents[1]
MEASURED = ROOT / "tests" / "reference" / "linux" / "measured.json"
CAUSES = ROOT / "tests" / "reference" / "linux" / "causes.json"
PAGE = ROOT / "docs" / "reference" / "linux.md"


@dataclass(frozen=True)
class Way:
    """A path, with the duration of its runs and the start of the measurement window."""

    rate: str
    rtt: str
    buffer: str
    duration_s: int
    from_s: int
    loss: float = 0.0

    @property
    def title(self) -> str:
        lost = f", {self.loss:g} lost" if self.loss else ""
        return f"{self.rate} × {self.rtt}, {self.buffer}{lost}"


PATHS = {
    way.title: way
    for way in (
        Way("1 Mbit/s", "100 ms", "4 BDP", 120, 20),
        Way("10 Mbit/s", "100 ms", "1 BDP", 120, 20),
        Way("20 Mbit/s", "20 ms", "1 BDP", 60, 10, loss=1e-4),
        Way("50 Mbit/s", "300 ms", "0.5 BDP", 120, 20),
        Way("100 Mbit/s", "40 ms", "333 packets", 60, 10),
        Way("100 Mbit/s", "4 ms", "4 BDP", 30, 5),
        Way("622 Mbit/s", "100 ms", "0.1 BDP", 30, 5),
        Way("1 Gbit/s", "40 ms", "1 BDP", 10, 2, loss=1e-4),
    )
}
TRAFFIC = {"alone": "One flow", "two": "Two flows", "cubic": "One flow beside CUBIC"}
SECOND_STARTS_S = 2
BACKENDS = ("sim", "linux")
QUANTITIES = ("goodput_mbps", "cwnd_mean", "retransmits", "timeouts")
BOUND = 0.02
"""Largest relative difference of the goodput, and of the mean window, that counts as agreement."""
BOUND_LOSSES = 0.05
"""Largest relative difference of the retransmissions, and largest trajectory error, that count as agreement."""
SMALL = 5
"""A difference of at most this number of retransmissions always counts as agreement."""


Key = tuple[str, str, str]
"""Traffic, path and algorithm."""


@dataclass(frozen=True)
class Cell:
    """One run in each of the two backends."""

    traffic: str
    path: str
    algorithm: str
    seed: int

    @property
    def key(self) -> Key:
        return (self.traffic, self.path, self.algorithm)

    def scenario(self) -> Scenario:
        """The cell's scenario, the same in both backends."""
        way = PATHS[self.path]
        second = {"two": self.algorithm, "cubic": "cubic"}.get(self.traffic)
        flows: list[dict[str, Any]] = [{"name": "first", "algorithm": named(self.algorithm)}]
        if second:
            flows.append({"name": "second", "algorithm": named(second), "start": f"{SECOND_STARTS_S} s"})
        return Scenario.dumbbell(
            flows,
            rate=way.rate,
            rtt=way.rtt,
            buffer=way.buffer,
            loss=way.loss,
            duration=f"{way.duration_s} s",
            measure={"from": f"{way.from_s} s"},
            seed=self.seed,
        )

    def measure(self) -> Row:
        """The flows' results in both backends, and the trajectory error of the first flow's window."""
        runs = {name: elephan.run(self.scenario(), on=name) for name in BACKENDS}
        flows = {name: run.flows.to_dicts() for name, run in runs.items()}
        sums = {
            name: {quantity: sum(row[quantity] for row in rows) for quantity in QUANTITIES}
            for name, rows in flows.items()
        }
        firsts = tuple(flows[name][0]["goodput_mbps"] for name in BACKENDS)
        trajectory = trajectory_error(*(window(run, self.path) for run in runs.values()))
        release = runs["linux"].manifest["engine_summary"]["linux"]["release"]
        of = (self.traffic, self.path, self.algorithm)
        more = {"trajectory": trajectory, "release": release, "versions": versions()}
        row = Row(*of, [self.seed], within=0, **sums, firsts=firsts, **more)
        return replace(row, within=int(not row.apart))


def versions() -> list[str]:
    """Versions of the two backends, in the form that manifests contain."""
    return [get(name).version() for name in BACKENDS]


def named(algorithm: str) -> str:
    """The algorithm's name with the preset `linux`, if the algorithm has this preset."""
    presets = {preset["name"] for preset in algorithms()[algorithm]["presets"]}
    return f"{algorithm}:linux" if "linux" in presets else algorithm


def window(run: Run, path: str) -> np.ndarray:
    """The first flow's congestion window at the sample times of the measurement window."""
    measured = run.samples.filter(pl.col("time_s") >= PATHS[path].from_s)
    return measured.filter(pl.col("flow").cast(pl.String) == "first")["cwnd"].to_numpy()


def trajectory_error(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Mean absolute difference of two window curves, as a fraction of the first curve's mean.

    One curve is shifted in time by up to half of its length; the result is the smallest value over all shifts.
    """
    length = min(len(ours), len(theirs))
    distances = [
        np.abs(ours[max(0, shift) : length + min(0, shift)] - theirs[max(0, -shift) : length - max(0, shift)]).mean()
        for shift in range(-(length // 2), length // 2 + 1)
    ]
    return float(min(distances) / ours.mean())


def cells(seeds: int) -> Iterator[Cell]:
    for seed in range(1, seeds + 1):
        for path in PATHS:
            for traffic in TRAFFIC:
                for algorithm in MODULES:
                    if (traffic, algorithm) != ("cubic", "cubic"):  # the same as the traffic "two"
                        yield Cell(traffic, path, algorithm, seed)


def measured_rows() -> dict[Key, Row]:
    """The rows of the file, by what they are of."""
    rows = [Row(**one) for one in json.loads(MEASURED.read_text(encoding="utf-8"))] if MEASURED.exists() else []
    return {row.key: row for row in rows}


def measure(seeds: int, minutes: float, jobs: int) -> None:
    """Run the cells that are missing or were measured with another version; start no cell after `minutes`."""
    current = versions()
    found = measured_rows()
    kept = {key: row.seeds for key, row in found.items() if row.versions == current}
    missing = [one for one in cells(seeds) if one.seed not in kept.get(one.key, [])]
    ends = time.monotonic() + 60 * minutes
    with ThreadPoolExecutor(jobs) as pool:
        for future in as_completed([pool.submit(_unless_late, one, ends) for one in missing]):
            if row := future.result():
                before = found.get(row.key)
                found[row.key] = before.joined(row) if before and before.versions == current else row
                _keep(found)


def _unless_late(one: Cell, ends: float) -> Row | None:
    if time.monotonic() > ends:
        return None
    print(one, flush=True)
    return one.measure()


def _keep(found: dict[Key, Row]) -> None:
    order = [list(TRAFFIC), list(PATHS), list(MODULES)]
    rows = sorted(
        found.values(), key=lambda row: [known.index(name) for known, name in zip(order, row.key, strict=True)]
    )
    partial = MEASURED.with_suffix(".partial")
    lines = ",\n ".join(json.dumps(_rounded(asdict(row)), ensure_ascii=False) for row in rows)
    partial.write_text(f"[{lines}]\n", encoding="utf-8")
    partial.rename(MEASURED)


def _rounded(value: Any) -> Any:
    """A value of the file with nine significant digits, more than the page prints."""
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    return [_rounded(one) for one in value] if isinstance(value, (list, tuple)) else value


@dataclass(frozen=True)
class Row:
    """Means over the seeds; for two flows, of the sums of both flows."""

    traffic: str
    path: str
    algorithm: str
    seeds: list[int]
    within: int
    """Number of single runs that meet all bounds."""
    sim: dict[str, float]
    linux: dict[str, float]
    firsts: tuple[float, ...]
    """Goodput of the first flow in both backends."""
    trajectory: float
    release: str
    versions: list[str]

    @property
    def key(self) -> Key:
        return (self.traffic, self.path, self.algorithm)

    @property
    def shares(self) -> tuple[float, float]:
        """The first flow's share of the goodput in both backends."""
        first, second = self.firsts
        return first / self.sim["goodput_mbps"], second / self.linux["goodput_mbps"]

    def joined(self, other: Row) -> Row:
        """The means over the seeds of both."""

        def mean(ours: float, theirs: float) -> float:
            weights = (len(self.seeds), len(other.seeds))
            return (ours * weights[0] + theirs * weights[1]) / sum(weights)

        return replace(
            other,
            seeds=sorted([*self.seeds, *other.seeds]),
            within=self.within + other.within,
            sim={name: mean(self.sim[name], value) for name, value in other.sim.items()},
            linux={name: mean(self.linux[name], value) for name, value in other.linux.items()},
            firsts=tuple(map(mean, self.firsts, other.firsts)),
            trajectory=mean(self.trajectory, other.trajectory),
        )

    def difference(self, quantity: str) -> float:
        return self.linux[quantity] / self.sim[quantity] - 1

    @property
    def apart(self) -> list[str]:
        """Names of the quantities whose difference exceeds the bound of the quantity."""
        found = [word for name, word in (("goodput_mbps", "goodput"), ("cwnd_mean", "window")) if self._beyond(name)]
        again = abs(self.linux["retransmits"] - self.sim["retransmits"])
        if again > max(SMALL, BOUND_LOSSES * self.sim["retransmits"]):
            found.append("retransmissions")
        if abs(self.shares[1] - self.shares[0]) > BOUND:
            found.append("share")
        if self.traffic == "alone" and self.trajectory > BOUND_LOSSES:
            found.append("trajectory")
        return found

    def _beyond(self, quantity: str) -> bool:
        return abs(self.difference(quantity)) > BOUND


def cause_of(row: Row, causes: list[dict[str, str]]) -> str:
    """The explanation of a row's difference: the first entry of causes.json that matches the row."""
    wanted = {"algorithm": row.algorithm, "path": row.path, "traffic": row.traffic}
    for cause in causes:
        if all(cause.get(key, value) == value for key, value in wanted.items()):
            return cause["cause"]
    return "not explained yet"


def page(found: list[Row], causes: list[dict[str, str]]) -> str:
    """Text of the page: counts of agreeing rows, one table for each path and traffic, and the causes of differences."""
    releases = ", ".join(sorted({row.release for row in found}))
    lines = [
        "<!-- written by benches/linux_agreement.py from measured.json: run it again, not this page -->",
        "",
        "# The simulator beside Linux",
        "",
        "```text",
        ".venv/bin/python benches/linux_agreement.py",
        "```",
        "",
        "This page compares each of Linux's congestion controls on eight paths, in the simulator (stack and preset",
        f"`linux`) and in [Linux itself in virtual time](../linux.md) ({releases}, HZ=250), with the same seeds.",
        "Goodput and mean window are measured without the beginning of a run; retransmissions and timeouts are counted",
        f"over the whole run. If a path has two flows, the second flow starts after {SECOND_STARTS_S} s. Goodput,",
        "window and retransmissions are then sums, and the share is the first flow's share of the goodput. The",
        "trajectory error is the mean distance of the two windows, sampled every 100 ms, as a fraction of the mean",
        "window; it is the smallest value over all shifts in time. Both backends run the same scenario. In both, the",
        "run begins 0 to 4 ms after a timer interrupt, drawn from the seed, since timers end at interrupts. In the",
        "guest, netem emulates the path, and loses the packets that the simulator loses. BBR, CDG and NV draw the same",
        "random numbers in both backends. Each cell is simulator / Linux, averaged over its seeds.",
        "",
        f"A row is marked if goodput or mean window differ by more than {100 * BOUND:.0f} %, retransmissions by",
        f"more than {100 * BOUND_LOSSES:.0f} % and {SMALL} segments, shares by more than {100 * BOUND:.0f} points, or",
        f"if the trajectory error of one flow is above {100 * BOUND_LOSSES:.0f} %.",
        "",
        "| | rows | within all bounds | goodput and window within 2 % |",
        "| --- | --- | --- | --- |",
    ]
    for traffic, title in TRAFFIC.items():
        of_traffic = [row for row in found if row.traffic == traffic]
        close = sum(not {"goodput", "window"} & set(row.apart) for row in of_traffic)
        lines.append(f"| {title} | {len(of_traffic)} | {sum(not row.apart for row in of_traffic)} | {close} |")
    single, within = sum(len(row.seeds) for row in found), sum(row.within for row in found)
    lines += ["", f"All bounds are met by {within:,} of {single:,} single runs ({100 * within / single:.1f} %)."]
    planned = len({one.key for one in cells(1)})
    if len(found) < planned:
        lines += ["", f"{len(found)} of {planned} rows are measured so far; the command above measures the others."]
    for traffic, title in TRAFFIC.items():
        for path in PATHS:
            chosen = [row for row in found if (row.traffic, row.path) == (traffic, path)]
            if chosen:
                lines += ["", f"## {title}: {path}", "", *_table(chosen)]
    lines += ["", "## Differences", "", *_differences(found, causes)]
    return "\n".join(lines) + "\n"


def _table(chosen: list[Row]) -> list[str]:
    alone = chosen[0].traffic == "alone"
    last = "trajectory error" if alone else "share of the first"
    header = [
        "algorithm", "seeds", "goodput Mbit/s", "mean window", "difference", "retransmissions", "timeouts", last, "",
    ]  # fmt: skip
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    for row in chosen:
        sim, linux = row.sim, row.linux
        cells = [
            f"`{row.algorithm}`",
            str(len(row.seeds)),
            f"{sim['goodput_mbps']:.2f} / {linux['goodput_mbps']:.2f}",
            f"{sim['cwnd_mean']:.1f} / {linux['cwnd_mean']:.1f}",
            f"{100 * row.difference('cwnd_mean'):+.1f} %",
            f"{sim['retransmits']:.0f} / {linux['retransmits']:.0f}",
            f"{sim['timeouts']:.1f} / {linux['timeouts']:.1f}",
            f"{100 * row.trajectory:.1f} %" if alone else f"{row.shares[0]:.2f} / {row.shares[1]:.2f}",
            "\\*" if row.apart else "",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def _differences(found: list[Row], causes: list[dict[str, str]]) -> list[str]:
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for row in found:
        if row.apart:
            where = f"{TRAFFIC[row.traffic].lower()}, {row.path} ({', '.join(row.apart)})"
            groups[row.algorithm, cause_of(row, causes)].append(where)
    lines = ["| algorithm | rows | cause |", "| --- | --- | --- |"]
    return lines + [f"| `{name}` | {'; '.join(where)} | {cause} |" for (name, cause), where in sorted(groups.items())]


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", action="store_true", help="write the page only")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--minutes", type=float, default=120, help="begin no further run after this time")
    parser.add_argument("--jobs", type=int, default=2, help="cells at a time")
    options = parser.parse_args()
    if not options.page:
        measure(options.seeds, options.minutes, options.jobs)
    causes = json.loads(CAUSES.read_text(encoding="utf-8")) if CAUSES.exists() else []
    PAGE.write_text(page(list(measured_rows().values()), causes), encoding="utf-8")


if __name__ == "__main__":
    main()
