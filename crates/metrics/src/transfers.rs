//! Metrics of transfers of given sizes: durations, and the rates that users get (RFC 5166 §2.1.1, §2.8).
//!
//! Transfers are flows with a size and the transfers of sources. A transfer belongs to the window in which it starts,
//! whenever it ends. A source that keeps a summary has exact sums, and counts in buckets whose edges are 0.2 % apart. A
//! value is replaced by the middle of its bucket, so a quantile is within 0.1 % of the exact quantile.

use elephan_sim::spec::{FlowSpec, RecordSpec, SourceSpec};

use crate::ask::Ask;
use crate::data::{Data, Parties};
use crate::error::{Found, undefined};
use crate::numbers::{quantile, shown, sum};
use crate::throughput::throughputs;

/// A transfer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transfer {
    /// Number of the transfer among those of its source, from 1; 0 for a flow.
    pub number: u64,
    /// Start, s.
    pub start_s: f64,
    /// Payload, bits, in whole segments.
    pub bits: f64,
    /// Time from the start until the last segment was acknowledged, s; NaN for an incomplete transfer.
    pub duration_s: f64,
    /// Bits on the wire with a header for each segment, without retransmissions.
    pub wire_bits: f64,
    /// Smallest possible duration, s: the propagation RTT, plus the time to send `wire_bits` at the initial rate of the
    /// slowest link.
    pub least_s: f64,
}

/// A sample of positive numbers, stored one by one or as counts in buckets.
#[derive(Debug, Default)]
struct Sample {
    values: Vec<f64>,
    /// Middles of the buckets, each with its number of values.
    buckets: Vec<(f64, f64)>,
    /// Sum of the values in buckets.
    total: f64,
}

impl Sample {
    fn sum(&self) -> f64 {
        sum(self.values.iter().copied().chain([self.total]))
    }

    fn count(&self) -> f64 {
        self.values.len() as f64 + sum(self.buckets.iter().map(|bucket| bucket.1))
    }

    fn mean(&self) -> f64 {
        self.sum() / self.count()
    }

    fn quantile(&self, part: f64) -> f64 {
        if self.buckets.is_empty() {
            return quantile(&self.values, part);
        }
        let mut all: Vec<(f64, f64)> = self.values.iter().map(|&value| (value, 1.0)).collect();
        all.extend(&self.buckets);
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let wanted = part * self.count();
        let mut below = 0.0;
        let reached = |bucket: &&(f64, f64)| {
            below += bucket.1;
            below >= wanted
        };
        all.iter().find(reached).or(all.last()).map_or(f64::NAN, |bucket| bucket.0)
    }

    fn add(&mut self, other: Self) {
        self.values.extend(other.values);
        self.buckets.extend(other.buckets);
        self.total += other.total;
    }
}

/// Sums over the transfers that start in a window; durations, rates in bit/s and slowdowns are of those that finish.
#[derive(Debug, Default)]
struct Sums {
    begun: f64,
    wire_bits: f64,
    bits: f64,
    durations_s: Sample,
    rates_bps: Sample,
    slowdowns: Sample,
}

/// The flows with a size, and the sources.
fn parties(data: &Data, ask: &Ask) -> Found<Parties> {
    let mut found = data.chosen(ask.flows, true)?;
    found.flows.retain(|&flow| data.flow(flow).size_segments.is_some());
    if found.flows.is_empty() && found.sources.is_empty() { undefined("no flow has a size") } else { Ok(found) }
}

fn source<'d>(data: &'d Data, source: usize) -> &'d SourceSpec {
    &data.spec.traffic[source]
}

fn keeps_sums(source: &SourceSpec) -> bool {
    source.record == RecordSpec::Summary
}

fn none_starts<T>(data: &Data, ask: &Ask) -> Found<T> {
    let (from_s, to_s) = data.window(ask.window)?;
    let class = ask
        .size_bytes
        .map_or_else(String::new, |(low, high)| format!(" and has from {} B to {} B", shown(low), shown(high)));
    undefined(format!("no flow of a given size starts from {} s to {} s{class}", shown(from_s), shown(to_s)))
}

