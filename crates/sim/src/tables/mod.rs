//! An outcome as tables of plain columns, which each binding converts to its own form (Arrow in Python, typed arrays in
//! a browser). The columns are defined in `docs/` and in `elephan.runs`.

mod column;
mod events;

use elephan_cc::Variable;
use elephan_cc::observe::Form;

use crate::checks::ResolutionReport;
use crate::crowd::{Crowd, CrowdSample, MeasuredLosses, QUANTILES, Spread};
use crate::link::LinkTotals;
use crate::outcome::Outcome;
use crate::rates::{MBIT_PER_BYTE, payload_rate_mbps, rate_mbps};
use crate::record::{LinkSample, OneWayDelays, ReceiverRecord, ReceiverSample, SenderRecord, SenderSample};
use crate::spec::{ArrivalsSpec, FlowSpec, LinkSpec, SourceSpec, Spec};
use crate::time::Time;
use crate::traffic::{Finished, SourceTotals, Summary, Transfer};

pub use column::{Column, NO_NAME, Table};
pub use events::events;

use column::{counts, floats, flow_names, names, numbers, source_names};

/// Every table of a run, with its name.
#[must_use]
pub fn all(spec: &Spec, outcome: &Outcome) -> Vec<(&'static str, Table)> {
    let mut tables =
        vec![("flows", flows(spec, outcome)), ("samples", samples(spec, outcome)), ("links", links(spec, outcome))];
    if !spec.traffic.is_empty() {
        tables.push(("transfers", transfers(spec, outcome)));
        tables.push(("sources", sources(spec, outcome)));
        if outcome.sources.iter().any(|source| source.summary.is_some()) {
            tables.push(("distributions", distributions(spec, outcome)));
        }
    }
    if spec.flows.iter().any(has_writes) {
        tables.push(("writes", writes(spec, outcome)));
    }
    if spec.internals {
        tables.push(("internals", internals(spec, outcome)));
    }
    if let Some(reduced) = &outcome.crowd {
        tables.push(("crowd", crowd(outcome, reduced)));
    }
    if let Some(log) = &outcome.events {
        tables.push(("events", events(spec, log)));
    }
    tables
}

/// Data of a flow's row.
struct Row<'a> {
    spec: &'a FlowSpec,
    sender: &'a SenderRecord,
    receiver: &'a ReceiverRecord,
    window_s: f64,
}

impl Row<'_> {
    fn goodput_mbps(&self) -> f64 {
        let [before, after] = self.receiver.measured.map(|sample| self.delivered_bytes(&sample));
        rate_mbps((after - before) as f64, self.window_s)
    }

    fn delivered_bytes(&self, sample: &ReceiverSample) -> u64 {
        sample.delivered_bytes(self.spec.stack.payload_bytes)
    }

    fn throughput_mbps(&self) -> f64 {
        let [before, after] = self.receiver.measured;
        rate_mbps((after.wire_bytes - before.wire_bytes) as f64, self.window_s)
    }

    fn quantile_ms(&self, q: f64) -> f64 {
        self.sender.measured.rtt.quantile(q).map_or(f64::NAN, |s| s * 1e3)
    }

    /// One-way delay of the flow's datagrams, ms; `None` for a TCP flow.
    fn delay_ms(&self, what: impl Fn(&OneWayDelays) -> Option<f64>) -> f64 {
        self.receiver.delays.as_ref().and_then(|delays| what(delays)).map_or(f64::NAN, |s| s * 1e3)
    }
}

fn rows<'a>(spec: &'a Spec, outcome: &'a Outcome) -> Vec<Row<'a>> {
    let window_s = (spec.measure.to_ps - spec.measure.from_ps) as f64 * 1e-12;
    let ends = outcome.senders.iter().zip(&outcome.receivers);
    let flows = spec.flows.iter().zip(ends).filter(|(flow, _)| !flow.is_hosted());
    flows.map(|(spec, (sender, receiver))| Row { spec, sender, receiver, window_s }).collect()
}

