//! Rules for the numbers of every run, of whatever backend: a run that breaks one of them is a defect.
//!
//! The bounds have a tolerance of one packet of the flow, of a train of them where a packet stands for several, since a
//! segment may have left the last link before the window in which it arrives. A link's changes of delay, bursts and retransmissions move whole queues of packets into a window,
//! so a path with them has no bound on its rate here.

use elephan_sim::rates::rate_mbps;
use elephan_sim::spec::{FlowSpec, LinkSpec};

use crate::data::Data;
use crate::error::Found;
use crate::numbers::{largest, shown};

/// Relative error of sums of floating-point numbers.
const ROUNDING: f64 = 1e-9;

/// Relative error of a mean of windows.
const MEAN_ROUNDING: f64 = 1e-6;

/// The engine's unit of time, s.
const PICOSECOND: f64 = 1e-12;

/// A count from which on it is a difference that wrapped below zero: 2⁶³.
const WRAPPED: f64 = 9_223_372_036_854_775_808.0;

/// Tables with values that may be negative.
const SIGNED: [&str; 2] = ["internals", "events"];

/// The values of a column that are not missing.
#[derive(Clone, Copy, Debug)]
pub struct Extremes {
    /// Smallest value.
    pub least: f64,
    /// Largest value.
    pub most: f64,
    /// True if every value is finite.
    pub finite: bool,
}

/// One sentence if a column has an impossible value: numbers are finite, and what counts or measures is not negative.
#[must_use]
pub fn impossible_value(table: &str, column: &str, values: Extremes) -> Option<String> {
    let Extremes { least, most, finite } = values;
    if !finite {
        Some(format!("a value of {table}.{column} is not a finite number"))
    } else if !SIGNED.contains(&table) && least < 0.0 {
        Some(format!("{table}.{column} is {}, below 0", shown(least)))
    } else if most >= WRAPPED {
        Some(format!("{table}.{column} is {}, a count below zero", shown(most)))
    } else {
        None
    }
}

/// One sentence for each number of the flows and queues of a run that is impossible. `rate_slack` is the relative
/// tolerance of rates: that of rounding in virtual time, more on a path in real time, which a busy host delivers late.
///
/// # Errors
/// The tables `flows` or `links` cannot be read.
pub fn impossible_numbers(data: &Data, rate_slack: f64) -> Found<Vec<String>> {
    let (mut found, users) = (Vec::new(), users(data));
    for place in 0..data.spec.flows.len() {
        let flow = data.flow(place);
        let capacity = capacity(data, flow, &users);
        Rules { data, flow, place, found: &mut found }.check(capacity, rate_slack.max(ROUNDING))?;
    }
    found.extend(queues(data)?);
    Ok(found)
}

/// The rules of one flow.
struct Rules<'r, 'd> {
    data: &'r Data<'d>,
    flow: &'r FlowSpec,
    place: usize,
    found: &'r mut Vec<String>,
}

impl Rules<'_, '_> {
    fn check(&mut self, capacity: Option<Capacity>, rate_slack: f64) -> Found<()> {
        let (from_s, to_s) = self.data.measured();
        let stack = &self.flow.stack;
        let packets = self.data.spec.longest_train(self.flow);
        let bytes = f64::from(stack.payload_bytes + stack.header_bytes) * f64::from(packets);
        let packet_mbps = rate_mbps(bytes, to_s - from_s);
        let packet_s = |mbps: f64| 8.0 * bytes / f64::from(packets) / (mbps * 1e6);
        let (goodput, throughput) = (self.value("goodput_mbps")?, self.value("throughput_mbps")?);
        let most = throughput * (1.0 + ROUNDING) + packet_mbps;
        self.at_most("goodput", goodput, most, ("its throughput", throughput), "Mbit/s");
        if let Some(mbps) = capacity.as_ref().map(|capacity| capacity.within / 1e6) {
            // A link sends a packet in a whole number of picoseconds, so up to one too early.
            let most = mbps * (1.0 + rate_slack + PICOSECOND / packet_s(mbps)) + packet_mbps;
            self.at_most("throughput", throughput, most, ("the rate of its path", mbps), "Mbit/s");
        }
        self.segments()?;
        for (less, more, slack, unit) in
            [("rtt_min_ms", "rtt_mean_ms", ROUNDING, "ms"), ("cwnd_mean", "cwnd_max", MEAN_ROUNDING, "segments")]
        {
            let bound = self.value(more)?;
            self.at_most(less, self.value(less)?, bound * (1.0 + slack) + ROUNDING, (more, bound), unit);
        }
        self.completion(capacity.map(|capacity| capacity.ever))
    }

    /// Nothing arrives that was not sent, or that the flow does not have.
    fn segments(&mut self) -> Found<()> {
        // The receiver of datagrams cannot tell a copy that a link made, and UDT counts what it sends in its own way.
        if self.flow.datagrams || self.flow.algorithm.split(':').next() == Some("udt") {
            return Ok(());
        }
        let (delivered, sent) = (self.value("segments_delivered")?, self.value("segments_sent")?);
        self.at_most("segments_delivered", delivered, sent, ("what it sent", sent), "segments");
        if let Some(size) = self.flow.size_segments {
            self.at_most("segments_delivered", delivered, size as f64, ("its size", size as f64), "segments");
        }
        Ok(())
    }

