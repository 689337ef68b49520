"""Equilibria of delay-based flows, the effect of a wrong base RTT, and the stability of their control loops.

FAST, EEFAST and HCC each keep ``alpha`` of their own segments in the queue; Vegas keeps between ``alpha`` and ``beta``.
Rates are in segments/s, times in seconds; flows are along the last axis, and all axes before the last broadcast.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from elephan.models.cycles import Floats, floats

_NEWTON_MOST = 60


@dataclass(frozen=True)
class Equilibrium:
    """Equilibrium of flows: rates, queue and windows.

    Attributes:
        queue: segments waiting at the bottleneck.
        rates: rate of each flow, segments/s.
        windows: window of each flow, segments.
    """

    queue: Floats
    rates: Floats
    windows: Floats


def equilibrium(alpha: ArrayLike, rate: ArrayLike, rtt_s: ArrayLike, errors_s: ArrayLike = 0.0) -> Equilibrium:
    """Equilibrium of flows that each keep ``alpha`` segments queued: the rates x_i = alpha_i/(q - e_i) add up to the
    capacity (Low, Peterson, Wang: "Understanding TCP Vegas: a duality model", JACM 49(2), 2002, §5 and §6; Jin, Wei,
    Low 2004).

    Args:
        alpha: alpha of each flow, segments.
        rate: capacity, segments/s.
        rtt_s: RTT of each flow without a queue.
        errors_s: error of each flow's base RTT, s: the queueing delay at the flow's start; negative if the base RTT is
            too short.

    Raises:
        ValueError: an alpha, the capacity or a round trip is not positive.
    """
    a, t, e = np.broadcast_arrays(_positive(alpha, "alpha"), _positive(rtt_s, "rtt_s"), floats(errors_s))
    a, t, e = np.atleast_1d(a), np.atleast_1d(t), np.atleast_1d(e)
    capacity = _positive(rate, "rate")[..., None]
    # The sum of the rates is convex and falls with q. At the q at which one flow alone has the capacity, the sum is too
    # large. From this q, Newton's method increases q to the root without passing the root.
    delay = np.max(e + a / capacity, axis=-1, keepdims=True)
    for _ in range(_NEWTON_MOST):
        rates = a / (delay - e)
        slope = (rates / (delay - e)).sum(axis=-1, keepdims=True)
        step = (rates.sum(axis=-1, keepdims=True) - capacity) / slope
        delay = delay + np.maximum(step, 0.0)
        if np.all(step <= 1e-14 * np.abs(delay)):
            break
    rates = a / (delay - e)
    return Equilibrium(floats((delay * capacity)[..., 0]), floats(rates), floats(rates * (t + delay)))


def in_sequence(flows: int, alpha: float, rate: float, rtt_s: float) -> Equilibrium:
    """Equilibria of flows that start one after another, each after the earlier flows have settled. The base RTT of each
    flow includes the queue at its start (Low, Peterson, Wang 2002, §6.2; hcc2011 §4.4).

    Raises:
        ValueError: there is no flow, or an argument is not positive.
    """
    if flows < 1:
        raise ValueError("flows: fewer than 1")
    errors: list[float] = [0.0]
    for _ in range(flows - 1):
        settled = equilibrium([alpha] * len(errors), rate, rtt_s, errors)
        errors.append(float(settled.queue) / rate)
    return equilibrium([alpha] * flows, rate, rtt_s, errors)


def vegas_queue(flows: ArrayLike, alpha: ArrayLike = 2, beta: ArrayLike = 4) -> tuple[Floats, Floats]:
    """Smallest and largest queue of Vegas flows, segments: each flow leaves its window unchanged while ``alpha`` to
    ``beta`` of its segments are queued (Brakmo & Peterson 1995).

    Raises:
        ValueError: a number is not positive, or ``beta`` is below ``alpha``.
    """
    n, least, most = _positive(flows, "flows"), _positive(alpha, "alpha"), _positive(beta, "beta")
    if np.any(most < least):
        raise ValueError("beta: below alpha")
    return floats(n * least), floats(n * most)


def fill(rate: ArrayLike, rtt_s: ArrayLike, alpha: ArrayLike, flows: ArrayLike = 1) -> Floats:
    """b = C T/(n alpha): the ratio of the BDP to the target queue, the only parameter of HCC's loop.

    Raises:
        ValueError: something is not positive.
    """
    pipe = _positive(rate, "rate") * _positive(rtt_s, "rtt_s")
    return floats(pipe / (_positive(alpha, "alpha") * _positive(flows, "flows")))


def hcc_loop(b: ArrayLike) -> Floats:
    """Coefficients (own, lagged), along the last axis, of HCC's linearized loop z^2 - own z + lagged.

    In a round trip the window moves half of the way to w_a = alpha D/Q. If the window is e segments above the
    equilibrium, w_a is b e segments below the equilibrium. Measurements are one round trip old, so e' = e/2 - (b/2)
    e_old (hcc2011 equations 1 and 3).
    """
    fullness = floats(b)
    return floats(np.stack([np.full_like(fullness, 0.5), fullness / 2.0], axis=-1))


def fast_loop(b: ArrayLike, gamma: ArrayLike = 0.5) -> Floats:
    """Coefficients of FAST's linearized loop, in the form of :func:`hcc_loop`: e' = (1 - gamma + gamma r) e - gamma r
    e_old with r = T/(T + Q) = b/(1 + b) (Jin, Wei, Low 2004).

    Raises:
        ValueError: gamma is not in (0, 1].
    """
    fullness, step = np.broadcast_arrays(floats(b), floats(gamma))
    if np.any(~((step > 0) & (step <= 1))):
        raise ValueError("gamma: not in (0, 1]")
    part = step * fullness / (1.0 + fullness)
    return floats(np.stack([1.0 - step + part, part], axis=-1))


def spectral_radius(loop: ArrayLike) -> Floats:
    """Larger |z| of the roots of z^2 - own z + lagged = 0: the factor by which an error changes in each round trip.

    The factor is 1 or more if the loop oscillates.
    """
    coefficients = floats(loop)
    own, lagged = coefficients[..., 0], coefficients[..., 1]
    root = np.sqrt(np.asarray(own**2 / 4.0 - lagged, dtype=np.complex128))
    return floats(np.maximum(np.abs(own / 2.0 + root), np.abs(own / 2.0 - root)))


def swings(loop: ArrayLike) -> NDArray[np.bool_]:
    """True if a loop oscillates."""
    found: NDArray[np.bool_] = spectral_radius(loop) >= 1.0 + 1e-12
    return found


def gain_margin(loop: ArrayLike) -> Floats:
    """Gain margin: the factor of a loop's gain at which the loop begins to oscillate; below 1 the loop oscillates
    (Nyquist).

    The loop is opened at the measurement: L(z) = lagged/(z (z - own)). The phase of L is -pi at cos(theta) = own/2. At
    this angle |L| = lagged, so the margin is 1/lagged; own must be at most 2.
    """
    coefficients = floats(loop)
    with np.errstate(divide="ignore"):
        return floats(1.0 / coefficients[..., 1])


def phase_margin_rad(loop: ArrayLike) -> Floats:
    """Phase margin: the additional delay, in radians at the frequency of |L| = 1, at which a loop begins to oscillate.
    The margin is negative if the loop oscillates, and infinite if |L| is below 1 at all frequencies (Nyquist).

    Let L = lagged/(z (z - own)) on the unit circle. |L| is 1 where |z - own| = lagged, at cos(theta) = (1 + own^2 -
    lagged^2)/(2 own). |L| falls with theta, so |L| is 1 at one frequency at most.

    Raises:
        ValueError: own is not above 0, or exceeds lagged by 1 or more, so that errors grow without oscillation.
    """
    coefficients = floats(loop)
    own, lagged = coefficients[..., 0], coefficients[..., 1]
    if np.any(~(own > 0)) or np.any(~(lagged > own - 1.0)):
        raise ValueError("loop: own not above 0, or own - lagged not below 1")
    cosine = (1.0 + own**2 - lagged**2) / (2.0 * own)
    theta = np.arccos(np.clip(cosine, -1.0, 1.0))
    # The phase of z - own exceeds the phase of z, by up to pi.
    phase = -theta - np.arctan2(np.sin(theta), np.cos(theta) - own)
    # For lagged below |1 - own|, |L| is below 1 at all frequencies; for lagged above 1 + own, |L| is above 1 at all
    # frequencies, and theta is pi.
    return floats(np.where(lagged <= np.abs(1.0 - own), np.inf, np.pi + phase))


def hcc_rounds(b: float, alpha: float, gamma: float = 0.5, rounds: int = 400, start: float = 1.05) -> Floats:
    """Queue at the end of each round trip under HCC's own rule, clipped steps included, segments.

    One flow uses a link that is never idle: the queue is the window minus the pipe, and is measured a round trip later.
    Increases are immediate in this model; the engine's HCC spreads them over the round.

    Raises:
        ValueError: b, alpha or gamma is not positive.
    """
    pipe = float(_positive(b, "b")) * float(_positive(alpha, "alpha"))
    step = float(_positive(gamma, "gamma")) * alpha
    window = old = pipe + start * alpha
    waiting = np.empty(rounds)
    for i in range(rounds):
        queue = max(old - pipe, 1e-9)
        anticipated = alpha * (pipe + queue) / queue
        old = window
        window += 0.5 * min(max(anticipated - window, -step), step)
        waiting[i] = max(window - pipe, 0.0)
    return floats(waiting)


def _positive(values: ArrayLike, what: str) -> Floats:
    found = floats(values)
    if np.any(~(found > 0)):
        raise ValueError(f"{what}: not above 0")
    return found