/// Size on the wire of a segment, divided by the segment's payload.
fn wire_factor(flow: &FlowSpec) -> f64 {
    f64::from(flow.stack.payload_bytes + flow.stack.header_bytes) / f64::from(flow.stack.payload_bytes)
}

/// The transfers of flows, and of sources that record each transfer: those that start in the window, with the names of
/// their flow or source.
fn rows<'d>(data: &'d Data, ask: &Ask, parties: &Parties) -> Found<Vec<(&'d str, Vec<Transfer>)>> {
    let (from_s, to_s) = data.window(ask.window)?;
    if let Some((low, high)) = ask.size_bytes.filter(|(low, high)| low >= high || low.is_nan() || high.is_nan()) {
        return undefined(format!("the class of sizes from {} B to {} B is empty", shown(low), shown(high)));
    }
    let wanted = |transfer: &Transfer| {
        let octets = transfer.bits / 8.0;
        let in_class = ask.size_bytes.is_none_or(|(low, high)| (low..high).contains(&octets));
        (from_s..to_s).contains(&transfer.start_s) && in_class
    };
    let mut found = Vec::new();
    for &flow in &parties.flows {
        found.push((data.name(flow), of_flow(data, flow)?.into_iter().filter(wanted).collect()));
    }
    for &place in &parties.sources {
        let source = source(data, place);
        found.push((source.flow.name.as_str(), of_source(data, source)?.into_iter().filter(wanted).collect()));
    }
    Ok(found)
}

fn of_flow(data: &Data, flow: usize) -> Found<Option<Transfer>> {
    let spec = data.flow(flow);
    let Some(segments) = spec.size_segments else { return Ok(None) };
    let bits = 8.0 * (segments as f64 * f64::from(spec.stack.payload_bytes));
    let wire_bits = bits * wire_factor(spec);
    Ok(Some(Transfer {
        number: 0,
        start_s: data.start_s(flow)?,
        bits,
        duration_s: data.flow_value(flow, "completion_s")?,
        wire_bits,
        least_s: data.base_rtt_s(spec) + wire_bits / data.slowest_bps(spec),
    }))
}

fn of_source(data: &Data, source: &SourceSpec) -> Found<Vec<Transfer>> {
    let table = data.table("transfers")?;
    let (factor, rate_bps) = (wire_factor(&source.flow), data.slowest_bps(&source.flow));
    let transfer = |(place, &row): (usize, &usize)| {
        let bits = 8.0 * table.value("size_bytes", row)?;
        let wire_bits = bits * factor;
        Ok(Transfer {
            number: place as u64 + 1,
            start_s: table.value("start_s", row)?,
            bits,
            duration_s: table.value("completion_s", row)?,
            wire_bits,
            least_s: table.value("base_rtt_ms", row)? / 1e3 + wire_bits / rate_bps,
        })
    };
    table.rows(&source.flow.name).iter().enumerate().map(transfer).collect()
}

/// Single transfers that start in a window, by the name of their flow or source: flows in order of start, then sources.
///
/// # Errors
/// There are none, or a source keeps sums only.
pub fn sized_transfers<'d>(data: &'d Data, ask: &Ask) -> Found<Vec<(&'d str, Vec<Transfer>)>> {
    let parties = parties(data, ask)?;
    if let Some(&place) = parties.sources.iter().find(|&&place| keeps_sums(source(data, place))) {
        let name = &source(data, place).flow.name;
        return undefined(format!("'{name}' has record = \"summary\": there is no row for each of its transfers"));
    }
    let found = rows(data, ask, &parties)?;
    if found.iter().all(|(_, transfers)| transfers.is_empty()) { none_starts(data, ask) } else { Ok(found) }
}

