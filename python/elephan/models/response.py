"""Response functions: the mean window of an algorithm if a fraction p of its segments is lost.

Each closed form assumes one loss in every 1/p segments, a path that never queues, an ACK for every segment and no
timeout. :func:`mean_window` evaluates the closed form. With ``losses="random"``, :func:`mean_window` computes the mean
under independent losses from the same rules (:mod:`elephan.models.cycles`), for algorithms whose only memory is the
window at the last loss.

``published`` is true if the closed form itself is in the paper or RFC; other forms are derived from the algorithm's
rules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from elephan.models.cycles import Cycle, Floats, floats, memoryless, under_random_losses

Law = Callable[[Floats, Floats], Floats]
"""Function (loss probability, round trip in s) -> mean window in segments."""


@dataclass(frozen=True)
class Response:
    """The response function of one algorithm.

    Attributes:
        algorithm: name of the algorithm, with a preset if the function holds for this preset only.
        formula: the closed form, as text.
        law: the closed form, as a function.
        source: paper or RFC of the form.
        published: true if the source states this form, and not only the rules from which the form follows.
        lowest_p: smallest loss probability for which the form was derived.
        highest_p: largest loss probability for which the form was derived.
        settings: parameters for which the form holds, if they are not the defaults.
        cycle: the rules, for random losses; None if the algorithm's memory is more than the window at its last loss.
        marks: true if p counts ECN marks and not losses.
        note: further assumptions.
    """

    algorithm: str
    formula: str
    law: Law
    source: str
    published: bool
    lowest_p: float = 1e-7
    highest_p: float = 3e-3
    settings: Mapping[str, float | bool | str] = field(default_factory=dict)
    cycle: Cycle | None = None
    marks: bool = False
    note: str = ""


def mean_window(algorithm: str, p: ArrayLike, rtt_s: ArrayLike = 0.1, losses: str = "even") -> NDArray[np.float64]:
    """Mean window in segments, for arrays of loss probabilities and round-trip times.

    Args:
        algorithm: a key of :data:`RESPONSES`.
        p: loss (or mark) probability of a segment, above 0 and at most 1.
        rtt_s: round-trip time, s.
        losses: "even" for the closed form, "random" for independent losses.

    Raises:
        KeyError: the algorithm has no response function.
        ValueError: a probability or a time is outside its limits, `losses` is neither word, or the algorithm has no
            form for random losses.
    """
    response = RESPONSES[algorithm]
    loss, rtt = np.broadcast_arrays(np.asarray(p, dtype=np.float64), np.asarray(rtt_s, dtype=np.float64))
    if not (np.all(loss > 0) and np.all(loss <= 1)):
        raise ValueError("a loss probability is above 0 and at most 1")
    if not np.all(rtt > 0):
        raise ValueError("a round-trip time is above 0")
    if losses == "even":
        return response.law(loss, rtt)
    if losses != "random":
        raise ValueError(f"{losses!r} is neither 'even' nor 'random'")
    if response.cycle is None:
        raise ValueError(f"{algorithm} has no form for random losses")
    cycle = response.cycle
    flat = [under_random_losses(cycle, float(a), float(b)) for a, b in zip(loss.ravel(), rtt.ravel(), strict=True)]
    return np.array(flat).reshape(loss.shape)


def westwood(p: ArrayLike, rtt_s: ArrayLike, queueing_s: ArrayLike) -> NDArray[np.float64]:
    """Westwood+: sqrt(RTT / Tq) sqrt((1 - p) / p), with the mean queueing delay Tq = RTT - RTTmin.

    Without queueing, Westwood+ has no response function: a reduction then leaves the path's BDP, and the window
    continues to grow. Source: Grieco and Mascolo, CCR 34(2), 2004 (form not verified in the text of the paper).
    """
    loss, rtt, queueing = (np.asarray(x, dtype=np.float64) for x in (p, rtt_s, queueing_s))
    if np.any(queueing <= 0):
        raise ValueError("a mean queueing delay is above 0")
    result: NDArray[np.float64] = np.sqrt(rtt / queueing) * np.sqrt((1 - loss) / loss)
    return result


def aimd(increase: float, decrease: float) -> float:
    """The coefficient c of w = c / sqrt(p) for an AIMD flow with `increase` segments a round trip and the
    multiplicative decrease `decrease`."""
    return float(np.sqrt(increase * (2 - decrease) / (2 * decrease)))


def _keep(decrease: float) -> Callable[[Floats], Floats]:
    def keep(window: Floats) -> Floats:
        return np.maximum(window * (1 - decrease), 1.0)

    return keep


def _power(coefficient: float, exponent: float) -> Law:
    def law(p: Floats, rtt_s: Floats) -> Floats:
        del rtt_s
        return floats(coefficient * p**exponent)

    return law


def _at_least_reno(law: Law, legacy_window: float) -> Law:
    """A law that equals `law` above `legacy_window`, and Reno's law below, where the algorithm behaves as Reno."""

    def combined(p: Floats, rtt_s: Floats) -> Floats:
        own, reno = law(p, rtt_s), aimd(1, 0.5) * p**-0.5
        return np.where(own > legacy_window, own, np.minimum(reno, legacy_window))

    return combined


