"""Window laws of the fluid model, one for each algorithm: growth per round trip, and response to a loss.

A law with continuous growth implements :meth:`Law.gain`. A law that changes the window once per round trip implements
:meth:`Law.step`, which is called at the end of the round. A law with steps oscillates, because its measured delay is
one round trip old. Units are segments, seconds and round trips.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass

Settings = Mapping[str, float]
"""Values of all parameters of an algorithm, by their names in ``elephan list algorithms``. The value of a choice is the
chosen word."""


@dataclass
class View:
    """State of a flow at one time.

    Attributes:
        now_s: time.
        window: congestion window, segments.
        rtt_s: measured RTT, one round trip old.
        base_s: smallest measured RTT.
        rounds: round trips since the last loss.
        since_s: time since the last loss.
        burst_s: mean delay caused by the flow's own bursts during slow start. Two segments for each ACK arrive at twice
            the bottleneck's rate, so half of the window waits at the end of each round trip.
        average_s: queueing delay, averaged as in FAST and HCC: each ACK has the weight 3/w, so the time constant is a
            third of a round trip.
        rate: rate of acknowledged segments, segments/s, one round trip old.
        leaving: the flow's rate at the bottleneck's output, segments/s.
        rounds_in_all: round trips since the flow's start.
    """

    now_s: float = 0.0
    window: float = 1.0
    rtt_s: float = 0.0
    base_s: float = math.inf
    rounds: float = 0.0
    since_s: float = 0.0
    burst_s: float = 0.0
    average_s: float = 0.0
    rate: float = 0.0
    leaving: float = 0.0
    rounds_in_all: float = 0.0

    @property
    def delay_s(self) -> float:
        """Measured queueing delay."""
        return max(0.0, self.rtt_s - self.base_s) + self.burst_s

    @property
    def queued(self) -> float:
        """The flow's own segments in the queue, computed from its measured RTTs."""
        return self.window * self.delay_s / self.rtt_s if self.rtt_s > 0 else 0.0


class Law(ABC):
    """The rules of one flow; a law may have state."""

    by_rounds = False
    """True if the law changes the window once per round trip, by :meth:`step`."""
    slow_start = True
    """True if the law has standard slow start up to ssthresh; false if it has a start of its own."""
    heeds_loss = True
    """True if the law responds to a loss."""

    @abstractmethod
    def on_loss(self, view: View) -> float:
        """The window after a loss."""

    def gain(self, view: View) -> float:
        """Current growth, segments a round trip."""
        del view
        return 0.0

    def step(self, view: View) -> float:
        """Growth over the next round trip, segments; a negative value applies at once."""
        del view
        return 0.0

    def starting(self, view: View) -> bool:
        """True while the algorithm is in a start-up phase of its own, in which it doubles the window each round
        trip."""
        del view
        return False


class Memoryless(Law):
    """A law whose growth and decrease depend on the window alone."""

    def __init__(self, gain: Callable[[float], float], keep: Callable[[float], float]) -> None:
        self._gain = gain
        self._keep = keep

    def gain(self, view: View) -> float:
        """The constructor's ``gain`` at the current window, segments per round trip."""
        return self._gain(view.window)

    def on_loss(self, view: View) -> float:
        """The current window multiplied by the constructor's ``keep``."""
        return view.window * self._keep(view.window)


def reno(settings: Settings) -> Law:
    """Standard TCP: adds ``increase`` segments a round trip; a loss reduces the window by ``decrease`` (RFC 5681)."""
    increase, keep = settings["increase"], 1.0 - settings["decrease"]
    return Memoryless(lambda window: increase, lambda window: keep)


def stcp(settings: Settings) -> Law:
    """Scalable TCP (Kelly 2003): adds the fraction ``increase`` of the window; is Reno up to ``legacy_window``."""
    part, keep, legacy = settings["increase"], 1.0 - settings["decrease"], settings["legacy_window"]
    return Memoryless(
        lambda window: part * window if window > legacy else 1.0, lambda window: keep if window > legacy else 0.5
    )


def hstcp(settings: Settings) -> Law:
    """HighSpeed TCP (RFC 3649 §5)."""
    low, high = settings["low_window"], settings["high_window"]
    low_p, least = settings["low_p"], settings["high_decrease"]
    span = math.log(high / low)
    slope = span / math.log(settings["high_p"] / low_p)

    def decrease(window: float) -> float:
        return max(settings["min_decrease"], 0.5 + (least - 0.5) * math.log(max(window, low) / low) / span)

    def gain(window: float) -> float:
        if window <= low:
            return 1.0
        part = decrease(window)
        p = low_p * (window / low) ** (1.0 / slope)
        return max(1.0, float(window**2 * p * 2.0 * part / (2.0 - part)))

    return Memoryless(gain, lambda window: 1.0 - decrease(window))


