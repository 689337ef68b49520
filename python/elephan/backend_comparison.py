"""Comparison of a scenario's runs in each backend that can run it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from elephan import backends
from elephan.runs import Run, Store, SweepProgress, sweep
from elephan.scenario import Scenario, ScenarioError

REFERENCE = "sim"
REPEATS = 3
"""Default number of runs in a backend whose runs are measurements on real hosts."""

FLOW_QUANTITIES = {
    "goodput_mbps": "goodput (Mbit/s)",
    "cwnd_mean": "mean cwnd (segments)",
    "rtt_mean_ms": "mean RTT (ms)",
    "rtt_p99_ms": "p99 RTT (ms)",
    "srtt_mean_ms": "mean smoothed RTT (ms)",
    "loss_events": "loss events",
    "retransmits": "retransmissions",
}
LINK_QUANTITIES = {
    "utilization": "utilization",
    "queue_mean_packets": "mean queue (packets)",
    "drops": "drops (packets)",
}


@dataclass(frozen=True)
class Line:
    """One quantity in each backend.

    Attributes:
        of: name of the flow or the link.
        quantity: name of the quantity, with its unit.
        reference: the simulator's mean over the seeds.
        low: the simulator's smallest value over the seeds.
        high: the simulator's largest value over the seeds.
        values: the other backends' values; ``None`` for a backend without such a number.
        differences: difference of each backend from the reference, as a fraction of the reference; left out if the
            reference is 0 or unknown.
        within: for each backend, true if its value lies in the simulator's range over the seeds.
        spreads: for each backend whose runs are measurements, the largest value minus the smallest.
        repeatable: for each backend in ``spreads``, true if the difference does not exceed the spread, so that the
            host's repeatability may explain it.
    """

    of: str
    quantity: str
    reference: float | None
    low: float | None
    high: float | None
    values: Mapping[str, float | None]
    differences: Mapping[str, float]
    within: Mapping[str, bool]
    spreads: Mapping[str, float] = field(default_factory=dict)
    repeatable: Mapping[str, bool] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """JSON form of the line, as in the document of ``elephan compare-backends --json``."""
        return {
            "of": self.of,
            "quantity": self.quantity,
            REFERENCE: self.reference,
            "low": self.low,
            "high": self.high,
            "values": dict(self.values),
            "differences": dict(self.differences),
            "within": dict(self.within),
            "spreads": dict(self.spreads),
            "repeatable": dict(self.repeatable),
        }


@dataclass
class BackendComparison:
    """A scenario in several backends.

    Attributes:
        scenario: the scenario.
        runs: runs by the name of the backend.
        refused: for each backend that could not run the scenario, the reason.
        lines: the quantities side by side.
        report_path: the page with windows and queues on common axes.
    """

    scenario: Scenario
    runs: dict[str, list[Run]]
    refused: dict[str, str]
    lines: list[Line] = field(default_factory=list)
    report_path: Path | None = None

    def to_json(self) -> dict[str, Any]:
        """The document that ``elephan compare-backends --json`` prints."""
        return {
            "scenario_hash": self.scenario.hash,
            "backends": {name: [run.summary() for run in found] for name, found in self.runs.items()},
            "refused": self.refused,
            "lines": [line.to_json() for line in self.lines],
            "report": str(self.report_path) if self.report_path else None,
        }


def compare_backends(
    scenario: Scenario,
    *,
    seeds: int = 1,
    repeats: int = REPEATS,
    names: Sequence[str] | None = None,
    jobs: int | None = None,
    store: Store | None = None,
    out: str | Path | None = None,
    progress: SweepProgress | None = None,
) -> BackendComparison:
    """Run a scenario in each backend that can run it, and compare with the simulator.

    Args:
        scenario: the scenario to run.
        seeds: number of seeds in backends with randomness; with several, the scenario is perturbed in all backends.
        repeats: number of runs in a backend whose runs are measurements, each with its own seed.
        names: the backends, all by default; the simulator is always included.
        jobs: number of simultaneous runs; one per core by default.
        store: folder of saved results.
        out: folder of the report; ``reports/<hash>`` by default.
        progress: called with the progress of each backend.

    Raises:
        ScenarioError: the simulator cannot run the scenario.
        SweepError: a run failed.
        Interrupted: Ctrl-C; finished runs are saved.
    """
    store = store or Store()
    if seeds > 1:
        scenario = scenario.perturbed()
    found: dict[str, list[Run]] = {}
    refused: dict[str, str] = {}
    for name in (REFERENCE, *(name for name in names or backends.names() if name != REFERENCE)):
        backend = backends.get(name)
        try:
            wanted = _wanted(scenario, backend, seeds, repeats)
            found[name] = list(sweep(wanted, on=name, jobs=jobs, store=store, progress=progress))
        except ScenarioError as error:
            if name == REFERENCE:
                raise
            refused[name] = str(error)
    result = BackendComparison(scenario, found, refused)
    result.lines = _lines(found)
    from elephan.report.backends import backends_report

    folder = Path(out) if out is not None else Path("reports") / scenario.hash
    result.report_path = backends_report(result.to_json(), {name: group[0] for name, group in found.items()}, folder)
    return result


def _wanted(scenario: Scenario, backend: backends.Backend, seeds: int, repeats: int) -> list[Scenario]:
    if backend.measures:
        return [scenario.with_seed(scenario.seed + i) for i in range(repeats)]
    # The simulator gets all seeds even if the scenario is deterministic; the simulator's error message then states the
    # reason.
    return scenario.replicates(seeds if backend.name == REFERENCE or backend.varies(scenario) else 1)


def _lines(found: Mapping[str, Sequence[Run]]) -> list[Line]:
    summaries = {name: [run.summary() for run in group] for name, group in found.items()}
    lines = []
    for part, quantities in (("flows", FLOW_QUANTITIES), ("links", LINK_QUANTITIES)):
        for position, row in enumerate(summaries[REFERENCE][0][part]):
            for key, quantity in quantities.items():
                values = {name: [_number(s[part][position][key]) for s in group] for name, group in summaries.items()}
                lines.append(_line(str(row["name"]), quantity, values))
    return lines


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _line(of: str, quantity: str, values: Mapping[str, Sequence[float | None]]) -> Line:
    means = {name: _mean(group) for name, group in values.items()}
    own = [value for value in values[REFERENCE] if value is not None]
    reference = means[REFERENCE]
    others = {name: value for name, value in means.items() if name != REFERENCE}
    spreads = {name: max(several) - min(several) for name in others if (several := _repeated(name, values[name]))}
    low, high = (min(own), max(own)) if own else (None, None)
    known = {name: value for name, value in others.items() if value is not None and reference is not None}
    return Line(
        of=of,
        quantity=quantity,
        reference=reference,
        low=low,
        high=high,
        values=others,
        differences={name: value / reference - 1.0 for name, value in known.items() if reference},
        within={name: low <= value <= high for name, value in known.items() if low is not None and high is not None},
        spreads=spreads,
        repeatable={
            name: abs(value - reference) <= spreads[name]
            for name, value in known.items()
            if name in spreads and reference is not None
        },
    )


def _repeated(name: str, values: Sequence[float | None]) -> list[float]:
    """The known values of a backend whose runs are measurements; empty if there are fewer than two values or the
    backend is deterministic."""
    known = [value for value in values if value is not None]
    return known if len(known) > 1 and backends.kind(name).measures else []


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None and not math.isnan(value)]
    return fmean(known) if known else None