def _constant(gain: float) -> Callable[[Floats], Floats]:
    return lambda window: np.full_like(window, gain)


def _aimd(algorithm: str, increase: float, decrease: float, formula: str, source: str, **more: object) -> Response:
    cycle = memoryless(_constant(increase), _keep(decrease))
    law = _power(aimd(increase, decrease), -0.5)
    return Response(algorithm, formula, law, source, cycle=cycle, **more)  # type: ignore[arg-type]


# HighSpeed TCP: RFC 3649 §5.
_LOW_WINDOW, _HIGH_WINDOW, _LOW_P, _HIGH_P, _HIGH_DECREASE = 38.0, 83_000.0, 1e-3, 1e-7, 0.1
_HSTCP_SLOPE = float(np.log(_HIGH_WINDOW / _LOW_WINDOW) / np.log(_HIGH_P / _LOW_P))


def _hstcp_law(p: Floats, rtt_s: Floats) -> Floats:
    del rtt_s
    return np.where(p < _LOW_P, _LOW_WINDOW * (p / _LOW_P) ** _HSTCP_SLOPE, aimd(1, 0.5) * p**-0.5)


def _hstcp_decrease(window: Floats) -> Floats:
    along = np.log(np.maximum(window, _LOW_WINDOW) / _LOW_WINDOW) / np.log(_HIGH_WINDOW / _LOW_WINDOW)
    return floats(np.maximum(0.5 + (_HIGH_DECREASE - 0.5) * along, _HIGH_DECREASE))


def _hstcp_gain(window: Floats) -> Floats:
    p = _LOW_P * (window / _LOW_WINDOW) ** (1 / _HSTCP_SLOPE)
    decrease = _hstcp_decrease(window)
    return np.where(window > _LOW_WINDOW, np.maximum(window**2 * p * 2 * decrease / (2 - decrease), 1.0), 1.0)


_HSTCP = memoryless(_hstcp_gain, lambda window: np.maximum(window * (1 - _hstcp_decrease(window)), 1.0))


# Scalable TCP (Kelly 2003), which behaves as Reno up to 16 segments.
def _scalable(gain: float, decrease: float, legacy_window: float) -> tuple[Law, Cycle]:
    law = _at_least_reno(_power(gain / float(np.log(1 / (1 - decrease))), -1.0), legacy_window)
    cycle = memoryless(
        lambda window: np.where(window > legacy_window, gain * window, 1.0),
        lambda window: np.maximum(np.where(window > legacy_window, window * (1 - decrease), window / 2), 1.0),
    )
    return law, cycle


_STCP_LAW, _STCP_CYCLE = _scalable(0.01, 0.125, 16.0)
# YeAH-TCP grows like Scalable TCP above 100 segments, and by one segment a round trip below; without a queue it keeps
# 7/8.
_YEAH_CYCLE = memoryless(lambda window: np.maximum(window / 100.0, 1.0), _keep(0.125))


def _yeah_law(p: Floats, rtt_s: Floats) -> Floats:
    own = _STCP_LAW(p, rtt_s)
    return np.where(own > 100.0, own, np.minimum(aimd(1, 0.125) * p**-0.5, 100.0))