class Htcp(Law):
    """H-TCP with adaptive backoff (Leith & Shorten 2004; draft-leith-tcp-htcp-06): the gain grows with the time since
    the last loss. A loss multiplies the window by smallest RTT / largest RTT, limited to the range from 0.5 to 0.8. The
    factor is one half if the throughput has changed by a fifth since the last loss, and at the next loss after that.
    """

    def __init__(self, settings: Settings) -> None:
        self._after_s, self._least, self._most = settings["delta_l"], settings["beta_min"], settings["beta_max"]
        self._adaptive = bool(settings["adaptive_backoff"])
        self._switch, self._change = bool(settings["bandwidth_switch"]), settings["throughput_ratio"]
        self._keep = self._least
        self._largest_s = 0.0
        self._sampled = 0.0
        self._rate = self._best = self._best_before = 0.0
        self._adapts = False

    def _sample(self, view: View) -> None:
        """Measure the throughput once per round trip: its average from the third round trip on, and the largest
        average."""
        self._sampled = view.rounds_in_all
        if view.rounds <= 3.0:
            self._rate = self._best = view.rate
        else:
            self._rate += (view.rate - self._rate) / 4.0
            self._best = max(self._best, self._rate)

    def gain(self, view: View) -> float:
        """The gain of H-TCP, 2(1-k)(1 + 10(D-1) + ((D-1)/2)^2), at a time D after the loss, from ``delta_l`` (1 s)
        on."""
        self._largest_s = max(self._largest_s, view.rtt_s)
        if view.rounds_in_all >= self._sampled + 1.0:
            self._sample(view)
        late = max(0.0, view.since_s - self._after_s)
        return 2.0 * (1.0 - self._keep) * (1.0 + 10.0 * late + late * late / 4.0)

    def on_loss(self, view: View) -> float:
        """The window after a loss: the largest window without a queue, within bounds, or half of the window."""
        before, self._best_before = self._best_before, self._best
        switched = self._switch and abs(self._best - before) > self._change * before
        if self._adaptive and self._adapts and not switched:
            self._keep = min(self._most, max(self._least, view.base_s / max(self._largest_s, view.rtt_s)))
        else:
            self._keep = self._least
        self._adapts = not switched
        self._largest_s = 0.0
        return view.window * self._keep


class Cubic(Law):
    """CUBIC (RFC 9438): the window is a cubic function of the time since the last loss, and at least the estimate of
    Reno's window; ``reno_estimate`` "time" selects the estimate of RFC 8312.
    """

    def __init__(self, settings: Settings) -> None:
        self._c, self._keep = settings["c"], settings["beta"]
        self._estimate = str(settings["reno_estimate"])
        self._fast_convergence, self._cap = bool(settings["fast_convergence"]), settings["target_cap"]
        self._origin = self._peak = self._begun = 0.0
        self._plateau_s = 0.0

    def gain(self, view: View) -> float:
        """Growth towards the cubic's value one round trip later, at most ``target_cap`` times the window if
        ``target_cap`` is not 0."""
        if not self._begun:
            self._begun = self._origin = self._peak = view.window
        ahead = view.since_s + view.rtt_s - self._plateau_s
        target = self._c * ahead**3 + self._origin
        if self._cap:
            target = min(target, self._cap * view.window)
        friendly, pace = self._friendly(view)
        return max(friendly - view.window, pace) if target < friendly else max(0.0, target - view.window)

    def _friendly(self, view: View) -> tuple[float, float]:
        """Reno's window, and its increase in a round trip."""
        slow = 3.0 * (1.0 - self._keep) / (1.0 + self._keep)
        if self._estimate == "off":
            return 0.0, 0.0
        if self._estimate == "time":
            return self._keep * self._origin + slow * view.rounds, slow
        to_peak = max(0.0, (self._peak - self._begun) / slow)
        if view.rounds < to_peak:
            return self._begun + slow * view.rounds, slow
        return self._peak + view.rounds - to_peak, 1.0

    def on_loss(self, view: View) -> float:
        """Window after a loss; also sets the next cubic's origin, which fast convergence lowers if the window was
        smaller than at the last loss."""
        lower = view.window < self._origin and self._fast_convergence
        self._peak = view.window
        self._origin = view.window * (1.0 + self._keep) / 2.0 if lower else view.window
        self._begun = view.window * self._keep
        self._plateau_s = math.cbrt(max(0.0, self._origin - self._begun) / self._c)
        return self._begun


