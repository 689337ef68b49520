"""Measurements of one run of a comparison, over the measurement window and over each half of the window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from elephan import metrics
from elephan.comparison.paths import BACKGROUND
from elephan.comparison.situations import LATE, OTHER, SUBJECT, Situation
from elephan.evaluation.evidence import measured
from elephan.evaluation.measurement import NotJudgedError
from elephan.metrics.reading import base_rtts_s, bottleneck, link_capacity_bits, measure_window, sample_times
from elephan.runs import Run

WHOLE, BEFORE = 0, 1
"""The measured part of a run, and a part before it that is half as long: the measured part of a run of half the
duration."""
BATCHES = range(2, 8)
HALVES, THIRDS = (8, 9), (10, 11, 12)
"""Parts of the measured part of equal length."""
STAGES = (BEFORE, *HALVES, *THIRDS)
"""Parts whose numbers have to agree if the numbers no longer depend on the duration."""


@dataclass(frozen=True)
class Observation:
    """Measurements of one run.

    Attributes:
        situation: the situation of the run.
        seed: number of the replicate, from 1.
        run: the run.
        rates: goodput of the algorithm's flows and of the others together, Mbit/s, by section of the run
            (:data:`WHOLE`, :data:`BEFORE`, :data:`BATCHES`, :data:`HALVES`, :data:`THIRDS`); of a path with ``life``
            only of the whole.
        queue_ms: mean queueing delay at the bottleneck, by section of the run; ``None`` if no packet left the queue.
        inflation: (base RTT + mean queueing delay) / base RTT, by section of the run.
        capacity_mbps: mean rate of the bottleneck.
        values: further metrics by name; ``None`` if a metric is not defined in this run.
    """

    situation: Situation
    seed: int
    run: Run
    rates: tuple[tuple[float, float | None], ...]
    queue_ms: tuple[float | None, ...]
    inflation: tuple[float | None, ...]
    capacity_mbps: float
    values: dict[str, float | None] = field(default_factory=dict)

    @property
    def staged(self) -> bool:
        """True if the run is measured in sections."""
        return len(self.rates) > 1


def observe(situation: Situation, seed: int, run: Run) -> Observation:
    """Measure one run."""
    groups = {group.name: list(group.members) for group in run.groups}
    own = [name for group, members in groups.items() if group.startswith(f"{SUBJECT}-") for name in members]
    others = [name for group, members in groups.items() if group.startswith(f"{OTHER}-") for name in members]
    start, end = measure_window(run)
    parts = [(start, end)] if situation.path.life else _sections(run, start, end)
    goodputs = [metrics.goodput_mbps(run, window=part) for part in parts]
    rates = tuple(
        (sum(found[name] for name in own), sum(found[name] for name in others) if others else None)
        for found in goodputs
    )
    queue_ms = tuple(_or_none(run, "mean_queue_delay_ms", window=part) for part in parts)
    rtts = base_rtts_s(run, own)
    base_ms = 1e3 * sum(rtts.values()) / len(rtts)
    inflation = tuple(None if delay is None else (base_ms + delay) / base_ms for delay in queue_ms)
    capacity = link_capacity_bits(run, bottleneck(run), (start, end)) / (end - start) / 1e6
    values = _further(situation, run, own, others, rates[WHOLE], goodputs[WHOLE])
    return Observation(situation, seed, run, rates, queue_ms, inflation, capacity, values)


def _sections(run: Run, start: float, end: float) -> list[tuple[float, float]]:
    """The sections of a run, between the nearest sample times."""
    times = sample_times(run)

    def at(fraction: float) -> float:
        return float(times[abs(times - (start + fraction * (end - start))).argmin()])

    found = [(start, end), (at(-0.5), start)]
    for count in (len(BATCHES), len(HALVES), len(THIRDS)):
        found += [(at(i / count), at((i + 1) / count)) for i in range(count)]
    return found


def _further(
    situation: Situation, run: Run, own: Sequence[str], others: Sequence[str],
    rates: tuple[float, float | None], goodputs: dict[str, float],
) -> dict[str, float | None]:  # fmt: skip
    mine, theirs = rates
    total = mine + (theirs or 0.0)
    rtts_ms = run.flows.filter(run.flows["name"].is_in(list(own)))["rtt_p99_ms"].drop_nulls()
    values: dict[str, Any] = {
        "share": mine / total if total > 0 else None,
        "jain": metrics.jain_index(list(goodputs.values())) if total > 0 else None,
        "utilization": _or_none(run, "utilization"),
        "loss_rate": _or_none(run, "loss_rate"),
        "rtt_p99_ms": rtts_ms.max() if len(rtts_ms) else None,
        "startup_s": _started(run, others if situation.against == LATE else own),
    }
    if situation.against == LATE:
        values["convergence_s"] = _or_none(run, "convergence_time_s", flows=[own[0], others[0]])
    if run.form.traffic:
        # Sources in the direction of the flows: the options' source, or all sources of a scenario.
        names = [source.flow.name for source in run.form.traffic]
        sources = [BACKGROUND] if BACKGROUND in names else names
        values["background_mbps"] = measured(run, "short_flow_total_mbps", flows=sources)
        for name in ("mean_slowdown", "flow_duration_p50_ms", "flow_duration_p99_ms"):
            values[f"background_{name}"] = _or_none(run, name, flows=sources)
    return values


def _started(run: Run, flows: Sequence[str]) -> float | None:
    """Median over flows of the time to 90 % of a flow's measured goodput, s."""
    try:
        return float(median(measured(run, "startup_time_s", flows=flows).values()))
    except NotJudgedError:
        return None  # a flow delivered nothing


def _or_none(run: Run, metric: str, **options: Any) -> float | None:
    try:
        return float(measured(run, metric, **options))
    except NotJudgedError:
        return None  # nothing arrived in this part of the run, or a flow was not active