# H-TCP: alpha = 2 (1 - beta) (1 + 10 D + D^2 / 4), where D is the time since the last loss minus 1 s.
_NEWTON_MOST, _NEWTON_NEAR = 40, 1e-10


def _htcp_gained(elapsed_s: Floats) -> Floats:
    """The integral of alpha over time since the loss, s."""
    late = np.maximum(elapsed_s - 1.0, 0.0)
    return floats(np.minimum(elapsed_s, 1.0) + late + 5 * late**2 + late**3 / 12)


def _htcp_law(keep: float) -> Law:
    """H-TCP's law, solved for the duration of a cycle by Newton's method on logarithms. The duration of a cycle
    determines the peak, the segments sent, and p.

    Let G be the integral of alpha since the loss. The window is 2 (keep G(D) + (1 - keep) G(t)) / RTT at time t of a
    cycle of D seconds, and the number of segments sent is the integral of the window over time divided by the RTT. The
    number of segments, multiplied by RTT^2, is the same function of D for every path.
    """

    def sent(duration_s: Floats) -> tuple[Floats, Floats]:
        """Segments sent in a cycle times RTT^2/2, and the derivative."""
        late = np.maximum(duration_s - 1.0, 0.0)
        gained, gain = _htcp_gained(duration_s), np.where(late > 0, 1.0 + 10.0 * late + late**2 / 4.0, 1.0)
        area = duration_s**2 / 2.0 + 5.0 / 3.0 * late**3 + late**4 / 48.0
        total = keep * gained * duration_s + (1.0 - keep) * area
        return total, gained + keep * gain * duration_s

    def law(p: Floats, rtt_s: Floats) -> Floats:
        wanted = np.log(rtt_s**2 / (2.0 * p))
        at = wanted / 3.0
        for _ in range(_NEWTON_MOST):
            duration_s = np.exp(at)
            total, slope = sent(duration_s)
            step = (np.log(total) - wanted) * total / (slope * duration_s)
            at = at - step
            if np.all(np.abs(step) < _NEWTON_NEAR):
                break
        return floats(rtt_s / (p * np.exp(at)))

    return law


def _htcp_cycle(keep: float) -> Cycle:
    def path(peaks: Floats, elapsed: Floats, rtt_s: float) -> Floats:
        return np.maximum(peaks * keep, 1.0) + 2 * (1 - keep) * _htcp_gained(elapsed * rtt_s) / rtt_s

    return Cycle(_keep(1 - keep), path)


# CUBIC: RFC 9438 §4, with the Reno-friendly region.
_CUBIC_C = 0.4


def _cubic_law(keep: float) -> Law:
    def law(p: Floats, rtt_s: Floats) -> Floats:
        cubic = (_CUBIC_C * (3 + keep) / (4 * (1 - keep))) ** 0.25 * (rtt_s / p) ** 0.75
        return floats(np.maximum(cubic, aimd(1, 0.5) * p**-0.5))

    return law


def _cubic_cycle(keep: float, *, faster_after: bool) -> Cycle:
    """`faster_after`: the Reno estimate adds a segment a round trip from the window of the last loss on (RFC 9438)."""
    slow = 3 * (1 - keep) / (1 + keep)

    def path(peaks: Floats, elapsed: Floats, rtt_s: float) -> Floats:
        begun = np.maximum(peaks * keep, 1.0)
        to_peak_s = np.cbrt((peaks - begun) / _CUBIC_C)
        cubic = _CUBIC_C * (elapsed * rtt_s - to_peak_s) ** 3 + peaks
        reno = begun + slow * elapsed
        if faster_after:
            rounds_to_peak = (peaks - begun) / slow
            reno = np.where(elapsed > rounds_to_peak, peaks + elapsed - rounds_to_peak, reno)
        return np.maximum(cubic, reno)

    return Cycle(_keep(1 - keep), path)


# BIC: the constants of the INFOCOM 2004 paper; one step per round trip.
_BIC_MAX, _BIC_MIN, _BIC_KEEP, _BIC_LOW = 32.0, 0.01, 0.875, 14.0