class Illinois(Law):
    """TCP Illinois (Liu, Basar, Srikant 2006): growth and decrease depend on the delay."""

    def __init__(self, settings: Settings) -> None:
        self._most, self._least = settings["alpha_max"], settings["alpha_min"]
        self._smallest_cut, self._largest_cut = settings["beta_min"], settings["beta_max"]
        self._d1, self._d2, self._d3 = settings["d1"], settings["d2"], settings["d3"]
        self._threshold = settings["window_threshold"]
        self._longest_s = 0.0

    def gain(self, view: View) -> float:
        """alpha(d) of Illinois: the maximum up to d1 times the longest delay, then k1/(k2 + d)."""
        self._longest_s = max(self._longest_s, view.delay_s)
        near = self._d1 * self._longest_s
        if view.window < self._threshold:
            return 1.0
        if view.delay_s <= near:
            return self._most
        spread = self._most - self._least
        k1 = (self._longest_s - near) * self._least * self._most / spread
        k2 = (self._longest_s - near) * self._least / spread - near
        return k1 / (k2 + view.delay_s)

    def on_loss(self, view: View) -> float:
        """beta(d) of Illinois: the smallest value for delays up to d2 times the longest delay, and the largest value
        from d3 times the longest delay on."""
        longest = max(self._longest_s, 1e-9)
        part = min(1.0, max(0.0, (view.delay_s / longest - self._d2) / (self._d3 - self._d2)))
        cut = self._smallest_cut + (self._largest_cut - self._smallest_cut) * part
        return view.window * (0.5 if view.window < self._threshold else 1.0 - cut)


class Compound(Law):
    """Compound (Tan et al., 2006): a delay-based window that shrinks as the Reno window fills the queue."""

    by_rounds = True

    def __init__(self, settings: Settings) -> None:
        self._alpha, self._k, self._zeta = settings["alpha"], settings["k"], settings["zeta"]
        self._gamma, self._low, self._keep = settings["gamma"], settings["low_window"], 1.0 - settings["beta"]
        self._bounds, self._weight = (settings["gamma_low"], settings["gamma_high"]), settings["gamma_gain"]
        self._delay_part = 0.0

    def step(self, view: View) -> float:
        """The Reno component's growth of one segment, plus the change of the delay-based component."""
        before = self._delay_part
        if view.window < self._low:
            self._delay_part = 0.0
            return 1.0 - before
        if view.queued < self._gamma:
            self._delay_part += max(0.0, self._alpha * view.window**self._k - 1.0)
        else:
            self._delay_part = max(0.0, self._delay_part - self._zeta * view.queued)
        return 1.0 + self._delay_part - before

    def on_loss(self, view: View) -> float:
        """The window after a loss; a loss reduces both components alike; gamma moves towards three quarters of the Reno
        component's queue (TUBE)."""
        waiting = (view.window - self._delay_part) * (view.queued / view.window)
        low, high = self._bounds
        self._gamma = min(high, max(low, self._gamma + self._weight * (0.75 * waiting - self._gamma)))
        self._delay_part *= self._keep
        return view.window * self._keep


class Fast(Law):
    """FAST (Jin, Wei, Low 2004): in each ``update_every``-th round trip, the window grows by ``gamma`` times the
    difference of ``alpha`` and the queued segments."""

    by_rounds = True
    slow_start = False

    def __init__(self, settings: Settings) -> None:
        self._alpha, self._gamma = settings["alpha"], settings["gamma"]
        self._threshold_s, self._every = settings["mi_threshold"], settings["update_every"]
        self._keep = settings["decrease"]
        self._round = 0

    def starting(self, view: View) -> bool:
        """True while almost no segment waits in the queue, also after a loss; the window doubles during this time."""
        return view.average_s < self._threshold_s

    def step(self, view: View) -> float:
        """The growth gamma (alpha - queued segments), limited to a doubling of the window."""
        self._round += 1
        if self._round % round(self._every):
            return 0.0
        queued = view.window * view.average_s / (view.base_s + view.average_s)
        return min(view.window, self._gamma * (self._alpha - queued))

    def on_loss(self, view: View) -> float:
        """The window, reduced by the fraction ``decrease``."""
        return view.window * (1.0 - self._keep)


