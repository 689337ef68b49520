"""Simulations on the path of a capture: the check of the fit, and what other algorithms would have done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from elephan.explanation.connection import Connection
from elephan.explanation.results import FLOW, OF_PATH, Limit, Limits, PathDraw, PathFit
from elephan.explanation.timeline import round_trips, timeline_of
from elephan.rates import payload_rate_mbps
from elephan.scenario.errors import ScenarioError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from elephan.explanation.events import Events
    from elephan.runs import Run
    from elephan.scenario import Scenario

DURATION_S = 30.0
"""Longest simulated time of the check and of a prediction."""
LEAST_DURATION_S = 5.0
DRAWS = 32
"""Runs of each algorithm: some on the best path, and the others on paths that the capture allows."""
BEST = 4
_FLOOR = 0.01
"""Difference of a simulated host from the real one, relative, by which an interval is wider than the runs."""
POOR = 0.2
"""Distance from which a fit is called poor."""
_WORTH_A_FIELD = 0.05
"""Least share of time in which the receive window limits a flow whose simulation has it too."""
WIDE = 2.0
"""Ratio of an interval's ends from which its middle predicts nothing: the paths that the capture allows disagree."""
_JUDGED = ("goodput_mbps", "rtt_mean_ms", "rtt_p95_ms")
"""Metrics that may be not identifiable; a small share of retransmissions varies by more from run to run."""
_METRICS = (*_JUDGED, "retransmit_rate")


@dataclass(frozen=True)
class Comparison:
    """A number of the capture and of the simulated flow."""

    title: str
    unit: str
    captured: float
    simulated: float

    @property
    def difference(self) -> float:
        """Difference relative to the capture."""
        return abs(self.simulated - self.captured) / abs(self.captured) if self.captured else abs(self.simulated)


@dataclass(frozen=True)
class ModelCheck:
    """The fitted path with the named algorithm, simulated and laid over the capture.

    Attributes:
        algorithm: the simulated algorithm.
        rows: goodput and mean round trip, in the second half.
        distance: largest relative difference of the rows.
        run: the simulation.
    """

    algorithm: str
    rows: tuple[Comparison, ...]
    distance: float
    run: Run

    @property
    def is_poor(self) -> bool:
        """The simulation does not give the numbers of the capture."""
        return self.distance > POOR


@dataclass(frozen=True)
class Prediction:
    """Numbers of an algorithm on the fitted path, with the intervals that the path's uncertainty gives.

    Attributes:
        algorithm: the algorithm.
        means: mean over the paths that the capture allows, by metric.
        low, high: range of all runs, by metric.
        paths: number of runs, each on a path of its own but for some on the nearest one.
        hidden: metrics that are not identifiable from the capture, because the paths that it allows disagree.
    """

    algorithm: str
    means: Mapping[str, float]
    low: Mapping[str, float]
    high: Mapping[str, float]
    paths: int
    hidden: tuple[str, ...] = ()


def duration_of(limits: Limits) -> float:
    """Simulated time for a capture, s."""
    captured = limits.intervals[-1].end_s - limits.intervals[0].start_s
    return float(np.clip(round(captured, 1), LEAST_DURATION_S, DURATION_S))


def own_limits(connection: Connection, limits: Limits) -> dict[str, Any]:
    """Fields of the simulated flow for limits that are not the path's: an application's rate, a receive window.

    Raises:
        ScenarioError: the receive window never holds a segment.
    """
    fields: dict[str, Any] = {}
    window = connection.acks["window"]
    if limits.fractions.get(Limit.RECEIVE_WINDOW, 0.0) >= _WORTH_A_FIELD and window.null_count() == 0:
        most = int(window.to_numpy().max())
        if most < connection.mss:
            raise ScenarioError(
                f"B's receive window is at most {most} bytes, less than a segment, so its flow cannot be simulated"
            )
        fields["stack"] = {"base": "linux", "receive_window": f"{most} bytes"}
    if limits.fractions.get(Limit.APPLICATION, 0.0) > 1 / 2:
        acks = connection.acks
        acked = int(acks["ack"].to_numpy().max()) - int(connection.segments["seq"].to_numpy().min())
        # A hostile acknowledgment may be of any byte.
        data = min(acked, int(connection.segments["bytes"].sum()))
        span_s = limits.intervals[-1].end_s - limits.intervals[0].start_s
        fields["application"] = {"rate": f"{8 * max(1, data) / max(span_s, 1e-3):.0f} bit/s"}
    return fields


def scenario_of(fit: PathFit, algorithm: str, connection: Connection, limits: Limits, **changes: Any) -> Scenario:
    """The fitted path with one flow that has the limits of the captured one besides the path's."""
    flow = {"algorithm": algorithm, **own_limits(connection, limits)}
    return fit.scenario(flow, duration_s=duration_of(limits), **changes)