def _bic_rounds(peaks: Floats, rounds: int) -> Floats:
    """Windows at the start of each round trip after a loss at each of `peaks`; one row for each peak."""
    window = np.where(peaks < _BIC_LOW, np.maximum(peaks / 2, 1.0), peaks * _BIC_KEEP)
    step = np.ones_like(window)
    table = [window]
    for _ in range(rounds):
        searching = window < peaks * (1 - 1e-12)
        halved = np.clip((peaks - window) / 2, _BIC_MIN, _BIC_MAX)
        gain = np.where(searching, halved, step)
        gain = np.where(window < _BIC_LOW, 1.0, gain)
        probing = ~searching & (window >= _BIC_LOW)
        step = np.where(probing, np.minimum(step * 2, _BIC_MAX), step)
        window = window + gain
        table.append(window)
    return np.stack(table, axis=1)


def _bic_path(peaks: Floats, elapsed: Floats, rtt_s: float) -> Floats:
    del rtt_s
    table = _bic_rounds(peaks[:, 0], int(np.ceil(elapsed.max())) + 1)
    whole = np.arange(table.shape[1])
    return np.stack([np.interp(elapsed[0], whole, row) for row in table])


_BIC_CYCLE = Cycle(lambda peaks: np.where(peaks < _BIC_LOW, np.maximum(peaks / 2, 1.0), peaks * _BIC_KEEP), _bic_path)


def _bic_law(p: Floats, rtt_s: Floats) -> Floats:
    """BIC's law from a cycle between two losses at the same window: p = 1/(segments sent), mean window = segments /
    rounds."""
    del rtt_s
    peaks = np.geomspace(2.0, 2e6, 1200)
    most = int(np.ceil(peaks[-1] * (1 - _BIC_KEEP) / _BIC_MAX)) + 40
    table = _bic_rounds(peaks, min(most, 12_000))
    before = table < peaks[:, None] * (1 - 1e-12)
    rounds = np.maximum(before.sum(axis=1), 1)
    sent = np.where(before, table, 0.0).sum(axis=1)
    order = np.argsort(sent)
    own = np.exp(np.interp(np.log(1 / p), np.log(sent[order]), np.log((sent / rounds)[order])))
    return floats(np.maximum(own, np.minimum(aimd(1, 0.5) * p**-0.5, _BIC_LOW)))


# LTCP: layer K begins at K (K + 1) (K - 1) / 6 times 50 segments.
_LTCP_STARTS = np.array([k * (k + 1) * (k - 1) / 6 * 50.0 for k in range(1, 400)])


def _ltcp_layers(window: Floats) -> Floats:
    return np.searchsorted(_LTCP_STARTS, window, side="right").astype(np.float64)


_LTCP_CYCLE = memoryless(
    lambda window: np.maximum(_ltcp_layers(window), 1.0),
    lambda window: np.maximum(np.where(window >= 50.0, window * 0.85, window / 2), 1.0),
)


def _hybla_rho(rtt_s: Floats) -> Floats:
    return np.maximum(rtt_s / 0.025, 1.0)


def _hybla_law(p: Floats, rtt_s: Floats) -> Floats:
    return floats(_hybla_rho(rtt_s) * aimd(1, 0.5) * p**-0.5)


def _hybla_path(peaks: Floats, elapsed: Floats, rtt_s: float) -> Floats:
    return np.maximum(peaks / 2, 1.0) + _hybla_rho(np.asarray(rtt_s)) ** 2 * elapsed


_COMPOUND_CYCLE = memoryless(
    lambda window: np.where(window >= 38.0, np.maximum(window**0.75 / 8, 1.0), 1.0), _keep(0.5)
)

_STANDARD_START = {"slow_start": "standard"}
_NO_QUEUE = "on a path that never queues"

