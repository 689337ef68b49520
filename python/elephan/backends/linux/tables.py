"""Conversion of a guest's records to the tables of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from elephan.backends.base import no_links, only_with_parts, with_whole_segments
from elephan.backends.linux import queues
from elephan.backends.linux.guest import GuestError, Log
from elephan.backends.linux.plan import Plan
from elephan.backends.linux.programs import Connections
from elephan.rates import rate_mbps
from elephan.scenario.lookups import queue_switch, wire_bytes

if TYPE_CHECKING:
    import polars as pl

Words = NDArray[np.uint64]
Floats = NDArray[np.float64]

# Words of a flow in a record (crates/guest, flows.rs).
_STATE, _CWND, _SSTHRESH, _SRTT, _RTT_MIN, _UNACKED, _SACKED, _LOST, _RETRANS = range(9)
_RETRANSMITS, _SEGMENTS, _TIMEOUTS, _DUPLICATES, _BUSY, _LIMITED, _PAYLOAD, _RECEIVED, _ARRIVED, _MARKED = range(9, 19)
# Words of a queue.
_LENGTH, _DROPPED, _SENT, _SENT_BYTES, _QUEUE_MARKED = range(5)

_ETHERNET_BYTES = 14
_RTTS = ("rtt_min_ms", "rtt_mean_ms", "rtt_p50_ms", "rtt_p95_ms", "rtt_p99_ms")
_NO_THRESHOLD = 0x7FFF_FFFF
# Linux's states of a sender (enum tcp_ca_state): in this state and in all later states of the enum, the sender recovers
# from a loss.
_RECOVERY = 3
_REDUCING = 2
_NS_PER_S = 1e9


@dataclass(frozen=True)
class Looks:
    """Records of a guest.

    Attributes:
        times_ns: times of the records.
        flows: records × flows × words.
        queues: records × watched links × words.
        starts_s: start of each flow.
        ends_s: completion of each flow; ``None`` if it did not complete.
        at: for each sample time, the position of its record.
    """

    times_ns: Words
    flows: Words
    queues: Words
    starts_s: list[float]
    ends_s: list[float | None]
    at: list[int]


def looks(plan: Plan, log: Log) -> Looks:
    """Read the records of a guest.

    Raises:
        GuestError: the records are not complete.
    """
    flows, queues = len(plan.real), len(plan.watched)
    flow_words, queue_words = log.result["flow_words"], log.result["queue_words"]
    width = 1 + flows * flow_words + queues * queue_words
    words = np.frombuffer(log.words, dtype="<u8")
    if words.size == 0 or words.size % width:
        raise GuestError(f"the guest's log has {words.size} words, and a record has {width}")
    rows = words.reshape(-1, width)
    times = rows[:, 0]
    split = 1 + flows * flow_words
    wanted = np.array(plan.sample_times_ns, dtype=np.uint64)
    at = np.searchsorted(times, wanted)
    if not np.array_equal(times[np.minimum(at, len(times) - 1)], wanted):
        raise GuestError("the guest did not look at every sample time")
    ends = [end for _, end in log.result["flows"]]
    return Looks(
        times_ns=times,
        flows=rows[:, 1:split].reshape(len(rows), flows, flow_words),
        queues=rows[:, split:].reshape(len(rows), queues, queue_words),
        starts_s=[start / _NS_PER_S for start, _ in log.result["flows"]],
        ends_s=[None if end is None else end / _NS_PER_S for end in ends],
        at=[int(k) for k in at],
    )


def tables(plan: Plan, seen: Looks) -> dict[str, pl.DataFrame]:
    """The tables ``flows`` and ``samples`` of the flows on Linux, and ``links`` of the queues in the guest."""
    import polars as pl

    indices = range(len(plan.real))
    links = [_link(plan, seen, k) for k in sorted(range(len(plan.watched)), key=plan.watched.__getitem__)]
    rows = [_flow(plan, seen, k) for k in indices]
    if not rows:
        return {}
    found = {
        "flows": pl.DataFrame(rows, schema_overrides=dict.fromkeys((*_RTTS, "completion_s"), pl.Float64)),
        "samples": only_with_parts(pl.concat([_samples(plan, seen, k) for k in indices]), payloads(plan)),
    }
    if links or not plan.outside:
        found["links"] = pl.concat([no_links(), *links])
    return found


def beside(
    plan: Plan, found: Mapping[str, pl.DataFrame], connections: Connections, engine: Mapping[str, pl.DataFrame]
) -> dict[str, pl.DataFrame]:
    """The merged tables of a guest, of its programs and of the engine that simulates its path; flows are in the order
    of the scenario, and the connections of a program follow it."""
    made = {**engine}
    flows = [engine["flows"], *([found["flows"]] if found else [])]
    samples = [engine["samples"]]
    if found:
        one, other = with_whole_segments(engine["samples"], found["samples"], payloads(plan))
        samples = [one, other]
    if plan.programs:
        flows.append(connections.flows())
        own = connections.samples()
        samples = [*(with_whole_segments(own, table, payloads(plan))[1] for table in samples), own]
    names = [flow.name for flow in plan.form.flows]
    made["flows"] = _merged(flows, "name", names)
    made["samples"] = _merged(samples, "flow", names)
    return made


def _merged(tables: Sequence[pl.DataFrame], key: str, names: Sequence[str]) -> pl.DataFrame:
    """The rows of several tables, in the order of the flows' names; a connection follows its program."""
    import polars as pl

    first, *others = [table for table in tables if not table.is_empty()] or tables[:1]
    if not others:
        return first
    schema = first.schema
    cast = [table.cast({name: schema[name] for name in table.columns if name in schema}) for table in others]
    both = pl.concat([first, *cast], how="diagonal")
    order = pl.col(key).cast(pl.String)
    place = order.replace_strict(names, range(len(names)), default=None)
    # A connection is named after its program.
    program = order.str.replace(r"/\d+$", "").replace_strict(names, range(len(names)), default=None)
    return both.sort(place.fill_null(program), order.is_in(names).not_(), maintain_order=True)


