"""The path of a comparison: a scenario without its algorithms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

from elephan.scenario import Scenario, ScenarioError, columns, named, recorded
from elephan.scenario.fields import MOST_SEGMENTS, parse_load
from elephan.scenario.form import NoneLoss
from elephan.scenario.lookups import base_rtt_ps, slowest_bps, wire_bytes
from elephan.scenario.named import FORWARD, REVERSE
from elephan.scenario.timed import parse_rate_table
from elephan.scenario.traces import parse_rate_trace
from elephan.scenario.units import (
    PS_PER_S,
    format_rate,
    format_time,
    parse_positive_time,
    parse_rate,
    parse_time,
)

BACKGROUND = "background"
BACKGROUND_ALGORITHM = "cubic"
_NOT_OF_A_PATH = ("title", "seed", "duration", "sample_period", "measure", "flow", "record", "events", "internals")
_OPPORTUNITY_BITS = 12_000
_SHORT_S = 60
_FAT_SEGMENTS = 5000
"""BDP of a flow, segments, from which runs in trains of segments are much faster than in single ones."""


@dataclass(frozen=True)
class Path:
    """Links, queues, stack and background of a comparison, and the flows' tables without their algorithms.

    Attributes:
        tables: tables of a scenario without flows, duration and recording.
        flows: ``[[flow]]`` tables of the judged algorithm, without name, algorithm and parameters.
        title: title for readers.
        seed: seed of the first replicate.
        duration_s: simulated time stated by a scenario file or the user; ``None`` if it may be chosen.
        life: True if a number is a mean over a flow's first ``duration_s`` (``--horizon``), not over the later half of
            a run.
        timed: True if the scenario has times of its own, so that no run is shorter than ``duration_s``.
    """

    tables: Mapping[str, Any]
    flows: tuple[Mapping[str, Any], ...]
    title: str
    seed: int = 1
    duration_s: float | None = None
    life: bool = False
    timed: bool = False

    def scenario(
        self, groups: Sequence[tuple[str, str, float]], duration_s: float, title: str, from_s: float = 0.0
    ) -> Scenario:
        """The scenario of some groups of flows: each group has the prefix of the flows' names, the algorithm, and the
        start in seconds. The measured part begins at ``from_s``.

        Raises:
            ScenarioError: the path is wrong, or does not support an algorithm.
        """
        tables = dict(self.tables)
        rows = []
        for prefix, algorithm, start_s in groups:
            for i, flow in enumerate(self.flows):
                start_ps = parse_time(flow.get("start", "0 s")) + round(start_s * PS_PER_S)
                place = {"name": f"{prefix}-{i + 1}", "algorithm": algorithm, "start": format_time(start_ps)}
                rows.append({**flow, **place})
        tables["flow"] = rows
        tables["title"] = title
        tables["seed"] = self.seed
        duration_ps = round(duration_s * PS_PER_S)
        tables.setdefault("perturb", "hosts")
        tables["duration"] = format_time(duration_ps)
        tables["measure"] = {"from": format_time(round(from_s * PS_PER_S))}
        tables["sample_period"] = "100 ms" if duration_s <= _SHORT_S else "500 ms"
        return Scenario(**tables)

    @cached_property
    def form(self) -> Any:
        """Canonical form with one algorithm, for computations of rates and delays."""
        return self.scenario([("flow", "reno", 0.0)], 40, "path").form

    @property
    def rate_bps(self) -> int:
        """Rate of the slowest link on the first flow's path."""
        return int(slowest_bps(self.form, self.form.flows[0]))

    @property
    def rtt_s(self) -> float:
        """Largest two-way propagation delay of the flows."""
        return float(max(base_rtt_ps(self.form, flow) for flow in self.form.flows) / PS_PER_S)

    @property
    def bdp_segments(self) -> float:
        """Bandwidth-delay product of the path, in segments of the first flow."""
        return self.rate_bps * self.rtt_s / 8 / wire_bytes(self.form.flows[0].stack)

    @property
    def longest_s(self) -> float:
        """Longest run, s, in which no flow needs more segments than the engine numbers."""
        return MOST_SEGMENTS * 8 * wire_bytes(self.form.flows[0].stack) / self.rate_bps

    @property
    def is_long_and_fat(self) -> bool:
        """True if runs in trains of segments are much faster: nothing but a full queue decides about a segment, and the
        windows of two flows beside each other are large."""
        form = self.form
        steady = all(
            link.queue.kind == "droptail" and isinstance(link.loss, NoneLoss) and link.impairments is None
            for link in form.links
        )
        flows = 2 * sum(flow.count for flow in form.flows)
        return steady and not form.traffic and self.bdp_segments >= _FAT_SEGMENTS * flows

    def in_trains(self) -> Path:
        """The path with runs in trains of segments (``resolution = "train"``)."""
        return replace(self, tables={**self.tables, "resolution": "train"})

    @property
    def has_background(self) -> bool:
        """True if the path has sources of transfers."""
        return bool(self.tables.get("traffic"))