/// Table with one row for each flow. A host has the rows of its own flows.
#[must_use]
pub fn flows(spec: &Spec, outcome: &Outcome) -> Table {
    let rows = rows(spec, outcome);
    let float = |f: &dyn Fn(&Row) -> f64| floats(rows.iter().map(f));
    let count = |f: &dyn Fn(&Row) -> u64| counts(rows.iter().map(f));
    let strings = |f: &dyn Fn(&Row) -> String| Column::Texts(rows.iter().map(f).collect());
    let mut columns: Vec<(&str, Column)> = vec![
        ("name", strings(&|r| r.spec.name.clone())),
        ("algorithm", strings(&|r| r.spec.algorithm.clone())),
        ("start_s", float(&|r| r.sender.start.seconds())),
        ("goodput_mbps", float(&|r| r.goodput_mbps())),
        ("throughput_mbps", float(&|r| r.throughput_mbps())),
        ("segments_delivered", count(&|r| r.receiver.totals.delivered)),
        ("segments_sent", count(&|r| r.sender.totals.sent)),
        ("retransmits", count(&|r| r.sender.totals.retransmits)),
        ("loss_events", count(&|r| r.sender.totals.loss_events)),
        ("timeouts", count(&|r| r.sender.totals.timeouts)),
        ("spurious_retransmits", count(&|r| r.receiver.duplicates)),
        ("rtt_min_ms", float(&|r| r.sender.measured.rtt_min * 1e3)),
        ("rtt_mean_ms", float(&|r| r.sender.measured.rtt_sum * 1e3 / r.sender.measured.rtt_count as f64)),
        ("rtt_p50_ms", float(&|r| r.quantile_ms(0.5))),
        ("rtt_p95_ms", float(&|r| r.quantile_ms(0.95))),
        ("rtt_p99_ms", float(&|r| r.quantile_ms(0.99))),
        ("cwnd_mean", float(&|r| r.sender.measured.cwnd_integral / r.window_s)),
        ("cwnd_max", float(&|r| r.sender.measured.cwnd_max)),
        (
            "receive_window_limited_fraction",
            float(&|r| r.sender.measured.receiver_limited as f64 / (r.sender.measured.sends as f64).max(1.0)),
        ),
        ("ecn_events", count(&|r| r.sender.totals.ecn_events)),
        ("marked_segments", count(&|r| r.sender.totals.marked)),
        ("owd_min_ms", float(&|r| r.delay_ms(|d| (d.count > 0).then(|| d.min.seconds())))),
        ("owd_mean_ms", float(&|r| r.delay_ms(OneWayDelays::mean))),
        ("owd_p50_ms", float(&|r| r.delay_ms(|d| d.histogram.quantile(0.5)))),
        ("owd_p95_ms", float(&|r| r.delay_ms(|d| d.histogram.quantile(0.95)))),
        ("owd_p99_ms", float(&|r| r.delay_ms(|d| d.histogram.quantile(0.99)))),
        ("completion_s", float(&|r| r.sender.completed.map_or(f64::NAN, |end| end.since(r.sender.start).seconds()))),
    ];
    // Counts within the measurement window. In a run that keeps the samples of all flows, the counts follow from the
    // samples.
    if let Some(crowd) = &outcome.crowd {
        let received =
            |f: &dyn Fn(&ReceiverSample) -> u64| count(&|r| f(&r.receiver.measured[1]) - f(&r.receiver.measured[0]));
        columns.push(("measured_delivered_segments", received(&|sample| sample.delivered)));
        let measured = |r: &Row| r.receiver.measured.map(|sample| r.delivered_bytes(&sample));
        if rows.iter().any(|r| r.receiver.totals.odd_bytes != 0) {
            columns.push(("measured_delivered_bytes", count(&|r| measured(r)[1] - measured(r)[0])));
        }
        columns.push(("measured_wire_bytes", received(&|sample| sample.wire_bytes)));
        let lost = |f: &dyn Fn(&MeasuredLosses) -> u64| counts(crowd.measured.iter().map(f));
        columns.push(("measured_retransmits", lost(&|losses| losses.retransmits)));
        columns.push(("measured_loss_events", lost(&|losses| losses.loss_events)));
        columns.push(("measured_ecn_events", lost(&|losses| losses.ecn_events)));
        columns.push(("measured_timeouts", lost(&|losses| losses.timeouts)));
    }
    columns
}

