"""The model backend: solves fluid equations of a scenario with one bottleneck, and returns the same tables as the
simulator.

The backend rejects all other scenarios and states the reason. The model has no paths with several queues, no queues
besides drop-tail and RED, no correlated losses, no background traffic and no datagrams, and it lacks some algorithms. A
warning names each property of a scenario that the model ignores.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elephan.backends.base import (
    Backend,
    Cancelled,
    Progress,
    RawResult,
    language,
    refuse_other_transports,
    runner,
    unknown_fields,
)
from elephan.rates import payload_rate_mbps, rate_mbps
from elephan.scenario import Scenario, ScenarioError
from elephan.scenario.catalog import algorithms
from elephan.scenario.form import BernoulliLoss, LinkSpec, NoneLoss, Spec
from elephan.scenario.lookups import base_rtt_ps, narrowest_link, queue_number, queue_switch, wire_bytes
from elephan.scenario.words import hint
from elephan.version import __version__

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import polars as pl

    from elephan.models.fluid import Sender, Trajectory
    from elephan.models.prices import RedSettings

_PS = 1e12
_DIGEST_DIGITS = 12
_FLOW_FIELDS = {"parameters", "stop_ps", "size_segments"}
_LINK_FIELDS = {"loss", "record"}
"""Optional fields of flows and of links that the equations support."""


class ModelBackend(Backend):
    """Integrates the fluid equations of a scenario."""

    name = "model"
    title = "fluid equations over one bottleneck"
    perturbs = False

    def varies(self, scenario: Scenario) -> bool:
        """True if packets are lost at random; otherwise the result does not depend on the seed."""
        return any(isinstance(link.loss, BernoulliLoss) or link.queue.kind == "red" for link in scenario.form.links)

    def version(self) -> str:
        """The package's version and a digest of the model's own code; results of other versions are not reused."""
        return f"{__version__}+{_code()}"

    def check(self, scenario: Scenario) -> None:
        """Reject a scenario that the model does not cover, before the run.

        Raises:
            ScenarioError: the same errors as :meth:`run`.
        """
        refuse_other_transports(self.name, scenario)
        _Plan.of(scenario)

    def run(self, scenario: Scenario, seed: int | None = None, progress: Progress | None = None) -> RawResult:
        """Integrate a scenario.

        Raises:
            ScenarioError: the model cannot run the scenario; the message has the reason.
            Cancelled: ``progress`` returned ``False``.
        """
        from elephan.models import fluid

        plan = _Plan.of(scenario.without_groups())
        own = scenario.seed if seed is None else seed
        found = fluid.run(
            plan.senders, plan.rate, plan.buffer, plan.times_s, progress, early=_early(plan.link), seed=own
        )
        if found is None:
            raise Cancelled
        return RawResult(_tables(plan, found), _summary(plan, found))


@lru_cache(maxsize=1)
def _code() -> str:
    """First digits of the SHA-256 of the equations, the laws and this file."""
    folder = Path(__file__).parents[1]
    models = [folder / "models" / f"{name}.py" for name in ("fluid", "laws", "prices")]
    files = (*models, folder / "rates.py", Path(__file__))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:_DIGEST_DIGITS]


@dataclass(frozen=True)
class _Plan:
    """Parameters of the equations for a scenario."""

    form: Spec
    link: LinkSpec
    rate: float
    buffer: float
    wire_bytes: int
    payload_bytes: int
    senders: list[Sender]
    times_s: Any
    warnings: list[str]

    @classmethod
    def of(cls, scenario: Scenario) -> _Plan:
        """Read a scenario.

        Raises:
            ScenarioError: the model does not cover the scenario.
        """
        import numpy as np

        form = scenario.form
        _only_plain(form)
        link = form.links[_bottleneck(form)]
        stack = form.flows[0].stack
        wire = wire_bytes(stack)
        warnings = ["the model has no packets: slow start, bursts, recoveries and timeouts are not as in a simulation"]
        senders = [_sender(scenario, i, form, warnings) for i in range(len(form.flows))]
        for i, flow in enumerate(form.flows):
            if wire_bytes(flow.stack) != wire:
                raise ScenarioError(
                    "the model has one size of segments; the flows have several", path=f"flow[{i}].stack"
                )
        period, end = form.sample_period_ps, form.duration_ps
        ticks = {k * period for k in range(end // period + 1)} | {form.measure.from_ps, form.measure.to_ps, end}
        return cls(
            form, link, link.rate_bps / 8 / wire, _room(link, wire), wire, stack.payload_bytes, senders,
            np.array(sorted(ticks), dtype=np.float64) / _PS, warnings,
        )  # fmt: skip


def _refuse(what: str, path: str = "") -> ScenarioError:
    return ScenarioError(f"the model cannot say what {what}; 'sim' can", path=path)


def _only_plain(form: Spec) -> None:
    """Reject anything other than flows over links with a rate, a delay and a queue."""
    if form.traffic:
        raise _refuse("background traffic does", "traffic")
    if form.events is not None:
        raise _refuse("happens to each packet", "events")
    if form.resolution == "train":
        raise ScenarioError("the model has no segments; leave it out", path="resolution")
    if form.internals:
        raise _refuse("goes on inside an algorithm", "internals")
    if form.record_flows is not None:
        raise ScenarioError('the model records every flow; write record = "all", or leave it out', path="record")
    if not form.flows:
        raise _refuse("happens without a flow", "flow")
    for i, flow in enumerate(form.flows):
        if flow.source_sha256 is not None:
            raise ScenarioError(
                f"'{flow.algorithm}' is written in {language(flow)}, and the model has no law for it; "
                f"'{runner(flow)}' runs it",
                path=f"flow[{i}].algorithm",
            )
        if flow.stack.fast_open:
            raise _refuse("a SYN with data does", f"flow[{i}].stack.fast_open")
        if other := unknown_fields(flow, _FLOW_FIELDS):
            raise _refuse(f"a flow with {', '.join(other)} does", f"flow[{i}]")
    for link in form.links:
        if other := unknown_fields(link, _LINK_FIELDS):
            raise _refuse(f"a link with {', '.join(other)} does", f"link {link.name}")
        if not isinstance(link.loss, NoneLoss | BernoulliLoss):
            raise _refuse(f"losses of the kind '{link.loss.kind}' do", f"link {link.name}")
    back = {i for flow in form.flows for i in flow.reverse_path}
    for i in sorted(back):
        if not isinstance(form.links[i].loss, NoneLoss):
            raise _refuse("lost ACKs do", f"link {form.links[i].name}")


def _bottleneck(form: Spec) -> int:
    """Position of the only link at which data may be queued.

    Raises:
        ScenarioError: data may be queued at several links, or at none.
    """
    narrowest = {narrowest_link(form, flow) for flow in form.flows}
    if len(narrowest) > 1:
        names = ", ".join(sorted(form.links[i].name for i in narrowest))
        raise _refuse(f"several bottlenecks do ({names})")
    position = narrowest.pop()
    link = form.links[position]
    kind = link.queue.kind
    if kind not in ("droptail", "red"):
        raise _refuse(f"a queue '{kind}' does", f"link {link.name}")
    if kind == "red" and queue_switch(link.queue, "ecn") and any(flow.stack.ecn for flow in form.flows):
        raise _refuse("ECN marks do", f"link {link.name}")
    return position


def _early(link: LinkSpec) -> RedSettings | None:
    from elephan.models.prices import RedSettings

    queue = link.queue
    if queue.kind != "red":
        return None
    return RedSettings(
        low=queue_number(queue, "min_packets"),
        high=queue_number(queue, "max_packets"),
        max_p=queue_number(queue, "max_p"),
        weight=queue_number(queue, "weight"),
        gentle=queue_switch(queue, "gentle"),
        adaptive=queue_switch(queue, "adaptive"),
    )


def _room(link: LinkSpec, wire: int) -> float:
    queue = link.queue
    limits = [float(queue.limit_packets)] if queue.limit_packets is not None else []
    limits += [float(queue.limit_bytes // wire)] if queue.limit_bytes is not None else []
    room = min(limits, default=math.inf)
    return max(0.0, room - 1.0) if queue_switch(queue, "count_in_service") else room


def _sender(scenario: Scenario, i: int, form: Spec, warnings: list[str]) -> Sender:
    from elephan.models.fluid import Sender
    from elephan.models.laws import LAWS, NO_MATTER

    flow = form.flows[i]
    name, _, preset = flow.algorithm.partition(":")
    if name not in LAWS:
        raise ScenarioError(
            f"the model has no law for '{flow.algorithm}'; {hint(name, LAWS)}", path=f"flow[{i}].algorithm"
        )
    entry = algorithms()[name]
    defaults = {parameter["name"]: parameter.get("default") for parameter in entry["parameters"]}
    own = next((dict(p["overrides"]) for p in entry["presets"] if p["name"] == preset), {}) | dict(flow.parameters)
    for key, value in own.items():
        if key in LAWS[name].knows or value == defaults[key]:
            continue
        if key not in NO_MATTER:
            raise ScenarioError(f"the model's law of {name} has no {key}", path=f"flow[{i}].parameters.{key}")
        note = f"{flow.name}: {key} = {value} makes no difference in a fluid"
        if note not in warnings:
            warnings.append(note)
    stack = flow.stack
    unset = math.inf
    return Sender(
        name=flow.name,
        law=LAWS[name].law(defaults | own),
        rtt_s=base_rtt_ps(form, flow) / _PS,
        start_s=flow.start_ps / _PS,
        stop_s=unset if flow.stop_ps is None else flow.stop_ps / _PS,
        segments=unset if flow.size_segments is None else float(flow.size_segments),
        initial_window=float(stack.initial_window),
        threshold=unset if stack.initial_ssthresh is None else float(stack.initial_ssthresh),
        limit=unset if stack.receive_window is None else float(stack.receive_window),
        loss=1.0 - math.prod(1.0 - _loss_probability(form.links[j]) for j in flow.path),
    )


def _loss_probability(link: LinkSpec) -> float:
    return link.loss.p if isinstance(link.loss, BernoulliLoss) else 0.0


# ---- tables ----


def _tables(plan: _Plan, found: Trajectory) -> dict[str, pl.DataFrame]:
    import polars as pl

    # The fluid model has no retransmissions: the value is null instead of 0.
    unknown = dict.fromkeys(("retransmits", "timeouts", "spurious_retransmits"), pl.UInt64)
    known = dict.fromkeys(("cwnd_mean", "cwnd_max", "completion_s", *_TRIPS), pl.Float64)
    return {
        "flows": pl.DataFrame(
            [_flow(plan, found, i) for i in range(len(plan.senders))], schema_overrides={**unknown, **known}
        ),
        "samples": pl.concat([_samples(plan, found, i) for i in range(len(plan.senders))]),
        "links": _links(plan, found),
    }


_TRIPS = ("rtt_min_ms", "rtt_mean_ms", "rtt_p50_ms", "rtt_p95_ms", "rtt_p99_ms")


def _sent(plan: _Plan, found: Trajectory, i: int) -> npt.NDArray[np.float64]:
    """Segments of a flow at each time; the step in which it ends may go beyond its size."""
    import numpy as np

    return np.minimum(found.sent[:, i], plan.senders[i].segments)


def _samples(plan: _Plan, found: Trajectory, i: int) -> pl.DataFrame:
    import numpy as np
    import polars as pl

    sent = np.floor(_sent(plan, found, i) + 1e-9)
    windows = found.windows[:, i]
    there = ~np.isnan(windows)
    frame = pl.DataFrame(
        {
            "time_s": found.times_s,
            "flow": [plan.senders[i].name] * len(sent),
            "cwnd": windows,
            "ssthresh": np.full(len(sent), np.nan),
            "srtt_s": np.where(there, found.rtts_s[:, i], np.nan),
            "rtt_s": np.where(there, found.rtts_s[:, i], np.nan),
            "in_flight": np.where(there, np.nan_to_num(windows), 0.0).astype(np.uint32),
            "delivered_segments": sent.astype(np.uint64),
            "wire_bytes": (sent * plan.wire_bytes).astype(np.uint64),
            "retransmits": pl.Series([None] * len(sent), dtype=pl.UInt64),
            "loss_events": found.losses[:, i].astype(np.uint64),
            "ecn_events": np.zeros(len(sent), dtype=np.uint64),
            "timeouts": pl.Series([None] * len(sent), dtype=pl.UInt64),
        }
    )
    unknown = ["cwnd", "ssthresh", "srtt_s", "rtt_s"]
    return frame.with_columns(pl.col(unknown).fill_nan(None), pl.col("flow").cast(pl.Categorical))


def _flow(plan: _Plan, found: Trajectory, i: int) -> dict[str, Any]:
    """One row of ``flows``: rates, RTTs and windows in the measurement window, counts in the whole run."""
    import numpy as np

    measure = plan.form.measure
    begin, end = measure.from_ps / _PS, measure.to_ps / _PS
    first, last = (int(np.searchsorted(found.times_s, time - 1e-9)) for time in (begin, end))
    sent = _sent(plan, found, i)
    segments = sent[last] - sent[first]
    windows = found.windows[first : last + 1, i]
    there = ~np.isnan(windows)
    trips_ms = 1e3 * found.rtts_s[first : last + 1, i][there]
    # RTTs are those of packets: a time counts as often as packets are sent then.
    packets = np.diff(found.sent[first : last + 1, i], prepend=found.sent[first, i])[there]
    windows = windows[~np.isnan(windows)]
    sender = plan.senders[i]
    limited = float(np.mean(windows >= sender.limit)) if len(windows) else 0.0
    ended = float(found.ended_s[i])

    def of_packets(quantile: float | None) -> float | None:
        """The mean over the packets, or a quantile; without packets there is none."""
        if not packets.sum() > 0:
            return None
        if quantile is None:
            return float(np.average(trips_ms, weights=packets))
        order = np.argsort(trips_ms)
        reached = np.searchsorted(np.cumsum(packets[order]), quantile * packets.sum())
        return float(trips_ms[order[min(int(reached), len(order) - 1)]])

    return {
        "name": sender.name,
        "algorithm": plan.form.flows[i].algorithm,
        "start_s": sender.start_s,
        "goodput_mbps": payload_rate_mbps(segments, plan.payload_bytes, end - begin),
        "throughput_mbps": rate_mbps(segments * plan.wire_bytes, end - begin),
        "segments_delivered": int(sent[-1]),
        "segments_sent": int(sent[-1]),
        "retransmits": None,
        "loss_events": int(found.losses[-1, i]),
        "timeouts": None,
        "spurious_retransmits": None,
        "rtt_min_ms": float(trips_ms[packets > 0].min()) if (packets > 0).any() else None,
        "rtt_mean_ms": of_packets(None),
        "rtt_p50_ms": of_packets(0.5),
        "rtt_p95_ms": of_packets(0.95),
        "rtt_p99_ms": of_packets(0.99),
        "cwnd_mean": float(windows.mean()) if len(windows) else None,
        "cwnd_max": float(windows.max()) if len(windows) else None,
        "receive_window_limited_fraction": limited,
        "completion_s": None if math.isnan(ended) else ended - sender.start_s,
    }


def _links(plan: _Plan, found: Trajectory) -> pl.DataFrame:
    import numpy as np
    import polars as pl

    waiting, waited, served = found.waiting, found.waited, found.served
    steps_s = np.diff(found.times_s, prepend=found.times_s[0])
    between = np.divide(np.diff(waited, prepend=0.0), steps_s, out=waiting.copy(), where=steps_s > 0)
    delivered = np.floor(served + 1e-9)
    dropped = np.floor(found.lost + 1e-9)
    frame = pl.DataFrame(
        {
            "time_s": found.times_s,
            "link": [plan.link.name] * len(waiting),
            "queue_packets": np.round(waiting).astype(np.uint64),
            # The difference of two integrals has their rounding.
            "queue_mean": np.clip(between, found.shortest, found.longest),
            "queue_min": found.shortest.astype(np.uint64),
            "queue_max": np.ceil(found.longest).astype(np.uint64),
            "queue_integral_packet_s": waited,
            # After a decrease of the window, the excess data are still in flight; the flow sends nothing until they are
            # served.
            "arrived_packets": np.maximum.accumulate(delivered + dropped + np.round(waiting)).astype(np.uint64),
            "dropped_packets": dropped.astype(np.uint64),
            "marked_packets": np.zeros(len(waiting), dtype=np.uint64),
            "delivered_packets": delivered.astype(np.uint64),
            "delivered_bytes": (delivered * plan.wire_bytes).astype(np.uint64),
        }
    )
    return frame.with_columns(pl.col("link").cast(pl.Categorical))


def _summary(plan: _Plan, found: Trajectory) -> dict[str, Any]:
    return {
        "segments_delivered": int(found.served[-1]),
        "warnings": plan.warnings,
        "engine_version": ModelBackend().version(),
    }
