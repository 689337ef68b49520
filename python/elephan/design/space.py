"""The space of a search: paths with two flows, and factors that may disturb them.

A point is a path (rate, RTT, buffer) and the values of the factors that are present. Every coordinate of a point lies
between 0 and 1, so that any optimizer can propose points; a factor is present in half of its switch's range.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from elephan.scenario import Scenario, ScenarioError
from elephan.scenario.words import hint

Point = Mapping[str, float]
"""Values by dimension; the dimensions of a factor that is absent are missing."""

FIRST, SECOND, PULSES = "first", "second", "pulses"
_PATH = "path"
_ROUND = (1.0, 2.0, 5.0)
_ACCESS = 20
"""Rate of an access link, as a multiple of the bottleneck's, so that only the bottleneck queues."""


@dataclass(frozen=True)
class Dimension:
    """One quantity of a path.

    Attributes:
        name: name for ``--over``, the factor's name first.
        unit: unit of the values.
        low, high: smallest and largest value.
        text: the quantity in words.
    """

    name: str
    unit: str
    low: float
    high: float
    text: str

    @property
    def factor(self) -> str:
        """The factor to which the dimension belongs."""
        return self.name.partition(".")[0] if "." in self.name else _PATH

    def at(self, share: float) -> float:
        """The value at a share of the logarithmic range, with two digits."""
        return float(f"{self.low * (self.high / self.low) ** share:.2g}")

    def rounder(self, value: float) -> list[float]:
        """Rounder values near a value, the roundest first: powers of ten, then 1, 2 and 5, then one digit."""
        exponent = math.floor(math.log10(value))
        power = 10.0 ** round(math.log10(value))
        found = [power, *(digit * 10.0**exponent for digit in _ROUND), 10.0 ** (exponent + 1), float(f"{value:.1g}")]
        near = sorted({float(f"{v:.3g}") for v in found if self.low <= v <= self.high}, key=_roundness)
        return [v for v in near if _roundness(v) < _roundness(value)]


def _roundness(value: float) -> tuple[int, float]:
    digits = f"{value:.3e}".partition("e")[0].rstrip("0").replace(".", "")
    return (0 if digits == "1" else 1 if digits in ("2", "5") else len(digits) + 1, value)


DIMENSIONS = (
    Dimension("rate", "Mbit/s", 5, 100, "rate of the bottleneck"),
    Dimension("rtt", "ms", 10, 200, "two-way propagation delay"),
    Dimension("buffer", "BDP", 0.1, 16, "buffer of the bottleneck"),
    Dimension("loss.share", "%", 0.001, 1, "random loss"),
    Dimension("late.start", "s", 0.5, 15, "start of the second flow"),
    Dimension("far.ratio", "times", 1.5, 8, "RTT of the second flow, relative to the first"),
    Dimension(
        "jitter.bound", "ms", 0.1, 20, "largest delay that a packet of the first flow meets before the bottleneck"
    ),
    Dimension("dip.size", "ms", 0.1, 20, "time by which the first flow's path is once shorter"),
    Dimension("dip.at", "s", 0.1, 15, "time of this"),
    Dimension("dip.length", "ms", 1, 100, "time for which it is shorter"),
    Dimension("route.longer", "ms", 1, 200, "two-way delay that a change of route adds"),
    Dimension("route.at", "s", 0.5, 15, "time of this"),
    Dimension("slower.share", "times", 0.05, 0.8, "rate after a change, relative to the first"),
    Dimension("slower.at", "s", 0.5, 15, "time of this"),
    Dimension("outage.length", "ms", 50, 3000, "time for which the bottleneck is down"),
    Dimension("outage.at", "s", 0.5, 15, "time of this"),
    Dimension("pulses.share", "times", 0.02, 0.3, "mean rate of pulses of datagrams, relative to the smallest rate"),
    Dimension("pulses.peak", "times", 0.5, 3, "rate of a pulse, relative to the smallest rate"),
    Dimension("pulses.period", "ms", 200, 3000, "time from pulse to pulse"),
)
FACTORS = tuple(dict.fromkeys(d.factor for d in DIMENSIONS if d.factor != _PATH))