def payloads(plan: Plan) -> dict[str, int]:
    """Payload of a whole segment of each flow, bytes."""
    return {flow.name: flow.stack.payload_bytes for flow in plan.form.flows}


def loss_events(states: Words) -> Words:
    """Number of loss events until each record. A loss event is a sender's transition to the state Recovery or Loss."""
    return _entries(states >= _RECOVERY)


def ecn_events(states: Words, *, ecn: bool) -> Words:
    """Number of window reductions in response to ECN echoes until each record: a sender's transitions to the state CWR.

    A sender without ECN also enters this state, when a queue of its own host is full.
    """
    return _entries((states == _REDUCING) & ecn)


def _entries(inside: NDArray[np.bool_]) -> Words:
    begun = inside & ~np.concatenate(([False], inside[:-1]))
    return np.cumsum(begun).astype(np.uint64)


def _seconds(times_ns: Words) -> Floats:
    return times_ns.astype(np.float64) / _NS_PER_S


def _samples(plan: Plan, seen: Looks, k: int) -> pl.DataFrame:
    import polars as pl

    spec = plan.form.flows[plan.real[k]]
    words = seen.flows[seen.at, k]
    signed = words.astype(np.int64)
    srtt = np.where(words[:, _SRTT] > 0, words[:, _SRTT] * 1e-6, np.nan)
    threshold = np.where(
        (words[:, _SSTHRESH] > 0) & (words[:, _SSTHRESH] < _NO_THRESHOLD), words[:, _SSTHRESH].astype(float), np.nan
    )
    arrived = _arrived(words, spec.stack.payload_bytes)
    in_flight = signed[:, _UNACKED] + signed[:, _RETRANS] - signed[:, _SACKED] - signed[:, _LOST]
    frame = pl.DataFrame(
        {
            "time_s": _seconds(seen.times_ns[seen.at]),
            "flow": [spec.name] * len(words),
            "cwnd": words[:, _CWND].astype(np.float64),
            "ssthresh": threshold,
            "srtt_s": srtt,
            "rtt_s": pl.Series([None] * len(words), dtype=pl.Float64),
            "in_flight": np.maximum(in_flight, 0).astype(np.uint32),
            "delivered_segments": arrived.segments.astype(np.uint64),
            "delivered_bytes": arrived.payload.astype(np.uint64),
            "wire_bytes": (words[:, _ARRIVED] * np.uint64(wire_bytes(spec.stack)) - arrived.missing.astype(np.uint64)),
            "retransmits": words[:, _RETRANSMITS],
            "loss_events": loss_events(seen.flows[:, k, _STATE])[seen.at],
            "ecn_events": ecn_events(seen.flows[:, k, _STATE], ecn=spec.stack.ecn)[seen.at],
            "timeouts": words[:, _TIMEOUTS],
        }
    )
    return frame.with_columns(pl.col("flow").cast(pl.Categorical), pl.col("ssthresh", "srtt_s").fill_nan(None))