RESPONSES: dict[str, Response] = {
    response.algorithm: response
    for response in (
        _aimd("reno", 1, 0.5, "sqrt(3/2) / sqrt(p)", "RFC 3649 §2; Mathis et al., CCR 27(3), 1997", published=True),
        Response("hstcp", "38 (p / 1e-3)^-0.8348", _hstcp_law, "RFC 3649 §5", published=True, cycle=_HSTCP),
        Response(
            "stcp", "0.0749 / p", _STCP_LAW, "Kelly, CCR 33(2), 2003 (its 0.08 / p is the window at the loss)",
            published=True, cycle=_STCP_CYCLE,
        ),
        Response(
            "htcp", "solved for the time between losses", _htcp_law(0.5), "Leith and Shorten, PFLDnet 2004",
            published=False, settings={"adaptive_backoff": False, "bandwidth_switch": False}, cycle=_htcp_cycle(0.5),
            note="halving on every loss",
        ),
        Response(
            "bic:rounds", "from the rounds between two losses", _bic_law, "Xu, Harfoush, Rhee, INFOCOM 2004",
            published=False, highest_p=1e-3, settings={"fast_convergence": False}, cycle=_BIC_CYCLE,
            note="without fast convergence",
        ),
        Response(
            "cubic", "max(1.0538 (RTT / p)^0.75, sqrt(3/2) / sqrt(p))", _cubic_law(0.7), "RFC 9438 §5.1",
            published=True, settings={"fast_convergence": False, **_STANDARD_START},
            cycle=_cubic_cycle(0.7, faster_after=True), note="without fast convergence",
        ),
        Response(
            "cubic:2005", "max(1.1741 (RTT / p)^0.75, sqrt(3/2) / sqrt(p))", _cubic_law(0.8),
            "Rhee and Xu, PFLDnet 2005", published=True, settings={"fast_convergence": False},
            cycle=_cubic_cycle(0.8, faster_after=False), note="without fast convergence",
        ),
        Response(
            "ltcp", "1.949 p^-0.6", _at_least_reno(_power(1.949, -0.6), 50.0),
            "Bhandarkar, Jain, Reddy, CCR 36(1), 2006 (constants not verified in its text)", published=False,
            highest_p=1e-3, cycle=_LTCP_CYCLE, note="windows above 50 segments",
        ),
        Response(
            "hybla", "(RTT / 25 ms) sqrt(3/2) / sqrt(p)", _hybla_law,
            "Caini and Firrincieli, Int. J. Satell. Commun. 22(5), 2004", published=False,
            cycle=Cycle(_keep(0.5), _hybla_path), note="round trips of 25 ms or more",
        ),
        _aimd("veno", 1, 0.2, "sqrt(9/2) / sqrt(p)", "Fu and Liew, JSAC 21(2), 2003", published=False, note=_NO_QUEUE),
        _aimd(
            "illinois", 10, 0.125, "sqrt(75) / sqrt(p)", "Liu, Başar, Srikant, VALUETOOLS 2006", published=False,
            highest_p=1e-3,
            note=f"{_NO_QUEUE}: the upper bound; the lower bound is sqrt(0.45) / sqrt(p)",
        ),
        Response(
            "compound", "0.25528 / p^0.8", _at_least_reno(_power(0.25528, -0.8), 38.0),
            "Tan, Song, Zhang, Sridharan, INFOCOM 2006", published=False, highest_p=3e-4, cycle=_COMPOUND_CYCLE,
            note=f"{_NO_QUEUE}, for windows well above 38 segments; below 38 segments the delay window is 0",
        ),
        Response(
            "yeah", "0.0749 / p", _yeah_law, "Baiocchi, Castellani, Vacirca, PFLDnet 2007", published=False,
            cycle=_YEAH_CYCLE, note=f"{_NO_QUEUE}, above 100 segments",
        ),
        _aimd("vegas", 1, 0.25, "sqrt(7/2) / sqrt(p)", "Brakmo and Peterson, JSAC 13(8), 1995", published=False,
              note=_NO_QUEUE),
        Response(
            "africa", "38 (p / 1e-3)^-0.8348", _hstcp_law, "King, Baraniuk, Riedi, INFOCOM 2005", published=False,
            cycle=_HSTCP, note=_NO_QUEUE,
        ),
        Response("dctcp", "2 / p", _power(2.0, -1.0), "RFC 8257 §3.3", published=False, marks=True),
        Response("prague", "2 / p", _power(2.0, -1.0), "draft-briscoe-iccrg-prague-congestion-control",
                 published=False, marks=True),
    )
}  # fmt: skip
"""Response functions by the name of the algorithm (and preset)."""
