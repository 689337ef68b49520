"""Conversion of the logs of a run's programs to the run's tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from elephan.backends.base import no_links, only_with_parts
from elephan.backends.kernel.plan import Plan
from elephan.backends.kernel.session import Logs
from elephan.rates import rate_mbps
from elephan.scenario import catalog

if TYPE_CHECKING:
    import polars as pl

_FROM_KERNEL = (
    "time_s", "started_s", "local_port", "remote_port", "remote_address", "cwnd", "snd_ssthresh", "rtt_us",
)  # fmt: skip
_FROM_LINK = ("rtt_min_ms", "rtt_mean_ms", "rtt_p50_ms", "rtt_p95_ms", "rtt_p99_ms")
_FLOW_COUNTS = (
    "segments_delivered", "segments_sent", "retransmits", "loss_events", "ecn_events", "timeouts",
    "spurious_retransmits",
)  # fmt: skip
_LINK_COUNTS = (
    "queue_packets", "queue_min", "queue_max", "arrived_packets", "dropped_packets", "marked_packets",
    "reordered_packets", "duplicated_packets", "delivered_packets", "delivered_bytes",
)  # fmt: skip


def tables(plan: Plan, logs: Logs) -> dict[str, pl.DataFrame]:
    """The tables ``flows``, ``samples`` and ``links``."""
    import polars as pl

    samples = [_samples(plan, logs, i) for i in range(len(plan.flows))]
    floats = dict.fromkeys((*_FROM_LINK, "cwnd_mean", "cwnd_max", "completion_s"), pl.Float64)
    counts = dict.fromkeys(_FLOW_COUNTS, pl.UInt64)
    rows = [_flow(plan, logs, i, samples[i]) for i in range(len(plan.flows))]
    payloads = {flow.name: form.stack.payload_bytes for flow, form in zip(plan.flows, plan.form.flows, strict=True)}
    return {
        "flows": pl.DataFrame(rows, schema_overrides={**floats, **counts}),
        "samples": only_with_parts(pl.concat(samples), payloads),
        "links": pl.concat([no_links(), *(_link(logs, link) for link in logs.link["links"])]),
    }


def internals(plan: Plan, logs: Logs, reported: list[pl.DataFrame]) -> pl.DataFrame:
    """Table of the internal variables that algorithms in BPF reported: a row for each variable of each flow at each
    time.

    Times are in s and their names end in ``_s``, as in the simulator; the programs in the kernel use microseconds.
    """
    import polars as pl

    flows = {flow.receiver: flow.name for flow in plan.flows}
    rows = []
    for table in reported:
        own = [name for name in table.columns if name not in _FROM_KERNEL]
        named = table.with_columns(pl.col("time_s") - 1e-9 * logs.started_ns, flow=pl.col("remote_address"))
        named = named.filter(pl.col("flow").is_in(list(flows)) & (pl.col("time_s") <= plan.duration_s))
        named = named.with_columns(pl.col("flow").replace_strict(flows))
        rows.append(named.unpivot(own, index=["time_s", "flow"], variable_name="variable", value_name="value"))
    is_time = pl.col("variable").str.ends_with("_us")
    whole = pl.concat(rows).with_columns(
        value=pl.when(is_time).then(pl.col("value") * 1e-6).otherwise("value"),
        variable=pl.col("variable").str.replace("_us$", "_s"),
    )
    named = whole.join(_states(plan), on=["flow", "variable", "value"], how="left")
    named = named.sort("time_s", "flow", "variable")
    return named.with_columns(pl.col("flow", "variable", "state").cast(pl.Categorical))


def _states(plan: Plan) -> pl.DataFrame:
    """The name of each state that a variable of a flow's algorithm may have."""
    import polars as pl

    rows = []
    for flow in plan.flows:
        entry = catalog.algorithms()[flow.algorithm.partition(":")[0]]
        for variable in entry["variables"]:
            rows += [
                (flow.name, variable["name"], float(place), state) for place, state in enumerate(variable["states"])
            ]
    kinds = {"flow": pl.String, "variable": pl.String, "value": pl.Float64, "state": pl.String}
    return pl.DataFrame(rows, schema=kinds, orient="row")


