"""Words of an explanation: sentences, and numbers with their units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from elephan.explanation.results import OF_PATH, AlgorithmFit, Estimate, Limit, Limits, PathFit
from elephan.notebooks import figures

if TYPE_CHECKING:
    from elephan.explanation.predicting import ModelCheck, Prediction

_NOTHING = 1e-6
_LITTLE = 0.02
"""Smallest share of time that the first sentences name."""

CAUSES = {
    Limit.APPLICATION: "the application on A, which had no more data to send",
    Limit.RECEIVE_WINDOW: "B's receive window",
    Limit.SEND_BUFFER: "A's send buffer, or another fixed window of A",
    Limit.SLOW_START: "slow start",
    Limit.CONGESTION: "the path, by congestion",
    Limit.RANDOM_LOSS: "the path, by losses that no queue announces",
    Limit.POLICER: "the path, by a policer",
    Limit.DELAYED_ACKS: "B's delayed acknowledgments",
}
REMEDIES = {
    Limit.APPLICATION: "Another algorithm would change little.",
    Limit.RECEIVE_WINDOW: "A larger receive buffer on B would help (tcp_rmem), and another algorithm would not.",
    Limit.SEND_BUFFER: "A larger send buffer on A would help (tcp_wmem, SO_SNDBUF), and another algorithm hardly.",
    Limit.DELAYED_ACKS: "Larger writes, or B's quick acknowledgments, would help.",
}


OTHERS = {
    "steady": "is steady and does not yield",
    "bulk": "takes what this flow leaves",
    "intermittent": "comes and goes, and whether it yields is not identifiable",
}


def limits_words(limits: Limits, *, goodput_bps: float, rtt_s: float, duration_s: float) -> str:
    """Sentences on what limited the flow."""
    acked = goodput_bps * (limits.intervals[-1].end_s - limits.intervals[0].start_s) / 8
    first = limits.shares[0]
    named = [share for share in limits.shares[1:] if share.fraction >= _LITTLE]
    rest = ", ".join(f"{CAUSES[share.limit]} ({100 * share.fraction:.0f} %)" for share in named)
    sentences = [
        f"A sent {size(acked)} to B in {duration_s:.3g} s: {rate(goodput_bps)} over a path with a round trip of at "
        f"least {time(rtt_s)}.",
        f"It was limited by {CAUSES[first.limit]}, in {100 * first.fraction:.0f} % of the time"
        + (f", then by {rest}." if rest else "."),
        f"{first.evidence[:1].upper()}{first.evidence[1:]}.",
    ]
    if first.limit in REMEDIES:
        sentences.append(REMEDIES[first.limit])
    elif sum(limits.fractions.get(limit, 0.0) for limit in OF_PATH) > 0.5:
        sentences.append("Whether another algorithm would do better depends on the path.")
    return " ".join(sentences)


def path_words(fit: PathFit) -> str:
    """The path, in one sentence."""
    shown = [f"{quantity.title} {shown_estimate(quantity)}" for quantity in fit.quantities if quantity.identifiable]
    hidden = [quantity.title for quantity in fit.quantities if not quantity.identifiable]
    queue = f"queue {fit.queue}" if fit.queue else "a queue that cannot be told from this capture"
    text = f"The path: {', '.join([*shown, queue])}."
    if fit.best.levels:
        levels = [f"{rate(level.rate_bps)} from {time(level.from_s)} on" for level in fit.best.levels[1:]]
        text += f" Its rate changes: {rate(fit.best.levels[0].rate_bps)} at first, {', '.join(levels)}."
    if fit.others is not None:
        text += f" The other traffic {OTHERS[fit.others.kind]}."
    return text + (f" Not identifiable from this capture: {', '.join(hidden)}." if hidden else "")


def algorithm_words(fit: AlgorithmFit) -> str:
    """The algorithm, in one sentence."""
    if not fit.ranking:
        return f"The algorithm is not identifiable from this capture: {fit.reason}."
    if not fit.names:
        return f"The algorithm: none of these. {_sentence(fit.reason)}".strip()
    which = fit.names[0] if len(fit.names) == 1 else f"{', '.join(fit.names)} (this capture cannot tell them apart)"
    best = next((match for match in fit.ranking if match.algorithm == fit.names[0]), None)
    score = "" if best is None else (
        f"; it sends {100 * best.score:.0f} % of {best.judged} segments within {time(fit.tolerance_s)} of the real ones"
    )  # fmt: skip
    return f"The algorithm: {which}{score}."


def check_words(check: ModelCheck) -> str:
    """The distance of the simulated flow from the captured one."""
    rows = ", ".join(
        f"{row.title} {figures(row.simulated, 3)} instead of {figures(row.captured, 3)} {row.unit}"
        for row in check.rows
    )
    lead = "A poor fit, so that numbers that follow from this path are doubtful." if check.is_poor else "A good fit."
    return f"{lead} {check.algorithm} simulated on the fitted path has, in the second half, {rows}."


def prediction_rows(predictions: Sequence[Prediction]) -> list[list[str]]:
    """Rows of a table: the algorithm, and its numbers with their intervals."""
    return [
        [
            one.algorithm,
            *(
                _between(
                    one.means.get(name), one.low.get(name), one.high.get(name), factor, is_hidden=name in one.hidden
                )
                for name, factor in _PREDICTED.items()
            ),
        ]
        for one in predictions
    ]


def prediction_words(predictions: Sequence[Prediction]) -> list[str]:
    """Sentences on goodputs that are not identifiable."""
    return [
        f"The goodput of {one.algorithm} is not identifiable from this capture: it is "
        f"{figures(one.low['goodput_mbps'], 3)} Mbit/s on one of the paths that explain the capture, and "
        f"{figures(one.high['goodput_mbps'], 3)} Mbit/s on another."
        for one in predictions
        if "goodput_mbps" in one.hidden
    ]


_PREDICTED = {"goodput_mbps": 1.0, "rtt_mean_ms": 1.0, "rtt_p95_ms": 1.0, "retransmit_rate": 100.0}
PREDICTION_HEADER = ("algorithm", "goodput Mbit/s", "mean RTT ms", "p95 RTT ms", "sent again %")


def _between(
    mean: float | None, low: float | None, high: float | None, factor: float, *, is_hidden: bool = False
) -> str:
    if mean is None:
        return "–"
    if is_hidden and low is not None and high is not None:
        return f"not identifiable ({figures(low * factor, 3)} to {figures(high * factor, 3)})"
    if low is None or high is None or figures(low * factor, 3) == figures(high * factor, 3):
        return figures(mean * factor, 3)
    return f"{figures(mean * factor, 3)} ({figures(low * factor, 3)} to {figures(high * factor, 3)})"


def shown_estimate(one: Estimate) -> str:
    """A number of the path with its interval, or the reason why there is none."""
    if one.value is None:
        return f"not identifiable: {one.reason}"
    shown = _WITH_UNIT.get(one.unit, "{:.3g}".format)
    value = shown(one.value)
    if one.low is None or one.high is None:
        return value
    low, high = shown(one.low), shown(one.high)
    return value if low == high else f"{value} ({low} to {high})"


def time(seconds: float) -> str:
    """A time with its unit."""
    if seconds >= 1:
        return f"{seconds:.3g} s"
    return f"{1e3 * seconds:.3g} ms" if seconds >= 1e-3 else f"{1e6 * seconds:.3g} µs"


def _share(fraction: float) -> str:
    return f"{100 * fraction:.2g} %" if abs(fraction) >= _NOTHING else "0 %"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}." if text else ""


def size(number: float) -> str:
    """A size with its unit."""
    for least, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if number >= least:
            return f"{number / least:.3g} {unit}"
    return f"{number:.0f} bytes"


def rate(bps: float) -> str:
    """A rate with its unit."""
    for least, unit in ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")):
        if bps >= least:
            return f"{bps / least:.3g} {unit}"
    return f"{bps:.0f} bit/s"


_WITH_UNIT = {"bit/s": rate, "bytes": size, "s": time, "1": _share}
