"""Metrics: one function for each metric, with its definition, its unit and its source in one place.

A metric takes a run and, if applicable, a ``window`` (seconds; the scenario's ``[measure]`` by default) and the
``flows`` or the ``link``. ``run`` and ``link`` metrics return one number, and ``flow`` metrics return one number for
each flow::

    metrics.asymmetry(run, window=(250, 500))
    metrics.get("throughput_share")(run)["cubic-1"]

The module of a name is imported when the name is first used, since most of them load NumPy and Polars, which a run and
its summary do not need.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from elephan.metrics.registry import Metric, get, metric, registry

if TYPE_CHECKING:
    from elephan.metrics.compound import mean_dwnd_fraction as mean_dwnd_fraction
    from elephan.metrics.compound import wnd_fill_time_s as wnd_fill_time_s
    from elephan.metrics.convergence import converged as converged
    from elephan.metrics.convergence import convergence_abs_time_s as convergence_abs_time_s
    from elephan.metrics.convergence import convergence_accumulated_time_s as convergence_accumulated_time_s
    from elephan.metrics.convergence import convergence_cwnd_time_s as convergence_cwnd_time_s
    from elephan.metrics.convergence import convergence_epochs as convergence_epochs
    from elephan.metrics.convergence import convergence_time_s as convergence_time_s
    from elephan.metrics.convergence import delta_fair_convergence_time_s as delta_fair_convergence_time_s
    from elephan.metrics.convergence import fairness_excursion_s as fairness_excursion_s
    from elephan.metrics.convergence import jain_convergence_time_s as jain_convergence_time_s
    from elephan.metrics.convergence import rates_close_time_s as rates_close_time_s
    from elephan.metrics.delay import mean_srtt_ms as mean_srtt_ms
    from elephan.metrics.delay import owd_mean_ms as owd_mean_ms
    from elephan.metrics.delay import owd_min_ms as owd_min_ms
    from elephan.metrics.delay import owd_p50_ms as owd_p50_ms
    from elephan.metrics.delay import owd_p95_ms as owd_p95_ms
    from elephan.metrics.delay import owd_p99_ms as owd_p99_ms
    from elephan.metrics.delay import power_mbps_per_s as power_mbps_per_s
    from elephan.metrics.delay import queueing_delay_ms as queueing_delay_ms
    from elephan.metrics.delay import relative_power as relative_power
    from elephan.metrics.fairness import abs_asymmetry as abs_asymmetry
    from elephan.metrics.fairness import asymmetry as asymmetry
    from elephan.metrics.fairness import jain_fi as jain_fi
    from elephan.metrics.fairness import jain_fi_when_all_active as jain_fi_when_all_active
    from elephan.metrics.fairness import jain_index as jain_index
    from elephan.metrics.fairness import mean_jain_fi as mean_jain_fi
    from elephan.metrics.fairness import min_max_ratio as min_max_ratio
    from elephan.metrics.fairness import product_fairness as product_fairness
    from elephan.metrics.fairness import rtt_fairness_exponent as rtt_fairness_exponent
    from elephan.metrics.fairness import rtt_fairness_ratio as rtt_fairness_ratio
    from elephan.metrics.fairness import throughput_ratio as throughput_ratio
    from elephan.metrics.fairness import throughput_ratio_long_over_short as throughput_ratio_long_over_short
    from elephan.metrics.friendliness import harm as harm
    from elephan.metrics.friendliness import only_reno as only_reno
    from elephan.metrics.friendliness import tcp_friendliness as tcp_friendliness
    from elephan.metrics.queueing import mark_rate as mark_rate
    from elephan.metrics.queueing import max_queue_pkts as max_queue_pkts
    from elephan.metrics.queueing import mean_queue_delay_ms as mean_queue_delay_ms
    from elephan.metrics.queueing import mean_queue_pkts as mean_queue_pkts
    from elephan.metrics.queueing import min_queue_pkts as min_queue_pkts
    from elephan.metrics.queueing import p50_queue_pkts as p50_queue_pkts
    from elephan.metrics.queueing import p95_queue_pkts as p95_queue_pkts
    from elephan.metrics.queueing import p99_queue_pkts as p99_queue_pkts
    from elephan.metrics.queueing import queue_cov as queue_cov
    from elephan.metrics.queueing import queue_empty_fraction as queue_empty_fraction
    from elephan.metrics.queueing import queue_occupancy as queue_occupancy
    from elephan.metrics.reading import MetricError as MetricError
    from elephan.metrics.reading import Window as Window
    from elephan.metrics.reading import base_rtt_s as base_rtt_s
    from elephan.metrics.reading import bottleneck as bottleneck
    from elephan.metrics.reading import flow_names as flow_names
    from elephan.metrics.reading import measure_window as measure_window
    from elephan.metrics.response import aggressiveness_pkts_per_rtt as aggressiveness_pkts_per_rtt
    from elephan.metrics.response import growth_factor_per_rtt as growth_factor_per_rtt
    from elephan.metrics.response import halving_time_s as halving_time_s
    from elephan.metrics.response import increase_pkts_per_rtt as increase_pkts_per_rtt
    from elephan.metrics.response import largest_rate_drop as largest_rate_drop
    from elephan.metrics.response import recovery_time_s as recovery_time_s
    from elephan.metrics.response import startup_time_s as startup_time_s
    from elephan.metrics.response import throughput_cov as throughput_cov
    from elephan.metrics.response import time_to_full_rate_s as time_to_full_rate_s
    from elephan.metrics.statistics import Interval as Interval
    from elephan.metrics.statistics import holm as holm
    from elephan.metrics.statistics import interval as interval
    from elephan.metrics.statistics import over_seeds as over_seeds
    from elephan.metrics.statistics import paired_difference as paired_difference
    from elephan.metrics.throughput import cov_total_throughput as cov_total_throughput
    from elephan.metrics.throughput import drops as drops
    from elephan.metrics.throughput import goodput_mbps as goodput_mbps
    from elephan.metrics.throughput import late_flow_share as late_flow_share
    from elephan.metrics.throughput import link_throughput_mbps as link_throughput_mbps
    from elephan.metrics.throughput import loss_rate as loss_rate
    from elephan.metrics.throughput import mean_throughput_mbps as mean_throughput_mbps
    from elephan.metrics.throughput import sum_goodput_mbps as sum_goodput_mbps
    from elephan.metrics.throughput import sum_throughput_mbps as sum_throughput_mbps
    from elephan.metrics.throughput import throughput_mbps as throughput_mbps
    from elephan.metrics.throughput import throughput_share as throughput_share
    from elephan.metrics.throughput import utilization as utilization
    from elephan.metrics.transfers import Transfers as Transfers
    from elephan.metrics.transfers import by_size as by_size
    from elephan.metrics.transfers import completed as completed
    from elephan.metrics.transfers import completed_fraction as completed_fraction
    from elephan.metrics.transfers import completion_s as completion_s
    from elephan.metrics.transfers import flow_duration_p50_ms as flow_duration_p50_ms
    from elephan.metrics.transfers import flow_duration_p95_ms as flow_duration_p95_ms
    from elephan.metrics.transfers import flow_duration_p99_ms as flow_duration_p99_ms
    from elephan.metrics.transfers import mean_flow_duration_ms as mean_flow_duration_ms
    from elephan.metrics.transfers import mean_flow_rate_mbps as mean_flow_rate_mbps
    from elephan.metrics.transfers import mean_size_over_mean_duration_mbps as mean_size_over_mean_duration_mbps
    from elephan.metrics.transfers import mean_slowdown as mean_slowdown
    from elephan.metrics.transfers import offered_mbps as offered_mbps
    from elephan.metrics.transfers import short_flow_total_mbps as short_flow_total_mbps
    from elephan.metrics.transfers import sized_transfers as sized_transfers
    from elephan.metrics.transfers import slowdown_p50 as slowdown_p50
    from elephan.metrics.transfers import slowdown_p99 as slowdown_p99
    from elephan.metrics.transfers import transfers_begun as transfers_begun
    from elephan.metrics.windows import backoff_delta as backoff_delta
    from elephan.metrics.windows import congestion_events as congestion_events
    from elephan.metrics.windows import cwnd_cov as cwnd_cov
    from elephan.metrics.windows import cwnd_curvature as cwnd_curvature
    from elephan.metrics.windows import cwnd_fraction_of_bdp as cwnd_fraction_of_bdp
    from elephan.metrics.windows import ecn_events as ecn_events
    from elephan.metrics.windows import epoch_duration_s as epoch_duration_s
    from elephan.metrics.windows import epoch_growth_pkts as epoch_growth_pkts
    from elephan.metrics.windows import loss_event_rate as loss_event_rate
    from elephan.metrics.windows import loss_events as loss_events
    from elephan.metrics.windows import max_cwnd_pkts as max_cwnd_pkts
    from elephan.metrics.windows import mean_cwnd_pkts as mean_cwnd_pkts
    from elephan.metrics.windows import peak_window_over_bdp as peak_window_over_bdp
    from elephan.metrics.windows import receive_window_limited_fraction as receive_window_limited_fraction
    from elephan.metrics.windows import response_over_reno as response_over_reno
    from elephan.metrics.windows import response_pkts_per_rtt as response_pkts_per_rtt
    from elephan.metrics.windows import retransmit_rate as retransmit_rate
    from elephan.metrics.windows import retransmits as retransmits
    from elephan.metrics.windows import rtt_mean_ms as rtt_mean_ms
    from elephan.metrics.windows import rtt_min_ms as rtt_min_ms
    from elephan.metrics.windows import rtt_p50_ms as rtt_p50_ms
    from elephan.metrics.windows import rtt_p95_ms as rtt_p95_ms
    from elephan.metrics.windows import rtt_p99_ms as rtt_p99_ms
    from elephan.metrics.windows import timeouts as timeouts

_HOMES = {
    "Interval": "elephan.metrics.statistics",
    "MetricError": "elephan.metrics.reading",
    "Transfers": "elephan.metrics.transfers",
    "Window": "elephan.metrics.reading",
    "abs_asymmetry": "elephan.metrics.fairness",
    "aggressiveness_pkts_per_rtt": "elephan.metrics.response",
    "asymmetry": "elephan.metrics.fairness",
    "backoff_delta": "elephan.metrics.windows",
    "base_rtt_s": "elephan.metrics.reading",
    "bottleneck": "elephan.metrics.reading",
    "by_size": "elephan.metrics.transfers",
    "completed": "elephan.metrics.transfers",
    "completed_fraction": "elephan.metrics.transfers",
    "completion_s": "elephan.metrics.transfers",
    "converged": "elephan.metrics.convergence",
    "convergence_abs_time_s": "elephan.metrics.convergence",
    "convergence_accumulated_time_s": "elephan.metrics.convergence",
    "convergence_cwnd_time_s": "elephan.metrics.convergence",
    "convergence_epochs": "elephan.metrics.convergence",
    "convergence_time_s": "elephan.metrics.convergence",
    "cov_total_throughput": "elephan.metrics.throughput",
    "cwnd_cov": "elephan.metrics.windows",
    "cwnd_curvature": "elephan.metrics.windows",
    "cwnd_fraction_of_bdp": "elephan.metrics.windows",
    "delta_fair_convergence_time_s": "elephan.metrics.convergence",
    "drops": "elephan.metrics.throughput",
    "epoch_duration_s": "elephan.metrics.windows",
    "epoch_growth_pkts": "elephan.metrics.windows",
    "fairness_excursion_s": "elephan.metrics.convergence",
    "flow_duration_p50_ms": "elephan.metrics.transfers",
    "flow_duration_p95_ms": "elephan.metrics.transfers",
    "flow_duration_p99_ms": "elephan.metrics.transfers",
    "flow_names": "elephan.metrics.reading",
    "goodput_mbps": "elephan.metrics.throughput",
    "growth_factor_per_rtt": "elephan.metrics.response",
    "halving_time_s": "elephan.metrics.response",
    "harm": "elephan.metrics.friendliness",
    "holm": "elephan.metrics.statistics",
    "increase_pkts_per_rtt": "elephan.metrics.response",
    "interval": "elephan.metrics.statistics",
    "jain_convergence_time_s": "elephan.metrics.convergence",
    "jain_fi": "elephan.metrics.fairness",
    "jain_fi_when_all_active": "elephan.metrics.fairness",
    "jain_index": "elephan.metrics.fairness",
    "largest_rate_drop": "elephan.metrics.response",
    "late_flow_share": "elephan.metrics.throughput",
    "link_throughput_mbps": "elephan.metrics.throughput",
    "loss_event_rate": "elephan.metrics.windows",
    "loss_events": "elephan.metrics.windows",
    "retransmits": "elephan.metrics.windows",
    "timeouts": "elephan.metrics.windows",
    "congestion_events": "elephan.metrics.windows",
    "ecn_events": "elephan.metrics.windows",
    "loss_rate": "elephan.metrics.throughput",
    "mark_rate": "elephan.metrics.queueing",
    "max_cwnd_pkts": "elephan.metrics.windows",
    "max_queue_pkts": "elephan.metrics.queueing",
    "mean_cwnd_pkts": "elephan.metrics.windows",
    "mean_dwnd_fraction": "elephan.metrics.compound",
    "mean_flow_duration_ms": "elephan.metrics.transfers",
    "mean_flow_rate_mbps": "elephan.metrics.transfers",
    "mean_jain_fi": "elephan.metrics.fairness",
    "mean_queue_delay_ms": "elephan.metrics.queueing",
    "mean_queue_pkts": "elephan.metrics.queueing",
    "mean_size_over_mean_duration_mbps": "elephan.metrics.transfers",
    "mean_slowdown": "elephan.metrics.transfers",
    "mean_srtt_ms": "elephan.metrics.delay",
    "mean_throughput_mbps": "elephan.metrics.throughput",
    "measure_window": "elephan.metrics.reading",
    "min_max_ratio": "elephan.metrics.fairness",
    "min_queue_pkts": "elephan.metrics.queueing",
    "offered_mbps": "elephan.metrics.transfers",
    "only_reno": "elephan.metrics.friendliness",
    "over_seeds": "elephan.metrics.statistics",
    "owd_mean_ms": "elephan.metrics.delay",
    "owd_min_ms": "elephan.metrics.delay",
    "owd_p50_ms": "elephan.metrics.delay",
    "owd_p95_ms": "elephan.metrics.delay",
    "owd_p99_ms": "elephan.metrics.delay",
    "p50_queue_pkts": "elephan.metrics.queueing",
    "p95_queue_pkts": "elephan.metrics.queueing",
    "p99_queue_pkts": "elephan.metrics.queueing",
    "paired_difference": "elephan.metrics.statistics",
    "peak_window_over_bdp": "elephan.metrics.windows",
    "power_mbps_per_s": "elephan.metrics.delay",
    "product_fairness": "elephan.metrics.fairness",
    "queue_cov": "elephan.metrics.queueing",
    "queue_empty_fraction": "elephan.metrics.queueing",
    "queue_occupancy": "elephan.metrics.queueing",
    "queueing_delay_ms": "elephan.metrics.delay",
    "rates_close_time_s": "elephan.metrics.convergence",
    "receive_window_limited_fraction": "elephan.metrics.windows",
    "recovery_time_s": "elephan.metrics.response",
    "relative_power": "elephan.metrics.delay",
    "response_over_reno": "elephan.metrics.windows",
    "response_pkts_per_rtt": "elephan.metrics.windows",
    "retransmit_rate": "elephan.metrics.windows",
    "rtt_fairness_exponent": "elephan.metrics.fairness",
    "rtt_fairness_ratio": "elephan.metrics.fairness",
    "rtt_mean_ms": "elephan.metrics.windows",
    "rtt_min_ms": "elephan.metrics.windows",
    "rtt_p50_ms": "elephan.metrics.windows",
    "rtt_p95_ms": "elephan.metrics.windows",
    "rtt_p99_ms": "elephan.metrics.windows",
    "short_flow_total_mbps": "elephan.metrics.transfers",
    "sized_transfers": "elephan.metrics.transfers",
    "slowdown_p50": "elephan.metrics.transfers",
    "slowdown_p99": "elephan.metrics.transfers",
    "startup_time_s": "elephan.metrics.response",
    "sum_goodput_mbps": "elephan.metrics.throughput",
    "sum_throughput_mbps": "elephan.metrics.throughput",
    "tcp_friendliness": "elephan.metrics.friendliness",
    "throughput_cov": "elephan.metrics.response",
    "throughput_mbps": "elephan.metrics.throughput",
    "throughput_ratio": "elephan.metrics.fairness",
    "throughput_ratio_long_over_short": "elephan.metrics.fairness",
    "throughput_share": "elephan.metrics.throughput",
    "time_to_full_rate_s": "elephan.metrics.response",
    "transfers_begun": "elephan.metrics.transfers",
    "utilization": "elephan.metrics.throughput",
    "wnd_fill_time_s": "elephan.metrics.compound",
}


__all__ = [
    "Interval",
    "Metric",
    "MetricError",
    "Transfers",
    "Window",
    "abs_asymmetry",
    "aggressiveness_pkts_per_rtt",
    "asymmetry",
    "backoff_delta",
    "base_rtt_s",
    "bottleneck",
    "by_size",
    "completed",
    "completed_fraction",
    "completion_s",
    "congestion_events",
    "converged",
    "convergence_abs_time_s",
    "convergence_accumulated_time_s",
    "convergence_cwnd_time_s",
    "convergence_epochs",
    "convergence_time_s",
    "cov_total_throughput",
    "cwnd_cov",
    "cwnd_curvature",
    "cwnd_fraction_of_bdp",
    "delta_fair_convergence_time_s",
    "drops",
    "ecn_events",
    "epoch_duration_s",
    "epoch_growth_pkts",
    "fairness_excursion_s",
    "flow_duration_p50_ms",
    "flow_duration_p95_ms",
    "flow_duration_p99_ms",
    "flow_names",
    "get",
    "goodput_mbps",
    "growth_factor_per_rtt",
    "halving_time_s",
    "harm",
    "holm",
    "increase_pkts_per_rtt",
    "interval",
    "jain_convergence_time_s",
    "jain_fi",
    "jain_fi_when_all_active",
    "jain_index",
    "largest_rate_drop",
    "late_flow_share",
    "link_throughput_mbps",
    "loss_event_rate",
    "loss_events",
    "loss_rate",
    "mark_rate",
    "max_cwnd_pkts",
    "max_queue_pkts",
    "mean_cwnd_pkts",
    "mean_dwnd_fraction",
    "mean_flow_duration_ms",
    "mean_flow_rate_mbps",
    "mean_jain_fi",
    "mean_queue_delay_ms",
    "mean_queue_pkts",
    "mean_size_over_mean_duration_mbps",
    "mean_slowdown",
    "mean_srtt_ms",
    "mean_throughput_mbps",
    "measure_window",
    "metric",
    "min_max_ratio",
    "min_queue_pkts",
    "offered_mbps",
    "only_reno",
    "over_seeds",
    "owd_mean_ms",
    "owd_min_ms",
    "owd_p50_ms",
    "owd_p95_ms",
    "owd_p99_ms",
    "p50_queue_pkts",
    "p95_queue_pkts",
    "p99_queue_pkts",
    "paired_difference",
    "peak_window_over_bdp",
    "power_mbps_per_s",
    "product_fairness",
    "queue_cov",
    "queue_empty_fraction",
    "queue_occupancy",
    "queueing_delay_ms",
    "rates_close_time_s",
    "receive_window_limited_fraction",
    "recovery_time_s",
    "registry",
    "relative_power",
    "response_over_reno",
    "response_pkts_per_rtt",
    "retransmit_rate",
    "retransmits",
    "rtt_fairness_exponent",
    "rtt_fairness_ratio",
    "rtt_mean_ms",
    "rtt_min_ms",
    "rtt_p50_ms",
    "rtt_p95_ms",
    "rtt_p99_ms",
    "short_flow_total_mbps",
    "sized_transfers",
    "slowdown_p50",
    "slowdown_p99",
    "startup_time_s",
    "sum_goodput_mbps",
    "sum_throughput_mbps",
    "tcp_friendliness",
    "throughput_cov",
    "throughput_mbps",
    "throughput_ratio",
    "throughput_ratio_long_over_short",
    "throughput_share",
    "time_to_full_rate_s",
    "timeouts",
    "transfers_begun",
    "utilization",
    "wnd_fill_time_s",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'elephan.metrics' has no attribute '{name}'")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