def _samples(plan: Plan, logs: Logs, i: int) -> pl.DataFrame:
    import polars as pl

    path, sender = logs.link["flows"][i]["samples"], logs.send["flows"][i]["samples"]
    payload = plan.form.flows[i].stack.payload_bytes
    times = logs.link["times_s"]

    def held(name: str) -> pl.Series:
        """Repeat the socket's last report in later samples, since the socket may be closed at the time of these
        samples."""
        return pl.Series(sender[name], dtype=pl.Float64).fill_null(strategy="forward")

    def count(name: str) -> pl.Series:
        return held(name).fill_null(0).cast(pl.UInt64)

    return pl.DataFrame(
        {
            "time_s": times,
            "flow": [plan.flows[i].name] * len(times),
            "cwnd": held("cwnd").fill_null(0),
            "ssthresh": held("ssthresh"),
            "srtt_s": held("srtt_s"),
            "rtt_s": pl.Series(path["rtt_s"], dtype=pl.Float64),
            "in_flight": pl.Series(sender["in_flight"], dtype=pl.UInt32).fill_null(0),
            "delivered_segments": pl.Series([n // payload for n in path["received_bytes"]], dtype=pl.UInt64),
            "delivered_bytes": pl.Series(path["received_bytes"], dtype=pl.UInt64),
            "wire_bytes": pl.Series(path["wire_bytes"], dtype=pl.UInt64),
            "retransmits": count("retransmits"),
            "loss_events": count("loss_events"),
            # A sender without ECN enters the state CWR too, when a queue of its own host is full.
            "ecn_events": count("ecn_events") * int(plan.form.flows[i].stack.ecn),
            "timeouts": count("timeouts"),
        }
    ).with_columns(pl.col("flow").cast(pl.Categorical))


def _flow(plan: Plan, logs: Logs, i: int, samples: pl.DataFrame) -> dict[str, Any]:
    """One row of ``flows``: rates, RTTs and windows in the measurement window, counts in the whole run."""
    path, sender = logs.link["flows"][i], logs.send["flows"][i]
    payload = plan.form.flows[i].stack.payload_bytes
    begin_s, end_s = plan.form.measure.from_ps / 1e12, plan.form.measure.to_ps / 1e12
    times = samples["time_s"].to_list()
    first, last = (min(range(len(times)), key=lambda k: abs(times[k] - at)) for at in (begin_s, end_s))

    def measured(column: str) -> float:
        return float(samples[column][last] - samples[column][first])

    start_s = logs.send["starts_s"][i]
    completed_s = path["completed_s"]
    return {
        "name": plan.flows[i].name,
        "algorithm": plan.flows[i].algorithm,
        "start_s": start_s,
        "goodput_mbps": rate_mbps(measured("delivered_bytes"), end_s - begin_s),
        "throughput_mbps": rate_mbps(measured("wire_bytes"), end_s - begin_s),
        "segments_delivered": path["received_bytes"] // payload,
        "segments_sent": path["segments_sent"],
        "retransmits": sender["retransmits"],
        "loss_events": sender["loss_events"],
        "ecn_events": sender["ecn_events"] if plan.form.flows[i].stack.ecn else 0,
        "timeouts": sender["timeouts"],
        "spurious_retransmits": path["duplicates"],
        **{name: path[name] for name in _FROM_LINK},
        "cwnd_mean": sender["cwnd_mean"],
        "cwnd_max": sender["cwnd_max"],
        "receive_window_limited_fraction": float(sender["receive_window_limited_fraction"]),
        "completion_s": None if completed_s is None else completed_s - start_s,
    }


def _link(logs: Logs, link: Mapping[str, Any]) -> pl.DataFrame:
    import polars as pl

    times = logs.link["times_s"]
    columns = {
        name: pl.Series(values, dtype=pl.UInt64 if name in _LINK_COUNTS else pl.Float64)
        for name, values in link["samples"].items()
    }
    frame = pl.DataFrame({"time_s": times, "link": [link["name"]] * len(times), **columns})
    return frame.with_columns(pl.col("link").cast(pl.Categorical))