/// Table of recorded flow × sample time. A host has the samples of its own flows.
#[must_use]
pub fn samples(spec: &Spec, outcome: &Outcome) -> Table {
    let times = outcome.times.len();
    let flows = spec.flows.iter().zip(&outcome.senders).enumerate();
    let recorded = flows.filter(|&(i, (flow, _))| spec.records(i) && !flow.is_hosted());
    let recorded: Vec<_> = recorded.map(|(_, ends)| ends).collect();
    let sender =
        |f: &dyn Fn(&SenderSample) -> f64| floats(outcome.senders.iter().flat_map(|s| s.samples.iter()).map(f));
    let sent = |f: &dyn Fn(&SenderSample) -> u64| counts(outcome.senders.iter().flat_map(|s| s.samples.iter()).map(f));
    let received =
        |f: &dyn Fn(&ReceiverSample) -> u64| counts(outcome.receivers.iter().flat_map(|r| r.samples.iter()).map(f));
    let mut columns = vec![
        ("time_s", repeated_times(outcome, recorded.len())),
        ("flow", names(recorded.iter().map(|(flow, _)| flow.name.as_str()), times)),
        ("cwnd", sender(&|s| s.cwnd)),
        ("ssthresh", sender(&|s| s.ssthresh)),
        ("srtt_s", sender(&|s| s.srtt)),
        ("rtt_s", sender(&|s| s.rtt)),
        ("in_flight", numbers(outcome.senders.iter().flat_map(|s| s.samples.iter()).map(|s| s.in_flight))),
        ("delivered_segments", received(&|r| r.delivered)),
        ("wire_bytes", received(&|r| r.wire_bytes)),
        ("retransmits", sent(&|s| s.retransmits)),
        ("loss_events", sent(&|s| s.loss_events)),
        ("ecn_events", sent(&|s| s.ecn_events.into())),
        ("timeouts", sent(&|s| s.timeouts.into())),
    ];
    // Otherwise the bytes follow from the segments.
    if outcome.receivers.iter().any(|receiver| receiver.totals.odd_bytes != 0) {
        columns.push(("delivered_bytes", delivered_bytes(spec, outcome)));
    }
    // Only UDT has its own rate, so only a run with a UDT flow has a column of rates.
    if outcome.senders.iter().any(|sender| sender.rates.is_some()) {
        columns.push(("sending_rate_mbps", sending_rates(&recorded, times)));
    }
    columns
}

/// Payload of the distinct segments that arrived, by recorded flow and sample time.
fn delivered_bytes(spec: &Spec, outcome: &Outcome) -> Column {
    let of = |(flow, receiver): (&FlowSpec, &ReceiverRecord)| {
        let payload = flow.stack.payload_bytes;
        receiver.samples.iter().map(move |sample| sample.delivered_bytes(payload)).collect::<Vec<_>>()
    };
    counts(spec.flows.iter().zip(&outcome.receivers).flat_map(of))
}

/// Table of group × sample time × quantile over the group's active flows.
#[must_use]
pub fn crowd(outcome: &Outcome, crowd: &Crowd) -> Table {
    let (groups, times) = (crowd.groups.len(), outcome.times.len());
    // The rows are in the order of time; the table is ordered by group.
    let samples = || (0..groups).flat_map(|group| crowd.rows.iter().skip(group).step_by(groups));
    let each = QUANTILES.len();
    let quantiles = |of: &dyn Fn(&CrowdSample) -> Spread| floats(samples().flat_map(of));
    let repeated = |i: usize| std::iter::repeat_n(outcome.times[i % times].0 as f64 / 1e12, each);
    vec![
        ("time_s", floats((0..groups * times).flat_map(repeated))),
        ("group", names(crowd.groups.iter().map(|group| group.name.as_str()), times * each)),
        ("algorithm", names(crowd.groups.iter().map(|group| group.algorithm.as_str()), times * each)),
        ("active_flows", counts(samples().flat_map(|sample| std::iter::repeat_n(sample.active, each)))),
        ("quantile", floats(std::iter::repeat_n(QUANTILES, groups * times).flatten())),
        ("cwnd_segments", quantiles(&|sample| sample.cwnd)),
        ("srtt_s", quantiles(&|sample| sample.srtt)),
        ("in_flight_segments", quantiles(&|sample| sample.in_flight)),
        ("goodput_mbps", quantiles(&|sample| sample.goodput_mbps)),
    ]
}