/// All transfers that start in a window, of flows, and of sources with and without a row for each transfer.
fn begun(data: &Data, ask: &Ask) -> Found<Sums> {
    let Parties { flows, sources } = parties(data, ask)?;
    let (summed, listed): (Vec<usize>, Vec<usize>) =
        sources.into_iter().partition(|&place| keeps_sums(source(data, place)));
    let mut sums = Sums::default();
    for place in summed {
        add_summary(&mut sums, data, ask, source(data, place))?;
    }
    if !flows.is_empty() || !listed.is_empty() {
        let parts = rows(data, ask, &Parties { flows, sources: listed })?;
        let every: Vec<Transfer> = parts.into_iter().flat_map(|(_, transfers)| transfers).collect();
        let done: Vec<&Transfer> = every.iter().filter(|transfer| !transfer.duration_s.is_nan()).collect();
        sums.begun += every.len() as f64;
        sums.wire_bits += sum(every.iter().map(|transfer| transfer.wire_bits));
        sums.bits += sum(done.iter().map(|transfer| transfer.bits));
        sums.durations_s.values.extend(done.iter().map(|transfer| transfer.duration_s));
        sums.rates_bps.values.extend(done.iter().map(|transfer| transfer.bits / transfer.duration_s));
        sums.slowdowns.values.extend(done.iter().map(|transfer| transfer.duration_s / transfer.least_s));
    }
    if sums.begun == 0.0 { none_starts(data, ask) } else { Ok(sums) }
}

/// The transfers of [`begun`], at least one of which completed.
fn ended(data: &Data, ask: &Ask) -> Found<Sums> {
    let found = begun(data, ask)?;
    if found.durations_s.count() == 0.0 {
        return undefined("no transfer that starts in the window comes to its end");
    }
    Ok(found)
}

/// Adds the sums of a source without a row for each transfer, which are those of the measurement window.
fn add_summary(sums: &mut Sums, data: &Data, ask: &Ask, source: &SourceSpec) -> Found<()> {
    let name = &source.flow.name;
    let refused = |why: String| undefined(format!("'{name}' has record = \"summary\": {why}"));
    if ask.size_bytes.is_some() {
        return refused("a class of sizes needs each transfer".to_owned());
    }
    if ask.window.is_some_and(|window| !data.is_measured(window)) {
        let (from_s, to_s) = data.measured();
        let part = format!("{} s to {} s", shown(from_s), shown(to_s));
        return refused(format!("of the measured part, {part}, and of no other window"));
    }
    let totals = data.traffic.as_array().into_iter().flatten().find(|row| row["name"] == name.as_str());
    let Some(found) = totals.map(|row| &row["sums"]).filter(|found| found.is_object()) else {
        return undefined(format!("the run has no sums of '{name}'"));
    };
    let total = |field: &str| found[field].as_f64().unwrap_or(f64::NAN);
    let payload_bits = 8.0 * f64::from(source.flow.stack.payload_bytes);
    let durations = buckets(data, name, "duration_s")?;
    let count = sum(durations.iter().map(|bucket| bucket.1));
    sums.begun += total("begun");
    sums.wire_bits += total("offered_segments") * payload_bits * wire_factor(&source.flow);
    sums.bits += total("segments") * payload_bits;
    sums.durations_s.add(Sample { values: Vec::new(), buckets: durations, total: total("duration_s") });
    // Only the mean is needed, so one bucket holds all rates.
    let rates = total("segments_per_s") * payload_bits;
    sums.rates_bps.add(Sample { values: Vec::new(), buckets: vec![(0.0, count)], total: rates });
    let slowdowns = buckets(data, name, "slowdown")?;
    sums.slowdowns.add(Sample { values: Vec::new(), buckets: slowdowns, total: total("slowdown") });
    Ok(())
}

/// Middles of the buckets of a source's distribution, each with its number of transfers.
fn buckets(data: &Data, source: &str, quantity: &str) -> Found<Vec<(f64, f64)>> {
    let table = data.table("distributions")?;
    let rows = table.rows(source).iter().filter(|&&row| table.word("quantity", row) == Some(quantity));
    let bucket = |&row: &usize| {
        Ok(((table.value("low", row)? + table.value("high", row)?) / 2.0, table.value("transfers", row)?))
    };
    rows.map(bucket).collect()
}

pub(crate) fn transfers_begun(data: &Data, ask: &Ask) -> Found<f64> {
    Ok(begun(data, ask)?.begun)
}

pub(crate) fn completed_fraction(data: &Data, ask: &Ask) -> Found<f64> {
    let found = begun(data, ask)?;
    Ok(found.durations_s.count() / found.begun)
}