class Hcc(Law):
    """HCC (Xu et al., 2011): each step covers half of the clipped distance to ``alpha`` segments in the forward queue.
    After a loss, HCC searches for the window at the loss.
    """

    by_rounds = True
    slow_start = False

    def __init__(self, settings: Settings) -> None:
        self._alpha, self._gamma, self._part = settings["alpha"], settings["gamma"], settings["part"]
        self._least, self._threshold_s = settings["i_min"], settings["mi_threshold"]
        self._floor_s = settings["q_floor"]
        self._reference = 0.0
        self._started = False

    def starting(self, view: View) -> bool:
        """True while almost no segment waits in the queue; the window doubles during this time."""
        self._started = self._started or view.delay_s >= self._threshold_s or self._reference > 0.0
        return not self._started

    def step(self, view: View) -> float:
        """The growth of HCC: half of the clipped distance to the anticipated window, or, during a search, to the middle
        of the remaining interval."""
        most = self._gamma * self._alpha
        if self._reference > 0.0:
            if view.window > self._reference:
                self._reference = 0.0
            else:
                return self._part * min(max((self._reference - view.window) / 2.0, self._least), most)
        anticipated = self._alpha * (view.base_s + view.average_s) / max(view.average_s, self._floor_s)
        return self._part * min(max(anticipated - view.window, -most), most)

    def on_loss(self, view: View) -> float:
        """Halves the window, and stores the loss reference."""
        self._reference = view.window
        return view.window / 2.0


class Vegas(Law):
    """Vegas (Brakmo & Peterson 1995): adds a segment with fewer than ``alpha`` segments waiting, removes a segment with
    more than ``beta`` segments waiting."""

    by_rounds = True
    slow_start = False

    def __init__(self, settings: Settings) -> None:
        self._least, self._most, self._edge = settings["alpha"], settings["beta"], settings["gamma"]
        self._cut = settings["decrease"]
        self._started = False

    def starting(self, view: View) -> bool:
        """True until ``gamma`` of the flow's segments wait in the queue; until then, the window doubles each round
        trip."""
        self._started = self._started or view.queued > self._edge
        return not self._started

    def step(self, view: View) -> float:
        """The growth of Vegas: plus one segment, minus one segment, or 0."""
        return 1.0 if view.queued < self._least else -1.0 if view.queued > self._most else 0.0

    def on_loss(self, view: View) -> float:
        """The window, reduced by the fraction ``decrease``."""
        return view.window * (1.0 - self._cut)


class Bbr(Law):
    """BBR (Cardwell et al., 2016): sends at the largest rate of the last ten round trips. At most twice the product of
    the largest rate and the smallest RTT is in flight. BBR's law is a rate: the data in flight grow by the data sent
    and shrink by the data acknowledged.
    """

    slow_start = False
    heeds_loss = False

    def __init__(self, settings: Settings) -> None:
        self._startup_gain, self._drain_gain = settings["startup_gain"], settings["drain_gain"]
        self._window_gain, self._least = settings["cwnd_gain"], settings["min_window"]
        self._gains = (settings["probe_gain"], settings["yield_gain"])
        self._kept_rounds, self._margin = settings["bandwidth_rounds"], 1.0 - settings["pacing_margin"]
        self._probe_every_s, self._probe_s = settings["min_rtt_window"], settings["probe_rtt_time"]
        self._full_growth, self._full_rounds = settings["full_growth"], settings["full_rounds"]
        self._rates: deque[tuple[float, float]] = deque()
        self._best = 0.0
        self._flat = 0
        self._looked = 0.0
        self._mode = "startup"
        self._phase, self._phase_at_s = 2, 0.0
        self._smallest_s = math.inf
        self._smallest_at_s = 0.0
        self._probing_until_s = math.inf

    def _bandwidth(self, view: View) -> float:
        """Largest rate of the last rounds, found by a monotonic queue."""
        while self._rates and self._rates[-1][1] <= view.rate:
            self._rates.pop()
        self._rates.append((view.rounds_in_all, view.rate))
        while self._rates[0][0] < view.rounds_in_all - self._kept_rounds:
            self._rates.popleft()
        return self._rates[0][1]

    def gain(self, view: View) -> float:
        """The growth of BBR: fluid sent minus fluid served in a round trip, up to the limit of data in flight."""
        bandwidth = self._bandwidth(view)
        if view.rtt_s <= self._smallest_s or view.now_s > self._smallest_at_s + self._probe_every_s:
            expired = view.rtt_s > self._smallest_s
            self._smallest_s, self._smallest_at_s = view.rtt_s, view.now_s
            if expired and self._mode == "probe_bw":
                self._mode, self._probing_until_s = "probe_rtt", view.now_s + self._probe_s + view.rtt_s
        pipe = bandwidth * self._smallest_s
        if self._mode == "probe_rtt":
            if view.now_s < self._probing_until_s:
                return self._least - view.window
            self._cruise(view)
        window_gain = self._startup_gain if self._mode in ("startup", "drain") else self._window_gain
        # Approaches the limit within a quarter of a round trip.
        return min(self._paced(view, bandwidth, pipe), 4.0 * (window_gain * pipe - view.window))

    def _cruise(self, view: View) -> None:
        self._mode, self._phase, self._phase_at_s = "probe_bw", 2, view.now_s

    def _paced(self, view: View, bandwidth: float, pipe: float) -> float:
        if self._mode == "startup":
            self._look(view, bandwidth)
            return (self._startup_gain * bandwidth - view.leaving) * view.rtt_s
        if self._mode == "drain":
            if view.window <= pipe:
                self._cruise(view)
            return (self._drain_gain * bandwidth - view.leaving) * view.rtt_s
        lasted = view.now_s - self._phase_at_s > self._smallest_s
        if self._phase == 0:
            lasted = lasted and view.window >= self._gains[0] * pipe
        elif self._phase == 1:
            lasted = lasted or view.window <= pipe
        if lasted:
            self._phase, self._phase_at_s = (self._phase + 1) % 8, view.now_s
        pace = self._gains[self._phase] if self._phase < 2 else 1.0
        return (pace * self._margin * bandwidth - view.leaving) * view.rtt_s

    def _look(self, view: View, bandwidth: float) -> None:
        """Startup ends when the rate has not grown by a quarter in three round trips."""
        if view.rounds_in_all < self._looked + 1.0:
            return
        self._looked = view.rounds_in_all
        if bandwidth >= self._best * self._full_growth:
            self._best, self._flat = bandwidth, 0
        else:
            self._flat += 1
            if self._flat >= self._full_rounds:
                self._mode = "drain"

    def on_loss(self, view: View) -> float:
        """The unchanged window, since this model of BBR ignores losses."""
        return view.window