@dataclass(frozen=True)
class Space:
    """The dimensions of a search.

    Attributes:
        dimensions: the dimensions, those of the path first.
        duration_s: simulated time of a run; its second half is measured.
    """

    dimensions: tuple[Dimension, ...] = DIMENSIONS
    duration_s: float = 30.0

    @property
    def factors(self) -> tuple[str, ...]:
        """Names of the factors."""
        return tuple(dict.fromkeys(d.factor for d in self.dimensions if d.factor != _PATH))

    @property
    def size(self) -> int:
        """Number of coordinates: a switch for each factor, and one for each dimension."""
        return len(self.factors) + len(self.dimensions)

    def point(self, coordinates: Sequence[float]) -> Point:
        """The point of coordinates between 0 and 1."""
        switches = dict(zip(self.factors, coordinates, strict=False))
        shares = coordinates[len(self.factors) :]
        return {
            d.name: d.at(share)
            for d, share in zip(self.dimensions, shares, strict=True)
            if switches.get(d.factor, 1.0) > 0.5
        }

    def without(self, factors: Sequence[str]) -> Space:
        """The space without some factors."""
        return replace(self, dimensions=tuple(d for d in self.dimensions if d.factor not in factors))

    def words(self) -> str:
        """The space in words."""
        shown = [f"{d.name} {d.low:g} to {d.high:g} {d.unit}" for d in self.dimensions]
        factors = f"with and without {', '.join(self.factors)}" if self.factors else "no factors"
        return f"{', '.join(shown)}; {factors}; runs of {self.duration_s:g} s"


def space(over: Sequence[str] = (), duration_s: float = 30.0, events_until: float = 0.5) -> Space:
    """The space of some options ``NAME=LOW..HIGH``, ``NAME=VALUE`` or ``FACTOR=none``.

    Args:
        over: the options.
        duration_s: simulated time of a run.
        events_until: fraction of the run after which nothing changes.

    Raises:
        ScenarioError: an option names no dimension, or its range is empty.
    """
    found = {dimension.name: dimension for dimension in DIMENSIONS}
    for text in over:
        name, equals, value = (word.strip() for word in text.partition("="))
        if not equals:
            raise ScenarioError(f"'{text}' is not a range; write for example rate=10..50", source="over")
        if value == "none":
            if name in (d.name for d in DIMENSIONS if d.factor == _PATH):
                message = f"every path has '{name}'; 'none' leaves out a factor: {', '.join(FACTORS)}"
                raise ScenarioError(message, source="over")
            gone = [other for other in found if other.partition(".")[0] == name and "." in other]
            if not gone:
                raise ScenarioError(f"'{name}' is not a factor; {hint(name, list(FACTORS))}", source="over")
            found = {other: dimension for other, dimension in found.items() if other not in gone}
            continue
        if name not in found:
            raise ScenarioError(f"'{name}' is not a dimension; {hint(name, list(found))}", source="over")
        found[name] = _ranged(found[name], text, value)
    latest = duration_s * events_until
    kept = (replace(d, high=min(d.high, latest)) if d.unit == "s" else d for d in found.values())
    return Space(tuple(kept), duration_s)


def _ranged(dimension: Dimension, text: str, value: str) -> Dimension:
    low, dots, high = value.removesuffix(dimension.unit).strip().partition("..")
    try:
        ends = float(low), float(high if dots else low)
    except ValueError:
        message = f"'{text}' is not a range of numbers in {dimension.unit}; write for example {dimension.name}="
        raise ScenarioError(f"{message}{dimension.low:g}..{dimension.high:g}", source="over") from None
    if not 0 < ends[0] <= ends[1] < math.inf:
        raise ScenarioError(f"'{text}' is an empty range; it needs 0 < low <= high", source="over")
    return replace(dimension, low=ends[0], high=ends[1])


def base(algorithms: Sequence[str], parameters: Mapping[str, Any], duration_s: float, *, pulses: bool) -> Scenario:
    """The scenario whose fields the rows of points change; ``algorithms`` are those of its flows, one or two."""
    links = [{"name": "first-access", "from": "a", "to": "m"}, {"name": "second-access", "from": "b", "to": "m"}]
    flows: list[dict[str, Any]] = [
        {"name": name, "algorithm": algorithm, "path": [f"{name}-access", "bottleneck"]}
        | ({"parameters": dict(parameters)} if algorithm == algorithms[0] and parameters else {})
        for name, algorithm in zip((FIRST, SECOND), algorithms, strict=False)
    ]
    if pulses:
        flows.append({"name": PULSES, "datagrams": {"rate": "1 Mbit/s"}, "path": ["bottleneck"]})
    links.append({"name": "bottleneck", "from": "m", "to": "z"})
    common = {"rate": "200 Mbit/s", "delay": "1 ms", "buffer": "10000 packets"}
    return Scenario(
        duration=f"{duration_s:g} s", sample_period="500 ms", perturb="hosts",
        measure={"from": f"{duration_s / 2:g} s"}, link=[common | link for link in links], flow=flows,
    )  # fmt: skip