    /// A transfer takes at least the time of its data on its path, if its receiver acknowledges only what it has.
    fn completion(&mut self, capacity_bps: Option<f64>) -> Found<()> {
        if self.flow.stack.hide_losses {
            return Ok(());
        }
        let (Some(bps), Some(size)) = (capacity_bps, self.flow.size_segments) else { return Ok(()) };
        let completion_s = self.value("completion_s")?;
        let least_s = (size as f64 - 1.0) * f64::from(self.flow.stack.payload_bytes) * 8.0 / bps;
        if completion_s < least_s * (1.0 - ROUNDING) {
            let (name, value, least) = (&self.flow.name, shown(completion_s), shown(least_s));
            self.found.push(format!(
                "completion_s of flow '{name}' is {value} s, below the time of its data on its path, {least} s"
            ));
        }
        Ok(())
    }

    /// A value of `flows`; NaN, which breaks no rule, if the flow or the backend has none.
    fn value(&self, column: &str) -> Found<f64> {
        if self.data.table("flows")?.has(column) { self.data.flow_value(self.place, column) } else { Ok(f64::NAN) }
    }

    fn at_most(&mut self, quantity: &str, value: f64, most: f64, bound: (&str, f64), unit: &str) {
        if value > most {
            let (name, value, (what, limit)) = (&self.flow.name, shown(value), bound);
            let limit = shown(limit);
            self.found.push(format!("{quantity} of flow '{name}' is {value} {unit}, above {what}, {limit} {unit}"));
        }
    }
}

/// Bounds on the rate of a flow, bit/s.
struct Capacity {
    /// From the beginning of the flow on.
    ever: f64,
    /// Within any time: packets that wait behind those of other flows, at a link that others use too, arrive closer to
    /// each other than they left the links before it.
    within: f64,
}

/// Most that can arrive at the end of a flow's path; `None` if a link may deliver many packets at once.
fn capacity(data: &Data, flow: &FlowSpec, users: &[u32]) -> Option<Capacity> {
    let mut found = Capacity { ever: f64::INFINITY, within: f64::INFINITY };
    for &place in &flow.path {
        let link = &data.spec.links[place];
        let fastest = fastest_bps(link)?;
        let copies = if link.impairments.as_ref().is_some_and(|changes| changes.duplicate > 0.0) { 2.0 } else { 1.0 };
        let within = if users[place] <= 1 { found.within.min(fastest) } else { fastest };
        found = Capacity { ever: found.ever.min(fastest) * copies, within: within * copies };
    }
    Some(found)
}

/// Number of flows and sources whose data or ACKs use each link.
fn users(data: &Data) -> Vec<u32> {
    let mut counts = vec![0; data.spec.links.len()];
    let sources = data.spec.traffic.iter().map(|source| &source.flow);
    for flow in data.spec.flows.iter().chain(sources) {
        flow.path.iter().chain(&flow.reverse_path).for_each(|&link| counts[link] += 1);
    }
    counts
}

fn fastest_bps(link: &LinkSpec) -> Option<f64> {
    let Some(changes) = &link.impairments else { return Some(link.rate_bps as f64) };
    let late = !changes.delay_steps.is_empty()
        || changes.jitter.is_some()
        || changes.reorder.is_some()
        || changes.retransmission.is_some()
        || changes.aggregation.is_some();
    (!late && changes.rate_trace_ms.is_empty()).then(|| changes.fastest_bps(link.rate_bps) as f64)
}

