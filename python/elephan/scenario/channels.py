"""Radio channels made by published models: rates and delays over time, drawn from the channel's own seed.

Each model has a closed form for its long-term mean, which tests compare with the drawn values. Only ``random.random``
is used of Python's generator, which gives the same numbers in every version; times are rounded to 1 us and rates to 1
kbit/s, so that the last bit of a platform's logarithm does not matter.

Models and their sources:

- ``lte``: the received signal-to-noise ratio of a Rayleigh channel as a Markov chain between the thresholds of the
  channel quality indicators (Wang and Moayeri, IEEE Trans. Veh. Technol. 44(1), 1995, in continuous time). Spectral
  efficiencies: 3GPP TS 36.213, table 7.2.3-1, up to 4.4 bit/s/Hz; thresholds: the attenuated Shannon bound of 3GPP
  TR 36.942, annex A, with a factor of 0.6. The Doppler frequency of 5 Hz is that of EPA5 (3GPP TS 36.101, annex B.2).
- ``wifi``: the same chain between the minimum sensitivities of IEEE 802.11n (20 MHz, one stream), with the data rates
  of MCS 0 to 7. The Doppler frequency is that of the channel models of IEEE 802.11n, 1.2 km/h: 5.8 Hz at 5.25 GHz
  (Erceg et al., IEEE 802.11-03/940r4).
- ``sprout``: opportunities to send are a Poisson process whose rate is a Brownian motion, with outages (Winstein,
  Sivaraman and Balakrishnan, NSDI 2013, section 3.1).
- ``leo``: a bent pipe over a satellite of a shell at 550 km, changed every 15 s (Mohan et al., WWW 2024). Satellites
  are uniform on the sphere above the least elevation (Okati et al., IEEE Trans. Commun. 68(8), 2020), so the square of
  the slant range is uniform. The rate of a slot is uniform between those that Starlink advertised in 2022 (Michel et
  al., IMC 2022: 100 to 200 Mbit/s).
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

PS_PER_S = 10**12
_PS_PER_US = 10**6
_BPS_PER_KBPS = 1000
OPPORTUNITY_BITS = 12_000
TICK_S = 0.02
"""Time between two changes of the rate of ``sprout``: a tick of the paper's."""
MOST_CHANGES = 2_000_000
"""Changes of the rate, or opportunities, that a channel may have in a run: drawing them takes seconds."""
EARTH_KM = 6371.0
LIGHT_KM_PER_S = 299_792.458

LTE_EFFICIENCIES = (
    0.1523, 0.2344, 0.3770, 0.6016, 0.8770, 1.1758, 1.4766, 1.9141, 2.4063, 2.7305, 3.3223, 3.9023,
)  # fmt: skip
"""bit/s/Hz of the channel quality indicators 1 to 12; those above are more than 4.4 bit/s/Hz."""
LTE_SHANNON_FACTOR = 0.6
WIFI_LEVELS_DBM = (-82.0, -79.0, -77.0, -74.0, -70.0, -66.0, -65.0, -64.0)
WIFI_RATES_BPS = (6.5e6, 13e6, 19.5e6, 26e6, 39e6, 52e6, 58.5e6, 65e6)

Parameters = tuple[tuple[str, float], ...]
"""Names and values, sorted by name."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of a model.

    Attributes:
        unit: unit of the number.
        low: smallest value.
        high: largest value.
        text: description, one line.
    """

    default: float
    unit: str
    low: float
    high: float
    text: str


class TooManyChangesError(ValueError):
    """A channel changes more than ``MOST_CHANGES`` times in a run."""


@dataclass(frozen=True)
class Drawn:
    """Course of a channel: rate steps or a trace of opportunities, and delays.

    Attributes:
        rates: times and rates, ps and bit/s; the first at 0.
        opportunities_ms: times at which a packet may leave, for models that have no rate.
        delays: times and additional one-way delays, ps.
    """

    rates: tuple[tuple[int, int], ...] = ()
    opportunities_ms: tuple[int, ...] = ()
    delays: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Model:
    """A model of a channel.

    Attributes:
        source: publication.
        parameters: parameters by name.
        draw: course for parameters, a seed and a duration in seconds.
        mean_bps: long-term mean of the rate for parameters, in closed form.
    """

    title: str
    source: str
    parameters: dict[str, Parameter]
    draw: Callable[[dict[str, float], int, float], Drawn]
    mean_bps: Callable[[dict[str, float]], float]


