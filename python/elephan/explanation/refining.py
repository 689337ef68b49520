"""Choice between the paths that a capture allows, by simulations of the captured flow itself.

The flow also feels what its capture does not show of the path, so the algorithm that was found is simulated on each
path that the capture allows, and those paths stay on which its goodput, round trips and losses are those of the
capture, in the first half and in the second. This is approximate Bayesian computation by rejection (Beaumont, Zhang and
Balding, Genetics 162, 2002) in two rounds, of which the second draws near what the first one left.
If no path does what the capture shows, what seemed to be known of the queue and of other traffic is doubted, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from elephan.explanation.predicting import captured_numbers, duration_of, simulated
from elephan.explanation.results import PathDraw, PathFit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from elephan.explanation.connection import Connection
    from elephan.explanation.events import Events
    from elephan.explanation.results import Limits

    Floats = NDArray[np.float64]

KEPT, _FEWEST = 20, 8
"""Most and fewest paths that stay."""
_NEAR = 60
"""Number of paths of the second round."""
_LEAST_ROUND = 16
_MOST_PACKETS = 6e7
"""Least number of paths of a round, and most packets of all its runs on paths so fast that fewer are drawn."""
_METRICS = ("goodput_mbps", "rtt_mean_ms", "rtt_p95_ms", "retransmits")
_RELATIVE = 0.02
"""Relative difference of a rate or a round trip that counts as one."""
_COUNTED, _CLUSTERED = 1.0, 0.05
"""Difference of the roots of numbers of repeated segments that counts as one: at least, and relative to the root."""
_SEEDS = 6
"""Runs on one path that show how much chance changes these numbers."""
_WORSE = 12.0
"""Distance by which a path may be further away than the nearest one."""
_DOUBTFUL = 3.0
"""Least squared difference of a path, for each number, from which on what the capture seems to show is doubted."""
_SPREAD = 0.15
"""Logarithmic standard deviation of the second round's numbers around those of the first."""
_MOST_LOSS, _MOST_SHARE = 0.5, 0.95


@dataclass(frozen=True)
class _Half:
    from_s: float
    to_s: float

    @property
    def measure(self) -> dict[str, str]:
        """The measurement window, as in a scenario."""
        return {"from": f"{self.from_s * 1e3:.0f} ms", "to": f"{self.to_s * 1e3:.0f} ms"}


def refined(
    fit: PathFit, algorithm: str, events: Events, connection: Connection, limits: Limits, *, jobs: int | None = None
) -> PathFit:
    """The fit with the paths on which the algorithm does what the capture shows, the nearest first.

    Args:
        fit: the path, with the paths that the capture allows.
        algorithm: the algorithm of the captured flow.
        events: the events of the capture.
        connection: the captured flow.
        limits: its limits.
        jobs: number of simultaneous runs.

    Raises:
        ScenarioError: no simulation ended.
    """
    return _Refiner(fit, algorithm, events, connection, limits, jobs).fit()