def _flow(plan: Plan, seen: Looks, k: int) -> dict[str, Any]:
    """One row of ``flows``: rates, RTTs and windows in the measurement window, counts in the whole run."""
    spec, measure = plan.form.flows[plan.real[k]], plan.form.measure
    payload = spec.stack.payload_bytes
    words, times = seen.flows[:, k], seen.times_ns
    first, last = (int(np.searchsorted(times, at // 1000)) for at in (measure.from_ps, measure.to_ps))
    part = words[first : last + 1]
    live = part[part[:, _CWND] > 0]
    seconds = (measure.to_ps - measure.from_ps) / 1e12

    arrived = _arrived(words, payload)

    def grown(column: int) -> int:
        return int(words[last, column]) - int(words[first, column])

    end_s = seen.ends_s[k]
    counts = words[-1]
    return {
        "name": spec.name,
        "algorithm": spec.algorithm,
        "start_s": seen.starts_s[k],
        "goodput_mbps": rate_mbps(float(arrived.payload[last] - arrived.payload[first]), seconds),
        "throughput_mbps": rate_mbps(
            float(grown(_ARRIVED) * wire_bytes(spec.stack) - (arrived.missing[last] - arrived.missing[first])), seconds
        ),
        "segments_delivered": int(arrived.segments[-1]),
        "segments_sent": int(counts[_SEGMENTS]),
        "retransmits": int(counts[_RETRANSMITS]),
        "loss_events": int(loss_events(words[:, _STATE])[-1]),
        "ecn_events": int(ecn_events(words[:, _STATE], ecn=spec.stack.ecn)[-1]),
        "timeouts": int(counts[_TIMEOUTS]),
        "spurious_retransmits": int(counts[_DUPLICATES]),
        # RTTs of packets are unknown: a socket only tells its smoothed RTT, whose mean over time is another quantity.
        **dict.fromkeys(_RTTS),
        "cwnd_mean": float(part[:, _CWND].mean()) if live.size else None,
        "cwnd_max": float(live[:, _CWND].max()) if live.size else None,
        "marked_segments": int(counts[_MARKED]),
        "receive_window_limited_fraction": grown(_LIMITED) / grown(_BUSY) if grown(_BUSY) > 0 else 0.0,
        "completion_s": None if end_s is None else end_s - seen.starts_s[k],
    }


@dataclass(frozen=True)
class _Arrived:
    """Data at a receiver until each record.

    Attributes:
        segments: distinct segments.
        payload: bytes of these segments.
        missing: bytes by which they are smaller than whole segments.
    """

    segments: NDArray[np.int64]
    payload: NDArray[np.int64]
    missing: NDArray[np.int64]


def _arrived(words: Words, payload: int) -> _Arrived:
    """Distinct segments at the receiver, and their bytes.

    The segments are all that arrived, without the duplicates that the sender knows from reports (RFC 2883). A report
    may be lost, and a copy of an ACK repeats it, so the number is kept within two others: the segments in order, and
    the distinct segments that were sent. The kernel counts the bytes in order only. The bytes above a gap are those of
    whole segments: what is missing to whole segments once no gap is left was missing since its segment came.
    """
    signed = words.astype(np.int64)
    in_order = np.maximum.accumulate(signed[:, _RECEIVED])
    sent = signed[:, _SEGMENTS] - signed[:, _RETRANSMITS]
    segments = np.clip(signed[:, _ARRIVED] - signed[:, _DUPLICATES], -(-in_order // payload), None)
    segments = np.maximum.accumulate(np.minimum(segments, np.minimum(signed[:, _ARRIVED], sent)))
    missing = np.minimum.accumulate((segments * payload - in_order)[::-1])[::-1]
    missing = np.maximum.accumulate(np.maximum(missing, 0))
    return _Arrived(segments, segments * payload - missing, missing)


def _link(plan: Plan, seen: Looks, k: int) -> pl.DataFrame:
    import polars as pl

    link = plan.form.links[plan.watched[k]]
    words = seen.queues[:, k].astype(np.int64)
    # Counts exclude the time before the run.
    words = words - np.concatenate((np.zeros((1, 1)), words[:1, 1:]), axis=1).astype(np.int64)
    # netem's queue includes the packet in transmission; other disciplines of the kernel have already released it.
    in_kernels = queues.is_kernels(link.queue)
    in_service = 0 if in_kernels or queue_switch(link.queue, "count_in_service") else 1
    counted_bytes = 0 if in_kernels else _ETHERNET_BYTES
    length = np.maximum(words[:, _LENGTH] - in_service, 0)
    times = _seconds(seen.times_ns)
    # The queue is assumed to change linearly between two samples.
    integral = np.concatenate(([0.0], np.cumsum(np.diff(times) * (length[1:] + length[:-1]) / 2)))
    spans = list(zip([0, *seen.at[:-1]], seen.at, strict=True))
    widths = [max(times[b] - times[a], 0.0) for a, b in spans]
    at = seen.at
    frame = pl.DataFrame(
        {
            "time_s": times[at],
            "link": [link.name] * len(at),
            "queue_packets": length[at].astype(np.uint64),
            "queue_mean": [
                (integral[b] - integral[a]) / width if width > 0 else float(length[b])
                for (a, b), width in zip(spans, widths, strict=True)
            ],
            "queue_min": np.array([length[a : b + 1].min() for a, b in spans], dtype=np.uint64),
            "queue_max": np.array([length[a : b + 1].max() for a, b in spans], dtype=np.uint64),
            "queue_integral_packet_s": integral[at],
            "arrived_packets": (words[:, _SENT] + words[:, _DROPPED] + words[:, _LENGTH])[at].astype(np.uint64),
            "dropped_packets": words[at, _DROPPED].astype(np.uint64),
            "marked_packets": words[at, _QUEUE_MARKED].astype(np.uint64),
            **{f"{what}_packets": np.zeros(len(at), dtype=np.uint64) for what in ("reordered", "duplicated")},
            "delivered_packets": words[at, _SENT].astype(np.uint64),
            "delivered_bytes": (words[at, _SENT_BYTES] - counted_bytes * words[at, _SENT]).astype(np.uint64),
        }
    )
    return frame.with_columns(pl.col("link").cast(pl.Categorical))