@dataclass(frozen=True)
class Modelled:
    """An algorithm of the fluid model.

    Attributes:
        law: function from all parameters to a law.
        knows: parameters that the law uses; a scenario that changes any other parameter is not modelled.
    """

    law: Callable[[Settings], Law]
    knows: frozenset[str]


def _modelled(law: Callable[[Settings], Law], *knows: str) -> Modelled:
    return Modelled(law, frozenset(knows))


LAWS: dict[str, Modelled] = {
    "reno": _modelled(reno, "increase", "decrease"),
    "hstcp": _modelled(hstcp, "low_window", "high_window", "low_p", "high_p", "high_decrease", "min_decrease"),
    "stcp": _modelled(stcp, "increase", "decrease", "legacy_window"),
    "htcp": _modelled(
        Htcp, "delta_l", "beta_min", "beta_max", "adaptive_backoff", "bandwidth_switch", "throughput_ratio"
    ),
    "cubic": _modelled(Cubic, "c", "beta", "fast_convergence", "target_cap", "reno_estimate"),
    "illinois": _modelled(
        Illinois, "alpha_max", "alpha_min", "beta_min", "beta_max", "d1", "d2", "d3", "window_threshold"
    ),
    "compound": _modelled(
        Compound, "alpha", "k", "beta", "zeta", "gamma", "gamma_low", "gamma_high", "gamma_gain", "low_window"
    ),
    "vegas": _modelled(Vegas, "alpha", "beta", "gamma", "decrease"),
    "bbr": _modelled(
        Bbr,
        "startup_gain",
        "drain_gain",
        "probe_gain",
        "yield_gain",
        "cwnd_gain",
        "bandwidth_rounds",
        "min_rtt_window",
        "probe_rtt_time",
        "min_window",
        "full_growth",
        "full_rounds",
        "pacing_margin",
    ),
    "fast": _modelled(Fast, "alpha", "gamma", "mi_threshold", "update_every", "decrease"),
    "hcc": _modelled(Hcc, "alpha", "gamma", "part", "i_min", "mi_threshold", "q_floor"),
}
"""The algorithms that the fluid model knows, by name."""

NO_MATTER = frozenset({
    "arithmetic", "slow_start", "limited_max_ssthresh", "reduce_from", "halve_in_slow_start", "timestamps", "spread",
    "spread_increase", "samples_min", "timeout_window", "halve_on_timeout", "decrease_ecn", "beta_ecn", "form",
    "offload_budget", "ack_aggregation", "policer",
})  # fmt: skip
"""Parameters that have no effect in a fluid model: they concern whole segments, bursts, timeouts, marks, or the exit
from slow start."""