/// Table of flow × sample time × internal variable of the flow's algorithm.
#[must_use]
pub fn internals(spec: &Spec, outcome: &Outcome) -> Table {
    let (mut flow_keys, mut variable_keys, mut state_keys) = (Vec::new(), Vec::new(), Vec::new());
    let (mut variable_names, mut state_names) = (Words::default(), Words::default());
    let rows = || {
        outcome.senders.iter().filter_map(|sender| sender.internals.as_deref()).flat_map(|internals| &internals.rows)
    };
    for (flow, sender) in outcome.senders.iter().enumerate() {
        let Some(internals) = sender.internals.as_deref() else { continue };
        let declared = declared_states(&spec.flows[flow].algorithm);
        let variables: Vec<i32> = internals.names.iter().map(|name| variable_names.place(name)).collect();
        let mut states: Vec<Vec<i32>> = Vec::new();
        for name in &internals.names {
            let names = declared.iter().find(|(variable, _)| variable == name).map_or(&[][..], |(_, names)| names);
            states.push(names.iter().map(|state| state_names.place(state)).collect());
        }
        for row in &internals.rows {
            let variable = row.variable as usize;
            flow_keys.push(flow as i32);
            variable_keys.push(variables[variable]);
            // An unknown state is NaN and has no name.
            let state = (row.value >= 0.0).then_some(row.value as usize);
            state_keys.push(state.and_then(|state| states[variable].get(state).copied()).unwrap_or(NO_NAME));
        }
    }
    vec![
        ("time_s", floats(rows().map(|row| outcome.times[row.time as usize].0 as f64 / 1e12))),
        ("flow", Column::Names { keys: flow_keys, words: flow_names(spec) }),
        ("variable", Column::Names { keys: variable_keys, words: variable_names.0 }),
        ("value", floats(rows().map(|row| row.value))),
        ("state", Column::Names { keys: state_keys, words: state_names.0 }),
    ]
}