@lru_cache(maxsize=64)
def draw(model: str, seed: int, given: Parameters, duration_ps: int) -> Drawn:
    """Course of a channel for at least ``duration_ps``; the course of a longer duration begins with it.

    Raises:
        TooManyChangesError: the duration is too long for the model and its parameters.
    """
    return MODELS[model].draw(values(model, given), seed, duration_ps / PS_PER_S)


def mean_bps(model: str, given: Parameters = ()) -> float:
    """Long-term mean of a channel's rate, bit/s."""
    return MODELS[model].mean_bps(values(model, given))


def values(model: str, given: Parameters) -> dict[str, float]:
    """Parameters with their defaults."""
    return {name: parameter.default for name, parameter in MODELS[model].parameters.items()} | dict(given)


def _stream(name: str, seed: int) -> Callable[[], float]:
    """Uniform numbers in [0, 1) of a separate stream."""
    return random.Random(f"{name} {seed}").random


def _exponential(uniform: Callable[[], float], mean: float) -> float:
    return -math.log(1.0 - uniform()) * mean


def _check_number(changes: int, at_s: float) -> None:
    if changes > MOST_CHANGES:
        raise TooManyChangesError(
            f"changes more than {MOST_CHANGES:,} times in the first {math.ceil(at_s):,} s; shorten the duration"
        )


def _ps(at_s: float) -> int:
    return round(at_s * 1e6) * _PS_PER_US


def _bps(rate_bps: float) -> int:
    return round(rate_bps / _BPS_PER_KBPS) * _BPS_PER_KBPS


# ---- Rayleigh fading: a Markov chain between thresholds ----


@dataclass(frozen=True)
class Fading:
    """Finite-state Markov channel of Wang and Moayeri in continuous time.

    Attributes:
        thresholds: lower bounds of the states above the first, as fractions of the mean received power.
        rates_bps: rates of the states; the first is below all thresholds.
        doppler_hz: largest Doppler frequency.
    """

    thresholds: tuple[float, ...]
    rates_bps: tuple[float, ...]
    doppler_hz: float

    def probabilities(self) -> list[float]:
        """Stationary probabilities of the states: received power is exponentially distributed."""
        above = [1.0, *(math.exp(-threshold) for threshold in self.thresholds), 0.0]
        return [high - low for high, low in pairwise(above)]

    def crossings_hz(self) -> list[float]:
        """Upward crossings of each threshold per second: sqrt(2 pi x) f exp(-x) at a fraction x of the mean power."""
        return [math.sqrt(2 * math.pi * x) * self.doppler_hz * math.exp(-x) for x in self.thresholds]

    def mean_bps(self) -> float:
        """Mean rate."""
        return sum(p * rate for p, rate in zip(self.probabilities(), self.rates_bps, strict=True))

    def course(self, uniform: Callable[[], float], duration_s: float) -> Iterator[tuple[float, float]]:
        """Times of the changes and rates, until after ``duration_s``."""
        shares, crossings = self.probabilities(), self.crossings_hz()
        state, left = 0, uniform() - shares[0]
        while left >= 0 and state + 1 < len(shares):
            state += 1
            left -= shares[state]
        at_s = 0.0
        # The course ends in a state with a rate above 0.
        while at_s <= duration_s or self.rates_bps[state] == 0:
            yield at_s, self.rates_bps[state]
            up = crossings[state] if state < len(crossings) else 0.0
            down = crossings[state - 1] if state > 0 else 0.0
            at_s += _exponential(uniform, shares[state] / (up + down))
            state += 1 if uniform() * (up + down) < up else -1
        yield at_s, self.rates_bps[state]


def lte(parameters: dict[str, float]) -> Fading:
    """Fading channel of ``lte``."""
    mean = 10 ** (parameters["snr"] / 10)
    return Fading(
        tuple((2 ** (efficiency / LTE_SHANNON_FACTOR) - 1) / mean for efficiency in LTE_EFFICIENCIES),
        (0.0, *(efficiency * parameters["bandwidth"] * 1e6 for efficiency in LTE_EFFICIENCIES)),
        parameters["doppler"],
    )