@dataclass(frozen=True)
class Options:
    """How a user states a path: its bottleneck or its name, and what else is on it; see :func:`elephan.compare`."""

    rate: str | None = None
    rtt: str | None = None
    buffer: str | None = None
    loss: str | None = None
    background: str | None = None
    queue: str | None = None
    trace: str | Sequence[str] | None = None
    path: str | None = None
    flows: int = 1
    ecn: bool = False
    stack: str | Mapping[str, Any] = "linux"
    seed: int = 1

    @property
    def of_the_path(self) -> list[str]:
        """Names of the options that are given, without those that a scenario leaves open."""
        given = [one.name for one in fields(self) if getattr(self, one.name) != one.default]
        return [name for name in given if name not in ("stack", "seed")]

    @property
    def flow(self) -> dict[str, Any]:
        """The table of the flows of an algorithm."""
        return {"count": self.flows} if self.flows > 1 else {}

    def tables(self, rate: str) -> dict[str, Any]:
        """The tables of the hosts and of the background, for a bottleneck of a rate."""
        found: dict[str, Any] = {"stack": self.stack}
        if self.ecn:
            found["stack"] = {**({"base": self.stack} if isinstance(self.stack, str) else self.stack), "ecn": True}
        if self.background is not None:
            found["traffic"] = background_traffic(self.background, rate)
        return found

    def title(self, *words: str, queue: str | None = None) -> str:
        """Words of a path, with what is on it."""
        more = [
            (self.flows > 1, f"{self.flows} flows each"), (self.background, f"background {self.background} each way"),
            (queue, f"queue {queue}"), (self.ecn, "ECN"),
        ]  # fmt: skip
        return ", ".join([*words, *(text for there, text in more if there)])


def from_options(given: Options) -> Path:
    """The path of the options: one bottleneck, or a named path.

    Raises:
        ScenarioError: a quantity is wrong or missing.
    """
    if given.flows < 1:
        raise ScenarioError(f"{given.flows} is not a number of flows; it is at least 1", source="flows")
    if given.path is not None:
        return _named(given, given.path)
    for name, example in _EXAMPLES.items():
        if getattr(given, name) is None and not (name == "rate" and given.trace):
            raise ScenarioError(f"missing; a path has a rate, an RTT and a buffer, for example {example}", source=name)
    traces = _traces(given.trace)
    if traces and given.rate is not None:
        raise ScenarioError("the trace has the rate; leave one of the two out", source="rate")
    rate = format_rate(traces[0].mean_bps) if traces else str(given.rate)
    bps = parse_rate_located(rate)
    tables = given.tables(rate)
    link: dict[str, Any] = {"rate": rate, "buffer": given.buffer} | ({"queue": given.queue} if given.queue else {})
    words = [f"{bps / 1e6:.4g} Mbit/s on average, by a trace" if traces else rate, f"{given.rtt}"]
    words += [f"buffer {given.buffer}", *([f"loss {given.loss}"] if given.loss else [])]
    title = given.title(*words, queue=given.queue)
    if traces:
        return _over_links(tables | _traced(link, str(given.rtt), traces, given.loss), given, title)
    tables["dumbbell"] = link | {"rtt": given.rtt} | ({"loss": given.loss} if given.loss else {})
    made = Path(tables, (given.flow,), title, given.seed)
    made.form  # noqa: B018  (rejects a wrong quantity here, with its name)
    return made


def _over_links(tables: dict[str, Any], given: Options, title: str) -> Path:
    """A path of two links, one for each direction, with the routes of its flows."""
    for source, back in zip(tables.get("traffic", []), (False, True), strict=False):
        ways = (REVERSE, FORWARD) if back else (FORWARD, REVERSE)
        source.pop("direction", None)
        source |= {"path": [ways[0]], "reverse_path": [ways[1]]}
    flow = given.flow | {"path": [FORWARD], "reverse_path": [REVERSE]}
    return Path(tables, (flow,), title, given.seed)


def _named(given: Options, name: str) -> Path:
    """A named path; buffer, loss and queue of the options are those of the data's link."""
    if stated := next((option for option in ("rate", "rtt", "trace") if getattr(given, option)), None):
        raise ScenarioError("the path has it; leave this out, or leave --path out", source=stated)
    own = {key: value for key in ("buffer", "queue", "loss") if (value := getattr(given, key)) is not None}
    try:
        rows = list(named.links({"name": name, **own}))
    except ScenarioError as error:
        raise ScenarioError(error.message, source="path") from None
    tables = given.tables(str(rows[0]["rate"])) | {"link": rows}
    made = _over_links(tables, given, given.title(name, *(f"{key} {value}" for key, value in own.items())))
    made.form  # noqa: B018  (rejects a wrong quantity here)
    return made


