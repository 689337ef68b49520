"""Explanation of a capture: what limited its largest flow, or another, on which path, and by which algorithm.

The limits come from the packets alone and take a moment. The path, the algorithm, and simulations on the path are found
when they are first asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elephan.explanation.capture import Capture, open_capture, read_connection
from elephan.explanation.connection import Connection, Flow
from elephan.explanation.limits import find_limits
from elephan.explanation.log_limits import LogExplanation, explain_log
from elephan.explanation.logs import kind_of, read_log
from elephan.explanation.results import AlgorithmFit, Estimate, Limit, Limits, PathFit
from elephan.explanation.wording import limits_words
from elephan.scenario.errors import ScenarioError

if TYPE_CHECKING:
    from elephan.comparison import Comparison
    from elephan.explanation.events import Events
    from elephan.explanation.predicting import ModelCheck, Prediction
    from elephan.explanation.replaying import Replay
    from elephan.scenario import Scenario

MOST_LISTED = 12
"""Most connections in an answer; ``flows`` of the capture has all."""
MOST_RANKED = 10
_MOST_INTERVALS = 200
_MOSTLY = 0.8
_FASTER = 2.0
_ALIKE = 1.15
"""Share of time of an application, and largest ratio of the path's rate to its rate, that hide the path's rate."""
_USUAL = "cubic"
"""Algorithm that is simulated where none is named."""


@dataclass(frozen=True)
class Explanation:
    """Answer of a capture on one of its flows.

    Attributes:
        capture: the file, with its connections.
        connection: the packets of the flow.
        limits: what limited it, and when.
    """

    capture: Capture
    connection: Connection
    limits: Limits

    @property
    def goodput_bps(self) -> float:
        """Data acknowledged for the first time, over the time from the first segment to the last packet, bit/s."""
        acks, segments = self.connection.acks, self.connection.segments
        if acks.is_empty():
            return 0.0
        span_s = self.limits.intervals[-1].end_s - self.limits.intervals[0].start_s
        reached, start = float(acks["ack"].to_numpy().max()), float(segments["seq"].to_numpy().min())
        return 8 * max(0.0, reached - start) / max(span_s, 1e-9)

    @property
    def rtt_s(self) -> float:
        """Least round trip, s."""
        return self.connection.position.rtt_ns / 1e9

    @property
    def text(self) -> str:
        """The answer in words: one paragraph."""
        return limits_words(
            self.limits, goodput_bps=self.goodput_bps, rtt_s=self.rtt_s, duration_s=self.connection.duration_s
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Shortcomings of the capture, in sentences."""
        found, beginning = list(self.connection.notes), self.connection.beginning
        if self.connection.offloaded:
            found.append(
                f"{100 * self.connection.offloaded:.0f} % of A's packets with data hold several segments (segmentation "
                "offload), which are taken to leave together"
            )
        if beginning is not self.connection:
            found.append(
                f"the algorithm is found from the first {beginning.segments.height} of "
                f"{self.connection.segments.height} packets with data"
            )
        if self.connection.fitted is not self.connection:
            found.append(f"the path is found from the first {self.connection.fitted.segments.height} of them")
        return tuple(found)

    @cached_property
    def events(self) -> Events:
        """Events of the sender, as a replay needs them.

        Raises:
            ScenarioError: the capture does not show when segments left, or has no acknowledgments.
        """
        from elephan.explanation.events import events_of

        return events_of(self.connection.beginning)

    @cached_property
    def path_events(self) -> Events:
        """Events that show the path, of more segments than a replay takes.

        Raises:
            ScenarioError: the capture does not show when segments left, or has no acknowledgments.
        """
        from elephan.explanation.events import events_of

        fitted = self.connection.fitted
        if fitted.segments.height == self.connection.beginning.segments.height:
            return self.events
        return events_of(fitted, replayed=False)

    @cached_property
    def path(self) -> PathFit:
        """The path, as a mechanism.

        Raises:
            ScenarioError: the capture does not show when segments left, or has no acknowledgments.
        """
        from elephan.explanation.path import fit_path

        return _without_application(fit_path(self.path_events), self.limits, self.goodput_bps)

    @cached_property
    def simulated_path(self) -> PathFit:
        """The path on which simulations run: of all that the capture allows, those on which the named algorithm does
        what was captured. Without a named algorithm, it is :attr:`path`.

        Raises:
            ScenarioError: the path cannot be fitted.
        """
        from elephan.explanation.refining import refined

        if not self.algorithm.names:
            return self.path
        return refined(self.path, self.algorithm.names[0], self.events, self.connection, self.limits)

    @cached_property
    def algorithm(self) -> AlgorithmFit:
        """The algorithm of the sender, by replay of each that is known.

        Raises:
            ScenarioError: the capture does not show when segments left, or has no acknowledgments.
        """
        from elephan.explanation.algorithm import fit_algorithm

        share = self.limits.fractions.get(Limit.APPLICATION, 0.0)
        if share >= _MOSTLY:
            # A replay has data at all times, so it would send what this sender did not have.
            reason = f"the application had no more data in {100 * share:.0f} % of the time, so no algorithm decided"
            return AlgorithmFit((), (), 0.0, reason)
        return fit_algorithm(self.events)

    def replay(self, algorithm: str) -> Replay:
        """The replay of one algorithm, with or without a preset: where the sender departs from it.

        Raises:
            ScenarioError: the algorithm is unknown or is none of a TCP sender alone, or the capture does not show when
                segments left.
        """
        from elephan.explanation.replaying import replay

        return replay(self.events, algorithm)

    @property
    def scenario(self) -> Scenario:
        """The path with the named algorithm, for every backend; with CUBIC if none is named.

        Raises:
            ScenarioError: the path cannot be fitted.
        """
        from elephan.explanation.predicting import scenario_of

        return scenario_of(self.simulated_path, self._named, self.connection, self.limits)

    @cached_property
    def check(self) -> ModelCheck:
        """The fitted path with the named algorithm, simulated and compared with the capture.

        Raises:
            ScenarioError: the path cannot be fitted.
        """
        from elephan.explanation.predicting import check_model

        return check_model(self.simulated_path, self._named, self.events, self.connection, self.limits)

    @property
    def _named(self) -> str:
        return self.algorithm.names[0] if self.algorithm.names else _USUAL

    def what_if(
        self, algorithms: Sequence[str], *, rate: str | None = None, rtt: str | None = None, buffer: str | None = None,
        queue: str | None = None, jobs: int | None = None,
    ) -> tuple[Prediction, ...]:  # fmt: skip
        """Goodput and round trips of algorithms on the fitted path, with the intervals that its uncertainty gives.

        Args:
            algorithms: names, with presets where wanted.
            rate, rtt, buffer, queue: what differs from the fitted path, as in a scenario.
            jobs: number of simultaneous runs.

        Raises:
            ScenarioError: a name or a quantity is wrong, or the path cannot be fitted.
        """
        from elephan.explanation.predicting import predict

        stated = {"rate": rate, "rtt": rtt, "buffer": buffer, "queue": queue}
        changes = {name: value for name, value in stated.items() if value is not None}
        return predict(self.simulated_path, algorithms, self.connection, self.limits, changes=changes, jobs=jobs)

    def compare(self, *algorithms: str, **options: Any) -> Comparison:
        """Compare algorithms on the fitted path, as :func:`elephan.compare` does.

        Args:
            *algorithms: names, with presets where wanted.
            **options: further arguments of :func:`elephan.compare`, such as ``prefer`` and ``budget``.

        Raises:
            ScenarioError: a name or a quantity is wrong, or the path cannot be fitted.
            NothingObservedError: the budget is too small.
        """
        from elephan.comparison import compare

        return compare(list(algorithms), scenario=self.scenario, **options)

    def model_document(self) -> dict[str, Any]:
        """The path, the algorithm and the check of the fit as plain values."""
        try:
            fit = self.simulated_path
        except ScenarioError as error:
            return {"path": None, "algorithm": None, "check": None, "why": str(error)}
        found, check = self.algorithm, self.check
        return {
            "path": {
                "quantities": [_quantity(one) for one in fit.quantities],
                "rate_levels": [vars(level) for level in fit.best.levels],
                "queue": fit.queue,
                "queue_reason": fit.queue_reason,
                "other_traffic": None
                if fit.others is None
                else {
                    "kind": fit.others.kind,
                    "yields": fit.others.yields,
                    "reason": fit.others_reason,
                },
                "assumptions": list(fit.assumptions),
                "scenario": self.scenario.to_toml(),
            },
            "algorithm": {
                "names": list(found.names),
                "reason": found.reason,
                "tolerance_s": found.tolerance_s,
                "ranking": [
                    {"algorithm": match.algorithm, "score": match.score, "segments": match.judged}
                    for match in found.ranking[:MOST_RANKED]
                ],
            },
            "check": {
                "algorithm": check.algorithm,
                "distance": check.distance,
                "poor": check.is_poor,
                "numbers": [
                    {"title": row.title, "unit": row.unit, "captured": row.captured, "simulated": row.simulated}
                    for row in check.rows
                ],
            },
        }

    def document(self) -> dict[str, Any]:
        """The limits as plain values, without addresses and payloads."""
        shake, position = self.connection.handshake, self.connection.position
        return {
            "answer": self.text,
            "connections": [_listed(flow) for flow in self.capture.flows[:MOST_LISTED]],
            "connections_in_all": len(self.capture.flows),
            "flow": _listed(self.connection.flow),
            "goodput_bps": self.goodput_bps,
            "place": position.place if position.known else None,
            "rtt_s": {
                "least": self.rtt_s,
                "to_receiver": position.to_receiver_ns / 1e9,
                "to_sender": None if position.to_sender_ns is None else position.to_sender_ns / 1e9,
            },
            "segments": self.connection.segments.height,
            "retransmissions": int(self.connection.segments["retransmission"].sum()),
            "acks": self.connection.acks.height,
            "mss_bytes": self.connection.mss,
            "timestamps": shake.sender_stamps,
            "sack": shake.sender_sack and shake.receiver_sack if shake.sender_sack is not None else None,
            "window_scale": self.connection.window_scale,
            "limits": {
                "shares": [
                    {"limit": str(share.limit), "fraction": share.fraction, "evidence": share.evidence}
                    for share in self.limits.shares
                ],
                "intervals": [
                    {"start_s": interval.start_s, "end_s": interval.end_s, "limit": str(interval.limit)}
                    for interval in self.limits.intervals[:_MOST_INTERVALS]
                ],
                "intervals_in_all": len(self.limits.intervals),
            },
            "notes": list(self.notes),
        }


