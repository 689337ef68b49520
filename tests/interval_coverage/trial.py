"""One random path: its intervals of eight seeds, and the means of two hundred others."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from elephan import metrics
from elephan.backends.sim import TABLES
from elephan.metrics.replication import distinct_outcomes
from elephan.metrics.statistics import interval
from elephan.runs import Run, run_id
from elephan.runs.tables import all_to_polars
from elephan.scenario import Scenario
from elephan.scenario.catalog import engine

SEEDS = 8
OTHERS = 200
PATHS = 200
ALGORITHMS = ("cubic", "reno", "bbr", "htcp", "vegas")
QUANTITIES = ("goodput", "share", "queueing delay")
_MEMORY_BYTES = 2**30


def path(number: int) -> Scenario:
    """The random path of a number: 1 to 20 Mbit/s, 10 to 100 ms, one to three flows, 10 to 20 s."""
    draw = random.Random(number)
    rate_mbps, rtt_ms = (round(math.exp(draw.uniform(math.log(low), math.log(high))), 2) for low, high in _SPANS)
    bdp_packets = rate_mbps * 1e6 * rtt_ms / 1e3 / 8 / 1500
    buffer = max(5, round(bdp_packets * math.exp(draw.uniform(math.log(0.25), math.log(2)))))
    flows = [draw.choice(ALGORITHMS) for _ in range(draw.randint(1, 3))]
    return Scenario.dumbbell(
        flows, rate=f"{rate_mbps} Mbit/s", rtt=f"{rtt_ms} ms", buffer=f"{buffer} packets",
        duration=f"{draw.randint(10, 20)} s", perturb="hosts", title=f"path {number}",
    )  # fmt: skip


_SPANS = ((1.0, 20.0), (10.0, 100.0))


def measured(scenario: Scenario, seed: int) -> dict[str, float]:
    """The quantities of one seed: first flow's goodput in Mbit/s and its share of all, bottleneck's delay in ms.

    Without a store, a digest of the tables and warnings, which take five times as long as so short a run.
    """
    spec = scenario.canonical() | {"seed": seed}
    made = engine().run(json.dumps(spec), lambda _: True, {}, _MEMORY_BYTES)
    tables = all_to_polars({name: made[name] for name in TABLES if name in made})
    manifest = {
        "id": run_id(scenario.hash, "sim", seed), "scenario_hash": scenario.hash, "seed": seed, "backend": "sim",
        "scenario": spec, "engine_summary": json.loads(made["summary"]),
    }  # fmt: skip
    run = Run(manifest, tables=tables, scenario=scenario.with_seed(seed))
    goodputs = run.flows["goodput_mbps"].to_list()
    found = {"goodput": goodputs[0], "queueing delay": metrics.get("mean_queue_delay_ms")(run)}
    return found if len(goodputs) == 1 else found | {"share": goodputs[0] / sum(goodputs)}


@dataclass(frozen=True)
class Row:
    """One interval and the mean that it should contain.

    Attributes:
        path: number of the path.
        quantity: what was measured.
        low: lower end of the interval of eight seeds; ``None`` without an interval.
        high: upper end.
        mean: of the other seeds.
        outcomes: distinct outcomes among the other seeds.
        skewness: of all seeds' values; 0 where they are all equal.
        groups: disjoint groups of eight of all seeds that have an interval.
        groups_covered: of those, how many contain the mean of all seeds.
    """

    path: int
    quantity: str
    low: float | None
    high: float | None
    mean: float
    outcomes: int
    skewness: float
    groups: int = 0
    groups_covered: int = 0

    @property
    def covered(self) -> bool | None:
        """True if the interval contains the mean; ``None`` without an interval."""
        return None if self.low is None or self.high is None else self.low <= self.mean <= self.high


def rows(number: int, seeds: int = SEEDS, others: int = OTHERS) -> list[Row]:
    """The intervals of one path."""
    scenario = path(number)
    values = [measured(scenario, seed) for seed in range(1, seeds + others + 1)]
    return [_row(number, name, [value[name] for value in values], seeds) for name in QUANTITIES if name in values[0]]


def _row(number: int, name: str, values: list[float], seeds: int) -> Row:
    from scipy import stats

    found, rest = interval(values[:seeds]), values[seeds:]
    low, high = (found.low, found.high) if found.known else (None, None)
    skewness = float(stats.skew(values)) if len(set(values)) > 1 else 0.0
    each = [interval(values[at : at + seeds]) for at in range(0, len(values) - seeds + 1, seeds)]
    known = [one for one in each if one.known]
    covered = sum(one.low <= fmean(values) <= one.high for one in known)
    outcomes = distinct_outcomes([[value] for value in rest])
    return Row(number, name, low, high, fmean(rest), outcomes, skewness, len(known), covered)


@dataclass(frozen=True)
class Coverage:
    """How many intervals of one quantity contain the mean.

    Attributes:
        quantity: what was measured.
        intervals: how many have a width.
        covered: of those, how many contain the mean.
        without: how many have zero width.
        groups: intervals of all disjoint groups of eight seeds that have a width.
        groups_covered: of those, how many contain the mean of all seeds.
    """

    quantity: str
    intervals: int
    covered: int
    without: int
    groups: int
    groups_covered: int

    @property
    def fraction(self) -> float:
        """Covered, of the intervals that have a width."""
        return self.covered / self.intervals if self.intervals else math.nan

    @property
    def groups_fraction(self) -> float:
        """Covered, of all groups: the same on average, and more exact."""
        return self.groups_covered / self.groups if self.groups else math.nan


def coverage(found: Iterable[Row]) -> list[Coverage]:
    """The coverage of each quantity."""
    listed = list(found)
    told = []
    for name in QUANTITIES:
        own = [row for row in listed if row.quantity == name]
        known = [row.covered for row in own if row.covered is not None]
        groups, covered = sum(row.groups for row in own), sum(row.groups_covered for row in own)
        told.append(Coverage(name, len(known), sum(known), len(own) - len(known), groups, covered))
    return told


def to_line(row: Row) -> str:
    """A row as a line of JSON."""
    return json.dumps(asdict(row))


def from_line(line: Mapping[str, Any]) -> Row:
    """A row of a parsed line."""
    return Row(**line)