def check_model(fit: PathFit, algorithm: str, events: Events, connection: Connection, limits: Limits) -> ModelCheck:
    """Simulate the fitted path with an algorithm, and compare it with the capture.

    A flow that the path limits is compared at the same times, and another one while its main limit holds.

    Raises:
        ScenarioError: the simulated flow delivers nothing.
        RunError: the simulation failed.
    """
    from elephan.runs import run as simulate

    run = simulate(scenario_of(fit, algorithm, connection, limits))
    summary = next(row for row in run.summary()["flows"] if row["name"] == FLOW)
    if summary["goodput_mbps"] is None or summary["rtt_mean_ms"] is None:
        raise ScenarioError(f"{algorithm} simulated on the fitted path delivers nothing in the second half")
    duration_s = duration_of(limits)
    captured = captured_numbers(events, connection, duration_s / 2, duration_s)
    if limits.main not in OF_PATH or not np.isfinite(captured["rtt_mean_ms"]):
        captured = _while_limited(limits)
    rows = (
        Comparison("goodput", "Mbit/s", captured["goodput_mbps"], float(summary["goodput_mbps"])),
        Comparison("mean round trip", "ms", captured["rtt_mean_ms"], float(summary["rtt_mean_ms"])),
    )
    return ModelCheck(algorithm, rows, max(row.difference for row in rows), run)


def captured_numbers(events: Events, connection: Connection, from_s: float, to_s: float) -> dict[str, float]:
    """Numbers of the captured flow in a part of its time, by the names of metrics; times are from its first segment.

    Args:
        events: the events of the capture, or of its beginning.
        connection: its packets, which count where the events end earlier.
        from_s, to_s: the part, s.
    """
    seen = events.seen
    start_s = float(seen.left_s[0])
    low, high = start_s + from_s, start_s + to_s
    if connection.beginning is not connection:
        return _numbers_of_packets(connection, from_s, to_s)
    acked = (seen.acked_s >= low) & (seen.acked_s < high)
    rtts = seen.rtt_s[acked & np.isfinite(seen.rtt_s)]
    first = np.zeros(len(seen.left), dtype=bool)
    first[np.unique(seen.left, return_index=True)[1]] = True
    again = ~first & (seen.left_s >= low) & (seen.left_s < high)
    goodput_mbps = payload_rate_mbps(float(seen.delivered[acked].sum()), events.payload_bytes, high - low)
    return _numbers(goodput_mbps, rtts, float(again.sum()))


def _numbers_of_packets(connection: Connection, from_s: float, to_s: float) -> dict[str, float]:
    line = timeline_of(connection)
    low_ns, high_ns = (line.start_ns + round(at_s * 1e9) for at_s in (from_s, to_s))
    reached = np.append(int(line.first.min()), line.ack)[np.searchsorted(line.acked_ns, (low_ns, high_ns))]
    at_ns, rtt_ns = round_trips(line)
    rtts = rtt_ns[(at_ns >= low_ns) & (at_ns < high_ns)] / 1e9
    again = line.again & (line.sent_ns >= low_ns) & (line.sent_ns < high_ns)
    segments = np.ceil((line.past - line.first)[again] / connection.mss).sum()
    goodput_mbps = payload_rate_mbps(float(reached[1] - reached[0]), 1, (high_ns - low_ns) / 1e9)
    return _numbers(goodput_mbps, rtts, float(segments))


def _numbers(goodput_mbps: float, rtts: NDArray[np.float64], retransmits: float) -> dict[str, float]:
    some = len(rtts) > 0
    return {
        "goodput_mbps": goodput_mbps,
        "rtt_mean_ms": float(rtts.mean()) * 1e3 if some else float("nan"),
        "rtt_p95_ms": float(np.quantile(rtts, 0.95)) * 1e3 if some else float("nan"),
        "retransmits": retransmits,
    }


def _while_limited(limits: Limits) -> dict[str, float]:
    """Numbers of the captured flow while its main limit holds."""
    values, steady = limits.series, _steady(limits)
    rtts = np.nanmean([values["rtt_min_s"][steady], values["rtt_max_s"][steady]], axis=0)
    return {
        "goodput_mbps": float(np.mean(values["goodput_bps"][steady])) / 1e6,
        "rtt_mean_ms": float(np.nanmean(rtts)) * 1e3,
    }