def explain(file: str | Path, *, flow: int | None = None) -> Explanation:
    """Explain what limited a flow of a capture.

    Args:
        file: a capture in pcap or pcapng, which may be compressed with gzip or zstd.
        flow: number of the connection in the file; by default that with the most data.

    Raises:
        ScenarioError: the file cannot be read, is no capture, or has no such connection.
    """
    capture = open_capture(file)
    connection = read_connection(capture, flow)
    return Explanation(capture, connection, find_limits(connection))


def explain_file(file: str | Path, *, flow: int | None = None) -> Explanation | LogExplanation:
    """Explain a capture or a log, by its content.

    Raises:
        ScenarioError: the file cannot be read, or is neither.
    """
    try:
        kind = kind_of(Path(file))
    except OSError as error:
        raise ScenarioError((error.strerror or str(error)).lower(), source=Path(file).name) from None
    if kind is None:
        return explain(file, flow=flow)
    if flow is not None:
        raise ScenarioError("chooses a connection of a capture; of a log, the largest is taken", source="--flow")
    return explain_log(read_log(file, kind))


def _without_application(fit: PathFit, limits: Limits, goodput_bps: float) -> PathFit:
    """The fit, without a rate that may be the application's own: segments that leave evenly arrive evenly."""
    rate = fit.by_name.get("rate")
    if rate is None or rate.value is None or limits.fractions.get(Limit.APPLICATION, 0.0) < _MOSTLY:
        return fit
    if rate.value > _ALIKE * goodput_bps:
        return fit
    reason = "segments arrive as the application sends them, so the bottleneck may be faster"
    quantities = tuple(
        replace(one, value=None, low=None, high=None, reason=reason) if one.name in ("rate", "cross") else one
        for one in fit.quantities
    )
    assumption = f"the bottleneck is {_FASTER:g} times as fast as the application, since nothing shows its rate"
    draws = tuple(replace(draw, rate_bps=_FASTER * draw.rate_bps) for draw in fit.draws)
    best = replace(fit.best, rate_bps=_FASTER * fit.best.rate_bps)
    return replace(
        fit, quantities=quantities, best=best, draws=draws, assumptions=(*fit.assumptions, assumption), others=None,
        others_reason=reason, doubtful=(),
    )  # fmt: skip


def _quantity(one: Estimate) -> dict[str, Any]:
    return {
        "name": one.name,
        "title": one.title,
        "unit": one.unit,
        "value": one.value,
        "low": one.low,
        "high": one.high,
        "identifiable": one.identifiable,
        "reason": one.reason,
    }


def _listed(flow: Flow) -> dict[str, Any]:
    return {
        "number": flow.number,
        "packets": flow.packets,
        "sent_bytes": flow.sent_bytes,
        "answered_bytes": flow.answered_bytes,
        "start_s": flow.start_s,
        "duration_s": flow.duration_s,
        "handshake": flow.opened,
    }
