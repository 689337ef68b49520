"""The page of an explanation: the answer, the packets over time with the limits shaded, and the tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from elephan.explanation.connection import Connection
from elephan.explanation.drawing import FlowFigure, Overlay
from elephan.explanation.explaining import Explanation
from elephan.explanation.replaying import HEADER, Replay, ReplayFigure
from elephan.explanation.results import AlgorithmFit, PathFit
from elephan.explanation.wording import PREDICTION_HEADER, prediction_rows, rate, shown_estimate, size, time
from elephan.report import pages
from elephan.report.figures import Figure
from elephan.report.provenance import facts
from elephan.report.tables import table
from elephan.version import __version__

if TYPE_CHECKING:
    from elephan.explanation.predicting import ModelCheck, Prediction

_MOST_RANKED = 8
_CAPTION = (
    "The shades are the limits: what kept the flow from sending more at that time. Drag to zoom, double-click to go "
    "back."
)
_REPLAYED = (
    "The algorithm follows the captured sender: what is in flight and what is lost is the capture's, and only the "
    "window and the pacing rate are the algorithm's. Where a segment leaves earlier or later than these allow, the "
    "sender is not this algorithm, or has a bug."
)


def explanation_report(
    found: Explanation,
    out: str | Path,
    *,
    fit: PathFit | None = None,
    algorithm: AlgorithmFit | None = None,
    check: ModelCheck | None = None,
    predictions: Sequence[Prediction] = (),
    replay: Replay | None = None,
    words: Sequence[str] = (),
) -> Path:
    """Write ``report.html`` into a folder, and return its path. The page names no address and no file.

    Args:
        found: the explanation.
        out: the folder.
        fit: the path.
        algorithm: the algorithm of the sender.
        check: the simulation of the path, which is drawn over the capture and which a reader can repeat in the page.
        predictions: numbers of other algorithms.
        replay: the replay of one algorithm, which gets a figure of its own.
        words: sentences after the first answer.

    Raises:
        OSError: the folder cannot be written.
    """
    overlay = None if check is None else overlay_of(check, found.connection)
    figure = FlowFigure("flow", "The flow over time", _CAPTION, found.connection, found.limits, overlay)
    tables = [_limits(found), _numbers(found)]
    tables += [_path(fit)] if fit is not None else []
    tables += [_ranking(algorithm)] if algorithm is not None and algorithm.ranking else []
    if predictions:
        tables.append(table("What else would have done", PREDICTION_HEADER, prediction_rows(predictions)))
    figures: list[Figure] = [figure]
    if replay is not None:
        figures.append(ReplayFigure("replay", f"Replay of {replay.algorithm}", _REPLAYED, replay))
        tables += [table(f"Departures from {replay.algorithm}", HEADER, replay.rows())] if replay.stretches else []
    page = {
        "title": f"What limited the flow: {found.limits.main}",
        "subject": f"Connection {found.connection.flow.number} of a capture: A sends, B receives.",
        "answer": found.text,
        "words": list(words),
        "notes": list(found.notes),
        "tables": tables,
        "assumptions": list(fit.assumptions) if fit is not None else [],
        "toml": check.run.scenario.to_toml() if check is not None else "",
        "provenance": [("elephan", __version__), *_facts(check)],
    }
    runs = [check.run] if check is not None else []
    return pages.report("explanation.html.j2", Path(out) / "report.html", page, figures, runs=runs)


def overlay_of(check: ModelCheck, connection: Connection) -> Overlay:
    """The simulated flow at its samples, in the time of the capture: both have their first segment at the same time."""
    samples = check.run.samples
    times = samples["time_s"].to_numpy() + connection.segments["time_ns"].to_numpy()[0] / 1e9
    acked_mb = samples["delivered_segments"].to_numpy() * connection.mss / 1e6
    rates = np.diff(acked_mb, prepend=np.nan) * 8 / np.diff(times, prepend=np.nan)
    flight_kb = samples["in_flight"].fill_null(float("nan")).to_numpy() * connection.mss / 1e3
    rtt_ms = samples["rtt_s"].fill_null(float("nan")).to_numpy() * 1e3
    return Overlay(check.algorithm, times, acked_mb, rates, flight_kb, rtt_ms)


def _facts(check: ModelCheck | None) -> list[tuple[str, str]]:
    """Facts of the simulation, without the command, which may name a host."""
    if check is None:
        return []
    return [(name, value) for name, value in facts([check.run]) if name not in ("command", "elephan")]


def _limits(found: Explanation) -> dict[str, Any]:
    rows = [[str(share.limit), round(100 * share.fraction, 1), share.evidence] for share in found.limits.shares]
    return table("Limits", ["limit", "% of time", "evidence"], rows)


def _numbers(found: Explanation) -> dict[str, Any]:
    connection, position = found.connection, found.connection.position
    again = int(connection.segments["retransmission"].sum())
    place = {"sender": "A", "receiver": "B", "between": "between A and B"}[position.place]
    rows = [
        ["goodput", rate(found.goodput_bps)],
        ["duration", time(connection.duration_s)],
        ["data", size(connection.flow.sent_bytes)],
        ["segments", str(connection.segments.height)],
        ["sent again", str(again)],
        ["acknowledgments", str(connection.acks.height)],
        ["least round trip", time(found.rtt_s)],
        ["place of the capture", place if position.known else "not known"],
        ["maximum segment size", f"{connection.mss} bytes"],
    ]
    return table("The flow", ["quantity", "value"], rows)


def _path(fit: PathFit) -> dict[str, Any]:
    rows = [[one.title, shown_estimate(one), one.reason if one.identifiable else ""] for one in fit.quantities]
    rows.append(["queue discipline", fit.queue or "not identifiable", fit.queue_reason])
    if fit.others is not None:
        yields = {True: "yes", False: "no", None: "not identifiable"}[fit.others.yields]
        rows.append(["other traffic yields", yields, fit.others_reason])
    return table("The path", ["quantity", "value (95 % interval)", "evidence"], rows)


def _ranking(fit: AlgorithmFit) -> dict[str, Any]:
    rows = [[match.algorithm, round(100 * match.score, 1), match.judged] for match in fit.ranking[:_MOST_RANKED]]
    header = ["algorithm", f"% of segments within {time(fit.tolerance_s)}", "segments"]
    return table("The algorithm, by replay", header, rows)
