//! The metrics by name. Their definitions in words, units and sources are in Python's `elephan.metrics`.

use crate::ask::{Ask, Setting};
use crate::data::Data;
use crate::error::Found;
use crate::throughput::ByFlow;
use crate::{convergence as c, fairness as f, flows as w, queueing as q, throughput as t, transfers as x};

type Number = fn(&Data, &Ask) -> Found<f64>;

/// How a metric is computed.
#[derive(Clone, Copy)]
enum Compute {
    Run(Number),
    Link(Number),
    Flow(fn(&Data, &Ask) -> Found<ByFlow>),
}

use Compute::{Flow, Link, Run};

/// Subject of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The run as a whole.
    Run,
    /// A link.
    Link,
    /// Each flow.
    Flow,
}

/// A metric: its name, its settings with their defaults, and how it is computed.
#[derive(Clone, Copy)]
pub struct Metric {
    /// Name.
    pub name: &'static str,
    /// Settings.
    pub settings: &'static [Setting],
    compute: Compute,
}

/// The value of a metric.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Number of a run or a link.
    Number(f64),
    /// Numbers of each flow, in order of start.
    Flows(ByFlow),
}

impl Metric {
    /// Subject of the metric.
    #[must_use]
    pub fn scope(&self) -> Scope {
        match self.compute {
            Run(_) => Scope::Run,
            Link(_) => Scope::Link,
            Flow(_) => Scope::Flow,
        }
    }

    /// The metric's value for a run.
    ///
    /// # Errors
    /// The metric is not defined for this run or these arguments.
    pub fn value(&self, data: &Data, ask: &Ask) -> Found<Value> {
        match self.compute {
            Run(number) | Link(number) => number(data, ask).map(Value::Number),
            Flow(numbers) => numbers(data, ask).map(Value::Flows),
        }
    }
}

const fn run(name: &'static str, number: Number) -> Metric {
    Metric { name, settings: &[], compute: Run(number) }
}

const fn link(name: &'static str, number: Number) -> Metric {
    Metric { name, settings: &[], compute: Link(number) }
}

const fn flow(name: &'static str, numbers: fn(&Data, &Ask) -> Found<ByFlow>) -> Metric {
    Metric { name, settings: &[], compute: Flow(numbers) }
}

const fn with(settings: &'static [Setting], metric: Metric) -> Metric {
    Metric { settings, ..metric }
}