def row(point: Point) -> dict[str, Any]:
    """The fields of a scenario at a point."""
    rate, rtt_ms = point["rate"], point["rtt"]
    access_ms = rtt_ms / 4
    first_ms = access_ms + point.get("dip.size", 0.0)
    second_ms = access_ms + rtt_ms / 2 * (point.get("far.ratio", 1.0) - 1)
    buffer_bytes = max(1, round(point["buffer"] * rate * rtt_ms * 125))
    found: dict[str, Any] = {
        "link[0].rate": f"{_ACCESS * rate:g} Mbit/s", "link[1].rate": f"{_ACCESS * rate:g} Mbit/s",
        "link[0].delay": f"{first_ms:g} ms", "link[1].delay": f"{second_ms:g} ms",
        "link[2].rate": f"{rate:g} Mbit/s", "link[2].delay": f"{rtt_ms / 4:g} ms",
        "link[2].buffer": f"{buffer_bytes} B",
    }  # fmt: skip
    if "loss.share" in point:
        found["link[2].loss"] = f"{point['loss.share']:g}%"
    if "late.start" in point:
        found["flow[1].start"] = f"{point['late.start']:g} s"
    if "jitter.bound" in point:
        found["link[0].jitter"] = {"uniform": f"{point['jitter.bound']:g} ms"}
    if "dip.size" in point:
        size, at = point["dip.size"], point["dip.at"]
        end = at + point["dip.length"] / 1e3
        # A change is relative to the link's own delay, so the second one ends the first.
        steps = [{"at": f"{at:g} s", "change": f"-{size:g} ms"}, {"at": f"{end:g} s", "change": "0 ms"}]
        found["link[0].delay_steps"] = steps
    if "route.longer" in point:
        found["link[2].delay_steps"] = [{"at": f"{point['route.at']:g} s", "change": f"{point['route.longer']:g} ms"}]
    if rates := _rates(point):
        found["link[2].rate_steps"] = rates
    if has_pulses(point):
        period_ms, peak = point["pulses.period"], point["pulses.peak"]
        on_ms = round(period_ms * point["pulses.share"] / peak, 3)
        # Relative to the smaller rate: pulses of 30 % of a rate that falls to a tenth would leave nothing to any flow.
        slowest = rate * point.get("slower.share", 1.0)
        found["flow[2].datagrams"] = {
            "rate": f"{peak * slowest:g} Mbit/s", "on": f"{on_ms:g} ms", "off": f"{period_ms - on_ms:g} ms"
        }  # fmt: skip
    return found


def has_pulses(point: Point) -> bool:
    """True if the path has pulses of datagrams."""
    return "pulses.share" in point


def _rates(point: Point) -> list[dict[str, str]]:
    """Changes of the bottleneck's rate: a step, and an outage during which it is 0."""
    rate = point["rate"]
    after = point.get("slower.share", 1.0) * rate
    step_at = point.get("slower.at", math.inf)
    steps = {step_at: after} if "slower.share" in point else {}
    if "outage.length" in point:
        at = point["outage.at"]
        end = at + point["outage.length"] / 1e3
        if at <= step_at < end:
            del steps[step_at]
        steps |= {at: 0.0, end: after if step_at < end else rate}
    return [
        {"at": f"{at:g} s", "rate": f"{value:g} Mbit/s" if value else "0 bit/s"} for at, value in sorted(steps.items())
    ]


def capacity_mbps(point: Point) -> float:
    """Rate of the bottleneck in the measured half; an outage that reaches into it counts for the flows."""
    return point["rate"] * point.get("slower.share", 1.0)


def words(point: Point) -> str:
    """A point in words."""
    units = {d.name: d.unit for d in DIMENSIONS}
    return ", ".join(f"{name} {value:g} {units[name]}" for name, value in point.items())


def factors_of(point: Point) -> list[str]:
    """The factors that are present at a point."""
    return list(dict.fromkeys(name.partition(".")[0] for name in point if "." in name))