/// No queue is longer than its limit in packets.
fn queues(data: &Data) -> Found<Vec<String>> {
    let table = data.table("links")?;
    if !table.has("queue_max") {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for link in &data.spec.links {
        let Some(limit) = link.queue.limit_packets else { continue };
        let longest = largest(&table.values("queue_max", table.rows(&link.name))?);
        if longest > limit as f64 {
            let (name, longest) = (&link.name, shown(longest));
            found.push(format!("queue_max of link '{name}' is {longest} packets, above its buffer, {limit} packets"));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use elephan_sim::spec::Spec;
    use elephan_sim::tables::{self, Column};
    use elephan_sim::time::Time;
    use elephan_sim::{Engine, Outcome};

    use super::*;

    fn run() -> (Spec, Outcome) {
        let ms = Time::MILLISECOND.0;
        let mut spec = Spec::dumbbell(10_000_000, Time(40 * ms), 20, Time(4000 * ms), &["cubic"]);
        spec.flows[0].size_segments = Some(1000);
        spec.measure.from_ps = 0;
        let outcome = Engine::new(spec.clone()).expect("the spec is right").run(|_| true).expect("it ends");
        (spec, outcome)
    }

    /// Problems of a run whose first row of a table has another value in a column.
    fn problems(table: &'static str, column: &'static str, value: f64) -> Vec<String> {
        let (spec, outcome) = run();
        let read = |name: &'static str| {
            let mut columns =
                if name == "flows" { tables::flows(&spec, &outcome) } else { tables::links(&spec, &outcome) };
            let found = columns.iter_mut().find(|(known, _)| name == table && *known == column);
            match found.map(|(_, column)| column) {
                Some(Column::Floats(values)) => values[0] = value,
                Some(Column::Counts(values)) => values[0] = value as u64,
                _ => {}
            }
            Some(columns)
        };
        let data = Data::new(spec.clone(), serde_json::Value::Null, Box::new(read));
        impossible_numbers(&data, 0.0).expect("all tables are there")
    }

    #[test]
    fn each_rule_names_the_number_that_breaks_it() {
        assert_eq!(problems("none", "none", 0.0), Vec::<String>::new());
        for (table, column, value, said) in [
            ("flows", "goodput_mbps", 9.99, "goodput of flow 'f0' is 9.99 Mbit/s, above its throughput"),
            ("flows", "throughput_mbps", 10.1, "throughput of flow 'f0' is 10.1 Mbit/s, above the rate of its path"),
            ("flows", "segments_delivered", 1001.0, "above its size, 1000 segments"),
            ("flows", "segments_sent", 999.0, "segments_delivered of flow 'f0' is 1000 segments, above what it sent"),
            ("flows", "rtt_min_ms", 900.0, "rtt_min_ms of flow 'f0' is 900 ms, above rtt_mean_ms"),
            ("flows", "cwnd_max", 1.0, "above cwnd_max, 1 segments"),
            ("flows", "completion_s", 0.1, "below the time of its data on its path, 1.15724 s"),
            ("links", "queue_max", 21.0, "queue_max of link 'bottleneck' is 21 packets, above its buffer, 20 packets"),
        ] {
            let found = problems(table, column, value);
            assert!(found.iter().any(|sentence| sentence.contains(said)), "{column}: {found:?}");
        }
    }

    #[test]
    fn packets_may_come_closer_behind_a_queue_that_others_use() {
        let ms = Time::MILLISECOND.0;
        let mut spec = Spec::dumbbell(10_000_000, Time(40 * ms), 20, Time(4000 * ms), &["cubic", "reno"]);
        let slow = elephan_sim::spec::LinkSpec::droptail("slow", 4_000_000, Time(ms), Some(20));
        spec.links.push(slow);
        spec.flows[0].path = vec![2, 0];
        let data = Data::new(spec, serde_json::Value::Null, Box::new(|_| None));
        let of = |flow| capacity(&data, data.flow(flow), &users(&data)).map(|found| (found.ever, found.within));
        assert_eq!(of(0), Some((4e6, 10e6)));
        assert_eq!(of(1), Some((10e6, 10e6)));
    }

    #[test]
    fn a_link_that_copies_packets_doubles_what_a_slower_one_gave_it() {
        let ms = Time::MILLISECOND.0;
        let mut spec = Spec::dumbbell(10_000_000, Time(40 * ms), 20, Time(4000 * ms), &["cubic"]);
        spec.links.push(elephan_sim::spec::LinkSpec::droptail("slow", 4_000_000, Time(ms), Some(20)));
        spec.links[0].impairments.get_or_insert_default().duplicate = 0.5;
        spec.flows[0].path = vec![2, 0];
        let data = Data::new(spec, serde_json::Value::Null, Box::new(|_| None));
        let found = capacity(&data, data.flow(0), &users(&data)).map(|found| (found.ever, found.within));
        assert_eq!(found, Some((8e6, 8e6)));
    }

    #[test]
    fn a_receiver_that_hides_losses_may_acknowledge_what_never_came() {
        let (mut spec, outcome) = run();
        spec.flows[0].stack =
            std::sync::Arc::new(elephan_sim::spec::StackSpec { hide_losses: true, ..(*spec.flows[0].stack).clone() });
        spec.links[0].rate_bps = 1_000_000;
        let read = |name: &'static str| {
            Some(if name == "flows" { tables::flows(&spec, &outcome) } else { tables::links(&spec, &outcome) })
        };
        let data = Data::new(spec.clone(), serde_json::Value::Null, Box::new(read));
        let found = impossible_numbers(&data, 0.0).expect("all tables are there");
        assert!(found.iter().all(|sentence| !sentence.contains("completion_s")), "{found:?}");
    }

    #[test]
    fn values_are_finite_and_count_from_zero() {
        let values = |least, most, finite| impossible_value("samples", "cwnd", Extremes { least, most, finite });
        assert_eq!(values(0.0, 9.0, true), None);
        assert_eq!(values(-1.0, 9.0, true).as_deref(), Some("samples.cwnd is -1, below 0"));
        assert_eq!(values(0.0, WRAPPED, true).as_deref(), Some("samples.cwnd is 9.22337e+18, a count below zero"));
        assert!(values(0.0, f64::INFINITY, false).is_some_and(|sentence| sentence.contains("finite")));
        assert_eq!(impossible_value("internals", "value", Extremes { least: -1.0, most: 0.0, finite: true }), None);
    }
}