/// All metrics that are computed here.
pub static METRICS: &[Metric] = &[
    // Rates and losses.
    flow("throughput_mbps", t::throughput_mbps),
    flow("goodput_mbps", t::goodput_mbps),
    flow("throughput_share", t::throughput_share),
    run("sum_throughput_mbps", t::sum_throughput_mbps),
    run("sum_goodput_mbps", t::sum_goodput_mbps),
    run("mean_throughput_mbps", t::mean_throughput_mbps),
    run("late_flow_share", t::late_flow_share),
    link("utilization", t::utilization),
    link("link_throughput_mbps", t::link_throughput_mbps),
    link("drops", t::drops),
    link("loss_rate", t::loss_rate),
    link("offered_pkts_per_rtt", t::offered_pkts_per_rtt),
    with(&[t::STABILITY_BIN_S], link("cov_total_throughput", t::cov_total_throughput)),
    // Queues.
    link("mean_queue_pkts", q::mean_queue_pkts),
    link("min_queue_pkts", q::min_queue_pkts),
    link("max_queue_pkts", q::max_queue_pkts),
    link("queue_cov", q::queue_cov),
    link("p50_queue_pkts", q::p50_queue_pkts),
    link("p95_queue_pkts", q::p95_queue_pkts),
    link("p99_queue_pkts", q::p99_queue_pkts),
    link("queue_occupancy", q::queue_occupancy),
    link("queue_empty_fraction", q::queue_empty_fraction),
    link("mark_rate", q::mark_rate),
    link("mean_queue_delay_ms", q::mean_queue_delay_ms),
    // Fairness.
    run("jain_fi", f::jain_fi),
    with(&[f::FAIRNESS_BIN_S], run("mean_jain_fi", f::mean_jain_fi)),
    run("jain_fi_when_all_active", f::jain_fi_when_all_active),
    run("min_max_ratio", f::min_max_ratio),
    run("product_fairness", f::product_fairness),
    run("asymmetry", f::asymmetry),
    run("abs_asymmetry", f::abs_asymmetry),
    run("throughput_ratio", f::throughput_ratio),
    run("rtt_fairness_ratio", f::rtt_fairness_ratio),
    run("throughput_ratio_long_over_short", f::throughput_ratio_long_over_short),
    run("rtt_fairness_exponent", f::rtt_fairness_exponent),
    // Convergence.
    with(&[c::MEAN_S, c::REACHED], run("convergence_time_s", c::convergence_time_s)),
    run("converged", c::converged),
    with(&[c::REACHED], run("convergence_accumulated_time_s", c::convergence_accumulated_time_s)),
    with(&[c::MEAN_S, c::REACHED, c::STAYS_S], run("convergence_cwnd_time_s", c::convergence_cwnd_time_s)),
    with(&[c::STEADY], run("convergence_epochs", c::convergence_epochs)),
    with(&[c::MEAN_S, c::REACHED], run("fairness_excursion_s", c::fairness_excursion_s)),
    with(&[c::MEAN_S, c::INDEX], run("jain_convergence_time_s", c::jain_convergence_time_s)),
    with(&[c::MEAN_S, c::DELTA], run("delta_fair_convergence_time_s", c::delta_fair_convergence_time_s)),
    with(&[c::HOLD_S, c::WITHIN], run("convergence_abs_time_s", c::convergence_abs_time_s)),
    with(&[c::HOLD_S, c::WITHIN], run("rates_close_time_s", c::rates_close_time_s)),
    // Single flows.
    flow("mean_cwnd_pkts", w::mean_cwnd_pkts),
    flow("max_cwnd_pkts", w::max_cwnd_pkts),
    flow("cwnd_cov", w::cwnd_cov),
    flow("cwnd_fraction_of_bdp", w::cwnd_fraction_of_bdp),
    flow("peak_window_over_bdp", w::peak_window_over_bdp),
    flow("loss_events", w::loss_events),
    flow("ecn_events", w::ecn_events),
    flow("congestion_events", w::congestion_events),
    flow("timeouts", w::timeouts),
    flow("retransmits", w::retransmits),
    flow("loss_event_rate", w::loss_event_rate),
    flow("retransmit_rate", w::retransmit_rate),
    flow("response_pkts_per_rtt", w::response_pkts_per_rtt),
    flow("response_over_reno", w::response_over_reno),
    flow("receive_window_limited_fraction", w::receive_window_limited_fraction),
    flow("rtt_min_ms", w::rtt_min_ms),
    flow("rtt_mean_ms", w::rtt_mean_ms),
    flow("rtt_p50_ms", w::rtt_p50_ms),
    flow("rtt_p95_ms", w::rtt_p95_ms),
    flow("rtt_p99_ms", w::rtt_p99_ms),
    flow("mean_srtt_ms", w::mean_srtt_ms),
    flow("queueing_delay_ms", w::queueing_delay_ms),
    flow("power_mbps_per_s", w::power_mbps_per_s),
    flow("relative_power", w::relative_power),
    flow("owd_min_ms", w::owd_min_ms),
    flow("owd_mean_ms", w::owd_mean_ms),
    flow("owd_p50_ms", w::owd_p50_ms),
    flow("owd_p95_ms", w::owd_p95_ms),
    flow("owd_p99_ms", w::owd_p99_ms),
    flow("completion_s", w::completion_s),
    // Transfers.
    run("transfers_begun", x::transfers_begun),
    run("completed_fraction", x::completed_fraction),
    run("mean_flow_rate_mbps", x::mean_flow_rate_mbps),
    run("mean_size_over_mean_duration_mbps", x::mean_size_over_mean_duration_mbps),
    run("mean_flow_duration_ms", x::mean_flow_duration_ms),
    run("flow_duration_p50_ms", x::flow_duration_p50_ms),
    run("flow_duration_p95_ms", x::flow_duration_p95_ms),
    run("flow_duration_p99_ms", x::flow_duration_p99_ms),
    run("mean_slowdown", x::mean_slowdown),
    run("slowdown_p50", x::slowdown_p50),
    run("slowdown_p99", x::slowdown_p99),
    run("offered_mbps", x::offered_mbps),
    run("short_flow_total_mbps", x::short_flow_total_mbps),
];

/// The metric of a name.
#[must_use]
pub fn metric(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn each_name_is_there_once() {
        let names: HashSet<&str> = METRICS.iter().map(|metric| metric.name).collect();
        assert_eq!(names.len(), METRICS.len());
        assert!(metric("utilization").is_some_and(|found| found.scope() == Scope::Link) && metric("x").is_none());
    }
}