def wifi(parameters: dict[str, float]) -> Fading:
    """Fading channel of ``wifi``."""
    levels = (10 ** ((level - parameters["level"]) / 10) for level in WIFI_LEVELS_DBM)
    return Fading(tuple(levels), (0.0, *WIFI_RATES_BPS), parameters["doppler"])


def _draw_fading(name: str, fading: Callable[[dict[str, float]], Fading]) -> Callable[..., Drawn]:
    def drawn(parameters: dict[str, float], seed: int, duration_s: float) -> Drawn:
        course = fading(parameters).course(_stream(f"{name} fading", seed), duration_s)
        # Two changes within 1 us count as one.
        rates = {}
        for at_s, rate in course:
            rates[_ps(at_s)] = _bps(rate)
            _check_number(len(rates), at_s)
        return Drawn(rates=tuple(rates.items()))

    return drawn


# ---- Sprout: Poisson opportunities with a rate that is a Brownian motion ----


def sprout_rates(parameters: dict[str, float], seed: int) -> Iterator[float]:
    """Rates of ``sprout`` in one tick after another, packets per second."""
    uniform = _stream("sprout rate", seed)
    most, step = parameters["most"], parameters["deviation"] * math.sqrt(TICK_S)
    stay = math.exp(-parameters["escape"] * TICK_S)
    rate = 0.0 if uniform() < sprout_outage_share(parameters) else uniform() * most
    while True:
        yield rate
        rate = _next_rate(rate, most, step, stay, uniform)


def _draw_sprout(parameters: dict[str, float], seed: int, duration_s: float) -> Drawn:
    chances = _stream("sprout opportunities", seed)
    times_ms: list[int] = []
    gap = _exponential(chances, 1.0)
    for tick, rate in enumerate(sprout_rates(parameters, seed)):
        # Opportunities of a Poisson process: the integral of the rate between two of them is exponential.
        begin, offered = tick * TICK_S, rate * TICK_S
        passed = gap
        while passed < offered:
            times_ms.append(math.ceil((begin + passed / rate) * 1000))
            gap = _exponential(chances, 1.0)
            passed += gap
        gap = passed - offered
        # Ticks count too: an outage may last for many of them.
        _check_number(max(len(times_ms), tick), begin)
        if times_ms and times_ms[-1] >= duration_s * 1000:
            break
    return Drawn(opportunities_ms=tuple(times_ms))


def _next_rate(rate: float, most: float, step: float, stay: float, uniform: Callable[[], float]) -> float:
    radius = step * math.sqrt(-2 * math.log(1.0 - uniform()))
    if rate == 0:
        # After a tick a Brownian motion that crosses 0 is this far beyond it; so rates above 0 stay uniform.
        return 0.0 if uniform() < stay else min(uniform() * radius, most)
    rate += radius * math.cos(2 * math.pi * uniform())
    return max(0.0, most - abs(most - rate))


def sprout_outage_share(parameters: dict[str, float]) -> float:
    """Share of the time without any opportunity in ``sprout``.

    Rates above 0 are uniform with a density u, so the motion reaches 0 in a tick with a probability of
    u s / sqrt(2 pi), and leaves it with 1 - exp(-escape tick); s is the standard deviation of a tick.
    """
    step = parameters["deviation"] * math.sqrt(TICK_S)
    reach = step / math.sqrt(2 * math.pi) / (1 - math.exp(-parameters["escape"] * TICK_S))
    return reach / (reach + parameters["most"])


def _sprout_mean_bps(parameters: dict[str, float]) -> float:
    return (1 - sprout_outage_share(parameters)) * parameters["most"] / 2 * OPPORTUNITY_BITS


# ---- LEO: slots, each with a satellite ----


def slant_range_km(altitude_km: float, elevation_deg: float) -> float:
    """Distance to a satellite at an elevation."""
    up = EARTH_KM * math.sin(math.radians(elevation_deg))
    return math.sqrt(up * up + 2 * EARTH_KM * altitude_km + altitude_km**2) - up


def leo_mean_delay_s(parameters: dict[str, float]) -> float:
    """Mean additional one-way delay of ``leo``, s: squares of slant ranges are uniform, and there are two ranges."""
    near = parameters["altitude"]
    far = slant_range_km(near, parameters["elevation"])
    mean_km = near if far <= near else 2 / 3 * (far**3 - near**3) / (far**2 - near**2)
    return 2 * (mean_km - near) / LIGHT_KM_PER_S


