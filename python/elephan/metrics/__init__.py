"""The numbers: one function a metric, each with its definition, its unit and its source in one place.

A metric takes a run and, where it makes sense, a ``window`` (seconds; the scenario's ``[measure]`` by default) and the
``flows`` or the ``link`` to look at. ``run`` and ``link`` metrics give a number, ``flow`` metrics one for each flow::

    metrics.asymmetry(run, window=(250, 500))
    metrics.get("throughput_share")(run)["cubic-1"]
"""

from elephan.metrics.fairness import (
    abs_asymmetry,
    asymmetry,
    convergence_abs_time_s,
    convergence_time_s,
    delta_fair_convergence_time_s,
    jain_fi,
    jain_index,
)
from elephan.metrics.queueing import (
    max_queue_pkts,
    mean_queue_delay_ms,
    mean_queue_pkts,
    min_queue_pkts,
    queue_cov,
)
from elephan.metrics.reading import MetricError, Window, base_rtt_s, bottleneck, flow_names, measure_window
from elephan.metrics.registry import Metric, get, metric, registry
from elephan.metrics.statistics import Interval, interval
from elephan.metrics.throughput import (
    cov_total_throughput,
    drops,
    goodput_mbps,
    late_comer_share,
    link_throughput_mbps,
    loss_rate,
    rtt_fairness_ratio,
    sum_goodput_mbps,
    sum_throughput_mbps,
    throughput_mbps,
    throughput_share,
    utilization,
)
from elephan.metrics.windows import (
    completion_s,
    cwnd_cov,
    cwnd_fraction_of_bdp,
    epoch_duration_s,
    loss_event_rate,
    loss_events,
    max_cwnd_pkts,
    mean_cwnd_pkts,
    receive_window_limited_fraction,
    response_pkts_per_rtt,
    rtt_mean_ms,
    rtt_min_ms,
    rtt_p50_ms,
    rtt_p95_ms,
    rtt_p99_ms,
)

__all__ = [
    "Interval",
    "Metric",
    "MetricError",
    "Window",
    "abs_asymmetry",
    "asymmetry",
    "base_rtt_s",
    "bottleneck",
    "completion_s",
    "convergence_abs_time_s",
    "convergence_time_s",
    "cov_total_throughput",
    "cwnd_cov",
    "cwnd_fraction_of_bdp",
    "delta_fair_convergence_time_s",
    "drops",
    "epoch_duration_s",
    "flow_names",
    "get",
    "goodput_mbps",
    "interval",
    "jain_fi",
    "jain_index",
    "late_comer_share",
    "link_throughput_mbps",
    "loss_event_rate",
    "loss_events",
    "loss_rate",
    "max_cwnd_pkts",
    "max_queue_pkts",
    "mean_cwnd_pkts",
    "mean_queue_delay_ms",
    "mean_queue_pkts",
    "measure_window",
    "metric",
    "min_queue_pkts",
    "queue_cov",
    "receive_window_limited_fraction",
    "registry",
    "response_pkts_per_rtt",
    "rtt_fairness_ratio",
    "rtt_mean_ms",
    "rtt_min_ms",
    "rtt_p50_ms",
    "rtt_p95_ms",
    "rtt_p99_ms",
    "sum_goodput_mbps",
    "sum_throughput_mbps",
    "throughput_mbps",
    "throughput_share",
    "utilization",
]