/// States of an algorithm's variables; none for a user's own algorithm.
fn declared_states(algorithm: &str) -> Vec<(&'static str, &'static [&'static str])> {
    let name = algorithm.split(':').next();
    let entry = elephan_cc::registry().iter().find(|entry| Some(entry.name) == name);
    let states = |variable: &Variable| match variable.form {
        Form::State(names) => Some((variable.name, names)),
        Form::Number(_) => None,
    };
    entry.map_or_else(Vec::new, |entry| entry.variables().filter_map(states).collect())
}

/// Distinct words, in the order of their first use.
#[derive(Default)]
struct Words(Vec<String>);

impl Words {
    fn place(&mut self, word: &str) -> i32 {
        let known = self.0.iter().position(|known| known == word);
        known.unwrap_or_else(|| {
            self.0.push(word.to_owned());
            self.0.len() - 1
        }) as i32
    }
}

/// UDT's sending rates on the wire, one packet per period; `None` for other flows.
fn sending_rates(recorded: &[(&FlowSpec, &SenderRecord)], times: usize) -> Column {
    let rates = recorded.iter().flat_map(|(flow, sender)| {
        let packet_mbits = f64::from(flow.stack.payload_bytes + flow.stack.header_bytes) * MBIT_PER_BYTE;
        let rates = sender.rates.as_deref();
        (0..times).map(move |k| rates.map_or(f64::NAN, |rates| rates[k] * packet_mbits))
    });
    floats(rates)
}

/// Table of recorded link × sample time.
#[must_use]
pub fn links(spec: &Spec, outcome: &Outcome) -> Table {
    let times = outcome.times.len();
    let float = |f: &dyn Fn(&LinkSample) -> f64| floats(outcome.links.iter().flat_map(|(_, s)| s.rows.iter()).map(f));
    let count = |f: &dyn Fn(&LinkSample) -> u64| counts(outcome.links.iter().flat_map(|(_, s)| s.rows.iter()).map(f));
    vec![
        ("time_s", repeated_times(outcome, outcome.links.len())),
        ("link", names(outcome.links.iter().map(|(i, _)| spec.links[*i].name.as_str()), times)),
        ("queue_packets", count(&|l| l.queue)),
        ("queue_mean", float(&|l| l.queue_mean)),
        ("queue_min", count(&|l| l.queue_min)),
        ("queue_max", count(&|l| l.queue_max)),
        ("queue_integral_packet_s", float(&|l| l.integral_packet_seconds)),
        ("arrived_packets", count(&|l| l.arrived)),
        ("dropped_packets", count(&|l| l.dropped)),
        ("marked_packets", count(&|l| l.marked)),
        ("reordered_packets", count(&|l| l.reordered)),
        ("duplicated_packets", count(&|l| l.duplicated)),
        ("delivered_packets", count(&|l| l.delivered)),
        ("delivered_bytes", count(&|l| l.delivered_bytes)),
    ]
}

fn repeated_times(outcome: &Outcome, repeat: usize) -> Column {
    floats((0..repeat).flat_map(|_| outcome.times.iter().map(|t| t.0 as f64 / 1e12)))
}

/// Table with one row for each transfer of a source.
#[must_use]
pub fn transfers(spec: &Spec, outcome: &Outcome) -> Table {
    let rows =
        || spec.traffic.iter().zip(&outcome.sources).flat_map(|(spec, s)| s.transfers.iter().map(move |t| (spec, t)));
    let float = |f: &dyn Fn(&Transfer) -> f64| floats(rows().map(|(_, t)| f(t)));
    let count = |f: &dyn Fn(&Transfer) -> u64| counts(rows().map(|(_, t)| f(t)));
    let sources = spec.traffic.iter().zip(&outcome.sources);
    let keys = sources.enumerate().flat_map(|(k, (_, s))| std::iter::repeat_n(k as i32, s.transfers.len())).collect();
    vec![
        ("source", Column::Names { keys, words: source_names(spec) }),
        ("user", Column::Numbers(rows().map(|(_, t)| t.user).collect())),
        ("start_s", float(&|t| t.start.seconds())),
        ("size_bytes", counts(rows().map(|(s, t)| u64::from(t.segments) * u64::from(s.flow.stack.payload_bytes)))),
        ("size_segments", count(&|t| u64::from(t.segments))),
        ("base_rtt_ms", float(&|t| t.rtt.seconds() * 1e3)),
        (
            "completion_s",
            float(&|t| if t.completed == Time::NEVER { f64::NAN } else { t.completed.since(t.start).seconds() }),
        ),
        ("segments_sent", count(&|t| t.totals.sent)),
        ("retransmits", count(&|t| t.totals.retransmits)),
        ("loss_events", count(&|t| t.totals.loss_events)),
        ("timeouts", count(&|t| t.totals.timeouts)),
    ]
}

fn has_writes(flow: &FlowSpec) -> bool {
    flow.application.as_ref().is_some_and(|application| !application.writes.is_empty())
}

/// Table with one row for each write of an application.
#[must_use]
pub fn writes(spec: &Spec, outcome: &Outcome) -> Table {
    let flows = spec.flows.iter().zip(&outcome.senders).enumerate();
    let rows: Vec<_> = flows
        .flat_map(|(f, (flow, sender))| sender.writes.iter().enumerate().map(move |(k, one)| (f, flow, k, one)))
        .collect();
    vec![
        ("flow", Column::Names { keys: rows.iter().map(|row| row.0 as i32).collect(), words: flow_names(spec) }),
        ("write", Column::Numbers(rows.iter().map(|row| Some(row.2 as u32)).collect())),
        ("at_s", floats(rows.iter().map(|row| row.3.at.seconds()))),
        ("size_bytes", counts(rows.iter().map(|row| row.3.bytes))),
        ("size_segments", counts(rows.iter().map(|row| row.3.bytes.div_ceil(u64::from(row.1.stack.payload_bytes))))),
        (
            "completion_s",
            floats(rows.iter().map(|row| row.3.completed.map_or(f64::NAN, |end| end.since(row.3.at).seconds()))),
        ),
    ]
}

/// Table of source × sample time.
#[must_use]
pub fn sources(spec: &Spec, outcome: &Outcome) -> Table {
    let count = |f: &dyn Fn(&ReceiverSample) -> u64| {
        counts(outcome.sources.iter().flat_map(|source| source.samples.iter()).map(f))
    };
    vec![
        ("time_s", repeated_times(outcome, spec.traffic.len())),
        ("source", names(spec.traffic.iter().map(|s| s.flow.name.as_str()), outcome.times.len())),
        ("delivered_segments", count(&|r| r.delivered)),
        ("wire_bytes", count(&|r| r.wire_bytes)),
    ]
}

/// Table of source × quantity × bucket, for sources without rows of their transfers: the number of transfers in each
/// bucket. Only transfers that began in the measurement window and ended are counted.
#[must_use]
pub fn distributions(spec: &Spec, outcome: &Outcome) -> Table {
    const QUANTITIES: [&str; 3] = ["duration_s", "slowdown", "size_segments"];
    let (mut sources, mut quantities) = (Vec::new(), Vec::new());
    let mut rows: Vec<(f64, f64, u64)> = Vec::new();
    for (source, totals) in outcome.sources.iter().enumerate() {
        let Some(Finished { durations, slowdown, sizes, .. }) = totals.summary.as_ref().map(|s| &s.finished) else {
            continue;
        };
        for (quantity, buckets) in [durations, slowdown, sizes].into_iter().enumerate() {
            let before = rows.len();
            rows.extend(buckets.iter());
            sources.extend(std::iter::repeat_n(source as i32, rows.len() - before));
            quantities.extend(std::iter::repeat_n(quantity as i32, rows.len() - before));
        }
    }
    vec![
        ("source", Column::Names { keys: sources, words: source_names(spec) }),
        ("quantity", Column::Names { keys: quantities, words: QUANTITIES.map(str::to_owned).to_vec() }),
        ("low", floats(rows.iter().map(|row| row.0))),
        ("high", floats(rows.iter().map(|row| row.1))),
        ("transfers", counts(rows.iter().map(|row| row.2))),
    ]
}

/// Counts of a source's transfers.
struct Counts {
    begun: u64,
    completed: u64,
    retransmits: u64,
    begun_measured: u64,
    offered_segments: u64,
}

impl Counts {
    fn of(source: &SourceTotals, (from, to): (Time, Time)) -> Self {
        if let Some(summary) = &source.summary {
            let Summary { begun, completed, retransmits, begun_measured, offered_segments, .. } = **summary;
            return Self { begun, completed, retransmits, begun_measured, offered_segments };
        }
        let measured = || source.transfers.iter().filter(|t| t.start >= from && t.start < to);
        Self {
            begun: source.transfers.len() as u64,
            completed: source.transfers.iter().filter(|t| t.completed != Time::NEVER).count() as u64,
            retransmits: source.transfers.iter().map(|t| t.totals.retransmits).sum(),
            begun_measured: measured().count() as u64,
            offered_segments: measured().map(|t| u64::from(t.segments)).sum(),
        }
    }
}

/// Totals of each source, over the measurement window unless the name states otherwise.
#[must_use]
pub fn source_totals(spec: &Spec, outcome: &Outcome) -> Vec<serde_json::Value> {
    let (from, to) = (Time(spec.measure.from_ps), Time(spec.measure.to_ps));
    let window_s = (to - from).seconds();
    let of = |(spec, source): (&SourceSpec, &SourceTotals)| {
        let stack = &spec.flow.stack;
        let wire_bytes = f64::from(stack.payload_bytes + stack.header_bytes);
        let counts = Counts::of(source, (from, to));
        let [before, after] = source.measured;
        let segments = (after.delivered - before.delivered) as f64;
        let target = if let ArrivalsSpec::Load { bps } = spec.arrivals { Some(bps as f64 * 1e-6) } else { None };
        let mut totals = serde_json::json!({
            "name": spec.flow.name, "algorithm": spec.flow.algorithm,
            "target_mbps": target,
            "offered_mbps": rate_mbps(counts.offered_segments as f64 * wire_bytes, window_s),
            "throughput_mbps": rate_mbps((after.wire_bytes - before.wire_bytes) as f64, window_s),
            "goodput_mbps": payload_rate_mbps(segments, stack.payload_bytes, window_s),
            "transfers_begun": counts.begun_measured,
            "transfers": counts.begun,
            "transfers_completed": counts.completed,
            "segments_delivered": source.delivered,
            "retransmits": counts.retransmits,
        });
        if let Some(summary) = &source.summary {
            // Sums over the transfers that began in the measurement window, and sums over the transfers that also
            // ended.
            let Finished { count, segments, duration_ps, rates, slowdowns, .. } = &summary.finished;
            totals["sums"] = serde_json::json!({
                "begun": counts.begun_measured, "offered_segments": counts.offered_segments,
                "finished": count, "segments": segments, "duration_s": *duration_ps as f64 * 1e-12,
                "segments_per_s": rates.get(), "slowdown": slowdowns.get(),
            });
        }
        totals
    };
    spec.traffic.iter().zip(&outcome.sources).map(of).collect()
}

/// Losses of the links that have no rows in the tables: a link's name, arrived packets, and those dropped or lost.
fn losses_without_rows(spec: &Spec, outcome: &Outcome) -> Vec<serde_json::Value> {
    let links = spec.links.iter().zip(&outcome.link_totals);
    let lossy = links.filter(|(link, totals)| !link.record && totals.dropped + totals.lost > 0);
    let row = |(link, totals): (&LinkSpec, &LinkTotals)| {
        let gone = totals.dropped + totals.lost;
        let arrived = totals.accepted + gone - totals.lost_on_wire;
        serde_json::json!({"name": link.name, "arrived": arrived, "gone": gone})
    };
    lossy.map(row).collect()
}

/// Totals of the run.
#[must_use]
pub fn summary(spec: &Spec, outcome: &Outcome) -> serde_json::Value {
    let delivered: u64 = outcome.receivers.iter().map(|r| r.totals.delivered).sum();
    let books = &outcome.conservation;
    let links: Vec<serde_json::Value> = spec
        .links
        .iter()
        .zip(&outcome.link_totals)
        .filter(|(link, _)| link.record)
        .map(|(link, totals)| {
            serde_json::json!({
                "name": link.name, "accepted": totals.accepted, "accepted_bytes": totals.accepted_bytes,
                "dropped": totals.dropped, "lost": totals.lost, "marked": totals.marked, "dropped_bytes": totals.dropped_bytes,
                "reordered": totals.reordered, "duplicated": totals.duplicated,
            })
        })
        .collect();
    let mut summary = serde_json::json!({
        "segments_delivered": delivered,
        "acks_delivered": outcome.senders.iter().map(|s| s.totals.acks).sum::<u64>(),
        "undone": outcome.senders.iter().map(|s| s.totals.undone).sum::<u64>(),
        "conservation": {
            "sent": books.sent, "duplicated": books.duplicated, "received": books.received, "dropped": books.dropped,
            "under_way": books.under_way,
        },
        "links": links,
        "engine_version": env!("CARGO_PKG_VERSION"),
    });
    if let Some(ResolutionReport { stretches, single_from_s }) = &outcome.resolution {
        let row = |&(from_s, to_s, difference): &(f64, f64, f64)| serde_json::json!({"from_s": from_s, "to_s": to_s, "difference": difference});
        let stretches: Vec<serde_json::Value> = stretches.iter().map(row).collect();
        summary["resolution"] = serde_json::json!({"stretches": stretches, "single_from_s": single_from_s});
    }
    let unrecorded = losses_without_rows(spec, outcome);
    if !unrecorded.is_empty() {
        summary["unrecorded_losses"] = unrecorded.into();
    }
    if spec.internals {
        let internals = outcome.senders.iter().filter_map(|sender| sender.internals.as_ref());
        summary["internals"] = internals.map(|internals| internals.rows.len()).sum::<usize>().into();
    }
    if !spec.traffic.is_empty() {
        summary["traffic"] = source_totals(spec, outcome).into();
    }
    summary
}
