"""Themes of claims: the questions that the papers share, by a claim's metric."""

from __future__ import annotations

from elephan.papers.judging import Judgment

OTHER = "do its rules and models describe its behavior?"
_METRICS = {
    "does it fill the pipe?": (
        "utilization", "mean_utilization", "throughput_mbps", "sum_throughput_mbps", "max_sum_throughput_mbps",
        "time_to_full_rate_s", "fill_time_s", "wnd_fill_time_s", "cov_total_throughput",
        "throughput_loss_vs_case1_mbps",
        "throughput_loss_vs_case2_mbps", "relative_spread_throughput", "reverse_rate_cap_mbps", "max_cwnd_pkts",
    ),
    "do flows share it?": (
        "jain_fi", "jain_fi_range", "jain_gain_vs_nobg", "abs_change_jain_vs_nobg", "jain_fi_when_all_active",
        "jain_fi_four_flows", "asymmetry", "abs_asymmetry", "abs_asymmetry_range", "mean_abs_asymmetry",
        "reduction_abs_asymmetry", "region", "throughput_share", "throughput_mbps_flow1", "throughput_mbps_flow2",
        "throughput_ratio", "throughput_ratio_long_over_short", "throughput_ratio_short_over_long", "row_ratio",
        "throughput_rank", "n_algorithms_with_higher_jain", "fairness_excursion", "n_in_region1", "n_in_region3",
        "n_in_region5", "n_in_region2_plus_4", "n_region4_without_cubic", "n_region3_with_fast", "n_region1_intra",
        "n_mixed_pairs_where_cubic_wins", "n_mixed_pairs_where_fast_wins", "n_pairs_below_half",
        "n_mixed_pairs_in_region_ge3", "n_pairs_where_flow2_wins", "n_region2_mixed_without_htcp",
        "competitor_throughput_mbps",
    ),
    "does it converge, and recover?": (
        "convergence_time_s", "convergence_abs_time_s", "convergence_epochs", "n_rtts_not_converged", "converged",
        "n_algorithms_converging_faster", "recovery_time_s", "recovery_start_s", "recovery_slope_ratio",
        "epoch_duration_s", "epoch_duration_ratio", "epoch_ratio_to_reno", "epoch_growth_pkts", "epoch_growth_time_s",
    ),
    "does it leave room for ordinary TCP and short transfers?": (
        "throughput_mbps_reno_mean", "mean_flow_rate_mbps", "mean_size_over_mean_duration_mbps",
        "mean_flow_duration_ms", "long_flow_mbps", "short_flow_total_mbps",
    ),
    "what does it do to the queue, and what is lost?": (
        "mean_queue_pkts", "min_queue_pkts", "queue_cov", "loss_rate", "loss_count", "loss_events",
        "loss_events_steady", "n_algorithms_with_higher_loss", "spurious_backoffs",
    ),
}  # fmt: skip
_THEME = {metric: theme for theme, metrics in _METRICS.items() for metric in metrics}
THEMES = (*_METRICS, OTHER)


def theme(judgment: Judgment) -> str:
    """The question that a claim belongs to."""
    return _THEME.get(judgment.claim.metric, OTHER)