def _steady(limits: Limits) -> Any:
    """Intervals in the second half of the capture that have its main limit, or all if there are none."""
    times = limits.series["time_s"]
    main = limits.main
    kinds = OF_PATH[1:] if main in OF_PATH else (main,)
    of_path = np.array([limits.at(time_s) in kinds for time_s in times])
    late = times > (times[0] + times[-1]) / 2
    known = np.isfinite(limits.series["rtt_max_s"])
    for chosen in (of_path & late & known, of_path & known, known):
        if chosen.any():
            return chosen
    raise ScenarioError("no acknowledgment shows a round trip, so there is nothing to compare a simulation with")


def predict(
    fit: PathFit, algorithms: Sequence[str], connection: Connection, limits: Limits, *,
    changes: Mapping[str, Any] | None = None, draws: int = DRAWS, jobs: int | None = None,
) -> tuple[Prediction, ...]:  # fmt: skip
    """Numbers of algorithms on the fitted path, over draws from its intervals.

    Args:
        fit: the path.
        algorithms: names, with presets where wanted.
        connection: the captured flow.
        limits: its limits, which the simulated flow has too if they are not the path's.
        changes: fields of the bottleneck that differ from the fitted ones: ``buffer``, ``queue``, ``rate``, ``rtt``.
        draws: number of paths.
        jobs: number of simultaneous runs.

    Raises:
        ScenarioError: a name or a quantity is wrong.
    """
    paths: tuple[PathDraw, ...] = (*(fit.best,) * BEST, *fit.draws[: max(0, draws - BEST)])
    stated = dict(changes or {})
    found = []
    for algorithm in algorithms:
        columns = simulated(fit, algorithm, connection, limits, paths, _METRICS, changes=stated, jobs=jobs)
        means, low, high = {}, {}, {}
        for name, values in columns.items():
            if _any(values):
                means[name], low[name], high[name] = _middle(values[:BEST], values[BEST:])
        hidden = tuple(name for name in _JUDGED if name in means and high[name] > WIDE * low[name])
        found.append(Prediction(algorithm, means, low, high, len(paths), hidden))
    return tuple(found)


def simulated(
    fit: PathFit, algorithm: str, connection: Connection, limits: Limits, paths: Sequence[PathDraw],
    metrics: Sequence[str], *, changes: Mapping[str, Any] | None = None, measure: Mapping[str, Any] | None = None,
    jobs: int | None = None,
) -> dict[str, NDArray[np.float64]]:  # fmt: skip
    """Numbers of an algorithm on paths, one run with a seed of its own for each; NaN where there is none.

    Args:
        fit: the fit that the paths are of.
        algorithm: its name, with a preset where wanted.
        connection: the captured flow.
        limits: its limits.
        paths: the paths.
        metrics: names of metrics.
        changes: fields of the bottleneck that differ from those of the paths.
        measure: measurement window, as in a scenario; the second half by default.
        jobs: number of simultaneous runs.

    Raises:
        ScenarioError: a name or a quantity is wrong, or no run ended.
    """
    from elephan.metrics.batch import batch

    stated = dict(changes or {})
    columns = {name: np.full(len(paths), np.nan) for name in metrics}
    failed: list[str] = []
    for structure in dict.fromkeys(path.structure for path in paths):
        places = [place for place, path in enumerate(paths) if path.structure == structure]
        base = scenario_of(fit, algorithm, connection, limits, draw=paths[places[0]], **stated)
        if measure is not None:
            base = base.replace(measure=measure)
        rows = [
            {"seed": place + 1}
            | {
                name: value
                for name, value in paths[place].variant(stated.get("queue")).items()
                if name.removeprefix("dumbbell.") not in stated
            }
            for place in places
        ]
        table = batch(base, rows, list(metrics), jobs=jobs, progress=False)
        failed += [why for why in table["why"].to_list() if why]
        for name in metrics:
            columns[name][places] = _column(table, name)
    if not any(_any(values) for values in columns.values()):
        raise ScenarioError(f"{algorithm} cannot be simulated: {failed[0] if failed else 'no run ended'}")
    return columns


def _middle(best: NDArray[np.float64], drawn: NDArray[np.float64]) -> tuple[float, float, float]:
    """Mean over the drawn paths, a geometric one of numbers above zero, and the range of all runs."""
    runs = np.concatenate([best, drawn])
    runs, known = runs[np.isfinite(runs)], drawn[np.isfinite(drawn)]
    known = known if len(known) else runs
    mean = float(np.exp(np.mean(np.log(known)))) if known.min() > 0 else float(known.mean())
    return mean, float(runs.min()) * (1 - _FLOOR), float(runs.max()) * (1 + _FLOOR)


def _any(values: Any) -> bool:
    return bool(np.isfinite(values).any())


def _column(table: Any, name: str) -> Any:
    column = next((one for one in table.columns if one in (name, f"{name}[{FLOW}]")), None)
    if column is None:
        return np.array([np.nan])
    return table[column].fill_null(float("nan")).to_numpy().astype(float)