pub(crate) fn mean_flow_rate_mbps(data: &Data, ask: &Ask) -> Found<f64> {
    Ok(ended(data, ask)?.rates_bps.mean() / 1e6)
}

pub(crate) fn mean_size_over_mean_duration_mbps(data: &Data, ask: &Ask) -> Found<f64> {
    let done = ended(data, ask)?;
    Ok(done.bits / done.durations_s.sum() / 1e6)
}

pub(crate) fn mean_flow_duration_ms(data: &Data, ask: &Ask) -> Found<f64> {
    Ok(1e3 * ended(data, ask)?.durations_s.mean())
}

pub(crate) fn flow_duration_p50_ms(data: &Data, ask: &Ask) -> Found<f64> {
    Ok(1e3 * ended(data, ask)?.durations_s.quantile(0.5))
}

pub(crate) fn flow_duration_p95_ms(data: &Data, ask: &Ask) -> Found<f64> {
    Ok(1e3 * ended(data, ask)?.durations_s.quantile(0.95))
}

pub(crate) fn flow_duration_p99_ms(data: &Data, ask: &Ask) -> Found<f64> {
    Ok(1e3 * ended(data, ask)?.durations_s.quantile(0.99))
}

pub(crate) fn mean_slowdown(data: &Data, ask: &Ask) -> Found<f64> {
    Ok(ended(data, ask)?.slowdowns.mean())
}

pub(crate) fn slowdown_p50(data: &Data, ask: &Ask) -> Found<f64> {
    Ok(ended(data, ask)?.slowdowns.quantile(0.5))
}

pub(crate) fn slowdown_p99(data: &Data, ask: &Ask) -> Found<f64> {
    Ok(ended(data, ask)?.slowdowns.quantile(0.99))
}

pub(crate) fn offered_mbps(data: &Data, ask: &Ask) -> Found<f64> {
    let (from_s, to_s) = data.window(ask.window)?;
    Ok(begun(data, ask)?.wire_bits / (to_s - from_s) / 1e6)
}

pub(crate) fn short_flow_total_mbps(data: &Data, ask: &Ask) -> Found<f64> {
    Ok(sum(throughputs(data, ask, &parties(data, ask)?)?))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    /// Values in the buckets of the engine.
    fn in_buckets(values: &[f64]) -> Sample {
        let mut counts = BTreeMap::new();
        values.iter().for_each(|value| *counts.entry(value.to_bits() >> 43).or_insert(0.0) += 1.0);
        let edge = |key: u64| f64::from_bits(key << 43);
        let buckets = counts.into_iter().map(|(key, count)| ((edge(key) + edge(key + 1)) / 2.0, count)).collect();
        Sample { values: Vec::new(), buckets, total: sum(values.iter().copied()) }
    }

    proptest! {
        #[test]
        fn a_quantile_from_buckets_is_within_a_tenth_of_a_percent(
            values in prop::collection::vec(1e-6..1e9, 1..300), part in 0.001..1.0, kept in 0_usize..300,
        ) {
            let exact = Sample { values: values.clone(), ..Sample::default() };
            let kept = kept.min(values.len());
            let mut found = Sample { values: values[..kept].to_vec(), ..Sample::default() };
            found.add(in_buckets(&values[kept..]));
            prop_assert_eq!(found.count(), exact.count());
            prop_assert!((found.mean() / exact.mean() - 1.0).abs() < 1e-12);
            prop_assert!((found.quantile(part) / exact.quantile(part) - 1.0).abs() < 1.001e-3);
        }
    }

    #[test]
    fn a_quantile_counts_values_and_buckets() {
        let mut sample = Sample { values: vec![1.0, 5.0], buckets: vec![(2.0, 6.0)], total: 12.0 };
        sample.add(Sample { values: vec![3.0], buckets: Vec::new(), total: 0.0 });
        assert_eq!((sample.count(), sample.sum()), (9.0, 21.0));
        assert_eq!([0.1, 0.5, 0.8, 1.0].map(|part| sample.quantile(part)), [1.0, 2.0, 3.0, 5.0]);
    }
}
