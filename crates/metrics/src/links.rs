//! Links: counters, series, and what a link could have sent.

use elephan_sim::spec::{LinkSpec, OPPORTUNITY_BYTES};

use crate::ask::Ask;
use crate::data::{Data, GRID_TOLERANCE_S, Window, seconds};
use crate::error::{Found, MetricError, undefined};
use crate::numbers::sum;

/// Name of the link that is the bottleneck in scenarios without a list of links.
const BOTTLENECK: &str = "bottleneck";

/// The requested link, or the bottleneck.
pub(crate) fn link_of<'d>(data: &'d Data, ask: &Ask<'d>) -> Found<&'d str> {
    ask.link.map_or_else(|| bottleneck(data), Ok)
}

/// The link named `bottleneck`, or else the recorded link with the highest utilization in the measurement window.
pub fn bottleneck<'d>(data: &'d Data) -> Found<&'d str> {
    data.kept_bottleneck(|| {
        let names = recorded_links(data)?;
        if names.iter().any(|name| name == BOTTLENECK) {
            return Ok(BOTTLENECK.to_owned());
        }
        let window = data.measured();
        let mut most: Option<(f64, String)> = None;
        for name in names {
            let bytes = link_counter(data, &name, "delivered_bytes", window)?;
            let used = bytes / capacity_bits(data, &name, window)?.max(1.0);
            if most.as_ref().is_none_or(|(before, _)| used > *before) {
                most = Some((used, name));
            }
        }
        most.map_or_else(|| undefined("no link of this run was recorded"), |(_, name)| Ok(name))
    })
}

/// Names of the links that have samples, in the order of the scenario.
pub fn recorded_links(data: &Data) -> Found<Vec<String>> {
    let table = data.table("links")?;
    let names = data.spec.links.iter().map(|link| &link.name);
    Ok(names.filter(|name| !table.rows(name).is_empty()).cloned().collect())
}

pub(crate) fn link_spec<'d>(data: &'d Data, name: &str) -> Found<&'d LinkSpec> {
    let found = data.spec.links.iter().find(|link| link.name == name);
    found.ok_or_else(|| MetricError::NoLink(name.to_owned()))
}

/// Increase of a cumulative column of `links` over a window.
pub fn link_counter(data: &Data, link: &str, column: &str, window: Window) -> Found<f64> {
    let table = data.table("links")?;
    let rows = table.rows(link);
    if rows.is_empty() {
        return Err(MetricError::NoLink(link.to_owned()));
    }
    let times = table.values("time_s", rows)?;
    let at = |time_s: f64| {
        let sample = crate::data::snapped(&times, time_s);
        let after = times.partition_point(|&time| time <= sample);
        match after.checked_sub(1).filter(|&last| times[last] == sample) {
            Some(last) => table.value(column, rows[last]),
            None => data.off_grid(time_s),
        }
    };
    let before = at(window.0)?;
    Ok(at(window.1)? - before)
}

/// Sample times of a link from one end of the window to the other, s, and the values of a column at these times.
pub(crate) fn link_series(data: &Data, link: &str, column: &str, window: Window) -> Found<(Vec<f64>, Vec<f64>)> {
    let table = data.table("links")?;
    let rows = table.rows(link);
    if rows.is_empty() {
        return Err(MetricError::NoLink(link.to_owned()));
    }
    data.series(table, rows, column, window)
}

/// Bits that a link could have sent in a window: the integral of its rate, or the opportunities of its trace.
pub fn capacity_bits(data: &Data, name: &str, window: Window) -> Found<f64> {
    let spec = link_spec(data, name)?;
    let changes = spec.impairments.as_deref();
    if let Some(trace_ms) = changes.map(|changes| &changes.rate_trace_ms).filter(|trace| !trace.is_empty()) {
        let count = opportunities(trace_ms, window.1) - opportunities(trace_ms, window.0);
        return Ok(8.0 * (OPPORTUNITY_BYTES as f64) * count as f64);
    }
    let steps = changes.map_or(&[][..], |changes| &changes.rate_steps);
    let mut rates = vec![(0.0, spec.rate_bps as f64)];
    rates.extend(steps.iter().map(|step| (seconds(step.at_ps), step.rate_bps as f64)));
    let ends = rates[1..].iter().map(|&(at_s, _)| at_s).chain([f64::INFINITY]);
    let bits = rates.iter().zip(ends).map(|(&(at_s, rate), end_s)| {
        let length_s: f64 = end_s.min(window.1) - at_s.max(window.0);
        rate * length_s.max(0.0)
    });
    Ok(sum(bits))
}

/// Number of transmission opportunities of a trace from the start of the run up to and including `until_s`.
fn opportunities(trace_ms: &[u64], until_s: f64) -> i64 {
    let time_s = |ms: u64| ms as f64 / 1e3;
    let period_s = trace_ms.last().map_or(f64::NAN, |&ms| time_s(ms));
    let rounds = (until_s / period_s + GRID_TOLERANCE_S) as i64;
    let rest_s = until_s - rounds as f64 * period_s + GRID_TOLERANCE_S;
    rounds * trace_ms.len() as i64 + trace_ms.iter().filter(|&&ms| time_s(ms) <= rest_s).count() as i64
}

/// Number of packets whose wait at a link ended in a window, because they were dropped or transmitted. On a link that
/// loses packets on the wire, where a loss is counted with the packet's last bit, a packet that leaves is too: otherwise
/// more packets could be lost in a window than had ended their wait in it.
pub(crate) fn settled_packets(data: &Data, link: &str, window: Window) -> Found<f64> {
    if link_spec(data, link)?.loss_on_wire {
        let count = |column| link_counter(data, link, column, window);
        return Ok(count("dropped_packets")? + count("delivered_packets")?);
    }
    Ok(link_counter(data, link, "arrived_packets", window)? - link_counter(data, link, "queue_packets", window)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_repeats_after_its_last_time() {
        let trace = [1, 3, 3, 10];
        assert_eq!([0.0, 0.001, 0.003, 0.01, 0.0131, 0.02].map(|s| opportunities(&trace, s)), [0, 1, 3, 4, 7, 8]);
    }
}