class _Refiner:
    def __init__(
        self, fit: PathFit, algorithm: str, events: Events, connection: Connection, limits: Limits, jobs: int | None
    ) -> None:
        self.of, self.algorithm, self.events = fit, algorithm, events
        self.connection, self.limits, self.jobs = connection, limits, jobs
        duration_s = duration_of(limits)
        self.halves = (_Half(0.0, duration_s / 2), _Half(duration_s / 2, duration_s))
        numbers = [captured_numbers(events, connection, half.from_s, half.to_s) for half in self.halves]
        self.captured = np.array([_scaled(name, one[name]) for one in numbers for name in _METRICS], dtype=np.float64)
        self.spreads: dict[str, Floats] = {}
        self.stream = np.random.default_rng(events.segments)
        packets = fit.best.rate_bps * duration_s / (8 * events.wire_bytes)
        self.round = int(np.clip(_MOST_PACKETS / max(packets, 1.0), _LEAST_ROUND, _NEAR))
        self.paths: list[PathDraw] = []
        self.numbers: Floats = np.empty((0, len(self.captured)))

    def fit(self) -> PathFit:
        """The refined fit."""
        self._try((self.of.best, *self.of.draws[: self.round]))
        self._vary()
        if self._differences().min() > _DOUBTFUL * len(self.captured):
            self._try(self.of.doubtful[: self.round])
            self._vary()
        kept = [self.paths[place] for place in self._nearest()]
        self._try([self._near(kept[number % len(kept)]) for number in range(self.round)])
        return _restated(self.of, [self.paths[place] for place in self._nearest()], self.algorithm)

    def _try(self, paths: Sequence[PathDraw]) -> None:
        if paths:
            self.paths += paths
            self.numbers = np.concatenate([self.numbers, self._simulated(paths)])

    def _nearest(self) -> list[int]:
        """Places of the paths that stay, the nearest first."""
        distances = self._distances()
        order = np.argsort(distances, kind="stable")[:KEPT]
        poor = float(self._differences()[order[0]]) / len(self.captured)
        most = float(distances[order[0]]) + _WORSE * max(1.0, poor)
        return [int(place) for rank, place in enumerate(order) if rank < _FEWEST or distances[place] <= most]

    def _vary(self) -> None:
        """Find by how much chance changes the numbers, beside each kind of other traffic on the nearest path."""
        distances, kinds = self._distances(), [_kind(path) for path in self.paths]
        for kind in dict.fromkeys(kinds):
            if kind not in self.spreads:
                places = [place for place, other in enumerate(kinds) if other == kind]
                nearest = self.paths[min(places, key=distances.__getitem__)]
                self.spreads[kind] = np.nanstd(self._simulated((nearest,) * _SEEDS), axis=0, ddof=1)

    def _near(self, path: PathDraw) -> PathDraw:
        """A path near one, in what the capture does not show by itself."""
        traffic = path.traffic
        if traffic is not None:
            share = min(_MOST_SHARE, self._varied(traffic.share))
            traffic = replace(traffic, share=share, start_s=self._varied(traffic.start_s))
        is_open = path.queue != self.of.queue or not self.of.by_name["buffer"].identifiable
        buffer_bytes = self._varied(path.buffer_bytes) if is_open else path.buffer_bytes
        loss = min(_MOST_LOSS, self._varied(path.loss))
        rate_bps = path.rate_bps if self.of.by_name["rate"].identifiable else self._varied(path.rate_bps)
        return replace(path, rate_bps=rate_bps, loss=loss, traffic=traffic, buffer_bytes=buffer_bytes)

    def _varied(self, value: float) -> float:
        return float(value * np.exp(_SPREAD * self.stream.standard_normal()))

    def _simulated(self, paths: Sequence[PathDraw]) -> Floats:
        """Numbers of the flow on each path, on scales whose differences count alike; one row for each."""
        found = []
        for half in self.halves:
            columns = simulated(
                self.of, self.algorithm, self.connection, self.limits, paths, _METRICS, measure=half.measure,
                jobs=self.jobs,
            )  # fmt: skip
            found += [_scaled(name, columns[name]) for name in _METRICS]
        return np.stack(found, axis=1)

    def _distances(self) -> Floats:
        """Distance of the flow on each path from the captured one; infinite where no run ended.

        It is twice the negative logarithm of a normal likelihood, so that beside traffic that changes the numbers by
        chance a difference counts for less, and so does an agreement.
        """
        known = np.isfinite(self.captured)
        found: Floats = self._differences() + 2 * np.log(self._scales() / self._least_scale)[:, known].sum(axis=1)
        return found

    def _differences(self) -> Floats:
        """Sum of the squared differences of a path's numbers from those of the capture."""
        known = np.isfinite(self.captured)
        squares = (((self.numbers - self.captured) / self._scales())[:, known]) ** 2
        found: Floats = np.nan_to_num(squares.sum(axis=1), nan=np.inf)
        return found

    @property
    def _least_scale(self) -> Floats:
        """Differences that count as one where chance changes nothing."""
        counted = np.array([name == "retransmits" for name in _METRICS] * len(self.halves))
        roots = np.maximum(_COUNTED, _CLUSTERED * np.nan_to_num(self.captured))
        found: Floats = np.where(counted, roots, _RELATIVE)
        return found

    def _scales(self) -> Floats:
        """Differences that count as one, for each path."""
        nothing = np.zeros(len(self.captured))
        spread = np.array([self.spreads.get(_kind(path), nothing) for path in self.paths])
        found: Floats = np.hypot(self._least_scale, np.nan_to_num(spread))
        return found


def _kind(path: PathDraw) -> str:
    """Kind of the other traffic of a path."""
    return "" if path.traffic is None else path.traffic.kind


def _scaled(name: str, values: Any) -> Any:
    """Logarithms of rates and round trips, and roots of numbers of segments."""
    return np.sqrt(values) if name == "retransmits" else np.log(np.maximum(values, 1e-9))


def _restated(fit: PathFit, paths: Sequence[PathDraw], algorithm: str) -> PathFit:
    """The fit with these paths, and what they assume in words."""
    best, names = paths[0], fit.by_name
    quantities, queue, reason = fit.quantities, fit.queue, fit.queue_reason
    if queue is not None and best.queue != queue:
        reason = f"the drops look like those of {queue}, but {algorithm} does not do what was captured behind it"
        queue = None
        quantities = tuple(
            replace(one, value=None, low=None, high=None, reason=reason) if one.name in ("buffer", "loss") else one
            for one in quantities
        )
    assumed = []
    if not names["rate"].identifiable:
        assumed.append(f"the bottleneck has {best.rate_bps / 1e6:.3g} Mbit/s")
    if not names["rtt"].identifiable:
        assumed.append(f"the base RTT is {best.rtt_s * 1e3:.3g} ms")
    if queue is None:
        alike = sum(path.queue == best.queue for path in paths)
        assumed.append(f"the queue is {best.queue}, as on {alike} of the {len(paths)} nearest paths")
    if queue is None or not names["buffer"].identifiable:
        sizes = [path.buffer_bytes / fit.packet_bytes for path in paths if path.queue == best.queue]
        what = "burst of the policer" if best.queue == "policer" else "buffer"
        assumed.append(
            f"the {what} has {best.buffer_bytes / fit.packet_bytes:.0f} packets, and {min(sizes):.0f} to "
            f"{max(sizes):.0f} do alike"
        )
    if best.traffic is not None:
        alike = sum(path.traffic is not None and path.traffic.kind == best.traffic.kind for path in paths)
        share = f"with a share of {best.traffic.share:.0%}, as on {alike} of the {len(paths)} nearest paths"
        assumed.append(f"{best.traffic.stands_for}, {share}")
    if best.loss > 0:
        assumed.append(f"{best.loss:.2g} of the packets are lost at random")
    if best.jitter_s > 0:
        assumed.append("jitter is uniform and on the way to B")
    assumed.append(f"of the paths that the capture allows, those count on which {algorithm} does the same")
    return replace(
        fit, quantities=quantities, queue=queue, queue_reason=reason, best=best, draws=tuple(paths),
        assumptions=tuple(assumed),
    )  # fmt: skip