_EXAMPLES = {"rate": "'10 Gbit/s'", "rtt": "'120 ms'", "buffer": "'4 MB'"}


def parse_rate_located(rate: str) -> int:
    """Parse a rate; an error names the option of the rate.

    Raises:
        ScenarioError: the text is not a rate.
    """
    try:
        return parse_rate(rate)
    except ScenarioError as error:
        raise error.located(source="rate") from None


@dataclass(frozen=True)
class _Trace:
    """The rate of a direction: fields of its link, and its mean in bit/s."""

    fields: Mapping[str, Any]
    mean_bps: int

    @classmethod
    def of(cls, file: str) -> _Trace:
        """Opportunities of Mahimahi's format as they are, and other formats as a table of rates."""
        if columns.is_table(file) or file.casefold().endswith(".json") or recorded.is_trains(file):
            table = parse_rate_table({"file": file, "repeat": True})
            ends = [at for at, _ in table.rows[1:]] + [table.repeat or 0]
            total = sum((end - at) * rate for (at, rate), end in zip(table.rows, ends, strict=True))
            return cls({"rate_table": table}, max(1, round(total / ends[-1])))
        times = parse_rate_trace(file)
        return cls({"rate_trace": list(times)}, max(1, round(len(times) * _OPPORTUNITY_BITS / (times[-1] / 1000))))


def _traces(trace: str | Sequence[str] | None) -> list[_Trace]:
    """One trace for both directions, or a forward and a reverse trace."""
    files = [trace] if isinstance(trace, str) else list(trace or [])
    if len(files) > 2:
        raise ScenarioError(f"{len(files)} traces; one for both directions, or one for each", source="trace")
    try:
        found = [_Trace.of(file) for file in files]
    except ScenarioError as error:
        raise error.located(source="trace") from None
    return found * 2 if len(found) == 1 else found


def _traced(link: Mapping[str, Any], rtt: str, traces: Sequence[_Trace], loss: str | None) -> dict[str, Any]:
    """Two links, one for each direction, each with its trace; random loss on the first link only, as in a dumbbell."""
    try:
        delay = format_time(parse_positive_time(rtt) // 2)
    except ScenarioError as error:
        raise error.located(source="rtt") from None
    rows = []
    for name, ends, found in ((FORWARD, ("a", "b"), traces[0]), (REVERSE, ("b", "a"), traces[1])):
        row = {**link, "name": name, "from": ends[0], "to": ends[1], "delay": delay, "duplex": False, "record": True}
        row |= {"rate": format_rate(found.mean_bps), **found.fields}
        rows.append(row | ({"loss": loss} if loss and name == FORWARD else {}))
    return {"link": rows}


def background_traffic(load: str, rate: str) -> list[dict[str, Any]]:
    """The ``[[traffic]]`` tables of a comparison: one source in each direction.

    Raises:
        ScenarioError: there is no load, or the load uses the whole rate of the bottleneck.
    """
    try:
        offered = parse_load(load)
    except ScenarioError as error:
        raise error.located(source="background") from None
    if (offered if isinstance(offered, float) else offered / parse_rate_located(rate)) >= 1:
        raise ScenarioError(
            f"'{load}' is at least the rate of the bottleneck: transfers would accumulate during the "
            "whole run; a background load is below 100%",
            source="background",
        )
    common = {"algorithm": BACKGROUND_ALGORITHM, "load": load}
    return [common | {"name": BACKGROUND}, common | {"name": f"{BACKGROUND}-back", "direction": "left"}]


def from_scenario(scenario: Scenario) -> Path:
    """The path of a scenario: the scenario's links, stack and traffic; the scenario's flows get the algorithms.

    Raises:
        ScenarioError: the scenario has no TCP flow, or does not allow a comparison.
    """
    tables = scenario.to_dict()
    flows = [flow for flow in tables.get("flow", []) if "datagrams" not in flow]
    if not flows:
        raise ScenarioError("no TCP flow whose algorithm could be compared", source="scenario")
    if len(flows) < len(tables["flow"]):
        raise ScenarioError(
            "flows of datagrams beside those that are compared; write them as [[traffic]], or leave them out",
            source="scenario",
        )
    places = tuple({k: v for k, v in flow.items() if k not in ("name", "algorithm", "parameters")} for flow in flows)
    rest = {name: value for name, value in tables.items() if name not in _NOT_OF_A_PATH}
    duration_s = scenario.form.duration_ps / PS_PER_S
    title = scenario.title or f"scenario {scenario.hash}"
    return Path(rest, places, title, scenario.seed, duration_s=duration_s, timed=True)