def _draw_leo(parameters: dict[str, float], seed: int, duration_s: float) -> Drawn:
    rate_of, range_of, phase = _stream("leo rate", seed), _stream("leo range", seed), _stream("leo phase", seed)
    near = parameters["altitude"]
    far = slant_range_km(near, parameters["elevation"])
    low, high, outage_s = parameters["low"], parameters["high"], parameters["outage"] / 1000
    rates: list[tuple[int, int]] = []
    delays: list[tuple[int, int]] = []
    at_s, next_s = 0.0, phase() * parameters["slot"]
    while not rates or at_s <= duration_s:
        rate = _bps((low + (high - low) * rate_of()) * 1e6)
        ranges = [math.sqrt(near**2 + (far**2 - near**2) * range_of()) for _ in range(2)]
        if rates and outage_s > 0:
            rates.append((_ps(at_s), 0))
            rates.append((_ps(at_s + outage_s), rate))
        else:
            rates.append((_ps(at_s), rate))
        delays.append((_ps(at_s), _ps((sum(ranges) - 2 * near) / LIGHT_KM_PER_S)))
        _check_number(len(rates), at_s)
        at_s, next_s = next_s, next_s + parameters["slot"]
    return Drawn(rates=tuple(rates), delays=tuple(delays))


def _leo_mean_bps(parameters: dict[str, float]) -> float:
    working = 1 - parameters["outage"] / 1000 / parameters["slot"]
    return (parameters["low"] + parameters["high"]) / 2 * 1e6 * working


_DOPPLER = "largest Doppler frequency: how fast the channel fades"
MODELS: dict[str, Model] = {
    "leo": Model(
        "a low-orbit satellite: another satellite, delay and rate every 15 s",
        "Mohan et al., WWW 2024; Okati et al. 2020; Michel et al., IMC 2022",
        {
            "slot": Parameter(15.0, "s", 1.0, 3600.0, "time between two handovers"),
            "outage": Parameter(100.0, "ms", 0.0, 900.0, "time without a link at a handover; our assumption"),
            "altitude": Parameter(550.0, "km", 160.0, 2000.0, "height of the shell"),
            "elevation": Parameter(25.0, "degrees", 0.0, 89.0, "least elevation of a satellite in use"),
            "low": Parameter(100.0, "Mbit/s", 0.1, 1e5, "smallest rate of a slot"),
            "high": Parameter(200.0, "Mbit/s", 0.1, 1e5, "largest rate of a slot"),
        },
        _draw_leo,
        _leo_mean_bps,
    ),
    "lte": Model(
        "a cell of LTE: rates of the channel quality indicators under Rayleigh fading",
        "Wang and Moayeri 1995; 3GPP TS 36.213, TR 36.942 and TS 36.101",
        {
            "snr": Parameter(12.0, "dB", -5.0, 40.0, "mean signal-to-noise ratio"),
            "doppler": Parameter(5.0, "Hz", 0.1, 300.0, _DOPPLER),
            "bandwidth": Parameter(10.0, "MHz", 0.1, 100.0, "bandwidth that is the flow's own"),
        },
        _draw_fading("lte", lte),
        lambda parameters: lte(parameters).mean_bps(),
    ),
    "sprout": Model(
        "a cell as Sprout sees it: Poisson opportunities, their rate a Brownian motion, outages",
        "Winstein, Sivaraman and Balakrishnan, NSDI 2013",
        {
            "most": Parameter(1000.0, "packets/s", 10.0, 100_000.0, "largest rate"),
            "deviation": Parameter(200.0, "packets/s", 1.0, 10_000.0, "standard deviation of the motion after 1 s"),
            "escape": Parameter(1.0, "/s", 0.01, 40.0, "rate at which an outage ends"),
        },
        _draw_sprout,
        _sprout_mean_bps,
    ),
    "wifi": Model(
        "a station of IEEE 802.11n: rates of MCS 0 to 7 under Rayleigh fading",
        "Wang and Moayeri 1995; IEEE 802.11n; Erceg et al. 2004",
        {
            "level": Parameter(-65.0, "dBm", -90.0, -30.0, "mean received power"),
            "doppler": Parameter(5.8, "Hz", 0.1, 300.0, _DOPPLER),
        },
        _draw_fading("wifi", wifi),
        lambda parameters: wifi(parameters).mean_bps(),
    ),
}
"""Models by name."""
